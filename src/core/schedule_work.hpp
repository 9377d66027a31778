// How schedules fire, for the clock (schedule_work.cpp) and for the commands (decide_schedules.cpp).
#pragma once

#include <string>

#include "core/decide.hpp"

namespace flowfabric {

// Tags of every execution and flow that a schedule creates, and of the nodes of such a flow.
inline constexpr const char* schedule_name_tag = "schedule.name";
inline constexpr const char* schedule_time_tag = "schedule.at";

// One change of one schedule.
struct ScheduleChange {
  Workspace& workspace;
  Slot& slot;
  const Context& context;

  ScheduleRecord& schedule() const { return *slot.schedule(); }
};

// Decides everything that is due. All records of `firing_keys` are known.
void settle_schedule(const ScheduleChange& change);
// Starts the firing, or does with it what the overlap policy says.
void fire(const ScheduleChange& change, const BufferedFiring& firing, bool ignore_overlap = false);
// Whether the lanes accept what a firing would create.
Result<void> check_target(const ScheduleChange& change);
// What a firing of the schedule has created, or will create.
RunningFiring named_firing(const ScheduleRecord& schedule, const BufferedFiring& firing);
// Only creates and counts the execution or flow; refused if a lane does not accept it.
Result<void> create_firing(const ScheduleChange& change, const BufferedFiring& firing);
// The definition of the flow that a schedule creates, in the change set of the schedule.
void keep_definition(Workspace& workspace, Slot& slot, const FlowRequest& request);
void drop_definition(Workspace& workspace, Slot& slot);
// Without an actor it is the clock's.
Event& log_schedule(const ScheduleChange& change, EventType type, std::string reason, const std::string& actor = {});
Event& log_firing(const ScheduleChange& change, const BufferedFiring& firing, const std::string& actor = {});

}  // namespace flowfabric
