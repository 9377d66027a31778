// What users test their handlers with.
#include <flowfabric/testing.hpp>

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace flowfabric::sdk_test {
namespace {

using namespace std::chrono_literals;

TEST(TestingEngine, runs_a_handler_with_a_sleep_of_three_hours_at_once) {
  testing::Engine engine;
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
  testing::Engine engine;
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
  testing::Engine engine;
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
  const auto count = testing::crash_everywhere([&](testing::Engine& engine) {
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
  const auto scenario = [](testing::Engine& engine) {
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
  testing::Engine engine;
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
    testing::Engine engine({.seed = seed});
    engine.on("one", [](Task& task) { return to_string(task.id()); });
    const auto id = engine.submit("one", Json());
    engine.run();
    return engine.result<std::string>(id);
  };
  EXPECT_EQ(value(7), value(7));
  EXPECT_NE(value(7), value(8));
}

TEST(TestingEngine, cancellation_between_two_runs_ends_it) {
  testing::Engine engine;
  engine.on("nap", [](Task& task) { task.sleep("long", 24h); });
  const auto id = engine.submit("nap", Json());
  engine.run();
  engine.cancel(id, "no longer wanted");
  engine.advance(48h);
  EXPECT_EQ(engine.outcome(id).outcome, Outcome::cancelled);
}

// ---------------------------------------------------------------- signals

TEST(TestingEngine, signal_wakes_a_handler_that_waits) {
  testing::Engine engine;
  engine.on("order", [](Task& task) { return task.wait_for_signal<int>("paid", 24h).value_or(-1); });
  const auto paid = engine.submit("order", Json()), late = engine.submit("order", Json());
  engine.run();
  EXPECT_EQ(engine.get(paid).summary.public_state, PublicState::suspended);
  EXPECT_EQ(engine.waits(paid).waitpoints.at(0).name, "paid");
  engine.advance(23h);
  EXPECT_EQ(engine.signal(paid, "paid", 7).effect, SignalEffect::resumed);
  engine.advance(1h);
  EXPECT_EQ(engine.result<int>(paid), 7);
  EXPECT_EQ(engine.result<int>(late), -1);
  EXPECT_THROW(engine.signal(late, "paid", 7), std::runtime_error);
}

TEST(TestingEngine, approvals_tokens_and_operators_are_there) {
  testing::Engine engine;
  std::string token;
  engine.on("order", [&](Task& task) {
    task.step("open", [&] { token = task.open_waitpoint("go").token; });
    task.wait_for_signal("go");
    const bool first = task.approval({.name = "first", .title = "?", .needed = 2}).approved();
    const bool second = task.approval({.name = "second", .title = "?"}).rejected();
    return first && second && !task.wait_for_signal("never", 24h);
  });
  const auto id = engine.submit("order", Json());
  engine.run();
  engine.send_signal_by_token(token);
  engine.run();
  engine.approve(id, "first", "ada");
  EXPECT_EQ(engine.approve(id, "first", "bob", "fine").effect, SignalEffect::resumed);
  engine.run();
  engine.reject(id, "second", "cyd");
  engine.run();
  engine.resume(id, "enough");
  engine.run();
  EXPECT_TRUE(engine.result<bool>(id));
}

TEST(TestingEngine, crash_at_any_boundary_of_a_wait_changes_nothing) {
  const auto count = testing::crash_everywhere([](testing::Engine& engine) {
    std::set<std::string> tokens;
    engine.on("order", [&](Task& task) {
      task.step("ask", [&] { tokens.insert(task.open_waitpoint("paid").token); });
      const int paid = task.wait_for_signal<int>("paid");
      const int early = task.wait_for_signal<int>("early");
      const auto never = task.wait_for_signal("never", 24h);
      return paid * 10 + early + (never ? 100 : 0);
    });
    const auto id = engine.submit("order", Json());
    engine.signal(id, "early", 2);
    engine.run();
    ASSERT_EQ(tokens.size(), 1u);
    engine.send_signal_by_token(*tokens.begin(), {.payload = "4"});
    engine.run_until_ended(id);
    ASSERT_EQ(engine.outcome(id).outcome, Outcome::success);
    ASSERT_EQ(engine.result<int>(id), 42);
    ASSERT_EQ(tokens.size(), 1u);
  });
  EXPECT_EQ(count, 10u) << "four steps with two boundaries each, the end, and the run without a crash";
}

TEST(TestingEngine, every_message_is_seen_once_whatever_crashes) {
  testing::crash_everywhere([](testing::Engine& engine) {
    engine.on("inbox", [](Task& task) {
      std::vector<int> got;
      while (got.size() < 5) got.push_back(task.wait_for_signal<int>("message"));
      return got;
    });
    const auto id = engine.submit("inbox", Json());
    engine.signal(id, "message", 0);
    engine.signal(id, "message", 1);
    engine.run();
    for (const int i : {2, 3, 4}) engine.signal(id, "message", i);
    engine.run_until_ended(id);
    ASSERT_EQ(engine.result<std::vector<int>>(id), (std::vector<int>{0, 1, 2, 3, 4}));
  });
}

TEST(TestingEngine, early_signals_at_an_approval_count_only_as_decisions_of_people) {
  testing::Engine engine;
  engine.on("order", [](Task& task) {
    const auto result = task.approval({.title = "?", .approvers = {"ada", "bob"}, .needed = 2});
    return result.approved() && result.decisions.size() == 2;
  });
  const auto id = engine.submit("order", Json());
  engine.send_signal(id, {.waitpoint = "approval", .name = "approve"});                   // of nobody
  engine.send_signal(id, {.waitpoint = "approval", .name = "approve", .source = "ada"});  // counts
  engine.send_signal(id, {.waitpoint = "approval", .name = "reject", .source = "ada"});   // the same person again
  engine.send_signal(id, {.waitpoint = "approval", .name = "reject", .source = "eve"});   // may not decide
  engine.send_signal(id, {.waitpoint = "approval", .name = "hello", .source = "bob"});    // decides nothing
  engine.run();
  const auto open = engine.waits(id).waitpoints;
  ASSERT_EQ(open.size(), 1u) << "it waits for bob";
  ASSERT_EQ(open[0].approval->decisions.size(), 1u);
  EXPECT_EQ(open[0].approval->decisions[0].actor, "ada");
  engine.approve(id, "approval", "bob");
  engine.run();
  EXPECT_TRUE(engine.result<bool>(id));
}

TEST(TestingEngine, signals_at_a_waitpoint_that_becomes_an_approval_count_only_as_decisions) {
  testing::Engine engine;
  engine.on("order", [](Task& task) {
    task.step("open", [&] { task.open_waitpoint("approval"); });
    task.wait_for_signal("go");
    return task.approval({.title = "?"}).decisions.at(0).actor;
  });
  const auto id = engine.submit("order", Json());
  engine.run();
  engine.send_signal(id, {.waitpoint = "approval", .name = "approve"});
  engine.send_signal(id, {.waitpoint = "approval", .name = "approval", .source = "bob"});
  engine.send_signal(id, {.waitpoint = "go"});
  engine.run();
  EXPECT_TRUE(engine.waits(id).waitpoints.at(0).approval->decisions.empty());
  engine.approve(id, "approval", "bob");
  engine.run();
  EXPECT_EQ(engine.result<std::string>(id), "bob");
}

TEST(TestingEngine, signals_by_name_at_a_waitpoint_that_was_opened_ahead_are_kept_for_later_waits) {
  testing::Engine engine;
  engine.on("inbox", [](Task& task) {
    task.step("open", [&] { task.open_waitpoint("message"); });
    task.wait_for_signal("go");
    std::vector<int> got;
    while (got.size() < 3) got.push_back(task.wait_for_signal<int>("message"));
    return got;
  });
  const auto id = engine.submit("inbox", Json());
  engine.run();
  for (const int i : {0, 1, 2}) EXPECT_EQ(engine.signal(id, "message", i).effect, SignalEffect::kept);
  engine.send_signal(id, {.waitpoint = "go"});
  engine.run();
  EXPECT_EQ(engine.result<std::vector<int>>(id), (std::vector<int>{0, 1, 2}));
}

TEST(TestingEngine, wait_for_very_many_sources_at_one_waitpoint_ends) {
  constexpr std::uint32_t count = 150;
  testing::Engine engine;
  engine.on("vote", [](Task& task) {
    SuspendRequest request;
    request.waitpoints = {{.name = "vote"}};
    request.condition.emplace().count = SignalCount{count, CountBy::sources, {{.waitpoint = "vote"}}};
    return static_cast<int>(task.wait(std::move(request)).signals.size());
  });
  const auto id = engine.submit("vote", Json());
  engine.run();
  for (std::uint32_t i = 0; i < count; ++i) {
    engine.send_signal(id, {.waitpoint = "vote", .source = "voter-" + std::to_string(i)});
  }
  engine.run();
  EXPECT_EQ(engine.result<int>(id), static_cast<int>(count));
}

}  // namespace
}  // namespace flowfabric::sdk_test
