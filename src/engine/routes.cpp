#include "engine/routes.hpp"

#include <algorithm>
#include <mutex>

namespace flowfabric {

// Whether all of them are known. Nearly always they are, and then nobody is kept waiting.
bool RouteTable::note_use(const std::vector<Route>& routes, std::int64_t now_ms) const {
  const std::shared_lock lock(mutex_);
  return std::all_of(routes.begin(), routes.end(), [&](const Route& route) {
    const auto found = routes_.find(route.number);
    if (found == routes_.end()) return false;
    const_cast<Known&>(found->second).used_ms.store(now_ms, std::memory_order_relaxed);
    return true;
  });
}

bool RouteTable::add(const std::vector<Route>& routes, std::int64_t now_ms) {
  if (routes.empty() || note_use(routes, now_ms)) return false;
  const std::unique_lock lock(mutex_);
  bool grew = false;
  for (const Route& route : routes) {
    const auto [place, is_new] = routes_.try_emplace(route.number, route, now_ms);
    place->second.used_ms.store(now_ms, std::memory_order_relaxed);
    if (!is_new) continue;
    file(place->second);
    ++by_namespace_[route.name_space];
    ++generation_;
    grew = true;
  }
  return grew;
}

void RouteTable::file(Known& known) {
  Lane& lane = lanes_[known.route.lane];
  const auto under = [&](const std::string& capability) {
    const auto found = lane.find(capability);
    return found == lane.end() ? 0 : found->second.size();
  };
  const auto& required = known.route.capabilities;
  const auto rarest = std::min_element(required.begin(), required.end(),
                                       [&](const auto& a, const auto& b) { return under(a) < under(b); });
  if (rarest != required.end()) known.filed_under = *rarest;
  lane[known.filed_under].push_back(known.route.number);
}

void RouteTable::take_out(const Known& known) {
  const auto lane = lanes_.find(known.route.lane);
  auto& numbers = lane->second[known.filed_under];
  std::erase(numbers, known.route.number);
  if (numbers.empty()) lane->second.erase(known.filed_under);
  if (lane->second.empty()) lanes_.erase(lane);
  const auto count = by_namespace_.find(known.route.name_space);
  if (--count->second == 0) by_namespace_.erase(count);
}

bool RouteTable::knows(RouteNo number) const {
  const std::shared_lock lock(mutex_);
  return routes_.contains(number);
}

std::vector<RouteNo> RouteTable::covered(const std::vector<std::string>& lanes,
                                         const std::vector<std::string>& offered) const {
  const std::shared_lock lock(mutex_);
  std::vector<RouteNo> numbers;
  for (const auto& name : lanes) {
    const auto lane = lanes_.find(name);
    if (lane == lanes_.end()) continue;
    const auto look_under = [&](const std::string& capability) {
      const auto found = lane->second.find(capability);
      if (found == lane->second.end()) return;
      for (const RouteNo number : found->second) {
        if (covers(offered, routes_.at(number).route.capabilities)) numbers.push_back(number);
      }
    };
    look_under("");
    for (const auto& capability : offered) look_under(capability);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

bool RouteTable::is_covered(RouteNo number, const std::vector<std::string>& lanes,
                            const std::vector<std::string>& offered) const {
  const std::shared_lock lock(mutex_);
  const auto found = routes_.find(number);
  if (found == routes_.end()) return false;
  const Route& route = found->second.route;
  return std::binary_search(lanes.begin(), lanes.end(), route.lane) && covers(offered, route.capabilities);
}

std::string RouteTable::lane_of(RouteNo number) const {
  const std::shared_lock lock(mutex_);
  const auto found = routes_.find(number);
  return found == routes_.end() ? std::string() : found->second.route.lane;
}

bool RouteTable::has_lane(const std::string& lane) const {
  const std::shared_lock lock(mutex_);
  return lanes_.contains(lane);
}

std::vector<std::string> RouteTable::lanes() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, lane] : lanes_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Route> RouteTable::some(std::size_t limit) const {
  const std::shared_lock lock(mutex_);
  std::vector<Route> routes;
  for (const auto& [number, known] : routes_) {
    if (routes.size() >= limit) break;
    routes.push_back(known.route);
  }
  return routes;
}

std::size_t RouteTable::size() const {
  const std::shared_lock lock(mutex_);
  return routes_.size();
}

std::size_t RouteTable::size_of(const std::string& name_space) const {
  const std::shared_lock lock(mutex_);
  const auto found = by_namespace_.find(name_space);
  return found == by_namespace_.end() ? 0 : found->second;
}

std::vector<RouteNo> RouteTable::idle_since(std::int64_t before_ms, std::size_t quiet, std::size_t limit) const {
  const std::shared_lock lock(mutex_);
  std::vector<RouteNo> numbers;
  for (const auto& [number, known] : routes_) {
    if (numbers.size() >= limit) break;
    if (known.used_ms.load(std::memory_order_relaxed) >= before_ms) continue;
    if (by_namespace_.at(known.route.name_space) > quiet) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void RouteTable::keep(const std::vector<RouteNo>& numbers, std::int64_t now_ms) {
  const std::shared_lock lock(mutex_);
  for (const RouteNo number : numbers) {
    const auto found = routes_.find(number);
    if (found != routes_.end()) found->second.used_ms.store(now_ms, std::memory_order_relaxed);
  }
}

void RouteTable::drop(const std::vector<RouteNo>& numbers, std::int64_t idle_since_ms) {
  const std::unique_lock lock(mutex_);
  for (const RouteNo number : numbers) {
    const auto found = routes_.find(number);
    if (found == routes_.end() || found->second.used_ms.load(std::memory_order_relaxed) >= idle_since_ms) continue;
    take_out(found->second);
    routes_.erase(found);
  }
}

}  // namespace flowfabric
