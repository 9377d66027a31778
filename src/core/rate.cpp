#include "core/rate.hpp"

#include <algorithm>

#include "base/limits.hpp"

namespace flowfabric {
namespace {

// A token comes this often. Rounded up: the bucket fills a little too slowly rather than too fast.
std::int64_t token_us(const RateLimit& rate) {
  const std::int64_t period_us = rate.period_ms * 1000;
  return std::max<std::int64_t>((period_us + rate.count - 1) / rate.count, 1);
}

// How long an empty bucket takes to be full.
std::int64_t fill_us(const RateLimit& rate) { return token_us(rate) * *rate.burst; }

// How long it will take from now on. A smaller bucket than that of the past is empty at most.
std::int64_t missing_us(const RateLimit& rate, const RateState& state, TimestampMs now) {
  return std::clamp<std::int64_t>(state.full_at_us - now * 1000, 0, fill_us(rate));
}

// A start counts until its period is over.
bool counts(const RateLimit& rate, const StartsAt& starts, TimestampMs now) { return starts.at + rate.period_ms > now; }

std::uint64_t counted_starts(const RateLimit& rate, const RateState& state, TimestampMs now) {
  std::uint64_t sum = 0;
  for (const StartsAt& starts : state.starts) {
    if (counts(rate, starts, now)) sum += starts.count;
  }
  return sum;
}

// Two become one, at the later time of both.
void merge_starts(std::vector<StartsAt>& starts) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < starts.size(); i += 2) {
    StartsAt merged = starts[i];
    if (i + 1 < starts.size()) merged = {starts[i + 1].at, merged.count + starts[i + 1].count};
    starts[kept++] = merged;
  }
  starts.resize(kept);
}

}  // namespace

std::uint32_t most_at_once(const RateLimit& rate) { return rate.burst.value_or(rate.count); }

std::uint32_t may_start(const RateLimit& rate, const RateState& state, TimestampMs now) {
  if (rate.burst) {
    return static_cast<std::uint32_t>((fill_us(rate) - missing_us(rate, state, now)) / token_us(rate));
  }
  const std::uint64_t used = counted_starts(rate, state, now);
  return used >= rate.count ? 0 : static_cast<std::uint32_t>(rate.count - used);
}

TimestampMs may_start_at(const RateLimit& rate, const RateState& state, std::uint32_t wanted, TimestampMs now) {
  if (rate.burst) {
    const std::int64_t spare_us = fill_us(rate) - token_us(rate) * wanted;
    const std::int64_t wait_us = missing_us(rate, state, now) - spare_us;
    return wait_us <= 0 ? now : now + (wait_us + 999) / 1000;
  }
  std::uint64_t used = counted_starts(rate, state, now);
  if (used + wanted <= rate.count) return now;
  for (const StartsAt& starts : state.starts) {
    if (!counts(rate, starts, now)) continue;
    used -= starts.count;
    if (used + wanted <= rate.count) return starts.at + rate.period_ms;
  }
  return now;
}

void note_start(const RateLimit& rate, RateState& state, TimestampMs now) {
  if (rate.burst) {
    state.full_at_us = now * 1000 + missing_us(rate, state, now) + token_us(rate);
    state.starts.clear();
    return;
  }
  state.full_at_us = 0;
  std::erase_if(state.starts, [&](const StartsAt& starts) { return !counts(rate, starts, now); });
  if (!state.starts.empty() && state.starts.back().at >= now) {
    ++state.starts.back().count;
  } else {
    state.starts.push_back({now, 1});
  }
  if (state.starts.size() > limits::max_rate_entries) merge_starts(state.starts);
}

bool is_unused(const RateLimit& rate, const RateState& state, TimestampMs now) {
  return rate.burst ? missing_us(rate, state, now) == 0 : counted_starts(rate, state, now) == 0;
}

}  // namespace flowfabric
