#include "core/workspace.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "core/counts.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

// What becomes of the letter of an execution.
struct PlannedLetter {
  const Letter* before = nullptr;  // is erased
  std::optional<Letter> now{};     // is written
};

// The due entry that was written with a record.
std::optional<DueEntry> armed_entry(const Key& key, TimestampMs armed_due, const Grouping& grouping = {}) {
  if (armed_due == 0) return std::nullopt;
  return DueEntry{armed_due, key, grouping.group, grouping.rank};
}

// For records whose entries follow from their own fields.
template <class T>
Result<void> keep(Slot& slot, Result<T> decoded) {
  if (!decoded) return Unexpected(std::move(decoded).error());
  if constexpr (requires { decoded->armed_due; }) slot.indexed_due = armed_entry(slot.key, decoded->armed_due);
  if constexpr (requires { slot.record = std::make_unique<T>(); }) {
    slot.record = std::make_unique<T>(std::move(*decoded));
  } else {
    slot.record = std::move(*decoded);
  }
  return {};
}

Result<void> decode_into(Slot& slot, const Record& record) {
  if (record.key.bytes.size() < 3) return fail(Errc::corruption, "a stored key is too short");
  switch (record.key.kind()) {
    case RecordKind::execution: {
      slot.record = std::make_unique<Execution>();
      Execution& execution = *slot.execution();
      FF_TRY_VOID(decode_execution_into(execution, record));
      slot.indexed_ready = ready_entry(execution);
      slot.loaded_transition_at = execution.facts.last_transition_at;
      slot.indexed_due = armed_entry(record.key, execution.facts.armed_due, grouping(execution));
      if (auto letter = letter_of(execution)) slot.letter = std::make_unique<Letter>(std::move(*letter));
      slot.counted_failed_again = failed_again_counter_of(execution);
      return {};
    }
    case RecordKind::dead_letter: {
      FF_TRY(letter, decode_letter(record));
      slot.indexed_due = due_entry_of(record.key, letter);
      slot.record = std::move(letter);
      return {};
    }
    case RecordKind::redrive: {
      FF_TRY(redrive, decode_redrive(record));
      slot.indexed_due = armed_entry(record.key, redrive.armed_due);
      slot.record = std::make_unique<RedriveRecord>(std::move(redrive));
      return {};
    }
    case RecordKind::flow: {
      FF_TRY(flow, decode_flow(record));
      slot.indexed_due = armed_entry(record.key, flow.facts.armed_due);
      slot.record = std::make_unique<FlowRecord>(std::move(flow));
      return {};
    }
    case RecordKind::flow_name: return keep(slot, decode_flow_name(record.body));
    case RecordKind::lane: return keep(slot, decode_lane(record.body));
    case RecordKind::name_space: return keep(slot, decode_namespace(record.body));
    case RecordKind::idempotency: return keep(slot, decode_idempotency(record.body));
    case RecordKind::keyring: return keep(slot, decode_keyring(record.body));
    case RecordKind::hooks: return keep(slot, decode_hooks(record.body));
    case RecordKind::api_keys: return keep(slot, decode_api_keys(record.body));
    case RecordKind::worker: return keep(slot, decode_worker(record.body));
    case RecordKind::schedule: return keep(slot, decode_schedule(record));
    case RecordKind::schedule_flow: return keep(slot, decode_schedule_flow(record));
    case RecordKind::submit_key: return keep(slot, decode_submit_key(record));
    case RecordKind::limit_pool: {
      FF_TRY(pool, decode_pool(record));
      slot.indexed_due = armed_entry(record.key, pool.armed_due, grouping(pool));
      slot.record = std::make_unique<PoolRecord>(std::move(pool));
      return {};
    }
    case RecordKind::limits: {
      FF_TRY(limits, decode_limits(record.body));
      slot.indexed_due = armed_entry(record.key, limits.armed_due);
      slot.record = std::make_unique<LimitsRecord>(std::move(limits));
      return {};
    }
  }
  return fail(Errc::corruption, "a stored key has an unknown kind");
}

// Renewals and heartbeats are frequent and move a due time later. They leave the entry where it is, unless it is before
// `earliest`; the clock moves it when it processes the entry. All other changes move it at once.
TimestampMs lazily(const Slot& slot, TimestampMs due, TimestampMs earliest) {
  if (slot.rearm_exactly || !slot.indexed_due) return due;
  const TimestampMs indexed = slot.indexed_due->due_at;
  return indexed >= earliest && indexed <= due ? indexed : due;
}

// A heartbeat in time moves the entry itself, so that the clock never processes it.
TimestampMs due_of_worker(const Slot& slot, const WorkerRecord& worker) {
  const TimestampMs due = next_due(worker);
  const bool lives = worker.info.state == WorkerState::live && worker.release_until == 0;
  return lives ? lazily(slot, due, worker.info.last_heartbeat_at + worker.info.liveness_ttl_ms / 2) : due;
}

void set_armed_due(Slot& slot, TimestampMs due) {
  if (Execution* execution = slot.execution()) execution->facts.armed_due = due;
  if (auto* idempotency = std::get_if<IdempotencyRecord>(&slot.record)) idempotency->armed_due = due;
  if (auto* worker = std::get_if<WorkerRecord>(&slot.record)) worker->armed_due = due;
  if (FlowRecord* flow = slot.flow()) flow->facts.armed_due = due;
  if (ScheduleRecord* schedule = slot.schedule()) schedule->armed_due = due;
  if (PoolRecord* pool = slot.pool()) pool->armed_due = due;
  if (RedriveRecord* redrive = slot.redrive()) redrive->armed_due = due;
  if (LimitsRecord* limits = slot.limits()) limits->armed_due = due;
  if (SubmitKeyRecord* submit_key = slot.submit_key()) submit_key->armed_due = due;
}

void plan_root(const Slot& slot, std::uint64_t first_version, RootChange& change) {
  change.key = slot.key;
  change.first_version = first_version;
  change.expected_version = slot.version;
  change.last_entry = slot.last_entry;
  change.place = slot.place;
  if (slot.erased) {
    change.action = RootChange::Action::erase;
    return;
  }
  if (const Execution* execution = slot.execution()) {
    if (slot.version == 0) change.fixed = encode(execution->spec);
    change.body = encode(execution->facts);
    change.listing = listing_of(*execution);
  } else if (const FlowRecord* flow = slot.flow()) {
    if (slot.version == 0) change.fixed = encode(flow->spec);
    change.body = encode(flow->facts);
    change.listing = listing_of(*flow);
  } else if (const auto* name = std::get_if<FlowNameRecord>(&slot.record)) {
    change.body = encode(*name);
  } else if (const auto* lane = std::get_if<LaneRecord>(&slot.record)) {
    change.body = encode(*lane);
  } else if (const auto* name_space = std::get_if<NamespaceRecord>(&slot.record)) {
    change.body = encode(*name_space);
  } else if (const auto* idempotency = std::get_if<IdempotencyRecord>(&slot.record)) {
    change.body = encode(*idempotency);
  } else if (const auto* keyring = std::get_if<KeyringRecord>(&slot.record)) {
    change.body = encode(*keyring);
  } else if (const auto* api_keys = std::get_if<ApiKeysRecord>(&slot.record)) {
    change.body = encode(*api_keys);
  } else if (const auto* hooks = std::get_if<HooksRecord>(&slot.record)) {
    change.body = encode(*hooks);
  } else if (const auto* worker = std::get_if<WorkerRecord>(&slot.record)) {
    change.body = encode(*worker);
  } else if (const ScheduleRecord* schedule = slot.schedule()) {
    if (slot.version == 0) change.fixed = encode_fixed(*schedule);
    change.body = encode(*schedule);
    change.listing = listing_of(*schedule);
  } else if (const ScheduleFlowRecord* scheduled = slot.schedule_flow()) {
    change.body = encode(*scheduled);
  } else if (const RedriveRecord* redrive = slot.redrive()) {
    if (slot.version == 0) change.fixed = encode_fixed(*redrive);
    change.body = encode(*redrive);
    change.listing = listing_of(*redrive);
  } else if (const PoolRecord* pool = slot.pool()) {
    if (slot.version == 0) change.fixed = encode_fixed(*pool);
    change.body = encode(*pool);
  } else if (const LimitsRecord* limits = slot.limits()) {
    change.body = encode(*limits);
  } else if (const SubmitKeyRecord* submit_key = slot.submit_key()) {
    if (slot.version == 0) change.fixed = encode_fixed(*submit_key);
    change.body = encode(*submit_key);
  } else {
    FF_CHECK(false);
  }
}

void plan_ready(Slot& slot, ChangeSet& set) {
  const Execution* execution = slot.execution();
  std::optional<ReadyEntry> wanted = execution != nullptr && !slot.erased ? ready_entry(*execution) : std::nullopt;
  if (wanted == slot.indexed_ready) return;
  if (slot.indexed_ready) set.ready_drop.push_back(std::move(*slot.indexed_ready));
  if (!wanted) return;
  set.routes.push_back(route_of(execution->spec));
  set.ready_put.push_back(std::move(*wanted));
}

void plan_due(Slot& slot, ChangeSet& set, PlannedCommit& plan) {
  std::optional<DueEntry> wanted = wanted_due(slot);
  set_armed_due(slot, wanted ? wanted->due_at : 0);
  if (wanted == slot.indexed_due) return;
  if (slot.indexed_due) set.due_drop.push_back(std::move(*slot.indexed_due));
  if (wanted) {
    if (plan.earliest_due == 0 || wanted->due_at < plan.earliest_due) plan.earliest_due = wanted->due_at;
    set.due_put.push_back(std::move(*wanted));
  }
}

// The letter of a failed execution is written and erased with it. It is never rewritten, so its version is known.
void plan_letter(Slot& slot, std::uint64_t first_version, ChangeSet& set, PlannedLetter& planned) {
  Execution* execution = slot.execution();
  if (execution == nullptr) return;
  std::optional<Letter> wanted;
  if (!slot.erased) wanted = letter_of(*execution);
  std::uint64_t& version = execution->facts.letter.version;
  const bool stays = wanted && slot.letter && wanted->key == slot.letter->key && wanted->record == slot.letter->record;
  version = !wanted ? 0 : stays ? slot.letter->version : first_version;
  if (!stays) planned = {slot.letter.get(), std::move(wanted)};
  const std::string counter = slot.erased ? std::string() : failed_again_counter_of(*execution);
  if (counter == slot.counted_failed_again) return;
  if (!slot.counted_failed_again.empty()) set.counters.push_back({slot.counted_failed_again, -1});
  if (!counter.empty()) set.counters.push_back({counter, 1});
}

// Every listed record is counted once, under these columns of its listing.
struct ListedAs {
  std::string_view name_space;
  std::string_view lane;
  std::uint8_t state = 0;
};

// Of a record of a kind that is listed (see plan_root).
std::optional<ListedAs> listed_as(const Slot& slot) {
  if (const Execution* execution = slot.execution()) {
    const auto state = static_cast<std::uint8_t>(public_state(execution->facts));
    return ListedAs{execution->spec.name_space, execution->spec.lane, state};
  }
  if (const FlowRecord* flow = slot.flow()) {
    return ListedAs{flow->spec.name_space, {}, static_cast<std::uint8_t>(flow->facts.state)};
  }
  if (const RedriveRecord* redrive = slot.redrive()) {
    return ListedAs{redrive->name_space, {}, static_cast<std::uint8_t>(redrive->state)};
  }
  if (const ScheduleRecord* schedule = slot.schedule()) {
    return ListedAs{schedule->name_space, {}, static_cast<std::uint8_t>(schedule->state)};
  }
  return std::nullopt;
}

// Namespace and lane never change.
void plan_counts(const Slot& slot, ChangeSet& set) {
  const auto listed = listed_as(slot);
  if (!listed) return;
  std::optional<std::uint8_t> state;
  if (!slot.erased) state = listed->state;
  if (state == slot.counted_state) return;
  const auto add = [&](std::uint8_t counted, std::int64_t delta) {
    set.counters.push_back({counter_name(slot.key.kind(), listed->name_space, listed->lane, counted), delta});
  };
  if (slot.counted_state) add(*slot.counted_state, -1);
  if (state) add(*state, 1);
}

std::unique_ptr<Slot> make_slot(const Key& key) {
  auto slot = std::make_unique<Slot>();
  slot->key = key;
  return slot;
}

}  // namespace

std::optional<DueEntry> wanted_due(const Slot& slot) {
  if (slot.erased) return std::nullopt;
  if (const auto* idempotency = std::get_if<IdempotencyRecord>(&slot.record)) {
    return DueEntry{idempotency->expires_at, slot.key};
  }
  if (const auto* worker = std::get_if<WorkerRecord>(&slot.record)) {
    return DueEntry{due_of_worker(slot, *worker), slot.key};
  }
  if (const FlowRecord* flow = slot.flow()) {
    const TimestampMs due = next_due(flow->facts);
    if (due == 0) return std::nullopt;
    return DueEntry{due, slot.key};
  }
  if (const ScheduleRecord* schedule = slot.schedule()) {
    const TimestampMs due = next_due(*schedule);
    if (due == 0) return std::nullopt;
    return DueEntry{due, slot.key};
  }
  if (const RedriveRecord* redrive = slot.redrive()) {
    const TimestampMs due = next_due(*redrive);
    if (due == 0) return std::nullopt;
    return DueEntry{due, slot.key};
  }
  if (const auto* letter = std::get_if<LetterRecord>(&slot.record)) return due_entry_of(slot.key, *letter);
  if (const PoolRecord* pool = slot.pool()) {
    const Grouping grouped = grouping(*pool);
    return DueEntry{next_due(*pool), slot.key, grouped.group, grouped.rank};
  }
  if (const LimitsRecord* limits = slot.limits()) {
    const TimestampMs due = next_due(*limits);
    if (due == 0) return std::nullopt;
    return DueEntry{due, slot.key};
  }
  if (const SubmitKeyRecord* submit_key = slot.submit_key()) {
    if (submit_key->expires_at == 0) return std::nullopt;
    return DueEntry{submit_key->expires_at, slot.key};
  }
  const Execution* execution = slot.execution();
  if (execution == nullptr) return std::nullopt;
  const Grouping grouped = grouping(*execution);
  TimestampMs due = next_due(execution->facts);
  // A new lease moves the entry to another group anyway, so it gets its exact time at once.
  const bool same_lease =
      slot.indexed_due && slot.indexed_due->group == grouped.group && slot.indexed_due->rank == grouped.rank;
  if (execution->facts.lease && same_lease) due = lazily(slot, due, 0);
  if (due == 0 && grouped.group != 0) due = never_due;
  if (due == 0) return std::nullopt;
  return DueEntry{due, slot.key, grouped.group, grouped.rank};
}

Result<std::unique_ptr<Slot>> decode_slot(const Record& record) {
  auto slot = make_slot(record.key);
  slot->version = record.version;
  slot->last_entry = record.last_entry;
  slot->place = record.place;
  FF_TRY_VOID(decode_into(*slot, record));
  if (const auto listed = listed_as(*slot)) slot->counted_state = listed->state;
  return slot;
}

Result<Slot*> Workspace::admit(const Record& record) {
  if (Slot* known = find(record.key); known != nullptr) return known;
  FF_TRY(slot, decode_slot(record));
  return &add(std::move(slot));
}

Slot& Workspace::admit(std::unique_ptr<Slot> slot) {
  Slot* known = find(slot->key);
  return known != nullptr ? *known : add(std::move(slot));
}

void Workspace::note_looked_up(const Key& key) {
  if (!knows(key)) add(make_slot(key));
}

void Workspace::note_damaged(const Record& record, const Error& error) {
  if (knows(record.key)) return;
  auto slot = make_slot(record.key);
  slot->version = record.version;
  slot->damage = std::make_unique<Error>(error);
  slot->damage->message = name_of_record(record.key) + " is damaged: " + error.message;
  add(std::move(slot));
  has_damage_ = true;
}

Slot& Workspace::add(std::unique_ptr<Slot> slot) {
  Slot& added = *slot;
  added.turn = static_cast<std::uint32_t>(order_.size());
  added.newcomers = newcomers_.get();
  added.events_counted = &events_counted_;
  order_.push_back(&added);
  joined_to_.push_back(added.turn);
  slots_.emplace(added.key.bytes, std::move(slot));
  return added;
}

std::vector<Slot*> Workspace::take_newcomers() {
  std::vector<Slot*> taken;
  taken.swap(*newcomers_);
  for (Slot* slot : taken) slot->placed_anew = false;
  return taken;
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

// Shortens the way for the next call.
std::uint32_t Workspace::set_of(const Slot& slot) {
  std::uint32_t turn = slot.turn;
  while (joined_to_[turn] != turn) {
    joined_to_[turn] = joined_to_[joined_to_[turn]];
    turn = joined_to_[turn];
  }
  return turn;
}

void Workspace::tie(const Slot& a, const Slot& b) {
  const auto [first, second] = std::minmax({set_of(a), set_of(b)});
  joined_to_[second] = first;
}

void Workspace::tie_to_changes() {
  for (const auto& [decided, read] : rests_) {
    if (order_[read]->changed) tie(*order_[decided], *order_[read]);
  }
}

// A set checks a record once, however many of its decisions rest on it.
void Workspace::add_checks(const std::vector<std::uint32_t>& set_index, std::vector<ChangeSet>& sets) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> checks;  // index of the set, turn of the slot
  for (const auto& [decided, read] : rests_) {
    const std::uint32_t index = set_index[set_of(*order_[decided])];
    if (index != Slot::unplanned && !order_[read]->changed) checks.emplace_back(index, read);
  }
  std::sort(checks.begin(), checks.end());
  checks.erase(std::unique(checks.begin(), checks.end()), checks.end());
  for (const auto& [index, turn] : checks) {
    RootChange& check = sets[index].roots.emplace_back();
    check.key = order_[turn]->key;
    check.expected_version = order_[turn]->version;
    check.action = RootChange::Action::check;
  }
}

PlannedCommit Workspace::plan(std::uint64_t first_version) {
  tie_to_changes();
  PlannedCommit plan;
  std::vector<std::uint32_t> set_index(order_.size(), Slot::unplanned);  // of each set_of
  plan.sets.reserve(order_.size());
  for (Slot* slot : order_) {
    if (!slot->changed) continue;
    if (slot->erased && slot->version == 0) continue;  // created and removed within the batch
    std::uint32_t& index = set_index[set_of(*slot)];
    if (index == Slot::unplanned) {
      index = static_cast<std::uint32_t>(plan.sets.size());
      plan.sets.emplace_back();
    }
    slot->planned = index;
    ChangeSet& set = plan.sets[index];
    plan_ready(*slot, set);
    plan_due(*slot, set, plan);
    PlannedLetter letter;
    plan_letter(*slot, first_version, set, letter);
    plan_root(*slot, first_version, set.roots.emplace_back());
    if (letter.before != nullptr) erase_letter(*letter.before, set);
    if (letter.now) {
      letter.now->version = first_version;
      put_letter(*letter.now, set);
    }
    plan_counts(*slot, set);
    if (!slot->erased) {
      for (auto& satellite : slot->satellites) set.satellites.push_back(std::move(satellite));
    }
  }
  plan_log(plan.sets);
  add_checks(set_index, plan.sets);
  return plan;
}

void Workspace::plan_log(std::vector<ChangeSet>& sets) const {
  struct Logged {
    std::uint32_t turn;
    const Slot* slot;
    const Event* event;
  };
  std::vector<Logged> all;
  all.reserve(events_counted_);
  for (const Slot* slot : order_) {
    if (slot->planned == Slot::unplanned || slot->erased) continue;
    for (std::size_t i = 0; i < slot->events.size(); ++i) {
      all.push_back({slot->event_turns[i], slot, &slot->events[i]});
    }
  }
  std::sort(all.begin(), all.end(), [](const Logged& a, const Logged& b) { return a.turn < b.turn; });
  for (const auto& [turn, slot, event] : all) {
    sets[slot->planned].log.push_back(
        {slot->key, static_cast<std::uint8_t>(event->type), event->at, event->name_space, event->lane, encode(*event)});
  }
}

}  // namespace flowfabric
