// Creates a lease, for all ways of handing out an execution.
#include "base/check.hpp"
#include "core/tokens.hpp"
#include "core/transitions.hpp"

namespace flowfabric {
namespace {

void start_attempt(Transition& transition, const Holder& holder) {
  Facts& facts = transition.facts();
  archive_attempt(transition);
  Attempt attempt;
  attempt.attempt_index = facts.attempt_count++;
  attempt.attempt_id = random_uuid(transition.context().entropy);
  attempt.attempt_type = facts.pending->type;
  attempt.previous_attempt_index = facts.pending->previous_attempt_index;
  attempt.reason = facts.pending->reason;
  attempt.requested_by = facts.pending->requested_by;
  attempt.started_at = transition.now();
  if (const auto timeout = transition.spec().policy.attempt_timeout_ms) {
    attempt.timeout_at = transition.now() + *timeout;
  }
  attempt.worker_id = holder.worker_id;
  attempt.worker_instance_id = holder.worker_instance_id;
  if (attempt.attempt_type == AttemptType::reclaim) ++facts.reclaim_count;
  facts.attempt = std::move(attempt);
  facts.pending.reset();
  facts.progress.reset();
}

void resume_attempt(Transition& transition, const Holder& holder) {
  Attempt& attempt = *transition.facts().attempt;
  attempt.attempt_state = AttemptState::started;
  attempt.resumed_at = transition.now();
  if (attempt.timeout_left_ms > 0) attempt.timeout_at = transition.now() + attempt.timeout_left_ms;
  attempt.timeout_left_ms = 0;
  attempt.worker_id = holder.worker_id;
  attempt.worker_instance_id = holder.worker_instance_id;
}

Lease make_lease(Transition& transition, const Holder& holder) {
  Lease lease;
  lease.lease_id = random_uuid(transition.context().entropy);
  lease.lease_epoch = ++transition.facts().lease_epoch;
  lease.worker_namespace = holder.worker_namespace;
  lease.worker_id = holder.worker_id;
  lease.worker_instance_id = holder.worker_instance_id;
  lease.lease_ttl_ms = holder.lease_ttl_ms;
  lease.acquired_at = transition.now();
  lease.renewed_at = transition.now();
  lease.expires_at = transition.now() + holder.lease_ttl_ms;
  return lease;
}

// A resumed attempt was resumed by the lease that is held now.
HandleKind handle_kind(const Facts& facts) {
  const Attempt& attempt = *facts.attempt;
  if (attempt.resumed_at != 0 && attempt.resumed_at == facts.lease->acquired_at) return HandleKind::resumed;
  return attempt.attempt_type == AttemptType::reclaim ? HandleKind::reclaimed : HandleKind::fresh;
}

ClaimedExecution claimed(const Execution& execution, const TokenSigner* signer) {
  ClaimedExecution claim;
  claim.execution_id = execution.id;
  claim.name_space = execution.spec.name_space;
  claim.lane = execution.spec.lane;
  claim.kind = execution.spec.kind;
  claim.payload = execution.inline_payload();
  claim.payload_encoding = execution.payload_encoding();
  claim.priority = execution.facts.priority;
  claim.tags = execution.facts.tags;
  claim.attempt = *execution.facts.attempt;
  claim.lease = *execution.facts.lease;
  claim.created_at = execution.spec.created_at;
  claim.deadline_at = execution.facts.deadline_at;
  claim.traceparent = execution.spec.traceparent;
  claim.handle_kind = handle_kind(execution.facts);
  claim.handle = handle_of(execution, signer);
  if (execution.spec.member) {
    claim.flow_id = flow_of(execution);
    claim.node = execution.spec.member->node;
  }
  return claim;
}

}  // namespace

Handle handle_of(const Execution& execution, const TokenSigner* signer) {
  if (signer == nullptr) return {};
  const Facts& facts = execution.facts;
  const Fence fence{execution.id, facts.attempt->attempt_index, facts.lease->lease_epoch, facts.lease->lease_id};
  return signer->sign_handle(fence, handle_kind(facts), execution.spec.name_space);
}

ClaimedExecution lease_out(Transition& transition, const Holder& holder, EventType type) {
  Facts& facts = transition.facts();
  FF_CHECK(!facts.lease && facts.phase != Phase::terminal);
  const bool resumed = !facts.pending;
  if (resumed) {
    resume_attempt(transition, holder);
  } else {
    start_attempt(transition, holder);
  }
  facts.phase = Phase::active;
  facts.ready_sequence = 0;
  facts.delay_until = 0;
  facts.delay_cause = DelayCause::none;
  facts.grant.reset();
  facts.limits.held.reset();
  facts.gates &= ~limit_gate;
  facts.lease = make_lease(transition, holder);
  facts.attempt->lease_epoch = facts.lease_epoch;
  if (facts.started_at == 0) facts.started_at = transition.now();
  transition.record(type, holder.worker_instance_id, std::string(to_string(facts.attempt->attempt_type)));
  return claimed(transition.execution(), transition.context().signer);
}

}  // namespace flowfabric
