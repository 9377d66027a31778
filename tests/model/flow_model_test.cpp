// Random flows end on every store as the rules of docs/flows.md say, and are as they say after every step.
//
// FF_MODEL_SEED and FF_MODEL_FLOWS choose other flows than the usual ones, and how many on memory. With FF_MODEL_SHRINK=0 a
// difference is shown in the flow in which it was found: to find a small one can take minutes.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "model/flow_play.hpp"

namespace flowfabric::test {
namespace {

constexpr int most_nodes = 25;
constexpr int most_edges = 60;
constexpr int most_steps = 60;
constexpr int most_flow_nodes = 7;

rc::Gen<std::uint32_t> number_below(std::uint32_t n) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, n));
}

rc::Gen<std::vector<std::uint32_t>> numbers(int most, std::uint32_t n) {
  return rc::gen::resize(most, rc::gen::container<std::vector<std::uint32_t>>(number_below(n)));
}

// About half of the flows have none.
rc::Gen<std::vector<std::uint32_t>> flow_nodes() {
  return rc::gen::oneOf(rc::gen::just(std::vector<std::uint32_t>{}),
                        numbers(most_flow_nodes, std::numeric_limits<std::uint32_t>::max()));
}

rc::Gen<std::vector<Step>> flow_steps() {
  const auto step = rc::gen::map(
      rc::gen::tuple(number_below(flow_verb_count), number_below(100000), number_below(5040)),
      [](const std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>& chosen) {
        return Step{static_cast<std::uint8_t>(std::get<0>(chosen)), std::get<1>(chosen), std::get<2>(chosen)};
      });
  return rc::gen::resize(most_steps, rc::gen::container<std::vector<Step>>(step));
}

std::uint64_t number_from(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

FlowPlayFigures compare_with_rules(StoreKindId kind, std::uint64_t flows) {
  FlowPlayFigures figures;
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = "as the rules say";
  rc::detail::TestParams params;
  params.seed = number_from("FF_MODEL_SEED", 20240501);
  params.disableShrinking = number_from("FF_MODEL_SHRINK", 1) == 0;
  params.maxSuccess = static_cast<int>(flows);
  const auto result = rc::detail::checkTestable(
      [&] {
        FlowNumbers flow;
        flow.nodes = *numbers(most_nodes, flow_node_numbers);
        flow.edges = *numbers(most_edges, 100000);
        flow.rules = *number_below(1000000);
        flow.flows = *flow_nodes();
        const auto steps = *flow_steps();
        const std::string difference = play_flow(kind, flow, steps, figures);
        if (!difference.empty()) RC_FAIL(difference);
      },
      metadata, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
  std::printf("%zu flows with %zu nodes, %zu comparisons; %zu completed, %zu failed, %zu cancelled, %zu deadlines\n",
              figures.flows, figures.nodes, figures.comparisons, figures.completed, figures.failed, figures.cancelled,
              figures.deadlines);
  std::printf("%zu have flow nodes, %zu two deep; %zu replays with %zu nodes that ran again and %zu that did not\n",
              figures.nested, figures.two_deep, figures.replays, figures.replayed, figures.kept);
  std::printf("%zu were built step by step, with %zu additions and %zu edges to nodes that existed\n", figures.opened,
              figures.additions, figures.late_edges);
  return figures;
}

TEST(FlowModel, FlowsOnMemoryAreAsTheRulesSay) {
  auto figures = compare_with_rules(StoreKindId::memory, number_from("FF_MODEL_FLOWS", 600));
  // Otherwise the plays would not show much.
  EXPECT_GT(figures.completed, 0u);
  EXPECT_GT(figures.failed, 0u);
  EXPECT_GT(figures.cancelled, 0u);
  EXPECT_GT(figures.skipped, 0u);
  EXPECT_GT(figures.cancelled_running, 0u);
  EXPECT_GT(figures.deadlines, 0u);
  EXPECT_GT(figures.fenced, 0u);
  EXPECT_GT(figures.nested, figures.flows / 3);
  EXPECT_GT(figures.two_deep, figures.flows / 20);
  EXPECT_GT(figures.opened, figures.flows / 5);
  EXPECT_GT(figures.additions, figures.opened);
  EXPECT_GT(figures.late_edges, 0u);
  EXPECT_GT(figures.replays, figures.flows / 2);
  EXPECT_GT(figures.replayed, 0u);
  EXPECT_GT(figures.kept, 0u);
  for (const Outcome outcome :
       {Outcome::success, Outcome::failed, Outcome::cancelled, Outcome::expired, Outcome::skipped}) {
    EXPECT_GT(figures.flow_nodes[outcome], 0u) << to_string(outcome);
  }
}

TEST(FlowModel, FlowsOnSqliteAreAsTheRulesSay) { compare_with_rules(StoreKindId::sqlite, 40); }

TEST(FlowModel, FlowsOnPostgresAreAsTheRulesSay) { compare_with_rules(StoreKindId::postgres, 15); }

}  // namespace
}  // namespace flowfabric::test
