// Reads of schedules, as functions of a store.
#pragma once

#include <flowfabric/schedules.hpp>

#include "core/commands.hpp"
#include "core/time_zone.hpp"
#include "store/store.hpp"

namespace flowfabric::reads {

Result<ScheduleDescription> describe_schedule(Store& store, const TimeZones* zones, const std::string& name_space,
                                              const std::string& name);
Result<ListSchedulesReply> schedules(Store& store, const ListSchedulesRequest& request);
Result<NextRuns> next_runs(Store& store, const TimeZones* zones, const std::string& name_space, const std::string& name,
                           const NextRunsRequest& request);
// Of a spec that need not belong to a schedule.
Result<NextRuns> preview_runs(Store& store, const TimeZones* zones, const ScheduleSpec& spec,
                              const NextRunsRequest& request);
Result<EventPage> schedule_history(Store& store, const std::string& name_space, const std::string& name,
                                   const std::string& cursor, std::uint32_t limit);
// The scheduled times of the range. Refused if there are too many.
Result<BackfillScheduleCommand> backfill_command(Store& store, const TimeZones* zones, const std::string& name_space,
                                                 const std::string& name, const BackfillRequest& request, Operator by);
// Refused if the namespace has as many as it may have. Other calls at the same moment may exceed that by a few.
Result<void> check_schedule_count(Store& store, const std::string& name_space, const std::string& name);
// By state, deleted ones included.
Result<std::map<ScheduleState, std::uint64_t>> schedule_counts(Store& store);

}  // namespace flowfabric::reads
