// The fixture and helpers of the engine conformance suite: a fresh database, one or two engines on it that are driven
// by hand, and a clock that the test moves. The second engine has its own handle, like another process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/watched_store.hpp"
#include "core/state.hpp"
#include "engine/integrity.hpp"
#include "support/driver.hpp"
#include "support/manual_clock.hpp"
#include "support/stores.hpp"

// Runs the cases of one suite on every store.
#define ON_EVERY_STORE(suite)                                               \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, testing::ValuesIn(store_kinds()), \
                           [](const testing::TestParamInfo<StoreKind>& each) { return each.param.name; })

namespace flowfabric::test {

using Claims = std::vector<ClaimedExecution>;
using Events = std::vector<EventType>;

// The value, or an exception that fails the test with the error's text.
template <class T>
T value_of(Result<T> result) {
  if (!result) {
    throw std::runtime_error(std::string(to_string(result.error().code)) + ": " + result.error().message);
  }
  return std::move(*result);
}

// The code of a call that must be refused.
template <class T>
Errc refusal(const Result<T>& result) {
  if (result) throw std::runtime_error("this was to be refused, but it was not");
  return result.error().code;
}

inline CreateRequest job(const std::string& lane = "default", std::int32_t priority = 0) {
  CreateRequest request;
  request.kind = "job";
  request.lane = lane;
  request.priority = priority;
  return request;
}

// Retries up to `max_retries` times, a second after each failure.
inline CreateRequest retried_job(std::uint32_t max_retries = 3) {
  CreateRequest request = job();
  request.policy.retry = RetryPolicy{};
  request.policy.retry->max_retries = max_retries;
  request.policy.retry->backoff = RetryPolicy::Backoff::fixed;
  return request;
}

inline ClaimRequest ask(std::uint32_t count = 1, std::vector<std::string> lanes = {"default"},
                        std::vector<std::string> capabilities = {}) {
  ClaimRequest request;
  request.worker_id = "worker";
  request.worker_instance_id = "w-1";
  request.lanes = std::move(lanes);
  request.capabilities = std::move(capabilities);
  request.max_executions = count;
  return request;
}

inline ClaimRequest ask_and_wait(std::uint32_t wait_ms, std::vector<std::string> lanes = {"default"}) {
  ClaimRequest request = ask(1, std::move(lanes));
  request.wait_ms = wait_ms;
  return request;
}

inline std::vector<ExecutionId> ids_of(const Claims& claims) {
  std::vector<ExecutionId> ids;
  for (const auto& claim : claims) ids.push_back(claim.execution_id);
  return ids;
}

// Every operation of a lease holder, with one fence.
inline std::vector<Command> everything_fenced(const Fence& fence) {
  return {RenewCommand{fence, 0},
          ProgressCommand{fence, {10, "m"}},
          CompleteCommand{fence, {"r", {}}},
          FailCommand{fence, {}},
          DelayCommand{fence, 1},
          ReleaseHeldCommand{fence},
          StepCommand{fence, {.position = 1, .name = "s"}},
          CheckpointCommand{fence, "c", {}},
          SpendCommand{fence, {{{"tokens", 1}}, {}, false}},
          CancelHeldCommand{fence, "enough"}};
}

inline long count_of(const Events& events, EventType type) { return std::count(events.begin(), events.end(), type); }
inline long ends_in(const Events& events) { return std::count_if(events.begin(), events.end(), is_terminal); }

class EngineSuite : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    database_ = make_database(GetParam().id);
    engine_ = open_engine(1);
  }

  void TearDown() override {
    second_.reset();
    if (engine_ && !leaves_damage_) {
      EXPECT_EQ(value_of(integrity_findings(engine_->store())), std::vector<std::string>{});
    }
    engine_.reset();
    database_.reset();
  }

  std::unique_ptr<Store> open_store() {
    StoreOptions options;
    options.now_us = clock_.source();
    return database_->open(std::move(options));
  }
  std::unique_ptr<Driver> open_engine(std::uint64_t seed, RuntimeOptions options = {}) {
    return std::make_unique<Driver>(open_store(), clock_, seed, std::move(options));
  }

  Driver& engine() { return *engine_; }
  Driver& second() {
    if (!second_) second_ = open_engine(2);
    return *second_;
  }

  TimestampMs now() const { return clock_.now_ms(); }
  ExecutionId make(CreateRequest request) { return value_of(engine().create(std::move(request))).execution_id; }

  template <class T>
  T call(Command command) {
    return std::get<T>(value_of(engine().call(std::move(command))));
  }
  Errc refused(Command command) { return refusal(engine().call(std::move(command))); }
  Claims claim(ClaimRequest request) { return value_of(engine().claim(std::move(request))); }
  PublicState state(const ExecutionId& id) { return engine().describe(id).summary.public_state; }
  Facts facts(const ExecutionId& id) { return engine().execution(id).facts; }

  // Creates all of them in as few batches as the engine uses.
  std::vector<ExecutionId> make_many(std::vector<CreateRequest> requests) {
    std::vector<ExecutionId> made(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      engine().runtime().submit_create(std::move(requests[i]), [&made, i](Result<Reply> reply) {
        made[i] = std::get<Created>(value_of(std::move(reply))).execution_id;
      });
    }
    engine().settle();
    return made;
  }
  // Submits all commands before anything is processed, so that they share batches.
  std::vector<Result<Reply>> call_together(Driver& driver, std::vector<Command> commands) {
    std::vector<Result<Reply>> replies(commands.size(), flowfabric::fail(Errc::internal, "no answer"));
    for (std::size_t i = 0; i < commands.size(); ++i) {
      driver.runtime().submit(std::move(commands[i]),
                              [&replies, i](Result<Reply> reply) { replies[i] = std::move(reply); });
    }
    driver.settle();
    return replies;
  }
  // Claims until a lane is empty.
  Claims claim_all(const std::string& lane = "default", std::uint32_t lease_ttl_ms = 30000) {
    Claims all;
    for (;;) {
      ClaimRequest request = ask(500, {lane});
      request.lease_ttl_ms = lease_ttl_ms;
      Claims some = claim(request);
      if (some.empty()) return all;
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
  }

  // Notifications of another engine take real time to arrive.
  template <class Condition>
  bool comes_true(Driver& driver, Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (;;) {
      driver.settle();
      if (condition()) return true;
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  // All events of the log from a cursor on.
  std::vector<Event> events_from(std::string cursor, const EventFilter& filter = {}) {
    std::vector<Event> all;
    for (bool behind = true; behind;) {
      auto read = value_of(reads::events(engine().store(), filter, cursor, 1000));
      all.insert(all.end(), read.page.events.begin(), read.page.events.end());
      cursor = read.page.next_cursor;
      behind = read.behind;
    }
    return all;
  }
  std::string start_cursor(const std::string& where) { return value_of(reads::start_cursor(engine().store(), where)); }

  // Writes bytes that nobody can decode in the place of a record's body, as a fault of the database would.
  void damage(const Key& key) {
    leaves_damage_ = true;
    const auto session = value_of(engine().store().open_session());
    const Record record = value_of(engine().store().load({key})).at(0);
    ChangeSet set;
    RootChange& change = set.roots.emplace_back();
    change.key = key;
    change.expected_version = record.version;
    change.last_entry = record.last_entry;
    change.body = "\xff\xff nonsense";
    if (key.kind() == RecordKind::execution) change.listing = listing_of(value_of(decode_execution(record)));
    if (key.kind() == RecordKind::schedule) change.listing = listing_of(value_of(decode_schedule(record)));
    ASSERT_EQ(value_of(session->commit({set})), std::vector<Verdict>{Verdict::committed});
  }

  bool leaves_damage_ = false;  // the integrity check has findings at the end
  ManualClock clock_;
  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<Driver> engine_;
  std::unique_ptr<Driver> second_;
};

}  // namespace flowfabric::test
