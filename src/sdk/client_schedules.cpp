// The calls of a client about schedules.
#include <flowfabric/client.hpp>

#include "sdk/gateway.hpp"
#include "sdk/schedule_calls.hpp"

namespace flowfabric {
namespace {

Operator for_reason(std::string reason) { return {"client", std::move(reason)}; }

}  // namespace

Result<ScheduleSaved> Client::create_schedule(ScheduleRequest request) {
  return gateway_->schedules().create(std::move(request));
}
Result<ScheduleSaved> Client::update_schedule(const std::string& name_space, const std::string& name, ScheduleSpec spec,
                                              std::optional<std::uint64_t> expected_revision, std::string reason) {
  return gateway_->schedules().update({name_space, name}, std::move(spec), expected_revision,
                                      for_reason(std::move(reason)));
}
Result<ScheduleSaved> Client::pause_schedule(const std::string& name_space, const std::string& name,
                                             std::string reason) {
  return gateway_->schedules().change({name_space, name}, ScheduleState::paused, for_reason(std::move(reason)));
}
Result<ScheduleSaved> Client::resume_schedule(const std::string& name_space, const std::string& name,
                                              std::string reason) {
  return gateway_->schedules().change({name_space, name}, ScheduleState::active, for_reason(std::move(reason)));
}
Result<ScheduleSaved> Client::delete_schedule(const std::string& name_space, const std::string& name,
                                              std::string reason) {
  return gateway_->schedules().change({name_space, name}, ScheduleState::deleted, for_reason(std::move(reason)));
}
Result<TriggerReply> Client::trigger_schedule(const std::string& name_space, const std::string& name,
                                              const TriggerRequest& request, std::string reason) {
  return gateway_->schedules().trigger({name_space, name}, request, for_reason(std::move(reason)));
}
Result<BackfillReply> Client::backfill_schedule(const std::string& name_space, const std::string& name,
                                                const BackfillRequest& request, std::string reason) {
  return gateway_->schedules().backfill({name_space, name}, request, for_reason(std::move(reason)));
}
Result<ScheduleDescription> Client::get_schedule(const std::string& name_space, const std::string& name) {
  return gateway_->schedules().describe({name_space, name});
}
Result<ListSchedulesReply> Client::list_schedules(const ListSchedulesRequest& request) {
  return gateway_->schedules().list(request);
}
Result<NextRuns> Client::next_runs(const std::string& name_space, const std::string& name,
                                   const NextRunsRequest& request) {
  return gateway_->schedules().next({name_space, name}, request);
}

}  // namespace flowfabric
