// Time zones as the state machine sees them: read-only tables that come in through the Context.
//
// Local times are seconds too: those that a calendar without time zones would have counted since 1970 when clocks show this
// time. So all arithmetic on them is plain, and only these three questions need the tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace flowfabric {

class TimeZone {
 public:
  virtual ~TimeZone() = default;

  // What clocks show at this instant.
  virtual std::int64_t local(std::int64_t at_s) const = 0;
  // The first instant at which clocks show this; where they skip it, the first instant after the gap.
  virtual std::int64_t instant(std::int64_t local_s) const = 0;
  // The next instant at which clocks are set to another offset.
  virtual std::optional<std::int64_t> next_transition(std::int64_t after_s) const = 0;
};

// Thread-safe. What `find` returns stays valid as long as this object.
class TimeZones {
 public:
  virtual ~TimeZones() = default;
  // Null if there is no such zone.
  virtual const TimeZone* find(std::string_view name) const = 0;
};

inline constexpr std::string_view utc_name = "UTC";
// Also knows UTC where there are no tables.
const TimeZone* find_zone(const TimeZones* zones, std::string_view name);

}  // namespace flowfabric
