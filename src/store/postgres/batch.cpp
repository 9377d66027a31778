#include "store/postgres/batch.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

namespace flowfabric::postgres {
namespace {

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

// The planner must never be free to begin a join at the table: of a table that was empty at its last vacuum it believes
// that reading all of it is cheap, and it keeps the plan while the table grows. So rows are looked up from the array
// outwards, by subqueries that stand LATERAL behind a LIMIT or OFFSET, or by MERGE, whose insertions make it an outer
// join from the array. Deleting by ctid is safe where rows are never updated or are locked by then.

// No guard: the owner of an entry is guarded. Goes first, because a search in another session may hold the row's lock
// and will next want the record: whoever takes the entry before the record cannot deadlock. Index ready_order.
constexpr Statement drop_ready = {"drop_ready", R"sql(
DELETE FROM ready WHERE ctid = ANY (ARRAY(
  SELECT r.ctid FROM unnest($1::int[], $2::int[], $3::bigint[], $4::bytea[]) i(route, priority, sequence, key)
  CROSS JOIN LATERAL (
    SELECT ctid FROM ready
    WHERE route = i.route AND priority = i.priority AND sequence = i.sequence AND key = i.key LIMIT 1) r)))sql"};

// As drop_ready. Index due_pkey.
constexpr Statement drop_due = {"drop_due", R"sql(
DELETE FROM due WHERE ctid = ANY (ARRAY(
  SELECT d.ctid FROM unnest($1::bigint[], $2::bytea[]) i(due_at, key)
  CROSS JOIN LATERAL (SELECT ctid FROM due WHERE due_at = i.due_at AND key = i.key LIMIT 1) d)))sql"};

// Guard: none of the keys exists. The unique violation does it: ON CONFLICT would cost half as much again, for what
// hardly ever happens. Waits for another transaction that is creating one. Indexes root_pkey, root_listing.
constexpr Statement insert_roots = {"insert_roots", R"sql(
INSERT INTO root (key, record_kind, created_at, name_space, lane, kind, flow, fixed, version, finished_at, state, tags,
  body)
SELECT * FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bytea[],
  $8::bytea[], $9::bigint[], $10::bigint[], $11::smallint[], $12::text[], $13::bytea[]))sql"};

// Guard: every key is at the expected version; `conflict()` ends the transaction. Waits for another transaction that
// changes one and looks again. Index root_pkey; no indexed column changes.
constexpr Statement update_roots = {"update_roots", R"sql(
MERGE INTO root r
USING unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::smallint[], $5::text[], $6::bytea[])
  i(key, expected, finished_at, state, tags, body)
ON r.key = i.key
WHEN MATCHED AND r.version = i.expected THEN
  UPDATE SET version = i.expected + 1, finished_at = i.finished_at, state = i.state, tags = i.tags, body = i.body
WHEN MATCHED THEN UPDATE SET version = conflict()
WHEN NOT MATCHED THEN INSERT (key, version) VALUES (i.key, conflict()))sql"};

// Guard: every key is at the expected version, and stays so until we commit because of the share lock. Index root_pkey.
constexpr Statement check_roots = {"check_roots", R"sql(
SELECT assert_count(count(*), $3::int, 'FF001') FROM unnest($1::bytea[], $2::bigint[]) i(key, expected)
CROSS JOIN LATERAL (SELECT FROM root WHERE key = i.key AND version = i.expected LIMIT 1 FOR SHARE) held)sql"};

// Guard: every key is at the expected version; the lock waits for another transaction and looks again, then the rows
// are ours to delete. Index root_pkey. Also ends the proof that a record does not exist, see queue_roots.
constexpr Statement erase_roots = {"erase_roots", R"sql(
WITH done AS (
  DELETE FROM root WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($1::bytea[], $2::bigint[]) i(key, expected)
    CROSS JOIN LATERAL (SELECT ctid FROM root WHERE key = i.key AND version = i.expected LIMIT 1 FOR UPDATE) r))
  RETURNING 1)
SELECT assert_count(count(*), $3::int, 'FF001') FROM done)sql"};

// No guard of its own: the root is guarded, and locked by now. Index satellite_pkey.
constexpr Statement erase_satellites = {"erase_satellites", R"sql(
DELETE FROM satellite WHERE ctid = ANY (ARRAY(
  SELECT s.ctid FROM unnest($1::bytea[]) i(root)
  CROSS JOIN LATERAL (SELECT ctid FROM satellite WHERE root = i.root OFFSET 0) s)))sql"};

// Removes the events of erased roots and raises the floor of the log to the last one removed, so that a reader who
// would miss one is told. Indexes event_root, log_floor's single row.
constexpr Statement erase_events = {"erase_events", R"sql(
WITH gone AS (
  DELETE FROM event WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM unnest($1::bytea[]) i(root)
    CROSS JOIN LATERAL (SELECT ctid FROM event WHERE root = i.root OFFSET 0) e))
  RETURNING xid, n),
last AS (SELECT xid, n FROM gone ORDER BY xid DESC, n DESC LIMIT 1)
UPDATE log_floor f SET xid = last.xid, n = last.n FROM last WHERE (f.xid, f.n) < (last.xid, last.n))sql"};

// No guard. An entry is put once, so the plain statement does; the patient one takes the place of a unique violation,
// and costs twice as much for it. Indexes ready_order, ready_namespace.
#define FF_PUT_READY                                               \
  "INSERT INTO ready (route, priority, sequence, key, name_space)" \
  " SELECT * FROM unnest($1::int[], $2::int[], $3::bigint[], $4::bytea[], $5::text[])"
constexpr Statement put_ready = {"put_ready", FF_PUT_READY};
constexpr Statement put_ready_patiently = {"put_ready_patiently", FF_PUT_READY " ON CONFLICT DO NOTHING"};

// As put_ready. Indexes due_pkey and, for entries in a group, due_group.
#define FF_PUT_DUE                                \
  "INSERT INTO due (due_at, key, group_no, rank)" \
  " SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[])"
constexpr Statement put_due = {"put_due", FF_PUT_DUE};
constexpr Statement put_due_patiently = {"put_due_patiently", FF_PUT_DUE " ON CONFLICT DO NOTHING"};

// No guard of its own: the root is guarded. Index satellite_pkey.
constexpr Statement put_satellites = {"put_satellites", R"sql(
INSERT INTO satellite (root, kind, n, body)
SELECT root, kind, n, body FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::bytea[]) i(root, kind, n, body)
ON CONFLICT (root, kind, n) DO UPDATE SET body = EXCLUDED.body)sql"};

// As erase_satellites.
constexpr Statement drop_satellites = {"drop_satellites", R"sql(
DELETE FROM satellite WHERE ctid = ANY (ARRAY(
  SELECT s.ctid FROM unnest($1::bytea[], $2::smallint[], $3::bigint[]) i(root, kind, n)
  CROSS JOIN LATERAL (SELECT ctid FROM satellite WHERE root = i.root AND kind = i.kind AND n = i.n LIMIT 1) s)))sql"};

// No guard; the transaction number is the column's default. Indexes event_pkey, event_root.
constexpr Statement append_events = {"append_events", R"sql(
INSERT INTO event (n, type, at, root, name_space, lane, body)
SELECT n, type, at, root, name_space, lane, body
FROM unnest($1::int[], $2::smallint[], $3::bigint[], $4::bytea[], $5::text[], $6::text[], $7::bytea[])
  i(n, type, at, root, name_space, lane, body))sql"};

// Guard: no counter is above the value from which the adds fit its limit. Index counter_pkey.
constexpr Statement add_counters = {"add_counters", R"sql(
MERGE INTO counter c USING unnest($1::bytea[], $2::bigint[], $3::bigint[]) i(key, delta, room) ON c.key = i.key
WHEN MATCHED AND c.value <= i.room THEN UPDATE SET value = c.value + i.delta
WHEN MATCHED THEN UPDATE SET value = conflict()
WHEN NOT MATCHED AND 0 <= i.room THEN INSERT (key, value) VALUES (i.key, i.delta)
WHEN NOT MATCHED THEN INSERT (key, value) VALUES (i.key, conflict()))sql"};

std::string_view key_of(const RootChange* change) { return change->key.bytes; }
std::int64_t version_of(const RootChange* change) { return static_cast<std::int64_t>(change->expected_version); }

// Gives a getter for one field of a listing, null for records that are not listed.
template <class T, class Get>
auto listed(Get get) {
  return [get](const RootChange* change) -> std::optional<T> {
    if (!change->listing) return std::nullopt;
    return T(get(*change->listing));
  };
}

using Text = std::string_view;
using Int = std::int64_t;

// One order of keys in every session keeps most deadlocks away; the server finds the rest.
void sort_by_key(std::vector<const RootChange*>& changes) {
  std::sort(changes.begin(), changes.end(), [](const auto* a, const auto* b) {
    return std::tie(a->key, a->expected_version) < std::tie(b->key, b->expected_version);
  });
}

// Several sets may rest on one settings record; the server must count it once.
void drop_repeats(std::vector<const RootChange*>& changes) {
  const auto same = [](const auto* a, const auto* b) {
    return a->key == b->key && a->expected_version == b->expected_version;
  };
  changes.erase(std::unique(changes.begin(), changes.end(), same), changes.end());
}

void sort_ready(std::vector<const ReadyEntry*>& entries) {
  std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
    return std::tie(a->route, b->priority, a->sequence, a->key) < std::tie(b->route, a->priority, b->sequence, b->key);
  });
}

void sort_due(std::vector<const DueEntry*>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return std::tie(a->due_at, a->key) < std::tie(b->due_at, b->key); });
}

Params ready_names(const std::vector<const ReadyEntry*>& entries) {
  Params params;
  params.array(Type::int4, entries, [](const auto* e) { return Int(e->route); })
      .array(Type::int4, entries, [](const auto* e) { return Int(e->priority); })
      .array(Type::int8, entries, [](const auto* e) { return static_cast<Int>(e->sequence); })
      .array(Type::bytea, entries, [](const auto* e) { return Text(e->key.bytes); });
  return params;
}

Params ready_params(const std::vector<const ReadyEntry*>& entries) {
  Params params = ready_names(entries);
  params.array(Type::text, entries, [](const auto* e) { return Text(e->name_space); });
  return params;
}

Params due_names(const std::vector<const DueEntry*>& entries) {
  Params params;
  params.array(Type::int8, entries, [](const auto* e) { return Int(e->due_at); })
      .array(Type::bytea, entries, [](const auto* e) { return Text(e->key.bytes); });
  return params;
}

Params due_params(const std::vector<const DueEntry*>& entries) {
  Params params = due_names(entries);
  params.array(Type::int8, entries, [](const auto* e) { return static_cast<Int>(e->group); })
      .array(Type::int8, entries, [](const auto* e) { return Int(e->rank); });
  return params;
}

Params keys_params(const std::vector<const RootChange*>& changes) {
  Params params;
  params.array(Type::bytea, changes, key_of);
  return params;
}

Params guard_params(const std::vector<const RootChange*>& changes) {
  Params params = keys_params(changes);
  params.array(Type::int8, changes, version_of).int4(static_cast<Int>(changes.size()));
  return params;
}

// The columns that every put writes.
Params& add_changing(Params& params, const std::vector<const RootChange*>& changes) {
  return params.array(Type::int8, changes, listed<Int>([](const Listing& l) { return l.finished_at; }))
      .array(Type::int2, changes, listed<Int>([](const Listing& l) { return l.state; }))
      .array(Type::text, changes, listed<Text>([](const Listing& l) -> const std::string& { return l.tags; }))
      .array(Type::bytea, changes, [](const RootChange* c) { return Text(c->body); });
}

Params insert_params(const std::vector<const RootChange*>& changes) {
  Params params = keys_params(changes);
  const auto kind = [](const RootChange* c) {
    return c->listing ? std::optional<Int>(static_cast<Int>(c->key.kind())) : std::nullopt;
  };
  params.array(Type::int2, changes, kind)
      .array(Type::int8, changes, listed<Int>([](const Listing& l) { return l.created_at; }))
      .array(Type::text, changes, listed<Text>([](const Listing& l) -> const std::string& { return l.name_space; }))
      .array(Type::text, changes, listed<Text>([](const Listing& l) -> const std::string& { return l.lane; }))
      .array(Type::text, changes, listed<Text>([](const Listing& l) -> const std::string& { return l.kind; }))
      .array(Type::bytea, changes, listed<Text>([](const Listing& l) -> const std::string& { return l.flow; }))
      .array(Type::bytea, changes, [](const RootChange* c) { return Text(c->fixed); })
      .array(Type::int8, changes, [](const RootChange* c) { return static_cast<Int>(c->first_version); });
  return add_changing(params, changes);
}

Params update_params(const std::vector<const RootChange*>& changes) {
  Params params = keys_params(changes);
  params.array(Type::int8, changes, version_of);
  return add_changing(params, changes);
}

}  // namespace

Batch::Batch(const std::vector<ChangeSet>& sets, const std::vector<std::size_t>& chosen) {
  for (const std::size_t i : chosen) add(sets[i]);
  sum_counters(sets, chosen);
  sort();
}

void Batch::add(const ChangeSet& set) {
  for (const auto& change : set.roots) {
    if (change.action == RootChange::Action::erase) {
      erasures_.push_back(&change);
    } else if (change.action == RootChange::Action::check) {
      (change.expected_version == 0 ? absences_ : checks_).push_back(&change);
    } else {
      (change.expected_version == 0 ? inserts_ : updates_).push_back(&change);
    }
  }
  for (const auto& entry : set.ready_put) ready_put_.push_back(&entry);
  for (const auto& entry : set.ready_drop) ready_drop_.push_back(&entry);
  for (const auto& entry : set.due_put) due_put_.push_back(&entry);
  for (const auto& entry : set.due_drop) due_drop_.push_back(&entry);
  for (const auto& satellite : set.satellites) satellites_.push_back(&satellite);
  for (const auto& name : set.satellites_drop) satellites_drop_.push_back(&name);
  // Numbers begin at 1 so that (xid, 0) is the place before everything of a transaction.
  for (const auto& entry : set.log) events_.push_back({&entry, static_cast<std::int32_t>(events_.size() + 1)});
}

// A set counts as a whole. The sum allows what is allowed in every order: all growth before any shrinking, under the
// tightest limit. That can be too strict for several sets at once; the session then commits them one by one.
void Batch::sum_counters(const std::vector<ChangeSet>& sets, const std::vector<std::size_t>& chosen) {
  struct Total {
    std::int64_t delta = 0, growth = 0, limit = int64_max;
  };
  std::map<std::string_view, std::pair<const Key*, Total>> totals;
  for (const std::size_t i : chosen) {
    std::map<std::string_view, std::int64_t> of_set;
    for (const auto& add : sets[i].counters) {
      auto& [key, total] = totals[add.counter.bytes];
      key = &add.counter;
      total.delta += add.delta;
      total.limit = std::min(total.limit, add.limit);
      of_set[add.counter.bytes] += add.delta;
    }
    for (const auto& [key, delta] : of_set) {
      // A set on its own needs no slack: its net change, even a negative one, is what is compared.
      auto& growth = totals[key].second.growth;
      growth = chosen.size() == 1 ? delta : growth + std::max<std::int64_t>(delta, 0);
    }
  }
  for (const auto& [bytes, entry] : totals) {
    const auto& [key, total] = entry;
    const bool unlimited = total.growth < 0 && total.limit > int64_max + total.growth;
    counters_.push_back({key, total.delta, unlimited ? int64_max : total.limit - total.growth});
  }
}

void Batch::sort() {
  for (auto* changes : {&inserts_, &updates_, &erasures_, &checks_, &absences_}) sort_by_key(*changes);
  drop_repeats(checks_);
  drop_repeats(absences_);
  for (auto* entries : {&ready_put_, &ready_drop_}) sort_ready(*entries);
  for (auto* entries : {&due_put_, &due_drop_}) sort_due(*entries);
  // Of several puts to one name, which only one set can hold, the last counts: the server refuses to write a row twice.
  std::sort(satellites_.begin(), satellites_.end(),
            [](const auto* a, const auto* b) { return std::tie(a->name, a) < std::tie(b->name, b); });
  const auto last = std::unique(satellites_.rbegin(), satellites_.rend(),
                                [](const auto* a, const auto* b) { return a->name == b->name; });
  satellites_.erase(satellites_.begin(), last.base());
}

void Batch::queue(Connection& connection, bool patiently) const {
  queue_drops(connection);
  queue_roots(connection);
  queue_erasures(connection);
  queue_counters(connection);
  queue_satellites(connection);
  queue_puts(connection, patiently);
}

void Batch::queue_drops(Connection& connection) const {
  if (!ready_drop_.empty()) connection.queue(drop_ready, ready_names(ready_drop_));
  if (!due_drop_.empty()) connection.queue(drop_due, due_names(due_drop_));
}

// That a record does not exist cannot be locked. So it is created and erased again: whoever creates it at the same time
// waits for us, or we for him.
void Batch::queue_roots(Connection& connection) const {
  if (!inserts_.empty()) connection.queue(insert_roots, insert_params(inserts_));
  if (!absences_.empty()) {
    connection.queue(insert_roots, insert_params(absences_));
    Params params = keys_params(absences_);
    params.array(Type::int8, absences_, [](const RootChange* c) { return static_cast<Int>(c->first_version); })
        .int4(static_cast<Int>(absences_.size()));
    connection.queue(erase_roots, params);
  }
  if (!updates_.empty()) connection.queue(update_roots, update_params(updates_));
  if (!checks_.empty()) connection.queue(check_roots, guard_params(checks_));
}

void Batch::queue_erasures(Connection& connection) const {
  if (erasures_.empty()) return;
  const Params keys = keys_params(erasures_);
  connection.queue(erase_roots, guard_params(erasures_));
  connection.queue(erase_satellites, keys);
  connection.queue(erase_events, keys);
}

void Batch::queue_counters(Connection& connection) const {
  if (counters_.empty()) return;
  Params params;
  params.array(Type::bytea, counters_, [](const CounterSum& sum) { return Text(sum.counter->bytes); });
  params.array(Type::int8, counters_, [](const CounterSum& sum) { return sum.delta; })
      .array(Type::int8, counters_, [](const CounterSum& sum) { return sum.room; });
  connection.queue(add_counters, params);
}

void Batch::queue_satellites(Connection& connection) const {
  if (!satellites_drop_.empty()) {
    Params params;
    params.array(Type::bytea, satellites_drop_, [](const auto* name) { return Text(name->root.bytes); })
        .array(Type::int2, satellites_drop_, [](const auto* name) { return Int(name->kind); })
        .array(Type::int8, satellites_drop_, [](const auto* name) { return Int(name->n); });
    connection.queue(drop_satellites, params);
  }
  if (satellites_.empty()) return;
  Params params;
  params.array(Type::bytea, satellites_, [](const auto* satellite) { return Text(satellite->name.root.bytes); })
      .array(Type::int2, satellites_, [](const auto* satellite) { return Int(satellite->name.kind); })
      .array(Type::int8, satellites_, [](const auto* satellite) { return Int(satellite->name.n); })
      .array(Type::bytea, satellites_, [](const auto* satellite) { return Text(satellite->body); });
  connection.queue(put_satellites, params);
}

void Batch::queue_puts(Connection& connection, bool patiently) const {
  if (!ready_put_.empty()) connection.queue(patiently ? put_ready_patiently : put_ready, ready_params(ready_put_));
  if (!due_put_.empty()) connection.queue(patiently ? put_due_patiently : put_due, due_params(due_put_));
  if (events_.empty()) return;
  Params params;
  params.array(Type::int4, events_, [](const Event& e) { return Int(e.n); })
      .array(Type::int2, events_, [](const Event& e) { return Int(e.entry->type); })
      .array(Type::int8, events_, [](const Event& e) { return Int(e.entry->at); })
      .array(Type::bytea, events_, [](const Event& e) { return Text(e.entry->root.bytes); })
      .array(Type::text, events_, [](const Event& e) { return Text(e.entry->name_space); })
      .array(Type::text, events_, [](const Event& e) { return Text(e.entry->lane); })
      .array(Type::bytea, events_, [](const Event& e) { return Text(e.entry->body); });
  connection.queue(append_events, params);
}

}  // namespace flowfabric::postgres
