#include <algorithm>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/limiting.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

std::uint64_t digest_of(const CompleteRequest& request) {
  Encoder out;
  out.text(request.result);
  out.text(request.result_encoding);
  return digest64(out.take());
}

std::uint64_t digest_of(const FailRequest& request) {
  Encoder out;
  out.text(request.category);
  out.text(request.message);
  out.text(request.detail);
  out.enumerator(request.retryable);
  if (request.retry_after_ms) out.number(*request.retry_after_ms);
  return digest64(out.take());
}

std::uint64_t digest_of(const DelayCommand& command) {
  if (!command.delay_ms) return static_cast<std::uint64_t>(command.delay_until);
  Encoder out;
  out.number(*command.delay_ms);
  return digest64(out.take());
}

std::uint64_t digest_of(const std::string& reason) { return digest64(reason); }

}  // namespace

Release release_of(const Fence& fence, Release::Operation operation, std::uint64_t digest) {
  Release release;
  release.operation = operation;
  release.lease_id = fence.lease_id;
  release.lease_epoch = fence.lease_epoch;
  release.attempt_index = fence.attempt_index;
  release.request_digest = digest;
  return release;
}

bool is_repeat(const Facts& facts, const Release& now) {
  const Release& last = facts.release;
  return last.operation == now.operation && last.lease_id == now.lease_id && last.lease_epoch == now.lease_epoch &&
         last.attempt_index == now.attempt_index && last.request_digest == now.request_digest;
}

void interrupt_attempt(Transition& transition) {
  Facts& facts = transition.facts();
  const TimestampMs now = transition.now();
  Attempt& attempt = *facts.attempt;
  attempt.attempt_state = AttemptState::suspended;
  attempt.suspended_at = now;
  if (attempt.timeout_at != 0) attempt.timeout_left_ms = std::max<std::int64_t>(attempt.timeout_at - now, 1);
  attempt.timeout_at = 0;
  ++facts.lease_epoch;
}

void put_attempt_aside(Transition& transition, TimestampMs delay_until) {
  interrupt_attempt(transition);
  make_runnable(transition, delay_until, DelayCause::worker);
}

Result<void> check_fence(const Execution& execution, const Fence& fence) {
  const Facts& facts = execution.facts;
  if (facts.phase == Phase::terminal) return Unexpected(already_terminal(execution));
  const bool holds = facts.lease && facts.lease->lease_id == fence.lease_id &&
                     facts.lease->lease_epoch == fence.lease_epoch && facts.attempt &&
                     facts.attempt->attempt_index == fence.attempt_index;
  if (holds) return {};
  if (facts.lost.cause != LeaseLoss::none && facts.lost.lease_epoch == fence.lease_epoch) {
    return facts.lost.cause == LeaseLoss::expired
               ? fail(Errc::lease_expired, "the lease has expired; the execution is unowned or has another owner")
               : fail(Errc::lease_revoked,
                      "the lease was revoked by an operator, or because its worker was considered dead");
  }
  return fail(Errc::stale_lease, "the handle belongs to lease epoch " + std::to_string(fence.lease_epoch) +
                                     "; the execution is at epoch " + std::to_string(facts.lease_epoch));
}

Result<Reply> decide_one(Workspace& workspace, const LeaseCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  if (slot->execution()->facts.phase == Phase::terminal) return Unexpected(already_terminal(*slot->execution()));
  if (!ready_entry(*slot->execution())) return fail(Errc::not_active, "the execution is not claimable");
  FF_TRY_VOID(check_may_claim(workspace, command.worker_namespace, command.worker_instance_id));
  FF_TRY_VOID(check_namespace(slot->execution()->spec, command.name_space));
  FF_TRY_VOID(check_flow(workspace, *slot->execution()));
  FF_TRY(demands, check_limits(workspace, *slot, context, true));
  Transition transition(*slot, context);
  const EventType type = transition.facts().pending ? EventType::claimed : EventType::resumed;
  ClaimedExecution claim =
      lease_out(transition,
                {command.worker_namespace, command.worker_id, command.worker_instance_id, command.lease_ttl_ms}, type);
  take_slots(workspace, *slot, demands, context);
  return claim;
}

Result<Reply> decide_one(Workspace& workspace, const RenewCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));
  Transition transition(*slot, context);
  Lease& lease = *transition.facts().lease;
  if (command.lease_ttl_ms != 0) lease.lease_ttl_ms = command.lease_ttl_ms;
  lease.renewed_at = context.now;
  lease.expires_at = context.now + lease.lease_ttl_ms;
  transition.touch();
  // Signed anew: a worker that takes it over outlives a rotation of the keys.
  return RenewVerdict{lease.expires_at, lease.lease_epoch, handle_of(*slot->execution(), context.signer)};
}

Result<Reply> decide_one(Workspace& workspace, const ProgressCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));
  Transition transition(*slot, context);
  Facts& facts = transition.facts();
  if (!facts.progress) facts.progress = Progress{};
  if (command.report.percent) facts.progress->percent = command.report.percent;
  if (command.report.message) facts.progress->message = *command.report.message;
  facts.progress->updated_at = context.now;
  transition.touch();
  return Done{};
}

Result<Reply> decide_one(Workspace& workspace, const CompleteCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  const Release release = release_of(command.fence, Release::Operation::complete, digest_of(command.request));
  if (is_repeat(slot->execution()->facts, release)) return Done{};
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));

  Transition transition(*slot, context);
  Facts& facts = transition.facts();
  facts.has_result = true;
  facts.attempt->has_result = true;
  facts.attempt->result_encoding = command.request.result_encoding;
  facts.result_is_inline = command.request.result.size() <= limits::max_inline_bytes;
  if (facts.result_is_inline) {
    facts.result = command.request.result;
  } else {
    transition.add_satellite(SatelliteKind::result, facts.attempt->attempt_index, command.request.result);
  }
  facts.failure.reset();
  facts.release = release;
  finish(transition, Outcome::success, EventType::completed, AttemptState::ended_success,
         facts.lease->worker_instance_id, {});
  if (!command.leaves_edges) resolve_at_once(workspace, *slot, context);
  return Done{};
}

Result<Reply> decide_one(Workspace& workspace, const FailCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  Facts& facts = slot->execution()->facts;
  Release release = release_of(command.fence, Release::Operation::fail, digest_of(command.request));
  if (is_repeat(facts, release)) return facts.release.fail;
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));

  const std::string actor = facts.lease->worker_instance_id;
  const FailRequest& request = command.request;
  FailReply reply = fail_attempt(*slot, context, Failure{request.category, request.message, request.detail},
                                 {request.retryable, request.retry_after_ms}, actor, context.now);
  release.fail = reply;
  facts.release = std::move(release);
  return reply;
}

Result<Reply> decide_one(Workspace& workspace, const DelayCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  Release release = release_of(command.fence, Release::Operation::delay, digest_of(command));
  if (is_repeat(slot->execution()->facts, release)) return DelayReply{slot->execution()->facts.release.delay_until};
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));

  Transition transition(*slot, context);
  const std::string actor = transition.facts().lease->worker_instance_id;
  const TimestampMs delay_until = command.delay_ms ? context.now + *command.delay_ms : command.delay_until;
  put_attempt_aside(transition, delay_until);
  release.delay_until = delay_until;
  transition.facts().release = std::move(release);
  transition.record(EventType::delayed, actor, {}, delay_until);
  return DelayReply{delay_until};
}

Result<Reply> decide_one(Workspace& workspace, const ReleaseHeldCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  Release release = release_of(command.fence, Release::Operation::release, 0);
  if (is_repeat(slot->execution()->facts, release)) return Done{};
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));

  Transition transition(*slot, context);
  const std::string actor = transition.facts().lease->worker_instance_id;
  put_attempt_aside(transition, 0);
  transition.facts().release = std::move(release);
  transition.record(EventType::released, actor, {});
  return Done{};
}

Result<Reply> decide_one(Workspace& workspace, const CancelHeldCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  // Whoever cancelled it and why: what the caller wants is so.
  if (slot->execution()->facts.outcome == Outcome::cancelled) return CancelReply{true};
  // The caller's own cancellation, repeated after the execution was replayed.
  const Release release = release_of(command.fence, Release::Operation::cancel, digest_of(command.reason));
  if (is_repeat(slot->execution()->facts, release)) return CancelReply{true};
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));

  Transition transition(*slot, context);
  Facts& facts = transition.facts();
  const std::string actor = facts.lease->worker_instance_id;
  facts.cancellation_reason = command.reason;
  facts.cancelled_by = actor;
  facts.release = release;
  finish(transition, Outcome::cancelled, EventType::cancelled, AttemptState::ended_cancelled, actor, command.reason);
  return CancelReply{false};
}

}  // namespace flowfabric
