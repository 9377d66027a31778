#include "engine/lane_turns.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"

namespace flowfabric {
namespace {

ClaimRequest weighing(Weights weights) {
  ClaimRequest claim;
  claim.lanes = {"a", "b", "c"};
  claim.lane_weights = std::move(weights);
  return claim;
}

std::string turns_of(LaneTurns& turns, const ClaimRequest& claim, const std::vector<std::string>& lanes, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += turns.next(claim, lanes);
  return text;
}

TEST(LaneTurns, SpreadTheTurnsByWeight) {
  LaneTurns turns;
  EXPECT_EQ(turns_of(turns, weighing({{"a", 5}}), {"a", "b", "c"}, 14), "aabacaaaabacaa");
}

TEST(LaneTurns, ALaneWithoutWorkSavesNothingUp) {
  LaneTurns turns;
  const ClaimRequest claim = weighing({{"a", 2}, {"b", 1}});
  EXPECT_EQ(turns_of(turns, claim, {"b"}, 50), std::string(50, 'b'));
  EXPECT_EQ(turns_of(turns, claim, {"a", "b"}, 6), "abaaba");
}

TEST(LaneTurns, EachSetOfWeightsHasItsOwnSequence) {
  LaneTurns turns;
  EXPECT_EQ(turns.next(weighing({{"b", 3}}), {"a", "b"}), "b");
  EXPECT_EQ(turns.next(weighing({{"a", 3}}), {"a", "b"}), "a");
  EXPECT_EQ(turns.next(weighing({{"b", 3}}), {"a", "b"}), "a") << "where the first one was left";
  EXPECT_EQ(turns.sequences(), 2U);
}

TEST(LaneTurns, AreForgottenWhenThereAreTooMany) {
  LaneTurns turns;
  for (std::uint32_t i = 1; i <= 3 * limits::max_lane_turns; ++i) {
    ClaimRequest claim = weighing({{"a", 2}});
    claim.lanes.push_back("lane " + std::to_string(i));
    (void)turns.next(claim, {"a"});
    ASSERT_LE(turns.sequences(), limits::max_lane_turns);
  }
}

}  // namespace
}  // namespace flowfabric
