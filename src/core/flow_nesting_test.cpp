#include "core/flow_nesting.hpp"

#include <gtest/gtest.h>

#include "core/flow_graph.hpp"

namespace flowfabric {
namespace {

FlowNode plain(const std::string& name) {
  FlowNode node;
  node.name = name;
  node.request.kind = "work";
  return node;
}

FlowNode nested(const std::string& name, std::vector<FlowNode> nodes, std::vector<FlowEdge> edges = {}) {
  FlowNode node;
  node.name = name;
  node.flow = InnerFlow{std::move(nodes), std::move(edges), {}, FailurePolicy::fail_fast};
  return node;
}

std::string text_of(const FlowRequest& request) {
  std::string text;
  for (const FlowNode& node : request.nodes) text += node.name + "; ";
  for (const FlowEdge& edge : request.edges) {
    text += "\n" + edge.from + " " + std::string(to_string(edge.kind)) + " " + edge.to + " " + edge.group;
  }
  for (const FlowGroup& group : request.groups) {
    text += "\n" + group.node + " " + group.name + " " + std::string(to_string(group.policy)) + " " +
            std::string(to_string(group.rest));
  }
  return text;
}

TEST(FlowNesting, NodesKeepTheirPlacesAndEdgesLeadToTheBegin) {
  FlowRequest request;
  request.nodes = {plain("a"), nested("s", {plain("x"), plain("y")}, {{"x", "y"}}), plain("z")};
  request.edges = {{"a", "s"}, {"s", "z"}};
  ASSERT_TRUE(unfold_flows(request));
  EXPECT_EQ(text_of(request),
            "a; s; z; s/(begin); s/x; s/y; "
            "\na on_success s/(begin) "
            "\ns on_success z "
            "\ns/(begin) part s (flow)"
            "\ns/(begin) within s/x (flow)"
            "\ns/x part s (flow)"
            "\ns/(begin) within s/y (flow)"
            "\ns/y output s (flow)"
            "\ns/x on_success s/y "
            "\ns (flow) gather cancel_remaining"
            "\ns/x (flow) all let_run"
            "\ns/y (flow) all let_run");
  const auto members = plan_flow(request);
  ASSERT_TRUE(members) << members.error().message;
  EXPECT_TRUE(is_flow_node((*members)[1]));
  EXPECT_EQ(begin_of((*members)[1]), 3u);
  EXPECT_TRUE(is_begin((*members)[3]));
  EXPECT_EQ(inherits_inputs_from((*members)[4]), 3u);
  EXPECT_EQ(inherits_inputs_from((*members)[5]), std::nullopt);
  EXPECT_EQ(sinks_among(*members), (std::vector<std::uint32_t>{2})) << "z alone: the flow has something behind it";
}

TEST(FlowNesting, TheOutputsOfTheLastFlowAreThoseOfTheWhole) {
  FlowRequest request;
  request.nodes = {nested("s", {plain("x"), nested("t", {plain("y")})}, {{"x", "t"}})};
  ASSERT_TRUE(unfold_flows(request));
  const auto members = plan_flow(request);
  ASSERT_TRUE(members) << members.error().message;
  std::vector<std::string> names;
  for (const std::uint32_t sink : sinks_among(*members)) names.push_back((*members)[sink].node);
  EXPECT_EQ(names, std::vector<std::string>{"s/t/y"});
}

TEST(FlowNesting, WhatLiesInACleanupFlowIsCleanup) {
  FlowRequest request;
  request.nodes = {plain("a"), nested("s", {nested("t", {plain("x")})})};
  request.edges = {{"a", "s", EdgeKind::on_finish, {}}};
  ASSERT_TRUE(unfold_flows(request));
  const auto members = plan_flow(request);
  ASSERT_TRUE(members) << members.error().message;
  for (const Membership& member : *members) EXPECT_EQ(is_cleanup(member), member.node != "a") << member.node;
}

TEST(FlowNesting, AFlowWithoutOthersIsLeftAsItIs) {
  FlowRequest request;
  request.nodes = {plain("a"), plain("b")};
  request.edges = {{"a", "b"}};
  const std::string before = text_of(request);
  ASSERT_TRUE(unfold_flows(request));
  EXPECT_EQ(text_of(request), before);
}

}  // namespace
}  // namespace flowfabric
