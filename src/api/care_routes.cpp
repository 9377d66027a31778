// Lanes, namespaces, counts, signing keys, retention.
#include <algorithm>
#include <set>

#include "api/parameters.hpp"
#include "base/check.hpp"
#include "wire/fleet_bodies.hpp"

namespace flowfabric::api {
namespace {

// With a namespace: those on which it has executions. Lanes are shared by all namespaces, so the others are not its
// business.
Result<std::vector<LaneInfo>> lanes_of(Call& call) {
  FF_TRY(lanes, call.engine().list_lanes());
  const auto name_space = call.query("namespace");
  if (!name_space) return lanes;
  FF_TRY(counts, call.engine().count_executions(name_space));
  std::set<std::string> own;
  for (const LaneCounts& lane : counts) own.insert(lane.lane);
  std::erase_if(lanes, [&](const LaneInfo& lane) { return !own.contains(lane.lane); });
  return lanes;
}

Result<LaneInfo> lane_of(Call& call, Nothing) {
  const std::string& name = call.parameter("lane");
  FF_TRY(lanes, lanes_of(call));
  const auto found = std::find_if(lanes.begin(), lanes.end(), [&](const LaneInfo& lane) { return lane.lane == name; });
  if (found == lanes.end()) return fail(Errc::not_found, "there is no lane \"" + name + "\"", "lane");
  return std::move(*found);
}

std::vector<Route> lane_routes() {
  const std::vector<QueryParameter> of_namespace = {{"namespace", "Only lanes with executions of this namespace."}};
  return {
      blocking_route<Nothing, LanesReply>(
          ApiRole::viewer, "GET", "/v1/lanes", "List all lanes.",
          [](Call& call, Nothing) -> Result<LanesReply> {
            FF_TRY(lanes, lanes_of(call));
            return LanesReply{std::move(lanes)};
          },
          of_namespace),
      blocking_route<Nothing, LaneInfo>(ApiRole::viewer, "GET", "/v1/lanes/{lane}", "Get one lane.", lane_of,
                                        of_namespace),
      blocking_route<LaneBody, LaneInfo>(
          ApiRole::operating, "PUT", "/v1/lanes/{lane}", "Pause, resume, drain or disable a lane.",
          [](Call& call, LaneBody body) -> Result<LaneInfo> {
            return call.engine().set_lane_state(call.parameter("lane"), body.state,
                                                call.as_operator(std::move(body.reason)));
          }),
      blocking_route<Nothing, CountsReply>(ApiRole::viewer, "GET", "/v1/counts",
                                           "Count the executions of each lane by state.",
                                           [](Call& call, Nothing) -> Result<CountsReply> {
                                             FF_TRY(lanes, call.engine().count_executions(call.query("namespace")));
                                             return CountsReply{std::move(lanes)};
                                           },
                                           {{"namespace", "Count only executions of this namespace."}}),
  };
}

// A caller that reaches one namespace only sees no other.
Result<NamespacesReply> namespaces_of(Call& call, Nothing) {
  FF_TRY(namespaces, call.engine().list_namespaces());
  if (const auto& reach = call.caller().name_space) {
    std::erase_if(namespaces, [&](const NamespaceInfo& info) { return info.name_space != *reach; });
  }
  return NamespacesReply{std::move(namespaces)};
}

Route namespaces_route() {
  Route route = blocking_route<Nothing, NamespacesReply>(ApiRole::viewer, "GET", "/v1/namespaces",
                                                         "All namespaces that have settings.", namespaces_of);
  route.keeps_to_namespace = true;
  return route;
}

std::vector<Route> namespace_routes() {
  const std::string one = "/v1/namespaces/{namespace}";
  return {
      namespaces_route(),
      blocking_route<Nothing, NamespaceInfo>(
          ApiRole::viewer, "GET", one, "Get the settings of a namespace.",
          [](Call& call, Nothing) { return call.engine().get_namespace(call.parameter("namespace")); }),
      blocking_route<NamespaceBody, NamespaceInfo>(
          ApiRole::operating, "PUT", one, "Change the settings of a namespace.",
          [](Call& call, NamespaceBody body) {
            return call.engine().set_namespace({call.parameter("namespace"), body.retention},
                                               call.as_operator(std::move(body.reason)));
          }),
  };
}

std::vector<Route> key_routes() {
  return {
      blocking_route<Nothing, KeysReply>(ApiRole::admin, "GET", "/v1/signing-keys",
                                         "List the keys that sign handles and grants.",
                                         [](Call& call, Nothing) -> Result<KeysReply> {
                                           FF_TRY(keys, call.engine().list_keys());
                                           return KeysReply{std::move(keys)};
                                         }),
      blocking_route<RotateBody, KeyRotation>(
          ApiRole::admin, "POST", "/v1/signing-keys/rotate", "Create a new signing key.",
          [](Call& call, RotateBody body) {
            return call.engine().rotate_keys(body.grace_ms, call.as_operator(std::move(body.reason)));
          }),
      blocking_route<RetentionBody, RetentionReply>(
          ApiRole::operating, "POST", "/v1/retention/run", "Remove ended executions.",
          [](Call& call, RetentionBody body) -> Result<RetentionReply> {
            const RetentionRun run{body.older_than_ms, std::move(body.name_space), std::move(body.lane),
                                   std::move(body.tag), body.dry_run};
            FF_TRY(matched, call.engine().run_retention(run, call.as_operator(std::move(body.reason))));
            return RetentionReply{matched, body.dry_run ? 0 : matched};
          }),
  };
}

}  // namespace

std::vector<Route> care_routes() {
  std::vector<Route> all = lane_routes();
  for (auto& more : {namespace_routes(), key_routes()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace flowfabric::api
