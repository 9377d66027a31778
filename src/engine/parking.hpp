// Claims that wait for work. For callers that wait for ends or events: engine/waiting.hpp.
//
// No wake-up is lost: a claim notes the `signature` of its routes before it searches, and parking fails if the
// signature has changed since, because work may have appeared between the search and the parking. A claim that is woken
// for one entry and takes another passes the wake-up on (Batch::pass_on_wakeup).
//
// Thread-safe. Woken claims are returned to the caller, which queues them again.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/routes.hpp"
#include "engine/work.hpp"

namespace flowfabric {

using ClaimPtr = std::shared_ptr<QueuedClaim>;

class Parking {
 public:
  explicit Parking(const RouteTable& routes) : routes_(routes) {}

  // A number that increases whenever this claim may have got work.
  std::uint64_t signature(const ClaimRequest& request);
  // search_again: something has changed since `claim->seen`. full: too many claims are parked.
  enum class Parked { yes, search_again, full, withdrawn };
  Parked park(const ClaimPtr& claim);

  // `count` entries became claimable: removes and returns at most that many claims that could take them, in order of
  // arrival.
  std::vector<ClaimPtr> wake(const ReadyLine& work, std::size_t count);
  // Takes the claim out; false when it is not here.
  bool withdraw(const ClaimPtr& claim);
  std::vector<ClaimPtr> wake_lane(const std::string& lane);
  std::vector<ClaimPtr> wake_all();
  // Claims whose wait is over.
  std::vector<ClaimPtr> take_expired_claims(std::int64_t now_ms);

  std::size_t parked_claims() const;
  // How many entries all queues and the index of deadlines have, for tests: nothing may stay behind.
  std::size_t places() const;
  // When the next wait ends; 0: none.
  std::int64_t next_deadline_ms() const;

 private:
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;
  // In order of arrival. Claims restricted to a namespace are in separate queues, so that a wake-up never walks past
  // claims that could not take the entry for that reason.
  using Queue = std::list<EntryPtr>;
  using QueueName = std::pair<std::string, std::optional<std::string>>;  // a lane, and a namespace if restricted
  using Queues = std::map<QueueName, Queue>;
  using Deadlines = std::multimap<std::int64_t, EntryPtr>;
  // A claim that is parked, and everywhere it stands: whoever is taken out is out of all of it at once.
  struct Entry {
    ClaimPtr claim;
    std::uint64_t arrival;
    std::vector<std::pair<Queues::iterator, Queue::iterator>> places{};
    Deadlines::iterator deadline{};
  };

  std::uint64_t signature_locked(const ClaimRequest& request);
  std::uint64_t& moved(RouteNo route) { return route_moved_[route % route_moved_.size()]; }
  std::uint64_t& moved(const ReadyLine& work);
  bool could_take(const Entry& entry, RouteNo route) const;
  Queue::const_iterator next(const Queue& queue, Queue::const_iterator from, RouteNo route) const;
  const Queue& queue_of(const QueueName& name) const;
  std::vector<EntryPtr> first_in_line(const ReadyLine& work, std::size_t count) const;
  ClaimPtr take(const EntryPtr& entry);

  const RouteTable& routes_;
  mutable std::mutex mutex_;
  std::uint64_t everything_moved_ = 0;  // lanes resumed, routes added, notifications missed
  // Entries that became claimable, by route, and by route and namespace. Of both there may be very many; some share a number,
  // and then search once too often.
  std::array<std::uint64_t, 1024> route_moved_{}, line_moved_{};
  std::uint64_t arrivals_ = 0;
  Queues queues_;  // none is empty
  Deadlines by_deadline_;
};

}  // namespace flowfabric
