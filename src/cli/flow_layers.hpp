// The graph of a flow as text: its nodes in layers, each node below all nodes on which it depends. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <flowfabric/flows.hpp>

#include "cli/terminal.hpp"

namespace flowfabric::cli {

// Positions in `graph.nodes` by layer. Nodes without upstream nodes are in the first; within a layer by ordinal.
std::vector<std::vector<std::size_t>> layers_of(const FlowGraph& graph);

// About this many lines at most: of wide layers the nodes that say most are shown, of deep graphs the first and last
// layers. Nodes on the critical path have a `*`.
inline constexpr std::size_t max_graph_lines = 60;
std::string layers_text(const FlowGraph& graph, const Look& look);

// "fetch > resize > publish"; the middle of a long one is left out.
std::string critical_path_text(const FlowGraph& graph);

// For people, three digits or so: 120ms, 12.3s, 4m05s, 2h10m, 3d04h.
std::string rounded_duration(std::int64_t duration_ms);

}  // namespace flowfabric::cli
