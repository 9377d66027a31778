#include "store/memory/memory_store.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/wall_clock.hpp"
#include "store/put_index.hpp"

namespace flowfabric {
namespace {

constexpr auto longest_wait_to_hold = std::chrono::seconds(10);

// Positions are the log's id in four bytes and the sequence in eight, both big-endian, so that they also order as bytes.
// Where the history of a record stands is the sequence alone.
constexpr std::size_t log_id_bytes = 4;
constexpr std::size_t sequence_bytes = 8;

std::string encode_number(std::uint64_t number, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = size; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number & 0xff);
  return bytes;
}

std::uint64_t decode_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = (number << 8) | static_cast<std::uint8_t>(byte);
  return number;
}

// Nothing outlives the process, so a number that is new in it is enough.
std::uint32_t next_log_id() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto value = static_cast<std::uint8_t>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

bool contains(const std::vector<std::uint8_t>& values, std::uint8_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// The order of service: route, then priority descending, then sequence, then key.
struct ServedBefore {
  bool operator()(const ReadyEntry& a, const ReadyEntry& b) const {
    return std::tie(a.route, b.priority, a.sequence, a.key) < std::tie(b.route, a.priority, b.sequence, b.key);
  }
};

// The same within each namespace.
struct ServedBeforeInNamespace {
  bool operator()(const ReadyEntry& a, const ReadyEntry& b) const {
    if (a.name_space != b.name_space) return a.name_space < b.name_space;
    return ServedBefore{}(a, b);
  }
};

// Sorts before every entry of the route.
ReadyEntry first_of_route(RouteNo route, std::string name_space = {}) {
  return {route, std::numeric_limits<std::int32_t>::max(), 0, {}, std::move(name_space)};
}

struct DueBefore {
  bool operator()(const DueEntry& a, const DueEntry& b) const {
    return std::tie(a.due_at, a.key) < std::tie(b.due_at, b.key);
  }
};

struct GroupBefore {
  bool operator()(const DueEntry& a, const DueEntry& b) const {
    return std::tie(a.group, a.rank, a.key) < std::tie(b.group, b.rank, b.key);
  }
};

DueEntry first_of_group(std::uint64_t group) { return {0, {}, group, std::numeric_limits<std::int64_t>::min()}; }

// The position of a listed record. The records of a kind are adjacent, oldest first; pages go backwards.
struct ListingPlace {
  RecordKind kind = RecordKind::execution;
  TimestampMs created_at = 0;
  Key key;

  friend auto operator<=>(const ListingPlace&, const ListingPlace&) = default;
};

bool time_matches(TimestampMs at, const std::optional<TimestampMs>& from, const std::optional<TimestampMs>& before) {
  return (!from || at >= *from) && (!before || at < *before);
}

bool matches(const Listing& listing, const ListQuery& query) {
  if (query.name_space && listing.name_space != *query.name_space) return false;
  if (query.lane && listing.lane != *query.lane) return false;
  if (query.kind && listing.kind != *query.kind) return false;
  if (query.flow && listing.flow != *query.flow) return false;
  if (!query.states.empty() && !contains(query.states, listing.state)) return false;
  if (query.tag && listing.tags.find('\x1f' + *query.tag + '\x1f') == std::string::npos) return false;
  if (!time_matches(listing.created_at, query.created_from, query.created_before)) return false;
  const bool wants_finished = query.finished_from || query.finished_before;
  if (wants_finished && listing.finished_at == 0) return false;
  return time_matches(listing.finished_at, query.finished_from, query.finished_before);
}

bool matches(const LogEntry& entry, const LogQuery& query) {
  if (query.name_space && entry.name_space != *query.name_space) return false;
  if (query.lane && entry.lane != *query.lane) return false;
  if (query.root && entry.root != *query.root) return false;
  return query.types.empty() || contains(query.types, entry.type);
}

// The obligations of callers. Other stores may rely on them; the reference model checks them.

bool is_well_formed(const Key& key) { return key.bytes.size() >= 3 && key.bytes.size() <= limits::max_key_bytes; }

bool is_group(std::uint64_t group) { return group > 0 && group < (std::uint64_t{1} << 63); }

template <class Entry, class Before>
void check_disjoint(const std::vector<Entry>& puts, const std::vector<Entry>& drops, Before before) {
  const std::set<Entry, Before> dropped(drops.begin(), drops.end(), before);
  for (const Entry& entry : puts) {
    const auto found = dropped.find(entry);
    FF_CHECK(found == dropped.end() || *found != entry);
  }
}

void check_one_partition(const ChangeSet& set) {
  std::optional<std::uint16_t> partition;
  const auto check = [&](const Key& key) {
    FF_CHECK(is_well_formed(key));
    if (!partition) partition = key.partition();
    FF_CHECK(key.partition() == *partition);
  };
  for (const auto& change : set.roots) check(change.key);
  for (const auto& entry : set.ready_put) check(entry.key);
  for (const auto& entry : set.ready_drop) check(entry.key);
  for (const auto& entry : set.due_put) check(entry.key);
  for (const auto& entry : set.due_drop) check(entry.key);
  for (const auto& satellite : set.satellites) check(satellite.name.root);
  for (const auto& name : set.satellites_drop) check(name.root);
  for (const auto& drop : set.sequence_drops) check(drop.sequence.root);
  for (const auto& append : set.appends) check(append.sequence.root);
  for (const auto& entry : set.log) check(entry.root);
}

bool is_route(RouteNo number) { return number > 0 && number < (RouteNo{1} << 63); }

void check_ready_puts(const ChangeSet& set) {
  std::set<RouteNo> routes;
  for (const Route& route : set.routes) routes.insert(route.number);
  for (const auto& entry : set.ready_put) {
    FF_CHECK(is_route(entry.route) && entry.sequence < (std::uint64_t{1} << 63));
    FF_CHECK(routes.contains(entry.route));
  }
}

// Of sequences, a set may touch those of its own roots, and those of roots that no other set of the commit has.
struct ChangedRoot {
  const ChangeSet* set;
  RootChange::Action action;
};
void check_sequences(const std::vector<ChangeSet>& sets, const std::map<Key, ChangedRoot>& roots) {
  for (const auto& set : sets) {
    std::set<SequenceName> dropped;
    for (const auto& drop : set.sequence_drops) FF_CHECK(dropped.insert(drop.sequence).second);
    for (const auto& append : set.appends) {
      const auto root = roots.find(append.sequence.root);
      if (root == roots.end()) continue;
      FF_CHECK(root->second.set == &set && root->second.action != RootChange::Action::erase);
    }
  }
}

void check_sets(const std::vector<ChangeSet>& sets) {
  std::map<Key, ChangedRoot> roots;
  for (const auto& set : sets) {
    check_one_partition(set);
    for (const auto& change : set.roots) FF_CHECK(roots.emplace(change.key, ChangedRoot{&set, change.action}).second);
    PutIndex puts(set);
    for (const auto& entry : set.log) puts.at(entry.root);
    check_ready_puts(set);
    check_disjoint(set.ready_put, set.ready_drop, ServedBefore{});
    check_disjoint(set.due_put, set.due_drop, DueBefore{});
    for (const auto& entry : set.due_put) FF_CHECK(entry.group == 0 || is_group(entry.group));
    const std::set<SatelliteName> dropped(set.satellites_drop.begin(), set.satellites_drop.end());
    for (const auto& satellite : set.satellites) FF_CHECK(!dropped.contains(satellite.name));
  }
  check_sequences(sets, roots);
}

void check_request(const ReadRequest& request) {
  FF_CHECK(request.ready.empty() || request.due_limit == 0);
  FF_CHECK(!request.hold || (request.ready.empty() && request.due_limit == 0));
  std::set<Key> keys;
  for (const auto& key : request.keys) FF_CHECK(is_well_formed(key) && keys.insert(key).second);
  std::set<std::pair<RouteNo, std::optional<std::string>>> demands;
  for (const auto& demand : request.ready) FF_CHECK(demands.emplace(demand.route, demand.name_space).second);
  std::set<std::uint64_t> groups;
  for (const auto group : request.groups) FF_CHECK(is_group(group) && groups.insert(group).second);
}

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

}  // namespace

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

// ---------------------------------------------------------------- sessions

std::vector<Record> MemoryDatabase::records_of(const std::vector<Key>& keys) const {
  std::vector<Record> records;
  for (const auto& key : keys) {
    const auto found = records_.find(key);
    if (found != records_.end()) records.push_back(to_record(key, found->second));
  }
  return records;
}

bool MemoryDatabase::reserve(Owner owner, const Key& key) {
  const auto [place, is_new] = reserved_.try_emplace(key, owner);
  if (is_new) reserved_by_[owner].push_back(key);
  return place->second == owner;
}

void MemoryDatabase::find_ready(Owner owner, const ReadRequest& request, std::size_t demand,
                                std::vector<Candidate>& found) {
  const RouteDemand& wanted = request.ready[demand];
  const auto find_in = [&](const auto& entries) {
    std::uint32_t missing = wanted.limit;
    auto entry = entries.lower_bound(first_of_route(wanted.route, wanted.name_space.value_or("")));
    for (; entry != entries.end() && entry->route == wanted.route && missing > 0; ++entry) {
      if (wanted.name_space && entry->name_space != *wanted.name_space) break;
      const auto record = records_.find(entry->key);
      if (record == records_.end() || !reserve(owner, entry->key)) continue;
      found.push_back({*entry, to_record(entry->key, record->second), demand});
      --missing;
    }
  };
  wanted.name_space ? find_in(ready_by_namespace_) : find_in(ready_);
}

void MemoryDatabase::find_due(Owner owner, const ReadRequest& request, TimestampMs now_ms,
                              std::vector<DueCandidate>& found) {
  const auto& after = request.due_after;
  auto entry = after ? due_.upper_bound(DueEntry{after->due_at, after->key}) : due_.begin();
  for (; entry != due_.end() && found.size() < request.due_limit; ++entry) {
    if (entry->due_at > now_ms) break;
    const auto record = records_.find(entry->key);
    if (record == records_.end() || !reserve(owner, entry->key)) continue;
    found.push_back({*entry, to_record(entry->key, record->second)});
  }
}

// Nothing is reserved: every reader of a group sees all of it.
void MemoryDatabase::find_grouped(std::uint64_t group, std::uint32_t limit, std::vector<DueCandidate>& found) const {
  auto entry = grouped_.lower_bound(first_of_group(group));
  for (; entry != grouped_.end() && entry->group == group && found.size() < limit; ++entry) {
    const auto record = records_.find(entry->key);
    if (record != records_.end()) found.push_back({*entry, to_record(entry->key, record->second)});
  }
}

// Waiting ends in any case: two engines that one thread drives by hand would wait for each other for ever.
void MemoryDatabase::hold(std::unique_lock<std::mutex>& lock, Owner owner, const Key& key) {
  std::deque<Owner>& line = holders_[key];
  if (std::find(line.begin(), line.end(), owner) == line.end()) line.push_back(owner);
  if (!let_go_.wait_for(lock, longest_wait_to_hold, [&] { return !is_held_by_another(owner, key); })) let_go(owner);
}

void MemoryDatabase::let_go(Owner owner) {
  bool first = false;
  for (auto line = holders_.begin(); line != holders_.end();) {
    first = first || line->second.front() == owner;
    std::erase(line->second, owner);
    line = line->second.empty() ? holders_.erase(line) : std::next(line);
  }
  if (first) let_go_.notify_all();
}

bool MemoryDatabase::is_held_by_another(Owner owner, const Key& key) const {
  const auto line = holders_.find(key);
  return line != holders_.end() && line->second.front() != owner;
}

ReadReply MemoryDatabase::read(Owner owner, const ReadRequest& request, std::int64_t now_us) {
  check_request(request);
  std::unique_lock lock(mutex_);
  if (request.hold) hold(lock, owner, *request.hold);
  ReadReply reply;
  reply.now_us = now_us;
  reply.records = records_of(request.keys);
  for (std::size_t demand = 0; demand < request.ready.size(); ++demand) {
    find_ready(owner, request, demand, reply.ready);
  }
  if (request.due_limit > 0) find_due(owner, request, reply.now_ms(), reply.due);
  const std::set<std::uint64_t> groups(request.groups.begin(), request.groups.end());
  for (const auto group : groups) find_grouped(group, request.group_limit, reply.grouped);
  if (request.want_routes) {
    const std::uint64_t seen = request.routes_seen.empty() ? 0 : std::stoull(request.routes_seen);
    for (auto place = routes_.upper_bound(seen); place != routes_.end(); ++place) reply.routes.push_back(place->second);
    reply.routes_seen = std::to_string(route_turn_);
  }
  return reply;
}

std::vector<Satellite> MemoryDatabase::read_satellites(const std::vector<SatelliteName>& names) {
  const std::lock_guard lock(mutex_);
  std::vector<Satellite> satellites;
  for (const auto& name : names) {
    const auto found = satellites_.find(name);
    if (found != satellites_.end()) satellites.push_back({name, found->second});
  }
  return satellites;
}

std::vector<SequenceEntry> MemoryDatabase::load_sequence(const SequenceName& name, std::uint64_t from,
                                                         std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<SequenceEntry> found;
  const auto sequence = sequences_.find(name);
  if (sequence == sequences_.end()) return found;
  const auto& entries = sequence->second.entries;
  for (auto entry = entries.lower_bound(from); entry != entries.end() && found.size() < limit; ++entry) {
    found.push_back({entry->first, entry->second});
  }
  return found;
}

std::vector<Verdict> MemoryDatabase::commit(Owner owner, const std::vector<ChangeSet>& sets,
                                            std::vector<std::uint64_t>& appended) {
  check_sets(sets);
  const std::lock_guard lock(mutex_);
  std::vector<Verdict> verdicts;
  verdicts.reserve(sets.size());
  appended.clear();
  for (const auto& set : sets) {
    verdicts.push_back(apply(owner, set));
    for (const Append& append : set.appends) {
      if (verdicts.back() != Verdict::committed) {
        appended.push_back(0);
        continue;
      }
      Sequence& sequence = sequences_[append.sequence];
      sequence.entries.emplace(++sequence.last, append.body);
      appended.push_back(sequence.last);
    }
  }
  end_batch(owner);
  return verdicts;
}

void MemoryDatabase::release(Owner owner) {
  const std::lock_guard lock(mutex_);
  end_batch(owner);
}

void MemoryDatabase::end_batch(Owner owner) {
  if (!holders_.empty()) let_go(owner);
  const auto mine = reserved_by_.find(owner);
  if (mine == reserved_by_.end()) return;
  for (const auto& key : mine->second) reserved_.erase(key);
  reserved_by_.erase(mine);
}

// ---------------------------------------------------------------- changes

bool MemoryDatabase::guards_hold(Owner owner, const ChangeSet& set) const {
  return std::all_of(set.roots.begin(), set.roots.end(), [&](const RootChange& change) {
    if (change.action != RootChange::Action::check && is_held_by_another(owner, change.key)) return false;
    const auto found = records_.find(change.key);
    const std::uint64_t version = found == records_.end() ? 0 : found->second.version;
    return version == change.expected_version;
  });
}

bool MemoryDatabase::has_roots_of_appends(const ChangeSet& set) const {
  PutIndex puts(set);
  return std::all_of(set.appends.begin(), set.appends.end(), [&](const Append& append) {
    return records_.contains(append.sequence.root) || puts.find(append.sequence.root) < set.roots.size();
  });
}

void MemoryDatabase::drop_entries(const SequenceDrop& drop) {
  const auto sequence = sequences_.find(drop.sequence);
  if (sequence == sequences_.end()) return;
  auto& entries = sequence->second.entries;
  entries.erase(entries.begin(), entries.lower_bound(drop.below));
  if (drop.below == whole_sequence) sequences_.erase(sequence);
}

Verdict MemoryDatabase::apply(Owner owner, const ChangeSet& set) {
  if (!guards_hold(owner, set) || !has_roots_of_appends(set)) return Verdict::stale;
  for (const auto& add : set.counters) counters_[add.counter] += add.delta;
  for (const auto& change : set.roots) apply_root(change);
  // Drops come first: a set moves an entry by dropping the old one and putting the new one.
  for (const auto& entry : set.ready_drop) drop_ready(entry);
  for (const auto& route : set.routes) put_route(route);
  for (const auto& entry : set.ready_put) put_ready(entry);
  for (const auto& entry : set.due_drop) drop_due(entry);
  for (const auto& entry : set.due_put) put_due(entry);
  for (const auto& name : set.satellites_drop) satellites_.erase(name);
  for (const auto& satellite : set.satellites) satellites_[satellite.name] = satellite.body;
  for (const auto& drop : set.sequence_drops) drop_entries(drop);
  for (const auto& entry : set.log) append(entry);
  return Verdict::committed;
}

void MemoryDatabase::apply_root(const RootChange& change) {
  switch (change.action) {
    case RootChange::Action::put: put(change); break;
    case RootChange::Action::erase: erase(change); break;
    case RootChange::Action::check: break;
  }
}

void MemoryDatabase::put(const RootChange& change) {
  const auto [place, is_new] = records_.try_emplace(change.key);
  auto& stored = place->second;
  FF_CHECK(change.last_entry == stored.last_entry);
  stored.version = change.next_version();
  stored.body = change.body;
  if (is_new || change.relist) {
    if (is_new) stored.fixed = change.fixed;
    if (stored.listing) listings_.erase(place_of(change.key, *stored.listing));
    stored.listing = change.listing;
    if (stored.listing) listings_.insert(place_of(change.key, *stored.listing));
  } else if (stored.listing && change.listing) {
    stored.listing->state = change.listing->state;
    stored.listing->finished_at = change.listing->finished_at;
    stored.listing->tags = change.listing->tags;
  }
}

void MemoryDatabase::erase(const RootChange& change) {
  const Key& key = change.key;
  const auto record = records_.find(key);
  if (record == records_.end()) return;
  FF_CHECK(change.last_entry == record->second.last_entry);
  if (record->second.listing) listings_.erase(place_of(key, *record->second.listing));
  records_.erase(record);

  auto satellite = satellites_.lower_bound(SatelliteName{key, 0, 0});
  while (satellite != satellites_.end() && satellite->first.root == key) satellite = satellites_.erase(satellite);
  auto gone = sequences_.lower_bound(SequenceName{key, 0});
  while (gone != sequences_.end() && gone->first.root == key) gone = sequences_.erase(gone);

  const auto sequences = log_of_root_.find(key);
  if (sequences == log_of_root_.end()) return;
  for (const auto sequence : sequences->second) log_.erase(sequence);
  log_of_root_.erase(sequences);
}

void MemoryDatabase::put_route(const Route& route) {
  const auto [place, is_new] = route_turns_.try_emplace(route.number, route_turn_ + 1);
  if (is_new) {
    routes_.emplace(++route_turn_, route);
    return;
  }
  const Route& stored = routes_.at(place->second);
  FF_CHECK(stored.lane == route.lane && stored.capabilities == route.capabilities);
}

void MemoryDatabase::put_ready(const ReadyEntry& entry) {
  const auto stored = ready_.insert(entry).first;
  FF_CHECK(*stored == entry);  // a record does not change its namespace. Repeating it is harmless
  ready_by_namespace_.insert(entry);
}

void MemoryDatabase::drop_ready(const ReadyEntry& entry) {
  const auto found = ready_.find(entry);
  if (found == ready_.end()) return;
  ready_by_namespace_.erase(*found);  // the stored namespace is used: a drop may have only the name
  ready_.erase(found);
}

void MemoryDatabase::put_due(const DueEntry& entry) {
  const auto of_record = due_at_.try_emplace(entry.key, entry.due_at).first;
  const auto stored = due_.insert(entry).first;
  // A record that has an entry gets another one only together with the drop of the first: a real database would keep
  // both, or the first one. Repeating it is harmless.
  FF_CHECK(of_record->second == entry.due_at && *stored == entry);
  if (entry.group != 0) grouped_.insert(entry);
}

void MemoryDatabase::drop_due(const DueEntry& entry) {
  const auto found = due_.find(entry);
  if (found == due_.end()) return;
  if (found->group != 0) grouped_.erase(*found);  // the stored group is used: a drop may have only the name
  due_at_.erase(found->key);
  due_.erase(found);
}

void MemoryDatabase::append(const LogEntry& entry) {
  const std::uint64_t sequence = ++log_sequence_;
  log_.emplace_hint(log_.end(), sequence, entry);
  log_of_root_[entry.root].push_back(sequence);
  records_.at(entry.root).last_entry = encode_number(sequence, sequence_bytes);
}

// ---------------------------------------------------------------- reads outside batches

std::vector<RouteNo> MemoryDatabase::forget_routes(const std::vector<RouteNo>& numbers) {
  const std::lock_guard lock(mutex_);
  std::vector<RouteNo> gone;
  for (const RouteNo number : numbers) {
    const auto turn = route_turns_.find(number);
    if (turn != route_turns_.end()) {
      const auto entry = ready_.lower_bound(first_of_route(number));
      if (entry != ready_.end() && entry->route == number) continue;
      routes_.erase(turn->second);
      route_turns_.erase(turn);
    }
    gone.push_back(number);
  }
  return gone;
}

std::optional<TimestampMs> MemoryDatabase::next_due() {
  const std::lock_guard lock(mutex_);
  if (due_.empty()) return std::nullopt;
  return due_.begin()->due_at;
}

std::vector<DueEntry> MemoryDatabase::due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                                  std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<DueEntry> entries;
  auto place = after ? due_.upper_bound(DueEntry{after->due_at, after->key}) : due_.begin();
  for (; place != due_.end() && place->due_at <= until && entries.size() < limit; ++place) entries.push_back(*place);
  return entries;
}

std::vector<DueEntry> MemoryDatabase::group_entries(std::uint64_t group,
                                                    const std::optional<Store::GroupPosition>& after,
                                                    std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<DueEntry> entries;
  auto place = after ? grouped_.upper_bound(DueEntry{0, after->key, group, after->rank})
                     : grouped_.lower_bound(first_of_group(group));
  for (; place != grouped_.end() && place->group == group && entries.size() < limit; ++place) {
    entries.push_back(*place);
  }
  return entries;
}

std::vector<Record> MemoryDatabase::load(const std::vector<Key>& keys) {
  const std::lock_guard lock(mutex_);
  return records_of(keys);
}

std::vector<Satellite> MemoryDatabase::load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                       std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Satellite> satellites;
  auto place = satellites_.lower_bound(SatelliteName{root, kind, from});
  for (; place != satellites_.end() && satellites.size() < limit; ++place) {
    const auto& [name, body] = *place;
    if (name.root != root || name.kind != kind) break;
    satellites.push_back({name, body});
  }
  return satellites;
}

std::vector<Record> MemoryDatabase::scan(RecordKind kind, const std::string& after, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Record> records;
  // The kind byte alone is smaller than every key of its kind.
  auto place = records_.upper_bound(Key{std::max(after, std::string(1, static_cast<char>(kind)))});
  for (; place != records_.end() && records.size() < limit; ++place) {
    if (place->first.kind() != kind) break;
    records.push_back(to_record(place->first, place->second));
  }
  return records;
}

// In a group, the rank of a record is the time of its creation.
std::vector<ListedRecord> MemoryDatabase::list_group(const ListQuery& query) const {
  const TimestampMs last = std::numeric_limits<TimestampMs>::max();
  DueEntry end{0, Key{"\xff"}, *query.group, last};
  if (query.after) end = {0, query.after->key, *query.group, query.after->created_at};
  std::vector<ListedRecord> page;
  auto place = std::make_reverse_iterator(grouped_.lower_bound(end));
  for (; place != grouped_.rend() && place->group == *query.group && page.size() < query.limit; ++place) {
    const auto found = records_.find(place->key);
    if (found == records_.end() || !found->second.listing || place->key.kind() != query.record_kind) continue;
    const Listing& listing = *found->second.listing;
    if (matches(listing, query))
      page.push_back({to_record(place->key, found->second), listing.created_at, listing.state});
  }
  return page;
}

std::vector<ListedRecord> MemoryDatabase::list(const ListQuery& query) {
  const std::lock_guard lock(mutex_);
  if (query.group) return list_group(query);
  // Everything before `end` matches: the first position of the next kind, or less because of the page or the time.
  const auto next_kind = static_cast<RecordKind>(static_cast<std::uint8_t>(query.record_kind) + 1);
  ListingPlace end{next_kind, std::numeric_limits<TimestampMs>::min(), {}};
  if (query.created_before) end = std::min(end, ListingPlace{query.record_kind, *query.created_before, {}});
  if (query.after) end = std::min(end, ListingPlace{query.record_kind, query.after->created_at, query.after->key});

  std::vector<ListedRecord> page;
  auto place = std::make_reverse_iterator(listings_.lower_bound(end));
  for (; place != listings_.rend() && page.size() < query.limit; ++place) {
    if (place->kind != query.record_kind) break;
    if (query.created_from && place->created_at < *query.created_from) break;
    const auto& stored = records_.at(place->key);
    if (!matches(*stored.listing, query)) continue;
    page.push_back({to_record(place->key, stored), place->created_at, stored.listing->state});
  }
  return page;
}

std::vector<Counter> MemoryDatabase::counters_from(const std::string& prefix) const {
  std::vector<Counter> found;
  for (auto place = counters_.lower_bound(prefix); place != counters_.end(); ++place) {
    if (!place->first.starts_with(prefix)) break;
    if (place->second != 0) found.push_back({place->first, place->second});
  }
  return found;
}

std::vector<Counter> MemoryDatabase::counters(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  return counters_from(prefix);
}

std::uint64_t MemoryDatabase::count_ready_before(const ReadyEntry& entry, std::uint64_t limit) {
  const std::lock_guard lock(mutex_);
  std::uint64_t number = 0;
  auto place = ready_.lower_bound(first_of_route(entry.route));
  for (; place != ready_.end() && number < limit && ServedBefore{}(*place, entry); ++place) ++number;
  return number;
}

// ---------------------------------------------------------------- log

std::string MemoryDatabase::position(std::uint64_t sequence) const {
  return encode_number(log_id_, log_id_bytes) + encode_number(sequence, sequence_bytes);
}

// The place of a position that this log has reached; empty: before everything.
Result<std::uint64_t> MemoryDatabase::sequence_of(const std::string& bytes) const {
  if (bytes.empty()) return 0;
  if (bytes.size() != log_id_bytes + sequence_bytes) {
    return fail(Errc::invalid_argument, "not a position of this store", "after");
  }
  const std::string_view view = bytes;
  const std::uint64_t sequence = decode_number(view.substr(log_id_bytes));
  const bool ours = decode_number(view.substr(0, log_id_bytes)) == log_id_;
  if (ours && sequence <= log_sequence_) return sequence;
  Error error{Errc::cursor_expired, ours ? cursor_ahead_of_log : cursor_of_another_log, "after", {}};
  error.details.emplace_back("earliest", to_hex(position(0)));
  return Unexpected(std::move(error));
}

std::string MemoryDatabase::log_start() {
  const std::lock_guard lock(mutex_);
  return position(0);
}

std::string MemoryDatabase::log_end() {
  const std::lock_guard lock(mutex_);
  return position(log_sequence_);
}

Result<LogPage> MemoryDatabase::read_log(const LogQuery& query) {
  const std::lock_guard lock(mutex_);
  FF_TRY(after, sequence_of(query.after));
  LogPage page;
  std::uint64_t examined = after;
  for (auto place = log_.upper_bound(after); place != log_.end(); ++place) {
    if (page.entries.size() >= query.limit) {
      page.behind = true;
      break;
    }
    if (matches(place->second, query)) page.entries.push_back({position(place->first), place->second});
    examined = place->first;
  }
  // If the page is not full, everything committed has been examined.
  page.next = position(page.behind ? examined : log_sequence_);
  return page;
}

Result<std::vector<LoggedEntry>> MemoryDatabase::history(const Key& root, const std::string& after,
                                                         std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  FF_TRY(start, sequence_of(after));
  std::vector<LoggedEntry> entries;
  const auto found = log_of_root_.find(root);
  if (found == log_of_root_.end()) return entries;
  const auto& sequences = found->second;
  auto place = std::upper_bound(sequences.begin(), sequences.end(), start);
  for (; place != sequences.end() && entries.size() < limit; ++place) {
    entries.push_back({position(*place), log_.at(*place)});
  }
  return entries;
}

// ---------------------------------------------------------------- consistency and news

std::vector<std::string> MemoryDatabase::check_integrity() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> findings;
  for (const auto& entry : ready_) {
    if (!route_turns_.contains(entry.route)) {
      findings.push_back("Ready entry of record " + to_hex(entry.key.bytes) + " names a route that is not stored.");
    }
  }
  for (const auto& place : listings_) {
    if (!records_.contains(place.key)) findings.push_back("Listing of missing record " + to_hex(place.key.bytes) + ".");
  }
  std::size_t listed = 0;
  for (const auto& [key, stored] : records_) {
    if (!stored.listing) continue;
    ++listed;
    if (!listings_.contains(place_of(key, *stored.listing))) {
      findings.push_back("Record " + to_hex(key.bytes) + " is missing from the listing index.");
    }
  }
  if (listed != listings_.size()) findings.emplace_back("The listing index has entries that no record asks for.");
  if (ready_.size() != ready_by_namespace_.size()) findings.emplace_back("The two ready indexes differ in size.");
  if (due_.size() != due_at_.size()) findings.emplace_back("The two due indexes differ in size.");
  const auto in_group = std::count_if(due_.begin(), due_.end(), [](const DueEntry& entry) { return entry.group != 0; });
  if (static_cast<std::size_t>(in_group) != grouped_.size()) {
    findings.emplace_back("The due index and its groups differ in size.");
  }
  std::size_t logged = 0;
  for (const auto& [root, sequences] : log_of_root_) logged += sequences.size();
  if (logged != log_.size()) findings.emplace_back("The log and its index by record differ in size.");
  return findings;
}

std::optional<Record> MemoryDatabase::record_of(const Key& key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? std::nullopt : std::optional(to_record(key, found->second));
}

std::vector<InspectedRecord> MemoryDatabase::inspect_records(const std::string& after, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<InspectedRecord> page;
  auto place = records_.upper_bound(Key{after});
  for (; place != records_.end() && page.size() < limit; ++place) {
    page.push_back({to_record(place->first, place->second), place->second.listing});
  }
  return page;
}

std::vector<InspectedReady> MemoryDatabase::inspect_ready(const std::optional<ReadyEntry>& after, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<InspectedReady> page;
  auto place = after ? ready_.upper_bound(*after) : ready_.begin();
  for (; place != ready_.end() && page.size() < limit; ++place) page.push_back({*place, record_of(place->key)});
  return page;
}

std::vector<InspectedDue> MemoryDatabase::inspect_due(const std::optional<DueEntry>& after, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<InspectedDue> page;
  auto place = after ? due_.upper_bound(*after) : due_.begin();
  for (; place != due_.end() && page.size() < limit; ++place) page.push_back({*place, record_of(place->key)});
  return page;
}

std::vector<SatelliteName> MemoryDatabase::orphaned_satellites(const std::optional<SatelliteName>& after,
                                                               std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<SatelliteName> page;
  auto place = after ? satellites_.upper_bound(*after) : satellites_.begin();
  for (; place != satellites_.end() && page.size() < limit; ++place) {
    if (!records_.contains(place->first.root)) page.push_back(place->first);
  }
  return page;
}

std::vector<SequenceName> MemoryDatabase::orphaned_sequences(const std::optional<SequenceName>& after,
                                                             std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<SequenceName> page;
  auto place = after ? sequences_.upper_bound(*after) : sequences_.begin();
  for (; place != sequences_.end() && page.size() < limit; ++place) {
    if (!records_.contains(place->first.root)) page.push_back(place->first);
  }
  return page;
}

InspectedCounts MemoryDatabase::counts() {
  const std::lock_guard lock(mutex_);
  std::map<std::tuple<RecordKind, std::string, std::string, std::uint8_t>, std::uint64_t> numbers;
  for (const auto& [key, stored] : records_) {
    if (!stored.listing) continue;
    ++numbers[{key.kind(), stored.listing->name_space, stored.listing->lane, stored.listing->state}];
  }
  InspectedCounts counts;
  for (const auto& [columns, number] : numbers) {
    const auto& [kind, name_space, lane, state] = columns;
    counts.listed.push_back({kind, name_space, lane, state, number});
  }
  counts.counters = counters_from("");
  return counts;
}

std::vector<Route> MemoryDatabase::routes() {
  const std::lock_guard lock(mutex_);
  std::vector<Route> all;
  for (const auto& [turn, route] : routes_) all.push_back(route);
  return all;
}

std::vector<PresentEntries> MemoryDatabase::present(const std::vector<WantedEntries>& wanted) {
  const std::lock_guard lock(mutex_);
  std::vector<PresentEntries> all;
  for (const WantedEntries& one : wanted) {
    PresentEntries& found = all.emplace_back();
    const auto record = records_.find(one.key);
    if (record != records_.end()) found.version = record->second.version;
    if (one.ready) {
      const auto entry = ready_.find(*one.ready);
      found.ready = entry != ready_.end() && *entry == *one.ready;
    }
    if (one.due) {
      const auto entry = due_.find(*one.due);
      found.due = entry != due_.end() && *entry == *one.due;
    }
    for (const SatelliteName& name : one.satellites) found.satellites.push_back(satellites_.contains(name));
  }
  return all;
}

void MemoryDatabase::add_listener(std::shared_ptr<ListenerSlot> slot) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.push_back(std::move(slot));
}

void MemoryDatabase::remove_listener(const std::shared_ptr<ListenerSlot>& slot) {
  const std::lock_guard lock(listeners_mutex_);
  std::erase(listeners_, slot);
}

void MemoryDatabase::announce(const ListenerSlot* from, const Wakeup& wakeup) {
  std::vector<std::shared_ptr<ListenerSlot>> slots;
  {
    const std::lock_guard lock(listeners_mutex_);
    slots = listeners_;
  }
  for (const auto& slot : slots) {
    if (slot.get() != from) slot->call(wakeup);
  }
}

// ---------------------------------------------------------------- the contract's two classes

namespace {

class MemorySession final : public Session {
 public:
  MemorySession(std::shared_ptr<MemoryDatabase> database, std::function<std::int64_t()> now_us)
      : database_(std::move(database)), now_us_(std::move(now_us)) {}
  MemorySession(const MemorySession&) = delete;
  MemorySession& operator=(const MemorySession&) = delete;
  ~MemorySession() override { database_->release(this); }

  Result<ReadReply> read(const ReadRequest& request) override { return database_->read(this, request, now_us_()); }

  Result<std::vector<Satellite>> read_satellites(const std::vector<SatelliteName>& names) override {
    return database_->read_satellites(names);
  }

  Result<std::vector<SequenceEntry>> read_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override {
    return database_->load_sequence(name, from, limit);
  }

  Result<std::vector<Verdict>> commit(const std::vector<ChangeSet>& sets) override {
    return database_->commit(this, sets, appended_);
  }
  const std::vector<std::uint64_t>& appended() const override { return appended_; }

  void release() override { database_->release(this); }

 private:
  const std::shared_ptr<MemoryDatabase> database_;
  const std::function<std::int64_t()> now_us_;
  std::vector<std::uint64_t> appended_;
};

std::function<std::int64_t()> system_clock() {
  return [clock = std::make_shared<WallClock>()] { return clock->now_us(); };
}

class MemoryInspection final : public Inspection {
 public:
  explicit MemoryInspection(std::shared_ptr<MemoryDatabase> database) : database_(std::move(database)) {}

  Result<std::vector<InspectedRecord>> records(const std::string& after, std::uint32_t limit) override {
    return database_->inspect_records(after, limit);
  }
  Result<std::vector<InspectedReady>> ready(const std::optional<ReadyEntry>& after, std::uint32_t limit) override {
    return database_->inspect_ready(after, limit);
  }
  Result<std::vector<InspectedDue>> due(const std::optional<DueEntry>& after, std::uint32_t limit) override {
    return database_->inspect_due(after, limit);
  }
  Result<std::vector<SatelliteName>> orphaned_satellites(const std::optional<SatelliteName>& after,
                                                         std::uint32_t limit) override {
    return database_->orphaned_satellites(after, limit);
  }
  Result<std::vector<SequenceName>> orphaned_sequences(const std::optional<SequenceName>& after,
                                                       std::uint32_t limit) override {
    return database_->orphaned_sequences(after, limit);
  }
  Result<InspectedCounts> counts() override { return database_->counts(); }
  Result<std::vector<Route>> routes() override { return database_->routes(); }
  Result<std::vector<PresentEntries>> present(const std::vector<WantedEntries>& wanted) override {
    return database_->present(wanted);
  }

 private:
  const std::shared_ptr<MemoryDatabase> database_;
};

class MemoryStore final : public Store {
 public:
  MemoryStore(std::shared_ptr<MemoryDatabase> database, StoreOptions options)
      : database_(std::move(database)),
        access_(options.access),
        now_us_(options.now_us ? std::move(options.now_us) : system_clock()),
        listener_(std::make_shared<ListenerSlot>()) {
    database_->add_listener(listener_);
  }
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;
  ~MemoryStore() override {
    database_->remove_listener(listener_);
    listener_->set({});
  }

  Result<std::unique_ptr<Session>> open_session() override {
    if (access_ == StoreAccess::read) return opened_for_reading();
    return std::make_unique<MemorySession>(database_, now_us_);
  }

  // One mutex allows one writer at a time; more would only wait for each other.
  std::uint32_t preferred_sessions() const override { return 1; }

  Result<std::vector<RouteNo>> forget_routes(const std::vector<RouteNo>& numbers) override {
    if (access_ == StoreAccess::read) return opened_for_reading();
    return database_->forget_routes(numbers);
  }
  Result<std::optional<TimestampMs>> next_due() override { return database_->next_due(); }
  Result<std::vector<DueEntry>> due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                            std::uint32_t limit) override {
    return database_->due_entries(after, until, limit);
  }
  Result<std::vector<DueEntry>> group_entries(std::uint64_t group, const std::optional<GroupPosition>& after,
                                              std::uint32_t limit) override {
    return database_->group_entries(group, after, limit);
  }
  Result<std::vector<Record>> load(const std::vector<Key>& keys) override { return database_->load(keys); }
  Result<std::vector<Satellite>> load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                 std::uint32_t limit) override {
    return database_->load_satellites(root, kind, from, limit);
  }
  Result<std::vector<SequenceEntry>> load_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override {
    return database_->load_sequence(name, from, limit);
  }
  Result<std::vector<Record>> scan(RecordKind kind, const std::string& after, std::uint32_t limit) override {
    return database_->scan(kind, after, limit);
  }
  Result<std::vector<ListedRecord>> list(const ListQuery& query) override { return database_->list(query); }
  Result<std::vector<Counter>> counters(const std::string& prefix) override { return database_->counters(prefix); }
  Result<std::int64_t> now_us() override { return now_us_(); }
  Result<std::uint64_t> count_ready_before(const ReadyEntry& entry, std::uint64_t limit) override {
    return database_->count_ready_before(entry, limit);
  }

  Result<std::string> log_start() override { return database_->log_start(); }
  Result<std::string> log_end() override { return database_->log_end(); }
  Result<LogPage> read_log(const LogQuery& query) override { return database_->read_log(query); }
  Result<std::vector<LoggedEntry>> history(const Key& root, const std::string& after, std::uint32_t limit) override {
    return database_->history(root, after, limit);
  }

  void announce(const Wakeup& wakeup) override { database_->announce(listener_.get(), wakeup); }
  void listen(std::function<void(const Wakeup&)> listener) override { listener_->set(std::move(listener)); }

  Result<std::vector<std::string>> check_integrity() override { return database_->check_integrity(); }
  std::unique_ptr<Inspection> inspect() override { return std::make_unique<MemoryInspection>(database_); }

 private:
  const std::shared_ptr<MemoryDatabase> database_;
  const StoreAccess access_;
  const std::function<std::int64_t()> now_us_;
  const std::shared_ptr<ListenerSlot> listener_;
};

}  // namespace

std::shared_ptr<MemoryDatabase> make_memory_database() { return std::make_shared<MemoryDatabase>(); }

std::unique_ptr<Store> open_memory_store(std::shared_ptr<MemoryDatabase> database, StoreOptions options) {
  return std::make_unique<MemoryStore>(std::move(database), std::move(options));
}

}  // namespace flowfabric
