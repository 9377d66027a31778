// Flows through clients and workers, in every home.
#include <set>

#include <gtest/gtest.h>

#include <flowfabric/flow_builder.hpp>

#include "sdk/home.hpp"

namespace flowfabric::sdk_test {
namespace {

FF_SDK_SUITE(FlowsOfClients);

FlowRequest sum_of(const std::vector<int>& numbers) {
  FlowBuilder flow("sum");
  std::vector<std::string> names;
  for (const int number : numbers) {
    names.push_back(flow.node("square-" + std::to_string(number), "square", number).name());
  }
  flow.node("total", "total").after(names);
  return flow.tag("app.team", "maths").build();
}

void teach(Worker& worker) {
  worker.on("square", [](int number) { return number * number; });
  worker.on("total", [](Task& task) {
    int total = 0;
    for (const FlowInput& input : task.inputs()) total += task.input_from<int>(input.name);
    return total;
  });
  worker.on("broken", [](Task&) { throw PermanentFailure("no luck", "broken"); });
}

TEST_P(FlowsOfClients, OutputsAreValues) {
  Worker worker(client_, quick());
  teach(worker);
  must(worker.start());
  const FlowId flow = must(client_.submit_flow(sum_of({1, 2, 3}))).flow_id;
  EXPECT_EQ(must(client_.flow_output<int>(flow, "total", 60s)), 14);
  EXPECT_EQ(must(client_.flow_output<int>(flow, "square-3", 60s)), 9) << "a node with outgoing edges";
  EXPECT_EQ(must(client_.flow_output<Bytes>(flow, "total", 60s)), (Bytes{"14", "json"}));
  const auto unknown = client_.flow_output<int>(flow, "mean", 60s);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::not_found);
  EXPECT_NE(unknown.error().message.find("has no node \"mean\""), std::string::npos) << unknown.error().message;
  const auto other_type = client_.flow_output<std::vector<int>>(flow, "total", 60s);
  ASSERT_FALSE(other_type);
  EXPECT_EQ(other_type.error().field, "result");
}

TEST_P(FlowsOfClients, AreListedAndRead) {
  const FlowId first = must(client_.submit_flow(sum_of({1}))).flow_id;
  const FlowId second = must(client_.submit_flow(sum_of({1, 2}))).flow_id;
  ListFlowsRequest request;
  request.kind = "sum";
  request.states = {FlowState::running, FlowState::failed};
  request.tag = {"app.team", "maths"};
  request.limit = 1;
  const auto page = must(client_.list_flows(request));
  ASSERT_EQ(page.flows.size(), 1u);
  request.cursor = page.next_cursor;
  const auto rest = must(client_.list_flows(request));
  ASSERT_EQ(rest.flows.size(), 1u);
  EXPECT_EQ((std::set{page.flows[0].flow_id, rest.flows[0].flow_id}), (std::set{first, second}));
  EXPECT_EQ(rest.next_cursor, "");

  const auto nodes = must(client_.flow_nodes(second, {}, 2));
  ASSERT_EQ(nodes.nodes.size(), 2u);
  EXPECT_EQ(nodes.nodes[0].name, "square-1");
  EXPECT_EQ(must(client_.flow_nodes(second, nodes.next_cursor)).nodes.at(0).name, "total");
  const auto graph = must(client_.flow_graph(second));
  EXPECT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.edges.size(), 2u);
  ListRequest members;
  members.flow = second.uuid;
  EXPECT_EQ(must(client_.list(members)).executions.size(), 3u);
  EventFilter filter;
  filter.flow_id = second;
  const auto events = must(client_.events(filter, "earliest", 10, 0ms));
  ASSERT_EQ(events.events.size(), 1u);
  EXPECT_EQ(events.events[0].type, EventType::flow_submitted);
}

TEST_P(FlowsOfClients, AreOpenUntilTheyAreSealed) {
  Worker worker(client_, quick());
  teach(worker);
  must(worker.start());
  const FlowId flow = must(client_.open_flow(FlowBuilder("sum").build())).flow_id;
  const FlowRequest sum = sum_of({1, 2});
  const FlowAdded added = must(client_.add_to_flow(flow, {.nodes = sum.nodes, .edges = sum.edges}));
  EXPECT_EQ(added.flow_id, flow);
  EXPECT_EQ(added.state, FlowState::building);
  EXPECT_EQ(added.added_nodes, 3u);
  EXPECT_EQ(added.added_edges, 2u);
  EXPECT_EQ(ended(added.nodes.at(2).execution_id).result, "5") << "its nodes run while it is open";

  const auto unknown = client_.add_to_flow(flow, {.edges = {{"total", "mean"}}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::invalid_argument);
  EXPECT_EQ(unknown.error().field, "edges[0].to");

  ASSERT_TRUE(eventually([&] { return must(client_.get_flow(flow)).summary.counts.pending == 0; }));
  const FlowSealed sealed = must(client_.seal_flow(flow, "nothing more comes"));
  EXPECT_EQ(sealed, (FlowSealed{flow, FlowState::completed, false}));
  EXPECT_EQ(must(client_.seal_flow(flow)), (FlowSealed{flow, FlowState::completed, true}));
  const auto late = client_.add_to_flow(flow, {.nodes = {{"mean", Client::make_request("total", {})}}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::already_terminal);
  EventFilter filter;
  filter.flow_id = flow;
  filter.types = {EventType::flow_sealed};
  const auto events = must(client_.events(filter, "earliest", 10, 0ms));
  ASSERT_EQ(events.events.size(), 1u);
  EXPECT_EQ(events.events[0].reason, "nothing more comes");
}

TEST_P(FlowsOfClients, ThatAreSealedRefuseAdditions) {
  const FlowId flow = must(client_.open_flow(sum_of({1}))).flow_id;
  EXPECT_EQ(must(client_.seal_flow(flow)).state, FlowState::running);
  const auto late = client_.add_to_flow(flow, {.nodes = {{"mean", Client::make_request("total", {})}}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::conflict);
  const auto nowhere = client_.seal_flow(FlowId{flow.partition, {}});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Errc::not_found);
}

TEST_P(FlowsOfClients, AFailureIsNamed) {
  Worker worker(client_, quick());
  teach(worker);
  must(worker.start());
  FlowBuilder flow("sum");
  flow.node("bad", "broken");
  flow.node("total", "total").after("bad");
  const FlowId id = must(client_.submit_flow(flow.build())).flow_id;
  const auto output = client_.flow_output<int>(id, "total", 60s);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, Errc::already_terminal);
  EXPECT_NE(output.error().message.find("ended as failed: node \"bad\""), std::string::npos) << output.error().message;

  FlowBuilder handled("sum");
  handled.node("bad", "broken");
  handled.node("instead", "square", 5).after_failure_of("bad");
  const FlowId second = must(client_.submit_flow(handled.build())).flow_id;
  EXPECT_EQ(must(client_.wait_flow(second, 60s)).state, FlowState::completed);
  const auto skipped = client_.flow_output<int>(second, "bad", 60s);
  ASSERT_FALSE(skipped);
  EXPECT_EQ(skipped.error().code, Errc::already_terminal);
}

}  // namespace
}  // namespace flowfabric::sdk_test
