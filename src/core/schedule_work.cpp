// Firings: what the clock does for schedules, and how an execution that has ended tells its schedule.
//
// A firing creates its execution in the change set that moves `next_at`, so a scheduled time is decided once. What still
// runs is looked up when a firing asks for it. The end of an execution comes to its schedule as the work of the clock, like
// the end of a node to its flow: that starts the firing that was buffered, without asking again and again.
#include "core/schedule_work.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/decide_parts.hpp"
#include "core/schedule_times.hpp"

namespace flowfabric {
namespace {

const std::string firing_actor = "clock";
const std::string overlap_reason = "schedule_overlap";

// Adds several in a row that were missed up into one entry.
void remember(ScheduleRecord& schedule, ScheduleFiring firing) {
  auto& history = schedule.history;
  if (firing.outcome == FiringOutcome::missed && !history.empty() && history.back().outcome == FiringOutcome::missed) {
    firing.count += history.back().count;
    history.pop_back();
  }
  history.push_back(std::move(firing));
  if (history.size() > limits::max_schedule_history) history.erase(history.begin());
}

// Of an execution that may still run: null if it has ended, is gone, or cannot be read.
Slot* running_slot(Workspace& workspace, const ExecutionId& id) {
  Slot* slot = workspace.find(execution_key(id));
  if (slot == nullptr || slot->erased || slot->execution() == nullptr) return nullptr;
  return slot->execution()->facts.phase == Phase::terminal ? nullptr : slot;
}

void forget_ended(Workspace& workspace, ScheduleRecord& schedule) {
  std::erase_if(schedule.running, [&](const RunningFiring& firing) {
    return workspace.knows(execution_key(firing.execution_id)) &&
           running_slot(workspace, firing.execution_id) == nullptr;
  });
}

void cancel_running(const ScheduleChange& change) {
  for (const RunningFiring& firing : change.schedule().running) {
    Slot* slot = running_slot(change.workspace, firing.execution_id);
    if (slot == nullptr) continue;
    change.workspace.tie(change.slot, *slot);
    settle(*slot, change.context);
    if (slot->execution()->facts.phase == Phase::terminal) continue;
    Transition transition(*slot, change.context);
    transition.facts().cancellation_reason = overlap_reason;
    transition.facts().cancelled_by = "schedule " + change.schedule().name;
    finish(transition, Outcome::cancelled, EventType::cancelled, AttemptState::ended_cancelled, firing_actor,
           overlap_reason);
  }
  change.schedule().running.clear();
}

// Creates the execution; it counts as running for the overlap policy unless it is backfilled.
void start(const ScheduleChange& change, const BufferedFiring& firing) {
  ScheduleRecord& schedule = change.schedule();
  ScheduleFiring entry;
  entry.scheduled_at = firing.scheduled_at;
  entry.at = change.context.now;
  entry.cause = firing.cause;
  if (const auto created = create_firing(change, firing); !created) {
    entry.outcome = FiringOutcome::refused;
    entry.detail = created.error().message;
    ++schedule.counts.refused;
    log_schedule(change, EventType::schedule_skipped,
                 format_utc(firing.scheduled_at) + " was refused: " + created.error().message);
    remember(schedule, std::move(entry));
    return;
  }
  entry.execution_id = firing.execution_id;
  if (firing.cause != FiringCause::backfill) {
    schedule.running.push_back({firing.execution_id, firing.scheduled_at});
    if (schedule.running.size() > limits::max_schedule_running) schedule.running.erase(schedule.running.begin());
  }
  log_schedule(change, EventType::schedule_fired, format_utc(firing.scheduled_at)).execution_id = firing.execution_id;
  remember(schedule, std::move(entry));
}

void skip(const ScheduleChange& change, const BufferedFiring& firing) {
  ScheduleRecord& schedule = change.schedule();
  ++schedule.counts.skipped;
  ScheduleFiring entry;
  entry.scheduled_at = firing.scheduled_at;
  entry.at = change.context.now;
  entry.cause = firing.cause;
  entry.outcome = FiringOutcome::skipped;
  entry.detail = "execution " + to_string(schedule.running.front().execution_id) + " has not ended";
  log_schedule(change, EventType::schedule_skipped, format_utc(firing.scheduled_at) + " was skipped: " + entry.detail);
  remember(schedule, std::move(entry));
}

void buffer(const ScheduleChange& change, const BufferedFiring& firing) {
  ScheduleRecord& schedule = change.schedule();
  schedule.buffered = firing;
  ScheduleFiring entry;
  entry.scheduled_at = firing.scheduled_at;
  entry.at = change.context.now;
  entry.cause = firing.cause;
  entry.outcome = FiringOutcome::buffered;
  log_schedule(change, EventType::schedule_buffered, format_utc(firing.scheduled_at));
  remember(schedule, std::move(entry));
}

// ---- Times that are due

struct DueTimes {
  std::vector<TimestampMs> times;  // that have come; not all, if there are very many
  TimestampMs next = 0;            // the one after them
  bool more = false;               // which has come as well
  std::size_t late = 0;            // so many at the beginning are too late to start as usual
};

DueTimes due_times(const ScheduleRecord& schedule, const ScheduleTimes& times, TimestampMs now) {
  DueTimes due;
  due.next = schedule.next_at;
  while (due.next != 0 && due.next + jitter_of(schedule, due.next) <= now) {
    if (due.times.size() == limits::max_schedule_steps) {
      due.more = true;
      break;
    }
    due.times.push_back(due.next);
    due.next = times.next_after(due.next);
  }
  const auto in_time = [&](TimestampMs at) {
    return now - (at + jitter_of(schedule, at)) <= schedule.spec.start_window_ms;
  };
  due.late = static_cast<std::size_t>(std::find_if(due.times.begin(), due.times.end(), in_time) - due.times.begin());
  return due;
}

// How many of the late ones fire all the same: the last ones.
std::size_t made_up_for(const ScheduleSpec& spec, const DueTimes& due) {
  switch (spec.catch_up) {
    case CatchUpPolicy::none: return 0;
    case CatchUpPolicy::last: return due.late == due.times.size() ? std::min<std::size_t>(due.late, 1) : 0;
    case CatchUpPolicy::all: return std::min<std::size_t>(due.late, spec.catch_up_limit);
  }
  return 0;
}

void miss(const ScheduleChange& change, const DueTimes& due, std::size_t count) {
  if (count == 0) return;
  ScheduleRecord& schedule = change.schedule();
  schedule.counts.missed += count;
  ScheduleFiring entry;
  entry.scheduled_at = due.times[count - 1];
  entry.at = change.context.now;
  entry.outcome = FiringOutcome::missed;
  entry.count = static_cast<std::uint32_t>(count);
  std::string text = std::to_string(count) + " missed: " + format_utc(due.times.front());
  if (count > 1) text += " to " + format_utc(due.times[count - 1]);
  log_schedule(change, EventType::schedule_skipped, std::move(text));
  remember(schedule, std::move(entry));
}

// While there may be later ones, what the policy would make up for stays undecided.
void fire_due(const ScheduleChange& change, const ScheduleTimes& times) {
  ScheduleRecord& schedule = change.schedule();
  const DueTimes due = due_times(schedule, times, change.context.now);
  const std::size_t kept = made_up_for(schedule.spec, due);
  std::size_t i = due.late - kept;
  miss(change, due, i);
  const bool go_on = !(due.more && due.late == due.times.size());
  const std::size_t end = go_on ? std::min(i + limits::max_schedule_firings, due.times.size()) : i;
  for (; i < end; ++i) {
    const TimestampMs at = due.times[i];
    schedule.next_at = i + 1 < due.times.size() ? due.times[i + 1] : due.next;  // events say it
    fire(change, {firing_id(schedule, at), at, FiringCause::timer});
  }
  schedule.next_at = i < due.times.size() ? due.times[i] : due.next;
}

void start_buffered(const ScheduleChange& change) {
  ScheduleRecord& schedule = change.schedule();
  if (!schedule.buffered || schedule.state != ScheduleState::active) return;
  forget_ended(change.workspace, schedule);
  if (!schedule.running.empty()) return;
  const BufferedFiring firing = *schedule.buffered;
  schedule.buffered.reset();
  start(change, firing);
}

const ScheduleOrigin* untold_origin(const Slot& slot) {
  const Execution* execution = slot.erased ? nullptr : slot.execution();
  if (execution == nullptr || (execution->facts.gates & untold_schedule) == 0) return nullptr;
  return execution->spec.schedule ? &*execution->spec.schedule : nullptr;
}

bool is_damaged(const Workspace& workspace, const Key& key) {
  const Slot* slot = workspace.find(key);
  return slot != nullptr && slot->damage != nullptr;
}

}  // namespace

Event& log_schedule(const ScheduleChange& change, EventType type, std::string reason, const std::string& actor) {
  const ScheduleRecord& schedule = change.schedule();
  Event event;
  event.type = type;
  event.at = change.context.now;
  event.name_space = schedule.name_space;
  event.lane = schedule.spec.execution.lane;
  event.kind = schedule.spec.execution.kind;
  event.actor = actor.empty() ? firing_actor : actor;
  event.reason = std::move(reason);
  event.next_at = schedule.next_at;
  change.slot.changed = true;
  return change.slot.events.emplace_back(std::move(event));
}

Result<void> create_firing(const ScheduleChange& change, const BufferedFiring& firing) {
  ScheduleRecord& schedule = change.schedule();
  CreateRequest request = schedule.spec.execution;
  request.name_space = schedule.name_space;
  if (request.creator.empty()) request.creator = "schedule " + schedule.name;
  request.tags[schedule_name_tag] = schedule.name;
  request.tags[schedule_time_tag] = format_utc(firing.scheduled_at);
  FF_TRY_VOID(check_accepts(change.workspace, request, change.context));
  const Key key = execution_key(firing.execution_id);
  change.workspace.note_looked_up(key);
  const Slot& found = change.workspace.at(key);
  if (found.version != 0 || found.execution() != nullptr) {
    return fail(Errc::conflict, "execution " + to_string(firing.execution_id) + " exists already");
  }
  Slot& made =
      create_execution(change.workspace, firing.execution_id, request, request_digest(request), change.context);
  made.execution()->spec.schedule = ScheduleOrigin{schedule.name, schedule.incarnation, firing.scheduled_at, true};
  change.workspace.tie(change.slot, made);
  register_lane(change.workspace, request.lane, request.creator, change.context.now);
  ++schedule.counts.fired;
  schedule.last_fired_at = change.context.now;
  change.slot.changed = true;
  return {};
}

void fire(const ScheduleChange& change, const BufferedFiring& firing, bool ignore_overlap) {
  ScheduleRecord& schedule = change.schedule();
  change.slot.changed = true;
  forget_ended(change.workspace, schedule);
  if (schedule.running.empty() || ignore_overlap) return start(change, firing);
  switch (schedule.spec.overlap) {
    case OverlapPolicy::skip: return skip(change, firing);
    case OverlapPolicy::buffer_one: return schedule.buffered ? skip(change, firing) : buffer(change, firing);
    case OverlapPolicy::allow: return start(change, firing);
    case OverlapPolicy::cancel_running: cancel_running(change); return start(change, firing);
  }
}

void settle_schedule(const ScheduleChange& change) {
  ScheduleRecord& schedule = change.schedule();
  if (schedule.state != ScheduleState::active) return;
  start_buffered(change);
  const TimestampMs due = next_due(schedule);
  if (due == 0 || due > change.context.now) return;
  change.slot.changed = true;
  const auto times = ScheduleTimes::of(schedule.spec, change.context.zones);
  // A server without the time zone leaves the firing to the others, and to itself after an update.
  schedule.retry_at = times ? 0 : change.context.now + limits::unknown_zone_retry_ms;
  if (times) fire_due(change, *times);
}

std::vector<Key> firing_keys(Workspace& workspace, const Key& key) {
  const Slot* slot = workspace.find(key);
  if (slot == nullptr) return {key};
  const ScheduleRecord* schedule = slot->erased ? nullptr : slot->schedule();
  if (schedule == nullptr || schedule->state == ScheduleState::deleted) return {};
  std::vector<Key> keys = {lane_key(schedule->spec.execution.lane), namespace_key(schedule->name_space)};
  // Nobody asks what runs if firings may start beside it.
  if (schedule->spec.overlap == OverlapPolicy::allow && !schedule->buffered) return keys;
  for (const RunningFiring& firing : schedule->running) {
    const Key running = execution_key(firing.execution_id);
    // One that cannot be read counts as ended: it must not stop its schedule.
    if (!is_damaged(workspace, running)) keys.push_back(running);
  }
  return keys;
}

std::vector<Key> schedule_work_keys(Workspace& workspace, const Key& key) {
  const Slot* slot = workspace.find(key);
  if (slot == nullptr) return {};
  if (slot->schedule() != nullptr) return firing_keys(workspace, key);
  const ScheduleOrigin* origin = untold_origin(*slot);
  if (origin == nullptr) return {};
  const Key told = schedule_key(slot->execution()->spec.name_space, origin->name);
  const Slot* schedule = workspace.find(told);
  if (schedule == nullptr) return {told};
  if (schedule->schedule() == nullptr || !schedule->schedule()->buffered) return {};
  return firing_keys(workspace, told);
}

void schedule_due(Workspace& workspace, Slot& slot, const Context& context) {
  slot.changed = true;
  if (!all_known(workspace, firing_keys(workspace, slot.key))) return;
  ScheduleRecord& schedule = *slot.schedule();
  if (schedule.state == ScheduleState::deleted) {
    slot.erased = next_due(schedule) <= context.now;
    return;
  }
  settle_schedule({workspace, slot, context});
}

void tell_schedule(Workspace& workspace, Slot& slot, const Context& context) {
  Execution& execution = *slot.execution();
  const auto told = [&] {
    execution.facts.gates &= ~untold_schedule;
    slot.changed = true;
  };
  if (!execution.spec.schedule) return told();
  const ScheduleOrigin& origin = *execution.spec.schedule;
  Slot* of_schedule = workspace.find(schedule_key(execution.spec.name_space, origin.name));
  if (of_schedule == nullptr || !all_known(workspace, schedule_work_keys(workspace, slot.key))) return;
  told();
  ScheduleRecord* schedule = of_schedule->erased ? nullptr : of_schedule->schedule();
  if (schedule == nullptr || schedule->incarnation != origin.incarnation) return;
  if (schedule->state == ScheduleState::deleted) return;
  workspace.tie(slot, *of_schedule);
  of_schedule->changed = true;
  const Outcome outcome = execution.facts.outcome;
  outcome == Outcome::success ? ++schedule->counts.succeeded : ++schedule->counts.unsuccessful;
  std::erase_if(schedule->running, [&](const RunningFiring& firing) { return firing.execution_id == execution.id; });
  for (ScheduleFiring& firing : schedule->history) {
    if (firing.execution_id == execution.id && firing.outcome == FiringOutcome::fired) firing.ended = outcome;
  }
  start_buffered({workspace, *of_schedule, context});
}

}  // namespace flowfabric
