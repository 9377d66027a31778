// The routes that this engine knows: their required capabilities, and which of them a worker covers.
//
// A number never changes its meaning, so what stands here is always true; it may only lack routes that others have stored
// since, or still have routes that nobody uses. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/changes.hpp"
#include "core/route.hpp"

namespace flowfabric {

class RouteTable {
 public:
  // Takes in routes that are stored, and notes that they are in use at `now_ms`. Returns whether any was new.
  bool add(const std::vector<Route>& routes, std::int64_t now_ms = 0);
  // Grows with every route that is added.
  std::uint64_t generation() const { return generation_; }
  bool knows(RouteNo number) const;
  // Routes on these lanes that a worker with these capabilities covers, ascending.
  std::vector<RouteNo> covered(const std::vector<std::string>& lanes, const std::vector<std::string>& offered) const;
  // Whether this route is one of those. Lanes and capabilities come sorted.
  bool is_covered(RouteNo number, const std::vector<std::string>& lanes, const std::vector<std::string>& offered) const;
  // The lane of a route; empty if unknown.
  std::string lane_of(RouteNo number) const;
  std::vector<std::string> lanes() const;
  bool has_lane(const std::string& lane) const;
  // At most so many of them, in no particular order.
  std::vector<Route> some(std::size_t limit) const;

  std::size_t size() const;
  std::size_t size_of(const std::string& name_space) const;

  // Some that were last in use before that time, of namespaces with more than `quiet` routes; those that turn out to be in
  // use still are noted by `keep`.
  std::vector<RouteNo> idle_since(std::int64_t before_ms, std::size_t quiet, std::size_t limit) const;
  void keep(const std::vector<RouteNo>& numbers, std::int64_t now_ms);
  // Drops those of the routes that were not in use since.
  void drop(const std::vector<RouteNo>& numbers, std::int64_t idle_since_ms);

 private:
  struct Known {
    explicit Known(const Route& from, std::int64_t now_ms) : route(from), used_ms(now_ms) {}

    Route route;
    std::string filed_under;  // see Lane
    std::atomic<std::int64_t> used_ms;
  };
  // The routes of a lane, each under one capability that it requires: the one that the fewest routes of the lane are under.
  // Whoever looks for what a worker covers looks only under what it offers. Routes that require nothing are under "".
  using Lane = std::unordered_map<std::string, std::vector<RouteNo>>;

  bool note_use(const std::vector<Route>& routes, std::int64_t now_ms) const;
  void file(Known& known);
  void take_out(const Known& known);

  mutable std::shared_mutex mutex_;
  std::unordered_map<RouteNo, Known> routes_;
  std::unordered_map<std::string, Lane> lanes_;
  std::unordered_map<std::string, std::size_t> by_namespace_;
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace flowfabric
