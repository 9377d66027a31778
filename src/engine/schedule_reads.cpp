#include "engine/schedule_reads.hpp"

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/counts.hpp"
#include "core/schedule_ingress.hpp"
#include "core/schedule_records.hpp"
#include "core/schedule_times.hpp"
#include "engine/reads.hpp"

namespace flowfabric::reads {
namespace {

constexpr std::uint8_t schedule_cursor_version = 1;
constexpr std::uint32_t schedule_page = 100;

Result<ScheduleRecord> load_schedule(Store& store, const std::string& name_space, const std::string& name,
                                     bool deleted_too = false) {
  FF_TRY_VOID(admit_schedule_name(name_space, name));
  FF_TRY(records, store.load({schedule_key(name_space, name)}));
  if (!records.empty()) {
    FF_TRY(schedule, decode_schedule(records.front()));
    if (deleted_too || schedule.state != ScheduleState::deleted) return schedule;
  }
  return fail(Errc::not_found, "there is no schedule \"" + name + "\" in namespace \"" + name_space + "\"", "name");
}

ScheduleSummary summarize_schedule(const ScheduleRecord& schedule) {
  ScheduleSummary summary;
  summary.name_space = schedule.name_space;
  summary.name = schedule.name;
  summary.state = schedule.state;
  summary.cron = schedule.spec.cron;
  summary.every_ms = schedule.spec.every_ms;
  summary.time_zone = schedule.spec.time_zone;
  summary.overlap = schedule.spec.overlap;
  summary.flow = schedule.flow.has_value();
  summary.kind = schedule.flow ? schedule.flow->kind : schedule.spec.execution.kind;
  if (!schedule.flow) summary.lane = schedule.spec.execution.lane;
  summary.next_at = schedule.next_at;
  summary.last_fired_at = schedule.last_fired_at;
  if (!schedule.history.empty()) summary.last = schedule.history.back();
  summary.fired = schedule.counts.fired;
  summary.running = static_cast<std::uint32_t>(schedule.running.size());
  summary.created_at = schedule.created_at;
  return summary;
}

std::string schedule_cursor(const std::string& name_space, const std::string& name) {
  Encoder out;
  out.u8(schedule_cursor_version);
  out.text(name_space);
  out.text(name);
  return to_base64url(out.take());
}

// The key after which the scan continues.
Result<std::string> schedule_scan_start(const ListSchedulesRequest& request) {
  if (request.cursor.empty()) {
    if (!request.name_space) return std::string();
    return static_cast<char>(RecordKind::schedule) + *request.name_space + '\0';
  }
  const auto bytes = from_base64url(request.cursor);
  if (!bytes) return Unexpected(bad_cursor());
  Decoder in(*bytes);
  const bool known = in.u8() == schedule_cursor_version;
  const std::string name_space = in.text();
  const std::string name = in.text();
  if (!known || !in.at_end() || !admit_schedule_name(name_space, name)) return Unexpected(bad_cursor());
  if (request.name_space && *request.name_space != name_space) return Unexpected(bad_cursor());
  return schedule_key(name_space, name).bytes;
}

std::string namespace_in(const Key& key) { return std::string(key.id().substr(0, key.id().find('\0'))); }

// A damaged one is listed with its name.
ScheduleSummary listed(const Record& record) {
  const auto schedule = decode_schedule(record);
  if (schedule) return summarize_schedule(*schedule);
  ScheduleSummary summary;
  summary.name_space = namespace_in(record.key);
  summary.name = schedule_name_of(record.key);
  summary.damage = schedule.error().message;
  return summary;
}

bool is_wanted(const ScheduleSummary& summary, const ListSchedulesRequest& request) {
  const auto& states = request.states;
  if (summary.damage) return states.empty();
  if (summary.state == ScheduleState::deleted) return false;
  return states.empty() || std::find(states.begin(), states.end(), summary.state) != states.end();
}

using LaneStates = std::map<std::string, LaneState>;

// The definition of the flow, from its own record.
Result<void> add_flow(Store& store, ScheduleRecord& schedule) {
  if (!schedule.flow) return {};
  FF_TRY(records, store.load({schedule_flow_key(schedule.name_space, schedule.name)}));
  if (records.empty())
    return fail(Errc::corruption, "the definition of the flow of the schedule is missing in the store");
  FF_TRY(definition, decode_schedule_flow(records.front()));
  schedule.spec.flow = std::move(definition.request);
  schedule.spec.flow->name_space = schedule.name_space;
  return {};
}

Result<LaneStates> lanes_of_schedule(Store& store, const ScheduleRecord& schedule) {
  const std::vector<std::string> names =
      schedule.spec.flow ? lanes_of(*schedule.spec.flow) : std::vector<std::string>{schedule.spec.execution.lane};
  std::vector<Key> keys;
  for (const std::string& name : names) keys.push_back(lane_key(name));
  FF_TRY(records, store.load(keys));
  LaneStates lanes;
  for (const Record& stored : records) {
    FF_TRY(lane, decode_lane(stored.body));
    lanes[lane.info.lane] = lane.info.state;
  }
  return lanes;
}

void explain_lanes(const LaneStates& lanes, std::vector<Reason>& reasons) {
  for (const auto& [name, state] : lanes) {
    if (state == LaneState::draining || state == LaneState::disabled) {
      reasons.push_back(
          {"lane_closed", "Lane \"" + name + "\" is " + std::string(to_string(state)) + ": firings are refused.", 0});
    }
    if (state == LaneState::paused) {
      reasons.push_back({"lane_paused", "Lane \"" + name + "\" is paused: executions are created and wait.", 0});
    }
  }
}

std::vector<Reason> explain_schedule(const ScheduleRecord& schedule, const LaneStates& lanes, TimestampMs now) {
  std::vector<Reason> reasons;
  if (schedule.state == ScheduleState::paused) {
    std::string sentence = "It was paused at " + format_utc(schedule.changed_at) + " by " + schedule.changed_by;
    if (!schedule.reason.empty()) sentence += ": " + schedule.reason;
    reasons.push_back({"paused", sentence + ".", 0});
  } else if (schedule.next_at == 0) {
    reasons.push_back({"no_more_times", "With its bounds and exceptions there is no further time.", 0});
  } else if (schedule.retry_at != 0) {
    reasons.push_back({"unknown_time_zone",
                       "An engine that does not know the time zone " + schedule.spec.time_zone +
                           " found it due. Engines look again until one knows it.",
                       schedule.retry_at});
  } else {
    const TimestampMs due = next_due(schedule);
    reasons.push_back(
        {"waiting_for_time", due <= now ? "A firing is due." : "It fires at " + format_utc(due) + ".", due});
  }
  if (schedule.buffered) {
    reasons.push_back({"buffered",
                       "The firing of " + format_utc(schedule.buffered->scheduled_at) + " waits for " +
                           std::to_string(schedule.running.size()) +
                           (schedule.flow ? " flows to end." : " executions to end."),
                       0});
  }
  explain_lanes(lanes, reasons);
  return reasons;
}

Result<NextRuns> runs_of(Store& store, const TimeZones* zones, const ScheduleSpec& spec,
                         const NextRunsRequest& request) {
  FF_TRY(times, ScheduleTimes::of(spec, zones));
  FF_TRY(now_us, store.now_us());
  return NextRuns{times.next(request.from != 0 ? request.from : now_us / 1000, request.count)};
}

}  // namespace

Result<ScheduleDescription> describe_schedule(Store& store, const TimeZones* zones, const std::string& name_space,
                                              const std::string& name) {
  FF_TRY(schedule, load_schedule(store, name_space, name));
  FF_TRY_VOID(add_flow(store, schedule));
  FF_TRY(lanes, lanes_of_schedule(store, schedule));
  FF_TRY(now_us, store.now_us());
  ScheduleDescription out;
  out.summary = summarize_schedule(schedule);
  out.explain = explain_schedule(schedule, lanes, now_us / 1000);
  // The next one may have come already.
  const auto times = ScheduleTimes::of(schedule.spec, zones);
  if (times && schedule.next_at != 0) out.next = times->next(schedule.next_at - 1, limits::described_next_runs);
  out.revision = schedule.revision;
  out.creator = schedule.creator;
  out.changed_at = schedule.changed_at;
  out.changed_by = schedule.changed_by;
  out.reason = schedule.reason;
  out.counts = schedule.counts;
  if (schedule.buffered) out.buffered_at = schedule.buffered->scheduled_at;
  out.running = std::move(schedule.running);
  out.history.assign(schedule.history.rbegin(), schedule.history.rend());
  out.spec = std::move(schedule.spec);
  return out;
}

Result<ListSchedulesReply> schedules(Store& store, const ListSchedulesRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY(start, schedule_scan_start(request));
  ListSchedulesReply reply;
  for (;;) {
    FF_TRY(records, store.scan(RecordKind::schedule, start, schedule_page));
    for (const Record& record : records) {
      if (request.name_space && namespace_in(record.key) != *request.name_space) return reply;
      ScheduleSummary summary = listed(record);
      if (!is_wanted(summary, request)) continue;
      if (reply.schedules.size() == request.limit) {
        reply.next_cursor = schedule_cursor(reply.schedules.back().name_space, reply.schedules.back().name);
        return reply;
      }
      reply.schedules.push_back(std::move(summary));
    }
    if (records.size() < schedule_page) return reply;
    start = records.back().key.bytes;
  }
}

Result<NextRuns> next_runs(Store& store, const TimeZones* zones, const std::string& name_space, const std::string& name,
                           const NextRunsRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY(schedule, load_schedule(store, name_space, name));
  return runs_of(store, zones, schedule.spec, request);
}

Result<NextRuns> preview_runs(Store& store, const TimeZones* zones, const ScheduleSpec& spec,
                              const NextRunsRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY_VOID(admit_schedule_times(spec, zones));
  return runs_of(store, zones, spec, request);
}

Result<EventPage> schedule_history(Store& store, const std::string& name_space, const std::string& name,
                                   const std::string& cursor, std::uint32_t limit) {
  FF_TRY_VOID(admit_limit(limit));
  FF_TRY(schedule, load_schedule(store, name_space, name, true));
  return history_of(store, schedule_key(schedule.name_space, schedule.name), cursor, limit);
}

Result<BackfillScheduleCommand> backfill_command(Store& store, const TimeZones* zones, const std::string& name_space,
                                                 const std::string& name, const BackfillRequest& request, Operator by) {
  FF_TRY_VOID(admit(request));
  FF_TRY(schedule, load_schedule(store, name_space, name));
  FF_TRY(times, ScheduleTimes::of(schedule.spec, zones));
  FF_TRY(now_us, store.now_us());
  const TimestampMs end = std::min(request.to, now_us / 1000 + 1);
  BackfillScheduleCommand command{name_space, name, schedule.incarnation, schedule.revision, {}, std::move(by)};
  for (TimestampMs at = times.next_after(request.from - 1); at != 0 && at < end; at = times.next_after(at)) {
    if (command.times.size() == limits::max_backfill) {
      return fail(Errc::invalid_argument,
                  "to: the range has more than " + std::to_string(limits::max_backfill) +
                      " scheduled times, which is the limit of one call; the first that is too many is " +
                      format_utc(at),
                  "to");
    }
    command.times.push_back(at);
  }
  return command;
}

Result<void> check_schedule_count(Store& store, const std::string& name_space, const std::string& name) {
  FF_TRY(rows, store.counters(counter_prefix(RecordKind::schedule, name_space)));
  std::int64_t count = 0;
  for (const Counter& row : rows) {
    const auto counted = decode_counter(row.name);
    if (counted && counted->state != static_cast<std::uint8_t>(ScheduleState::deleted)) count += row.value;
  }
  if (count < static_cast<std::int64_t>(limits::max_schedules)) return {};
  // One that exists needs no room.
  if (load_schedule(store, name_space, name)) return {};
  return fail(Errc::overloaded,
              "namespace \"" + name_space + "\" has " + std::to_string(limits::max_schedules) +
                  " schedules, which is the limit",
              "namespace");
}

Result<std::map<ScheduleState, std::uint64_t>> schedule_counts(Store& store) {
  FF_TRY(rows, store.counters(counter_prefix(RecordKind::schedule, std::nullopt)));
  std::map<ScheduleState, std::uint64_t> counts;
  for (const Counter& row : rows) {
    const auto counted = decode_counter(row.name);
    if (!counted || counted->state > static_cast<std::uint8_t>(ScheduleState::deleted) || row.value <= 0) continue;
    counts[static_cast<ScheduleState>(counted->state)] += static_cast<std::uint64_t>(row.value);
  }
  return counts;
}

}  // namespace flowfabric::reads
