// Tests handlers without threads, without sleeping and without a database: time is virtual, and workers crash on demand.
//
//   flowfabric::testing::Engine engine;
//   engine.on("order", handle_order);
//   auto id = engine.submit("order", Order{17});
//   engine.crash_after("charge");             // the worker dies right behind the step "charge"
//   engine.run();                             // until nothing can run: dead workers are noticed, retries happen
//   engine.advance(3h);                       // sleeps, backoffs and deadlines pass
//   EXPECT_EQ(engine.result<Receipt>(id), ...);
//
// The engine is the real one, on its store in memory, with leases, retries and all; handlers run on the calling thread, one
// after another. The same seed gives the same run. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <flowfabric/batch.hpp>
#include <flowfabric/client.hpp>
#include <flowfabric/handler.hpp>

namespace flowfabric::testing {

struct Options {
  std::uint64_t seed = 1;
  std::chrono::milliseconds lease_ttl{30'000};
  std::vector<std::string> lanes = {"default"};
};

class Engine {
 public:
  explicit Engine(Options options = {});
  ~Engine();

  // Of the options only the declared steps matter here: handlers run one after another.
  template <class F>
  Engine& on(std::string kind, F handler, KindOptions options = {}) {
    add(std::move(kind), make_handler(std::move(handler)), options);
    return *this;
  }

  // A batch takes what can run now, up to `max_size`; nothing waits for more.
  template <class F>
  Engine& on_batch(std::string kind, const BatchOptions& options, F handler) {
    add_batch(std::move(kind), make_batch_handler(std::move(handler)), options);
    return *this;
  }

  // ---- Submitting and reading. Errors of the engine are thrown as std::runtime_error.
  template <class T>
  ExecutionId submit(std::string kind, const T& input, SubmitOptions options = {}) {
    return submit(Client::make_request(std::move(kind), encode_value(input), std::move(options)));
  }
  ExecutionId submit(CreateRequest request);
  FlowId submit_flow(FlowRequest request);
  FlowDescription get_flow(const FlowId& id);
  // However far it has come.
  FlowResult flow_result(const FlowId& id);
  template <class T>
  T result(const ExecutionId& id) {
    return Convert<T>::from_bytes(result_bytes(id));
  }
  ExecutionDescription get(const ExecutionId& id);
  ExecutionResult outcome(const ExecutionId& id);
  std::vector<Step> steps(const ExecutionId& id);
  std::vector<Event> history(const ExecutionId& id);
  void cancel(const ExecutionId& id, std::string reason = {});
  TimestampMs now() const;

  // ---- Signals and approvals. The next `run` or `advance` runs the handler that they wake.
  template <class T>
  SignalReply signal(const ExecutionId& id, std::string waitpoint, const T& value, SignalOptions options = {}) {
    return send_signal(id, Client::make_signal(std::move(waitpoint), encode_value(value), std::move(options)));
  }
  SignalReply send_signal(const ExecutionId& id, SignalRequest request);
  SignalReply send_signal_by_token(const std::string& token, SignalRequest request = {});
  SignalReply approve(const ExecutionId& id, std::string waitpoint, std::string actor, std::string comment = {});
  SignalReply reject(const ExecutionId& id, std::string waitpoint, std::string actor, std::string comment = {});
  void resume(const ExecutionId& id, std::string reason = {});
  ExecutionWaits waits(const ExecutionId& id);

  // ---- Limits and budgets
  LimitSaved set_limit(LimitRequest request);
  // What is in use of each of its keys.
  std::vector<LimitUse> limit_use(const LimitName& limit);
  BudgetUse change_budget(ChangeBudgetRequest request);

  // ---- Time
  // Runs handlers until nothing can run now. Time passes only as far as it takes to notice crashed workers.
  void run();
  // Lets time pass and runs whatever becomes runnable on the way.
  void advance(std::chrono::milliseconds time);
  // Lets time pass until the execution has ended, ten years at most.
  void run_until_ended(const ExecutionId& id);

  // ---- Crashes: the worker is gone, as by kill -9, and the execution is given to the next one when its lease has run out.
  // Each takes effect once.
  void crash_before(std::string step);  // its work is done, but nothing is recorded
  void crash_after(std::string step);   // it is recorded
  void crash_at_end(std::string kind);  // the handler has returned, but its result is not stored
  // The nth boundary of all, counted from 0 over all executions: before and after each recorded step and each beginning of a
  // wait, and the end of each handler; of a handler of batches, each completion.
  void crash_at_boundary(std::uint64_t n);
  std::uint64_t boundaries() const;  // that were passed
  std::uint64_t crashes() const;

 private:
  class Impl;
  void add(std::string kind, Handler handler, const KindOptions& options);
  void add_batch(std::string kind, BatchHandler handler, const BatchOptions& options);
  std::string result_bytes(const ExecutionId& id);

  std::unique_ptr<Impl> impl_;
};

// Runs `scenario` without a crash, and then once for each boundary that it came by, with a crash there. The scenario sets
// the handlers up, submits, runs, and checks what must hold whatever crashes; it is given a new engine each time. Returns the
// number of runs. What the scenario throws passes through, with the boundary in front of its message.
std::uint64_t crash_everywhere(const std::function<void(Engine&)>& scenario, const Options& options = {});

}  // namespace flowfabric::testing
