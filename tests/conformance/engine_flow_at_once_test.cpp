// Edges that are resolved in the commit that completes their node, and those that are left to the clock.
#include <algorithm>
#include <utility>

#include "conformance/engine_suite.hpp"
#include "conformance/watched_store.hpp"

namespace flowfabric::test {
namespace {

class FlowsAtOnce : public EngineSuite {
 protected:
  static FlowRequest nodes_named(const std::vector<std::string>& names) {
    FlowRequest request;
    request.kind = "test";
    for (const std::string& name : names) {
      FlowNode& node = request.nodes.emplace_back();
      node.name = name;
      node.request = job();
      node.request.kind = name;
    }
    return request;
  }
  FlowId submit(FlowRequest request) { return value_of(engine().submit_flow(std::move(request))).flow_id; }
  // Processes the completion and nothing else: the clock does not run.
  static Result<Reply> complete_without_clock(Driver& driver, const ClaimedExecution& claim) {
    std::optional<Result<Reply>> answer;
    driver.runtime().submit(CompleteCommand{driver.fence(claim), {}},
                            [&](Result<Reply> reply) { answer = std::move(reply); });
    for (std::size_t i = 0; i < driver.runtime().writers(); ++i) {
      while (!answer && driver.runtime().pump(i)) {
      }
    }
    if (!answer) return flowfabric::fail(Errc::internal, "no answer");
    return std::move(*answer);
  }
  MemberFacts member(const FlowId& flow, std::uint32_t ordinal) { return *facts(member_id(flow, ordinal)).member; }
  FlowSummary summary(const FlowId& flow) { return value_of(reads::describe_flow(engine().store(), flow)).summary; }
};

TEST_P(FlowsAtOnce, ACompletionReleasesTheNextNodeAndTheLastOneEndsTheFlow) {
  FlowRequest request = nodes_named({"a", "b"});
  request.edges = {{"a", "b"}};
  const FlowId flow = submit(std::move(request));
  ASSERT_TRUE(complete_without_clock(engine(), engine().take()));
  EXPECT_FALSE(member(flow, 0).unresolved);
  EXPECT_EQ(member(flow, 0).work_at, 0);
  EXPECT_EQ(member(flow, 1).groups.at(0).state, GroupState::fired);
  EXPECT_EQ(summary(flow).counts.succeeded, 1U);
  ASSERT_TRUE(complete_without_clock(engine(), engine().take()));
  EXPECT_EQ(summary(flow).state, FlowState::completed);
  engine().settle();
  EXPECT_EQ(summary(flow).counts.succeeded, 2U) << "the clock does not count it again";
}

TEST_P(FlowsAtOnce, NodesThatEndInOneBatchAreCountedOnceEach) {
  FlowRequest request = nodes_named({"a", "b", "c", "join"});
  request.edges = {{"a", "join"}, {"b", "join"}, {"c", "join"}};
  const FlowId flow = submit(std::move(request));
  std::vector<Command> commands;
  for (int i = 0; i < 3; ++i) commands.emplace_back(CompleteCommand{engine().fence(engine().take()), {}});
  for (const auto& reply : call_together(engine(), std::move(commands))) EXPECT_TRUE(reply);
  EXPECT_EQ(member(flow, 3).groups.at(0).satisfied, 3U);
  EXPECT_EQ(member(flow, 3).groups.at(0).state, GroupState::fired);
  EXPECT_EQ(summary(flow).counts.succeeded, 3U);
  ASSERT_TRUE(engine().complete(engine().take()));
  EXPECT_EQ(summary(flow).state, FlowState::completed);
}

TEST_P(FlowsAtOnce, ARefusedCompletionResolvesNothing) {
  FlowRequest request = nodes_named({"a", "b"});
  request.edges = {{"a", "b"}};
  const FlowId flow = submit(std::move(request));
  const ClaimedExecution first = engine().take("default", 1000);
  engine().advance(1001);
  const ClaimedExecution second = engine().take();
  EXPECT_FALSE(complete_without_clock(engine(), first));
  EXPECT_EQ(member(flow, 1).groups.at(0).state, GroupState::waiting);
  EXPECT_EQ(summary(flow).counts.pending, 2U);
  ASSERT_TRUE(complete_without_clock(engine(), second));
  EXPECT_EQ(member(flow, 1).groups.at(0).state, GroupState::fired);
}

TEST_P(FlowsAtOnce, ALargeFlowLeavesItsEdgesToTheClock) {
  std::vector<std::string> names = {"a", "b"};
  while (names.size() <= limits::max_members_at_once) names.push_back("n" + std::to_string(names.size()));
  FlowRequest request = nodes_named(names);
  request.edges = {{"a", "b"}};
  for (std::size_t i = 2; i < names.size(); ++i) request.edges.push_back({"b", names[i]});
  const FlowId flow = submit(std::move(request));
  ASSERT_TRUE(complete_without_clock(engine(), engine().take()));
  EXPECT_TRUE(member(flow, 0).unresolved);
  EXPECT_EQ(member(flow, 1).groups.at(0).state, GroupState::waiting);
  engine().settle();
  EXPECT_FALSE(member(flow, 0).unresolved);
  EXPECT_EQ(member(flow, 1).groups.at(0).state, GroupState::fired);
}

TEST_P(FlowsAtOnce, ANodeWithManyEdgesLeavesThemToTheClock) {
  std::vector<std::string> names = {"a"};
  while (names.size() <= limits::max_edges_at_once + 1) names.push_back("n" + std::to_string(names.size()));
  FlowRequest request = nodes_named(names);
  for (std::size_t i = 1; i < names.size(); ++i) request.edges.push_back({"a", names[i]});
  const FlowId flow = submit(std::move(request));
  ASSERT_TRUE(complete_without_clock(engine(), engine().take()));
  EXPECT_TRUE(member(flow, 0).unresolved);
  engine().settle();
  EXPECT_FALSE(member(flow, 0).unresolved);
  for (std::uint32_t i = 1; i < names.size(); ++i) EXPECT_EQ(member(flow, i).groups.at(0).state, GroupState::fired);
}

// Members of a flow that end at the same moment in several engines must not wait for each other.
TEST_P(FlowsAtOnce, AfterAConflictTheEdgesAreLeftToTheClock) {
  if (GetParam().takes_turns) GTEST_SKIP() << "batches take turns on this store, so nothing comes between";
  FlowRequest request = nodes_named({"a", "b", "join"});
  request.edges = {{"a", "join"}, {"b", "join"}};
  const FlowId flow = submit(std::move(request));
  const auto watch = std::make_shared<Watch>();
  Driver other(std::make_unique<WatchedStore>(open_store(), watch), clock_, 3);
  const ClaimedExecution a = other.take();
  const ClaimedExecution b = engine().take();
  bool came_between = false;
  watch->after_read = [&](const ReadRequest& read) {
    const auto reads_flow = [&](const Key& key) { return key == flow_key(flow); };
    if (std::none_of(read.keys.begin(), read.keys.end(), reads_flow)) return;
    if (!std::exchange(came_between, true)) {
      EXPECT_TRUE(complete_without_clock(engine(), b));
    }
  };
  ASSERT_TRUE(complete_without_clock(other, a));
  EXPECT_TRUE(came_between);
  EXPECT_TRUE(member(flow, 0).unresolved);
  EXPECT_EQ(member(flow, 2).groups.at(0).satisfied, 1U);
  other.settle();
  EXPECT_EQ(member(flow, 2).groups.at(0).satisfied, 2U);
  EXPECT_EQ(member(flow, 2).groups.at(0).state, GroupState::fired);
  EXPECT_EQ(summary(flow).counts.succeeded, 2U);
}

ON_EVERY_STORE(FlowsAtOnce);

}  // namespace
}  // namespace flowfabric::test
