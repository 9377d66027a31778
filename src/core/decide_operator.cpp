#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/decide_parts.hpp"
#include "core/limiting.hpp"
#include "core/state.hpp"
#include "core/submitting.hpp"

namespace flowfabric {
namespace {

// Replay starts again; the results from before it go into the attempt history.
void archive_result(Transition& transition) {
  Facts& facts = transition.facts();
  if (facts.has_result && facts.result_is_inline && facts.attempt) {
    transition.add_satellite(SatelliteKind::result, facts.attempt->attempt_index, facts.result);
  }
  facts.has_result = false;
  facts.result_is_inline = false;
  facts.result.clear();
}

}  // namespace

Result<void> check_replays(const Execution& execution) {
  const std::uint32_t allowed = execution.spec.policy.max_replays;
  if (execution.facts.replay_count < allowed) return {};
  return fail(Errc::max_replays_exhausted, "the execution has been replayed " +
                                               std::to_string(execution.facts.replay_count) +
                                               " times; the policy allows " + std::to_string(allowed));
}

void start_over(Transition& transition, const Operator& by, std::optional<std::uint32_t> from_position) {
  Facts& facts = transition.facts();
  facts.steps.forget_last_failures();
  if (from_position) facts.steps.forget_from(*from_position);
  archive_result(transition);
  ++facts.replay_count;
  facts.retry_count = 0;
  facts.reclaim_count = 0;
  facts.outcome = Outcome::none;
  facts.finished_at = 0;
  facts.retain_until = 0;
  facts.failure.reset();
  facts.letter.fingerprint = 0;
  facts.cancellation_reason.clear();
  facts.cancelled_by.clear();
  facts.progress.reset();
  if (facts.waits) facts.waits->has_outcome = false;
  const std::int64_t span = transition.execution().deadline_span_ms();
  facts.deadline_at = span == 0 ? 0 : transition.now() + span;
  facts.gates &= ~untold_schedule;  // it has not ended after all
  facts.pending = PendingAttempt{AttemptType::replay, {}, by.reason, by.name};
  if (facts.attempt) facts.pending->previous_attempt_index = facts.attempt->attempt_index;
  make_runnable(transition, 0, DelayCause::none);
}

Event plain_event(EventType type, const Context& context, const Operator& by, std::string reason) {
  Event event;
  event.type = type;
  event.at = context.now;
  event.actor = by.name;
  event.reason = std::move(reason);
  return event;
}

Result<Reply> decide_one(Workspace& workspace, const CancelCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  Transition transition(*slot, context);
  Facts& facts = transition.facts();
  if (facts.phase == Phase::terminal) {
    if (facts.outcome == Outcome::cancelled) return CancelReply{true};
    return Unexpected(already_terminal(*slot->execution()));
  }
  facts.cancellation_reason = command.by.reason;
  facts.cancelled_by = command.by.name;
  finish(transition, Outcome::cancelled, EventType::cancelled, AttemptState::ended_cancelled, command.by.name,
         command.by.reason);
  return CancelReply{false};
}

Result<Reply> decide_one(Workspace& workspace, const RevokeCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  const Facts& facts = slot->execution()->facts;
  if (facts.phase == Phase::terminal) return Unexpected(already_terminal(*slot->execution()));
  if (!facts.lease) return fail(Errc::no_active_lease, "this execution has no active lease");
  const Uuid lease_id = facts.lease->lease_id;
  if (command.expected_lease_id && *command.expected_lease_id != lease_id) {
    return fail(Errc::stale_lease, "the execution has another lease than the one given", "expected_lease_id");
  }
  lose_lease(*slot, context, LeaseLoss::revoked, command.by.name,
             command.by.reason.empty() ? "lease_revoked" : command.by.reason, context.now);
  return RevokeReply{lease_id, facts.lease_epoch, public_state(facts)};
}

Result<Reply> decide_one(Workspace& workspace, const ReplayCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  Transition transition(*slot, context);
  Facts& facts = transition.facts();
  if (facts.phase != Phase::terminal) {
    return fail(Errc::not_terminal,
                "only an ended execution can be replayed; this one is " + std::string(to_string(public_state(facts))));
  }
  if (facts.member) {
    return fail(Errc::unsupported, "the execution is a node of flow " + to_string(flow_of(transition.execution())) +
                                       "; replay the flow from this node instead");
  }
  FF_TRY_VOID(check_replays(transition.execution()));
  if (command.from_position && command.replay_count != facts.replay_count) {
    return fail(Errc::contended, "the execution was replayed meanwhile; look at its steps again");
  }
  FF_TRY_VOID(retake_key(workspace, *slot, context));
  start_over(transition, command.by, command.from_position);
  transition.record(EventType::replayed, command.by.name, command.by.reason);
  return ReplayReply{facts.replay_count, public_state(facts)};
}

Result<Reply> decide_one(Workspace& workspace, const PriorityCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  Transition transition(*slot, context);
  Facts& facts = transition.facts();
  if (facts.phase == Phase::terminal) return Unexpected(already_terminal(*slot->execution()));
  if (facts.priority == command.priority) return Done{};
  const std::string change = std::to_string(facts.priority) + " -> " + std::to_string(command.priority);
  facts.priority = command.priority;
  transition.record(EventType::priority_changed, command.by.name, change);
  return Done{};
}

Result<Reply> decide_one(Workspace& workspace, const TagsCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  if (command.held_under) FF_TRY_VOID(check_fence(*slot->execution(), *command.held_under));
  Transition transition(*slot, context);
  Facts& facts = transition.facts();
  Tags next = facts.tags;
  for (const auto& key : command.changes.remove) next.erase(key);
  for (const auto& [key, value] : command.changes.set) next[key] = value;
  if (next.size() > limits::max_tags) {
    return fail(Errc::invalid_argument,
                "set: an execution has at most " + std::to_string(limits::max_tags) +
                    " tags; after this change it would have " + std::to_string(next.size()),
                "set");
  }
  if (next == facts.tags) return next;
  facts.tags = next;
  const std::string& actor = command.held_under ? facts.lease->worker_instance_id : command.by.name;
  transition.record(EventType::tags_changed, actor, command.by.reason);
  return next;
}

Result<Reply> decide_one(Workspace& workspace, const LaneCommand& command, const Context& context) {
  Slot& slot = workspace.at(lane_key(command.lane));
  auto* record = std::get_if<LaneRecord>(&slot.record);
  if (record == nullptr && !command.has_routes) {
    return fail(Errc::not_found,
                "there is no lane \"" + command.lane + "\"; a lane is made by the first execution created on it",
                "lane");
  }
  LaneInfo info = record != nullptr ? record->info : LaneInfo{.lane = command.lane};
  const LaneState before = info.state;
  if (before == command.state) return info;
  info.state = command.state;
  info.changed_at = context.now;
  info.changed_by = command.by.name;
  info.reason = command.by.reason;
  slot.record = LaneRecord{info};
  slot.changed = true;
  Event event = plain_event(EventType::lane_changed, context, command.by,
                            std::string(to_string(before)) + " -> " + std::string(to_string(command.state)));
  event.lane = command.lane;
  slot.log(std::move(event));
  return info;
}

Result<Reply> decide_one(Workspace& workspace, const NamespaceCommand& command, const Context& context) {
  Slot& slot = workspace.at(namespace_key(command.info.name_space));
  auto* record = std::get_if<NamespaceRecord>(&slot.record);
  if (record != nullptr && record->info == command.info) return record->info;
  slot.record = NamespaceRecord{command.info};
  slot.changed = true;
  Event event = plain_event(EventType::namespace_changed, context, command.by, command.by.reason);
  event.name_space = command.info.name_space;
  slot.log(std::move(event));
  return command.info;
}

Result<Reply> decide_one(Workspace& workspace, const RotateKeysCommand& command, const Context& context) {
  Slot& slot = workspace.at(keyring_key());
  KeyringRecord keyring;
  if (const auto* stored = std::get_if<KeyringRecord>(&slot.record)) keyring = *stored;
  std::uint32_t newest = 0;
  const TimestampMs until = context.now + command.grace_ms;
  for (auto& key : keyring.keys) {
    if (key.expires_at == 0 || key.expires_at > until) key.expires_at = until;
    newest = std::max(newest, key.key_id);
  }
  // Without grace the older keys are invalid from now on, so there are never too many.
  std::erase_if(keyring.keys, [&](const auto& key) { return key.expires_at <= context.now; });
  if (keyring.keys.size() >= limits::max_signing_keys) {
    return fail(Errc::overloaded, "there are " + std::to_string(keyring.keys.size()) +
                                      " keys that are still accepted; wait until one has expired");
  }
  keyring.keys.push_back(make_signing_key(newest + 1, context.now, context.entropy));

  KeyRotation rotation;
  rotation.key_id = newest + 1;
  for (const auto& key : keyring.keys) rotation.keys.push_back({key.key_id, key.created_at, key.expires_at});
  slot.record = std::move(keyring);
  slot.changed = true;
  slot.log(plain_event(EventType::keys_rotated, context, command.by,
                       "key " + std::to_string(rotation.key_id) +
                           " is the signing key; older keys are accepted until " + format_utc(until)));
  return rotation;
}

Result<Reply> decide_one(Workspace& workspace, const RemoveCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  const Facts& facts = slot->execution()->facts;
  if (facts.phase != Phase::terminal) {
    return fail(Errc::not_terminal,
                "only an ended execution can be removed; this one is " + std::string(to_string(public_state(facts))));
  }
  // An execution that ended in this command is removed later, so that its end is logged. A member goes with its flow.
  // So is one whose schedule has to be told of its end first, or that has slots or a key to give back.
  if (slot->changed || facts.member || (facts.gates & untold_schedule) != 0 || owes_slots(facts) || owes_key(facts)) {
    return RemoveReply{false};
  }
  // Tags may have changed since the execution was found by one.
  if (command.tag) {
    const auto found = facts.tags.find(command.tag->first);
    if (found == facts.tags.end() || found->second != command.tag->second) return RemoveReply{false};
  }
  if (command.dry_run) {
    return RemoveReply{command.finished_before ? facts.finished_at < *command.finished_before
                                               : retention_end(workspace, *slot->execution(), context) <= context.now};
  }
  if (!command.finished_before) {
    retire(workspace, *slot, context);
  } else if (facts.finished_at < *command.finished_before) {
    slot->changed = true;
    slot->erased = true;
  }
  return RemoveReply{slot->erased};
}

// An event belongs to a record: that of the namespace, or of the default namespace if the run was for all. The content
// of the record is unchanged.
Result<Reply> decide_one(Workspace& workspace, const NoteRetentionCommand& command, const Context& context) {
  const RetentionRun& run = command.run;
  const std::string name_space = run.name_space.value_or("default");
  Slot& slot = workspace.at(namespace_key(name_space));
  if (!std::holds_alternative<NamespaceRecord>(slot.record)) slot.record = NamespaceRecord{{name_space, {}}};
  slot.changed = true;
  std::string text = "removed " + std::to_string(command.removed) + " ended executions";
  if (run.tag) text += " with the tag " + run.tag->first + "=" + run.tag->second;
  if (run.older_than_ms) {
    text += ", those that ended by " + format_utc(context.now - *run.older_than_ms);
  }
  if (!command.by.reason.empty()) text += ": " + command.by.reason;
  Event event = plain_event(EventType::retention_run, context, command.by, std::move(text));
  event.name_space = run.name_space.value_or("");
  event.lane = run.lane.value_or("");
  slot.log(std::move(event));
  return Done{};
}

}  // namespace flowfabric
