// The public types as JSON. Field names are those of the C++ structs, except `namespace`, which C++ does not allow.
#pragma once

#include <flowfabric/operations.hpp>

#include "base/hashing.hpp"
#include "wire/shape.hpp"

namespace flowfabric::wire {

// ---- Enums

template <class Enum, Enum first_value, Enum last_value>
struct Range {
  static constexpr Enum first = first_value;
  static constexpr Enum last = last_value;
  static std::string_view name(Enum value) { return to_string(value); }
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
struct EnumRange<BlockingReason> : Range<BlockingReason, BlockingReason::none, BlockingReason::reserved_by_grant> {};
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
struct EnumRange<EventType> : Range<EventType, EventType::created, EventType::api_key_revoked> {};

template <>
struct EnumRange<FailRequest::Retryable> {
  static constexpr auto first = FailRequest::Retryable::by_policy;
  static constexpr auto last = FailRequest::Retryable::force;
  static std::string_view name(FailRequest::Retryable value) {
    constexpr std::string_view names[] = {"by_policy", "never", "force"};
    return names[static_cast<std::size_t>(value)];
  }
};
template <>
struct EnumRange<FailReply::Decision> {
  static constexpr auto first = FailReply::Decision::retry_scheduled;
  static constexpr auto last = FailReply::Decision::failed;
  static std::string_view name(FailReply::Decision value) {
    return value == FailReply::Decision::failed ? "failed" : "retry_scheduled";
  }
};

// ---- Policy: its own reader and writer, which know every range

template <>
struct Codec<Policy> {
  static Result<void> read(const Value& value, const At& at, Policy& out) {
    if (value.kind() != Value::Kind::object) return wrong_type(at, "an object", value);
    auto policy = parse_policy_json(value.raw());
    if (!policy) return tl::unexpected(std::move(policy).error());
    out = std::move(*policy);
    return {};
  }
  static void write(Writer& writer, const Policy& value) { writer.raw(policy_to_json(value)); }
  static std::string schema(Schemas&) { return R"({"type":"object"})"; }
};

// ---- Bytes of users. As JSON they stand in `name`, just as they were written; as bytes, in base64, in `name_base64`.

template <class Object, std::string Object::* bytes, std::string Object::* encoding>
struct JsonBytes {
  static bool is_json(const Object& object) {
    return object.*encoding == "json" && parse_document(object.*bytes).has_value();
  }
  static Result<void> read(const Value& value, const At&, Object& out) {
    out.*bytes = value.raw();
    if ((out.*encoding).empty()) out.*encoding = "json";
    return {};
  }
  static bool present(const Object& object) { return is_json(object); }
  static void write(Writer& writer, const Object& object) { writer.raw(object.*bytes); }
  static std::string schema(Schemas&) { return "{}"; }
};

template <class Object, std::string Object::* bytes, std::string Object::* encoding>
struct Base64Bytes {
  static Result<void> read(const Value& value, const At& at, Object& out) {
    if (value.kind() != Value::Kind::text) return wrong_type(at, "a string", value);
    auto decoded = from_base64(value.text());
    if (!decoded) return refuse(at, "is not base64");
    out.*bytes = std::move(*decoded);
    return {};
  }
  static bool present(const Object& object) {
    return !(object.*bytes).empty() && !JsonBytes<Object, bytes, encoding>::is_json(object);
  }
  static void write(Writer& writer, const Object& object) { writer.text(to_base64(object.*bytes)); }
  static std::string schema(Schemas&) { return R"({"type":"string","contentEncoding":"base64"})"; }
};

// ---- Objects

template <>
struct Shape<CreateRequest> {
  static constexpr std::string_view name = "CreateRequest";
  static constexpr auto fields = std::tuple{
      field("namespace", &CreateRequest::name_space, "Whose work it is."),
      field("lane", &CreateRequest::lane, "The queue that it waits in."),
      required("kind", &CreateRequest::kind, "Selects the handler."),
      Special<JsonBytes<CreateRequest, &CreateRequest::payload, &CreateRequest::payload_encoding>>{
          "payload", "Any JSON; kept byte for byte. The encoding becomes `json`."},
      Special<Base64Bytes<CreateRequest, &CreateRequest::payload, &CreateRequest::payload_encoding>>{
          "payload_base64", "Any bytes, instead of `payload`."},
      field("payload_encoding", &CreateRequest::payload_encoding, "A label for the handler."),
      field("priority", &CreateRequest::priority, "Higher first."),
      field("tags", &CreateRequest::tags, "Keys like `team.name`."),
      field("required_capabilities", &CreateRequest::required_capabilities, "What a worker must offer to claim it."),
      field("policy", &CreateRequest::policy, "Retries, timeouts, lost leases, retention."),
      moment("delay_until", &CreateRequest::delay_until, "Not claimable before."),
      moment("deadline_at", &CreateRequest::deadline_at, "Must have ended by then."),
      field("creator", &CreateRequest::creator, "Stands in the event log."),
      field("idempotency_key", &CreateRequest::idempotency_key, "Unique in the namespace."),
      field("id", &CreateRequest::id, "A UUID of yours; minted when absent."),
      field("traceparent", &CreateRequest::traceparent,
            "W3C trace context, handed to the claim. The header of the same name when absent."),
  };
};

template <>
struct Shape<Created> {
  static constexpr std::string_view name = "Created";
  static constexpr auto fields = std::tuple{
      field("execution_id", &Created::execution_id, ""),
      field("public_state", &Created::public_state, ""),
      field("duplicate", &Created::duplicate, "An earlier request with this idempotency key or id made it."),
  };
};

template <>
struct Shape<ClaimRequest> {
  static constexpr std::string_view name = "ClaimRequest";
  static constexpr auto fields = std::tuple{
      field("worker_namespace", &ClaimRequest::worker_namespace, "Where the worker is registered, if it is."),
      required("worker_id", &ClaimRequest::worker_id, "The pool."),
      required("worker_instance_id", &ClaimRequest::worker_instance_id, "The process."),
      field("lanes", &ClaimRequest::lanes, "Which queues."),
      field("capabilities", &ClaimRequest::capabilities, "What the worker offers."),
      field("max_executions", &ClaimRequest::max_executions, "At most so many."),
      field("lease_ttl_ms", &ClaimRequest::lease_ttl_ms, "How long a lease lasts without being renewed."),
      field("wait_ms", &ClaimRequest::wait_ms, "Park this long when there is nothing."),
  };
};

template <>
struct Shape<Failure> {
  static constexpr std::string_view name = "Failure";
  struct Detail {
    static Result<void> read(const Value& value, const At& at, Failure& out) {
      if (value.kind() != Value::Kind::text) return wrong_type(at, "a string", value);
      auto decoded = from_base64(value.text());
      if (!decoded) return refuse(at, "is not base64");
      out.detail = std::move(*decoded);
      return {};
    }
    static bool present(const Failure& failure) { return !failure.detail.empty(); }
    static void write(Writer& writer, const Failure& failure) { writer.text(to_base64(failure.detail)); }
    static std::string schema(Schemas&) { return R"({"type":"string","contentEncoding":"base64"})"; }
  };
  static constexpr auto fields = std::tuple{
      field("category", &Failure::category, ""),
      field("message", &Failure::message, ""),
      Special<Detail>{"detail_base64", ""},
  };
};

template <>
struct Shape<Attempt> {
  static constexpr std::string_view name = "Attempt";
  static constexpr auto fields = std::tuple{
      field("attempt_index", &Attempt::attempt_index, ""),
      field("attempt_id", &Attempt::attempt_id, ""),
      field("attempt_type", &Attempt::attempt_type, ""),
      field("attempt_state", &Attempt::attempt_state, ""),
      field("lease_epoch", &Attempt::lease_epoch, ""),
      field("worker_id", &Attempt::worker_id, ""),
      field("worker_instance_id", &Attempt::worker_instance_id, ""),
      moment("started_at", &Attempt::started_at, ""),
      moment("suspended_at", &Attempt::suspended_at, ""),
      moment("resumed_at", &Attempt::resumed_at, ""),
      moment("ended_at", &Attempt::ended_at, ""),
      moment("timeout_at", &Attempt::timeout_at, ""),
      field("previous_attempt_index", &Attempt::previous_attempt_index, ""),
      field("reason", &Attempt::reason, "Why this attempt exists."),
      field("requested_by", &Attempt::requested_by, ""),
      field("failure", &Attempt::failure, ""),
      field("has_result", &Attempt::has_result, ""),
      field("result_encoding", &Attempt::result_encoding, ""),
  };
};

template <>
struct Shape<Lease> {
  static constexpr std::string_view name = "Lease";
  static constexpr auto fields = std::tuple{
      field("lease_id", &Lease::lease_id, ""),
      field("lease_epoch", &Lease::lease_epoch, ""),
      field("worker_namespace", &Lease::worker_namespace, ""),
      field("worker_id", &Lease::worker_id, ""),
      field("worker_instance_id", &Lease::worker_instance_id, ""),
      field("lease_ttl_ms", &Lease::lease_ttl_ms, ""),
      moment("acquired_at", &Lease::acquired_at, ""),
      moment("renewed_at", &Lease::renewed_at, ""),
      moment("expires_at", &Lease::expires_at, ""),
  };
};

template <>
struct Shape<ClaimedExecution> {
  static constexpr std::string_view name = "ClaimedExecution";
  static constexpr auto fields = std::tuple{
      field("execution_id", &ClaimedExecution::execution_id, ""),
      field("namespace", &ClaimedExecution::name_space, ""),
      field("lane", &ClaimedExecution::lane, ""),
      field("kind", &ClaimedExecution::kind, ""),
      Special<JsonBytes<ClaimedExecution, &ClaimedExecution::payload, &ClaimedExecution::payload_encoding>>{
          "payload", "When its encoding is `json`."},
      Special<Base64Bytes<ClaimedExecution, &ClaimedExecution::payload, &ClaimedExecution::payload_encoding>>{
          "payload_base64", "When it is anything else."},
      field("payload_encoding", &ClaimedExecution::payload_encoding, ""),
      field("priority", &ClaimedExecution::priority, ""),
      field("tags", &ClaimedExecution::tags, ""),
      field("attempt", &ClaimedExecution::attempt, ""),
      field("lease", &ClaimedExecution::lease, ""),
      moment("created_at", &ClaimedExecution::created_at, ""),
      moment("deadline_at", &ClaimedExecution::deadline_at, ""),
      field("traceparent", &ClaimedExecution::traceparent, "W3C trace context of the submitter; empty: none."),
      field("handle_kind", &ClaimedExecution::handle_kind, ""),
      field("handle", &ClaimedExecution::handle, "Shows that you hold the lease. Opaque."),
  };
};

template <>
struct Shape<RenewVerdict> {
  static constexpr std::string_view name = "RenewVerdict";
  static constexpr auto fields = std::tuple{
      moment("expires_at", &RenewVerdict::expires_at, ""),
      field("lease_epoch", &RenewVerdict::lease_epoch, ""),
  };
};

template <>
struct Shape<CompleteRequest> {
  static constexpr std::string_view name = "CompleteRequest";
  static constexpr auto fields = std::tuple{
      Special<JsonBytes<CompleteRequest, &CompleteRequest::result, &CompleteRequest::result_encoding>>{
          "result", "Any JSON; kept byte for byte."},
      Special<Base64Bytes<CompleteRequest, &CompleteRequest::result, &CompleteRequest::result_encoding>>{
          "result_base64", "Any bytes, instead of `result`."},
      field("result_encoding", &CompleteRequest::result_encoding, ""),
  };
};

template <>
struct Shape<FailReply> {
  static constexpr std::string_view name = "FailReply";
  static constexpr auto fields = std::tuple{
      field("decision", &FailReply::decision, ""),
      moment("retry_at", &FailReply::retry_at, ""),
      field("next_attempt_index", &FailReply::next_attempt_index, ""),
      field("reason", &FailReply::reason, "Why it was decided."),
  };
};

template <>
struct Shape<ExecutionSummary> {
  static constexpr std::string_view name = "ExecutionSummary";
  static constexpr auto fields = std::tuple{
      field("execution_id", &ExecutionSummary::execution_id, ""),
      field("namespace", &ExecutionSummary::name_space, ""),
      field("lane", &ExecutionSummary::lane, ""),
      field("kind", &ExecutionSummary::kind, ""),
      field("public_state", &ExecutionSummary::public_state, ""),
      field("priority", &ExecutionSummary::priority, ""),
      field("tags", &ExecutionSummary::tags, ""),
      moment("created_at", &ExecutionSummary::created_at, ""),
      moment("started_at", &ExecutionSummary::started_at, ""),
      moment("finished_at", &ExecutionSummary::finished_at, ""),
      field("attempt_count", &ExecutionSummary::attempt_count, ""),
  };
};

template <>
struct Shape<StateVector> {
  static constexpr std::string_view name = "StateVector";
  static constexpr auto fields = std::tuple{
      field("lifecycle_phase", &StateVector::lifecycle_phase, ""),
      field("ownership_state", &StateVector::ownership_state, ""),
      field("eligibility_state", &StateVector::eligibility_state, ""),
      field("blocking_reason", &StateVector::blocking_reason, ""),
      field("terminal_outcome", &StateVector::terminal_outcome, ""),
      field("attempt_state", &StateVector::attempt_state, ""),
      field("public_state", &StateVector::public_state, ""),
  };
};

template <>
struct Shape<Reason> {
  static constexpr std::string_view name = "Reason";
  static constexpr auto fields = std::tuple{
      field("code", &Reason::code, "Stable."),
      field("sentence", &Reason::sentence, "For people."),
      moment("until", &Reason::until, "When time alone removes it."),
  };
};

template <>
struct Shape<Progress> {
  static constexpr std::string_view name = "Progress";
  static constexpr auto fields = std::tuple{
      field("percent", &Progress::percent, ""),
      field("message", &Progress::message, ""),
      moment("updated_at", &Progress::updated_at, ""),
  };
};

template <>
struct Shape<ExecutionDescription> {
  using D = ExecutionDescription;
  static constexpr std::string_view name = "ExecutionDescription";
  static constexpr auto fields = std::tuple{
      field("summary", &D::summary, ""),
      field("state", &D::state, ""),
      field("creator", &D::creator, ""),
      field("payload_encoding", &D::payload_encoding, ""),
      field("payload_bytes", &D::payload_bytes, ""),
      field("required_capabilities", &D::required_capabilities, ""),
      field("policy", &D::policy, ""),
      field("lease", &D::lease, ""),
      field("lease_epoch", &D::lease_epoch, ""),
      field("attempt", &D::attempt, "The current or last one."),
      field("attempts", &D::attempts, "Oldest first, up to a page."),
      field("retry_count", &D::retry_count, ""),
      field("reclaim_count", &D::reclaim_count, ""),
      field("replay_count", &D::replay_count, ""),
      moment("delay_until", &D::delay_until, ""),
      moment("deadline_at", &D::deadline_at, ""),
      moment("last_transition_at", &D::last_transition_at, ""),
      moment("last_mutation_at", &D::last_mutation_at, ""),
      field("progress", &D::progress, ""),
      field("failure", &D::failure, ""),
      field("cancellation_reason", &D::cancellation_reason, ""),
      field("cancelled_by", &D::cancelled_by, ""),
      field("explain", &D::explain, "Why it is not running right now; empty while it is."),
  };
};

template <>
struct Shape<ExecutionResult> {
  using R = ExecutionResult;
  static constexpr std::string_view name = "ExecutionResult";
  static constexpr auto fields = std::tuple{
      field("outcome", &R::outcome, ""),
      field("attempt_index", &R::attempt_index, ""),
      Special<JsonBytes<R, &R::result, &R::result_encoding>>{"result", "When its encoding is `json`."},
      Special<Base64Bytes<R, &R::result, &R::result_encoding>>{"result_base64", "When it is anything else."},
      field("result_encoding", &R::result_encoding, ""),
      field("failure", &R::failure, ""),
      moment("finished_at", &R::finished_at, ""),
  };
};

template <>
struct Shape<Event> {
  static constexpr std::string_view name = "Event";
  static constexpr auto fields = std::tuple{
      field("type", &Event::type, ""),
      moment("at", &Event::at, ""),
      field("execution_id", &Event::execution_id, ""),
      field("namespace", &Event::name_space, ""),
      field("lane", &Event::lane, ""),
      field("kind", &Event::kind, ""),
      field("worker_instance_id", &Event::worker_instance_id, ""),
      field("attempt_index", &Event::attempt_index, ""),
      field("lease_epoch", &Event::lease_epoch, ""),
      field("state_before", &Event::state_before, ""),
      field("state_after", &Event::state_after, ""),
      field("actor", &Event::actor, ""),
      field("reason", &Event::reason, ""),
      moment("next_at", &Event::next_at, ""),
      field("cursor", &Event::cursor, ""),
  };
};

template <>
struct Shape<EventPage> {
  static constexpr std::string_view name = "EventPage";
  static constexpr auto fields = std::tuple{
      field("events", &EventPage::events, ""),
      field("next_cursor", &EventPage::next_cursor, ""),
  };
};

template <>
struct Shape<ListReply> {
  static constexpr std::string_view name = "ExecutionPage";
  static constexpr auto fields = std::tuple{
      field("executions", &ListReply::executions, ""),
      field("next_cursor", &ListReply::next_cursor, "Empty at the end."),
  };
};

template <>
struct Shape<CancelReply> {
  static constexpr std::string_view name = "CancelReply";
  static constexpr auto fields = std::tuple{field("already_cancelled", &CancelReply::already_cancelled, "")};
};

template <>
struct Shape<RevokeReply> {
  static constexpr std::string_view name = "RevokeReply";
  static constexpr auto fields = std::tuple{
      field("lease_id", &RevokeReply::lease_id, ""),
      field("lease_epoch", &RevokeReply::lease_epoch, "After the revocation."),
      field("public_state", &RevokeReply::public_state, ""),
  };
};

template <>
struct Shape<ReplayReply> {
  static constexpr std::string_view name = "ReplayReply";
  static constexpr auto fields = std::tuple{
      field("replay_count", &ReplayReply::replay_count, ""),
      field("public_state", &ReplayReply::public_state, ""),
  };
};

template <>
struct Shape<DelayReply> {
  static constexpr std::string_view name = "DelayReply";
  static constexpr auto fields = std::tuple{moment("delay_until", &DelayReply::delay_until, "")};
};

template <>
struct Shape<LaneInfo> {
  static constexpr std::string_view name = "Lane";
  static constexpr auto fields = std::tuple{
      field("lane", &LaneInfo::lane, ""),
      field("state", &LaneInfo::state, ""),
      moment("changed_at", &LaneInfo::changed_at, ""),
      field("changed_by", &LaneInfo::changed_by, ""),
      field("reason", &LaneInfo::reason, ""),
  };
};

}  // namespace flowfabric::wire
