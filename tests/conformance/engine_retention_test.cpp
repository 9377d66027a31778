// Retention of ended executions and of idempotency keys.
#include <flowfabric/engine.hpp>

#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"
#include "engine/engine_impl.hpp"

namespace flowfabric::test {
namespace {

constexpr std::int64_t day = 24LL * 3600 * 1000;

class EngineRetention : public EngineSuite {
 protected:
  bool exists(const ExecutionId& id) { return reads::load_execution(engine().store(), id).has_value(); }
  ExecutionId ended(CreateRequest request, Outcome outcome) {
    request.lane = "ending";
    if (outcome == Outcome::expired) request.deadline_at = now() + 1;
    const ExecutionId id = make(request);
    if (outcome == Outcome::success) value_of(engine().complete(engine().take("ending")));
    if (outcome == Outcome::failed) value_of(engine().fail(engine().take("ending")));
    if (outcome == Outcome::cancelled) call<CancelReply>(CancelCommand{id, {}});
    if (outcome == Outcome::expired) engine().advance(1);
    return id;
  }
  void set_retention(const std::string& name_space, RetentionPolicy retention) {
    call<NamespaceInfo>(NamespaceCommand{{name_space, retention}, {"ops", "tidy"}});
  }
};
ON_EVERY_STORE(EngineRetention);

TEST_P(EngineRetention, the_default_is_seven_days) {
  const ExecutionId id = ended(job(), Outcome::success);
  engine().jump(7 * day - 1);
  EXPECT_TRUE(exists(id));
  engine().advance(1);
  EXPECT_FALSE(exists(id));
}

TEST_P(EngineRetention, each_outcome_has_its_own_time) {
  CreateRequest request = job();
  request.policy.retention = {10000, 20000, 30000, 40000, {}};
  const std::vector<Outcome> outcomes = {Outcome::success, Outcome::failed, Outcome::cancelled, Outcome::expired};
  std::vector<ExecutionId> ids;
  std::vector<TimestampMs> finished;
  for (const Outcome outcome : outcomes) {
    ids.push_back(ended(request, outcome));
    finished.push_back(facts(ids.back()).finished_at);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const TimestampMs until = finished[i] + 10000 * static_cast<TimestampMs>(i + 1);
    engine().advance(until - 1 - now());
    EXPECT_TRUE(exists(ids[i])) << to_string(outcomes[i]);
    engine().advance(1);
    EXPECT_FALSE(exists(ids[i])) << to_string(outcomes[i]);
  }
}

TEST_P(EngineRetention, an_execution_overrules_its_namespace_which_overrules_the_engine) {
  set_retention("tenant", {5000, {}, {}, {}, {}});
  CreateRequest request = job();
  request.name_space = "tenant";
  const ExecutionId by_namespace = ended(request, Outcome::success);
  const ExecutionId by_engine = ended(request, Outcome::failed);
  request.policy.retention.completed_ms = 8000;
  const ExecutionId by_itself = ended(request, Outcome::success);
  const ExecutionId elsewhere = ended(job(), Outcome::success);
  engine().advance(5000);
  EXPECT_FALSE(exists(by_namespace));
  EXPECT_TRUE(exists(by_itself));
  engine().advance(3000);
  EXPECT_FALSE(exists(by_itself));
  EXPECT_TRUE(exists(by_engine));
  EXPECT_TRUE(exists(elsewhere));
  EXPECT_EQ(value_of(reads::name_space(engine().store(), "tenant")).retention.completed_ms, 5000);
  EXPECT_EQ(value_of(reads::name_space(engine().store(), "nobody")), (NamespaceInfo{"nobody", {}}));
}

TEST_P(EngineRetention, a_longer_default_also_saves_what_has_ended_already) {
  set_retention("tenant", {5000, {}, {}, {}, {}});
  CreateRequest request = job();
  request.name_space = "tenant";
  const ExecutionId id = ended(request, Outcome::success);
  set_retention("tenant", {50000, {}, {}, {}, {}});
  engine().advance(5000);
  EXPECT_TRUE(exists(id));
  engine().advance(45000);
  EXPECT_FALSE(exists(id));
}

TEST_P(EngineRetention, namespace_changes_are_events) {
  set_retention("tenant", {5000, {}, {}, {}, {}});
  set_retention("tenant", {5000, {}, {}, {}, {}});
  EventFilter filter;
  filter.types = {EventType::namespace_changed};
  const auto events = events_from(start_cursor("earliest"), filter);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name_space, "tenant");
  EXPECT_EQ(events[0].actor, "ops");
}

TEST_P(EngineRetention, runs_of_an_operator_are_events) {
  set_retention("tenant", {5000, {}, {}, {}, {}});
  call<Done>(NoteRetentionCommand{{1000, "tenant", {}}, 3, {"ops", "tidy"}});
  call<Done>(NoteRetentionCommand{{}, 0, {"ops", ""}});
  EventFilter filter;
  filter.types = {EventType::retention_run};
  const auto events = events_from(start_cursor("earliest"), filter);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].name_space, "tenant");
  EXPECT_EQ(events[0].actor, "ops");
  EXPECT_EQ(events[1].name_space, "");
  EXPECT_EQ(value_of(reads::name_space(engine().store(), "tenant")).retention.completed_ms, 5000);
}

TEST_P(EngineRetention, a_dry_run_says_what_would_be_removed_and_removes_nothing) {
  CreateRequest request = job();
  request.policy.retention.completed_ms = 5000;
  const ExecutionId id = ended(request, Outcome::success);
  const TimestampMs finished = facts(id).finished_at;
  const auto would = [&](std::optional<TimestampMs> finished_before) {
    return call<RemoveReply>(RemoveCommand{id, finished_before, {}, true}).removed;
  };
  EXPECT_FALSE(would(std::nullopt)) << "its retention is not over";
  EXPECT_TRUE(would(finished + 1));
  EXPECT_FALSE(would(finished - 1));
  EXPECT_TRUE(exists(id));
  EXPECT_EQ(facts(id).finished_at, finished);
  EXPECT_TRUE(call<RemoveReply>(RemoveCommand{id, finished + 1}).removed);
  EXPECT_FALSE(exists(id));
}

TEST_P(EngineRetention, namespaces_with_settings_are_listed_by_name) {
  EXPECT_TRUE(value_of(reads::all_namespaces(engine().store())).empty());
  set_retention("b", {5000, {}, {}, {}, {}});
  set_retention("a", {});
  const auto all = value_of(reads::all_namespaces(engine().store()));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name_space, "a");
  EXPECT_EQ(all[1].name_space, "b");
  EXPECT_EQ(all[1].retention.completed_ms, 5000);
}

TEST_P(EngineRetention, a_replay_saves_an_execution) {
  CreateRequest request = job();
  request.policy.retention = {1000, 1000, 1000, 1000, {}};
  const ExecutionId id = ended(request, Outcome::cancelled);
  engine().advance(999);
  call<ReplayReply>(ReplayCommand{id, {}});
  engine().jump(30 * day);
  EXPECT_EQ(state(id), PublicState::waiting);
  call<CancelReply>(CancelCommand{id, {}});
  engine().advance(1000);
  EXPECT_FALSE(exists(id));
}

TEST_P(EngineRetention, a_live_execution_is_never_removed) {
  CreateRequest request = job();
  request.policy.retention = {0, 0, 0, 0, 0};
  const ExecutionId ready = make(request);
  request.delay_until = now() + 90 * day;
  const ExecutionId delayed = make(request);
  request.delay_until = 0;
  request.policy.on_lease_lost = OnLeaseLost::manual;
  request.lane = "other";
  const ExecutionId stuck = make(request);
  engine().take("other", 1000);
  engine().jump(60 * day);
  EXPECT_EQ(state(ready), PublicState::waiting);
  EXPECT_EQ(state(delayed), PublicState::delayed);
  EXPECT_EQ(state(stuck), PublicState::waiting);
}

TEST_P(EngineRetention, removal_takes_everything_and_expires_no_cursor) {
  const std::string beginning = start_cursor("earliest");
  CreateRequest request = retried_job();
  request.payload = std::string(limits::max_inline_bytes + 5, 'p');
  request.policy.retention.completed_ms = 1000;
  request.tags = {{"app.k", "v"}};
  const ExecutionId id = make(request);
  value_of(engine().fail(engine().take()));
  engine().advance(1000);
  value_of(engine().complete(engine().take(), std::string(limits::max_inline_bytes + 5, 'r')));
  const ExecutionId survivor = engine().make();
  const Key key = execution_key(id);
  Store& store = engine().store();
  EXPECT_FALSE(value_of(store.history(key, {}, 10)).empty());
  engine().advance(1000);

  EXPECT_FALSE(exists(id));
  EXPECT_EQ(refusal(reads::describe(store, id)), Errc::not_found);
  EXPECT_EQ(refused(ReplayCommand{id, {}}), Errc::not_found);
  for (const SatelliteKind kind : {SatelliteKind::payload, SatelliteKind::result, SatelliteKind::attempt}) {
    EXPECT_TRUE(value_of(store.load_satellites(key, static_cast<std::uint8_t>(kind), 0, 10)).empty());
  }
  EXPECT_TRUE(value_of(store.history(key, {}, 10)).empty());
  ListRequest list;
  list.tag = {"app.k", "v"};
  EXPECT_TRUE(value_of(reads::list(store, list)).executions.empty());
  EXPECT_EQ(start_cursor("earliest"), beginning);
  const auto events = events_from(beginning);
  for (const Event& event : events) EXPECT_NE(event.execution_id, id);
  EXPECT_EQ(events.back().execution_id, survivor);
  EXPECT_EQ(engine().history(survivor), Events{EventType::created}) << "others keep their history";
}

// Somebody with a short retention must not take events from somebody with a long one.
TEST_P(EngineRetention, what_retention_removes_in_one_namespace_hides_nothing_in_another) {
  EventFilter filter;
  filter.name_space = "patient";
  std::vector<ExecutionId> patient;
  std::vector<std::string> cursors = {start_cursor("earliest")};
  for (int i = 0; i < 3; ++i) {
    CreateRequest request = job();
    request.name_space = "patient";
    patient.push_back(make(request));
    request.name_space = request.lane = "brief";
    request.policy.retention.completed_ms = 0;
    make(request);
    cursors.push_back(start_cursor(""));
  }
  for (int i = 0; i < 3; ++i) value_of(engine().complete(engine().take("brief")));
  engine().advance(1000);
  for (std::size_t i = 0; i < cursors.size(); ++i) {
    std::vector<ExecutionId> seen;
    for (const Event& event : events_from(cursors[i], filter)) seen.push_back(event.execution_id.value());
    EXPECT_EQ(seen, std::vector<ExecutionId>(patient.begin() + static_cast<std::ptrdiff_t>(i), patient.end()));
  }
}

TEST_P(EngineRetention, many_are_removed_in_bounded_batches) {
  constexpr std::size_t many = limits::max_due_batch + 200;
  CreateRequest request = job();
  request.policy.retention.cancelled_ms = 1000;
  const std::vector<ExecutionId> ids = make_many(std::vector<CreateRequest>(many, request));
  std::vector<Command> cancels;
  for (const auto& id : ids) cancels.emplace_back(CancelCommand{id, {}});
  for (const auto& reply : call_together(engine(), std::move(cancels))) EXPECT_TRUE(reply);
  const ExecutionId alive = engine().make();
  const std::uint64_t sweeps = engine().runtime().statistics().sweeps;
  engine().jump(1000);
  engine().advance(1);
  EXPECT_GE(engine().runtime().statistics().sweeps - sweeps, 2u);
  const auto counts = value_of(reads::counts(engine().store(), {}));
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].counts, (std::map<PublicState, std::uint64_t>{{PublicState::waiting, 1}}));
  EXPECT_TRUE(exists(alive));
}

// ---- Idempotency ---------------------------------------------------------------------------------------------------

TEST_P(EngineRetention, idempotency_same_request_is_a_duplicate_another_is_a_conflict) {
  CreateRequest request = job();
  request.idempotency_key = "order-1";
  request.payload = "p";
  const auto first = value_of(engine().create(request));
  EXPECT_FALSE(first.duplicate);
  const auto again = value_of(engine().create(request));
  EXPECT_EQ(again, (Created{first.execution_id, PublicState::waiting, true, CreateOutcome::duplicate}));
  engine().take();
  EXPECT_EQ(value_of(second().create(request)),
            (Created{first.execution_id, PublicState::active, true, CreateOutcome::duplicate}));
  request.payload = "q";
  for (Driver* driver : {&engine(), &second()}) {
    const auto other = driver->create(request);
    EXPECT_EQ(refusal(other), Errc::conflict);
    EXPECT_EQ(other.error().field, "idempotency_key");
  }
  EXPECT_TRUE(claim(ask(5)).empty()) << "one execution, not more";
  EXPECT_EQ(engine().history(first.execution_id), (Events{EventType::created, EventType::claimed}));
}

TEST_P(EngineRetention, idempotency_a_repeat_with_a_later_delay_is_the_same_request) {
  CreateRequest request = job();
  request.idempotency_key = "k";
  request.delay_until = now() + 1000;
  const auto first = value_of(engine().create(request));
  engine().advance(10);
  request.delay_until = now() + 1000;
  EXPECT_TRUE(value_of(engine().create(request)).duplicate) << "a client that repeats computes its times anew";
  EXPECT_EQ(facts(first.execution_id).delay_until, now() - 10 + 1000);
}

TEST_P(EngineRetention, idempotency_key_is_free_again_after_its_window) {
  CreateRequest request = job();
  request.idempotency_key = "k";
  request.policy.dedup_window_ms = 5000;
  const auto first = value_of(engine().create(request));
  engine().advance(4999);
  EXPECT_TRUE(value_of(engine().create(request)).duplicate);
  clock_.advance_ms(1);
  const auto next = value_of(engine().create(request));
  EXPECT_FALSE(next.duplicate);
  EXPECT_NE(next.execution_id, first.execution_id);
  engine().advance(4999);
  EXPECT_TRUE(value_of(engine().create(request)).duplicate) << "the new window counts from the new execution";
  engine().advance(1);
  EXPECT_TRUE(value_of(engine().store().load({idempotency_key("default", "k")})).empty()) << "the record is gone";
  EXPECT_EQ(claim(ask(5)).size(), 2u);
}

TEST_P(EngineRetention, idempotency_window_defaults_to_a_day_and_outlives_the_execution) {
  CreateRequest request = job();
  request.idempotency_key = "k";
  request.policy.retention.completed_ms = 1000;
  const auto first = value_of(engine().create(request));
  value_of(engine().complete(engine().take()));
  engine().advance(2000);
  EXPECT_FALSE(exists(first.execution_id));
  const auto again = value_of(engine().create(request));
  EXPECT_TRUE(again.duplicate) << "work that was done is not done twice";
  EXPECT_EQ(again.execution_id, first.execution_id);
  engine().jump(day - 2000);
  EXPECT_FALSE(value_of(engine().create(request)).duplicate);
}

TEST_P(EngineRetention, idempotency_key_belongs_to_its_namespace) {
  CreateRequest request = job();
  request.idempotency_key = "k";
  const auto here = value_of(engine().create(request));
  request.name_space = "other";
  const auto there = value_of(engine().create(request));
  EXPECT_FALSE(there.duplicate);
  EXPECT_NE(here.execution_id, there.execution_id);
}

TEST_P(EngineRetention, idempotency_duplicates_in_one_batch_make_one_execution) {
  CreateRequest request = job();
  request.idempotency_key = "k";
  std::vector<Created> made;
  int conflicts = 0;
  for (int i = 0; i < 10; ++i) {
    request.payload = i == 7 ? "other" : "";
    engine().runtime().submit_create(request, [&](Result<Reply> reply) {
      if (reply) made.push_back(std::get<Created>(*reply));
      if (!reply && reply.error().code == Errc::conflict) ++conflicts;
    });
  }
  engine().settle();
  ASSERT_EQ(made.size(), 9u);
  EXPECT_EQ(conflicts, 1);
  EXPECT_EQ(std::count_if(made.begin(), made.end(), [](const Created& one) { return !one.duplicate; }), 1);
  for (const Created& one : made) EXPECT_EQ(one.execution_id, made[0].execution_id);
  EXPECT_EQ(claim(ask(10)).size(), 1u);
}

TEST_P(EngineRetention, idempotency_duplicates_from_two_engines_make_one_execution) {
  second();
  constexpr int keys = 40;
  const auto create_all = [&](Driver& driver, std::vector<Result<Created>>& replies) {
    for (int i = 0; i < keys; ++i) {
      CreateRequest request = job();
      request.idempotency_key = "k" + std::to_string(i);
      replies.push_back(driver.create(request));
    }
  };
  std::vector<Result<Created>> here, there;
  std::thread other([&] { create_all(second(), there); });
  create_all(engine(), here);
  other.join();
  for (std::size_t i = 0; i < keys; ++i) {
    ASSERT_TRUE(here[i] && there[i]);
    EXPECT_EQ(here[i]->execution_id, there[i]->execution_id);
    EXPECT_NE(here[i]->duplicate, there[i]->duplicate) << "exactly one of them made it";
  }
  EXPECT_EQ(claim_all().size(), static_cast<std::size_t>(keys));
}

TEST_P(EngineRetention, idempotency_a_repeat_says_when_the_execution_has_been_removed) {
  CreateRequest request = job();
  request.idempotency_key = "k";
  request.policy.retention.completed_ms = 1000;
  const auto first = value_of(engine().create(request));
  value_of(engine().complete(engine().take()));
  EXPECT_EQ(value_of(engine().create(request)),
            (Created{first.execution_id, PublicState::completed, true, CreateOutcome::duplicate}));
  engine().advance(1000);
  ASSERT_FALSE(exists(first.execution_id));
  for (Driver* driver : {&engine(), &second()}) {
    EXPECT_EQ(value_of(driver->create(request)),
              (Created{first.execution_id, std::nullopt, true, CreateOutcome::duplicate}));
  }
  EXPECT_TRUE(claim(ask()).empty()) << "nothing new within the window";
}

// ---- Runs of an operator -------------------------------------------------------------------------------------------

TEST_P(EngineRetention, a_run_without_an_age_removes_what_ended_in_this_very_millisecond) {
  const auto threaded = value_of(start_engine(open_store(), {}));
  const auto end_one = [&](CreateRequest request) {
    const ExecutionId id = value_of(threaded->create(std::move(request))).execution_id;
    value_of(threaded->cancel(id));
    return id;
  };
  CreateRequest tagged = job();
  tagged.tags = {{"app.team", "a"}};
  const ExecutionId mine = end_one(tagged);
  tagged.tags = {{"app.team", "b"}};
  const ExecutionId other = end_one(tagged);
  RetentionRun run;
  run.older_than_ms = 1;
  EXPECT_EQ(value_of(threaded->run_retention(run)), 0u) << "the clock stands still: they ended just now";
  run.older_than_ms = 0;
  run.tag = {"app.team", "a"};
  EXPECT_EQ(value_of(threaded->run_retention(run)), 1u);
  EXPECT_EQ(refusal(threaded->describe_execution(mine)), Errc::not_found);
  EXPECT_TRUE(threaded->describe_execution(other));
  run.tag = {"no-dot", "a"};
  EXPECT_EQ(threaded->run_retention(run).error().field, "tag");
  run.tag.reset();
  EXPECT_EQ(value_of(threaded->run_retention(run)), 1u);
  threaded->stop();
}

}  // namespace
}  // namespace flowfabric::test
