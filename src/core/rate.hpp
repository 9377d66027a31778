// Rates: how many executions may start now, and when the next one may.
//
// Pure functions of a definition, the stored state and the time.
#pragma once

#include <cstdint>
#include <vector>

#include <flowfabric/limits.hpp>

namespace flowfabric {

// Starts in one millisecond, of a rate without a burst.
struct StartsAt {
  TimestampMs at = 0;
  std::uint32_t count = 0;

  friend bool operator==(const StartsAt&, const StartsAt&) = default;
};

// What was used of a rate. A change of the definition leaves it as it is.
struct RateState {
  // Of a token bucket: when it will be full again, in microseconds.
  std::int64_t full_at_us = 0;
  // Of a window: ascending. Many starts are merged into the latest of them, so the window may let too few start, but never
  // too many.
  std::vector<StartsAt> starts;

  friend bool operator==(const RateState&, const RateState&) = default;
};

// How many may start now.
std::uint32_t may_start(const RateLimit& rate, const RateState& state, TimestampMs now);
// When `wanted` may start, if nothing starts meanwhile; at least 1, at most what the rate ever lets start at once.
TimestampMs may_start_at(const RateLimit& rate, const RateState& state, std::uint32_t wanted, TimestampMs now);
// One starts.
void note_start(const RateLimit& rate, RateState& state, TimestampMs now);
// Nothing is left of it: a new state would be the same.
bool is_unused(const RateLimit& rate, const RateState& state, TimestampMs now);
// The most that can start at once.
std::uint32_t most_at_once(const RateLimit& rate);

}  // namespace flowfabric
