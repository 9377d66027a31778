#include "core/ingress.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "core/admit_parts.hpp"
#include "core/budget_ingress.hpp"
#include "core/changes.hpp"
#include "core/flow_nesting.hpp"
#include "core/membership.hpp"

namespace flowfabric {

using namespace admit_parts;

namespace {

// In the path of a URL these two mean something else, so nothing that stands there can be called so.
Result<void> admit_capabilities(std::vector<std::string>& capabilities, const std::string& field) {
  std::sort(capabilities.begin(), capabilities.end());
  capabilities.erase(std::unique(capabilities.begin(), capabilities.end()), capabilities.end());
  FF_TRY_VOID(admit_count(capabilities.size(), field, 0, limits::max_capabilities));
  std::size_t joined = capabilities.empty() ? 0 : capabilities.size() - 1;
  for (const auto& capability : capabilities) {
    if (capability.empty()) return refuse("has an empty entry", field);
    if (capability.find(',') != std::string::npos) return refuse("\"" + capability + "\" has a comma", field);
    if (has_control_characters(capability) || has_whitespace(capability)) {
      return refuse("an entry has white space or control characters", field);
    }
    if (!is_valid_utf8(capability)) return refuse("an entry is not valid UTF-8", field);
    joined += capability.size();
  }
  if (joined > limits::max_capabilities_bytes) {
    return refuse("has " + std::to_string(joined) + " bytes joined by commas; allowed: at most " +
                      std::to_string(limits::max_capabilities_bytes),
                  field);
  }
  return {};
}

Result<void> admit_worker_id(std::string_view id) {
  return admit_text(id, "worker_id", 1, limits::max_worker_id_bytes, Content::no_controls_or_spaces);
}

Result<void> admit_instance_id(std::string_view id) {
  const char* field = "worker_instance_id";
  FF_TRY_VOID(admit_text(id, field, 1, limits::max_worker_id_bytes, Content::no_controls_or_spaces));
  return admit_path_segment(id, field);
}

Result<void> admit_lanes(std::vector<std::string>& lanes) {
  FF_TRY_VOID(admit_count(lanes.size(), "lanes", 1, limits::max_claim_lanes));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    FF_TRY_VOID(admit_lane(lanes[i], "lanes[" + std::to_string(i) + "]"));
  }
  std::sort(lanes.begin(), lanes.end());
  lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
  return {};
}

// The worker fields of grants and claims.
template <class Request>
Result<void> admit_worker(Request& request) {
  FF_TRY_VOID(admit_worker_id(request.worker_id));
  FF_TRY_VOID(admit_instance_id(request.worker_instance_id));
  return admit_capabilities(request.capabilities, "capabilities");
}

Result<void> admit_grant_ttl(std::uint32_t grant_ttl_ms) {
  return admit_range<std::uint32_t>(grant_ttl_ms, "grant_ttl_ms", 1, limits::max_grant_ttl_ms);
}

Result<void> admit_tag_value(std::string_view value, const std::string& field) {
  return admit_text(value, field, 0, limits::max_tag_value_bytes, Content::no_controls);
}

Result<void> admit_tags(const Tags& tags, const std::string& field) {
  FF_TRY_VOID(admit_count(tags.size(), field, 0, limits::max_tags));
  for (const auto& [key, value] : tags) {
    FF_TRY_VOID(admit_tag_key(key, field));
    FF_TRY_VOID(admit_tag_value(value, field + "." + key));
  }
  return {};
}

Result<void> admit_tag(const std::optional<std::pair<std::string, std::string>>& tag) {
  if (!tag) return {};
  FF_TRY_VOID(admit_tag_key(tag->first, "tag"));
  return admit_tag_value(tag->second, "tag." + tag->first);
}

// What is kept beside a grant for the scheduler that asked for it. Nothing here reads it.
template <class Request>
Result<void> admit_grant_notes(const Request& request) {
  FF_TRY_VOID(
      admit_text(request.capability_hash, "capability_hash", 0, limits::max_capability_hash_bytes, Content::any_text));
  FF_TRY_VOID(admit_text(request.route_snapshot, "route_snapshot", 0, limits::max_grant_note_bytes, Content::any_text));
  return admit_text(request.admission_summary, "admission_summary", 0, limits::max_grant_note_bytes, Content::any_text);
}

Result<void> admit_retry(const RetryPolicy& retry) {
  FF_TRY_VOID(admit_range<std::uint32_t>(retry.max_retries, "policy.retry.max_retries", 0, limits::max_max_retries));
  FF_TRY_VOID(admit_duration(retry.initial_delay_ms, "policy.retry.initial_delay_ms"));
  FF_TRY_VOID(admit_duration(retry.max_delay_ms, "policy.retry.max_delay_ms"));
  FF_TRY_VOID(admit_range<std::uint32_t>(retry.multiplier_percent, "policy.retry.multiplier_percent",
                                         limits::min_multiplier_percent, limits::max_multiplier_percent));
  FF_TRY_VOID(admit_count(retry.retryable_categories.size(), "policy.retry.retryable_categories", 0,
                          limits::max_retry_categories));
  for (const auto& category : retry.retryable_categories) {
    FF_TRY_VOID(
        admit_text(category, "policy.retry.retryable_categories", 1, limits::max_category_bytes, Content::no_controls));
  }
  return {};
}

Result<void> admit_retention(const RetentionPolicy& retention, const std::string& prefix) {
  const std::pair<const char*, const std::optional<std::int64_t>*> fields[] = {
      {"completed_ms", &retention.completed_ms},
      {"failed_ms", &retention.failed_ms},
      {"cancelled_ms", &retention.cancelled_ms},
      {"expired_ms", &retention.expired_ms},
      {"skipped_ms", &retention.skipped_ms}};
  for (const auto& [name, value] : fields) {
    if (*value) FF_TRY_VOID(admit_duration(**value, prefix + name));
  }
  return {};
}

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_tag_character(char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

Result<void> admit_path_segment(std::string_view name, const std::string& field) {
  if (name != "." && name != "..") return {};
  return refuse("is \"" + std::string(name) + "\", which cannot stand in the path of a URL", field);
}

Result<void> admit_tag_key(std::string_view key, const std::string& field) {
  const auto malformed = [&] {
    return refuse(
        "the key \"" + std::string(key.substr(0, limits::max_tag_key_bytes)) +
            "\" is malformed; a key reads like app.name: a lower-case letter, then lower-case letters, digits "
            "or _, a dot, then lower-case letters, digits, _ or dots",
        field);
  };
  if (key.size() > limits::max_tag_key_bytes) {
    return refuse("a key has " + std::to_string(key.size()) + " bytes; allowed: at most " +
                      std::to_string(limits::max_tag_key_bytes),
                  field);
  }
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 >= key.size()) return malformed();
  if (!is_lower(key[0])) return malformed();
  if (!std::all_of(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(dot), is_tag_character)) return malformed();
  if (!is_tag_character(key[dot + 1])) return malformed();
  const std::string_view rest = key.substr(dot + 1);
  if (!std::all_of(rest.begin(), rest.end(), [](char c) { return is_tag_character(c) || c == '.'; })) {
    return malformed();
  }
  return {};
}

Result<void> admit_lane(std::string_view lane, const std::string& field) {
  if (lane.empty() || lane.size() > limits::max_lane_bytes) {
    return refuse(
        "has " + std::to_string(lane.size()) + " bytes; allowed: 1 to " + std::to_string(limits::max_lane_bytes),
        field);
  }
  const bool printable = std::all_of(lane.begin(), lane.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
  if (!printable) return refuse("has characters outside printable ASCII", field);
  return {};
}

Result<void> admit_namespace(std::string_view name_space, const char* field) {
  return admit_text(name_space, field, 1, limits::max_namespace_bytes, Content::no_controls);
}

Result<void> admit_execution_id(const ExecutionId& id) {
  if (id.partition >= partition_count) return refuse("the partition is out of range", "execution_id");
  return {};
}

Result<void> admit_priority(std::int32_t priority) {
  return admit_range<std::int32_t>(priority, "priority", limits::min_priority, limits::max_priority);
}

// A time in seconds lies in January 1970 when it is taken for milliseconds, so the bound below tells the two apart.
Result<void> admit_time(TimestampMs at, const char* field) {
  if (at == 0) return {};
  if (at > 0 && at < limits::min_timestamp_ms) {
    return refuse("is " + std::to_string(at) + ", before the year 2000; times are milliseconds since 1970-01-01, " +
                      std::to_string(limits::min_timestamp_ms) + " to " + std::to_string(limits::max_timestamp_ms),
                  field);
  }
  return admit_range<std::int64_t>(at, field, 0, limits::max_timestamp_ms);
}

Result<void> admit_delay(std::int64_t delay_ms) { return admit_duration(delay_ms, "delay_ms"); }

Result<void> admit_lease_ttl(std::uint32_t lease_ttl_ms) {
  return admit_range<std::uint32_t>(lease_ttl_ms, "lease_ttl_ms", limits::min_lease_ttl_ms, limits::max_lease_ttl_ms);
}

Result<void> admit_wait(std::uint32_t wait_ms) {
  return admit_range<std::uint32_t>(wait_ms, "wait_ms", 0, limits::max_wait_ms);
}

Result<void> admit_reason(std::string_view reason) {
  return admit_text(reason, "reason", 0, limits::max_reason_bytes, Content::any_text);
}

Result<void> admit(const Policy& policy) {
  if (policy.retry) FF_TRY_VOID(admit_retry(*policy.retry));
  if (policy.attempt_timeout_ms)
    FF_TRY_VOID(admit_duration(*policy.attempt_timeout_ms, "policy.attempt_timeout_ms", 1));
  FF_TRY_VOID(admit_duration(policy.reclaim_grace_ms, "policy.reclaim_grace_ms"));
  FF_TRY_VOID(admit_range<std::uint32_t>(policy.max_reclaims, "policy.max_reclaims", 0, limits::max_max_reclaims));
  FF_TRY_VOID(admit_range<std::uint32_t>(policy.max_replays, "policy.max_replays", 0, limits::max_max_replays));
  FF_TRY_VOID(admit_duration(policy.dedup_window_ms, "policy.dedup_window_ms", 1));
  return admit_retention(policy.retention, "policy.retention.");
}

namespace {

Result<void> admit_times(const CreateRequest& request) {
  FF_TRY_VOID(admit_time(request.delay_until, "delay_until"));
  FF_TRY_VOID(admit_time(request.deadline_at, "deadline_at"));
  if (request.delay_ms) {
    if (request.delay_until != 0) return refuse("is given beside delay_until; give one of them", "delay_ms");
    FF_TRY_VOID(admit_delay(*request.delay_ms));
  }
  if (request.deadline_ms) {
    if (request.deadline_at != 0) return refuse("is given beside deadline_at; give one of them", "deadline_ms");
    FF_TRY_VOID(admit_duration(*request.deadline_ms, "deadline_ms", 1));
  }
  return {};
}

Result<void> admit_submit_key(std::string_view key, const std::string& field) {
  return admit_text(key, field, 1, limits::max_submit_key_bytes, Content::no_controls);
}

Result<void> admit_debounce(const CreateRequest& request) {
  const Debounce& debounce = *request.debounce;
  FF_TRY_VOID(admit_submit_key(debounce.key, "debounce.key"));
  FF_TRY_VOID(admit_duration(debounce.delay_ms, "debounce.delay_ms", 1));
  if (debounce.max_wait_ms) {
    FF_TRY_VOID(admit_duration(*debounce.max_wait_ms, "debounce.max_wait_ms", debounce.delay_ms));
  }
  if (request.delay_ms) return refuse("is given beside debounce, which says when it starts", "delay_ms");
  if (request.delay_until != 0) return refuse("is given beside debounce, which says when it starts", "delay_until");
  return {};
}

Result<void> admit_throttle(const Throttle& throttle) {
  FF_TRY_VOID(admit_submit_key(throttle.key, "throttle.key"));
  FF_TRY_VOID(admit_range<std::uint32_t>(throttle.count, "throttle.count", 1, limits::max_rate_count));
  return admit_duration(throttle.period_ms, "throttle.period_ms", 1);
}

Result<void> admit_submit_keys(const CreateRequest& request) {
  if (request.debounce && request.unique) return refuse("is given beside unique; give one of them", "debounce");
  if (request.throttle && request.unique) return refuse("is given beside unique; give one of them", "throttle");
  if (request.throttle && request.debounce) return refuse("is given beside debounce; give one of them", "throttle");
  if (request.unique) FF_TRY_VOID(admit_submit_key(request.unique->key, "unique.key"));
  if (request.debounce) FF_TRY_VOID(admit_debounce(request));
  if (request.throttle) FF_TRY_VOID(admit_throttle(*request.throttle));
  return {};
}

}  // namespace

Result<void> admit(CreateRequest& request, const IngressLimits& limits) {
  FF_TRY_VOID(admit_namespace(request.name_space));
  FF_TRY_VOID(admit_path_segment(request.name_space, "namespace"));
  FF_TRY_VOID(admit_lane(request.lane));
  FF_TRY_VOID(admit_path_segment(request.lane, "lane"));
  FF_TRY_VOID(admit_text(request.kind, "kind", 1, limits::max_kind_bytes, Content::no_controls));
  FF_TRY_VOID(admit_bytes(request.payload, "payload", limits.max_payload_bytes));
  FF_TRY_VOID(
      admit_text(request.payload_encoding, "payload_encoding", 0, limits::max_encoding_bytes, Content::no_controls));
  FF_TRY_VOID(admit_priority(request.priority));
  FF_TRY_VOID(admit_tags(request.tags, "tags"));
  FF_TRY_VOID(admit_capabilities(request.required_capabilities, "required_capabilities"));
  if (!request.traceparent.empty() && !is_traceparent(request.traceparent)) {
    return refuse("must be a W3C trace context like 00-<32 hex digits>-<16 hex digits>-<2 hex digits>", "traceparent");
  }
  FF_TRY_VOID(admit(request.policy));
  FF_TRY_VOID(admit_times(request));
  FF_TRY_VOID(admit_submit_keys(request));
  FF_TRY_VOID(admit_reserve(request.reserve));
  FF_TRY_VOID(admit_text(request.creator, "creator", 0, limits::max_creator_bytes, Content::no_controls));
  return admit_text(request.idempotency_key, "idempotency_key", 0, limits::max_idempotency_key_bytes,
                    Content::any_text);
}

namespace {

Result<void> admit_bytes_of_flow(std::size_t bytes) {
  if (bytes <= limits::max_flow_bytes) return {};
  return fail(Errc::payload_too_large,
              "nodes: the payloads have " + std::to_string(bytes) + " bytes together; allowed: at most " +
                  std::to_string(limits::max_flow_bytes),
              "nodes");
}

}  // namespace

// Its record would have to be in the partition of the execution, which something else decides.
Result<void> admit_without_submit_key(const CreateRequest& request, const std::string& why) {
  if (request.unique) return refuse("is given; " + why, "unique");
  if (request.debounce) return refuse("is given; " + why, "debounce");
  if (request.throttle) return refuse("is given; " + why, "throttle");
  return {};
}

namespace {

Result<void> admit_without_id(const CreateRequest& request) {
  if (!request.idempotency_key.empty()) return refuse("is given; only the flow has one", "idempotency_key");
  if (request.id) return refuse("is given; ids of nodes are computed from that of the flow", "id");
  return admit_without_submit_key(request, "a node of a flow has none");
}

// The engine makes nodes that are flows run without a worker, so nothing that concerns workers can be given.
Result<void> admit_flow_node(CreateRequest& request) {
  const CreateRequest untouched;
  const auto given = [](const char* field) { return refuse("is given; a node that is a flow has none", field); };
  if (!request.kind.empty() && request.kind != inner_flow_kind) return given("kind");
  if (!request.payload.empty()) return given("payload");
  if (request.lane != untouched.lane) return given("lane");
  if (request.priority != 0) return given("priority");
  if (!request.required_capabilities.empty()) return given("required_capabilities");
  if (request.delay_until != 0) return given("delay_until");
  if (request.delay_ms) return given("delay_ms");
  if (request.policy != untouched.policy) return given("policy");
  request.kind = inner_flow_kind;
  return {};
}

// The same error with a place in front of the field.
Error placed(Error error, const std::string& place) {
  error.message = place + error.message;
  error.field = place + error.field;
  return error;
}

// Admits the create requests of nodes, and of the nodes in those that are flows; adds up their payloads.
template <class AdmitNode>
Result<void> admit_nodes(std::vector<FlowNode>& nodes, const AdmitNode& admit_node, std::size_t& bytes,
                         std::size_t depth = 0) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    FlowNode& node = nodes[i];
    const std::string place = "nodes[" + std::to_string(i) + "].";
    Result<void> admitted = node.flow ? admit_flow_node(node.request) : Result<void>{};
    if (admitted) admitted = admit_node(node.request);
    if (!admitted) {
      Error error = placed(admitted.error(), place);
      error.message += " (node \"" + node.name + "\")";
      return Unexpected(std::move(error));
    }
    bytes += node.request.payload.size();
    if (!node.flow || depth > limits::max_flow_depth) continue;
    auto inner = admit_nodes(node.flow->nodes, admit_node, bytes, depth + 1);
    if (!inner) return Unexpected(placed(inner.error(), place + "flow."));
  }
  return {};
}

Result<void> admit_node(CreateRequest& request, const FlowRequest& flow, const IngressLimits& limits) {
  if (request.name_space != flow.name_space && request.name_space != default_namespace) {
    return refuse(
        "is \"" + request.name_space + "\"; a node is in the namespace of its flow, \"" + flow.name_space + "\"",
        "namespace");
  }
  FF_TRY_VOID(admit_without_id(request));
  request.name_space = flow.name_space;
  if (request.creator.empty()) request.creator = flow.creator;
  if (request.traceparent.empty()) request.traceparent = flow.traceparent;
  return admit(request, limits);
}

}  // namespace

Result<void> admit_folded(FlowRequest& request, const IngressLimits& limits) {
  FF_TRY_VOID(admit_namespace(request.name_space));
  FF_TRY_VOID(admit_path_segment(request.name_space, "namespace"));
  FF_TRY_VOID(admit_text(request.kind, "kind", 1, limits::max_kind_bytes, Content::no_controls));
  FF_TRY_VOID(admit_text(request.creator, "creator", 0, limits::max_creator_bytes, Content::no_controls));
  FF_TRY_VOID(admit_tags(request.tags, "tags"));
  FF_TRY_VOID(admit_time(request.deadline_at, "deadline_at"));
  if (request.deadline_ms) {
    if (request.deadline_at != 0) return refuse("is given beside deadline_at; give one of them", "deadline_ms");
    FF_TRY_VOID(admit_duration(*request.deadline_ms, "deadline_ms", 1));
  }
  FF_TRY_VOID(admit_retention(request.retention, "retention."));
  FF_TRY_VOID(admit_duration(request.dedup_window_ms, "dedup_window_ms", 1));
  if (!request.traceparent.empty() && !is_traceparent(request.traceparent)) {
    return refuse("must be a W3C trace context like 00-<32 hex digits>-<16 hex digits>-<2 hex digits>", "traceparent");
  }
  FF_TRY_VOID(
      admit_text(request.idempotency_key, "idempotency_key", 0, limits::max_idempotency_key_bytes, Content::any_text));
  FF_TRY_VOID(admit_count(request.nodes.size(), "nodes", request.open ? 0 : 1, limits::max_flow_nodes));
  std::size_t bytes = 0;
  FF_TRY_VOID(
      admit_nodes(request.nodes, [&](CreateRequest& node) { return admit_node(node, request, limits); }, bytes));
  return admit_bytes_of_flow(bytes);
}

Result<void> admit(FlowRequest& request, const IngressLimits& limits) {
  FF_TRY_VOID(admit_folded(request, limits));
  return unfold_flows(request);
}

Result<void> admit(FlowAddition& addition, const IngressLimits& limits) {
  FF_TRY_VOID(admit_count(addition.nodes.size(), "nodes", 0, limits::max_flow_nodes));
  std::size_t bytes = 0;
  const auto admit_added = [&](CreateRequest& request) -> Result<void> {
    FF_TRY_VOID(admit_without_id(request));
    return admit(request, limits);
  };
  FF_TRY_VOID(admit_nodes(addition.nodes, admit_added, bytes));
  FF_TRY_VOID(admit_bytes_of_flow(bytes));
  return unfold_flows(addition);
}

Result<void> admit_node_names(const std::vector<std::string>& names) {
  FF_TRY_VOID(admit_count(names.size(), "names", 1, limits::max_added_edges));
  for (const std::string& name : names) {
    FF_TRY_VOID(admit_text(name, "names", 1, limits::max_node_name_bytes, Content::no_controls));
  }
  return {};
}

Result<void> admit_flow_id(const FlowId& id) {
  if (id.partition >= partition_count) return refuse("the partition is out of range", "flow_id");
  return {};
}

Result<void> admit_handles(const std::vector<Handle>& handles) {
  return admit_count(handles.size(), "handles", 0, limits::max_bulk_items);
}

namespace {

Result<void> admit_lane_weights(const ClaimRequest& request) {
  for (const auto& [lane, weight] : request.lane_weights) {
    if (std::find(request.lanes.begin(), request.lanes.end(), lane) == request.lanes.end()) {
      return refuse("has \"" + clipped(lane, limits::max_lane_bytes) + "\", which is not one of the lanes",
                    "lane_weights");
    }
    FF_TRY_VOID(admit_range<std::uint32_t>(weight, "lane_weights." + lane, 1, limits::max_weight));
  }
  return {};
}

}  // namespace

Result<void> admit(ClaimRequest& request) {
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  FF_TRY_VOID(admit_namespace(request.worker_namespace, "worker_namespace"));
  FF_TRY_VOID(admit_worker_id(request.worker_id));
  FF_TRY_VOID(admit_instance_id(request.worker_instance_id));
  FF_TRY_VOID(admit_lanes(request.lanes));
  FF_TRY_VOID(admit_lane_weights(request));
  FF_TRY_VOID(admit_capabilities(request.capabilities, "capabilities"));
  FF_TRY_VOID(admit_range<std::uint32_t>(request.max_executions, "max_executions", 1, limits::max_claim));
  FF_TRY_VOID(admit_lease_ttl(request.lease_ttl_ms));
  return admit_wait(request.wait_ms);
}

Result<void> admit(const ProgressReport& report) {
  if (report.percent && *report.percent > 100) {
    return refuse("is " + std::to_string(*report.percent) + "; allowed: 0 to 100", "percent");
  }
  if (report.message) {
    FF_TRY_VOID(admit_text(*report.message, "message", 0, limits::max_message_bytes, Content::any_text));
  }
  return {};
}

Result<void> admit(const CompleteRequest& request, const IngressLimits& limits) {
  FF_TRY_VOID(admit_bytes(request.result, "result", limits.max_result_bytes));
  return admit_text(request.result_encoding, "result_encoding", 0, limits::max_encoding_bytes, Content::no_controls);
}

Result<void> admit(const FailRequest& request) {
  FF_TRY_VOID(admit_text(request.category, "category", 1, limits::max_category_bytes, Content::no_controls));
  FF_TRY_VOID(admit_text(request.message, "message", 0, limits::max_message_bytes, Content::any_text));
  if (request.retry_after_ms) {
    FF_TRY_VOID(admit_duration(*request.retry_after_ms, "retry_after_ms"));
  }
  return admit_bytes(request.detail, "detail", limits::max_failure_detail_bytes);
}

Result<void> admit(const StepRequest& request, const IngressLimits& limits) {
  FF_TRY_VOID(admit_range<std::uint32_t>(request.position, "position", 1, limits::max_steps));
  if (request.group_end != 0) {
    FF_TRY_VOID(admit_range<std::uint32_t>(request.group_end, "group_end", request.position, limits::max_steps));
  }
  FF_TRY_VOID(admit_text(request.name, "name", 1, limits::max_step_name_bytes, Content::no_controls));
  FF_TRY_VOID(admit_bytes(request.result, "result", limits.max_result_bytes));
  FF_TRY_VOID(
      admit_text(request.result_encoding, "result_encoding", 0, limits::max_encoding_bytes, Content::no_controls));
  FF_TRY_VOID(admit_duration(request.duration_ms, "duration_ms"));
  FF_TRY_VOID(admit_range<std::uint32_t>(request.tries, "tries", 1, UINT32_MAX));
  if (request.sleep_ms) FF_TRY_VOID(admit_duration(*request.sleep_ms, "sleep_ms"));
  if (request.sleep_ms && request.failure) return refuse("a sleep cannot fail", "failure");
  if (!request.failure) return {};
  FF_TRY_VOID(admit_text(request.failure->category, "category", 1, limits::max_category_bytes, Content::no_controls));
  FF_TRY_VOID(admit_text(request.failure->message, "message", 0, limits::max_message_bytes, Content::any_text));
  return admit_bytes(request.failure->detail, "detail", limits::max_failure_detail_bytes);
}

Result<void> admit_checkpoint(const std::string& bytes, const std::string& encoding, const IngressLimits& limits) {
  FF_TRY_VOID(admit_bytes(bytes, "checkpoint", limits.max_result_bytes));
  return admit_text(encoding, "encoding", 0, limits::max_encoding_bytes, Content::no_controls);
}

Result<void> admit(const Operator& by) {
  FF_TRY_VOID(admit_text(by.name, "operator", 1, limits::max_creator_bytes, Content::no_controls));
  return admit_reason(by.reason);
}

Result<void> admit(const TagChanges& changes) {
  if (changes.set.empty() && changes.remove.empty()) return refuse("nothing to set, and nothing to remove", "set");
  FF_TRY_VOID(admit_tags(changes.set, "set"));
  FF_TRY_VOID(admit_count(changes.remove.size(), "remove", 0, limits::max_tags));
  for (std::size_t i = 0; i < changes.remove.size(); ++i) {
    FF_TRY_VOID(admit_tag_key(changes.remove[i], "remove[" + std::to_string(i) + "]"));
  }
  return {};
}

namespace {

// What listings of executions and of flows have in common.
template <class Request>
Result<void> admit_listing(const Request& request) {
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  if (request.kind) FF_TRY_VOID(admit_text(*request.kind, "kind", 1, limits::max_kind_bytes, Content::no_controls));
  FF_TRY_VOID(admit_tag(request.tag));
  FF_TRY_VOID(admit_count(request.states.size(), "states", 0, limits::max_listed_states));
  const std::pair<const std::optional<TimestampMs>*, const char*> times[] = {
      {&request.created_from, "created_from"},
      {&request.created_before, "created_before"},
      {&request.finished_from, "finished_from"},
      {&request.finished_before, "finished_before"}};
  for (const auto& [at, field] : times) {
    if (*at) FF_TRY_VOID(admit_time(**at, field));
  }
  FF_TRY_VOID(admit_cursor(request.cursor));
  return admit_range<std::uint32_t>(request.limit, "limit", 1, limits::max_page);
}

}  // namespace

Result<void> admit(const ListRequest& request) {
  if (request.lane) FF_TRY_VOID(admit_lane(*request.lane));
  return admit_listing(request);
}

Result<void> admit(const ListFlowsRequest& request) {
  for (const FlowState state : request.states) {
    if (state == FlowState::blocked) {
      return refuse("cannot be blocked: that is shown for a single flow; list those that are running", "states");
    }
  }
  return admit_listing(request);
}

Result<void> admit(const EventFilter& filter) {
  if (filter.name_space) FF_TRY_VOID(admit_namespace(*filter.name_space));
  if (filter.lane) FF_TRY_VOID(admit_lane(*filter.lane));
  if (filter.execution_id) FF_TRY_VOID(admit_execution_id(*filter.execution_id));
  if (filter.flow_id) FF_TRY_VOID(admit_flow_id(*filter.flow_id));
  if (filter.flow_id && filter.execution_id) return refuse("is given beside execution_id; give one of them", "flow_id");
  return admit_count(filter.types.size(), "type", 0, limits::max_listed_states);
}

Result<void> admit_worker_name(std::string_view name_space, std::string_view worker_instance_id) {
  FF_TRY_VOID(admit_namespace(name_space));
  return admit_instance_id(worker_instance_id);
}

Result<void> admit(WorkerRegistration& registration) {
  FF_TRY_VOID(admit_namespace(registration.name_space));
  FF_TRY_VOID(admit_worker(registration));
  FF_TRY_VOID(admit_lanes(registration.lanes));
  return admit_range<std::uint32_t>(registration.liveness_ttl_ms, "liveness_ttl_ms", limits::min_liveness_ttl_ms,
                                    limits::max_liveness_ttl_ms);
}

Result<void> admit(const HeartbeatRequest& request) {
  FF_TRY_VOID(admit_worker_name(request.name_space, request.worker_instance_id));
  return admit_count(request.leases.size(), "leases", 0, limits::max_bulk_items);
}

Result<void> admit_death(const Operator& by) {
  FF_TRY_VOID(admit(by));
  return admit_text(by.reason, "reason", 0, limits::max_death_reason_bytes, Content::no_controls);
}

Result<void> admit(const ListWorkersRequest& request) {
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  if (request.lane) FF_TRY_VOID(admit_lane(*request.lane));
  if (request.capability) {
    std::vector<std::string> one = {*request.capability};
    FF_TRY_VOID(admit_capabilities(one, "capability"));
  }
  FF_TRY_VOID(admit_cursor(request.cursor));
  return admit_range<std::uint32_t>(request.limit, "limit", 1, limits::max_page);
}

Result<void> admit(const ListWorkerLeasesRequest& request) {
  FF_TRY_VOID(admit_worker_name(request.name_space, request.worker_instance_id));
  if (request.execution_namespace) FF_TRY_VOID(admit_namespace(*request.execution_namespace));
  FF_TRY_VOID(admit_cursor(request.cursor));
  return admit_range<std::uint32_t>(request.limit, "limit", 1, limits::max_page);
}

Result<void> admit(const ListExpiredLeasesRequest& request) {
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  if (request.as_of) FF_TRY_VOID(admit_time(*request.as_of, "as_of"));
  FF_TRY_VOID(admit_cursor(request.cursor));
  return admit_range<std::uint32_t>(request.limit, "limit", 1, limits::max_expired_leases_page);
}

Result<void> admit(GrantRequest& request) {
  FF_TRY_VOID(admit_execution_id(request.execution_id));
  FF_TRY_VOID(admit_worker(request));
  FF_TRY_VOID(admit_grant_notes(request));
  return admit_grant_ttl(request.grant_ttl_ms);
}

Result<void> admit(ClaimForWorkerRequest& request) {
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  FF_TRY_VOID(admit_lane(request.lane));
  FF_TRY_VOID(admit_worker(request));
  FF_TRY_VOID(admit_grant_notes(request));
  return admit_grant_ttl(request.grant_ttl_ms);
}

Result<void> admit(RedeemRequest& request) {
  FF_TRY_VOID(admit_execution_id(request.execution_id));
  FF_TRY_VOID(admit_namespace(request.worker_namespace, "worker_namespace"));
  FF_TRY_VOID(admit_worker(request));
  if (request.max_reclaim_count) {
    FF_TRY_VOID(
        admit_range<std::uint32_t>(*request.max_reclaim_count, "max_reclaim_count", 0, limits::max_max_reclaims));
  }
  return admit_lease_ttl(request.lease_ttl_ms);
}

Result<void> admit_grace(std::int64_t grace_ms) { return admit_duration(grace_ms, "grace_ms"); }

Result<void> admit(const RetentionRun& run) {
  if (run.older_than_ms) FF_TRY_VOID(admit_duration(*run.older_than_ms, "older_than_ms"));
  if (run.name_space) FF_TRY_VOID(admit_namespace(*run.name_space));
  if (run.lane) FF_TRY_VOID(admit_lane(*run.lane));
  return admit_tag(run.tag);
}

Result<void> admit(const ApiKeyRequest& request) {
  FF_TRY_VOID(admit_text(request.name, "name", 1, limits::max_api_key_name_bytes, Content::no_controls_or_spaces));
  FF_TRY_VOID(admit_path_segment(request.name, "name"));
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  return admit_time(request.expires_at, "expires_at");
}

Result<void> admit(const NamespaceInfo& info) {
  FF_TRY_VOID(admit_namespace(info.name_space));
  return admit_retention(info.retention, "retention.");
}

}  // namespace flowfabric
