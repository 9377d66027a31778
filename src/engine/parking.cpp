#include "engine/parking.hpp"

#include <algorithm>

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

std::uint64_t Parking::signature(const ClaimRequest& request) const {
  const std::lock_guard lock(mutex_);
  return signature_locked(request);
}

// Each part only grows, so an equal sum means that no part has moved.
std::uint64_t Parking::signature_locked(const ClaimRequest& request) const {
  std::uint64_t sum = everything_moved_ + routes_.known();
  for (const RouteNo route : routes_.covered(request.lanes, request.capabilities)) {
    const auto found = route_moved_.find(route);
    if (found != route_moved_.end()) sum += found->second;
  }
  return sum;
}

Parking::Parked Parking::park(const ClaimPtr& claim) {
  const std::lock_guard lock(mutex_);
  if (signature_locked(claim->request) != claim->seen) return Parked::search_again;
  if (parked_ >= limits::max_parked_claims) return Parked::full;
  auto entry = std::make_shared<Entry>(Entry{claim});
  for (const auto& lane : claim->request.lanes) lanes_[lane].push_back(entry);
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

// Entries stand in several lines; those taken elsewhere are dropped when a line is walked.
void Parking::compact(std::list<EntryPtr>& line) {
  std::erase_if(line, [](const EntryPtr& entry) { return entry->gone; });
}

void Parking::forget_deadline(std::int64_t until_ms) {
  const auto found = waiter_deadlines_.find(until_ms);
  if (found != waiter_deadlines_.end()) waiter_deadlines_.erase(found);
}

std::vector<ClaimPtr> Parking::wake_route(RouteNo route, std::size_t count) {
  const std::lock_guard lock(mutex_);
  route_moved_[route] += count;
  std::vector<ClaimPtr> woken;
  const auto line = lanes_.find(routes_.lane_of(route));
  if (line == lanes_.end()) return woken;
  for (auto it = line->second.begin(); it != line->second.end() && woken.size() < count;) {
    const EntryPtr entry = *it;
    if (entry->gone) {
      it = line->second.erase(it);
      continue;
    }
    const auto covered = routes_.covered(entry->claim->request.lanes, entry->claim->request.capabilities);
    if (!std::binary_search(covered.begin(), covered.end(), route)) {
      ++it;
      continue;
    }
    take(entry, woken);
    it = line->second.erase(it);
  }
  if (line->second.empty()) lanes_.erase(line);
  return woken;
}

std::vector<ClaimPtr> Parking::wake_lane(const std::string& lane) {
  const std::lock_guard lock(mutex_);
  ++everything_moved_;
  std::vector<ClaimPtr> woken;
  const auto line = lanes_.find(lane);
  if (line == lanes_.end()) return woken;
  for (const EntryPtr& entry : line->second) {
    if (!entry->gone) take(entry, woken);
  }
  lanes_.erase(line);
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
  lanes_.clear();
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
    for (auto& [lane, line] : lanes_) compact(line);
    std::erase_if(lanes_, [](const auto& pair) { return pair.second.empty(); });
  }
  return expired;
}

std::uint64_t Parking::add_waiter(const Key& key, std::int64_t until_ms, WaiterDone done) {
  const std::lock_guard lock(mutex_);
  if (waiter_deadlines_.size() >= limits::max_parked_waiters) return 0;
  waiters_[key.bytes].push_back({++last_ticket_, until_ms, std::move(done)});
  waiter_deadlines_.insert(until_ms);
  return last_ticket_;
}

void Parking::forget_waiter(const Key& key, std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = waiters_.find(key.bytes);
  if (found == waiters_.end()) return;
  std::erase_if(found->second, [&](const Waiter& waiter) {
    if (waiter.ticket == ticket) forget_deadline(waiter.until_ms);
    return waiter.ticket == ticket;
  });
  if (found->second.empty()) waiters_.erase(found);
}

void Parking::wake_waiters(const Key& key) {
  std::vector<Waiter> woken;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiters_.find(key.bytes);
    if (found == waiters_.end()) return;
    woken = std::move(found->second);
    waiters_.erase(found);
    for (const Waiter& waiter : woken) forget_deadline(waiter.until_ms);
  }
  for (auto& waiter : woken) waiter.done({});
}

void Parking::expire_waiters(std::int64_t now_ms) {
  std::vector<Waiter> expired;
  {
    const std::lock_guard lock(mutex_);
    if (waiter_deadlines_.empty() || *waiter_deadlines_.begin() > now_ms) return;
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      auto& line = it->second;
      const auto late =
          std::partition(line.begin(), line.end(), [&](const Waiter& waiter) { return waiter.until_ms > now_ms; });
      for (auto w = late; w != line.end(); ++w) expired.push_back(std::move(*w));
      line.erase(late, line.end());
      it = line.empty() ? waiters_.erase(it) : std::next(it);
    }
    for (const Waiter& waiter : expired) forget_deadline(waiter.until_ms);
  }
  for (auto& waiter : expired) waiter.done(fail(Errc::timed_out, "the execution has not ended within the given time"));
}

void Parking::fail_waiters(const Error& error) {
  std::unordered_map<std::string, std::vector<Waiter>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(waiters_);
    waiter_deadlines_.clear();
  }
  for (auto& [key, line] : all) {
    for (auto& waiter : line) waiter.done(tl::unexpected(error));
  }
}

std::vector<Key> Parking::waited_for() const {
  const std::lock_guard lock(mutex_);
  std::vector<Key> keys;
  keys.reserve(waiters_.size());
  for (const auto& [bytes, line] : waiters_) keys.push_back(Key{bytes});
  return keys;
}

std::size_t Parking::parked_claims() const {
  const std::lock_guard lock(mutex_);
  return parked_;
}

std::size_t Parking::parked_waiters() const {
  const std::lock_guard lock(mutex_);
  return waiter_deadlines_.size();
}

std::int64_t Parking::next_deadline_ms() const {
  const std::lock_guard lock(mutex_);
  std::int64_t next = 0;
  for (const auto& [until, entry] : by_deadline_) {
    if (entry->gone) continue;
    next = until;
    break;
  }
  if (!waiter_deadlines_.empty() && (next == 0 || *waiter_deadlines_.begin() < next)) {
    next = *waiter_deadlines_.begin();
  }
  return next;
}

}  // namespace flowfabric
