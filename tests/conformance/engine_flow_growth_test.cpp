// Flows that grow, on every store: open flows, additions from outside and from running nodes, sealing, and waiting for added
// nodes.
#include <algorithm>
#include <array>
#include <optional>

#include "conformance/engine_suite.hpp"
#include "conformance/fleet_suite.hpp"

namespace flowfabric::test {
namespace {

FlowNode grown_node(const std::string& name) {
  FlowNode made;
  made.name = name;
  made.request = job();
  made.request.kind = name;
  return made;
}

FlowAddition addition(const std::vector<std::string>& names, std::vector<FlowEdge> edges = {},
                      std::vector<FlowGroup> groups = {}) {
  FlowAddition made;
  for (const std::string& name : names) made.nodes.push_back(grown_node(name));
  made.edges = std::move(edges);
  made.groups = std::move(groups);
  return made;
}

FlowRequest request_of(const FlowAddition& graph, bool open) {
  FlowRequest request;
  request.kind = "test";
  request.nodes = graph.nodes;
  request.edges = graph.edges;
  request.groups = graph.groups;
  request.open = open;
  return request;
}

class EngineFlowGrowth : public EngineSuite {
 protected:
  FlowId open(const FlowAddition& graph = {}) {
    return value_of(engine().submit_flow(request_of(graph, true))).flow_id;
  }
  FlowId submit(const FlowAddition& graph) { return value_of(engine().submit_flow(request_of(graph, false))).flow_id; }
  static Command adding(const FlowId& flow, FlowAddition more) {
    return GrowFlowCommand{flow, std::move(more), std::nullopt, {"builder", {}}};
  }
  Command extending(const ClaimedExecution& claim, FlowAddition more) {
    return GrowFlowCommand{{}, std::move(more), engine().fence(claim), {}};
  }
  FlowAdded add(const FlowId& flow, FlowAddition more) { return call<FlowAdded>(adding(flow, std::move(more))); }
  Error add_refused(const FlowId& flow, FlowAddition more) {
    const auto reply = engine().call(adding(flow, std::move(more)));
    if (reply) throw std::runtime_error("this addition was to be refused");
    return reply.error();
  }
  FlowAdded extend(const ClaimedExecution& claim, FlowAddition more) {
    return call<FlowAdded>(extending(claim, std::move(more)));
  }
  // Before the clock has done what has become due.
  Result<Reply> call_at_once(Command command) {
    std::optional<Result<Reply>> answer;
    engine().runtime().submit(std::move(command), [&](Result<Reply> reply) { answer = std::move(reply); });
    for (std::size_t i = 0; i < engine().runtime().writers(); ++i) {
      while (engine().runtime().pump(i)) continue;
    }
    engine().settle();
    return answer.value_or(flowfabric::fail(Errc::internal, "no answer"));
  }
  FlowSealed seal(const FlowId& flow) { return call<FlowSealed>(SealFlowCommand{flow, {"builder", {}}}); }
  FlowJoinReply join(const ClaimedExecution& claim, std::vector<std::string> names) {
    return call<FlowJoinReply>(JoinNodesCommand{engine().fence(claim), std::move(names)});
  }

  FlowDescription describe(const FlowId& flow) { return value_of(reads::describe_flow(engine().store(), flow)); }
  FlowState flow_state(const FlowId& flow) { return describe(flow).summary.state; }
  FlowCounts counts(const FlowId& flow) { return describe(flow).summary.counts; }
  std::map<std::string, FlowNodeInfo> nodes(const FlowId& flow) {
    std::map<std::string, FlowNodeInfo> by_name;
    for (FlowNodeInfo& one : value_of(reads::flow_graph(engine().store(), flow)).nodes) {
      by_name.emplace(one.name, std::move(one));
    }
    return by_name;
  }
  PublicState node_state(const FlowId& flow, const std::string& name) { return nodes(flow).at(name).public_state; }
  ExecutionId id_of(const FlowId& flow, const std::string& name) { return nodes(flow).at(name).execution_id; }
  std::map<std::string, ClaimedExecution> claim_nodes() {
    std::map<std::string, ClaimedExecution> by_name;
    for (ClaimedExecution& claim : claim_all()) by_name.emplace(claim.node, std::move(claim));
    return by_name;
  }
  std::vector<std::string> claimable() {
    std::vector<std::string> names;
    for (const auto& [name, claim] : claim_nodes()) names.push_back(name);
    return names;
  }
  ClaimedExecution claim_node(const std::string& name) {
    auto all = claim_nodes();
    EXPECT_EQ(all.size(), 1U);
    return all.at(name);
  }
  void complete(const ClaimedExecution& claim, const std::string& result = {}) {
    ASSERT_TRUE(engine().complete(claim, result));
    engine().settle();
  }
  void fail_node(const ClaimedExecution& claim) {
    ASSERT_TRUE(engine().fail(claim));
    engine().settle();
  }
  void complete_all() {
    for (auto all = claim_nodes(); !all.empty(); all = claim_nodes()) {
      for (const auto& [name, claim] : all) complete(claim);
    }
  }
  Events flow_events(const FlowId& flow) {
    Events types;
    for (const Event& event : value_of(reads::flow_history(engine().store(), flow, {}, 100)).events) {
      types.push_back(event.type);
    }
    return types;
  }
  std::vector<std::string> reasons_of(const FlowId& flow, EventType type) {
    std::vector<std::string> reasons;
    for (const Event& event : value_of(reads::flow_history(engine().store(), flow, {}, 100)).events) {
      if (event.type == type) reasons.push_back(event.reason);
    }
    return reasons;
  }
  // What the flow has counted is what its members are, every edge is counted once, and the graph is consistent.
  void expect_exact(const FlowId& flow) {
    const FlowGraph all = value_of(reads::flow_graph(engine().store(), flow));
    FlowCounts real;
    for (const FlowNodeInfo& one : all.nodes) {
      ++real.total;
      switch (one.public_state) {
        case PublicState::completed: ++real.succeeded; break;
        case PublicState::failed: ++real.failed; break;
        case PublicState::cancelled: ++real.cancelled; break;
        case PublicState::expired: ++real.expired; break;
        case PublicState::skipped: ++real.skipped; break;
        default: ++real.pending;
      }
    }
    EXPECT_EQ(counts(flow), real);
    EXPECT_EQ(describe(flow).edge_count, all.edges.size());
    std::map<std::pair<std::string, std::string>, std::array<std::uint32_t, 3>> edges;
    for (const FlowEdgeInfo& one : all.edges) {
      auto& counted = edges[{one.to, one.group}];
      ++counted[0];
      counted[1] += one.state == EdgeState::satisfied ? 1U : 0U;
      counted[2] += one.state == EdgeState::unsatisfiable ? 1U : 0U;
    }
    for (const FlowNodeInfo& one : all.nodes) {
      for (const FlowGroupInfo& group : one.groups) {
        const auto& counted = edges[{one.name, group.name}];
        EXPECT_EQ(group.edges, counted[0]) << one.name;
        EXPECT_EQ(group.satisfied, counted[1]) << one.name;
        EXPECT_EQ(group.unsatisfiable, counted[2]) << one.name;
      }
    }
  }
};

// ---- Open flows

TEST_P(EngineFlowGrowth, AnOpenFlowRunsItsNodesAndEndsOnceItIsSealed) {
  const FlowId flow = open();
  EXPECT_EQ(flow_state(flow), FlowState::building);
  EXPECT_EQ(describe(flow).explain.at(0).code, "building");
  const FlowAdded added = add(flow, addition({"a", "b"}, {{"a", "b"}}));
  EXPECT_EQ(added.added_nodes, 2U);
  EXPECT_EQ(added.added_edges, 1U);
  EXPECT_EQ(added.revision, 2U);
  ASSERT_EQ(added.nodes.size(), 2U);
  EXPECT_EQ(added.nodes[1].execution_id, id_of(flow, "b"));
  complete(claim_node("a"), "ra");
  EXPECT_EQ(claim_node("b").inputs.at(0).result, "ra");
  engine().advance(60000);
  complete_all();
  EXPECT_EQ(flow_state(flow), FlowState::building) << "nodes can still be added";
  add(flow, addition({"c"}, {{"b", "c"}}));
  complete_all();
  const auto waiting = engine().wait_flow_later(flow, 60000);
  EXPECT_FALSE(waiting.done());
  const FlowSealed sealed = seal(flow);
  EXPECT_EQ(sealed.state, FlowState::completed);
  EXPECT_FALSE(sealed.already_sealed);
  ASSERT_TRUE(waiting.done());
  ASSERT_EQ(value_of(waiting.get()).outputs.size(), 1U);
  EXPECT_EQ(value_of(waiting.get()).outputs[0].node, "c");
  EXPECT_EQ(flow_events(flow), (Events{EventType::flow_submitted, EventType::flow_extended, EventType::flow_extended,
                                       EventType::flow_sealed, EventType::flow_completed}));
  EXPECT_EQ(reasons_of(flow, EventType::flow_extended),
            (std::vector<std::string>{"2 nodes, 1 edge", "1 node, 1 edge"}));
  EXPECT_TRUE(seal(flow).already_sealed);
  expect_exact(flow);
}

TEST_P(EngineFlowGrowth, ASealedFlowEndsWithItsLastNodeAndTakesNothingFromOutside) {
  const FlowId flow = open(addition({"a"}));
  EXPECT_EQ(seal(flow).state, FlowState::running);
  EXPECT_EQ(add_refused(flow, addition({"b"})).code, Errc::conflict);
  EXPECT_EQ(counts(flow).total, 1U);
  complete(claim_node("a"));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(add_refused(flow, addition({"b"})).code, Errc::already_terminal);
  EXPECT_EQ(add(flow, addition({"a"})).added_nodes, 0U) << "a repetition is answered whatever became of the flow";
}

TEST_P(EngineFlowGrowth, AnEmptyFlowCompletesWhenItIsSealed) {
  const FlowId flow = open();
  EXPECT_EQ(seal(flow).state, FlowState::completed);
  EXPECT_EQ(counts(flow).total, 0U);
}

TEST_P(EngineFlowGrowth, TheSameAdditionTwiceChangesNothing) {
  const FlowId flow = open(addition({"a"}));
  const FlowAddition more = addition({"b", "c"}, {{"a", "b"}, {"b", "c", EdgeKind::on_finish, "late"}},
                                     {{"c", "late", GroupPolicy::any, 0, GroupRest::let_run}});
  const FlowAdded first = add(flow, more);
  const FlowAdded again = add(flow, more);
  EXPECT_EQ(again.added_nodes + again.added_edges, 0U);
  EXPECT_EQ(again.revision, first.revision);
  EXPECT_EQ(again.nodes, first.nodes);
  EXPECT_EQ(count_of(flow_events(flow), EventType::flow_extended), 1);
  FlowAddition other = addition({"b"});
  other.nodes[0].request.payload = "other";
  EXPECT_EQ(add_refused(flow, other).code, Errc::conflict);
  EXPECT_EQ(add_refused(flow, addition({}, {{"a", "b", EdgeKind::on_finish}})).code, Errc::conflict);
  expect_exact(flow);
}

TEST_P(EngineFlowGrowth, EdgesFromNodesThatHaveEndedAreResolvedAtOnce) {
  FlowRequest request = request_of(addition({"good", "bad"}), true);
  request.failure_policy = FailurePolicy::continue_others;
  const FlowId flow = value_of(engine().submit_flow(request)).flow_id;
  auto both = claim_nodes();
  complete(both.at("good"), "g");
  fail_node(both.at("bad"));
  add(flow,
      addition({"after", "never", "handler", "behind"},
               {{"good", "after"}, {"bad", "never"}, {"bad", "handler", EdgeKind::on_failure}, {"never", "behind"}}));
  engine().settle();
  EXPECT_EQ(node_state(flow, "never"), PublicState::skipped);
  EXPECT_EQ(node_state(flow, "behind"), PublicState::skipped);
  auto ready = claim_nodes();
  ASSERT_EQ(ready.size(), 2U);
  EXPECT_EQ(ready.at("after").inputs.at(0).result, "g");
  EXPECT_EQ(ready.at("handler").inputs.at(0).outcome, Outcome::failed);
  for (const auto& [name, claim] : ready) complete(claim);
  EXPECT_EQ(seal(flow).state, FlowState::failed) << "the failure was counted before its handler came";
  expect_exact(flow);
}

TEST_P(EngineFlowGrowth, AnEdgeHoldsBackANodeThatHasNotStarted) {
  const FlowId flow = open(addition({"a", "b"}));
  add(flow, addition({}, {{"a", "b"}}));
  EXPECT_EQ(node_state(flow, "b"), PublicState::waiting_children);
  EXPECT_EQ(count_of(engine().history(id_of(flow, "b")), EventType::held_back), 1);
  const ClaimedExecution a = claim_node("a");
  EXPECT_EQ(add_refused(flow, addition({"x"}, {{"x", "a"}})).code, Errc::conflict) << "it has started";
  complete(a);
  EXPECT_EQ(add_refused(flow, addition({"x"}, {{"x", "b"}})).code, Errc::conflict) << "its group has fired";
  EXPECT_EQ(add_refused(flow, addition({"x"}, {{"x", "a"}})).code, Errc::conflict) << "it has ended";
  EXPECT_EQ(counts(flow).total, 2U) << "nothing of a refused addition stays";
  complete(claim_node("b"));
  EXPECT_EQ(seal(flow).state, FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowGrowth, AGroupThatHasNotFiredGetsMoreEdges) {
  const FlowId flow = open(
      addition({"a", "b", "d", "e"},
               {{"a", "d"}, {"b", "d"}, {"a", "e", EdgeKind::on_success, "q"}, {"b", "e", EdgeKind::on_success, "q"}},
               {{"e", "q", GroupPolicy::quorum, 2, GroupRest::let_run}}));
  add(flow, addition({"c"}, {{"c", "d"}, {"c", "e", EdgeKind::on_success, "q"}}));
  auto three = claim_nodes();
  ASSERT_EQ(three.size(), 3U);
  complete(three.at("a"));
  complete(three.at("c"));
  EXPECT_EQ(node_state(flow, "d"), PublicState::waiting_children) << "it waits for all three";
  EXPECT_EQ(node_state(flow, "e"), PublicState::waiting) << "two of three are enough";
  complete(three.at("b"));
  auto last = claim_nodes();
  EXPECT_EQ(last.at("d").inputs.size(), 3U);
  EXPECT_EQ(last.at("e").inputs.size(), 2U);
  for (const auto& [name, claim] : last) complete(claim);
  EXPECT_EQ(seal(flow).state, FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowGrowth, BadAdditionsAreRefusedByName) {
  const FlowId flow = open(addition({"a", "b", "c"}, {{"a", "b"}, {"b", "c"}}));
  const auto field = [&](FlowAddition more) {
    const Error error = add_refused(flow, std::move(more));
    EXPECT_FALSE(error.message.empty());
    return error.field;
  };
  EXPECT_EQ(field({}), "nodes");
  EXPECT_EQ(field(addition({"x", "x"})), "nodes[1].name");
  EXPECT_EQ(field(addition({""})), "nodes[0].name");
  EXPECT_EQ(field(addition({"x"}, {{"y", "x"}})), "edges[0].from");
  EXPECT_EQ(field(addition({"x"}, {{"x", "y"}})), "edges[0].to");
  EXPECT_EQ(field(addition({"x"}, {{"x", "x"}})), "edges[0].to");
  EXPECT_EQ(field(addition({"x"}, {{"a", "x"}, {"a", "x"}})), "edges[1].to");
  EXPECT_EQ(field(addition({"x"}, {{"a", "x", EdgeKind::on_success, "g"}})), "edges[0].group");
  EXPECT_EQ(field(addition({"x"}, {{"a", "x", EdgeKind::join}})), "edges[0].kind");
  EXPECT_EQ(field(addition({"x"}, {}, {{"x", "g", GroupPolicy::all, 0, GroupRest::let_run}})), "groups");
  EXPECT_EQ(field(addition({"x"}, {{"a", "x", EdgeKind::on_success, "g"}},
                           {{"x", "g", GroupPolicy::quorum, 2, GroupRest::let_run}})),
            "groups");
  FlowAddition elsewhere = addition({"x"});
  elsewhere.nodes[0].request.name_space = "elsewhere";
  EXPECT_EQ(field(elsewhere), "namespace");
  EXPECT_EQ(counts(flow).total, 3U);
  EXPECT_EQ(refused(adding({0, {}}, addition({"x"}))), Errc::not_found);
}

TEST_P(EngineFlowGrowth, CyclesThroughExistingNodesAreFound) {
  FlowAddition chain = addition({"n0"});
  for (int i = 1; i < 600; ++i) {
    chain.nodes.push_back(grown_node("n" + std::to_string(i)));
    chain.edges.push_back({"n" + std::to_string(i - 1), "n" + std::to_string(i)});
  }
  const FlowId flow = open(chain);
  const Error direct = add_refused(flow, addition({}, {{"n599", "n1"}}));
  EXPECT_EQ(direct.code, Errc::invalid_argument);
  EXPECT_NE(direct.message.find("cycle"), std::string::npos) << direct.message;
  EXPECT_NE(add_refused(flow, addition({"x", "y"}, {{"n2", "x"}, {"x", "y"}, {"y", "n1"}})).message.find("\"n1\""),
            std::string::npos);
  EXPECT_EQ(add_refused(flow, addition({"x", "y"}, {{"x", "y"}, {"y", "x"}})).field, "edges");
  EXPECT_EQ(add(flow, addition({"x", "y"}, {{"n1", "x"}, {"x", "y"}, {"y", "n3"}})).added_edges, 3U);
  EXPECT_EQ(add_refused(flow, addition({}, {{"n3", "x"}})).field, "edges") << "along edges that were added later";
  expect_exact(flow);
}

// The clock has not looked yet. The addition itself lets the reservation lapse, and only then is the edge no longer refused.
TEST_P(EngineFlowGrowth, CyclesAreFoundThroughANodeWhoseReservationHasJustLapsed) {
  const FlowId flow = open(addition({"a", "b", "c"}, {{"a", "b"}, {"b", "c"}}));
  value_of(engine().issue_claim_grant(grant_for(id_of(flow, "a"))));
  const Error reserved = add_refused(flow, addition({}, {{"c", "a"}}));
  EXPECT_EQ(reserved.code, Errc::conflict);
  EXPECT_NE(reserved.message.find("reserved"), std::string::npos) << reserved.message;
  clock_.advance_ms(6000);
  const auto reply = call_at_once(adding(flow, addition({}, {{"c", "a"}})));
  ASSERT_FALSE(reply) << "the nodes would wait for each other for ever";
  EXPECT_EQ(reply.error().code, Errc::invalid_argument);
  EXPECT_NE(reply.error().message.find("cycle"), std::string::npos) << reply.error().message;
  value_of(engine().issue_claim_grant(grant_for(id_of(flow, "a"))));
  clock_.advance_ms(6000);
  EXPECT_TRUE(call_at_once(adding(flow, addition({"x"}, {{"x", "a"}}))));
  seal(flow);
  complete_all();
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

TEST_P(EngineFlowGrowth, AFailureEndsAnOpenFlowUnlessTheOthersGoOn) {
  const FlowId flow = open(addition({"a", "b", "c"}, {{"a", "c"}}));
  auto both = claim_nodes();
  fail_node(both.at("a"));
  EXPECT_EQ(flow_state(flow), FlowState::cancelling);
  EXPECT_EQ(add_refused(flow, addition({"d"})).code, Errc::not_eligible);
  complete(both.at("b"));
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  expect_exact(flow);

  const FlowId single = open(addition({"a"}));
  fail_node(claim_node("a"));
  EXPECT_EQ(flow_state(single), FlowState::failed) << "nothing is left to wait for";

  FlowRequest patient = request_of(addition({"a"}), true);
  patient.failure_policy = FailurePolicy::continue_others;
  const FlowId going_on = value_of(engine().submit_flow(patient)).flow_id;
  fail_node(claim_node("a"));
  EXPECT_EQ(flow_state(going_on), FlowState::building);
  EXPECT_EQ(seal(going_on).state, FlowState::failed);
}

TEST_P(EngineFlowGrowth, AnOpenFlowCanBeCancelledAndHasADeadline) {
  const FlowId empty = open();
  EXPECT_EQ(call<FlowCancelReply>(CancelFlowCommand{empty, {}, {"ops", "stop"}}).state, FlowState::cancelled);
  const FlowId flow = open(addition({"a", "b"}, {{"a", "b"}}));
  call<FlowCancelReply>(CancelFlowCommand{flow, {}, {"ops", "stop"}});
  engine().settle();
  EXPECT_EQ(flow_state(flow), FlowState::cancelled);
  EXPECT_EQ(counts(flow).cancelled, 2U);
  EXPECT_TRUE(seal(flow).already_sealed);

  FlowRequest request = request_of(addition({"a"}), true);
  request.deadline_ms = 5000;
  const FlowId timed = value_of(engine().submit_flow(request)).flow_id;
  complete(claim_node("a"));
  engine().advance(6000);
  EXPECT_EQ(flow_state(timed), FlowState::failed) << "it was not sealed in time";
  EXPECT_EQ(count_of(flow_events(timed), EventType::flow_failed), 1);
}

TEST_P(EngineFlowGrowth, RetentionRemovesAGrownFlowWithAllItsRecords) {
  FlowRequest request = request_of({}, true);
  request.retention.completed_ms = 1000;
  request.id = Uuid{};
  request.id->bytes[0] = 7;
  const FlowId flow = value_of(engine().submit_flow(request)).flow_id;
  FlowAddition many;
  for (int i = 0; i < 300; ++i) many.nodes.push_back(grown_node("n" + std::to_string(i)));
  add(flow, many);
  complete_all();
  engine().advance(5000);
  EXPECT_EQ(flow_state(flow), FlowState::building) << "only an ended flow is removed";
  seal(flow);
  engine().advance(5000);
  EXPECT_EQ(refusal(reads::describe_flow(engine().store(), flow)), Errc::not_found);
  EXPECT_TRUE(value_of(engine().store().scan(RecordKind::flow_name, {}, 10)).empty());
  // The id can be used again, and so can the names.
  request.id = flow.uuid;
  const FlowId again = value_of(engine().submit_flow(request)).flow_id;
  EXPECT_EQ(again, flow);
  EXPECT_EQ(add(again, addition({"n1"})).added_nodes, 1U);
}

TEST_P(EngineFlowGrowth, AFlowGrowsBeyondTheLimitOfOneRequest) {
  const FlowId flow = open();
  constexpr std::uint32_t calls = 4, each = 500;
  for (std::uint32_t i = 0; i < calls; ++i) {
    FlowAddition more;
    for (std::uint32_t j = 0; j < each; ++j) {
      const std::string name = std::to_string(i) + "/" + std::to_string(j);
      more.nodes.push_back(grown_node(name));
      if (i > 0) more.edges.push_back({std::to_string(i - 1) + "/" + std::to_string(j), name});
    }
    EXPECT_EQ(add(flow, more).added_nodes, each);
  }
  EXPECT_EQ(counts(flow).total, calls * each);
  complete_all();
  EXPECT_EQ(seal(flow).state, FlowState::completed);
  EXPECT_EQ(counts(flow).succeeded, calls * each);
  expect_exact(flow);
}

// ---- Several commands of one batch

TEST_P(EngineFlowGrowth, AnAdditionSharesABatchWithWhatComesAfterIt) {
  const FlowId flow = open(addition({"a"}));
  const ClaimedExecution a = claim_node("a");
  auto replies = call_together(
      engine(), {adding(flow, addition({"b"}, {{"a", "b"}})), adding(flow, addition({"c"}, {{"b", "c"}})),
                 adding(flow, addition({"b"}, {{"a", "b"}})), CompleteCommand{engine().fence(a), {"ra", {}}},
                 adding(flow, addition({"d"}, {{"a", "d"}, {"c", "d"}})), SealFlowCommand{flow, {}}});
  for (const auto& reply : replies) ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(std::get<FlowAdded>(*replies[2]).added_nodes, 0U);
  EXPECT_EQ(counts(flow).total, 4U);
  complete_all();
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(counts(flow).succeeded, 4U);
  expect_exact(flow);
}

TEST_P(EngineFlowGrowth, AnAdditionAndACancellationInOneBatch) {
  const FlowId flow = open(addition({"a"}));
  auto replies = call_together(engine(), {adding(flow, addition({"b"}, {{"a", "b"}})),
                                          CancelFlowCommand{flow, {}, {"ops", {}}}, adding(flow, addition({"c"}))});
  ASSERT_TRUE(replies[0]);
  ASSERT_TRUE(replies[1]);
  EXPECT_EQ(refusal(replies[2]), Errc::not_eligible);
  engine().settle();
  EXPECT_EQ(flow_state(flow), FlowState::cancelled);
  EXPECT_EQ(counts(flow).cancelled, 2U);
  expect_exact(flow);
}

// The second addition needs records that only the first one makes it need: it goes to another batch.
TEST_P(EngineFlowGrowth, AnAdditionThatNeedsMoreRecordsIsDecidedLater) {
  FlowAddition chain = addition({"start"});
  for (int i = 0; i < 30; ++i) {
    const std::string name = "n" + std::to_string(i);
    chain.nodes.push_back(grown_node(name));
    chain.edges.push_back({i == 0 ? "start" : "n" + std::to_string(i - 1), name});
  }
  const FlowId flow = open(chain);
  auto replies = call_together(
      engine(), {adding(flow, addition({"x"}, {{"n5", "x"}, {"x", "n7"}})), adding(flow, addition({}, {{"n20", "x"}})),
                 adding(flow, addition({"y"}, {{"x", "y"}, {"y", "n9"}}))});
  ASSERT_TRUE(replies[0]) << replies[0].error().message;
  EXPECT_EQ(refusal(replies[1]), Errc::invalid_argument) << "x is before n7, which is before n20";
  ASSERT_TRUE(replies[2]) << replies[2].error().message;
  expect_exact(flow);

  // Opened and filled in one batch: the addition finds the flow in the next one.
  FlowRequest request = request_of({}, true);
  SubmitFlowCommand opening;
  opening.id = {0, {}};
  opening.id.uuid.bytes[3] = 9;
  opening.id.partition = partition_of(opening.id.uuid);
  opening.id_is_supplied = true;
  opening.request = request;
  opening.request.name_space = "default";
  auto both = call_together(engine(), {opening, adding(opening.id, addition({"a"})), SealFlowCommand{opening.id, {}}});
  ASSERT_TRUE(both[0]);
  // The seal may come first: then the flow has ended empty.
  if (!both[1]) {
    EXPECT_EQ(refusal(both[1]), Errc::already_terminal);
  }
  ASSERT_TRUE(both[2]);
}

// ---- Additions from running nodes

TEST_P(EngineFlowGrowth, ARunningNodeAddsNodesBetweenItselfAndWhatWaitsBehindIt) {
  const FlowId flow = submit(addition({"plan", "collect"}, {{"plan", "collect"}}));
  const ClaimedExecution plan = claim_node("plan");
  const FlowAddition more =
      addition({"p1", "p2"}, {{"plan", "p1"}, {"plan", "p2"}, {"p1", "collect"}, {"p2", "collect"}});
  const FlowAdded added = extend(plan, more);
  EXPECT_EQ(added.added_nodes, 2U);
  EXPECT_EQ(added.added_edges, 4U);
  EXPECT_EQ(extend(plan, more).added_nodes, 0U);
  EXPECT_EQ(add_refused(flow, addition({"x"})).code, Errc::conflict) << "from outside it is sealed";
  EXPECT_TRUE(claimable().empty());
  complete(plan);
  auto parts = claim_nodes();
  ASSERT_EQ(parts.size(), 2U);
  complete(parts.at("p2"), "two");
  complete(parts.at("p1"), "one");
  const ClaimedExecution collect = claim_node("collect");
  ASSERT_EQ(collect.inputs.size(), 3U);
  EXPECT_EQ(collect.inputs[1].result, "one");
  complete(collect);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(describe(flow).edge_count, 5U);
  EXPECT_EQ(value_of(engine().store().scan(RecordKind::flow_name, {}, 10)).size(), 4U);
  expect_exact(flow);
}

TEST_P(EngineFlowGrowth, OnlyTheHolderOfTheLeaseCanExtend) {
  const FlowId flow = submit(addition({"a", "z"}, {{"a", "z"}}));
  const ClaimedExecution first = claim_node("a");
  const FlowAddition more = addition({"b"}, {{"a", "b"}});
  extend(first, more);
  engine().advance(31000);  // the lease is lost
  EXPECT_EQ(refused(extending(first, addition({"c"}))), Errc::lease_expired);
  const ClaimedExecution second = claim_node("a");
  EXPECT_EQ(extend(second, more).added_nodes, 0U) << "the next attempt repeats what the first has added";
  EXPECT_EQ(extend(second, addition({"d"})).added_nodes, 1U);
  EXPECT_EQ(refused(extending(first, addition({"c"}))), Errc::lease_expired);
  complete(second);
  EXPECT_EQ(refused(extending(second, addition({"c"}))), Errc::already_terminal);
  complete_all();
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(counts(flow).total, 4U);
  const ExecutionId lonely = make(job());
  const ClaimedExecution alone = claim(ask()).at(0);
  EXPECT_EQ(alone.execution_id, lonely);
  EXPECT_EQ(refused(extending(alone, addition({"c"}))), Errc::unsupported);
}

TEST_P(EngineFlowGrowth, TwoEnginesAddToOneFlow) {
  const FlowId flow = open(addition({"a"}));
  for (int i = 0; i < 10; ++i) {
    const std::string name = "n" + std::to_string(i);
    value_of((i % 2 == 0 ? engine() : second()).call(adding(flow, addition({name}, {{"a", name}}))));
  }
  value_of(second().call(adding(flow, addition({"n3"}, {{"a", "n3"}}))));
  EXPECT_EQ(counts(flow).total, 11U);
  EXPECT_EQ(describe(flow).revision, 11U);
  complete_all();
  value_of(second().call(SealFlowCommand{flow, {}}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  expect_exact(flow);
}

// ---- Waiting for added nodes

TEST_P(EngineFlowGrowth, ANodeWaitsForNodesThatItHasAdded) {
  const FlowId flow = submit(addition({"parent"}));
  const ClaimedExecution parent = claim_node("parent");
  extend(parent, addition({"c1", "c2", "c3"}, {{"c1", "parent", EdgeKind::join},
                                               {"c2", "parent", EdgeKind::join},
                                               {"c3", "parent", EdgeKind::join}}));
  EXPECT_FALSE(join(parent, {"c1", "c2"}).ended);
  EXPECT_FALSE(join(parent, {"c1", "c2"}).ended) << "repeated after a lost reply";
  EXPECT_EQ(node_state(flow, "parent"), PublicState::waiting_children);
  EXPECT_EQ(refusal(engine().complete(parent)), Errc::stale_lease);
  auto children = claim_nodes();
  ASSERT_EQ(children.size(), 3U);
  complete(children.at("c2"), "two");
  EXPECT_EQ(node_state(flow, "parent"), PublicState::waiting_children);
  fail_node(children.at("c1"));
  const ClaimedExecution again = claim_node("parent");
  EXPECT_EQ(again.attempt.attempt_index, parent.attempt.attempt_index) << "the same attempt goes on";
  ASSERT_EQ(again.inputs.size(), 2U);
  EXPECT_EQ(again.inputs[0].name, "c1");
  EXPECT_EQ(again.inputs[0].outcome, Outcome::failed);
  EXPECT_EQ(again.inputs[1].result, "two");
  EXPECT_TRUE(join(again, {"c2", "c1"}).ended);
  EXPECT_FALSE(join(again, {"c3"}).ended);
  complete(children.at("c3"));
  const ClaimedExecution last = claim_node("parent");
  extend(last, addition({"c4"}, {{"c4", "parent", EdgeKind::join}}));
  complete(claim_node("c4"));
  EXPECT_TRUE(join(last, {"c4"}).ended);
  complete(last);
  EXPECT_EQ(flow_state(flow), FlowState::completed) << "the node that joins handles a failure";
  EXPECT_EQ(count_of(engine().history(id_of(flow, "parent")), EventType::joining), 2);
  expect_exact(flow);
}

TEST_P(EngineFlowGrowth, AReplayRunsAnAddedNodeAndTheNodeThatWaitsForIt) {
  const FlowId flow = submit(addition({"before", "parent"}, {{"before", "parent"}}));
  complete(claim_node("before"));
  const ClaimedExecution parent = claim_node("parent");
  extend(parent, addition({"c1", "c2"}, {{"c1", "parent", EdgeKind::join}, {"c2", "parent", EdgeKind::join}}));
  EXPECT_FALSE(join(parent, {"c1", "c2"}).ended);
  auto children = claim_nodes();
  complete(children.at("c1"));
  fail_node(children.at("c2"));
  complete(claim_node("parent"));
  EXPECT_EQ(flow_state(flow), FlowState::completed);

  call<FlowReplayReply>(ReplayFlowCommand{flow, std::nullopt, true, {"ops", {}}});
  engine().settle();
  auto again = claim_nodes();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_TRUE(join(again.at("parent"), {"c1"}).ended) << "it does not run again";
  EXPECT_FALSE(join(again.at("parent"), {"c1", "c2"}).ended);
  complete(again.at("c2"));
  complete(claim_node("parent"));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(counts(flow).succeeded, 4U);
}

TEST_P(EngineFlowGrowth, AJoinIsRefusedForOthersAndEndsWithTheFlow) {
  const FlowId flow = submit(addition({"parent", "other"}));
  auto both = claim_nodes();
  const Fence fence = engine().fence(both.at("parent"));
  extend(both.at("parent"), addition({"c1"}, {{"c1", "parent", EdgeKind::join}}));
  EXPECT_EQ(refused(JoinNodesCommand{fence, {"other"}}), Errc::invalid_argument);
  EXPECT_EQ(refused(JoinNodesCommand{fence, {"nobody"}}), Errc::invalid_argument);
  EXPECT_EQ(refused(extending(both.at("parent"), addition({"c2"}, {{"c2", "other", EdgeKind::join}}))),
            Errc::invalid_argument);
  EXPECT_FALSE(join(both.at("parent"), {"c1"}).ended);
  call<FlowCancelReply>(CancelFlowCommand{flow, {FlowCancelPolicy::cancel_pending, false}, {"ops", {}}});
  complete(both.at("other"));
  const ClaimedExecution parent = claim_node("parent");
  EXPECT_EQ(parent.inputs.at(0).outcome, Outcome::cancelled)
      << "it has started, so it goes on and sees what became of them";
  complete(parent);
  EXPECT_EQ(flow_state(flow), FlowState::cancelled);

  const FlowId all = submit(addition({"parent"}));
  const ClaimedExecution holder = claim_node("parent");
  extend(holder, addition({"c1"}, {{"c1", "parent", EdgeKind::join}}));
  join(holder, {"c1"});
  call<FlowCancelReply>(CancelFlowCommand{all, {}, {"ops", {}}});
  engine().settle();
  EXPECT_EQ(flow_state(all), FlowState::cancelled);
  EXPECT_EQ(counts(all).cancelled, 2U);
  expect_exact(all);
}

ON_EVERY_STORE(EngineFlowGrowth);

}  // namespace
}  // namespace flowfabric::test
