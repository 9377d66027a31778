// Where claims wait for work. Who waits for an end or for events: engine/waiting.hpp.
//
// No wake-up is lost: a claim notes the `signature` of its routes before it searches, and parking fails when the
// signature has moved since, because then work may have appeared between the search and the parking.
//
// Thread-safe. Woken claims are returned to the caller, who queues them again.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/routes.hpp"
#include "engine/work.hpp"

namespace flowfabric {

using ClaimPtr = std::shared_ptr<QueuedClaim>;

class Parking {
 public:
  explicit Parking(const RouteTable& routes) : routes_(routes) {}

  // A number that grows whenever something happens that may give this claim work.
  std::uint64_t signature(const ClaimRequest& request) const;
  // False: something has happened since `claim->seen`, or the car park is full; search again or give up.
  enum class Parked { yes, search_again, full };
  Parked park(const ClaimPtr& claim);

  // `count` entries of the route became claimable: at most that many claims are taken out.
  std::vector<ClaimPtr> wake_route(RouteNo route, std::size_t count);
  std::vector<ClaimPtr> wake_lane(const std::string& lane);
  std::vector<ClaimPtr> wake_all();
  // Claims whose time is up.
  std::vector<ClaimPtr> take_expired_claims(std::int64_t now_ms);

  std::size_t parked_claims() const;
  // When the next claim runs out of time; 0: none.
  std::int64_t next_deadline_ms() const;

 private:
  struct Entry {
    ClaimPtr claim;
    bool gone = false;
  };
  using EntryPtr = std::shared_ptr<Entry>;

  std::uint64_t signature_locked(const ClaimRequest& request) const;
  void take(const EntryPtr& entry, std::vector<ClaimPtr>& out);
  void compact(std::list<EntryPtr>& line);

  const RouteTable& routes_;
  mutable std::mutex mutex_;
  std::uint64_t everything_moved_ = 0;                          // lanes resumed, routes added, notices missed
  std::unordered_map<RouteNo, std::uint64_t> route_moved_;      // entries that became claimable
  std::unordered_map<std::string, std::list<EntryPtr>> lanes_;  // in order of arrival
  std::multimap<std::int64_t, EntryPtr> by_deadline_;
  std::size_t parked_ = 0;
};

}  // namespace flowfabric
