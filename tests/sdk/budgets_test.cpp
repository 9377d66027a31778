// What real workers spend, in every home, and on virtual time.
#include <flowfabric/testing.hpp>

#include "sdk/home.hpp"

namespace flowfabric::sdk_test {
namespace {

LimitRequest tokens(std::int64_t hard, std::int64_t reserve = 0) {
  LimitRequest request;
  request.name = "tokens";
  request.budget = BudgetSpec{};
  request.budget->dimensions = {{"money", {}, {}, 0}, {"tokens", hard, hard / 2, reserve}};
  return request;
}

class BudgetsTest : public SdkTest {
 protected:
  std::int64_t spent(const std::string& dimension = "tokens") {
    const auto use = must(client_.list_limit_use({{{}, "tokens"}, {}, 10}));
    for (const DimensionUse& one : use.keys.at(0).budget->dimensions) {
      if (one.name == dimension) return one.spent;
    }
    return -1;
  }
};

INSTANTIATE_TEST_SUITE_P(, BudgetsTest, ::testing::Values("memory", "sqlite", "postgres", "http"),
                         [](const auto& home) { return home.param; });

TEST_P(BudgetsTest, a_task_spends_until_it_is_stopped) {
  must(client_.set_limit(tokens(100)));
  Worker worker(client_, quick());
  worker.on("agent", [&](Task& task) {
    std::int64_t calls = 0;
    try {
      for (;; ++calls) {
        const SpendReply reply = task.spend("tokens", 30);
        EXPECT_EQ(reply.warning() != nullptr, calls >= 1);
      }
    } catch (const BudgetExceeded& over) {
      EXPECT_EQ(over.budget(), "tokens");
      EXPECT_EQ(over.dimension(), "tokens");
      EXPECT_EQ(over.spent(), 90);
      EXPECT_EQ(over.limit(), 100);
    }
    EXPECT_THROW(task.spend("toknes", 1), std::invalid_argument);
    EXPECT_THROW(task.spend("tokens", -1), std::invalid_argument);
    task.spend({{"tokens", 10}, {"money", 3}}, {.key = "last"});
    EXPECT_TRUE(task.spend({{"tokens", 10}, {"money", 3}}, {.key = "last"}).repeated);
    EXPECT_TRUE(task.spend("tokens", 7, {.key = {}, .force = true}).balances.at(0).overdrawn);
    return calls;
  });
  must(worker.start());
  const auto id = submit("agent");
  EXPECT_EQ(must(client_.result<std::int64_t>(id, 60s)), 3);
  EXPECT_EQ(spent(), 107);
  EXPECT_EQ(spent("money"), 3);
  ChangeBudgetRequest adjustment;
  adjustment.name = "tokens";
  adjustment.change = BudgetChange::adjust;
  adjustment.amounts = {{"tokens", -7}};
  EXPECT_EQ(must(client_.change_budget(adjustment, "refund")).dimensions.at(1).spent, 100);
}

TEST_P(BudgetsTest, a_task_that_lets_it_pass_fails_with_the_category) {
  must(client_.set_limit(tokens(10)));
  Worker worker(client_, quick());
  worker.on("agent", [&](Task& task) { task.spend("tokens", 11); });
  must(worker.start());
  const auto id = submit("agent");
  const auto result = client_.result<Json>(id, 60s);
  EXPECT_FALSE(result);
  const auto described = must(client_.get(id));
  ASSERT_TRUE(described.failure);
  EXPECT_EQ(described.failure->category, "budget_exceeded");
}

TEST(TestingBudgets, a_step_that_runs_again_counts_once) {
  testing::Engine engine;
  engine.set_limit(tokens(100));
  int runs = 0;
  engine.on("agent", [&](Task& task) {
    task.step("ask", [&] {
      ++runs;
      task.spend("tokens", 20);
      task.spend("tokens", 5);
    });
    task.spend("tokens", 1);
  });
  engine.crash_before("ask");
  engine.submit("agent", Json());
  engine.submit("agent", Json());
  engine.run();
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(engine.limit_use({{}, "tokens"}).at(0).budget->dimensions.at(1).spent, 52);
}

TEST(TestingBudgets, what_waits_goes_on_when_the_budget_is_reset) {
  testing::Engine engine;
  engine.set_limit(tokens(50, 50));
  engine.on("agent", [&](Task& task) { task.spend("tokens", 50); });
  engine.submit("agent", Json());
  const auto second = engine.submit("agent", Json());
  engine.run();
  EXPECT_EQ(engine.get(second).state.blocking_reason, BlockingReason::waiting_for_budget);
  ChangeBudgetRequest reset;
  reset.name = "tokens";
  engine.change_budget(reset);
  engine.run();
  EXPECT_EQ(engine.get(second).summary.public_state, PublicState::completed);
}

}  // namespace
}  // namespace flowfabric::sdk_test
