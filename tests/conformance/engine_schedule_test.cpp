// Schedules on every store: each scheduled time is decided once, whatever happens.
#include <algorithm>

#include "base/text.hpp"
#include "conformance/engine_suite.hpp"
#include "core/schedule_times.hpp"
#include "engine/schedule_reads.hpp"

namespace flowfabric::test {
namespace {

constexpr std::int64_t minute_ms = 60'000;
constexpr std::int64_t hour_ms = 60 * minute_ms;

using Times = std::vector<TimestampMs>;

class EngineSchedules : public EngineSuite {
 protected:
  void SetUp() override {
    EngineSuite::SetUp();
    // The minutes of the tests begin with full minutes.
    engine().advance(minute_ms - now() % minute_ms);
    began_ = now();
  }

  static ScheduleRequest every_minute(OverlapPolicy overlap = OverlapPolicy::allow) {
    ScheduleRequest request;
    request.name = "s";
    request.cron = "* * * * *";
    request.overlap = overlap;
    request.execution = job();
    return request;
  }
  ScheduleSaved create(const ScheduleRequest& request) { return call<ScheduleSaved>(CreateScheduleCommand{request}); }
  ScheduleSaved set_state(ScheduleState wanted) {
    return call<ScheduleSaved>(ScheduleStateCommand{"default", "s", wanted, {"ops", "why"}});
  }
  TriggerReply trigger(const TriggerRequest& request = {}) {
    return call<TriggerReply>(TriggerScheduleCommand{"default", "s", request, {"ops", {}}});
  }
  BackfillReply backfill(TimestampMs from, TimestampMs to) {
    return call<BackfillReply>(
        value_of(reads::backfill_command(engine().store(), zones(), "default", "s", {from, to}, {})));
  }
  ScheduleDescription describe() {
    return value_of(reads::describe_schedule(engine().store(), zones(), "default", "s"));
  }
  const TimeZones* zones() { return engine().runtime().zones(); }

  // Its executions, by the time for which they were made.
  std::vector<std::pair<TimestampMs, ExecutionId>> made(const std::string& name = "s") {
    ListRequest request;
    request.tag = {"schedule.name", name};
    request.limit = 1000;
    std::vector<std::pair<TimestampMs, ExecutionId>> all;
    for (const ExecutionSummary& summary : value_of(reads::list(engine().store(), request)).executions) {
      const Execution execution = engine().execution(summary.execution_id);
      EXPECT_TRUE(execution.spec.schedule);
      EXPECT_EQ(summary.tags.at("schedule.at"), format_utc(execution.spec.schedule->scheduled_at));
      EXPECT_EQ(summary.execution_id.partition, schedule_key("default", name).partition());
      all.emplace_back(execution.spec.schedule->scheduled_at, summary.execution_id);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  Times times_made() {
    Times times;
    for (const auto& [at, id] : made()) times.push_back(at);
    return times;
  }
  Times minutes(int from, int to) const {
    Times times;
    for (int i = from; i <= to; ++i) times.push_back(began_ + i * minute_ms);
    return times;
  }
  std::vector<FiringOutcome> outcomes() {
    std::vector<FiringOutcome> all;
    for (const ScheduleFiring& firing : describe().history) all.push_back(firing.outcome);
    std::reverse(all.begin(), all.end());
    return all;
  }
  void complete_one() {
    Claims claims = claim(ask());
    ASSERT_EQ(claims.size(), 1U);
    ASSERT_TRUE(engine().complete(claims.front()));
    engine().settle();
  }
  // No engine runs for that long.
  void sleep(std::int64_t ms) {
    engine_.reset();
    clock_.advance_ms(ms);
    engine_ = open_engine(3);
    engine().settle();
  }

  TimestampMs began_ = 0;
};

using enum FiringOutcome;
using Outcomes = std::vector<FiringOutcome>;

TEST_P(EngineSchedules, FiresOnceAtEachTime) {
  const ScheduleSaved saved = create(every_minute());
  EXPECT_EQ(saved.next_at, began_ + minute_ms);
  EXPECT_EQ(saved.revision, 1U);
  engine().advance(minute_ms - 1);
  EXPECT_EQ(times_made(), Times{});
  engine().advance(1);
  EXPECT_EQ(times_made(), minutes(1, 1));
  engine().advance(4 * minute_ms);
  EXPECT_EQ(times_made(), minutes(1, 5));
  const ScheduleDescription now = describe();
  EXPECT_EQ(now.counts.fired, 5U);
  EXPECT_EQ(now.summary.next_at, began_ + 6 * minute_ms);
  EXPECT_EQ(now.summary.running, 5U);
  EXPECT_EQ(now.summary.last_fired_at, began_ + 5 * minute_ms);
  ASSERT_EQ(now.next.size(), 10U);
  EXPECT_EQ(now.next.front(), began_ + 6 * minute_ms);
  EXPECT_EQ(now.history.front().scheduled_at, began_ + 5 * minute_ms);
  EXPECT_EQ(now.explain.at(0).code, "waiting_for_time");
}

TEST_P(EngineSchedules, SeveralEnginesFireOnceToo) {
  create(every_minute());
  for (int i = 0; i < 12; ++i) {
    clock_.advance_ms(minute_ms);
    Driver& first = i % 2 == 0 ? engine() : second();
    Driver& other = i % 2 == 0 ? second() : engine();
    first.runtime().tick();
    other.runtime().tick();
    // Both have a sweep in the queue.
    other.settle();
    first.settle();
  }
  EXPECT_EQ(times_made(), minutes(1, 12));
  EXPECT_EQ(describe().counts.fired, 12U);
}

TEST_P(EngineSchedules, IntervalsAndSeconds) {
  ScheduleRequest request = every_minute();
  request.cron.clear();
  request.every_ms = 90'000;
  request.anchor_at = began_;
  create(request);
  engine().advance(5 * minute_ms);
  EXPECT_EQ(times_made(), (Times{began_ + 90'000, began_ + 180'000, began_ + 270'000}));
}

TEST_P(EngineSchedules, TheSameRequestAgainChangesNothing) {
  create(every_minute());
  EXPECT_TRUE(create(every_minute()).duplicate);
  ScheduleRequest other = every_minute();
  other.execution.priority = 3;
  EXPECT_EQ(refused(CreateScheduleCommand{other}), Errc::conflict);
  EXPECT_EQ(describe().spec.execution.priority, 0);
}

TEST_P(EngineSchedules, WhatNeverFiresIsRefused) {
  ScheduleRequest request = every_minute();
  request.cron = "0 0 30 2 *";
  EXPECT_EQ(refused(CreateScheduleCommand{request}), Errc::invalid_argument);
  request = every_minute();
  request.end_at = now();
  EXPECT_EQ(refused(CreateScheduleCommand{request}), Errc::invalid_argument);
  EXPECT_EQ(value_of(reads::schedules(engine().store(), {})).schedules.size(), 0U);
}

TEST_P(EngineSchedules, EndsWithItsBound) {
  ScheduleRequest request = every_minute();
  request.end_at = began_ + 3 * minute_ms;
  create(request);
  engine().advance(hour_ms);
  EXPECT_EQ(times_made(), minutes(1, 2));
  EXPECT_EQ(describe().summary.next_at, 0);
  EXPECT_EQ(describe().explain.at(0).code, "no_more_times");
}

// ---- Overlap

TEST_P(EngineSchedules, OverlapSkips) {
  create(every_minute(OverlapPolicy::skip));
  engine().advance(2 * minute_ms);
  EXPECT_EQ(times_made(), minutes(1, 1));
  EXPECT_EQ(outcomes(), (Outcomes{fired, skipped}));
  EXPECT_EQ(describe().counts.skipped, 1U);
  complete_one();
  EXPECT_EQ(describe().counts.succeeded, 1U);
  EXPECT_EQ(describe().history.back().ended, Outcome::success);
  engine().advance(minute_ms);
  EXPECT_EQ(times_made(), (Times{began_ + minute_ms, began_ + 3 * minute_ms}));
}

TEST_P(EngineSchedules, OverlapBuffersOne) {
  create(every_minute(OverlapPolicy::buffer_one));
  engine().advance(3 * minute_ms);
  EXPECT_EQ(times_made(), minutes(1, 1));
  EXPECT_EQ(outcomes(), (Outcomes{fired, buffered, skipped}));
  EXPECT_EQ(describe().buffered_at, began_ + 2 * minute_ms);
  // It starts when the one before it ends, without waiting for the next time.
  complete_one();
  EXPECT_EQ(times_made(), minutes(1, 2));
  EXPECT_EQ(describe().buffered_at, 0);
  EXPECT_EQ(outcomes(), (Outcomes{fired, buffered, skipped, fired}));
  complete_one();
  EXPECT_EQ(describe().counts.succeeded, 2U);
  EXPECT_EQ(describe().summary.running, 0U);
}

TEST_P(EngineSchedules, WhatIsBufferedStartsHoweverTheOtherEnds) {
  ScheduleRequest request = every_minute(OverlapPolicy::buffer_one);
  request.execution.deadline_ms = 150'000;
  create(request);
  engine().advance(2 * minute_ms);
  EXPECT_EQ(times_made(), minutes(1, 1));
  engine().advance(89'000);
  EXPECT_EQ(times_made(), minutes(1, 1));
  engine().advance(1'000);
  EXPECT_EQ(times_made(), minutes(1, 2));
  EXPECT_EQ(describe().counts.unsuccessful, 1U);
}

TEST_P(EngineSchedules, WhatIsBufferedWaitsWhilePaused) {
  create(every_minute(OverlapPolicy::buffer_one));
  engine().advance(2 * minute_ms);
  set_state(ScheduleState::paused);
  complete_one();
  EXPECT_EQ(times_made(), minutes(1, 1));
  set_state(ScheduleState::active);
  engine().settle();
  EXPECT_EQ(times_made(), minutes(1, 2));
}

TEST_P(EngineSchedules, OverlapCancels) {
  create(every_minute(OverlapPolicy::cancel_running));
  engine().advance(minute_ms);
  const ClaimedExecution held = claim(ask()).at(0);
  engine().advance(minute_ms);
  EXPECT_EQ(times_made(), minutes(1, 2));
  EXPECT_EQ(state(held.execution_id), PublicState::cancelled);
  EXPECT_EQ(engine().describe(held.execution_id).cancelled_by, "schedule s");
  EXPECT_FALSE(engine().complete(held)) << "its holder is fenced";
  engine().settle();
  EXPECT_EQ(describe().counts.unsuccessful, 1U);
  EXPECT_EQ(describe().summary.running, 1U);
}

TEST_P(EngineSchedules, ARemovedExecutionDoesNotStopItsSchedule) {
  ScheduleRequest request = every_minute(OverlapPolicy::buffer_one);
  request.execution.policy.retention.completed_ms = 0;
  create(request);
  engine().advance(2 * minute_ms);
  complete_one();
  engine().advance(10);
  EXPECT_EQ(times_made(), minutes(2, 2)) << "the first was told of and is gone";
}

// ---- Catching up

TEST_P(EngineSchedules, CatchUpNone) {
  ScheduleRequest request = every_minute();
  request.catch_up = CatchUpPolicy::none;
  create(request);
  sleep(10 * minute_ms + 30'000);
  // The last is within the start window of a minute.
  EXPECT_EQ(times_made(), minutes(10, 10));
  EXPECT_EQ(describe().counts.missed, 9U);
  EXPECT_EQ(outcomes(), (Outcomes{missed, fired}));
  EXPECT_EQ(describe().history.back().count, 9U);
}

TEST_P(EngineSchedules, CatchUpLast) {
  ScheduleRequest request = every_minute();
  request.cron = "0 * * * *";
  create(request);
  const TimestampMs first = describe().summary.next_at;
  sleep(first - now() + 5 * hour_ms + 10 * minute_ms);
  EXPECT_EQ(times_made(), (Times{first + 5 * hour_ms}));
  EXPECT_EQ(describe().counts.missed, 5U);
  EXPECT_EQ(describe().summary.next_at, first + 6 * hour_ms);
}

TEST_P(EngineSchedules, CatchUpAllUpToALimit) {
  ScheduleRequest request = every_minute();
  request.catch_up = CatchUpPolicy::all;
  request.catch_up_limit = 3;
  request.start_window_ms = 0;
  create(request);
  sleep(10 * minute_ms + 1);
  EXPECT_EQ(times_made(), minutes(8, 10));
  EXPECT_EQ(describe().counts.missed, 7U);
  engine().advance(minute_ms);
  EXPECT_EQ(times_made(), minutes(8, 11));
}

// More than one step of the clock looks at, and more than one starts.
TEST_P(EngineSchedules, CatchUpAfterALongTime) {
  ScheduleRequest request = every_minute();
  request.cron = "* * * * * *";
  request.catch_up = CatchUpPolicy::all;
  request.catch_up_limit = 250;
  request.start_window_ms = 0;
  create(request);
  sleep(9'000'001);
  const auto all = made();
  ASSERT_EQ(all.size(), 250U);
  EXPECT_EQ(all.front().first, began_ + 8'751'000);
  EXPECT_EQ(all.back().first, began_ + 9'000'000);
  EXPECT_EQ(describe().counts.missed, 8'750U);
  EXPECT_EQ(describe().counts.fired, 250U);
}

// ---- Operating

TEST_P(EngineSchedules, PauseAndResume) {
  create(every_minute());
  engine().advance(minute_ms);
  EXPECT_EQ(set_state(ScheduleState::paused).next_at, 0);
  EXPECT_TRUE(set_state(ScheduleState::paused).duplicate);
  engine().advance(5 * minute_ms);
  EXPECT_EQ(times_made(), minutes(1, 1));
  EXPECT_EQ(describe().explain.at(0).code, "paused");
  EXPECT_EQ(describe().reason, "why");
  set_state(ScheduleState::active);
  engine().advance(minute_ms);
  EXPECT_EQ(times_made(), (Times{began_ + minute_ms, began_ + 7 * minute_ms}));
  EXPECT_EQ(describe().counts.missed, 0U);
}

TEST_P(EngineSchedules, Triggers) {
  ScheduleRequest request = every_minute(OverlapPolicy::skip);
  request.paused = true;
  create(request);
  engine().advance(90'000);
  EXPECT_EQ(times_made(), Times{});
  const TriggerReply first = trigger({false, "key"});
  EXPECT_EQ(first.outcome, fired);
  EXPECT_EQ(first.scheduled_at, began_ + 90'000);
  const TriggerReply again = trigger({false, "key"});
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.execution_id, first.execution_id);
  EXPECT_EQ(trigger().outcome, skipped);
  EXPECT_EQ(trigger({true, {}}).outcome, fired);
  EXPECT_EQ(trigger({true, {}}).outcome, fired);
  EXPECT_EQ(made().size(), 3U);
}

TEST_P(EngineSchedules, BackfillMakesWhatIsMissing) {
  create(every_minute());
  engine().advance(2 * minute_ms);
  set_state(ScheduleState::paused);
  engine().advance(3 * minute_ms);
  const BackfillReply reply = backfill(began_ + 1, began_ + hour_ms);
  EXPECT_EQ(reply.created, 3U);
  EXPECT_EQ(reply.existing, 2U);
  EXPECT_EQ(times_made(), minutes(1, 5));
  EXPECT_EQ(backfill(began_ + 1, began_ + hour_ms), (BackfillReply{0, 5, {}}));
  // What is backfilled is not among what the overlap policy looks at.
  EXPECT_EQ(describe().summary.running, 2U);
  set_state(ScheduleState::active);
  engine().advance(minute_ms);
  EXPECT_EQ(times_made(), minutes(1, 6));
}

TEST_P(EngineSchedules, BackfillLeavesToTheClockWhatIsItsOwn) {
  ScheduleRequest request = every_minute();
  request.jitter_ms = 50'000;
  create(request);
  engine().advance(minute_ms);
  const bool has_fired = !times_made().empty();
  EXPECT_EQ(backfill(began_ + 1, now() + 1).created, 0U);
  engine().advance(50'000);
  EXPECT_EQ(times_made(), minutes(1, 1)) << has_fired;
}

TEST_P(EngineSchedules, BackfillIsBounded) {
  ScheduleRequest request = every_minute();
  create(request);
  const auto command =
      reads::backfill_command(engine().store(), zones(), "default", "s", {now() - 2000 * minute_ms, now()}, {});
  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().field, "to");
}

TEST_P(EngineSchedules, UpdatesTakeEffectFromNowOn) {
  create(every_minute());
  engine().advance(90'000);
  ScheduleSpec spec = every_minute();
  spec.cron = "*/10 * * * *";
  EXPECT_EQ(refused(UpdateScheduleCommand{"default", "s", spec, 7, {}}), Errc::conflict);
  EXPECT_EQ(refused(UpdateScheduleCommand{"default", "other", spec, {}, {}}), Errc::not_found);
  const auto saved = call<ScheduleSaved>(UpdateScheduleCommand{"default", "s", spec, 1, {"ops", {}}});
  EXPECT_EQ(saved.revision, 2U);
  EXPECT_EQ(saved.next_at, ScheduleTimes::of(spec, nullptr)->next_after(now()));
  engine().advance(saved.next_at - now());
  EXPECT_EQ(times_made(), (Times{began_ + minute_ms, saved.next_at}));
  EXPECT_TRUE(call<ScheduleSaved>(UpdateScheduleCommand{"default", "s", spec, {}, {}}).duplicate);
}

TEST_P(EngineSchedules, DeletedWhileItRunsAndMadeAgain) {
  create(every_minute());
  engine().advance(minute_ms);
  const auto before = made();
  set_state(ScheduleState::deleted);
  EXPECT_FALSE(reads::describe_schedule(engine().store(), zones(), "default", "s"));
  EXPECT_EQ(value_of(reads::schedules(engine().store(), {})).schedules.size(), 0U);
  EXPECT_EQ(refused(ScheduleStateCommand{"default", "s", ScheduleState::paused, {}}), Errc::not_found);
  engine().advance(minute_ms);
  complete_one();
  EXPECT_EQ(times_made(), minutes(1, 1));
  create(every_minute());
  EXPECT_EQ(describe().counts, ScheduleCounts{});
  // The same scheduled time under another schedule is another execution.
  EXPECT_EQ(backfill(began_ + 1, began_ + minute_ms + 1).created, 1U);
  EXPECT_EQ(made().size(), 2U);
}

TEST_P(EngineSchedules, ADeletedOneIsRemovedAfterADay) {
  create(every_minute());
  set_state(ScheduleState::deleted);
  Events types;
  for (const Event& event : value_of(reads::schedule_history(engine().store(), "default", "s", {}, 10)).events) {
    types.push_back(event.type);
    EXPECT_EQ(event.schedule, "s");
  }
  EXPECT_EQ(types, (Events{EventType::schedule_created, EventType::schedule_deleted}));
  engine().advance(25 * hour_ms);
  EXPECT_TRUE(value_of(engine().store().load({schedule_key("default", "s")})).empty());
  create(every_minute());
  engine().advance(minute_ms);
  EXPECT_EQ(made().size(), 1U);
}

TEST_P(EngineSchedules, AClosedLaneRefusesFirings) {
  make(job());  // the lane exists
  call<LaneInfo>(engine().runtime().lane_command("default", LaneState::disabled, {}));
  create(every_minute());
  engine().advance(2 * minute_ms);
  EXPECT_EQ(times_made(), Times{});
  EXPECT_EQ(outcomes(), (Outcomes{FiringOutcome::refused, FiringOutcome::refused}));
  EXPECT_EQ(describe().counts.refused, 2U);
  EXPECT_NE(describe().history.front().detail.find("disabled"), std::string::npos);
  EXPECT_EQ(EngineSuite::refused(TriggerScheduleCommand{"default", "s", {}, {}}), Errc::lane_closed);
  EXPECT_EQ(describe().counts.refused, 2U) << "a refused call changes nothing";
  call<LaneInfo>(engine().runtime().lane_command("default", LaneState::active, {}));
  engine().advance(minute_ms);
  EXPECT_EQ(times_made(), minutes(3, 3));
}

TEST_P(EngineSchedules, JitterIsTheSameEverywhere) {
  ScheduleRequest request = every_minute();
  request.jitter_ms = 30'000;
  create(request);
  std::set<std::int64_t> late;
  for (int i = 0; i < 20; ++i) {
    engine().advance(minute_ms);
    for (const ScheduleFiring& firing : describe().history) late.insert(firing.at - firing.scheduled_at);
  }
  EXPECT_GT(late.size(), 10U);
  EXPECT_GE(*late.begin(), 0);
  EXPECT_LE(*late.rbegin(), 30'000);
  engine().advance(30'000);
  EXPECT_EQ(times_made(), minutes(1, 20));
}

// An engine without the tables of the zone leaves the firing to one that has them.
TEST_P(EngineSchedules, AnUnknownZoneStopsNothingElse) {
  ScheduleRequest request = every_minute();
  request.time_zone = "Europe/Berlin";
  create(request);
  ScheduleRequest other = every_minute();
  other.name = "utc";
  create(other);
  engine_.reset();
  RuntimeOptions without_zones;
  without_zones.zones = nullptr;
  second_ = open_engine(9, without_zones);
  second().advance(minute_ms);
  second().advance(30'000);
  engine_ = open_engine(4);
  EXPECT_EQ(made("utc").size(), 1U);
  EXPECT_EQ(made().size(), 0U);
  EXPECT_EQ(describe().explain.at(0).code, "unknown_time_zone");
  second_.reset();
  engine().advance(30'000);
  EXPECT_EQ(times_made(), minutes(1, 2));
}

TEST_P(EngineSchedules, ADamagedOneFailsAlone) {
  ScheduleRequest request = every_minute(OverlapPolicy::buffer_one);
  create(request);
  ScheduleRequest other = every_minute();
  other.name = "whole";
  create(other);
  engine().advance(minute_ms);
  const ExecutionId id = made().at(0).second;
  damage(schedule_key("default", "s"));
  const Claims claims = claim(ask(10));
  for (const ClaimedExecution& held : claims) EXPECT_TRUE(engine().complete(held));
  engine().advance(2 * minute_ms + 2000);  // the clock pauses a little when all that it finds is damaged
  EXPECT_EQ(made("whole").size(), 3U);
  EXPECT_EQ(facts(id).gates, 0U) << "it does not wait for its schedule to be told";
  EXPECT_EQ(EngineSuite::refused(ScheduleStateCommand{"default", "s", ScheduleState::paused, {}}), Errc::corruption);
  const auto all = value_of(reads::schedules(engine().store(), {})).schedules;
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.at(0).name, "s");
  EXPECT_TRUE(all.at(0).damage);
}

TEST_P(EngineSchedules, ReplaysOfWhatItCreated) {
  create(every_minute(OverlapPolicy::buffer_one));
  engine().advance(minute_ms);
  const ExecutionId id = made().at(0).second;
  complete_one();
  call<ReplayReply>(ReplayCommand{id, {}});
  engine().settle();
  EXPECT_EQ(state(id), PublicState::waiting);
  complete_one();
  EXPECT_EQ(state(id), PublicState::completed);
  EXPECT_EQ(facts(id).gates, 0U);
}

TEST_P(EngineSchedules, ListsByNamespaceAndName) {
  for (const char* name_space : {"b", "a"}) {
    for (const char* name : {"two", "one", "three"}) {
      ScheduleRequest request = every_minute();
      request.name_space = request.execution.name_space = name_space;
      request.name = name;
      request.paused = std::string(name) == "two";
      create(request);
    }
  }
  ListSchedulesRequest request;
  request.limit = 4;
  std::vector<std::string> names;
  for (;;) {
    const auto page = value_of(reads::schedules(engine().store(), request));
    for (const auto& one : page.schedules) names.push_back(one.name_space + "/" + one.name);
    if (page.next_cursor.empty()) break;
    request.cursor = page.next_cursor;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a/one", "a/three", "a/two", "b/one", "b/three", "b/two"}));
  ListSchedulesRequest paused;
  paused.name_space = "a";
  paused.states = {ScheduleState::paused};
  EXPECT_EQ(value_of(reads::schedules(engine().store(), paused)).schedules.size(), 1U);
  const auto counts = value_of(reads::schedule_counts(engine().store()));
  EXPECT_EQ(counts.at(ScheduleState::active), 4U);
  EXPECT_EQ(counts.at(ScheduleState::paused), 2U);
}

ON_EVERY_STORE(EngineSchedules);

}  // namespace
}  // namespace flowfabric::test
