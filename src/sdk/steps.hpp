// The durable steps of one run of a handler.
//
// A handler comes to its steps in some order; each gets the next position. What an earlier run has recorded at that position
// is returned, after a check that it has the same name: a handler that was changed against its record is told so and never
// gets the result of another step. Steps that run side by side take their positions before they begin, in the order in which
// they are listed.
//
// Threads: `reserve` and `finish` belong to the handler's thread; `run` may be called by several at once.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <flowfabric/task.hpp>

#include "sdk/running_task.hpp"
#include "sdk/step_plan.hpp"

namespace flowfabric::sdk {

class Steps {
 public:
  explicit Steps(RunningTask& task, const StepPlan* plan) : task_(task), plan_(plan) {
    if (plan != nullptr) walk_.emplace(*plan);
  }

  // The next position, with the name as it is recorded: a name that comes again gets a number. Throws HandlerChanged when the
  // plan has no place for it.
  struct Place {
    std::uint32_t position = 0;
    std::string name{};
    std::uint32_t group_end = 0;  // the last position of those that run side by side; 0: it runs alone
  };
  Place reserve(std::string_view name);

  // What is recorded at the place, or else what `work` gives, recorded. Throws StepFailed, TaskStopped or HandlerChanged.
  Step run(const Place& place, const StepOptions& options, const std::function<Bytes(std::stop_token)>& work);
  // A value that the record makes up, such as the time.
  Step note(const Place& place);
  // Returns when the time has come; leaves the handler until then.
  void sleep(const Place& place, std::chrono::milliseconds duration);
  // How the wait ended. Leaves the handler if it lasts; position and name of the step are filled in.
  WaitOutcome wait(const Place& place, SuspendRequest request);
  // A key for the next report of this thread: the step in which it is and the number of the report in this try of it. Empty
  // outside of steps.
  std::string next_report_key() const;
  // Whether this thread is inside of a step of this task now.
  bool inside_step() const;
  // At the end of a handler: every recorded step must have been reached. Throws HandlerChanged.
  void finish();

 private:
  void load();
  const Step* recorded(const Place& place, bool is_wait = false);
  Step record(StepRequest request);
  Step recorded_before(std::uint32_t position);
  Result<SuspendReply> suspend(const SuspendRequest& request);
  Bytes try_once(const Place& place, const StepOptions& options, const std::function<Bytes(std::stop_token)>& work);
  [[noreturn]] void changed(const Place& place, const std::string& what);
  [[noreturn]] void changed_kind(const Place& place, bool is_wait);
  [[noreturn]] void wait_until(TimestampMs wake_at);
  std::string order_recorded() const;
  std::string order_reached() const;

  RunningTask& task_;
  const StepPlan* plan_;
  std::optional<StepPlan::Walk> walk_;  // through the plan, if there is one
  std::mutex mutex_;
  bool loaded_ = false;
  std::map<std::uint32_t, Step> recorded_;
  std::map<std::string, std::uint32_t> recorded_names_;  // position by name
  std::vector<std::string> reached_;                     // names by position, from 1 on
  std::map<std::string, int, std::less<>> repeats_;
};

}  // namespace flowfabric::sdk
