// What the integrity check finds when indexes, listings, bodies and satellites are damaged, and what a repair makes of it.
#include "conformance/engine_suite.hpp"
#include "core/counts.hpp"
#include "core/expected.hpp"
#include "core/route.hpp"

namespace flowfabric::test {
namespace {

using Sentences = std::vector<std::string>;

class EngineIntegrity : public EngineSuite {
 protected:
  void SetUp() override {
    EngineSuite::SetUp();
    session_ = value_of(engine().store().open_session());
  }
  void TearDown() override {
    session_.reset();
    EngineSuite::TearDown();
  }

  Record record(const ExecutionId& id) { return value_of(engine().store().load({execution_key(id)})).at(0); }
  ExpectedEntries expected(const ExecutionId& id) { return value_of(expected_entries(record(id))); }

  // Writes past the engine, as a fault of the database would.
  void commit_damage(ChangeSet set) {
    ASSERT_EQ(value_of(session_->commit({std::move(set)})), std::vector<Verdict>{Verdict::committed});
    ASSERT_TRUE(session_->settle());
  }
  RootChange rewrite(const ExecutionId& id) {
    const Record stored = record(id);
    RootChange change;
    change.key = stored.key;
    change.expected_version = stored.version;
    change.body = stored.body;
    change.listing = expected(id).listing;
    change.last_entry = stored.last_entry;
    return change;
  }
  // Executions with a payload too large to be part of the record.
  ExecutionId make_large() {
    CreateRequest request = job();
    request.payload = std::string(5000, 'x');
    return make(std::move(request));
  }

  Sentences findings() { return value_of(integrity_findings(engine().store())); }
  Sentences repair() {
    Sentences done;
    const auto keep = [&](const IntegrityFinding& finding) { done.push_back(finding.problem + ": " + finding.repair); };
    value_of(check_integrity(engine().store(), true, keep));
    return done;
  }
  static ListRequest completed() {
    ListRequest request;
    request.states = {PublicState::completed};
    return request;
  }
  static std::string text(const ExecutionId& id) { return "execution " + to_string(id); }

  std::unique_ptr<Session> session_;
};

TEST_P(EngineIntegrity, healthy_records_of_every_kind_have_no_findings) {
  CreateRequest keyed = job();
  keyed.idempotency_key = "once";
  make(keyed);
  make_large();
  const ExecutionId retried = make(retried_job());
  WorkerRegistration worker;
  worker.worker_id = "worker";
  worker.worker_instance_id = "w-1";
  worker.lanes = {"default"};
  worker.liveness_ttl_ms = 10000;
  value_of(engine().register_worker(worker));
  for (ClaimedExecution& claimed : claim_all()) {
    if (claimed.execution_id == retried) value_of(engine().fail(claimed));
    if (claimed.execution_id != retried) value_of(engine().complete(claimed, std::string(3000, 'r')));
  }
  const ExecutionId replayed = value_of(reads::list(engine().store(), completed())).executions.at(0).execution_id;
  value_of(engine().call(ReplayCommand{replayed, {}}));
  engine().advance(2000);
  claim_all();
  EXPECT_EQ(findings(), Sentences{});
}

TEST_P(EngineIntegrity, missing_ready_entry_is_named_and_added) {
  const ExecutionId id = make(job());
  ChangeSet loss;
  loss.ready_drop = {*expected(id).ready};
  commit_damage(loss);
  EXPECT_TRUE(claim(ask()).empty());
  const std::string problem = text(id) + " can be claimed, but is missing from the ready index";
  EXPECT_EQ(findings(), Sentences{problem});
  EXPECT_EQ(repair(), Sentences{problem + ": added the entry"});
  EXPECT_EQ(findings(), Sentences{});
  EXPECT_EQ(ids_of(claim(ask())), std::vector<ExecutionId>{id});
}

TEST_P(EngineIntegrity, missing_due_entry_is_named_and_added) {
  const ExecutionId id = make(job());
  ASSERT_EQ(claim_all("default", 1000).size(), 1u);
  ChangeSet loss;
  loss.due_drop = {*expected(id).due};
  commit_damage(loss);
  const Sentences found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found.front().starts_with(text(id) + " has no entry at ")) << found.front();
  EXPECT_EQ(repair(), Sentences{found.front() + ": added the entry"});
  EXPECT_EQ(findings(), Sentences{});
  engine().advance(61000);  // an engine that was not told of the repair looks once in a keep-alive period
  EXPECT_EQ(state(id), PublicState::waiting) << "the lease has run out, and the clock has seen it";
}

TEST_P(EngineIntegrity, wrong_counts_are_named_and_corrected) {
  make(job());
  make(job("other"));
  const auto counted = value_of(reads::counts(engine().store(), std::nullopt));
  ChangeSet drift;
  const auto waiting = static_cast<std::uint8_t>(PublicState::waiting);
  const auto failed = static_cast<std::uint8_t>(PublicState::failed);
  drift.counters = {{counter_name(RecordKind::execution, "default", "other", waiting), -1},
                    {counter_name(RecordKind::execution, "default", "third", failed), 2}};
  commit_damage(drift);
  const std::string other =
      "the counter of records \"e\" in namespace \"default\", lane \"other\", state 0 is wrong by -1";
  const std::string third =
      "the counter of records \"e\" in namespace \"default\", lane \"third\", state 8 is wrong by 2";
  EXPECT_EQ(findings(), (Sentences{other, third}));
  EXPECT_EQ(repair(), (Sentences{other + ": corrected it", third + ": corrected it"}));
  EXPECT_EQ(findings(), Sentences{});
  EXPECT_EQ(value_of(reads::counts(engine().store(), std::nullopt)), counted);
}

TEST_P(EngineIntegrity, entry_in_a_wrong_group_is_replaced) {
  const ExecutionId id = make(job());
  ASSERT_EQ(claim_all().size(), 1u);
  const DueEntry right = *expected(id).due;
  ASSERT_NE(right.group, 0u);
  ChangeSet move;
  move.due_drop = {right};
  move.due_put = {{right.due_at, right.key, right.group + 1, right.rank}};
  commit_damage(move);
  EXPECT_EQ(findings().size(), 2u) << "one is missing, and one is too many";
  const Sentences done = repair();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done.front().ends_with("which asks for another one in its place: replaced the entry")) << done.front();
  EXPECT_EQ(findings(), Sentences{});
  EXPECT_EQ(value_of(engine().store().group_entries(right.group, {}, 10)), std::vector<DueEntry>{right});
}

TEST_P(EngineIntegrity, entries_that_nobody_asks_for_are_removed) {
  const ExecutionId id = make(job());
  ASSERT_EQ(claim_all().size(), 1u);
  const Key gone = make_key(RecordKind::execution, std::string(16, 'g'), 7);
  const Route route{route_of("default", {}), "default", {}, "default"};
  ChangeSet extra;
  extra.routes = {route};
  extra.ready_put = {{route.number, 0, 42, execution_key(id), "default"}};
  commit_damage(extra);
  ChangeSet orphans;
  orphans.routes = {route};
  orphans.ready_put = {{route.number, 0, 43, gone, "default"}};
  orphans.due_put = {{never_due - 1, gone}};
  orphans.satellites = {{{gone, 1, 0}, "bytes"}};
  commit_damage(orphans);
  EXPECT_EQ(findings().size(), 4u);
  const Sentences done = repair();
  ASSERT_EQ(done.size(), 4u);
  EXPECT_EQ(done[0], "the ready index has an entry of " + text(id) + ", which does not ask for it: removed the entry");
  EXPECT_TRUE(done[1].ends_with("which does not exist: removed the entry")) << done[1];
  EXPECT_TRUE(done[2].starts_with("the due index has an entry at ")) << done[2];
  EXPECT_TRUE(done[3].starts_with("there is a payload of execution ")) << done[3];
  EXPECT_EQ(findings(), Sentences{});
}

TEST_P(EngineIntegrity, wrong_listing_is_written_again) {
  const ExecutionId id = make(job("mail"));
  ChangeSet change;
  change.roots = {rewrite(id)};
  change.roots[0].relist = true;
  change.roots[0].listing->lane = "post";
  change.roots[0].listing->created_at += 5;
  change.roots[0].listing->state = static_cast<std::uint8_t>(PublicState::completed);
  commit_damage(change);
  const auto on_lane = [&](const std::string& lane) {
    ListRequest request;
    request.lane = lane;
    return value_of(reads::list(engine().store(), request)).executions.size();
  };
  ASSERT_EQ(on_lane("mail"), 0u);
  const std::string problem = "the listing of " + text(id) + " differs from the record";
  const Sentences found = findings();
  ASSERT_EQ(found.size(), 3u) << "both lanes count what is listed";
  EXPECT_EQ(found.front(), problem);
  EXPECT_EQ(repair(), Sentences{problem + ": wrote the listing again"});
  EXPECT_EQ(findings(), Sentences{});
  EXPECT_EQ(on_lane("mail"), 1u);
  EXPECT_EQ(on_lane("post"), 0u);
  EXPECT_EQ(ids_of(claim(ask(1, {"mail"}))), std::vector<ExecutionId>{id});
}

TEST_P(EngineIntegrity, record_that_is_armed_too_late_is_armed_again) {
  CreateRequest request = job();
  request.delay_until = now() + 10000;
  const ExecutionId id = make(std::move(request));
  const DueEntry right = *expected(id).due;
  Facts late = facts(id);
  late.armed_due += 60000;
  ChangeSet change;
  change.roots = {rewrite(id)};
  change.roots[0].body = encode(late);
  change.due_drop = {right};
  change.due_put = {{late.armed_due, right.key, right.group, right.rank}};
  commit_damage(change);
  const std::string problem = text(id) + " is armed too late or not at all";
  EXPECT_EQ(findings(), Sentences{problem});
  EXPECT_EQ(repair(), Sentences{problem + ": armed it again"});
  EXPECT_EQ(findings(), Sentences{});
  EXPECT_EQ(expected(id).due, right);
}

TEST_P(EngineIntegrity, undecodable_body_and_missing_satellites_are_named) {
  const ExecutionId damaged = make(job());
  const ExecutionId bare = make_large();
  const Record before = record(damaged);
  ChangeSet garbage;
  garbage.roots = {rewrite(damaged)};
  garbage.roots[0].body = "garbage";
  commit_damage(garbage);
  ChangeSet loss;
  loss.satellites_drop = {{execution_key(bare), static_cast<std::uint8_t>(SatelliteKind::payload), 0}};
  commit_damage(loss);
  const Sentences found = findings();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].starts_with(text(damaged) + " cannot be decoded: ")) << found[0];
  EXPECT_EQ(found[1], "the payload of " + text(bare) + " is missing");
  EXPECT_EQ(repair().size(), 2u);
  EXPECT_EQ(findings(), found) << "there is nothing to repair these from";

  ChangeSet healed;
  healed.roots = {rewrite(bare)};
  healed.satellites = {{{execution_key(bare), static_cast<std::uint8_t>(SatelliteKind::payload), 0}, "x"}};
  commit_damage(healed);
  RootChange body;
  body.key = before.key;
  body.expected_version = record(damaged).version;
  body.body = before.body;
  body.listing = expected(bare).listing;
  body.listing->created_at = value_of(decode_execution(before)).spec.created_at;
  body.last_entry = before.last_entry;
  ChangeSet back;
  back.roots = {body};
  commit_damage(back);
}

TEST_P(EngineIntegrity, missing_steps_and_checkpoints_are_named) {
  const ExecutionId id = make(job());
  const Fence fence = engine().fence(claim_all().at(0));
  for (const std::uint32_t position : {1u, 2u}) {
    value_of(engine().call(StepCommand{fence, {.position = position, .name = "s" + std::to_string(position)}}));
  }
  value_of(engine().call(CheckpointCommand{fence, "here", {}}));
  EXPECT_EQ(findings(), Sentences{});
  const SatelliteName step{execution_key(id), static_cast<std::uint8_t>(SatelliteKind::step), 2};
  const SatelliteName checkpoint{execution_key(id), static_cast<std::uint8_t>(SatelliteKind::checkpoint), 0};
  const auto kept = value_of(engine().store().load_satellites(execution_key(id), step.kind, 2, 1));
  const auto kept_checkpoint = value_of(engine().store().load_satellites(execution_key(id), checkpoint.kind, 0, 1));
  ChangeSet loss;
  loss.satellites_drop = {step, checkpoint};
  commit_damage(loss);
  EXPECT_EQ(findings(),
            (Sentences{"the step 2 of " + text(id) + " is missing", "the checkpoint of " + text(id) + " is missing"}));
  ChangeSet healed;
  healed.roots = {rewrite(id)};
  healed.satellites = {kept.at(0), kept_checkpoint.at(0)};
  commit_damage(healed);
}

TEST_P(EngineIntegrity, a_route_under_the_number_of_another_is_named) {
  ChangeSet wrong;
  wrong.routes = {{route_of("mail", {}), "post", {}, "default"}};
  commit_damage(wrong);
  const std::string number = std::to_string(route_of("mail", {}));
  EXPECT_EQ(findings(), Sentences{"the route of lane \"post\" has the number " + number +
                                  ", which is that of another lane or other capabilities"});
  value_of(engine().store().forget_routes({route_of("mail", {})}));
}

TEST_P(EngineIntegrity, more_records_than_a_page_are_compared) {
  std::vector<ExecutionId> made = make_many(std::vector<CreateRequest>(1203, job()));
  ChangeSet loss;
  loss.ready_drop = {*expected(made[700]).ready};
  commit_damage(loss);
  EXPECT_EQ(findings(), Sentences{text(made[700]) + " can be claimed, but is missing from the ready index"});
  EXPECT_EQ(repair().size(), 1u);
  EXPECT_EQ(claim_all().size(), made.size());
}

ON_EVERY_STORE(EngineIntegrity);

}  // namespace
}  // namespace flowfabric::test
