// The public interface for schedules.
#include "base/check.hpp"
#include "core/schedule_ingress.hpp"
#include "engine/calls.hpp"
#include "engine/engine_impl.hpp"
#include "engine/schedule_reads.hpp"

namespace flowfabric {

Result<ScheduleSaved> Engine::create_schedule(ScheduleRequest request) {
  return impl_->counted("create_schedule", [&]() -> Result<ScheduleSaved> {
    Runtime& runtime = *impl_->runtime;
    FF_TRY_VOID(admit(request, runtime.ingress(), runtime.zones()));
    FF_TRY_VOID(reads::check_schedule_count(runtime.store(), request.name_space, request.name));
    return call_as<ScheduleSaved>(runtime, CreateScheduleCommand{std::move(request)});
  });
}

Result<ScheduleSaved> Engine::update_schedule(const std::string& name_space, const std::string& name, ScheduleSpec spec,
                                              std::optional<std::uint64_t> expected_revision, Operator by) {
  return impl_->counted("update_schedule", [&]() -> Result<ScheduleSaved> {
    Runtime& runtime = *impl_->runtime;
    FF_TRY_VOID(admit_schedule_name(name_space, name));
    FF_TRY_VOID(admit(by));
    spec.execution.name_space = name_space;
    FF_TRY_VOID(admit(spec, runtime.ingress(), runtime.zones()));
    return call_as<ScheduleSaved>(
        runtime, UpdateScheduleCommand{name_space, name, std::move(spec), expected_revision, std::move(by)});
  });
}

namespace {

Result<ScheduleSaved> change_state(Runtime& runtime, const std::string& name_space, const std::string& name,
                                   ScheduleState state, Operator by) {
  FF_TRY_VOID(admit_schedule_name(name_space, name));
  FF_TRY_VOID(admit(by));
  return call_as<ScheduleSaved>(runtime, ScheduleStateCommand{name_space, name, state, std::move(by)});
}

}  // namespace

Result<ScheduleSaved> Engine::pause_schedule(const std::string& name_space, const std::string& name, Operator by) {
  return impl_->counted("pause_schedule", [&] {
    return change_state(*impl_->runtime, name_space, name, ScheduleState::paused, std::move(by));
  });
}

Result<ScheduleSaved> Engine::resume_schedule(const std::string& name_space, const std::string& name, Operator by) {
  return impl_->counted("resume_schedule", [&] {
    return change_state(*impl_->runtime, name_space, name, ScheduleState::active, std::move(by));
  });
}

Result<ScheduleSaved> Engine::delete_schedule(const std::string& name_space, const std::string& name, Operator by) {
  return impl_->counted("delete_schedule", [&] {
    return change_state(*impl_->runtime, name_space, name, ScheduleState::deleted, std::move(by));
  });
}

Result<TriggerReply> Engine::trigger_schedule(const std::string& name_space, const std::string& name,
                                              TriggerRequest request, Operator by) {
  return impl_->counted("trigger_schedule", [&]() -> Result<TriggerReply> {
    FF_TRY_VOID(admit_schedule_name(name_space, name));
    FF_TRY_VOID(admit(by));
    FF_TRY_VOID(admit(request));
    return call_as<TriggerReply>(*impl_->runtime,
                                 TriggerScheduleCommand{name_space, name, std::move(request), std::move(by)});
  });
}

Result<BackfillReply> Engine::backfill_schedule(const std::string& name_space, const std::string& name,
                                                const BackfillRequest& request, Operator by) {
  return impl_->counted("backfill_schedule", [&]() -> Result<BackfillReply> {
    Runtime& runtime = *impl_->runtime;
    FF_TRY_VOID(admit(by));
    FF_TRY(command,
           reads::backfill_command(runtime.store(), runtime.zones(), name_space, name, request, std::move(by)));
    return call_as<BackfillReply>(runtime, std::move(command));
  });
}

Result<ScheduleDescription> Engine::describe_schedule(const std::string& name_space, const std::string& name) {
  return impl_->counted("describe_schedule", [&] {
    return reads::describe_schedule(impl_->runtime->store(), impl_->runtime->zones(), name_space, name);
  });
}

Result<ListSchedulesReply> Engine::list_schedules(const ListSchedulesRequest& request) {
  return impl_->counted("list_schedules", [&] { return reads::schedules(impl_->runtime->store(), request); });
}

Result<NextRuns> Engine::next_runs(const std::string& name_space, const std::string& name,
                                   const NextRunsRequest& request) {
  return impl_->counted("next_runs", [&] {
    return reads::next_runs(impl_->runtime->store(), impl_->runtime->zones(), name_space, name, request);
  });
}

Result<NextRuns> Engine::preview_runs(const ScheduleSpec& spec, const NextRunsRequest& request) {
  return impl_->counted("preview_runs", [&] {
    return reads::preview_runs(impl_->runtime->store(), impl_->runtime->zones(), spec, request);
  });
}

Result<EventPage> Engine::schedule_history(const std::string& name_space, const std::string& name,
                                           const std::string& cursor, std::uint32_t limit) {
  return impl_->counted("schedule_history", [&] {
    return reads::schedule_history(impl_->runtime->store(), name_space, name, cursor, limit);
  });
}

}  // namespace flowfabric
