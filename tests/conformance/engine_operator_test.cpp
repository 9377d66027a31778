// Operator actions: cancel, replay, change of priorities and tags.
#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineOperators : public EngineSuite {
 protected:
  // One execution in every non-terminal phase, each on its own lane with the name of the phase.
  std::map<std::string, ExecutionId> one_in_every_phase() {
    std::map<std::string, ExecutionId> ids;
    CreateRequest delayed = job("delayed");
    delayed.delay_until = now() + 100000;
    ids["delayed"] = make(delayed);
    ids["ready"] = make(job("ready"));
    ids["active"] = make(job("active"));
    engine().take("active", 600000);
    CreateRequest backoff = retried_job();
    backoff.lane = "backoff";
    backoff.policy.retry->initial_delay_ms = backoff.policy.retry->max_delay_ms = 100000;
    ids["backoff"] = make(backoff);
    value_of(engine().fail(engine().take("backoff")));
    ids["put off"] = make(job("put off"));
    value_of(engine().delay(engine().take("put off"), now() + 100000));
    ids["resumable"] = make(job("resumable"));
    value_of(engine().delay(engine().take("resumable"), now()));
    CreateRequest manual = job("manual");
    manual.policy.on_lease_lost = OnLeaseLost::manual;
    ids["manual"] = make(manual);
    engine().take("manual", 600000);
    call<RevokeReply>(RevokeCommand{ids["manual"], {}, {}});
    return ids;
  }
};
ON_EVERY_STORE(EngineOperators);

TEST_P(EngineOperators, cancel_by_an_operator_in_every_phase) {
  for (const auto& [phase, id] : one_in_every_phase()) {
    EXPECT_EQ(call<CancelReply>(CancelCommand{id, {"ops", "why"}}), CancelReply{false}) << phase;
    EXPECT_EQ(state(id), PublicState::cancelled) << phase;
    EXPECT_EQ(call<CancelReply>(CancelCommand{id, {"ops", "again"}}), CancelReply{true}) << phase;
    const auto description = engine().describe(id);
    EXPECT_EQ(description.cancelled_by, "ops") << phase;
    EXPECT_EQ(description.cancellation_reason, "why") << phase;
    EXPECT_EQ(description.lease, std::nullopt) << phase;
    const auto page = value_of(reads::history(engine().store(), id, {}, 100));
    EXPECT_EQ(page.events.back().type, EventType::cancelled) << phase;
    EXPECT_EQ(page.events.back().actor, "ops") << phase;
    EXPECT_EQ(ends_in(engine().history(id)), 1) << phase;
    EXPECT_TRUE(claim(ask(1, {phase})).empty()) << phase;
  }
  engine().advance(700000);
  for (const std::string lane : {"delayed", "active", "backoff", "put off", "manual"}) {
    EXPECT_TRUE(claim(ask(1, {lane})).empty()) << "nothing of it comes back: " << lane;
  }
}

TEST_P(EngineOperators, cancel_of_what_has_ended_otherwise_is_refused_with_the_outcome) {
  const ExecutionId completed = make(job("a"));
  value_of(engine().complete(engine().take("a")));
  const ExecutionId failed = make(job("b"));
  value_of(engine().fail(engine().take("b")));
  CreateRequest request = job("c");
  request.deadline_at = now() + 10;
  const ExecutionId expired = make(request);
  engine().advance(10);
  for (const auto& [id, outcome] :
       std::map<ExecutionId, std::string>{{completed, "success"}, {failed, "failed"}, {expired, "expired"}}) {
    const auto reply = engine().call(CancelCommand{id, {}});
    EXPECT_EQ(refusal(reply), Errc::already_terminal);
    const std::vector<std::pair<std::string, std::string>> details = {{"outcome", outcome}};
    EXPECT_EQ(reply.error().details, details);
  }
}

TEST_P(EngineOperators, cancel_by_the_holder_is_fenced) {
  const ExecutionId id = engine().make();
  const ClaimedExecution lost = engine().take("default", 1000);
  engine().advance(1000);
  EXPECT_EQ(refused(CancelHeldCommand{engine().fence(lost), "no"}), Errc::lease_expired);
  const ClaimedExecution claimed = engine().take();
  const Fence fence = engine().fence(claimed);
  EXPECT_EQ(call<CancelReply>(CancelHeldCommand{fence, "not needed"}), CancelReply{false});
  EXPECT_TRUE(engine().call(CancelHeldCommand{fence, "not needed"})) << "a repeat is answered, too";
  const auto description = engine().describe(id);
  EXPECT_EQ(description.summary.public_state, PublicState::cancelled);
  EXPECT_EQ(description.cancelled_by, "w-1");
  EXPECT_EQ(description.cancellation_reason, "not needed");
  EXPECT_EQ(description.attempt->attempt_state, AttemptState::ended_cancelled);
  EXPECT_EQ(ends_in(engine().history(id)), 1);
}

TEST_P(EngineOperators, replay_of_a_cancelled_execution_works_and_keeps_history) {
  const ExecutionId id = make(retried_job());
  value_of(engine().fail(engine().take(), "first"));
  engine().advance(1000);
  engine().take();
  call<CancelReply>(CancelCommand{id, {"ops", "why"}});
  const Events before = engine().history(id);
  const auto reply = call<ReplayReply>(ReplayCommand{id, {"ops", "once more"}});
  EXPECT_EQ(reply, (ReplayReply{1, PublicState::waiting}));
  EXPECT_EQ(facts(id).retry_count, 0u);
  const ClaimedExecution claimed = engine().take();
  EXPECT_EQ(claimed.attempt.attempt_type, AttemptType::replay);
  EXPECT_EQ(claimed.attempt.attempt_index, 2u);
  EXPECT_EQ(claimed.attempt.reason, "once more");
  EXPECT_EQ(claimed.attempt.requested_by, "ops");
  value_of(engine().complete(claimed, "ok"));
  Events after = before;
  after.insert(after.end(), {EventType::replayed, EventType::claimed, EventType::completed});
  EXPECT_EQ(engine().history(id), after);
  const auto attempts = value_of(reads::attempts(engine().store(), id, 0, 10));
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0].failure->category, "first");
  EXPECT_EQ(attempts[1].attempt_state, AttemptState::ended_cancelled);
  EXPECT_EQ(attempts[2].attempt_state, AttemptState::ended_success);
  EXPECT_EQ(engine().describe(id).cancelled_by, "");
}

TEST_P(EngineOperators, replay_keeps_the_results_of_earlier_lives) {
  const ExecutionId id = engine().make();
  const std::vector<std::string> results = {"inline", std::string(limits::max_inline_bytes + 1, 'x'), "last"};
  for (const std::string& result : results) {
    value_of(engine().complete(engine().take(), result));
    EXPECT_TRUE(value_of(reads::result(engine().store(), id)).result == result);
    if (result != "last") call<ReplayReply>(ReplayCommand{id, {}});
  }
  const auto kept = value_of(
      engine().store().load_satellites(execution_key(id), static_cast<std::uint8_t>(SatelliteKind::result), 0, 10));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].body, results[0]);
  EXPECT_EQ(kept[1].body, results[1]);
}

TEST_P(EngineOperators, replay_of_every_outcome_is_counted_and_limited) {
  CreateRequest request = job();
  request.policy.max_replays = 3;
  request.deadline_at = now() + 1000;
  const ExecutionId id = make(request);
  EXPECT_EQ(refused(ReplayCommand{id, {}}), Errc::not_terminal);
  engine().advance(1000);
  EXPECT_EQ(state(id), PublicState::expired);
  EXPECT_EQ(call<ReplayReply>(ReplayCommand{id, {}}).replay_count, 1u);
  EXPECT_EQ(facts(id).deadline_at, now() + 1000) << "the deadline is armed again";
  value_of(engine().fail(engine().take()));
  EXPECT_EQ(call<ReplayReply>(ReplayCommand{id, {}}).replay_count, 2u);
  value_of(engine().complete(engine().take()));
  EXPECT_EQ(call<ReplayReply>(ReplayCommand{id, {}}).replay_count, 3u);
  engine().advance(1000);
  EXPECT_EQ(state(id), PublicState::expired) << "the armed deadline fires";
  EXPECT_EQ(refused(ReplayCommand{id, {}}), Errc::max_replays_exhausted);
  EXPECT_EQ(engine().describe(id).replay_count, 3u);
}

TEST_P(EngineOperators, priority_changes_in_every_phase) {
  for (const auto& [phase, id] : one_in_every_phase()) {
    const PublicState before = state(id);
    call<Done>(PriorityCommand{id, 77, {"ops", ""}});
    call<Done>(PriorityCommand{id, 77, {"ops", ""}});
    EXPECT_EQ(engine().describe(id).summary.priority, 77) << phase;
    EXPECT_EQ(state(id), before) << phase;
    EXPECT_EQ(count_of(engine().history(id), EventType::priority_changed), 1) << phase;
  }
  const ExecutionId ended = make(job("ended"));
  value_of(engine().complete(engine().take("ended")));
  EXPECT_EQ(refused(PriorityCommand{ended, 1, {}}), Errc::already_terminal);
}

TEST_P(EngineOperators, priority_decides_the_order_from_then_on) {
  const ExecutionId a = engine().make();
  const ExecutionId b = engine().make();
  CreateRequest request = job();
  request.delay_until = now() + 1000;
  const ExecutionId delayed = make(request);
  const ExecutionId c = engine().make();
  call<Done>(PriorityCommand{c, 5, {}});
  call<Done>(PriorityCommand{a, -5, {}});
  call<Done>(PriorityCommand{delayed, 9, {}});
  engine().advance(1000);
  EXPECT_EQ(ids_of(claim(ask(10))), (std::vector{delayed, c, b, a}));
  const ClaimedExecution held = [&] {
    call<RevokeReply>(RevokeCommand{a, {}, {}});
    return engine().take();
  }();
  call<Done>(PriorityCommand{a, 50, {}});
  const ExecutionId urgent = make(job("default", 40));
  value_of(engine().delay(held, now()));
  EXPECT_EQ(ids_of(claim(ask(10))), (std::vector{a, urgent})) << "what changed while it ran counts when it comes back";
}

TEST_P(EngineOperators, priority_change_back_and_forth_keeps_the_place_in_line) {
  const ExecutionId a = engine().make();
  const ExecutionId b = engine().make();
  call<Done>(PriorityCommand{a, -1, {}});
  call<Done>(PriorityCommand{a, 0, {}});
  EXPECT_EQ(ids_of(claim(ask(10))), (std::vector{a, b}));
}

TEST_P(EngineOperators, tags_are_set_removed_and_found) {
  CreateRequest request = job();
  request.tags = {{"app.a", "1"}, {"app.b", "2"}};
  const ExecutionId id = make(request);
  const Tags expected = {{"app.b", "x=y"}, {"app.c", ""}};
  EXPECT_EQ(call<Tags>(TagsCommand{id, {{{"app.b", "x=y"}, {"app.c", ""}}, {"app.a", "app.none"}}, {"ops", "r"}}),
            expected);
  EXPECT_EQ(engine().describe(id).summary.tags, expected);
  EXPECT_EQ(engine().take().tags, expected);
  const auto found = [&](const std::string& key, const std::string& value) {
    ListRequest list;
    list.tag = {key, value};
    return value_of(reads::list(engine().store(), list)).executions.size();
  };
  EXPECT_EQ(found("app.b", "x=y"), 1u);
  EXPECT_EQ(found("app.c", ""), 1u);
  EXPECT_EQ(found("app.b", "x"), 0u);
  EXPECT_EQ(found("app.b", "2"), 0u);
  EXPECT_EQ(found("app.a", "1"), 0u);
  EXPECT_EQ(count_of(engine().history(id), EventType::tags_changed), 1);
  value_of(engine().call(TagsCommand{id, {{{"app.b", "x=y"}}, {}}, {}}));
  EXPECT_EQ(count_of(engine().history(id), EventType::tags_changed), 1) << "no change, no event";
}

TEST_P(EngineOperators, tags_can_change_after_the_end) {
  const ExecutionId id = engine().make();
  value_of(engine().complete(engine().take()));
  EXPECT_EQ(call<Tags>(TagsCommand{id, {{{"app.seen", "yes"}}, {}}, {}}), (Tags{{"app.seen", "yes"}}));
  EXPECT_EQ(state(id), PublicState::completed);
}

TEST_P(EngineOperators, tags_obey_one_grammar_and_one_limit_at_create_and_update) {
  for (const std::string bad :
       {"", "plain", "App.a", "app.", ".a", "1app.a", "app-x.a", "app.A", "a\x1f.b", "app..a"}) {
    CreateRequest request = job();
    request.tags = {{bad, "v"}};
    const auto reply = engine().create(request);
    EXPECT_EQ(refusal(reply), Errc::invalid_argument) << bad;
    EXPECT_EQ(reply.error().field, "tags") << bad;
    EXPECT_EQ(refusal(admit(TagChanges{{{bad, "v"}}, {}})), Errc::invalid_argument) << bad;
  }
  CreateRequest request = job();
  for (std::size_t i = 0; i < limits::max_tags; ++i) request.tags["app.k" + std::to_string(i)] = "v";
  const ExecutionId id = make(request);
  EXPECT_EQ(refused(TagsCommand{id, {{{"app.more", "v"}}, {}}, {}}), Errc::invalid_argument);
  EXPECT_EQ(call<Tags>(TagsCommand{id, {{{"app.more", "v"}}, {"app.k0"}}, {}}).size(), limits::max_tags);
  request.tags["app.more"] = "v";
  EXPECT_EQ(refusal(engine().create(request)), Errc::invalid_argument);
  request.tags = {{"app.k", std::string("a\x1f"
                                        "b")}};
  EXPECT_EQ(refusal(engine().create(request)), Errc::invalid_argument) << "a value cannot pretend to be two tags";
}

}  // namespace
}  // namespace flowfabric::test
