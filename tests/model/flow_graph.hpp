// Graphs of flows, made from small numbers.
//
// Every sequence of numbers gives a graph that the engine accepts, so that they can be generated at random and shrunk.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <flowfabric/flows.hpp>

namespace flowfabric::test {

// Each node decides by its numbers about its groups, and each edge about its ends, its kind and its group.
struct FlowNumbers {
  std::vector<std::uint32_t> nodes{};
  std::vector<std::uint32_t> edges{};
  std::uint32_t rules = 0;  // the failure policy, and the order of the nodes
  // Each is a run of neighbouring nodes that are put into a flow node. One that overlaps an earlier one without being in it or
  // around it is left out. As edges lead forward, those between what is in it and what is not make no cycle.
  std::vector<std::uint32_t> flows{};
};

std::ostream& operator<<(std::ostream& out, const FlowNumbers& numbers);

// Neither delays, deadlines nor retries.
FlowRequest flow_of(const FlowNumbers& numbers);

// For messages.
std::string show_graph(const FlowRequest& request);

}  // namespace flowfabric::test
