// Cron expressions, and the days on which a schedule rests. Pure; works on local times (core/time_zone.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <flowfabric/result.hpp>

namespace flowfabric {

// Five fields, or six with the seconds in front. Bit n of a set: n is in it.
struct Cron {
  std::uint64_t seconds = 1;
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;             // 1 to 31
  std::uint32_t months = 0;           // 1 to 12
  std::uint32_t weekdays = 0;         // 0 (Sunday) to 6
  bool last_day = false;              // L among the days
  std::array<std::uint8_t, 7> nth{};  // of each weekday, which ones of a month: bit 1 to 5, and bit 6 for the last
  bool any_day = false;               // the field of the days begins with *
  bool any_weekday = false;
  // The field of the hours begins with *: it goes by elapsed time, not by the time of day (docs/schedules.md).
  bool every_hour = false;

  friend bool operator==(const Cron&, const Cron&) = default;
};

// A refusal names the part of the expression and what is allowed there.
Result<Cron> parse_cron(std::string_view text);

// Local days without firings.
struct RestDays {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;     // days since 1970, first and last
  std::vector<std::pair<std::uint32_t, std::uint32_t>> yearly;  // month and day

  bool contains(std::int64_t day) const;
};

// "2026-12-24", "2026-12-24/2027-01-01" (both included), "12-25" (of every year).
Result<RestDays> parse_rest_days(const std::vector<std::string>& texts);

// The first local time from `from_s` on that the expression names; none within a hundred years.
std::optional<std::int64_t> next_local(const Cron& cron, const RestDays& rest, std::int64_t from_s);

}  // namespace flowfabric
