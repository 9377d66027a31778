#include "base/wall_clock.hpp"

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;

// A machine: its wall clock can be set, its steady clock cannot.
class WallClockTest : public testing::Test {
 protected:
  WallClock boot() {
    return WallClock([this] { return wall_; }, [this] { return steady_; });
  }
  void pass(std::int64_t us) {
    wall_ += us;
    steady_ += us;
  }
  void set(std::int64_t by_us) { wall_ += by_us; }

  std::int64_t wall_ = 1'700'000'000 * second;
  std::int64_t steady_ = 5 * second;
};

TEST_F(WallClockTest, is_the_wall_clock_while_nobody_sets_it) {
  WallClock clock = boot();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(clock.now_us(), wall_);
    pass(hour);
  }
}

TEST_F(WallClockTest, goes_on_when_the_wall_clock_is_set_back) {
  WallClock clock = boot();
  const std::int64_t before = clock.now_us();
  set(-10 * minute);
  EXPECT_EQ(clock.now_us(), before);
  pass(30 * second);
  const std::int64_t passed = clock.now_us() - before;
  EXPECT_LE(passed, 30 * second);
  EXPECT_GE(passed, 28 * second) << "a lease of half a minute ends after about half a minute";
}

TEST_F(WallClockTest, agrees_with_the_wall_clock_again_after_a_while_and_never_goes_back) {
  WallClock clock = boot();
  clock.now_us();
  set(-10 * minute);
  std::int64_t last = clock.now_us();
  for (int i = 0; i < 170; ++i) {
    pass(minute);
    const std::int64_t now = clock.now_us();
    EXPECT_GE(now - last, 50 * second);
    last = now;
  }
  EXPECT_EQ(clock.now_us(), wall_);
}

TEST_F(WallClockTest, a_long_silence_works_a_lead_off_as_well) {
  WallClock clock = boot();
  clock.now_us();
  set(-10 * minute);
  clock.now_us();
  pass(80 * minute);
  EXPECT_EQ(clock.now_us(), wall_ + 5 * minute);
  pass(80 * minute);
  EXPECT_EQ(clock.now_us(), wall_);
}

TEST_F(WallClockTest, steps_back_add_up) {
  WallClock clock = boot();
  const std::int64_t before = clock.now_us();
  for (int i = 0; i < 3; ++i) {
    set(-10 * minute);
    EXPECT_EQ(clock.now_us(), before);
  }
}

TEST_F(WallClockTest, a_clock_that_was_ahead_for_a_moment_stops_nothing) {
  WallClock clock = boot();
  clock.now_us();
  set(20 * minute);
  const std::int64_t ahead = clock.now_us();
  EXPECT_EQ(ahead, wall_);
  set(-20 * minute);
  EXPECT_EQ(clock.now_us(), ahead);
  pass(minute);
  EXPECT_GE(clock.now_us() - ahead, 56 * second);
}

TEST_F(WallClockTest, a_step_forward_uses_up_a_lead) {
  WallClock clock = boot();
  const std::int64_t before = clock.now_us();
  set(-10 * minute);
  clock.now_us();
  set(4 * minute);
  EXPECT_EQ(clock.now_us(), before);
  set(6 * minute);
  EXPECT_EQ(clock.now_us(), before);
  EXPECT_EQ(before, wall_);
}

TEST_F(WallClockTest, stands_still_for_a_small_step_back) {
  WallClock clock = boot();
  const std::int64_t before = clock.now_us();
  set(-second / 2);
  EXPECT_EQ(clock.now_us(), before);
  pass(second);
  EXPECT_EQ(clock.now_us(), wall_);
}

TEST_F(WallClockTest, follows_a_step_back_by_more_than_an_hour) {
  WallClock clock = boot();
  clock.now_us();
  set(-hour - minute);
  EXPECT_EQ(clock.now_us(), wall_);
  pass(minute);
  EXPECT_EQ(clock.now_us(), wall_);
}

TEST_F(WallClockTest, processes_that_share_a_lead_have_the_same_time) {
  WallClock here = boot();
  ClockLead recorded;
  const std::int64_t before = here.now_us(recorded);
  set(-10 * minute);
  WallClock there = boot();  // it has not seen the step
  EXPECT_EQ(here.now_us(recorded), before);
  EXPECT_EQ(recorded, (ClockLead{10 * minute, wall_}));
  EXPECT_EQ(there.now_us(recorded), before);
  pass(minute);
  EXPECT_EQ(here.now_us(recorded), there.now_us(recorded));
  set(10 * minute);
  const std::int64_t after = there.now_us(recorded);
  EXPECT_EQ(here.now_us(recorded), after) << "both have seen that step, and it counts once";
}

TEST_F(WallClockTest, what_could_not_be_recorded_is_asked_for_again) {
  WallClock clock = boot();
  ClockLead recorded;
  clock.now_us(recorded);
  set(-10 * minute);
  clock.now_us();  // outside of a transaction
  ClockLead lost = recorded;
  clock.now_us(lost);
  EXPECT_NE(lost, recorded);
  clock.now_us(recorded);
  EXPECT_EQ(lost, recorded);
}

}  // namespace
}  // namespace flowfabric
