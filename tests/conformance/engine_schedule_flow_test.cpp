// Schedules of flows on every store: each scheduled time creates one flow, and the overlap policy looks at its end.
#include <algorithm>

#include "base/text.hpp"
#include "conformance/engine_suite.hpp"
#include "core/flow_nesting.hpp"
#include "core/schedule_ingress.hpp"
#include "core/schedule_records.hpp"
#include "engine/schedule_reads.hpp"

namespace flowfabric::test {
namespace {

constexpr std::int64_t one_minute_ms = 60'000;
constexpr std::int64_t one_day_ms = 24 * 60 * one_minute_ms;

class FlowSchedules : public EngineSuite {
 protected:
  void SetUp() override {
    EngineSuite::SetUp();
    engine().advance(one_minute_ms - now() % one_minute_ms);
    began_ = now();
  }

  // Two nodes, one behind the other.
  static FlowRequest chain() {
    FlowRequest flow;
    flow.kind = "nightly";
    for (const char* name : {"extract", "load"}) {
      FlowNode& node = flow.nodes.emplace_back();
      node.name = name;
      node.request = job();
    }
    flow.edges = {{"extract", "load"}};
    return flow;
  }
  static ScheduleRequest every_minute(OverlapPolicy overlap = OverlapPolicy::allow) {
    ScheduleRequest request;
    request.name = "s";
    request.cron = "* * * * *";
    request.overlap = overlap;
    request.flow = chain();
    return request;
  }
  static void ok(const Result<void>& result) { ASSERT_TRUE(result) << result.error().message; }
  ScheduleSaved create(ScheduleRequest request) {
    ok(admit(request, IngressLimits{}, nullptr));
    return call<ScheduleSaved>(CreateScheduleCommand{std::move(request)});
  }
  TriggerReply trigger(const TriggerRequest& request = {}) {
    return call<TriggerReply>(TriggerScheduleCommand{"default", "s", request, {"ops", {}}});
  }
  Result<Reply> backfill(TimestampMs from, TimestampMs to) {
    auto command = reads::backfill_command(engine().store(), nullptr, "default", "s", {from, to}, {});
    if (!command) return Unexpected(command.error());
    return engine().call(std::move(*command));
  }
  ScheduleDescription describe() {
    return value_of(reads::describe_schedule(engine().store(), nullptr, "default", "s"));
  }
  std::vector<FlowSummary> flows() {
    ListFlowsRequest request;
    request.tag = {"schedule.name", "s"};
    request.limit = 1000;
    auto all = value_of(reads::flows(engine().store(), request)).flows;
    std::reverse(all.begin(), all.end());
    return all;
  }
  FlowState state_of(const FlowId& flow) { return value_of(reads::load_flow(engine().store(), flow)).facts.state; }
  std::vector<FiringOutcome> outcomes() {
    std::vector<FiringOutcome> all;
    for (const ScheduleFiring& firing : describe().history) all.push_back(firing.outcome);
    std::reverse(all.begin(), all.end());
    return all;
  }
  // Runs what can be claimed until nothing is left.
  void run_all() {
    for (Claims claims = claim_all(); !claims.empty(); claims = claim_all()) {
      for (const ClaimedExecution& claimed : claims) value_of(engine().complete(claimed));
      engine().settle();
    }
  }
  std::size_t definitions() { return value_of(engine().store().scan(RecordKind::schedule_flow, {}, 10)).size(); }

  TimestampMs began_ = 0;
};
ON_EVERY_STORE(FlowSchedules);

using enum FiringOutcome;
using Outcomes = std::vector<FiringOutcome>;

TEST_P(FlowSchedules, EachTimeCreatesOneFlow) {
  create(every_minute());
  for (int i = 0; i < 3; ++i) {
    clock_.advance_ms(one_minute_ms);
    engine().runtime().tick();
    second().runtime().tick();
    engine().settle();
    second().settle();
  }
  const auto made = flows();
  ASSERT_EQ(made.size(), 3U);
  const ScheduleDescription now_is = describe();
  EXPECT_EQ(now_is.counts.fired, 3U);
  EXPECT_TRUE(now_is.summary.flow);
  EXPECT_EQ(now_is.summary.kind, "nightly");
  EXPECT_EQ(now_is.summary.running, 3U);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const ScheduleFiring& firing = now_is.history.at(made.size() - 1 - i);
    EXPECT_EQ(firing.flow_id, made[i].flow_id);
    EXPECT_FALSE(firing.execution_id);
    EXPECT_EQ(made[i].tags.at("schedule.at"), format_utc(firing.scheduled_at));
    EXPECT_EQ(made[i].counts.total, 2U);
  }
  // A handler reads the time from its node.
  const Claims claims = claim_all();
  ASSERT_EQ(claims.size(), 3U);
  EXPECT_EQ(claims[0].tags.at("schedule.at"), format_utc(began_ + one_minute_ms));
  EXPECT_EQ(claims[0].node, "extract");
}

TEST_P(FlowSchedules, TheDefinitionIsShownAsItWasGiven) {
  ScheduleRequest request = every_minute();
  InnerFlow inner;
  inner.nodes.push_back({"inside", job("side"), {}});
  request.flow->nodes.push_back({"whole", {}, inner});
  request.flow->edges.push_back({"load", "whole"});
  create(request);
  ASSERT_TRUE(describe().spec.flow);
  const FlowRequest shown = *describe().spec.flow;
  ASSERT_EQ(shown.nodes.size(), 3U);
  ASSERT_TRUE(shown.nodes[2].flow);
  EXPECT_EQ(shown.nodes[2].flow->nodes.at(0).request.lane, "side");
  EXPECT_EQ(shown.edges.size(), 2U);
  EXPECT_TRUE(call<ScheduleSaved>(CreateScheduleCommand{[&] {
                ScheduleRequest again = request;
                ok(admit(again, IngressLimits{}, nullptr));
                return again;
              }()})
                  .duplicate);
  engine().advance(one_minute_ms);
  run_all();
  EXPECT_EQ(claim_all("side").size(), 1U);
}

TEST_P(FlowSchedules, TheEndOfTheFlowIsCountedOnce) {
  create(every_minute(OverlapPolicy::skip));
  engine().advance(one_minute_ms);
  run_all();
  EXPECT_EQ(describe().counts.succeeded, 1U);
  EXPECT_EQ(describe().history.at(0).ended, Outcome::success);
  EXPECT_TRUE(describe().running.empty());
  engine().advance(one_minute_ms);
  const Claims claims = claim_all();
  ASSERT_EQ(claims.size(), 1U);
  value_of(engine().fail(claims[0]));
  engine().settle();
  EXPECT_EQ(describe().counts.unsuccessful, 1U);
  EXPECT_EQ(describe().history.at(0).ended, Outcome::failed);
  EXPECT_EQ(outcomes(), (Outcomes{fired, fired}));
}

TEST_P(FlowSchedules, SkipLooksAtTheEndOfTheFlow) {
  create(every_minute(OverlapPolicy::skip));
  engine().advance(one_minute_ms);
  const Claims first = claim_all();
  value_of(engine().complete(first.at(0)));  // its second node has not run
  engine().advance(one_minute_ms);
  EXPECT_EQ(outcomes(), (Outcomes{fired, skipped}));
  EXPECT_EQ(describe().history.at(0).detail, "flow " + to_string(flows().at(0).flow_id) + " has not ended");
  run_all();
  engine().advance(one_minute_ms);
  EXPECT_EQ(outcomes(), (Outcomes{fired, skipped, fired}));
}

TEST_P(FlowSchedules, ABufferedFiringStartsWhenTheFlowEnds) {
  create(every_minute(OverlapPolicy::buffer_one));
  engine().advance(2 * one_minute_ms);
  EXPECT_EQ(outcomes(), (Outcomes{fired, buffered}));
  EXPECT_EQ(flows().size(), 1U);
  const Claims first = claim_all();
  value_of(engine().complete(first.at(0)));
  const Claims behind = claim_all();
  value_of(engine().complete(behind.at(0)));
  engine().settle();
  ASSERT_EQ(flows().size(), 2U);
  EXPECT_EQ(flows().at(1).tags.at("schedule.at"), format_utc(began_ + 2 * one_minute_ms));
  EXPECT_EQ(outcomes(), (Outcomes{fired, buffered, fired}));
}

TEST_P(FlowSchedules, CancelRunningCancelsTheFlow) {
  create(every_minute(OverlapPolicy::cancel_running));
  engine().advance(one_minute_ms);
  const Claims running = claim_all();
  engine().advance(one_minute_ms);
  const auto made = flows();
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(state_of(made[0].flow_id), FlowState::cancelled);
  EXPECT_EQ(state_of(made[1].flow_id), FlowState::running);
  EXPECT_EQ(state(running.at(0).execution_id), PublicState::cancelled);
  const FlowDescription cancelled = value_of(reads::describe_flow(engine().store(), made[0].flow_id));
  EXPECT_EQ(cancelled.cancellation->by, "schedule s");
  EXPECT_EQ(cancelled.cancellation->reason, "schedule_overlap");
  EXPECT_EQ(describe().counts.unsuccessful, 1U);
  EXPECT_EQ(describe().summary.running, 1U);
}

TEST_P(FlowSchedules, TriggersNameTheFlow) {
  ScheduleRequest request = every_minute(OverlapPolicy::skip);
  request.paused = true;
  create(request);
  const TriggerReply first = trigger({false, "key"});
  EXPECT_EQ(first.outcome, fired);
  ASSERT_TRUE(first.flow_id);
  EXPECT_FALSE(first.execution_id);
  const TriggerReply again = trigger({false, "key"});
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.flow_id, first.flow_id);
  EXPECT_EQ(again.scheduled_at, first.scheduled_at);
  EXPECT_EQ(trigger().outcome, skipped);
  EXPECT_EQ(flows().size(), 1U);
}

TEST_P(FlowSchedules, BackfillMakesWhatIsMissing) {
  create(every_minute());
  engine().advance(2 * one_minute_ms);
  call<ScheduleSaved>(ScheduleStateCommand{"default", "s", ScheduleState::paused, {"ops", {}}});
  engine().advance(3 * one_minute_ms);
  const auto reply = std::get<BackfillReply>(value_of(backfill(began_ + 1, now() + 1)));
  EXPECT_EQ(reply.created, 3U);
  EXPECT_EQ(reply.existing, 2U);
  EXPECT_TRUE(reply.executions.at(0).flow_id);
  EXPECT_EQ(std::get<BackfillReply>(value_of(backfill(began_ + 1, now() + 1))), (BackfillReply{0, 5, {}}));
  EXPECT_EQ(flows().size(), 5U);
}

// One commit makes all of them.
TEST_P(FlowSchedules, BackfillIsBoundedByNodes) {
  ScheduleRequest request = every_minute();
  request.flow->nodes.clear();
  request.flow->edges.clear();
  for (std::size_t i = 0; i < limits::max_schedule_flow_nodes; ++i) {
    request.flow->nodes.push_back({"n" + std::to_string(i), job(), {}});
  }
  create(request);
  const auto refused_reply = backfill(now() - 20 * one_minute_ms, now() + 1);
  ASSERT_FALSE(refused_reply);
  EXPECT_EQ(refused_reply.error().field, "to");
  EXPECT_EQ(flows().size(), 0U);
}

TEST_P(FlowSchedules, AnUpdateChangesWhatIsCreated) {
  create(every_minute());
  engine().advance(one_minute_ms);
  ScheduleSpec spec = every_minute();
  spec.flow.reset();
  spec.execution = job();
  call<ScheduleSaved>(UpdateScheduleCommand{"default", "s", spec, {}, {"ops", {}}});
  EXPECT_EQ(definitions(), 0U);
  engine().advance(one_minute_ms);
  EXPECT_EQ(flows().size(), 1U);
  EXPECT_TRUE(describe().history.at(0).execution_id);
  EXPECT_TRUE(describe().history.at(1).flow_id);
  EXPECT_EQ(describe().summary.running, 2U);
  // A time that has its flow gets no execution.
  EXPECT_EQ(std::get<BackfillReply>(value_of(backfill(began_ + 1, now() + 1))), (BackfillReply{0, 2, {}}));
  spec = every_minute();
  spec.flow->nodes.resize(1);
  spec.flow->edges.clear();
  ok(admit(spec, IngressLimits{}, nullptr));
  call<ScheduleSaved>(UpdateScheduleCommand{"default", "s", spec, {}, {"ops", {}}});
  EXPECT_EQ(definitions(), 1U);
  engine().advance(one_minute_ms);
  EXPECT_EQ(flows().back().counts.total, 1U);
}

TEST_P(FlowSchedules, TheDefinitionGoesWithTheSchedule) {
  create(every_minute());
  engine().advance(one_minute_ms);
  call<ScheduleSaved>(ScheduleStateCommand{"default", "s", ScheduleState::deleted, {"ops", {}}});
  run_all();  // the flow goes on, and tells nobody
  EXPECT_EQ(flows().at(0).state, FlowState::completed);
  engine().advance(one_day_ms);
  EXPECT_EQ(definitions(), 0U);
  EXPECT_TRUE(value_of(engine().store().scan(RecordKind::schedule, {}, 10)).empty());
  create(every_minute());
  engine().advance(one_minute_ms);
  EXPECT_EQ(describe().counts.fired, 1U);
}

TEST_P(FlowSchedules, AClosedLaneRefusesTheFlow) {
  ScheduleRequest request = every_minute();
  request.flow->nodes[1].request.lane = "closed";
  create(request);
  value_of(engine().call(LaneCommand{"closed", LaneState::disabled, {"ops", {}}, true}));
  engine().advance(one_minute_ms);
  EXPECT_EQ(outcomes(), (Outcomes{FiringOutcome::refused}));
  EXPECT_EQ(flows().size(), 0U);
  EXPECT_EQ(value_of(engine().store().scan(RecordKind::execution, {}, 10)).size(), 0U);
  EXPECT_EQ(describe().explain.back().code, "lane_closed");
}

TEST_P(FlowSchedules, ADamagedDefinitionIsSaidByEachFiring) {
  create(every_minute());
  damage(schedule_flow_key("default", "s"));
  engine().advance(one_minute_ms);
  const Record stored = value_of(engine().store().load({schedule_key("default", "s")})).at(0);
  const ScheduleRecord schedule = value_of(decode_schedule(stored));
  ASSERT_EQ(schedule.history.size(), 1U);
  EXPECT_EQ(schedule.history.at(0).outcome, FiringOutcome::refused);
}

// A replay begins a new life of the flow before its schedule was told of the end.
TEST_P(FlowSchedules, RetentionWaitsUntilTheScheduleKnows) {
  ScheduleRequest request = every_minute(OverlapPolicy::skip);
  request.flow->retention.completed_ms = 0;
  create(request);
  engine().advance(one_minute_ms);
  run_all();
  EXPECT_EQ(flows().size(), 0U);
  EXPECT_EQ(describe().counts.succeeded, 1U);
  EXPECT_EQ(describe().summary.running, 0U);
}

TEST_P(FlowSchedules, ManyNodesAreCreatedAFewFlowsAtATime) {
  ScheduleRequest request = every_minute();
  request.catch_up = CatchUpPolicy::all;
  request.flow->nodes.clear();
  request.flow->edges.clear();
  for (int i = 0; i < 300; ++i) request.flow->nodes.push_back({"n" + std::to_string(i), job(), {}});
  create(request);
  const auto version = [&] { return value_of(engine().store().load({schedule_key("default", "s")})).at(0).version; };
  const std::uint64_t before = version();
  engine_.reset();
  clock_.advance_ms(10 * one_minute_ms);
  engine_ = open_engine(3);
  engine().settle();
  EXPECT_EQ(flows().size(), 10U);
  EXPECT_GE(version() - before, 4U) << "three flows have 900 nodes, which is as much as one commit creates";
  EXPECT_EQ(describe().counts.missed, 0U);
}

}  // namespace
}  // namespace flowfabric::test
