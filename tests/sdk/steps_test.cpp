// Durable steps of real workers, in every home.
#include <mutex>
#include <set>

#include "sdk/home.hpp"

namespace flowfabric::sdk_test {
namespace {

FF_SDK_SUITE(StepsTest);

std::vector<std::string> names(const std::vector<Step>& steps) {
  std::vector<std::string> out;
  for (const Step& step : steps) out.push_back(step.name);
  return out;
}

TEST_P(StepsTest, recorded_step_is_not_run_again_when_the_attempt_is_retried) {
  Worker worker(client_, quick());
  std::atomic<int> charged{0}, shipped{0};
  worker.on("order", [&](Task& task) {
    const int charge = task.step("charge", [&] { return ++charged * 100; });
    const std::string parcel = task.step("ship", [&] {
      if (++shipped == 1) throw std::runtime_error("no stamps");
      return std::string("parcel");
    });
    task.step("note", [] {});
    return Json{{"charge", charge}, {"parcel", parcel}};
  });
  must(worker.start());
  const auto id = submit("order", {}, {.policy = retries(3)});
  const auto result = must(client_.result<Json>(id, 60s));
  EXPECT_EQ(result.at("charge").as_integer(), 100);
  EXPECT_EQ(charged, 1);
  EXPECT_EQ(shipped, 2);
  const auto steps = must(client_.steps(id)).steps;
  EXPECT_EQ(names(steps), (std::vector<std::string>{"charge", "ship", "note"}));
  EXPECT_EQ(steps[0].attempt_index, 0u);
  EXPECT_EQ(steps[1].attempt_index, 1u);
  EXPECT_EQ(steps[1].state, StepState::succeeded);
  EXPECT_EQ(steps[0].result, "100");
  EXPECT_EQ(steps[0].result_encoding, "json");
  EXPECT_EQ(steps[0].worker_instance_id, worker.worker_instance_id());
}

TEST_P(StepsTest, step_retries_by_its_own_options_and_its_tries_are_recorded) {
  Worker worker(client_, quick());
  std::atomic<int> tries{0};
  worker.on("call", [&](Task& task) {
    return task.step("fetch",
                     [&] {
                       if (++tries < 3) throw std::runtime_error("again");
                       return 7;
                     },
                     {.max_retries = 5, .initial_delay = 1ms});
  });
  must(worker.start());
  const auto id = submit("call");
  EXPECT_EQ(must(client_.result<int>(id, 60s)), 7);
  EXPECT_EQ(must(client_.steps(id)).steps.front().tries, 3u);
}

TEST_P(StepsTest, failure_that_the_handler_catches_stays_on_record) {
  Worker worker(client_, quick());
  std::atomic<int> charges{0}, ends{0};
  worker.on("order", [&](Task& task) -> Json {
    try {
      task.step("charge", [&] {
        ++charges;
        throw PermanentFailure("card declined", "declined");
      });
    } catch (const StepFailed& failed) {
      EXPECT_EQ(failed.step(), "charge");
      EXPECT_EQ(failed.category(), "declined");
      EXPECT_STREQ(failed.what(), "card declined");
      task.step("apologize", [] {});
      if (++ends == 1) throw std::runtime_error("crash");
      return Json("refused");
    }
    return Json("charged");
  });
  must(worker.start());
  const auto id = submit("order", {}, {.policy = retries(3)});
  EXPECT_EQ(must(client_.result<std::string>(id, 60s)), "refused");
  EXPECT_EQ(charges, 1);
  const auto steps = must(client_.steps(id)).steps;
  ASSERT_EQ(names(steps), (std::vector<std::string>{"charge", "apologize"}));
  EXPECT_EQ(steps[0].state, StepState::failed);
  EXPECT_TRUE(steps[0].permanent);
  EXPECT_EQ(steps[0].failure->message, "card declined");
}

TEST_P(StepsTest, permanent_failure_of_a_step_ends_the_execution) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) { task.step("charge", [] { throw PermanentFailure("stolen", "fraud"); }); });
  must(worker.start());
  const auto result = ended(submit("order", {}, {.policy = retries(3)}));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure->category, "fraud");
  EXPECT_EQ(result.failure->message, "step charge: stolen");
}

TEST_P(StepsTest, repeated_names_are_numbered_and_binary_results_come_back_as_they_were) {
  Worker worker(client_, quick());
  std::atomic<int> runs{0};
  const std::string bytes("\0\x01\xff{", 4);
  worker.on("loop", [&](Task& task) {
    for (int i = 0; i < 3; ++i) {
      const Bytes got = task.step("part", [&] { return Bytes{bytes + std::to_string(i), "raw"}; });
      EXPECT_EQ(got, (Bytes{bytes + std::to_string(i), "raw"}));
    }
    if (++runs == 1) throw std::runtime_error("once more");
  });
  must(worker.start());
  const auto id = submit("loop", {}, {.policy = retries(1)});
  EXPECT_EQ(ended(id).outcome, Outcome::success);
  EXPECT_EQ(names(must(client_.steps(id)).steps), (std::vector<std::string>{"part", "part#2", "part#3"}));
}

TEST_P(StepsTest, sleep_holds_no_lease_and_the_handler_goes_on_behind_it) {
  Worker worker(client_, quick());
  std::atomic<int> before{0}, after{0};
  worker.on("nap", [&](Task& task) {
    task.step("before", [&] { ++before; });
    task.sleep("cool-off", 300ms);
    task.step("after", [&] { ++after; });
    return static_cast<int>(task.attempt_index());
  });
  must(worker.start());
  // The claim waits for longer than the sleep lasts: that time is no part of the sleep.
  std::this_thread::sleep_for(400ms);
  const auto id = submit("nap");
  ASSERT_TRUE(eventually([&] { return must(client_.get(id)).summary.public_state == PublicState::delayed; }));
  EXPECT_FALSE(must(client_.get(id)).lease);
  EXPECT_EQ(must(client_.result<int>(id, 60s)), 0) << "the same attempt goes on";
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 1);
  const auto steps = must(client_.steps(id)).steps;
  ASSERT_EQ(names(steps), (std::vector<std::string>{"before", "cool-off", "after"}));
  EXPECT_EQ(steps[1].state, StepState::sleep);
  EXPECT_EQ(steps[1].wake_at, steps[1].recorded_at + 300);
  EXPECT_GE(steps[2].recorded_at, steps[1].wake_at);
}

TEST_P(StepsTest, time_chance_and_uuids_are_the_same_in_every_run) {
  Worker worker(client_, quick());
  std::mutex mutex;
  std::set<std::string> seen;
  worker.on("values", [&](Task& task) {
    const std::string text = std::to_string(task.now()) + " " + std::to_string(task.random()) + " " +
                             std::to_string(task.random()) + " " + to_string(task.uuid());
    const std::lock_guard lock(mutex);
    seen.insert(text);
    if (task.attempt_index() < 2) throw std::runtime_error("again");
  });
  must(worker.start());
  EXPECT_EQ(ended(submit("values", {}, {.policy = retries(5)})).outcome, Outcome::success);
  EXPECT_EQ(seen.size(), 1u);
}

TEST_P(StepsTest, steps_side_by_side_are_each_recorded_by_themselves) {
  Worker worker(client_, quick());
  std::atomic<int> calls{0};
  worker.on("fan", [&](Task& task) {
    std::vector<Task::NamedStep<int>> parts;
    for (int i = 0; i < 8; ++i) {
      parts.push_back({"part-" + std::to_string(i), [&calls, i, &task] {
                         ++calls;
                         if (i == 5 && task.attempt_index() == 0) throw std::runtime_error("part 5");
                         return i * i;
                       }});
    }
    return task.all<int>(std::move(parts));
  });
  must(worker.start());
  const auto id = submit("fan", {}, {.policy = retries(2)});
  EXPECT_EQ(must(client_.result<std::vector<int>>(id, 60s)), (std::vector<int>{0, 1, 4, 9, 16, 25, 36, 49}));
  EXPECT_EQ(calls, 9) << "only the one that failed runs again";
}

TEST_P(StepsTest, checkpoint_comes_with_the_next_claim) {
  Worker worker(client_, quick());
  std::vector<int> started_at;
  worker.on("count", [&](Task& task) {
    int n = task.last_checkpoint<int>().value_or(0);
    started_at.push_back(n);
    for (; n < 10; ++n) {
      task.checkpoint(n);
      if (n == 4 && task.attempt_index() == 0) throw std::runtime_error("in the middle");
    }
    return n;
  });
  must(worker.start());
  EXPECT_EQ(must(client_.result<int>(submit("count", {}, {.policy = retries(1)}), 60s)), 10);
  EXPECT_EQ(started_at, (std::vector<int>{0, 4}));
}

TEST_P(StepsTest, more_steps_than_a_claim_brings_are_read_by_the_worker) {
  Worker worker(client_, quick());
  std::atomic<int> calls{0};
  worker.on("many", [&](Task& task) {
    for (int i = 0; i < 150; ++i) {
      EXPECT_EQ(task.step("s",
                          [&, i] {
                            ++calls;
                            return i;
                          }),
                i);
    }
    if (task.attempt_index() == 0) throw std::runtime_error("again");
  });
  must(worker.start());
  EXPECT_EQ(ended(submit("many", {}, {.policy = retries(1)})).outcome, Outcome::success);
  EXPECT_EQ(calls, 150);
}

TEST_P(StepsTest, changed_handler_fails_with_a_sentence_that_names_the_step_and_both_orders) {
  std::atomic<int> later_version{1};
  Worker worker(client_, quick());
  worker.on("order", [&](Task& task) {
    const int version = task.attempt_index() == 0 ? 0 : later_version.load();
    task.step("reserve", [] {});
    if (version == 1) task.step("check", [] {});
    if (version != 2) task.step("charge", [] {});
    if (version == 0) throw std::runtime_error("deploy");
  });
  must(worker.start());
  const auto inserted = ended(submit("order", {}, {.policy = retries(1)})).failure;
  ASSERT_TRUE(inserted);
  EXPECT_EQ(inserted->category, "handler_changed");
  EXPECT_EQ(
      inserted->message,
      "the handler has changed against its recorded steps: step 2 is \"check\" now and was recorded as \"charge\"; "
      "recorded: reserve, charge; now: reserve, check");

  later_version = 2;
  const auto removed = ended(submit("order", {}, {.policy = retries(1)})).failure;
  ASSERT_TRUE(removed);
  EXPECT_EQ(
      removed->message,
      "the handler has changed against its recorded steps: the handler returned without coming to step 2 \"charge\", "
      "which is recorded; recorded: reserve, charge; now: reserve");
}

TEST_P(StepsTest, renamed_and_reordered_steps_are_told_from_recorded_ones) {
  std::atomic<int> version{1};
  Worker worker(client_, quick());
  worker.on("order", [&](Task& task) {
    const int now = task.attempt_index() == 0 ? 0 : version.load();
    const auto step = [&](const char* name) { task.step(name, [] {}); };
    if (now == 2) {
      step("charge");
      step("reserve");
    } else {
      step(now == 1 ? "book" : "reserve");
      step("charge");
    }
    if (now == 0) throw std::runtime_error("deploy");
  });
  must(worker.start());
  EXPECT_EQ(ended(submit("order", {}, {.policy = retries(1)})).failure->message,
            "the handler has changed against its recorded steps: step 1 is \"book\" now and was recorded as "
            "\"reserve\"; recorded: reserve, charge; now: book");
  version = 2;
  EXPECT_EQ(ended(submit("order", {}, {.policy = retries(1)})).failure->message,
            "the handler has changed against its recorded steps: step 1 is \"charge\" now and was recorded as "
            "\"reserve\"; recorded: reserve, charge; now: charge");
}

TEST_P(StepsTest, handler_keeps_to_the_steps_that_it_declares) {
  Worker worker(client_, quick());
  worker.on("order",
            [](Task& task) {
              for (const Json& name : task.input().as_array()) task.step(name.as_text(), [] {});
            },
            {.steps = std::vector<std::string>{"reserve", "part*", "ship"}});
  EXPECT_EQ(worker.declared_steps(), R"({"kinds":{"order":["reserve","part*","ship"]}})");
  must(worker.start());
  EXPECT_EQ(ended(submit("order", Json::array({"reserve", "part", "part", "ship"}))).outcome, Outcome::success);
  const auto failure = ended(submit("order", Json::array({"reserve", "ship", "mail"}))).failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->category, "handler_changed");
  EXPECT_EQ(failure->message,
            "step \"mail\" is not declared at this place; declared: reserve, part*, ship; now: reserve, ship, mail");
}

TEST_P(StepsTest, replay_keeps_all_steps_or_those_before_the_one_that_is_named) {
  Worker worker(client_, quick());
  std::mutex mutex;
  std::vector<std::string> ran;
  worker.on("order", [&](Task& task) {
    for (const char* name : {"a", "b", "c"}) {
      task.step(name, [&] {
        const std::lock_guard lock(mutex);
        ran.push_back(name);
      });
    }
    if (ran.size() == 3) throw PermanentFailure("first life");
  });
  must(worker.start());
  const auto id = submit("order", {}, {.policy = {.max_replays = 10}});
  EXPECT_EQ(ended(id).outcome, Outcome::failed);
  const auto unknown = client_.replay(id, "", "d");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::not_found);
  EXPECT_NE(unknown.error().message.find("recorded are: a, b, c"), std::string::npos) << unknown.error().message;
  must(client_.replay(id, "fixed", "b"));
  EXPECT_EQ(ended(id).outcome, Outcome::success);
  EXPECT_EQ(ran, (std::vector<std::string>{"a", "b", "c", "b", "c"}));
  must(client_.replay(id));
  EXPECT_EQ(ended(id).outcome, Outcome::success);
  EXPECT_EQ(ran.size(), 5u) << "everything was recorded";
}

TEST_P(StepsTest, lost_lease_ends_the_handler_at_its_next_step_and_records_nothing) {
  Worker worker(client_, quick());
  std::atomic<int> stage{0};
  std::atomic<int> second{0};
  worker.on("order", [&](Task& task) {
    task.step("first", [&] {
      if (task.attempt_index() > 0) return;
      stage = 1;
      while (stage == 1) std::this_thread::sleep_for(1ms);
    });
    task.step("second", [&] { ++second; });
  });
  must(worker.start());
  const auto id = submit("order");
  ASSERT_TRUE(eventually([&] { return stage == 1; }));
  must(home_.engine().revoke_lease(id));
  stage = 2;
  EXPECT_EQ(ended(id).outcome, Outcome::success);
  EXPECT_EQ(second, 1);
  const auto steps = must(client_.steps(id)).steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].attempt_index, 1u);
}

TEST_P(StepsTest, bad_steps_are_refused_by_name) {
  const auto id = submit("order");
  auto& engine = home_.engine();
  const auto claimed = must(engine.claim({.worker_id = "w", .worker_instance_id = "w-1", .lease_ttl_ms = 60000}));
  ASSERT_EQ(claimed.size(), 1u);
  const auto refusal = [&](StepRequest request) {
    const auto reply = engine.record_step(claimed[0].handle, std::move(request));
    return reply ? std::string("none") : reply.error().field;
  };
  EXPECT_EQ(refusal({.position = 0, .name = "a"}), "position");
  EXPECT_EQ(refusal({.position = 10'001, .name = "a"}), "position");
  EXPECT_EQ(refusal({.position = 5, .name = "a", .group_end = 4}), "group_end");
  EXPECT_EQ(refusal({.position = 1, .name = ""}), "name");
  EXPECT_EQ(refusal({.position = 1, .name = std::string(129, 'x')}), "name");
  EXPECT_EQ(refusal({.position = 1, .name = "a", .sleep_ms = -1}), "sleep_ms");
  EXPECT_EQ(refusal({.position = 1, .name = "a", .result = std::string(2 << 20, 'x')}), "result");
  EXPECT_EQ(refusal({.position = 1, .name = "a"}), "none");
  EXPECT_TRUE(must(engine.record_step(claimed[0].handle, {.position = 1, .name = "a"})).duplicate);
  EXPECT_EQ(must(client_.steps(id)).steps.size(), 1u);
}

}  // namespace
}  // namespace flowfabric::sdk_test
