#include "engine/time_zones.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include "base/limits.hpp"

namespace flowfabric {
namespace {

using std::chrono::seconds;
using Instant = cctz::time_point<seconds>;

Instant to_instant(std::int64_t at_s) { return Instant(seconds(at_s)); }
std::int64_t from_instant(Instant at) { return at.time_since_epoch().count(); }

constexpr cctz::civil_second epoch(1970, 1, 1, 0, 0, 0);

class LoadedZone final : public TimeZone {
 public:
  explicit LoadedZone(cctz::time_zone zone) : zone_(zone) {}

  std::int64_t local(std::int64_t at_s) const override { return zone_.lookup(to_instant(at_s)).cs - epoch; }

  std::int64_t instant(std::int64_t local_s) const override {
    const auto found = zone_.lookup(epoch + local_s);
    const bool skipped = found.kind == cctz::time_zone::civil_lookup::SKIPPED;
    return from_instant(skipped ? found.trans : found.pre);
  }

  std::optional<std::int64_t> next_transition(std::int64_t after_s) const override {
    cctz::time_zone::civil_transition change;
    if (!zone_.next_transition(to_instant(after_s), &change)) return std::nullopt;
    return from_instant(zone_.lookup(change.to).trans);
  }

 private:
  cctz::time_zone zone_;
};

// Names become paths of files: nothing may lead out of the directory, and no name may mean something else to the library.
bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > limits::max_time_zone_bytes || name.front() == '/') return false;
  if (name == "localtime" || name.starts_with("right/") || name.starts_with("posix/")) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '+' || c == '-';
  });
}

class SystemTimeZones final : public TimeZones {
 public:
  const TimeZone* find(std::string_view name) const override {
    if (!is_zone_name(name)) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto known = zones_.find(name);
    if (known != zones_.end()) return known->second.get();
    cctz::time_zone loaded;
    if (!cctz::load_time_zone(std::string(name), &loaded)) return nullptr;
    return zones_.emplace(name, std::make_unique<LoadedZone>(loaded)).first->second.get();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<LoadedZone>, std::less<>> zones_;
};

}  // namespace

std::shared_ptr<const TimeZones> system_time_zones() {
  static const auto zones = std::make_shared<SystemTimeZones>();
  return zones;
}

}  // namespace flowfabric
