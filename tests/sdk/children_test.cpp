// Tasks that spawn nodes and wait for them, in every home.
#include <map>
#include <mutex>

#include <flowfabric/testing.hpp>

#include "sdk/home.hpp"

namespace flowfabric::sdk_test {
namespace {

FlowRequest flow_of_one(const std::string& kind) {
  FlowRequest request;
  request.kind = "test";
  request.nodes = {{"parent", Client::make_request(kind, encode_value(Json()))}};
  return request;
}

FF_SDK_SUITE(ChildrenTest);

TEST_P(ChildrenTest, a_task_gets_the_results_of_its_children_in_order) {
  Worker worker(client_, quick());
  std::atomic<int> runs{0};
  worker.on("square", [](Task&, int number) { return number * number; });
  worker.on("sum", [&](Task& task) {
    ++runs;
    int sum = 0;
    for (const int square : task.map<int>("square", "square", std::vector<int>{1, 2, 3, 4})) sum = 10 * sum + square;
    return sum;
  });
  must(worker.start());
  const FlowId flow = must(client_.submit_flow(flow_of_one("sum"))).flow_id;
  const FlowResult result = must(client_.wait_flow(flow, 60s));
  EXPECT_EQ(result.state, FlowState::completed);
  EXPECT_EQ(result.counts.succeeded, 5u);
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].result, "1506") << "((1 * 10 + 4) * 10 + 9) * 10 + 16";
  EXPECT_GE(runs, 2) << "the handler is left while it waits";
}

TEST_P(ChildrenTest, a_task_sees_what_became_of_its_children_and_handles_it) {
  Worker worker(client_, quick(1));  // one thread is enough: who waits holds none
  worker.on("good", [](Task&) { return std::string("done"); });
  worker.on("bad", [](Task&) -> int { throw PermanentFailure("no luck", "luck"); });
  worker.on("large", [](Task&) { return std::string(400'000, 'x'); });
  worker.on("parent", [&](Task& task) {
    task.spawn("good", "good", Json());
    task.spawn("bad", "bad", Json());
    task.spawn("large", "large", Json());
    const auto first = task.join({"good"});
    const auto all = task.join({"bad", "good", "large"});
    return Json{{"first", first.at(0).value<std::string>()},
                {"bad", std::string(to_string(all.at(0).outcome))},
                {"why", all.at(0).failure ? all.at(0).failure->category : ""},
                {"good", all.at(1).succeeded()},
                {"large", static_cast<std::int64_t>(all.at(2).value<std::string>().size())}};
  });
  must(worker.start());
  const FlowId flow = must(client_.submit_flow(flow_of_one("parent"))).flow_id;
  const FlowResult result = must(client_.wait_flow(flow, 60s));
  EXPECT_EQ(result.state, FlowState::completed) << "the parent handles the failure";
  ASSERT_EQ(result.outputs.size(), 1u);
  const auto value = Convert<Json>::from_bytes(result.outputs[0].result);
  EXPECT_EQ(value.at("first").as_text(), "done");
  EXPECT_EQ(value.at("bad").as_text(), "failed");
  EXPECT_EQ(value.at("why").as_text(), "luck");
  EXPECT_TRUE(value.at("good").as_boolean());
  EXPECT_EQ(value.at("large").as_integer(), 400'000);
}

TEST_P(ChildrenTest, only_a_node_of_a_flow_can_spawn) {
  Worker worker(client_, quick());
  worker.on("lonely", [](Task& task) { task.spawn("child", "any", Json()); });
  must(worker.start());
  const ExecutionResult result = ended(submit("lonely"));
  EXPECT_EQ(result.outcome, Outcome::failed);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->category, "spawn_refused");
}

TEST_P(ChildrenTest, a_client_builds_a_flow_step_by_step) {
  Worker worker(client_, quick());
  worker.on("step", [](Task& task) { return static_cast<std::int64_t>(task.inputs().size()); });
  must(worker.start());
  FlowRequest request;
  request.kind = "test";
  const FlowId flow = must(client_.open_flow(request)).flow_id;
  FlowAddition more;
  more.nodes = {{"a", Client::make_request("step", encode_value(Json()))}};
  EXPECT_EQ(must(client_.add_to_flow(flow, more)).added_nodes, 1u);
  EXPECT_EQ(must(client_.add_to_flow(flow, more)).added_nodes, 0u);
  more.nodes = {{"b", Client::make_request("step", encode_value(Json()))}};
  more.edges = {{"a", "b"}};
  const FlowAdded added = must(client_.add_to_flow(flow, more));
  ASSERT_EQ(added.nodes.size(), 1u);
  EXPECT_EQ(ended(added.nodes[0].execution_id).outcome, Outcome::success);
  EXPECT_EQ(must(client_.get_flow(flow)).summary.state, FlowState::building);
  EXPECT_FALSE(must(client_.seal_flow(flow)).already_sealed);
  const FlowResult result = must(client_.wait_flow(flow, 60s));
  EXPECT_EQ(result.state, FlowState::completed);
  EXPECT_EQ(result.outputs.at(0).result, "1");
}

// Whatever crashes, each child is added once, and the parent gets its result.
TEST(TestedChildren, a_crash_anywhere_spawns_nothing_twice) {
  const std::uint64_t runs = testing::crash_everywhere([](testing::Engine& engine) {
    engine.on("child", [](Task&, int number) { return number + 1; });
    engine.on("parent", [](Task& task) {
      task.spawn("first", "child", 1);
      const int first = task.join({"first"}).at(0).value<int>();
      const auto more = task.map<int>("more", "child", std::vector<int>{first, 10});
      return task.step("add", [&] { return more.at(0) + more.at(1); });
    });
    FlowRequest request = flow_of_one("parent");
    const FlowId flow = engine.submit_flow(request);
    engine.run();
    const FlowResult result = engine.flow_result(flow);
    ASSERT_EQ(result.state, FlowState::completed);
    EXPECT_EQ(result.counts.total, 4u);
    EXPECT_EQ(result.counts.succeeded, 4u);
    ASSERT_EQ(result.outputs.size(), 1u);
    EXPECT_EQ(result.outputs[0].result, "14");
  });
  EXPECT_GT(runs, 8u);
}

}  // namespace
}  // namespace flowfabric::sdk_test
