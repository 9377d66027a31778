// The records of one batch while it is being decided.
//
// The engine admits loaded records; decisions change records in place, so a later command of the batch sees the changes
// of an earlier one; at the end the workspace turns the differences into change sets. A slot also exists for a key that
// was looked up and not found, so that its absence is known and can be guarded.
//
// Pure data, no I/O; used by one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/dead_letters.hpp"
#include "core/hooks.hpp"
#include "core/limit_records.hpp"
#include "core/records.hpp"
#include "core/schedule_records.hpp"

namespace flowfabric {

// A finished period: the time of a worker with a lease, from getting it to releasing or losing it, or the time of an
// execution from its creation to an end.
struct Stretch {
  EventType ended_by = EventType::created;
  TimestampMs from = 0;
  TimestampMs to = 0;
  std::uint32_t replay_count = 0;  // the number of replays before it
  std::uint64_t lease_epoch = 0;   // of a lease
  std::optional<Attempt> attempt;  // the attempt of a lease period, as it was at the end; absent: a whole execution
  std::optional<Failure> failure;  // the failure, if it failed
  std::string actor;               // the actor that ended it
};

struct Slot {
  Key key;
  std::uint64_t version = 0;  // as loaded; 0: absent
  std::string last_entry;     // as loaded
  std::uint64_t place = 0;    // as loaded
  // Executions and flows are allocated separately: they are several times as large as the other types, and would make
  // every slot as large.
  std::variant<std::monostate, std::unique_ptr<Execution>, LaneRecord, NamespaceRecord, IdempotencyRecord,
               KeyringRecord, ApiKeysRecord, HooksRecord, WorkerRecord, std::unique_ptr<FlowRecord>, FlowNameRecord,
               std::unique_ptr<ScheduleRecord>, std::unique_ptr<ScheduleFlowRecord>, std::unique_ptr<PoolRecord>,
               std::unique_ptr<LimitsRecord>, std::unique_ptr<SubmitKeyRecord>, std::unique_ptr<RedriveRecord>,
               LetterRecord>
      record;
  std::unique_ptr<Error> damage;  // the record exists, but cannot be decoded: it is neither there nor absent
  bool changed = false;
  bool erased = false;
  bool rearm_exactly = false;  // the clock has seen the due entry: replace it, even by a later one
  bool placed_anew = false;    // it has just got its enqueue number; see Workspace::take_newcomers

  std::vector<Event> events;               // see log()
  std::vector<std::uint32_t> event_turns;  // of each: its place among the events of the workspace
  std::vector<Satellite> satellites;
  std::vector<Stretch> stretches;  // if the context asks for them

  TimestampMs loaded_transition_at = 0;  // of an execution: the last one before it was loaded
  // The current index entries of this record.
  std::optional<ReadyEntry> indexed_ready;
  std::optional<DueEntry> indexed_due;
  std::optional<std::uint8_t> counted_state;  // under which it is counted, if it is listed
  std::unique_ptr<Letter> letter;             // that it has, as loaded; of an execution that was failed
  std::string counted_failed_again;           // the counter of a redrive in which it is, as loaded; empty: none

  std::uint32_t turn = 0;                   // its position in the order of arrival
  std::vector<Slot*>* newcomers = nullptr;  // of its workspace: where those are noted that got their numbers
  std::uint32_t* events_counted = nullptr;  // of its workspace, if it is in one
  static constexpr std::uint32_t unplanned = UINT32_MAX;
  std::uint32_t planned = unplanned;  // the position of that set in the plan, if there is one and this slot has changed

  // Adds an event to the log. Events of one change set are stored in the order in which this was called, whatever records
  // they belong to: who counts leases by the log must see a slot come back before it is taken again.
  Event& log(Event event) {
    event_turns.push_back(events_counted == nullptr ? 0 : (*events_counted)++);
    return events.emplace_back(std::move(event));
  }

  const Execution* execution() const {
    const auto* held = std::get_if<std::unique_ptr<Execution>>(&record);
    return held == nullptr ? nullptr : held->get();
  }
  Execution* execution() { return const_cast<Execution*>(std::as_const(*this).execution()); }
  WorkerRecord* worker() { return std::get_if<WorkerRecord>(&record); }
  const FlowRecord* flow() const {
    const auto* held = std::get_if<std::unique_ptr<FlowRecord>>(&record);
    return held == nullptr ? nullptr : held->get();
  }
  FlowRecord* flow() { return const_cast<FlowRecord*>(std::as_const(*this).flow()); }
  const ScheduleRecord* schedule() const {
    const auto* held = std::get_if<std::unique_ptr<ScheduleRecord>>(&record);
    return held == nullptr ? nullptr : held->get();
  }
  ScheduleRecord* schedule() { return const_cast<ScheduleRecord*>(std::as_const(*this).schedule()); }
  const ScheduleFlowRecord* schedule_flow() const {
    const auto* held = std::get_if<std::unique_ptr<ScheduleFlowRecord>>(&record);
    return held == nullptr ? nullptr : held->get();
  }
  const PoolRecord* pool() const {
    const auto* held = std::get_if<std::unique_ptr<PoolRecord>>(&record);
    return held == nullptr ? nullptr : held->get();
  }
  PoolRecord* pool() { return const_cast<PoolRecord*>(std::as_const(*this).pool()); }
  const LimitsRecord* limits() const {
    const auto* held = std::get_if<std::unique_ptr<LimitsRecord>>(&record);
    return held == nullptr ? nullptr : held->get();
  }
  const RedriveRecord* redrive() const {
    const auto* held = std::get_if<std::unique_ptr<RedriveRecord>>(&record);
    return held == nullptr ? nullptr : held->get();
  }
  RedriveRecord* redrive() { return const_cast<RedriveRecord*>(std::as_const(*this).redrive()); }
  LimitsRecord* limits() { return const_cast<LimitsRecord*>(std::as_const(*this).limits()); }
  const SubmitKeyRecord* submit_key() const {
    const auto* held = std::get_if<std::unique_ptr<SubmitKeyRecord>>(&record);
    return held == nullptr ? nullptr : held->get();
  }
  SubmitKeyRecord* submit_key() { return const_cast<SubmitKeyRecord*>(std::as_const(*this).submit_key()); }
};

// Decodes a loaded record. An invalid record is refused with `corruption`.
Result<std::unique_ptr<Slot>> decode_slot(const Record& record);

// Which due entry the record should have.
std::optional<DueEntry> wanted_due(const Slot& slot);

struct PlannedCommit {
  std::vector<ChangeSet> sets;   // see Slot::planned
  TimestampMs earliest_due = 0;  // among entries put; 0: none
};

class Workspace {
 public:
  // Adds a loaded record; a known key keeps its slot. An invalid record is refused with `corruption`.
  Result<Slot*> admit(const Record& record);
  Slot& admit(std::unique_ptr<Slot> slot);
  // Notes that these keys were looked up; those that were not admitted are absent.
  void note_looked_up(const Key& key);
  // Notes that a record exists and cannot be decoded. Whoever needs it is refused with the error (core/decide.hpp).
  void note_damaged(const Record& record, const Error& error);
  bool has_damage() const { return has_damage_; }

  bool knows(const Key& key) const { return slots_.contains(key.bytes); }
  // The slot of a known key.
  Slot& at(const Key& key);
  Slot* find(const Key& key);
  const Slot* find(const Key& key) const { return const_cast<Workspace*>(this)->find(key); }
  // In order of arrival.
  const std::vector<Slot*>& slots() const { return order_; }

  // Executions that have got enqueue numbers since the last call, in that order.
  std::vector<Slot*> take_newcomers();

  // Makes two slots commit together or not at all.
  void tie(const Slot& a, const Slot& b);
  // What is decided for one slot rests on what another one holds. If the other one changes in this batch, before or after this
  // call, they commit together; if it does not, the commit checks that its record is still as it was read.
  void rest_on(const Slot& decided, const Slot& read) { rests_.emplace_back(decided.turn, read.turn); }

  // The changes. Called once, at the end: it moves data out of the slots. New records get `first_version`, which must
  // differ from batch to batch (see RootChange).
  PlannedCommit plan(std::uint64_t first_version = 1);

 private:
  Slot& add(std::unique_ptr<Slot> slot);
  // Slots that must commit together have the same: the earliest of them that is known to be.
  std::uint32_t set_of(const Slot& slot);
  void tie_to_changes();
  void plan_log(std::vector<ChangeSet>& sets) const;
  void add_checks(const std::vector<std::uint32_t>& set_index, std::vector<ChangeSet>& sets);

  std::unordered_map<std::string_view, std::unique_ptr<Slot>> slots_;  // by the bytes of their own keys
  std::vector<Slot*> order_;  // in order of arrival, so that a run is reproducible
  // A forest: of each slot an earlier one of the same set, or itself. One set may have tens of thousands of records, so
  // joining two sets must not visit their members.
  std::vector<std::uint32_t> joined_to_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rests_;  // see rest_on; by their turns
  std::uint32_t events_counted_ = 0;
  bool has_damage_ = false;
  std::unique_ptr<std::vector<Slot*>> newcomers_ = std::make_unique<std::vector<Slot*>>();
};

}  // namespace flowfabric
