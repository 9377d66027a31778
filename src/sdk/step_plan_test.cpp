#include "sdk/step_plan.hpp"

#include <gtest/gtest.h>

namespace flowfabric::sdk {
namespace {

std::optional<std::uint32_t> misfit(const std::vector<std::string>& plan, const StepPlan::Names& names) {
  return StepPlan::create(plan).value().misfit(names);
}

TEST(StepPlan, RecordedStepsAreTheBeginningOfThePlan) {
  const std::vector<std::string> plan = {"reserve", "charge", "ship"};
  EXPECT_EQ(misfit(plan, {}), std::nullopt);
  EXPECT_EQ(misfit(plan, {"reserve", "charge"}), std::nullopt);
  EXPECT_EQ(misfit(plan, {"reserve", "charge", "ship"}), std::nullopt);
  EXPECT_EQ(misfit(plan, {"charge"}), 1u);
  EXPECT_EQ(misfit(plan, {"reserve", "ship"}), 2u);
  EXPECT_EQ(misfit(plan, {"reserve", "charge", "ship", "mail"}), 4u);
  EXPECT_EQ(misfit({}, {"reserve"}), 1u);
}

TEST(StepPlan, WhatMayBeLeftOutOrRepeated) {
  const std::vector<std::string> plan = {"read", "part*", "retry?", "part", "end"};
  EXPECT_EQ(misfit(plan, {"read", "part", "end"}), std::nullopt);
  EXPECT_EQ(misfit(plan, {"read", "part", "part#2", "part#3", "end"}), std::nullopt);
  EXPECT_EQ(misfit(plan, {"read", "part", "retry", "part#2", "end"}), std::nullopt);
  EXPECT_EQ(misfit(plan, {"read", "retry", "retry#2"}), 3u);
  EXPECT_EQ(misfit(plan, {"read", "end"}), 2u);
}

TEST(StepPlan, PositionThatIsNotRecordedFitsAnyOneStep) {
  EXPECT_EQ(misfit({"a", "b", "c"}, {"a", std::nullopt, "c"}), std::nullopt);
  EXPECT_EQ(misfit({"a", "b", "c"}, {"a", std::nullopt, "b"}), 3u);
  EXPECT_EQ(names_by_position({{.position = 2, .name = "b"}}), (StepPlan::Names{std::nullopt, "b"}));
}

TEST(StepPlan, NumbersOfRepeatsAreNotPartOfTheName) {
  EXPECT_EQ(name_without_number("part#12"), "part");
  for (const char* name : {"part", "part#", "#1", "part#1a"}) EXPECT_EQ(name_without_number(name), name);
}

TEST(StepPlan, DocumentsAreReadAsTheyWereWritten) {
  const auto plans = parse_step_plans(to_document({{"order", {"charge", "part*"}}, {"nothing", {}}})).value();
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans.at("order").text(), "charge, part*");
  EXPECT_EQ(plans.at("nothing").text(), "no steps");
}

TEST(StepPlan, WrongDocumentsAreRefusedWithAnExample) {
  for (const char* document : {"", "[]", "{}", R"({"kinds": {"a": "b"}})", R"({"kinds": {"a": [1]}})"}) {
    const auto refused = parse_step_plans(document);
    ASSERT_FALSE(refused) << document;
    EXPECT_NE(refused.error().message.find("expected is"), std::string::npos) << refused.error().message;
  }
  const auto unnamed = parse_step_plans(R"({"kinds": {"order": ["*"]}})");
  ASSERT_FALSE(unnamed);
  EXPECT_NE(unnamed.error().message.find("kind \"order\": steps: \"*\" is not a name"), std::string::npos);
}

}  // namespace
}  // namespace flowfabric::sdk
