#include "store/postgres/batch.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "base/text.hpp"
#include "store/postgres/incarnation.hpp"
#include "store/put_index.hpp"

namespace flowfabric::postgres {
namespace {

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

// The planner must never be able to start a join at the table: for a table that was empty at its last vacuum it assumes
// that a full scan is cheap, and it keeps the plan while the table grows. Therefore rows are looked up from the array,
// by LATERAL subqueries with a LIMIT or OFFSET, or by MERGE, whose insertions make it an outer join from the array.
// Arrays are unnested in a select list, where they advance together: `FROM unnest(...)` would first materialise the
// elements of each array. Deleting by ctid is safe if rows are never updated or are already locked.

// No guard: the owner of an entry is guarded. Goes first, because a search in another session may hold the row's lock
// and will then lock the record: taking the entry before the record avoids a deadlock. Index ready_order.
constexpr Statement drop_ready = {"drop_ready", R"sql(
DELETE FROM ready WHERE ctid = ANY (ARRAY(
  SELECT r.ctid
  FROM (SELECT unnest($1::bigint[]) AS route, unnest($2::int[]) AS priority, unnest($3::bigint[]) AS sequence,
          unnest($4::bytea[]) AS key) i
  CROSS JOIN LATERAL (
    SELECT ctid FROM ready
    WHERE route = i.route AND priority = i.priority AND sequence = i.sequence AND key = i.key LIMIT 1) r)))sql"};

// The same for entries that a search of this transaction has found and locked. A record at the guarded version has one
// entry, so the entry found is the right one.
constexpr Statement drop_held_ready = {"drop_held_ready", "DELETE FROM ready WHERE ctid = ANY($1::tid[])"};

// As drop_ready. Index due_pkey.
constexpr Statement drop_due = {"drop_due", R"sql(
DELETE FROM due WHERE ctid = ANY (ARRAY(
  SELECT d.ctid FROM (SELECT unnest($1::bigint[]) AS due_at, unnest($2::bytea[]) AS key) i
  CROSS JOIN LATERAL (SELECT ctid FROM due WHERE due_at = i.due_at AND key = i.key LIMIT 1) d)))sql"};

// Guard: none of the keys exists. The unique violation checks it: ON CONFLICT would cost half as much again, for a rare
// case. Waits for another transaction that is creating one. Indexes root_pkey, root_listing.
constexpr Statement insert_roots = {"insert_roots", R"sql(
INSERT INTO root (key, record_kind, created_at, name_space, lane, kind, flow, fixed, version, finished_at, state, tags,
  body, log_n, log_xid)
SELECT i.*, CASE WHEN i.log_n IS NOT NULL THEN )sql" FF_LOG_NUMBER("$15") R"sql( END
FROM (SELECT unnest($1::bytea[]), unnest($2::smallint[]), unnest($3::bigint[]), unnest($4::text[]), unnest($5::text[]),
        unnest($6::text[]), unnest($7::bytea[]), unnest($8::bytea[]), unnest($9::bigint[]), unnest($10::bigint[]),
        unnest($11::smallint[]), unnest($12::text[]), unnest($13::bytea[]), unnest($14::int[]) AS log_n) i)sql"};

// Guard: every key is at the expected version; `conflict()` aborts the transaction. Waits for another transaction that
// changes one and checks again. No indexed column changes. A record is found by its key (index root_pkey) or, for a
// quarter less, at the position where it was loaded: if it has moved, it was changed, or the next attempt finds it.
//
// The same guard keeps the entries of a record in the order of their commits. A transaction has its number since its first
// lock, which may be older than the record that it has read; then its entry would stand before those that are there. That
// is a conflict too, and the next attempt, a new transaction with a higher number, writes it.
#define FF_UPDATE_ROOTS(FROM, WHERE, HOLDS)                                                                           \
  "MERGE INTO root r USING ("                                                                                         \
  " SELECT unnest($1::bytea[]) AS key, unnest($2::bigint[]) AS expected, unnest($3::bigint[]) AS finished_at,"        \
  "  unnest($4::smallint[]) AS state, unnest($5::text[]) AS tags, unnest($6::bytea[]) AS body,"                       \
  "  unnest($7::int[]) AS log_n, " FF_LOG_NUMBER(                                                                     \
      "$8") " AS log_xid" FROM ") i ON " WHERE " WHEN MATCHED AND r.version = i.expected" HOLDS                       \
            "  AND (i.log_n IS NULL OR r.log_xid IS NULL OR r.log_xid < i.log_xid)"                                   \
            " THEN UPDATE SET version = i.expected + 1, finished_at = i.finished_at, state = i.state, tags = i.tags," \
            "  body = i.body, log_n = coalesce(i.log_n, r.log_n),"                                                    \
            "  log_xid = CASE WHEN i.log_n IS NOT NULL THEN i.log_xid ELSE r.log_xid END"                             \
            " WHEN MATCHED THEN UPDATE SET version = conflict()"                                                      \
            " WHEN NOT MATCHED THEN INSERT (key, version) VALUES (i.key, conflict())"
constexpr Statement update_roots = {"update_roots", FF_UPDATE_ROOTS("", "r.key = i.key", "")};
constexpr Statement update_roots_in_place = {
    "update_roots_in_place", FF_UPDATE_ROOTS(", unnest($9::tid[]) AS place", "r.ctid = i.place", " AND r.key = i.key")};

// For a repair: the columns that otherwise never change. No guard: update_roots has changed the record before. Indexes
// root_pkey, root_listing.
constexpr Statement relist_root = {"relist_root", R"sql(
UPDATE root SET record_kind = $2::int, created_at = $3::bigint, name_space = $4::text, lane = $5::text, kind = $6::text,
  flow = $7::bytea
WHERE key = $1::bytea)sql"};

// Guard: every key is at the expected version, and stays so until the commit because of the share lock. It never waits: the
// records of this batch are locked by now, and another session that is changing the record may be waiting for one of them.
// Index root_pkey.
constexpr Statement check_roots = {"check_roots", R"sql(
SELECT assert_count(count(*), $3::int, 'FF001') FROM unnest($1::bytea[], $2::bigint[]) i(key, expected)
CROSS JOIN LATERAL (SELECT FROM root WHERE key = i.key AND version = i.expected LIMIT 1 FOR SHARE SKIP LOCKED) held)sql"};

// Guard: every key is at the expected version; the lock waits for another transaction and checks again, then the rows
// can be deleted. Index root_pkey. Also used to check that a record does not exist, see queue_roots.
constexpr Statement erase_roots = {"erase_roots", R"sql(
WITH done AS (
  DELETE FROM root WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($1::bytea[], $2::bigint[]) i(key, expected)
    CROSS JOIN LATERAL (SELECT ctid FROM root WHERE key = i.key AND version = i.expected LIMIT 1 FOR UPDATE) r))
  RETURNING 1)
SELECT assert_count(count(*), $3::int, 'FF001') FROM done)sql"};

// No separate guard: the root is guarded, and already locked. Index satellite_pkey.
constexpr Statement erase_satellites = {"erase_satellites", R"sql(
DELETE FROM satellite WHERE ctid = ANY (ARRAY(
  SELECT s.ctid FROM unnest($1::bytea[]) i(root)
  CROSS JOIN LATERAL (SELECT ctid FROM satellite WHERE root = i.root OFFSET 0) s)))sql"};

// Empties the entries of erased records in place, starting from their newest entries, and removes pages without other
// entries. Entries never move and their page exists while they count, so the walk finds them all; the update waits for
// another transaction and checks again. Index log_pkey.
constexpr Statement erase_entries = {"erase_entries", R"sql(
MERGE INTO log l
USING (
  WITH RECURSIVE chain(xid, n, page, prev_xid, prev_n) AS (
    SELECT p.xid, h.n, p.n, p.prev_xids[h.n - p.n + 1], p.prev_ns[h.n - p.n + 1]
    FROM unnest($1::xid8[], $2::int[]) h(xid, n)
    CROSS JOIN LATERAL (SELECT * FROM log WHERE xid = h.xid AND n <= h.n ORDER BY n DESC LIMIT 1) p
    UNION ALL
    SELECT p.xid, c.prev_n, p.n, p.prev_xids[c.prev_n - p.n + 1], p.prev_ns[c.prev_n - p.n + 1]
    FROM chain c
    CROSS JOIN LATERAL (
      SELECT * FROM log WHERE xid = CASE WHEN c.prev_xid = '0' THEN c.xid ELSE c.prev_xid END AND n <= c.prev_n
      ORDER BY n DESC LIMIT 1) p
    WHERE c.prev_n <> 0)
  SELECT xid, page, array_agg(n - page + 1) AS places FROM chain GROUP BY xid, page ORDER BY xid, page) gone
ON l.xid = gone.xid AND l.n = gone.page
WHEN MATCHED AND l.live <= cardinality(gone.places) THEN DELETE
WHEN MATCHED THEN UPDATE SET live = l.live - cardinality(gone.places), entries = ARRAY(
  SELECT CASE WHEN e.place = ANY(gone.places) THEN '' ELSE e.entry END
  FROM unnest(l.entries) WITH ORDINALITY e(entry, place) ORDER BY e.place)
WHEN NOT MATCHED THEN INSERT (n) VALUES (conflict()))sql"};

// Notes the last entry that was ever erased: with the newest that is stored it says where the log ends (event_log.cpp).
constexpr Statement raise_floor = {"raise_floor", R"sql(
UPDATE log_floor SET xid = $1::xid8, n = $2::int WHERE (xid, n) < ($1::xid8, $2::int))sql"};

// No guard. An entry is put once, so the plain statement is sufficient; the patient one avoids a unique violation, and
// costs twice as much. Indexes ready_order, ready_namespace.
#define FF_PUT_READY                                               \
  "INSERT INTO ready (route, priority, sequence, key, name_space)" \
  " SELECT unnest($1::bigint[]), unnest($2::int[]), unnest($3::bigint[]), unnest($4::bytea[]), unnest($5::text[])"
constexpr Statement put_ready = {"put_ready", FF_PUT_READY};
constexpr Statement put_ready_patiently = {"put_ready_patiently", FF_PUT_READY " ON CONFLICT DO NOTHING"};

// As put_ready. Indexes due_pkey and, for entries in a group, due_group.
#define FF_PUT_DUE                                \
  "INSERT INTO due (due_at, key, group_no, rank)" \
  " SELECT unnest($1::bigint[]), unnest($2::bytea[]), unnest($3::bigint[]), unnest($4::bigint[])"
constexpr Statement put_due = {"put_due", FF_PUT_DUE};
constexpr Statement put_due_patiently = {"put_due_patiently", FF_PUT_DUE " ON CONFLICT DO NOTHING"};

// Makes sure that the routes of what was put are stored. After everything else that waits, because it may wait for another
// commit that adds routes, and that commit then waits for nothing more. Index route_number.
constexpr Statement put_routes = {"put_routes", "SELECT put_routes($1::bigint[], $2::text[], $3::text[], $4::text[])"};

// No separate guard: the root is guarded. Index satellite_pkey.
constexpr Statement put_satellites = {"put_satellites", R"sql(
INSERT INTO satellite (root, kind, n, body)
SELECT root, kind, n, body FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::bytea[]) i(root, kind, n, body)
ON CONFLICT (root, kind, n) DO UPDATE SET body = EXCLUDED.body)sql"};

// As erase_satellites.
constexpr Statement drop_satellites = {"drop_satellites", R"sql(
DELETE FROM satellite WHERE ctid = ANY (ARRAY(
  SELECT s.ctid FROM unnest($1::bytea[], $2::smallint[], $3::bigint[]) i(root, kind, n)
  CROSS JOIN LATERAL (SELECT ctid FROM satellite WHERE root = i.root AND kind = i.kind AND n = i.n LIMIT 1) s)))sql"};

// Guard: the records of appends exist ($2 is 1 for these, $3 their number). Who changes a sequence has the record's lock
// until the commit: so numbers are given in the order of commits, and the record cannot be erased meanwhile. Before
// check_roots, whose weaker lock two sessions could not both replace by this one. Index root_pkey.
constexpr Statement lock_sequences = {"lock_sequences", R"sql(
SELECT assert_count(coalesce(sum(i.needed), 0), $3::int, 'FF001') FROM unnest($1::bytea[], $2::int[]) i(key, needed)
CROSS JOIN LATERAL (SELECT FROM root WHERE key = i.key LIMIT 1 FOR NO KEY UPDATE) held)sql"};

// No guard. What is left of a sequence keeps its highest number, or a row that holds it does: see the migration. Index
// sequence_entry_pkey.
constexpr Statement drop_entries = {"drop_entries", R"sql(
WITH gone AS (
  DELETE FROM sequence_entry WHERE ctid = ANY (ARRAY(
    SELECT s.ctid FROM unnest($1::bytea[], $2::smallint[], $3::bigint[]) i(root, kind, below)
    CROSS JOIN LATERAL (
      SELECT ctid FROM sequence_entry WHERE root = i.root AND kind = i.kind AND n < i.below OFFSET 0) s))
  RETURNING root, kind, abs(n) AS number)
INSERT INTO sequence_entry (root, kind, n, body)
SELECT g.root, g.kind, -g.last, '' FROM (SELECT root, kind, max(number) AS last FROM gone GROUP BY root, kind) g
WHERE (SELECT count(*) FROM (
  SELECT FROM sequence_entry WHERE root = g.root AND kind = g.kind AND n > g.last LIMIT 1) more) = 0)sql"};
constexpr Statement drop_sequences = {"drop_sequences", R"sql(
DELETE FROM sequence_entry WHERE ctid = ANY (ARRAY(
  SELECT s.ctid FROM unnest($1::bytea[], $2::smallint[]) i(root, kind)
  CROSS JOIN LATERAL (SELECT ctid FROM sequence_entry WHERE root = i.root AND kind = i.kind OFFSET 0) s)))sql"};

// As erase_satellites.
constexpr Statement erase_sequences = {"erase_sequences", R"sql(
DELETE FROM sequence_entry WHERE ctid = ANY (ARRAY(
  SELECT s.ctid FROM unnest($1::bytea[]) i(root)
  CROSS JOIN LATERAL (SELECT ctid FROM sequence_entry WHERE root = i.root OFFSET 0) s)))sql"};

// No separate guard: lock_sequences came before. $3 counts the entries of one sequence within this statement, from 1 on.
// Result: the numbers. Index sequence_entry_pkey.
constexpr Statement append_entries = {"append_entries", R"sql(
INSERT INTO sequence_entry (root, kind, n, body)
SELECT i.root, i.kind, coalesce(last.number, 0) + i.turn, i.body
FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::bytea[]) i(root, kind, turn, body)
LEFT JOIN LATERAL (
  SELECT abs(n) AS number FROM sequence_entry WHERE root = i.root AND kind = i.kind ORDER BY n DESC LIMIT 1) last ON true
RETURNING root, kind, n)sql"};

// No guard. Index log_pkey.
constexpr Statement append_page = {"append_page", R"sql(
INSERT INTO log (n, live, entries, prev_xids, prev_ns, xid)
VALUES ($1::int, $2::int, $3::bytea[], $4::xid8[], $5::int[], )sql" FF_LOG_NUMBER("$6") ")"};

// No guard. Hardly ever waits, because no other session has the same part (see session.cpp). Index counter_pkey; values are
// in no index, so updates stay on their page.
constexpr Statement add_to_counters = {"add_to_counters", R"sql(
MERGE INTO counter c USING (SELECT unnest($1::bytea[]) AS name, unnest($2::bigint[]) AS delta, $3::int AS part) i
ON c.name = i.name AND c.part = i.part
WHEN MATCHED THEN UPDATE SET value = c.value + i.delta
WHEN NOT MATCHED THEN INSERT (name, part, value) VALUES (i.name, i.part, i.delta))sql"};

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

// The same order of keys in every session avoids most deadlocks; the server detects the others.
void sort_by_key(std::vector<const RootChange*>& changes) {
  std::sort(changes.begin(), changes.end(), [](const auto* a, const auto* b) {
    return std::tie(a->key, a->expected_version) < std::tie(b->key, b->expected_version);
  });
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
  params.array(Type::int8, entries, [](const auto* e) { return static_cast<Int>(e->route); })
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

using Changes = std::span<const RootChange* const>;

// A message to the server may have one gigabyte. Rows that may be large are sent in several statements.
constexpr std::size_t max_statement_bytes = std::size_t{32} << 20;

// The rows in their order, in as few pieces as allowed; a piece has at least one row.
template <class Row, class BytesOf>
std::vector<std::span<const Row* const>> pieces(const std::vector<const Row*>& rows, BytesOf bytes_of) {
  std::vector<std::span<const Row* const>> out;
  std::size_t from = 0, bytes = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t more = bytes_of(*rows[i]);
    if (i > from && bytes + more > max_statement_bytes) {
      out.emplace_back(&rows[from], i - from);
      from = i;
      bytes = 0;
    }
    bytes += more;
  }
  if (from < rows.size()) out.emplace_back(&rows[from], rows.size() - from);
  return out;
}

std::size_t bytes_of(const RootChange& change) { return change.fixed.size() + change.body.size(); }

std::vector<std::span<const Append* const>> append_pieces(const std::vector<const Append*>& appends) {
  return pieces(appends, [](const Append& append) { return append.body.size(); });
}

Params keys_params(Changes changes) {
  Params params;
  params.array(Type::bytea, changes, key_of);
  return params;
}

Params guard_params(Changes changes) {
  Params params = keys_params(changes);
  params.array(Type::int8, changes, version_of).int4(static_cast<Int>(changes.size()));
  return params;
}

// The columns that every put writes.
Params& add_changing(Params& params, Changes changes) {
  return params.array(Type::int8, changes, listed<Int>([](const Listing& l) { return l.finished_at; }))
      .array(Type::int2, changes, listed<Int>([](const Listing& l) { return l.state; }))
      .array(Type::text, changes, listed<Text>([](const Listing& l) -> const std::string& { return l.tags; }))
      .array(Type::bytea, changes, [](const RootChange* c) { return Text(c->body); });
}

}  // namespace

Batch::Batch(const std::vector<ChangeSet>& sets, const std::vector<std::size_t>& chosen, std::int64_t shift,
             std::int64_t part)
    : shift_(shift), part_(part) {
  for (const std::size_t i : chosen) add(sets[i]);
  std::erase_if(counters_, [](const auto& counter) { return counter.second == 0; });
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
  for (const auto& route : set.routes) routes_.emplace(route.number, &route);
  for (const auto& entry : set.ready_put) ready_put_.push_back(&entry);
  for (const auto& entry : set.ready_drop) ready_drop_.push_back(&entry);
  for (const auto& entry : set.due_put) due_put_.push_back(&entry);
  for (const auto& entry : set.due_drop) due_drop_.push_back(&entry);
  for (const auto& satellite : set.satellites) satellites_.push_back(&satellite);
  for (const auto& name : set.satellites_drop) satellites_drop_.push_back(&name);
  for (const auto& add : set.counters) counters_[add.counter] += add.delta;
  for (const auto& drop : set.sequence_drops) sequence_drops_.push_back(&drop);
  for (const auto& append : set.appends) appends_.push_back(&append);
  PutIndex puts(set);
  for (const auto& entry : set.log) add_entry(set.roots[puts.at(entry.root)], entry);
}

// Links the entry to the one before it, of this batch or of the record as it was loaded.
void Batch::add_entry(const RootChange& change, const LogEntry& entry) {
  std::uint32_t& newest = newest_[&change];
  entries_.push_back({&entry, newest != 0 ? Position{0, newest} : known_position(change.last_entry)});
  newest = static_cast<std::uint32_t>(entries_.size());
}

void Batch::sort() {
  for (auto* changes : {&inserts_, &updates_, &erasures_, &checks_, &absences_}) sort_by_key(*changes);
  // Several sets may check the same. Of an absent record, only one can be created to lock the absence.
  for (auto* checks : {&checks_, &absences_}) {
    const auto is_same = [](const RootChange* a, const RootChange* b) {
      return a->key == b->key && a->expected_version == b->expected_version;
    };
    checks->erase(std::unique(checks->begin(), checks->end(), is_same), checks->end());
  }
  for (auto* entries : {&ready_put_, &ready_drop_}) sort_ready(*entries);
  for (auto* entries : {&due_put_, &due_drop_}) sort_due(*entries);
  // Of several puts to one name, which only one set can have, the last is used: the server refuses to write a row
  // twice.
  std::sort(satellites_.begin(), satellites_.end(),
            [](const auto* a, const auto* b) { return std::tie(a->name, a) < std::tie(b->name, b); });
  const auto last = std::unique(satellites_.rbegin(), satellites_.rend(),
                                [](const auto* a, const auto* b) { return a->name == b->name; });
  satellites_.erase(satellites_.begin(), last.base());
}

Params Batch::insert_params(Changes changes) const {
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
  add_changing(params, changes);
  return add_newest(params, changes);
}

Params Batch::update_params(Changes changes) const {
  Params params = keys_params(changes);
  params.array(Type::int8, changes, version_of);
  add_changing(params, changes);
  return add_newest(params, changes);
}

// The number of each record's last entry, null where it has none in this batch, and the shift.
Params& Batch::add_newest(Params& params, Changes changes) const {
  params.array(Type::int4, changes, [this](const RootChange* change) {
    const auto found = newest_.find(change);
    return found == newest_.end() ? std::nullopt : std::optional<Int>(found->second);
  });
  return params.int8(shift_);
}

void Batch::queue(Connection& connection, const ReadyPlaces& held, bool patiently) const {
  queue_drops(connection, held);
  queue_sequence_locks(connection);
  queue_roots(connection, patiently);
  queue_erasures(connection);
  queue_counters(connection);
  queue_satellites(connection);
  queue_sequence_drops(connection);
  queue_puts(connection, patiently);
  queue_routes(connection);
  queue_entries(connection);
  queue_appends(connection);
}

// Records that this transaction creates need no lock, and cannot be found yet.
void Batch::queue_sequence_locks(Connection& connection) const {
  std::map<std::string_view, bool> roots;  // by key: whether the record must exist
  for (const SequenceDrop* drop : sequence_drops_) roots.try_emplace(drop->sequence.root.bytes, false);
  for (const Append* append : appends_) roots[append->sequence.root.bytes] = true;
  if (roots.empty()) return;
  for (const RootChange* change : inserts_) roots.erase(change->key.bytes);
  const auto needed = std::count_if(roots.begin(), roots.end(), [](const auto& root) { return root.second; });
  Params params;
  params.array(Type::bytea, roots, [](const auto& root) { return root.first; })
      .array(Type::int4, roots, [](const auto& root) { return Int{root.second ? 1 : 0}; })
      .int4(needed);
  connection.queue(lock_sequences, params);
}

void Batch::queue_sequence_drops(Connection& connection) const {
  std::vector<const SequenceDrop*> below, whole;
  for (const SequenceDrop* drop : sequence_drops_) (drop->below == whole_sequence ? whole : below).push_back(drop);
  const auto names = [](const std::vector<const SequenceDrop*>& drops) {
    Params params;
    params.array(Type::bytea, drops, [](const auto* drop) { return Text(drop->sequence.root.bytes); })
        .array(Type::int2, drops, [](const auto* drop) { return Int(drop->sequence.kind); });
    return params;
  };
  if (!whole.empty()) connection.queue(drop_sequences, names(whole));
  if (below.empty()) return;
  Params params = names(below);
  params.array(Type::int8, below,
               [](const auto* drop) { return static_cast<Int>(std::min<std::uint64_t>(drop->below, int64_max)); });
  connection.queue(drop_entries, params);
}

void Batch::queue_appends(Connection& connection) const {
  for (const auto& piece : append_pieces(appends_)) {
    std::map<SequenceName, Int> turns;
    Params params;
    params.array(Type::bytea, piece, [](const Append* append) { return Text(append->sequence.root.bytes); })
        .array(Type::int2, piece, [](const Append* append) { return Int(append->sequence.kind); })
        .array(Type::int8, piece, [&](const Append* append) { return ++turns[append->sequence]; })
        .array(Type::bytea, piece, [](const Append* append) { return Text(append->body); });
    connection.queue(append_entries, params);
  }
}

// The numbers of one sequence in one statement are consecutive, in the order of its appends.
std::vector<std::uint64_t> Batch::numbers(std::span<const Rows> replies) const {
  std::vector<std::uint64_t> out;
  out.reserve(appends_.size());
  const auto all = append_pieces(appends_);
  const auto of_appends = replies.last(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::map<SequenceName, std::uint64_t> next;
    for (int row = 0; row < of_appends[i].size(); ++row) {
      const auto n = static_cast<std::uint64_t>(of_appends[i].integer(row, 2));
      SequenceName name{Key{of_appends[i].string(row, 0)}, static_cast<std::uint8_t>(of_appends[i].integer(row, 1))};
      const auto [place, is_new] = next.try_emplace(std::move(name), n);
      if (!is_new) place->second = std::min(place->second, n);
    }
    for (const Append* append : all[i]) out.push_back(next.at(append->sequence)++);
  }
  return out;
}

void Batch::queue_drops(Connection& connection, const ReadyPlaces& held) const {
  std::vector<const ReadyEntry*> others;
  std::vector<std::uint64_t> places;
  for (const ReadyEntry* entry : ready_drop_) {
    const auto found = held.find(entry->key.bytes);
    found == held.end() ? others.push_back(entry) : places.push_back(found->second);
  }
  if (!places.empty()) {
    Params params;
    params.array(Type::tid, places, [](std::uint64_t place) { return static_cast<Int>(place); });
    connection.queue(drop_held_ready, params);
  }
  if (!others.empty()) connection.queue(drop_ready, ready_names(others));
  if (!due_drop_.empty()) connection.queue(drop_due, due_names(due_drop_));
}

// The absence of a record cannot be locked. Therefore it is created and erased again: a concurrent create waits for
// this transaction, or vice versa.
void Batch::queue_roots(Connection& connection, bool patiently) const {
  for (const Changes piece : pieces(inserts_, bytes_of)) connection.queue(insert_roots, insert_params(piece));
  if (!absences_.empty()) {
    connection.queue(insert_roots, insert_params(absences_));
    Params params = keys_params(absences_);
    params.array(Type::int8, absences_, [](const RootChange* c) { return static_cast<Int>(c->first_version); })
        .int4(static_cast<Int>(absences_.size()));
    connection.queue(erase_roots, params);
  }
  if (!updates_.empty()) queue_updates(connection, patiently);
  if (!checks_.empty()) connection.queue(check_roots, guard_params(checks_));
}

void Batch::queue_updates(Connection& connection, bool patiently) const {
  const bool in_place = !patiently && std::all_of(updates_.begin(), updates_.end(),
                                                  [](const RootChange* change) { return change->place != 0; });
  for (const Changes piece : pieces(updates_, bytes_of)) {
    Params params = update_params(piece);
    if (in_place) params.array(Type::tid, piece, [](const RootChange* c) { return static_cast<Int>(c->place); });
    connection.queue(in_place ? update_roots_in_place : update_roots, params);
  }
  for (const RootChange* change : updates_) {
    if (change->relist && change->listing) queue_relisting(connection, *change);
  }
}

void Batch::queue_relisting(Connection& connection, const RootChange& change) {
  const Listing& listing = *change.listing;
  Params params;
  params.bytes(change.key.bytes).int4(static_cast<Int>(change.key.kind())).int8(listing.created_at);
  params.bytes(listing.name_space).bytes(listing.lane).bytes(listing.kind).bytes(listing.flow);
  connection.queue(relist_root, params);
}

void Batch::queue_erasures(Connection& connection) const {
  if (erasures_.empty()) return;
  const Params keys = keys_params(erasures_);
  connection.queue(erase_roots, guard_params(erasures_));
  connection.queue(erase_satellites, keys);
  connection.queue(erase_sequences, keys);
  std::vector<Position> heads;
  for (const RootChange* change : erasures_) {
    if (!change->last_entry.empty()) heads.push_back(known_position(change->last_entry));
  }
  if (heads.empty()) return;
  Params params;
  params.array(Type::xid8, heads, [](const Position& head) { return static_cast<Int>(head.xid); })
      .array(Type::int4, heads, [](const Position& head) { return Int(head.n); });
  connection.queue(erase_entries, params);
  const Position last = *std::max_element(heads.begin(), heads.end());
  params.clear();
  params.int8(static_cast<Int>(last.xid)).int4(last.n);
  connection.queue(raise_floor, params);
}

void Batch::queue_counters(Connection& connection) const {
  if (counters_.empty()) return;
  Params params;
  params.array(Type::bytea, counters_, [](const auto& counter) { return counter.first; })
      .array(Type::int8, counters_, [](const auto& counter) { return counter.second; })
      .int4(part_);
  connection.queue(add_to_counters, params);
}

void Batch::queue_satellites(Connection& connection) const {
  if (!satellites_drop_.empty()) {
    Params params;
    params.array(Type::bytea, satellites_drop_, [](const auto* name) { return Text(name->root.bytes); })
        .array(Type::int2, satellites_drop_, [](const auto* name) { return Int(name->kind); })
        .array(Type::int8, satellites_drop_, [](const auto* name) { return Int(name->n); });
    connection.queue(drop_satellites, params);
  }
  for (const auto& piece : pieces(satellites_, [](const Satellite& satellite) { return satellite.body.size(); })) {
    Params params;
    params.array(Type::bytea, piece, [](const auto* satellite) { return Text(satellite->name.root.bytes); })
        .array(Type::int2, piece, [](const auto* satellite) { return Int(satellite->name.kind); })
        .array(Type::int8, piece, [](const auto* satellite) { return Int(satellite->name.n); })
        .array(Type::bytea, piece, [](const auto* satellite) { return Text(satellite->body); });
    connection.queue(put_satellites, params);
  }
}

void Batch::queue_puts(Connection& connection, bool patiently) const {
  if (!ready_put_.empty()) connection.queue(patiently ? put_ready_patiently : put_ready, ready_params(ready_put_));
  if (!due_put_.empty()) connection.queue(patiently ? put_due_patiently : put_due, due_params(due_put_));
}

void Batch::queue_routes(Connection& connection) const {
  if (routes_.empty()) return;
  std::vector<std::string> required;
  for (const auto& [number, route] : routes_) required.push_back(join(route->capabilities, "\x1f"));
  Params params;
  params.array(Type::int8, routes_, [](const auto& item) { return static_cast<Int>(item.first); })
      .array(Type::text, routes_, [](const auto& item) { return Text(item.second->lane); })
      .array(Type::text, required, [](const std::string& joined) { return Text(joined); })
      .array(Type::text, routes_, [](const auto& item) { return Text(item.second->name_space); });
  connection.queue(put_routes, params);
}

// As many pages as the entries fill.
void Batch::queue_entries(Connection& connection) const {
  for (std::size_t from = 0; from < entries_.size();) {
    std::vector<std::string> packed;
    std::size_t to = from, bytes = 0;
    for (; to < entries_.size(); ++to) {
      packed.push_back(pack(*entries_[to].entry));
      bytes += packed.back().size() + bytes_beside_entry;
      if (bytes > max_page_bytes && to > from) break;
    }
    packed.resize(to - from);
    const std::span<const Entry> page(&entries_[from], to - from);
    Params params;
    params.int4(static_cast<Int>(from + 1))
        .int4(static_cast<Int>(page.size()))
        .array(Type::bytea, packed, [](const std::string& entry) { return Text(entry); })
        .array(Type::xid8, page, [](const Entry& e) { return static_cast<Int>(e.previous.xid); })
        .array(Type::int4, page, [](const Entry& e) { return Int(e.previous.n); })
        .int8(shift_);
    connection.queue(append_page, params);
    from = to;
  }
}

}  // namespace flowfabric::postgres
