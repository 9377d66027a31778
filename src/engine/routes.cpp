#include "engine/routes.hpp"

#include <algorithm>
#include <mutex>

#include "base/check.hpp"

namespace flowfabric {

bool covers(const std::vector<std::string>& offered, const std::vector<std::string>& required) {
  return std::includes(offered.begin(), offered.end(), required.begin(), required.end());
}

bool RouteTable::add(const std::vector<Route>& routes) {
  const std::unique_lock lock(mutex_);
  bool grew = false;
  for (const Route& route : routes) {
    if (route.number <= routes_.size()) continue;
    FF_CHECK(route.number == routes_.size() + 1);
    routes_.push_back(route);
    by_lane_[route.lane].push_back(route.number);
    numbers_[{route.lane, route.capabilities}] = route.number;
    grew = true;
  }
  return grew;
}

RouteNo RouteTable::known() const {
  const std::shared_lock lock(mutex_);
  return static_cast<RouteNo>(routes_.size());
}

RouteNo RouteTable::find(const std::string& lane, const std::vector<std::string>& capabilities) const {
  const std::shared_lock lock(mutex_);
  const auto found = numbers_.find({lane, capabilities});
  return found == numbers_.end() ? 0 : found->second;
}

std::vector<RouteNo> RouteTable::covered(const std::vector<std::string>& lanes,
                                         const std::vector<std::string>& offered) const {
  const std::shared_lock lock(mutex_);
  std::vector<RouteNo> numbers;
  for (const auto& lane : lanes) {
    const auto found = by_lane_.find(lane);
    if (found == by_lane_.end()) continue;
    for (const RouteNo number : found->second) {
      if (covers(offered, routes_[number - 1].capabilities)) numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string RouteTable::lane_of(RouteNo number) const {
  const std::shared_lock lock(mutex_);
  return number == 0 || number > routes_.size() ? std::string() : routes_[number - 1].lane;
}

bool RouteTable::has_lane(const std::string& lane) const {
  const std::shared_lock lock(mutex_);
  return by_lane_.contains(lane);
}

std::vector<std::string> RouteTable::lanes() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [lane, numbers] : by_lane_) names.push_back(lane);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace flowfabric
