// Schedules: executions and flows that are created at times.
#include "api/parameters.hpp"
#include "base/check.hpp"
#include "wire/schedule_shapes.hpp"

namespace flowfabric::api {
namespace {

using bodies::BackfillBody;
using bodies::PreviewBody;
using bodies::ScheduleBody;
using bodies::ScheduleUpdateBody;
using bodies::TriggerBody;

const std::string one_schedule = "/v1/schedules/{name}";
const QueryParameter schedule_namespace = {"namespace", "The namespace of the schedule (default)."};

std::string namespace_of_schedule(const Call& call) { return call.query("namespace").value_or("default"); }
const std::string& schedule_name(const Call& call) { return call.parameter("name"); }

Result<ListSchedulesReply> list_schedules(Call& call, Nothing) {
  ListSchedulesRequest request;
  request.name_space = call.query("namespace");
  FF_TRY(states, call.query_list("state"));
  for (const std::string& word : states) {
    FF_TRY(state, parse_schedule_state(word));
    request.states.push_back(state);
  }
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return call.engine().list_schedules(request);
}

Result<NextRuns> next_runs(Call& call, Nothing) {
  NextRunsRequest request;
  FF_TRY(from, query_moment(call, "from"));
  request.from = from.value_or(0);
  FF_TRY(count, call.query_number("count", request.count));
  if (count < 1 || count > limits::max_next_runs) {
    return fail(Errc::invalid_argument,
                "count: is " + std::to_string(count) + "; allowed: 1 to " + std::to_string(limits::max_next_runs),
                "count");
  }
  request.count = static_cast<std::uint32_t>(count);
  return call.engine().next_runs(namespace_of_schedule(call), schedule_name(call), request);
}

std::vector<Route> reading_schedule_routes() {
  std::vector<QueryParameter> listing = {
      {"namespace", "Only schedules of this namespace."},
      names_parameter<ScheduleState>("state", "Only schedules in one of these states: `active,paused`.")};
  for (const QueryParameter& parameter : paging_parameters()) listing.push_back(parameter);
  std::vector<QueryParameter> events = {schedule_namespace};
  for (const QueryParameter& parameter : paging_parameters()) events.push_back(parameter);
  return {
      blocking_route<Nothing, ListSchedulesReply>(ApiRole::viewer, "GET", "/v1/schedules",
                                                  "List schedules, by namespace and name.", list_schedules, listing),
      blocking_route<Nothing, ScheduleDescription>(
          ApiRole::viewer, "GET", one_schedule, "Get a schedule: its spec, its last firings and the next times.",
          [](Call& call, Nothing) {
            return call.engine().describe_schedule(namespace_of_schedule(call), schedule_name(call));
          },
          {schedule_namespace}),
      blocking_route<Nothing, NextRuns>(
          ApiRole::viewer, "GET", one_schedule + "/next", "Compute the next times of a schedule, also of a paused one.",
          next_runs,
          {schedule_namespace,
           moment_parameter("from", "Only times after this, in milliseconds since the epoch (now)."),
           number_parameter("count", "How many, 1 to 1000 (10).", 1, limits::max_next_runs)}),
      described(
          blocking_route<PreviewBody, NextRuns>(
              ApiRole::viewer, "POST", "/v1/schedules/preview", "Compute the times of a schedule before it is created.",
              [](Call& call, const PreviewBody& body) { return call.engine().preview_runs(body, body); }),
          "Nothing is stored. An empty list means that there is no such time."),
      blocking_route<Nothing, EventPage>(
          ApiRole::viewer, "GET", one_schedule + "/history",
          "List the events of a schedule, oldest first, also for a day after it was deleted.",
          [](Call& call, Nothing) -> Result<EventPage> {
            FF_TRY(limit, page_limit(call));
            return call.engine().schedule_history(namespace_of_schedule(call), schedule_name(call),
                                                  call.query("cursor").value_or(""), limit);
          },
          events),
  };
}

Result<ScheduleSaved> update_schedule(Call& call, ScheduleUpdateBody body) {
  Operator by = call.as_operator(std::move(body.reason));
  const std::string name_space = std::move(body.name_space);
  const std::optional<std::uint64_t> revision = body.revision;
  return call.engine().update_schedule(name_space, schedule_name(call), static_cast<ScheduleSpec&&>(body), revision,
                                       std::move(by));
}

std::vector<Route> changing_schedule_routes() {
  return {
      described(
          blocking_route<ScheduleRequest, ScheduleSaved>(
              ApiRole::worker, "POST", "/v1/schedules", "Create a schedule.",
              [](Call& call, ScheduleRequest request) {
                std::string& creator = request.flow ? request.flow->creator : request.execution.creator;
                if (creator.empty()) creator = call.caller().name;
                return call.engine().create_schedule(std::move(request));
              },
              {}, 201),
          "Repeating the call with the same spec changes nothing and says so with `duplicate`. Another spec under "
          "an existing name is a `conflict`."),
      described(blocking_route<ScheduleUpdateBody, ScheduleSaved>(ApiRole::worker, "PUT", one_schedule,
                                                                  "Replace the spec of a schedule.", update_schedule),
                "It takes effect from now on. Its state, its history and what runs stay."),
      blocking_route<ScheduleBody, ScheduleSaved>(
          ApiRole::operating, "POST", one_schedule + "/pause", "Pause a schedule: no time comes until it is resumed.",
          [](Call& call, ScheduleBody body) {
            return call.engine().pause_schedule(body.name_space, schedule_name(call),
                                                call.as_operator(std::move(body.reason)));
          }),
      blocking_route<ScheduleBody, ScheduleSaved>(
          ApiRole::operating, "POST", one_schedule + "/resume", "Resume a paused schedule, from the next time on.",
          [](Call& call, ScheduleBody body) {
            return call.engine().resume_schedule(body.name_space, schedule_name(call),
                                                 call.as_operator(std::move(body.reason)));
          }),
      blocking_route<TriggerBody, TriggerReply>(
          ApiRole::worker, "POST", one_schedule + "/trigger", "Fire a schedule now, also a paused one.",
          [](Call& call, TriggerBody body) {
            Operator by = call.as_operator(std::move(body.reason));
            return call.engine().trigger_schedule(body.name_space, schedule_name(call),
                                                  {body.ignore_overlap, body.idempotency_key}, std::move(by));
          }),
      described(
          blocking_route<BackfillBody, BackfillReply>(ApiRole::operating, "POST", one_schedule + "/backfill",
                                                      "Create the executions or flows of a past range of times.",
                                                      [](Call& call, BackfillBody body) {
                                                        Operator by = call.as_operator(std::move(body.reason));
                                                        return call.engine().backfill_schedule(
                                                            body.name_space, schedule_name(call), {body.from, body.to},
                                                            std::move(by));
                                                      }),
          "A scheduled time that has its execution or flow is left as it is, so the call can be repeated. They all "
          "start at once, whatever the overlap policy; at most 1,000 in one call, with at most 10,000 nodes."),
      blocking_route<Nothing, ScheduleSaved>(
          ApiRole::operating, "DELETE", one_schedule, "Delete a schedule. What it has created goes on.",
          [](Call& call, Nothing) {
            return call.engine().delete_schedule(namespace_of_schedule(call), schedule_name(call),
                                                 call.as_operator(call.query("reason").value_or("")));
          },
          {schedule_namespace, {"reason", "Recorded in the event log."}}),
  };
}

}  // namespace

std::vector<Route> schedule_routes() {
  std::vector<Route> all = changing_schedule_routes();
  for (Route& route : reading_schedule_routes()) all.push_back(std::move(route));
  return all;
}

}  // namespace flowfabric::api
