// The types of the engine: states, policies, leases, attempts, events. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/ids.hpp>

namespace flowfabric {

// ---- The state vector. Stored facts are few; everything a user sees is derived from them. -------------------------

enum class Phase : std::uint8_t { runnable, active, suspended, terminal };
enum class Outcome : std::uint8_t { none, success, failed, cancelled, expired, skipped };
enum class Ownership : std::uint8_t { unowned, leased, lease_expired_reclaimable, lease_revoked };
enum class Eligibility : std::uint8_t {
  not_applicable,
  eligible_now,
  not_eligible_until_time,
  blocked_by_dependencies,
  blocked_by_budget,
  blocked_by_quota,
  blocked_by_lane_state,
  blocked_by_operator,
};
enum class BlockingReason : std::uint8_t {
  none,
  waiting_for_worker,
  waiting_for_capable_worker,
  waiting_for_delay,
  waiting_for_retry_backoff,
  waiting_for_reclaim_grace,
  waiting_for_reclaim,
  paused_by_lane,
  reserved_by_grant,
  waiting_for_children,  // nodes of its flow on which it depends
  waiting_for_signal,
  waiting_for_approval,
  waiting_for_limit,
  waiting_for_budget,
};
enum class AttemptPhase : std::uint8_t {
  pending_first_attempt,
  running_attempt,
  attempt_interrupted,
  pending_retry_attempt,
  pending_reclaim_attempt,
  pending_replay_attempt,
  attempt_terminal,
  none,
};
enum class PublicState : std::uint8_t {
  waiting,
  delayed,
  rate_limited,
  waiting_children,
  active,
  suspended,
  resumable,
  completed,
  failed,
  cancelled,
  expired,
  skipped,
};

struct StateVector {
  Phase lifecycle_phase = Phase::runnable;
  Ownership ownership_state = Ownership::unowned;
  Eligibility eligibility_state = Eligibility::eligible_now;
  BlockingReason blocking_reason = BlockingReason::none;
  Outcome terminal_outcome = Outcome::none;
  AttemptPhase attempt_state = AttemptPhase::pending_first_attempt;
  PublicState public_state = PublicState::waiting;

  friend bool operator==(const StateVector&, const StateVector&) = default;
};

enum class AttemptType : std::uint8_t { initial, retry, reclaim, replay };
enum class AttemptState : std::uint8_t {
  started,
  suspended,  // its lease was given up by delay, release or suspend; the same attempt goes on later
  ended_success,
  ended_failure,
  ended_cancelled,
  interrupted,            // the lease was lost; a reclaim may follow
  interrupted_reclaimed,  // replaced by a reclaim attempt
};

enum class LeaseLoss : std::uint8_t { none, expired, revoked };
enum class LaneState : std::uint8_t { active, paused, draining, disabled };
enum class HandleKind : std::uint8_t { fresh, resumed, reclaimed };
enum class GrantKind : std::uint8_t { claim, reclaim };
// The permissions of a client of the HTTP API. Each role includes the previous ones: read; submit and work; operate;
// manage keys.
enum class ApiRole : std::uint8_t { viewer, worker, operating, admin };
// The state of a registered worker. Only live workers count; the others are kept for a day, for inspection.
enum class WorkerState : std::uint8_t { live, lapsed, marked_dead, ttl_swept };

std::string_view to_string(Phase value);
std::string_view to_string(Outcome value);
std::string_view to_string(Ownership value);
std::string_view to_string(Eligibility value);
std::string_view to_string(BlockingReason value);
std::string_view to_string(AttemptPhase value);
std::string_view to_string(PublicState value);
std::string_view to_string(AttemptType value);
std::string_view to_string(AttemptState value);
std::string_view to_string(LeaseLoss value);
std::string_view to_string(LaneState value);
std::string_view to_string(HandleKind value);
std::string_view to_string(GrantKind value);
std::string_view to_string(ApiRole value);
std::string_view to_string(WorkerState value);
Result<PublicState> parse_public_state(std::string_view text);
Result<LaneState> parse_lane_state(std::string_view text);

// ---- Policy: frozen at creation. -----------------------------------------------------------------------------------

struct RetryPolicy {
  enum class Backoff : std::uint8_t { exponential, fixed };
  enum class Jitter : std::uint8_t { none, full };

  std::uint32_t max_retries = 3;  // attempts after the first; reclaims are not counted here
  Backoff backoff = Backoff::exponential;
  std::int64_t initial_delay_ms = 1000;  // every delay, if backoff is fixed
  std::int64_t max_delay_ms = 60000;
  std::uint32_t multiplier_percent = 200;           // 200: each delay is twice the previous one
  Jitter jitter = Jitter::none;                     // full: uniform in [0, delay]
  std::vector<std::string> retryable_categories{};  // empty: every category is retried

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

// How long an ended execution is kept, by outcome. Unset: the namespace's default, then the engine's (7 days).
struct RetentionPolicy {
  std::optional<std::int64_t> completed_ms{};
  std::optional<std::int64_t> failed_ms{};
  std::optional<std::int64_t> cancelled_ms{};
  std::optional<std::int64_t> expired_ms{};
  std::optional<std::int64_t> skipped_ms{};

  friend bool operator==(const RetentionPolicy&, const RetentionPolicy&) = default;
};

enum class OnLeaseLost : std::uint8_t { requeue, manual };

struct Policy {
  std::optional<RetryPolicy> retry{};  // absent: a failed attempt ends the execution
  std::optional<std::int64_t> attempt_timeout_ms{};
  OnLeaseLost on_lease_lost = OnLeaseLost::requeue;
  std::int64_t reclaim_grace_ms = 0;
  std::uint32_t max_reclaims = 1000;
  std::uint32_t max_replays = 10;
  std::int64_t dedup_window_ms = 24 * 3600 * 1000;  // how long an idempotency key is remembered
  RetentionPolicy retention{};

  friend bool operator==(const Policy&, const Policy&) = default;
};

// Reads a policy from JSON with the field names above. Unknown fields, wrong types and values out of range are refused,
// with the name of the field.
Result<Policy> parse_policy_json(std::string_view json);
// The reverse: every field that is set, in the order above; parsing it gives an equal policy.
std::string policy_to_json(const Policy& policy);

using Tags = std::map<std::string, std::string>;
// Numbers of a budget by dimension, like {"tokens": 1200}.
using Amounts = std::map<std::string, std::int64_t>;
// How many turns each has where others have one.
using Weights = std::map<std::string, std::uint32_t>;

// ---- Leases, attempts, failures. -----------------------------------------------------------------------------------

struct Lease {
  Uuid lease_id{};
  std::uint64_t lease_epoch = 0;
  std::string worker_namespace{};  // the namespace in which the holder is registered, if it is
  std::string worker_id{};
  std::string worker_instance_id{};
  std::uint32_t lease_ttl_ms = 0;
  TimestampMs acquired_at = 0;
  TimestampMs renewed_at = 0;
  TimestampMs expires_at = 0;

  friend bool operator==(const Lease&, const Lease&) = default;
};

struct Failure {
  std::string category{};
  std::string message{};
  std::string detail{};  // bytes

  friend bool operator==(const Failure&, const Failure&) = default;
};

struct Attempt {
  std::uint32_t attempt_index = 0;
  Uuid attempt_id{};
  AttemptType attempt_type = AttemptType::initial;
  AttemptState attempt_state = AttemptState::started;
  std::uint64_t lease_epoch = 0;  // of its latest lease
  std::string worker_id{};
  std::string worker_instance_id{};
  TimestampMs started_at = 0;
  TimestampMs suspended_at = 0;
  TimestampMs resumed_at = 0;
  TimestampMs ended_at = 0;
  TimestampMs timeout_at = 0;        // while it is running with a timeout
  std::int64_t timeout_left_ms = 0;  // while it is suspended with a timeout
  // Lineage: why this attempt exists.
  std::optional<std::uint32_t> previous_attempt_index{};
  std::string reason{};
  std::string requested_by{};
  std::optional<Failure> failure{};
  bool has_result = false;
  std::string result_encoding{};

  friend bool operator==(const Attempt&, const Attempt&) = default;
};

struct Progress {
  std::optional<std::uint8_t> percent{};
  std::string message{};
  TimestampMs updated_at = 0;

  friend bool operator==(const Progress&, const Progress&) = default;
};

// How a durable step stands in the record of its execution. Values are stored; append only.
enum class StepState : std::uint8_t { succeeded, failed, sleep, wait };

std::string_view to_string(StepState state);

// ---- Events --------------------------------------------------------------------------------------------------------

// Values are stored; append only.
enum class EventType : std::uint8_t {
  unknown = 0,  // only in events that cannot be decoded
  created = 1,
  ready = 2,  // a delay, a backoff or a grace period ended
  claimed = 3,
  resumed = 4,  // the same attempt continues under a new lease
  delayed = 5,
  retry_scheduled = 6,
  lease_expired = 7,
  lease_revoked = 8,
  completed = 9,
  failed = 10,
  cancelled = 11,
  expired = 12,
  replayed = 13,
  priority_changed = 14,
  tags_changed = 15,
  lane_changed = 16,
  namespace_changed = 17,
  worker_registered = 18,
  worker_refreshed = 19,  // registered again with other lanes, capabilities or TTL
  worker_marked_dead = 20,
  worker_ttl_swept = 21,
  worker_draining = 22,
  lease_reclaimed = 23,  // a new attempt under a reclaim grant
  grant_issued = 24,
  grant_expired = 25,
  keys_rotated = 26,
  api_key_created = 27,
  api_key_revoked = 28,
  retention_run = 29,  // an operator removed ended executions
  released = 30,       // the holder gave its lease back; the same attempt goes on with the next claim
  step_recorded = 31,  // `reason` is the step's name
  skipped = 32,        // a node of a flow that cannot run any more; `reason` says why
  flow_submitted = 33,
  flow_cancelling = 34,  // its nodes are being cancelled; `reason` says why
  flow_completed = 35,
  flow_failed = 36,
  flow_cancelled = 37,
  flow_reopened = 38,  // a replay of one of its nodes
  flow_extended = 39,  // nodes or edges were added; `reason` says how many
  flow_sealed = 40,    // nothing more is added from outside
  joining = 41,        // the holder gave its lease back until nodes that it has added have ended; `reason` names them
  held_back = 42,      // a node that could have been claimed got an incoming edge
  waitpoint_opened = 43,  // by a worker, ahead of a wait; `reason` is its name
  suspended = 44,         // the holder gave its lease back until signals have arrived; `reason` names the waitpoints
  signal_delivered = 45,  // `actor` is the sender; `reason` the name of the signal and of the waitpoint, and its effect
  wait_ended = 46,        // `reason` says why
  wait_escalated = 47,    // it was not over in time and goes on
  waitpoint_closed = 48,  // by an operator
  waitpoint_reissued = 49,  // an operator got a new token for it
  hook_created = 50,
  hook_removed = 51,
  hook_rotated = 52,  // it has a new secret
  schedule_created = 53,
  schedule_updated = 54,
  schedule_paused = 55,
  schedule_resumed = 56,
  schedule_deleted = 57,
  schedule_fired =
      58,  // `execution_id` or `flow_id` was created, `reason` is the scheduled time, `next_at` the next one
  schedule_skipped = 59,   // scheduled times without an execution or flow; `reason` says which and why
  schedule_buffered = 60,  // the firing of the time in `reason` waits for an execution or a flow to end
  limited = 61,            // a limit holds it back; `reason` is its name
  limit_created = 62,
  limit_changed = 63,
  limit_removed = 64,
  debounced = 65,  // it took the input of a later create with the debounce key in `reason`; `next_at` is its start
  redrive_created = 66,  // `redrive_id` names it
  redrive_paused = 67,
  redrive_resumed = 68,
  redrive_cancelled = 69,
  redrive_completed = 70,  // `reason` says how many it has replayed
  budget_warning = 71,     // an execution has taken a budget over its soft limit; `reason` names budget and dimension
  budget_exceeded = 72,    // what it wanted to spend, or has spent, is over a hard limit; `reason` as above
  budget_paused = 73,      // because a hard limit was reached; `reason` is the name of the budget
  budget_resumed = 74,     // by an operator, or because the budget was changed
  budget_reset = 75,       // a new period has begun, or an operator has set what was spent back to zero
  budget_adjusted = 76,    // an operator has changed what counts as spent
};

std::string_view to_string(EventType type);
Result<EventType> parse_event_type(std::string_view text);
bool is_terminal(EventType type);  // the end of an execution
bool ends_flow(EventType type);    // the end of a flow

struct Event {
  EventType type = EventType::created;
  TimestampMs at = 0;
  std::optional<ExecutionId> execution_id{};  // absent for events of flows, lanes, namespaces, workers and keys
  std::optional<ExecutionId> flow_id{};       // of events of flows and of their members
  std::string name_space{};
  std::string lane{};
  std::string kind{};
  std::string schedule{};            // of events of schedules: its name
  std::string redrive_id{};          // of events of redrives
  std::string worker_instance_id{};  // of worker events, and whoever took the lease: claimed, resumed, lease_reclaimed
  std::optional<std::uint32_t> attempt_index{};
  std::uint64_t lease_epoch = 0;
  PublicState state_before = PublicState::waiting;
  PublicState state_after = PublicState::waiting;
  std::string actor{};      // the actor: a worker instance, an operator, or "clock"
  std::string reason{};     // free text or a short code, as the type defines
  TimestampMs next_at = 0;  // when it runs next, for delayed, retry_scheduled and lease losses
  std::string cursor{};     // position in the log, filled when read
  // Why the stored event cannot be decoded. Then only the type, the time and what it belongs to are known.
  std::string damage{};

  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace flowfabric
