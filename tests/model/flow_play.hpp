// A random flow on an engine, driven step by step and compared with the evaluator of the rules after each step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/flow_graph.hpp"
#include "model/play.hpp"

namespace flowfabric::test {

inline constexpr std::uint8_t flow_verb_count = 16;
// The numbers of nodes that are worth generating: they also decide about delays, deadlines and retries.
inline constexpr std::uint32_t flow_node_numbers = 36 * 36 * 1000;

// How often something happened that a test must not miss.
struct FlowPlayFigures {
  std::size_t flows = 0;
  std::size_t nodes = 0;
  std::size_t comparisons = 0;
  std::size_t skipped = 0;
  std::size_t cancelled_running = 0;  // flows in which a running node was ended by the flow
  std::size_t deadlines = 0;          // of flows, that passed before the flow had ended
  std::size_t fenced = 0;             // calls of workers whose node was ended by the flow
  std::size_t completed = 0, failed = 0, cancelled = 0;
  std::size_t nested = 0;  // flows with flow nodes
  std::size_t two_deep = 0;
  std::size_t opened = 0;  // flows that were built step by step
  std::size_t additions = 0;
  std::size_t late_edges = 0;                   // to nodes that existed
  std::size_t replays = 0;                      // of flows
  std::size_t replayed = 0;                     // nodes that ran again
  std::size_t kept = 0;                         // nodes that did not
  std::map<Outcome, std::size_t> flow_nodes{};  // by outcome
};

// Runs on a fresh database of this kind until every node has ended. The first difference; empty: there is none.
std::string play_flow(StoreKindId kind, const FlowNumbers& numbers, const std::vector<Step>& steps,
                      FlowPlayFigures& figures);

}  // namespace flowfabric::test
