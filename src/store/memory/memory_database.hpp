// The data of memory stores.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/memory/memory_orders.hpp"
#include "store/store.hpp"

namespace flowfabric {

// The listener of one handle. It is called without a lock, so `running_` shows when it may be removed.
class ListenerSlot {
 public:
  void set(std::function<void(const Wakeup&)> listener) {
    std::unique_lock lock(mutex_);
    listener_ = listener ? std::make_shared<const Listener>(std::move(listener)) : nullptr;
    idle_.wait(lock, [&] { return running_ == 0; });
  }

  void call(const Wakeup& wakeup) {
    std::shared_ptr<const Listener> listener;
    {
      const std::lock_guard lock(mutex_);
      if (!listener_) return;
      listener = listener_;
      ++running_;
    }
    (*listener)(wakeup);
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) idle_.notify_all();
  }

 private:
  using Listener = std::function<void(const Wakeup&)>;

  std::mutex mutex_;
  std::condition_variable idle_;
  std::shared_ptr<const Listener> listener_;
  int running_ = 0;
};

// The data and every rule about it. Each public function is one transaction: it holds the mutex until it returns.
class MemoryDatabase {
 public:
  // Identifies the session that reserves candidates; only its address is used.
  using Owner = const void*;

  ReadReply read(Owner owner, const ReadRequest& request, std::int64_t now_us);
  std::vector<Satellite> read_satellites(const std::vector<SatelliteName>& names);
  std::vector<SequenceEntry> load_sequence(const SequenceName& name, std::uint64_t from, std::uint32_t limit);
  std::vector<Verdict> commit(Owner owner, const std::vector<ChangeSet>& sets, std::vector<std::uint64_t>& appended);
  void release(Owner owner);

  std::vector<RouteNo> forget_routes(const std::vector<RouteNo>& numbers);
  std::optional<TimestampMs> next_due();
  std::vector<DueEntry> due_entries(const std::optional<DuePosition>& after, TimestampMs until, std::uint32_t limit);
  std::vector<DueEntry> group_entries(std::uint64_t group, const std::optional<Store::GroupPosition>& after,
                                      std::uint32_t limit);
  std::vector<Record> load(const std::vector<Key>& keys);
  std::vector<Satellite> load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from, std::uint32_t limit);
  std::vector<Record> scan(RecordKind kind, const std::string& after, std::uint32_t limit);
  std::vector<ListedRecord> list(const ListQuery& query);
  std::vector<Counter> counters(const std::string& prefix);
  std::uint64_t count_ready_before(const ReadyEntry& entry, std::uint64_t limit);
  std::optional<std::uint64_t> first_ready(RouteNo route, std::int32_t priority);

  std::string log_start();
  std::string log_end();
  Result<LogPage> read_log(const LogQuery& query);
  Result<std::vector<LoggedEntry>> history(const Key& root, const std::string& after, std::uint32_t limit);
  std::vector<std::string> check_integrity();

  // For Inspection.
  std::vector<InspectedRecord> inspect_records(const std::string& after, std::uint32_t limit);
  std::vector<InspectedReady> inspect_ready(const std::optional<ReadyEntry>& after, std::uint32_t limit);
  std::vector<InspectedDue> inspect_due(const std::optional<DueEntry>& after, std::uint32_t limit);
  std::vector<SatelliteName> orphaned_satellites(const std::optional<SatelliteName>& after, std::uint32_t limit);
  std::vector<SequenceName> orphaned_sequences(const std::optional<SequenceName>& after, std::uint32_t limit);
  InspectedCounts counts();
  std::vector<Route> routes();
  std::vector<PresentEntries> present(const std::vector<WantedEntries>& wanted);

  void add_listener(std::shared_ptr<ListenerSlot> slot);
  void remove_listener(const std::shared_ptr<ListenerSlot>& slot);
  void announce(const ListenerSlot* from, const Wakeup& wakeup);

 private:
  struct StoredRecord {
    std::uint64_t version = 0;
    std::string fixed;
    std::string body;
    std::optional<Listing> listing;
    std::string last_entry;
  };
  struct Sequence {
    std::uint64_t last = 0;  // the highest number ever given
    std::map<std::uint64_t, std::string> entries;
  };

  static Record to_record(const Key& key, const StoredRecord& stored) {
    return {key, stored.version, stored.fixed, stored.body, stored.last_entry};
  }
  static ListingPlace place_of(const Key& key, const Listing& listing) { return {key.kind(), listing.created_at, key}; }

  // All of these require that the mutex is held.
  std::vector<Record> records_of(const std::vector<Key>& keys) const;
  std::optional<Record> record_of(const Key& key) const;
  bool reserve(Owner owner, const Key& key);
  void hold(std::unique_lock<std::mutex>& lock, Owner owner, const Key& key);
  void let_go(Owner owner);
  bool is_held_by_another(Owner owner, const Key& key) const;
  void find_ready(Owner owner, const ReadRequest& request, std::size_t demand, std::vector<Candidate>& found);
  void find_due(Owner owner, const ReadRequest& request, TimestampMs now_ms, std::vector<DueCandidate>& found);
  void find_grouped(std::uint64_t group, std::uint32_t limit, std::vector<DueCandidate>& found) const;
  void end_batch(Owner owner);
  bool guards_hold(Owner owner, const ChangeSet& set) const;
  std::vector<ListedRecord> list_group(const ListQuery& query) const;
  bool has_roots_of_appends(const ChangeSet& set) const;
  void drop_entries(const SequenceDrop& drop);
  std::vector<Counter> counters_from(const std::string& prefix) const;
  Verdict apply(Owner owner, const ChangeSet& set);
  void apply_root(const RootChange& change);
  void put(const RootChange& change);
  void erase(const RootChange& change);
  void put_route(const Route& route);
  void put_ready(const ReadyEntry& entry);
  void drop_ready(const ReadyEntry& entry);
  void put_due(const DueEntry& entry);
  void drop_due(const DueEntry& entry);
  void append(const LogEntry& entry);
  static std::uint32_t next_log_id();
  std::string position(std::uint64_t sequence) const;
  Result<std::uint64_t> sequence_of(const std::string& position) const;

  std::mutex mutex_;
  std::map<Key, StoredRecord> records_;
  std::set<ReadyEntry, ServedBefore> ready_;
  std::set<ReadyEntry, ServedBeforeInNamespace> ready_by_namespace_;  // the same entries
  std::set<DueEntry, DueBefore> due_;
  std::map<Key, TimestampMs> due_at_;        // the same entries by key: a record has at most one
  std::set<DueEntry, GroupBefore> grouped_;  // those of them that belong to a group
  std::set<ListingPlace> listings_;
  std::map<SatelliteName, std::string> satellites_;
  std::map<SequenceName, Sequence> sequences_;
  std::map<std::string, std::int64_t> counters_;
  std::map<std::uint64_t, LogEntry> log_;
  std::map<Key, std::vector<std::uint64_t>> log_of_root_;  // ascending sequences
  std::uint64_t log_sequence_ = 0;                         // of the newest entry ever appended
  const std::uint32_t log_id_ = next_log_id();             // tells positions of this log from those of others
  std::map<std::uint64_t, Route> routes_;                  // in the order in which they were stored
  std::map<RouteNo, std::uint64_t> route_turns_;           // where each stands in it
  std::uint64_t route_turn_ = 0;                           // of the newest ever stored

  // Candidates in progress: hidden from other sessions until the batch of the owner ends.
  std::map<Key, Owner> reserved_;
  std::map<Owner, std::vector<Key>> reserved_by_;
  // Who holds a record, and behind it those who wait for that.
  std::map<Key, std::deque<Owner>> holders_;
  std::condition_variable let_go_;

  std::mutex listeners_mutex_;
  std::vector<std::shared_ptr<ListenerSlot>> listeners_;
};

}  // namespace flowfabric
