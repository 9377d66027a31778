// The invariants, checked against the database itself.
//
// The watcher examines every commit right after it happened, through its own store handle without faults: it decodes
// the changed records, compares them with their previous versions, and follows each execution by its events. It keeps a
// copy of everything, so that any loss or unexpected change is noticed.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/schedule_records.hpp"
#include "simulation/life.hpp"
#include "simulation/random.hpp"
#include "simulation/worker_life.hpp"
#include "support/stores.hpp"

namespace flowfabric::simulation {

struct SeenSignal {
  Signal signal;
  std::uint32_t waitpoint_number = 0;  // 0: it was for the next waitpoint of that name, or is not known
};

// The waits and signals of an execution, over all its lives.
struct WaitBook {
  std::map<std::uint64_t, SeenSignal> seen{};  // by number
  std::set<std::string> keyed{};               // payloads of those that were sent with a key
  std::uint32_t last_ended = 0;
  std::size_t ended = 0;  // waits that have ended, by their events
};

struct Shadow {
  Execution execution;
  Life life;
  std::string position;  // of its newest event
  int incarnation = 1;   // an id may be used again after retention has removed it
  bool removed = false;
  TimestampMs latest_at_creation = 0;  // the latest time that the store's clock had shown when it was committed
  std::string stored_spec{};           // as stored: in memory edges that were added later are part of it
  WaitBook waits{};
};

struct WorkerShadow {
  WorkerRecord record;
  WorkerLife life;  // kept when the record was removed: a dead worker may register again
  std::string position;
  bool removed = false;
};

// So many throttle keys are in use, each with a count and a period of its own.
inline constexpr std::uint32_t throttle_keys = 3;
Throttle throttle_of(std::uint32_t number, OnThrottle on_limit);

struct WatcherOptions {
  std::int64_t default_retention_ms = 0;
  bool release_on_worker_death = true;
  // Later commits have later positions. On PostgreSQL, where commits overlap, that holds only for what readers have seen.
  bool log_grows_at_its_end = true;
};

// A schedule according to its record and its events.
struct ScheduleShadow {
  ScheduleRecord record;
  std::string position;  // of its newest event
  std::set<ExecutionId> fired;
  std::set<FlowId> fired_flows;
  bool removed = false;
};

// A flow according to its record and its events.
struct FlowShadow {
  FlowRecord record;
  std::string position;
  int ends = 0;  // terminal events since it was submitted or reopened
  bool removed = false;
};

class Watcher {
 public:
  Watcher(test::TestDatabase& database, WatcherOptions options);

  // `latest_ms` is the latest time of the store's clock so far.
  std::uint64_t committed(const std::vector<ChangeSet>& sets, const std::vector<Verdict>& verdicts,
                          TimestampMs latest_ms);
  std::uint64_t commits() const { return commit_; }

  // Between steps, when no batch is in progress.
  void check_indexes();
  // Checks that need not run after every step.
  void check_everything();
  // A subscriber that reads the log in pages, at random times.
  void read_as_subscriber(Random& random, bool to_the_end);

  // The fleet as shown to clients must match the events. `store` has the clock that returns `now`.
  void check_fleet(Store& store, TimestampMs now);
  // Everything due for workers and grants has been processed.
  void check_fleet_is_settled(TimestampMs now) const;

  Shadow* find(const ExecutionId& id);
  const WorkerShadow* find_worker(const std::string& name_space, const std::string& instance) const;
  const std::map<Key, WorkerShadow>& workers() const { return workers_; }
  // A caller may remove it if it ended before that time, regardless of its retention.
  void permit_removal(const ExecutionId& id, TimestampMs finished_before);
  // How often the signing keys were rotated, and whether the key of this handle or grant key is still accepted.
  int rotations() const { return rotations_; }
  bool key_is_good(const std::string& token, TimestampMs now) const;

  std::map<Key, Shadow>& shadows() { return shadows_; }
  const std::map<Key, FlowShadow>& flows() const { return flows_; }
  const std::map<Key, ScheduleShadow>& schedules() const { return schedules_; }
  const LimitsRecord& limits() const { return limits_; }
  const std::map<Key, PoolRecord>& pools() const { return pools_; }
  // When nothing is left to do now.
  void check_pools(TimestampMs now);
  // No worker insists on counting more.
  void hard_limits_hold(bool hold) { hard_limits_hold_ = hold; }
  void check_list_of_waits();
  void check_keys(TimestampMs now) const;
  const std::map<Key, SubmitKeyRecord>& submit_keys() const { return submit_keys_; }
  std::string payload_of(const ExecutionId& id);
  // Of flows whose members have all ended and are resolved: what they have counted is so.
  void check_flows() const;
  Store& store() { return *store_; }
  const std::map<Uuid, RedriveRecord>& redrives() const { return redrives_; }
  // Everything that is failed now has to be replayed by it.
  void redrive_was_asked_for(const Uuid& id);
  // The result bytes of this attempt.
  std::string result_of(const ExecutionId& id, std::uint32_t attempt_index);

 private:
  void observe(const RootChange& change, TimestampMs latest_ms);
  void check_version(const RootChange& change);
  std::vector<Event> new_events(const Key& key, std::string& position);
  void changed(const Key& key, TimestampMs latest_ms);
  void check_quiet_change(const Facts& before, const Facts& after);
  void check_holder_was_in_time(const Facts& before, const std::vector<Event>& events);
  void check_loss(const Shadow& shadow, const Event& event);
  void note_lease(Shadow& shadow);
  // watcher_waits.cpp
  void check_waits(Shadow& shadow, const Facts& before, const std::vector<Event>& events);
  void check_waitpoints(const std::string& id, const WaitFacts& was, const WaitFacts& is) const;
  std::vector<Signal> check_outcome(Shadow& shadow, const WaitFacts& was, const std::vector<Event>& events);
  void check_cause(const Shadow& shadow, const Wait& wait, const WaitOutcome& outcome, const Event& event);
  void note_signal(Shadow& shadow, const Signal& signal, std::uint32_t waitpoint_number);
  void check_signals(Shadow& shadow, const WaitFacts& was, const std::vector<Signal>& used,
                     const std::vector<Event>& events);
  void removed(const Key& key, TimestampMs latest_ms);
  void forget_log(const Key& key);
  void schedule_changed(const Key& key);
  void schedule_removed(const Key& key);
  void check_firings(const ScheduleShadow& shadow, const ScheduleRecord& now, const std::vector<Event>& events);
  // watcher_limits.cpp
  struct StartsOf {
    std::uint64_t revision = 0;  // of the definition under which they were counted
    std::vector<TimestampMs> at;
  };
  void limits_changed();
  void redrive_changed(const Key& key, bool erased);
  void check_ended_redrives();
  void check_left_out(const RedriveRecord& now);
  void check_redriven(const Key& key, const Shadow& shadow, const Facts& before);
  void pool_changed(const Key& key, bool erased);
  void note_start_under_limits(const Key& key, const Shadow& shadow);
  void check_limits();
  void check_places();
  void check_place(const Key& key);
  void check_rate(const LimitInfo& limit, const StartsOf& starts) const;
  void check_held() const;
  void check_account(const PoolRecord& pool) const;
  void check_reservations() const;
  std::size_t check_due_entries_of_limits(const std::map<Key, DueEntry>& due);
  void check_fired_flow(ScheduleShadow& shadow, const FlowId& flow);
  // watcher_keys.cpp
  void submit_key_changed(const Key& key, bool erased);
  void note_key(const Key& key, const Shadow& shadow, bool is_new);
  void check_throttle(const std::string& name, const std::string& key, const std::vector<TimestampMs>& created) const;
  void check_unique();
  std::size_t check_due_entries_of_keys(const std::map<Key, DueEntry>& due);
  void flow_changed(const Key& key);
  void flow_removed(const Key& key);
  void check_removed_flows();
  void check_start(const Shadow& shadow, const std::vector<Event>& events) const;
  void check_flow(const FlowShadow& shadow) const;
  void check_names(const FlowRecord& flow) const;
  void check_groups_of(const Shadow& shadow) const;
  void check_parts_of(const Shadow& shadow) const;
  const Shadow* member(const FlowId& flow, std::uint32_t ordinal) const;
  void worker_changed(const Key& key);
  void check_worker_change(const WorkerShadow& shadow, const WorkerRecord& after, const std::vector<Event>& events);
  void check_gave_leases_back(const WorkerInfo& info) const;
  void worker_removed(const Key& key, TimestampMs latest_ms);
  bool is_of_the_dead(const Shadow& shadow) const;
  void keys_changed(const Key& key);
  void check_workers(Store& store, TimestampMs now);
  void check_expired_leases(Store& store, TimestampMs now);
  void check_groups();
  void check_ready_index();
  void check_due_index();
  std::size_t check_due_entry(const std::map<Key, DueEntry>& due, const DueEntry& wanted, TimestampMs next);
  void check_listings();
  void check_attempts(const Shadow& shadow);
  void check_page(const std::string& from, const std::string& next, const std::vector<std::string>& seen);

  std::unique_ptr<Store> store_;
  std::unique_ptr<Session> session_;
  WatcherOptions options_;
  std::uint64_t commit_ = 0;
  std::map<Key, std::uint64_t> versions_;
  std::map<Key, std::uint64_t> retired_;  // the last version of an erased record
  std::map<Key, Shadow> shadows_;
  std::map<Key, WorkerShadow> workers_;
  std::map<Key, FlowShadow> flows_;
  std::map<Key, ScheduleShadow> schedules_;
  LimitsRecord limits_;
  bool limits_are_new_ = false;  // the commit at hand has changed them
  // The first limits of a store do not count what was being claimed when they were made.
  bool limits_count_ = false;
  std::map<Key, PoolRecord> pools_;
  bool hard_limits_hold_ = true;
  // Of each execution that was leased: under which limits and keys its last lease counts, and its epoch.
  using Counted = std::pair<std::uint64_t, std::string>;
  std::map<Key, std::vector<std::pair<Counted, std::uint64_t>>> counted_;
  std::map<Counted, StartsOf> starts_;
  std::set<Counted> new_starts_;  // of the commit at hand
  // Executions that were created under a share, at the places that they got then.
  struct Place {
    Key pool;
    std::int32_t priority = 0;
    std::uint64_t number = 0;
    std::uint64_t commit = 0;
  };
  std::map<Key, Place> places_;
  std::vector<Key> created_;              // by the commit at hand
  TimestampMs limits_changed_by_ms_ = 0;  // what was read later has been decided by the limits as they are
  std::map<Key, SubmitKeyRecord> submit_keys_;
  std::map<std::string, std::set<Key>> live_unique_;  // executions that have not ended, by namespace and unique key
  std::set<std::string> changed_unique_;              // by the commit at hand
  std::map<std::string, std::vector<TimestampMs>> let_in_;  // creations, by namespace and throttle key
  std::vector<Key> just_removed_;                           // flows, by the commit at hand
  KeyringRecord keyring_;
  int rotations_ = 0;
  std::map<Key, TimestampMs> removable_;  // see permit_removal
  std::map<Key, IdempotencyRecord> idempotency_;
  std::map<Key, std::string> other_positions_;  // newest events of lanes and namespaces
  std::map<std::string, Key> log_;              // the content of the log, by position
  std::string newest_position_;
  std::map<std::string, std::vector<RetentionPolicy>> retentions_;  // every earlier default of a namespace
  std::string cursor_;                                              // of the subscriber
  std::map<Uuid, RedriveRecord> redrives_;
  std::vector<Uuid> just_ended_redrives_;                               // by the commit at hand
  std::map<Uuid, std::map<Key, std::pair<int, std::uint32_t>>> asked_;  // incarnation and replays of what had failed
  std::set<std::tuple<Key, int, Uuid>> redriven_;
};

}  // namespace flowfabric::simulation
