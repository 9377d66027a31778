#include "cli/flow_layers.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace flowfabric::cli {
namespace {

FlowNodeInfo layer_node(const std::string& name, PublicState state = PublicState::waiting) {
  FlowNodeInfo node;
  node.name = name;
  node.public_state = state;
  return node;
}

void add_to(FlowGraph& graph, FlowNodeInfo node) {
  node.ordinal = static_cast<std::uint32_t>(graph.nodes.size());
  graph.nodes.push_back(std::move(node));
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

FlowGraph small_graph() {
  FlowGraph graph;
  graph.summary.created_at = 1000;
  FlowNodeInfo fetch = layer_node("fetch", PublicState::completed);
  fetch.started_at = 1500;
  fetch.finished_at = 3600;
  FlowNodeInfo join = layer_node("join", PublicState::waiting_children);
  join.groups.push_back({"any", GroupPolicy::any, 1, 2, 0, 0, GroupState::waiting, GroupRest::let_run, {}});
  add_to(graph, join);  // not in the order of the layers
  add_to(graph, fetch);
  add_to(graph, layer_node("a", PublicState::active));
  add_to(graph, layer_node("b", PublicState::failed));
  graph.edges = {{"fetch", "a", EdgeKind::on_success, {}, EdgeState::satisfied},
                 {"fetch", "b", EdgeKind::on_finish, {}, EdgeState::satisfied},
                 {"a", "join", EdgeKind::on_success, "any", EdgeState::waiting},
                 {"b", "join", EdgeKind::on_success, "any", EdgeState::unsatisfiable}};
  graph.critical_path = {"fetch", "a"};
  return graph;
}

TEST(FlowLayers, ANodeIsBelowAllItsUpstreamNodes) {
  FlowGraph graph = small_graph();
  EXPECT_EQ(layers_of(graph), (std::vector<std::vector<std::size_t>>{{1}, {2, 3}, {0}}));
  graph.edges.push_back({"a", "b", EdgeKind::on_success, {}, EdgeState::waiting});
  EXPECT_EQ(layers_of(graph), (std::vector<std::vector<std::size_t>>{{1}, {2}, {3}, {0}}));
  EXPECT_TRUE(layers_of(FlowGraph{}).empty());
}

TEST(FlowLayers, ASmallGraphIsShownWhole) {
  EXPECT_EQ(layers_text(small_graph(), {}),
            "LAYER        NODE   STATE             STARTED  TOOK  AFTER\n"
            "    1  -  *  fetch  completed          +500ms  2.1s  -\n"
            "    2  +  *  a      active                  -     -  fetch\n"
            "       +     b      failed                  -     -  fetch (on_finish)\n"
            "    3  -     join   waiting_children        -     -  any of a, b\n");
  const std::string drawn = layers_text(small_graph(), {.columns = 80, .colour = false, .utf8 = true});
  EXPECT_TRUE(has(drawn, "┌")) << drawn;
}

TEST(FlowLayers, OfAWideLayerTheMostTellingNodesAreShown) {
  FlowGraph graph;
  add_to(graph, layer_node("source", PublicState::completed));
  for (int i = 0; i < 5000; ++i) {
    const PublicState state = i == 4321    ? PublicState::failed
                              : i % 2 == 0 ? PublicState::completed
                                           : PublicState::waiting;
    add_to(graph, layer_node("item-" + std::to_string(i), state));
    graph.edges.push_back({"source", "item-" + std::to_string(i), EdgeKind::on_success, {}, EdgeState::satisfied});
  }
  add_to(graph, layer_node("join"));
  for (int i = 0; i < 5000; ++i) {
    graph.edges.push_back({"item-" + std::to_string(i), "join", EdgeKind::on_success, {}, EdgeState::waiting});
  }
  const std::string text = layers_text(graph, {});
  EXPECT_LE(line_count(text), max_graph_lines + 5) << text;
  EXPECT_TRUE(has(text, "item-4321")) << text;
  EXPECT_TRUE(has(text, "... 4981 more")) << text;
  EXPECT_TRUE(has(text, "2500 completed")) << text;
  EXPECT_TRUE(has(text, "item-0, item-1, item-2, ... 4997 more")) << text;
}

TEST(FlowLayers, OfADeepGraphBothEndsAreShown) {
  FlowGraph graph;
  for (int i = 0; i < 1000; ++i) {
    add_to(graph, layer_node("n" + std::to_string(i)));
    if (i > 0) {
      graph.edges.push_back(
          {"n" + std::to_string(i - 1), "n" + std::to_string(i), EdgeKind::on_success, {}, EdgeState::waiting});
    }
    graph.critical_path.push_back("n" + std::to_string(i));
  }
  const std::string text = layers_text(graph, {});
  EXPECT_LE(line_count(text), max_graph_lines) << text;
  EXPECT_TRUE(has(text, "n19 ") && has(text, "n999") && !has(text, "n500")) << text;
  EXPECT_TRUE(has(text, "... 970 more layers")) << text;
  EXPECT_TRUE(has(critical_path_text(graph), "n7 > ... 984 more ... > n992")) << critical_path_text(graph);
}

TEST(FlowLayers, DurationsAreRounded) {
  EXPECT_EQ(rounded_duration(-5), "0ms");
  EXPECT_EQ(rounded_duration(999), "999ms");
  EXPECT_EQ(rounded_duration(12'345), "12.3s");
  EXPECT_EQ(rounded_duration(245'000), "4m05s");
  EXPECT_EQ(rounded_duration(7'800'000), "2h10m");
  EXPECT_EQ(rounded_duration(3 * 86'400'000LL + 4 * 3'600'000), "3d04h");
}

}  // namespace
}  // namespace flowfabric::cli
