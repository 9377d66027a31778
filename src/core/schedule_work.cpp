// Firings: what the clock does for schedules, and how an execution or a flow that has ended tells its schedule.
//
// A firing creates its execution or flow in the change set that moves `next_at`, so a scheduled time is decided once. What still
// runs is looked up when a firing asks for it. The end of an execution or a flow comes to its schedule as the work of the clock, like
// the end of a node to its flow: that starts the firing that was buffered, without asking again and again.
#include "core/schedule_work.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/decide_parts.hpp"
#include "core/flow_graph.hpp"
#include "core/flow_nesting.hpp"
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

// Of an execution or a flow that may still run: null if it has ended, is gone, or cannot be read.
Slot* running_slot(Workspace& workspace, const RunningFiring& firing) {
  Slot* slot = workspace.find(key_of(firing));
  if (slot == nullptr || slot->erased) return nullptr;
  if (const FlowRecord* flow = slot->flow()) return has_ended(flow->facts.state) ? nullptr : slot;
  if (slot->execution() == nullptr) return nullptr;
  return slot->execution()->facts.phase == Phase::terminal ? nullptr : slot;
}

void forget_ended(Workspace& workspace, ScheduleRecord& schedule) {
  std::erase_if(schedule.running, [&](const RunningFiring& firing) {
    return workspace.knows(key_of(firing)) && running_slot(workspace, firing) == nullptr;
  });
}

void cancel_execution(const ScheduleChange& change, Slot& slot, const std::string& by) {
  settle(slot, change.context);
  if (slot.execution()->facts.phase == Phase::terminal) return;
  Transition transition(slot, change.context);
  transition.facts().cancellation_reason = overlap_reason;
  transition.facts().cancelled_by = by;
  finish(transition, Outcome::cancelled, EventType::cancelled, AttemptState::ended_cancelled, firing_actor,
         overlap_reason);
}

// The nodes of a flow are cancelled by the clock, some at a time; from now on none of them starts. A flow that an operator
// replays is the operator's: it is left alone while the replay is being prepared.
void cancel_running(const ScheduleChange& change) {
  const std::string by = "schedule " + change.schedule().name;
  for (const RunningFiring& firing : change.schedule().running) {
    Slot* slot = running_slot(change.workspace, firing);
    if (slot == nullptr) continue;
    change.workspace.tie(change.slot, *slot);
    if (slot->flow() == nullptr) {
      cancel_execution(change, *slot, by);
    } else if (!slot->flow()->facts.replay) {
      cancel_flow(*slot, {FlowCancelPolicy::cancel_all, CancelCause::by_operator, false, by, overlap_reason},
                  change.context);
    }
  }
  change.schedule().running.clear();
}

// Creates the execution or flow; it counts as running for the overlap policy unless it is backfilled.
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
  const RunningFiring made = named_firing(schedule, firing);
  entry.execution_id = made.execution_id;
  entry.flow_id = made.flow_id;
  if (firing.cause != FiringCause::backfill) {
    schedule.running.push_back(made);
    if (schedule.running.size() > limits::max_schedule_running) schedule.running.erase(schedule.running.begin());
  }
  log_firing(change, firing);
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
  entry.detail = name_of(schedule.running.front()) + " has not ended";
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

std::size_t firings_of_a_step(const ScheduleRecord& schedule) {
  if (!schedule.flow) return limits::max_schedule_firings;
  const std::uint32_t nodes = std::max<std::uint32_t>(schedule.flow->nodes, 1);
  return std::clamp<std::size_t>(limits::max_schedule_nodes / nodes, 1, limits::max_schedule_firings);
}

// While there may be later ones, what the policy would make up for stays undecided.
void fire_due(const ScheduleChange& change, const ScheduleTimes& times) {
  ScheduleRecord& schedule = change.schedule();
  const DueTimes due = due_times(schedule, times, change.context.now);
  const std::size_t kept = made_up_for(schedule.spec, due);
  std::size_t i = due.late - kept;
  miss(change, due, i);
  const bool go_on = !(due.more && due.late == due.times.size());
  const std::size_t end = go_on ? std::min(i + firings_of_a_step(schedule), due.times.size()) : i;
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

// Of an execution or a flow that has ended and whose schedule does not know it.
const ScheduleOrigin* untold_origin(const Slot& slot) {
  if (const FlowRecord* flow = slot.erased ? nullptr : slot.flow()) {
    return flow->facts.untold_schedule && flow->spec.schedule ? &*flow->spec.schedule : nullptr;
  }
  const Execution* execution = slot.erased ? nullptr : slot.execution();
  if (execution == nullptr || (execution->facts.gates & untold_schedule) == 0) return nullptr;
  return execution->spec.schedule ? &*execution->spec.schedule : nullptr;
}

const std::string& namespace_of_origin(const Slot& slot) {
  return slot.flow() != nullptr ? slot.flow()->spec.name_space : slot.execution()->spec.name_space;
}

Outcome outcome_of(const Slot& slot) {
  if (slot.flow() == nullptr) return slot.execution()->facts.outcome;
  switch (slot.flow()->facts.state) {
    case FlowState::completed: return Outcome::success;
    case FlowState::cancelled: return Outcome::cancelled;
    default: return Outcome::failed;
  }
}

void note_told(Slot& slot) {
  if (slot.flow() != nullptr) {
    slot.flow()->facts.untold_schedule = false;
  } else {
    slot.execution()->facts.gates &= ~untold_schedule;
  }
  slot.changed = true;
}

// ---- Creating

void add_schedule_tags(Tags& tags, const ScheduleRecord& schedule, TimestampMs scheduled_at) {
  tags[schedule_name_tag] = schedule.name;
  tags[schedule_time_tag] = format_utc(scheduled_at);
}

void complete_nodes(std::vector<FlowNode>& nodes, const FlowRequest& request, const ScheduleRecord& schedule,
                    TimestampMs scheduled_at) {
  for (FlowNode& node : nodes) {
    node.request.name_space = request.name_space;
    if (node.request.creator.empty()) node.request.creator = request.creator;
    add_schedule_tags(node.request.tags, schedule, scheduled_at);
    if (node.flow) complete_nodes(node.flow->nodes, request, schedule, scheduled_at);
  }
}

CreateRequest request_of_firing(const ScheduleRecord& schedule, TimestampMs scheduled_at) {
  CreateRequest request = schedule.spec.execution;
  request.name_space = schedule.name_space;
  if (request.creator.empty()) request.creator = "schedule " + schedule.name;
  add_schedule_tags(request.tags, schedule, scheduled_at);
  return request;
}

const ScheduleFlowRecord* definition_of(const Workspace& workspace, const ScheduleRecord& schedule) {
  const Slot* slot = workspace.find(schedule_flow_key(schedule.name_space, schedule.name));
  return slot == nullptr || slot->erased ? nullptr : slot->schedule_flow();
}

Result<SubmitFlowCommand> flow_of_firing(const ScheduleChange& change, const BufferedFiring& firing) {
  const ScheduleRecord& schedule = change.schedule();
  const ScheduleFlowRecord* definition = definition_of(change.workspace, schedule);
  if (definition == nullptr) return fail(Errc::corruption, "the definition of the flow is missing in the store");
  SubmitFlowCommand command;
  command.id = firing.id;
  command.request = definition->request;
  FlowRequest& request = command.request;
  request.name_space = schedule.name_space;
  if (request.creator.empty()) request.creator = "schedule " + schedule.name;
  add_schedule_tags(request.tags, schedule, firing.scheduled_at);
  complete_nodes(request.nodes, request, schedule, firing.scheduled_at);
  FF_TRY_VOID(unfold_flows(request));
  FF_TRY(members, plan_flow(request));
  command.members = std::move(members);
  command.request_digest = request_digest(request);
  return command;
}

// New by construction, so it is not looked up; the commit checks it.
Result<void> check_is_new(Workspace& workspace, const Key& key) {
  workspace.note_looked_up(key);
  const Slot& found = workspace.at(key);
  if (found.version == 0 && (std::holds_alternative<std::monostate>(found.record) || found.erased)) return {};
  return fail(Errc::conflict, name_of_record(key) + " exists already");
}

Result<void> create_flow_of_firing(const ScheduleChange& change, const BufferedFiring& firing) {
  const ScheduleRecord& schedule = change.schedule();
  Workspace& workspace = change.workspace;
  FF_TRY(command, flow_of_firing(change, firing));
  for (const FlowNode& node : command.request.nodes) {
    FF_TRY_VOID(check_accepts(workspace, node.request, change.context));
  }
  FF_TRY_VOID(check_is_new(workspace, flow_key(command.id)));
  for (const Membership& member : command.members) {
    workspace.note_looked_up(execution_key(member_id(command.id, member.ordinal)));
  }
  Slot& made = make_flow(workspace, command, change.context);
  made.flow()->spec.schedule = ScheduleOrigin{schedule.name, schedule.incarnation, firing.scheduled_at, true};
  workspace.tie(change.slot, made);
  return {};
}

Result<void> create_execution_of_firing(const ScheduleChange& change, const BufferedFiring& firing) {
  const ScheduleRecord& schedule = change.schedule();
  const CreateRequest request = request_of_firing(schedule, firing.scheduled_at);
  FF_TRY_VOID(check_accepts(change.workspace, request, change.context));
  FF_TRY_VOID(check_is_new(change.workspace, execution_key(firing.id)));
  Slot& made = create_execution(change.workspace, firing.id, request, request_digest(request), change.context);
  made.execution()->spec.schedule = ScheduleOrigin{schedule.name, schedule.incarnation, firing.scheduled_at, true};
  change.workspace.tie(change.slot, made);
  register_lane(change.workspace, request.lane, request.creator, change.context.now);
  return {};
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
  if (!schedule.flow) event.lane = schedule.spec.execution.lane;
  event.kind = schedule.flow ? schedule.flow->kind : schedule.spec.execution.kind;
  event.actor = actor.empty() ? firing_actor : actor;
  event.reason = std::move(reason);
  event.next_at = schedule.next_at;
  change.slot.changed = true;
  return change.slot.log(std::move(event));
}

Event& log_firing(const ScheduleChange& change, const BufferedFiring& firing, const std::string& actor) {
  const RunningFiring made = named_firing(change.schedule(), firing);
  Event& event = log_schedule(change, EventType::schedule_fired, format_utc(firing.scheduled_at), actor);
  event.execution_id = made.execution_id;
  event.flow_id = made.flow_id;
  return event;
}

RunningFiring named_firing(const ScheduleRecord& schedule, const BufferedFiring& firing) {
  RunningFiring named;
  named.scheduled_at = firing.scheduled_at;
  (schedule.flow ? named.flow_id : named.execution_id) = firing.id;
  return named;
}

Result<void> check_target(const ScheduleChange& change) {
  const ScheduleRecord& schedule = change.schedule();
  if (!schedule.flow) {
    return check_accepts(change.workspace, request_of_firing(schedule, change.context.now), change.context);
  }
  FF_TRY(command, flow_of_firing(change, {{}, change.context.now, FiringCause::trigger}));
  for (const FlowNode& node : command.request.nodes) {
    FF_TRY_VOID(check_accepts(change.workspace, node.request, change.context));
  }
  return {};
}

Result<void> create_firing(const ScheduleChange& change, const BufferedFiring& firing) {
  ScheduleRecord& schedule = change.schedule();
  FF_TRY_VOID(schedule.flow ? create_flow_of_firing(change, firing) : create_execution_of_firing(change, firing));
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
  if (schedule == nullptr) return {};
  const Key flow = schedule_flow_key(schedule->name_space, schedule->name);
  if (schedule->state == ScheduleState::deleted) return schedule->flow ? std::vector<Key>{flow} : std::vector<Key>{};
  std::vector<Key> keys = {namespace_key(schedule->name_space)};
  if (!schedule->flow) {
    keys.push_back(lane_key(schedule->spec.execution.lane));
  } else if (!is_damaged(workspace, flow)) {
    keys.push_back(flow);  // without it nothing can be created, and each firing says so
    if (const ScheduleFlowRecord* definition = definition_of(workspace, *schedule)) {
      for (const std::string& lane : definition->lanes) keys.push_back(lane_key(lane));
    }
  }
  // Nobody asks what runs if firings may start beside it.
  if (schedule->spec.overlap == OverlapPolicy::allow && !schedule->buffered) return keys;
  for (const RunningFiring& firing : schedule->running) {
    const Key running = key_of(firing);
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
  const Key told = schedule_key(namespace_of_origin(*slot), origin->name);
  const Slot* schedule = workspace.find(told);
  if (schedule == nullptr) return {told};
  if (schedule->schedule() == nullptr || !schedule->schedule()->buffered) return {};
  return firing_keys(workspace, told);
}

void keep_definition(Workspace& workspace, Slot& slot, const FlowRequest& request) {
  Slot& kept = workspace.at(schedule_flow_key(slot.schedule()->name_space, slot.schedule()->name));
  kept.record = std::make_unique<ScheduleFlowRecord>(ScheduleFlowRecord{request, lanes_of(request)});
  kept.changed = true;
  kept.erased = false;
  workspace.tie(slot, kept);
}

void drop_definition(Workspace& workspace, Slot& slot) {
  Slot* kept = workspace.find(schedule_flow_key(slot.schedule()->name_space, slot.schedule()->name));
  if (kept == nullptr || kept->erased || kept->schedule_flow() == nullptr) return;
  kept->changed = true;
  kept->erased = true;
  workspace.tie(slot, *kept);
}

void schedule_due(Workspace& workspace, Slot& slot, const Context& context) {
  slot.changed = true;
  if (!all_known(workspace, firing_keys(workspace, slot.key))) return;
  ScheduleRecord& schedule = *slot.schedule();
  if (schedule.state == ScheduleState::deleted) {
    slot.erased = next_due(schedule) <= context.now;
    if (slot.erased) drop_definition(workspace, slot);
    return;
  }
  settle_schedule({workspace, slot, context});
}

void tell_schedule(Workspace& workspace, Slot& slot, const Context& context) {
  const ScheduleOrigin* found = untold_origin(slot);
  if (found == nullptr) return note_told(slot);
  const ScheduleOrigin origin = *found;
  Slot* of_schedule = workspace.find(schedule_key(namespace_of_origin(slot), origin.name));
  slot.changed = true;  // moves the due entry
  if (of_schedule == nullptr || !all_known(workspace, schedule_work_keys(workspace, slot.key))) return;
  note_told(slot);
  ScheduleRecord* schedule = of_schedule->erased ? nullptr : of_schedule->schedule();
  if (schedule == nullptr || schedule->incarnation != origin.incarnation) return;
  if (schedule->state == ScheduleState::deleted) return;
  workspace.tie(slot, *of_schedule);
  of_schedule->changed = true;
  const Outcome outcome = outcome_of(slot);
  outcome == Outcome::success ? ++schedule->counts.succeeded : ++schedule->counts.unsuccessful;
  RunningFiring ended;
  if (slot.flow() != nullptr) {
    ended.flow_id = slot.flow()->id;
  } else {
    ended.execution_id = slot.execution()->id;
  }
  const auto is_it = [&](const auto& firing) {
    return firing.execution_id == ended.execution_id && firing.flow_id == ended.flow_id;
  };
  std::erase_if(schedule->running, is_it);
  for (ScheduleFiring& firing : schedule->history) {
    if (is_it(firing) && firing.outcome == FiringOutcome::fired) firing.ended = outcome;
  }
  start_buffered({workspace, *of_schedule, context});
}

}  // namespace flowfabric
