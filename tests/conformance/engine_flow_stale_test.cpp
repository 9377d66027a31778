// The clock decides about a flow by its members, and a read may bring one that was true once: then the decision must not be
// committed.
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

ON_EVERY_STORE(StaleMembers);

}  // namespace
}  // namespace flowfabric::test
