#include "core/schedule_ingress.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "core/records.hpp"
#include "core/schedule_records.hpp"
#include "core/schedule_times.hpp"
#include "core/schedule_work.hpp"

namespace flowfabric {
namespace {

Unexpected<Error> refuse_schedule(const std::string& field, const std::string& message) {
  return fail(Errc::invalid_argument, field + ": " + message, field);
}

Result<void> admit_schedule_number(std::int64_t value, const std::string& field, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return {};
  return refuse_schedule(
      field, "is " + std::to_string(value) + "; allowed: " + std::to_string(min) + " to " + std::to_string(max));
}

// The names of fields of what each firing creates begin with this.
Result<void> placed_in(const std::string& prefix, Result<void> admitted) {
  if (admitted) return admitted;
  Error error = admitted.error();
  error.message = prefix + error.message;
  error.field = prefix + error.field;
  return Unexpected(std::move(error));
}

Result<void> admit_own_tags(const Tags& tags) {
  for (const char* tag : {schedule_name_tag, schedule_time_tag}) {
    if (tags.contains(tag)) return refuse_schedule("tags", std::string(tag) + " is set by the schedule itself");
  }
  constexpr std::size_t own_tags = 2;
  if (tags.size() + own_tags <= limits::max_tags) return {};
  return refuse_schedule("tags", "has " + std::to_string(tags.size()) + " entries; allowed: at most " +
                                     std::to_string(limits::max_tags - own_tags) + " beside the two of the schedule");
}

// Each firing computes them, so a request cannot have them.
Result<void> admit_template(const CreateRequest& request) {
  if (request.id) return refuse_schedule("id", "is given; the ids of executions are computed");
  if (!request.idempotency_key.empty()) {
    return refuse_schedule("idempotency_key", "is given; each scheduled time has one execution without it");
  }
  FF_TRY_VOID(admit_without_submit_key(request, "the overlap policy of the schedule decides"));
  if (request.delay_until != 0) return refuse_schedule("delay_until", "is given; use delay_ms, from each firing on");
  if (request.deadline_at != 0) return refuse_schedule("deadline_at", "is given; use deadline_ms, from each firing on");
  if (request.payload.size() > limits::max_schedule_payload_bytes) {
    return fail(Errc::payload_too_large,
                "payload: has " + std::to_string(request.payload.size()) + " bytes; allowed in a schedule: at most " +
                    std::to_string(limits::max_schedule_payload_bytes),
                "payload");
  }
  return admit_own_tags(request.tags);
}

Result<void> admit_node_template(const CreateRequest& request) {
  if (request.delay_until != 0) return refuse_schedule("delay_until", "is given; use delay_ms, from each firing on");
  if (request.deadline_at != 0) return refuse_schedule("deadline_at", "is given; use deadline_ms, from each firing on");
  return admit_own_tags(request.tags);
}

Result<void> admit_node_templates(const std::vector<FlowNode>& nodes, std::size_t depth = 0) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string place = "nodes[" + std::to_string(i) + "].";
    FF_TRY_VOID(placed_in(place, admit_node_template(nodes[i].request)));
    if (!nodes[i].flow || depth > limits::max_flow_depth) continue;
    FF_TRY_VOID(placed_in(place + "flow.", admit_node_templates(nodes[i].flow->nodes, depth + 1)));
  }
  return {};
}

Result<void> admit_flow_size(const FlowRequest& flow) {
  FF_TRY(scheduled, scheduled_flow(flow));
  if (scheduled.nodes > limits::max_schedule_flow_nodes) {
    return refuse_schedule("nodes", "has " + std::to_string(scheduled.nodes) +
                                        " entries with those of flows in it; allowed in a schedule: at most " +
                                        std::to_string(limits::max_schedule_flow_nodes));
  }
  const std::size_t bytes = encode(ScheduleFlowRecord{flow, {}}).size();
  if (bytes <= limits::max_schedule_flow_bytes) return {};
  return fail(Errc::payload_too_large,
              "nodes: the definition has " + std::to_string(bytes) +
                  " bytes as stored; allowed in a schedule: at most " + std::to_string(limits::max_schedule_flow_bytes),
              "nodes");
}

// Each firing computes ids and times, so a definition cannot have them.
Result<void> admit_flow_template(FlowRequest& flow, const std::string& name_space, const IngressLimits& limits) {
  if (flow.name_space != name_space && flow.name_space != default_namespace) {
    return refuse_schedule("namespace", "is \"" + flow.name_space +
                                            "\"; the flow is in the namespace of its schedule, \"" + name_space + "\"");
  }
  flow.name_space = name_space;
  if (flow.id) return refuse_schedule("id", "is given; the ids of flows are computed");
  if (!flow.idempotency_key.empty()) {
    return refuse_schedule("idempotency_key", "is given; each scheduled time has one flow without it");
  }
  if (flow.open) return refuse_schedule("open", "is true; nobody would seal the flows of a schedule");
  if (flow.deadline_at != 0) return refuse_schedule("deadline_at", "is given; use deadline_ms, from each firing on");
  FF_TRY_VOID(admit_own_tags(flow.tags));
  FF_TRY_VOID(admit_node_templates(flow.nodes));
  FF_TRY_VOID(admit_folded(flow, limits));
  return admit_flow_size(flow);
}

// As it is when nobody has set anything. The creator may have been filled in.
bool is_untouched(const CreateRequest& request) {
  CreateRequest untouched;
  untouched.name_space = request.name_space;
  untouched.creator = request.creator;
  return request_digest(request) == request_digest(untouched) && !request.id && request.idempotency_key.empty() &&
         request.delay_until == 0 && !request.delay_ms && request.deadline_at == 0 && !request.deadline_ms;
}

Result<void> admit_target(ScheduleSpec& spec, const IngressLimits& limits) {
  if (spec.flow) {
    if (!is_untouched(spec.execution) || !spec.execution.creator.empty())
      return refuse_schedule("flow", "is given beside execution; give one of them");
    return placed_in("flow.", admit_flow_template(*spec.flow, spec.execution.name_space, limits));
  }
  if (is_untouched(spec.execution)) return refuse_schedule("execution", "is missing, and so is flow; give one of them");
  FF_TRY_VOID(placed_in("execution.", admit_template(spec.execution)));
  return placed_in("execution.", admit(spec.execution, limits));
}

Result<void> admit_exceptions(const std::vector<std::string>& exceptions) {
  if (exceptions.size() > limits::max_exceptions) {
    return refuse_schedule("exceptions", "has " + std::to_string(exceptions.size()) + " entries; allowed: at most " +
                                             std::to_string(limits::max_exceptions));
  }
  return {};
}

Result<void> admit_bounds(const ScheduleSpec& spec) {
  FF_TRY_VOID(admit_time(spec.anchor_at, "anchor_at"));
  FF_TRY_VOID(admit_time(spec.start_at, "start_at"));
  FF_TRY_VOID(admit_time(spec.end_at, "end_at"));
  if (spec.end_at != 0 && spec.end_at <= spec.start_at) return refuse_schedule("end_at", "is not after start_at");
  return {};
}

Result<void> admit_lateness(const ScheduleSpec& spec) {
  FF_TRY_VOID(admit_schedule_number(spec.jitter_ms, "jitter_ms", 0, limits::max_duration_ms));
  FF_TRY_VOID(admit_schedule_number(spec.start_window_ms, "start_window_ms", 0, limits::max_duration_ms));
  return admit_schedule_number(spec.catch_up_limit, "catch_up_limit", 1, limits::max_catch_up);
}

}  // namespace

Result<void> admit_schedule_times(const ScheduleSpec& spec, const TimeZones* zones) {
  if (spec.cron.empty() == (spec.every_ms == 0)) {
    return refuse_schedule("cron", spec.cron.empty() ? "is missing, and so is every_ms; give one of them"
                                                     : "is given beside every_ms; give one of them");
  }
  if (spec.cron.empty()) {
    FF_TRY_VOID(
        admit_schedule_number(spec.every_ms, "every_ms", limits::min_schedule_interval_ms, limits::max_duration_ms));
  } else if (spec.anchor_at != 0) {
    return refuse_schedule("anchor_at", "is given beside cron; only intervals have one");
  }
  FF_TRY_VOID(admit_bounds(spec));
  FF_TRY_VOID(admit_exceptions(spec.exceptions));
  if (const auto times = ScheduleTimes::of(spec, zones); !times) return Unexpected(times.error());
  return {};
}

Result<void> admit(ScheduleSpec& spec, const IngressLimits& limits, const TimeZones* zones) {
  FF_TRY_VOID(admit_schedule_times(spec, zones));
  FF_TRY_VOID(admit_lateness(spec));
  return admit_target(spec, limits);
}

Result<void> admit(ScheduleRequest& request, const IngressLimits& limits, const TimeZones* zones) {
  FF_TRY_VOID(admit_schedule_name(request.name_space, request.name));
  request.execution.name_space = request.name_space;
  return admit(static_cast<ScheduleSpec&>(request), limits, zones);
}

Result<void> admit_schedule_name(std::string_view name_space, std::string_view name) {
  FF_TRY_VOID(admit_namespace(name_space));
  if (name.empty() || name.size() > limits::max_schedule_name_bytes) {
    return refuse_schedule("name", "has " + std::to_string(name.size()) + " bytes; allowed: 1 to " +
                                       std::to_string(limits::max_schedule_name_bytes));
  }
  if (!is_valid_utf8(name)) return refuse_schedule("name", "is not valid UTF-8");
  if (has_control_characters(name)) return refuse_schedule("name", "has control characters; none are allowed");
  for (const char c : name) {
    if (c == ' ' || c == '/') return refuse_schedule("name", "has a space or a slash; none is allowed");
  }
  if (name == "." || name == "..") {
    return refuse_schedule("name", "is \"" + std::string(name) + "\", which cannot stand in the path of a URL");
  }
  return {};
}

Result<void> admit(const TriggerRequest& request) {
  if (request.idempotency_key.size() <= limits::max_idempotency_key_bytes) return {};
  return refuse_schedule("idempotency_key", "has " + std::to_string(request.idempotency_key.size()) +
                                                " bytes; allowed: at most " +
                                                std::to_string(limits::max_idempotency_key_bytes));
}

Result<void> admit(const BackfillRequest& request) {
  if (request.from == 0) return refuse_schedule("from", "is missing");
  if (request.to == 0) return refuse_schedule("to", "is missing");
  FF_TRY_VOID(admit_time(request.from, "from"));
  FF_TRY_VOID(admit_time(request.to, "to"));
  if (request.to <= request.from) return refuse_schedule("to", "is not after from");
  return {};
}

Result<void> admit(const ListSchedulesRequest& request) {
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  if (request.cursor.size() > limits::max_cursor_bytes) {
    return refuse_schedule("cursor", "has " + std::to_string(request.cursor.size()) + " bytes; allowed: at most " +
                                         std::to_string(limits::max_cursor_bytes));
  }
  return admit_schedule_number(request.limit, "limit", 1, limits::max_page);
}

Result<void> admit(const NextRunsRequest& request) {
  FF_TRY_VOID(admit_time(request.from, "from"));
  return admit_schedule_number(request.count, "count", 1, limits::max_next_runs);
}

}  // namespace flowfabric
