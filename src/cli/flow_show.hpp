// Flows as text for people. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/json_out.hpp"
#include "cli/table.hpp"

namespace flowfabric::cli {

Cell flow_state_cell(FlowState state);
// "10 nodes, 4 pending, 6 succeeded".
std::string counts_text(const FlowCounts& counts);

Table flows_table(const std::vector<FlowSummary>& flows);
Table flow_nodes_table(const std::vector<FlowNodeInfo>& nodes);
Table flow_edges_table(const std::vector<FlowEdgeInfo>& edges);
Table flow_history_table(const std::vector<Event>& events);
std::string flow_text(const ShownFlow& shown, const Look& look);
// One line: how it ended, or its state.
std::string flow_end_text(const FlowResult& result);
std::string flow_result_text(const FlowResult& result);

}  // namespace flowfabric::cli
