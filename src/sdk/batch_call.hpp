// Calls a handler of batches, and sees to it that each execution gets one answer.
#pragma once

#include <functional>
#include <vector>

#include <flowfabric/batch.hpp>

#include "sdk/running_task.hpp"

namespace flowfabric::sdk {

// One execution of a batch while its handler runs.
struct BatchEntry {
  RunningTask* task;
  // Reports the answer; false if the execution is not ours any more.
  std::function<bool(Settlement)> settle;
  bool answered = false;

  bool answer(Settlement settlement);
};

// When this returns, every entry has been answered, or is not ours any more. The entries are at least one.
void call_batch_handler(std::vector<BatchEntry>& entries, const BatchHandler& handler);

}  // namespace flowfabric::sdk
