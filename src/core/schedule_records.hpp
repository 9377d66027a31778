// The stored record of a schedule.
//
// The first part names it. The second is everything else: the spec may be changed, and each firing moves `next_at`. A firing
// writes this record and creates its execution in one change set of the schedule's partition, so it happens once, whichever
// engine does it.
#pragma once

#include <string>
#include <vector>

#include <flowfabric/schedules.hpp>

#include "core/changes.hpp"

namespace flowfabric {

// A firing that waits until the executions before it have ended.
struct BufferedFiring {
  ExecutionId execution_id;  // that it will create
  TimestampMs scheduled_at = 0;
  FiringCause cause = FiringCause::timer;

  friend bool operator==(const BufferedFiring&, const BufferedFiring&) = default;
};

struct ScheduleRecord {
  std::string name_space;
  std::string name;
  TimestampMs first_created_at = 0;  // the first schedule of this name; a listing cannot change it

  // From here on in the body.
  std::uint64_t incarnation = 0;  // random; another one for each schedule of this name, so that ids never meet again
  ScheduleState state = ScheduleState::active;
  ScheduleSpec spec;
  std::uint64_t revision = 1;
  std::string creator;
  TimestampMs created_at = 0;
  TimestampMs changed_at = 0;
  std::string changed_by;
  std::string reason;
  TimestampMs next_at = 0;   // the next scheduled time that is not decided; 0: none, or it is paused
  TimestampMs retry_at = 0;  // its time zone is not known here: look again then. 0: it is
  TimestampMs last_fired_at = 0;
  ScheduleCounts counts;
  std::uint64_t triggers = 0;          // numbers those without a key
  std::vector<RunningFiring> running;  // that the overlap policy looks at; oldest first
  std::optional<BufferedFiring> buffered;
  std::vector<ScheduleFiring> history;  // oldest first
  TimestampMs armed_due = 0;
};

// Ordered by (namespace, name).
Key schedule_key(std::string_view name_space, std::string_view name);
// The name in a key; empty if it is none of a schedule.
std::string schedule_name_of(const Key& key);

// The ids of what a schedule creates are computed, so that a scheduled time has one execution.
ExecutionId firing_id(const ScheduleRecord& schedule, TimestampMs scheduled_at);
ExecutionId trigger_id(const ScheduleRecord& schedule, TimestampMs at, std::string_view idempotency_key);

// When the clock has to look at it; 0: never.
TimestampMs next_due(const ScheduleRecord& schedule);
// How much later than scheduled a firing is due.
std::int64_t jitter_of(const ScheduleRecord& schedule, TimestampMs scheduled_at);
Listing listing_of(const ScheduleRecord& schedule);

std::string encode_fixed(const ScheduleRecord& schedule);
std::string encode(const ScheduleRecord& schedule);
Result<ScheduleRecord> decode_schedule(const Record& record);
// Equal for equal specs.
std::uint64_t spec_digest(const ScheduleSpec& spec);

}  // namespace flowfabric
