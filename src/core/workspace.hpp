// The records that one batch works on, as they are while it is being decided.
//
// The engine admits what it loaded; decisions change records in place, so a later command of the batch sees what an
// earlier one did; at the end the workspace turns the differences into change sets. A slot also exists for a key that
// was looked up and found absent, so that absence is known and can be guarded.
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

#include "core/records.hpp"

namespace flowfabric {

// Something that took time and has ended: the turn of a worker, from getting a lease to giving it up or losing it, or a
// whole life of the execution, from its creation to an end.
struct Stretch {
  EventType ended_by = EventType::created;
  TimestampMs from = 0;
  TimestampMs to = 0;
  std::uint32_t replay_count = 0;  // which life it is, or belongs to
  std::uint64_t lease_epoch = 0;   // of a turn
  std::optional<Attempt> attempt;  // that a turn belongs to, as the turn left it; absent: a life
  std::optional<Failure> failure;  // why it ended, when it failed
  std::string actor;               // who ended it
};

struct Slot {
  Key key;
  std::uint64_t version = 0;  // as loaded; 0: absent
  std::string last_entry;     // as loaded
  std::uint64_t place = 0;    // as loaded
  // An execution has its own room: it is several times as large as anything else, and every slot would be as large.
  std::variant<std::monostate, std::unique_ptr<Execution>, LaneRecord, NamespaceRecord, IdempotencyRecord,
               KeyringRecord, ApiKeysRecord, WorkerRecord>
      record;
  std::unique_ptr<Error> damage;  // the record exists, but cannot be decoded: it is neither there nor absent
  bool changed = false;
  bool erased = false;
  bool rearm_exactly = false;  // the clock has seen the due entry: replace it even by a later one

  std::vector<Event> events;
  std::vector<Satellite> satellites;
  std::vector<Stretch> stretches;  // when the context asks for them

  // What the indexes hold for this record now.
  std::optional<ReadyEntry> indexed_ready;
  std::optional<DueEntry> indexed_due;

  std::uint32_t set = 0;  // slots that must commit together share one
  static constexpr std::uint32_t unplanned = UINT32_MAX;
  std::uint32_t planned = unplanned;  // where that set stands in the plan, once there is one and this has changed

  const Execution* execution() const {
    const auto* held = std::get_if<std::unique_ptr<Execution>>(&record);
    return held == nullptr ? nullptr : held->get();
  }
  Execution* execution() { return const_cast<Execution*>(std::as_const(*this).execution()); }
  WorkerRecord* worker() { return std::get_if<WorkerRecord>(&record); }
};

// A loaded record, decoded. One that cannot be decoded is refused with `corruption`.
Result<std::unique_ptr<Slot>> decode_slot(const Record& record);

// Which due entry the record should have.
std::optional<DueEntry> wanted_due(const Slot& slot);

struct PlannedCommit {
  std::vector<ChangeSet> sets;   // see Slot::planned
  TimestampMs earliest_due = 0;  // among entries put; 0: none
};

class Workspace {
 public:
  // Takes a loaded record in; a key that is known already keeps what it has. A record that cannot be decoded is refused
  // with `corruption`.
  Result<Slot*> admit(const Record& record);
  Slot& admit(std::unique_ptr<Slot> slot);
  // Notes that these keys were looked up; those not admitted are absent.
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

  // Says that two slots commit together or not at all.
  void tie(Slot& a, Slot& b);

  // What has changed. Comes once, at the end: it takes along what the slots no longer need. Records that come into being
  // get `first_version`; it must differ from batch to batch (see RootChange).
  PlannedCommit plan(std::uint64_t first_version = 1);

 private:
  Slot& add(std::unique_ptr<Slot> slot);

  std::unordered_map<std::string_view, std::unique_ptr<Slot>> slots_;  // by the bytes of their own keys
  std::vector<Slot*> order_;  // in order of arrival, so that a run is reproducible
  bool has_damage_ = false;
};

}  // namespace flowfabric
