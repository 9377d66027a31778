#include "api/bodies.hpp"
#include "api/route.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"

namespace flowfabric::api {
namespace {

using CallPtr = std::shared_ptr<Call>;

constexpr std::size_t max_creates = 1000;

// Until callers have names, the API itself is the operator.
Operator operator_of(std::string reason) { return {"http", std::move(reason)}; }

Result<ListRequest> list_request(const Call& call) {
  ListRequest request;
  request.name_space = call.query("namespace");
  request.lane = call.query("lane");
  request.kind = call.query("kind");
  if (const auto state = call.query("state")) {
    FF_TRY(parsed, parse_public_state(*state));
    request.states = {parsed};
  }
  if (const auto tag = call.query("tag")) {
    const std::size_t equals = tag->find('=');
    if (equals == std::string::npos) return fail(Errc::invalid_argument, "tag: must be key=value", "tag");
    request.tag = {tag->substr(0, equals), tag->substr(equals + 1)};
  }
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return request;
}

Result<CreatedMany> create_many(Call& call, CreateManyBody body) {
  if (body.executions.size() > max_creates) {
    return fail(Errc::invalid_argument,
                "executions: has " + std::to_string(body.executions.size()) + " entries; allowed are at most " +
                    std::to_string(max_creates),
                "executions");
  }
  return CreatedMany{items(call.engine().create_many(std::move(body.executions)))};
}

Result<EventPage> history_of(Call& call, Nothing) {
  FF_TRY(id, call.execution_id());
  FF_TRY(limit, page_limit(call));
  return call.engine().execution_history(id, call.query("cursor").value_or(""), limit);
}

Result<TagsReply> change_tags(Call& call, TagsBody body) {
  FF_TRY(id, call.execution_id());
  FF_TRY(tags, call.engine().change_tags(id, {std::move(body.set), std::move(body.remove)},
                                         operator_of(std::move(body.reason))));
  return TagsReply{std::move(tags)};
}

const std::vector<QueryParameter> paging = {{"cursor", "Where the last page ended."}, {"limit", "1 to 1000."}};
const std::vector<QueryParameter> listing = {{"namespace", ""},      {"lane", ""},
                                             {"kind", ""},           {"state", "A public state."},
                                             {"tag", "key=value"},   {"cursor", "Where the last page ended."},
                                             {"limit", "1 to 1000."}};

}  // namespace

std::vector<Route> execution_routes() {
  const std::string one = "/v1/executions/{execution_id}";
  return {
      async_route<CreateRequest, Created>(
          ApiRole::worker, "POST", "/v1/executions", "Create an execution.",
          [](const CallPtr& call, CreateRequest request, Engine::Done<Created> done) {
            call->engine().create_async(std::move(request), std::move(done));
          },
          {}, 201),
      blocking_route<CreateManyBody, CreatedMany>(ApiRole::worker, "POST", "/v1/executions/batch",
                                                  "Create up to 1,000 executions.", create_many),
      blocking_route<Nothing, ListReply>(
          ApiRole::viewer, "GET", "/v1/executions", "List executions, newest first.",
          [](Call& call, Nothing) -> Result<ListReply> {
            FF_TRY(request, list_request(call));
            return call.engine().list_executions(request);
          },
          listing),
      blocking_route<Nothing, ExecutionDescription>(ApiRole::viewer, "GET", one, "Everything about one execution.",
                                                    [](Call& call, Nothing) -> Result<ExecutionDescription> {
                                                      FF_TRY(id, call.execution_id());
                                                      return call.engine().describe_execution(id);
                                                    }),
      blocking_route<Nothing, ReasonsReply>(ApiRole::viewer, "GET", one + "/explain",
                                            "Why it is not running right now.",
                                            [](Call& call, Nothing) -> Result<ReasonsReply> {
                                              FF_TRY(id, call.execution_id());
                                              FF_TRY(description, call.engine().describe_execution(id));
                                              return ReasonsReply{std::move(description.explain)};
                                            }),
      blocking_route<Nothing, EventPage>(ApiRole::viewer, "GET", one + "/history", "Its events, oldest first.",
                                         history_of, paging),
      blocking_route<Nothing, AttemptsReply>(ApiRole::viewer, "GET", one + "/attempts", "Its attempts, oldest first.",
                                             [](Call& call, Nothing) -> Result<AttemptsReply> {
                                               FF_TRY(id, call.execution_id());
                                               FF_TRY(attempts, call.engine().list_attempts(id));
                                               return AttemptsReply{std::move(attempts)};
                                             }),
      blocking_route<ReasonBody, CancelReply>(ApiRole::operating, "POST", one + "/cancel", "Cancel it.",
                                              [](Call& call, ReasonBody body) -> Result<CancelReply> {
                                                FF_TRY(id, call.execution_id());
                                                return call.engine().cancel(id, operator_of(std::move(body.reason)));
                                              }),
      blocking_route<ReasonBody, ReplayReply>(
          ApiRole::operating, "POST", one + "/replay", "Start an ended execution over.",
          [](Call& call, ReasonBody body) -> Result<ReplayReply> {
            FF_TRY(id, call.execution_id());
            return call.engine().replay_execution(id, operator_of(std::move(body.reason)));
          }),
      blocking_route<RevokeBody, RevokeReply>(
          ApiRole::operating, "POST", one + "/revoke-lease", "Take the lease away from its holder.",
          [](Call& call, RevokeBody body) -> Result<RevokeReply> {
            FF_TRY(id, call.execution_id());
            return call.engine().revoke_lease(id, operator_of(std::move(body.reason)), body.expected_lease_id);
          }),
      blocking_route<PriorityBody, Nothing>(
          ApiRole::operating, "PUT", one + "/priority", "Change its priority; it keeps its place among equals.",
          [](Call& call, PriorityBody body) -> Result<Nothing> {
            FF_TRY(id, call.execution_id());
            FF_TRY_VOID(call.engine().change_priority(id, body.priority, operator_of(std::move(body.reason))));
            return Nothing{};
          }),
      blocking_route<TagsBody, TagsReply>(ApiRole::operating, "PATCH", one + "/tags", "Set and remove tags.",
                                          change_tags),
  };
}

std::vector<Route> lane_routes() {
  return {
      blocking_route<Nothing, LanesReply>(ApiRole::viewer, "GET", "/v1/lanes", "All lanes.",
                                          [](Call& call, Nothing) -> Result<LanesReply> {
                                            FF_TRY(lanes, call.engine().list_lanes());
                                            return LanesReply{std::move(lanes)};
                                          }),
      blocking_route<LaneBody, LaneInfo>(ApiRole::operating, "PUT", "/v1/lanes/{lane}",
                                         "Pause, resume, drain or disable a lane.",
                                         [](Call& call, LaneBody body) -> Result<LaneInfo> {
                                           return call.engine().set_lane_state(call.parameter("lane"), body.state,
                                                                               operator_of(std::move(body.reason)));
                                         }),
  };
}

std::vector<Route> all_routes(const StreamSettings& settings) {
  std::vector<Route> all = execution_routes();
  for (auto& more : {worker_routes(), lane_routes(), event_routes(settings)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace flowfabric::api
