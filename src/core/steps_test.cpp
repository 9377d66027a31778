#include "core/steps.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

using Positions = std::vector<std::uint32_t>;

TEST(StepIndex, positions_join_to_ranges_in_any_order) {
  StepIndex index;
  for (const std::uint32_t position : {5u, 1u, 2u, 4u, 3u}) index.add(position);
  EXPECT_EQ(index.good.size(), 1u);
  EXPECT_EQ(index.positions(0, 10), (Positions{1, 2, 3, 4, 5}));
  EXPECT_EQ(index.positions(3, 2), (Positions{3, 4}));
  EXPECT_EQ(index.positions(1, UINT32_MAX).size(), 5u);
}

TEST(StepIndex, only_failures_behind_the_last_success_are_forgotten) {
  StepIndex index;
  index.add_failed(1, 0);
  index.add(2);
  index.add_failed(3, 0);
  index.add_failed(5, 0);
  index.forget_last_failures();
  EXPECT_EQ(index.positions(0, 10), (Positions{1, 2}));
  EXPECT_FALSE(index.contains(3));
}

TEST(StepIndex, success_of_a_step_side_by_side_does_not_rest_on_a_failure) {
  StepIndex index;
  index.add_failed(2, 4);
  index.add(1);
  index.add(3);
  index.add(4);
  StepIndex went_on = index;
  index.forget_last_failures();
  EXPECT_EQ(index.positions(0, 10), (Positions{1, 3, 4}));
  went_on.add(5);
  went_on.forget_last_failures();
  EXPECT_EQ(went_on.positions(0, 10), (Positions{1, 2, 3, 4, 5}));
}

TEST(StepIndex, forget_from_cuts_a_range) {
  StepIndex index;
  for (std::uint32_t position = 1; position <= 6; ++position) {
    position == 4 ? index.add_failed(position, 0) : index.add(position);
  }
  index.forget_from(3);
  EXPECT_EQ(index.positions(0, 10), (Positions{1, 2}));
  index.forget_from(1);
  EXPECT_TRUE(index.empty());
}

TEST(StepIndex, agrees_with_a_set_of_positions) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    StepIndex index;
    std::set<std::uint32_t> good, failed;
    for (int i = 0; i < 40; ++i) {
      const auto position = static_cast<std::uint32_t>(1 + random() % 50);
      const bool known = good.contains(position) || failed.contains(position);
      ASSERT_EQ(index.contains(position), known);
      if (known) continue;
      const bool bad = random() % 4 == 0;
      bad ? index.add_failed(position, 0) : index.add(position);
      (bad ? failed : good).insert(position);
    }
    if (round % 2 == 0) {
      const auto from = static_cast<std::uint32_t>(1 + random() % 50);
      index.forget_from(from);
      std::erase_if(good, [&](std::uint32_t p) { return p >= from; });
      std::erase_if(failed, [&](std::uint32_t p) { return p >= from; });
    }
    std::set<std::uint32_t> all = good;
    all.insert(failed.begin(), failed.end());
    ASSERT_EQ(index.positions(0, 1000), Positions(all.begin(), all.end()));
    ASSERT_EQ(index.positions(1, UINT32_MAX).size(), all.size());
    for (std::size_t i = 1; i < index.good.size(); ++i) ASSERT_GT(index.good[i].first, index.good[i - 1].second + 1);
  }
}

TEST(StepEncoding, round_trip) {
  Step step;
  step.position = 7;
  step.name = "charge";
  step.state = StepState::failed;
  step.result = std::string("\0\xff", 2);
  step.result_encoding = "raw";
  step.failure = Failure{"declined", "no money", "detail"};
  step.permanent = true;
  step.tries = 3;
  step.duration_ms = 12;
  step.recorded_at = 99;
  step.wake_at = 100;
  step.attempt_index = 2;
  step.replay_count = 1;
  step.worker_instance_id = "w-1";
  const std::string bytes = encode(step);
  const auto decoded = decode_step(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, step);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = decode_step(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, Errc::corruption);
  }
  const Checkpoint checkpoint{"bytes", "raw", 5};
  EXPECT_EQ(decode_checkpoint(encode(checkpoint)).value(), checkpoint);
}

}  // namespace
}  // namespace flowfabric
