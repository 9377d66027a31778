// Limits: how many executions run at the same time, and how many start in a period.
#include <algorithm>

#include "api/parameters.hpp"
#include "base/check.hpp"
#include "wire/limit_shapes.hpp"

namespace flowfabric::api {
namespace {

using bodies::LimitBody;
using bodies::LimitsReply;

const std::string one_limit = "/v1/limits/{name}";
const QueryParameter limit_namespace = {"namespace", "The namespace of the limit; absent: the one for all namespaces."};

LimitName limit_name(const Call& call) { return {call.query("namespace"), call.parameter("name")}; }

// A limit for all namespaces is the business of the operators of the store. Those who reach one namespace see that it
// exists, because it holds back their executions too, but neither people nor executions of others, nor the keys that have
// weights.
void hide_what_is_of_others(const Call& call, LimitInfo& limit) {
  if (!call.caller().name_space || limit.name_space) return;
  limit.created_by.clear();
  limit.changed_by.clear();
  if (limit.share) limit.share->weights.clear();
}

Result<LimitsReply> list_limits(Call& call, Nothing) {
  FF_TRY(limits, call.engine().list_limits({call.query("namespace")}));
  for (LimitInfo& limit : limits) hide_what_is_of_others(call, limit);
  return LimitsReply{std::move(limits)};
}

// Of a caller that reaches one namespace, when the namespace has no limit of that name: the one for all namespaces,
// without what is in use of it.
Result<ListLimitUseReply> show_shared_limit(const Call& call, const Error& otherwise) {
  FF_TRY(limits, call.engine().list_limits({call.caller().name_space}));
  const auto found = std::find_if(limits.begin(), limits.end(), [&](const LimitInfo& limit) {
    return !limit.name_space && limit.name == call.parameter("name");
  });
  if (found == limits.end()) return Unexpected(otherwise);
  ListLimitUseReply reply;
  reply.info = std::move(*found);
  reply.keys_hidden = true;
  hide_what_is_of_others(call, reply.info);
  return reply;
}

Result<ListLimitUseReply> show_limit(Call& call, Nothing) {
  ListLimitUseRequest request;
  request.limit = limit_name(call);
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit_keys = limit;
  auto reply = call.engine().list_limit_use(request);
  if (reply || !call.caller().name_space || reply.error().code != Errc::not_found) return reply;
  return show_shared_limit(call, reply.error());
}

Result<LimitCheck> check_limits(Call& call, const LimitCheckRequest& request) {
  FF_TRY(check, call.engine().check_limits(request));
  for (LimitChecked& one : check.limits) {
    if (!call.caller().name_space || one.info.name_space) continue;
    hide_what_is_of_others(call, one.info);
    one.use.holders.clear();
  }
  return check;
}

Result<LimitSaved> set_limit(Call& call, LimitBody body) {
  LimitRequest request;
  static_cast<LimitName&>(request) = {std::move(body.name_space), call.parameter("name")};
  request.expected_revision = body.expected_revision;
  Operator by = call.as_operator(std::move(body.reason));
  static_cast<LimitSpec&>(request) = static_cast<LimitSpec&&>(body);
  return call.engine().set_limit(std::move(request), std::move(by));
}

Route setting_route() {
  Route route = described(
      blocking_route<LimitBody, LimitSaved>(ApiRole::operating, "PUT", one_limit,
                                            "Create a limit, or change its concurrency, rate, budget or weights.",
                                            set_limit),
      "It has a concurrency, a rate, a budget, or several of them; or a share. Repeating the call changes nothing and "
      "answers `unchanged`. A changed limit holds at once: lowering it lets what runs finish. `lane`, `kind` and `per` "
      "cannot be changed, and a limit does not become a share.");
  route.also = {{201, "It was created."}};
  route.body_required = true;  // it has a concurrency or a rate
  route.run = [](const std::shared_ptr<Call>& call) {
    auto body = detail::read_body<LimitBody>(*call);
    if (!body) return call->refuse(body.error());
    call->in_pool([call, body = std::move(*body)]() mutable {
      const auto saved = set_limit(*call, std::move(body));
      const bool created = saved && saved->outcome == LimitChange::created;
      detail::give(*call, created ? 201 : 200, saved);
    });
  };
  return route;
}

}  // namespace

std::vector<Route> limit_routes() {
  std::vector<QueryParameter> keys = {limit_namespace};
  for (const QueryParameter& parameter : paging_parameters()) keys.push_back(parameter);
  return {
      described(blocking_route<Nothing, LimitsReply>(
                    ApiRole::viewer, "GET", "/v1/limits", "List the limits, at most 200.", list_limits,
                    {{"namespace", "Only limits for the executions of this namespace: its own, and those for all."}}),
                "Limits for all namespaces come first."),
      described(blocking_route<Nothing, ListLimitUseReply>(ApiRole::viewer, "GET", one_limit,
                                                           "Get a limit, and what is in use of each of its keys.",
                                                           show_limit, keys),
                "A key that is restricted to a namespace gets a limit for all namespaces if its own has none of that "
                "name, but not what is in use of it: `keys_hidden`."),
      setting_route(),
      described(blocking_route<Nothing, LimitSaved>(ApiRole::operating, "DELETE", one_limit, "Remove a limit.",
                                                    [](Call& call, Nothing) {
                                                      return call.engine().remove_limit(
                                                          limit_name(call),
                                                          call.as_operator(call.query("reason").value_or("")));
                                                    },
                                                    {limit_namespace, {"reason", "Recorded in the event log."}}),
                "What it holds back may start."),
      blocking_route<LimitCheckRequest, LimitCheck>(ApiRole::viewer, "POST", "/v1/limits/check",
                                                    "Find out whether limits would hold back an execution that is "
                                                    "created now.",
                                                    check_limits),
  };
}

}  // namespace flowfabric::api
