// The validation of a flow's graph as a whole. Pure.
#pragma once

#include <vector>

#include "core/membership.hpp"

namespace flowfabric {

// One Membership for each node, in the order of the request. Refused: no nodes, unless the flow is open; too many nodes, edges or groups, duplicate
// names and edges, names that do not exist, a quorum that its edges cannot reach, cycles. The error names what is wrong
// by the names of the nodes.
Result<std::vector<Membership>> plan_flow(const FlowRequest& request);

// The members whose results are those of the flow: nothing is behind them. Of a node that is a flow, these are nodes in it.
std::vector<std::uint32_t> sinks_among(const std::vector<Membership>& members);

Result<void> check_node_name(const std::string& name, const std::string& field);

}  // namespace flowfabric
