#include "engine/parking.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/limits.hpp"

namespace flowfabric {

std::size_t work_bytes(const Work& work) {
  const auto* queued = std::get_if<std::unique_ptr<QueuedCommand>>(&work);
  if (queued == nullptr) return 0;
  const Command& command = (*queued)->command;
  if (const auto* create = std::get_if<CreateCommand>(&command)) return create->request.payload.size();
  if (const auto* complete = std::get_if<CompleteCommand>(&command)) return complete->request.result.size();
  return 0;
}

std::uint64_t Parking::signature(const ClaimRequest& request) {
  const std::lock_guard lock(mutex_);
  return signature_locked(request);
}

std::uint64_t& Parking::moved(const ReadyLine& work) {
  return line_moved_[(std::hash<std::string>{}(work.name_space) + work.route) % line_moved_.size()];
}

// Each part only grows, so an equal sum means that no part has moved.
std::uint64_t Parking::signature_locked(const ClaimRequest& request) {
  std::uint64_t sum = everything_moved_ + routes_.known();
  for (const RouteNo route : routes_.covered(request.lanes, request.capabilities)) {
    sum += request.name_space ? moved({route, *request.name_space}) : route_moved_[route];
  }
  return sum;
}

Parking::Parked Parking::park(const ClaimPtr& claim) {
  const std::lock_guard lock(mutex_);
  if (signature_locked(claim->request) != claim->seen) return Parked::search_again;
  if (parked_ >= limits::max_parked_claims) return Parked::full;
  claim->woken_for.reset();
  auto entry = std::make_shared<Entry>(Entry{claim, ++arrivals_});
  for (const auto& lane : claim->request.lanes) queues_[{lane, claim->request.name_space}].push_back(entry);
  by_deadline_.emplace(claim->wait_until_ms, entry);
  ++parked_;
  return Parked::yes;
}

void Parking::take(const EntryPtr& entry, std::vector<ClaimPtr>& out) {
  entry->gone = true;
  out.push_back(std::move(entry->claim));
  entry->claim.reset();
  --parked_;
}

// Entries stand in several queues; those taken elsewhere are dropped when a queue is walked.
void Parking::compact(Queue& queue) {
  std::erase_if(queue, [](const EntryPtr& entry) { return entry->gone; });
}

bool Parking::could_take(const Entry& entry, RouteNo route) const {
  const auto covered = routes_.covered(entry.claim->request.lanes, entry.claim->request.capabilities);
  return std::binary_search(covered.begin(), covered.end(), route);
}

// From there on the first in the queue who could take it.
Parking::Queue::iterator Parking::next(Queue& queue, Queue::iterator from, RouteNo route) {
  while (from != queue.end() && ((*from)->gone || !could_take(**from, route))) {
    from = (*from)->gone ? queue.erase(from) : std::next(from);
  }
  return from;
}

std::vector<ClaimPtr> Parking::wake(const ReadyLine& work, std::size_t count) {
  const std::lock_guard lock(mutex_);
  route_moved_[work.route] += count;
  moved(work) += count;
  std::vector<ClaimPtr> woken;
  if (parked_ == 0) {
    queues_.clear();  // who stands there has gone
    return woken;
  }
  const std::string lane = routes_.lane_of(work.route);
  const QueueName for_any{lane, std::nullopt}, for_one{lane, work.name_space};
  Queue& any = queues_[for_any];
  Queue& one = queues_[for_one];
  auto of_any = any.begin(), of_one = one.begin();
  while (woken.size() < count) {
    of_any = next(any, of_any, work.route);
    of_one = next(one, of_one, work.route);
    if (of_any == any.end() && of_one == one.end()) break;
    const bool from_one = of_any == any.end() || (of_one != one.end() && (*of_one)->arrival < (*of_any)->arrival);
    auto& first = from_one ? of_one : of_any;
    take(*first, woken);
    woken.back()->woken_for = work;
    first = (from_one ? one : any).erase(first);
  }
  if (any.empty()) queues_.erase(for_any);
  if (one.empty()) queues_.erase(for_one);
  return woken;
}

std::vector<ClaimPtr> Parking::wake_lane(const std::string& lane) {
  const std::lock_guard lock(mutex_);
  ++everything_moved_;
  std::vector<ClaimPtr> woken;
  auto queue = queues_.lower_bound({lane, std::nullopt});
  while (queue != queues_.end() && queue->first.first == lane) {
    for (const EntryPtr& entry : queue->second) {
      if (!entry->gone) take(entry, woken);
    }
    queue = queues_.erase(queue);
  }
  return woken;
}

std::vector<ClaimPtr> Parking::wake_all() {
  const std::lock_guard lock(mutex_);
  ++everything_moved_;
  std::vector<ClaimPtr> woken;
  for (const auto& [until, entry] : by_deadline_) {
    if (!entry->gone) take(entry, woken);
  }
  by_deadline_.clear();
  queues_.clear();
  return woken;
}

std::vector<ClaimPtr> Parking::take_expired_claims(std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  std::vector<ClaimPtr> expired;
  bool dropped = false;
  while (!by_deadline_.empty() && (by_deadline_.begin()->first <= now_ms || by_deadline_.begin()->second->gone)) {
    const EntryPtr entry = by_deadline_.begin()->second;
    by_deadline_.erase(by_deadline_.begin());
    if (entry->gone) continue;
    take(entry, expired);
    dropped = true;
  }
  if (dropped) {
    for (auto& [name, queue] : queues_) compact(queue);
    std::erase_if(queues_, [](const auto& pair) { return pair.second.empty(); });
  }
  return expired;
}

std::size_t Parking::parked_claims() const {
  const std::lock_guard lock(mutex_);
  return parked_;
}

std::int64_t Parking::next_deadline_ms() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [until, entry] : by_deadline_) {
    if (!entry->gone) return until;
  }
  return 0;
}

}  // namespace flowfabric
