#include "store/sqlite/schema.hpp"

#include <algorithm>
#include <iterator>
#include <thread>

#include "base/check.hpp"
#include "core/route.hpp"
#include "store/sqlite/batch.hpp"
#include "store/sqlite/log_pages.hpp"

namespace flowfabric::sqlite {
namespace {

// Marks a file as ours: "Flow" in ASCII. It is set together with the first tables.
constexpr std::int64_t application_id = 0x466c6f77;

// Migration n leads from schema n - 1 to schema n. Statements are applied in order, then the steps that SQL cannot do;
// published migrations never change.
struct Migration {
  const char* const* statements;
  std::size_t count;
  Result<void> (*convert)(Database& database) = nullptr;
};

constexpr const char* migration_1[] = {
    // Records are found by key, but stored in the order of creation: a record is rewritten while it is young, so its
    // page is usually in the cache, for any kind of key. Listing columns are NULL for kinds that are not listed. The
    // columns that a guard needs come first, so that they are never on an overflow page.
    R"(CREATE TABLE root(
         id INTEGER PRIMARY KEY,
         key BLOB NOT NULL,
         version INTEGER NOT NULL,
         record_kind INTEGER NOT NULL,
         state INTEGER,
         created_at INTEGER,
         finished_at INTEGER,
         name_space TEXT,
         lane TEXT,
         kind TEXT,
         flow BLOB,
         tags BLOB,
         fixed BLOB NOT NULL,
         body BLOB NOT NULL) STRICT)",
    "CREATE UNIQUE INDEX root_key ON root(key)",
    "CREATE INDEX root_listing ON root(record_kind, created_at, key) WHERE created_at IS NOT NULL",

    // The primary key is the order of service.
    R"(CREATE TABLE ready(
         route INTEGER NOT NULL,
         neg_priority INTEGER NOT NULL,
         sequence INTEGER NOT NULL,
         key BLOB NOT NULL,
         PRIMARY KEY(route, neg_priority, sequence, key)) STRICT, WITHOUT ROWID)",
    R"(CREATE TABLE due(
         due_at INTEGER NOT NULL,
         key BLOB NOT NULL,
         PRIMARY KEY(due_at, key)) STRICT, WITHOUT ROWID)",

    // With a rowid, because bodies are large and would bloat the inner pages of a clustered table.
    R"(CREATE TABLE satellite(
         id INTEGER PRIMARY KEY,
         root BLOB NOT NULL,
         kind INTEGER NOT NULL,
         n INTEGER NOT NULL,
         body BLOB NOT NULL) STRICT)",
    "CREATE UNIQUE INDEX satellite_name ON satellite(root, kind, n)",

    // The log. `seq` is assigned by the only writer: the order of numbers is the order of commits. An index ends with
    // the row's number, so event_root is sorted by (root, seq).
    R"(CREATE TABLE event(
         seq INTEGER PRIMARY KEY,
         root BLOB NOT NULL,
         type INTEGER NOT NULL,
         at INTEGER NOT NULL,
         name_space TEXT NOT NULL,
         lane TEXT NOT NULL,
         body BLOB NOT NULL) STRICT)",
    "CREATE INDEX event_root ON event(root)",

    // Capabilities are the encoded list: a count, then each one with its length.
    R"(CREATE TABLE route(
         number INTEGER PRIMARY KEY,
         lane TEXT NOT NULL,
         capabilities BLOB NOT NULL,
         UNIQUE(lane, capabilities)) STRICT)",
    "CREATE TABLE counter(key BLOB PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",

    // log_floor is the greatest `seq` ever deleted.
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "INSERT INTO meta(name, value) VALUES('log_floor', 0)",
};

// Groups. Most entries have none, so the index contains only the others.
constexpr const char* migration_2[] = {
    "ALTER TABLE due ADD COLUMN group_no INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE due ADD COLUMN rank INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX due_group ON due(group_no, rank, key) WHERE group_no <> 0",
};

// Namespaces of ready entries, for claims restricted to one. An entry without a record gets none: it cannot be claimed.
// The index does not contain the default namespace, so that stores without other namespaces have no extra cost.
constexpr const char* migration_3[] = {
    "ALTER TABLE ready ADD COLUMN name_space TEXT NOT NULL DEFAULT ''",
    R"(UPDATE ready SET name_space =
         coalesce((SELECT root.name_space FROM root WHERE root.key = ready.key), ''))",
    R"(CREATE INDEX ready_namespace ON ready(name_space, route, neg_priority, sequence, key)
         WHERE name_space <> 'default')",
};

// The log in pages, and each record's part of it as a chain. `live` counts the entries of existing records. A record is
// always read as a whole, so it does no harm that last_entry comes after the body.
constexpr const char* migration_4[] = {
    R"(CREATE TABLE log(
         seq INTEGER PRIMARY KEY,
         entries INTEGER NOT NULL,
         live INTEGER NOT NULL,
         body BLOB NOT NULL) STRICT)",
    "ALTER TABLE root ADD COLUMN last_entry INTEGER NOT NULL DEFAULT 0",
    R"(UPDATE root SET last_entry = (SELECT max(seq) FROM event WHERE event.root = root.key)
         WHERE EXISTS (SELECT 1 FROM event WHERE event.root = root.key))",
};

// Tells positions in this log from those in others.
constexpr const char* migration_5[] = {
    "INSERT INTO meta(name, value) VALUES('log_id', abs(random() % 2147483646) + 1)",
};

// Entries without a record, whose history could not be read, are not copied. event_root is sorted by (root, seq), so
// the previous entry is adjacent.
constexpr char old_entries_sql[] = R"(
  SELECT seq, root, type, at, name_space, lane, body,
         coalesce((SELECT max(older.seq) FROM event older WHERE older.root = event.root AND older.seq < event.seq), 0)
  FROM event WHERE EXISTS (SELECT 1 FROM root WHERE root.key = event.root) ORDER BY seq)";

Result<void> convert_events(Database& database) {
  constexpr std::size_t pages_at_once = 100;
  PageWriter pages;
  FF_TRY(old, database.prepare(old_entries_sql));
  for (;;) {
    FF_TRY(row, old.step());
    if (!row) break;
    const LogEntry entry{Key{old.bytes(1)}, static_cast<std::uint8_t>(old.integer(2)),
                         old.integer(3),    old.bytes(4),
                         old.bytes(5),      old.bytes(6)};
    pages.add(old.integer(0), entry, old.integer(7));
    if (pages.size() > pages_at_once) FF_TRY_VOID(pages.flush(database));
  }
  FF_TRY_VOID(pages.flush(database));
  return database.execute("DROP TABLE event");
}

// Routes are numbered by what they are (core/route.hpp) instead of in the order in which they came; `turn` is that order,
// and is never used again. What is ready moves to the new numbers.
constexpr const char* migration_6[] = {
    "ALTER TABLE route RENAME TO old_route",
    R"(CREATE TABLE route(
         turn INTEGER PRIMARY KEY AUTOINCREMENT,
         number INTEGER NOT NULL UNIQUE,
         name_space TEXT NOT NULL,
         lane TEXT NOT NULL,
         capabilities BLOB NOT NULL) STRICT)",
};

Result<void> convert_routes(Database& database) {
  FF_TRY(old, database.prepare("SELECT number, lane, capabilities FROM old_route ORDER BY number"));
  FF_TRY(insert, database.prepare("INSERT INTO route(number, name_space, lane, capabilities) VALUES(?1, '', ?2, ?3)"));
  FF_TRY(move, database.prepare("UPDATE ready SET route = ?2 WHERE route = ?1"));
  for (;;) {
    FF_TRY(row, old.step());
    if (!row) break;
    FF_TRY(capabilities, decode_capabilities(old.view(2)));
    const auto number = static_cast<std::int64_t>(route_of(old.view(1), capabilities));
    insert.bind(1, number);
    insert.bind_text(2, old.view(1));
    insert.bind_blob(3, old.view(2));
    FF_TRY_VOID(insert.run());
    move.bind(1, old.integer(0));
    move.bind(2, number);
    FF_TRY_VOID(move.run());
  }
  return database.execute("DROP TABLE old_route");
}

// Sequences. If all entries of one were dropped, a single row holds the highest number ever given, negative and without a
// body, so the greatest `n` of a sequence always tells the next number. Entries are short, and are read by ranges and
// removed by ranges, so the table is clustered.
constexpr const char* migration_7[] = {
    R"(CREATE TABLE sequence_entry(
         root BLOB NOT NULL,
         kind INTEGER NOT NULL,
         n INTEGER NOT NULL,
         body BLOB NOT NULL,
         PRIMARY KEY(root, kind, n)) STRICT, WITHOUT ROWID)",
};

// Counters count listed records (core/counts.hpp has their names). Failed, cancelled, expired and skipped executions are
// found by a group (core/state.hpp); they have an entry for the end of their retention. Members of a flow are found by an
// index over columns that never change.
constexpr const char* migration_8[] = {
    "DELETE FROM counter",
    R"(INSERT INTO counter(key, value)
         SELECT CAST(char(record_kind) || name_space || char(31) || lane || char(31) || state AS BLOB), count(*)
         FROM root WHERE created_at IS NOT NULL GROUP BY record_kind, name_space, lane, state)",
    R"(UPDATE due SET (group_no, rank) = (
           SELECT 4611686018427388160 + root.state, root.created_at FROM root WHERE root.key = due.key)
         WHERE group_no = 0 AND EXISTS (
           SELECT 1 FROM root WHERE root.key = due.key AND record_kind = 101 AND state BETWEEN 8 AND 11))",
    "CREATE INDEX root_flow ON root(flow, created_at, key) WHERE flow IS NOT NULL AND flow <> x''",
};

constexpr Migration migrations[] = {
    {migration_1, std::size(migration_1)}, {migration_2, std::size(migration_2)},
    {migration_3, std::size(migration_3)}, {migration_4, std::size(migration_4), convert_events},
    {migration_5, std::size(migration_5)}, {migration_6, std::size(migration_6), convert_routes},
    {migration_7, std::size(migration_7)}, {migration_8, std::size(migration_8)},
};

constexpr char select_user_version[] = "PRAGMA user_version";
constexpr char select_application_id[] = "PRAGMA application_id";
constexpr char select_table_count[] = "SELECT count(*) FROM sqlite_schema";

// The schema version of a file that is ours or empty; an error for any other file. The mark is read last: another
// process may be creating the tables right now, and a reader that sees the tables then sees the mark too.
Result<int> inspect(Database& database, const std::string& path) {
  FF_TRY(tables, database.query_integer(select_table_count));
  FF_TRY(version, database.query_integer(select_user_version));
  FF_TRY(id, database.query_integer(select_application_id));
  if (id != application_id && (tables != 0 || version != 0)) {
    return fail(Errc::schema_mismatch, "the file " + path + " is a database of another program");
  }
  if (version > newest_schema()) {
    return fail(Errc::schema_mismatch, "the database " + path + " has schema version " + std::to_string(version) +
                                           ", but this program supports versions up to " +
                                           std::to_string(newest_schema()) + "; use a newer flowfabric");
  }
  return static_cast<int>(version);
}

Result<void> apply_missing(Database& database, const std::string& path) {
  FF_TRY(version, inspect(database, path));  // again, now that no other process can change it
  for (int next = version + 1; next <= newest_schema(); ++next) {
    const Migration& migration = migrations[next - 1];
    for (std::size_t i = 0; i < migration.count; ++i) FF_TRY_VOID(database.execute(migration.statements[i]));
    if (migration.convert != nullptr) FF_TRY_VOID(migration.convert(database));
  }
  FF_TRY_VOID(database.execute("PRAGMA application_id = " + std::to_string(application_id)));
  return database.execute("PRAGMA user_version = " + std::to_string(newest_schema()));
}

// The switch to the write-ahead log needs exclusive access for a moment, and SQLite does not wait for that by itself.
Result<void> switch_to_wal(Database& database) {
  constexpr char set_journal_mode[] = "PRAGMA journal_mode = WAL";
  const auto deadline = std::chrono::steady_clock::now() + busy_timeout;
  for (;;) {
    auto mode = database.query_text(set_journal_mode);
    if (mode && *mode == "wal") return {};
    if (mode) return fail(Errc::unavailable, "the file system of the database does not support a write-ahead log");
    if (database.last_trouble() != Trouble::locked || std::chrono::steady_clock::now() > deadline) {
      return Unexpected(std::move(mode).error());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

int newest_schema() { return static_cast<int>(std::size(migrations)); }

Result<int> prepare_schema(Database& database, const std::string& path) {
  FF_TRY(version, inspect(database, path));  // before the first write: a foreign file is not changed
  FF_TRY_VOID(switch_to_wal(database));
  if (version == newest_schema()) return version;
  FF_TRY_VOID(database.execute("BEGIN IMMEDIATE"));
  auto applied = apply_missing(database, path);
  if (applied) applied = database.execute("COMMIT");
  // The first error is reported; a failed rollback ends with the connection.
  if (!applied && database.in_transaction()) static_cast<void>(database.execute("ROLLBACK"));
  if (!applied) return Unexpected(std::move(applied).error());
  return version;
}

Result<void> require_schema(Database& database, const std::string& path) {
  FF_TRY(version, inspect(database, path));
  if (version == newest_schema()) return {};
  return fail(Errc::schema_mismatch, "the database " + path + " has schema version " + std::to_string(version) +
                                         ", this program reads version " + std::to_string(newest_schema()) +
                                         "; run `flowfabric migrate sqlite:" + path +
                                         "` when no older program uses it any more");
}

}  // namespace flowfabric::sqlite
