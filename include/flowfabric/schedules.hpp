// Schedules: executions or flows that are created at times, again and again. docs/schedules.md has the rules.
//
// Plain values; validated once, when they enter the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/flows.hpp>
#include <flowfabric/operations.hpp>

namespace flowfabric {

// Values are stored; append only. `deleted` is kept for a day, for the history; no call returns such a schedule.
enum class ScheduleState : std::uint8_t { active, paused, deleted };
// What a firing does while the execution or flow of an earlier firing has not ended. Values are stored; append only.
enum class OverlapPolicy : std::uint8_t {
  skip,
  buffer_one,     // it starts when that one ends; further firings meanwhile are skipped
  allow,          // it starts beside it
  cancel_running  // that one is cancelled, and it starts
};
// What happens to the firings that nobody could start in time, because no engine ran. Values are stored; append only.
enum class CatchUpPolicy : std::uint8_t {
  none,
  last,
  all  // the last `catch_up_limit`
};
// Values are stored; append only.
enum class FiringCause : std::uint8_t { timer, trigger, backfill };
// Values are stored; append only.
enum class FiringOutcome : std::uint8_t {
  fired,
  skipped,   // by the overlap policy
  buffered,  // by the overlap policy; it fires later
  missed,    // nobody could start it in time, and the catch-up policy did not want it
  refused    // the execution or flow could not be created; `detail` says why
};

std::string_view to_string(ScheduleState value);
std::string_view to_string(OverlapPolicy value);
std::string_view to_string(CatchUpPolicy value);
std::string_view to_string(FiringCause value);
std::string_view to_string(FiringOutcome value);
Result<ScheduleState> parse_schedule_state(std::string_view text);
Result<OverlapPolicy> parse_overlap_policy(std::string_view text);
Result<CatchUpPolicy> parse_catch_up_policy(std::string_view text);

// When it fires, and what it starts. Either `cron` or `every_ms` is given.
struct ScheduleSpec {
  std::string cron{};                     // "0 2 * * *", or with seconds in front: "*/10 * * * * *"
  std::int64_t every_ms = 0;              // counted from `anchor_at`
  TimestampMs anchor_at = 0;              // of an interval; 0: the beginning of 1970
  std::string time_zone = "UTC";          // of the expression and of the exceptions: "Europe/Berlin"
  std::vector<std::string> exceptions{};  // no firings on these days: "2026-12-24", "2026-12-24/2027-01-01", "12-25"
  TimestampMs start_at = 0;               // no firings before; 0: there is no bound
  TimestampMs end_at = 0;                 // no firings from then on
  std::int64_t jitter_ms = 0;             // each firing is late by a part of this, the same on every server
  OverlapPolicy overlap = OverlapPolicy::skip;
  CatchUpPolicy catch_up = CatchUpPolicy::last;
  std::uint32_t catch_up_limit = 100;        // of `all`
  std::int64_t start_window_ms = 60 * 1000;  // a firing that is later than this was missed
  // What each firing creates. The namespace is that of the schedule. No id, no idempotency key and no absolute times.
  CreateRequest execution{};
  // Instead of `execution`: each firing creates this flow. No id, no idempotency key and no absolute times, and not open.
  std::optional<FlowRequest> flow{};
};

struct ScheduleRequest : ScheduleSpec {
  std::string name_space = "default";
  std::string name{};  // unique within the namespace
  bool paused = false;
};

struct ScheduleSaved {
  std::string name_space{};
  std::string name{};
  ScheduleState state = ScheduleState::active;
  std::uint64_t revision = 0;  // one more with each change of the spec
  TimestampMs next_at = 0;     // the next firing; 0: none
  bool duplicate = false;      // it was there already, with the same spec

  friend bool operator==(const ScheduleSaved&, const ScheduleSaved&) = default;
};

struct ScheduleFiring {
  TimestampMs scheduled_at = 0;
  TimestampMs at = 0;  // when it was decided
  FiringCause cause = FiringCause::timer;
  FiringOutcome outcome = FiringOutcome::fired;
  std::optional<ExecutionId> execution_id{};
  std::optional<FlowId> flow_id{};  // instead, of a schedule of flows
  Outcome ended = Outcome::none;    // how the execution or flow ended, once it has
  std::uint32_t count = 1;          // how many in a row this entry stands for: missed or backfilled ones
  std::string detail{};

  friend bool operator==(const ScheduleFiring&, const ScheduleFiring&) = default;
};

struct ScheduleSummary {
  std::string name_space{};
  std::string name{};
  ScheduleState state = ScheduleState::active;
  std::string cron{};
  std::int64_t every_ms = 0;
  std::string time_zone{};
  OverlapPolicy overlap = OverlapPolicy::skip;
  std::string kind{};       // of the executions or flows
  std::string lane{};       // of the executions
  bool flow = false;        // it creates flows
  TimestampMs next_at = 0;  // the next firing, without jitter; 0: none
  TimestampMs last_fired_at = 0;
  std::optional<ScheduleFiring> last{};  // the newest entry of its history
  std::uint64_t fired = 0;
  std::uint32_t running = 0;  // executions or flows of it that have not ended
  TimestampMs created_at = 0;
  std::optional<std::string> damage{};  // why the stored record cannot be decoded, in listings

  friend bool operator==(const ScheduleSummary&, const ScheduleSummary&) = default;
};

// Since it was created.
struct ScheduleCounts {
  std::uint64_t fired = 0;
  std::uint64_t skipped = 0;
  std::uint64_t missed = 0;
  std::uint64_t refused = 0;
  std::uint64_t succeeded = 0;     // executions or flows that ended in success
  std::uint64_t unsuccessful = 0;  // that ended otherwise

  friend bool operator==(const ScheduleCounts&, const ScheduleCounts&) = default;
};

struct RunningFiring {
  std::optional<ExecutionId> execution_id{};
  TimestampMs scheduled_at = 0;
  std::optional<FlowId> flow_id{};  // instead, of a schedule of flows

  friend bool operator==(const RunningFiring&, const RunningFiring&) = default;
};

struct ScheduleDescription {
  ScheduleSummary summary{};
  ScheduleSpec spec{};
  std::uint64_t revision = 0;
  std::string creator{};
  TimestampMs changed_at = 0;  // spec or state
  std::string changed_by{};
  std::string reason{};  // of the last pause or resumption
  ScheduleCounts counts{};
  std::vector<RunningFiring> running{};
  TimestampMs buffered_at = 0;            // the scheduled time of the firing that waits; 0: none
  std::vector<ScheduleFiring> history{};  // newest first, up to a hundred
  std::vector<TimestampMs> next{};        // the next ten, without jitter
  std::vector<Reason> explain{};          // what holds it back
};

struct ListSchedulesRequest {
  std::optional<std::string> name_space{};  // absent: all namespaces
  std::vector<ScheduleState> states{};      // any of these; empty: active and paused
  std::string cursor{};
  std::uint32_t limit = 100;
};

struct ListSchedulesReply {
  std::vector<ScheduleSummary> schedules{};  // by namespace and name
  std::string next_cursor{};
};

struct NextRunsRequest {
  TimestampMs from = 0;  // only times after this; 0: now
  std::uint32_t count = 10;
};

struct NextRuns {
  std::vector<TimestampMs> next{};

  friend bool operator==(const NextRuns&, const NextRuns&) = default;
};

// Fires now, also while the schedule is paused.
struct TriggerRequest {
  bool ignore_overlap = false;  // starts beside what runs, whatever the policy
  std::string
      idempotency_key{};  // repeating the call with the same key starts nothing new while what it started is kept
};

struct TriggerReply {
  FiringOutcome outcome = FiringOutcome::fired;
  TimestampMs scheduled_at = 0;
  std::optional<ExecutionId> execution_id{};
  bool duplicate = false;
  std::optional<FlowId> flow_id{};  // instead, of a schedule of flows

  friend bool operator==(const TriggerReply&, const TriggerReply&) = default;
};

// Starts the firings of a past range that have no execution or flow. They all start at once, whatever the overlap policy.
struct BackfillRequest {
  TimestampMs from = 0;
  TimestampMs to = 0;  // exclusive; at most now
};

struct BackfillReply {
  std::uint32_t created = 0;
  std::uint32_t existing = 0;               // scheduled times that have theirs already
  std::vector<RunningFiring> executions{};  // that were created, by scheduled time

  friend bool operator==(const BackfillReply&, const BackfillReply&) = default;
};

}  // namespace flowfabric
