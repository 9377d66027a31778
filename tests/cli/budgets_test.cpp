// The commands for budgets, on a store and through a server.
#include <stdexcept>

#include <gtest/gtest.h>

#include "cli/fixture.hpp"

namespace flowfabric::cli_test {
namespace {

class Budgets : public OnAStore {
 protected:
  void spend(std::int64_t tokens) const {
    const auto engine = open_engine();
    CreateRequest create;
    create.kind = "agent";
    if (!engine->create(std::move(create))) throw std::runtime_error("not created");
    const auto claimed = engine->claim({.worker_id = "w", .worker_instance_id = "w-1"});
    if (!claimed || claimed->empty()) throw std::runtime_error("not claimed");
    const auto spent = engine->spend(claimed->at(0).handle, {{{"tokens", tokens}}, {}, false});
    if (!spent) throw std::runtime_error(spent.error().message);
  }
  std::int64_t spent() const {
    const auto shown = run_json({"budgets", "show", "b"});
    return shown.at("keys").at(0).at("budget").at("dimensions").at(0).at("spent").to_number<std::int64_t>();
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, Budgets, testing::ValuesIn(all_ways()), way_name);

TEST_P(Budgets, AreSetShownChangedAndRemoved) {
  EXPECT_NE(run({"budgets", "list"}).out.find("no budgets"), std::string::npos);
  const Finished made = run({"budgets", "set", "b", "--hard", "tokens=100", "--soft", "tokens=80", "--period", "1d"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("budget b was created"), std::string::npos) << made.out;
  EXPECT_NE(run({"budgets", "set", "b", "--hard", "tokens=100", "--soft", "tokens=80", "--period", "1d"})
                .out.find("like this already"),
            std::string::npos);
  EXPECT_NE(run({"budgets", "show", "b"}).out.find("nothing has been spent"), std::string::npos);
  spend(90);
  EXPECT_EQ(spent(), 90);
  EXPECT_NE(run({"budgets", "list"}).out.find("tokens"), std::string::npos);
  EXPECT_NE(run({"budgets", "forecast", "b"}).out.find("PER HOUR"), std::string::npos);
  EXPECT_NE(
      run({"budgets", "adjust", "b", "--by-amount", "tokens=-20"}).out.find("tokens: 70 spent, 0 reserved of 100"),
      std::string::npos);
  EXPECT_EQ(run({"budgets", "reset", "b", "--yes"}).code, 0);
  EXPECT_EQ(spent(), 0);
  EXPECT_EQ(run({"budgets", "resume", "b"}).code, 0);
  EXPECT_NE(run({"budgets", "remove", "b", "--yes"}).out.find("budget b was removed"), std::string::npos);
  EXPECT_NE(run({"budgets", "list"}).out.find("no budgets"), std::string::npos);
}

TEST_P(Budgets, WrongOptionsAreRefused) {
  const auto refuses = [&](const Words& words, const std::string& message) {
    const Finished finished = run(words);
    EXPECT_NE(finished.code, 0);
    EXPECT_NE(finished.err.find(message), std::string::npos) << finished.err;
  };
  refuses({"budgets", "set", "b"}, "--hard: is missing");
  refuses({"budgets", "set", "b", "--hard", "tokens"}, "allowed: NAME=N, like tokens=1000");
  refuses({"budgets", "set", "b", "--hard", "tokens=0"}, "budget.dimensions[0].hard: is 0");
  refuses({"budgets", "set", "b", "--hard", "tokens=5", "--on-hard-limit", "explode"},
          "--on-hard-limit: unknown value \"explode\"");
  refuses({"budgets", "set", "b", "--hard", "tokens=5", "--period", "soon"}, "budget.period");
  refuses({"budgets", "show", "b"}, "there is no limit \"b\"");
}

}  // namespace
}  // namespace flowfabric::cli_test
