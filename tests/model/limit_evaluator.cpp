#include "model/limit_evaluator.hpp"

#include <algorithm>

namespace flowfabric::test {

// A new limit counts what starts after it was made; a changed one goes on with what it has counted.
void LimitEvaluator::set(const LimitRequest& request) { limits_[request.name].request = request; }

// An execution without a value that the limit counts by is not limited.
std::optional<std::string> LimitEvaluator::key_of(const LimitRequest& request, const LimitedWork& work) {
  if (request.lane && *request.lane != work.lane) return std::nullopt;
  if (request.kind && *request.kind != work.kind) return std::nullopt;
  std::string key;
  for (const std::string& name : request.per) {
    const std::string& value = name == "lane" ? work.lane : name == "kind" ? work.kind : work.customer;
    if (value.empty()) return std::nullopt;
    key += value + "/";
  }
  return key;
}

bool LimitEvaluator::rate_allows(const RateLimit& rate, const std::vector<TimestampMs>& starts, TimestampMs now) {
  if (!rate.burst) {
    // A window that ends now: a start that is a whole period ago is not in it.
    const auto in_window =
        std::count_if(starts.begin(), starts.end(), [&](TimestampMs at) { return at > now - rate.period_ms; });
    return in_window < rate.count;
  }
  // The bucket in parts of a token: `period_ms` parts are one token, and each millisecond brings `count` parts.
  const std::int64_t full = static_cast<std::int64_t>(*rate.burst) * rate.period_ms;
  std::int64_t parts = full;
  TimestampMs last = starts.empty() ? now : starts.front();
  for (const TimestampMs at : starts) {
    parts = std::min(full, parts + (at - last) * rate.count) - rate.period_ms;
    last = at;
  }
  return std::min(full, parts + (now - last) * rate.count) >= rate.period_ms;
}

std::string LimitEvaluator::obstacle(const LimitedWork& work, TimestampMs now) const {
  for (const auto& [name, limit] : limits_) {
    const auto key = key_of(limit.request, work);
    if (!key) continue;
    const auto found = limit.keys.find(*key);
    if (found == limit.keys.end()) continue;
    const auto& concurrency = limit.request.concurrency;
    if (concurrency && found->second.running.size() >= *concurrency) return name;
    if (limit.request.rate && !rate_allows(*limit.request.rate, found->second.starts, now)) return name;
  }
  return {};
}

void LimitEvaluator::start(const ExecutionId& id, const LimitedWork& work, TimestampMs now) {
  for (auto& [name, limit] : limits_) {
    const auto key = key_of(limit.request, work);
    if (!key) continue;
    limit.keys[*key].running.push_back(id);
    limit.keys[*key].starts.push_back(now);
  }
}

void LimitEvaluator::end(const ExecutionId& id) {
  for (auto& [name, limit] : limits_) {
    for (auto& [key, of_key] : limit.keys) std::erase(of_key.running, id);
  }
}

}  // namespace flowfabric::test
