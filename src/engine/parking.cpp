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
