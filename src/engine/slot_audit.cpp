#include "engine/slot_audit.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "core/limit_records.hpp"

namespace flowfabric {
namespace {

void set_holders(std::vector<SlotHolder>& holders, const std::set<std::pair<ExecutionId, std::uint64_t>>& right) {
  holders.clear();
  for (const auto& [id, epoch] : right) holders.push_back({id, epoch});
}

std::string amounts_text(const Amounts& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts) text += (text.empty() ? "" : ", ") + std::to_string(amount) + " " + name;
  return text.empty() ? "nothing" : text;
}

void set_reserved(Account& account, const Amounts& right) {
  for (DimensionAccount& one : account.dimensions) one.reserved = 0;
  for (const auto& [name, amount] : right) account.at(name).reserved = amount;
}

using Pairs = std::set<std::pair<ExecutionId, std::uint64_t>>;

std::size_t agreed_on(const Pairs& right, const Pairs& counted) {
  return static_cast<std::size_t>(
      std::count_if(right.begin(), right.end(), [&](const auto& holder) { return counted.contains(holder); }));
}

// Leases that are not counted, so that more than allowed might run.
std::string missing_text(const Pairs& right, const Pairs& counted) {
  const std::size_t missing = right.size() - agreed_on(right, counted);
  return missing == 0 ? "" : ", and " + std::to_string(missing) + " that it does not count";
}

// The limit and the key, as people know it.
Result<std::string> name_of_pool(Store& store, const PoolRecord& pool) {
  FF_TRY(records, store.load({limits_key()}));
  const std::string key = pool.key.empty() ? "" : " for " + join(pool.key, ", ");
  if (records.empty()) return "a limit that was removed" + key;
  FF_TRY(limits, decode_limits(records.front().body));
  const LimitDefinition* limit = limits.find(pool.limit);
  if (limit == nullptr) return "a limit that was removed" + key;
  const std::string of = limit->info.name_space ? " of namespace \"" + *limit->info.name_space + "\"" : "";
  return "limit \"" + limit->info.name + "\"" + of + key;
}

}  // namespace

void SlotAudit::note(const Slot& slot) {
  if (const Execution* execution = slot.execution()) {
    for (const Key& pool : execution->facts.limits.slots) {
      taken_[pool].emplace(execution->id, execution->facts.limits.slots_epoch);
    }
    for (const Reservation& one : execution->facts.limits.reserved) {
      Reserved& reserved = reserved_[one.pool];
      for (const auto& [name, amount] : one.amounts) reserved.amounts[name] += amount;
      reserved.executions.insert(slot.key);
    }
  }
  if (const PoolRecord* pool = slot.pool()) {
    Holders& holders = counted_[slot.key];
    for (const SlotHolder& holder : pool->holders) holders.emplace(holder.execution_id, holder.lease_epoch);
    if (!pool->account) return;
    Amounts& accounted = accounted_[slot.key];
    for (const DimensionAccount& one : pool->account->dimensions) {
      if (one.reserved != 0) accounted[one.name] = one.reserved;
    }
  }
}

// Reservations of a budget that was taken away mean nothing, so a pool without an account always agrees.
bool SlotAudit::agrees(const Key& pool) const {
  const auto taken = taken_.find(pool);
  const auto counted = counted_.find(pool);
  const bool same_slots = taken == taken_.end() ? counted->second.empty() : taken->second == counted->second;
  const auto reserved = reserved_.find(pool);
  const auto accounted = accounted_.find(pool);
  if (!same_slots || accounted == accounted_.end()) return same_slots;
  return reserved == reserved_.end() ? accounted->second.empty() : reserved->second.amounts == accounted->second;
}

Result<std::vector<WrongSlots>> SlotAudit::disagreements(Store& store) const {
  std::vector<WrongSlots> wrong;
  std::set<Key> pools;
  for (const auto& [pool, holders] : taken_) pools.insert(pool);
  for (const auto& [pool, holders] : counted_) pools.insert(pool);
  for (const auto& [pool, reserved] : reserved_) pools.insert(pool);
  for (const Key& pool : pools) {
    const auto taken = taken_.find(pool);
    const auto counted = counted_.find(pool);
    // The pool of a limit that was removed: its slots mean nothing.
    if (counted == counted_.end()) continue;
    if (agrees(pool)) continue;
    std::set<Key> executions;
    if (const auto reserved = reserved_.find(pool); reserved != reserved_.end())
      executions = reserved->second.executions;
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
  // An execution that was not noted before would have changed the pool.
  if (again.agrees(pool)) return std::nullopt;
  const Holders& right = again.taken_[pool];
  const Holders counted = again.counted_[pool];
  WrongSlots wrong;
  FF_TRY(name, name_of_pool(store, *slot->pool()));
  wrong.problem = name + " counts " + std::to_string(counted.size()) + " slots as taken; executions have " +
                  std::to_string(agreed_on(right, counted)) + " of them" + missing_text(right, counted);
  if (right == counted) {
    wrong.problem = name + " counts " + amounts_text(again.accounted_[pool]) +
                    " as reserved; executions have reserved " + amounts_text(again.reserved_[pool].amounts);
  }
  set_holders(slot->pool()->holders, right);
  if (slot->pool()->account) set_reserved(*slot->pool()->account, again.reserved_[pool].amounts);
  slot->pool()->call_at = 1;  // there may be room now
  slot->changed = true;
  wrong.repair = std::move(workspace.plan().sets.front());
  return wrong;
}

}  // namespace flowfabric
