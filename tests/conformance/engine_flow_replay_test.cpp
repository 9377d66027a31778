// Replays of flows: which nodes run again, what their groups count, and how the flow ends.
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class FlowReplays : public EngineSuite {
 protected:
  static FlowRequest named(const std::vector<std::string>& names, std::vector<FlowEdge> edges) {
    FlowRequest request;
    request.kind = "test";
    for (const std::string& name : names) {
      FlowNode& node = request.nodes.emplace_back();
      node.name = name;
      node.request = job();
      node.request.kind = name;
    }
    request.edges = std::move(edges);
    return request;
  }
  FlowId submit(FlowRequest request) { return value_of(engine().submit_flow(std::move(request))).flow_id; }
  Result<FlowReplayReply> replay(const FlowId& flow, const std::string& node = {}, bool descendants = true) {
    auto command = reads::replay_command(engine().store(), flow, {node, descendants}, {"ops", "mended"});
    if (!command) return Unexpected(command.error());
    auto reply = engine().call(std::move(*command));
    if (!reply) return Unexpected(reply.error());
    return std::get<FlowReplayReply>(*reply);
  }
  FlowDescription describe(const FlowId& flow) { return value_of(reads::describe_flow(engine().store(), flow)); }
  FlowState flow_state(const FlowId& flow) { return describe(flow).summary.state; }
  // Runs everything that can be claimed, until nothing is left; the named nodes fail. Returns the nodes that ran.
  std::vector<std::string> run(const std::set<std::string>& failing = {}) {
    std::vector<std::string> ran;
    for (;;) {
      Claims claims = claim_all("default");
      if (claims.empty()) break;
      for (const ClaimedExecution& claimed : claims) {
        ran.push_back(claimed.node);
        failing.contains(claimed.node) ? (void)engine().fail(claimed) : (void)engine().complete(claimed, claimed.node);
        engine().settle();
      }
    }
    std::sort(ran.begin(), ran.end());
    return ran;
  }
  std::map<std::string, PublicState> states(const FlowId& flow) {
    std::map<std::string, PublicState> all;
    for (const FlowNodeInfo& node : value_of(reads::flow_nodes(engine().store(), flow, {}, 1000)).nodes) {
      all[node.name] = node.public_state;
    }
    return all;
  }
  void pump() {
    Runtime& runtime = engine().runtime();
    for (std::size_t i = 0; i < runtime.writers(); ++i) {
      while (runtime.pump(i)) {
      }
    }
  }
  // Replays what has not succeeded, and stops in the middle of the preparation.
  template <class Reached>
  void prepare_until(const FlowId& flow, const Reached& reached) {
    bool begun = false;
    engine().runtime().submit(ReplayFlowCommand{flow, std::nullopt, true, {"ops", {}}},
                              [&](const auto& reply) { begun = !!reply; });
    pump();
    ASSERT_TRUE(begun);
    const auto load = [&] { return value_of(reads::load_flow(engine().store(), flow)).facts.replay; };
    auto replay = load();
    for (; replay && !reached(*replay); replay = load()) {
      engine().runtime().tick();
      pump();
    }
    ASSERT_TRUE(replay);
  }
  int count_of(const FlowId& flow, EventType type) {
    int count = 0;
    for (const Event& event : value_of(reads::flow_history(engine().store(), flow, {}, 1000)).events) {
      if (event.type == type) ++count;
    }
    return count;
  }
};

using Names = std::vector<std::string>;

TEST_P(FlowReplays, NodesThatHaveNotSucceededRunAgainWithThoseBehindThem) {
  const FlowId flow = submit(named({"a", "b", "c", "side"}, {{"a", "b"}, {"b", "c"}, {"a", "side"}}));
  EXPECT_EQ(run({"b"}), (Names{"a", "b", "side"}));
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  const FlowReplayReply reply = value_of(replay(flow));
  EXPECT_EQ(reply, (FlowReplayReply{FlowState::running, 2}));
  EXPECT_EQ(describe(flow).first_failure, std::nullopt);
  EXPECT_EQ(describe(flow).summary.counts.pending, 2U);
  EXPECT_EQ(run(), (Names{"b", "c"}));
  const FlowDescription after = describe(flow);
  EXPECT_EQ(after.summary.state, FlowState::completed);
  EXPECT_EQ(after.summary.counts, (FlowCounts{4, 0, 4, 0, 0, 0, 0}));
  EXPECT_EQ(after.unhandled_failures, 0U);
  EXPECT_EQ(count_of(flow, EventType::flow_reopened), 1);
  EXPECT_EQ(count_of(flow, EventType::flow_failed), 1);
  EXPECT_EQ(count_of(flow, EventType::flow_completed), 1);
}

TEST_P(FlowReplays, ANamedNodeRunsAgainWithThoseBehindIt) {
  const FlowId flow = submit(named({"a", "b", "c", "d"}, {{"a", "b"}, {"b", "d"}, {"c", "d"}}));
  EXPECT_EQ(run(), (Names{"a", "b", "c", "d"}));
  ASSERT_TRUE(replay(flow, "b"));
  EXPECT_EQ(run(), (Names{"b", "d"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(describe(flow).summary.counts.succeeded, 4U);
}

TEST_P(FlowReplays, ANodeAloneChangesNothingBehindIt) {
  const FlowId flow = submit(named({"a", "b", "c"}, {{"a", "b"}, {"b", "c"}}));
  run();
  ASSERT_TRUE(replay(flow, "b", false));
  EXPECT_EQ(run({"b"}), (Names{"b"}));
  EXPECT_EQ(states(flow).at("c"), PublicState::completed);
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  ASSERT_TRUE(replay(flow, "b", false));
  EXPECT_EQ(run(), (Names{"b"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  const Facts last = facts(member_id(flow, 2));
  EXPECT_EQ(last.member->groups.at(0).satisfied, 1U) << "an edge counts once, in the last run of its node";
  EXPECT_EQ(last.member->groups.at(0).unsatisfiable, 0U);
}

TEST_P(FlowReplays, GroupsAreArmedAnew) {
  FlowRequest request = named({"a", "b", "c", "join", "end"}, {{"a", "join", EdgeKind::on_success, "g"},
                                                               {"b", "join", EdgeKind::on_success, "g"},
                                                               {"c", "join", EdgeKind::on_success, "g"},
                                                               {"join", "end"}});
  request.groups = {{"join", "g", GroupPolicy::quorum, 2, GroupRest::let_run}};
  request.failure_policy = FailurePolicy::continue_others;
  const FlowId flow = submit(std::move(request));
  EXPECT_EQ(run({"a", "b"}), (Names{"a", "b", "c"}));
  EXPECT_EQ(states(flow).at("join"), PublicState::skipped);
  ASSERT_TRUE(replay(flow, "a"));
  EXPECT_EQ(run(), (Names{"a", "end", "join"})) << "c counts with the outcome that it has";
  EXPECT_EQ(flow_state(flow), FlowState::failed) << "b has failed and does not run again";
  EXPECT_EQ(describe(flow).first_failure->node, "b");
  EXPECT_EQ(describe(flow).unhandled_failures, 1U);
  ASSERT_TRUE(replay(flow));
  EXPECT_EQ(run(), (Names{"b", "end", "join"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
}

TEST_P(FlowReplays, SkippedNodesAreSkippedAgainIfNothingHasChanged) {
  FlowRequest request = named({"a", "handler", "b"}, {{"a", "handler", EdgeKind::on_failure}, {"a", "b"}});
  const FlowId flow = submit(std::move(request));
  run();
  EXPECT_EQ(states(flow).at("handler"), PublicState::skipped);
  ASSERT_TRUE(replay(flow));
  EXPECT_EQ(run(), Names{});
  EXPECT_EQ(states(flow).at("handler"), PublicState::skipped);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  ASSERT_TRUE(replay(flow, "a"));
  EXPECT_EQ(run({"a"}), (Names{"a", "handler"})) << "the failure is handled now";
  EXPECT_EQ(flow_state(flow), FlowState::completed);
}

TEST_P(FlowReplays, ANodeThatWaitsToRunAgainHasNotStarted) {
  FlowRequest request = named({"x", "y"}, {});
  request.nodes[1].request.lane = "other";
  const FlowId flow = submit(std::move(request));
  const ClaimedExecution x = engine().take();
  const ClaimedExecution y = engine().take("other");
  ASSERT_TRUE(engine().fail(x));
  ASSERT_TRUE(engine().fail(y));
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  ASSERT_TRUE(replay(flow));
  ASSERT_TRUE(engine().fail(engine().take()));
  EXPECT_EQ(states(flow).at("y"), PublicState::cancelled) << "fail_fast cancels what has not started";
  EXPECT_EQ(flow_state(flow), FlowState::failed);
}

TEST_P(FlowReplays, ACancelledFlowRunsAgain) {
  const FlowId flow = submit(named({"a", "b"}, {{"a", "b"}}));
  call<FlowCancelReply>(CancelFlowCommand{flow, {}, {"ops", "stop"}});
  engine().settle();
  EXPECT_EQ(flow_state(flow), FlowState::cancelled);
  ASSERT_TRUE(replay(flow));
  EXPECT_EQ(describe(flow).cancellation, std::nullopt);
  EXPECT_EQ(run(), (Names{"a", "b"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
}

TEST_P(FlowReplays, TheDeadlineCountsFromTheReplay) {
  FlowRequest request = named({"a", "b"}, {{"a", "b"}});
  request.deadline_ms = 10'000;
  const FlowId flow = submit(std::move(request));
  engine().advance(10'001);
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  const TimestampMs again = now();
  ASSERT_TRUE(replay(flow));
  EXPECT_EQ(describe(flow).deadline_at, again + 10'000);
  engine().advance(9'000);
  EXPECT_EQ(states(flow).at("a"), PublicState::waiting);
  engine().advance(1'001);
  EXPECT_EQ(flow_state(flow), FlowState::failed);
  EXPECT_EQ(states(flow).at("a"), PublicState::expired);
}

TEST_P(FlowReplays, StepsAreKeptUnlessTheInputsMayDiffer) {
  const FlowId flow = submit(named({"a", "b"}, {{"a", "b"}}));
  const auto record_step = [&](const ClaimedExecution& claimed) {
    StepRequest step;
    step.name = "work";
    step.position = 0;
    step.result = "done";
    ASSERT_TRUE(engine().call(StepCommand{engine().fence(claimed), step}));
  };
  const ClaimedExecution a = engine().take();
  record_step(a);
  ASSERT_TRUE(engine().complete(a));
  const ClaimedExecution b = engine().take();
  record_step(b);
  ASSERT_TRUE(engine().complete(b));
  ASSERT_TRUE(replay(flow, "a"));
  const ClaimedExecution a_again = engine().take();
  EXPECT_EQ(a_again.steps.size(), 1U);
  ASSERT_TRUE(engine().complete(a_again));
  EXPECT_EQ(engine().take().steps.size(), 0U);
}

TEST_P(FlowReplays, AFlowOfManyNodesIsPreparedInSteps) {
  Names names = {"first"};
  std::vector<FlowEdge> edges;
  for (int i = 0; i < 600; ++i) {
    names.push_back("m" + std::to_string(i));
    edges.push_back({"first", names.back()});
  }
  names.push_back("last");
  for (int i = 0; i < 600; ++i) edges.push_back({"m" + std::to_string(i), "last"});
  FlowRequest request = named(names, edges);
  request.failure_policy = FailurePolicy::continue_others;
  const FlowId flow = submit(std::move(request));
  run({"m3", "m599"});
  EXPECT_EQ(states(flow).at("last"), PublicState::skipped);
  ASSERT_TRUE(replay(flow));
  EXPECT_EQ(run(), (Names{"last", "m3", "m599"}));
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(describe(flow).summary.counts.succeeded, 602U);
  ASSERT_TRUE(replay(flow, "first"));
  EXPECT_EQ(run().size(), 602U);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
}

// The last stage of the preparation takes two steps here, and nodes run between them.
TEST_P(FlowReplays, NothingIsAddedOrCancelledWhileAReplayIsBeingPrepared) {
  Names names;
  for (std::uint32_t i = 0; i < limits::max_flow_step + 10; ++i) names.push_back("n" + std::to_string(i));
  FlowRequest request = named(names, {});
  request.failure_policy = FailurePolicy::continue_others;
  const FlowId flow = submit(std::move(request));
  run({names.begin(), names.end()});
  EXPECT_EQ(flow_state(flow), FlowState::failed);

  Runtime& runtime = engine().runtime();
  prepare_until(flow,
                [](const FlowReplay& replay) { return replay.stage == FlowReplay::Stage::arrive && replay.next > 0; });
  std::vector<ClaimedExecution> claims;
  runtime.submit_claim(ask(), [&](Result<Claims> reply) { claims = value_of(std::move(reply)); });
  pump();
  ASSERT_EQ(claims.size(), 1U);
  std::vector<Errc> answers;
  const auto note = [&](const Result<Reply>& reply) { answers.push_back(refusal(reply)); };
  FlowAddition more;
  more.nodes = named({"more"}, {}).nodes;
  runtime.submit(GrowFlowCommand{{}, more, engine().fence(claims.front()), {}}, note);
  runtime.submit(CancelFlowCommand{flow, {}, {}}, note);
  pump();
  EXPECT_EQ(answers, (std::vector<Errc>{Errc::contended, Errc::contended}));
  engine().settle();
  EXPECT_TRUE(engine().call(GrowFlowCommand{{}, more, engine().fence(claims.front()), {}}));
  EXPECT_TRUE(engine().complete(claims.front()));
  run();
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(describe(flow).summary.counts.succeeded, names.size() + 1);
}

// It has been reset, and its edges have not been counted yet.
TEST_P(FlowReplays, ANodeThatEndsWhileTheReplayIsBeingPreparedStaysEnded) {
  FlowRequest request = named({"a", "b"}, {});
  request.nodes[1].request.deadline_ms = 60'000;
  request.failure_policy = FailurePolicy::continue_others;
  const FlowId flow = submit(std::move(request));
  run({"a", "b"});
  prepare_until(flow, [](const FlowReplay& replay) { return replay.stage == FlowReplay::Stage::arrive; });
  const ExecutionId cancelled = member_id(flow, 0);
  std::optional<Result<Reply>> reply;
  engine().runtime().submit(CancelCommand{cancelled, {"ops", "not again"}},
                            [&](Result<Reply> answer) { reply = std::move(answer); });
  pump();
  ASSERT_TRUE(reply && *reply);
  engine().jump(60'001);
  engine().settle();
  EXPECT_EQ(run(), Names{});
  EXPECT_EQ(states(flow),
            (std::map<std::string, PublicState>{{"a", PublicState::cancelled}, {"b", PublicState::expired}}));
  EXPECT_EQ(flow_state(flow), FlowState::failed);
}

TEST_P(FlowReplays, WhatCannotBeReplayedIsRefusedAndNothingChanges) {
  const FlowId flow = submit(named({"a", "b"}, {{"a", "b"}}));
  EXPECT_EQ(refusal(replay(flow)), Errc::not_terminal);
  EXPECT_EQ(refused(ReplayCommand{member_id(flow, 0), {"ops", ""}}), Errc::not_terminal);
  run();
  EXPECT_EQ(refused(ReplayCommand{member_id(flow, 0), {"ops", ""}}), Errc::unsupported);
  EXPECT_EQ(refusal(replay(flow, "nobody")), Errc::not_found);
  EXPECT_EQ(refusal(replay(flow, {}, false)), Errc::invalid_argument);
  EXPECT_EQ(refusal(replay(flow)), Errc::invalid_argument) << "all nodes have succeeded";
  EXPECT_EQ(refusal(engine().call(ReplayFlowCommand{FlowId{1, {}}, std::nullopt, true, {}})), Errc::not_found);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  EXPECT_EQ(describe(flow).revision, 1U);
  FlowRequest strict = named({"a"}, {});
  strict.nodes[0].request.policy.max_replays = 1;
  const FlowId once = submit(std::move(strict));
  run();
  ASSERT_TRUE(replay(once, "a"));
  run();
  EXPECT_EQ(refusal(replay(once, "a")), Errc::max_replays_exhausted);
}

TEST_P(FlowReplays, RetentionStartsAgainAtTheNewEnd) {
  FlowRequest request = named({"a"}, {});
  request.retention.completed_ms = 5'000;
  const FlowId flow = submit(std::move(request));
  run();
  engine().advance(4'000);
  ASSERT_TRUE(replay(flow, "a"));
  engine().advance(4'000);
  EXPECT_NE(flow_state(flow), FlowState::completed);
  run();
  engine().advance(4'000);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
  engine().advance(1'001);
  EXPECT_EQ(refusal(reads::describe_flow(engine().store(), flow)), Errc::not_found);
}

ON_EVERY_STORE(FlowReplays);

}  // namespace
}  // namespace flowfabric::test
