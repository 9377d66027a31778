// F16: a flow with very many members. Its counters are exact at every moment, and its lists show every member once, also while
// the members change from page to page.
//
// FF_FLOW_MEMBERS says how many members; the limit of the engine is 100,000.
#include <cstdlib>

#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

constexpr std::uint32_t usual_members = 4000;
constexpr std::uint32_t member_kinds = 10;
constexpr std::uint32_t list_page = 1000;
constexpr std::int64_t member_deadline_ms = 3600 * 1000;

std::uint32_t members_wanted() {
  const char* text = std::getenv("FF_FLOW_MEMBERS");
  const std::uint64_t number = text == nullptr ? usual_members : std::strtoull(text, nullptr, 10);
  const std::uint64_t rounded = std::clamp<std::uint64_t>(number, 40, limits::max_flow_members) / (4 * member_kinds);
  return static_cast<std::uint32_t>(rounded) * 4 * member_kinds;
}

std::string member_name(std::uint32_t i) { return "n" + std::to_string(i); }

// By their last digit: 0 fails, then 1 is skipped and 2 runs; 3 expires; 9 is never claimed; the others succeed.
FlowAddition large_part(std::uint32_t first, std::uint32_t end) {
  FlowAddition part;
  for (std::uint32_t i = first; i < end; ++i) {
    FlowNode& node = part.nodes.emplace_back();
    node.name = member_name(i);
    node.request = job(i % member_kinds == 3 || i % member_kinds == 9 ? "nobody" : "default");
    if (i % member_kinds == 3) node.request.deadline_ms = member_deadline_ms;
    if (i % member_kinds == 1) part.edges.push_back({member_name(i - 1), node.name});
    if (i % member_kinds == 2) part.edges.push_back({member_name(i - 2), node.name, EdgeKind::on_failure});
  }
  return part;
}

class LargeFlows : public EngineSuite {
 protected:
  FlowCounts counts() { return value_of(reads::describe_flow(engine().store(), flow_)).summary.counts; }

  // In several requests, each of a quarter of the members or as many as fit into one.
  void build(std::uint32_t members) {
    const std::uint32_t step = std::min<std::uint32_t>(members / 4, limits::max_flow_nodes);
    FlowAddition part = large_part(0, step);
    FlowRequest request;
    request.kind = "large";
    request.failure_policy = FailurePolicy::continue_others;
    request.nodes = std::move(part.nodes);
    request.edges = std::move(part.edges);
    request.open = true;
    flow_ = value_of(engine().submit_flow(std::move(request))).flow_id;
    expected_ = {step, step, 0, 0, 0, 0, 0};
    while (expected_.total < members) {
      ASSERT_EQ(counts(), expected_);
      const std::uint32_t end = std::min(expected_.total + step, members);
      call<FlowAdded>(GrowFlowCommand{flow_, large_part(expected_.total, end), std::nullopt, {"builder", {}}});
      expected_.total = expected_.pending = end;
    }
    ASSERT_EQ(counts(), expected_);
  }

  // Some members end, and the flow has counted them and what follows from them.
  void work() {
    std::vector<Command> commands;
    for (const ClaimedExecution& claimed : claim(ask(500))) {
      const bool fails = std::stoul(claimed.node.substr(1)) % member_kinds == 0;
      const Fence fence = engine().fence(claimed);
      if (fails) {
        commands.emplace_back(FailCommand{fence, {}});
        ++expected_.failed;
        ++expected_.skipped;
        expected_.pending -= 2;
      } else {
        commands.emplace_back(CompleteCommand{fence, {"done", {}}});
        ++expected_.succeeded;
        --expected_.pending;
      }
    }
    for (const auto& reply : call_together(engine(), std::move(commands))) ASSERT_TRUE(reply);
    ASSERT_EQ(counts(), expected_);
  }

  // Reads all pages; between them, members end. Returns how many were shown in which state.
  std::map<PublicState, std::uint32_t> read_members() {
    std::map<PublicState, std::uint32_t> states;
    std::uint32_t next = 0;
    std::string cursor;
    do {
      const auto page = value_of(reads::flow_nodes(engine().store(), flow_, cursor, list_page));
      for (const FlowNodeInfo& node : page.nodes) {
        EXPECT_EQ(node.ordinal, next);
        EXPECT_EQ(node.name, member_name(next++));
        ++states[node.public_state];
      }
      cursor = page.next_cursor;
      work();
    } while (!cursor.empty() && !HasFatalFailure());
    EXPECT_EQ(next, expected_.total);
    return states;
  }
  std::map<PublicState, std::uint32_t> list_members() {
    std::map<PublicState, std::uint32_t> states;
    std::set<ExecutionId> seen;
    ListRequest request;
    request.flow = flow_.uuid;
    request.limit = list_page;
    do {
      const auto page = value_of(reads::list(engine().store(), request));
      for (const ExecutionSummary& one : page.executions) {
        EXPECT_TRUE(seen.insert(one.execution_id).second) << "listed twice: " << to_string(one.execution_id);
        ++states[one.public_state];
      }
      request.cursor = page.next_cursor;
      work();
    } while (!request.cursor.empty() && !HasFatalFailure());
    EXPECT_EQ(seen.size(), expected_.total);
    return states;
  }

  FlowId flow_{};
  FlowCounts expected_{};
};

TEST_P(LargeFlows, CountersAreExactAndListsShowEveryMemberOnce) {
  const std::uint32_t members = members_wanted();
  const std::uint32_t part = members / member_kinds;
  ASSERT_NO_FATAL_FAILURE(build(members));
  read_members();
  list_members();
  while (!HasFatalFailure() && expected_.pending > 2 * part) work();
  ASSERT_EQ(expected_, (FlowCounts{members, 2 * part, 6 * part, part, 0, 0, part}));
  engine().advance(member_deadline_ms + 1);
  EXPECT_EQ(counts(), (FlowCounts{members, part, 6 * part, part, 0, part, part}));
  call<FlowSealed>(SealFlowCommand{flow_, {"builder", {}}});
  call<FlowCancelReply>(CancelFlowCommand{flow_, {FlowCancelPolicy::cancel_pending, false}, {"ops", {}}});
  engine().settle();
  expected_ = {members, 0, 6 * part, part, part, part, part};
  EXPECT_EQ(counts(), expected_);
  EXPECT_EQ(value_of(reads::load_flow(engine().store(), flow_)).facts.state, FlowState::cancelled);
  const std::map<PublicState, std::uint32_t> ended = {{PublicState::completed, 6 * part},
                                                      {PublicState::failed, part},
                                                      {PublicState::cancelled, part},
                                                      {PublicState::expired, part},
                                                      {PublicState::skipped, part}};
  EXPECT_EQ(read_members(), ended);
  EXPECT_EQ(list_members(), ended);
}

ON_EVERY_STORE(LargeFlows);

}  // namespace
}  // namespace flowfabric::test
