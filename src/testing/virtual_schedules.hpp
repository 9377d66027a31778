// The calls about schedules on virtual time.
#pragma once

#include <mutex>

#include "sdk/schedule_calls.hpp"
#include "testing/virtual_engine.hpp"

namespace flowfabric::testing {

class VirtualSchedules final : public sdk::ScheduleCalls {
 public:
  // Both must outlive it; the mutex guards the engine.
  VirtualSchedules(VirtualEngine& engine, std::mutex& mutex) : engine_(engine), mutex_(mutex) {}

  Result<ScheduleSaved> create(ScheduleRequest request) override;
  Result<ScheduleSaved> update(const sdk::ScheduleName& name, ScheduleSpec spec,
                               std::optional<std::uint64_t> expected_revision, const Operator& by) override;
  Result<ScheduleSaved> change(const sdk::ScheduleName& name, ScheduleState state, const Operator& by) override;
  Result<TriggerReply> trigger(const sdk::ScheduleName& name, const TriggerRequest& request,
                               const Operator& by) override;
  Result<BackfillReply> backfill(const sdk::ScheduleName& name, const BackfillRequest& request,
                                 const Operator& by) override;
  Result<ScheduleDescription> describe(const sdk::ScheduleName& name) override;
  Result<ListSchedulesReply> list(const ListSchedulesRequest& request) override;
  Result<NextRuns> next(const sdk::ScheduleName& name, const NextRunsRequest& request) override;

 private:
  VirtualEngine& engine_;
  std::mutex& mutex_;
};

}  // namespace flowfabric::testing
