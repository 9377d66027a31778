// The route table: one line a route says what it takes, what it gives and what it does. Dispatch, OpenAPI and tests all
// read it, so they cannot differ.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.hpp"
#include "wire/shape.hpp"

namespace flowfabric::api {

// Nothing in the body.
struct Nothing {};

struct QueryParameter {
  std::string_view name{};
  std::string_view about{};
  bool repeats = false;  // may come several times
};

struct Route {
  ApiRole needs = ApiRole::viewer;  // the least role that may call it
  std::string method{};
  std::string pattern{};  // "/v1/executions/{execution_id}"
  std::string summary{};
  std::vector<QueryParameter> query{};
  int status = 200;
  // Empty when there is no body.
  std::function<std::string(wire::Schemas&)> request_schema{};
  std::function<std::string(wire::Schemas&)> response_schema{};
  std::function<void(const std::shared_ptr<Call>&)> run{};
  bool body_required = false;  // an empty one is not as good as {}
  std::string description{};   // what the summary does not say
  bool takes_bytes = false;    // also as application/octet-stream
  bool gives_bytes = false;
};

namespace detail {

template <class T>
Result<T> read_body(Call& call) {
  if constexpr (std::is_same_v<T, Nothing>) {
    if (!call.request().body.empty()) return fail(Errc::invalid_argument, "body: this route takes none", "body");
    return Nothing{};
  } else {
    if (const auto type = call.request().headers.find("content-type"); type && !type->starts_with("application/json")) {
      return fail(Errc::unsupported_media_type, "content-type: must be application/json, not " + std::string(*type),
                  "content-type");
    }
    const std::string& body = call.request().body;
    return wire::from_json<T>(body.empty() ? "{}" : body);
  }
}

template <class T>
void give(Call& call, int status, const Result<T>& reply) {
  if (!reply) return call.refuse(reply.error());
  if constexpr (std::is_same_v<T, Nothing>) {
    call.answer(status, "{}");
  } else {
    call.answer(status, wire::to_json(*reply));
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

// The same route, which says more about itself.
Route described(Route route, std::string description);
// The same route, which also takes a body of bytes: then `run` has the call instead.
Route taking_bytes(Route route, std::function<void(const std::shared_ptr<Call>&)> run);
// The same route, which also answers with bytes when they are asked for: `read` gives them with their label, on a
// thread of the pool.
struct LabelledBytes {
  std::string bytes{};
  std::string label{};
};
Route giving_bytes(Route route, std::function<Result<LabelledBytes>(Call&)> read);

std::vector<Route> execution_routes();
std::vector<Route> bulk_routes();
std::vector<Route> worker_routes();
std::vector<Route> fleet_routes();
std::vector<Route> care_routes();  // lanes, namespaces, counts, keys, retention
std::vector<Route> all_routes();

// OpenAPI 3.1 of a table.
std::string openapi_json(const std::vector<Route>& routes);

}  // namespace flowfabric::api
