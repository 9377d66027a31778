#include "api/activity.hpp"

#include <gtest/gtest.h>

namespace flowfabric::api {
namespace {

constexpr TimestampMs start = 1'767'225'600'000;

ExecutionId id_of(std::uint32_t n) {
  ExecutionId id;
  for (int i = 0; i < 4; ++i) id.uuid.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(n >> (8 * i));
  return id;
}

Event event(EventType type, TimestampMs at, std::uint32_t n = 1, PublicState after = PublicState::waiting) {
  Event one;
  one.type = type;
  one.at = at;
  one.execution_id = id_of(n);
  one.name_space = "default";
  one.lane = "mail";
  one.kind = "send";
  one.state_after = after;
  return one;
}

Event claimed(TimestampMs at, std::uint32_t n = 1) { return event(EventType::claimed, at, n, PublicState::active); }

Event completed(TimestampMs at, std::uint32_t n = 1) {
  Event one = event(EventType::completed, at, n, PublicState::completed);
  one.state_before = PublicState::active;
  return one;
}

Event failed(TimestampMs at, std::uint32_t n, const std::string& kind, const std::string& category) {
  Event one = event(EventType::failed, at, n, PublicState::failed);
  one.state_before = PublicState::active;
  one.kind = kind;
  one.reason = category;
  return one;
}

class Counting : public testing::Test {
 protected:
  Counting() { activity.begin(start); }
  ActivitySample last(TimestampMs now, const std::optional<std::string>& name_space = {}) {
    return activity.view(name_space, now).samples.back();
  }

  Activity activity;
};

TEST_F(Counting, EventsStandInTheIntervalOfTheirTime) {
  activity.note({event(EventType::created, start), claimed(start + 100), completed(start + 300)});
  activity.note({event(EventType::created, start + 5000, 2)});
  const ActivityView view = activity.view({}, start + 5001);
  ASSERT_EQ(view.samples.size(), 2u);
  EXPECT_EQ(view.samples[0].at, start);
  EXPECT_EQ(view.samples[0].created, 1u);
  EXPECT_EQ(view.samples[0].claimed, 1u);
  EXPECT_EQ(view.samples[0].completed, 1u);
  EXPECT_EQ(view.samples[1].created, 1u);
  EXPECT_EQ(view.samples[1].claimed, 0u);
  EXPECT_EQ(view.completed_by_lane.at("mail"), (std::vector<std::uint32_t>{1, 0}));
}

TEST_F(Counting, TimesAreMeasuredFromClaimableToClaimedToTheEnd) {
  activity.note({event(EventType::created, start), claimed(start + 100), completed(start + 1300)});
  const ActivitySample sample = last(start + 2000);
  ASSERT_TRUE(sample.wait_p50_ms && sample.run_p50_ms);
  EXPECT_NEAR(static_cast<double>(*sample.wait_p50_ms), 100, 7);
  EXPECT_NEAR(static_cast<double>(*sample.run_p95_ms), 1200, 75);
}

TEST_F(Counting, ADelayIsNoWait) {
  Event created = event(EventType::created, start, 1, PublicState::delayed);
  created.next_at = start + 4000;
  activity.note({created, claimed(start + 4010)});
  EXPECT_EQ(last(start + 4010).wait_p50_ms, 10);
}

TEST_F(Counting, WhatItSawTheMiddleOfIsNotMeasured) {
  activity.note({claimed(start + 10, 1), completed(start + 20, 2)});
  EXPECT_FALSE(last(start + 20).wait_p50_ms);
  EXPECT_FALSE(last(start + 20).run_p50_ms);
  EXPECT_EQ(last(start + 20).completed, 1u);
}

TEST_F(Counting, IntervalsThatNothingHappenedInAreThereToo) {
  activity.note({event(EventType::created, start)});
  activity.note({event(EventType::created, start + 10 * activity_interval_ms, 2)});
  const ActivityView view = activity.view({}, start + 12 * activity_interval_ms);
  ASSERT_EQ(view.samples.size(), 13u);
  for (std::size_t i = 0; i < view.samples.size(); ++i) {
    EXPECT_EQ(view.samples[i].at, start + static_cast<std::int64_t>(i) * activity_interval_ms);
    EXPECT_EQ(view.samples[i].created, i == 0 || i == 10 ? 1u : 0u) << i;
  }
}

TEST_F(Counting, AfterAnHourTheOldestGo) {
  for (std::int64_t i = 0; i < 1000; ++i) {
    activity.note({completed(start + i * activity_interval_ms, static_cast<std::uint32_t>(i))});
  }
  const ActivityView view = activity.view({}, start + 999 * activity_interval_ms);
  ASSERT_EQ(view.samples.size(), activity_intervals);
  for (const ActivitySample& sample : view.samples) EXPECT_EQ(sample.completed, 1u) << sample.at;
  EXPECT_EQ(view.samples.front().at, start + (1000 - 720) * activity_interval_ms);
  EXPECT_EQ(view.completed_by_lane.at("mail"), std::vector<std::uint32_t>(activity_intervals, 1));
  // And after another hour of silence there is nothing left of them.
  const ActivityView later = activity.view({}, start + 2000 * activity_interval_ms);
  for (const ActivitySample& sample : later.samples) EXPECT_EQ(sample.completed, 0u);
  activity.note({completed(start, 1)});
  EXPECT_EQ(activity.view({}, start + 999 * activity_interval_ms).samples.back().completed, 1u) << "too old to count";
}

TEST_F(Counting, ALateEventIsCountedWhereItBelongs) {
  activity.note({event(EventType::created, start + 5000, 2), event(EventType::created, start + 4999, 1)});
  const ActivityView view = activity.view({}, start + 5000);
  EXPECT_EQ(view.samples[0].created, 1u);
  EXPECT_EQ(view.samples[1].created, 1u);
}

TEST_F(Counting, NamespacesAreCountedApart) {
  Event other = event(EventType::created, start, 2);
  other.name_space = "other";
  activity.note({event(EventType::created, start), other, failed(start, 1, "send", "smtp")});
  EXPECT_EQ(last(start).created, 2u);
  EXPECT_EQ(last(start, "default").created, 1u);
  EXPECT_EQ(last(start, "other").created, 1u);
  EXPECT_EQ(last(start, "nobody").created, 0u);
  EXPECT_TRUE(activity.view("other", start).failures.empty());
  EXPECT_TRUE(activity.view("other", start).completed_by_lane.empty());
}

TEST_F(Counting, FailuresStandByKindAndLaneForAnHour) {
  activity.note({failed(start, 1, "send", "smtp"), failed(start + 60'000, 2, "send", "dns"),
                 failed(start + 1, 3, "print", "paper")});
  auto failures = activity.view({}, start + 61'000).failures;
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].kind, "send");
  EXPECT_EQ(failures[0].count, 2u);
  EXPECT_EQ(failures[0].last_category, "dns");
  EXPECT_EQ(failures[0].last_at, start + 60'000);
  failures = activity.view({}, start + 60 * 60'000).failures;
  ASSERT_EQ(failures.size(), 1u) << "one is less than an hour old";
  EXPECT_EQ(failures[0].count, 1u);
  EXPECT_TRUE(activity.view({}, start + 3 * 3'600'000).failures.empty());
}

TEST_F(Counting, LostWorkersAreRememberedForTenMinutes) {
  Event lost;
  lost.type = EventType::worker_ttl_swept;
  lost.at = start;
  lost.name_space = "default";
  activity.note({lost});
  EXPECT_EQ(activity.view({}, start + 60'000).workers_lost, 1u);
  EXPECT_EQ(activity.view("other", start + 60'000).workers_lost, 0u);
  EXPECT_EQ(activity.view({}, start + 11 * 60'000).workers_lost, 0u);
}

TEST_F(Counting, AGapIsShown) {
  activity.note({event(EventType::created, start)});
  activity.note_gap(start + 6000);
  const ActivityView view = activity.view({}, start + 6000);
  EXPECT_FALSE(view.samples[0].incomplete);
  EXPECT_TRUE(view.samples[1].incomplete);
}

TEST_F(Counting, NamesDoNotUseUpTheMemory) {
  for (std::uint32_t i = 0; i < 2000; ++i) {
    Event one = completed(start + i, i);
    one.name_space = "namespace-" + std::to_string(i);
    one.lane = "lane-" + std::to_string(i);
    Event other = failed(start + i, i, "kind-" + std::to_string(i), "x");
    other.name_space = one.name_space;
    activity.note({one, other});
  }
  const ActivityView view = activity.view({}, start + 2000);
  EXPECT_EQ(view.samples.back().completed, 2000u) << "all are counted";
  EXPECT_LE(view.completed_by_lane.size(), 250u);
  EXPECT_TRUE(view.completed_by_lane.contains("lane-1999"));
  EXPECT_EQ(view.failures.size(), 50u);
  EXPECT_EQ(last(start + 2000, "namespace-1999").completed, 1u);
  EXPECT_EQ(last(start + 2000, "namespace-0").completed, 0u) << "quiet for longest";
}

TEST(StretchMeter, FollowsFewerWhenThereAreMany) {
  constexpr std::size_t bound = 1000;
  StretchMeter meter(bound);
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    meter.note(event(EventType::created, start, i));
    ASSERT_LE(meter.followed(), bound);
  }
  std::size_t measured = 0;
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    const auto one = meter.note(claimed(start + 70, i));
    if (!one.waited_ms) continue;
    EXPECT_EQ(*one.waited_ms, 70);
    ++measured;
  }
  EXPECT_GT(measured, 100u);
  for (std::uint32_t i = 0; i < 50'000; ++i) meter.note(completed(start + 80, i));
  EXPECT_EQ(meter.followed(), 0u);
  // With room again, it follows everybody again.
  for (std::uint32_t i = 0; i < 1000; ++i) {
    meter.note(event(EventType::created, start, i));
    meter.note(claimed(start + 1, i));
    meter.note(completed(start + 2, i));
  }
  meter.note(event(EventType::created, start, 7));
  EXPECT_EQ(meter.followed(), 1u);
}

TEST(StretchMeter, ARetryIsAnotherRun) {
  StretchMeter meter(10);
  meter.note(event(EventType::created, start));
  meter.note(claimed(start + 5));
  Event retry = event(EventType::retry_scheduled, start + 25, 1, PublicState::delayed);
  retry.state_before = PublicState::active;
  retry.next_at = start + 1000;
  EXPECT_EQ(meter.note(retry).ran_ms, 20);
  EXPECT_EQ(meter.note(claimed(start + 1003)).waited_ms, 3);
  EXPECT_EQ(meter.note(completed(start + 1013)).ran_ms, 10);
}

TEST(DurationHistogram, IsRightToWithinAnEighth) {
  for (const std::int64_t value : {0, 1, 7, 8, 15, 16, 17, 100, 999, 12345, 86'400'000}) {
    DurationHistogram histogram;
    histogram.add(value);
    const double found = static_cast<double>(histogram.quantile(0.95).value());
    EXPECT_NEAR(found, static_cast<double>(value), static_cast<double>(value) / 8) << value;
  }
  DurationHistogram many;
  EXPECT_FALSE(many.quantile(0.5));
  for (int i = 1; i <= 100; ++i) many.add(i <= 94 ? 10 : 2000);
  EXPECT_EQ(many.quantile(0.5), 10);
  EXPECT_GT(many.quantile(0.95).value(), 1800);
  many.add(-5);
  many.add(INT64_MAX);
  EXPECT_GT(many.quantile(1).value(), 1LL << 34);
}

}  // namespace
}  // namespace flowfabric::api
