// The public types as JSON. Field names are those of the C++ structs, except `namespace`, which C++ does not allow.
#pragma once

#include <iterator>

#include <flowfabric/operations.hpp>

#include "base/limits.hpp"
#include "wire/bytes_shape.hpp"
#include "wire/error_shapes.hpp"
#include "wire/operating_shapes.hpp"
#include "wire/shape.hpp"
#include "wire/step_shapes.hpp"

namespace flowfabric::wire {

// ---- Enums

// For an enum with a to_string().
template <class Enum, Enum first_value, Enum last_value>
struct Range {
  static constexpr Enum first = first_value;
  static constexpr Enum last = last_value;
  static std::string_view name(Enum value) { return to_string(value); }
};

// For an enum without one: its values count from 0 and have these names.
template <class Enum, const auto& names>
struct NamedBy {
  static constexpr Enum first{};
  static constexpr Enum last = static_cast<Enum>(std::size(names) - 1);
  static std::string_view name(Enum value) { return names[static_cast<std::size_t>(value)]; }
};

template <>
struct EnumRange<PublicState> : Range<PublicState, PublicState::waiting, PublicState::skipped> {};
template <>
struct EnumRange<Phase> : Range<Phase, Phase::runnable, Phase::terminal> {};
template <>
struct EnumRange<Outcome> : Range<Outcome, Outcome::none, Outcome::skipped> {};
template <>
struct EnumRange<Ownership> : Range<Ownership, Ownership::unowned, Ownership::lease_revoked> {};
template <>
struct EnumRange<Eligibility> : Range<Eligibility, Eligibility::not_applicable, Eligibility::blocked_by_operator> {};
template <>
struct EnumRange<BlockingReason> : Range<BlockingReason, BlockingReason::none, BlockingReason::waiting_for_budget> {};
template <>
struct EnumRange<AttemptPhase> : Range<AttemptPhase, AttemptPhase::pending_first_attempt, AttemptPhase::none> {};
template <>
struct EnumRange<AttemptType> : Range<AttemptType, AttemptType::initial, AttemptType::replay> {};
template <>
struct EnumRange<AttemptState> : Range<AttemptState, AttemptState::started, AttemptState::interrupted_reclaimed> {};
template <>
struct EnumRange<LeaseLoss> : Range<LeaseLoss, LeaseLoss::none, LeaseLoss::revoked> {};
template <>
struct EnumRange<LaneState> : Range<LaneState, LaneState::active, LaneState::disabled> {};
template <>
struct EnumRange<HandleKind> : Range<HandleKind, HandleKind::fresh, HandleKind::reclaimed> {};
template <>
struct EnumRange<GrantKind> : Range<GrantKind, GrantKind::claim, GrantKind::reclaim> {};
template <>
struct EnumRange<ApiRole> : Range<ApiRole, ApiRole::viewer, ApiRole::admin> {};
template <>
struct EnumRange<WorkerState> : Range<WorkerState, WorkerState::live, WorkerState::ttl_swept> {};
template <>
struct EnumRange<StepState> : Range<StepState, StepState::succeeded, StepState::wait> {};
template <>
struct EnumRange<WaitCause> : Range<WaitCause, WaitCause::signals, WaitCause::by_operator> {};
template <>
struct EnumRange<EventType> : Range<EventType, EventType::created, EventType::budget_adjusted> {};

template <>
struct EnumRange<OnConflict> : Range<OnConflict, OnConflict::reject, OnConflict::replace> {};
template <>
struct EnumRange<OnThrottle> : Range<OnThrottle, OnThrottle::reject, OnThrottle::reuse> {};
template <>
struct EnumRange<SubmitKeyKind> : Range<SubmitKeyKind, SubmitKeyKind::unique, SubmitKeyKind::throttle> {};
template <>
struct EnumRange<CreateOutcome> : Range<CreateOutcome, CreateOutcome::created, CreateOutcome::throttled> {};

template <>
struct EnumRange<Errc> : Range<Errc, Errc::invalid_argument, Errc::internal> {};

inline constexpr std::string_view retryable_names[] = {"by_policy", "never", "force"};
template <>
struct EnumRange<FailRequest::Retryable> : NamedBy<FailRequest::Retryable, retryable_names> {};
inline constexpr std::string_view decision_names[] = {"retry_scheduled", "failed"};
template <>
struct EnumRange<FailReply::Decision> : NamedBy<FailReply::Decision, decision_names> {};
inline constexpr std::string_view backoff_names[] = {"exponential", "fixed"};
template <>
struct EnumRange<RetryPolicy::Backoff> : NamedBy<RetryPolicy::Backoff, backoff_names> {};
inline constexpr std::string_view jitter_names[] = {"none", "full"};
template <>
struct EnumRange<RetryPolicy::Jitter> : NamedBy<RetryPolicy::Jitter, jitter_names> {};
inline constexpr std::string_view on_lease_lost_names[] = {"requeue", "manual"};
template <>
struct EnumRange<OnLeaseLost> : NamedBy<OnLeaseLost, on_lease_lost_names> {};

// ---- Policy

template <>
struct Shape<RetryPolicy> {
  using R = RetryPolicy;
  static constexpr std::string_view name = "RetryPolicy";
  static constexpr auto fields = std::tuple{
      field("max_retries", &R::max_retries, "Attempts after the first (3).").up_to(limits::max_max_retries),
      field("backoff", &R::backoff, "How the delays grow (exponential)."),
      field("initial_delay_ms", &R::initial_delay_ms, "The first delay; every delay when backoff is fixed (1000).")
          .up_to(limits::max_duration_ms),
      field("max_delay_ms", &R::max_delay_ms, "The longest delay (60000).").up_to(limits::max_duration_ms),
      field("multiplier_percent", &R::multiplier_percent, "Each delay in percent of the previous one (200).")
          .within(limits::min_multiplier_percent, limits::max_multiplier_percent),
      field("jitter", &R::jitter, "full: a random delay from 0 to the computed one (none)."),
      field("retryable_categories", &R::retryable_categories,
            "Only failures of these categories are retried; empty: all.")
          .up_to(limits::max_retry_categories)
          .each_up_to(limits::max_category_bytes),
  };
};

template <>
struct Shape<RetentionPolicy> {
  using R = RetentionPolicy;
  static constexpr std::string_view name = "RetentionPolicy";
  static constexpr auto fields = std::tuple{
      field("completed_ms", &R::completed_ms, "How long completed executions are kept.").up_to(limits::max_duration_ms),
      field("failed_ms", &R::failed_ms, "How long failed executions are kept.").up_to(limits::max_duration_ms),
      field("cancelled_ms", &R::cancelled_ms, "How long cancelled executions are kept.").up_to(limits::max_duration_ms),
      field("expired_ms", &R::expired_ms, "How long expired executions are kept.").up_to(limits::max_duration_ms),
      field("skipped_ms", &R::skipped_ms, "How long skipped executions are kept.").up_to(limits::max_duration_ms),
  };
};

template <>
struct Shape<Policy> {
  static constexpr std::string_view name = "Policy";
  static constexpr auto fields = std::tuple{
      field("retry", &Policy::retry, "Absent: a failed attempt ends the execution."),
      field("attempt_timeout_ms", &Policy::attempt_timeout_ms, "Maximum duration of one attempt.")
          .within(1, limits::max_duration_ms),
      field("on_lease_lost", &Policy::on_lease_lost,
            "requeue: it becomes claimable again (default). manual: it waits for a reclaim."),
      field("reclaim_grace_ms", &Policy::reclaim_grace_ms, "Delay before it is claimable again after a lost lease (0).")
          .up_to(limits::max_duration_ms),
      field("max_reclaims", &Policy::max_reclaims,
            "Maximum number of reclaims; the next lost lease ends the execution (1000).")
          .up_to(limits::max_max_reclaims),
      field("max_replays", &Policy::max_replays, "Maximum number of replays (10).").up_to(limits::max_max_replays),
      field("dedup_window_ms", &Policy::dedup_window_ms, "How long the idempotency key is remembered (a day).")
          .within(1, limits::max_duration_ms),
      field("retention", &Policy::retention,
            "How long it is kept after its end; absent: the default of the namespace."),
  };
};

// ---- Executions

inline constexpr std::string_view about_submit_key = "The key, in the namespace of the execution.";

template <>
struct Shape<UniqueKey> {
  using K = UniqueKey;
  static constexpr std::string_view name = "UniqueKey";
  static constexpr auto fields = std::tuple{
      required("key", &K::key, about_submit_key).within(1, limits::max_submit_key_bytes),
      field("on_conflict", &K::on_conflict,
            "If another execution has the key: `reject` (409 `conflict`, the default), `return` that execution, or "
            "`replace` it, which cancels it even while it is running."),
  };
};

template <>
struct Shape<Debounce> {
  using K = Debounce;
  static constexpr std::string_view name = "Debounce";
  static constexpr auto fields = std::tuple{
      required("key", &K::key, about_submit_key).within(1, limits::max_submit_key_bytes),
      required("delay_ms", &K::delay_ms, "It starts when no create with the key has come for so long.")
          .within(1, limits::max_duration_ms),
      field("max_wait_ms", &K::max_wait_ms, "It starts so long after the first create at the latest; absent: no bound.")
          .within(1, limits::max_duration_ms),
  };
};

template <>
struct Shape<Throttle> {
  using K = Throttle;
  static constexpr std::string_view name = "Throttle";
  static constexpr auto fields = std::tuple{
      required("key", &K::key, about_submit_key).within(1, limits::max_submit_key_bytes),
      field("count", &K::count, "So many are created in any period (1).").within(1, limits::max_rate_count),
      required("period_ms", &K::period_ms, "The period.").within(1, limits::max_duration_ms),
      field("on_limit", &K::on_limit,
            "What happens to others: `reject` (429 `throttled` with `retry_after_ms`, the default), or `return` the "
            "execution that was created last."),
  };
};

template <>
struct Shape<SubmitKey> {
  using K = SubmitKey;
  static constexpr std::string_view name = "SubmitKey";
  static constexpr auto fields = std::tuple{
      field("kind", &K::kind, "What the key is for."),
      field("key", &K::key, "The key."),
      field("held", &K::held,
            "unique: no other execution can have the key now. debounce: creates with the key still change this one."),
  };
};

template <>
struct Shape<CreateRequest> {
  using R = CreateRequest;
  static constexpr std::string_view name = "CreateRequest";
  static constexpr auto fields = std::tuple{
      field("namespace", &R::name_space, "The namespace of the execution (default).")
          .within(1, limits::max_namespace_bytes),
      field("lane", &R::lane, "The lane, which is the queue (default).").within(1, limits::max_lane_bytes),
      required("kind", &R::kind, "The job type, which selects the handler.").within(1, limits::max_kind_bytes),
      LabelledJson<&R::payload, &R::payload_encoding>{"payload", about_json_in},
      LabelledBase64<&R::payload, &R::payload_encoding>{"payload_base64", about_base64_in},
      field("payload_encoding", &R::payload_encoding, "The label of the payload, for the handler.")
          .up_to(limits::max_encoding_bytes),
      field("priority", &R::priority, "Higher first, -32768 to 32767 (0).")
          .within(limits::min_priority, limits::max_priority),
      field("tags", &R::tags, "Up to 64; keys like `team.name`.").up_to(limits::max_tags),
      field("required_capabilities", &R::required_capabilities, "Capabilities that a worker must offer to claim it.")
          .up_to(limits::max_capabilities)
          .each_up_to(limits::max_capabilities_bytes),
      field("policy", &R::policy, "Retries, timeouts, lost leases, retention. Cannot be changed later."),
      moment("delay_until", &R::delay_until, "Not claimable before this time.").up_to(limits::max_timestamp_ms),
      moment("deadline_at", &R::deadline_at, "The execution expires at this time if it has not ended.")
          .up_to(limits::max_timestamp_ms),
      field("delay_ms", &R::delay_ms, "Instead of `delay_until`: so long from now, by the store's clock.")
          .up_to(limits::max_duration_ms),
      field("deadline_ms", &R::deadline_ms, "Instead of `deadline_at`: so long from now, by the store's clock.")
          .within(1, limits::max_duration_ms),
      field("creator", &R::creator, "The requester.").up_to(limits::max_creator_bytes),
      field("idempotency_key", &R::idempotency_key,
            "Unique in the namespace: repeating the call makes nothing new. Also as the header `Idempotency-Key`.")
          .up_to(limits::max_idempotency_key_bytes),
      field("id", &R::id, "A UUID chosen by the client; generated if absent."),
      field("traceparent", &R::traceparent,
            "W3C trace context, passed to the worker that claims it. Absent: the header of that name."),
      field("unique", &R::unique,
            "At most one execution that has not ended has this key. Excludes `debounce`, `throttle`."),
      field("debounce", &R::debounce,
            "One execution for creates that come shortly after each other, with the input of the newest. Excludes "
            "`unique`, `throttle`."),
      field("throttle", &R::throttle, "So many executions a period. Excludes `unique`, `debounce`."),
      field("reserve", &R::reserve,
            "What a lease reserves of its budgets, instead of their defaults: {\"tokens\": 2000}.")
          .up_to(limits::max_dimensions),
  };
};

template <>
struct Shape<Created> {
  static constexpr std::string_view name = "Created";
  static constexpr auto fields = std::tuple{
      field("execution_id", &Created::execution_id, "Its id."),
      field("public_state", &Created::public_state,
            "Its state now; absent for a duplicate whose execution retention has removed since."),
      field("duplicate", &Created::duplicate, "This call has created nothing; `outcome` says why."),
      field(
          "outcome", &Created::outcome,
          "created; duplicate: an earlier request with this idempotency key or id has created it; returned: it has the "
          "unique key already; replaced: created, and `replaced` was cancelled; debounced: it waits, and has the input "
          "of this call now; throttled: it was the last to be created under the key of the throttle."),
      field("replaced", &Created::replaced, "The execution that had the unique key and was cancelled."),
  };
};

template <>
struct Shape<ClaimRequest> {
  using R = ClaimRequest;
  static constexpr std::string_view name = "ClaimRequest";
  static constexpr auto fields = std::tuple{
      field("worker_namespace", &R::worker_namespace,
            "The namespace in which the worker is registered, if it is (default).")
          .within(1, limits::max_namespace_bytes),
      required("worker_id", &R::worker_id, "The pool of workers.").within(1, limits::max_worker_id_bytes),
      required("worker_instance_id", &R::worker_instance_id, "The worker process.")
          .within(1, limits::max_worker_id_bytes),
      field("namespace", &R::name_space, "Only executions of this namespace; absent: of all namespaces.")
          .within(1, limits::max_namespace_bytes),
      field("lanes", &R::lanes, "The lanes to claim from, up to 64 (default).")
          .within(1, limits::max_claim_lanes)
          .each_up_to(limits::max_lane_bytes),
      // Left out, so that servers of older versions take claims without weights.
      if_set("lane_weights", &R::lane_weights,
             "Of lanes that have work, so many executions are taken of each where one is taken of a lane without a "
             "weight, 1 "
             "to 1000: {\"mail\": 3}. Absent: the order of service is that of all lanes together.")
          .up_to(limits::max_claim_lanes),
      field("capabilities", &R::capabilities, "The capabilities that the worker offers.")
          .up_to(limits::max_capabilities)
          .each_up_to(limits::max_capabilities_bytes),
      field("max_executions", &R::max_executions, "Maximum number of executions, 1 to 1000 (1).")
          .within(1, limits::max_claim),
      field("lease_ttl_ms", &R::lease_ttl_ms, "Duration of a lease without renewal (30000).")
          .within(limits::min_lease_ttl_ms, limits::max_lease_ttl_ms),
      field("wait_ms", &R::wait_ms, "How long to wait for work, up to 60000 (0).").up_to(limits::max_http_wait_ms),
  };
};

template <>
struct Shape<Failure> {
  static constexpr std::string_view name = "Failure";
  static constexpr auto fields = std::tuple{
      field("category", &Failure::category, "The kind of failure; retry policies can select by it."),
      if_set("message", &Failure::message, "A message for people."),
      PlainJson<&Failure::detail>{"detail", "Present if the detail is JSON."},
      PlainBase64<&Failure::detail>{"detail_base64", "Present otherwise."},
  };
};

template <>
struct Shape<Attempt> {
  static constexpr std::string_view name = "Attempt";
  static constexpr auto fields = std::tuple{
      field("attempt_index", &Attempt::attempt_index, "Counts from 0."),
      field("attempt_id", &Attempt::attempt_id, "Its UUID."),
      field("attempt_type", &Attempt::attempt_type, "Why the attempt was started."),
      field("attempt_state", &Attempt::attempt_state, "Its state."),
      field("lease_epoch", &Attempt::lease_epoch, "Of its latest lease."),
      field("worker_id", &Attempt::worker_id, "The pool of its worker."),
      field("worker_instance_id", &Attempt::worker_instance_id, "The worker process."),
      moment("started_at", &Attempt::started_at, "When it was claimed."),
      moment("suspended_at", &Attempt::suspended_at, "When its worker delayed it."),
      moment("resumed_at", &Attempt::resumed_at, "When it continued."),
      moment("ended_at", &Attempt::ended_at, "When it ended."),
      moment("timeout_at", &Attempt::timeout_at, "When it times out."),
      moment("timeout_left_ms", &Attempt::timeout_left_ms,
             "The remaining time until its timeout, while it is delayed."),
      field("previous_attempt_index", &Attempt::previous_attempt_index, "The attempt that it follows."),
      if_set("reason", &Attempt::reason, "Why this attempt exists."),
      if_set("requested_by", &Attempt::requested_by, "The requester."),
      field("failure", &Attempt::failure, "The failure."),
      field("has_result", &Attempt::has_result, "Whether it has a result."),
      if_set("result_encoding", &Attempt::result_encoding, "The label of the result."),
  };
};

template <>
struct Shape<Lease> {
  static constexpr std::string_view name = "Lease";
  static constexpr auto fields = std::tuple{
      field("lease_id", &Lease::lease_id, "Its UUID."),
      field("lease_epoch", &Lease::lease_epoch, "Increases with every lease of the execution."),
      field("worker_namespace", &Lease::worker_namespace, "The namespace in which the holder is registered, if it is."),
      field("worker_id", &Lease::worker_id, "The pool of the holder."),
      field("worker_instance_id", &Lease::worker_instance_id, "The holder."),
      field("lease_ttl_ms", &Lease::lease_ttl_ms, "Duration of the lease without renewal."),
      moment("acquired_at", &Lease::acquired_at, "When it was acquired."),
      moment("renewed_at", &Lease::renewed_at, "When it was renewed last."),
      moment("expires_at", &Lease::expires_at, "When it expires."),
  };
};

template <>
struct Shape<FlowInput> {
  using I = FlowInput;
  static constexpr std::string_view name = "FlowInput";
  static constexpr auto fields = std::tuple{
      field("name", &I::name, "The upstream node."),
      field("execution_id", &I::execution_id, "Its execution."),
      field("outcome", &I::outcome, "How it ended."),
      LabelledJson<&I::result, &I::result_encoding>{"result", about_json_out},
      LabelledBase64<&I::result, &I::result_encoding>{"result_base64", about_base64_out},
      if_set("result_encoding", &I::result_encoding, "The label of the result."),
      field("by_reference", &I::by_reference,
            "The result is too large to come along: read the result of the execution."),
      field("failure", &I::failure, "Why it failed."),
  };
};

template <>
struct Shape<ClaimedExecution> {
  using C = ClaimedExecution;
  static constexpr std::string_view name = "ClaimedExecution";
  static constexpr auto fields = std::tuple{
      field("execution_id", &C::execution_id, "Its id."),
      field("namespace", &C::name_space, "The namespace of the execution."),
      field("lane", &C::lane, "The lane (queue)."),
      field("kind", &C::kind, "The job type, which selects the handler."),
      LabelledJson<&C::payload, &C::payload_encoding>{"payload", about_json_out},
      LabelledBase64<&C::payload, &C::payload_encoding>{"payload_base64", about_base64_out},
      if_set("payload_encoding", &C::payload_encoding, "The label of the payload."),
      field("priority", &C::priority, "Higher first."),
      field("tags", &C::tags, "Its tags."),
      field("attempt", &C::attempt, "The attempt that starts or continues."),
      field("lease", &C::lease, "The lease of the worker."),
      moment("created_at", &C::created_at, "When it was created."),
      moment("deadline_at", &C::deadline_at, "The execution expires at this time if it has not ended."),
      if_set("traceparent", &C::traceparent, "W3C trace context of the submitter."),
      field("handle_kind", &C::handle_kind, "A new attempt, a continued one, or one that follows a lost lease."),
      field("handle", &C::handle, "Proves ownership of the lease. Opaque."),
      field("steps", &C::steps, "What earlier runs of the handler have recorded, by position, up to 256 KiB."),
      field("next_step_position", &C::next_step_position, "Where the rest of them begins; 0: these are all."),
      field("checkpoint", &C::checkpoint, "The last checkpoint, if there is one."),
      field("last_wait", &C::last_wait, "How the last wait of the execution ended, if it had one."),
      field("flow_id", &C::flow_id, "The flow that it is a node of."),
      if_set("node", &C::node, "Its name in that flow."),
      field("inputs", &C::inputs, "What its upstream nodes have left for it, up to 256 KiB of results."),
      field("next_input", &C::next_input, "Where the rest of the inputs begins; 0: these are all."),
  };
};

template <>
struct Shape<RenewVerdict> {
  static constexpr std::string_view name = "RenewVerdict";
  static constexpr auto fields = std::tuple{
      moment("expires_at", &RenewVerdict::expires_at, "The new expiry of the lease."),
      field("lease_epoch", &RenewVerdict::lease_epoch, "Epoch of the lease."),
      field("handle", &RenewVerdict::handle, "Use this one from now on: it is signed with the newest key."),
  };
};

template <>
struct Shape<CompleteRequest> {
  using R = CompleteRequest;
  static constexpr std::string_view name = "CompleteRequest";
  static constexpr auto fields = std::tuple{
      LabelledJson<&R::result, &R::result_encoding>{"result", about_json_in},
      LabelledBase64<&R::result, &R::result_encoding>{"result_base64", about_base64_in},
      field("result_encoding", &R::result_encoding, "The label of the result.").up_to(limits::max_encoding_bytes),
  };
};

template <>
struct Shape<FailRequest> {
  using R = FailRequest;
  static constexpr std::string_view name = "FailRequest";
  static constexpr auto fields = std::tuple{
      field("category", &R::category, "The kind of failure; retry policies can select by it (error).")
          .within(1, limits::max_category_bytes),
      field("message", &R::message, "A message for people.").up_to(limits::max_message_bytes),
      PlainJson<&R::detail>{"detail", "Any JSON; stored byte for byte, up to 64 KiB."},
      PlainBase64<&R::detail>{"detail_base64", about_base64_in},
      field("retryable", &R::retryable,
            "Whether the policy decides about a retry, or a retry is forced or prevented (by_policy)."),
      field("retry_after_ms", &R::retry_after_ms, "If it is retried, after this time instead of the policy's backoff.")
          .up_to(limits::max_duration_ms),
  };
};

template <>
struct Shape<FailReply> {
  static constexpr std::string_view name = "FailReply";
  static constexpr auto fields = std::tuple{
      field("decision", &FailReply::decision, "Whether the execution is retried."),
      moment("retry_at", &FailReply::retry_at, "When the retry is due."),
      if_set("next_attempt_index", &FailReply::next_attempt_index, "The index of the next attempt."),
      field("reason", &FailReply::reason, "The reason for the decision."),
  };
};

template <>
struct Shape<ExecutionSummary> {
  using S = ExecutionSummary;
  static constexpr std::string_view name = "ExecutionSummary";
  static constexpr auto fields = std::tuple{
      field("execution_id", &S::execution_id, "Its id."),
      field("namespace", &S::name_space, "The namespace of the execution."),
      field("lane", &S::lane, "The lane (queue)."),
      field("kind", &S::kind, "The job type, which selects the handler."),
      field("public_state", &S::public_state, "Its state."),
      field("priority", &S::priority, "Higher first."),
      field("tags", &S::tags, "Its tags."),
      moment("created_at", &S::created_at, "When it was created."),
      moment("started_at", &S::started_at, "When it was first claimed."),
      moment("finished_at", &S::finished_at, "When it ended."),
      field("attempt_count", &S::attempt_count, "How many attempts there were."),
      field("flow_id", &S::flow_id, "The flow that it is a node of."),
      if_set("node", &S::node, "Its name in that flow."),
      field("damage", &S::damage,
            "In listings: why the stored record cannot be decoded. The state is that of its last change then."),
  };
};

template <>
struct Shape<StateVector> {
  using S = StateVector;
  static constexpr std::string_view name = "StateVector";
  static constexpr auto fields = std::tuple{
      field("lifecycle_phase", &S::lifecycle_phase, "The main phase."),
      field("ownership_state", &S::ownership_state, "Whether it has a lease."),
      field("eligibility_state", &S::eligibility_state, "Whether it can be claimed."),
      field("blocking_reason", &S::blocking_reason, "Why it cannot be claimed."),
      field("terminal_outcome", &S::terminal_outcome, "How it ended."),
      field("attempt_state", &S::attempt_state, "The state of its attempt."),
      field("public_state", &S::public_state, "A summary in one word."),
  };
};

template <>
struct Shape<Reason> {
  static constexpr std::string_view name = "Reason";
  static constexpr auto fields = std::tuple{
      field("code", &Reason::code, "Stable."),
      field("sentence", &Reason::sentence, "A message for people."),
      moment("until", &Reason::until, "When the reason ends by itself."),
  };
};

template <>
struct Shape<Progress> {
  static constexpr std::string_view name = "Progress";
  static constexpr auto fields = std::tuple{
      field("percent", &Progress::percent, "0 to 100."),
      if_set("message", &Progress::message, "A message for people."),
      moment("updated_at", &Progress::updated_at, "When it was reported."),
  };
};

template <>
struct Shape<GrantInfo> {
  static constexpr std::string_view name = "GrantInfo";
  static constexpr auto fields = std::tuple{
      field("kind", &GrantInfo::kind, "Claim or reclaim."),
      field("grant_id", &GrantInfo::grant_id, "Follows from the key, which is not shown."),
      field("worker_id", &GrantInfo::worker_id, "The pool of workers that may use it."),
      field("worker_instance_id", &GrantInfo::worker_instance_id, "The process that it was issued for."),
      moment("expires_at", &GrantInfo::expires_at, "When it ends unless it is redeemed."),
      field("capability_hash", &GrantInfo::capability_hash, "As the scheduler gave it."),
      field("route_snapshot", &GrantInfo::route_snapshot, "As the scheduler gave it."),
      field("admission_summary", &GrantInfo::admission_summary, "As the scheduler gave it."),
  };
};

template <>
struct Shape<ExecutionDescription> {
  using D = ExecutionDescription;
  static constexpr std::string_view name = "ExecutionDescription";
  static constexpr auto fields = std::tuple{
      field("summary", &D::summary, "The fields that listings show."),
      field("state", &D::state, "All parts of its state."),
      if_set("creator", &D::creator, "The requester."),
      if_set("payload_encoding", &D::payload_encoding, "The label of the payload."),
      field("payload_bytes", &D::payload_bytes, "The size of the payload."),
      field("required_capabilities", &D::required_capabilities, "Capabilities that a worker must offer to claim it."),
      field("policy", &D::policy, "As set at creation."),
      field("submit_key", &D::submit_key, "The key under which it was created: unique, debounce or throttle."),
      field("lease", &D::lease, "Present while it has a lease."),
      field("lease_epoch", &D::lease_epoch, "Increases with every lease and every lost lease."),
      field("grant", &D::grant, "While a grant reserves it."),
      field("attempt", &D::attempt, "The current or last attempt."),
      field("attempts", &D::attempts, "Oldest first, up to a page."),
      field("retry_count", &D::retry_count, "Attempts that followed a failure, since the last replay."),
      field("reclaim_count", &D::reclaim_count, "Attempts that followed a lost lease, since the last replay."),
      field("replay_count", &D::replay_count, "The number of replays."),
      moment("delay_until", &D::delay_until, "Not claimable before this time."),
      moment("deadline_at", &D::deadline_at, "The execution expires at this time if it has not ended."),
      moment("last_transition_at", &D::last_transition_at, "When its state changed last."),
      moment("last_mutation_at", &D::last_mutation_at, "When anything about it changed last."),
      field("progress", &D::progress, "The last progress that its worker reported."),
      field("failure", &D::failure, "The last failure."),
      if_set("fingerprint", &D::fingerprint, "Of a failed execution: its group of dead letters."),
      if_set("redrive_id", &D::redrive_id, "The last redrive that replayed it."),
      if_set("cancellation_reason", &D::cancellation_reason, "Why it was cancelled."),
      if_set("cancelled_by", &D::cancelled_by, "The actor that cancelled it."),
      field("explain", &D::explain, "Why it is not running now; empty while it is running."),
  };
};

template <>
struct Shape<ExecutionResult> {
  using R = ExecutionResult;
  static constexpr std::string_view name = "ExecutionResult";
  // Before the end no attempt has ended it.
  struct AttemptIndex {
    static Result<void> read(const Value& value, const At& at, R& out) {
      return Codec<std::uint32_t>::read(value, at, out.attempt_index);
    }
    static bool present(const R& result) { return result.outcome != Outcome::none; }
    static void write(Writer& writer, const R& result) { writer.unsigned_number(result.attempt_index); }
    static std::string schema(Schemas& schemas) { return Codec<std::uint32_t>::schema(schemas); }
  };
  static constexpr auto fields = std::tuple{
      field("outcome", &R::outcome, "How it ended."),
      Special<AttemptIndex>{"attempt_index", "The attempt that ended it; absent before the end."},
      LabelledJson<&R::result, &R::result_encoding>{"result", about_json_out},
      LabelledBase64<&R::result, &R::result_encoding>{"result_base64", about_base64_out},
      if_set("result_encoding", &R::result_encoding, "The label of the result."),
      field("failure", &R::failure, "The failure."),
      moment("finished_at", &R::finished_at, "When it ended."),
  };
};

template <>
struct Shape<ExecutionContext> {
  using C = ExecutionContext;
  static constexpr std::string_view name = "ExecutionContext";
  static constexpr auto fields = std::tuple{
      field("kind", &C::kind, "The job type, which selects the handler."),
      LabelledJson<&C::payload, &C::payload_encoding>{"payload", about_json_out},
      LabelledBase64<&C::payload, &C::payload_encoding>{"payload_base64", about_base64_out},
      if_set("payload_encoding", &C::payload_encoding, "The label of the payload."),
      field("tags", &C::tags, "Its tags."),
  };
};

template <>
struct Shape<Event> {
  static constexpr std::string_view name = "Event";
  // What only events of executions have.
  template <auto member>
  struct OfExecution {
    using Type = std::remove_cvref_t<decltype(std::declval<Event>().*member)>;
    static Result<void> read(const Value& value, const At& at, Event& out) {
      return Codec<Type>::read(value, at, out.*member);
    }
    static bool present(const Event& event) { return event.execution_id.has_value(); }
    static void write(Writer& writer, const Event& event) { Codec<Type>::write(writer, event.*member); }
    static std::string schema(Schemas& schemas) { return Codec<Type>::schema(schemas); }
  };
  static constexpr auto fields = std::tuple{
      field("type", &Event::type, "What happened."),
      moment("at", &Event::at, "Time of the event."),
      field("execution_id", &Event::execution_id,
            "The execution; absent for events of flows, lanes, namespaces, workers and keys."),
      field("flow_id", &Event::flow_id, "Of events of a flow, and of events of its nodes."),
      if_set("namespace", &Event::name_space, "The namespace of the execution or of the worker."),
      if_set("lane", &Event::lane, "The lane of the execution, or the lane itself."),
      if_set("kind", &Event::kind, "Of the execution or of the flow."),
      if_set("schedule", &Event::schedule, "Of events of a schedule: its name."),
      if_set("redrive_id", &Event::redrive_id, "Of events of a redrive: its id."),
      if_set("worker_instance_id", &Event::worker_instance_id,
             "Of worker events, and of events that lease an execution: the worker that took it."),
      field("attempt_index", &Event::attempt_index, "The attempt that it belongs to."),
      Special<OfExecution<&Event::lease_epoch>>{"lease_epoch", "Of the execution, after the event."},
      Special<OfExecution<&Event::state_before>>{"state_before", "The public state of the execution before."},
      Special<OfExecution<&Event::state_after>>{"state_after", "The public state of the execution after."},
      if_set("actor", &Event::actor, "The actor: a worker instance, an operator, or `clock`."),
      if_set("reason", &Event::reason, "Free text or a short code, as the type defines."),
      moment("next_at", &Event::next_at, "When it runs next."),
      field("cursor", &Event::cursor, "Its position in the log. Opaque."),
      if_set("damage", &Event::damage,
             "Why the stored event cannot be decoded; then only its type, its time and what it belongs to are known."),
  };
};

template <>
struct Shape<EventPage> {
  static constexpr std::string_view name = "EventPage";
  static constexpr auto fields = std::tuple{
      field("events", &EventPage::events, "Oldest first."),
      field("next_cursor", &EventPage::next_cursor, "Cursor of the next page; empty at the end of a history."),
  };
};

template <>
struct Shape<ListReply> {
  static constexpr std::string_view name = "ExecutionPage";
  static constexpr auto fields = std::tuple{
      field("executions", &ListReply::executions, "Newest first."),
      field("next_cursor", &ListReply::next_cursor, "Cursor of the next page; empty on the last page."),
  };
};

// A filter by tag: an object with one key.
struct TagFilter {
  template <class Object>
  static Result<void> read(const Value& value, const At& at, Object& out) {
    Tags pairs;
    FF_TRY_VOID(Codec<Tags>::read(value, at, pairs));
    if (pairs.size() != 1) return refuse(at, "must have exactly one key");
    out.tag = *pairs.begin();
    return {};
  }
  template <class Object>
  static bool present(const Object& object) {
    return object.tag.has_value();
  }
  template <class Object>
  static void write(Writer& writer, const Object& object) {
    Codec<Tags>::write(writer, {*object.tag});
  }
  static std::string schema(Schemas&) {
    return R"({"type":"object","additionalProperties":{"type":"string"},"minProperties":1,"maxProperties":1})";
  }
};

// The filters of a listing; cursor and limit are defined elsewhere.
template <>
struct Shape<ListRequest> {
  using R = ListRequest;
  static constexpr std::string_view name = "ExecutionFilter";
  static constexpr auto fields = std::tuple{
      field("namespace", &R::name_space, "Only executions of this namespace.").within(1, limits::max_namespace_bytes),
      field("lane", &R::lane, "Only executions of this lane.").within(1, limits::max_lane_bytes),
      field("kind", &R::kind, "Only executions of this kind.").within(1, limits::max_kind_bytes),
      field("states", &R::states, "Only executions in one of these public states.").up_to(limits::max_listed_states),
      Special<TagFilter>{"tag", "Only executions with this tag: one key with its value."},
      field("flow", &R::flow, "Only executions of this flow."),
      field("created_from", &R::created_from, "Only executions created at this time or later.")
          .up_to(limits::max_timestamp_ms),
      field("created_before", &R::created_before, "Only executions created before this time.")
          .up_to(limits::max_timestamp_ms),
      field("finished_from", &R::finished_from, "Only executions that ended at this time or later.")
          .up_to(limits::max_timestamp_ms),
      field("finished_before", &R::finished_before, "Only executions that ended before this time.")
          .up_to(limits::max_timestamp_ms),
  };
};

}  // namespace flowfabric::wire
