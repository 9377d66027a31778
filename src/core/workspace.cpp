#include "core/workspace.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

Result<void> decode_into(Slot& slot, const Record& record) {
  switch (record.key.kind()) {
    case RecordKind::execution: {
      FF_TRY(execution, decode_execution(record));
      slot.indexed_ready = ready_entry(execution);
      slot.indexed_due = execution.facts.armed_due;
      slot.record = std::move(execution);
      return {};
    }
    case RecordKind::lane: {
      FF_TRY(lane, decode_lane(record.body));
      slot.record = std::move(lane);
      return {};
    }
    case RecordKind::name_space: {
      FF_TRY(name_space, decode_namespace(record.body));
      slot.record = std::move(name_space);
      return {};
    }
    case RecordKind::idempotency: {
      FF_TRY(idempotency, decode_idempotency(record.body));
      slot.indexed_due = idempotency.armed_due;
      slot.record = idempotency;
      return {};
    }
    case RecordKind::keyring: {
      FF_TRY(keyring, decode_keyring(record.body));
      slot.record = std::move(keyring);
      return {};
    }
  }
  return fail(Errc::corruption, "a stored key has an unknown kind");
}

// Which due entry the record should have. A later due time may keep an earlier entry while a lease is held: renewals are
// frequent and the clock re-arms when it meets the entry. Everything else moves the entry at once.
TimestampMs wanted_due(const Slot& slot) {
  if (const auto* idempotency = std::get_if<IdempotencyRecord>(&slot.record)) return idempotency->expires_at;
  const auto* execution = std::get_if<Execution>(&slot.record);
  if (execution == nullptr) return 0;
  const TimestampMs due = next_due(execution->facts);
  const bool lazy = execution->facts.lease.has_value() && !slot.rearm_exactly;
  if (lazy && slot.indexed_due != 0 && slot.indexed_due <= due) return slot.indexed_due;
  return due;
}

void set_armed_due(Slot& slot, TimestampMs due) {
  if (auto* execution = std::get_if<Execution>(&slot.record)) execution->facts.armed_due = due;
  if (auto* idempotency = std::get_if<IdempotencyRecord>(&slot.record)) idempotency->armed_due = due;
}

RootChange root_change(const Slot& slot) {
  RootChange change;
  change.key = slot.key;
  change.expected_version = slot.version;
  if (slot.erased) {
    change.action = RootChange::Action::erase;
    return change;
  }
  if (const auto* execution = std::get_if<Execution>(&slot.record)) {
    if (slot.version == 0) change.fixed = encode(execution->spec);
    change.body = encode(execution->facts);
    change.listing = listing_of(*execution);
  } else if (const auto* lane = std::get_if<LaneRecord>(&slot.record)) {
    change.body = encode(*lane);
  } else if (const auto* name_space = std::get_if<NamespaceRecord>(&slot.record)) {
    change.body = encode(*name_space);
  } else if (const auto* idempotency = std::get_if<IdempotencyRecord>(&slot.record)) {
    change.body = encode(*idempotency);
  } else if (const auto* keyring = std::get_if<KeyringRecord>(&slot.record)) {
    change.body = encode(*keyring);
  } else {
    FF_CHECK(false);
  }
  return change;
}

void plan_ready(const Slot& slot, ChangeSet& set, PlannedCommit& plan) {
  const auto* execution = std::get_if<Execution>(&slot.record);
  const std::optional<ReadyEntry> wanted =
      execution != nullptr && !slot.erased ? ready_entry(*execution) : std::nullopt;
  if (wanted == slot.indexed_ready) return;
  if (slot.indexed_ready) set.ready_drop.push_back(*slot.indexed_ready);
  if (wanted) {
    set.ready_put.push_back(*wanted);
    plan.became_ready.push_back(*wanted);
  }
}

void plan_due(Slot& slot, ChangeSet& set, PlannedCommit& plan) {
  const TimestampMs wanted = slot.erased ? 0 : wanted_due(slot);
  set_armed_due(slot, wanted);
  if (wanted == slot.indexed_due) return;
  if (slot.indexed_due != 0) set.due_drop.push_back({slot.indexed_due, slot.key});
  if (wanted != 0) {
    set.due_put.push_back({wanted, slot.key});
    if (plan.earliest_due == 0 || wanted < plan.earliest_due) plan.earliest_due = wanted;
  }
}

void plan_log(const Slot& slot, ChangeSet& set, PlannedCommit& plan) {
  if (slot.erased) return;
  for (const Event& event : slot.events) {
    set.log.push_back(
        {slot.key, static_cast<std::uint8_t>(event.type), event.at, event.name_space, event.lane, encode(event)});
    plan.has_log = true;
  }
}

}  // namespace

Result<Slot*> Workspace::admit(const Record& record) {
  if (Slot* known = find(record.key); known != nullptr) return known;
  auto slot = std::make_unique<Slot>();
  slot->key = record.key;
  slot->version = record.version;
  FF_TRY_VOID(decode_into(*slot, record));
  slot->set = static_cast<std::uint32_t>(order_.size());
  Slot* raw = slot.get();
  slots_.emplace(record.key.bytes, std::move(slot));
  order_.push_back(raw);
  return raw;
}

void Workspace::note_looked_up(const Key& key) {
  if (knows(key)) return;
  auto slot = std::make_unique<Slot>();
  slot->key = key;
  slot->set = static_cast<std::uint32_t>(order_.size());
  order_.push_back(slot.get());
  slots_.emplace(key.bytes, std::move(slot));
}

Slot* Workspace::find(const Key& key) {
  const auto found = slots_.find(key.bytes);
  return found == slots_.end() ? nullptr : found->second.get();
}

Slot& Workspace::at(const Key& key) {
  Slot* slot = find(key);
  FF_CHECK(slot != nullptr);
  return *slot;
}

void Workspace::tie(Slot& a, Slot& b) {
  const std::uint32_t from = b.set;
  const std::uint32_t to = a.set;
  if (from == to) return;
  for (Slot* slot : order_) {
    if (slot->set == from) slot->set = to;
  }
}

PlannedCommit Workspace::plan(std::uint64_t first_version) {
  PlannedCommit plan;
  std::unordered_map<std::uint32_t, std::size_t> set_index;
  for (Slot* slot : order_) {
    if (!slot->changed) continue;
    if (slot->erased && slot->version == 0) continue;  // made and removed within the batch
    const auto [where, is_new] = set_index.try_emplace(slot->set, plan.sets.size());
    if (is_new) plan.sets.emplace_back();
    ChangeSet& set = plan.sets[where->second];
    plan_ready(*slot, set, plan);
    plan_due(*slot, set, plan);
    set.roots.push_back(root_change(*slot));
    set.roots.back().first_version = first_version;
    plan_log(*slot, set, plan);
    if (!slot->erased) {
      for (auto& satellite : slot->satellites) set.satellites.push_back(std::move(satellite));
    }
    plan.set_of_key[slot->key.bytes] = where->second;
  }
  return plan;
}

}  // namespace flowfabric
