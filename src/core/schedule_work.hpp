// How schedules fire, for the clock (schedule_work.cpp) and for the commands (decide_schedules.cpp).
#pragma once

#include <string>

#include "core/decide.hpp"

namespace flowfabric {

// Tags of every execution that a schedule creates.
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
// Only creates and counts the execution; refused if its lane does not accept it.
Result<void> create_firing(const ScheduleChange& change, const BufferedFiring& firing);
// Without an actor it is the clock's.
Event& log_schedule(const ScheduleChange& change, EventType type, std::string reason, const std::string& actor = {});

}  // namespace flowfabric
