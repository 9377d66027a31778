// Migration of older files. The first schema is repeated here, as it was published.
#include "store/sqlite/schema.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "core/route.hpp"
#include "core/state.hpp"
#include "store/sqlite/log_pages.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric {
namespace {

constexpr const char* version_1 = R"(
  CREATE TABLE root(
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, version INTEGER NOT NULL, record_kind INTEGER NOT NULL, state INTEGER,
    created_at INTEGER, finished_at INTEGER, name_space TEXT, lane TEXT, kind TEXT, flow BLOB, tags BLOB,
    fixed BLOB NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE UNIQUE INDEX root_key ON root(key);
  CREATE INDEX root_listing ON root(record_kind, created_at, key) WHERE created_at IS NOT NULL;
  CREATE TABLE ready(
    route INTEGER NOT NULL, neg_priority INTEGER NOT NULL, sequence INTEGER NOT NULL, key BLOB NOT NULL,
    PRIMARY KEY(route, neg_priority, sequence, key)) STRICT, WITHOUT ROWID;
  CREATE TABLE due(
    due_at INTEGER NOT NULL, key BLOB NOT NULL, PRIMARY KEY(due_at, key)) STRICT, WITHOUT ROWID;
  CREATE TABLE satellite(
    id INTEGER PRIMARY KEY, root BLOB NOT NULL, kind INTEGER NOT NULL, n INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE UNIQUE INDEX satellite_name ON satellite(root, kind, n);
  CREATE TABLE event(
    seq INTEGER PRIMARY KEY, root BLOB NOT NULL, type INTEGER NOT NULL, at INTEGER NOT NULL, name_space TEXT NOT NULL,
    lane TEXT NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE INDEX event_root ON event(root);
  CREATE TABLE route(
    number INTEGER PRIMARY KEY, lane TEXT NOT NULL, capabilities BLOB NOT NULL, UNIQUE(lane, capabilities)) STRICT;
  CREATE TABLE counter(key BLOB PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO meta(name, value) VALUES('log_floor', 0);
  PRAGMA application_id = 0x466c6f77;
  PRAGMA user_version = 1;)";

// The second version of the schema.
constexpr const char* to_version_2 = R"(
  ALTER TABLE due ADD COLUMN group_no INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE due ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX due_group ON due(group_no, rank, key) WHERE group_no <> 0;
  PRAGMA user_version = 2;)";

// The third version.
constexpr const char* to_version_3 = R"(
  ALTER TABLE ready ADD COLUMN name_space TEXT NOT NULL DEFAULT '';
  UPDATE ready SET name_space = coalesce((SELECT root.name_space FROM root WHERE root.key = ready.key), '');
  CREATE INDEX ready_namespace ON ready(name_space, route, neg_priority, sequence, key) WHERE name_space <> 'default';
  PRAGMA user_version = 3;)";

// Two records with all kinds of data.
constexpr const char* rows_1 = R"(
  INSERT INTO root(key, version, record_kind, name_space, fixed, body) VALUES(x'65610001', 3, 101, 'ns', x'66', x'62');
  INSERT INTO root(key, version, record_kind, fixed, body) VALUES(x'65620001', 4, 101, x'66', x'62');
  INSERT INTO route VALUES(1, 'lane', x'00');
  INSERT INTO ready VALUES(1, -5, 6, x'65610001');
  INSERT INTO due VALUES(50, x'65610001');
  INSERT INTO due VALUES(60, x'65620001');
  INSERT INTO satellite(root, kind, n, body) VALUES(x'65610001', 2, 7, x'73');
  INSERT INTO event VALUES(1, x'65610001', 1, 1000, 'ns', 'lane', x'6f6e65');
  INSERT INTO counter VALUES(x'6c630001', 42);)";

void run_old_sql(const std::string& path, const char* sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

std::unique_ptr<Store> open_migrated(const std::string& path) {
  auto store = open_sqlite_store("sqlite:" + path, {});
  EXPECT_TRUE(store) << store.error().message;
  return store ? std::move(*store) : nullptr;
}

// Tables and indexes with their columns, as one text.
std::string shape_of(const std::string& path) {
  auto database = sqlite::Database::open(path);
  return database
      ->query_text(R"(
        SELECT group_concat(line, char(10)) FROM (
          SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || c.pk AS line
          FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'
          UNION ALL
          SELECT m.name || '(' || coalesce(c.name, '') || ')' FROM sqlite_schema m, pragma_index_info(m.name) c
          WHERE m.type = 'index' ORDER BY line))")
      .value();
}

const Key key_a{std::string("ea\0\1", 4)}, key_b{std::string("eb\0\1", 4)};
const RouteNo route = route_of("lane", {});  // what the number 1 has become

// Two failed executions and a completed one, each with the entry for the end of its retention.
constexpr const char* listed_rows_1 = R"(
  INSERT INTO root(key, version, record_kind, name_space, lane, kind, state, created_at, finished_at, fixed, body)
  VALUES(x'65610001', 3, 101, 'ns', 'lane', 'kind', 8, 500, 600, x'66', x'62'),
        (x'65620001', 3, 101, 'ns', 'lane', 'kind', 7, 550, 600, x'66', x'62'),
        (x'65630001', 3, 101, 'ns', 'lane', 'kind', 8, 560, 600, x'66', x'62');
  INSERT INTO due VALUES(50, x'65610001'), (60, x'65620001'), (70, x'65630001');)";

TEST(SqliteMigration, OldRecordsAreCountedAndFailedOnesAreFoundByTheirGroup) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  run_old_sql(path, version_1);
  run_old_sql(path, listed_rows_1);
  auto store = open_migrated(path);
  ASSERT_NE(store, nullptr);
  const std::string lane = "ens\x1flane\x1f";
  EXPECT_EQ(store->counters("").value(), (std::vector<Counter>{{lane + "7", 1}, {lane + "8", 2}}));
  ListQuery query;
  query.group = group_of_state(PublicState::failed);
  query.limit = 10;
  const auto failed = store->list(query).value();
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].record.key.id(), "c");
  EXPECT_EQ(failed[1].created_at, 500);
}

TEST(SqliteMigration, AFileOfVersionOneKeepsItsRows) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  run_old_sql(path, version_1);
  run_old_sql(path, rows_1);
  auto store = open_migrated(path);
  ASSERT_NE(store, nullptr);
  auto database = sqlite::Database::open(path);
  EXPECT_EQ(database->query_integer("PRAGMA user_version").value(), sqlite::newest_schema());

  const std::vector<DueEntry> entries = {{50, key_a}, {60, key_b}};
  EXPECT_EQ(store->due_entries({}, never_due, 10).value(), entries);
  EXPECT_EQ(store->load({key_a}).value().at(0).version, 3u);
  EXPECT_EQ(store->load_satellites(key_a, 2, 0, 10).value().size(), 1u);
  EXPECT_EQ(store->history(key_a, "", 10).value().size(), 1u);
  EXPECT_EQ(store->counters("").value(), std::vector<Counter>{}) << "made again from the records, which are not listed";
  auto session = store->open_session().value();
  ReadRequest request;
  request.due_limit = 10;
  const ReadReply due = session->read(request).value();
  ASSERT_EQ(due.due.size(), 2u);
  EXPECT_EQ(due.due[1].entry, entries[1]);
  EXPECT_EQ(due.due[1].record.version, 4u);
  request.due_limit = 0;
  request.ready = {{route, 10}};
  EXPECT_EQ(session->read(request).value().ready.at(0).entry, (ReadyEntry{route, 5, 6, key_a, "ns"}));
  EXPECT_TRUE(store->check_integrity().value().empty());
}

TEST(SqliteMigration, AnOldEntryCanJoinAGroup) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  run_old_sql(path, version_1);
  run_old_sql(path, rows_1);
  auto store = open_migrated(path);
  auto session = store->open_session().value();
  const DueEntry joined{50, key_a, 9, -1};
  ChangeSet set;
  set.roots.push_back(RootChange{key_a, 3, RootChange::Action::put, "f", "b", std::nullopt});
  set.due_drop = {{50, key_a}};
  set.due_put = {joined};
  EXPECT_EQ(session->commit({set}).value(), std::vector{Verdict::committed});
  EXPECT_EQ(store->group_entries(9, {}, 10).value(), std::vector{joined});
  EXPECT_TRUE(store->check_integrity().value().empty());
}

// The entries of the second schema did not have a namespace.
TEST(SqliteMigration, OldReadyEntriesAreFoundByTheirNamespace) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  run_old_sql(path, version_1);
  run_old_sql(path, rows_1);
  run_old_sql(path, to_version_2);
  run_old_sql(path, R"(
    UPDATE root SET name_space = 'other' WHERE key = x'65620001';
    INSERT INTO ready VALUES(1, -9, 5, x'65620001');)");
  auto store = open_migrated(path);
  ASSERT_NE(store, nullptr);
  auto session = store->open_session().value();
  ReadRequest request;
  request.ready = {{route, 10}, {route, 10, "ns"}, {route, 10, "other"}, {route, 10, "nobody"}};
  const ReadyEntry mine{route, 5, 6, key_a, "ns"}, theirs{route, 9, 5, key_b, "other"};
  const auto found = session->read(request).value().ready;
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].entry, theirs);
  EXPECT_EQ(found[1].entry, mine);
  EXPECT_EQ(found[2].entry, mine);
  EXPECT_EQ(found[3].entry, theirs);

  ChangeSet claim;
  claim.roots.push_back(RootChange{key_a, 3, RootChange::Action::put, "f", "b", std::nullopt});
  claim.ready_drop = {mine};
  EXPECT_EQ(session->commit({claim}).value(), std::vector{Verdict::committed});
  request.ready = {{route, 10, "ns"}};
  EXPECT_TRUE(session->read(request).value().ready.empty());
  session->release();
  EXPECT_TRUE(store->check_integrity().value().empty());
}

std::string bodies_of(const std::vector<LoggedEntry>& entries) {
  std::string text;
  for (const LoggedEntry& entry : entries) text += entry.entry.body + " ";
  return text;
}

// A put of a record with an entry of the log, or its erasure.
Verdict change_record(Store& store, const Key& key, const char* entry) {
  const Record record = store.load({key}).value().at(0);
  ChangeSet set;
  set.roots.push_back(RootChange{key, record.version, RootChange::Action::erase, {}, "b", std::nullopt});
  set.roots[0].last_entry = record.last_entry;
  if (entry == nullptr) {
    set.ready_drop = {{route, 5, 6, key}};
    set.due_drop = {{50, key}};
  } else {
    set.roots[0].action = RootChange::Action::put;
    set.log.push_back(LogEntry{key, 1, 1000, "ns", "lane", entry});
  }
  return store.open_session().value()->commit({set}).value().front();
}

std::int64_t seq_of(const std::string& position) { return sqlite::decode_position(position).value().seq; }

// The third schema had a row for each entry. Here some are deleted, a third record has none, and one is large.
class SqliteLogMigration : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* sql : {version_1, rows_1, to_version_2, to_version_3}) run_old_sql(path_, sql);
    run_old_sql(path_, R"(
      INSERT INTO root(key, version, record_kind, fixed, body) VALUES(x'65630001', 1, 101, x'66', x'62');
      UPDATE meta SET value = 3 WHERE name = 'log_floor';
      INSERT INTO event VALUES(2, x'65620001', 2, 1000, 'ns', 'lane', x'74776f');
      INSERT INTO event VALUES(4, x'65610001', 3, 1000, 'ns', 'lane', x'666f7572');
      INSERT INTO event VALUES(5, x'65610001', 4, 1001, 'other', 'lane', x'66697665');
      INSERT INTO event
        VALUES(6, x'65620001', 5, 1001, 'ns', 'lane', CAST(replace(hex(zeroblob(2500)), '0', 'x') AS BLOB));
      INSERT INTO event VALUES(7, x'65610001', 255, -1, 'ns', 'other', x'736576656e');)");
    store_ = open_migrated(path_);
    ASSERT_NE(store_, nullptr);
  }

  std::string history(const Key& key) { return bodies_of(store_->history(key, "", 100).value()); }
  std::vector<std::string> findings() { return store_->check_integrity().value(); }

  const test::TempDir folder_;
  const std::string path_ = folder_.file("x.db");
  const std::string large_ = std::string(5000, 'x');
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteLogMigration, OldEntriesAreWhereTheyWere) {
  EXPECT_EQ(history(key_a), "one four five seven ");
  EXPECT_EQ(history(key_b), "two " + large_ + " ");
  EXPECT_EQ(history(Key{std::string("ec\0\1", 4)}), "");
  LogQuery query;
  query.limit = 10;
  const LogPage page = store_->read_log(query).value();
  EXPECT_EQ(bodies_of(page.entries), "one two four five " + large_ + " seven ");
  EXPECT_EQ(seq_of(page.entries[2].position), 4);
  const LogEntry& last = page.entries[5].entry;
  EXPECT_EQ(last.root, key_a);
  EXPECT_EQ(last.type, 255);
  EXPECT_EQ(last.at, -1);
  EXPECT_EQ(last.name_space, "ns");
  EXPECT_EQ(last.lane, "other");
  query.root = key_b;
  EXPECT_EQ(bodies_of(store_->read_log(query).value().entries), "two " + large_ + " ");
  EXPECT_EQ(findings(), std::vector<std::string>{});
}

TEST_F(SqliteLogMigration, OldHistoriesGoOn) {
  EXPECT_EQ(change_record(*store_, key_b, "new"), Verdict::committed);
  EXPECT_EQ(history(key_b), "two " + large_ + " new ");
  EXPECT_EQ(seq_of(store_->log_end().value()), 8);
  EXPECT_EQ(findings(), std::vector<std::string>{});
}

TEST_F(SqliteLogMigration, OldHistoriesCanBeErased) {
  EXPECT_EQ(change_record(*store_, key_a, nullptr), Verdict::committed);
  EXPECT_EQ(seq_of(store_->log_end().value()), 7);
  EXPECT_EQ(history(key_a), "");
  EXPECT_EQ(history(key_b), "two " + large_ + " ");
  LogQuery query;
  query.limit = 10;
  EXPECT_EQ(bodies_of(store_->read_log(query).value().entries), "two " + large_ + " ");
  auto database = sqlite::Database::open(path_);
  EXPECT_EQ(database->query_integer("SELECT sum(live) FROM log").value(), 2);
  EXPECT_EQ(findings(), std::vector<std::string>{});
}

TEST(SqliteMigration, AnOldFileEndsUpLikeANewOne) {
  const test::TempDir folder;
  const std::string older = folder.file("old.db"), newer = folder.file("new.db");
  run_old_sql(older, version_1);
  open_migrated(older).reset();
  open_migrated(newer).reset();
  EXPECT_EQ(shape_of(older), shape_of(newer));
}

// The searches of groups and of namespaces name their index, so a plan that could not use it would have failed to
// prepare; this checks the order, which must not require sorting.
TEST(SqlitePlans, EntriesAreReadInTheOrderOfAnIndex) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  open_migrated(path).reset();
  auto database = sqlite::Database::open(path);
  const auto plan_of = [&](const std::string& sql) {
    auto explain = database->prepare("EXPLAIN QUERY PLAN " + sql);
    std::string plan;
    while (explain->step().value()) plan += explain->bytes(3) + "\n";
    return plan;
  };
  const std::string group_plan = plan_of(R"(
    SELECT due_at, key, group_no, rank FROM due
    WHERE group_no = ?1 AND group_no <> 0 AND (rank, key) > (?2, ?3) ORDER BY rank, key LIMIT ?4)");
  EXPECT_NE(group_plan.find("due_group (group_no=? AND (rank,key)>(?,?))"), std::string::npos) << group_plan;
  EXPECT_EQ(group_plan.find("TEMP B-TREE"), std::string::npos) << group_plan;
  const std::string due_plan = plan_of(R"(
    SELECT due_at, key, group_no, rank FROM due
    WHERE (due_at, key) > (?1, ?2) AND due_at <= ?3 ORDER BY due_at, key LIMIT ?4)");
  EXPECT_NE(due_plan.find("PRIMARY KEY ((due_at,key)>(?,?)"), std::string::npos) << due_plan;
  EXPECT_EQ(due_plan.find("TEMP B-TREE"), std::string::npos) << due_plan;
  const std::string route_plan = plan_of(R"(
    SELECT ready.key, ready.name_space, root.id FROM ready CROSS JOIN root ON root.key = ready.key
    WHERE ready.route = ?1 ORDER BY ready.neg_priority, ready.sequence, ready.key LIMIT ?2)");
  EXPECT_NE(route_plan.find("ready USING PRIMARY KEY (route=?)"), std::string::npos) << route_plan;
  EXPECT_EQ(route_plan.find("TEMP B-TREE"), std::string::npos) << route_plan;
  const std::string namespace_plan = plan_of(R"(
    SELECT ready.key, ready.name_space, root.id FROM ready INDEXED BY ready_namespace CROSS JOIN root
    ON root.key = ready.key WHERE ready.name_space = ?3 AND ready.name_space <> 'default' AND ready.route = ?1
    ORDER BY ready.neg_priority, ready.sequence, ready.key LIMIT ?2)");
  EXPECT_NE(namespace_plan.find("COVERING INDEX ready_namespace (name_space=? AND route=?)"), std::string::npos)
      << namespace_plan;
  EXPECT_EQ(namespace_plan.find("TEMP B-TREE"), std::string::npos) << namespace_plan;
  const std::string drop_plan =
      plan_of("DELETE FROM ready WHERE route = ?1 AND neg_priority = ?2 AND sequence = ?3 AND key = ?4");
  EXPECT_NE(drop_plan.find("ready USING PRIMARY KEY (route=? AND neg_priority=? AND sequence=? AND key=?)"),
            std::string::npos)
      << drop_plan;
}

}  // namespace
}  // namespace flowfabric
