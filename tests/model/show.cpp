#include "model/show.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hashing.hpp"

namespace flowfabric::test {

std::string show(const Error& error) { return fmt::format("{} ({})", to_string(error.code), error.field); }
std::string show(const Done&) { return "done"; }
std::string show(const Created& reply) {
  return fmt::format("created {} {} {}", to_string(reply.execution_id),
                     reply.public_state ? to_string(*reply.public_state) : "removed", reply.duplicate);
}
std::string show(const Tags& tags) {
  std::string text = "tags";
  for (const auto& [key, value] : tags) text += fmt::format(" {}={}", key, value);
  return text;
}
// What earlier runs of the handler have recorded.
static std::string show_record(const ClaimedExecution& claim) {
  std::string text;
  for (const auto& step : claim.steps) {
    text += fmt::format(" step {} {} {} {} of {} attempt {}", step.position, step.name, to_string(step.state),
                        digest64(step.result), step.result.size(), step.attempt_index);
  }
  if (claim.checkpoint)
    text += fmt::format(" checkpoint {} at {}", claim.checkpoint->bytes, claim.checkpoint->recorded_at);
  if (claim.last_wait) text += " last " + show(*claim.last_wait);
  return text;
}
std::string show(const ClaimedExecution& claim) {
  return fmt::format("{} {}/{}/{} payload {} of {} priority {} {} attempt {} {} {} lease {} until {} deadline {} {} {}",
                     to_string(claim.execution_id), claim.name_space, claim.lane, claim.kind, digest64(claim.payload),
                     claim.payload.size(), claim.priority, show(claim.tags), claim.attempt.attempt_index,
                     to_string(claim.attempt.attempt_type), to_string(claim.attempt.attempt_id),
                     claim.lease.lease_epoch, claim.lease.expires_at, claim.deadline_at, to_string(claim.handle_kind),
                     claim.handle) +
         show_record(claim);
}
std::string show(const RenewVerdict& reply) {
  return fmt::format("until {} epoch {} {}", reply.expires_at, reply.lease_epoch, reply.handle);
}
std::string show(const FailReply& reply) {
  return fmt::format("decision {} at {} next {} {}", int(reply.decision), reply.retry_at, reply.next_attempt_index,
                     reply.reason);
}
std::string show(const DelayReply& reply) { return fmt::format("delayed until {}", reply.delay_until); }
std::string show(const StepReply& reply) {
  return fmt::format("step at {} wakes {} duplicate {}", reply.recorded_at, reply.wake_at, reply.duplicate);
}
std::string show(const CancelReply& reply) { return fmt::format("cancelled {}", reply.already_cancelled); }
std::string show(const RevokeReply& reply) {
  return fmt::format("revoked {} epoch {} {}", to_string(reply.lease_id), reply.lease_epoch,
                     to_string(reply.public_state));
}
std::string show(const ReplayReply& reply) {
  return fmt::format("replay {} {}", reply.replay_count, to_string(reply.public_state));
}
std::string show(const LaneInfo& info) {
  return fmt::format("lane {} {} at {} by {}, registered {} by {}", info.lane, to_string(info.state), info.changed_at,
                     info.changed_by, info.registered_at, info.registered_by);
}
std::string show(const NamespaceInfo& info) {
  return fmt::format("namespace {} {}", info.name_space, info.retention.completed_ms.value_or(-1));
}
std::string show(const std::vector<ClaimedExecution>& claims) {
  std::string text = fmt::format("{} claimed", claims.size());
  for (const auto& claim : claims) text += "; " + show(claim);
  return text;
}
std::string show(const Event& event) {
  return fmt::format("  {} at {} {}/{}/{} attempt {} epoch {} {} -> {} by {}: {} next {}", to_string(event.type),
                     event.at, event.name_space, event.lane, event.kind,
                     event.attempt_index ? std::to_string(*event.attempt_index) : "-", event.lease_epoch,
                     to_string(event.state_before), to_string(event.state_after), event.actor, event.reason,
                     event.next_at);
}
std::string show(const ExecutionSummary& summary) {
  return fmt::format("  {} {} {} {} {} created {} started {} finished {} attempts {}", to_string(summary.execution_id),
                     summary.lane, summary.kind, to_string(summary.public_state), show(summary.tags),
                     summary.created_at, summary.started_at, summary.finished_at, summary.attempt_count);
}
std::string show(const Grant& grant) {
  return fmt::format("{} grant {} for {}/{} on {} until {} key {}", to_string(grant.kind),
                     to_string(grant.execution_id), grant.worker_id, grant.worker_instance_id, grant.lane,
                     grant.expires_at, grant.grant_key);
}
std::string show(const std::optional<Grant>& grant) { return grant ? show(*grant) : "nothing"; }
std::string show(const IssueReclaimGrantOutcome& outcome) {
  if (const auto* granted = std::get_if<Granted>(&outcome)) return show(granted->grant);
  if (const auto* refused = std::get_if<NotReclaimable>(&outcome)) return "not reclaimable: " + refused->detail;
  return fmt::format("cap {}", std::get<ReclaimCapExceeded>(outcome).count);
}
std::string show(const ReclaimExecutionOutcome& outcome) {
  if (const auto* claimed = std::get_if<Claimed>(&outcome)) return show(claimed->execution);
  if (const auto* refused = std::get_if<NotReclaimable>(&outcome)) return "not reclaimable: " + refused->detail;
  if (const auto* capped = std::get_if<ReclaimCapExceeded>(&outcome)) return fmt::format("cap {}", capped->count);
  return "grant not found";
}
std::string show(const RegisterWorkerReply& reply) {
  return fmt::format("registered {} at {} until {}", int(reply.outcome), reply.registered_at, reply.next_expiry_at);
}
std::string show(const HeartbeatReply& reply) {
  std::string text = fmt::format("beat {} until {} drain {}", int(reply.outcome), reply.next_expiry_at, reply.drain);
  for (const auto& verdict : reply.leases) text += "; " + show(verdict);
  for (const auto& id : reply.revoked_leases) text += " revoked " + to_string(id);
  return text;
}
std::string show(const MarkWorkerDeadOutcome& outcome) { return fmt::format("marked {}", int(outcome)); }
std::string show(const DrainWorkerOutcome& outcome) { return fmt::format("draining {}", int(outcome)); }
std::string show(const KeyRotation& rotation) {
  std::string text = fmt::format("key {} signs", rotation.key_id);
  for (const auto& key : rotation.keys) text += fmt::format("; {} until {}", key.key_id, key.expires_at);
  return text;
}
std::string show(const RemoveReply& reply) { return fmt::format("removed {}", reply.removed); }
static std::string show(const Signal& signal) {
  return fmt::format(" signal {} {} at {} from {}: {}", signal.number, signal.name, signal.waitpoint, signal.source,
                     signal.payload);
}
static std::string show(const WaitpointInfo& info) {
  std::string text = fmt::format(" waitpoint {} {} opened {} {} {}", info.name, info.number, info.opened_at,
                                 info.waited_for, info.signals);
  if (!info.approval) return text;
  text += fmt::format(" context {}", info.approval->context);
  for (const auto& one : info.approval->decisions) text += fmt::format(" {} {}", one.actor, int(one.decision));
  return text;
}
std::string show(const WaitOutcome& outcome) {
  std::string text = fmt::format("wait {} {} at {} by {} {}", outcome.number, to_string(outcome.cause),
                                 outcome.ended_at, outcome.by, outcome.escalated);
  for (const auto& signal : outcome.signals) text += show(signal);
  return text;
}
std::string show(const WaitpointToken& token) {
  return fmt::format("token of {} {} {} until {}", token.waitpoint, token.number, token.token, token.expires_at);
}
std::string show(const SuspendReply& reply) {
  std::string text =
      fmt::format("suspended {} {} wait {} until {}", reply.suspended, reply.duplicate, reply.wait, reply.timeout_at);
  for (const auto& token : reply.tokens) text += "; " + show(token);
  if (reply.outcome) text += "; " + show(*reply.outcome);
  return text;
}
std::string show(const SignalReply& reply) {
  return fmt::format("signal {} of {} {} {}", reply.number, to_string(reply.execution_id), to_string(reply.effect),
                     reply.duplicate);
}
std::string show(const WaitingExecution& waiting) {
  std::string text = fmt::format("{} waits since {} until {} {}", to_string(waiting.execution_id), waiting.since,
                                 waiting.timeout_at, waiting.escalated);
  for (const auto& waitpoint : waiting.waitpoints) text += show(waitpoint);
  return text;
}
std::string show(const ExecutionWaits& waits) {
  std::string text = "  waits";
  if (waits.wait) text += fmt::format(" in {} since {}", waits.wait->number, waits.wait->since);
  for (const auto& waitpoint : waits.waitpoints) text += show(waitpoint);
  for (const auto& signal : waits.signals) text += show(signal);
  if (waits.last_wait) text += " last " + show(*waits.last_wait);
  return text;
}
std::string show(const WorkerInfo& info) {
  return fmt::format(
      "  {}/{} of {} {} lanes {} capabilities {} ttl {} registered {} beat {} until {} draining {} ended "
      "{} by {}: {}",
      info.name_space, info.worker_instance_id, info.worker_id, to_string(info.state), fmt::join(info.lanes, ","),
      fmt::join(info.capabilities, ","), info.liveness_ttl_ms, info.registered_at, info.last_heartbeat_at,
      info.expires_at, info.draining, info.ended_at, info.ended_by, info.reason);
}
std::string show(const ExpiredLease& lease) {
  return fmt::format("  {} epoch {} attempt {} of {}/{} {} at {}", to_string(lease.execution_id), lease.lease_epoch,
                     lease.attempt_index, lease.worker_id, lease.worker_instance_id, to_string(lease.cause),
                     lease.expires_at);
}
std::string show(const ReadyEntry& entry) {
  return fmt::format("ready on {} priority {} sequence {} {} of {}", entry.route, entry.priority, entry.sequence,
                     to_hex(entry.key.bytes), entry.name_space);
}
std::string show(const DueEntry& entry) {
  return fmt::format("due {} {} group {} rank {}", entry.due_at, to_hex(entry.key.bytes), entry.group, entry.rank);
}
std::string show(const Reply& reply) {
  return std::visit([](const auto& value) { return show(value); }, reply);
}

}  // namespace flowfabric::test
