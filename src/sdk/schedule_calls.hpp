// The calls about schedules, on a server or on an engine in this process. The client and the command line share them.
#pragma once

#include <memory>

#include <flowfabric/engine.hpp>
#include <flowfabric/schedules.hpp>

#include "sdk/http_caller.hpp"

namespace flowfabric::sdk {

struct ScheduleName {
  std::string name_space = "default";
  std::string name{};
};

class ScheduleCalls {
 public:
  ScheduleCalls() = default;
  ScheduleCalls(const ScheduleCalls&) = delete;
  ScheduleCalls& operator=(const ScheduleCalls&) = delete;
  virtual ~ScheduleCalls() = default;

  virtual Result<ScheduleSaved> create(ScheduleRequest request) = 0;
  virtual Result<ScheduleSaved> update(const ScheduleName& name, ScheduleSpec spec,
                                       std::optional<std::uint64_t> expected_revision, const Operator& by) = 0;
  // Pauses, resumes or deletes it.
  virtual Result<ScheduleSaved> change(const ScheduleName& name, ScheduleState state, const Operator& by) = 0;
  virtual Result<TriggerReply> trigger(const ScheduleName& name, const TriggerRequest& request, const Operator& by) = 0;
  virtual Result<BackfillReply> backfill(const ScheduleName& name, const BackfillRequest& request,
                                         const Operator& by) = 0;
  virtual Result<ScheduleDescription> describe(const ScheduleName& name) = 0;
  virtual Result<ListSchedulesReply> list(const ListSchedulesRequest& request) = 0;
  virtual Result<NextRuns> next(const ScheduleName& name, const NextRunsRequest& request) = 0;
};

// The caller and the engine must outlive it.
std::unique_ptr<ScheduleCalls> schedule_calls(HttpCaller& caller);
std::unique_ptr<ScheduleCalls> schedule_calls(Engine& engine);

}  // namespace flowfabric::sdk
