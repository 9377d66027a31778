#include <flowfabric/flow_builder.hpp>

#include <gtest/gtest.h>

#include "core/flow_graph.hpp"

namespace flowfabric {
namespace {

using namespace std::chrono_literals;

TEST(FlowBuilder, ANodeIsAFlow) {
  FlowBuilder inner("inner");
  inner.node("a", "work", 1);
  inner.node("b", "work").after("a");
  inner.continue_after_failure().tag("team.name", "x").deadline(5s);
  FlowBuilder flow("outer");
  flow.node("sub", inner).after("first");
  flow.node("first", "work");
  const FlowRequest built = flow.build();
  ASSERT_EQ(built.nodes.size(), 2u);
  ASSERT_TRUE(built.nodes[0].flow);
  EXPECT_EQ(built.nodes[0].request.kind, "");
  EXPECT_EQ(built.nodes[0].request.deadline_ms, 5000);
  EXPECT_EQ(built.nodes[0].request.tags, (Tags{{"team.name", "x"}}));
  EXPECT_EQ(built.nodes[0].flow->nodes.size(), 2u);
  EXPECT_EQ(built.nodes[0].flow->edges.size(), 1u);
  EXPECT_EQ(built.nodes[0].flow->failure_policy, FailurePolicy::continue_others);
  ASSERT_EQ(built.edges.size(), 1u);
  EXPECT_EQ(built.edges[0].to, "sub");
}

TEST(FlowBuilder, EdgesOfTheDefaultGroupHaveTheirKinds) {
  FlowBuilder flow("media");
  CreateRequest request;
  request.kind = "fetch";
  request.lane = "video";
  flow.node("fetch", request);
  flow.node("resize", "resize", 320, {.lane = "video", .priority = 7}).after("fetch");
  flow.node("undo", "undo").after_failure_of("resize").optionally_after("fetch");
  flow.node("clean", "clean", {.lane = "broom"}).after_end_of("resize", "undo");
  flow.node("join", "join").after({"fetch", "resize"});
  const FlowRequest built = flow.build();
  EXPECT_EQ(built.kind, "media");
  ASSERT_EQ(built.nodes.size(), 5u);
  EXPECT_EQ(built.nodes[0].request.lane, "video");
  EXPECT_EQ(built.nodes[1].name, "resize");
  EXPECT_EQ(built.nodes[1].request.payload, "320");
  EXPECT_EQ(built.nodes[1].request.payload_encoding, "json");
  EXPECT_EQ(built.nodes[1].request.priority, 7);
  EXPECT_EQ(built.nodes[2].request.payload, "");
  EXPECT_EQ(built.nodes[3].request.lane, "broom");
  std::string edges;
  for (const FlowEdge& edge : built.edges) {
    EXPECT_EQ(edge.group, "");
    edges += edge.from + " " + std::string(to_string(edge.kind)) + " " + edge.to + "\n";
  }
  EXPECT_EQ(edges,
            "fetch on_success resize\n"
            "resize on_failure undo\n"
            "fetch optional undo\n"
            "resize on_finish clean\n"
            "undo on_finish clean\n"
            "fetch on_success join\n"
            "resize on_success join\n");
  EXPECT_TRUE(built.groups.empty());
  EXPECT_TRUE(plan_flow(built));
}

TEST(FlowBuilder, GroupsHaveNamesOfTheirOwn) {
  FlowBuilder flow("race");
  for (const char* name : {"a", "b", "c"}) flow.node(name, "try");
  flow.node("win", "win")
      .any_of({"a", "b"}, {.rest = GroupRest::cancel_remaining})
      .any_of({"b", "c"})
      .quorum(2, {"a", "b", "c"}, {.name = "most", .kind = EdgeKind::on_finish})
      .all_of({"a"});
  const FlowRequest built = flow.build();
  ASSERT_EQ(built.groups.size(), 4u);
  const auto expect = [&](std::size_t i, const char* name, GroupPolicy policy, std::uint32_t k, GroupRest rest) {
    EXPECT_EQ(built.groups[i].node, "win");
    EXPECT_EQ(built.groups[i].name, name);
    EXPECT_EQ(built.groups[i].policy, policy) << i;
    EXPECT_EQ(built.groups[i].k, k);
    EXPECT_EQ(built.groups[i].rest, rest) << i;
  };
  expect(0, "any", GroupPolicy::any, 0, GroupRest::cancel_remaining);
  expect(1, "any 2", GroupPolicy::any, 0, GroupRest::let_run);
  expect(2, "most", GroupPolicy::quorum, 2, GroupRest::let_run);
  expect(3, "all", GroupPolicy::all, 0, GroupRest::let_run);
  ASSERT_EQ(built.edges.size(), 8u);
  EXPECT_EQ(built.edges[2].group, "any 2");
  EXPECT_EQ(built.edges[4].group, "most");
  EXPECT_EQ(built.edges[4].kind, EdgeKind::on_finish);
  EXPECT_TRUE(plan_flow(built));
}

TEST(FlowBuilder, TheFlowHasWhatItIsGiven) {
  FlowBuilder flow("media");
  flow.node("only", "work");
  RetentionPolicy retention;
  retention.completed_ms = 1000;
  const FlowRequest built = flow.name_space("films")
                                .continue_after_failure()
                                .deadline(10min)
                                .tag("app.team", "video")
                                .tag("app.run", "7")
                                .idempotency_key("k")
                                .id(Uuid{})
                                .creator("ada")
                                .retention(retention)
                                .traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
                                .build();
  EXPECT_EQ(built.name_space, "films");
  EXPECT_EQ(built.failure_policy, FailurePolicy::continue_others);
  EXPECT_EQ(built.deadline_ms, 600'000);
  EXPECT_EQ(built.tags, (Tags{{"app.team", "video"}, {"app.run", "7"}}));
  EXPECT_EQ(built.idempotency_key, "k");
  EXPECT_EQ(built.id, Uuid{});
  EXPECT_EQ(built.creator, "ada");
  EXPECT_EQ(built.retention.completed_ms, 1000);
  EXPECT_FALSE(built.traceparent.empty());
  // The later of two deadlines counts; a request with both would be refused.
  const FlowRequest later = flow.deadline_at(5).build();
  EXPECT_EQ(later.deadline_at, 5);
  EXPECT_FALSE(later.deadline_ms);
}

// A node may be named before it is added, and the builder goes on after build().
TEST(FlowBuilder, NodesAreAddedInAnyOrder) {
  FlowBuilder flow("media");
  auto last = flow.node("last", "work");
  last.after("first");
  EXPECT_EQ(last.name(), "last");
  EXPECT_FALSE(plan_flow(flow.build())) << "there is no first node yet";
  flow.node("first", "work");
  EXPECT_TRUE(plan_flow(flow.build()));
}

}  // namespace
}  // namespace flowfabric
