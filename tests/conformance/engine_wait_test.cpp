// Waits, signals and approvals: conformance on every store.
#include "conformance/engine_suite.hpp"
#include "core/ingress.hpp"
#include "core/waits.hpp"

namespace flowfabric::test {
namespace {

using Effect = SignalEffect;

WaitCondition one_signal(const std::string& waitpoint, const std::string& name = {}) {
  WaitCondition condition;
  condition.signal = SignalMatch{waitpoint, name, {}, {}};
  return condition;
}

WaitCondition all(std::vector<WaitCondition> members) {
  WaitCondition condition;
  condition.all_of = std::move(members);
  return condition;
}

WaitCondition count(std::uint32_t n, CountBy by, const std::string& waitpoint, const std::string& name = {}) {
  WaitCondition condition;
  condition.count = SignalCount{n, by, {SignalMatch{waitpoint, name, {}, {}}}};
  return condition;
}

SuspendRequest wait_at(std::vector<std::string> names) {
  SuspendRequest request;
  for (std::string& name : names) request.waitpoints.push_back({std::move(name), {}, {}});
  return request;
}

SuspendRequest wait_for_approval(std::uint32_t needed, std::vector<std::string> approvers = {}) {
  SuspendRequest request = wait_at({"release"});
  ApprovalRequest& approval = request.waitpoints.front().approval.emplace();
  approval.title = "Release 1.2";
  approval.context = "notes";
  approval.context_encoding = "text/plain";
  approval.approvers = std::move(approvers);
  approval.needed = needed;
  return request;
}

class EngineWaits : public EngineSuite {
 protected:
  Result<SuspendReply> try_suspend(const ClaimedExecution& claimed, SuspendRequest request) {
    if (auto admitted = admit(request); !admitted) return Unexpected(admitted.error());
    auto reply = engine().call(SuspendCommand{engine().fence(claimed), std::move(request)});
    if (!reply) return Unexpected(reply.error());
    return std::get<SuspendReply>(*reply);
  }
  SuspendReply suspend(const ClaimedExecution& claimed, SuspendRequest request) {
    return value_of(try_suspend(claimed, std::move(request)));
  }
  // A job that was claimed and suspended.
  ExecutionId suspended(SuspendRequest request) {
    const ExecutionId id = engine().make();
    tokens_ = suspend(engine().take(), std::move(request)).tokens;
    return id;
  }
  Result<SignalReply> try_signal(const ExecutionId& id, SignalRequest request, bool decides = false) {
    auto reply = engine().call(SignalCommand{id, std::move(request), {}, decides});
    if (!reply) return Unexpected(reply.error());
    return std::get<SignalReply>(*reply);
  }
  SignalReply signal(const ExecutionId& id, const std::string& waitpoint, const std::string& payload = {},
                     const std::string& source = {}, const std::string& key = {}) {
    return value_of(try_signal(id, {waitpoint, {}, payload, {}, source, key}));
  }
  SignalReply named_signal(const ExecutionId& id, const std::string& waitpoint, const std::string& name) {
    return value_of(try_signal(id, {waitpoint, name, {}, {}, {}, {}}));
  }
  Result<SignalReply> by_token(const std::string& token, SignalRequest request = {}) {
    const auto claims = engine().runtime().waitpoint_claims(token);
    if (!claims) return Unexpected(claims.error());
    const ExecutionId id = claims->execution_id;
    auto reply = engine().call(SignalCommand{id, std::move(request), *claims});
    if (!reply) return Unexpected(reply.error());
    return std::get<SignalReply>(*reply);
  }
  Result<SignalReply> decide(const ExecutionId& id, const std::string& actor, const std::string& decision,
                             const std::string& comment = {}) {
    return try_signal(id, {"release", decision, comment, "text/plain", actor, {}}, true);
  }
  std::vector<std::string> payloads(const WaitOutcome& outcome) {
    std::vector<std::string> all_payloads;
    for (const Signal& one : outcome.signals) all_payloads.push_back(one.payload);
    return all_payloads;
  }

  std::vector<WaitpointToken> tokens_;
};

ON_EVERY_STORE(EngineWaits);

TEST_P(EngineWaits, signal_resumes_the_same_attempt_and_comes_with_the_claim) {
  const ExecutionId id = engine().make();
  const ClaimedExecution first = engine().take();
  const SuspendReply reply = suspend(first, wait_at({"paid"}));
  EXPECT_TRUE(reply.suspended);
  ASSERT_EQ(reply.tokens.size(), 1u);
  EXPECT_EQ(state(id), PublicState::suspended);
  EXPECT_FALSE(engine().execution(id).facts.lease);
  EXPECT_TRUE(value_of(engine().claim(ask())).empty());

  const std::string bytes("\0\xff", 2);
  EXPECT_EQ(signal(id, "paid", bytes, "bank").effect, Effect::resumed);
  EXPECT_EQ(state(id), PublicState::resumable);
  const ClaimedExecution second = engine().take("default", 30000, "w-2");
  EXPECT_EQ(second.attempt.attempt_index, first.attempt.attempt_index);
  EXPECT_EQ(second.handle_kind, HandleKind::resumed);
  EXPECT_GT(second.lease.lease_epoch, first.lease.lease_epoch);
  ASSERT_TRUE(second.last_wait);
  EXPECT_EQ(second.last_wait->cause, WaitCause::signals);
  ASSERT_EQ(second.last_wait->signals.size(), 1u);
  EXPECT_EQ(second.last_wait->signals[0].payload, bytes);
  EXPECT_EQ(second.last_wait->signals[0].source, "bank");
  EXPECT_EQ(second.last_wait->signals[0].name, "paid");
  value_of(engine().complete(second));
}

TEST_P(EngineWaits, waiting_claim_is_woken_by_the_signal) {
  SuspendRequest wait = wait_at({"paid"});
  wait.position = 1;
  wait.step_name = "payment";
  const ExecutionId id = suspended(wait);
  auto waiting = engine().claim_later(ask_and_wait(60000));
  engine().settle();
  EXPECT_FALSE(waiting.done());
  signal(id, "paid", "100 EUR");
  engine().settle();
  ASSERT_TRUE(waiting.done());
  const auto claims = value_of(waiting.get());
  ASSERT_EQ(ids_of(claims), std::vector{id});
  // It comes along although the same commit has written it.
  ASSERT_TRUE(claims[0].last_wait);
  ASSERT_EQ(claims[0].last_wait->signals.size(), 1u);
  EXPECT_EQ(claims[0].last_wait->signals[0].payload, "100 EUR");
  ASSERT_EQ(claims[0].steps.size(), 1u);
  EXPECT_EQ(claims[0].steps[0].name, "payment");
}

// S1
TEST_P(EngineWaits, signals_that_are_there_end_the_wait_and_the_lease_is_kept) {
  const ExecutionId id = engine().make();
  EXPECT_EQ(signal(id, "message", "1").effect, Effect::kept);
  EXPECT_EQ(signal(id, "message", "2").effect, Effect::kept);
  EXPECT_EQ(signal(id, "other", "x").effect, Effect::kept);
  const ClaimedExecution claimed = engine().take();
  const SuspendReply first = suspend(claimed, wait_at({"message"}));
  EXPECT_FALSE(first.suspended);
  ASSERT_TRUE(first.outcome);
  EXPECT_EQ(payloads(*first.outcome), (std::vector<std::string>{"1"}));
  SuspendRequest next = wait_at({"message"});
  next.idempotency_key = "second";
  EXPECT_EQ(payloads(*suspend(claimed, next).outcome), (std::vector<std::string>{"2"}));
  next.idempotency_key = "third";
  EXPECT_TRUE(suspend(claimed, next).suspended) << "what was used is not used again";
  EXPECT_EQ(signal(id, "message", "3").effect, Effect::resumed);
  const ClaimedExecution resumed = engine().take();
  EXPECT_EQ(payloads(*resumed.last_wait), (std::vector<std::string>{"3"}));
}

// S2
TEST_P(EngineWaits, token_of_an_earlier_wait_never_ends_a_later_one) {
  const ExecutionId id = suspended(wait_at({"paid"}));
  const std::string old_token = tokens_[0].token;
  value_of(engine().call(ResumeCommand{id, {"ops", "by hand"}}));
  const ClaimedExecution second = engine().take();
  EXPECT_EQ(second.last_wait->cause, WaitCause::by_operator);
  EXPECT_EQ(second.last_wait->by, "ops");
  EXPECT_EQ(second.last_wait->reason, "by hand");
  const std::string new_token = suspend(second, wait_at({"paid"})).tokens[0].token;
  EXPECT_EQ(refusal(by_token(old_token)), Errc::waitpoint_closed);
  EXPECT_EQ(state(id), PublicState::suspended);
  EXPECT_EQ(value_of(by_token(new_token)).effect, Effect::resumed);
}

TEST_P(EngineWaits, token_does_not_survive_a_replay) {
  const ExecutionId id = suspended(wait_at({"paid"}));
  const std::string old_token = tokens_[0].token;
  value_of(engine().call(CancelCommand{id, {}}));
  EXPECT_EQ(refusal(by_token(old_token)), Errc::already_terminal);
  value_of(engine().call(ReplayCommand{id, {}}));
  const ClaimedExecution again = engine().take();
  EXPECT_FALSE(again.last_wait);
  suspend(again, wait_at({"paid"}));
  EXPECT_EQ(refusal(by_token(old_token)), Errc::waitpoint_closed);
}

// S3
TEST_P(EngineWaits, conditions_nest) {
  SuspendRequest request = wait_at({"x"});
  request.condition = all({all({all({one_signal("x")})})});
  const ExecutionId id = suspended(request);
  EXPECT_EQ(signal(id, "x").effect, Effect::resumed);
}

// S4
TEST_P(EngineWaits, counts_do_not_share_signals) {
  SuspendRequest request = wait_at({"w"});
  request.condition = all({count(2, CountBy::signals, "w", "a"), count(2, CountBy::signals, "w", "b")});
  const ExecutionId id = suspended(request);
  EXPECT_EQ(named_signal(id, "w", "a").effect, Effect::accepted);
  EXPECT_EQ(named_signal(id, "w", "a").effect, Effect::accepted);
  EXPECT_EQ(named_signal(id, "w", "a").effect, Effect::ignored) << "two are enough";
  EXPECT_EQ(named_signal(id, "w", "c").effect, Effect::ignored);
  EXPECT_EQ(named_signal(id, "w", "b").effect, Effect::accepted);
  EXPECT_EQ(named_signal(id, "w", "b").effect, Effect::resumed);
  EXPECT_EQ(engine().take().last_wait->signals.size(), 4u);
}

// S5
TEST_P(EngineWaits, source_counts_once) {
  SuspendRequest request = wait_at({"w"});
  request.condition = count(2, CountBy::sources, "w");
  const ExecutionId id = suspended(request);
  EXPECT_EQ(signal(id, "w", "1", "anna").effect, Effect::accepted);
  EXPECT_EQ(signal(id, "w", "2", "anna").effect, Effect::ignored);
  EXPECT_EQ(state(id), PublicState::suspended);
  EXPECT_EQ(signal(id, "w", "3", "ben").effect, Effect::resumed);
  EXPECT_EQ(payloads(*engine().take().last_wait), (std::vector<std::string>{"1", "3"}));
}

// S6
TEST_P(EngineWaits, repeated_key_is_a_duplicate_also_at_the_limit) {
  const ExecutionId id = engine().make();
  const SignalReply first = signal(id, "w", "1", {}, "key");
  for (std::size_t i = 1; i < limits::max_waitpoint_signals; ++i) signal(id, "w", "more");
  EXPECT_EQ(refusal(try_signal(id, {.waitpoint = "w"})), Errc::overloaded);
  const SignalReply repeated = signal(id, "w", "1", {}, "key");
  EXPECT_TRUE(repeated.duplicate);
  EXPECT_EQ(repeated.number, first.number);
  EXPECT_EQ(repeated.effect, first.effect);
  EXPECT_EQ(signal(id, "v", "1", {}, "key").duplicate, false) << "the key is that of one waitpoint";
}

// S7
TEST_P(EngineWaits, token_is_accepted_until_the_grace_of_its_key_ends) {
  const ExecutionId id = suspended(wait_at({"paid"}));
  value_of(engine().rotate_keys(10000));
  value_of(engine().rotate_keys(10000));
  engine().advance(9000);
  EXPECT_TRUE(engine().runtime().waitpoint_claims(tokens_[0].token));
  engine().advance(2000);
  EXPECT_EQ(refusal(by_token(tokens_[0].token)), Errc::invalid_token);
  const auto reissued = std::get<WaitpointToken>(
      value_of(engine().call(ReissueTokenCommand{id, {.waitpoint = "paid"}, {"ops", "rotated"}})));
  EXPECT_EQ(value_of(by_token(reissued.token)).effect, Effect::resumed);
}

TEST_P(EngineWaits, token_expires_and_can_be_revoked) {
  SuspendRequest request = wait_at({"paid"});
  request.waitpoints[0].token_ttl_ms = 5000;
  const ExecutionId id = suspended(request);
  const auto reissued = std::get<WaitpointToken>(value_of(engine().call(ReissueTokenCommand{
      id, {.waitpoint = "paid", .source = "bank", .token_ttl_ms = 60000, .revoke_earlier = true}, {"ops", ""}})));
  EXPECT_EQ(refusal(by_token(tokens_[0].token)), Errc::invalid_token);
  EXPECT_EQ(refusal(by_token(reissued.token, {.source = "somebody else"})), Errc::invalid_argument);
  engine().advance(60000);
  EXPECT_EQ(refusal(by_token(reissued.token)), Errc::invalid_token);
  const auto newest = std::get<WaitpointToken>(value_of(engine().call(
      ReissueTokenCommand{id, {.waitpoint = "paid", .source = "bank", .token_ttl_ms = 60000}, {"ops", ""}})));
  EXPECT_EQ(value_of(by_token(newest.token)).effect, Effect::resumed);
  EXPECT_EQ(engine().take().last_wait->signals[0].source, "bank");
}

// S8
TEST_P(EngineWaits, each_timeout_does_what_it_says) {
  const auto timed_out = [&](OnWaitTimeout behaviour) {
    SuspendRequest request = wait_at({"paid"});
    request.timeout_ms = 1000;
    request.on_timeout = behaviour;
    if (behaviour == OnWaitTimeout::escalate) request.escalate_ms = 5000;
    const ExecutionId id = suspended(request);
    engine().advance(1500);
    return id;
  };
  const ExecutionId failed = timed_out(OnWaitTimeout::fail);
  EXPECT_EQ(state(failed), PublicState::failed);
  EXPECT_EQ(engine().execution(failed).facts.failure->category, "wait_timeout");
  EXPECT_EQ(state(timed_out(OnWaitTimeout::cancel)), PublicState::cancelled);
  EXPECT_EQ(state(timed_out(OnWaitTimeout::expire)), PublicState::expired);
  const ExecutionId escalated = timed_out(OnWaitTimeout::escalate);
  EXPECT_EQ(state(escalated), PublicState::suspended);
  EXPECT_EQ(count_of(engine().history(escalated), EventType::wait_escalated), 1);
  engine().advance(5000);
  EXPECT_EQ(state(escalated), PublicState::failed);
}

TEST_P(EngineWaits, timeout_touches_only_the_wait_that_it_is_for) {
  SuspendRequest request = wait_at({"paid"});
  request.timeout_ms = 1000;
  const ExecutionId id = suspended(request);
  signal(id, "paid");
  const ClaimedExecution running = engine().take();
  engine().advance(2000);
  EXPECT_EQ(state(id), PublicState::active);
  value_of(engine().complete(running));
  engine().advance(2000);
  EXPECT_EQ(state(id), PublicState::completed);
}

// S9
TEST_P(EngineWaits, timeout_that_resumes_is_told_to_the_worker) {
  SuspendRequest request = wait_at({"a", "b"});
  request.timeout_ms = 1000;
  request.on_timeout = OnWaitTimeout::resume;
  const ExecutionId id = suspended(request);
  EXPECT_EQ(signal(id, "a", "half").effect, Effect::accepted);
  engine().advance(1000);
  const ClaimedExecution resumed = engine().take();
  EXPECT_EQ(resumed.last_wait->cause, WaitCause::timeout);
  EXPECT_EQ(payloads(*resumed.last_wait), (std::vector<std::string>{"half"}));
}

// S10
TEST_P(EngineWaits, equal_keys_of_two_executions_are_independent) {
  SuspendRequest request = wait_at({"paid"});
  request.idempotency_key = "same";
  const ExecutionId a = suspended(request);
  const std::string token_of_a = tokens_[0].token;
  const ExecutionId b = suspended(request);
  EXPECT_NE(token_of_a, tokens_[0].token);
  EXPECT_EQ(value_of(by_token(token_of_a)).execution_id, a);
  EXPECT_EQ(state(b), PublicState::suspended);
}

// S11
TEST_P(EngineWaits, holder_that_lost_its_lease_suspends_nothing) {
  const ExecutionId id = engine().make();
  const ClaimedExecution first = engine().take("default", 1000);
  engine().advance(1500);
  const ClaimedExecution second = engine().take("default", 60000, "w-2");
  EXPECT_EQ(refusal(try_suspend(first, wait_at({"paid"}))), Errc::lease_expired);
  EXPECT_EQ(refusal(engine().call(OpenWaitpointCommand{engine().fence(first), {.name = "paid"}})), Errc::lease_expired);
  EXPECT_EQ(state(id), PublicState::active);
  EXPECT_FALSE(engine().execution(id).facts.waits);
  value_of(engine().complete(second));
}

// S12
TEST_P(EngineWaits, approvals_count_people_and_a_rejection_ends_the_wait) {
  const ExecutionId id = suspended(wait_for_approval(2));
  EXPECT_EQ(value_of(decide(id, "anna", "approve", "fine")).effect, Effect::accepted);
  EXPECT_EQ(refusal(decide(id, "anna", "reject")), Errc::conflict) << "a person decides once";
  EXPECT_EQ(refusal(try_signal(id, {"release", "maybe", {}, {}, "ben", {}})), Errc::invalid_argument);
  EXPECT_EQ(refusal(try_signal(id, {"release", "approve", {}, {}, {}, {}})), Errc::invalid_argument);
  EXPECT_EQ(value_of(decide(id, "ben", "reject", "not today")).effect, Effect::resumed);
  const ClaimedExecution resumed = engine().take();
  EXPECT_EQ(resumed.last_wait->cause, WaitCause::veto);
  EXPECT_EQ(payloads(*resumed.last_wait), (std::vector<std::string>{"fine", "not today"}));
  EXPECT_EQ(refusal(decide(id, "carl", "approve")), Errc::waitpoint_closed);
}

TEST_P(EngineWaits, approval_that_was_opened_ahead_stays_one) {
  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take();
  const WaitpointRequest ahead = wait_for_approval(2, {"anna", "ben"}).waitpoints.front();
  value_of(engine().call(OpenWaitpointCommand{engine().fence(claimed), ahead}));
  suspend(claimed, wait_at({"release"}));
  EXPECT_EQ(value_of(decide(id, "anna", "approve")).effect, Effect::accepted) << "two are needed";
  EXPECT_EQ(value_of(decide(id, "ben", "reject")).effect, Effect::resumed);
  EXPECT_EQ(engine().take().last_wait->cause, WaitCause::veto);
}

TEST_P(EngineWaits, only_approvers_decide) {
  const ExecutionId id = suspended(wait_for_approval(1, {"anna", "ben"}));
  EXPECT_EQ(refusal(decide(id, "mallory", "approve")), Errc::permission_denied);
  EXPECT_EQ(value_of(decide(id, "anna", "approve")).effect, Effect::resumed);
}

// Whoever has the token could give the name of an approver.
TEST_P(EngineWaits, token_that_names_nobody_decides_only_where_everybody_may) {
  suspended(wait_for_approval(1));
  EXPECT_EQ(value_of(by_token(tokens_[0].token, {.name = "approve", .source = "anna"})).effect, Effect::resumed);
  value_of(engine().complete(engine().take()));

  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take();
  // Nor if it was sent before anybody was asked.
  const auto ahead = std::get<WaitpointToken>(
      value_of(engine().call(OpenWaitpointCommand{engine().fence(claimed), wait_at({"release"}).waitpoints.front()})));
  EXPECT_EQ(value_of(by_token(ahead.token, {.name = "approve", .source = "ben"})).effect, Effect::kept);
  EXPECT_TRUE(suspend(claimed, wait_for_approval(1, {"anna", "ben"})).suspended);
  EXPECT_EQ(refusal(by_token(ahead.token, {.name = "approve", .source = "anna"})), Errc::permission_denied);
  EXPECT_EQ(state(id), PublicState::suspended);
  const auto own = std::get<WaitpointToken>(
      value_of(engine().call(ReissueTokenCommand{id, {.waitpoint = "release", .source = "anna"}, {"ops", ""}})));
  EXPECT_EQ(value_of(by_token(own.token, {.name = "approve"})).effect, Effect::resumed);
}

TEST_P(EngineWaits, repeated_suspend_gets_the_first_answer) {
  const ExecutionId id = engine().make();
  signal(id, "message", "1");
  signal(id, "message", "2");
  const ClaimedExecution claimed = engine().take();
  const SuspendReply first = suspend(claimed, wait_at({"message"}));
  const SuspendReply repeated = suspend(claimed, wait_at({"message"}));
  EXPECT_FALSE(repeated.suspended);
  EXPECT_EQ(repeated.wait, first.wait);
  EXPECT_EQ(engine().execution(id).facts.waits->signals.size(), 1u) << "the second signal was not used";

  SuspendRequest next = wait_at({"other"});
  const SuspendReply suspended_first = suspend(claimed, next);
  const SuspendReply suspended_again = suspend(claimed, next);
  EXPECT_TRUE(suspended_again.suspended);
  EXPECT_EQ(suspended_again.tokens, suspended_first.tokens);
  EXPECT_EQ(engine().execution(id).facts.waits->wait_count, 2u);
}

TEST_P(EngineWaits, wait_that_is_a_step_is_recorded_once_and_found_by_later_runs) {
  CreateRequest request = retried_job();
  const ExecutionId id = make(request);
  SuspendRequest wait = wait_at({"paid"});
  wait.position = 1;
  wait.step_name = "payment";
  suspend(engine().take("default", 1000), wait);
  signal(id, "paid", "42");
  const ClaimedExecution second = engine().take("default", 1000);
  ASSERT_EQ(second.steps.size(), 1u);
  EXPECT_EQ(second.steps[0].state, StepState::wait);
  EXPECT_EQ(second.steps[0].name, "payment");
  ASSERT_TRUE(second.steps[0].wait);
  EXPECT_EQ(payloads(*second.steps[0].wait), (std::vector<std::string>{"42"}));
  EXPECT_TRUE(suspend(second, wait).duplicate);
  engine().advance(1500);  // its lease is lost
  const ClaimedExecution third = engine().take("default", 30000, "w-2");
  EXPECT_EQ(third.attempt.attempt_index, 1u);
  EXPECT_EQ(third.steps, second.steps);
  EXPECT_TRUE(suspend(third, wait).duplicate) << "it never waits twice for a signal that it has";
  value_of(engine().fail(third));
  engine().advance(2000);
  EXPECT_EQ(engine().take().steps, second.steps);
}

TEST_P(EngineWaits, waitpoint_that_is_opened_ahead_holds_what_arrives) {
  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take();
  const Fence fence = engine().fence(claimed);
  const auto token =
      std::get<WaitpointToken>(value_of(engine().call(OpenWaitpointCommand{fence, {.name = "callback"}})));
  const auto again =
      std::get<WaitpointToken>(value_of(engine().call(OpenWaitpointCommand{fence, {.name = "callback"}})));
  EXPECT_EQ(token, again);
  EXPECT_EQ(value_of(by_token(token.token, {.payload = "early"})).effect, Effect::kept);
  const SuspendReply reply = suspend(claimed, wait_at({"callback"}));
  EXPECT_FALSE(reply.suspended);
  EXPECT_EQ(payloads(*reply.outcome), (std::vector<std::string>{"early"}));
  EXPECT_EQ(refusal(by_token(token.token)), Errc::waitpoint_closed);
  EXPECT_EQ(count_of(engine().history(id), EventType::waitpoint_opened), 1);
}

TEST_P(EngineWaits, whatever_ends_the_execution_closes_its_waitpoints) {
  const ExecutionId cancelled = suspended(wait_at({"a", "b"}));
  const std::string token = tokens_[1].token;
  value_of(engine().call(CancelCommand{cancelled, {}}));
  EXPECT_EQ(refusal(by_token(token)), Errc::already_terminal);
  EXPECT_EQ(refusal(try_signal(cancelled, {.waitpoint = "a"})), Errc::already_terminal);
  EXPECT_TRUE(engine().execution(cancelled).facts.waits->open.empty());

  CreateRequest request = job();
  request.deadline_at = now() + 1000;
  const ExecutionId expired = make(request);
  suspend(engine().take(), wait_at({"a"}));
  engine().advance(1500);
  EXPECT_EQ(state(expired), PublicState::expired);
}

TEST_P(EngineWaits, attempt_timeout_does_not_run_while_it_waits) {
  CreateRequest request = job();
  request.policy.attempt_timeout_ms = 1000;
  const ExecutionId id = make(request);
  const ClaimedExecution claimed = engine().take();
  engine().advance(400);
  suspend(claimed, wait_at({"paid"}));
  engine().advance(5000);
  EXPECT_EQ(state(id), PublicState::suspended);
  signal(id, "paid");
  const ClaimedExecution resumed = engine().take();
  EXPECT_EQ(resumed.attempt.timeout_at, now() + 600);
}

TEST_P(EngineWaits, closing_a_waitpoint_never_leaves_a_wait_that_cannot_end) {
  SuspendRequest any = wait_at({"a", "b"});
  any.condition.emplace().any_of = {one_signal("a"), one_signal("b")};
  const ExecutionId id = suspended(any);
  const std::string token = tokens_[0].token;
  value_of(engine().call(CloseWaitpointCommand{id, "a", {"ops", "not needed"}}));
  EXPECT_EQ(refusal(by_token(token)), Errc::waitpoint_closed);
  EXPECT_EQ(refusal(engine().call(CloseWaitpointCommand{id, "b", {}})), Errc::conflict);
  EXPECT_EQ(refusal(engine().call(CloseWaitpointCommand{id, "c", {}})), Errc::not_found);
  EXPECT_EQ(signal(id, "b").effect, Effect::resumed);
}

TEST_P(EngineWaits, payload_fields_are_compared) {
  SuspendRequest request = wait_at({"order"});
  WaitCondition& condition = request.condition.emplace();
  condition.signal = SignalMatch{"order", {}, {}, {{"/state", "\"paid\""}, {"/items/0", "7"}}};
  const ExecutionId id = suspended(request);
  for (const char* payload : {"", "nonsense", "{}", R"({"state":"paid"})", R"({"state":"open","items":[7]})"}) {
    EXPECT_EQ(signal(id, "order", payload).effect, Effect::ignored) << payload;
  }
  EXPECT_EQ(signal(id, "order", R"({"items":[7,8],"state":"paid"})").effect, Effect::resumed);
}

TEST_P(EngineWaits, pause_after_the_wait_is_kept) {
  SuspendRequest request = wait_at({"paid"});
  request.resume_delay_ms = 2000;
  const ExecutionId id = suspended(request);
  signal(id, "paid");
  EXPECT_EQ(state(id), PublicState::delayed);
  engine().advance(2000);
  EXPECT_EQ(engine().take().last_wait->cause, WaitCause::signals);
}

TEST_P(EngineWaits, longest_waits_come_first_and_approvals_can_be_asked_for) {
  std::vector<ExecutionId> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(suspended(wait_at({"w"})));
    engine().advance(10);
    ids.push_back(suspended(wait_for_approval(1)));
    engine().advance(10);
  }
  std::vector<ExecutionId> seen;
  ListWaitsRequest request;
  request.limit = 2;
  do {
    const ListWaitsReply page = value_of(reads::waits(engine().store(), request));
    for (const WaitingExecution& one : page.waits) seen.push_back(one.execution_id);
    request.cursor = page.next_cursor;
  } while (!request.cursor.empty());
  EXPECT_EQ(seen, ids);
  request.approvals = true;
  request.limit = 100;
  const ListWaitsReply inbox = value_of(reads::waits(engine().store(), request));
  ASSERT_EQ(inbox.waits.size(), 3u);
  EXPECT_EQ(inbox.waits[0].waitpoints[0].approval->title, "Release 1.2");
  request.name_space = "elsewhere";
  EXPECT_TRUE(value_of(reads::waits(engine().store(), request)).waits.empty());
}

TEST_P(EngineWaits, description_tells_what_is_missing_and_who_has_decided) {
  const ExecutionId id = suspended(wait_for_approval(2));
  value_of(decide(id, "anna", "approve", "fine"));
  const ExecutionWaits waits = value_of(reads::execution_waits(engine().store(), id));
  ASSERT_TRUE(waits.wait);
  ASSERT_EQ(waits.waitpoints.size(), 1u);
  ASSERT_TRUE(waits.waitpoints[0].approval);
  EXPECT_EQ(waits.waitpoints[0].approval->context, "notes");
  ASSERT_EQ(waits.waitpoints[0].approval->decisions.size(), 1u);
  EXPECT_EQ(waits.waitpoints[0].approval->decisions[0].comment, "fine");
  const auto reasons = engine().describe(id).explain;
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].code, "waiting_for_approval");
  EXPECT_NE(reasons[0].sentence.find("1 more source of 2"), std::string::npos) << reasons[0].sentence;
}

TEST_P(EngineWaits, two_engines_deliver_to_one_wait_and_it_ends_once) {
  SuspendRequest request = wait_at({"w"});
  request.condition = count(2, CountBy::signals, "w");
  const ExecutionId id = suspended(request);
  second().settle();
  EXPECT_EQ(signal(id, "w", "1").effect, Effect::accepted);
  const auto other =
      std::get<SignalReply>(value_of(second().call(SignalCommand{id, {.waitpoint = "w", .payload = "2"}})));
  EXPECT_EQ(other.effect, Effect::resumed);
  EXPECT_EQ(signal(id, "w", "3").effect, Effect::kept);
  EXPECT_EQ(count_of(engine().history(id), EventType::wait_ended), 1);
  EXPECT_EQ(payloads(*second().take().last_wait), (std::vector<std::string>{"1", "2"}));
}

TEST_P(EngineWaits, member_of_a_flow_waits_and_its_flow_goes_on) {
  FlowRequest flow;
  flow.kind = "order";
  flow.nodes.push_back({"pay", job()});
  flow.nodes.push_back({"ship", job()});
  flow.edges.push_back({.from = "pay", .to = "ship"});
  const FlowCreated created = value_of(engine().submit_flow(flow));
  const ClaimedExecution pay = engine().take();
  suspend(pay, wait_at({"paid"}));
  EXPECT_TRUE(value_of(engine().claim(ask())).empty());
  signal(pay.execution_id, "paid");
  value_of(engine().complete(engine().take()));
  engine().settle();
  value_of(engine().complete(engine().take()));
  engine().settle();
  EXPECT_EQ(value_of(reads::describe_flow(engine().store(), created.flow_id)).summary.state, FlowState::completed);
}

TEST_P(EngineWaits, cancelled_flow_ends_members_that_wait) {
  FlowRequest flow;
  flow.kind = "order";
  flow.nodes.push_back({"pay", job()});
  const FlowCreated created = value_of(engine().submit_flow(flow));
  const ClaimedExecution pay = engine().take();
  const std::string token = suspend(pay, wait_at({"paid"})).tokens[0].token;
  value_of(engine().call(CancelFlowCommand{created.flow_id, {FlowCancelPolicy::cancel_all}, {}}));
  engine().settle();
  EXPECT_EQ(state(pay.execution_id), PublicState::cancelled);
  EXPECT_EQ(refusal(by_token(token)), Errc::already_terminal);
}

TEST_P(EngineWaits, bad_requests_change_nothing) {
  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take();
  const auto refused_field = [&](SuspendRequest request) {
    const auto reply = try_suspend(claimed, std::move(request));
    return reply ? std::string("accepted") : reply.error().field;
  };
  EXPECT_EQ(refused_field({}), "waitpoints");
  EXPECT_EQ(refused_field(wait_at({"a", "a"})), "waitpoints[1].name");
  SuspendRequest past = wait_at({"a"});
  past.timeout_at = now() - 1;
  EXPECT_EQ(refused_field(past), "timeout_at");
  SuspendRequest empty = wait_at({"a"});
  empty.condition = all({});
  EXPECT_EQ(refused_field(empty), "condition.all_of");
  SuspendRequest two_kinds = wait_at({"a"});
  two_kinds.condition = one_signal("a");
  two_kinds.condition->any_of = {one_signal("a")};
  EXPECT_EQ(refused_field(two_kinds), "condition");
  SuspendRequest unknown = wait_at({"a"});
  unknown.condition = one_signal("b");
  EXPECT_EQ(refused_field(unknown), "condition.signal.waitpoint");
  SuspendRequest too_many = wait_at({"a", "b"});
  too_many.condition = count(3, CountBy::waitpoints, "");
  EXPECT_EQ(refused_field(too_many), "condition.count.n");
  SuspendRequest deep = wait_at({"a"});
  deep.condition = one_signal("a");
  for (std::size_t i = 0; i < limits::max_condition_depth; ++i) deep.condition = all({*deep.condition});
  EXPECT_NE(refused_field(deep), "accepted");
  SuspendRequest no_timeout = wait_at({"a"});
  no_timeout.on_timeout = OnWaitTimeout::resume;
  EXPECT_EQ(refused_field(no_timeout), "on_timeout");
  EXPECT_EQ(state(id), PublicState::active);
  EXPECT_FALSE(engine().execution(id).facts.waits);
}

}  // namespace
}  // namespace flowfabric::test
