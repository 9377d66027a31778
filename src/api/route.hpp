// The route table: one line a route says what it takes, what it gives and what it does. Dispatch, OpenAPI and tests all
// read it, so they cannot differ.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.hpp"
#include "api/event_stream.hpp"
#include "wire/shape.hpp"

namespace flowfabric::api {

// Nothing in the body.
struct Nothing {};

struct QueryParameter {
  std::string_view name;
  std::string_view about;
};

// A good answer other than the usual one.
struct OtherAnswer {
  int status = 200;
  std::string_view about;
};

struct Route {
  ApiRole needs = ApiRole::viewer;  // the least role that may call it
  std::string method;
  std::string pattern;  // "/v1/executions/{execution_id}"
  std::string summary;
  std::vector<QueryParameter> query;
  int status = 200;
  // Empty when there is no body.
  std::function<std::string(wire::Schemas&)> request_schema;
  std::function<std::string(wire::Schemas&)> response_schema;
  std::function<void(const std::shared_ptr<Call>&)> run;
  std::vector<OtherAnswer> also{};  // with the same schema
  bool streams = false;             // answers with text/event-stream who accepts that
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
    return wire::from_json<T>(call.request().body);
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

}  // namespace detail

// A route that answers later, without a thread: run(call, request, done).
template <class Req, class Rep, class Run>
Route async_route(ApiRole needs, std::string method, std::string pattern, std::string summary, Run run,
                  std::vector<QueryParameter> query = {}, int status = 200) {
  Route route{needs,
              std::move(method),
              std::move(pattern),
              std::move(summary),
              std::move(query),
              status,
              detail::schema_of<Req>(),
              detail::schema_of<Rep>(),
              {}};
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
  Route route{needs,
              std::move(method),
              std::move(pattern),
              std::move(summary),
              std::move(query),
              status,
              detail::schema_of<Req>(),
              detail::schema_of<Rep>(),
              {}};
  route.run = [run, status](const std::shared_ptr<Call>& call) {
    auto request = detail::read_body<Req>(*call);
    if (!request) return call->refuse(request.error());
    call->in_pool([call, run, status, request = std::move(*request)]() mutable {
      detail::give<Rep>(*call, status, run(*call, std::move(request)));
    });
  };
  return route;
}

// A route that answers as a stream if the client accepts text/event-stream, stream(call), and else with one answer, later
// and without a thread: run(call, request, done).
template <class Rep, class Run, class Stream>
Route streaming_route(ApiRole needs, std::string method, std::string pattern, std::string summary, Run run,
                      Stream stream, std::vector<QueryParameter> query) {
  Route route = async_route<Nothing, Rep>(needs, std::move(method), std::move(pattern), std::move(summary),
                                          std::move(run), std::move(query));
  route.streams = true;
  route.run = [once = std::move(route.run), stream = std::move(stream)](const std::shared_ptr<Call>& call) {
    const bool wants_stream = call->request().headers.has_token("accept", "text/event-stream");
    wants_stream ? stream(call) : once(call);
  };
  return route;
}

std::vector<Route> execution_routes();
std::vector<Route> event_routes(const StreamSettings& settings);
std::vector<Route> worker_routes();
std::vector<Route> lane_routes();
std::vector<Route> all_routes(const StreamSettings& settings = {});

// OpenAPI 3.1 of a table.
std::string openapi_json(const std::vector<Route>& routes);

}  // namespace flowfabric::api
