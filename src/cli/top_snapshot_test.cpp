#include "cli/top_snapshot.hpp"

#include <gtest/gtest.h>

namespace flowfabric::cli {
namespace {

TopSnapshot busy_snapshot(std::size_t lanes) {
  TopSnapshot snapshot;
  snapshot.store = "sqlite:/var/lib/flowfabric/jobs.db";
  snapshot.pulse.now = 1794792917071;
  snapshot.pulse.parked_claims = 123456;
  snapshot.pulse.due_lag_ms = 999;
  for (std::size_t i = 0; i < lanes; ++i) {
    LaneFigures lane;
    lane.lane = "a lane with a name that is longer than anybody needs " + std::to_string(100 + i);
    lane.state = LaneState::draining;
    lane.waiting = lane.active = lane.delayed = lane.failed = 12345678 + i;
    lane.completed = lane.other = 123456789;
    lane.created_per_s = 12345.6;
    lane.finished_per_s = 12345.6;
    lane.oldest_waiting_ms = 999 - static_cast<std::int64_t>(i);
    snapshot.lanes.push_back(lane);
  }
  return snapshot;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    longest = std::max(longest, end - begin);
  }
  return longest;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TopText, FitsEightyColumnsAndSaysWhatItLeftOut) {
  const std::string text = top_text(busy_snapshot(30), Look{80, false, false}, 24);
  EXPECT_LE(longest_line(text), 80u) << text;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 23) << text;
  EXPECT_TRUE(has(text, "sqlite:/var/lib/flowfabric/jobs.db")) << text;
  EXPECT_TRUE(has(text, "... and 13 more lanes")) << text;
  EXPECT_TRUE(has(text, "left out: OTHER, COMPLETED")) << text;
}

TEST(TopText, WithoutATerminalNothingIsLeftOut) {
  const std::string text = top_text(busy_snapshot(30), Look{}, 0);
  EXPECT_TRUE(has(text, "COMPLETED") && has(text, "OTHER")) << text;
  EXPECT_FALSE(has(text, "left out") || has(text, "more lane")) << text;
  EXPECT_TRUE(has(text, "12345678")) << text;
}

TEST(TopOrder, SortsByEveryFigureWithTheLargestFirst) {
  std::vector<LaneFigures> lanes(3);
  lanes[0].lane = "b", lanes[0].waiting = 1, lanes[0].failed = 7;
  lanes[1].lane = "a", lanes[1].waiting = 1, lanes[1].oldest_waiting_ms = 5;
  lanes[2].lane = "c", lanes[2].waiting = 9, lanes[2].created_per_s = 0.5;
  const auto order = [&](const std::string& by) {
    sort_lanes(lanes, by);
    return lanes[0].lane + lanes[1].lane + lanes[2].lane;
  };
  EXPECT_EQ(order("lane"), "abc");
  EXPECT_EQ(order("waiting"), "cab");
  EXPECT_EQ(order("failed"), "bac");
  EXPECT_EQ(order("oldest"), "abc");
  EXPECT_EQ(order("created"), "cab");
  EXPECT_TRUE(is_top_order("finished"));
  EXPECT_FALSE(is_top_order("colour"));
}

}  // namespace
}  // namespace flowfabric::cli
