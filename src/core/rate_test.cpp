#include "core/rate.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "base/limits.hpp"

namespace flowfabric {
namespace {

// Starts whenever the rate lets it, at random times, and says when.
std::vector<TimestampMs> starts_under(const RateLimit& rate, std::uint64_t seed, int steps, std::int64_t longest_step) {
  std::mt19937_64 random(seed);
  RateState state;
  std::vector<TimestampMs> starts;
  TimestampMs now = 1'000'000;
  for (int i = 0; i < steps; ++i) {
    now += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest_step));
    const std::uint64_t tries = random() % 4;
    for (std::uint64_t n = 0; n < tries && may_start(rate, state, now) > 0; ++n) {
      note_start(rate, state, now);
      starts.push_back(now);
    }
  }
  return starts;
}

TEST(Rates, AWindowNeverHasMore) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const RateLimit rate{static_cast<std::uint32_t>(1 + seed % 9), 500, {}};
    std::deque<TimestampMs> window;
    for (const TimestampMs at : starts_under(rate, seed, 2000, 200)) {
      window.push_back(at);
      while (window.front() <= at - rate.period_ms) window.pop_front();
      ASSERT_LE(window.size(), rate.count) << seed;
    }
  }
}

// More starts than entries: they are merged, which never lets too many start, and nearly as many as allowed.
TEST(Rates, AMergedWindowNeverHasMore) {
  const RateLimit rate{1000, 10000, {}};
  const auto starts = starts_under(rate, 3, 20000, 6);
  std::deque<TimestampMs> window;
  for (const TimestampMs at : starts) {
    window.push_back(at);
    while (window.front() <= at - rate.period_ms) window.pop_front();
    ASSERT_LE(window.size(), rate.count);
  }
  const double periods = static_cast<double>(starts.back() - starts.front()) / 10000.0;
  EXPECT_GT(static_cast<double>(starts.size()), 0.9 * periods * 1000);
  EXPECT_LE(limits::max_rate_entries, 256U);
}

TEST(Rates, ABucketNeverGivesMoreThanItHoldsAndGets) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const RateLimit rate{static_cast<std::uint32_t>(1 + seed % 5), 700, static_cast<std::uint32_t>(1 + seed % 7)};
    const auto starts = starts_under(rate, seed, 2000, 300);
    for (std::size_t i = 0; i < starts.size(); ++i) {
      for (std::size_t k = i; k < std::min(starts.size(), i + 60); ++k) {
        const double got =
            static_cast<double>((starts[k] - starts[i]) * rate.count) / static_cast<double>(rate.period_ms);
        ASSERT_LE(static_cast<double>(k - i + 1), *rate.burst + got + 1e-6) << seed;
      }
    }
  }
}

TEST(Rates, TheTimeSaidIsTheFirstAtWhichOneMayStart) {
  for (const RateLimit& rate : {RateLimit{3, 1000, {}}, RateLimit{3, 1000, 2}, RateLimit{7, 10, 1}}) {
    std::mt19937_64 random(5);
    RateState state;
    TimestampMs now = 1'000'000;
    for (int i = 0; i < 500; ++i) {
      now += static_cast<std::int64_t>(random() % 300);
      while (may_start(rate, state, now) > 0) note_start(rate, state, now);
      const TimestampMs next = may_start_at(rate, state, 1, now);
      ASSERT_GT(next, now);
      ASSERT_EQ(may_start(rate, state, next - 1), 0U);
      ASSERT_GE(may_start(rate, state, next), 1U);
    }
  }
}

TEST(Rates, AChangedDefinitionNeverAllowsMoreThanItIs) {
  RateState state;
  for (int i = 0; i < 10; ++i) note_start({10, 1000, {}}, state, 5000);
  EXPECT_EQ(may_start({4, 1000, {}}, state, 5001), 0U);
  EXPECT_EQ(may_start({4, 1000, {}}, state, 6000), 4U);
  EXPECT_EQ(most_at_once({4, 1000, {}}), 4U);
  EXPECT_EQ(most_at_once({4, 1000, 9}), 9U);
}

}  // namespace
}  // namespace flowfabric
