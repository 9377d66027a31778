#include "sdk/flow_calls.hpp"

#include "wire/flow_bodies.hpp"

namespace flowfabric::sdk {

std::string flow_path(const FlowId& id) { return "/v1/flows/" + to_string(id); }

Url flows_url(const ListFlowsRequest& request) {
  Url url("/v1/flows");
  url.add("namespace", request.name_space).add("kind", request.kind);
  url.add("state", joined(request.states));
  if (request.tag) url.add("tag", request.tag->first + "=" + request.tag->second);
  url.add("created_from", request.created_from).add("created_before", request.created_before);
  url.add("finished_from", request.finished_from).add("finished_before", request.finished_before);
  return url.page(request.cursor, request.limit);
}

Result<FlowGraph> read_graph(HttpCaller& caller, const FlowId& id) {
  FF_TRY(reply, caller.get<bodies::GraphReply>(Url(flow_path(id) + "/graph")));
  if (reply.graph) return std::move(*reply.graph);
  return fail(Errc::schema_mismatch, "the server's answer has no graph; is it of another version?");
}

}  // namespace flowfabric::sdk
