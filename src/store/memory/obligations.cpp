#include "store/memory/obligations.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "store/memory/memory_orders.hpp"
#include "store/put_index.hpp"

namespace flowfabric {
namespace {

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
  // A slot changes hands together with the lease, wherever its pool and the executions that want it lie. A redrive counts
  // what it replays, wherever that lies.
  const bool spans_partitions = std::any_of(set.roots.begin(), set.roots.end(), [](const RootChange& change) {
    return change.key.kind() == RecordKind::limit_pool || change.key.kind() == RecordKind::limits ||
           change.key.kind() == RecordKind::redrive;
  });
  std::optional<std::uint16_t> partition;
  const auto check = [&](const Key& key) {
    FF_CHECK(is_well_formed(key));
    if (!partition) partition = key.partition();
    FF_CHECK(spans_partitions || key.partition() == *partition);
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
bool is_check(RootChange::Action action) { return action == RootChange::Action::check; }

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

}  // namespace

void check_sets(const std::vector<ChangeSet>& sets) {
  std::map<Key, ChangedRoot> roots;
  for (const auto& set : sets) {
    check_one_partition(set);
    std::set<Key> own;
    for (const auto& change : set.roots) {
      FF_CHECK(own.insert(change.key).second);
      const auto [other, is_first] = roots.emplace(change.key, ChangedRoot{&set, change.action});
      FF_CHECK(is_first || (is_check(change.action) && is_check(other->second.action)));
    }
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
  for (const auto& demand : request.groups) FF_CHECK(is_group(demand.group) && groups.insert(demand.group).second);
}

}  // namespace flowfabric
