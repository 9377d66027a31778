#include "core/schedule_records.hpp"

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/flow_graph.hpp"
#include "core/flow_nesting.hpp"
#include "core/record_codec.hpp"
#include "core/records.hpp"

namespace flowfabric {

using namespace record_codec;

namespace {

void put_template(Encoder& out, const CreateRequest& request) {
  out.text(request.lane);
  out.text(request.kind);
  out.text(request.payload);
  out.text(request.payload_encoding);
  out.number(request.priority);
  put_tags(out, request.tags);
  put_strings(out, request.required_capabilities);
  put_policy(out, request.policy);
  put_optional(out, request.delay_ms, put_number);
  put_optional(out, request.deadline_ms, put_number);
  out.text(request.creator);
  out.text(request.traceparent);
}

CreateRequest get_template(Decoder& in) {
  CreateRequest request;
  request.lane = in.text();
  request.kind = in.text();
  request.payload = in.text();
  request.payload_encoding = in.text();
  request.priority = in.i32();
  request.tags = get_tags(in);
  request.required_capabilities = get_strings(in);
  request.policy = get_policy(in);
  request.delay_ms = get_optional(in, get_number);
  request.deadline_ms = get_optional(in, get_number);
  request.creator = in.text();
  request.traceparent = in.text();
  return request;
}

// ---- Flows

void put_edges(Encoder& out, const std::vector<FlowEdge>& edges) {
  out.unsigned_number(edges.size());
  for (const FlowEdge& edge : edges) {
    out.text(edge.from);
    out.text(edge.to);
    out.enumerator(edge.kind);
    out.text(edge.group);
  }
}

std::vector<FlowEdge> get_edges(Decoder& in) {
  std::vector<FlowEdge> edges(in.count());
  for (FlowEdge& edge : edges) {
    edge.from = in.text();
    edge.to = in.text();
    edge.kind = in.enumerator(EdgeKind::output);
    edge.group = in.text();
  }
  return edges;
}

void put_groups(Encoder& out, const std::vector<FlowGroup>& groups) {
  out.unsigned_number(groups.size());
  for (const FlowGroup& group : groups) {
    out.text(group.node);
    out.text(group.name);
    out.enumerator(group.policy);
    out.unsigned_number(group.k);
    out.enumerator(group.rest);
  }
}

std::vector<FlowGroup> get_groups(Decoder& in) {
  std::vector<FlowGroup> groups(in.count());
  for (FlowGroup& group : groups) {
    group.node = in.text();
    group.name = in.text();
    group.policy = in.enumerator(GroupPolicy::gather);
    group.k = in.u32();
    group.rest = in.enumerator(GroupRest::cancel_remaining);
  }
  return groups;
}

void put_nodes(Encoder& out, const std::vector<FlowNode>& nodes) {
  out.unsigned_number(nodes.size());
  for (const FlowNode& node : nodes) {
    out.text(node.name);
    put_template(out, node.request);
    out.boolean(node.flow.has_value());
    if (!node.flow) continue;
    put_nodes(out, node.flow->nodes);
    put_edges(out, node.flow->edges);
    put_groups(out, node.flow->groups);
    out.enumerator(node.flow->failure_policy);
  }
}

std::vector<FlowNode> get_nodes(Decoder& in, std::size_t depth = 0) {
  std::vector<FlowNode> nodes;
  // Damaged bytes must not lead deeper than any flow goes.
  if (depth > limits::max_flow_depth + 1) in.refuse();
  for (std::size_t n = in.count(); n > 0 && in.ok(); --n) {
    FlowNode& node = nodes.emplace_back();
    node.name = in.text();
    node.request = get_template(in);
    if (!in.boolean() || !in.ok()) continue;
    node.flow.emplace();
    node.flow->nodes = get_nodes(in, depth + 1);
    node.flow->edges = get_edges(in);
    node.flow->groups = get_groups(in);
    node.flow->failure_policy = in.enumerator(FailurePolicy::continue_others);
  }
  return nodes;
}

void put_flow(Encoder& out, const FlowRequest& request) {
  out.text(request.kind);
  put_nodes(out, request.nodes);
  put_edges(out, request.edges);
  put_groups(out, request.groups);
  out.enumerator(request.failure_policy);
  put_optional(out, request.deadline_ms, put_number);
  put_retention(out, request.retention);
  put_tags(out, request.tags);
  out.text(request.creator);
  out.text(request.traceparent);
}

FlowRequest get_flow(Decoder& in) {
  FlowRequest request;
  request.kind = in.text();
  request.nodes = get_nodes(in);
  request.edges = get_edges(in);
  request.groups = get_groups(in);
  request.failure_policy = in.enumerator(FailurePolicy::continue_others);
  request.deadline_ms = get_optional(in, get_number);
  request.retention = get_retention(in);
  request.tags = get_tags(in);
  request.creator = in.text();
  request.traceparent = in.text();
  return request;
}

std::uint64_t flow_digest(const FlowRequest& request) {
  Encoder out;
  put_flow(out, request);
  return digest64(out.take());
}

void add_lanes(const std::vector<FlowNode>& nodes, std::set<std::string>& lanes) {
  for (const FlowNode& node : nodes) {
    lanes.insert(node.request.lane);
    if (node.flow) add_lanes(node.flow->nodes, lanes);
  }
}

void put_spec(Encoder& out, const ScheduleSpec& spec) {
  out.text(spec.cron);
  out.number(spec.every_ms);
  out.number(spec.anchor_at);
  out.text(spec.time_zone);
  put_strings(out, spec.exceptions);
  out.number(spec.start_at);
  out.number(spec.end_at);
  out.number(spec.jitter_ms);
  out.enumerator(spec.overlap);
  out.enumerator(spec.catch_up);
  out.unsigned_number(spec.catch_up_limit);
  out.number(spec.start_window_ms);
  put_template(out, spec.execution);
}

ScheduleSpec get_spec(Decoder& in) {
  ScheduleSpec spec;
  spec.cron = in.text();
  spec.every_ms = in.number();
  spec.anchor_at = in.number();
  spec.time_zone = in.text();
  spec.exceptions = get_strings(in);
  spec.start_at = in.number();
  spec.end_at = in.number();
  spec.jitter_ms = in.number();
  spec.overlap = in.enumerator(OverlapPolicy::cancel_running);
  spec.catch_up = in.enumerator(CatchUpPolicy::all);
  spec.catch_up_limit = in.u32();
  spec.start_window_ms = in.number();
  spec.execution = get_template(in);
  return spec;
}

void put_counts(Encoder& out, const ScheduleCounts& counts) {
  out.unsigned_number(counts.fired);
  out.unsigned_number(counts.skipped);
  out.unsigned_number(counts.missed);
  out.unsigned_number(counts.refused);
  out.unsigned_number(counts.succeeded);
  out.unsigned_number(counts.unsuccessful);
}

ScheduleCounts get_counts(Decoder& in) {
  ScheduleCounts counts;
  counts.fired = in.unsigned_number();
  counts.skipped = in.unsigned_number();
  counts.missed = in.unsigned_number();
  counts.refused = in.unsigned_number();
  counts.succeeded = in.unsigned_number();
  counts.unsuccessful = in.unsigned_number();
  return counts;
}

// What is stored of a firing is one id; layout 2 says whether it is one of a flow.
void put_firing(Encoder& out, const ScheduleFiring& firing, bool with_flows) {
  out.number(firing.scheduled_at);
  out.number(firing.at);
  out.enumerator(firing.cause);
  out.enumerator(firing.outcome);
  put_optional(out, firing.flow_id ? firing.flow_id : firing.execution_id, put_id);
  if (with_flows) out.boolean(firing.flow_id.has_value());
  out.enumerator(firing.ended);
  out.unsigned_number(firing.count);
  out.text(firing.detail);
}

ScheduleFiring get_firing(Decoder& in, bool with_flows) {
  ScheduleFiring firing;
  firing.scheduled_at = in.number();
  firing.at = in.number();
  firing.cause = in.enumerator(FiringCause::backfill);
  firing.outcome = in.enumerator(FiringOutcome::refused);
  firing.execution_id = get_optional(in, get_id);
  if (with_flows && in.boolean()) firing.flow_id.swap(firing.execution_id);
  firing.ended = in.enumerator(Outcome::skipped);
  firing.count = in.u32();
  firing.detail = in.text();
  return firing;
}

void put_buffered(Encoder& out, const BufferedFiring& firing) {
  put_id(out, firing.id);
  out.number(firing.scheduled_at);
  out.enumerator(firing.cause);
}

BufferedFiring get_buffered(Decoder& in) {
  BufferedFiring firing;
  firing.id = get_id(in);
  firing.scheduled_at = in.number();
  firing.cause = in.enumerator(FiringCause::backfill);
  return firing;
}

// An id of version 8 that begins with a time, so that the executions of a schedule lie next to each other.
ExecutionId computed_id(const ScheduleRecord& schedule, TimestampMs at, std::string_view what) {
  const Key key = schedule_key(schedule.name_space, schedule.name);
  Encoder seed;
  seed.text(key.bytes);
  seed.unsigned_number(schedule.incarnation);
  seed.number(at);
  seed.text(std::string(what));
  const Sha256 digest = sha256(seed.take());
  ExecutionId id;
  id.partition = key.partition();
  for (std::size_t i = 0; i < 6; ++i) id.uuid.bytes[i] = static_cast<std::uint8_t>(at >> (40 - 8 * i));
  for (std::size_t i = 6; i < 16; ++i) id.uuid.bytes[i] = digest[i];
  id.uuid.bytes[6] = static_cast<std::uint8_t>((id.uuid.bytes[6] & 0x0f) | 0x80);
  id.uuid.bytes[8] = static_cast<std::uint8_t>((id.uuid.bytes[8] & 0x3f) | 0x80);
  return id;
}

// Whether it needs the newer layout.
bool knows_flows(const ScheduleRecord& schedule) {
  const auto is_of_flow = [](const auto& firing) { return firing.flow_id.has_value(); };
  return schedule.flow || std::any_of(schedule.running.begin(), schedule.running.end(), is_of_flow) ||
         std::any_of(schedule.history.begin(), schedule.history.end(), is_of_flow);
}

// The history and what runs.
void put_firings(Encoder& out, const ScheduleRecord& schedule, bool with_flows) {
  out.unsigned_number(schedule.running.size());
  for (const RunningFiring& firing : schedule.running) {
    put_id(out, firing.flow_id ? *firing.flow_id : firing.execution_id.value_or(ExecutionId{}));
    out.number(firing.scheduled_at);
    if (with_flows) out.boolean(firing.flow_id.has_value());
  }
  put_optional(out, schedule.buffered, put_buffered);
  out.unsigned_number(schedule.history.size());
  for (const ScheduleFiring& firing : schedule.history) put_firing(out, firing, with_flows);
}

void get_firings(Decoder& in, ScheduleRecord& schedule, bool with_flows) {
  for (std::size_t n = in.count(); n > 0 && in.ok(); --n) {
    RunningFiring& firing = schedule.running.emplace_back();
    firing.execution_id = get_id(in);
    firing.scheduled_at = in.number();
    if (with_flows && in.boolean()) firing.flow_id.swap(firing.execution_id);
  }
  schedule.buffered = get_optional(in, get_buffered);
  for (std::size_t n = in.count(); n > 0 && in.ok(); --n) schedule.history.push_back(get_firing(in, with_flows));
}

void put_scheduled_flow(Encoder& out, const ScheduledFlow& flow) {
  out.text(flow.kind);
  out.unsigned_number(flow.nodes);
  out.unsigned_number(flow.digest);
}

ScheduledFlow get_scheduled_flow(Decoder& in) {
  ScheduledFlow flow;
  flow.kind = in.text();
  flow.nodes = in.u32();
  flow.digest = in.unsigned_number();
  return flow;
}

// As with workers: the zero comes before anything that a name can begin with.
std::string id_of_schedule(std::string_view name_space, std::string_view name) {
  std::string id(name_space);
  id += '\0';
  id += name;
  return id;
}

}  // namespace

Key schedule_key(std::string_view name_space, std::string_view name) {
  const std::string id = id_of_schedule(name_space, name);
  return make_key(RecordKind::schedule, id, partition_of(id));
}

Key schedule_flow_key(std::string_view name_space, std::string_view name) {
  const std::string id = id_of_schedule(name_space, name);
  return make_key(RecordKind::schedule_flow, id, partition_of(id));
}

Result<ScheduledFlow> scheduled_flow(const FlowRequest& request) {
  FlowRequest unfolded = request;
  FF_TRY_VOID(unfold_flows(unfolded));
  FF_TRY(members, plan_flow(unfolded));
  return ScheduledFlow{request.kind, static_cast<std::uint32_t>(members.size()), flow_digest(request)};
}

std::vector<std::string> lanes_of(const FlowRequest& request) {
  std::set<std::string> lanes;
  add_lanes(request.nodes, lanes);
  return {lanes.begin(), lanes.end()};
}

std::string encode(const ScheduleFlowRecord& record) {
  Encoder out;
  out.u8(layout_1);
  put_flow(out, record.request);
  return out.take();
}

Result<ScheduleFlowRecord> decode_schedule_flow(const Record& record) {
  Decoder in(record.body);
  if (!known_layout(in)) return Unexpected(unknown_layout("the flow of a schedule"));
  ScheduleFlowRecord flow;
  flow.request = get_flow(in);
  flow.lanes = lanes_of(flow.request);
  return finished(in, std::move(flow), "the flow of a schedule");
}

Key key_of(const RunningFiring& firing) {
  return firing.flow_id ? flow_key(*firing.flow_id) : execution_key(firing.execution_id.value_or(ExecutionId{}));
}

std::string name_of(const RunningFiring& firing) {
  if (firing.flow_id) return "flow " + to_string(*firing.flow_id);
  return "execution " + to_string(firing.execution_id.value_or(ExecutionId{}));
}

std::string schedule_name_of(const Key& key) {
  if (key.bytes.size() < 3 || key.kind() != RecordKind::schedule) return {};
  const std::string_view id = key.id();
  const std::size_t zero = id.find('\0');
  return zero == std::string_view::npos ? std::string() : std::string(id.substr(zero + 1));
}

ExecutionId firing_id(const ScheduleRecord& schedule, TimestampMs scheduled_at) {
  return computed_id(schedule, scheduled_at, "at");
}

ExecutionId trigger_id(const ScheduleRecord& schedule, TimestampMs at, std::string_view idempotency_key) {
  if (!idempotency_key.empty())
    return computed_id(schedule, schedule.created_at, "key " + std::string(idempotency_key));
  return computed_id(schedule, at, "trigger " + std::to_string(schedule.triggers));
}

std::int64_t jitter_of(const ScheduleRecord& schedule, TimestampMs scheduled_at) {
  if (schedule.spec.jitter_ms <= 0) return 0;
  Encoder seed;
  seed.unsigned_number(schedule.incarnation);
  seed.number(scheduled_at);
  const auto span = static_cast<std::uint64_t>(schedule.spec.jitter_ms) + 1;
  return static_cast<std::int64_t>(digest64(seed.take()) % span);
}

TimestampMs next_due(const ScheduleRecord& schedule) {
  if (schedule.state == ScheduleState::deleted) return schedule.changed_at + limits::deleted_schedule_retention_ms;
  if (schedule.state == ScheduleState::paused || schedule.next_at == 0) return 0;
  if (schedule.retry_at != 0) return schedule.retry_at;
  return schedule.next_at + jitter_of(schedule, schedule.next_at);
}

Listing listing_of(const ScheduleRecord& schedule) {
  Listing listing;
  listing.name_space = schedule.name_space;
  listing.state = static_cast<std::uint8_t>(schedule.state);
  listing.created_at = schedule.first_created_at;
  return listing;
}

std::string encode_fixed(const ScheduleRecord& schedule) {
  Encoder out;
  out.u8(layout_1);
  out.text(schedule.name_space);
  out.text(schedule.name);
  out.number(schedule.first_created_at);
  return out.take();
}

std::string encode(const ScheduleRecord& schedule) {
  Encoder out;
  out.reserve(512 + schedule.spec.execution.payload.size() + 48 * schedule.history.size());
  const bool with_flows = knows_flows(schedule) || !schedule.spec.execution.reserve.empty();
  out.u8(with_flows ? layout_2 : layout_1);
  out.unsigned_number(schedule.incarnation);
  out.enumerator(schedule.state);
  put_spec(out, schedule.spec);
  out.unsigned_number(schedule.revision);
  out.text(schedule.creator);
  out.number(schedule.created_at);
  out.number(schedule.changed_at);
  out.text(schedule.changed_by);
  out.text(schedule.reason);
  out.number(schedule.next_at);
  out.number(schedule.retry_at);
  out.number(schedule.last_fired_at);
  put_counts(out, schedule.counts);
  out.unsigned_number(schedule.triggers);
  put_firings(out, schedule, with_flows);
  out.number(schedule.armed_due);
  if (with_flows) {
    put_optional(out, schedule.flow, put_scheduled_flow);
    put_amounts(out, schedule.spec.execution.reserve);
  }
  return out.take();
}

Result<ScheduleRecord> decode_schedule(const Record& record) {
  ScheduleRecord schedule;
  Decoder fixed(record.fixed);
  if (!known_layout(fixed)) return Unexpected(unknown_layout("a schedule's name"));
  schedule.name_space = fixed.text();
  schedule.name = fixed.text();
  schedule.first_created_at = fixed.number();
  FF_TRY_VOID(finished(fixed, "a schedule's name"));
  // What it creates is found by its name: it has to be the one under which it is stored.
  constexpr std::size_t beside_names = 4;  // the kind, the zero and the partition
  const bool fits = schedule.name_space.size() + schedule.name.size() + beside_names == record.key.bytes.size() &&
                    schedule_key(schedule.name_space, schedule.name) == record.key;
  if (!fits) return fail(Errc::corruption, "the name in a stored schedule is not that of its key");
  Decoder in(record.body);
  const std::uint8_t layout = layout_of(in, layout_2);
  if (layout == 0) return Unexpected(unknown_layout("a schedule"));
  schedule.incarnation = in.unsigned_number();
  schedule.state = in.enumerator(ScheduleState::deleted);
  schedule.spec = get_spec(in);
  schedule.spec.execution.name_space = schedule.name_space;
  schedule.revision = in.unsigned_number();
  schedule.creator = in.text();
  schedule.created_at = in.number();
  schedule.changed_at = in.number();
  schedule.changed_by = in.text();
  schedule.reason = in.text();
  schedule.next_at = in.number();
  schedule.retry_at = in.number();
  schedule.last_fired_at = in.number();
  schedule.counts = get_counts(in);
  schedule.triggers = in.unsigned_number();
  get_firings(in, schedule, layout >= layout_2);
  schedule.armed_due = in.number();
  if (layout >= layout_2) {
    schedule.flow = get_optional(in, get_scheduled_flow);
    schedule.spec.execution.reserve = get_amounts(in);
  }
  // Times are added up: nothing outside the range of times may come from here.
  const bool sane = schedule.next_at >= 0 && schedule.next_at <= limits::max_timestamp_ms && schedule.changed_at >= 0 &&
                    schedule.changed_at <= limits::max_timestamp_ms && schedule.spec.jitter_ms >= 0 &&
                    schedule.spec.jitter_ms <= limits::max_duration_ms;
  if (in.at_end() && !sane) return fail(Errc::corruption, "a time in a stored schedule is out of range");
  return finished(in, std::move(schedule), "a schedule");
}

namespace {

std::uint64_t digest_of_spec(const ScheduleSpec& spec, std::uint64_t flow) {
  Encoder out;
  put_spec(out, spec);
  if (flow != 0) out.unsigned_number(flow);
  if (!spec.execution.reserve.empty()) put_amounts(out, spec.execution.reserve);
  return digest64(out.take());
}

}  // namespace

std::uint64_t spec_digest(const ScheduleSpec& spec) {
  return digest_of_spec(spec, spec.flow ? flow_digest(*spec.flow) : 0);
}

std::uint64_t spec_digest(const ScheduleRecord& schedule) {
  return digest_of_spec(schedule.spec, schedule.flow ? schedule.flow->digest : 0);
}

}  // namespace flowfabric
