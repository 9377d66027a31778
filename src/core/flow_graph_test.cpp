#include "core/flow_graph.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"

namespace flowfabric {
namespace {

FlowRequest graph(const std::vector<std::string>& names, std::vector<FlowEdge> edges,
                  std::vector<FlowGroup> groups = {}) {
  FlowRequest request;
  for (const std::string& name : names) request.nodes.push_back({name, {}});
  request.edges = std::move(edges);
  request.groups = std::move(groups);
  return request;
}

std::string refusal(const FlowRequest& request) {
  const auto planned = plan_flow(request);
  if (planned) return "accepted";
  EXPECT_EQ(planned.error().code, Errc::invalid_argument);
  EXPECT_EQ(planned.error().message.find(planned.error().field + ":"), 0U);
  return planned.error().message;
}

constexpr EdgeKind ok = EdgeKind::on_success;

TEST(FlowGraph, EdgesAndGroupsLieWithTheirNodes) {
  const auto planned = plan_flow(graph({"a", "b", "d"}, {{"a", "d", ok, "g"}, {"b", "d", EdgeKind::on_finish, ""}},
                                       {{"d", "g", GroupPolicy::any, 0, GroupRest::cancel_remaining}}));
  ASSERT_TRUE(planned);
  EXPECT_EQ((*planned)[0].outgoing, (std::vector<OutgoingEdge>{{2, ok, 0}}));
  EXPECT_EQ((*planned)[1].outgoing, (std::vector<OutgoingEdge>{{2, EdgeKind::on_finish, 1}}));
  const Membership& d = (*planned)[2];
  EXPECT_EQ(d.ordinal, 2U);
  EXPECT_EQ(d.incoming, (std::vector<IncomingEdge>{{0, ok, 0}, {1, EdgeKind::on_finish, 1}}));
  EXPECT_EQ(d.groups, (std::vector<IncomingGroup>{{"g", GroupPolicy::any, 1, 1, GroupRest::cancel_remaining},
                                                  {"", GroupPolicy::all, 1, 1, GroupRest::let_run}}));
  EXPECT_TRUE(is_cleanup(d));
}

TEST(FlowGraph, WhatIsRefused) {
  const std::vector<std::pair<FlowRequest, std::string>> cases = {
      {graph({}, {}), "nodes: has 0 entries; allowed: 1 to 10000"},
      {graph({"a", "a"}, {}), "nodes[1].name: \"a\" is also the name of nodes[0]; names are unique within a flow"},
      {graph({""}, {}), "nodes[0].name: has 0 bytes; allowed: 1 to 128"},
      {graph({"a\n"}, {}), "nodes[0].name: has control characters; none are allowed"},
      {graph({"a"}, {{"x", "a", ok, ""}}),
       "edges[0].from: there is no node \"x\" in this flow (edge from \"x\" to \"a\")"},
      {graph({"a"}, {{"a", "a", ok, ""}}), "edges[0].to: node \"a\" cannot depend on itself"},
      {graph({"a", "b"}, {{"a", "b", ok, ""}, {"a", "b", EdgeKind::optional, ""}}),
       "edges[1].to: there are two edges from \"a\" to \"b\" in the same group; give one"},
      {graph({"a", "b"}, {{"a", "b", ok, "g"}}), "edges[0].group: node \"b\" has no group \"g\" (edge from \"a\")"},
      {graph({"a"}, {}, {{"x", "g", GroupPolicy::any, 0, {}}}),
       "groups[0].node: there is no node \"x\" in this flow (group \"g\")"},
      {graph({"a"}, {}, {{"a", "g", GroupPolicy::any, 0, {}}}), "groups: group \"g\" of node \"a\" has no edges"},
      {graph({"a", "b"}, {{"a", "b", ok, "g"}}, {{"b", "g", GroupPolicy::any, 1, {}}}),
       "groups[0].k: is only for a quorum; the policy of this group is any"},
      {graph({"a", "b"}, {{"a", "b", ok, "g"}}, {{"b", "g", GroupPolicy::quorum, 0, {}}}),
       "groups: group \"g\" of node \"b\" wants 0 of its 1 edges; allowed: 1 to 1"},
      {graph({"a", "b"}, {{"a", "b", ok, "g"}}, {{"b", "g", GroupPolicy::any, 0, {}}, {"b", "g", {}, 0, {}}}),
       "groups[1].name: node \"b\" has two groups with the name \"g\""},
      {graph({"x", "a", "b", "c"}, {{"x", "a", ok, ""}, {"a", "b", ok, ""}, {"b", "c", ok, ""}, {"c", "a", ok, ""}}),
       "edges: the nodes depend on each other in a cycle: \"b\" -> \"c\" -> \"a\" -> \"b\""},
  };
  for (const auto& [request, message] : cases) EXPECT_EQ(refusal(request), message);
}

TEST(FlowGraph, ALongCycleIsAbbreviated) {
  FlowRequest ring;
  for (int i = 0; i < 2000; ++i) {
    ring.nodes.push_back({"n" + std::to_string(i), {}});
    ring.edges.push_back({"n" + std::to_string(i), "n" + std::to_string((i + 1) % 2000), ok, ""});
  }
  EXPECT_NE(refusal(ring).find("... (2000 nodes) -> "), std::string::npos) << refusal(ring);
}

TEST(FlowGraph, LimitsOfFan) {
  FlowRequest wide;
  wide.nodes.push_back({"hub", {}});
  for (std::size_t i = 0; i + 1 < limits::max_flow_nodes; ++i) {
    wide.nodes.push_back({"n" + std::to_string(i), {}});
    wide.edges.push_back({"hub", "n" + std::to_string(i), ok, ""});
  }
  EXPECT_EQ(refusal(wide), "accepted");
  wide.nodes.push_back({"one too many", {}});
  EXPECT_EQ(refusal(wide), "nodes: has 10001 entries; allowed: 1 to 10000");
}

}  // namespace
}  // namespace flowfabric
