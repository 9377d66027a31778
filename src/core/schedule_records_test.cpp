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
      {28, 29, FiringCause::backfill, FiringOutcome::fired, firing_id(schedule, 28), Outcome::failed, 30, "x"}};
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
