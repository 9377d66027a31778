#include "testing/virtual_schedules.hpp"

#include "base/check.hpp"
#include "core/schedule_ingress.hpp"
#include "engine/schedule_reads.hpp"

namespace flowfabric::testing {

Result<ScheduleSaved> VirtualSchedules::create(ScheduleRequest request) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(request, engine_.runtime().ingress(), engine_.runtime().zones()));
  FF_TRY(reply, engine_.call(CreateScheduleCommand{std::move(request)}));
  return std::get<ScheduleSaved>(reply);
}

Result<ScheduleSaved> VirtualSchedules::update(const sdk::ScheduleName& name, ScheduleSpec spec,
                                               std::optional<std::uint64_t> expected_revision, const Operator& by) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit_schedule_name(name.name_space, name.name));
  spec.execution.name_space = name.name_space;
  FF_TRY_VOID(admit(spec, engine_.runtime().ingress(), engine_.runtime().zones()));
  FF_TRY(reply,
         engine_.call(UpdateScheduleCommand{name.name_space, name.name, std::move(spec), expected_revision, by}));
  return std::get<ScheduleSaved>(reply);
}

Result<ScheduleSaved> VirtualSchedules::change(const sdk::ScheduleName& name, ScheduleState state, const Operator& by) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit_schedule_name(name.name_space, name.name));
  FF_TRY(reply, engine_.call(ScheduleStateCommand{name.name_space, name.name, state, by}));
  return std::get<ScheduleSaved>(reply);
}

Result<TriggerReply> VirtualSchedules::trigger(const sdk::ScheduleName& name, const TriggerRequest& request,
                                               const Operator& by) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit_schedule_name(name.name_space, name.name));
  FF_TRY_VOID(admit(request));
  FF_TRY(reply, engine_.call(TriggerScheduleCommand{name.name_space, name.name, request, by}));
  return std::get<TriggerReply>(reply);
}

Result<BackfillReply> VirtualSchedules::backfill(const sdk::ScheduleName& name, const BackfillRequest& request,
                                                 const Operator& by) {
  const std::lock_guard lock(mutex_);
  FF_TRY(command,
         reads::backfill_command(engine_.store(), engine_.runtime().zones(), name.name_space, name.name, request, by));
  FF_TRY(reply, engine_.call(std::move(command)));
  return std::get<BackfillReply>(reply);
}

Result<ScheduleDescription> VirtualSchedules::describe(const sdk::ScheduleName& name) {
  const std::lock_guard lock(mutex_);
  return reads::describe_schedule(engine_.store(), engine_.runtime().zones(), name.name_space, name.name);
}

Result<ListSchedulesReply> VirtualSchedules::list(const ListSchedulesRequest& request) {
  const std::lock_guard lock(mutex_);
  return reads::schedules(engine_.store(), request);
}

Result<NextRuns> VirtualSchedules::next(const sdk::ScheduleName& name, const NextRunsRequest& request) {
  const std::lock_guard lock(mutex_);
  return reads::next_runs(engine_.store(), engine_.runtime().zones(), name.name_space, name.name, request);
}

}  // namespace flowfabric::testing
