// Grants: a reservation of one execution for one worker, and its redemption.
//
// A grant is stored in the execution, so there is at most one, and the change that hands out the execution uses it up.
// The key that the worker presents is signed; only its hash is stored.
#include <algorithm>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/text.hpp"
#include "core/decide_parts.hpp"
#include "core/limiting.hpp"
#include "core/state.hpp"
#include "core/tokens.hpp"

namespace flowfabric {
namespace {

// Both sorted.
std::vector<std::string> missing_capabilities(const std::vector<std::string>& offered,
                                              const std::vector<std::string>& required) {
  std::vector<std::string> missing;
  std::set_difference(required.begin(), required.end(), offered.begin(), offered.end(), std::back_inserter(missing));
  return missing;
}

// Why a worker with these capabilities cannot get the execution, regardless of its state.
std::optional<Error> unsuitable(Workspace& workspace, const Spec& spec, const std::vector<std::string>& offered) {
  if (!lane_serves(workspace, spec.lane)) {
    const LaneState state = lane_state(workspace, spec.lane);
    return Error{Errc::not_eligible,
                 "lane \"" + spec.lane + "\" is " + std::string(to_string(state)) + " and hands out no executions",
                 {},
                 {}};
  }
  const auto missing = missing_capabilities(offered, spec.required_capabilities);
  if (missing.empty()) return std::nullopt;
  const std::string list = join(missing, ",");
  return Error{Errc::capability_mismatch, "the worker does not offer " + list, "capabilities", {{"missing", list}}};
}

// The same text as the detail of an outcome.
std::string detail_of(const Error& error) {
  return error.code == Errc::capability_mismatch ? "capability_mismatch: " + error.details.front().second
                                                 : error.message;
}

Grant reserve(Slot& slot, const GrantCommand& command, const Context& context) {
  FF_CHECK(context.signer != nullptr);
  Transition transition(slot, context);
  const GrantRequest& request = command.request;
  GrantClaims claims;
  claims.kind = command.kind;
  claims.execution_id = request.execution_id;
  claims.expires_at = context.now + request.grant_ttl_ms;
  claims.nonce = context.entropy();
  claims.worker_id = request.worker_id;
  claims.worker_instance_id = request.worker_instance_id;

  Grant grant;
  grant.kind = command.kind;
  grant.execution_id = request.execution_id;
  grant.lane = transition.spec().lane;
  grant.worker_id = request.worker_id;
  grant.worker_instance_id = request.worker_instance_id;
  grant.grant_key = context.signer->sign_grant(claims);
  grant.expires_at = claims.expires_at;
  grant.capability_hash = request.capability_hash;
  grant.route_snapshot = request.route_snapshot;
  grant.admission_summary = request.admission_summary;
  const std::string grant_id = grant_id_of(grant.grant_key);
  grant.grant_id = to_hex(grant_id);
  transition.facts().grant = HeldGrant{command.kind,
                                       grant_id,
                                       request.worker_id,
                                       claims.expires_at,
                                       request.worker_instance_id,
                                       request.capability_hash,
                                       request.route_snapshot,
                                       request.admission_summary};
  transition.record(EventType::grant_issued, request.worker_id,
                    std::string(to_string(command.kind)) + " grant " + grant.grant_id, claims.expires_at);
  return grant;
}

Error already_granted(const HeldGrant& grant) {
  return Error{Errc::grant_already_exists,
               "worker " + grant.worker_id + " has a grant for it until " + format_utc(grant.expires_at),
               {},
               {}};
}

Result<Reply> issue_claim_grant(Workspace& workspace, Slot& slot, const GrantCommand& command, const Context& context) {
  const Execution& execution = *slot.execution();
  const Facts& facts = execution.facts;
  if (facts.phase == Phase::terminal) return Unexpected(already_terminal(execution));
  if (facts.grant) return Unexpected(already_granted(*facts.grant));
  if (facts.ready_sequence == 0) {
    return fail(Errc::not_eligible,
                "the execution is " + std::string(to_string(public_state(facts))) + " and cannot be claimed now");
  }
  FF_TRY_VOID(check_namespace(execution.spec, command.name_space));
  FF_TRY_VOID(check_flow(workspace, execution));
  if (auto why = unsuitable(workspace, execution.spec, command.request.capabilities)) return Unexpected(*why);
  return reserve(slot, command, context);
}

// Only the cap ends an execution as failed whose last attempt was interrupted. The category of the failure cannot be
// used: a worker may choose any category.
bool ended_at_the_cap(const Facts& facts) {
  return facts.outcome == Outcome::failed && facts.attempt && facts.attempt->attempt_state == AttemptState::interrupted;
}

// Nothing if the execution can be reclaimed.
std::optional<IssueReclaimGrantOutcome> not_reclaimable(const Facts& facts) {
  if (facts.phase == Phase::terminal) {
    if (ended_at_the_cap(facts)) return ReclaimCapExceeded{facts.reclaim_count};
    return NotReclaimable{"the execution has ended: " + std::string(to_string(facts.outcome))};
  }
  if (facts.lease) {
    return NotReclaimable{"worker instance " + facts.lease->worker_instance_id + " holds a live lease until " +
                          format_utc(facts.lease->expires_at)};
  }
  const bool requeued = facts.pending && facts.pending->type == AttemptType::reclaim;
  if (requeued || has_lost_lease(facts)) return std::nullopt;
  return NotReclaimable{"the execution is " + std::string(to_string(public_state(facts))) +
                        " and has not lost a lease"};
}

Result<Reply> issue_reclaim_grant(Workspace& workspace, Slot& slot, const GrantCommand& command,
                                  const Context& context) {
  const Execution& execution = *slot.execution();
  if (auto outcome = not_reclaimable(execution.facts)) return std::move(*outcome);
  if (execution.facts.grant) return Unexpected(already_granted(*execution.facts.grant));
  if (auto why = unsuitable(workspace, execution.spec, command.request.capabilities)) {
    return IssueReclaimGrantOutcome{NotReclaimable{detail_of(*why)}};
  }
  return IssueReclaimGrantOutcome{Granted{reserve(slot, command, context)}};
}

bool holds(const Facts& facts, const RedeemCommand& command) {
  return facts.grant && facts.grant->kind == command.kind &&
         equal_in_constant_time(facts.grant->grant_id, command.grant_id);
}

Holder holder_of(const RedeemRequest& request) {
  return {request.worker_namespace, request.worker_id, request.worker_instance_id, request.lease_ttl_ms};
}

// Whether the caller's own limit of reclaims is reached. Then the execution ends as it does at the limit of its policy.
std::optional<ReclaimCapExceeded> end_at_callers_cap(Slot& slot, const RedeemCommand& command, const Context& context) {
  const std::optional<std::uint32_t>& cap = command.request.max_reclaim_count;
  const Facts& facts = slot.execution()->facts;
  if (!cap || facts.reclaim_count < *cap) return std::nullopt;
  Transition transition(slot, context);
  fail_at_reclaim_cap(transition, *cap, "the caller", command.request.worker_instance_id);
  return ReclaimCapExceeded{facts.reclaim_count};
}

Result<Reply> redeem_claim(Workspace& workspace, Slot& slot, const RedeemCommand& command, const Context& context) {
  const Execution& execution = *slot.execution();
  if (execution.facts.phase == Phase::terminal) return Unexpected(already_terminal(execution));
  if (!holds(execution.facts, command)) {
    if (command.grant_expires_at > context.now) {
      return fail(Errc::invalid_claim_grant, "the grant was already used, or the execution has changed since",
                  "grant_key");
    }
    return fail(Errc::claim_grant_expired, "the grant expired at " + format_utc(command.grant_expires_at), "grant_key");
  }
  FF_TRY_VOID(check_flow(workspace, execution));
  if (auto why = unsuitable(workspace, execution.spec, command.request.capabilities)) return Unexpected(*why);
  FF_TRY(demands, check_limits(workspace, slot, context, false));
  Transition transition(slot, context);
  const EventType type = transition.facts().pending ? EventType::claimed : EventType::resumed;
  ClaimedExecution claim = lease_out(transition, holder_of(command.request), type);
  take_slots(workspace, slot, demands, context);
  return claim;
}

Result<Reply> redeem_reclaim(Workspace& workspace, Slot& slot, const RedeemCommand& command, const Context& context) {
  const Execution& execution = *slot.execution();
  if (!holds(execution.facts, command)) {
    if (execution.facts.phase != Phase::terminal) return ReclaimExecutionOutcome{GrantNotFound{}};
    // The end of the execution has removed the grant; the worker gets the outcome.
    return std::visit(
        [](const auto& outcome) -> Result<Reply> {
          if constexpr (std::is_same_v<std::decay_t<decltype(outcome)>, Granted>) {
            return ReclaimExecutionOutcome{GrantNotFound{}};
          } else {
            return ReclaimExecutionOutcome{outcome};
          }
        },
        *not_reclaimable(execution.facts));
  }
  if (auto why = unsuitable(workspace, execution.spec, command.request.capabilities)) {
    return ReclaimExecutionOutcome{NotReclaimable{detail_of(*why)}};
  }
  if (const auto capped = end_at_callers_cap(slot, command, context)) return ReclaimExecutionOutcome{*capped};
  const auto demands = check_limits(workspace, slot, context, false);
  if (!demands) return ReclaimExecutionOutcome{NotReclaimable{demands.error().message}};
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  if (!facts.pending) {
    facts.pending = PendingAttempt{AttemptType::reclaim, facts.attempt->attempt_index,
                                   "lease_" + std::string(to_string(facts.lost.cause)), command.request.worker_id};
  }
  ClaimedExecution claim = lease_out(transition, holder_of(command.request), EventType::lease_reclaimed);
  take_slots(workspace, slot, *demands, context);
  return ReclaimExecutionOutcome{Claimed{std::move(claim)}};
}

}  // namespace

Result<Reply> decide_one(Workspace& workspace, const GrantCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.request.execution_id, context));
  return command.kind == GrantKind::claim ? issue_claim_grant(workspace, *slot, command, context)
                                          : issue_reclaim_grant(workspace, *slot, command, context);
}

Result<Reply> decide_one(Workspace& workspace, const RedeemCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.request.execution_id, context));
  FF_TRY_VOID(check_may_claim(workspace, command.request.worker_namespace, command.request.worker_instance_id));
  return command.kind == GrantKind::claim ? redeem_claim(workspace, *slot, command, context)
                                          : redeem_reclaim(workspace, *slot, command, context);
}

}  // namespace flowfabric
