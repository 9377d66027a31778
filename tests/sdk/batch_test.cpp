// Handlers of batches, in every home.
#include <algorithm>
#include <mutex>
#include <set>

#include <flowfabric/testing.hpp>

#include "sdk/home.hpp"

namespace flowfabric::sdk_test {
namespace {

FF_SDK_SUITE(BatchTest);

std::vector<ExecutionId> submit_numbers(Client& client, int count, const SubmitOptions& options = {}) {
  std::vector<ExecutionId> ids;
  for (int i = 0; i < count; ++i) ids.push_back(must(client.submit("number", i, options)).execution_id);
  return ids;
}

TEST_P(BatchTest, typed_handler_takes_several_and_each_gets_its_result) {
  const auto ids = submit_numbers(client_, 12);
  std::mutex mutex;
  std::vector<std::size_t> sizes;
  Worker worker(client_, quick(5));
  worker.on_batch("number", {.max_size = 5, .max_wait = 200ms}, [&](const std::vector<int>& numbers) {
    const std::lock_guard lock(mutex);
    sizes.push_back(numbers.size());
    std::vector<int> twice;
    for (const int number : numbers) twice.push_back(2 * number);
    return twice;
  });
  must(worker.start());
  for (int i = 0; i < 12; ++i) EXPECT_EQ(must(client_.result<int>(ids[i], 60s)), 2 * i);
  worker.stop();
  must(worker.join());
  EXPECT_LT(sizes.size(), 12U);
  EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), 5U);
  EXPECT_EQ(worker.statistics().completed, 12U);
}

TEST_P(BatchTest, each_execution_is_answered_for_itself) {
  SubmitOptions options;
  options.policy.retry = RetryPolicy{};
  options.policy.retry->max_retries = 1;
  options.policy.retry->initial_delay_ms = 1;
  const auto ids = submit_numbers(client_, 4, options);
  Worker worker(client_, quick(4));
  worker.on_batch("number", {.max_size = 4, .max_wait = 1s}, [&](TaskBatch& batch) {
    for (BatchTask& task : batch) {
      const bool again = task.execution().attempt.attempt_index > 0;
      switch (task.input<int>()) {
        case 0: EXPECT_TRUE(task.complete(std::string("zero"))); break;
        case 1: again ? task.complete(std::string("one")) : task.fail("not now"); break;
        case 2: EXPECT_TRUE(task.fail_permanently("never", "bad")); break;
        default: break;  // left open
      }
      EXPECT_EQ(task.answered(), task.input<int>() != 3);
      if (task.answered()) {
        EXPECT_FALSE(task.complete());
      }
    }
  });
  must(worker.start());
  EXPECT_EQ(must(client_.result<std::string>(ids[0], 60s)), "zero");
  EXPECT_EQ(must(client_.result<std::string>(ids[1], 60s)), "one");
  const ExecutionResult failed = ended(ids[2]);
  EXPECT_EQ(failed.outcome, Outcome::failed);
  EXPECT_EQ(failed.failure->category, "bad");
  EXPECT_EQ(ended(ids[3]).outcome, Outcome::success);
  EXPECT_EQ(ended(ids[3]).result, "");
}

TEST_P(BatchTest, what_is_thrown_answers_for_those_that_are_left) {
  const auto ids = submit_numbers(client_, 3);
  Worker worker(client_, quick(3));
  worker.on_batch("number", {.max_size = 3, .max_wait = 1s}, [&](TaskBatch& batch) {
    for (BatchTask& task : batch) {
      if (task.input<int>() == 0) task.complete();
    }
    throw PermanentFailure("the database is gone", "db");
  });
  must(worker.start());
  EXPECT_EQ(ended(ids[0]).outcome, Outcome::success);
  for (const int i : {1, 2}) {
    EXPECT_EQ(ended(ids[i]).outcome, Outcome::failed);
    EXPECT_EQ(ended(ids[i]).failure->category, "db");
  }
}

TEST_P(BatchTest, a_payload_that_cannot_be_read_fails_alone) {
  const auto good = submit_numbers(client_, 2);
  const auto bad = must(client_.submit("number", std::string("x"))).execution_id;
  Worker worker(client_, quick(3));
  worker.on_batch("number", {.max_size = 3, .max_wait = 1s}, [](const std::vector<int>&) {});
  must(worker.start());
  for (const auto& id : good) EXPECT_EQ(ended(id).outcome, Outcome::success);
  EXPECT_EQ(ended(bad).failure->category, "bad_payload");
}

TEST_P(BatchTest, one_that_is_cancelled_does_not_hurt_the_others) {
  const auto ids = submit_numbers(client_, 3);
  Worker worker(client_, quick(3));
  worker.on_batch("number", {.max_size = 3, .max_wait = 1s}, [&](TaskBatch& batch) {
    for (BatchTask& task : batch) {
      if (task.input<int>() != 1) continue;
      must(client_.cancel(task.id(), "not wanted"));
      EXPECT_TRUE(eventually([&] { return task.cancelled(); }));
      EXPECT_FALSE(task.progress(50));
      EXPECT_FALSE(task.complete());
    }
  });
  must(worker.start());
  EXPECT_EQ(ended(ids[0]).outcome, Outcome::success);
  EXPECT_EQ(ended(ids[1]).outcome, Outcome::cancelled);
  EXPECT_EQ(ended(ids[2]).outcome, Outcome::success);
  worker.stop();
  must(worker.join());
}

TEST_P(BatchTest, a_batch_that_is_not_full_waits_only_so_long) {
  const auto ids = submit_numbers(client_, 1);
  Worker worker(client_, quick(4));
  worker.on_batch("number", {.max_size = 4, .max_wait = 50ms}, [](const std::vector<int>&) {});
  must(worker.start());
  EXPECT_EQ(ended(ids[0]).outcome, Outcome::success);
}

TEST_P(BatchTest, a_delayed_execution_goes_on_with_the_same_attempt) {
  const auto ids = submit_numbers(client_, 2);
  std::atomic<int> delayed{0};
  Worker worker(client_, quick(2));
  worker.on_batch("number", {.max_size = 2, .max_wait = 100ms}, [&](TaskBatch& batch) {
    for (BatchTask& task : batch) {
      if (task.input<int>() == 1 && delayed++ == 0) {
        EXPECT_TRUE(task.delay(1ms));
      }
    }
  });
  must(worker.start());
  for (const auto& id : ids) EXPECT_EQ(ended(id).outcome, Outcome::success);
  EXPECT_EQ(must(client_.get(ids[1])).attempts.size(), 1U);
}

TEST_P(BatchTest, options_are_checked) {
  const auto refusal_of = [&](const BatchOptions& options) {
    Worker worker(client_, quick(4));
    worker.on_batch("number", options, [](const std::vector<int>&) {});
    const auto started = worker.start();
    return started ? std::string() : started.error().field;
  };
  EXPECT_EQ(refusal_of({.max_size = 0}), "max_size");
  EXPECT_EQ(refusal_of({.max_size = 5}), "max_size");
  EXPECT_EQ(refusal_of({.max_size = 4, .max_wait = -1ms}), "max_wait");
  EXPECT_EQ(refusal_of({.max_size = 4, .max_wait = 61s}), "max_wait");
}

// Whoever dies in the middle of a batch has answered for some and not for others: all end, each once.
TEST(BatchRehearsal, crashes_in_the_middle_of_a_batch_lose_nothing) {
  const std::uint64_t runs = testing::crash_everywhere([](testing::Engine& engine) {
    engine.on_batch("number", {.max_size = 3}, [](const std::vector<int>& numbers) {
      std::vector<int> twice;
      for (const int number : numbers) twice.push_back(2 * number);
      return twice;
    });
    engine.on("other", [](int number) { return number + 1; });
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 7; ++i) ids.push_back(engine.submit("number", i));
    const ExecutionId other = engine.submit("other", 1);
    engine.run();
    for (int i = 0; i < 7; ++i) {
      if (engine.result<int>(ids[i]) != 2 * i) throw std::runtime_error("a wrong result");
    }
    if (engine.result<int>(other) != 2) throw std::runtime_error("the other was left");
  });
  EXPECT_EQ(runs, 9U);  // the end of each execution is a boundary
}

}  // namespace
}  // namespace flowfabric::sdk_test
