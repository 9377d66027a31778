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
  ExecutionId id;  // of the execution or the flow that it will create
  TimestampMs scheduled_at = 0;
  FiringCause cause = FiringCause::timer;

  friend bool operator==(const BufferedFiring&, const BufferedFiring&) = default;
};

// What the record of a schedule says of the flow that it creates. The definition lies in a record of its own, so that firings
// do not write it.
struct ScheduledFlow {
  std::string kind;
  std::uint32_t nodes = 0;  // that one firing creates
  std::uint64_t digest = 0;

  friend bool operator==(const ScheduledFlow&, const ScheduledFlow&) = default;
};

// The definition, and the lanes of its nodes.
struct ScheduleFlowRecord {
  FlowRequest request;
  std::vector<std::string> lanes;
};

struct ScheduleRecord {
  std::string name_space;
  std::string name;
  TimestampMs first_created_at = 0;  // the first schedule of this name; a listing cannot change it

  // From here on in the body.
  std::uint64_t incarnation = 0;  // random; another one for each schedule of this name, so that ids never meet again
  ScheduleState state = ScheduleState::active;
  ScheduleSpec spec;                  // its `flow` is absent
  std::optional<ScheduledFlow> flow;  // instead of `spec.execution`
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

// Exists beside the record of a schedule of flows, in the same partition.
Key schedule_flow_key(std::string_view name_space, std::string_view name);
// What the record keeps of a definition that was admitted; refused if it is not a flow.
Result<ScheduledFlow> scheduled_flow(const FlowRequest& request);
std::vector<std::string> lanes_of(const FlowRequest& request);
std::string encode(const ScheduleFlowRecord& record);
Result<ScheduleFlowRecord> decode_schedule_flow(const Record& record);
// Its key among the executions or the flows.
Key key_of(const RunningFiring& firing);
std::string name_of(const RunningFiring& firing);

// The ids of what a schedule creates are computed, so that a scheduled time has one execution or flow.
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
std::uint64_t spec_digest(const ScheduleRecord& schedule);

}  // namespace flowfabric
