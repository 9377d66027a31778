// When a schedule fires: cron expressions and intervals in a time zone. Pure.
#pragma once

#include <vector>

#include <flowfabric/schedules.hpp>

#include "core/cron.hpp"
#include "core/time_zone.hpp"

namespace flowfabric {

class ScheduleTimes {
 public:
  // Refused if the expression, an exception or the time zone is not known. The zones must outlive it.
  static Result<ScheduleTimes> of(const ScheduleSpec& spec, const TimeZones* zones);

  // The first scheduled time after this one; 0: none.
  TimestampMs next_after(TimestampMs after) const;
  // Up to `count` of them.
  std::vector<TimestampMs> next(TimestampMs after, std::uint32_t count) const;

 private:
  std::optional<std::int64_t> next_cron(std::int64_t after_s) const;
  std::optional<std::int64_t> next_elapsed(std::int64_t after_s) const;
  std::optional<std::int64_t> next_by_day(std::int64_t after_s) const;
  std::optional<TimestampMs> next_interval(TimestampMs after) const;

  std::optional<Cron> cron_;
  std::int64_t every_ms_ = 0;
  TimestampMs anchor_at_ = 0;
  TimestampMs start_at_ = 0;
  TimestampMs end_at_ = 0;
  RestDays rest_;
  const TimeZone* zone_ = nullptr;
};

}  // namespace flowfabric
