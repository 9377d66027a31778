// Flows on every store: the acceptance cases of graphs, groups, failures, cancellation and retention.
#include <algorithm>

#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

FlowNode node(const std::string& name, const std::string& lane = "default") {
  FlowNode made;
  made.name = name;
  made.request = job(lane);
  made.request.kind = name;
  return made;
}

FlowEdge edge(const std::string& from, const std::string& to, EdgeKind kind = EdgeKind::on_success,
              const std::string& group = {}) {
  return {from, to, kind, group};
}

FlowRequest graph(const std::vector<std::string>& names, std::vector<FlowEdge> edges,
                  std::vector<FlowGroup> groups = {}) {
  FlowRequest request;
  request.kind = "test";
  for (const std::string& name : names) request.nodes.push_back(node(name));
  request.edges = std::move(edges);
  request.groups = std::move(groups);
  return request;
}

class EngineFlows : public EngineSuite {
 protected:
  FlowId submit(FlowRequest request) {
    names_.clear();
    for (const FlowNode& one : request.nodes) names_.push_back(one.name);
    return value_of(engine().submit_flow(std::move(request))).flow_id;
  }
  ExecutionId id_of(const FlowId& flow, const std::string& name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return member_id(flow, static_cast<std::uint32_t>(found - names_.begin()));
  }
  PublicState node_state(const FlowId& flow, const std::string& name) { return state(id_of(flow, name)); }
  FlowDescription describe(const FlowId& flow) { return value_of(reads::describe_flow(engine().store(), flow)); }
  FlowState flow_state(const FlowId& flow) { return describe(flow).summary.state; }
  FlowCounts counts(const FlowId& flow) { return describe(flow).summary.counts; }

  // Claims what is claimable now, by name of node.
  std::map<std::string, ClaimedExecution> claim_nodes(const std::string& lane = "default") {
    std::map<std::string, ClaimedExecution> by_name;
    for (ClaimedExecution& claim : claim_all(lane)) by_name.emplace(claim.node, std::move(claim));
    return by_name;
  }
  ClaimedExecution claim_node(const std::string& name) {
    auto all = claim_nodes();
    EXPECT_EQ(all.size(), 1U);
    return all.at(name);
  }
  std::vector<std::string> claimable() {
    std::vector<std::string> names;
    for (const auto& [name, claim] : claim_nodes()) names.push_back(name);
    return names;
  }
  void complete(const ClaimedExecution& claim, const std::string& result = {}) {
    ASSERT_TRUE(engine().complete(claim, result));
    engine().settle();
  }
  void fail_node(const ClaimedExecution& claim) {
    ASSERT_TRUE(engine().fail(claim));
    engine().settle();
  }
  Events flow_events(const FlowId& flow) {
    Events types;
    for (const Event& event : value_of(reads::flow_history(engine().store(), flow, {}, 100)).events) {
      types.push_back(event.type);
    }
    return types;
  }
  // What the flow has counted equals what its members are.
  void expect_exact(const FlowId& flow) {
    const FlowCounts counted = counts(flow);
    FlowCounts real;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      ++real.total;
      switch (state(member_id(flow, static_cast<std::uint32_t>(i)))) {
        case PublicState::completed: ++real.succeeded; break;
        case PublicState::failed: ++real.failed; break;
        case PublicState::cancelled: ++real.cancelled; break;
        case PublicState::expired: ++real.expired; break;
        case PublicState::skipped: ++real.skipped; break;
        default: ++real.pending;
      }
    }
    EXPECT_EQ(counted, real);
  }
  // Every resolved edge is counted once in its group.
  void expect_edges_counted_once(const FlowId& flow) {
    const FlowGraph all = value_of(reads::flow_graph(engine().store(), flow));
    std::map<std::pair<std::string, std::string>, std::pair<std::uint32_t, std::uint32_t>> resolved;
    for (const FlowEdgeInfo& one : all.edges) {
      auto& [satisfied, unsatisfiable] = resolved[{one.to, one.group}];
      satisfied += one.state == EdgeState::satisfied ? 1U : 0U;
      unsatisfiable += one.state == EdgeState::unsatisfiable ? 1U : 0U;
    }
    for (const FlowNodeInfo& one : all.nodes) {
      for (const FlowGroupInfo& group : one.groups) {
        const auto& [satisfied, unsatisfiable] = resolved[{one.name, group.name}];
        EXPECT_EQ(group.satisfied, satisfied) << one.name;
        EXPECT_EQ(group.unsatisfiable, unsatisfiable) << one.name;
      }
    }
  }

  std::vector<std::string> names_;
};

TEST_P(EngineFlows, AChainRunsOneNodeAfterTheOther) {
  const FlowId flow = submit(graph({"a", "b", "c"}, {edge("a", "b"), edge("b", "c")}));
  EXPECT_EQ(node_state(flow, "b"), PublicState::waiting_children);
  EXPECT_EQ(flow_state(flow), FlowState::running);
  const auto waiting = engine().wait_flow_later(flow, 60000);
  complete(claim_node("a"), "ra");
  const ClaimedExecution b = claim_node("b");
  ASSERT_EQ(b.inputs.size(), 1U);
  EXPECT_EQ(b.inputs[0].name, "a");
  EXPECT_EQ(b.inputs[0].result, "ra");
  EXPECT_EQ(b.flow_id, flow);
  EXPECT_FALSE(waiting.done());
  complete(b);
  complete(claim_node("c"), "end");
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(flow_events(flow), (Events{EventType::flow_submitted, EventType::flow_completed}));
  ASSERT_TRUE(waiting.done());
  const FlowResult result = value_of(waiting.get());
  ASSERT_EQ(result.outputs.size(), 1U);
  EXPECT_EQ(result.outputs[0].node, "c");
  EXPECT_EQ(result.outputs[0].result, "end");
  expect_exact(flow);
}

// F1
TEST_P(EngineFlows, AFailureSkipsEverythingBehindIt) {
  const FlowId flow = submit(graph({"a", "b", "c"}, {edge("a", "b"), edge("b", "c")}));
  fail_node(claim_node("a"));
  EXPECT_EQ(node_state(flow, "a"), PublicState::failed);
  EXPECT_EQ(node_state(flow, "b"), PublicState::skipped);
  EXPECT_EQ(node_state(flow, "c"), PublicState::skipped);
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(ends_in(engine().history(id_of(flow, name))), 1) << name;
  EXPECT_EQ(describe(flow).first_failure->node, "a");
  EXPECT_EQ(count_of(flow_events(flow), EventType::flow_failed), 1);
  expect_exact(flow);
  expect_edges_counted_once(flow);
}

// F2
TEST_P(EngineFlows, ADiamondJoinsOnceWithTheInputsOfBothBranches) {
  const FlowId flow = submit(graph({"a", "left", "right", "d"},
                                   {edge("a", "left"), edge("a", "right"), edge("left", "d"), edge("right", "d")}));
  complete(claim_node("a"));
  auto branches = claim_nodes();
  ASSERT_EQ(branches.size(), 2U);
  complete(branches.at("right"), "r");
  EXPECT_EQ(node_state(flow, "d"), PublicState::waiting_children);
  EXPECT_EQ(engine().describe(id_of(flow, "d")).explain.at(0).code, "waiting_for_children");
  EXPECT_NE(engine().describe(id_of(flow, "d")).explain.at(0).sentence.find("node \"left\", active (on_success)"),
            std::string::npos)
      << engine().describe(id_of(flow, "d")).explain.at(0).sentence;
  complete(branches.at("left"), "l");
  const ClaimedExecution d = claim_node("d");
  ASSERT_EQ(d.inputs.size(), 2U);
  EXPECT_EQ(d.inputs[0].name, "left");
  EXPECT_EQ(d.inputs[0].result, "l");
  EXPECT_EQ(d.inputs[1].name, "right");
  EXPECT_EQ(d.inputs[1].result, "r");
  complete(d);
  EXPECT_EQ(count_of(engine().history(id_of(flow, "d")), EventType::ready), 1);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_edges_counted_once(flow);
}

// F4
TEST_P(EngineFlows, TheFirstOfThreeWinsAndTheOthersAreCancelled) {
  const FlowId flow =
      submit(graph({"a", "b", "c", "d"},
                   {edge("a", "d", EdgeKind::on_success, "race"), edge("b", "d", EdgeKind::on_success, "race"),
                    edge("c", "d", EdgeKind::on_success, "race")},
                   {{"d", "race", GroupPolicy::any, 0, GroupRest::cancel_remaining}}));
  auto racers = claim_nodes();
  ASSERT_EQ(racers.size(), 3U);
  complete(racers.at("b"), "won");
  EXPECT_EQ(node_state(flow, "a"), PublicState::cancelled);
  EXPECT_EQ(node_state(flow, "c"), PublicState::cancelled);
  EXPECT_EQ(refusal(engine().complete(racers.at("a"))), Errc::already_terminal);
  const ClaimedExecution d = claim_node("d");
  ASSERT_EQ(d.inputs.size(), 1U);
  EXPECT_EQ(d.inputs[0].name, "b");
  complete(d);
  EXPECT_EQ(count_of(engine().history(id_of(flow, "d")), EventType::ready), 1);
  EXPECT_EQ(flow_state(flow), FlowState::completed) << "a node that its flow has cancelled is not a failure";
  expect_exact(flow);
  expect_edges_counted_once(flow);
}

TEST_P(EngineFlows, ASiblingThatAnotherGroupNeedsIsNotCancelled) {
  const FlowId flow = submit(graph(
      {"a", "b", "d", "e"},
      {edge("a", "d", EdgeKind::on_success, "race"), edge("b", "d", EdgeKind::on_success, "race"), edge("b", "e")},
      {{"d", "race", GroupPolicy::any, 0, GroupRest::cancel_remaining}}));
  auto racers = claim_nodes();
  complete(racers.at("a"));
  EXPECT_EQ(node_state(flow, "b"), PublicState::active);
  complete(racers.at("b"));
  EXPECT_EQ(claimable(), (std::vector<std::string>{"d", "e"}));
}

// F5
TEST_P(EngineFlows, AQuorumBecomesImpossibleAtTheSecondFailure) {
  FlowRequest request = graph({"a", "b", "c", "d"},
                              {edge("a", "d", EdgeKind::on_success, "q"), edge("b", "d", EdgeKind::on_success, "q"),
                               edge("c", "d", EdgeKind::on_success, "q")},
                              {{"d", "q", GroupPolicy::quorum, 2, GroupRest::let_run}});
  request.failure_policy = FailurePolicy::continue_others;
  const FlowId flow = submit(request);
  auto voters = claim_nodes();
  fail_node(voters.at("a"));
  EXPECT_EQ(node_state(flow, "d"), PublicState::waiting_children);
  fail_node(voters.at("c"));
  EXPECT_EQ(node_state(flow, "d"), PublicState::skipped);
  EXPECT_EQ(flow_state(flow), FlowState::running) << "b still runs";
  complete(voters.at("b"));
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  expect_exact(flow);
  expect_edges_counted_once(flow);
}

TEST_P(EngineFlows, WinnersOfAQuorumComeInTheOrderOfTheirCompletion) {
  const FlowId flow =
      submit(graph({"a", "b", "c", "d"},
                   {edge("a", "d", EdgeKind::on_success, "q"), edge("b", "d", EdgeKind::on_success, "q"),
                    edge("c", "d", EdgeKind::on_success, "q")},
                   {{"d", "q", GroupPolicy::quorum, 2, GroupRest::let_run}}));
  auto voters = claim_nodes();
  complete(voters.at("c"), "1");
  complete(voters.at("a"), "2");
  complete(voters.at("b"), "late");
  const ClaimedExecution d = claim_node("d");
  ASSERT_EQ(d.inputs.size(), 2U);
  EXPECT_EQ(d.inputs[0].name, "c");
  EXPECT_EQ(d.inputs[1].name, "a");
  const FlowNodesReply nodes = value_of(reads::flow_nodes(engine().store(), flow, {}, 100));
  EXPECT_EQ(nodes.nodes.at(3).groups.at(0).winners, (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(nodes.nodes.at(3).groups.at(0).satisfied, 3U);
}

// F6
TEST_P(EngineFlows, WhatIsWrongWithAGraphIsRefusedAndLeavesNothingBehind) {
  const auto refused = [&](const FlowRequest& request) {
    const auto reply = engine().submit_flow(request);
    return reply ? std::string("accepted") : reply.error().message;
  };
  EXPECT_EQ(refused(graph({"a", "d"}, {edge("a", "d", EdgeKind::on_success, "q")},
                          {{"d", "q", GroupPolicy::quorum, 2, GroupRest::let_run}})),
            "groups: group \"q\" of node \"d\" wants 2 of its 1 edges; allowed: 1 to 1");
  EXPECT_EQ(refused(graph({"a", "b"}, {edge("a", "b"), edge("b", "a")})),
            "edges: the nodes depend on each other in a cycle: \"b\" -> \"a\" -> \"b\"");
  EXPECT_EQ(refused(graph({"a"}, {edge("a", "x")})),
            "edges[0].to: there is no node \"x\" in this flow (edge from \"a\" to \"x\")");
  FlowRequest named = graph({"a"}, {});
  named.nodes[0].request.idempotency_key = "k";
  EXPECT_EQ(refused(named), "nodes[0].idempotency_key: is given; only the flow has one (node \"a\")");
  EXPECT_TRUE(value_of(reads::list(engine().store(), {})).executions.empty());
  EXPECT_TRUE(value_of(reads::flows(engine().store(), {})).flows.empty());
}

TEST_P(EngineFlows, TheSameIdempotencyKeyGivesTheSameFlow) {
  FlowRequest request = graph({"a", "b"}, {edge("a", "b")});
  request.idempotency_key = "once";
  const FlowCreated first = value_of(engine().submit_flow(request));
  const FlowCreated again = value_of(engine().submit_flow(request));
  EXPECT_FALSE(first.duplicate);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.flow_id, first.flow_id);
  EXPECT_EQ(again.state, FlowState::running);
  request.edges.clear();
  EXPECT_EQ(refusal(engine().submit_flow(request)), Errc::conflict);
  CreateRequest single = job();
  single.idempotency_key = "once";
  EXPECT_FALSE(value_of(engine().create(single)).duplicate) << "flows and executions do not share keys";
}

TEST_P(EngineFlows, AnOnFailureEdgeHandlesTheFailure) {
  const FlowId flow = submit(graph({"a", "b", "undo"}, {edge("a", "b"), edge("a", "undo", EdgeKind::on_failure)}));
  fail_node(claim_node("a"));
  EXPECT_EQ(node_state(flow, "b"), PublicState::skipped);
  const ClaimedExecution undo = claim_node("undo");
  ASSERT_EQ(undo.inputs.size(), 1U);
  EXPECT_EQ(undo.inputs[0].outcome, Outcome::failed);
  EXPECT_EQ(undo.inputs[0].failure->category, "error");
  complete(undo);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlows, FailFastCancelsWhatHasNotStartedAndRunsTheCleanup) {
  const FlowId flow = submit(
      graph({"a", "slow", "next", "cleanup"}, {edge("slow", "next"), edge("next", "cleanup", EdgeKind::on_finish)}));
  auto first = claim_nodes();
  ASSERT_EQ(first.size(), 2U);
  fail_node(first.at("a"));
  EXPECT_EQ(node_state(flow, "next"), PublicState::cancelled);
  EXPECT_EQ(node_state(flow, "slow"), PublicState::active) << "it has started";
  EXPECT_EQ(flow_state(flow), FlowState::cancelling);
  complete(claim_node("cleanup"));
  complete(first.at("slow"));
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  EXPECT_EQ(flow_events(flow), (Events{EventType::flow_submitted, EventType::flow_cancelling, EventType::flow_failed}));
  expect_exact(flow);
  expect_edges_counted_once(flow);
}

TEST_P(EngineFlows, AnOptionalInputIsThereOnlyAfterASuccess) {
  FlowRequest request = graph({"a", "b", "d"}, {edge("a", "d", EdgeKind::optional), edge("b", "d")});
  request.failure_policy = FailurePolicy::continue_others;
  const FlowId flow = submit(request);
  auto first = claim_nodes();
  fail_node(first.at("a"));
  complete(first.at("b"), "x");
  const ClaimedExecution d = claim_node("d");
  ASSERT_EQ(d.inputs.size(), 1U);
  EXPECT_EQ(d.inputs[0].name, "b");
  complete(d);
  EXPECT_EQ(flow_state(flow), FlowState::failed) << "optional does not handle the failure";
}

TEST_P(EngineFlows, RetriesHappenBeforeTheEdgesLookAtANode) {
  FlowRequest request = graph({"a", "b"}, {edge("a", "b")});
  request.nodes[0].request.policy = retried_job(1).policy;
  const FlowId flow = submit(request);
  fail_node(claim_node("a"));
  EXPECT_EQ(node_state(flow, "b"), PublicState::waiting_children);
  engine().advance(1000);
  complete(claim_node("a"));
  EXPECT_EQ(claimable(), std::vector<std::string>{"b"});
}

// F8
TEST_P(EngineFlows, CyclesOfAnyLengthAreRefusedAndWideGraphsAreNot) {
  for (const std::size_t length : {2U, 3U, 2000U}) {
    FlowRequest ring = graph({}, {});
    for (std::size_t i = 0; i < length; ++i) {
      ring.nodes.push_back(node("n" + std::to_string(i)));
      ring.edges.push_back(edge("n" + std::to_string(i), "n" + std::to_string((i + 1) % length)));
    }
    EXPECT_EQ(refusal(engine().submit_flow(ring)), Errc::invalid_argument);
  }
  // A hub with many nodes behind it, which a last one waits for: more than one step of the clock.
  constexpr std::uint32_t width = 600;
  FlowRequest wide = graph({"hub"}, {});
  for (std::uint32_t i = 0; i < width; ++i) {
    const std::string name = "n" + std::to_string(i);
    wide.nodes.push_back(node(name));
    wide.edges.push_back(edge("hub", name));
    wide.edges.push_back(edge(name, "last"));
  }
  wide.nodes.push_back(node("last"));
  const FlowId flow = submit(wide);
  complete(claim_node("hub"));
  const Claims all = claim_all();
  ASSERT_EQ(all.size(), width);
  std::vector<Command> ends;
  for (const ClaimedExecution& claim : all) ends.push_back(CompleteCommand{engine().fence(claim), {"r", {}}});
  for (const auto& reply : call_together(engine(), ends)) EXPECT_TRUE(reply);
  const ClaimedExecution last = claim_node("last");
  EXPECT_EQ(last.inputs.size(), width);
  complete(last);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(counts(flow).succeeded, width + 2);
}

// F9, F10: everything that is left to do is stored, so another engine goes on with it.
TEST_P(EngineFlows, AnotherEngineResolvesWhatAStoppedOneLeft) {
  FlowRequest request = graph({"a", "b", "c"}, {edge("a", "b"), edge("a", "c")});
  const FlowId flow = submit(request);
  const ClaimedExecution a = claim_node("a");
  // The batch of the command only: the clock of this engine never runs again.
  bool answered = false;
  engine().runtime().submit(CompleteCommand{engine().fence(a), {"r", {}}},
                            [&](const Result<Reply>&) { answered = true; });
  while (!answered) ASSERT_TRUE(engine().runtime().pump(0));
  engine_ = open_engine(7);
  engine().settle();
  EXPECT_EQ(claimable(), (std::vector<std::string>{"b", "c"}));
  expect_edges_counted_once(flow);
}

// F11
TEST_P(EngineFlows, CancelAllEndsEverythingThatHasNotEnded) {
  const FlowId flow = submit(graph({"done", "runs", "ready", "blocked"},
                                   {edge("done", "runs"), edge("done", "ready"), edge("runs", "blocked")}));
  complete(claim_node("done"));
  const Claims one = claim(ask(1));
  ASSERT_EQ(one.size(), 1U);
  const auto waiting = engine().wait_flow_later(flow, 60000);
  const auto reply = call<FlowCancelReply>(CancelFlowCommand{flow, {}, {"ops", "stop"}});
  EXPECT_FALSE(reply.already_cancelled);
  engine().settle();
  EXPECT_EQ(node_state(flow, "done"), PublicState::completed);
  for (const char* name : {"runs", "ready", "blocked"})
    EXPECT_EQ(node_state(flow, name), PublicState::cancelled) << name;
  EXPECT_EQ(refusal(engine().complete(one[0])), Errc::already_terminal);
  EXPECT_EQ(flow_state(flow), FlowState::cancelled);
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(value_of(waiting.get()).state, FlowState::cancelled);
  EXPECT_TRUE(call<FlowCancelReply>(CancelFlowCommand{flow, {}, {}}).already_cancelled);
  EXPECT_EQ(count_of(flow_events(flow), EventType::flow_cancelled), 1);
  expect_exact(flow);
}

// F12
TEST_P(EngineFlows, CancelPendingLetsRunningNodesFinish) {
  const FlowId flow = submit(graph({"a", "b", "c"}, {edge("a", "c")}));
  const Claims one = claim(ask(1));
  call<FlowCancelReply>(CancelFlowCommand{flow, {FlowCancelPolicy::cancel_pending, false}, {}});
  engine().settle();
  EXPECT_EQ(flow_state(flow), FlowState::cancelling);
  complete(one[0]);
  EXPECT_EQ(flow_state(flow), FlowState::cancelled);
  EXPECT_EQ(counts(flow).succeeded, 1U);
  EXPECT_EQ(counts(flow).cancelled, 2U);
  expect_exact(flow);
}

TEST_P(EngineFlows, FlowOnlyEndsTheFlowAndLeavesItsNodesAlone) {
  const FlowId flow = submit(graph({"a", "b"}, {edge("a", "b")}));
  call<FlowCancelReply>(CancelFlowCommand{flow, {FlowCancelPolicy::flow_only, false}, {}});
  EXPECT_EQ(flow_state(flow), FlowState::cancelled);
  complete(claim_node("a"));
  complete(claim_node("b"));
  EXPECT_EQ(counts(flow).succeeded, 2U);
  EXPECT_EQ(count_of(flow_events(flow), EventType::flow_cancelled), 1);
}

// F13: a flow that is being cancelled hands out nothing new, also before the clock has reached the node.
TEST_P(EngineFlows, AFlowThatIsBeingCancelledStartsNoMoreNodes) {
  const FlowId flow = submit(graph({"a"}, {}));
  bool answered = false;
  Claims got;
  engine().runtime().submit(CancelFlowCommand{flow, {}, {}}, [&](const Result<Reply>&) { answered = true; });
  engine().runtime().submit_claim(ask(1), [&](Result<Claims> claims) { got = value_of(std::move(claims)); });
  while (!answered) ASSERT_TRUE(engine().runtime().pump(0));
  engine().settle();
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(node_state(flow, "a"), PublicState::cancelled);
}

TEST_P(EngineFlows, TheDeadlineExpiresWhatIsLeft) {
  FlowRequest request = graph({"a", "b"}, {edge("a", "b")});
  request.deadline_ms = 5000;
  const FlowId flow = submit(request);
  const ClaimedExecution a = claim_node("a");
  engine().advance(5001);
  EXPECT_EQ(node_state(flow, "a"), PublicState::expired);
  EXPECT_EQ(node_state(flow, "b"), PublicState::expired);
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  EXPECT_EQ(refusal(engine().complete(a)), Errc::already_terminal);
  expect_exact(flow);
}

// Who cancelled it stays on record.
TEST_P(EngineFlows, TheDeadlineAlsoExpiresWhatIsLeftOfACancelledFlow) {
  FlowRequest request = graph({"runs", "waits", "cleanup"}, {edge("runs", "waits"), edge("runs", "cleanup")});
  request.edges[1].kind = EdgeKind::on_finish;
  request.deadline_ms = 5000;
  const FlowId flow = submit(request);
  const ClaimedExecution runs = claim_node("runs");
  call<FlowCancelReply>(CancelFlowCommand{flow, {FlowCancelPolicy::cancel_pending, true}, {"ann", "enough"}});
  engine().settle();
  EXPECT_EQ(node_state(flow, "waits"), PublicState::cancelled);
  engine().advance(5001);
  EXPECT_EQ(node_state(flow, "runs"), PublicState::expired);
  EXPECT_EQ(node_state(flow, "cleanup"), PublicState::expired);
  EXPECT_EQ(refusal(engine().complete(runs)), Errc::already_terminal);
  EXPECT_EQ(flow_state(flow), FlowState::cancelled);
  const auto found = value_of(reads::describe_flow(engine().store(), flow));
  EXPECT_EQ(found.cancellation->by, "ann");
  EXPECT_EQ(found.cancellation->reason, "enough");
  EXPECT_EQ(count_of(flow_events(flow), EventType::flow_cancelled), 1);
  expect_exact(flow);
}

TEST_P(EngineFlows, AFlowAndItsMembersGoTogether) {
  FlowRequest request = graph({"a", "b"}, {edge("a", "b")});
  request.retention.completed_ms = 10000;
  request.nodes[0].request.policy.retention.completed_ms = 0;
  const FlowId flow = submit(request);
  complete(claim_node("a"));
  engine().advance(60000);
  EXPECT_EQ(node_state(flow, "a"), PublicState::completed) << "its flow lives";
  complete(claim_node("b"));
  engine().advance(9000);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  engine().advance(2000);
  EXPECT_EQ(refusal(reads::describe_flow(engine().store(), flow)), Errc::not_found);
  EXPECT_TRUE(value_of(reads::list(engine().store(), {})).executions.empty());
}

TEST_P(EngineFlows, FlowsAreListedByNamespaceStateTagAndKind) {
  FlowRequest request = graph({"a"}, {});
  request.tags = {{"app.team", "x"}};
  const FlowId first = submit(request);
  complete(claim_node("a"));
  clock_.advance_ms(10);
  request.kind = "other";
  request.tags.clear();
  const FlowId second = submit(request);
  const auto list = [&](const ListFlowsRequest& wanted) {
    std::vector<FlowId> ids;
    for (const FlowSummary& flow : value_of(reads::flows(engine().store(), wanted)).flows) ids.push_back(flow.flow_id);
    return ids;
  };
  EXPECT_EQ(list({}), (std::vector<FlowId>{second, first}));
  ListFlowsRequest by;
  by.states = {FlowState::completed};
  EXPECT_EQ(list(by), std::vector<FlowId>{first});
  by = {};
  by.tag = {"app.team", "x"};
  EXPECT_EQ(list(by), std::vector<FlowId>{first});
  by = {};
  by.kind = "other";
  EXPECT_EQ(list(by), std::vector<FlowId>{second});
  by = {};
  by.limit = 1;
  const ListFlowsReply page = value_of(reads::flows(engine().store(), by));
  by.cursor = page.next_cursor;
  EXPECT_EQ(list(by), std::vector<FlowId>{first});
}

TEST_P(EngineFlows, ALargeResultComesAlongOrAsAReference) {
  const FlowId flow = submit(graph({"a", "b", "d"}, {edge("a", "d"), edge("b", "d")}));
  auto first = claim_nodes();
  complete(first.at("a"), std::string(10000, 'x'));
  complete(first.at("b"), std::string(limits::max_claimed_input_bytes, 'y'));
  const ClaimedExecution d = claim_node("d");
  ASSERT_EQ(d.inputs.size(), 2U);
  EXPECT_EQ(d.inputs[0].result, std::string(10000, 'x'));
  EXPECT_TRUE(d.inputs[1].by_reference);
  EXPECT_EQ(d.inputs[1].execution_id, id_of(flow, "b"));
}

TEST_P(EngineFlows, ANodeCancelledByAnOperatorFailsItsFlow) {
  const FlowId flow = submit(graph({"a", "b"}, {edge("a", "b")}));
  call<CancelReply>(CancelCommand{id_of(flow, "a"), {}});
  engine().settle();
  EXPECT_EQ(node_state(flow, "b"), PublicState::skipped);
  EXPECT_EQ(flow_state(flow), FlowState::failed);
}

ON_EVERY_STORE(EngineFlows);

}  // namespace
}  // namespace flowfabric::test
