#include "core/transitions.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "core/fingerprint.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

const std::string clock_actor = "clock";

std::optional<std::int64_t> kept_for(const RetentionPolicy& policy, Outcome outcome) {
  switch (outcome) {
    case Outcome::success: return policy.completed_ms;
    case Outcome::failed: return policy.failed_ms;
    case Outcome::cancelled: return policy.cancelled_ms;
    case Outcome::expired: return policy.expired_ms;
    case Outcome::skipped: return policy.skipped_ms;
    case Outcome::none: break;
  }
  return std::nullopt;
}

// Removes it from every index and wait.
void leave_queue(Facts& facts) {
  facts.ready_sequence = 0;
  facts.delay_until = 0;
  facts.delay_cause = DelayCause::none;
  facts.limits.held.reset();
  facts.gates &= ~limit_gate;
}

void end_attempt(Facts& facts, AttemptState state, TimestampMs now) {
  if (!facts.attempt || facts.attempt->ended_at != 0) return;
  facts.attempt->attempt_state = state;
  facts.attempt->ended_at = now;
  facts.attempt->timeout_at = 0;
  facts.attempt->timeout_left_ms = 0;
}

struct RetryDecision {
  bool retry = false;
  std::string reason;
};

RetryDecision decide_retry(const Policy& policy, const Facts& facts, const std::string& category,
                           FailRequest::Retryable retryable) {
  if (retryable == FailRequest::Retryable::never) return {false, "never"};
  const bool forced = retryable == FailRequest::Retryable::force;
  if (!policy.retry && !forced) return {false, "no_retry_policy"};
  const RetryPolicy retry = policy.retry.value_or(RetryPolicy{});
  const auto& categories = retry.retryable_categories;
  const bool listed =
      categories.empty() || std::find(categories.begin(), categories.end(), category) != categories.end();
  if (!listed && !forced) return {false, "category_not_retryable"};
  if (facts.retry_count >= retry.max_retries) return {false, "retries_exhausted"};
  return {true, forced ? "forced" : "retries_left"};
}

std::int64_t retry_delay_ms(const Policy& policy, std::uint32_t retry_count, const Entropy& entropy) {
  const RetryPolicy retry = policy.retry.value_or(RetryPolicy{});
  const std::int64_t delay = backoff_ms(retry, retry_count);
  if (retry.jitter == RetryPolicy::Jitter::none || delay <= 0) return delay;
  return static_cast<std::int64_t>(entropy() % (static_cast<std::uint64_t>(delay) + 1));
}

// Whether the event records a change of state, or only of properties.
bool is_transition(EventType type) {
  return type != EventType::tags_changed && type != EventType::step_recorded && type != EventType::priority_changed &&
         type != EventType::grant_issued && type != EventType::grant_expired && type != EventType::waitpoint_opened &&
         type != EventType::signal_delivered && type != EventType::waitpoint_closed &&
         type != EventType::waitpoint_reissued && type != EventType::debounced && type != EventType::budget_warning &&
         type != EventType::budget_exceeded;
}

void time_out(Slot& slot, const Context& context) {
  Wait& wait = *slot.execution()->facts.waits->wait;
  const OnWaitTimeout then = wait.escalated ? wait.after_escalation : wait.on_timeout;
  if (then == OnWaitTimeout::resume) {
    end_wait(slot, context, WaitCause::timeout, {clock_actor, {}});
    return;
  }
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  const char* reason = "wait_timeout";
  switch (then) {
    case OnWaitTimeout::escalate:
      wait.escalated = true;
      wait.timeout_at += wait.escalate_ms;
      return transition.record(EventType::wait_escalated, clock_actor, wait.reason, wait.timeout_at);
    case OnWaitTimeout::cancel:
      facts.cancellation_reason = "the wait was not over in time";
      facts.cancelled_by = clock_actor;
      return finish(transition, Outcome::cancelled, EventType::cancelled, AttemptState::ended_cancelled, clock_actor,
                    reason);
    case OnWaitTimeout::expire:
      return finish(transition, Outcome::expired, EventType::expired, AttemptState::ended_failure, clock_actor, reason);
    case OnWaitTimeout::resume:
    case OnWaitTimeout::fail: break;
  }
  facts.failure = Failure{reason, "the wait was not over in time", {}};
  facts.attempt->failure = facts.failure;
  finish(transition, Outcome::failed, EventType::failed, AttemptState::ended_failure, clock_actor, reason);
}

// Applies the earliest due transition; false if nothing is due.
bool settle_once(Slot& slot, const Context& context) {
  Facts& facts = slot.execution()->facts;
  if (facts.phase == Phase::terminal) return false;
  const TimestampMs due = next_transition(facts);
  if (due == 0 || due > context.now) return false;
  // At equal times the stronger effect is applied first: the deadline, then the attempt's timeout, then the lease.
  if (facts.deadline_at == due) {
    Transition transition(slot, context);
    finish(transition, Outcome::expired, EventType::expired, AttemptState::ended_failure, clock_actor, "deadline");
    return true;
  }
  if (facts.lease && facts.attempt && facts.attempt->timeout_at == due) {
    fail_attempt(slot, context, Failure{"timeout", "the attempt exceeded its timeout", {}}, RetryWish{}, clock_actor,
                 due);
    return true;
  }
  if (facts.lease && facts.lease->expires_at == due) {
    lose_lease(slot, context, LeaseLoss::expired, clock_actor, "lease_expired", due);
    return true;
  }
  if (facts.phase == Phase::suspended && facts.waits->wait->timeout_at == due) {
    time_out(slot, context);
    return true;
  }
  Transition transition(slot, context);
  if (facts.grant && facts.grant->expires_at == due) {
    const std::string what = std::string(to_string(facts.grant->kind)) + " grant of " + facts.grant->worker_id;
    facts.grant.reset();
    transition.record(EventType::grant_expired, clock_actor, what);
    return true;
  }
  FF_CHECK(facts.phase == Phase::runnable && facts.delay_until == due);
  const DelayCause cause = facts.delay_cause;
  make_runnable(transition, 0, DelayCause::none);
  if (facts.gates != 0) {
    transition.touch();  // it still waits for something else
    return true;
  }
  transition.record(EventType::ready, clock_actor, cause == DelayCause::backoff ? "backoff_over" : "delay_over");
  return true;
}

}  // namespace

Transition::Transition(Slot& slot, const Context& context)
    : slot_(slot), context_(context), before_(public_state(slot.execution()->facts)) {
  if (const auto& lease = facts().lease) {
    held_since_ = lease->acquired_at;
    held_epoch_ = lease->lease_epoch;
  }
}

void Transition::record(EventType type, std::string actor, std::string reason, TimestampMs next_at) {
  Facts& now_facts = facts();
  if (is_transition(type)) now_facts.last_transition_at = now();
  touch();
  if (context_.note_stretches) note_stretches(type, actor);
  Event event;
  event.type = type;
  event.at = now();
  event.execution_id = execution().id;
  event.name_space = spec().name_space;
  event.lane = spec().lane;
  event.kind = spec().kind;
  if (spec().member) event.flow_id = flow_of(execution());
  if (now_facts.attempt) event.attempt_index = now_facts.attempt->attempt_index;
  event.lease_epoch = now_facts.lease_epoch;
  event.state_before = before_;
  event.state_after = public_state(now_facts);
  event.actor = std::move(actor);
  event.reason = std::move(reason);
  event.next_at = next_at;
  slot_.log(std::move(event));
}

void Transition::note_stretches(EventType type, const std::string& actor) {
  const Facts& now_facts = facts();
  Stretch stretch;
  stretch.ended_by = type;
  stretch.to = now();
  stretch.replay_count = now_facts.replay_count;
  stretch.actor = actor;
  if (is_terminal(type)) {
    stretch.from = spec().created_at;
    if (type == EventType::failed) stretch.failure = now_facts.failure;
    slot_.stretches.push_back(stretch);
  }
  if (held_epoch_ == 0 || now_facts.lease) return;
  stretch.from = held_since_;
  stretch.lease_epoch = held_epoch_;
  stretch.attempt = now_facts.attempt;
  stretch.failure = now_facts.attempt->failure;
  slot_.stretches.push_back(std::move(stretch));
}

void Transition::add_satellite(SatelliteKind kind, std::uint32_t n, std::string body) {
  slot_.satellites.push_back({{slot_.key, static_cast<std::uint8_t>(kind), n}, std::move(body)});
}

// Where limits or shares decide about its place, they do so after the decision (core/sharing.hpp).
void Transition::note_place() {
  if (slot_.placed_anew || slot_.newcomers == nullptr) return;
  slot_.placed_anew = true;
  slot_.newcomers->push_back(&slot_);
}

void Transition::touch() {
  facts().last_mutation_at = now();
  slot_.changed = true;
}

void make_runnable(Transition& transition, TimestampMs delay_until, DelayCause cause) {
  Facts& facts = transition.facts();
  facts.phase = Phase::runnable;
  facts.lease.reset();
  leave_queue(facts);
  if (delay_until > transition.now()) {
    facts.delay_until = delay_until;
    facts.delay_cause = cause;
  } else if (facts.gates == 0) {
    facts.ready_sequence = transition.context().next_sequence();
    transition.note_place();
  }
}

void begin_wait(Transition& transition, WaitFacts waits) {
  Facts& facts = transition.facts();
  facts.waits = std::move(waits);
  facts.phase = Phase::suspended;
  facts.lease.reset();
  leave_queue(facts);
}

WaitOutcome end_wait(Slot& slot, const Context& context, WaitCause cause, const Operator& by) {
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  WaitFacts& waits = *facts.waits;
  const Wait wait = *waits.wait;
  WaitOutcome outcome{wait.number, cause, transition.now(), {}, {}, wait.escalated, signals_of_wait(waits)};
  if (cause == WaitCause::by_operator) {
    outcome.by = by.name;
    outcome.reason = by.reason;
  }
  EndedWait ended{outcome, {}};
  // What came by name and did not count stays for the next wait; what came by the token of a waitpoint goes with it.
  for (const WaitpointFacts& waitpoint : waits.open) {
    if (!waitpoint.waited_for) continue;
    std::erase_if(waits.signals, [&](const KeptSignal& kept) { return kept.waitpoint_number == waitpoint.number; });
    if (const auto& asked = waitpoint.approval) {
      ended.approvals.push_back({waitpoint.number, waitpoint.name, asked->title, asked->needed, asked->rejections});
    }
  }
  std::erase_if(waits.signals, [](const KeptSignal& kept) { return kept.counts; });
  std::erase_if(waits.open, [](const WaitpointFacts& waitpoint) { return waitpoint.waited_for; });
  waits.wait.reset();
  waits.has_outcome = true;
  transition.add_satellite(SatelliteKind::wait_outcome, 0, encode(ended));
  if (wait.position != 0) {
    Step step;
    step.position = wait.position;
    step.name = wait.step_name;
    step.state = StepState::wait;
    step.wait = outcome;
    step.duration_ms = transition.now() - wait.since;
    step.recorded_at = transition.now();
    step.attempt_index = facts.attempt->attempt_index;
    step.replay_count = facts.replay_count;
    step.worker_instance_id = facts.attempt->worker_instance_id;
    facts.steps.add(wait.position);
    transition.add_satellite(SatelliteKind::step, wait.position, encode(step));
  }
  if (facts.phase == Phase::suspended) {
    make_runnable(transition, transition.now() + wait.resume_delay_ms, DelayCause::worker);
  }
  transition.record(EventType::wait_ended, by.name, std::string(to_string(cause)), facts.delay_until);
  return outcome;
}

void finish(Transition& transition, Outcome outcome, EventType type, AttemptState attempt_end, std::string actor,
            std::string reason) {
  Facts& facts = transition.facts();
  FF_CHECK(facts.phase != Phase::terminal);
  // A holder whose execution is ended by another caller must be fenced from now on.
  if (facts.lease && outcome != Outcome::success) ++facts.lease_epoch;
  end_attempt(facts, attempt_end, transition.now());
  leave_queue(facts);
  facts.phase = Phase::terminal;
  facts.outcome = outcome;
  facts.lease.reset();
  facts.grant.reset();
  facts.pending.reset();
  if (facts.waits) forget_waits(*facts.waits);
  facts.finished_at = transition.now();
  if (facts.member) {
    // Its edges are resolved next, and it is removed together with its flow.
    facts.gates = 0;
    facts.member->unresolved = true;
    facts.member->work_at = transition.now();
    // It is a flow that ends before the nodes in it: they are cancelled.
    const bool is_first =
        is_flow_node(*transition.spec().member) && facts.member->groups.front().state == GroupState::waiting;
    if (is_first) facts.member->sibling_cancels.assign(1, {0, 0});
  } else {
    facts.retain_until =
        transition.now() + retention_ms(transition.spec().policy, transition.spec().namespace_retention, outcome,
                                        transition.context().default_retention_ms);
  }
  const auto& origin = transition.spec().schedule;
  if (origin && origin->tells) facts.gates |= untold_schedule;
  facts.letter.fingerprint = 0;
  if (outcome == Outcome::failed) {
    const Failure failure = facts.failure.value_or(Failure{});
    facts.letter.fingerprint = fingerprint_of(transition.spec().kind, failure.category, failure.message);
  }
  transition.record(type, std::move(actor), std::move(reason));
}

void fail_at_reclaim_cap(Transition& transition, std::uint32_t cap, const std::string& who, const std::string& actor) {
  Facts& facts = transition.facts();
  facts.failure = Failure{reclaim_cap_category,
                          "the lease was lost " + std::to_string(facts.reclaim_count + 1) + " times; " + who +
                              " allows " + std::to_string(cap) + " reclaims",
                          {}};
  finish(transition, Outcome::failed, EventType::failed, AttemptState::interrupted, actor, reclaim_cap_category);
}

void lose_lease(Slot& slot, const Context& context, LeaseLoss cause, const std::string& actor,
                const std::string& reason, TimestampMs since) {
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  FF_CHECK(facts.phase == Phase::active && facts.lease && facts.attempt);
  const Policy& policy = transition.spec().policy;
  const EventType type = cause == LeaseLoss::expired ? EventType::lease_expired : EventType::lease_revoked;

  const Lease& lease = *facts.lease;
  facts.lost = {
      cause, facts.lease_epoch, lease.lease_id, lease.worker_id, lease.worker_instance_id, facts.attempt->attempt_index,
      since};
  ++facts.lease_epoch;
  facts.lease.reset();
  end_attempt(facts, AttemptState::interrupted, transition.now());

  if (facts.reclaim_count >= policy.max_reclaims) {
    transition.record(type, actor, reason);
    Transition end(slot, context);
    fail_at_reclaim_cap(end, policy.max_reclaims, "the policy", actor);
    return;
  }
  if (policy.on_lease_lost == OnLeaseLost::manual) {
    transition.record(type, actor, reason);
    return;
  }
  facts.pending = PendingAttempt{AttemptType::reclaim, facts.attempt->attempt_index, reason, actor};
  make_runnable(transition, since + policy.reclaim_grace_ms, DelayCause::reclaim_grace);
  transition.record(type, actor, reason, facts.delay_until);
}

FailReply fail_attempt(Slot& slot, const Context& context, Failure failure, const RetryWish& wish,
                       const std::string& actor, TimestampMs since) {
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  FF_CHECK(facts.phase == Phase::active && facts.lease && facts.attempt);
  const Policy& policy = transition.spec().policy;
  const RetryDecision decision = decide_retry(policy, facts, failure.category, wish.retryable);
  const std::string category = failure.category;

  facts.attempt->failure = failure;
  facts.failure = std::move(failure);
  end_attempt(facts, AttemptState::ended_failure, transition.now());
  if (!decision.retry) {
    finish(transition, Outcome::failed, EventType::failed, AttemptState::ended_failure, actor, category);
    return {FailReply::Decision::failed, 0, 0, decision.reason};
  }
  const std::int64_t delay =
      wish.after_ms ? *wish.after_ms : retry_delay_ms(policy, facts.retry_count, context.entropy);
  const TimestampMs retry_at = since + delay;
  if (facts.lease) ++facts.lease_epoch;
  ++facts.retry_count;
  facts.steps.forget_last_failures();
  facts.pending = PendingAttempt{AttemptType::retry, facts.attempt->attempt_index, category, actor};
  make_runnable(transition, retry_at, DelayCause::backoff);
  transition.record(EventType::retry_scheduled, actor, category, retry_at);
  return {FailReply::Decision::retry_scheduled, retry_at, facts.attempt_count, decision.reason};
}

bool settle(Slot& slot, const Context& context) {
  bool changed = false;
  while (settle_once(slot, context)) changed = true;
  return changed;
}

std::int64_t retention_ms(const Policy& policy, const RetentionPolicy& of_namespace, Outcome outcome,
                          std::int64_t default_ms) {
  if (const auto own = kept_for(policy.retention, outcome)) return *own;
  return kept_for(of_namespace, outcome).value_or(default_ms);
}

std::int64_t backoff_ms(const RetryPolicy& policy, std::uint32_t retry_count) {
  if (policy.backoff == RetryPolicy::Backoff::fixed) return std::min(policy.initial_delay_ms, policy.max_delay_ms);
  std::int64_t delay = std::min(policy.initial_delay_ms, policy.max_delay_ms);
  for (std::uint32_t i = 0; i < retry_count && delay < policy.max_delay_ms; ++i) {
    // Both factors are bounded by limits.hpp (ten years of milliseconds, 100-fold growth), far below an overflow.
    const std::int64_t next = delay * policy.multiplier_percent / 100;
    if (next <= delay) break;  // a multiplier of 100, or a delay too small to grow
    delay = std::min(next, policy.max_delay_ms);
  }
  return delay;
}

void archive_attempt(Transition& transition) {
  Facts& facts = transition.facts();
  if (!facts.attempt) return;
  if (facts.attempt->attempt_state == AttemptState::interrupted) {
    facts.attempt->attempt_state = AttemptState::interrupted_reclaimed;
  }
  transition.add_satellite(SatelliteKind::attempt, facts.attempt->attempt_index, encode(*facts.attempt));
  facts.attempt.reset();
}

}  // namespace flowfabric
