#include "engine/parking.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/limits.hpp"

namespace flowfabric {

// A node costs about this much beside its payload. Few large flows share a batch.
constexpr std::size_t flow_node_bytes = 1024;

std::size_t work_bytes(const Work& work) {
  const auto* queued = std::get_if<std::unique_ptr<QueuedCommand>>(&work);
  if (queued == nullptr) return 0;
  const Command& command = (*queued)->command;
  if (const auto* create = std::get_if<CreateCommand>(&command)) return create->request.payload.size();
  if (const auto* submit = std::get_if<SubmitFlowCommand>(&command)) {
    std::size_t bytes = 0;
    for (const FlowNode& node : submit->request.nodes) bytes += flow_node_bytes + node.request.payload.size();
    return bytes;
  }
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

// Each part only increases, so an equal sum means that no part has changed.
std::uint64_t Parking::signature_locked(const ClaimRequest& request) {
  std::uint64_t sum = everything_moved_ + routes_.generation();
  for (const RouteNo route : routes_.covered(request.lanes, request.capabilities)) {
    sum += request.name_space ? moved({route, *request.name_space}) : moved(route);
  }
  return sum;
}

Parking::Parked Parking::park(const ClaimPtr& claim) {
  const std::lock_guard lock(mutex_);
  if (claim->withdrawn) return Parked::withdrawn;
  if (signature_locked(claim->request) != claim->seen) return Parked::search_again;
  if (by_deadline_.size() >= limits::max_parked_claims) return Parked::full;
  claim->woken_for.reset();
  auto entry = std::make_shared<Entry>(Entry{claim, ++arrivals_});
  for (const auto& lane : claim->request.lanes) {
    const auto queue = queues_.try_emplace({lane, claim->request.name_space}).first;
    entry->places.emplace_back(queue, queue->second.insert(queue->second.end(), entry));
  }
  entry->deadline = by_deadline_.emplace(claim->wait_until_ms, entry);
  claim->parked = entry;
  return Parked::yes;
}

// The caller holds the entry: nothing else does from here on.
ClaimPtr Parking::take(const EntryPtr& entry) {
  for (const auto& [queue, place] : entry->places) {
    queue->second.erase(place);
    if (queue->second.empty()) queues_.erase(queue);
  }
  entry->places.clear();
  by_deadline_.erase(entry->deadline);
  return std::move(entry->claim);
}

bool Parking::could_take(const Entry& entry, RouteNo route) const {
  return routes_.is_covered(route, entry.claim->request.lanes, entry.claim->request.capabilities);
}

// The first claim in the queue from there on that could take it.
Parking::Queue::const_iterator Parking::next(const Queue& queue, Queue::const_iterator from, RouteNo route) const {
  return std::find_if(from, queue.end(), [&](const EntryPtr& entry) { return could_take(*entry, route); });
}

const Parking::Queue& Parking::queue_of(const QueueName& name) const {
  static const Queue nobody;
  const auto found = queues_.find(name);
  return found == queues_.end() ? nobody : found->second;
}

// The first `count` who could take it, in order of arrival.
std::vector<Parking::EntryPtr> Parking::first_in_line(const ReadyLine& work, std::size_t count) const {
  std::vector<EntryPtr> chosen;
  if (by_deadline_.empty()) return chosen;
  const std::string lane = routes_.lane_of(work.route);
  const Queue& any = queue_of({lane, std::nullopt});
  const Queue& one = queue_of({lane, work.name_space});
  auto of_any = any.begin(), of_one = one.begin();
  while (chosen.size() < count) {
    of_any = next(any, of_any, work.route);
    of_one = next(one, of_one, work.route);
    if (of_any == any.end() && of_one == one.end()) break;
    const bool from_one = of_any == any.end() || (of_one != one.end() && (*of_one)->arrival < (*of_any)->arrival);
    chosen.push_back(from_one ? *of_one++ : *of_any++);
  }
  return chosen;
}

std::vector<ClaimPtr> Parking::wake(const ReadyLine& work, std::size_t count) {
  const std::lock_guard lock(mutex_);
  moved(work.route) += count;
  moved(work) += count;
  std::vector<ClaimPtr> woken;
  for (const EntryPtr& entry : first_in_line(work, count)) {
    woken.push_back(take(entry));
    woken.back()->woken_for = work;
  }
  return woken;
}

bool Parking::withdraw(const ClaimPtr& claim) {
  const std::lock_guard lock(mutex_);
  const auto entry = std::static_pointer_cast<Entry>(claim->parked.lock());
  if (entry == nullptr || entry->places.empty()) return false;
  take(entry);
  return true;
}

std::vector<ClaimPtr> Parking::wake_lane(const std::string& lane) {
  const std::lock_guard lock(mutex_);
  ++everything_moved_;
  std::vector<ClaimPtr> woken;
  for (;;) {
    const auto queue = queues_.lower_bound({lane, std::nullopt});
    if (queue == queues_.end() || queue->first.first != lane) return woken;
    woken.push_back(take(EntryPtr(queue->second.front())));
  }
}

std::vector<ClaimPtr> Parking::wake_all() {
  const std::lock_guard lock(mutex_);
  ++everything_moved_;
  std::vector<ClaimPtr> woken;
  while (!by_deadline_.empty()) woken.push_back(take(EntryPtr(by_deadline_.begin()->second)));
  return woken;
}

std::vector<ClaimPtr> Parking::take_expired_claims(std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  std::vector<ClaimPtr> expired;
  while (!by_deadline_.empty() && by_deadline_.begin()->first <= now_ms) {
    expired.push_back(take(EntryPtr(by_deadline_.begin()->second)));
  }
  return expired;
}

std::size_t Parking::parked_claims() const {
  const std::lock_guard lock(mutex_);
  return by_deadline_.size();
}

std::int64_t Parking::next_deadline_ms() const {
  const std::lock_guard lock(mutex_);
  return by_deadline_.empty() ? 0 : by_deadline_.begin()->first;
}

std::size_t Parking::places() const {
  const std::lock_guard lock(mutex_);
  std::size_t places = by_deadline_.size();
  for (const auto& [name, queue] : queues_) places += queue.size();
  return places;
}

}  // namespace flowfabric
