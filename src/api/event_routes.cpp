// Events and results that a client can wait for.
#include "api/event_stream.hpp"
#include "api/parameters.hpp"
#include "api/route.hpp"
#include "base/check.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::api {
namespace {

using CallPtr = std::shared_ptr<Call>;

// Responses can be large and are compressed: not on the engine's thread.
template <class T>
Engine::Done<T> answered_in_pool(const CallPtr& call, Engine::Done<T> done) {
  return [call, done = std::move(done)](Result<T> reply) {
    call->in_pool([done, reply = std::move(reply)]() mutable { done(std::move(reply)); });
  };
}

// ---------------------------------------------------------------- results

void answer_bytes(Call& call, ExecutionResult result) {
  auto bytes = result_bytes(std::move(result));
  if (!bytes) return call.refuse(bytes.error());
  call.answer_bytes(std::move(bytes->bytes), bytes->label);
}

void wait_for_result(const CallPtr& call, const ExecutionId& id, std::uint32_t wait_ms,
                     const Engine::Done<ExecutionResult>& done) {
  call->engine().wait_async(id, wait_ms, answered_in_pool<ExecutionResult>(call, [=](Result<ExecutionResult> result) {
                              const bool goes_on = !result && result.error().code == Errc::timed_out;
                              if (goes_on) return call->answer(202, wire::to_json(ExecutionResult{}));
                              if (result && wants_bytes(*call)) return answer_bytes(*call, std::move(*result));
                              done(std::move(result));
                            }));
}

void result_of(const CallPtr& call, Nothing, const Engine::Done<ExecutionResult>& done) {
  const auto id = call->execution_id();
  if (!id) return done(Unexpected(id.error()));
  const auto wait_ms = query_wait_ms(*call);
  if (!wait_ms) return done(Unexpected(wait_ms.error()));
  wait_for_result(call, *id, *wait_ms, done);
}

// ---------------------------------------------------------------- events

Result<EventFilter> event_filter(Call& call) {
  EventFilter filter;
  filter.name_space = call.query("namespace");
  filter.lane = call.query("lane");
  if (const auto text = call.query("execution_id")) {
    FF_TRY(id, parse_execution_id(*text));
    filter.execution_id = id;
  }
  if (const auto text = call.query("flow_id")) {
    const auto id = parse_execution_id(*text);
    if (!id)
      return fail(Errc::invalid_argument, "flow_id: is not a flow id like fp7-<uuid>: \"" + *text + "\"", "flow_id");
    filter.flow_id = *id;
  }
  FF_TRY(types, call.query_list("type"));
  for (const std::string& word : types) {
    FF_TRY(type, parse_event_type(word));
    filter.types.push_back(type);
  }
  return filter;
}

struct EventsAsked {
  EventFilter filter;
  std::uint32_t limit = 0;
  std::uint32_t wait_ms = 0;
};

Result<EventsAsked> events_asked(Call& call) {
  EventsAsked asked;
  FF_TRY(filter, event_filter(call));
  FF_TRY(limit, page_limit(call));
  FF_TRY(wait_ms, query_wait_ms(call));
  asked.filter = std::move(filter);
  asked.limit = limit;
  asked.wait_ms = wait_ms;
  return asked;
}

void poll(const CallPtr& call, Nothing, Engine::Done<EventPage> done) {
  auto asked = events_asked(*call);
  if (!asked) return done(Unexpected(asked.error()));
  call->engine().read_events_async(std::move(asked->filter), call->query("cursor").value_or(""), asked->limit,
                                   asked->wait_ms, answered_in_pool<EventPage>(call, std::move(done)));
}

// A reconnecting client sends its position in the header; the one in the URL is older.
std::string resume_cursor(const Call& call, const net::Request& request) {
  const auto last = request.headers.find("last-event-id");
  return last && !last->empty() ? std::string(*last) : call.query("cursor").value_or("");
}

void stream(const std::shared_ptr<EventStreams>& streams, const CallPtr& call) {
  for (const char* pointless : {"limit", "wait_ms"}) {
    if (!call->query(pointless)) continue;
    return call->refuse(Error{
        Errc::invalid_argument, std::string(pointless) + ": applies to pages only, not to streams", pointless, {}});
  }
  auto filter = event_filter(*call);
  if (!filter) return call->refuse(filter.error());
  stream_events(streams, call, std::move(*filter), resume_cursor(*call, call->request()));
}

const std::vector<QueryParameter> event_parameters = {
    {"cursor",
     "The position to read from: a cursor of an earlier response, `earliest`, or absent for new events only."},
    {"namespace", "Only events of this namespace."},
    {"lane", "Only events of this lane."},
    {"execution_id", "Only events of this execution."},
    {"flow_id", "Only events of this flow itself, not of its nodes."},
    names_parameter<EventType>("type", "Events of these types only: `completed,failed`."),
    number_parameter("limit", "Of a page: 1 to 1000 (100).", 1, limits::max_page),
    wait_parameter("How long a page may wait for its first event, up to 60000 (0)."),
};

}  // namespace

std::vector<Route> event_routes(const StreamSettings& settings) {
  auto result = async_route<Nothing, ExecutionResult>(
      ApiRole::viewer, "GET", "/v1/executions/{execution_id}/result", "Get its result.", result_of,
      {wait_parameter("How long to wait for its end, up to 60000 (0).")});
  result.gives_bytes = true;
  result.also = {{202, "It has not ended within the wait; repeat the request. The outcome is `none`."}};
  const auto streams = std::make_shared<EventStreams>(settings);
  return {
      std::move(result),
      streaming_route<EventPage>(
          ApiRole::viewer, "GET", "/v1/events",
          "Read the event log: a page of JSON, or a stream of server-sent events.", poll,
          [streams](const CallPtr& call) { stream(streams, call); }, event_parameters),
  };
}

}  // namespace flowfabric::api
