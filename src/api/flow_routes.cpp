// Flows: graphs of executions.
#include "api/parameters.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "wire/flow_bodies.hpp"

namespace flowfabric::api {
namespace {

using bodies::ExtendBody;
using bodies::FlowCancelBody;
using bodies::FlowReplayBody;
using bodies::GraphReply;
using bodies::JoinBody;
using bodies::ReasonBody;

using CallPtr = std::shared_ptr<Call>;

const std::string one_flow = "/v1/flows/{flow_id}";

Result<FlowId> flow_id(const Call& call) { return call.flow_id(); }

// ---- Submitting

Result<void> complete_request(Call& call, FlowRequest& request) {
  if (request.traceparent.empty()) {
    const auto header = call.request().headers.find("traceparent");
    if (header && is_traceparent(*header)) request.traceparent = *header;
  }
  return carry_idempotency_key(call, request.idempotency_key);
}

void submit_flow(const CallPtr& call, FlowRequest request, const Engine::Done<FlowCreated>&) {
  if (auto completed = complete_request(*call, request); !completed) return call->refuse(completed.error());
  call->engine().submit_flow_async(std::move(request), [call](const Result<FlowCreated>& created) {
    if (!created) return call->refuse(created.error());
    if (created->duplicate) return call->answer(200, wire::to_json(*created));
    call->answer(201, wire::to_json(*created), {{"Location", "/v1/flows/" + to_string(created->flow_id)}});
  });
}

Route submitting_flow_route() {
  Route route = described(
      async_route<FlowRequest, FlowCreated>(ApiRole::worker, "POST", "/v1/flows",
                                            "Submit a flow: nodes, edges and groups in one call.", submit_flow, {},
                                            201),
      "The graph is validated as a whole; a flow that is refused leaves nothing behind. The header `Location` of a 201 "
      "is the path of the flow.");
  route.headers = {{"Idempotency-Key", "The same as `idempotency_key`."}};
  route.also = {{200, "It was submitted by an earlier request with this idempotency key or id."}};
  return route;
}

// ---- Flows that grow

void add_to_flow(const CallPtr& call, FlowAddition addition, const Engine::Done<FlowAdded>& done) {
  const auto id = flow_id(*call);
  if (!id) return done(Unexpected(id.error()));
  call->engine().add_to_flow_async(*id, std::move(addition), call->as_operator({}), done);
}

std::vector<Route> growing_flow_routes() {
  return {
      described(async_route<FlowAddition, FlowAdded>(ApiRole::worker, "POST", one_flow + "/nodes",
                                                     "Add nodes, edges and groups to an open flow.", add_to_flow),
                "All or nothing. What exists with equal content is left as it is, so the call can be repeated."),
      described(blocking_route<ReasonBody, FlowSealed>(
                    ApiRole::worker, "POST", one_flow + "/seal", "Seal an open flow: it ends when its nodes have.",
                    [](Call& call, ReasonBody body) -> Result<FlowSealed> {
                      FF_TRY(id, flow_id(call));
                      return call.engine().seal_flow(id, call.as_operator(std::move(body.reason)));
                    }),
                "Nothing more can be added from outside. Its running nodes can still add."),
      described(async_route<ExtendBody, FlowAdded>(
                    ApiRole::worker, "POST", "/v1/leases/extend", "Add nodes and edges to the flow of the execution.",
                    [](const CallPtr& call, ExtendBody body, Engine::Done<FlowAdded> done) {
                      const Handle handle = std::move(body.handle);
                      call->engine().extend_flow_async(handle, std::move(body), std::move(done));
                    }),
                "All or nothing. What exists with equal content is left as it is, so an attempt can repeat what an "
                "earlier one has added."),
      described(blocking_route<JoinBody, FlowJoinReply>(
                    ApiRole::worker, "POST", "/v1/leases/join", "Wait for nodes that the execution has added.",
                    [](Call& call, JoinBody body) -> Result<FlowJoinReply> {
                      return call.engine().join_nodes(body.handle, std::move(body.names));
                    }),
                "The lease is released, unless all of them have ended. The same attempt goes on with the claim after "
                "the last of them; the claim has what they left as inputs."),
  };
}

// ---- Reading

Result<ListFlowsRequest> list_flows_request(const Call& call) {
  ListFlowsRequest request;
  request.name_space = call.query("namespace");
  request.kind = call.query("kind");
  FF_TRY(states, call.query_list("state"));
  for (const std::string& word : states) {
    FF_TRY(state, parse_flow_state(word));
    request.states.push_back(state);
  }
  if (const auto tag = call.query("tag")) {
    const std::size_t equals = tag->find('=');
    if (equals == std::string::npos) return fail(Errc::invalid_argument, "tag: must be key=value", "tag");
    request.tag = {tag->substr(0, equals), tag->substr(equals + 1)};
  }
  FF_TRY(created_from, query_moment(call, "created_from"));
  FF_TRY(created_before, query_moment(call, "created_before"));
  FF_TRY(finished_from, query_moment(call, "finished_from"));
  FF_TRY(finished_before, query_moment(call, "finished_before"));
  request.created_from = created_from;
  request.created_before = created_before;
  request.finished_from = finished_from;
  request.finished_before = finished_before;
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return request;
}

std::vector<QueryParameter> flow_listing_parameters() {
  std::vector<QueryParameter> all = {
      {"namespace", "Only flows of this namespace."},
      {"kind", "Only flows of this kind."},
      names_parameter<FlowState>("state", "Only flows in one of these states: `running,cancelling`."),
      {"tag", "Only flows with this tag: key=value."},
      moment_parameter("created_from", "Only flows submitted at this time or later, in milliseconds since the epoch."),
      moment_parameter("created_before", "Only flows submitted before this time."),
      moment_parameter("finished_from", "Only flows that ended at this time or later."),
      moment_parameter("finished_before", "Only flows that ended before this time."),
  };
  for (const QueryParameter& parameter : paging_parameters()) all.push_back(parameter);
  return all;
}

// 202 while it has not ended: the result is that of now.
void wait_for_flow(const CallPtr& call, Nothing, const Engine::Done<FlowResult>& done) {
  const auto id = flow_id(*call);
  if (!id) return done(fail(id.error().code, id.error().message, id.error().field));
  const auto wait_ms = query_wait_ms(*call);
  if (!wait_ms) return done(fail(wait_ms.error().code, wait_ms.error().message, wait_ms.error().field));
  call->engine().wait_flow_async(*id, *wait_ms, [call, id = *id, done](Result<FlowResult> result) {
    call->off_engine_thread([call, id, done, result = std::move(result)]() mutable {
      if (result || result.error().code != Errc::timed_out) return done(std::move(result));
      const auto so_far = call->engine().get_flow_result(id);
      if (!so_far) return done(so_far);
      call->answer(202, wire::to_json(*so_far));
    });
  });
}

Result<GraphReply> drawing_of(Call& call, Nothing) {
  FF_TRY(id, flow_id(call));
  const std::string format = call.query("format").value_or("json");
  if (format != "json" && format != "dot" && format != "mermaid") {
    return fail(Errc::invalid_argument, "format: unknown value \"" + format + "\"; allowed: json, dot, mermaid",
                "format");
  }
  FF_TRY(graph, call.engine().read_flow_graph(id));
  GraphReply reply;
  if (format == "json") {
    reply.graph = std::move(graph);
  } else {
    reply.drawing = format == "dot" ? to_graphviz(graph) : to_mermaid(graph);
  }
  return reply;
}

std::vector<Route> reading_flow_routes() {
  auto result = async_route<Nothing, FlowResult>(
      ApiRole::viewer, "GET", one_flow + "/result", "Get what its nodes without outgoing edges have returned.",
      wait_for_flow, {wait_parameter("How long to wait for its end, up to 60000 (0).")});
  result.also = {{202, "It has not ended within the wait; repeat the request."}};
  return {
      blocking_route<Nothing, ListFlowsReply>(
          ApiRole::viewer, "GET", "/v1/flows", "List flows, newest first.",
          [](Call& call, Nothing) -> Result<ListFlowsReply> {
            FF_TRY(request, list_flows_request(call));
            return call.engine().list_flows(request);
          },
          flow_listing_parameters()),
      blocking_route<Nothing, FlowDescription>(ApiRole::viewer, "GET", one_flow,
                                               "Get the state of a flow and what holds it back.",
                                               [](Call& call, Nothing) -> Result<FlowDescription> {
                                                 FF_TRY(id, flow_id(call));
                                                 return call.engine().describe_flow(id);
                                               }),
      blocking_route<Nothing, FlowNodesReply>(
          ApiRole::viewer, "GET", one_flow + "/nodes", "List its nodes with their groups, in the order of the request.",
          [](Call& call, Nothing) -> Result<FlowNodesReply> {
            FF_TRY(id, flow_id(call));
            FF_TRY(limit, page_limit(call));
            return call.engine().list_flow_nodes(id, call.query("cursor").value_or(""), limit);
          },
          paging_parameters()),
      blocking_route<Nothing, FlowEdgesReply>(
          ApiRole::viewer, "GET", one_flow + "/edges",
          "List its edges with their states; the limit counts upstream nodes.",
          [](Call& call, Nothing) -> Result<FlowEdgesReply> {
            FF_TRY(id, flow_id(call));
            FF_TRY(limit, page_limit(call));
            return call.engine().list_flow_edges(id, call.query("cursor").value_or(""), limit);
          },
          paging_parameters()),
      blocking_route<Nothing, GraphReply>(ApiRole::viewer, "GET", one_flow + "/graph",
                                          "Get the whole graph, as data or as a drawing.", drawing_of,
                                          {{"format", "`json` (default), `dot` for Graphviz, or `mermaid`.",
                                            R"({"type":"string","enum":["json","dot","mermaid"]})"}}),
      blocking_route<Nothing, EventPage>(
          ApiRole::viewer, "GET", one_flow + "/history", "List the events of the flow itself, oldest first.",
          [](Call& call, Nothing) -> Result<EventPage> {
            FF_TRY(id, flow_id(call));
            FF_TRY(limit, page_limit(call));
            return call.engine().flow_history(id, call.query("cursor").value_or(""), limit);
          },
          paging_parameters()),
      std::move(result),
  };
}

Result<FlowInputsReply> inputs_of(Call& call, Nothing) {
  FF_TRY(id, call.execution_id());
  FF_TRY(limit, page_limit(call));
  FF_TRY(from, call.query_number("from", 0));
  if (from < 0 || from > UINT32_MAX) return fail(Errc::invalid_argument, "from: is out of range", "from");
  return call.engine().list_flow_inputs(id, static_cast<std::uint32_t>(from), limit);
}

}  // namespace

std::vector<Route> flow_routes() {
  std::vector<Route> all = {submitting_flow_route()};
  for (Route& route : growing_flow_routes()) all.push_back(std::move(route));
  for (Route& route : reading_flow_routes()) all.push_back(std::move(route));
  all.push_back(blocking_route<Nothing, FlowInputsReply>(
      ApiRole::viewer, "GET", "/v1/executions/{execution_id}/inputs",
      "List what the upstream nodes of a node have left for it.", inputs_of,
      {number_parameter("from", "The number of the first one (0).", 0, UINT32_MAX),
       number_parameter("limit", "Page size, 1 to 1000 (100).", 1, limits::max_page)}));
  all.push_back(described(
      blocking_route<FlowCancelBody, FlowCancelReply>(
          ApiRole::operating, "POST", one_flow + "/cancel", "Cancel a flow.",
          [](Call& call, FlowCancelBody body) -> Result<FlowCancelReply> {
            FF_TRY(id, flow_id(call));
            return call.engine().cancel_flow(id, {body.policy, body.run_cleanup},
                                             call.as_operator(std::move(body.reason)));
          }),
      "Answers at once; its nodes are ended in the background. `GET .../result?wait_ms=` waits for the last of them."));
  all.push_back(described(blocking_route<FlowReplayBody, FlowReplayReply>(
                              ApiRole::operating, "POST", one_flow + "/replay", "Run nodes of an ended flow again.",
                              [](Call& call, FlowReplayBody body) -> Result<FlowReplayReply> {
                                FF_TRY(id, flow_id(call));
                                return call.engine().replay_flow(id, {std::move(body.node), body.descendants},
                                                                 call.as_operator(std::move(body.reason)));
                              }),
                          "Without `node`, all nodes that have not succeeded and all nodes behind them run again. The "
                          "flow is running until they "
                          "have ended. `not_terminal` if nodes of the flow have not ended."));
  return all;
}

}  // namespace flowfabric::api
