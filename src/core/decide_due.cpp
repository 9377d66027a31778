// Commands of the clock. A due entry may be early (renewals do not move it), so the record is examined again and the
// entry is moved to the correct time.
#include "base/check.hpp"
#include "core/decide_parts.hpp"
#include "core/limiting.hpp"
#include "core/redriving.hpp"
#include "core/state.hpp"
#include "core/submitting.hpp"

namespace flowfabric {

// The end of an execution's retention, by its policy and the present settings of its namespace.
TimestampMs retention_end(Workspace& workspace, const Execution& execution, const Context& context) {
  const RetentionPolicy of_namespace = namespace_retention(workspace, execution.spec.name_space);
  return execution.facts.finished_at +
         retention_ms(execution.spec.policy, of_namespace, execution.facts.outcome, context.default_retention_ms);
}

// Removes an ended execution if its retention is over, by its policy and the current default of its namespace.
void retire(Workspace& workspace, Slot& slot, const Context& context) {
  Facts& facts = slot.execution()->facts;
  facts.retain_until = retention_end(workspace, *slot.execution(), context);
  slot.changed = true;
  slot.erased = facts.retain_until <= context.now;
}

Result<Reply> decide_one(Workspace& workspace, const DueCommand& command, const Context& context) {
  Slot& slot = workspace.at(command.key);
  slot.rearm_exactly = true;
  if (const auto* idempotency = std::get_if<IdempotencyRecord>(&slot.record)) {
    slot.changed = true;
    slot.erased = idempotency->expires_at <= context.now;
    return Done{};
  }
  if (const SubmitKeyRecord* submit_key = slot.erased ? nullptr : slot.submit_key()) {
    slot.changed = true;
    slot.erased = submit_key->expires_at != 0 && submit_key->expires_at <= context.now;
    return Done{};
  }
  if (slot.worker() != nullptr && !slot.erased) {
    worker_due(slot, command.holds_leases, context);
    return Done{};
  }
  if (slot.flow() != nullptr && !slot.erased) {
    flow_due(workspace, slot, context);
    return Done{};
  }
  if (slot.schedule() != nullptr && !slot.erased) {
    schedule_due(workspace, slot, context);
    return Done{};
  }
  if (slot.pool() != nullptr && !slot.erased) {
    pool_due(workspace, slot, command, context);
    return Done{};
  }
  if (slot.redrive() != nullptr && !slot.erased) {
    redrive_due(workspace, slot, command, context);
    return Done{};
  }
  if (slot.limits() != nullptr) {
    limits_due(workspace, slot, command, context);
    return Done{};
  }
  Execution* execution = slot.execution();
  if (execution == nullptr || slot.erased) return Done{};
  // An execution that ends in this command is removed later, so that its end is logged even if it is not kept at all.
  const bool was_terminal = execution->facts.phase == Phase::terminal;
  settle(slot, context);
  return_slots(workspace, slot, context);
  release_key(workspace, slot, context);
  if (was_terminal && (execution->facts.gates & untold_schedule) != 0) tell_schedule(workspace, slot, context);
  // The entry may have an outdated time: writing the record corrects the entry.
  slot.changed = true;
  if (execution->facts.member) {
    member_due(workspace, slot, context);
    return Done{};
  }
  const bool is_told = (execution->facts.gates & untold_schedule) == 0;
  const bool owes = owes_slots(execution->facts) || owes_key(execution->facts);
  if (was_terminal && is_told && !owes && execution->facts.retain_until <= context.now) {
    retire(workspace, slot, context);
  }
  return Done{};
}

}  // namespace flowfabric
