// The route table: one entry per route defines its request, its response and its handler. Dispatch, OpenAPI and tests
// all use it, so they cannot differ.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.hpp"
#include "api/dashboard.hpp"
#include "api/event_stream.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::api {

using namespace bodies;  // the bodies of requests and replies

class Overview;

// Nothing in the body.
struct Nothing {};

struct QueryParameter {
  std::string_view name{};
  std::string_view about{};
  std::string schema = R"({"type":"string"})";  // of one value
  bool is_list = false;                         // a,b and repeating the parameter say the same
};

// A successful response other than the usual one.
struct OtherAnswer {
  int status = 200;
  std::string_view about;
};

struct Route {
  ApiRole needs = ApiRole::viewer;  // the lowest role that may use it
  std::string method{};
  std::string pattern{};  // "/v1/executions/{execution_id}"
  std::string summary{};
  std::vector<QueryParameter> query{};
  std::vector<QueryParameter> headers{};
  int status = 200;
  // Empty if there is no body.
  std::function<std::string(wire::Schemas&)> request_schema{};
  std::function<std::string(wire::Schemas&)> response_schema{};
  std::function<void(const std::shared_ptr<Call>&)> run{};
  // Whether it can be restricted to one namespace. Restricted clients are refused the other routes.
  bool keeps_to_namespace = false;
  bool body_required = false;  // an empty body is not accepted as {}
  std::string description{};   // in addition to the summary
  bool takes_bytes = false;    // also as application/octet-stream
  bool gives_bytes = false;
  std::vector<OtherAnswer> also{};  // with the same schema
  bool streams = false;             // answers with text/event-stream if the client accepts it
  bool anybody = false;             // needs no key
  bool signed_by_sender = false;    // any body and any query: the signature vouches for the sender
  bool of_dashboard = false;        // does not exist on a server without the dashboard
};

namespace detail {

// A body shows which namespace it concerns: it names a namespace, executions, or leases.
template <class T>
constexpr bool names_its_reach =
    requires(T& t) { t.name_space; } || requires(T& t) { t.execution_id; } || requires(T& t) { t.handle; } ||
    requires(T& t) { t.handles; } || requires(T& t) { t.completions.front().handle; } ||
    requires(T& t) { t.executions.front().name_space; };

// The leases that a body names.
template <class T>
std::vector<Handle> handles_of(const T& body) {
  std::vector<Handle> handles;
  if constexpr (requires { body.handle; }) handles.push_back(body.handle);
  if constexpr (requires { body.handles; }) handles = body.handles;
  if constexpr (requires { body.leases; }) handles = body.leases;
  if constexpr (requires { body.completions.front().handle; }) {
    for (const auto& completion : body.completions) handles.push_back(completion.handle);
  }
  return handles;
}

template <class T>
Result<void> check_reach_of(const Call& call, const T& body) {
  if constexpr (requires { *body.name_space; }) {
    if (!body.name_space) return fail(Errc::permission_denied, "namespace: is missing", "namespace");
    FF_TRY_VOID(call.check_reach(*body.name_space));
  } else if constexpr (requires { body.name_space; }) {
    FF_TRY_VOID(call.check_reach(body.name_space));
  }
  if constexpr (requires { body.executions.front().name_space; }) {
    for (const auto& execution : body.executions) FF_TRY_VOID(call.check_reach(execution.name_space));
  }
  if constexpr (requires { body.worker_namespace; }) {
    FF_TRY_VOID(call.check_reach(body.worker_namespace, "worker_namespace"));
  }
  if constexpr (requires { body.execution_id; }) FF_TRY_VOID(call.check_reach(body.execution_id));
  return call.check_reach(handles_of(body));
}

template <class T>
Result<T> read_json_within_reach(Call& call) {
  T body{};
  const auto& reach = call.caller().name_space;
  if constexpr (requires { body.name_space = *reach; }) {
    if (reach) body.name_space = *reach;
  }
  if constexpr (requires { body.worker_namespace = *reach; }) {
    if (reach) body.worker_namespace = *reach;
  }
  const std::string& text = call.request().body;
  FF_TRY_VOID(wire::read_json(text.empty() ? "{}" : text, body));
  if (reach) FF_TRY_VOID(check_reach_of(call, body));
  return body;
}

template <class T>
Result<T> read_body(Call& call) {
  if constexpr (std::is_same_v<T, Nothing>) {
    if (!call.request().body.empty()) return fail(Errc::invalid_argument, "body: this route accepts no body", "body");
    return Nothing{};
  } else {
    return read_json_within_reach<T>(call);
  }
}

// The leases that a reply hands out.
template <class T>
std::vector<Handle> leases_in(const T& reply) {
  std::vector<Handle> handles;
  if constexpr (requires { reply.handle, reply.lease; }) handles.push_back(reply.handle);
  if constexpr (requires { reply.execution->handle; }) {
    if (reply.execution) handles.push_back(reply.execution->handle);
  }
  if constexpr (requires { reply.executions.front().handle; }) {
    for (const auto& execution : reply.executions) handles.push_back(execution.handle);
  }
  return handles;
}

// No cache may keep what is a secret.
template <class T>
net::Headers headers_for(const T& reply) {
  constexpr bool secret = requires { reply.token; } || requires { reply.tokens; } || requires { reply.secret; };
  if constexpr (secret) return {{"Cache-Control", "no-store"}};
  return {};
}

template <class T>
void give(Call& call, int status, const Result<T>& reply) {
  if (!reply) return call.refuse(reply.error());
  if constexpr (std::is_same_v<T, Nothing>) {
    call.answer(status, "{}");
  } else if (std::vector<Handle> leases = leases_in(*reply); !leases.empty()) {
    call.hand_over(status, wire::to_json(*reply), std::move(leases));
  } else {
    call.answer(status, wire::to_json(*reply), headers_for(*reply));
  }
}

template <class T>
std::function<std::string(wire::Schemas&)> schema_of() {
  if constexpr (std::is_same_v<T, Nothing>) {
    return {};
  } else {
    return [](wire::Schemas& schemas) { return wire::Codec<T>::schema(schemas); };
  }
}

template <class Req, class Rep>
Route declare(ApiRole needs, std::string method, std::string pattern, std::string summary,
              std::vector<QueryParameter> query, int status) {
  Route route;
  route.needs = needs;
  route.method = std::move(method);
  route.pattern = std::move(pattern);
  route.summary = std::move(summary);
  route.query = std::move(query);
  route.status = status;
  route.request_schema = schema_of<Req>();
  route.response_schema = schema_of<Rep>();
  route.keeps_to_namespace = names_its_reach<Req>;
  if constexpr (!std::is_same_v<Req, Nothing>) route.body_required = !wire::from_json<Req>("{}");
  return route;
}

}  // namespace detail

// A route that answers later, without a thread: run(call, request, done).
template <class Req, class Rep, class Run>
Route async_route(ApiRole needs, std::string method, std::string pattern, std::string summary, Run run,
                  std::vector<QueryParameter> query = {}, int status = 200) {
  Route route = detail::declare<Req, Rep>(needs, std::move(method), std::move(pattern), std::move(summary),
                                          std::move(query), status);
  route.run = [run, status](const std::shared_ptr<Call>& call) {
    auto request = detail::read_body<Req>(*call);
    if (!request) return call->refuse(request.error());
    run(call, std::move(*request), [call, status](const Result<Rep>& reply) { detail::give(*call, status, reply); });
  };
  return route;
}

// A route whose work blocks: run(call, request) -> Result<Rep>, on a thread of the pool.
template <class Req, class Rep, class Run>
Route blocking_route(ApiRole needs, std::string method, std::string pattern, std::string summary, Run run,
                     std::vector<QueryParameter> query = {}, int status = 200) {
  Route route = detail::declare<Req, Rep>(needs, std::move(method), std::move(pattern), std::move(summary),
                                          std::move(query), status);
  route.run = [run, status](const std::shared_ptr<Call>& call) {
    auto request = detail::read_body<Req>(*call);
    if (!request) return call->refuse(request.error());
    call->in_pool([call, run, status, request = std::move(*request)]() mutable {
      detail::give<Rep>(*call, status, run(*call, std::move(request)));
    });
  };
  return route;
}

// The same route with a description.
Route described(Route route, std::string description);
// The same route, which also accepts a body of bytes: then `run` gets the call instead.
Route taking_bytes(Route route, std::function<void(const std::shared_ptr<Call>&)> run);
// The same route, which also answers with bytes if the client accepts them: `read` returns them with their label, on a
// thread of the pool.
struct LabelledBytes {
  std::string bytes{};
  std::string label{};
};
// Whether the client accepts them.
bool wants_bytes(Call& call);
Route giving_bytes(Route route, std::function<Result<LabelledBytes>(Call&)> read);

// A route that answers as a stream if the client accepts text/event-stream, stream(call), and else with one response,
// later and without a thread: run(call, request, done).
template <class Rep, class Run, class Stream>
Route streaming_route(ApiRole needs, std::string method, std::string pattern, std::string summary, Run run,
                      Stream stream, std::vector<QueryParameter> query) {
  Route route = async_route<Nothing, Rep>(needs, std::move(method), std::move(pattern), std::move(summary),
                                          std::move(run), std::move(query));
  route.streams = true;
  route.run = [once = std::move(route.run), stream = std::move(stream)](const std::shared_ptr<Call>& call) {
    const bool wants_stream = call->request().headers.has_token("accept", stream_type);
    wants_stream ? stream(call) : once(call);
  };
  return route;
}

std::vector<Route> execution_routes();
std::vector<Route> flow_routes();
std::vector<Route> schedule_routes();
std::vector<Route> limit_routes();
std::vector<Route> dead_letter_routes();  // and redrives
std::vector<Route> event_routes(const StreamSettings& settings);
std::vector<Route> bulk_routes();
std::vector<Route> worker_routes();
std::vector<Route> wait_routes();  // waits, signals and approvals
std::vector<Route> hook_routes();
std::vector<Route> budget_routes();
std::vector<Route> fleet_routes();
std::vector<Route> care_routes();  // lanes, namespaces, counts, signing keys, retention
std::vector<Route> api_key_routes();
std::vector<Route> session_routes(const DashboardSettings& settings);
std::vector<Route> overview_routes(const std::shared_ptr<Overview>& overview);
// Without an overview the table can be read, but not all of it can be run.
std::vector<Route> all_routes(const StreamSettings& streams = {}, const DashboardSettings& dashboard = {},
                              const std::shared_ptr<Overview>& overview = nullptr);

// OpenAPI 3.1 of a table.
std::string openapi_json(const std::vector<Route>& routes);

}  // namespace flowfabric::api
