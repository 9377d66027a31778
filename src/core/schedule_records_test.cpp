#include "core/schedule_records.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/limits.hpp"
#include "core/expected.hpp"
#include "core/workspace.hpp"

namespace flowfabric {
namespace {

ScheduleRecord full_schedule() {
  ScheduleRecord schedule;
  schedule.name_space = "tenant";
  schedule.name = "näme";
  schedule.first_created_at = 1;
  schedule.incarnation = UINT64_MAX;
  schedule.state = ScheduleState::paused;
  schedule.spec.cron = "* * * * *";
  schedule.spec.every_ms = 2;
  schedule.spec.anchor_at = 3;
  schedule.spec.time_zone = "Europe/Berlin";
  schedule.spec.exceptions = {"12-25", "2026-01-01/2026-01-03"};
  schedule.spec.start_at = 4;
  schedule.spec.end_at = 5;
  schedule.spec.jitter_ms = 6;
  schedule.spec.overlap = OverlapPolicy::cancel_running;
  schedule.spec.catch_up = CatchUpPolicy::all;
  schedule.spec.catch_up_limit = 7;
  schedule.spec.start_window_ms = 8;
  CreateRequest& request = schedule.spec.execution;
  request.name_space = "tenant";
  request.lane = "lane";
  request.kind = "kind";
  request.payload = std::string("\0p", 2);
  request.payload_encoding = "raw";
  request.priority = -9;
  request.tags = {{"app.a", "b"}};
  request.reserve = {{"tokens", 9}};
  request.required_capabilities = {"gpu"};
  request.policy.max_replays = 10;
  request.delay_ms = 11;
  request.deadline_ms = 12;
  request.creator = "who";
  schedule.revision = 13;
  schedule.creator = "who";
  schedule.created_at = 14;
  schedule.changed_at = 15;
  schedule.changed_by = "ops";
  schedule.reason = "why";
  schedule.next_at = 16;
  schedule.retry_at = 17;
  schedule.last_fired_at = 18;
  schedule.counts = {19, 20, 21, 22, 23, 24};
  schedule.triggers = 25;
  schedule.running = {{firing_id(schedule, 26), 26}};
  schedule.buffered = BufferedFiring{firing_id(schedule, 27), 27, FiringCause::trigger};
  schedule.history = {
      {28, 29, FiringCause::backfill, FiringOutcome::fired, firing_id(schedule, 28), {}, Outcome::failed, 30, "x"}};
  schedule.armed_due = 31;
  return schedule;
}

Record stored(const ScheduleRecord& schedule) {
  Record record;
  record.key = schedule_key(schedule.name_space, schedule.name);
  record.version = 1;
  record.fixed = encode_fixed(schedule);
  record.body = encode(schedule);
  return record;
}

TEST(ScheduleRecord, IsReadAsItWasWritten) {
  const ScheduleRecord schedule = full_schedule();
  const auto read = decode_schedule(stored(schedule));
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), encode(schedule));
  EXPECT_EQ(encode_fixed(*read), encode_fixed(schedule));
  EXPECT_EQ(read->spec.execution.name_space, "tenant");
  EXPECT_EQ(read->buffered, schedule.buffered);
  EXPECT_EQ(read->history, schedule.history);
  EXPECT_EQ(read->running, schedule.running);
  EXPECT_EQ(read->counts, schedule.counts);
}

TEST(ScheduleRecord, DamageIsNoticed) {
  const Record whole = stored(full_schedule());
  for (std::size_t length = 0; length < whole.body.size(); ++length) {
    Record cut = whole;
    cut.body.resize(length);
    EXPECT_EQ(decode_schedule(cut).error().code, Errc::corruption) << length;
  }
  Record longer = whole;
  longer.body += 'x';
  EXPECT_FALSE(decode_schedule(longer));
  Record newer = whole;
  newer.body[0] = 9;
  EXPECT_FALSE(decode_schedule(newer));
  Record elsewhere = whole;
  elsewhere.key = schedule_key("tenant", "other");
  EXPECT_FALSE(decode_schedule(elsewhere));
  ScheduleRecord distant = full_schedule();
  distant.next_at = INT64_MAX;
  EXPECT_FALSE(decode_schedule(stored(distant))) << "times are added up";
}

TEST(ScheduleRecord, KeysAreOrderedByNamespaceAndName) {
  const std::vector<std::pair<std::string, std::string>> ordered = {
      {"a", "b"}, {"a", "ba"}, {"a", "c"}, {"aa", "a"}, {"b", "a"}};
  for (std::size_t i = 0; i + 1 < ordered.size(); ++i) {
    EXPECT_LT(schedule_key(ordered[i].first, ordered[i].second),
              schedule_key(ordered[i + 1].first, ordered[i + 1].second));
  }
  EXPECT_EQ(schedule_name_of(schedule_key("a", "b")), "b");
  EXPECT_EQ(name_of_record(schedule_key("a", "b")), "schedule b of namespace a");
}

TEST(ScheduleRecord, IdsAreOnePerTimeAndIncarnation) {
  ScheduleRecord schedule = full_schedule();
  std::set<ExecutionId> ids;
  for (TimestampMs at = 0; at < 100; ++at) ids.insert(firing_id(schedule, at));
  EXPECT_EQ(firing_id(schedule, 7), firing_id(full_schedule(), 7));
  ids.insert(trigger_id(schedule, 7, {}));
  ids.insert(trigger_id(schedule, 7, "key"));
  EXPECT_EQ(trigger_id(schedule, 7, "key"), trigger_id(schedule, 8, "key"));
  schedule.incarnation = 1;
  ids.insert(firing_id(schedule, 7));
  schedule.name = "other";
  ids.insert(firing_id(schedule, 7));
  EXPECT_EQ(ids.size(), 104U);
}

TEST(ScheduleRecord, AnExecutionKnowsItsSchedule) {
  Spec spec;
  spec.name_space = "tenant";
  spec.lane = "lane";
  spec.schedule = ScheduleOrigin{"s", 7, 8, true};
  EXPECT_EQ(decode_spec(encode(spec))->schedule, spec.schedule);
  spec.schedule.reset();
  EXPECT_EQ(encode(spec).front(), 1) << "others are written as before";
}

FlowRequest scheduled_flow_of_test() {
  FlowRequest flow;
  flow.kind = "flow-kind";
  flow.nodes.push_back({"a", {}, {}});
  flow.nodes[0].request.kind = "job";
  flow.nodes[0].request.payload = "payload";
  InnerFlow inner;
  inner.nodes.push_back({"b", {}, {}});
  inner.nodes[0].request.kind = "job";
  inner.nodes[0].request.lane = "inside";
  inner.failure_policy = FailurePolicy::continue_others;
  flow.nodes.push_back({"whole", {}, inner});
  flow.edges = {{"a", "whole", EdgeKind::on_finish, "g"}};
  flow.groups = {{"whole", "g", GroupPolicy::quorum, 1, GroupRest::cancel_remaining}};
  flow.failure_policy = FailurePolicy::continue_others;
  flow.deadline_ms = 5;
  flow.retention.failed_ms = 6;
  flow.tags = {{"app.x", "y"}};
  flow.creator = "somebody";
  return flow;
}

TEST(ScheduleRecord, AFlowIsReadAsItWasWritten) {
  const ScheduleFlowRecord record{scheduled_flow_of_test(), {}};
  Record stored_flow;
  stored_flow.key = schedule_flow_key("tenant", "s");
  stored_flow.body = encode(record);
  const auto read = decode_schedule_flow(stored_flow);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), stored_flow.body);
  EXPECT_EQ(read->lanes, (std::vector<std::string>{"default", "inside"}));
  EXPECT_EQ(read->request.nodes.at(1).flow->nodes.at(0).name, "b");
  EXPECT_EQ(read->request.edges.at(0).group, "g");
  EXPECT_EQ(read->request.groups.at(0).k, 1U);
  EXPECT_EQ(read->request.deadline_ms, 5);
  EXPECT_EQ(read->request.nodes.at(0).request.payload, "payload");
  for (std::size_t n = 0; n < stored_flow.body.size(); ++n) {
    Record cut = stored_flow;
    cut.body.resize(n);
    EXPECT_FALSE(decode_schedule_flow(cut)) << n;
  }
}

TEST(ScheduleRecord, FlowsHaveALayoutOfTheirOwn) {
  ScheduleRecord schedule = full_schedule();
  schedule.spec.execution.reserve.clear();
  EXPECT_EQ(encode(schedule).front(), 1) << "without flows and reservations it is written as before";
  const std::uint64_t before = spec_digest(schedule);
  schedule.flow = ScheduledFlow{"flow-kind", 3, 7};
  EXPECT_NE(spec_digest(schedule), before);
  schedule.running.push_back({{}, 31, firing_id(schedule, 31)});
  schedule.history.back().flow_id.swap(schedule.history.back().execution_id);
  const auto read = decode_schedule(stored(schedule));
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), encode(schedule));
  EXPECT_EQ(read->flow, schedule.flow);
  EXPECT_EQ(read->running, schedule.running);
  EXPECT_EQ(read->history, schedule.history);
  schedule.flow.reset();
  EXPECT_EQ(encode(schedule).front(), 2) << "what runs is a flow still";
}

TEST(ScheduleRecord, AFlowKnowsItsSchedule) {
  FlowRecord flow;
  flow.id = firing_id(full_schedule(), 5);
  flow.spec.kind = "k";
  EXPECT_EQ(encode(flow.spec).front(), 1) << "others are written as before";
  EXPECT_EQ(encode(flow.facts).front(), 1);
  flow.spec.schedule = ScheduleOrigin{"s", 7, 8, true};
  flow.facts.untold_schedule = true;
  flow.facts.state = FlowState::completed;
  flow.facts.finished_at = 9;
  Record stored_flow;
  stored_flow.key = flow_key(flow.id);
  stored_flow.fixed = encode(flow.spec);
  stored_flow.body = encode(flow.facts);
  const auto read = decode_flow(stored_flow);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->spec, flow.spec);
  EXPECT_EQ(read->facts, flow.facts);
}

TEST(ScheduleRecord, WhenItIsDue) {
  ScheduleRecord schedule = full_schedule();
  EXPECT_EQ(next_due(schedule), 0) << "it is paused";
  schedule.state = ScheduleState::active;
  EXPECT_EQ(next_due(schedule), 17) << "it looks again then";
  schedule.retry_at = 0;
  EXPECT_EQ(next_due(schedule), 16 + jitter_of(schedule, 16));
  schedule.next_at = 0;
  EXPECT_EQ(next_due(schedule), 0);
  schedule.state = ScheduleState::deleted;
  EXPECT_EQ(next_due(schedule), 15 + limits::deleted_schedule_retention_ms);
  const auto expected = expected_entries(stored(schedule));
  ASSERT_TRUE(expected);
  EXPECT_EQ(expected->listing, listing_of(schedule));
}

}  // namespace
}  // namespace flowfabric
