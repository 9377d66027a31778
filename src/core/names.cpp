// One spelling for every enumerator. The arrays are in the order of the enums.
#include <array>

#include <flowfabric/flows.hpp>
#include <flowfabric/hooks.hpp>
#include <flowfabric/limits.hpp>
#include <flowfabric/schedules.hpp>
#include <flowfabric/signals.hpp>
#include <flowfabric/submit_keys.hpp>
#include <flowfabric/types.hpp>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "core/records.hpp"
#include "core/schedule_records.hpp"

namespace flowfabric {
namespace {

using Names = std::string_view;

constexpr std::array<Names, 4> phases = {"runnable", "active", "suspended", "terminal"};
constexpr std::array<Names, 6> outcomes = {"none", "success", "failed", "cancelled", "expired", "skipped"};
constexpr std::array<Names, 4> ownerships = {"unowned", "leased", "lease_expired_reclaimable", "lease_revoked"};
constexpr std::array<Names, 8> eligibilities = {
    "not_applicable",    "eligible_now",     "not_eligible_until_time", "blocked_by_dependencies",
    "blocked_by_budget", "blocked_by_quota", "blocked_by_lane_state",   "blocked_by_operator"};
constexpr std::array<Names, 14> blocking_reasons = {"none",
                                                    "waiting_for_worker",
                                                    "waiting_for_capable_worker",
                                                    "waiting_for_delay",
                                                    "waiting_for_retry_backoff",
                                                    "waiting_for_reclaim_grace",
                                                    "waiting_for_reclaim",
                                                    "paused_by_lane",
                                                    "reserved_by_grant",
                                                    "waiting_for_children",
                                                    "waiting_for_signal",
                                                    "waiting_for_approval",
                                                    "waiting_for_limit",
                                                    "waiting_for_budget"};
constexpr std::array<Names, 8> attempt_phases = {
    "pending_first_attempt",   "running_attempt",        "attempt_interrupted", "pending_retry_attempt",
    "pending_reclaim_attempt", "pending_replay_attempt", "attempt_terminal",    "none"};
constexpr std::array<Names, 12> public_states = {"waiting", "delayed",   "rate_limited", "waiting_children",
                                                 "active",  "suspended", "resumable",    "completed",
                                                 "failed",  "cancelled", "expired",      "skipped"};
constexpr std::array<Names, 4> attempt_types = {"initial", "retry", "reclaim", "replay"};
constexpr std::array<Names, 7> attempt_states = {
    "started",         "suspended",   "ended_success",        "ended_failure",
    "ended_cancelled", "interrupted", "interrupted_reclaimed"};
constexpr std::array<Names, 3> lease_losses = {"none", "expired", "revoked"};
constexpr std::array<Names, 4> lane_states = {"active", "paused", "draining", "disabled"};
constexpr std::array<Names, 3> handle_kinds = {"fresh", "resumed", "reclaimed"};
constexpr std::array<Names, 2> grant_kinds = {"claim", "reclaim"};
constexpr std::array<Names, 4> api_roles = {"viewer", "worker", "operator", "admin"};
constexpr std::array<Names, 4> worker_states = {"live", "lapsed", "marked_dead", "ttl_swept"};
constexpr std::array<Names, 4> step_states = {"succeeded", "failed", "sleep", "wait"};
constexpr std::array<Names, 77> event_types = {"",
                                               "created",
                                               "ready",
                                               "claimed",
                                               "resumed",
                                               "delayed",
                                               "retry_scheduled",
                                               "lease_expired",
                                               "lease_revoked",
                                               "completed",
                                               "failed",
                                               "cancelled",
                                               "expired",
                                               "replayed",
                                               "priority_changed",
                                               "tags_changed",
                                               "lane_changed",
                                               "namespace_changed",
                                               "worker_registered",
                                               "worker_refreshed",
                                               "worker_marked_dead",
                                               "worker_ttl_swept",
                                               "worker_draining",
                                               "lease_reclaimed",
                                               "grant_issued",
                                               "grant_expired",
                                               "keys_rotated",
                                               "api_key_created",
                                               "api_key_revoked",
                                               "retention_run",
                                               "released",
                                               "step_recorded",
                                               "skipped",
                                               "flow_submitted",
                                               "flow_cancelling",
                                               "flow_completed",
                                               "flow_failed",
                                               "flow_cancelled",
                                               "flow_reopened",
                                               "flow_extended",
                                               "flow_sealed",
                                               "joining",
                                               "held_back",
                                               "waitpoint_opened",
                                               "suspended",
                                               "signal_delivered",
                                               "wait_ended",
                                               "wait_escalated",
                                               "waitpoint_closed",
                                               "waitpoint_reissued",
                                               "hook_created",
                                               "hook_removed",
                                               "hook_rotated",
                                               "schedule_created",
                                               "schedule_updated",
                                               "schedule_paused",
                                               "schedule_resumed",
                                               "schedule_deleted",
                                               "schedule_fired",
                                               "schedule_skipped",
                                               "schedule_buffered",
                                               "limited",
                                               "limit_created",
                                               "limit_changed",
                                               "limit_removed",
                                               "debounced",
                                               "redrive_created",
                                               "redrive_paused",
                                               "redrive_resumed",
                                               "redrive_cancelled",
                                               "redrive_completed",
                                               "budget_warning",
                                               "budget_exceeded",
                                               "budget_paused",
                                               "budget_resumed",
                                               "budget_reset",
                                               "budget_adjusted"};
constexpr std::array<Names, 4> redrive_states = {"running", "paused", "completed", "cancelled"};
constexpr std::array<Names, 6> redrive_refusals = {"max_replays", "flow_node", "not_failed",
                                                   "not_found",   "damaged",   "unique_key"};
constexpr std::array<Names, 3> schedule_states = {"active", "paused", "deleted"};
constexpr std::array<Names, 4> overlap_policies = {"skip", "buffer_one", "allow", "cancel_running"};
constexpr std::array<Names, 3> catch_up_policies = {"none", "last", "all"};
constexpr std::array<Names, 3> firing_causes = {"timer", "trigger", "backfill"};
constexpr std::array<Names, 5> breach_actions = {"deny", "pause", "fail", "cancel_pending", "notify"};
constexpr std::array<Names, 3> budget_changes = {"reset", "resume", "adjust"};
constexpr std::array<Names, 4> limit_changes = {"created", "changed", "unchanged", "removed"};
constexpr std::array<Names, 5> firing_outcomes = {"fired", "skipped", "buffered", "missed", "refused"};
constexpr std::array<Names, 8> edge_kinds = {"on_success", "on_failure", "on_finish", "optional",
                                             "join",       "within",     "part",      "output"};
constexpr std::array<Names, 4> group_policies = {"all", "any", "quorum", "gather"};
constexpr std::array<Names, 2> group_rests = {"let_run", "cancel_remaining"};
constexpr std::array<Names, 2> failure_policies = {"fail_fast", "continue"};
constexpr std::array<Names, 7> flow_states = {"building",  "running", "blocked",  "cancelling",
                                              "completed", "failed",  "cancelled"};
constexpr std::array<Names, 3> flow_cancel_policies = {"flow_only", "cancel_pending", "cancel_all"};
constexpr std::array<Names, 3> edge_states = {"waiting", "satisfied", "unsatisfiable"};
constexpr std::array<Names, 3> count_bys = {"signals", "waitpoints", "sources"};
constexpr std::array<Names, 5> wait_timeouts = {"fail", "cancel", "expire", "resume", "escalate"};
constexpr std::array<Names, 4> wait_causes = {"signals", "veto", "timeout", "operator"};
constexpr std::array<Names, 4> signal_effects = {"kept", "accepted", "resumed", "ignored"};
constexpr std::array<Names, 4> hook_schemes = {"github", "stripe", "slack", "hmac"};
constexpr std::array<Names, 2> hook_actions = {"signal", "create"};
constexpr std::array<Names, 5> hook_outcomes = {"delivered", "created", "duplicate", "dropped", "challenge"};
constexpr std::array<Names, 2> approval_decisions = {"approve", "reject"};
constexpr std::array<Names, 3> conflict_rules = {"reject", "return", "replace"};
constexpr std::array<Names, 2> throttle_rules = {"reject", "return"};
constexpr std::array<Names, 4> submit_key_kinds = {"none", "unique", "debounce", "throttle"};
constexpr std::array<Names, 6> create_outcomes = {"created",  "duplicate", "returned",
                                                  "replaced", "debounced", "throttled"};
constexpr std::array<Names, 3> group_states = {"waiting", "fired", "impossible"};

template <class Enum, std::size_t n>
std::string_view name_of(const std::array<Names, n>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  FF_CHECK(index < n);
  return names[index];
}

template <class Enum, std::size_t n>
Result<Enum> value_of(const std::array<Names, n>& names, std::string_view text, const char* field) {
  std::string allowed;
  for (std::size_t i = 0; i < n; ++i) {
    if (names[i].empty()) continue;
    if (names[i] == text) return static_cast<Enum>(i);
    if (!allowed.empty()) allowed += ", ";
    allowed += names[i];
  }
  return fail(Errc::invalid_argument, "unknown value \"" + std::string(text) + "\"; allowed: " + allowed, field);
}

bool is_printable(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return !text.empty();
}

}  // namespace

std::string_view to_string(Phase value) { return name_of(phases, value); }
std::string_view to_string(Outcome value) { return name_of(outcomes, value); }
std::string_view to_string(Ownership value) { return name_of(ownerships, value); }
std::string_view to_string(Eligibility value) { return name_of(eligibilities, value); }
std::string_view to_string(BlockingReason value) { return name_of(blocking_reasons, value); }
std::string_view to_string(AttemptPhase value) { return name_of(attempt_phases, value); }
std::string_view to_string(PublicState value) { return name_of(public_states, value); }
std::string_view to_string(AttemptType value) { return name_of(attempt_types, value); }
std::string_view to_string(AttemptState value) { return name_of(attempt_states, value); }
std::string_view to_string(LeaseLoss value) { return name_of(lease_losses, value); }
std::string_view to_string(LaneState value) { return name_of(lane_states, value); }
std::string_view to_string(HandleKind value) { return name_of(handle_kinds, value); }
std::string_view to_string(GrantKind value) { return name_of(grant_kinds, value); }
std::string_view to_string(ApiRole value) { return name_of(api_roles, value); }
std::string_view to_string(StepState value) { return name_of(step_states, value); }
std::string_view to_string(WorkerState value) { return name_of(worker_states, value); }
std::string_view to_string(EventType value) {
  return value == EventType::unknown ? "unknown" : name_of(event_types, value);
}

std::string_view to_string(EdgeKind value) { return name_of(edge_kinds, value); }
std::string_view to_string(GroupPolicy value) { return name_of(group_policies, value); }
std::string_view to_string(GroupRest value) { return name_of(group_rests, value); }
std::string_view to_string(FailurePolicy value) { return name_of(failure_policies, value); }
std::string_view to_string(FlowState value) { return name_of(flow_states, value); }
std::string_view to_string(FlowCancelPolicy value) { return name_of(flow_cancel_policies, value); }
std::string_view to_string(EdgeState value) { return name_of(edge_states, value); }
std::string_view to_string(GroupState value) { return name_of(group_states, value); }

std::string_view to_string(CountBy value) { return name_of(count_bys, value); }
std::string_view to_string(OnWaitTimeout value) { return name_of(wait_timeouts, value); }
std::string_view to_string(WaitCause value) { return name_of(wait_causes, value); }
std::string_view to_string(SignalEffect value) { return name_of(signal_effects, value); }
std::string_view to_string(HookScheme value) { return name_of(hook_schemes, value); }
std::string_view to_string(HookAction value) { return name_of(hook_actions, value); }
std::string_view to_string(HookOutcome value) { return name_of(hook_outcomes, value); }
std::string_view to_string(ApprovalDecision value) { return name_of(approval_decisions, value); }
std::string_view to_string(ScheduleState value) { return name_of(schedule_states, value); }
std::string_view to_string(OverlapPolicy value) { return name_of(overlap_policies, value); }
std::string_view to_string(CatchUpPolicy value) { return name_of(catch_up_policies, value); }
std::string_view to_string(FiringCause value) { return name_of(firing_causes, value); }
std::string_view to_string(OnConflict value) { return name_of(conflict_rules, value); }
std::string_view to_string(OnThrottle value) { return name_of(throttle_rules, value); }
std::string_view to_string(SubmitKeyKind value) { return name_of(submit_key_kinds, value); }
std::string_view to_string(CreateOutcome value) { return name_of(create_outcomes, value); }
Result<OnConflict> parse_on_conflict(std::string_view text) {
  return value_of<OnConflict>(conflict_rules, text, "unique.on_conflict");
}
Result<OnThrottle> parse_on_throttle(std::string_view text) {
  return value_of<OnThrottle>(throttle_rules, text, "throttle.on_limit");
}
std::string_view to_string(BreachAction value) { return name_of(breach_actions, value); }
std::string_view to_string(BudgetChange value) { return name_of(budget_changes, value); }
std::string_view to_string(RedriveState value) { return name_of(redrive_states, value); }
std::string_view to_string(RedriveRefusal value) { return name_of(redrive_refusals, value); }
std::string_view to_string(LimitChange value) { return name_of(limit_changes, value); }
std::string_view to_string(FiringOutcome value) { return name_of(firing_outcomes, value); }
Result<RedriveState> parse_redrive_state(std::string_view text) {
  return value_of<RedriveState>(redrive_states, text, "state");
}
Result<ScheduleState> parse_schedule_state(std::string_view text) {
  return value_of<ScheduleState>(schedule_states, text, "state");
}
Result<OverlapPolicy> parse_overlap_policy(std::string_view text) {
  return value_of<OverlapPolicy>(overlap_policies, text, "overlap");
}
Result<CatchUpPolicy> parse_catch_up_policy(std::string_view text) {
  return value_of<CatchUpPolicy>(catch_up_policies, text, "catch_up");
}

Result<FlowState> parse_flow_state(std::string_view text) { return value_of<FlowState>(flow_states, text, "state"); }
Result<FlowCancelPolicy> parse_flow_cancel_policy(std::string_view text) {
  return value_of<FlowCancelPolicy>(flow_cancel_policies, text, "policy");
}
Result<PublicState> parse_public_state(std::string_view text) {
  return value_of<PublicState>(public_states, text, "state");
}
Result<LaneState> parse_lane_state(std::string_view text) { return value_of<LaneState>(lane_states, text, "state"); }
Result<BreachAction> parse_breach_action(std::string_view text) {
  return value_of<BreachAction>(breach_actions, text, "on_hard_limit");
}
Result<EventType> parse_event_type(std::string_view text) { return value_of<EventType>(event_types, text, "type"); }

EventType event_type_of(std::uint8_t stored) {
  return stored < event_types.size() ? static_cast<EventType>(stored) : EventType::unknown;
}

bool is_terminal(EventType type) {
  return type == EventType::completed || type == EventType::failed || type == EventType::cancelled ||
         type == EventType::expired || type == EventType::skipped;
}

bool ends_flow(EventType type) {
  return type == EventType::flow_completed || type == EventType::flow_failed || type == EventType::flow_cancelled;
}

bool has_ended(FlowState state) { return state >= FlowState::completed; }

std::string name_of_record(const Key& key) {
  if (key.bytes.size() < 3) return "record " + to_hex(key.bytes);
  const std::string id(key.id());
  switch (key.kind()) {
    case RecordKind::execution:
      if (key.bytes.size() == execution_key_bytes) return "execution " + to_string(execution_id_of(key));
      break;
    case RecordKind::flow:
      if (key.bytes.size() == execution_key_bytes) return "flow " + to_string(flow_id_of(key));
      break;
    case RecordKind::flow_name: return "name of a node " + to_hex(id);
    case RecordKind::lane:
      if (is_printable(id)) return "lane " + id;
      break;
    case RecordKind::name_space:
      if (is_printable(id)) return "namespace " + id;
      break;
    case RecordKind::worker: {
      const std::size_t zero = id.find('\0');
      if (zero != std::string::npos && is_printable(id.substr(0, zero)) && is_printable(id.substr(zero + 1))) {
        return "worker " + id.substr(zero + 1) + " of namespace " + id.substr(0, zero);
      }
      break;
    }
    case RecordKind::schedule: {
      const std::string name = schedule_name_of(key);
      if (is_printable(name)) return "schedule " + name + " of namespace " + id.substr(0, id.find('\0'));
      break;
    }
    case RecordKind::schedule_flow: {
      const std::size_t zero = id.find('\0');
      if (zero != std::string::npos && is_printable(id.substr(zero + 1))) {
        return "flow of schedule " + id.substr(zero + 1) + " of namespace " + id.substr(0, zero);
      }
      break;
    }
    case RecordKind::idempotency: return "idempotency key " + to_hex(id);
    case RecordKind::keyring: return "the signing keys";
    case RecordKind::api_keys: return "the API keys";
    case RecordKind::hooks: return "the hooks";
    case RecordKind::limits: return "the limits";
    case RecordKind::submit_key: return "key at submission " + to_hex(id);
    case RecordKind::limit_pool: return "pool of a limit " + to_hex(id);
    case RecordKind::dead_letter: return "dead letter " + to_hex(id);
    case RecordKind::redrive: return "redrive " + redrive_id_of(key);
  }
  return "record " + to_hex(key.bytes);
}

}  // namespace flowfabric
