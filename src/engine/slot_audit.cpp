#include "engine/slot_audit.hpp"

#include "base/check.hpp"

namespace flowfabric {
namespace {

void set_holders(std::vector<SlotHolder>& holders, const std::set<std::pair<ExecutionId, std::uint64_t>>& right) {
  holders.clear();
  for (const auto& [id, epoch] : right) holders.push_back({id, epoch});
}

}  // namespace

void SlotAudit::note(const Slot& slot) {
  if (const Execution* execution = slot.execution()) {
    for (const Key& pool : execution->facts.limits.slots) {
      taken_[pool].emplace(execution->id, execution->facts.limits.slots_epoch);
    }
  }
  if (const PoolRecord* pool = slot.pool()) {
    Holders& holders = counted_[slot.key];
    for (const SlotHolder& holder : pool->holders) holders.emplace(holder.execution_id, holder.lease_epoch);
  }
}

Result<std::vector<WrongSlots>> SlotAudit::disagreements(Store& store) const {
  std::vector<WrongSlots> wrong;
  std::set<Key> pools;
  for (const auto& [pool, holders] : taken_) pools.insert(pool);
  for (const auto& [pool, holders] : counted_) pools.insert(pool);
  for (const Key& pool : pools) {
    const auto taken = taken_.find(pool);
    const auto counted = counted_.find(pool);
    // The pool of a limit that was removed: its slots mean nothing.
    if (counted == counted_.end()) continue;
    if (taken == taken_.end() ? counted->second.empty() : taken->second == counted->second) continue;
    std::set<Key> executions;
    for (const auto& [id, epoch] : counted->second) executions.insert(execution_key(id));
    if (taken != taken_.end()) {
      for (const auto& [id, epoch] : taken->second) executions.insert(execution_key(id));
    }
    FF_TRY(still, look_again(store, pool, executions));
    if (still) wrong.push_back(std::move(*still));
  }
  return wrong;
}

// The pool is read first: whoever takes or gives back a slot after that changes it, so the guard of the repair fails.
Result<std::optional<WrongSlots>> SlotAudit::look_again(Store& store, const Key& pool,
                                                        const std::set<Key>& executions) {
  FF_TRY(before, store.load({pool}));
  if (before.empty()) return std::nullopt;
  FF_TRY(records, store.load({executions.begin(), executions.end()}));
  FF_TRY(after, store.load({pool}));
  if (after.empty() || after.front().version != before.front().version) return std::nullopt;
  SlotAudit again;
  for (const Record& record : records) {
    FF_TRY(slot, decode_slot(record));
    again.note(*slot);
  }
  Workspace workspace;
  FF_TRY(slot, workspace.admit(after.front()));
  again.note(*slot);
  const Holders& right = again.taken_[pool];
  const Holders counted = again.counted_[pool];
  // An execution that was not noted before would have changed the pool.
  if (right == counted) return std::nullopt;
  WrongSlots wrong;
  wrong.problem = name_of_record(pool) + " counts " + std::to_string(counted.size()) +
                  " slots as taken; executions have " + std::to_string(right.size()) + " of them";
  set_holders(slot->pool()->holders, right);
  slot->pool()->call_at = 1;  // there may be room now
  slot->changed = true;
  wrong.repair = std::move(workspace.plan().sets.front());
  return wrong;
}

}  // namespace flowfabric
