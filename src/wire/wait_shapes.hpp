// Waits, signals and approvals as JSON.
#pragma once

#include <flowfabric/signals.hpp>

#include "wire/bodies.hpp"

namespace flowfabric::bodies {

struct SuspendBody : SuspendRequest {
  Handle handle{};
};
struct OpenWaitpointBody : WaitpointRequest {
  Handle handle{};
};
// To a waitpoint by name; the execution is in the path.
struct SignalBody : SignalRequest {};
struct TokenSignalBody : SignalRequest {
  std::string token{};
};
struct DecideBody {
  ApprovalDecision decision = ApprovalDecision::approve;
  std::string comment{};
  std::string actor{};
};
struct ReissueBody {
  std::string source{};
  std::optional<std::int64_t> token_ttl_ms{};
  bool revoke_earlier = false;
  std::string reason{};
};

}  // namespace flowfabric::bodies

namespace flowfabric::wire {

template <>
struct EnumRange<CountBy> : Range<CountBy, CountBy::signals, CountBy::sources> {};
template <>
struct EnumRange<OnWaitTimeout> : Range<OnWaitTimeout, OnWaitTimeout::fail, OnWaitTimeout::escalate> {};
template <>
struct EnumRange<SignalEffect> : Range<SignalEffect, SignalEffect::kept, SignalEffect::ignored> {};
template <>
struct EnumRange<ApprovalDecision> : Range<ApprovalDecision, ApprovalDecision::approve, ApprovalDecision::reject> {};

template <>
struct Shape<SignalField> {
  using F = SignalField;
  static constexpr std::string_view name = "SignalField";
  static constexpr auto fields = std::tuple{
      required("pointer", &F::pointer, "A JSON pointer into the payload, such as /order/state.")
          .up_to(limits::max_match_field_bytes),
      PlainJson<&F::equals>{"equals", "The JSON value that must stand there.", true},
  };
};

template <>
struct Shape<SignalMatch> {
  using M = SignalMatch;
  static constexpr std::string_view name = "SignalMatch";
  static constexpr auto fields = std::tuple{
      if_set("waitpoint", &M::waitpoint, "A waitpoint of this wait; absent: any of them."),
      if_set("name", &M::name, "The name of the signal; absent: any.").up_to(limits::max_signal_name_bytes),
      field("sources", &M::sources, "The senders that are allowed; absent: all.").up_to(limits::max_match_sources),
      field("fields", &M::fields, "Values that the JSON payload must have.").up_to(limits::max_match_fields),
  };
};

template <>
struct Shape<SignalCount> {
  using C = SignalCount;
  static constexpr std::string_view name = "SignalCount";
  static constexpr auto fields = std::tuple{
      required("n", &C::n, "At least so many.").within(1, limits::max_condition_count),
      field("by", &C::by, "What must be distinct (signals)."),
      required("of", &C::of, "Signals that one of these allows are counted.").within(1, limits::max_condition_nodes),
  };
};

template <>
struct Shape<WaitCondition> {
  using C = WaitCondition;
  static constexpr std::string_view name = "WaitCondition";
  static constexpr auto fields = std::tuple{
      field("signal", &C::signal, "At least one such signal. Exactly one of the four fields is given."),
      field("all_of", &C::all_of, "All of these hold.").within(1, limits::max_condition_nodes),
      field("any_of", &C::any_of, "At least one of these holds.").within(1, limits::max_condition_nodes),
      field("count", &C::count, "At least n distinct signals, waitpoints or sources."),
  };
};

template <>
struct Shape<ApprovalRequest> {
  using A = ApprovalRequest;
  static constexpr std::string_view name = "ApprovalRequest";
  static constexpr auto fields = std::tuple{
      required("title", &A::title, "What is to be decided, in one line.").within(1, limits::max_approval_title_bytes),
      LabelledJson<&A::context, &A::context_encoding>{"context", about_json_in},
      LabelledBase64<&A::context, &A::context_encoding>{"context_base64", about_base64_in},
      if_set("context_encoding", &A::context_encoding, "The label of the context, such as text/plain."),
      field("approvers", &A::approvers, "The names of those who may decide; absent: everybody who may send signals.")
          .up_to(limits::max_approvers),
      field("needed", &A::needed, "How many different people must approve (1).").within(1, limits::max_condition_count),
      field("rejections", &A::rejections, "How many rejections end the wait (1).")
          .within(1, limits::max_condition_count),
  };
};

template <>
struct Shape<WaitpointRequest> {
  using W = WaitpointRequest;
  static constexpr std::string_view name = "WaitpointRequest";
  static constexpr auto fields = std::tuple{
      required("name", &W::name, "Unique among the open waitpoints of the execution.")
          .within(1, limits::max_waitpoint_name_bytes),
      field("token_ttl_ms", &W::token_ttl_ms, "How long its token is accepted; absent: while the waitpoint is open.")
          .within(1, limits::max_duration_ms),
      field("approval", &W::approval, "People decide there."),
  };
};

template <>
struct Shape<bodies::SuspendBody> {
  using T = bodies::SuspendBody;
  static constexpr std::string_view name = "SuspendBody";
  static constexpr auto fields = std::tuple{
      required("handle", &T::handle, about_handle),
      required("waitpoints", &T::waitpoints, "Where signals may arrive.").within(1, limits::max_waitpoints),
      field("condition", &T::condition,
            "When the wait is over; absent: one signal at each waitpoint, and enough approvals at an approval."),
      field("veto", &T::veto, "When it is over at once, with cause veto; absent: enough rejections of an approval."),
      field("timeout_ms", &T::timeout_ms, "How long it waits; absent: until the deadline of the execution.")
          .within(1, limits::max_duration_ms),
      moment("timeout_at", &T::timeout_at, "Instead of timeout_ms.").up_to(limits::max_timestamp_ms),
      field("on_timeout", &T::on_timeout, "What happens then (fail)."),
      field("escalate_ms", &T::escalate_ms, "With `escalate`: how long it waits further.")
          .up_to(limits::max_duration_ms),
      field("after_escalation", &T::after_escalation, "And what happens after that (fail)."),
      field("resume_delay_ms", &T::resume_delay_ms, "Between the end of the wait and the next claim (0).")
          .up_to(limits::max_duration_ms),
      field("reason", &T::reason, "Shown to people.").up_to(limits::max_reason_bytes),
      field("idempotency_key", &T::idempotency_key,
            "Distinguishes two equal calls under one lease: a repeated call gets the answer of the first.")
          .up_to(limits::max_idempotency_key_bytes),
      field("position", &T::position, "The durable step that the wait is (0: none).").up_to(limits::max_steps),
      field("step_name", &T::step_name, "The name of that step.").up_to(limits::max_step_name_bytes),
  };
};

template <>
struct Shape<bodies::OpenWaitpointBody> {
  using T = bodies::OpenWaitpointBody;
  static constexpr std::string_view name = "OpenWaitpointBody";
  static constexpr auto fields =
      std::tuple_cat(std::tuple{required("handle", &T::handle, about_handle)}, Shape<WaitpointRequest>::fields);
};

template <>
struct Shape<SignalRequest> {
  using S = SignalRequest;
  static constexpr std::string_view name = "SignalRequest";
  static constexpr auto fields = std::tuple{
      if_set("name", &S::name, "Absent: the name of the waitpoint.").up_to(limits::max_signal_name_bytes),
      LabelledJson<&S::payload, &S::payload_encoding>{"payload", about_json_in},
      LabelledBase64<&S::payload, &S::payload_encoding>{"payload_base64", about_base64_in},
      if_set("payload_encoding", &S::payload_encoding, "The label of the payload."),
      if_set("source", &S::source, "The sender. With API keys: absent, or the name of the key.")
          .up_to(limits::max_signal_source_bytes),
      if_set("idempotency_key", &S::idempotency_key,
             "A repetition with the same key at the same waitpoint does nothing. Also as the header `Idempotency-Key`.")
          .up_to(limits::max_idempotency_key_bytes),
  };
};

template <>
struct Shape<bodies::SignalBody> {
  using T = bodies::SignalBody;
  static constexpr std::string_view name = "SignalBody";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{required("waitpoint", &T::waitpoint, "The name of the waitpoint; it need not be open yet.")
                     .within(1, limits::max_waitpoint_name_bytes)},
      Shape<SignalRequest>::fields);
};

template <>
struct Shape<bodies::TokenSignalBody> {
  using T = bodies::TokenSignalBody;
  static constexpr std::string_view name = "TokenSignalBody";
  static constexpr auto fields =
      std::tuple_cat(std::tuple{required("token", &T::token, "The token of the waitpoint."),
                                if_set("waitpoint", &T::waitpoint, "If given, that of the token.")},
                     Shape<SignalRequest>::fields);
};

template <>
struct Shape<bodies::DecideBody> {
  using T = bodies::DecideBody;
  static constexpr std::string_view name = "DecideBody";
  static constexpr auto fields = std::tuple{
      required("decision", &T::decision, "approve or reject."),
      field("comment", &T::comment, "Why.").up_to(limits::max_comment_bytes),
      field("actor", &T::actor, "The person. With API keys: absent, or the name of the key.")
          .up_to(limits::max_signal_source_bytes),
  };
};

template <>
struct Shape<bodies::ReissueBody> {
  using T = bodies::ReissueBody;
  static constexpr std::string_view name = "ReissueBody";
  static constexpr auto fields = std::tuple{
      field("source", &T::source, "The token then speaks for this sender.").up_to(limits::max_signal_source_bytes),
      field("token_ttl_ms", &T::token_ttl_ms, "How long it is accepted; absent: as the first one.")
          .within(1, limits::max_duration_ms),
      field("revoke_earlier", &T::revoke_earlier, "Earlier tokens of the waitpoint are refused from now on (false)."),
      field("reason", &T::reason, "Why, for the event log.").up_to(limits::max_reason_bytes),
  };
};

template <>
struct Shape<WaitpointToken> {
  using W = WaitpointToken;
  static constexpr std::string_view name = "WaitpointToken";
  static constexpr auto fields = std::tuple{
      field("waitpoint", &W::waitpoint, "The name of the waitpoint."),
      field("number", &W::number, "Its number, within its execution; never used again."),
      field("token", &W::token, "The right to send signals there. A secret."),
      moment("expires_at", &W::expires_at, "Until when it is accepted; absent: while the waitpoint is open."),
  };
};

template <>
struct Shape<SuspendReply> {
  using R = SuspendReply;
  static constexpr std::string_view name = "SuspendReply";
  static constexpr auto fields = std::tuple{
      field("suspended", &R::suspended, "Whether the lease was released. If not, `outcome` tells what was there."),
      field("duplicate", &R::duplicate, "The step was recorded before: read the steps."),
      if_set("wait", &R::wait, "The number of the wait."),
      moment("timeout_at", &R::timeout_at, "When it times out."),
      field("tokens", &R::tokens, "Of its waitpoints, in the order of the request."),
      field("outcome", &R::outcome, "How the wait ended, if signals that were there already ended it."),
  };
};

template <>
struct Shape<SignalReply> {
  using R = SignalReply;
  static constexpr std::string_view name = "SignalReply";
  static constexpr auto fields = std::tuple{
      field("execution_id", &R::execution_id, "The execution."),
      if_set("number", &R::number, "Of the signal, within its execution; absent if it was ignored."),
      field("effect", &R::effect, "What it did."),
      field("duplicate", &R::duplicate, "It was delivered before: this is the first answer again."),
  };
};

template <>
struct Shape<Decision> {
  using D = Decision;
  static constexpr std::string_view name = "Decision";
  static constexpr auto fields = std::tuple{
      field("decision", &D::decision, "approve or reject."),
      field("actor", &D::actor, "The person."),
      if_set("comment", &D::comment, "Why."),
      moment("decided_at", &D::decided_at, "When."),
  };
};

template <>
struct Shape<ApprovalInfo> {
  using A = ApprovalInfo;
  static constexpr std::string_view name = "ApprovalInfo";
  static constexpr auto fields = std::tuple{
      field("title", &A::title, "What is to be decided."),
      field("approvers", &A::approvers, "The names of those who may decide; empty: everybody who may send signals."),
      field("needed", &A::needed, "How many different people must approve."),
      field("rejections", &A::rejections, "How many rejections end the wait."),
      field("decisions", &A::decisions, "Those so far."),
      LabelledJson<&A::context, &A::context_encoding>{"context", about_json_out},
      LabelledBase64<&A::context, &A::context_encoding>{"context_base64", about_base64_out},
      if_set("context_encoding", &A::context_encoding, "The label of the context."),
  };
};

template <>
struct Shape<WaitpointInfo> {
  using W = WaitpointInfo;
  static constexpr std::string_view name = "WaitpointInfo";
  static constexpr auto fields = std::tuple{
      field("name", &W::name, "Its name."),
      field("number", &W::number, "Its number, within its execution."),
      moment("opened_at", &W::opened_at, "When it was opened."),
      field("waited_for", &W::waited_for, "Whether the execution is suspended on it."),
      field("signals", &W::signals, "How many signals it holds."),
      field("approval", &W::approval, "If people decide there."),
  };
};

template <>
struct Shape<WaitInfo> {
  using W = WaitInfo;
  static constexpr std::string_view name = "WaitInfo";
  static constexpr auto fields = std::tuple{
      field("number", &W::number, "Its number, within its execution."),
      if_set("reason", &W::reason, "What it is for."),
      moment("since", &W::since, "When it began."),
      moment("timeout_at", &W::timeout_at, "When it times out."),
      field("on_timeout", &W::on_timeout, "What happens then."),
      field("escalated", &W::escalated, "Whether it was not over in time once."),
      field("condition", &W::condition, "When it is over."),
      field("veto", &W::veto, "When it is over at once, with cause veto."),
  };
};

template <>
struct Shape<ExecutionWaits> {
  using E = ExecutionWaits;
  static constexpr std::string_view name = "ExecutionWaits";
  static constexpr auto fields = std::tuple{
      field("wait", &E::wait, "While it is suspended."),
      field("waitpoints", &E::waitpoints, "Its open waitpoints."),
      field("signals", &E::signals, "Delivered and not used by a wait that has ended; without payloads."),
      field("last_wait", &E::last_wait, "How its last wait ended."),
  };
};

template <>
struct Shape<WaitingExecution> {
  using W = WaitingExecution;
  static constexpr std::string_view name = "WaitingExecution";
  static constexpr auto fields = std::tuple{
      field("execution_id", &W::execution_id, "Its id."),
      field("namespace", &W::name_space, "Its namespace."),
      field("lane", &W::lane, "The lane (queue)."),
      field("kind", &W::kind, "The job type."),
      if_set("reason", &W::reason, "What the wait is for."),
      moment("since", &W::since, "When the wait began."),
      moment("timeout_at", &W::timeout_at, "When it times out."),
      field("escalated", &W::escalated, "Whether it was not over in time once."),
      field("waitpoints", &W::waitpoints, "Those that it waits for."),
  };
};

template <>
struct Shape<ListWaitsReply> {
  using R = ListWaitsReply;
  static constexpr std::string_view name = "ListWaitsReply";
  static constexpr auto fields = std::tuple{
      field("waits", &R::waits, "Those that have waited longest first."),
      if_set("next_cursor", &R::next_cursor, "Absent on the last page."),
  };
};

template <>
struct Shape<TokenInfo> {
  using T = TokenInfo;
  static constexpr std::string_view name = "TokenInfo";
  static constexpr auto fields = std::tuple{
      field("execution_id", &T::execution_id, "The execution."),
      field("namespace", &T::name_space, "Its namespace."),
      field("kind", &T::kind, "Its job type."),
      if_set("source", &T::source, "For whom the token speaks; absent: for anybody."),
      moment("expires_at", &T::expires_at, "Until when it is accepted."),
      field("open", &T::open, "Whether the waitpoint still takes signals."),
      field("waitpoint", &T::waitpoint, "The waitpoint."),
  };
};

}  // namespace flowfabric::wire
