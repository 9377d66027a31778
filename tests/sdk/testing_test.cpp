// What users test their handlers with.
#include <flowfabric/testing.hpp>

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace flowfabric::sdk_test {
namespace {

using namespace std::chrono_literals;
using testing::Engine;

TEST(TestingEngine, runs_a_handler_with_a_sleep_of_three_hours_at_once) {
  Engine engine;
  engine.on("nap", [](Task& task) {
    const TimestampMs before = task.now();
    task.sleep("cool-off", 3h);
    return task.now() - before;
  });
  const auto id = engine.submit("nap", Json());
  engine.run();
  EXPECT_EQ(engine.get(id).summary.public_state, PublicState::delayed);
  engine.advance(2h);
  EXPECT_EQ(engine.get(id).summary.public_state, PublicState::delayed);
  engine.advance(1h);
  EXPECT_GE(engine.result<std::int64_t>(id), std::chrono::milliseconds(3h).count());
}

TEST(TestingEngine, crash_after_a_step_runs_the_rest_in_a_new_attempt) {
  Engine engine;
  std::map<std::string, int> ran;
  engine.on("order", [&](Task& task) {
    for (const char* name : {"reserve", "charge", "ship"}) task.step(name, [&] { ++ran[name]; });
    return static_cast<int>(task.attempt_index());
  });
  engine.crash_after("charge");
  const auto id = engine.submit("order", Json());
  engine.run();
  EXPECT_EQ(engine.result<int>(id), 1);
  EXPECT_EQ(ran, (std::map<std::string, int>{{"charge", 1}, {"reserve", 1}, {"ship", 1}}));
  EXPECT_EQ(engine.crashes(), 1u);
}

TEST(TestingEngine, crash_before_a_step_is_recorded_runs_its_work_again) {
  Engine engine;
  std::map<std::string, int> ran;
  engine.on("order", [&](Task& task) {
    for (const char* name : {"reserve", "charge", "ship"}) task.step(name, [&] { ++ran[name]; });
  });
  engine.crash_before("charge");
  const auto id = engine.submit("order", Json());
  engine.run();
  EXPECT_EQ(engine.outcome(id).outcome, Outcome::success);
  EXPECT_EQ(ran, (std::map<std::string, int>{{"charge", 2}, {"reserve", 1}, {"ship", 1}}));
}

TEST(TestingEngine, crash_everywhere_comes_by_every_boundary) {
  int runs = 0;
  std::set<int> charges;
  const auto count = testing::crash_everywhere([&](Engine& engine) {
    ++runs;
    int charged = 0;
    engine.on("order", [&](Task& task) {
      const int receipt = task.step("charge", [&] { return ++charged; });
      task.sleep("wait", 24h);
      task.step("ship", [] {});
      return receipt;
    });
    const auto id = engine.submit("order", Json());
    engine.run_until_ended(id);
    EXPECT_EQ(engine.outcome(id).outcome, Outcome::success);
    // Whatever crashed: what is recorded is one of the receipts, and the same in the record and in the result.
    EXPECT_EQ(engine.result<int>(id), std::stoi(engine.steps(id).front().result));
    charges.insert(charged);
  });
  EXPECT_EQ(count, 8u) << "three steps with two boundaries each, the end, and the run without a crash";
  EXPECT_EQ(runs, 8);
  EXPECT_EQ(charges, (std::set<int>{1, 2}));
}

TEST(TestingEngine, failure_of_the_scenario_names_the_boundary) {
  const auto scenario = [](Engine& engine) {
    int ran = 0;
    engine.on("order", [&](Task& task) { task.step("charge", [&] { ++ran; }); });
    engine.run_until_ended(engine.submit("order", Json()));
    if (ran != 1) throw std::runtime_error("charged twice");
  };
  try {
    testing::crash_everywhere(scenario);
    FAIL() << "the second charge went unnoticed";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "with a crash at boundary 0 of 3: charged twice");
  }
}

TEST(TestingEngine, retries_and_backoffs_pass_in_virtual_time) {
  Engine engine;
  int tries = 0;
  engine.on("flaky", [&](Task& task) {
    return task.step("call",
                     [&] {
                       if (++tries < 4) throw std::runtime_error("busy");
                       return tries;
                     },
                     {.max_retries = 10, .initial_delay = 1h, .max_delay = 24h});
  });
  const auto id = engine.submit("flaky", Json());
  // The handler rests for hours of virtual time; its lease, which nobody renews here, is lost and tried again.
  engine.run_until_ended(id);
  EXPECT_EQ(engine.outcome(id).outcome, Outcome::success);
}

TEST(TestingEngine, same_seed_gives_the_same_run) {
  const auto value = [](std::uint64_t seed) {
    Engine engine({.seed = seed});
    engine.on("one", [](Task& task) { return to_string(task.id()); });
    const auto id = engine.submit("one", Json());
    engine.run();
    return engine.result<std::string>(id);
  };
  EXPECT_EQ(value(7), value(7));
  EXPECT_NE(value(7), value(8));
}

TEST(TestingEngine, cancellation_between_two_runs_ends_it) {
  Engine engine;
  engine.on("nap", [](Task& task) { task.sleep("long", 24h); });
  const auto id = engine.submit("nap", Json());
  engine.run();
  engine.cancel(id, "no longer wanted");
  engine.advance(48h);
  EXPECT_EQ(engine.outcome(id).outcome, Outcome::cancelled);
}

}  // namespace
}  // namespace flowfabric::sdk_test
