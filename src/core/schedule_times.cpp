#include "core/schedule_times.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric {
namespace {

class UtcZone final : public TimeZone {
 public:
  std::int64_t local(std::int64_t at_s) const override { return at_s; }
  std::int64_t instant(std::int64_t local_s) const override { return local_s; }
  std::optional<std::int64_t> next_transition(std::int64_t) const override { return std::nullopt; }
};

constexpr std::int64_t ms = 1000;
constexpr std::int64_t seconds_of_day = 86400;
constexpr int max_rest_searches = 36525;  // days of rest that an interval steps over

std::int64_t floored(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

const TimeZone* find_zone(const TimeZones* zones, std::string_view name) {
  static const UtcZone utc;
  if (name == utc_name) return &utc;
  return zones == nullptr ? nullptr : zones->find(name);
}

Result<ScheduleTimes> ScheduleTimes::of(const ScheduleSpec& spec, const TimeZones* zones) {
  ScheduleTimes times;
  if (!spec.cron.empty()) {
    FF_TRY(cron, parse_cron(spec.cron));
    times.cron_ = cron;
  }
  times.every_ms_ = spec.every_ms;
  times.anchor_at_ = spec.anchor_at;
  times.start_at_ = spec.start_at;
  times.end_at_ = spec.end_at;
  FF_TRY(rest, parse_rest_days(spec.exceptions));
  times.rest_ = std::move(rest);
  times.zone_ = find_zone(zones, spec.time_zone);
  if (times.zone_ == nullptr) {
    return fail(
        Errc::invalid_argument,
        "time_zone: \"" + clipped(spec.time_zone, limits::max_time_zone_bytes) +
            "\" is not a time zone that this server knows; give a name of the IANA database, like Europe/Berlin",
        "time_zone");
  }
  return times;
}

TimestampMs ScheduleTimes::next_after(TimestampMs after) const {
  if (start_at_ != 0) after = std::max(after, start_at_ - 1);
  std::optional<TimestampMs> next;
  if (cron_) {
    if (const auto second = next_cron(floored(after, ms))) next = *second * ms;
  } else if (every_ms_ > 0) {
    next = next_interval(after);
  }
  if (!next || *next > limits::max_timestamp_ms || (end_at_ != 0 && *next >= end_at_)) return 0;
  return *next;
}

std::vector<TimestampMs> ScheduleTimes::next(TimestampMs after, std::uint32_t count) const {
  std::vector<TimestampMs> times;
  while (times.size() < count) {
    after = next_after(after);
    if (after == 0) break;
    times.push_back(after);
  }
  return times;
}

std::optional<std::int64_t> ScheduleTimes::next_cron(std::int64_t after_s) const {
  return cron_->every_hour ? next_elapsed(after_s) : next_by_day(after_s);
}

// An expression that goes through all hours goes by elapsed time: what clocks skip does not come, and what they show twice
// comes twice. Between two changes of the clocks local time runs like any other.
std::optional<std::int64_t> ScheduleTimes::next_elapsed(std::int64_t after_s) const {
  for (std::int64_t at = after_s + 1;;) {
    const std::int64_t local = zone_->local(at);
    const auto found = next_local(*cron_, rest_, local);
    if (!found) return std::nullopt;
    const std::int64_t candidate = at + (*found - local);
    const auto change = zone_->next_transition(at);
    if (!change || candidate < *change) return candidate;
    at = *change;
  }
}

// One that names hours goes by the time of day: each local time comes once. What clocks skip comes at the end of the gap,
// and of what they show twice the first counts. `instant` does not decrease, so equal instants are next to each other.
std::optional<std::int64_t> ScheduleTimes::next_by_day(std::int64_t after_s) const {
  for (std::int64_t local = zone_->local(after_s);; ++local) {
    const auto found = next_local(*cron_, rest_, local);
    if (!found) return std::nullopt;
    const std::int64_t at = zone_->instant(*found);
    if (at > after_s) return at;
    local = *found;
  }
}

std::optional<TimestampMs> ScheduleTimes::next_interval(TimestampMs after) const {
  TimestampMs next = anchor_at_ + (floored(after - anchor_at_, every_ms_) + 1) * every_ms_;
  for (int searched = 0; searched < max_rest_searches; ++searched) {
    const std::int64_t day = floored(zone_->local(floored(next, ms)), seconds_of_day);
    if (!rest_.contains(day)) return next;
    // The first one that is not before the end of that day.
    const TimestampMs end = zone_->instant((day + 1) * seconds_of_day) * ms;
    const TimestampMs later = anchor_at_ + -floored(-(end - anchor_at_), every_ms_) * every_ms_;
    next = std::max(later, next + every_ms_);
  }
  return std::nullopt;
}

}  // namespace flowfabric
