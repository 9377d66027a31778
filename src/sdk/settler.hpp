// Reports how tasks ended until the store has acknowledged it, and calls back at a time.
//
// A report that fails for a passing reason is sent again, with growing pauses, as long as the lease is ours. The lease is
// renewed meanwhile, so a store that is away for a while loses nothing.
//
// Threads: any.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "sdk/running_task.hpp"

namespace flowfabric::sdk {

class Settler {
 public:
  using SteadyTime = RunningTask::SteadyTime;
  // How it went: nothing, or the error that ended the attempts.
  using Done = std::function<void(const Result<void>&)>;

  Settler();
  ~Settler();

  void settle(const TaskPtr& task, Settlement settlement, Done done);
  // Calls `what` at that time, or never when the settler ends first.
  void at(SteadyTime time, std::function<void()> what);

 private:
  struct Report {
    TaskPtr task;
    Settlement settlement;
    Done done;
    std::chrono::milliseconds pause{50};
  };

  void send(const std::shared_ptr<Report>& report);
  void answered(const std::shared_ptr<Report>& report, const Result<void>& answer);
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::multimap<SteadyTime, std::function<void()>> later_;
  std::jthread thread_;
};

}  // namespace flowfabric::sdk
