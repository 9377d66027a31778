#include "net/deadline_wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace flowfabric::net {
namespace {

using std::chrono::milliseconds;

struct Bench {
  Clock::time_point start = Clock::now();
  DeadlineWheel wheel{start};
  std::vector<Deadline*> met{};

  Clock::time_point at(int ms) const { return start + milliseconds(ms); }
  void turn(int ms) {
    wheel.turn(at(ms), [&](Deadline& deadline) { met.push_back(&deadline); });
  }
  std::size_t count() const { return met.size(); }
};

TEST(HttpDeadlines, AreMetAfterTheirTimeAndNeverBefore) {
  Bench bench;
  Deadline deadline;
  bench.wheel.set(deadline, bench.at(100));
  bench.turn(99);
  EXPECT_EQ(bench.count(), 0u);
  bench.turn(120);
  EXPECT_EQ(bench.count(), 1u);
  EXPECT_FALSE(deadline.linked());
  bench.turn(100000);
  EXPECT_EQ(bench.count(), 1u);
}

TEST(HttpDeadlines, MoveBothWays) {
  Bench bench;
  Deadline deadline;
  bench.wheel.set(deadline, bench.at(100));
  bench.wheel.set(deadline, bench.at(500));
  bench.turn(300);
  EXPECT_EQ(bench.count(), 0u);
  bench.wheel.set(deadline, bench.at(350));
  bench.turn(370);
  EXPECT_EQ(bench.count(), 1u);
}

TEST(HttpDeadlines, GoRoundWhenTheyAreFar) {
  Bench bench;
  Deadline deadline;
  bench.wheel.set(deadline, bench.at(100'000));
  for (int ms = 0; ms < 100'000; ms += 5000) bench.turn(ms);
  EXPECT_EQ(bench.count(), 0u);
  bench.turn(100'020);
  EXPECT_EQ(bench.count(), 1u);
}

TEST(HttpDeadlines, ALongPauseLosesNothing) {
  Bench bench;
  Deadline deadlines[50];
  for (int i = 0; i < 50; ++i) bench.wheel.set(deadlines[i], bench.at(i * 900));
  bench.turn(1'000'000);
  EXPECT_EQ(bench.count(), 50u);
  EXPECT_EQ(bench.wheel.next_turn(), Clock::time_point::max());
  Deadline late;
  bench.wheel.set(late, bench.at(1'000'100));
  EXPECT_LE(bench.wheel.next_turn(), bench.at(1'000'120));
  bench.turn(1'000'120);
  EXPECT_EQ(bench.count(), 51u);
}

TEST(HttpDeadlines, MayBeClearedAndSetWhileTheyAreMet) {
  Bench bench;
  Deadline first;
  Deadline second;
  bench.wheel.set(first, bench.at(100));
  bench.wheel.set(second, bench.at(100));
  int met = 0;
  bench.wheel.turn(bench.at(200), [&](Deadline& deadline) {
    ++met;
    DeadlineWheel::clear(&deadline == &first ? second : first);
    bench.wheel.set(deadline, bench.at(300));
  });
  EXPECT_EQ(met, 1);
  bench.turn(320);
  EXPECT_EQ(bench.count(), 1u);
}

// If the wheel is turned only when it asks for it, every deadline is met within a tick.
TEST(HttpDeadlines, TheWheelAsksForItsTurnsInTime) {
  Bench bench;
  std::mt19937 random(7);
  std::vector<Deadline> deadlines(500);
  for (Deadline& deadline : deadlines) bench.wheel.set(deadline, bench.at(static_cast<int>(random() % 60'000)));
  Clock::time_point now = bench.start;
  for (auto next = bench.wheel.next_turn(); next != Clock::time_point::max(); next = bench.wheel.next_turn()) {
    ASSERT_GT(next, now);
    now = next;
    bench.wheel.turn(now, [&](Deadline& deadline) {
      EXPECT_LE(deadline.due, now);
      EXPECT_LE(now - deadline.due, 2 * DeadlineWheel::tick_length);
      bench.met.push_back(&deadline);
    });
  }
  EXPECT_EQ(bench.count(), deadlines.size());
}

}  // namespace
}  // namespace flowfabric::net
