// Keeps the leases of a worker alive, and notices when one is lost, from threads that no handler can block.
//
// One thread registers the worker and sends a heartbeat with all leases three times per lease time. A second one follows the
// events that take executions away (cancelled, expired, lease revoked), so that a handler learns of them at once; if it
// cannot, the next heartbeat says the same. A third one notices leases that have run out because no heartbeat got through.
//
// Threads: `add` and `remove` from any.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "sdk/running_task.hpp"

namespace flowfabric::sdk {

class LeaseKeeper {
 public:
  struct Options {
    WorkerRegistration registration;
    std::optional<std::string> name_space;  // that the worker keeps to
    std::chrono::milliseconds period{10'000};
    std::function<void()> on_drain;               // an operator wants the worker to end
    std::function<void(const TaskPtr&)> on_lost;  // called once for a task
  };

  LeaseKeeper(std::shared_ptr<Gateway> gateway, Options options)
      : gateway_(std::move(gateway)), options_(std::move(options)) {}
  ~LeaseKeeper() { stop(); }

  // Registers the worker, then keeps it and its leases alive.
  Result<void> start();
  void stop();

  void add(const TaskPtr& task);
  void remove(const TaskPtr& task);

 private:
  void keep(const std::stop_token& stop);
  void watch(const std::stop_token& stop);
  void expire(const std::stop_token& stop);
  void beat();
  void note_verdicts(const std::vector<TaskPtr>& tasks, const HeartbeatReply& reply, RunningTask::SteadyTime asked_at);
  void lose(const TaskPtr& task, const std::string& reason);
  std::string reason_of(const TaskPtr& task, const Error& error);
  void take_away(const Event& event);
  std::vector<TaskPtr> held() const;

  std::shared_ptr<Gateway> gateway_;
  Options options_;
  mutable std::mutex mutex_;
  std::map<ExecutionId, TaskPtr> tasks_;
  std::jthread keeping_, watching_, expiring_;
};

}  // namespace flowfabric::sdk
