#include "engine/parking.hpp"

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

class ParkingTest : public ::testing::Test {
 protected:
  ParkingTest() { routes_.add({{1, "lane", {}}, {2, "lane", {"gpu"}}, {3, "other", {}}}); }

  ClaimPtr claim_of(std::optional<std::string> name_space, std::vector<std::string> lanes = {"lane"},
                    std::vector<std::string> capabilities = {}) {
    auto claim = std::make_shared<QueuedClaim>();
    claim->request.name_space = std::move(name_space);
    claim->request.lanes = std::move(lanes);
    claim->request.capabilities = std::move(capabilities);
    claim->wait_until_ms = 1000;
    claim->seen = parking_.signature(claim->request);
    return claim;
  }
  ClaimPtr park(std::optional<std::string> name_space, std::vector<std::string> lanes = {"lane"},
                std::vector<std::string> capabilities = {}) {
    auto claim = claim_of(std::move(name_space), std::move(lanes), std::move(capabilities));
    EXPECT_EQ(parking_.park(claim), Parking::Parked::yes);
    return claim;
  }

  using Claims = std::vector<ClaimPtr>;
  RouteTable routes_;
  Parking parking_{routes_};
};

TEST_F(ParkingTest, WorkWakesWhoCouldTakeItInOrderOfArrival) {
  const ClaimPtr b = park("b"), a = park("a"), any = park(std::nullopt), gpu = park("a", {"lane"}, {"gpu"}),
                 last = park("a");
  park("a", {"other"});
  EXPECT_EQ(parking_.wake({2, "a"}, 5), Claims{gpu});
  EXPECT_EQ(parking_.wake({1, "a"}, 2), (Claims{a, any}));
  EXPECT_EQ(parking_.wake({1, "c"}, 9), Claims{});
  EXPECT_EQ(parking_.wake({1, "b"}, 9), Claims{b});
  EXPECT_EQ(parking_.wake({1, "a"}, 9), Claims{last});
  EXPECT_EQ(parking_.parked_claims(), 1u);
}

TEST_F(ParkingTest, WhoIsWokenKnowsWhatFor) {
  const ClaimPtr any = park(std::nullopt);
  parking_.wake({1, "a"}, 1);
  EXPECT_EQ(any->woken_for, (ReadyLine{1, "a"}));
  any->seen = parking_.signature(any->request);
  EXPECT_EQ(parking_.park(any), Parking::Parked::yes);
  EXPECT_FALSE(any->woken_for) << "it looked, and there was nothing";
}

TEST_F(ParkingTest, OnlyWhatMayGiveItWorkMovesTheSignatureOfAClaim) {
  const ClaimPtr a = claim_of("a"), any = claim_of(std::nullopt), elsewhere = claim_of("a", {"other"});
  parking_.wake({1, "b"}, 1);
  EXPECT_EQ(parking_.park(any), Parking::Parked::search_again);
  EXPECT_EQ(parking_.park(a), Parking::Parked::yes);
  const ClaimPtr again = claim_of("a");
  parking_.wake({1, "a"}, 1);
  EXPECT_EQ(parking_.park(again), Parking::Parked::search_again);
  EXPECT_EQ(parking_.park(elsewhere), Parking::Parked::yes);
  parking_.wake_lane("nobody's");
  EXPECT_EQ(parking_.park(claim_of("b")), Parking::Parked::yes);
}

TEST_F(ParkingTest, ALaneWakesAllWhoWaitOnIt) {
  const ClaimPtr a = park("a"), any = park(std::nullopt, {"lane", "other"}), other = park("b", {"other"});
  EXPECT_EQ(parking_.wake_lane("lane"), (Claims{any, a}));
  EXPECT_EQ(parking_.wake({3, "b"}, 9), Claims{other}) << "who stood in both lines has gone";
  EXPECT_EQ(parking_.parked_claims(), 0u);
  EXPECT_EQ(parking_.wake({3, "b"}, 9), Claims{});
}

TEST_F(ParkingTest, WhoIsTakenOutLeavesNothingBehind) {
  for (int i = 0; i < 100; ++i) {
    const ClaimPtr several = park(std::nullopt, {"lane", "other"});
    EXPECT_EQ(parking_.places(), 3u);
    EXPECT_EQ(parking_.wake({1, "a"}, 1), Claims{several});
    EXPECT_EQ(parking_.places(), 0u);
  }
  park("a", {"lane", "other"});
  EXPECT_EQ(parking_.wake_lane("other").size(), 1u);
  park("a", {"lane", "other"});
  EXPECT_EQ(parking_.take_expired_claims(1000).size(), 1u);
  park("a", {"lane", "other"});
  EXPECT_EQ(parking_.wake_all().size(), 1u);
  EXPECT_EQ(parking_.places(), 0u);
  EXPECT_EQ(parking_.next_deadline_ms(), 0);
}

TEST_F(ParkingTest, ClaimsLeaveWhenTheirTimeIsUp) {
  const ClaimPtr a = park("a"), any = park(std::nullopt);
  EXPECT_EQ(parking_.take_expired_claims(999), Claims{});
  EXPECT_EQ(parking_.take_expired_claims(1000), (Claims{a, any}));
  EXPECT_EQ(parking_.wake({1, "a"}, 9), Claims{});
}

}  // namespace
}  // namespace flowfabric
