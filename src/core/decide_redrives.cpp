// Redrives: made, paused, resumed and cancelled by callers, and worked on by the clock.
//
// The clock replays a piece of what is left in one change set with the record of the redrive, which spans partitions as the
// change of a pool does. So what is counted and what was replayed never differ. Each execution also remembers the redrive that
// replayed it, so that one which fails again at once is not replayed by the same redrive again.
#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/limiting.hpp"
#include "core/redriving.hpp"
#include "core/state.hpp"
#include "core/submitting.hpp"

namespace flowfabric {
namespace {

const std::string redrive_actor = "clock";

void log_redrive(Slot& slot, EventType type, const Operator& by, std::string reason, const Context& context) {
  slot.changed = true;
  Event event = plain_event(type, context, by, std::move(reason));
  event.name_space = slot.redrive()->name_space;
  slot.log(std::move(event));
}

void touch_redrive(RedriveRecord& redrive, const Operator& by, const Context& context) {
  redrive.changed_at = context.now;
  redrive.changed_by = by.name;
}

void end_redrive(Slot& slot, RedriveState state, const Operator& by, const Context& context) {
  RedriveRecord& redrive = *slot.redrive();
  redrive.state = state;
  redrive.finished_at = context.now;
  redrive.next_at = 0;
  touch_redrive(redrive, by, context);
  std::string text = "replayed " + std::to_string(redrive.replayed);
  if (redrive.refused > 0) text += ", refused " + std::to_string(redrive.refused);
  if (!by.reason.empty()) text += ": " + by.reason;
  const EventType type = state == RedriveState::completed ? EventType::redrive_completed : EventType::redrive_cancelled;
  log_redrive(slot, type, {by.name, {}}, std::move(text), context);
}

bool is_same_request(const RedriveRecord& redrive, const CreateRedriveCommand& command) {
  return redrive.selection == command.request && redrive.rate_text == command.request.rate &&
         redrive.name_space == command.request.name_space;
}

// One walk of the clock over a piece of what is left.
class RedrivePiece {
 public:
  RedrivePiece(Workspace& workspace, Slot& slot, const Context& context)
      : workspace_(workspace), slot_(slot), redrive_(*slot.redrive()), context_(context) {
    budget_ = redrive_.rate ? may_start(*redrive_.rate, redrive_.rate_state, context.now) : UINT32_MAX;
  }

  // Whether it went through all of them; if not, the rate allows no more. What failed later is behind the others.
  bool run_group(const DueCommand& command) {
    reached_end_ = command.letters_end;
    for (const FoundLetter& letter : command.letters) {
      if (letter.rank > redrive_.created_at) {
        reached_end_ = true;
        return true;
      }
      if (!visit(execution_of(letter.key), redrive_.fingerprints[redrive_.next])) return false;
      redrive_.after = LetterPosition{letter.rank, letter.key};
    }
    return true;
  }

  bool reached_end() const { return reached_end_; }

  bool run_selected() {
    const auto& ids = redrive_.selection.execution_ids;
    const std::size_t end = std::min<std::size_t>(ids.size(), redrive_.next + limits::max_redrive_piece);
    for (; redrive_.next < end; ++redrive_.next) {
      if (!visit(ids[redrive_.next], std::nullopt)) return false;
    }
    return true;
  }

 private:
  static ExecutionId execution_of(const Key& key) {
    return key.kind() == RecordKind::dead_letter ? execution_of_letter(key) : execution_id_of(key);
  }

  bool is_selected() const { return !redrive_.selection.execution_ids.empty(); }

  // False: the rate allows no more.
  bool visit(const ExecutionId& id, std::optional<std::uint64_t> group) {
    Slot* found = workspace_.find(execution_key(id));
    if (found != nullptr && found->damage) return refuse(id, RedriveRefusal::damaged);
    // The batch may have read it ahead, before it failed: nobody is left out because of what it was then.
    if (found != nullptr) workspace_.rest_on(slot_, *found);
    if (found == nullptr || found->erased || found->execution() == nullptr ||
        found->execution()->spec.name_space != redrive_.name_space) {
      return pass(id, RedriveRefusal::not_found);
    }
    const Execution& execution = *found->execution();
    const Facts& facts = execution.facts;
    if (facts.phase != Phase::terminal || facts.outcome != Outcome::failed) return pass(id, RedriveRefusal::not_failed);
    if (group && facts.letter.fingerprint != *group) return pass(id, RedriveRefusal::not_failed);
    // What failed since, or was replayed by this redrive and failed again, is not meant.
    if (facts.finished_at > redrive_.created_at || facts.letter.redriven_by == redrive_.id || !is_meant(execution)) {
      return skip();
    }
    if (facts.member) return refuse(id, RedriveRefusal::flow_node);
    if (!check_replays(execution)) return refuse(id, RedriveRefusal::max_replays);
    if (budget_ == 0) return false;
    if (!take_its_key_again(*found)) return refuse(id, RedriveRefusal::unique_key);
    --budget_;
    replay(*found);
    return true;
  }

  // What is refused rests on who has the key.
  bool take_its_key_again(Slot& found) {
    std::vector<Key> keys;
    add_replay_keys(workspace_, found.execution()->id, keys);
    for (const Key& key : keys) workspace_.rest_on(slot_, workspace_.at(key));
    return retake_key(workspace_, found, context_).has_value();
  }

  bool is_meant(const Execution& execution) const {
    const RedriveSelection& selection = redrive_.selection;
    const Facts& facts = execution.facts;
    if (selection.lane && *selection.lane != execution.spec.lane) return false;
    if (selection.kind && *selection.kind != execution.spec.kind) return false;
    if (selection.category && (!facts.failure || *selection.category != facts.failure->category)) return false;
    if (selection.failed_from && facts.finished_at < *selection.failed_from) return false;
    if (selection.failed_before && facts.finished_at >= *selection.failed_before) return false;
    if (!selection.tag) return true;
    const auto tag = facts.tags.find(selection.tag->first);
    return tag != facts.tags.end() && tag->second == selection.tag->second;
  }

  void replay(Slot& found) {
    workspace_.tie(slot_, found);
    Transition transition(found, context_);
    const Operator by{redrive_.created_by, std::string(redrive_reason) + to_string(redrive_.id) +
                                               (redrive_.reason.empty() ? "" : ": " + redrive_.reason)};
    start_over(transition, by, {});
    found.execution()->facts.letter.redriven_by = redrive_.id;
    transition.record(EventType::replayed, by.name, by.reason);
    return_slots(workspace_, found, context_);
    if (redrive_.rate) note_start(*redrive_.rate, redrive_.rate_state, context_.now);
    ++redrive_.replayed;
    ++redrive_.passed;
  }

  bool skip() {
    ++redrive_.passed;
    return true;
  }
  bool refuse(const ExecutionId& id, RedriveRefusal reason) {
    ++redrive_.refused;
    if (redrive_.refusals.size() < limits::max_redrive_refusals) redrive_.refusals.push_back({id, reason});
    return skip();
  }
  // Only of what a caller has named one is told that it is not there; what was found in a group has gone since.
  bool pass(const ExecutionId& id, RedriveRefusal reason) { return is_selected() ? refuse(id, reason) : skip(); }

  Workspace& workspace_;
  Slot& slot_;
  RedriveRecord& redrive_;
  const Context& context_;
  std::uint32_t budget_ = 0;
  bool reached_end_ = false;  // of a group
};

bool is_at_end(const RedriveRecord& redrive) {
  const auto& ids = redrive.selection.execution_ids;
  return redrive.next >= (ids.empty() ? redrive.fingerprints.size() : ids.size());
}

}  // namespace

Result<Reply> decide_one(Workspace& workspace, const CreateRedriveCommand& command, const Context& context) {
  Slot& slot = workspace.at(redrive_key(command.id));
  if (slot.redrive() != nullptr && !slot.erased) {
    if (!is_same_request(*slot.redrive(), command)) {
      return fail(Errc::conflict, "idempotency_key: was used for another redrive, " + to_string(command.id),
                  "idempotency_key");
    }
    RedriveInfo info = info_of(*slot.redrive());
    info.duplicate = true;
    return info;
  }
  if (slot.version != 0) return fail(Errc::contended, "the redrive with this key is being removed; try again");
  auto redrive = std::make_unique<RedriveRecord>();
  redrive->id = command.id;
  redrive->name_space = command.request.name_space;
  redrive->created_at = context.now;
  redrive->selection = command.request;
  redrive->rate_text = command.request.rate;
  redrive->rate = command.rate;
  redrive->fingerprints = command.fingerprints;
  redrive->found = command.found;
  redrive->created_by = command.by.name;
  redrive->reason = command.by.reason;
  redrive->state = command.request.paused ? RedriveState::paused : RedriveState::running;
  if (!command.request.paused) redrive->next_at = context.now;
  touch_redrive(*redrive, command.by, context);
  slot.record = std::move(redrive);
  log_redrive(slot, EventType::redrive_created, command.by, command.by.reason, context);
  return info_of(*slot.redrive());
}

Result<Reply> decide_one(Workspace& workspace, const RedriveActionCommand& command, const Context& context) {
  Slot& slot = workspace.at(redrive_key(command.id));
  if (slot.redrive() == nullptr || slot.erased) {
    return fail(Errc::not_found, "there is no redrive " + to_string(command.id), "redrive_id");
  }
  RedriveRecord& redrive = *slot.redrive();
  const RedriveState wanted = command.action == RedriveAction::pause    ? RedriveState::paused
                              : command.action == RedriveAction::resume ? RedriveState::running
                                                                        : RedriveState::cancelled;
  if (redrive.state == wanted) return info_of(redrive);
  if (redrive.has_ended()) {
    return fail(Errc::conflict, "redrive " + to_string(command.id) + " is " + std::string(to_string(redrive.state)) +
                                    "; only one that runs or is paused can be changed");
  }
  if (wanted == RedriveState::cancelled) {
    end_redrive(slot, wanted, command.by, context);
    return info_of(redrive);
  }
  redrive.state = wanted;
  redrive.next_at = wanted == RedriveState::running ? context.now : 0;
  touch_redrive(redrive, command.by, context);
  const EventType type = wanted == RedriveState::paused ? EventType::redrive_paused : EventType::redrive_resumed;
  log_redrive(slot, type, command.by, command.by.reason, context);
  return info_of(redrive);
}

std::optional<LettersWanted> letters_wanted(const Workspace& workspace, const Key& due, TimestampMs now) {
  const Slot* slot = workspace.find(due);
  const RedriveRecord* redrive = slot == nullptr || slot->erased ? nullptr : slot->redrive();
  if (redrive == nullptr || redrive->state != RedriveState::running || redrive->next_at > now) return std::nullopt;
  if (!redrive->selection.execution_ids.empty() || is_at_end(*redrive)) return std::nullopt;
  const std::uint64_t fingerprint = redrive->fingerprints[redrive->next];
  LettersWanted wanted;
  wanted.group =
      fingerprint == 0 ? *group_of_state(PublicState::failed) : group_of_letters(redrive->name_space, fingerprint);
  wanted.after = redrive->after;
  wanted.limit = limits::max_redrive_piece;
  return wanted;
}

std::vector<Key> redrive_work_keys(Workspace& workspace, const DueCommand& command) {
  const Slot* slot = workspace.find(command.key);
  const RedriveRecord* redrive = slot == nullptr || slot->erased ? nullptr : slot->redrive();
  std::vector<Key> keys;
  if (redrive == nullptr || redrive->state != RedriveState::running) return keys;
  for (const FoundLetter& letter : command.letters) {
    keys.push_back(letter.key.kind() == RecordKind::dead_letter ? execution_key(execution_of_letter(letter.key))
                                                                : letter.key);
  }
  const auto& ids = redrive->selection.execution_ids;
  const std::size_t end = std::min<std::size_t>(ids.size(), redrive->next + limits::max_redrive_piece);
  for (std::size_t i = redrive->next; i < end; ++i) keys.push_back(execution_key(ids[i]));
  const std::size_t executions = keys.size();
  for (std::size_t i = 0; i < executions; ++i) add_replay_keys(workspace, execution_id_of(keys[i]), keys);
  return keys;
}

void redrive_due(Workspace& workspace, Slot& slot, const DueCommand& command, const Context& context) {
  RedriveRecord& redrive = *slot.redrive();
  slot.changed = true;
  if (redrive.has_ended()) {
    slot.erased = next_due(redrive) <= context.now;
    return;
  }
  if (redrive.state != RedriveState::running || redrive.next_at > context.now) return;
  for (const Key& key : redrive_work_keys(workspace, command)) {
    if (!workspace.knows(key)) return;  // the next sweep goes on
  }
  RedrivePiece piece(workspace, slot, context);
  const bool went_through = redrive.selection.execution_ids.empty() ? piece.run_group(command) : piece.run_selected();
  if (went_through && piece.reached_end()) {
    ++redrive.next;
    redrive.after.reset();
  }
  if (is_at_end(redrive)) return end_redrive(slot, RedriveState::completed, {redrive_actor, {}}, context);
  redrive.next_at = context.now;
  if (!went_through)
    redrive.next_at = std::max(context.now + 1, may_start_at(*redrive.rate, redrive.rate_state, 1, context.now));
}

}  // namespace flowfabric
