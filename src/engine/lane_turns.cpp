#include "engine/lane_turns.hpp"

#include "base/limits.hpp"

namespace flowfabric {

std::string LaneTurns::next(const ClaimRequest& claim, const std::vector<std::string>& with_work) {
  const std::lock_guard lock(mutex_);
  const Asked asked{claim.lanes, claim.lane_weights};
  if (credits_.size() >= limits::max_lane_turns && !credits_.contains(asked)) credits_.clear();
  auto& credits = credits_[asked];
  std::int64_t total = 0;
  const std::string* chosen = nullptr;
  for (const std::string& lane : with_work) {
    const auto weight = claim.lane_weights.find(lane);
    const std::int64_t turns = weight == claim.lane_weights.end() ? 1 : weight->second;
    total += turns;
    credits[lane] += turns;
    if (chosen == nullptr || credits[lane] > credits[*chosen]) chosen = &lane;
  }
  credits[*chosen] -= total;
  return *chosen;
}

std::size_t LaneTurns::sequences() const {
  const std::lock_guard lock(mutex_);
  return credits_.size();
}

}  // namespace flowfabric
