// The stored form of waits, signals and outcomes.
#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/record_codec.hpp"
#include "core/waits.hpp"

namespace flowfabric {

using namespace record_codec;

namespace {

void put_match(Encoder& out, const SignalMatch& match) {
  out.text(match.waitpoint);
  out.text(match.name);
  put_strings(out, match.sources);
  out.unsigned_number(match.fields.size());
  for (const SignalField& field : match.fields) {
    out.text(field.pointer);
    out.text(field.equals);
  }
}

SignalMatch get_match(Decoder& in) {
  SignalMatch match;
  match.waitpoint = in.text();
  match.name = in.text();
  match.sources = get_strings(in);
  match.fields.resize(in.count());
  for (SignalField& field : match.fields) {
    field.pointer = in.text();
    field.equals = in.text();
  }
  return match;
}

void put_count(Encoder& out, const SignalCount& count) {
  out.unsigned_number(count.n);
  out.enumerator(count.by);
  out.unsigned_number(count.of.size());
  for (const SignalMatch& match : count.of) put_match(out, match);
}

SignalCount get_signal_count(Decoder& in) {
  SignalCount count;
  count.n = in.u32();
  count.by = in.enumerator(CountBy::sources);
  count.of.resize(in.count());
  for (SignalMatch& match : count.of) match = get_match(in);
  return count;
}

enum class NodeKind : std::uint8_t { signal, all_of, any_of, count };

void put_condition(Encoder& out, const WaitCondition& condition) {
  const auto members = [&](NodeKind kind, const std::vector<WaitCondition>& list) {
    out.enumerator(kind);
    out.unsigned_number(list.size());
    for (const WaitCondition& member : list) put_condition(out, member);
  };
  if (condition.signal) {
    out.enumerator(NodeKind::signal);
    put_match(out, *condition.signal);
  } else if (condition.all_of) {
    members(NodeKind::all_of, *condition.all_of);
  } else if (condition.any_of) {
    members(NodeKind::any_of, *condition.any_of);
  } else {
    out.enumerator(NodeKind::count);
    put_count(out, condition.count.value_or(SignalCount{}));
  }
}

WaitCondition get_condition(Decoder& in, std::size_t depth) {
  WaitCondition condition;
  if (depth == 0) {
    in.refuse();
    return condition;
  }
  const auto members = [&](std::optional<std::vector<WaitCondition>>& list) {
    list.emplace(in.count());
    for (WaitCondition& member : *list) member = get_condition(in, depth - 1);
  };
  switch (in.enumerator(NodeKind::count)) {
    case NodeKind::signal: condition.signal = get_match(in); break;
    case NodeKind::all_of: members(condition.all_of); break;
    case NodeKind::any_of: members(condition.any_of); break;
    case NodeKind::count: condition.count = get_signal_count(in); break;
  }
  return condition;
}

WaitCondition get_whole_condition(Decoder& in) { return get_condition(in, limits::max_condition_depth); }

void put_signal(Encoder& out, const Signal& signal) {
  out.unsigned_number(signal.number);
  out.text(signal.waitpoint);
  out.text(signal.name);
  out.text(signal.payload);
  out.text(signal.payload_encoding);
  out.text(signal.source);
  out.number(signal.delivered_at);
}

Signal get_signal(Decoder& in) {
  Signal signal;
  signal.number = in.unsigned_number();
  signal.waitpoint = in.text();
  signal.name = in.text();
  signal.payload = in.text();
  signal.payload_encoding = in.text();
  signal.source = in.text();
  signal.delivered_at = in.number();
  return signal;
}

void put_approval(Encoder& out, const ApprovalRequest& approval) {
  out.text(approval.title);
  put_strings(out, approval.approvers);
  out.unsigned_number(approval.needed);
  out.unsigned_number(approval.rejections);
}

ApprovalRequest get_approval(Decoder& in) {
  ApprovalRequest approval;
  approval.title = in.text();
  approval.approvers = get_strings(in);
  approval.needed = in.u32();
  approval.rejections = in.u32();
  return approval;
}

// How a kept signal is marked, in one byte.
enum class KeptMarks : std::uint8_t { none = 0, counts = 1, unnamed = 2, both = 3 };

KeptMarks marks_of(const KeptSignal& kept) {
  return static_cast<KeptMarks>((kept.counts ? 1 : 0) | (kept.unnamed ? 2 : 0));
}

void put_waitpoint(Encoder& out, const WaitpointFacts& waitpoint) {
  out.text(waitpoint.name);
  out.unsigned_number(waitpoint.number);
  out.unsigned_number(waitpoint.generation);
  out.number(waitpoint.opened_at);
  out.number(waitpoint.token_expires_at);
  out.boolean(waitpoint.waited_for);
  put_optional(out, waitpoint.approval, put_approval);
}

WaitpointFacts get_waitpoint(Decoder& in) {
  WaitpointFacts waitpoint;
  waitpoint.name = in.text();
  waitpoint.number = in.u32();
  waitpoint.generation = in.u32();
  waitpoint.opened_at = in.number();
  waitpoint.token_expires_at = in.number();
  waitpoint.waited_for = in.boolean();
  waitpoint.approval = get_optional(in, get_approval);
  return waitpoint;
}

void put_wait(Encoder& out, const Wait& wait) {
  out.unsigned_number(wait.number);
  out.number(wait.since);
  out.number(wait.timeout_at);
  out.enumerator(wait.on_timeout);
  out.number(wait.escalate_ms);
  out.enumerator(wait.after_escalation);
  out.boolean(wait.escalated);
  out.number(wait.resume_delay_ms);
  out.text(wait.reason);
  out.unsigned_number(wait.position);
  out.text(wait.step_name);
  put_condition(out, wait.condition);
  put_optional(out, wait.veto, put_condition);
}

Wait get_wait(Decoder& in) {
  Wait wait;
  wait.number = in.u32();
  wait.since = in.number();
  wait.timeout_at = in.number();
  wait.on_timeout = in.enumerator(OnWaitTimeout::escalate);
  wait.escalate_ms = in.number();
  wait.after_escalation = in.enumerator(OnWaitTimeout::escalate);
  wait.escalated = in.boolean();
  wait.resume_delay_ms = in.number();
  wait.reason = in.text();
  wait.position = in.u32();
  wait.step_name = in.text();
  wait.condition = get_whole_condition(in);
  wait.veto = get_optional(in, get_whole_condition);
  return wait;
}

}  // namespace

void encode_into(Encoder& out, const WaitFacts& waits) {
  out.unsigned_number(waits.waitpoint_count);
  out.unsigned_number(waits.wait_count);
  out.unsigned_number(waits.signal_count);
  out.unsigned_number(waits.open.size());
  for (const WaitpointFacts& waitpoint : waits.open) put_waitpoint(out, waitpoint);
  out.unsigned_number(waits.signals.size());
  for (const KeptSignal& kept : waits.signals) {
    put_signal(out, kept.signal);
    out.unsigned_number(kept.waitpoint_number);
    out.enumerator(marks_of(kept));
  }
  put_optional(out, waits.wait, put_wait);
  out.unsigned_number(waits.keys.size());
  for (const SignalKey& key : waits.keys) {
    out.text(key.digest);
    out.unsigned_number(key.number);
    out.enumerator(key.effect);
  }
  out.boolean(waits.has_outcome);
}

WaitFacts decode_waits(Decoder& in) {
  WaitFacts waits;
  waits.waitpoint_count = in.u32();
  waits.wait_count = in.u32();
  waits.signal_count = in.unsigned_number();
  waits.open.resize(in.count());
  for (WaitpointFacts& waitpoint : waits.open) waitpoint = get_waitpoint(in);
  waits.signals.resize(in.count());
  for (KeptSignal& kept : waits.signals) {
    kept.signal = get_signal(in);
    kept.waitpoint_number = in.u32();
    const KeptMarks marks = in.enumerator(KeptMarks::both);
    kept.counts = marks == KeptMarks::counts || marks == KeptMarks::both;
    kept.unnamed = marks == KeptMarks::unnamed || marks == KeptMarks::both;
  }
  waits.wait = get_optional(in, get_wait);
  waits.keys.resize(in.count());
  for (SignalKey& key : waits.keys) {
    key.digest = in.text();
    key.number = in.unsigned_number();
    key.effect = in.enumerator(SignalEffect::ignored);
  }
  waits.has_outcome = in.boolean();
  return waits;
}

void encode_into(Encoder& out, const WaitOutcome& outcome) {
  out.unsigned_number(outcome.number);
  out.enumerator(outcome.cause);
  out.number(outcome.ended_at);
  out.text(outcome.by);
  out.text(outcome.reason);
  out.boolean(outcome.escalated);
  out.unsigned_number(outcome.signals.size());
  for (const Signal& signal : outcome.signals) put_signal(out, signal);
}

WaitOutcome decode_outcome(Decoder& in) {
  WaitOutcome outcome;
  outcome.number = in.u32();
  outcome.cause = in.enumerator(WaitCause::by_operator);
  outcome.ended_at = in.number();
  outcome.by = in.text();
  outcome.reason = in.text();
  outcome.escalated = in.boolean();
  outcome.signals.resize(in.count());
  for (Signal& signal : outcome.signals) signal = get_signal(in);
  return outcome;
}

std::string encode(const EndedWait& ended) {
  Encoder out;
  out.u8(layout_1);
  encode_into(out, ended.outcome);
  out.unsigned_number(ended.approvals.size());
  for (const EndedApproval& approval : ended.approvals) {
    out.unsigned_number(approval.number);
    out.text(approval.waitpoint);
    out.text(approval.title);
    out.unsigned_number(approval.needed);
    out.unsigned_number(approval.rejections);
  }
  return out.take();
}

Result<EndedWait> decode_ended_wait(std::string_view bytes) {
  Decoder in(bytes);
  if (!known_layout(in)) return Unexpected(unknown_layout("the outcome of a wait"));
  EndedWait ended;
  ended.outcome = decode_outcome(in);
  ended.approvals.resize(in.count());
  for (EndedApproval& approval : ended.approvals) {
    approval.number = in.u32();
    approval.waitpoint = in.text();
    approval.title = in.text();
    approval.needed = in.u32();
    approval.rejections = in.u32();
  }
  return finished(in, std::move(ended), "the outcome of a wait");
}

Result<WaitOutcome> decode_wait_outcome(std::string_view bytes) {
  FF_TRY(ended, decode_ended_wait(bytes));
  return std::move(ended.outcome);
}

std::string encode(const ApprovalContext& context) {
  Encoder out;
  out.u8(layout_1);
  out.text(context.context_encoding);
  out.text(context.context);
  return out.take();
}

Result<ApprovalContext> decode_approval_context(std::string_view bytes) {
  Decoder in(bytes);
  if (!known_layout(in)) return Unexpected(unknown_layout("the context of an approval"));
  ApprovalContext context;
  context.context_encoding = in.text();
  context.context = in.text();
  return finished(in, std::move(context), "the context of an approval");
}

}  // namespace flowfabric
