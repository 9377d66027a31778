// The parts of a worker: a thread that claims, threads that run handlers, the lease keeper and the settler.
//
// A slot is taken when an execution is claimed and given back when the store has acknowledged how it was left, so a worker
// never holds more than `concurrency` executions, and a store that is slow slows the claiming down.
//
// Lock order: `mutex_` first, then those of tasks; no call to the gateway is made under it. Whatever ends the worker is
// announced under the lock, so that the worker can be destroyed as soon as `join` returns.
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <flowfabric/worker.hpp>

#include "sdk/lease_keeper.hpp"
#include "sdk/settler.hpp"
#include "sdk/step_plan.hpp"

namespace flowfabric {

class Worker::Impl {
 public:
  Impl(std::shared_ptr<sdk::Gateway> gateway, WorkerOptions options);
  ~Impl();

  void add(std::string kind, Handler handler, KindOptions options);
  void add_batch(std::string kind, BatchHandler handler, const BatchOptions& options);
  void use(Middleware middleware);
  std::string declared_steps() const;
  Result<void> start();
  void stop();
  Result<void> join();
  Statistics statistics() const;
  const WorkerOptions& options() const { return options_; }

 private:
  struct Kind {
    Handler handler;
    KindOptions options;
    std::shared_ptr<const sdk::StepPlan> plan{};  // when the handler declares its steps
    BatchHandler batch{};                         // instead of the handler
    BatchOptions batching{};
    std::uint32_t running = 0;  // calls

    bool is_full() const { return options.concurrency != 0 && running >= options.concurrency; }
  };

  Result<void> check_options() const;
  Result<void> make_plans();
  Result<void> begin();
  void claim_work(const std::stop_token& stop);
  bool wait_for_slot(const std::stop_token& stop, std::uint32_t& free);
  void take_in(std::vector<ClaimedExecution> claimed);
  void run_tasks();
  using SteadyTime = sdk::RunningTask::SteadyTime;
  std::vector<sdk::TaskPtr> next_tasks(std::optional<SteadyTime>& look_again);
  std::vector<sdk::TaskPtr> take_batch(const Kind& kind, std::list<sdk::TaskPtr>::iterator first,
                                       std::optional<SteadyTime>& look_again);
  bool wait_for_tasks(std::unique_lock<std::mutex>& lock, std::vector<sdk::TaskPtr>& tasks);
  Kind* kind_of(const sdk::TaskPtr& task);
  void run_one(const sdk::TaskPtr& task);
  void run_batch(const Kind& kind, const std::vector<sdk::TaskPtr>& tasks);
  sdk::Settlement outcome_of(const sdk::TaskPtr& task);
  void leave(const sdk::TaskPtr& task, sdk::Settlement settlement);
  void note_left(const sdk::TaskPtr& task, const sdk::Settlement& settlement, const Result<void>& answer);
  void free_slot(const sdk::TaskPtr& task);
  void notify_if_ended();
  void drain();
  void end_grace();
  void hand_back(const std::vector<sdk::TaskPtr>& tasks, const char* reason);

  std::shared_ptr<sdk::Gateway> gateway_;
  WorkerOptions options_;
  std::vector<Middleware> middleware_;

  mutable std::mutex mutex_;
  std::condition_variable work_came_;       // for handler threads
  std::condition_variable_any slot_freed_;  // for the claiming thread
  std::condition_variable ended_;           // for join
  std::map<std::string, Kind> kinds_;
  std::list<sdk::TaskPtr> waiting_;  // claimed, and no handler runs yet
  std::set<sdk::TaskPtr> held_;      // slots taken: waiting, running, or not acknowledged
  std::uint32_t running_ = 0;        // handlers
  bool started_ = false;
  bool stopping_ = false;
  bool grace_begun_ = false;
  bool claiming_ = false;
  std::optional<Error> fatal_;
  Statistics counts_;

  std::stop_source stop_claims_;
  std::unique_ptr<sdk::Settler> settler_;
  std::unique_ptr<sdk::LeaseKeeper> keeper_;
  std::thread claimer_;
  std::vector<std::thread> pool_;
};

}  // namespace flowfabric
