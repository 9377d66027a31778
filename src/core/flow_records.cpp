// The encodings of flows.
#include "base/hashing.hpp"
#include "core/record_codec.hpp"
#include "core/records.hpp"

namespace flowfabric {

using namespace record_codec;

namespace {

void put_cancel(Encoder& out, const FlowCancel& cancel) {
  out.enumerator(cancel.policy);
  out.enumerator(cancel.cause);
  out.boolean(cancel.run_cleanup);
  out.text(cancel.by);
  out.text(cancel.reason);
  out.number(cancel.at);
  out.unsigned_number(cancel.next);
  out.boolean(cancel.done);
}

FlowCancel get_cancel(Decoder& in) {
  FlowCancel cancel;
  cancel.policy = in.enumerator(FlowCancelPolicy::cancel_all);
  cancel.cause = in.enumerator(CancelCause::deadline);
  cancel.run_cleanup = in.boolean();
  cancel.by = in.text();
  cancel.reason = in.text();
  cancel.at = in.number();
  cancel.next = in.u32();
  cancel.done = in.boolean();
  return cancel;
}

void put_first_failure(Encoder& out, const FlowFirstFailure& failure) {
  out.unsigned_number(failure.ordinal);
  out.text(failure.node);
  out.enumerator(failure.outcome);
  out.text(failure.category);
}

FlowFirstFailure get_first_failure(Decoder& in) {
  FlowFirstFailure failure;
  failure.ordinal = in.u32();
  failure.node = in.text();
  failure.outcome = in.enumerator(Outcome::skipped);
  failure.category = in.text();
  return failure;
}

void put_replay(Encoder& out, const FlowReplay& replay) {
  out.enumerator(replay.stage);
  out.unsigned_number(replay.next);
  out.unsigned_number(replay.next_edge);
  out.text(replay.chosen);
  out.text(replay.spread);
  out.text(replay.by);
  out.text(replay.reason);
  out.number(replay.at);
}

FlowReplay get_replay(Decoder& in) {
  FlowReplay replay;
  replay.stage = in.enumerator(FlowReplay::Stage::arrive);
  replay.next = in.u32();
  replay.next_edge = in.u32();
  replay.chosen = in.text();
  replay.spread = in.text();
  replay.by = in.text();
  replay.reason = in.text();
  replay.at = in.number();
  return replay;
}

// What layout 2 adds.
bool has_growth(const FlowFacts& facts) { return facts.named != 0 || facts.added_edges != 0 || facts.sinks; }

void put_growth(Encoder& out, const FlowFacts& facts) {
  out.unsigned_number(facts.named);
  out.unsigned_number(facts.added_edges);
  out.boolean(facts.sinks.has_value());
  if (!facts.sinks) return;
  out.unsigned_number(facts.sinks->size());
  for (const std::uint32_t ordinal : *facts.sinks) out.unsigned_number(ordinal);
}

void get_growth(Decoder& in, FlowFacts& facts) {
  facts.named = in.u32();
  facts.added_edges = in.u32();
  if (!in.boolean()) return;
  facts.sinks.emplace(in.count());
  for (std::uint32_t& ordinal : *facts.sinks) ordinal = in.u32();
}

Result<FlowSpec> decode_flow_spec(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t layout = layout_of(in, layout_2);
  if (layout == 0) return fail(Errc::corruption, unknown_layout("a flow's spec").message);
  FlowSpec spec;
  spec.name_space = in.text();
  spec.kind = in.text();
  spec.creator = in.text();
  spec.failure_policy = in.enumerator(FailurePolicy::continue_others);
  spec.retention = get_retention(in);
  spec.namespace_retention = get_retention(in);
  spec.deadline_span_ms = in.number();
  spec.created_at = in.number();
  spec.request_digest = in.unsigned_number();
  spec.edge_count = in.u32();
  spec.sinks.resize(in.count());
  for (std::uint32_t& ordinal : spec.sinks) ordinal = in.u32();
  spec.traceparent = in.text();
  if (layout >= layout_2) spec.schedule = get_origin_as<ScheduleOrigin>(in);
  return finished(in, std::move(spec), "a flow's spec");
}

Result<FlowFacts> decode_flow_facts(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t layout = layout_of(in, layout_4);
  if (layout == 0) return fail(Errc::corruption, unknown_layout("a flow's facts").message);
  FlowFacts facts;
  facts.state = in.enumerator(FlowState::cancelled);
  facts.revision = in.unsigned_number();
  facts.members = in.u32();
  facts.succeeded = in.u32();
  facts.failed = in.u32();
  facts.cancelled = in.u32();
  facts.expired = in.u32();
  facts.skipped = in.u32();
  facts.unhandled = in.u32();
  facts.first_failure = get_optional(in, get_first_failure);
  facts.deadline_at = in.number();
  facts.cancel = get_optional(in, get_cancel);
  facts.removing = get_optional(in, get_u32);
  facts.finished_at = in.number();
  facts.retain_until = in.number();
  facts.last_mutation_at = in.number();
  facts.armed_due = in.number();
  facts.tags = get_tags(in);
  if (layout >= layout_2) get_growth(in, facts);
  if (layout == layout_3) facts.replay = get_replay(in);
  if (layout >= layout_4) facts.replay = get_optional(in, get_replay);
  facts.untold_schedule = layout >= layout_4;
  return finished(in, std::move(facts), "a flow's facts");
}

}  // namespace

std::string encode(const FlowSpec& spec) {
  Encoder out;
  out.u8(spec.schedule ? layout_2 : layout_1);
  out.text(spec.name_space);
  out.text(spec.kind);
  out.text(spec.creator);
  out.enumerator(spec.failure_policy);
  put_retention(out, spec.retention);
  put_retention(out, spec.namespace_retention);
  out.number(spec.deadline_span_ms);
  out.number(spec.created_at);
  out.unsigned_number(spec.request_digest);
  out.unsigned_number(spec.edge_count);
  out.unsigned_number(spec.sinks.size());
  for (const std::uint32_t ordinal : spec.sinks) out.unsigned_number(ordinal);
  out.text(spec.traceparent);
  if (spec.schedule) put_origin(out, *spec.schedule);
  return out.take();
}

std::string encode(const FlowFacts& facts) {
  Encoder out;
  out.u8(facts.untold_schedule ? layout_4 : facts.replay ? layout_3 : has_growth(facts) ? layout_2 : layout_1);
  out.enumerator(facts.state);
  out.unsigned_number(facts.revision);
  out.unsigned_number(facts.members);
  for (const std::uint32_t count :
       {facts.succeeded, facts.failed, facts.cancelled, facts.expired, facts.skipped, facts.unhandled}) {
    out.unsigned_number(count);
  }
  put_optional(out, facts.first_failure, put_first_failure);
  out.number(facts.deadline_at);
  put_optional(out, facts.cancel, put_cancel);
  put_optional(out, facts.removing, put_u32);
  out.number(facts.finished_at);
  out.number(facts.retain_until);
  out.number(facts.last_mutation_at);
  out.number(facts.armed_due);
  put_tags(out, facts.tags);
  if (has_growth(facts) || facts.replay || facts.untold_schedule) put_growth(out, facts);
  if (facts.untold_schedule) {
    put_optional(out, facts.replay, put_replay);
  } else if (facts.replay) {
    put_replay(out, *facts.replay);
  }
  return out.take();
}

std::string encode(const FlowNameRecord& record) {
  Encoder out;
  out.u8(layout_1);
  out.unsigned_number(record.ordinal);
  return out.take();
}

Result<FlowNameRecord> decode_flow_name(std::string_view bytes) {
  Decoder in(bytes);
  if (!known_layout(in)) return fail(Errc::corruption, unknown_layout("the name of a node").message);
  FlowNameRecord record;
  record.ordinal = in.u32();
  return finished(in, std::move(record), "the name of a node");
}

Result<FlowRecord> decode_flow(const Record& record) {
  if (record.key.bytes.size() != execution_key_bytes) {
    return fail(Errc::corruption, "the stored key of a flow has a wrong length");
  }
  FlowRecord flow;
  flow.id = flow_id_of(record.key);
  FF_TRY(spec, decode_flow_spec(record.fixed));
  flow.spec = std::move(spec);
  FF_TRY(facts, decode_flow_facts(record.body));
  flow.facts = std::move(facts);
  return flow;
}

std::uint64_t request_digest(const FlowRequest& request) {
  Encoder out;
  out.text(request.name_space);
  out.text(request.kind);
  out.unsigned_number(request.nodes.size());
  for (const FlowNode& node : request.nodes) {
    out.text(node.name);
    out.unsigned_number(request_digest(node.request));
  }
  out.unsigned_number(request.edges.size());
  for (const FlowEdge& edge : request.edges) {
    out.text(edge.from);
    out.text(edge.to);
    out.enumerator(edge.kind);
    out.text(edge.group);
  }
  out.unsigned_number(request.groups.size());
  for (const FlowGroup& group : request.groups) {
    out.text(group.node);
    out.text(group.name);
    out.enumerator(group.policy);
    out.unsigned_number(group.k);
    out.enumerator(group.rest);
  }
  out.enumerator(request.failure_policy);
  put_retention(out, request.retention);
  put_tags(out, request.tags);
  out.text(request.creator);
  if (request.open) out.boolean(true);
  return digest64(out.take());
}

}  // namespace flowfabric
