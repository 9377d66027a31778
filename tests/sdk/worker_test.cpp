// What a worker promises to handlers, in every home.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>

#include "sdk/home.hpp"

namespace flowfabric::sdk_test {

struct Invoice {
  std::string id{};
  int cents = 0;
};
FLOWFABRIC_JSON(Invoice, id, cents);

struct Receipt {
  std::string invoice{};
  bool paid = false;
  std::vector<int> parts{};

  friend bool operator==(const Receipt&, const Receipt&) = default;
};
FLOWFABRIC_JSON(Receipt, invoice, paid, parts);

namespace {

FF_SDK_SUITE(WorkerTest);

// Until somebody opens it.
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

TEST_P(WorkerTest, typed_handler_gets_its_input_and_its_result_is_stored) {
  Worker worker(client_, quick());
  worker.on("charge", [](Task& task, Invoice invoice) {
    EXPECT_EQ(task.kind(), "charge");
    return Receipt{invoice.id, invoice.cents > 0, {1, 2}};
  });
  must(worker.start());
  const auto id = must(client_.submit("charge", Invoice{"i-1", 250})).execution_id;
  EXPECT_EQ(must(client_.result<Receipt>(id, 60s)), (Receipt{"i-1", true, {1, 2}}));
  EXPECT_EQ(ended(id).result_encoding, "json");
}

TEST_P(WorkerTest, handlers_of_every_form) {
  Worker worker(client_, quick());
  std::atomic<int> seen{0};
  worker.on("nothing", [&](Task&) { ++seen; })
      .on("json", [](Task& task) { return Json{{"twice", task.input().at("n").as_integer() * 2}}; })
      .on("plain", [](Invoice invoice) { return invoice.cents; })
      .on("bytes", [](Task& task, Bytes input) { return Bytes{input.bytes + std::string("\0\xff", 2), task.kind()}; });
  must(worker.start());
  EXPECT_EQ(ended(submit("nothing")).result, "");
  EXPECT_EQ(must(client_.result<Json>(submit("json", {{"n", 21}}), 60s)).at("twice").as_integer(), 42);
  EXPECT_EQ(must(client_.result<int>(must(client_.submit("plain", Invoice{"x", 7})).execution_id, 60s)), 7);
  const auto bytes = ended(must(client_.submit("bytes", Bytes{"a\0b", "raw"})).execution_id);
  EXPECT_EQ(bytes.result, std::string("a\0\xff", 3));
  EXPECT_EQ(bytes.result_encoding, "bytes");
  EXPECT_EQ(seen, 1);
}

TEST_P(WorkerTest, exception_fails_the_attempt_with_its_message_and_is_retried_by_policy) {
  Worker worker(client_, quick());
  std::atomic<int> calls{0};
  worker.on("flaky", [&](Task& task) {
    EXPECT_EQ(static_cast<int>(task.attempt_index()), calls);
    if (++calls < 3) throw std::runtime_error("try " + std::to_string(calls));
    return Json("good");
  });
  must(worker.start());
  const auto id = submit("flaky", {}, {.policy = retries(5)});
  EXPECT_EQ(must(client_.result<std::string>(id, 60s)), "good");
  const auto attempts = must(client_.get(id)).attempts;
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[1].failure->message, "try 2");
  EXPECT_EQ(attempts[1].failure->category, "error");
}

TEST_P(WorkerTest, permanent_failure_is_not_retried) {
  Worker worker(client_, quick());
  worker.on("broken", [](Task&) { throw PermanentFailure("the card is stolen", "fraud"); });
  must(worker.start());
  const auto id = submit("broken", {}, {.policy = retries(5)});
  const auto result = ended(id);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure->category, "fraud");
  EXPECT_EQ(must(client_.get(id)).summary.attempt_count, 1u);
  const auto refused = client_.result<Json>(id, 1s);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the card is stolen"), std::string::npos) << refused.error().message;
}

TEST_P(WorkerTest, retry_after_replaces_the_backoff_of_the_policy) {
  Worker worker(client_, quick());
  std::atomic<int> calls{0};
  worker.on("later", [&](Task&) {
    if (++calls == 1) throw RetryAfter(5ms, "rate limited");
  });
  must(worker.start());
  const auto id = submit("later", {}, {.policy = retries(3, 24 * 3600 * 1000)});
  EXPECT_EQ(ended(id).outcome, Outcome::success);
}

TEST_P(WorkerTest, kind_without_handler_fails_with_a_sentence_that_names_the_kinds) {
  Worker worker(client_, quick());
  worker.on("one", [](Task&) {}).on("two", [](Task&) {});
  must(worker.start());
  const auto failure = ended(submit("three")).failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->category, "no_handler");
  EXPECT_NE(failure->message.find("no handler for kind three; it has: one, two"), std::string::npos)
      << failure->message;
}

TEST_P(WorkerTest, payload_that_does_not_fit_the_type_fails_without_a_retry) {
  Worker worker(client_, quick());
  worker.on("charge", [](Invoice) {});
  must(worker.start());
  const auto failure = ended(submit("charge", {{"cents", "many"}}, {.policy = retries(5)})).failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->category, "bad_payload");
  EXPECT_NE(failure->message.find("cents: expected a whole number, found a text"), std::string::npos)
      << failure->message;
}

TEST_P(WorkerTest, handler_that_blocks_for_many_lease_times_keeps_its_lease) {
  // A machine that stands still for so long may cost a lease, so the test waits for one that lasts.
  constexpr int ttl_ms = 400;
  WorkerOptions options = quick(64);
  options.lease_ttl = milliseconds(ttl_ms);
  Worker worker(client_, options);
  Door door;
  worker.on("slow", [&](Task&) { door.pass(); });
  must(worker.start());
  const auto id = submit("slow");
  ASSERT_TRUE(eventually([&] {
    const auto lease = must(client_.get(id)).lease;
    return lease && lease->renewed_at - lease->acquired_at > 10 * ttl_ms;
  }));
  door.open();
  EXPECT_EQ(ended(id).outcome, Outcome::success);
}

TEST_P(WorkerTest, lease_of_a_claim_that_waited_long_counts_from_its_beginning) {
  WorkerOptions options = quick();
  options.lease_ttl = 2s;
  Worker worker(client_, options);
  worker.on("work", [](Task& task) {
    std::this_thread::sleep_for(500ms);  // an expired lease would be noticed within a sixth of its time
    return task.cancelled();
  });
  must(worker.start());
  std::this_thread::sleep_for(2500ms);  // the claim waits for longer than a lease lasts
  EXPECT_FALSE(must(client_.result<bool>(submit("work"), 60s)));
}

TEST_P(WorkerTest, cancellation_reaches_the_handler_with_its_reason) {
  WorkerOptions options = quick();
  options.lease_ttl = 60s;  // so that no heartbeat comes in time to tell
  Worker worker(client_, options);
  std::string reason;
  std::atomic<bool> begun{false}, stopped{false};
  worker.on("long", [&](Task& task) {
    begun = true;
    while (!task.cancelled()) std::this_thread::sleep_for(1ms);
    reason = task.stop_reason();
    stopped = true;
    task.check_stopped();
  });
  must(worker.start());
  const auto id = submit("long");
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  must(client_.cancel(id, "duplicate order"));
  ASSERT_TRUE(eventually([&] { return stopped.load(); }, 30s));
  EXPECT_EQ(reason, "cancelled: duplicate order");
  EXPECT_EQ(ended(id).outcome, Outcome::cancelled);
}

TEST_P(WorkerTest, lost_lease_trips_the_stop_token_and_late_writes_are_refused) {
  Worker worker(client_, quick(1));
  std::atomic<int> calls{0};
  std::atomic<bool> refused{false};
  worker.on("taken", [&](Task& task) {
    if (++calls > 1) return Json("second");
    while (!task.cancelled()) std::this_thread::sleep_for(1ms);
    try {
      task.progress(50);
    } catch (const TaskStopped&) {
      refused = true;
    }
    return Json("first");
  });
  must(worker.start());
  const auto id = submit("taken");
  ASSERT_TRUE(eventually([&] { return calls == 1; }));
  must(home_.engine().revoke_lease(id));
  EXPECT_EQ(must(client_.result<std::string>(id, 60s)), "second");
  EXPECT_TRUE(refused);
  EXPECT_EQ(worker.statistics().lost, 1u);
}

TEST_P(WorkerTest, progress_is_visible_while_the_handler_runs) {
  Worker worker(client_, quick());
  Door door;
  worker.on("work", [&](Task& task) {
    task.progress(40, "two of five");
    door.pass();
  });
  must(worker.start());
  const auto id = submit("work");
  ASSERT_TRUE(eventually([&] {
    const auto progress = must(client_.get(id)).progress;
    return progress && progress->percent == 40 && progress->message == "two of five";
  }));
  door.open();
  EXPECT_EQ(ended(id).outcome, Outcome::success);
}

TEST_P(WorkerTest, handler_changes_tags_of_its_execution) {
  Worker worker(client_, quick());
  worker.on("work", [](Task& task) {
    task.tag({{"app.server", "mx1"}}, {"app.state"});
    EXPECT_THROW(task.tag({{"no namespace", ""}}), std::invalid_argument);
  });
  must(worker.start());
  const auto id = submit("work", {}, {.tags = {{"app.state", "new"}, {"app.team", "a"}}});
  EXPECT_EQ(ended(id).outcome, Outcome::success);
  EXPECT_EQ(must(client_.get(id)).summary.tags, (Tags{{"app.server", "mx1"}, {"app.team", "a"}}));
}

TEST_P(WorkerTest, handler_can_cancel_its_execution) {
  Worker worker(client_, quick());
  worker.on("pointless", [](Task& task) {
    try {
      task.cancel("the customer is gone");
    } catch (const std::exception&) {
      ADD_FAILURE() << "leaving is no std::exception";
    }
  });
  must(worker.start());
  const auto id = submit("pointless");
  EXPECT_EQ(ended(id).outcome, Outcome::cancelled);
  EXPECT_EQ(must(client_.get(id)).cancellation_reason, "the customer is gone");
}

TEST_P(WorkerTest, stop_lets_running_handlers_finish_and_claims_no_more) {
  auto worker = std::make_unique<Worker>(client_, quick(1));
  Door door;
  std::atomic<int> calls{0};
  worker->on("work", [&](Task&) {
    ++calls;
    door.pass();
  });
  must(worker->start());
  const auto first = submit("work");
  ASSERT_TRUE(eventually([&] { return calls == 1; }));
  worker->stop();
  const auto second = submit("work");
  door.open();
  must(worker->join());
  EXPECT_EQ(ended(first).outcome, Outcome::success);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(must(client_.get(second)).summary.public_state, PublicState::waiting);
}

TEST_P(WorkerTest, what_has_not_finished_within_the_grace_goes_to_another_worker_as_the_same_attempt) {
  WorkerOptions options = quick(1);
  options.stop_grace = 0ms;
  options.lease_ttl = 60s;
  Worker first(client_, options);
  std::atomic<bool> running{false};
  first.on("work", [&](Task& task) {
    running = true;
    while (!task.cancelled()) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(task.stop_reason(), "the worker is stopping");
  });
  must(first.start());
  const auto id = submit("work");
  ASSERT_TRUE(eventually([&] { return running.load(); }));
  first.stop();
  must(first.join());
  EXPECT_EQ(first.statistics().handed_back, 1u);

  Worker second(client_, quick(1));
  second.on("work", [](Task& task) { return static_cast<int>(task.attempt_index()); });
  must(second.start());
  EXPECT_EQ(must(client_.result<int>(id, 60s)), 0);
  EXPECT_EQ(must(client_.get(id)).reclaim_count, 0u);
}

TEST_P(WorkerTest, stop_of_an_idle_worker_does_not_wait_for_its_parked_claim) {
  Worker worker(client_, quick());
  worker.on("never", [](Task&) {});
  must(worker.start());
  const auto begin = std::chrono::steady_clock::now();
  worker.stop();
  must(worker.join());
  // A claim parks for 30 s. This is no test of speed: the limit is far from both.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST_P(WorkerTest, never_runs_more_than_it_may_of_all_and_of_a_kind) {
  Worker worker(client_, quick(6));
  std::atomic<int> all{0}, narrow{0}, most{0}, most_narrow{0};
  const auto note = [](std::atomic<int>& now, std::atomic<int>& most_ever) {
    const int count = ++now;
    int seen = most_ever;
    while (seen < count && !most_ever.compare_exchange_weak(seen, count)) {
    }
  };
  const auto run = [&](bool is_narrow) {
    note(all, most);
    if (is_narrow) note(narrow, most_narrow);
    std::this_thread::sleep_for(2ms);
    if (is_narrow) --narrow;
    --all;
  };
  worker.on("narrow", [&](Task&) { run(true); }, {.concurrency = 2}).on("wide", [&](Task&) { run(false); });
  must(worker.start());
  std::vector<ExecutionId> ids;
  for (int i = 0; i < 60; ++i) ids.push_back(submit(i % 2 == 0 ? "narrow" : "wide"));
  for (const auto& id : ids) EXPECT_EQ(ended(id).outcome, Outcome::success);
  EXPECT_LE(most_narrow, 2);
  EXPECT_LE(most, 6);
  EXPECT_GT(most, 1);
}

TEST_P(WorkerTest, middleware_is_called_around_every_handler_outermost_first) {
  Worker worker(client_, quick());
  std::mutex mutex;
  std::vector<std::string> order;
  const auto say = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    order.push_back(what);
  };
  worker.use([&](Task& task, const Handler& next) {
    say("outer " + task.kind());
    Bytes result = next(task);
    say("outer end");
    return result;
  });
  worker.use([&](Task& task, const Handler& next) {
    say("inner");
    return next(task);
  });
  worker.on("work", [&](Task&) { say("handler"); });
  must(worker.start());
  EXPECT_EQ(ended(submit("work")).outcome, Outcome::success);
  EXPECT_EQ(order, (std::vector<std::string>{"outer work", "inner", "handler", "outer end"}));
}

TEST_P(WorkerTest, result_that_the_engine_refuses_ends_the_execution_as_failed) {
  WorkerOptions options = quick();
  options.lease_ttl = 60s;  // sending two megabytes may take long
  Worker worker(client_, options);
  worker.on("huge", [](Task&) { return Bytes{std::string(2 * 1024 * 1024, 'x'), {}}; });
  must(worker.start());
  const auto failure = ended(submit("huge")).failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->category, "result_refused");
}

TEST_P(WorkerTest, worker_that_an_operator_drains_finishes_and_ends) {
  WorkerOptions options = quick();
  options.worker_instance_id = "drained-1";
  options.lease_ttl = 3s;  // its claim is refused before the next heartbeat tells it why
  Worker worker(client_, options);
  Door door;
  std::atomic<bool> running{false};
  worker.on("work", [&](Task&) {
    running = true;
    door.pass();
  });
  must(worker.start());
  const auto id = submit("work");
  ASSERT_TRUE(eventually([&] { return running.load(); }));
  EXPECT_EQ(must(home_.engine().drain_worker("default", "drained-1")), DrainWorkerOutcome::draining);
  door.open();
  must(worker.join());
  EXPECT_EQ(ended(id).outcome, Outcome::success);
}

TEST_P(WorkerTest, bad_options_are_refused_by_name) {
  const auto refusal = [&](WorkerOptions options, bool with_handler = true) {
    Worker worker(client_, std::move(options));
    if (with_handler) worker.on("work", [](Task&) {});
    const auto started = worker.start();
    return started ? std::string("none") : started.error().message;
  };
  EXPECT_EQ(refusal({.concurrency = 0}), "concurrency: is 0; allowed: 1 to 1000");
  EXPECT_EQ(refusal({.lease_ttl = 1ms}), "lease_ttl: is 1 ms; allowed: 100 ms to 86400000 ms");
  EXPECT_EQ(refusal({}, false), "the worker has no handler; add one with on()");
  EXPECT_NE(refusal({.lanes = {""}}), "none");
  Worker worker(client_);
  worker.on("work", [](Task&) {}, {.steps = std::vector<std::string>{"a", "?"}});
  const auto started = worker.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().field, "steps");
}

// For the thread sanitizer as much as for the result: cancellations, lost leases and stops at any moment.
TEST_P(WorkerTest, nothing_is_lost_while_leases_are_taken_and_workers_come_and_go) {
  const auto start = [&] {
    WorkerOptions options = quick(16);
    options.stop_grace = 0ms;
    auto worker = std::make_unique<Worker>(client_, options);
    worker->on("work", [&](Task& task) {
      const int choice = task.id().uuid.bytes[15] % 8;
      if (choice == 0) std::this_thread::sleep_for(3ms);
      if (choice == 1) task.progress(50, "half");
      if (choice == 2) task.checkpoint(choice);
      if (choice == 3) task.sleep("nap", 1ms);
      if (choice == 4) {
        const std::vector<int> parts = task.all<int>({{"a", [] { return 1; }}, {"b", [] { return 2; }}});
        EXPECT_EQ(parts, (std::vector<int>{1, 2}));
      }
      const std::string id = task.step("id", [&] { return to_string(task.id()); });
      task.check_stopped();
      return Json(id);
    });
    must(worker->start());
    return worker;
  };
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(start());
  std::mt19937 random(4711);
  std::vector<ExecutionId> ids;
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 10; ++i) ids.push_back(submit("work"));
    const auto& victim = ids[random() % ids.size()];
    if (round % 3 == 0) static_cast<void>(client_.cancel(victim, "chance"));
    if (round % 3 == 1) static_cast<void>(home_.engine().revoke_lease(victim));
    if (round % 5 == 4) workers[random() % workers.size()] = start();
  }
  for (const auto& id : ids) {
    const auto result = ended(id);
    if (result.outcome == Outcome::cancelled) continue;
    ASSERT_EQ(result.outcome, Outcome::success);
    EXPECT_EQ(result.result, Json(to_string(id)).dump());
  }
}

}  // namespace
}  // namespace flowfabric::sdk_test
