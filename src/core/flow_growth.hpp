// What an addition does to the graph of a flow that exists. Pure.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "core/records.hpp"

namespace flowfabric {

// The graph before the addition.
struct GrowingGraph {
  const FlowRecord* flow = nullptr;
  std::optional<std::uint32_t> adder;  // the running node that adds; absent: somebody outside of the flow
  // The member with this name; null: there is none.
  std::function<const Execution*(const std::string&)> by_name;
  // Time has caught up with the members that the addition mentions. Until then a reservation closes no node: it may have lapsed.
  bool settled = true;
};

struct GrowthPlan {
  std::vector<Membership> created;              // ordinals follow those of the existing members
  std::vector<std::size_t> created_from;        // positions in the list of nodes of the addition
  std::map<std::uint32_t, MemberGrowth> grown;  // existing members that get edges or groups
  std::vector<std::uint32_t> nodes;             // ordinals of the nodes of the addition, in its order
  std::uint32_t added_edges = 0;

  bool changes_nothing() const { return created.empty() && grown.empty(); }
};

// The names that an addition mentions, each once.
std::set<std::string> names_in(const FlowAddition& addition);

// Refused: what plan_flow refuses; nodes, groups and edges that exist with other content; edges into nodes that have started
// or whose group has been decided; more than the limits allow. What exists with equal content is no change. Cycles that
// pass through existing nodes are not found here.
Result<GrowthPlan> plan_growth(const FlowAddition& addition, const GrowingGraph& graph);

// The search for cycles through existing nodes. It goes downstream from the existing nodes that get new incoming edges.
struct CycleSearch {
  std::vector<std::uint32_t> unknown;  // members that must be known to go on; empty: the search is finished
  std::vector<std::uint32_t> cycle;    // the ordinals along it; empty: there is none
  bool too_large = false;              // more nodes than may be visited
};
// Outgoing edges of an existing member; null: it is not known.
using OutgoingOf = std::function<const std::vector<OutgoingEdge>*(std::uint32_t)>;
CycleSearch search_cycle(const GrowthPlan& plan, const OutgoingOf& outgoing_of,
                         const std::function<bool(std::uint32_t)>& has_incoming);

// The request of a new member: what its flow gives to its nodes is filled in. Refused: another namespace.
Result<CreateRequest> member_request(const FlowNode& node, const FlowSpec& flow);

}  // namespace flowfabric
