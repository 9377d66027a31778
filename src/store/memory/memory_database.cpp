// Sessions and changes.
#include "store/memory/memory_database.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.hpp"
#include "store/memory/obligations.hpp"
#include "store/put_index.hpp"

namespace flowfabric {
namespace {

constexpr auto longest_wait_to_hold = std::chrono::seconds(10);

}  // namespace

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
  std::map<std::uint64_t, std::uint32_t> groups;
  for (const GroupDemand& demand : request.groups) groups.emplace(demand.group, demand.limit);
  for (const auto& [group, limit] : groups) {
    const auto found = static_cast<std::uint32_t>(reply.grouped.size());
    find_grouped(group, std::min(request.group_limit, found + std::min(limit, request.group_limit)), reply.grouped);
  }
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

}  // namespace flowfabric
