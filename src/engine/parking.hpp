// Where callers wait for something to happen: claims for work, waiters for an end.
//
// No wake-up is lost: a claim notes the `signature` of its routes before it searches, and parking fails when the
// signature has moved since, because then work may have appeared between the search and the parking.
//
// Thread-safe. Woken claims are returned to the caller, who queues them again; callbacks of waiters are called without
// holding the lock.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/routes.hpp"
#include "engine/work.hpp"

namespace flowfabric {

using ClaimPtr = std::shared_ptr<QueuedClaim>;
using WaiterDone = std::function<void(Result<void>)>;

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

  // Registers a waiter and returns its ticket; 0 when there are too many.
  std::uint64_t add_waiter(const Key& key, std::int64_t until_ms, WaiterDone done);
  // Takes a waiter back that was answered otherwise. Harmless when it is gone already.
  void forget_waiter(const Key& key, std::uint64_t ticket);
  // Tells everyone who waits for this record.
  void wake_waiters(const Key& key);
  void expire_waiters(std::int64_t now_ms);
  void fail_waiters(const Error& error);
  std::vector<Key> waited_for() const;

  std::size_t parked_claims() const;
  std::size_t parked_waiters() const;
  // When the next claim or waiter runs out of time; 0: none.
  std::int64_t next_deadline_ms() const;

 private:
  struct Entry {
    ClaimPtr claim;
    bool gone = false;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  struct Waiter {
    std::uint64_t ticket;
    std::int64_t until_ms;
    WaiterDone done;
  };

  std::uint64_t signature_locked(const ClaimRequest& request) const;
  void take(const EntryPtr& entry, std::vector<ClaimPtr>& out);
  void compact(std::list<EntryPtr>& line);
  void forget_deadline(std::int64_t until_ms);

  const RouteTable& routes_;
  mutable std::mutex mutex_;
  std::uint64_t everything_moved_ = 0;                          // lanes resumed, routes added, notices missed
  std::unordered_map<RouteNo, std::uint64_t> route_moved_;      // entries that became claimable
  std::unordered_map<std::string, std::list<EntryPtr>> lanes_;  // in order of arrival
  std::multimap<std::int64_t, EntryPtr> by_deadline_;
  std::size_t parked_ = 0;
  std::unordered_map<std::string, std::vector<Waiter>> waiters_;  // by key bytes
  std::uint64_t last_ticket_ = 0;
  std::multiset<std::int64_t> waiter_deadlines_;
};

}  // namespace flowfabric
