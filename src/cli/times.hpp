// Durations and times in text form. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include <flowfabric/ids.hpp>

namespace flowfabric::cli {

// "500ms", "30s", "5m", "2h", "7d": a whole number and a unit, as milliseconds. `field` names the option in the error.
Result<std::int64_t> parse_duration(std::string_view text, const std::string& field);
// The shortest text that parses to the same duration: 90000 is "90s", 7200000 is "2h".
std::string format_duration(std::int64_t duration_ms);

// "2026-01-02T03:04:05Z" (with a fraction of up to three digits) or milliseconds since the epoch.
Result<TimestampMs> parse_time(std::string_view text, const std::string& field);
// UTC with milliseconds; "-" if it is not set.
std::string format_time(TimestampMs at);

}  // namespace flowfabric::cli
