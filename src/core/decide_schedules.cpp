// Creating, changing, triggering and backfilling schedules.
#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/decide_parts.hpp"
#include "core/schedule_times.hpp"
#include "core/schedule_work.hpp"

namespace flowfabric {
namespace {

ScheduleSaved saved(const ScheduleRecord& schedule, bool duplicate = false) {
  return {schedule.name_space, schedule.name, schedule.state, schedule.revision, schedule.next_at, duplicate};
}

bool exists(const Slot& slot) {
  return !slot.erased && slot.schedule() != nullptr && slot.schedule()->state != ScheduleState::deleted;
}

// The slot of an existing schedule, with everything decided that is due; or `not_found`.
Result<Slot*> settled_schedule(Workspace& workspace, const std::string& name_space, const std::string& name,
                               const Context& context) {
  Slot& slot = workspace.at(schedule_key(name_space, name));
  if (!exists(slot)) {
    return fail(Errc::not_found, "there is no schedule \"" + name + "\" in namespace \"" + name_space + "\"", "name");
  }
  settle_schedule({workspace, slot, context});
  return &slot;
}

// The record has what the spec says, except for the definition of a flow.
Result<void> set_spec(Workspace& workspace, Slot& slot, const ScheduleSpec& spec) {
  ScheduleRecord& schedule = *slot.schedule();
  std::optional<ScheduledFlow> flow;
  if (spec.flow) {
    FF_TRY(scheduled, scheduled_flow(*spec.flow));
    flow = std::move(scheduled);
    keep_definition(workspace, slot, *spec.flow);
  } else {
    drop_definition(workspace, slot);
  }
  schedule.spec = spec;
  schedule.spec.flow.reset();
  schedule.spec.execution.name_space = schedule.name_space;
  schedule.flow = std::move(flow);
  return {};
}

const std::string& creator_of(const ScheduleSpec& spec) {
  return spec.flow ? spec.flow->creator : spec.execution.creator;
}

// A schedule without a next time would do nothing, and nobody would notice.
Result<TimestampMs> first_firing(const ScheduleSpec& spec, const Context& context) {
  FF_TRY(times, ScheduleTimes::of(spec, context.zones));
  const TimestampMs next = times.next_after(context.now);
  if (next != 0) return next;
  const std::string field = spec.cron.empty() ? "every_ms" : "cron";
  return fail(Errc::invalid_argument, field + ": with these bounds and exceptions there is no time after now", field);
}

// A firing that has come and is only late by its jitter is not lost by a change.
TimestampMs next_after_change(const ScheduleRecord& schedule, TimestampMs next, TimestampMs now) {
  return schedule.next_at != 0 && schedule.next_at <= now ? schedule.next_at : next;
}

Reply trigger_reply(const ScheduleRecord& schedule, const ExecutionId& id, TimestampMs at) {
  const ScheduleFiring& last = schedule.history.back();
  TriggerReply reply;
  reply.outcome = last.outcome;
  reply.scheduled_at = at;
  if (last.outcome != FiringOutcome::fired && last.outcome != FiringOutcome::buffered) return reply;
  (schedule.flow ? reply.flow_id : reply.execution_id) = id;
  return reply;
}

// The reply to a trigger with a key that has been used.
std::optional<Reply> earlier_trigger(Workspace& workspace, const ScheduleRecord& schedule, const ExecutionId& id) {
  TriggerReply reply;
  reply.duplicate = true;
  if (schedule.buffered && schedule.buffered->id == id) {
    (schedule.flow ? reply.flow_id : reply.execution_id) = id;
    reply.outcome = FiringOutcome::buffered;
    reply.scheduled_at = schedule.buffered->scheduled_at;
    return reply;
  }
  const Slot* flow = workspace.find(flow_key(id));
  if (flow != nullptr && !flow->erased && flow->flow() != nullptr) {
    const FlowSpec& spec = flow->flow()->spec;
    reply.flow_id = id;
    reply.scheduled_at = spec.schedule ? spec.schedule->scheduled_at : spec.created_at;
    return reply;
  }
  const Slot* slot = workspace.find(execution_key(id));
  if (slot == nullptr || slot->erased || slot->execution() == nullptr) return std::nullopt;
  reply.execution_id = id;
  const auto& origin = slot->execution()->spec.schedule;
  reply.scheduled_at = origin ? origin->scheduled_at : slot->execution()->spec.created_at;
  return reply;
}

// The schedule may have created executions before an update, and flows since.
void add_keys_of_firing(const ExecutionId& id, std::vector<Key>& keys) {
  keys.push_back(execution_key(id));
  keys.push_back(flow_key(id));
}

bool has_fired(Workspace& workspace, const ExecutionId& id) {
  for (const Key& key : {execution_key(id), flow_key(id)}) {
    const Slot& slot = workspace.at(key);
    if (slot.version != 0 || slot.execution() != nullptr || slot.flow() != nullptr) return true;
  }
  return false;
}

// One commit creates them all.
Result<void> check_backfill_nodes(const ScheduleRecord& schedule, std::size_t firings) {
  if (!schedule.flow || firings * schedule.flow->nodes <= limits::max_backfill_nodes) return {};
  return fail(Errc::invalid_argument,
              "to: the range has " + std::to_string(firings) + " scheduled times, and each flow " +
                  std::to_string(schedule.flow->nodes) +
                  " nodes; allowed in one call: " + std::to_string(limits::max_backfill_nodes) + " nodes",
              "to");
}

}  // namespace

std::optional<Key> schedule_key_of(const Command& command) {
  return std::visit(
      [](const auto& c) -> std::optional<Key> {
        if constexpr (std::is_same_v<std::decay_t<decltype(c)>, CreateScheduleCommand>) {
          return schedule_key(c.request.name_space, c.request.name);
        } else if constexpr (requires { schedule_key(c.name_space, c.name); }) {
          return schedule_key(c.name_space, c.name);
        } else {
          return std::nullopt;
        }
      },
      command);
}

std::vector<Key> schedule_command_needs(Workspace& workspace, const Command& command) {
  const Key key = *schedule_key_of(command);
  const Slot* slot = workspace.find(key);
  if (slot == nullptr) return {key};
  std::vector<Key> keys = firing_keys(workspace, key);
  // A change may make or remove the definition of a flow.
  Key flow = key;
  flow.bytes.front() = static_cast<char>(RecordKind::schedule_flow);
  keys.push_back(std::move(flow));
  const ScheduleRecord* schedule = slot->erased ? nullptr : slot->schedule();
  if (schedule == nullptr) return keys;
  if (const auto* trigger = std::get_if<TriggerScheduleCommand>(&command)) {
    const std::string& idempotency_key = trigger->request.idempotency_key;
    if (!idempotency_key.empty()) add_keys_of_firing(trigger_id(*schedule, 0, idempotency_key), keys);
  }
  if (const auto* backfill = std::get_if<BackfillScheduleCommand>(&command)) {
    for (const TimestampMs at : backfill->times) add_keys_of_firing(firing_id(*schedule, at), keys);
  }
  return keys;
}

Result<Reply> decide_one(Workspace& workspace, const CreateScheduleCommand& command, const Context& context) {
  const ScheduleRequest& request = command.request;
  Slot& slot = workspace.at(schedule_key(request.name_space, request.name));
  if (exists(slot)) {
    if (spec_digest(*slot.schedule()) == spec_digest(request)) return saved(*slot.schedule(), true);
    return fail(Errc::conflict,
                "schedule \"" + request.name + "\" exists in namespace \"" + request.name_space +
                    "\" with another spec; update it instead",
                "name");
  }
  if (slot.erased && slot.version != 0) {
    return fail(Errc::contended, "the schedule with this name is being removed; try again", "name");
  }
  FF_TRY(next, first_firing(request, context));
  auto schedule = std::make_unique<ScheduleRecord>();
  schedule->name_space = request.name_space;
  schedule->name = request.name;
  // What is left of a deleted one keeps its place in listings.
  schedule->first_created_at =
      slot.schedule() != nullptr && !slot.erased ? slot.schedule()->first_created_at : context.now;
  schedule->incarnation = context.entropy();
  schedule->creator = creator_of(request);
  schedule->created_at = schedule->changed_at = context.now;
  schedule->changed_by = schedule->creator;
  schedule->state = request.paused ? ScheduleState::paused : ScheduleState::active;
  if (!request.paused) schedule->next_at = next;
  slot.record = std::move(schedule);
  slot.erased = false;
  FF_TRY_VOID(set_spec(workspace, slot, request));
  log_schedule({workspace, slot, context}, EventType::schedule_created, {}, creator_of(request));
  return saved(*slot.schedule());
}

Result<Reply> decide_one(Workspace& workspace, const UpdateScheduleCommand& command, const Context& context) {
  FF_TRY(slot, settled_schedule(workspace, command.name_space, command.name, context));
  ScheduleRecord& schedule = *slot->schedule();
  if (command.expected_revision && *command.expected_revision != schedule.revision) {
    return fail(Errc::conflict,
                "the schedule has revision " + std::to_string(schedule.revision) + ", not " +
                    std::to_string(*command.expected_revision),
                "revision");
  }
  if (spec_digest(command.spec) == spec_digest(schedule)) return saved(schedule, true);
  FF_TRY(next, first_firing(command.spec, context));
  if (schedule.state == ScheduleState::active) schedule.next_at = next_after_change(schedule, next, context.now);
  schedule.retry_at = 0;
  FF_TRY_VOID(set_spec(workspace, *slot, command.spec));
  ++schedule.revision;
  schedule.changed_at = context.now;
  schedule.changed_by = command.by.name;
  log_schedule({workspace, *slot, context}, EventType::schedule_updated, command.by.reason, command.by.name);
  return saved(schedule);
}

Result<Reply> decide_one(Workspace& workspace, const ScheduleStateCommand& command, const Context& context) {
  FF_TRY(slot, settled_schedule(workspace, command.name_space, command.name, context));
  ScheduleRecord& schedule = *slot->schedule();
  if (schedule.state == command.state) return saved(schedule, true);
  const ScheduleChange change = {workspace, *slot, context};
  EventType type = EventType::schedule_paused;
  schedule.next_at = 0;
  schedule.retry_at = 0;
  if (command.state == ScheduleState::active) {
    FF_TRY(times, ScheduleTimes::of(schedule.spec, context.zones));
    schedule.next_at = times.next_after(context.now);
    type = EventType::schedule_resumed;
  }
  if (command.state == ScheduleState::deleted) {
    schedule.buffered.reset();
    schedule.running.clear();
    type = EventType::schedule_deleted;
  }
  schedule.state = command.state;
  schedule.changed_at = context.now;
  schedule.changed_by = command.by.name;
  schedule.reason = command.by.reason;
  log_schedule(change, type, command.by.reason, command.by.name);
  settle_schedule(change);
  return saved(schedule);
}

Result<Reply> decide_one(Workspace& workspace, const TriggerScheduleCommand& command, const Context& context) {
  FF_TRY(slot, settled_schedule(workspace, command.name_space, command.name, context));
  ScheduleRecord& schedule = *slot->schedule();
  const std::string& key = command.request.idempotency_key;
  const ExecutionId id = trigger_id(schedule, context.now, key);
  if (!key.empty()) {
    if (auto answer = earlier_trigger(workspace, schedule, id)) return std::move(*answer);
    // Removed within the same batch: the old record must be deleted before a new one can replace it.
    if (has_fired(workspace, id)) {
      return fail(Errc::contended, "the execution or flow of this idempotency key is being removed; try again");
    }
  }
  FF_TRY_VOID(check_target({workspace, *slot, context}));
  ++schedule.triggers;
  fire({workspace, *slot, context}, {id, context.now, FiringCause::trigger}, command.request.ignore_overlap);
  slot->events.back().actor = command.by.name;
  return trigger_reply(schedule, id, context.now);
}

Result<Reply> decide_one(Workspace& workspace, const BackfillScheduleCommand& command, const Context& context) {
  FF_TRY(slot, settled_schedule(workspace, command.name_space, command.name, context));
  ScheduleRecord& schedule = *slot->schedule();
  if (schedule.incarnation != command.incarnation || schedule.revision != command.revision) {
    return fail(Errc::contended, "the schedule was changed meanwhile; try again");
  }
  const ScheduleChange change = {workspace, *slot, context};
  FF_TRY_VOID(check_backfill_nodes(schedule, command.times.size()));
  BackfillReply reply;
  for (const TimestampMs at : command.times) {
    // What the clock has not decided yet it will.
    if (at > context.now || (schedule.next_at != 0 && at >= schedule.next_at)) break;
    const BufferedFiring firing = {firing_id(schedule, at), at, FiringCause::backfill};
    const bool waits = schedule.buffered && schedule.buffered->id == firing.id;
    if (waits || has_fired(workspace, firing.id)) {
      ++reply.existing;
      continue;
    }
    FF_TRY_VOID(create_firing(change, firing));
    log_firing(change, firing, command.by.name);
    reply.executions.push_back(named_firing(schedule, firing));
  }
  reply.created = static_cast<std::uint32_t>(reply.executions.size());
  if (reply.created == 0) return reply;
  ScheduleFiring entry;
  entry.scheduled_at = reply.executions.back().scheduled_at;
  entry.at = context.now;
  entry.cause = FiringCause::backfill;
  entry.count = reply.created;
  schedule.history.push_back(std::move(entry));
  if (schedule.history.size() > limits::max_schedule_history) schedule.history.erase(schedule.history.begin());
  return reply;
}

}  // namespace flowfabric
