// Waits, signals and approvals of real workers, in every home.
#include <mutex>

#include "sdk/home.hpp"

namespace flowfabric::sdk_test {

struct Payment {
  std::string id{};
  int cents = 0;
};
FLOWFABRIC_JSON(Payment, id, cents);

namespace {

class WaitsTest : public SdkTest {
 protected:
  bool is_suspended(const ExecutionId& id) {
    return must(client_.get(id)).summary.public_state == PublicState::suspended;
  }
  void until_suspended(const ExecutionId& id) {
    ASSERT_TRUE(eventually([&] { return is_suspended(id); }));
  }
  std::vector<std::string> step_names(const ExecutionId& id) {
    std::vector<std::string> names;
    for (const Step& step : must(client_.steps(id, 0, 1000)).steps) names.push_back(step.name);
    return names;
  }
  int events(const ExecutionId& id, EventType type) {
    int count = 0;
    for (const Event& event : must(client_.history(id, {}, 1000)).events) count += event.type == type ? 1 : 0;
    return count;
  }
};

INSTANTIATE_TEST_SUITE_P(, WaitsTest, ::testing::Values("memory", "sqlite", "postgres", "http"),
                         [](const auto& home) { return home.param; });

TEST_P(WaitsTest, signal_is_returned_after_the_wait_and_the_attempt_goes_on) {
  Worker worker(client_, quick());
  std::atomic<int> before{0}, runs{0};
  worker.on("order", [&](Task& task) {
    ++runs;
    task.step("before", [&] { ++before; });
    const auto paid = task.wait_for_signal<Payment>("paid", 24h);
    EXPECT_EQ(task.execution().last_wait->cause, WaitCause::signals);
    return Json{{"id", paid->id}, {"attempt", static_cast<std::int64_t>(task.attempt_index())}};
  });
  must(worker.start());
  const auto id = submit("order");
  until_suspended(id);
  const auto waiting = must(client_.get(id));
  EXPECT_FALSE(waiting.lease);
  EXPECT_EQ(before, 1);
  const auto delivered = must(client_.signal(id, "paid", Payment{"p-1", 4200}));
  EXPECT_EQ(delivered.effect, SignalEffect::resumed);
  EXPECT_FALSE(delivered.duplicate);
  const auto result = must(client_.result<Json>(id, 60s));
  EXPECT_EQ(result.at("id").as_text(), "p-1");
  EXPECT_EQ(result.at("attempt").as_integer(), 0);
  EXPECT_EQ(before, 1);
  EXPECT_EQ(runs, 2);
  ASSERT_EQ(step_names(id), (std::vector<std::string>{"before", "paid"}));
  const auto steps = must(client_.steps(id)).steps;
  EXPECT_EQ(steps[1].state, StepState::wait);
  ASSERT_TRUE(steps[1].wait);
  EXPECT_EQ(steps[1].wait->signals.front().payload, R"({"id":"p-1","cents":4200})");
}

TEST_P(WaitsTest, waiting_loses_no_task_and_takes_no_slot) {
  WorkerOptions options = quick(1);
  options.lease_ttl = 1s;
  Worker worker(client_, options);
  worker.on("order", [](Task& task) { return task.wait_for_signal<int>("go"); });
  must(worker.start());
  std::vector<ExecutionId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(submit("order"));
  for (const ExecutionId& id : ids) until_suspended(id);
  for (std::size_t i = 0; i < ids.size(); ++i) must(client_.signal(ids[i], "go", static_cast<int>(i)));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(must(client_.result<int>(ids[i], 60s)), static_cast<int>(i));
  }
  EXPECT_TRUE(eventually([&] { return worker.statistics().completed == 5; }));
  EXPECT_EQ(worker.statistics().lost, 0u);
  EXPECT_EQ(worker.statistics().failed, 0u);
}

TEST_P(WaitsTest, early_signal_ends_the_wait_without_a_release_of_the_lease) {
  const auto id = submit("order");
  EXPECT_EQ(must(client_.signal(id, "paid", 7)).effect, SignalEffect::kept);
  Worker worker(client_, quick());
  std::atomic<int> runs{0};
  worker.on("order", [&](Task& task) {
    ++runs;
    const int paid = task.wait_for_signal<int>("paid");
    return task.step("book", [&] { return paid + 1; });
  });
  must(worker.start());
  EXPECT_EQ(must(client_.result<int>(id, 60s)), 8);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(events(id, EventType::suspended), 0);
  EXPECT_EQ(events(id, EventType::wait_ended), 1);
  EXPECT_EQ(worker.statistics().claimed, 1u);
}

TEST_P(WaitsTest, retry_behind_the_wait_finds_the_recorded_signal) {
  Worker worker(client_, quick());
  std::mutex mutex;
  std::vector<int> seen;
  worker.on("order", [&](Task& task) {
    const auto paid = task.wait_for_signal<int>("paid", 24h);
    const std::lock_guard lock(mutex);
    seen.push_back(paid.value_or(-1));
    if (seen.size() < 3) throw std::runtime_error("behind the wait");
  });
  must(worker.start());
  const auto id = submit("order", {}, {.policy = retries(5)});
  until_suspended(id);
  must(client_.signal(id, "paid", 7));
  EXPECT_EQ(ended(id).outcome, Outcome::success);
  EXPECT_EQ(seen, (std::vector<int>{7, 7, 7}));
  EXPECT_EQ(events(id, EventType::suspended), 1);
}

TEST_P(WaitsTest, lost_lease_behind_the_wait_does_not_wait_again) {
  Worker worker(client_, quick());
  std::atomic<int> stage{0};
  worker.on("order", [&](Task& task) {
    const int paid = task.wait_for_signal<int>("paid");
    if (task.attempt_index() == 0) {
      stage = 1;
      while (stage == 1) std::this_thread::sleep_for(1ms);
      task.check_stopped();
    }
    return paid;
  });
  must(worker.start());
  const auto id = submit("order");
  until_suspended(id);
  must(client_.signal(id, "paid", 7));
  ASSERT_TRUE(eventually([&] { return stage == 1; }));
  must(home_.engine().revoke_lease(id));
  stage = 2;
  EXPECT_EQ(must(client_.result<int>(id, 60s)), 7);
  EXPECT_EQ(events(id, EventType::suspended), 1);
}

TEST_P(WaitsTest, signal_that_does_not_come_in_time_is_absent_in_every_run) {
  Worker worker(client_, quick());
  std::atomic<int> absent{0};
  worker.on("order", [&](Task& task) {
    if (!task.wait_for_signal("paid", 20ms)) ++absent;
    if (task.attempt_index() == 0) throw std::runtime_error("again");
    return absent.load();
  });
  must(worker.start());
  const auto id = submit("order", {}, {.policy = retries(1)});
  EXPECT_EQ(must(client_.result<int>(id, 60s)), 2);
  const auto step = must(client_.steps(id)).steps.front();
  EXPECT_EQ(step.wait->cause, WaitCause::timeout);
  EXPECT_TRUE(step.wait->signals.empty());
}

TEST_P(WaitsTest, wait_that_an_operator_ends_has_no_signal) {
  Worker worker(client_, quick());
  worker.on("with_timeout", [](Task& task) { return task.wait_for_signal("paid", 24h).has_value(); });
  worker.on("without", [](Task& task) { return task.wait_for_signal<int>("paid"); });
  must(worker.start());
  const auto with = submit("with_timeout"), without = submit("without");
  until_suspended(with);
  until_suspended(without);
  must(client_.resume(with));
  must(client_.resume(without, "the provider is gone"));
  EXPECT_FALSE(must(client_.result<bool>(with, 60s)));
  const auto failed = ended(without);
  ASSERT_TRUE(failed.failure);
  EXPECT_EQ(failed.failure->category, "no_signal");
  EXPECT_EQ(failed.failure->message,
            "an operator has ended the wait for \"paid\" without a signal: the provider is gone");
  const auto again = client_.resume(with);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::already_terminal);
}

TEST_P(WaitsTest, first_of_several_is_told_by_its_place_and_its_name) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task, int time_ms) {
    const AnyResult first =
        task.any({sleep_for(24h), signal("paid"), signal("cancelled"), sleep_for(milliseconds(time_ms))});
    EXPECT_EQ(task.any({signal("after"), sleep_for(0ms)}).index, 1u);
    Json result{{"index", static_cast<std::int64_t>(first.index.value_or(99))}, {"paid", first.is("paid")}};
    if (first.signal) result["value"] = first.value<Json>();
    return result;
  });
  must(worker.start());
  const auto hour = static_cast<int>(std::chrono::milliseconds(1h).count());
  const auto paid = must(client_.submit("order", hour)).execution_id;
  const auto cancelled = must(client_.submit("order", hour)).execution_id;
  const auto late = must(client_.submit("order", 10)).execution_id;
  until_suspended(paid);
  must(client_.signal(paid, "paid", 7));
  must(client_.send_signal(cancelled, {.waitpoint = "cancelled"}));
  EXPECT_EQ(must(client_.result<Json>(paid, 60s)), (Json{{"index", 1}, {"paid", true}, {"value", 7}}));
  EXPECT_EQ(must(client_.result<Json>(cancelled, 60s)), (Json{{"index", 2}, {"paid", false}, {"value", Json()}}));
  EXPECT_EQ(must(client_.result<Json>(late, 60s)), (Json{{"index", 3}, {"paid", false}}));
  EXPECT_EQ(step_names(late), (std::vector<std::string>{"any paid", "any after"}));
}

TEST_P(WaitsTest, signal_of_which_a_changed_handler_knows_nothing_is_no_other_one) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) {
    if (task.attempt_index() == 0) {
      task.any({signal("paid"), signal("cancelled")});
      throw std::runtime_error("deploy");
    }
    task.any({signal("paid"), sleep_for(1h)});
  });
  must(worker.start());
  const auto id = submit("order", {}, {.policy = retries(1)});
  must(client_.send_signal(id, {.waitpoint = "cancelled"}));
  const auto failure = ended(id).failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->category, "handler_changed");
  EXPECT_NE(failure->message.find("a signal at \"cancelled\" is recorded"), std::string::npos) << failure->message;
}

// ---------------------------------------------------------------- approvals

Json json_of(const ApprovalResult& result) {
  Json decisions = Json::array();
  for (const Decision& one : result.decisions) {
    decisions.push_back(std::string(to_string(one.decision)) + " " + one.actor + " " + one.comment);
  }
  return {{"end", static_cast<std::int64_t>(result.end)}, {"decisions", std::move(decisions)}};
}

TEST_P(WaitsTest, approvals_are_counted_by_person_and_come_with_their_comments) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) {
    return json_of(task.approval({.title = "Order 17 over 4200",
                                  .context = {"17 chairs", "text/plain"},
                                  .approvers = {"ada", "bob", "cyd"},
                                  .needed = 2,
                                  .timeout = 24h}));
  });
  must(worker.start());
  const auto approved = submit("order"), rejected = submit("order");
  until_suspended(approved);
  until_suspended(rejected);
  const auto waits = must(client_.describe_waits(approved));
  ASSERT_EQ(waits.waitpoints.size(), 1u);
  EXPECT_EQ(waits.waitpoints[0].approval->title, "Order 17 over 4200");
  EXPECT_EQ(waits.waitpoints[0].approval->context, "17 chairs");
  EXPECT_EQ(waits.wait->reason, "Order 17 over 4200");

  EXPECT_EQ(
      must(client_.decide_approval(approved, {.waitpoint = "approval", .comment = "fine", .actor = "ada"})).effect,
      SignalEffect::accepted);
  const auto twice = client_.decide_approval(approved, {.waitpoint = "approval", .actor = "ada"});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Errc::conflict);
  const auto stranger = client_.decide_approval(approved, {.waitpoint = "approval", .actor = "eve"});
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, Errc::permission_denied);
  EXPECT_TRUE(is_suspended(approved));
  EXPECT_EQ(must(client_.decide_approval(approved, {.waitpoint = "approval", .actor = "cyd"})).effect,
            SignalEffect::resumed);
  EXPECT_EQ(must(client_.result<Json>(approved, 60s)),
            (Json{{"end", 0}, {"decisions", Json::array({"approve ada fine", "approve cyd "})}}));

  must(client_.decide_approval(rejected, {.waitpoint = "approval", .actor = "ada"}));
  must(client_.decide_approval(
      rejected,
      {.waitpoint = "approval", .decision = ApprovalDecision::reject, .comment = "too dear", .actor = "bob"}));
  EXPECT_EQ(must(client_.result<Json>(rejected, 60s)),
            (Json{{"end", 1}, {"decisions", Json::array({"approve ada ", "reject bob too dear"})}}));
}

TEST_P(WaitsTest, approval_that_nobody_decides_times_out) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) {
    const auto result = task.approval({.title = "Order 17", .timeout = 10ms});
    return result.timed_out() && result.decisions.empty();
  });
  must(worker.start());
  EXPECT_TRUE(must(client_.result<bool>(submit("order"), 60s)));
}

TEST_P(WaitsTest, second_approval_of_an_execution_is_asked_anew) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) {
    const bool first = task.approval({.title = "first"}).approved();
    return std::to_string(first) + std::to_string(task.approval({.title = "second"}).approved());
  });
  must(worker.start());
  const auto id = submit("order");
  until_suspended(id);
  must(client_.decide_approval(id, {.waitpoint = "approval", .actor = "ada"}));
  ASSERT_TRUE(eventually([&] { return is_suspended(id) && must(client_.describe_waits(id)).wait->number == 2; }));
  must(client_.decide_approval(id, {.waitpoint = "approval", .decision = ApprovalDecision::reject, .actor = "ada"}));
  EXPECT_EQ(must(client_.result<std::string>(id, 60s)), "10");
  EXPECT_EQ(step_names(id), (std::vector<std::string>{"approval", "approval#2"}));
}

// ---------------------------------------------------------------- tokens

TEST_P(WaitsTest, token_that_a_step_hands_out_is_the_same_when_the_step_runs_again) {
  Worker worker(client_, quick());
  std::mutex mutex;
  std::vector<std::string> handed_out;
  worker.on("order", [&](Task& task) {
    task.step("ask the provider", [&] {
      const WaitpointToken token = task.open_waitpoint("payment");
      const std::lock_guard lock(mutex);
      handed_out.push_back(token.token);
      if (handed_out.size() == 1) throw std::runtime_error("no answer");
    });
    return task.wait_for_signal<Payment>("payment").cents;
  });
  must(worker.start());
  const auto id = submit("order", {}, {.policy = retries(1)});
  until_suspended(id);
  ASSERT_EQ(handed_out.size(), 2u);
  EXPECT_EQ(handed_out[0], handed_out[1]);
  const auto foreign = client_.send_signal_by_token(handed_out[0] + "x", {.payload = "{}"});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, Errc::invalid_token);
  const auto delivered = must(client_.send_signal_by_token(handed_out[0], {.payload = R"({"cents": 4200})"}));
  EXPECT_EQ(delivered.effect, SignalEffect::resumed);
  EXPECT_EQ(delivered.execution_id, id);
  EXPECT_EQ(must(client_.result<int>(id, 60s)), 4200);
  EXPECT_EQ(handed_out.size(), 2u) << "nothing is opened behind the wait";
}

TEST_P(WaitsTest, signal_by_token_may_come_before_the_wait_and_not_after_it) {
  Worker worker(client_, quick());
  std::atomic<bool> refused{false};
  worker.on("order", [&](Task& task) {
    const auto token = task.step("open", [&] {
      const std::string opened = task.open_waitpoint("payment", 24h).token;
      EXPECT_EQ(must(client_.send_signal_by_token(opened, {.payload = "7"})).effect, SignalEffect::kept);
      return opened;
    });
    const int paid = task.wait_for_signal<int>("payment");
    const auto late = client_.send_signal_by_token(token, {.payload = "8"});
    refused = !late && late.error().code == Errc::waitpoint_closed;
    return paid;
  });
  must(worker.start());
  const auto id = submit("order");
  EXPECT_EQ(must(client_.result<int>(id, 60s)), 7);
  EXPECT_TRUE(refused);
}

TEST_P(WaitsTest, token_of_an_approval_can_be_handed_out_before_the_wait) {
  Worker worker(client_, quick());
  std::mutex mutex;
  std::string token;
  worker.on("order", [&](Task& task) {
    const ApprovalOptions question{.name = "manager", .title = "Order 17", .timeout = 24h};
    task.step("mail", [&] {
      const std::lock_guard lock(mutex);
      token = task.open_waitpoint(question).token;
    });
    return task.approval(question).decisions.at(0).actor;
  });
  must(worker.start());
  const auto id = submit("order");
  until_suspended(id);
  must(client_.send_signal_by_token(token, {.name = "approve", .source = "ada"}));
  EXPECT_EQ(must(client_.result<std::string>(id, 60s)), "ada");
}

// ---------------------------------------------------------------- many signals

TEST_P(WaitsTest, loop_over_messages_sees_each_once_and_in_order) {
  constexpr int count = 100;
  Worker worker(client_, quick());
  std::vector<int> expected;
  for (int i = 0; i < count; ++i) expected.push_back(i);
  worker.on("inbox", [](Task& task) {
    std::vector<int> got;
    while (got.size() < count) got.push_back(task.wait_for_signal<int>("message"));
    return got;
  });
  const auto early = submit("inbox");
  for (const int i : expected) must(client_.signal(early, "message", i));
  must(worker.start());
  EXPECT_EQ(must(client_.result<std::vector<int>>(early, 60s)), expected);
  EXPECT_EQ(events(early, EventType::suspended), 0);

  const auto waiting = submit("inbox");
  until_suspended(waiting);
  for (const int i : expected) must(client_.signal(waiting, "message", i));
  EXPECT_EQ(must(client_.result<std::vector<int>>(waiting, 60s)), expected);
  const auto names = step_names(waiting);
  ASSERT_EQ(names.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(names.back(), "message#100");
}

TEST_P(WaitsTest, repeated_key_delivers_once) {
  Worker worker(client_, quick());
  worker.on("inbox", [](Task& task) {
    const int first = task.wait_for_signal<int>("message");
    return std::to_string(first) + std::to_string(task.wait_for_signal<int>("message", 20ms).value_or(0));
  });
  const auto id = submit("inbox");
  const auto first = must(client_.signal(id, "message", 7, {.idempotency_key = "webhook-1"}));
  const auto second = must(client_.signal(id, "message", 7, {.idempotency_key = "webhook-1"}));
  EXPECT_FALSE(first.duplicate);
  EXPECT_TRUE(second.duplicate);
  EXPECT_EQ(second.number, first.number);
  must(worker.start());
  EXPECT_EQ(must(client_.result<std::string>(id, 60s)), "70");
}

// ---------------------------------------------------------------- payloads

TEST_P(WaitsTest, payloads_come_as_values_bytes_or_whole_signals) {
  const std::string bytes("\0\x01\xff{", 4);
  Worker worker(client_, quick());
  worker.on("order", [&](Task& task) {
    EXPECT_EQ(task.wait_for_signal<Bytes>("bytes"), (Bytes{bytes, "raw"}));
    const auto whole = task.wait_for_signal<Signal>("whole");
    EXPECT_EQ(whole.name, "state changed");
    EXPECT_EQ(whole.source, "provider");
    EXPECT_TRUE(task.wait_for_signal("empty").is_null());
    return task.wait_for_signal<std::vector<int>>("numbers");
  });
  const auto id = submit("order");
  must(client_.signal(id, "bytes", Bytes{bytes, "raw"}));
  must(client_.signal(id, "whole", Json(), {.name = "state changed", .source = "provider"}));
  must(client_.send_signal(id, {.waitpoint = "empty"}));
  must(client_.signal(id, "numbers", std::vector<int>{1, 2}));
  must(worker.start());
  EXPECT_EQ(must(client_.result<std::vector<int>>(id, 60s)), (std::vector<int>{1, 2}));
}

TEST_P(WaitsTest, payload_of_another_type_ends_the_execution_without_a_retry) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) { return task.wait_for_signal<Payment>("paid").cents; });
  const auto id = submit("order", {}, {.policy = retries(5)});
  must(client_.signal(id, "paid", std::string("a lot")));
  must(worker.start());
  const auto failure = ended(id).failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->category, "bad_signal");
  EXPECT_EQ(failure->message.find("the signal \"paid\" at \"paid\" cannot be read: "), 0u) << failure->message;
  EXPECT_EQ(must(client_.get(id)).summary.attempt_index, 0u);
}

// ---------------------------------------------------------------- the general form

TEST_P(WaitsTest, general_wait_takes_conditions_and_vetoes) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) {
    SuspendRequest request;
    request.waitpoints = {{.name = "parts"}, {.name = "stop"}};
    request.condition.emplace().count = SignalCount{2, CountBy::sources, {{.waitpoint = "parts"}}};
    request.veto.emplace().signal = SignalMatch{.waitpoint = "stop"};
    request.timeout_ms = 3600'000;
    request.step_name = "all parts";
    const WaitOutcome outcome = task.wait(std::move(request));
    return std::string(to_string(outcome.cause)) + " " + std::to_string(outcome.signals.size());
  });
  must(worker.start());
  const auto complete = submit("order"), stopped = submit("order");
  until_suspended(complete);
  until_suspended(stopped);
  const auto send = [&](const ExecutionId& id, const char* waitpoint, const char* source) {
    return must(client_.send_signal(id, {.waitpoint = waitpoint, .source = source})).effect;
  };
  EXPECT_EQ(send(complete, "parts", "north"), SignalEffect::accepted);
  EXPECT_EQ(send(complete, "parts", "north"), SignalEffect::ignored);
  EXPECT_EQ(send(complete, "parts", "south"), SignalEffect::resumed);
  EXPECT_EQ(send(stopped, "parts", "north"), SignalEffect::accepted);
  EXPECT_EQ(send(stopped, "stop", "south"), SignalEffect::resumed);
  EXPECT_EQ(must(client_.result<std::string>(complete, 60s)), "signals 2");
  EXPECT_EQ(must(client_.result<std::string>(stopped, 60s)), "veto 2");
  EXPECT_EQ(step_names(complete), (std::vector<std::string>{"all parts"}));
}

TEST_P(WaitsTest, timeout_that_fails_the_execution_does_not_return) {
  Worker worker(client_, quick());
  std::atomic<int> behind{0};
  worker.on("order", [&](Task& task) {
    SuspendRequest request;
    request.waitpoints = {{.name = "paid"}};
    request.timeout_ms = 10;
    task.wait(std::move(request));
    ++behind;
  });
  must(worker.start());
  const auto result = ended(submit("order", {}, {.policy = retries(5)}));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure->category, "wait_timeout");
  EXPECT_EQ(behind, 0);
}

TEST_P(WaitsTest, wait_that_is_refused_names_the_field) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) {
    SuspendRequest request;
    request.waitpoints = {{.name = "paid"}, {.name = "paid"}};
    task.wait(std::move(request));
  });
  must(worker.start());
  const auto failure = ended(submit("order", {}, {.policy = retries(5)})).failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->category, "wait_refused");
  EXPECT_NE(failure->message.find("waitpoints[1].name"), std::string::npos) << failure->message;
}

// ---------------------------------------------------------------- ends, and handlers that are wrong

TEST_P(WaitsTest, cancellation_ends_a_wait) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) { return task.wait_for_signal<int>("paid"); });
  must(worker.start());
  const auto id = submit("order");
  until_suspended(id);
  must(client_.cancel(id, "no longer wanted"));
  EXPECT_EQ(ended(id).outcome, Outcome::cancelled);
  const auto late = client_.signal(id, "paid", 7);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::already_terminal);
}

TEST_P(WaitsTest, wait_inside_of_steps_is_refused) {
  Worker worker(client_, quick());
  worker.on("inside", [](Task& task) {
    task.all<int>({{"one", [&task] { return task.wait_for_signal<int>("paid"); }}, {"two", [] { return 2; }}});
  });
  worker.on("open", [](Task& task) { task.open_waitpoint("paid"); });
  must(worker.start());
  const auto inside = ended(submit("inside", {}, {.policy = retries(5)})).failure;
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->category, "wait_in_step");
  EXPECT_EQ(inside->message,
            "step one: the wait \"paid\" is inside of a step; a wait is a step of its own, so it stands outside of "
            "others");
  const auto open = ended(submit("open", {}, {.policy = retries(5)})).failure;
  ASSERT_TRUE(open);
  EXPECT_EQ(open->category, "open_outside_step");
}

TEST_P(WaitsTest, changed_handler_is_told_that_a_wait_is_recorded) {
  std::atomic<int> version{0};
  Worker worker(client_, quick());
  worker.on("order", [&](Task& task) {
    const int now = task.attempt_index() == 0 ? 0 : version.load();
    if (now == 0) task.wait_for_signal("paid");
    if (now == 0) throw std::runtime_error("deploy");
    if (now == 1) task.wait_for_signal("settled");
    if (now == 2) task.step("paid", [] {});
    if (now == 3) task.sleep("paid", 1h);
  });
  must(worker.start());
  const auto message = [&](int to) {
    version = to;
    const auto id = submit("order", {}, {.policy = retries(1)});
    must(client_.send_signal(id, {.waitpoint = "paid"}));
    const auto failure = ended(id).failure;
    EXPECT_EQ(failure->category, "handler_changed");
    return failure->message;
  };
  const std::string begin = "the handler has changed against its recorded steps: step 1 ";
  EXPECT_EQ(message(1), begin + "is \"settled\" now and was recorded as \"paid\"; recorded: paid; now: settled");
  EXPECT_EQ(message(2), begin + "\"paid\" is no wait now and was recorded as one; recorded: paid; now: paid");
  EXPECT_EQ(message(3), begin + "\"paid\" is no wait now and was recorded as one; recorded: paid; now: paid");
  EXPECT_NE(message(4).find("without coming to step 1 \"paid\""), std::string::npos);
}

TEST_P(WaitsTest, declared_steps_cover_waits) {
  Worker worker(client_, quick());
  worker.on("order",
            [](Task& task) {
              for (const Json& name : task.input().as_array()) task.wait_for_signal(name.as_text(), 1ms);
            },
            {.steps = std::vector<std::string>{"paid", "message*"}});
  must(worker.start());
  EXPECT_EQ(ended(submit("order", Json::array({"paid", "message", "message"}))).outcome, Outcome::success);
  const auto failure = ended(submit("order", Json::array({"paid", "other"}))).failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->category, "handler_changed");
}

// ---------------------------------------------------------------- the client

TEST_P(WaitsTest, client_lists_closes_and_reissues) {
  Worker worker(client_, quick());
  worker.on("order", [](Task& task) {
    SuspendRequest request;
    request.waitpoints = {{.name = "paid"}, {.name = "second/choice"}};
    request.condition.emplace().any_of = {{.signal = SignalMatch{.waitpoint = "paid"}},
                                          {.signal = SignalMatch{.waitpoint = "second/choice"}}};
    request.reason = "payment";
    return std::string(task.wait(std::move(request)).signals.at(0).source);
  });
  worker.on("ask", [](Task& task) { return task.approval({.title = "May I?"}).approved(); });
  must(worker.start());
  const auto id = submit("order");
  until_suspended(id);
  const auto asks = submit("ask");
  until_suspended(asks);
  const auto all = must(client_.list_waits());
  ASSERT_EQ(all.waits.size(), 2u);
  EXPECT_EQ(all.waits[0].execution_id, id);
  EXPECT_EQ(all.waits[0].reason, "payment");
  const auto approvals = must(client_.list_waits({.approvals = true}));
  ASSERT_EQ(approvals.waits.size(), 1u);
  EXPECT_EQ(approvals.waits[0].execution_id, asks);

  must(client_.close_waitpoint(id, "second/choice", "not offered any more"));
  EXPECT_EQ(must(client_.describe_waits(id)).waitpoints.size(), 1u);
  const auto last = client_.close_waitpoint(id, "paid");
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Errc::conflict);
  const auto token = must(client_.reissue_token(id, {.waitpoint = "paid", .source = "provider"}));
  EXPECT_EQ(token.waitpoint, "paid");
  must(client_.send_signal_by_token(token.token));
  EXPECT_EQ(must(client_.result<std::string>(id, 60s)), "provider");
}

}  // namespace
}  // namespace flowfabric::sdk_test
