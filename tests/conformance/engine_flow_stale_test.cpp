// The records of a flow and of its members are not read at one moment, so some may be older than others. What is decided by
// them must not be committed then, and is decided again.
#include <optional>
#include <utility>

#include "conformance/engine_suite.hpp"
#include "core/workspace.hpp"

namespace flowfabric::test {
namespace {

class StaleMembers : public EngineSuite {
 protected:
  void SetUp() override {
    EngineSuite::SetUp();
    engine_.reset();
    engine_ = std::make_unique<Driver>(std::make_unique<WatchedStore>(open_store(), watch_), clock_, 1);
  }

  FlowId submit(const std::vector<std::string>& names, std::vector<FlowEdge> edges = {}) {
    FlowRequest request;
    request.kind = "test";
    request.failure_policy = FailurePolicy::continue_others;
    for (const std::string& name : names) {
      FlowNode& node = request.nodes.emplace_back();
      node.name = name;
      node.request = job();
    }
    request.edges = std::move(edges);
    return value_of(engine().submit_flow(std::move(request))).flow_id;
  }
  void replay(const FlowId& flow, std::optional<std::uint32_t> ordinal, bool descendants = true) {
    value_of(engine().call(ReplayFlowCommand{flow, ordinal, descendants, {"ops", {}}}));
    engine().settle();
  }
  void run(const std::set<std::string>& failing = {}) {
    for (Claims claims = claim_all(); !claims.empty(); claims = claim_all()) {
      for (const ClaimedExecution& claimed : claims) {
        failing.contains(claimed.node) ? (void)engine().fail(claimed) : (void)engine().complete(claimed);
      }
    }
  }
  // A sweep that could commit nothing is followed by a pause.
  void let_the_clock_try_again() {
    EXPECT_TRUE(handed_out_);
    engine().advance(1000);
  }
  FlowState flow_state(const FlowId& flow) { return record(flow).facts.state; }
  FlowRecord record(const FlowId& flow) { return value_of(reads::load_flow(engine().store(), flow)); }
  Record member(const FlowId& flow, std::uint32_t ordinal) {
    return value_of(engine().store().load({execution_key(member_id(flow, ordinal))})).at(0);
  }

  // From now on, the first sweep that works on the flow in this way finds the member as it was then.
  template <class Moment>
  void hand_out(const Record& old, const FlowId& flow, const Moment& moment) {
    watch_->change_reply = [this, old, flow, moment](const ReadRequest& request, ReadReply& reply) {
      if (handed_out_ || request.due_limit == 0) return;
      const auto works_on_it = std::find_if(reply.due.begin(), reply.due.end(), [&](const DueCandidate& found) {
        return found.record.key == flow_key(flow) && moment(value_of(decode_flow(found.record)).facts);
      });
      if (works_on_it == reply.due.end()) return;
      std::erase_if(reply.due, [&](const DueCandidate& found) { return found.record.key == old.key; });
      reply.due.insert(reply.due.begin(), DueCandidate{{now(), old.key}, old});
      handed_out_ = true;
    };
  }

  const std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
  bool handed_out_ = false;
};

TEST_P(StaleMembers, ACancellationDoesNotSpareANodeThatRanBeforeTheReplay) {
  const FlowId flow = submit({"a"});
  const Claims claims = claim_all();
  const Record running = member(flow, 0);
  value_of(engine().complete(claims.at(0)));
  const Record ended = member(flow, 0);
  for (const Record& old : {running, ended}) {
    replay(flow, 0);
    handed_out_ = false;
    hand_out(old, flow, [](const FlowFacts& facts) { return facts.cancel.has_value(); });
    value_of(engine().call(CancelFlowCommand{flow, {FlowCancelPolicy::cancel_pending, false}, {}}));
    engine().settle();
    let_the_clock_try_again();
    EXPECT_EQ(flow_state(flow), FlowState::cancelled);
    EXPECT_EQ(state(member_id(flow, 0)), PublicState::cancelled);
  }
}

TEST_P(StaleMembers, AReplayChoosesByTheOutcomesOfTheLastRun) {
  const FlowId flow = submit({"a", "b"});
  run({"b"});
  const Record succeeded = member(flow, 0);
  replay(flow, 0);
  run({"a"});
  hand_out(succeeded, flow, [](const FlowFacts& facts) {
    return facts.replay.has_value() && facts.replay->stage == FlowReplay::Stage::choose;
  });
  replay(flow, std::nullopt);
  let_the_clock_try_again();
  run();
  EXPECT_EQ(flow_state(flow), FlowState::completed) << "both have failed, and both run again";
}

TEST_P(StaleMembers, AReplayCountsTheOutcomesOfTheLastRun) {
  const FlowId flow = submit({"a", "b"}, {{"a", "b"}});
  run();
  const Record succeeded = member(flow, 0);
  replay(flow, 0, false);
  run({"a"});
  hand_out(succeeded, flow, [](const FlowFacts& facts) {
    return facts.replay.has_value() && facts.replay->stage == FlowReplay::Stage::arrive;
  });
  replay(flow, 1);
  let_the_clock_try_again();
  EXPECT_EQ(state(member_id(flow, 1)), PublicState::skipped) << "a has failed, and does not run again";
  EXPECT_EQ(flow_state(flow), FlowState::failed);
}

TEST_P(StaleMembers, AReplayFindsTheFirstFailureAmongTheOutcomesOfTheLastRun) {
  const FlowId flow = submit({"a", "b", "c"});
  run({"a", "c"});
  const Record failed = member(flow, 0);
  replay(flow, 0);
  run({"b"});
  hand_out(failed, flow, [](const FlowFacts& facts) {
    return facts.replay.has_value() && facts.replay->stage == FlowReplay::Stage::reset;
  });
  replay(flow, 1);
  let_the_clock_try_again();
  run();
  EXPECT_EQ(record(flow).facts.first_failure->node, "c");
}

FlowAddition more_of(const std::vector<std::string>& names, std::vector<FlowEdge> edges = {},
                     std::vector<FlowGroup> groups = {}) {
  FlowAddition more;
  for (const std::string& name : names) {
    FlowNode& node = more.nodes.emplace_back();
    node.name = name;
    node.request = job();
    node.request.kind = name;
  }
  more.edges = std::move(edges);
  more.groups = std::move(groups);
  return more;
}

Command growing_by(const FlowId& flow, FlowAddition more) {
  return GrowFlowCommand{flow, std::move(more), std::nullopt, {"builder", {}}};
}

// Something happens after each load of records. What reads of flows do not call is left out.
class StoreWithPauses final : public Store {
 public:
  StoreWithPauses(Store& inner, std::function<void(const std::vector<Key>&)> after_load)
      : inner_(inner), after_load_(std::move(after_load)) {}

  Result<std::vector<Record>> load(const std::vector<Key>& keys) override {
    auto records = inner_.load(keys);
    after_load_(keys);
    return records;
  }
  Result<std::unique_ptr<Session>> open_session() override { return left_out(); }
  std::uint32_t preferred_sessions() const override { return inner_.preferred_sessions(); }
  Result<std::vector<RouteNo>> forget_routes(const std::vector<RouteNo>&) override { return left_out(); }
  Result<std::optional<TimestampMs>> next_due() override { return left_out(); }
  Result<std::vector<DueEntry>> due_entries(const std::optional<DuePosition>&, TimestampMs, std::uint32_t) override {
    return left_out();
  }
  Result<std::vector<DueEntry>> group_entries(std::uint64_t, const std::optional<GroupPosition>&,
                                              std::uint32_t) override {
    return left_out();
  }
  Result<std::vector<Satellite>> load_satellites(const Key&, std::uint8_t, std::uint32_t, std::uint32_t) override {
    return left_out();
  }
  Result<std::vector<SequenceEntry>> load_sequence(const SequenceName&, std::uint64_t, std::uint32_t) override {
    return left_out();
  }
  Result<std::vector<Record>> scan(RecordKind, const std::string&, std::uint32_t) override { return left_out(); }
  Result<std::vector<ListedRecord>> list(const ListQuery&) override { return left_out(); }
  Result<std::vector<Counter>> counters(const std::string&) override { return left_out(); }
  Result<std::int64_t> now_us() override { return inner_.now_us(); }
  Result<std::uint64_t> count_ready_before(const ReadyEntry&, std::uint64_t) override { return left_out(); }
  Result<std::optional<std::uint64_t>> first_ready(RouteNo, std::int32_t) override { return left_out(); }
  Result<std::string> log_start() override { return left_out(); }
  Result<std::string> log_end() override { return left_out(); }
  Result<LogPage> read_log(const LogQuery&) override { return left_out(); }
  Result<std::vector<LoggedEntry>> history(const Key&, const std::string&, std::uint32_t) override {
    return left_out();
  }
  void announce(const Wakeup&) override {}
  void listen(std::function<void(const Wakeup&)>) override {}
  Result<std::vector<std::string>> check_integrity() override { return left_out(); }
  std::unique_ptr<Inspection> inspect() override { return inner_.inspect(); }

 private:
  static Unexpected<Error> left_out() { return flowfabric::fail(Errc::unsupported, "left out"); }

  Store& inner_;
  const std::function<void(const std::vector<Key>&)> after_load_;
};

// Flows that grow between two reads of one batch.
class StaleGrowth : public StaleMembers {
 protected:
  FlowId open(const FlowAddition& graph) {
    FlowRequest request;
    request.kind = "test";
    request.nodes = graph.nodes;
    request.edges = graph.edges;
    request.open = true;
    return value_of(engine().submit_flow(std::move(request))).flow_id;
  }
  FlowAdded grow(const FlowId& flow, FlowAddition more) {
    return std::get<FlowAdded>(value_of(engine().call(growing_by(flow, std::move(more)))));
  }
  // Another engine adds it. After it has read the flow, and before it reads the nodes, this engine adds `earlier`.
  Result<Reply> grow_after(const FlowId& flow, FlowAddition earlier, FlowAddition later) {
    const auto watch = std::make_shared<Watch>();
    Driver other(std::make_unique<WatchedStore>(open_store(), watch), clock_, 3);
    watch->after_read = [&](const ReadRequest& read) {
      const auto reads_flow = [&](const Key& key) { return key == flow_key(flow); };
      if (std::none_of(read.keys.begin(), read.keys.end(), reads_flow)) return;
      if (!std::exchange(came_between_, true)) grow(flow, earlier);
    };
    auto reply = other.call(growing_by(flow, std::move(later)));
    EXPECT_TRUE(came_between_);
    return reply;
  }
  std::vector<std::string> node_names(const FlowId& flow) {
    std::vector<std::string> names;
    for (const FlowNodeInfo& node : value_of(reads::flow_graph(engine().store(), flow)).nodes) {
      names.push_back(node.name);
    }
    return names;
  }
  ExecutionId id_of(const FlowId& flow, const std::string& name) {
    for (const FlowNodeInfo& node : value_of(reads::flow_graph(engine().store(), flow)).nodes) {
      if (node.name == name) return node.execution_id;
    }
    throw std::runtime_error("the flow has no node " + name);
  }
  // From now on, the first sweep that works on this member finds the other one as it was then.
  void hand_out_with(const ExecutionId& worked_on, const Record& old) {
    watch_->change_reply = [this, worked_on, old](const ReadRequest& request, ReadReply& reply) {
      const auto is_it = [&](const DueCandidate& found) { return found.record.key == execution_key(worked_on); };
      if (handed_out_ || request.due_limit == 0 || std::none_of(reply.due.begin(), reply.due.end(), is_it)) return;
      std::erase_if(reply.due, [&](const DueCandidate& found) { return found.record.key == old.key; });
      reply.due.insert(reply.due.begin(), DueCandidate{{now(), old.key}, old});
      handed_out_ = true;
    };
  }
  void complete_and_leave_edges(const ClaimedExecution& claim) {
    CompleteCommand complete{engine().fence(claim), {}};
    complete.leaves_edges = true;
    value_of(engine().call(std::move(complete)));
    engine().settle();
  }
  ClaimedExecution claim_node(const std::string& name) {
    for (ClaimedExecution& claim : claim_all()) {
      if (claim.node == name) return std::move(claim);
    }
    throw std::runtime_error("node " + name + " cannot be claimed");
  }

  bool came_between_ = false;
};

TEST_P(StaleGrowth, ANodeMayHaveBeenAddedAfterTheFlowWasRead) {
  if (GetParam().takes_turns) GTEST_SKIP() << "batches take turns on this store, so nothing comes between";
  for (const std::vector<std::string>& names : {std::vector<std::string>{"b", "c"}, {"c", "b"}, {"b", "c", "d"}}) {
    came_between_ = false;
    const FlowId flow = open(more_of({"a"}));
    const auto reply = grow_after(flow, more_of({"b"}), more_of(names));
    ASSERT_TRUE(reply) << reply.error().message;
    const auto& added = std::get<FlowAdded>(*reply);
    EXPECT_EQ(added.added_nodes, names.size() - 1);
    EXPECT_EQ(node_names(flow).size(), names.size() + 1);
    for (const FlowMember& node : added.nodes) EXPECT_EQ(node.execution_id, id_of(flow, node.name)) << node.name;
  }
}

TEST_P(StaleGrowth, ARepetitionIsAnsweredByTheFlowThatHasItsNodes) {
  if (GetParam().takes_turns) GTEST_SKIP() << "batches take turns on this store, so nothing comes between";
  const FlowId flow = open(more_of({"a"}));
  const auto reply = grow_after(flow, more_of({"b"}), more_of({"b"}));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(std::get<FlowAdded>(*reply).added_nodes, 0U);
  EXPECT_EQ(std::get<FlowAdded>(*reply).revision, record(flow).facts.revision);
}

// The new nodes of both additions would have the same ordinals.
TEST_P(StaleGrowth, AnEdgeToANodeThatWasAddedAfterTheFlowWasReadClosesNoCycle) {
  if (GetParam().takes_turns) GTEST_SKIP() << "batches take turns on this store, so nothing comes between";
  const FlowId flow = open(more_of({"a", "w", "x"}, {{"w", "x"}}));
  const auto reply = grow_after(flow, more_of({"d"}, {{"a", "d"}}), more_of({"e", "f"}, {{"e", "a"}, {"x", "f"}}));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(std::get<FlowAdded>(*reply).added_nodes, 2U);
  EXPECT_EQ(node_names(flow), (std::vector<std::string>{"a", "w", "x", "d", "e", "f"}));
}

TEST_P(StaleGrowth, AnEdgeArrivesInAGroupThatItsNodeDidNotHaveWhenItWasRead) {
  FlowAddition graph = more_of({"a", "b"});
  graph.nodes[1].request.delay_ms = 60'000;
  const FlowId flow = open(graph);
  const ClaimedExecution a = claim_node("a");
  const Record without_group = member(flow, 1);
  grow(flow, more_of({}, {{"a", "b"}}));
  hand_out_with(a.execution_id, without_group);
  complete_and_leave_edges(a);
  let_the_clock_try_again();
  EXPECT_EQ(facts(member_id(flow, 1)).member->groups.at(0).state, GroupState::fired);
  EXPECT_EQ(record(flow).facts.succeeded, 1U);
}

TEST_P(StaleGrowth, AJoinEdgeArrivesAtANodeThatHadAddedNothingWhenItWasRead) {
  const FlowId flow = open(more_of({"a"}));
  const ClaimedExecution a = claim_node("a");
  const Record without_edge = member(flow, 0);
  const FlowAddition child = more_of({"c"}, {{"c", "a", EdgeKind::join}});
  value_of(engine().call(GrowFlowCommand{{}, child, engine().fence(a), {}}));
  const ClaimedExecution c = claim_node("c");
  hand_out_with(c.execution_id, without_edge);
  complete_and_leave_edges(c);
  let_the_clock_try_again();
  EXPECT_EQ(facts(a.execution_id).member->growth->joined, std::vector<std::uint32_t>{1});
  EXPECT_EQ(record(flow).facts.succeeded, 1U);
}

// Upstream nodes that a group no longer needs are kept if another node does.
TEST_P(StaleGrowth, ANodeIsNeededByAGroupThatDidNotExistWhenItWasRead) {
  FlowAddition graph = more_of({"a", "b", "first", "other"}, {{"a", "first"}, {"b", "first"}});
  graph.edges[0].group = graph.edges[1].group = "any";
  graph.nodes[3].request.delay_ms = 60'000;
  FlowRequest request;
  request.kind = "test";
  request.nodes = graph.nodes;
  request.edges = graph.edges;
  request.groups = {{"first", "any", GroupPolicy::any, 0, GroupRest::cancel_remaining}};
  request.open = true;
  const FlowId flow = value_of(engine().submit_flow(std::move(request))).flow_id;
  Claims both = claim_all();
  ASSERT_EQ(both.size(), 2U);
  const Record without_group = member(flow, 3);
  grow(flow, more_of({}, {{"b", "other"}}));
  hand_out_with(member_id(flow, 2), without_group);
  complete_and_leave_edges(both.at(0).node == "a" ? both.at(0) : both.at(1));
  let_the_clock_try_again();
  EXPECT_EQ(facts(member_id(flow, 1)).outcome, Outcome::none) << "the other node waits for it";
}

TEST_P(StaleGrowth, AReplayTakesBackAnEdgeFromAGroupThatItsNodeDidNotHaveWhenItWasRead) {
  const FlowId flow = open(more_of({"a", "b"}));
  const Record without_group = member(flow, 1);
  grow(flow, more_of({}, {{"a", "b"}}));
  value_of(engine().call(SealFlowCommand{flow, {"builder", {}}}));
  run();
  hand_out(without_group, flow, [](const FlowFacts& facts) {
    return facts.replay.has_value() && facts.replay->stage == FlowReplay::Stage::take_back;
  });
  replay(flow, 0, false);
  let_the_clock_try_again();
  EXPECT_EQ(facts(member_id(flow, 1)).member->groups.at(0).satisfied, 0U);
  run();
  EXPECT_EQ(facts(member_id(flow, 1)).member->groups.at(0).satisfied, 1U);
  EXPECT_EQ(flow_state(flow), FlowState::completed);
}

// Its new node would get the ordinal of the node that adds it.
TEST_P(StaleGrowth, ANodeAddsToAFlowThatWasReadBeforeTheNodeWasAdded) {
  const FlowId flow = open(more_of({"a"}));
  const Record without_node = value_of(engine().store().load({flow_key(flow)})).at(0);
  grow(flow, more_of({"b"}));
  const ClaimedExecution b = claim_node("b");
  watch_->change_reply = [&](const ReadRequest&, ReadReply& reply) {
    for (Record& record : reply.records) {
      if (record.key == flow_key(flow) && !std::exchange(handed_out_, true)) record = without_node;
    }
  };
  const auto reply = engine().call(GrowFlowCommand{{}, more_of({"c"}), engine().fence(b), {}});
  EXPECT_TRUE(handed_out_);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(std::get<FlowAdded>(*reply).added_nodes, 1U);
  EXPECT_EQ(node_names(flow), (std::vector<std::string>{"a", "b", "c"}));
  value_of(engine().complete(b));
}

// A graph is loaded in pages.
TEST_P(StaleGrowth, AGraphShowsAnEdgeIntoAGroupThatItsNodeDidNotHaveWhenItWasRead) {
  std::vector<std::string> names;
  while (names.size() <= 1000) names.push_back("n" + std::to_string(names.size()));
  FlowAddition graph = more_of(names);
  for (FlowNode& node : graph.nodes) node.request.delay_ms = 60'000;
  const FlowId flow = open(graph);
  StoreWithPauses store(engine().store(), [&](const std::vector<Key>& keys) {
    const auto is_first = [&](const Key& key) { return key == execution_key(member_id(flow, 0)); };
    if (std::none_of(keys.begin(), keys.end(), is_first)) return;
    if (!std::exchange(came_between_, true)) grow(flow, more_of({}, {{names.back(), names.front()}}));
  });
  const FlowGraph found = value_of(reads::flow_graph(store, flow));
  EXPECT_TRUE(came_between_);
  ASSERT_EQ(found.edges.size(), 1U);
  EXPECT_EQ(found.edges[0].from, names.back());
  EXPECT_EQ(found.edges[0].to, names.front());
  EXPECT_EQ(found.edges[0].group, "");
}

ON_EVERY_STORE(StaleMembers);
ON_EVERY_STORE(StaleGrowth);

}  // namespace
}  // namespace flowfabric::test
