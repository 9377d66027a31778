#include "api/attention.hpp"

#include <gtest/gtest.h>

namespace flowfabric::api {
namespace {

constexpr TimestampMs now = 1'767'225'600'000;

OverviewReply calm(std::size_t samples = activity_intervals) {
  OverviewReply reply;
  reply.now = now;
  reply.store = {"sqlite", true, ""};
  reply.samples.resize(samples);
  for (ActivitySample& sample : reply.samples) sample.completed = 10;
  reply.lanes.push_back({"mail", LaneState::active, {{PublicState::waiting, 3}}, now - 2000, {}});
  return reply;
}

std::string codes(const OverviewReply& overview, const AttentionFacts& facts = {}) {
  std::string all;
  for (const Attention& one : needs_attention(overview, facts)) {
    EXPECT_FALSE(one.message.empty());
    EXPECT_TRUE(one.message.ends_with('.')) << one.message;
    all += (all.empty() ? "" : " ") + one.code + (one.severity == Severity::error ? "!" : "");
  }
  return all;
}

TEST(NeedsAttention, NothingWhenAllIsWell) { EXPECT_EQ(codes(calm()), ""); }

TEST(NeedsAttention, TheStore) {
  OverviewReply overview = calm();
  overview.store = {"postgres", false, "no connection"};
  EXPECT_EQ(codes(overview), "store_not_ready!");
  EXPECT_NE(needs_attention(overview, {})[0].message.find("no connection"), std::string::npos);
  overview = calm();
  overview.due_lag_ms = 9'999;
  EXPECT_EQ(codes(overview), "");
  overview.due_lag_ms = 10'000;
  EXPECT_EQ(codes(overview), "due_lag");
  overview.due_lag_ms = 60'000;
  EXPECT_EQ(codes(overview), "due_lag!");
  EXPECT_EQ(codes(calm(), {9'999, "", 0}), "");
  EXPECT_EQ(codes(calm(), {10'000, "pid 7", 0}), "events_held_back");
}

TEST(NeedsAttention, LanesThatHandNothingOut) {
  OverviewReply overview = calm();
  for (const LaneState state : {LaneState::paused, LaneState::disabled}) {
    overview.lanes[0].state = state;
    EXPECT_EQ(codes(overview), "lane_not_active") << to_string(state);
  }
  overview.lanes[0].state = LaneState::draining;
  EXPECT_EQ(codes(overview), "") << "it hands out what it has";
  overview.lanes[0] = {"mail", LaneState::paused, {{PublicState::completed, 3}}, 0, {}};
  EXPECT_EQ(codes(overview), "") << "nothing waits there";
}

TEST(NeedsAttention, LongWaits) {
  OverviewReply overview = calm();
  overview.lanes[0].oldest_waiting_at = now - 5 * 60'000;
  EXPECT_EQ(codes(overview), "waiting_long");
  overview.lanes[0].lane = "a b/c";
  EXPECT_EQ(needs_attention(overview, {})[0].link, "/ui/executions?state=waiting&lane=a%20b%2Fc");
  overview.lanes[0].oldest_waiting_at = 0;
  EXPECT_EQ(codes(overview), "") << "not known";
}

TEST(NeedsAttention, ManyLanesAreSummedUp) {
  OverviewReply overview = calm();
  overview.lanes.clear();
  for (std::uint64_t i = 1; i <= 8; ++i) {
    overview.lanes.push_back({"lane-" + std::to_string(i), LaneState::paused, {{PublicState::waiting, i}}, 0, {}});
  }
  const auto found = needs_attention(overview, {});
  ASSERT_EQ(found.size(), 6u);
  EXPECT_NE(found[0].message.find("lane-8"), std::string::npos) << "the one with most waiting";
  EXPECT_EQ(found[5].message, "3 more lanes are paused or disabled while executions wait.");
}

TEST(NeedsAttention, FailuresThatGrow) {
  OverviewReply overview = calm();
  overview.samples.back().failed = 9;
  EXPECT_EQ(codes(overview), "") << "few";
  overview.samples.back().failed = 60;
  EXPECT_EQ(codes(overview), "failures_growing");
  overview.samples.back().failed = 2000;
  EXPECT_EQ(codes(overview), "failures_growing!") << "more than complete";
  for (ActivitySample& sample : overview.samples) sample.failed = 5;
  EXPECT_EQ(codes(overview), "") << "as many as ever";
  // A server that has just started has nothing to compare with.
  overview = calm(3);
  overview.samples.back().failed = 20;
  overview.failures.push_back({"send", "mail", 20, "smtp", now});
  const auto found = needs_attention(overview, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].link, "/ui/executions?state=failed,expired&kind=send&lane=mail");
  EXPECT_NE(found[0].message.find("smtp"), std::string::npos);
}

TEST(NeedsAttention, LostWorkersAndErrorsFirst) {
  OverviewReply overview = calm();
  EXPECT_EQ(codes(overview, {0, "", 2}), "workers_lost");
  overview.lanes[0].state = LaneState::paused;
  overview.store.ready = false;
  EXPECT_EQ(codes(overview, {0, "", 2}), "store_not_ready! lane_not_active workers_lost");
}

}  // namespace
}  // namespace flowfabric::api
