// The requests about flows that the client and the command line have in common.
#pragma once

#include <flowfabric/flows.hpp>

#include "sdk/http_caller.hpp"

namespace flowfabric::sdk {

std::string flow_path(const FlowId& id);
Url flows_url(const ListFlowsRequest& request);
Result<FlowGraph> read_graph(HttpCaller& caller, const FlowId& id);

}  // namespace flowfabric::sdk
