// Validation of requests for schedules: see ingress.hpp.
#pragma once

#include <flowfabric/schedules.hpp>

#include "core/ingress.hpp"
#include "core/time_zone.hpp"

namespace flowfabric {

// The part of a spec that says when it fires.
Result<void> admit_schedule_times(const ScheduleSpec& spec, const TimeZones* zones);
// Also normalises what the executions require.
Result<void> admit(ScheduleSpec& spec, const IngressLimits& limits, const TimeZones* zones);
Result<void> admit(ScheduleRequest& request, const IngressLimits& limits, const TimeZones* zones);
Result<void> admit_schedule_name(std::string_view name_space, std::string_view name);
Result<void> admit(const TriggerRequest& request);
Result<void> admit(const BackfillRequest& request);
Result<void> admit(const ListSchedulesRequest& request);
Result<void> admit(const NextRunsRequest& request);

}  // namespace flowfabric
