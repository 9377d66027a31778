// The routes that this engine knows: which capabilities each asks for, and so which of them a worker covers.
//
// Routes are few and never change; the table only grows. Thread-safe.
#pragma once

#include <map>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/changes.hpp"

namespace flowfabric {

// Whether every required capability is offered. Both sorted.
bool covers(const std::vector<std::string>& offered, const std::vector<std::string>& required);

class RouteTable {
 public:
  // Takes in routes in ascending order; known ones are ignored. Returns whether any was new.
  bool add(const std::vector<Route>& routes);
  // The highest number known; numbers are dense, so this says what is missing.
  RouteNo known() const;
  // 0 when unknown.
  RouteNo find(const std::string& lane, const std::vector<std::string>& capabilities) const;
  // Routes on these lanes that a worker with these capabilities covers, ascending.
  std::vector<RouteNo> covered(const std::vector<std::string>& lanes, const std::vector<std::string>& offered) const;
  // The lane of a route; empty when unknown.
  std::string lane_of(RouteNo number) const;
  std::vector<std::string> lanes() const;
  bool has_lane(const std::string& lane) const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<Route> routes_;  // routes_[n - 1] has number n
  std::unordered_map<std::string, std::vector<RouteNo>> by_lane_;
  std::map<std::pair<std::string, std::vector<std::string>>, RouteNo> numbers_;
};

}  // namespace flowfabric
