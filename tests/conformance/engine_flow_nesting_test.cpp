// Flows within flows on every store: how they begin and end, what their failures do, inputs, cancellation and replay.
#include <algorithm>

#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

using Names = std::vector<std::string>;
using States = std::map<std::string, PublicState>;

constexpr PublicState done = PublicState::completed;
constexpr PublicState skipped = PublicState::skipped;
constexpr PublicState cancelled = PublicState::cancelled;

FlowNode work(const std::string& name) {
  FlowNode node;
  node.name = name;
  node.request = job();
  node.request.kind = name;
  return node;
}

FlowNode within(const std::string& name, const Names& nodes, std::vector<FlowEdge> edges = {},
                FailurePolicy policy = FailurePolicy::fail_fast) {
  FlowNode node;
  node.name = name;
  node.flow.emplace();
  for (const std::string& one : nodes) node.flow->nodes.push_back(work(one));
  node.flow->edges = std::move(edges);
  node.flow->failure_policy = policy;
  return node;
}

FlowRequest flow_of_nodes(std::vector<FlowNode> nodes, std::vector<FlowEdge> edges = {}) {
  FlowRequest request;
  request.kind = "outer";
  request.nodes = std::move(nodes);
  request.edges = std::move(edges);
  return request;
}

class EngineFlowNesting : public EngineSuite {
 protected:
  FlowId submit(FlowRequest request) { return value_of(engine().submit_flow(std::move(request))).flow_id; }
  std::map<std::string, FlowNodeInfo> nodes(const FlowId& flow) {
    std::map<std::string, FlowNodeInfo> all;
    for (FlowNodeInfo& node : value_of(reads::flow_nodes(engine().store(), flow, {}, 1000)).nodes) {
      const std::string name = node.name;
      all.emplace(name, std::move(node));
    }
    return all;
  }
  States states(const FlowId& flow) {
    States all;
    for (const auto& [name, node] : nodes(flow)) all[name] = node.public_state;
    return all;
  }
  ExecutionId id_of(const FlowId& flow, const std::string& name) { return nodes(flow).at(name).execution_id; }
  FlowDescription describe(const FlowId& flow) { return value_of(reads::describe_flow(engine().store(), flow)); }
  FlowState flow_state(const FlowId& flow) { return describe(flow).summary.state; }
  std::map<std::string, ClaimedExecution> claim_nodes() {
    std::map<std::string, ClaimedExecution> by_name;
    for (ClaimedExecution& claim : claim_all("default")) by_name.emplace(claim.node, std::move(claim));
    return by_name;
  }
  // Runs everything that can be claimed until nothing is left; the named nodes fail. Returns the nodes in the order of their
  // claims, those of one claim by name.
  Names run(const std::set<std::string>& failing = {}) {
    Names ran;
    for (auto claims = claim_nodes(); !claims.empty(); claims = claim_nodes()) {
      for (const auto& [name, claim] : claims) {
        ran.push_back(name);
        failing.contains(name) ? (void)engine().fail(claim) : (void)engine().complete(claim, "of " + name);
        engine().settle();
      }
    }
    return ran;
  }
  // What the flow has counted is what its members are.
  void expect_exact(const FlowId& flow) {
    const FlowCounts counts = describe(flow).summary.counts;
    std::map<PublicState, std::uint32_t> real;
    for (const auto& [name, state] : states(flow)) ++real[state];
    EXPECT_EQ(counts.succeeded, real[PublicState::completed]);
    EXPECT_EQ(counts.failed, real[PublicState::failed]);
    EXPECT_EQ(counts.cancelled, real[PublicState::cancelled]);
    EXPECT_EQ(counts.expired, real[PublicState::expired]);
    EXPECT_EQ(counts.skipped, real[PublicState::skipped]);
  }
};

TEST_P(EngineFlowNesting, TheNodesInItRunBetweenWhatIsBeforeAndBehindIt) {
  const FlowId flow = submit(
      flow_of_nodes({work("a"), within("sub", {"x", "y"}, {{"x", "y"}}), work("z")}, {{"a", "sub"}, {"sub", "z"}}));
  EXPECT_EQ(states(flow).at("sub/x"), PublicState::waiting_children);
  EXPECT_EQ(run(), (Names{"a", "sub/x", "sub/y", "z"}));
  EXPECT_EQ(states(flow),
            (States{{"a", done}, {"sub", done}, {"sub/(begin)", done}, {"sub/x", done}, {"sub/y", done}, {"z", done}}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, ExplainTellsWhatItWaitsFor) {
  const FlowId flow = submit(flow_of_nodes({work("a"), within("sub", {"x"})}, {{"a", "sub"}}));
  const auto first_reason = [&](const std::string& name) {
    return engine().describe(id_of(flow, name)).explain.at(0).sentence;
  };
  EXPECT_EQ(first_reason("sub"),
            "It is a flow and ends with the nodes in it; 2 of 2 have not ended: node \"sub/(begin)\", waiting_children "
            "(part), node \"sub/x\", waiting_children (output).");
  EXPECT_EQ(first_reason("sub/x"),
            "The flow in which it lies has not begun: node \"sub/(begin)\", waiting_children (within).");
}

TEST_P(EngineFlowNesting, AFlowThatDependsOnNothingBeginsAtOnce) {
  const FlowId flow = submit(flow_of_nodes({within("sub", {"x"})}));
  EXPECT_EQ(run(), (Names{"sub/x"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  const FlowResult result =
      value_of(reads::flow_result(engine().store(), value_of(reads::load_flow(engine().store(), flow))));
  ASSERT_EQ(result.outputs.size(), 1U) << "its outputs are those of the flow";
  EXPECT_EQ(result.outputs[0].node, "sub/x");
  EXPECT_EQ(result.outputs[0].result, "of sub/x");
}

TEST_P(EngineFlowNesting, FlowsAreWithinFlows) {
  FlowNode outer = within("a", {"first"});
  outer.flow->nodes.push_back(within("b", {"x", "y"}));
  outer.flow->edges = {{"first", "b"}};
  const FlowId flow = submit(flow_of_nodes({outer, work("last")}, {{"a", "last"}}));
  EXPECT_EQ(run(), (Names{"a/first", "a/b/x", "a/b/y", "last"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, AFailureInItFailsTheNodeAndCancelsWhatHasNotStarted) {
  const FlowId flow = submit(flow_of_nodes(
      {within("sub", {"x", "y", "behind"}, {{"y", "behind"}}), work("z"), work("other")}, {{"sub", "z"}}));
  auto claims = claim_nodes();
  ASSERT_EQ(claims.size(), 3U);
  ASSERT_TRUE(engine().fail(claims.at("sub/x")));
  engine().settle();
  EXPECT_EQ(states(flow).at("sub/behind"), cancelled);
  EXPECT_EQ(states(flow).at("sub/y"), PublicState::active) << "it has started and goes on";
  EXPECT_EQ(states(flow).at("sub"), PublicState::waiting_children) << "it ends with the last node in it";
  EXPECT_EQ(flow_state(flow), FlowState::running);
  ASSERT_TRUE(engine().complete(claims.at("sub/y")));
  engine().settle();
  const FlowNodeInfo sub = nodes(flow).at("sub");
  EXPECT_EQ(sub.public_state, PublicState::failed);
  ASSERT_TRUE(sub.failure);
  EXPECT_EQ(sub.failure->category, "node_failed");
  EXPECT_EQ(sub.failure->message, "node \"sub/x\" failed");
  EXPECT_EQ(states(flow).at("z"), skipped);
  ASSERT_TRUE(engine().complete(claims.at("other")));
  engine().settle();
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  EXPECT_EQ(describe(flow).first_failure->node, "sub");
  EXPECT_EQ(describe(flow).unhandled_failures, 1U) << "the failure in it is not counted again";
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, WithContinueTheOthersInItGoOn) {
  const FlowId flow =
      submit(flow_of_nodes({within("sub", {"x", "y", "behind"}, {{"y", "behind"}}, FailurePolicy::continue_others)}));
  EXPECT_EQ(run({"sub/x"}), (Names{"sub/x", "sub/y", "sub/behind"}));
  EXPECT_EQ(states(flow).at("sub"), PublicState::failed);
  EXPECT_EQ(flow_state(flow), FlowState::failed);
}

TEST_P(EngineFlowNesting, AFailureThatIsHandledInItDoesNotFailIt) {
  const FlowId flow = submit(
      flow_of_nodes({within("sub", {"x", "undo"}, {{"x", "undo", EdgeKind::on_failure}}), work("z")}, {{"sub", "z"}}));
  EXPECT_EQ(run({"sub/x"}), (Names{"sub/x", "sub/undo", "z"}));
  EXPECT_EQ(states(flow).at("sub"), done);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
}

TEST_P(EngineFlowNesting, AnEdgeOutsideHandlesTheFailureOfTheWhole) {
  const FlowId flow = submit(flow_of_nodes({within("sub", {"x"}), work("undo"), work("z")},
                                           {{"sub", "undo", EdgeKind::on_failure}, {"sub", "z"}}));
  EXPECT_EQ(run({"sub/x"}), (Names{"sub/x", "undo"}));
  EXPECT_EQ(states(flow).at("z"), skipped);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
}

TEST_P(EngineFlowNesting, ItIsSkippedAsAWholeEvenItsCleanup) {
  FlowRequest request =
      flow_of_nodes({work("a"), within("sub", {"x", "tidy"}, {{"x", "tidy", EdgeKind::on_finish}}), work("z")},
                    {{"a", "sub"}, {"sub", "z", EdgeKind::on_finish}});
  request.failure_policy = FailurePolicy::continue_others;
  const FlowId flow = submit(std::move(request));
  EXPECT_EQ(run({"a"}), (Names{"a", "z"}));
  const States all = states(flow);
  for (const char* name : {"sub", "sub/(begin)", "sub/x", "sub/tidy"}) EXPECT_EQ(all.at(name), skipped) << name;
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, FailuresDeepInsideGoOutwardsOneFlowAfterTheOther) {
  FlowNode outer = within("a", {"p", "q"}, {{"p", "q"}});
  outer.flow->nodes.push_back(within("b", {"x", "y"}, {{"x", "y"}}));
  const FlowId flow = submit(flow_of_nodes({outer, work("undo")}, {{"a", "undo", EdgeKind::on_failure}}));
  auto claims = claim_nodes();
  ASSERT_EQ(claims.size(), 2U);
  ASSERT_TRUE(engine().fail(claims.at("a/b/x")));
  engine().settle();
  ASSERT_TRUE(engine().complete(claims.at("a/p")));
  EXPECT_EQ(run(), (Names{"undo"}));
  const States all = states(flow);
  EXPECT_EQ(all.at("a/b"), PublicState::failed);
  EXPECT_EQ(all.at("a"), PublicState::failed);
  EXPECT_EQ(all.at("a/q"), cancelled) << "fail_fast of the flow around it";
  EXPECT_EQ(flow_state(flow), FlowState::completed) << "handled";
  expect_exact(flow);
}

// A failure beside an inner flow cancels what has not started in it, also if it has begun.
TEST_P(EngineFlowNesting, FailFastReachesFlowsWithinTheFlow) {
  FlowNode outer = within("a", {"p"});
  outer.flow->nodes.push_back(within("b", {"x", "y"}, {{"x", "y"}}));
  outer.flow->nodes.push_back(within("c", {"v"}));
  outer.flow->edges = {{"b", "c"}};
  const FlowId flow = submit(flow_of_nodes({outer, work("undo")}, {{"a", "undo", EdgeKind::on_failure}}));
  auto claims = claim_nodes();
  ASSERT_TRUE(engine().fail(claims.at("a/p")));
  engine().settle();
  EXPECT_EQ(states(flow).at("a/b/y"), cancelled);
  EXPECT_EQ(states(flow).at("a/b/x"), PublicState::active);
  ASSERT_TRUE(engine().complete(claims.at("a/b/x")));
  EXPECT_EQ(run(), (Names{"undo"}));
  const States all = states(flow);
  EXPECT_EQ(all.at("a/b"), cancelled);
  EXPECT_EQ(all.at("a/c"), cancelled);
  EXPECT_TRUE(all.at("a/c/v") == cancelled || all.at("a/c/v") == skipped);
  EXPECT_EQ(all.at("a"), PublicState::failed);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, CancellingTheNodeCancelsEverythingInIt) {
  const FlowId flow = submit(
      flow_of_nodes({within("sub", {"x", "y"}, {{"x", "y"}}), work("undo")}, {{"sub", "undo", EdgeKind::on_failure}}));
  auto claims = claim_nodes();
  ASSERT_TRUE(engine().call(CancelCommand{id_of(flow, "sub"), {"ops", "not needed"}}));
  engine().settle();
  EXPECT_EQ(refused(CompleteCommand{engine().fence(claims.at("sub/x")), {}}), Errc::already_terminal);
  EXPECT_EQ(run(), (Names{"undo"}));
  const States all = states(flow);
  EXPECT_EQ(all.at("sub"), cancelled);
  EXPECT_EQ(all.at("sub/x"), cancelled);
  EXPECT_TRUE(all.at("sub/y") == cancelled || all.at("sub/y") == skipped);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, AGroupThatNoLongerNeedsItCancelsEverythingInIt) {
  FlowRequest request =
      flow_of_nodes({work("fast"), within("slow", {"x", "y"}, {{"x", "y"}}), work("use")},
                    {{"fast", "use", EdgeKind::on_success, "first"}, {"slow", "use", EdgeKind::on_success, "first"}});
  request.groups = {{"use", "first", GroupPolicy::any, 0, GroupRest::cancel_remaining}};
  const FlowId flow = submit(std::move(request));
  auto claims = claim_nodes();
  ASSERT_TRUE(engine().complete(claims.at("fast")));
  EXPECT_EQ(run(), (Names{"use"}));
  EXPECT_EQ(states(flow).at("slow"), cancelled);
  EXPECT_EQ(states(flow).at("slow/x"), cancelled);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, CancelRemainingWorksWithinIt) {
  FlowNode sub =
      within("sub", {"fast", "slow", "use"},
             {{"fast", "use", EdgeKind::on_success, "first"}, {"slow", "use", EdgeKind::on_success, "first"}});
  sub.flow->groups = {{"use", "first", GroupPolicy::any, 0, GroupRest::cancel_remaining}};
  const FlowId flow = submit(flow_of_nodes({sub}));
  auto claims = claim_nodes();
  ASSERT_TRUE(engine().complete(claims.at("sub/fast")));
  EXPECT_EQ(run(), (Names{"sub/use"}));
  EXPECT_EQ(states(flow).at("sub/slow"), cancelled);
  EXPECT_EQ(states(flow).at("sub"), done) << "a group that needs less is no failure";
  EXPECT_EQ(flow_state(flow), FlowState::completed);
}

TEST_P(EngineFlowNesting, ItsOwnDeadlineEndsEverythingInIt) {
  FlowNode sub = within("sub", {"x"});
  sub.request.deadline_ms = 10'000;
  const FlowId flow = submit(flow_of_nodes({sub, work("undo")}, {{"sub", "undo", EdgeKind::on_failure}}));
  claim_nodes();
  engine().advance(10'001);
  EXPECT_EQ(states(flow).at("sub"), PublicState::expired);
  EXPECT_EQ(states(flow).at("sub/x"), cancelled);
  EXPECT_EQ(run(), (Names{"undo"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
}

TEST_P(EngineFlowNesting, CancellingTheOuterFlowWaitsForWhatGoesOn) {
  const FlowId flow =
      submit(flow_of_nodes({within("sub", {"x", "y"}, {{"x", "y"}}), within("later", {"v"})}, {{"sub", "later"}}));
  auto claims = claim_nodes();
  ASSERT_TRUE(engine().call(CancelFlowCommand{flow, {FlowCancelPolicy::cancel_pending, false}, {"ops", "enough"}}));
  engine().settle();
  EXPECT_EQ(flow_state(flow), FlowState::cancelling);
  EXPECT_EQ(states(flow).at("sub"), PublicState::waiting_children);
  ASSERT_TRUE(engine().complete(claims.at("sub/x")));
  engine().settle();
  EXPECT_EQ(flow_state(flow), FlowState::cancelled);
  EXPECT_EQ(states(flow).at("sub"), cancelled);
  EXPECT_EQ(states(flow).at("later"), cancelled);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, TheDeadlineOfTheOuterFlowExpiresEverything) {
  FlowRequest request = flow_of_nodes({within("sub", {"x", "y"}, {{"x", "y"}})});
  request.deadline_ms = 5'000;
  const FlowId flow = submit(std::move(request));
  claim_nodes();
  engine().advance(5'001);
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  for (const auto& [name, state] : states(flow)) {
    if (name == "sub/(begin)") continue;
    EXPECT_EQ(state, PublicState::expired) << name;
  }
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, AFlowBehindAnOnFinishEdgeIsCleanupWithAllItsNodes) {
  const FlowId flow = submit(flow_of_nodes({work("a"), within("tidy", {"x", "y"}, {{"x", "y"}}), work("b")},
                                           {{"a", "tidy", EdgeKind::on_finish}, {"a", "b"}}));
  EXPECT_EQ(run({"a"}), (Names{"a", "tidy/x", "tidy/y"}));
  EXPECT_EQ(states(flow).at("tidy"), done) << "it was not cancelled";
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, InputsComeFromOutsideAndItsOutputsGoOn) {
  submit(flow_of_nodes({work("a"), within("sub", {"x", "y", "z"}, {{"x", "y"}, {"x", "z"}}), work("last")},
                       {{"a", "sub"}, {"sub", "last"}}));
  ASSERT_TRUE(engine().complete(claim_nodes().at("a"), "of a"));
  engine().settle();
  const ClaimedExecution first = claim_nodes().at("sub/x");
  ASSERT_EQ(first.inputs.size(), 1U);
  EXPECT_EQ(first.inputs[0].name, "a");
  EXPECT_EQ(first.inputs[0].result, "of a");
  const FlowInputsReply read = value_of(reads::flow_inputs(engine().store(), first.execution_id, 0, 100));
  ASSERT_EQ(read.inputs.size(), 1U);
  EXPECT_EQ(read.inputs[0].result, "of a");
  ASSERT_TRUE(engine().complete(first, "of sub/x"));
  engine().settle();
  for (const auto& [name, claim] : claim_nodes()) ASSERT_TRUE(engine().complete(claim, "of " + name));
  engine().settle();
  const ClaimedExecution last = claim_nodes().at("last");
  Names given;
  for (const FlowInput& input : last.inputs) given.push_back(input.name + "=" + input.result);
  EXPECT_EQ(given, (Names{"sub=", "sub/y=of sub/y", "sub/z=of sub/z"}));
  Names listed;
  for (const FlowInput& input : value_of(reads::flow_inputs(engine().store(), last.execution_id, 0, 100)).inputs) {
    listed.push_back(input.name + "=" + input.result);
  }
  EXPECT_EQ(listed, given);
}

TEST_P(EngineFlowNesting, AReplayRunsWhatHasNotSucceededAndTheNodeEndsAgain) {
  const FlowId flow = submit(flow_of_nodes({within("sub", {"x", "y"}, {{"x", "y"}}), work("z")}, {{"sub", "z"}}));
  EXPECT_EQ(run({"sub/y"}), (Names{"sub/x", "sub/y"}));
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  ASSERT_TRUE(engine().call(ReplayFlowCommand{flow, std::nullopt, true, {"ops", "mended"}}));
  EXPECT_EQ(run(), (Names{"sub/y", "z"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_FALSE(nodes(flow).at("sub").failure);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, AReplayOfTheNodeRunsEverythingInItAndBehindIt) {
  const FlowId flow = submit(
      flow_of_nodes({work("a"), within("sub", {"x", "y"}, {{"x", "y"}}), work("z")}, {{"a", "sub"}, {"sub", "z"}}));
  run();
  const auto replay = [&](bool descendants) -> Result<Reply> {
    auto command = reads::replay_command(engine().store(), flow, {"sub", descendants}, {"ops", {}});
    if (!command) return Unexpected(command.error());
    return engine().call(std::move(*command));
  };
  EXPECT_EQ(refusal(replay(false)), Errc::invalid_argument);
  ASSERT_TRUE(replay(true));
  EXPECT_EQ(run(), (Names{"sub/x", "sub/y", "z"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, ItIsAddedToAnOpenFlowAndByARunningNode) {
  FlowRequest request = flow_of_nodes({work("a")});
  request.open = true;
  const FlowId flow = submit(std::move(request));
  FlowAddition addition;
  addition.nodes = {within("sub", {"x"}), work("z")};
  addition.edges = {{"a", "sub"}, {"sub", "z"}};
  ASSERT_TRUE(admit(addition, {}));
  EXPECT_EQ(call<FlowAdded>(GrowFlowCommand{flow, addition, {}, {}}).added_nodes, 4U);
  EXPECT_EQ(call<FlowAdded>(GrowFlowCommand{flow, addition, {}, {}}).added_nodes, 0U) << "a repetition";
  FlowAddition edge;
  edge.nodes = {work("b")};
  edge.edges = {{"b", "sub"}};
  ASSERT_TRUE(admit(edge, {}));
  EXPECT_EQ(refused(GrowFlowCommand{flow, edge, {}, {}}), Errc::conflict);
  const ClaimedExecution a = claim_nodes().at("a");
  FlowAddition child;
  child.nodes = {within("child", {"x"})};
  child.edges = {{"child", "a", EdgeKind::join}};
  ASSERT_TRUE(admit(child, {}));
  ASSERT_TRUE(engine().call(GrowFlowCommand{{}, child, engine().fence(a), {}}));
  EXPECT_FALSE(call<FlowJoinReply>(JoinNodesCommand{engine().fence(a), {"child"}}).ended);
  ASSERT_TRUE(engine().call(SealFlowCommand{flow, {}}));
  EXPECT_EQ(run(), (Names{"child/x", "a", "sub/x", "z"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowNesting, AFlowNodeThatGetsANodeBehindItGivesNoResultOfTheFlowAnyMore) {
  FlowNode outer = within("outer", {"y"});
  outer.flow->nodes.push_back(within("inner", {"x"}));
  FlowRequest request = flow_of_nodes({outer, work("a")});
  request.open = true;
  const FlowId flow = submit(std::move(request));
  const auto outputs = [&] {
    Names names;
    const FlowRecord record = value_of(reads::load_flow(engine().store(), flow));
    for (const FlowOutput& output : value_of(reads::flow_result(engine().store(), record)).outputs) {
      names.push_back(output.node);
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  EXPECT_EQ(outputs(), (Names{"a", "outer/inner/x", "outer/y"}));
  FlowAddition addition;
  addition.nodes = {work("z")};
  addition.edges = {{"outer", "z"}};
  ASSERT_TRUE(admit(addition, {}));
  ASSERT_TRUE(engine().call(GrowFlowCommand{flow, addition, {}, {}}));
  EXPECT_EQ(outputs(), (Names{"a", "z"}));
}

TEST_P(EngineFlowNesting, EdgesDoNotCrossItsBoundary) {
  const auto field_of = [&](std::vector<FlowNode> nodes, std::vector<FlowEdge> edges) {
    const auto reply = engine().submit_flow(flow_of_nodes(std::move(nodes), std::move(edges)));
    return reply ? std::string() : reply.error().field;
  };
  EXPECT_EQ(field_of({work("x"), within("g", {"a"})}, {{"x", "g/a"}}), "edges[0].to");
  EXPECT_EQ(field_of({work("x"), within("g", {"a"})}, {{"g/a", "x"}}), "edges[0].from");
  EXPECT_EQ(field_of({work("x"), within("g", {"a"})}, {{"x", "g/(begin)"}}), "edges[0].to");
  EXPECT_EQ(field_of({within("g", {"a"}), work("g/z")}, {}), "nodes[1].name");
  FlowRequest request = flow_of_nodes({work("x"), within("g", {"a", "b"}, {{"a", "b"}})}, {{"x", "g"}});
  request.open = true;
  const FlowId flow = submit(std::move(request));
  for (const FlowEdge& edge : {FlowEdge{"x", "g/b"}, FlowEdge{"p", "g/(begin)"}, FlowEdge{"g/a", "p"}}) {
    FlowAddition addition;
    addition.nodes = {work("p")};
    addition.edges = {edge};
    ASSERT_TRUE(admit(addition, {}));
    EXPECT_EQ(refused(GrowFlowCommand{flow, addition, {}, {}}), Errc::conflict) << edge.from << edge.to;
  }
  FlowAddition behind;
  behind.nodes = {work("p")};
  behind.edges = {{"g", "p"}};
  EXPECT_TRUE(engine().call(GrowFlowCommand{flow, behind, {}, {}}));
}

// A group that needs less cancels nodes, and so does a failure; only the second makes the node end as cancelled.
TEST_P(EngineFlowNesting, ItEndsAsCancelledOnlyIfAFailureOrACancellationCancelledNodesInIt) {
  FlowNode tidy = within("g", {"a", "b", "c"},
                         {{"a", "c", EdgeKind::on_success, "first"}, {"b", "c", EdgeKind::on_success, "first"}});
  tidy.flow->groups = {{"c", "first", GroupPolicy::any, 0, GroupRest::cancel_remaining}};
  const FlowId first = submit(flow_of_nodes({work("x"), tidy}, {{"x", "g", EdgeKind::on_finish}}));
  ASSERT_TRUE(engine().fail(claim_nodes().at("x")));
  engine().settle();
  auto claims = claim_nodes();
  ASSERT_TRUE(engine().complete(claims.at("g/a")));
  EXPECT_EQ(run(), (Names{"g/c"}));
  EXPECT_EQ(states(first).at("g"), done);

  const FlowId second =
      submit(flow_of_nodes({work("x"), within("g", {"a", "b"}, {{"a", "b"}}), work("z")}, {{"g", "z"}}));
  claims = claim_nodes();
  ASSERT_TRUE(engine().fail(claims.at("x")));
  engine().settle();
  ASSERT_TRUE(engine().call(CancelFlowCommand{second, {FlowCancelPolicy::flow_only, false}, {"ops", {}}}));
  ASSERT_TRUE(engine().complete(claims.at("g/a")));
  engine().settle();
  EXPECT_EQ(states(second).at("g"), cancelled) << "g/b was cancelled by the failure";
  EXPECT_EQ(run(), Names{});
}

// Cancelled by an operator, not by its flow, although a failure beside it had begun to cancel what has not started in it.
TEST_P(EngineFlowNesting, AnOperatorsCancellationIsAFailureThatAnEdgeHandles) {
  FlowNode outer = within("f", {"b", "c", "h"}, {{"e", "h", EdgeKind::on_failure}, {"c", "h", EdgeKind::on_finish}});
  outer.flow->nodes.push_back(within("e", {"a"}));
  const FlowId flow = submit(flow_of_nodes({outer}));
  auto claims = claim_nodes();
  ASSERT_TRUE(engine().fail(claims.at("f/b")));
  engine().settle();
  ASSERT_TRUE(engine().call(CancelCommand{id_of(flow, "f/e"), {"ops", "enough"}}));
  engine().settle();
  ASSERT_TRUE(engine().complete(claims.at("f/c")));
  EXPECT_EQ(run(), (Names{"f/h"}));
}

TEST_P(EngineFlowNesting, AnOptionalEdgeGivesAllInputsOrNone) {
  FlowRequest request = flow_of_nodes({within("g", {"a", "b"}), work("y")}, {{"g", "y", EdgeKind::optional}});
  request.failure_policy = FailurePolicy::continue_others;
  submit(std::move(request));
  auto claims = claim_nodes();
  ASSERT_TRUE(engine().complete(claims.at("g/a"), "of a"));
  ASSERT_TRUE(engine().fail(claims.at("g/b")));
  engine().settle();
  EXPECT_TRUE(claim_nodes().at("y").inputs.empty());
}

// The flow node ends after the nodes in it also when it is skipped, so nothing else ends them first.
TEST_P(EngineFlowNesting, WhatIsBehindASkippedBeginIsSkipped) {
  FlowNode deep = within("n", {"x"});
  for (int i = 0; i < 4; ++i) {
    FlowNode around = within("n", {});
    around.flow->nodes.push_back(std::move(deep));
    deep = std::move(around);
  }
  FlowNode outer = within("f", {"first"}, {{"first", "n"}}, FailurePolicy::continue_others);
  outer.flow->nodes.push_back(std::move(deep));
  const FlowId flow = submit(flow_of_nodes({outer}));
  EXPECT_EQ(run({"f/first"}), (Names{"f/first"}));
  for (const auto& [name, state] : states(flow)) {
    if (!name.starts_with("f/n")) continue;
    EXPECT_EQ(state, skipped) << name;
  }
}

TEST_P(EngineFlowNesting, AnotherEngineGoesOnWithIt) {
  const FlowId flow = submit(flow_of_nodes({within("sub", {"x", "y"}, {{"x", "y"}}), work("z")}, {{"sub", "z"}}));
  for (const char* name : {"sub/x", "sub/y", "z"}) {
    Driver& one = std::string(name) == "sub/y" ? second() : engine();
    ASSERT_TRUE(comes_true(one, [&] { return states(flow).at(name) == PublicState::waiting; })) << name;
    const Claims claims = value_of(one.claim(ask()));
    ASSERT_EQ(claims.size(), 1U);
    EXPECT_EQ(claims[0].node, name);
    ASSERT_TRUE(one.complete(claims[0]));
  }
  EXPECT_TRUE(comes_true(engine(), [&] { return flow_state(flow) == FlowState::completed; }));
}

TEST_P(EngineFlowNesting, ManyNodesAreInOneFlow) {
  Names names;
  for (int i = 0; i < 700; ++i) names.push_back("n" + std::to_string(i));
  const FlowId flow = submit(flow_of_nodes({within("sub", names), work("z")}, {{"sub", "z"}}));
  EXPECT_EQ(run().size(), 701U);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(describe(flow).summary.counts.succeeded, 703U);
}

TEST_P(EngineFlowNesting, WhatIsWrongIsRefusedByItsPlaceAndLeavesNothingBehind) {
  const auto field_of = [&](FlowRequest request) {
    const auto reply = engine().submit_flow(std::move(request));
    EXPECT_FALSE(reply);
    return reply ? std::string() : reply.error().field;
  };
  EXPECT_EQ(field_of(flow_of_nodes({within("sub", {})})), "nodes[0].flow.nodes");
  EXPECT_EQ(field_of(flow_of_nodes({within("sub", {"x", "x"})})), "nodes[0].flow.nodes[1].name");
  EXPECT_EQ(field_of(flow_of_nodes({work("a"), within("sub", {"x"}, {{"x", "a"}})})), "nodes[1].flow.edges[0].to")
      << "edges in it lead between its own nodes";
  EXPECT_EQ(field_of(flow_of_nodes({work("a"), within("sub", {"x"})}, {{"a", "sub", EdgeKind::part}})),
            "edges[0].kind");
  EXPECT_EQ(field_of(flow_of_nodes({within("sub", {"x", "y"}, {{"x", "y"}, {"y", "x"}})})), "edges");
  FlowNode with_kind = within("sub", {"x"});
  with_kind.request.kind = "k";
  EXPECT_EQ(field_of(flow_of_nodes({with_kind})), "nodes[0].kind");
  FlowNode bad_inside = within("sub", {"x"});
  bad_inside.flow->nodes[0].request.lane = "";
  EXPECT_EQ(field_of(flow_of_nodes({bad_inside})), "nodes[0].flow.nodes[0].lane");
  FlowNode reserved = within("sub", {"x", "y"}, {{"x", "y", EdgeKind::on_success, "(flow)"}});
  reserved.flow->groups = {{"y", "(flow)", GroupPolicy::any, 0, GroupRest::let_run}};
  EXPECT_EQ(field_of(flow_of_nodes({reserved})), "nodes[0].flow.groups[0].name");
  FlowNode deep = within("n", {"x"});
  for (int i = 0; i < 8; ++i) {
    FlowNode around = within("n", {});
    around.flow->nodes.push_back(std::move(deep));
    deep = std::move(around);
  }
  EXPECT_TRUE(field_of(flow_of_nodes({deep})).ends_with(".flow"));
  EXPECT_TRUE(value_of(reads::flows(engine().store(), {})).flows.empty());
}

ON_EVERY_STORE(EngineFlowNesting);

}  // namespace
}  // namespace flowfabric::test
