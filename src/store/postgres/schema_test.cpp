// Migration of older schemas. The first one is repeated here, as it was published.
#include "store/postgres/schema.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include "core/route.hpp"
#include "core/state.hpp"
#include "store/postgres/postgres_store.hpp"
#include "support/postgres_server.hpp"

namespace flowfabric {
namespace {

constexpr const char* version_1 = R"sql(
CREATE TABLE schema_version (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE root (
  key bytea NOT NULL PRIMARY KEY, record_kind smallint, created_at bigint, name_space text COLLATE "C",
  lane text COLLATE "C", kind text COLLATE "C", flow bytea, fixed bytea NOT NULL, version bigint NOT NULL,
  finished_at bigint, state smallint, tags text COLLATE "C", body bytea NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX root_listing ON root (record_kind, created_at, key) WHERE record_kind IS NOT NULL;
CREATE TABLE ready (
  sequence bigint NOT NULL, route int NOT NULL, priority int NOT NULL, key bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
CREATE UNIQUE INDEX ready_order ON ready (route, priority DESC, sequence, key);
CREATE TABLE due (
  due_at bigint NOT NULL, key bytea NOT NULL, PRIMARY KEY (due_at, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
CREATE TABLE satellite (
  root bytea NOT NULL, n bigint NOT NULL, kind smallint NOT NULL, body bytea NOT NULL, PRIMARY KEY (root, kind, n));
CREATE TABLE event (
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(), n int NOT NULL, type smallint NOT NULL, at bigint NOT NULL,
  root bytea NOT NULL, name_space text COLLATE "C" NOT NULL, lane text COLLATE "C" NOT NULL, body bytea NOT NULL,
  PRIMARY KEY (xid, n));
CREATE INDEX event_root ON event (root, xid, n);
CREATE TABLE log_floor (single boolean PRIMARY KEY DEFAULT true CHECK (single), xid xid8 NOT NULL, n int NOT NULL);
INSERT INTO log_floor (xid, n) VALUES ('0', 0);
CREATE TABLE route (
  number int PRIMARY KEY, lane text COLLATE "C" NOT NULL, capabilities text[] COLLATE "C" NOT NULL,
  UNIQUE (lane, capabilities));
CREATE TABLE counter (key bytea PRIMARY KEY, value bigint NOT NULL) WITH (fillfactor = 50);
CREATE TABLE writer (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, generation bigint NOT NULL DEFAULT 1,
  batch bigint NOT NULL DEFAULT 0, touched_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);
CREATE FUNCTION assert_count(actual bigint, expected bigint, code text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF actual <> expected THEN
    RAISE EXCEPTION 'guard failed: % of % rows', actual, expected USING ERRCODE = code;
  END IF;
END $$;
CREATE FUNCTION conflict() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION 'guard failed' USING ERRCODE = 'FF001';
END $$;
INSERT INTO schema_version (version) VALUES (1);
)sql";

// The second version of the schema.
constexpr const char* to_version_2 = R"sql(
ALTER TABLE due ADD COLUMN group_no bigint NOT NULL DEFAULT 0, ADD COLUMN rank bigint NOT NULL DEFAULT 0;
CREATE INDEX due_group ON due (group_no, rank, key) WHERE group_no <> 0;
INSERT INTO schema_version (version) VALUES (2);
)sql";

// Two records with all kinds of data.
constexpr const char* rows_1 = R"sql(
INSERT INTO root (key, name_space, version, fixed, body)
VALUES ('\x65610001', 'ns', 3, 'f', 'b'), ('\x65620001', NULL, 4, 'f', 'b');
INSERT INTO route (number, lane, capabilities) VALUES (1, 'lane', '{}');
INSERT INTO ready (route, priority, sequence, key) VALUES (1, 5, 6, '\x65610001');
INSERT INTO due (due_at, key) VALUES (50, '\x65610001'), (60, '\x65620001');
INSERT INTO satellite (root, kind, n, body) VALUES ('\x65610001', 2, 7, 's');
INSERT INTO event (n, type, at, root, name_space, lane, body) VALUES (1, 1, 1000, '\x65610001', 'ns', 'lane', 'one');
INSERT INTO counter (key, value) VALUES ('\x6c630001', 42);
)sql";

const Key key_a{std::string("ea\0\1", 4)}, key_b{std::string("eb\0\1", 4)};
const RouteNo route = route_of("lane", {});  // what the number 1 has become

// The first value of the result, if any.
std::string run_sql(const std::string& sql) {
  PGconn* handle = PQconnectdb(test::postgres_test_url().c_str());
  PGresult* result = PQexec(handle, ("SET client_min_messages = warning;" + sql).c_str());
  const auto status = PQresultStatus(result);
  EXPECT_TRUE(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) << PQerrorMessage(handle);
  std::string value = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  PQfinish(handle);
  return value;
}

// The first version of the schema.
class PostgresMigration : public ::testing::Test {
 protected:
  PostgresMigration() { make(old_, version_1); }
  ~PostgresMigration() override {
    run_sql("DROP SCHEMA IF EXISTS " + old_ + " CASCADE; DROP SCHEMA IF EXISTS " + new_ + " CASCADE");
  }

  static void make(const std::string& schema, const std::string& sql) {
    run_sql("DROP SCHEMA IF EXISTS " + schema + " CASCADE; CREATE SCHEMA " + schema + "; SET search_path TO " + schema +
            ";" + sql);
  }
  static void add_rows(const std::string& schema) { run_sql("SET search_path TO " + schema + ";" + rows_1); }

  static Result<std::unique_ptr<Store>> open(const std::string& schema, bool migrate) {
    return open_postgres_store(test::postgres_test_url() + "?schema=" + schema, {.now_us = {}, .migrate = migrate});
  }

  // Tables and indexes with their columns, as one text.
  static std::string shape_of(const std::string& schema) {
    const std::string sql = R"sql(
      SELECT string_agg(line, E'\n' ORDER BY line) FROM (
        SELECT concat_ws(' ', table_name, ordinal_position, column_name, data_type, collation_name, is_nullable,
                         replace(column_default, 'SCHEMA', '')) AS line
        FROM information_schema.columns WHERE table_schema = 'SCHEMA'
        UNION ALL
        SELECT replace(indexdef, 'SCHEMA.', '') FROM pg_indexes WHERE schemaname = 'SCHEMA'
        UNION ALL
        SELECT relname || ' ' || reloptions::text FROM pg_class
        WHERE relnamespace = 'SCHEMA'::regnamespace AND reloptions IS NOT NULL
        UNION ALL
        SELECT proname || ' ' || prosrc FROM pg_proc WHERE pronamespace = 'SCHEMA'::regnamespace) lines)sql";
    std::string text = sql;
    for (auto at = text.find("SCHEMA"); at != std::string::npos; at = text.find("SCHEMA")) text.replace(at, 6, schema);
    return run_sql(text);
  }

  const std::string old_ = "test_migration_old", new_ = "test_migration_new";
};

TEST_F(PostgresMigration, waits_to_be_asked) {
  const auto refused = open(old_, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::schema_mismatch);
  EXPECT_EQ(refused.error().message, "the PostgreSQL schema \"" + old_ +
                                         "\" is at version 1, this program needs 9; run `flowfabric migrate URL`");
  EXPECT_EQ(run_sql("SELECT max(version) FROM " + old_ + ".schema_version"), "1");
  ASSERT_TRUE(open(old_, true));
  EXPECT_EQ(run_sql("SELECT max(version) FROM " + old_ + ".schema_version"), "9");
  EXPECT_TRUE(open(old_, false));
}

TEST_F(PostgresMigration, old_records_are_counted_and_failed_ones_are_found_by_their_group) {
  run_sql("INSERT INTO " + old_ +
          ".root (key, record_kind, name_space, lane, kind, state, created_at, finished_at, "
          "version, fixed, body) VALUES "
          "('\\x65610001', 101, 'ns', 'lane', 'kind', 8, 500, 600, 3, 'f', 'b'), "
          "('\\x65620001', 101, 'ns', 'lane', 'kind', 7, 550, 600, 3, 'f', 'b'), "
          "('\\x65630001', 101, 'ns', 'lane', 'kind', 8, 560, 600, 3, 'f', 'b')");
  run_sql("INSERT INTO " + old_ +
          ".due (due_at, key) VALUES (50, '\\x65610001'), (60, '\\x65620001'), "
          "(70, '\\x65630001')");
  auto store = open(old_, true);
  ASSERT_TRUE(store) << store.error().message;
  const std::string lane = "ens\x1flane\x1f";
  EXPECT_EQ((*store)->counters("").value(), (std::vector<Counter>{{lane + "7", 1}, {lane + "8", 2}}));
  ListQuery query;
  query.group = group_of_state(PublicState::failed);
  query.limit = 10;
  const auto failed = (*store)->list(query).value();
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_EQ(failed[0].record.key.id(), "c");
  EXPECT_EQ(failed[1].created_at, 500);
}

TEST_F(PostgresMigration, keeps_the_rows_of_version_one) {
  add_rows(old_);
  auto store = open(old_, true);
  ASSERT_TRUE(store) << store.error().message;
  const std::vector<DueEntry> entries = {{50, key_a}, {60, key_b}};
  EXPECT_EQ((*store)->due_entries({}, never_due, 10).value(), entries);
  EXPECT_EQ((*store)->load({key_a}).value().at(0).version, 3U);
  EXPECT_EQ((*store)->load_satellites(key_a, 2, 0, 10).value().size(), 1U);
  EXPECT_EQ((*store)->history(key_a, "", 10).value().size(), 1U);
  EXPECT_EQ((*store)->counters("").value(), std::vector<Counter>{})
      << "made again from the records, which are not listed";
  auto session = (*store)->open_session().value();
  ReadRequest request;
  request.due_limit = 10;
  const ReadReply due = session->read(request).value();
  ASSERT_EQ(due.due.size(), 2U);
  EXPECT_EQ(due.due[1].entry, entries[1]);
  EXPECT_EQ(due.due[1].record.version, 4U);
  request.due_limit = 0;
  request.ready = {{route, 10}};
  EXPECT_EQ(session->read(request).value().ready.at(0).entry, (ReadyEntry{route, 5, 6, key_a, "ns"}));
  EXPECT_TRUE((*store)->check_integrity().value().empty());
}

TEST_F(PostgresMigration, lets_an_old_entry_join_a_group) {
  add_rows(old_);
  auto store = open(old_, true);
  ASSERT_TRUE(store) << store.error().message;
  auto session = (*store)->open_session().value();
  const DueEntry joined{50, key_a, 9, -1};
  ChangeSet set;
  set.roots.push_back({key_a, 3, RootChange::Action::put, "f", "b", {}});
  set.due_drop = {{50, key_a}};
  set.due_put = {joined};
  EXPECT_EQ(session->commit({set}).value(), std::vector{Verdict::committed});
  EXPECT_EQ((*store)->group_entries(9, {}, 10).value(), std::vector{joined});
  EXPECT_TRUE((*store)->check_integrity().value().empty());
}

// The entries of the second schema did not have a namespace.
TEST_F(PostgresMigration, finds_old_ready_entries_by_their_namespace) {
  make(old_, std::string(version_1) + to_version_2);
  add_rows(old_);
  run_sql("SET search_path TO " + old_ + R"sql(;
    UPDATE root SET name_space = 'other' WHERE key = '\x65620001';
    INSERT INTO ready (route, priority, sequence, key) VALUES (1, 9, 5, '\x65620001');)sql");
  auto store = open(old_, true);
  ASSERT_TRUE(store) << store.error().message;
  auto session = (*store)->open_session().value();
  ReadRequest request;
  request.ready = {{route, 10}, {route, 10, "ns"}, {route, 10, "other"}, {route, 10, "nobody"}};
  const ReadyEntry mine{route, 5, 6, key_a, "ns"}, theirs{route, 9, 5, key_b, "other"};
  const auto found = session->read(request).value().ready;
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].entry, theirs);
  EXPECT_EQ(found[1].entry, mine);
  EXPECT_EQ(found[2].entry, mine);
  EXPECT_EQ(found[3].entry, theirs);

  ChangeSet claim;
  claim.roots.push_back({key_a, 3, RootChange::Action::put, "f", "b", {}});
  claim.ready_drop = {mine};
  EXPECT_EQ(session->commit({claim}).value(), std::vector{Verdict::committed});
  request.ready = {{route, 10, "ns"}};
  EXPECT_TRUE(session->read(request).value().ready.empty());
  session->release();
  EXPECT_TRUE((*store)->check_integrity().value().empty());
}

// The old log had a row for each entry and no links between them.
class PostgresOldLog : public PostgresMigration {
 protected:
  PostgresOldLog() {
    add_rows(old_);
    for (const char* more :
         {"(2, 7, 1001, '\\x65620001', 'other', '', '')", "(1, 2, 1002, '\\x65610001', 'ns', 'lane', 'two')",
          "(1, 3, 1003, '\\x65620001', 'other', 'l', 'three'), (2, 3, 1004, '\\x65610001', 'ns', 'l', '')"}) {
      run_sql("SET search_path TO " + old_ + ";INSERT INTO event (n, type, at, root, name_space, lane, body) VALUES " +
              more);
    }
    auto store = open(old_, true);
    EXPECT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }

  std::vector<int> times(const std::vector<LoggedEntry>& entries) {
    std::vector<int> out;
    for (const LoggedEntry& entry : entries) out.push_back(static_cast<int>(entry.entry.at));
    return out;
  }
  std::vector<int> history(const Key& key) { return times(store_->history(key, "", 10).value()); }
  std::vector<int> log() {
    LogQuery query;
    query.limit = 100;
    return times(store_->read_log(query).value().entries);
  }
  RootChange change(const Key& key, std::uint64_t version, RootChange::Action action) {
    RootChange out{key, version, action, "f", "b", {}};
    out.last_entry = store_->load({key}).value().at(0).last_entry;
    return out;
  }

  std::unique_ptr<Store> store_;
};

TEST_F(PostgresOldLog, becomes_pages_and_chains) {
  EXPECT_EQ(log(), (std::vector{1000, 1001, 1002, 1003, 1004}));
  EXPECT_EQ(history(key_a), (std::vector{1000, 1002, 1004}));
  EXPECT_EQ(history(key_b), (std::vector{1001, 1003}));
  const LogEntry third = store_->history(key_b, "", 10).value().at(1).entry;
  EXPECT_EQ(third.root, key_b);
  EXPECT_EQ(third.type, 3);
  EXPECT_EQ(third.name_space, "other");
  EXPECT_EQ(third.lane, "l");
  EXPECT_EQ(third.body, "three");
  EXPECT_TRUE(store_->check_integrity().value().empty());
}

TEST_F(PostgresOldLog, goes_on_and_can_be_erased) {
  auto session = store_->open_session().value();
  ChangeSet more;
  more.roots.push_back(change(key_a, 3, RootChange::Action::put));
  more.log = {{key_a, 1, 1005, "ns", "lane", ""}, {key_a, 1, 1006, "ns", "lane", ""}};
  EXPECT_EQ(session->commit({more}).value(), std::vector{Verdict::committed});
  EXPECT_EQ(history(key_a), (std::vector{1000, 1002, 1004, 1005, 1006}));
  ChangeSet erase;
  erase.roots.push_back(change(key_b, 4, RootChange::Action::erase));
  erase.due_drop = {{60, key_b}};
  EXPECT_EQ(session->commit({erase}).value(), std::vector{Verdict::committed});
  EXPECT_EQ(log(), (std::vector{1000, 1002, 1004, 1005, 1006}));
  EXPECT_EQ(history(key_a), (std::vector{1000, 1002, 1004, 1005, 1006}));
  EXPECT_TRUE(history(key_b).empty());
  EXPECT_EQ(run_sql("SELECT count(*) FROM " + old_ + ".log"), "4");
  EXPECT_TRUE(store_->check_integrity().value().empty());
}

TEST_F(PostgresOldLog, is_checked_link_by_link) {
  using Findings = std::vector<std::string>;
  const Findings link = {"1 links between log entries lead to none, to a later one, or to one of another record."};
  const std::string log = old_ + ".log", root = old_ + ".root";
  run_sql("UPDATE " + log + " SET live = 2 WHERE n = 2 AND xid = (SELECT min(xid) FROM " + log + " WHERE n = 2)");
  EXPECT_EQ(store_->check_integrity().value(),
            Findings{"1 pages of the log count other entries than those whose records exist."});
  run_sql("UPDATE " + log + " SET live = 1");
  EXPECT_TRUE(store_->check_integrity().value().empty());
  // To itself, to nothing, to an entry of another record.
  for (const char* damage :
       {"UPDATE LOG SET prev_ns = ARRAY[2], prev_xids = ARRAY[xid] WHERE xid = (SELECT max(xid) FROM LOG) AND n = 2",
        "UPDATE LOG SET prev_xids = ARRAY['3'::xid8] WHERE xid = (SELECT max(xid) FROM LOG) AND n = 2",
        "UPDATE LOG SET prev_ns = ARRAY[1], prev_xids = ARRAY[xid] WHERE xid = (SELECT max(xid) FROM LOG) AND n = 2"}) {
    std::string sql = damage;
    for (auto at = sql.find("LOG"); at != std::string::npos; at = sql.find("LOG")) sql.replace(at, 3, log);
    run_sql("CREATE TABLE " + old_ + ".kept AS SELECT * FROM " + log + ";" + sql);
    const auto findings = store_->check_integrity().value();
    ASSERT_FALSE(findings.empty()) << damage;
    EXPECT_EQ(findings.front(), link.front()) << damage;
    run_sql("DELETE FROM " + log + "; INSERT INTO " + log + " SELECT * FROM " + old_ + ".kept; DROP TABLE " + old_ +
            ".kept");
  }
  EXPECT_TRUE(store_->check_integrity().value().empty());
}

TEST_F(PostgresMigration, ends_up_with_the_schema_of_a_new_database) {
  ASSERT_TRUE(open(old_, true));
  ASSERT_TRUE(open(new_, true));
  EXPECT_EQ(shape_of(old_), shape_of(new_));
}

TEST_F(PostgresMigration, finds_a_group_below_zero) {
  add_rows(old_);
  auto store = open(old_, true);
  ASSERT_TRUE(store) << store.error().message;
  run_sql("UPDATE " + old_ + ".due SET group_no = -1 WHERE due_at = 50");
  EXPECT_EQ((*store)->check_integrity().value(), std::vector<std::string>{"1 due entries have a group below 0."});
}

}  // namespace
}  // namespace flowfabric
