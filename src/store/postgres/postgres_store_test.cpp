// Tests specific to the PostgreSQL store. The common behaviour is tested in tests/conformance.
#include "store/postgres/postgres_store.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "core/route.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/wakeup.hpp"
#include "support/postgres_server.hpp"

namespace flowfabric {
namespace {

using namespace std::chrono_literals;

// A plain connection to inspect the database.
class Sql {
 public:
  explicit Sql(const std::string& schema = "public") : handle_(PQconnectdb(test::postgres_test_url().c_str())) {
    EXPECT_EQ(PQstatus(handle_), CONNECTION_OK) << PQerrorMessage(handle_);
    run("SET search_path TO " + schema);
    run("SET client_min_messages TO warning");
  }
  ~Sql() { PQfinish(handle_); }
  Sql(const Sql&) = delete;
  Sql& operator=(const Sql&) = delete;

  // The first value of the result, if any.
  std::string run(const std::string& sql) {
    PGresult* result = PQexec(handle_, sql.c_str());
    const auto status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) << sql << ": " << PQerrorMessage(handle_);
    std::string value = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    PQclear(result);
    return value;
  }

 private:
  PGconn* handle_;
};

std::string url_of(const std::string& schema) { return test::postgres_test_url() + "?schema=" + schema; }

// A separate schema for each test, with helpers for test values.
class PostgresStoreTest : public ::testing::Test {
 protected:
  PostgresStoreTest() {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    schema_ = "test_" + name.substr(0, 40);
    Sql().run("DROP SCHEMA IF EXISTS " + schema_ + " CASCADE");
  }
  ~PostgresStoreTest() override {
    store_.reset();
    Sql().run("DROP SCHEMA IF EXISTS " + schema_ + " CASCADE");
  }

  std::unique_ptr<Store> open(const std::string& url = {}) {
    auto store = open_postgres_store(url.empty() ? url_of(schema_) : url, {.now_us = {}, .migrate = true});
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }
  std::unique_ptr<Session> session(Store& store) {
    auto session = store.open_session();
    EXPECT_TRUE(session) << session.error().message;
    return session ? std::move(*session) : nullptr;
  }
  static Key key(int number) { return make(RecordKind::execution, number); }
  static Key make(RecordKind kind, int number) {
    std::string id(16, '\0');
    id[14] = static_cast<char>(number >> 8);
    id[15] = static_cast<char>(number);
    return Key{std::string(1, static_cast<char>(kind)) + id + std::string(2, '\0')};
  }
  // Puts a record and logs one event of the given type.
  static ChangeSet put(int number, std::uint64_t expected, std::uint8_t type = 1) {
    ChangeSet set;
    set.roots.push_back({key(number), expected, RootChange::Action::put, "fixed", "body", Listing{}});
    set.log.push_back({key(number), type, 1, "ns", "lane", "event"});
    return set;
  }
  // The same for a record that exists.
  ChangeSet put_again(int number, std::uint64_t expected) {
    ChangeSet set = put(number, expected);
    set.roots.front().last_entry = last_entry(number);
    return set;
  }
  std::string last_entry(int number) { return store_->load({key(number)}).value().at(0).last_entry; }
  static std::vector<Verdict> commit(Session& session, const std::vector<ChangeSet>& sets) {
    auto verdicts = session.commit(sets);
    EXPECT_TRUE(verdicts) << verdicts.error().message;
    return verdicts ? *verdicts : std::vector<Verdict>{};
  }
  std::uint64_t version(int number) {
    auto records = store_->load({key(number)});
    EXPECT_TRUE(records);
    return records && !records->empty() ? records->front().version : 0;
  }

  std::string schema_;
  std::unique_ptr<Store> store_;
};

TEST_F(PostgresStoreTest, migrates_once_and_only_when_asked) {
  auto refused = open_postgres_store(url_of(schema_), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::schema_mismatch);
  EXPECT_NE(refused.error().message.find("flowfabric migrate"), std::string::npos);

  ASSERT_TRUE(open_postgres_store(url_of(schema_), {.now_us = {}, .migrate = true}));
  ASSERT_TRUE(open_postgres_store(url_of(schema_), {.now_us = {}, .migrate = true}));
  EXPECT_TRUE(open_postgres_store(url_of(schema_), {}));

  Sql(schema_).run("INSERT INTO schema_version (version) VALUES (1000)");
  auto newer = open_postgres_store(url_of(schema_), {.now_us = {}, .migrate = true});
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Errc::schema_mismatch);
}

TEST_F(PostgresStoreTest, migrates_concurrently) {
  std::atomic<int> opened = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto store = open_postgres_store(url_of(schema_), {.now_us = {}, .migrate = true});
      EXPECT_TRUE(store) << store.error().message;
      if (store) ++opened;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(opened, 4);
}

TEST_F(PostgresStoreTest, refuses_bad_addresses_without_telling_secrets) {
  auto schema = open_postgres_store(test::postgres_test_url() + "?schema=a\"b", {});
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().code, Errc::invalid_argument);
  auto malformed = open_postgres_store("postgres://user:secret@[host/db", {});
  ASSERT_FALSE(malformed);
  EXPECT_EQ(malformed.error().message.find("secret"), std::string::npos);
  auto nobody = open_postgres_store("postgres://user:secret@127.0.0.1:1/db", {});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::unavailable);
  EXPECT_NE(nobody.error().message.find("127.0.0.1:1"), std::string::npos);
  EXPECT_EQ(nobody.error().message.find("secret"), std::string::npos);
}

TEST_F(PostgresStoreTest, isolates_the_stale_among_its_neighbours) {
  store_ = open();
  auto writer = session(*store_);
  std::vector<ChangeSet> sets;
  for (int i = 0; i < 50; ++i) sets.push_back(put(i, 0));
  commit(*writer, sets);
  sets.clear();
  for (int i = 0; i < 50; ++i) sets.push_back(put(i, i == 20 ? 7 : 1));
  sets.push_back(put(50, 0));
  sets.push_back(put(51, 3));  // does not exist
  ChangeSet absent;            // depends on the absence of a record that exists
  absent.roots.push_back({key(49), 0, RootChange::Action::check, {}, {}, {}});
  sets[49] = absent;
  const auto verdicts = commit(*writer, sets);
  ASSERT_EQ(verdicts.size(), 52U);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const bool stale = i == 20 || i == 49 || i == 51;
    EXPECT_EQ(verdicts[i], stale ? Verdict::stale : Verdict::committed) << i;
  }
  EXPECT_EQ(version(20), 1U);
  EXPECT_EQ(version(21), 2U);
  EXPECT_EQ(version(50), 1U);
  EXPECT_EQ(version(51), 0U);
}

// A commit looks for records at the position where they were loaded. A record that has moved is found by its key;
// another row at its position is not changed.
TEST_F(PostgresStoreTest, finds_records_that_have_moved) {
  store_ = open();
  auto writer = session(*store_);
  commit(*writer, {put(1, 0), put(2, 0)});
  commit(*writer, {put_again(1, 1)});  // another version, which leaves a gap at the first position
  const auto loaded = store_->load({key(1), key(2)}).value();
  ASSERT_NE(loaded.at(0).place, 0U);
  ASSERT_NE(loaded.at(1).place, loaded.at(0).place);

  Sql(schema_).run("VACUUM FULL root");
  std::vector<ChangeSet> sets = {put_again(1, 2), put_again(2, 1)};
  sets[0].roots.front().place = loaded.at(0).place;
  sets[1].roots.front().place = loaded.at(1).place;
  EXPECT_EQ(commit(*writer, sets), (std::vector{Verdict::committed, Verdict::committed}));
  EXPECT_EQ(version(1), 3U);
  EXPECT_EQ(version(2), 2U);

  // Each at the position of the other, at the same version, and both at one position.
  commit(*writer, {put_again(2, 2)});
  const auto now = store_->load({key(1), key(2)}).value();
  sets = {put_again(1, 3), put_again(2, 3)};
  sets[0].roots.front().body = "one";
  sets[0].roots.front().place = now.at(1).place;
  sets[1].roots.front().place = now.at(0).place;
  EXPECT_EQ(commit(*writer, sets), (std::vector{Verdict::committed, Verdict::committed}));
  EXPECT_EQ(store_->load({key(1)}).value().at(0).body, "one");
  EXPECT_EQ(store_->load({key(2)}).value().at(0).body, "body");
  sets = {put_again(1, 4), put_again(2, 4)};
  for (ChangeSet& set : sets) set.roots.front().place = store_->load({key(1)}).value().at(0).place;
  EXPECT_EQ(commit(*writer, sets), (std::vector{Verdict::committed, Verdict::committed}));
  EXPECT_EQ(version(1), 5U);
  EXPECT_EQ(version(2), 5U);

  // At its position, but at another version.
  sets = {put_again(1, 4)};
  sets[0].roots.front().place = store_->load({key(1)}).value().at(0).place;
  EXPECT_EQ(commit(*writer, sets), (std::vector{Verdict::stale}));
}

TEST_F(PostgresStoreTest, checks_leave_no_trace) {
  store_ = open();
  auto writer = session(*store_);
  commit(*writer, {put(1, 0)});
  ChangeSet checks;
  checks.roots.push_back({key(1), 1, RootChange::Action::check, {}, {}, {}});
  checks.roots.push_back({key(2), 0, RootChange::Action::check, {}, {}, {}});
  checks.roots.push_back({key(3), 0, RootChange::Action::put, "f", "b", {}});
  EXPECT_EQ(commit(*writer, {checks}), (std::vector{Verdict::committed}));
  EXPECT_EQ(version(1), 1U);
  EXPECT_EQ(version(2), 0U);
  EXPECT_EQ(version(3), 1U);
}

// Sessions add to parts of their own, so none waits for the open transaction of another.
TEST_F(PostgresStoreTest, sessions_do_not_wait_for_each_other_to_count) {
  store_ = open();
  auto first = session(*store_), second = session(*store_);
  ChangeSet set;
  set.counters = {{"jobs", 1}};
  EXPECT_EQ(commit(*first, {set}), (std::vector{Verdict::committed}));
  Sql blocker(schema_);
  blocker.run("BEGIN");
  blocker.run("UPDATE counter SET value = value + 1");
  EXPECT_EQ(commit(*second, {set}), (std::vector{Verdict::committed}));
  blocker.run("COMMIT");
  EXPECT_EQ(*store_->counters("jobs"), (std::vector<Counter>{{"jobs", 3}}));
  EXPECT_EQ(Sql(schema_).run("SELECT count(*) FROM counter WHERE name = 'jobs'"), "2");
  second.reset();
  second = session(*store_);
  commit(*second, {set});
  EXPECT_EQ(Sql(schema_).run("SELECT count(*) FROM counter WHERE name = 'jobs'"), "2") << "a part is used again";
}

// The record's lock: without it the append would see the record, commit, and leave an entry behind.
TEST_F(PostgresStoreTest, an_append_waits_for_whoever_erases_its_record) {
  store_ = open();
  auto writer = session(*store_);
  commit(*writer, {put(1, 0)});
  Sql eraser(schema_);
  eraser.run("BEGIN");
  eraser.run("DELETE FROM root");
  ChangeSet set;
  set.appends = {{{key(1), 3}, "late"}};
  auto verdicts = std::async(std::launch::async, [&] { return commit(*writer, {set}); });
  Sql observer(schema_);
  const auto waits = [&] {
    return observer.run("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "t";
  };
  while (verdicts.wait_for(5ms) != std::future_status::ready && !waits()) {
  }
  eraser.run("COMMIT");
  EXPECT_EQ(verdicts.get(), (std::vector{Verdict::stale}));
  EXPECT_TRUE(store_->inspect()->orphaned_sequences({}, 10).value().empty());
}

TEST_F(PostgresStoreTest, a_sequence_without_a_record_is_found_and_removed) {
  store_ = open();
  Sql(schema_).run(
      "INSERT INTO sequence_entry (root, kind, n, body) VALUES ('\\x65610001', 3, 1, 'x'), "
      "('\\x65610001', 3, 2, 'y'), ('\\x65610001', 4, -9, '')");
  const Key root{std::string("ea\0\1", 4)};
  EXPECT_EQ(store_->inspect()->orphaned_sequences({}, 10).value(), (std::vector<SequenceName>{{root, 3}, {root, 4}}));
  EXPECT_EQ(store_->inspect()->orphaned_sequences(SequenceName{root, 3}, 10).value(),
            (std::vector<SequenceName>{{root, 4}}));
  auto writer = session(*store_);
  ChangeSet set;
  set.sequence_drops = {{{root, 3}, whole_sequence}, {{root, 4}, whole_sequence}};
  EXPECT_EQ(commit(*writer, {set}), (std::vector{Verdict::committed}));
  EXPECT_TRUE(store_->inspect()->orphaned_sequences({}, 10).value().empty());
}

TEST_F(PostgresStoreTest, sessions_get_different_candidates) {
  store_ = open();
  const Route lane{route_of("lane", {"gpu"}), "lane", {"gpu"}, "ns"};
  auto first = session(*store_);
  auto second = session(*store_);
  std::vector<ChangeSet> sets;
  for (int i = 0; i < 40; ++i) {
    sets.push_back(put(i, 0));
    sets.back().routes = {lane};
    sets.back().ready_put.push_back({lane.number, i % 3, static_cast<std::uint64_t>(i), key(i)});
    sets.back().due_put.push_back({i + 1, key(i)});
  }
  commit(*first, sets);
  ReadRequest request;
  request.ready = {{lane.number, 15}};
  auto a = first->read(request);
  auto b = second->read(request);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->ready.size(), 15U);
  EXPECT_EQ(b->ready.size(), 15U);
  EXPECT_EQ(a->ready.front().entry.priority, 2);
  std::set<Key> seen;
  for (const auto* reply : {&*a, &*b}) {
    for (const auto& candidate : reply->ready) EXPECT_TRUE(seen.insert(candidate.record.key).second);
  }
  first->release();
  second->release();
  ReadRequest due;
  due.due_limit = 30;
  a = first->read(due);
  b = second->read(due);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->due.size(), 30U);
  EXPECT_EQ(b->due.size(), 10U);
  EXPECT_EQ(a->due.front().entry.due_at, 1);
  EXPECT_GE(a->now_ms(), a->due.back().entry.due_at);
}

// The worst case for the planner: the table has grown since the plan was made, and was never analyzed.
TEST_F(PostgresStoreTest, group_reads_use_their_index) {
  store_ = open();
  auto writer = session(*store_);
  ReadRequest request;
  request.groups = {{3, 10}, {8, 10}};
  request.group_limit = 10;
  EXPECT_TRUE(writer->read(request)->grouped.empty());
  std::vector<ChangeSet> sets;
  for (int i = 0; i < 3000; ++i) {
    sets.push_back(put(i, 0));
    sets.back().due_put.push_back({i + 1, key(i), i % 500 == 0 ? 8U : 0U, -i});
  }
  commit(*writer, sets);
  const auto reply = writer->read(request);
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->grouped.size(), 6U);
  EXPECT_EQ(reply->grouped.front().entry, (DueEntry{2501, key(2500), 8, -2500}));
  writer.reset();  // a backend reports its statistics when it ends
  Sql sql(schema_);
  const std::string found =
      "SELECT idx_tup_fetch FROM pg_stat_user_indexes WHERE indexrelname = 'due_group' AND schemaname = '" + schema_ +
      "'";
  for (int i = 0; i < 500 && sql.run(found) == "0"; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(sql.run(found), "6");
}

// The same for ready entries: neither one namespace among many nor the many are scanned.
TEST_F(PostgresStoreTest, searches_read_as_many_ready_entries_as_they_bring) {
  store_ = open();
  const Route lane{route_of("lane", {}), "lane", {}, "ns"};
  auto writer = session(*store_);
  ReadRequest mixed, plain;
  mixed.ready = {{lane.number, 5}, {lane.number, 10, "few"}, {lane.number, 10, "nobody"}};
  plain.ready = {{lane.number, 7}};
  EXPECT_TRUE(writer->read(mixed)->ready.empty());
  EXPECT_TRUE(writer->read(plain)->ready.empty());
  std::vector<ChangeSet> sets;
  for (int i = 0; i < 3000; ++i) {
    sets.push_back(put(i, 0));
    sets.back().routes = {lane};
    sets.back().ready_put.push_back(
        {lane.number, 0, static_cast<std::uint64_t>(i), key(i), i % 500 == 499 ? "few" : "many"});
  }
  commit(*writer, sets);
  const auto reply = writer->read(mixed);
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->ready.size(), 11U);
  EXPECT_EQ(reply->ready[4].entry, (ReadyEntry{lane.number, 0, 4, key(4), "many"}));
  EXPECT_EQ(reply->ready[5].entry, (ReadyEntry{lane.number, 0, 499, key(499), "few"}));
  EXPECT_EQ(reply->ready[10].demand, 1U);
  EXPECT_EQ(writer->read(plain)->ready.size(), 7U);
  writer.reset();  // a backend reports its statistics when it ends
  Sql sql(schema_);
  const auto read_by = [&](const std::string& index) {
    return sql.run("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = '" + index +
                   "' AND schemaname = '" + schema_ + "'");
  };
  for (int i = 0; i < 500 && read_by("ready_order") == "0"; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(read_by("ready_namespace"), "6");
  EXPECT_EQ(read_by("ready_order"), "12");
}

// Reading the log must cost the same for any length of the log.
TEST_F(PostgresStoreTest, reading_the_log_reads_no_more_of_it_than_is_new) {
  store_ = open();
  auto writer = session(*store_);
  LogQuery query;
  query.after = store_->log_start().value();
  query.limit = 10;
  const auto read = [&] {
    auto page = store_->read_log(query);
    ASSERT_TRUE(page) << page.error().message;
    query.after = page->next;
  };
  for (int i = 0; i < 10; ++i) read();  // by now plans are kept that were made while the table was empty
  for (int commits = 0; commits < 60; ++commits) {
    std::vector<ChangeSet> sets;
    for (int i = 0; i < 100; ++i) sets.push_back(put(commits * 100 + i, 0));
    commit(*writer, sets);
  }
  query.after = store_->log_end().value();
  for (int i = 0; i < 10; ++i) read();
  writer.reset();
  store_.reset();  // a backend reports its statistics when it ends
  Sql sql(schema_);
  const auto read_of_log = [&](const std::string& column) {
    return sql.run("SELECT " + column + " FROM pg_stat_user_tables WHERE relname = 'log' AND schemaname = '" + schema_ +
                   "'");
  };
  for (int i = 0; i < 500 && read_of_log("n_tup_ins") == "0"; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_LE(std::stoi(read_of_log("seq_tup_read + idx_tup_fetch")), 60);
}

// A failover that loses commits: the routes of this session are gone, and their turns are used again for others.
TEST_F(PostgresStoreTest, a_new_connection_reads_all_routes_again) {
  store_ = open();
  auto survivor = session(*store_), other = session(*store_);
  const auto put_on = [](int number, const std::string& lane) {
    ChangeSet set = put(number, 0);
    set.routes = {Route{route_of(lane, {}), lane, {}, "ns"}};
    set.ready_put = {{set.routes.front().number, 0, 1, key(number)}};
    return set;
  };
  commit(*survivor, {put_on(1, "lost")});
  ReadRequest request;
  request.want_routes = true;
  const auto before = survivor->read(request);
  ASSERT_EQ(before->routes.size(), 1U);
  Sql sql(schema_);
  sql.run("TRUNCATE route, ready, root, log; UPDATE route_turn SET turn = 0");
  sql.run("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'flowfabric'");
  commit(*other, {put_on(2, "new")});
  request.routes_seen = before->routes_seen;
  const auto after = survivor->read(request);
  ASSERT_TRUE(after);
  ASSERT_EQ(after->routes.size(), 1U);
  EXPECT_EQ(after->routes.front().lane, "new");
}

// What is settled for a role, a database or in the URL, in the words of libpq.
std::string with_options(const std::string& url, const std::string& settings) {
  std::string options;
  for (const char c : settings) options += c == ' ' ? std::string("%20") : c == '=' ? "%3D" : std::string(1, c);
  return url + "&options=" + options;
}

TEST_F(PostgresStoreTest, settings_of_a_role_do_not_weaken_or_change_a_session) {
  store_ = open();
  const std::string url = with_options(
      url_of(schema_),
      "-c synchronous_commit=off -c default_transaction_read_only=on -c statement_timeout=7h -c lock_timeout=7h "
      "-c default_transaction_isolation=serializable -c idle_in_transaction_session_timeout=7h "
      "-c idle_session_timeout=7h -c transform_null_equals=on -c standard_conforming_strings=off");
  auto connection = postgres::Connection::open(postgres::parse_address(url).value(), "").value();
  const auto show = [&](const std::string& name) { return connection->exec("SHOW " + name)->string(0, 0); };
  EXPECT_EQ(show("synchronous_commit"), "on");
  EXPECT_EQ(show("default_transaction_read_only"), "off");
  EXPECT_EQ(show("default_transaction_isolation"), "read committed");
  for (const char* timeout :
       {"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"}) {
    EXPECT_EQ(show(timeout), "0") << timeout;
  }
  EXPECT_EQ(show("transform_null_equals"), "off");
  EXPECT_EQ(show("standard_conforming_strings"), "on");
  const auto theirs = open(url);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(commit(*session(*theirs), {put(1, 0)}), std::vector{Verdict::committed});
}

TEST_F(PostgresStoreTest, only_the_url_weakens_commits) {
  const auto synchronous_commit = [&](const std::string& url) {
    const auto connection = postgres::Connection::open(postgres::parse_address(url).value(), "").value();
    return connection->exec("SHOW synchronous_commit")->string(0, 0);
  };
  EXPECT_EQ(synchronous_commit(url_of(schema_) + "&synchronous_commit=off"), "off");
  EXPECT_EQ(synchronous_commit(with_options(url_of(schema_), "-c synchronous_commit=remote_apply")), "remote_apply");
  EXPECT_EQ(synchronous_commit(with_options(url_of(schema_), "-c synchronous_commit=local")), "on");
  const auto refused = postgres::parse_address(url_of(schema_) + "&synchronous_commit=perhaps");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "synchronous_commit");
}

TEST_F(PostgresStoreTest, a_connection_to_a_read_only_server_is_given_up) {
  store_ = open();
  auto connection = postgres::Connection::open(postgres::parse_address(url_of(schema_)).value(),
                                               "SET default_transaction_read_only = on")
                        .value();
  const auto refused = connection->exec("DELETE FROM root");
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().lost) << "nothing was written, for certain";
  EXPECT_EQ(postgres::to_error(refused.error()).code, Errc::unavailable);
  EXPECT_TRUE(connection->broken());
}

TEST_F(PostgresStoreTest, a_pooler_that_pools_by_transaction_is_named) {
  for (const char* sqlstate : {"42P05", "26000"}) {
    const Error error = postgres::to_error({false, sqlstate, "prepared statement \"begin\" already exists"});
    EXPECT_EQ(error.code, Errc::unsupported);
    EXPECT_NE(error.message.find("pool_mode = session"), std::string::npos) << error.message;
  }
}

// Counting what is ready stands for whatever is slow to read: its table is locked, and nothing else here needs it.
TEST_F(PostgresStoreTest, nobody_waits_for_slow_reads) {
  store_ = open();
  auto writer = session(*store_);
  commit(*writer, {put(1, 0)});
  Sql blocker(schema_);
  blocker.run("BEGIN");
  blocker.run("LOCK TABLE ready IN ACCESS EXCLUSIVE MODE");
  std::atomic<int> answered = 0, refused = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 12; ++i) {
    readers.emplace_back([&] {
      const auto counted = store_->count_ready_before({}, 10);
      if (!counted) {
        EXPECT_EQ(counted.error().code, Errc::overloaded) << counted.error().message;
      }
      ++(counted ? answered : refused);
    });
  }
  while (refused < 8) std::this_thread::sleep_for(5ms);
  // These would wait for ever if they shared a connection with the four that are left.
  EXPECT_TRUE(store_->next_due());
  EXPECT_TRUE(store_->due_entries({}, 100, 10));
  EXPECT_TRUE(store_->load({key(1)}));
  EXPECT_TRUE(store_->history(key(1), "", 10));
  EXPECT_EQ(commit(*writer, {put(2, 0)}), std::vector{Verdict::committed});
  EXPECT_EQ(answered, 0);
  blocker.run("COMMIT");
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(answered, 4);
  EXPECT_EQ(refused, 8);
}

TEST_F(PostgresStoreTest, a_slow_read_is_stopped) {
  store_ = open();
  const auto limited = open_postgres_store(url_of(schema_), {.now_us = {}, .migrate = false, .read_timeout_ms = 50});
  ASSERT_TRUE(limited);
  Sql blocker(schema_);
  blocker.run("BEGIN");
  blocker.run("LOCK TABLE ready IN ACCESS EXCLUSIVE MODE");
  const auto stopped = (*limited)->count_ready_before({}, 10);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Errc::timed_out);
  EXPECT_NE(stopped.error().message.find("read_timeout (50 ms)"), std::string::npos) << stopped.error().message;
  blocker.run("COMMIT");
  EXPECT_EQ((*limited)->count_ready_before({}, 10).value(), 0) << "the connection is good for the next one";
}

TEST_F(PostgresStoreTest, log_shows_nothing_past_an_open_transaction) {
  store_ = open();
  auto writer = session(*store_);
  commit(*writer, {put(1, 0)});
  Sql open_transaction(schema_);
  open_transaction.run("BEGIN");
  open_transaction.run(
      "INSERT INTO log (n, live, entries, prev_xids, prev_ns) "
      "VALUES (1, 1, ARRAY['\\x000900000000000000010001650000000000'::bytea], ARRAY['0'::xid8], ARRAY[0])");
  commit(*writer, {put(2, 0)});  // commits first but has the higher number

  LogQuery query;
  query.limit = 100;
  auto page = store_->read_log(query);
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->entries.size(), 1U);
  EXPECT_EQ(page->entries[0].entry.root, key(1));
  EXPECT_TRUE(page->behind);
  LogQuery of_one = query;
  of_one.root = key(2);
  const auto hidden = store_->read_log(of_one);
  ASSERT_TRUE(hidden);
  EXPECT_TRUE(hidden->entries.empty()) << "the log of one record ends at the same place";
  EXPECT_TRUE(hidden->behind);

  const auto end = store_->log_end();
  ASSERT_TRUE(end);
  open_transaction.run("COMMIT");
  for (const auto& from : {page->next, *end}) {
    query.after = from;
    auto rest = store_->read_log(query);
    ASSERT_TRUE(rest);
    ASSERT_EQ(rest->entries.size(), 2U);
    EXPECT_EQ(rest->entries[0].entry.type, 9);
    EXPECT_EQ(rest->entries[1].entry.root, key(2));
    query.after = rest->next;
    rest = store_->read_log(query);
    ASSERT_TRUE(rest);
    EXPECT_TRUE(rest->entries.empty());
  }
  of_one.after = hidden->next;
  EXPECT_EQ(store_->read_log(of_one)->entries.size(), 1U);
}

TEST_F(PostgresStoreTest, says_who_holds_events_back) {
  store_ = open();
  auto writer = session(*store_);
  commit(*writer, {put(1, 0)});
  EXPECT_EQ(store_->log_health()->held_back_ms, 0);
  Sql foreign(schema_);
  foreign.run("BEGIN");
  foreign.run("SELECT pg_current_xact_id()");
  std::this_thread::sleep_for(20ms);  // so that it can be measured
  EXPECT_EQ(store_->log_health()->held_back_ms, 0) << "nothing is held back yet";
  commit(*writer, {put(2, 0)});
  const LogHealth health = store_->log_health().value();
  EXPECT_GE(health.held_back_ms, 20);
  EXPECT_GE(health.uncleared_ms, 20);
  EXPECT_NE(health.holder.find("idle in transaction"), std::string::npos) << health.holder;
  foreign.run("COMMIT");
  EXPECT_EQ(store_->log_health()->held_back_ms, 0);
}

// The page is kept while another record has an entry in it, but it contains nothing of the erased record.
TEST_F(PostgresStoreTest, erasing_empties_the_entries_of_a_shared_page) {
  store_ = open();
  auto writer = session(*store_);
  ChangeSet secret = put(2, 0);
  secret.log.front().body = "secret";
  commit(*writer, {put(1, 0), secret, put(3, 0)});
  const auto erase = [&](int number) {
    ChangeSet set;
    set.roots.push_back({key(number), 1, RootChange::Action::erase, {}, {}, {}});
    set.roots.back().last_entry = last_entry(number);
    EXPECT_EQ(commit(*writer, {set}), std::vector{Verdict::committed});
  };
  Sql sql(schema_);
  const std::string full = sql.run(
      "SELECT live FROM log WHERE 'secret' = ANY (SELECT substring(e FROM length(e) - 5) "
      "FROM unnest(entries) e)");
  EXPECT_EQ(full, "3");
  erase(2);
  EXPECT_EQ(sql.run("SELECT count(*) FROM log, unnest(entries) e WHERE e = ''"), "1");
  EXPECT_EQ(sql.run("SELECT live FROM log"), "2");
  EXPECT_EQ(store_->history(key(3), "", 10)->size(), 1U);
  EXPECT_TRUE(store_->check_integrity()->empty());
  erase(1);
  EXPECT_EQ(store_->history(key(3), "", 10)->size(), 1U);
  erase(3);
  EXPECT_EQ(sql.run("SELECT count(*) FROM log"), "0");
  EXPECT_TRUE(store_->check_integrity()->empty());
}

TEST_F(PostgresStoreTest, survives_a_backend_killed_between_read_and_commit) {
  store_ = open();
  auto writer = session(*store_);
  commit(*writer, {put(1, 0)});
  Sql sql(schema_);
  const std::string others = "FROM pg_stat_activity WHERE application_name = 'flowfabric' AND pid <> pg_backend_pid()";
  ReadRequest search;
  search.keys = {key(1)};
  search.due_limit = 10;
  ASSERT_TRUE(writer->read(search));
  sql.run("SELECT pg_terminate_backend(pid, 5000) " + others);
  EXPECT_EQ(commit(*writer, {put_again(1, 1)}), std::vector{Verdict::committed});
  EXPECT_EQ(version(1), 2U);
  sql.run("SELECT pg_terminate_backend(pid, 5000) " + others);
  ReadRequest request;
  request.keys = {key(1)};
  const auto reply = writer->read(request);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->records.front().version, 2U);
  EXPECT_EQ(version(1), 2U);  // the connections of the pool were killed too
}

TEST_F(PostgresStoreTest, survives_a_backend_killed_in_mid_commit) {
  store_ = open();
  auto writer = session(*store_);
  commit(*writer, {put(1, 0)});
  Sql blocker(schema_), sql(schema_);
  blocker.run("BEGIN");
  blocker.run("SELECT key FROM root FOR UPDATE");
  std::thread killer([&] {
    const std::string waiting =
        "FROM pg_stat_activity WHERE application_name = 'flowfabric' AND wait_event_type = 'Lock'";
    while (sql.run("SELECT pid " + waiting).empty()) std::this_thread::sleep_for(5ms);
    sql.run("SELECT pg_terminate_backend(pid, 5000) " + waiting);
    while (sql.run("SELECT pid " + waiting).empty()) std::this_thread::sleep_for(5ms);  // it was sent again
    blocker.run("COMMIT");
  });
  EXPECT_EQ(commit(*writer, {put_again(1, 1)}), std::vector{Verdict::committed});
  killer.join();
  EXPECT_EQ(version(1), 2U);
  EXPECT_EQ(store_->history(key(1), "", 10)->size(), 2U);
}

TEST_F(PostgresStoreTest, sweeping_a_resting_writer_does_not_hurt_it) {
  store_ = open();
  auto writer = session(*store_);
  Sql(schema_).run("DELETE FROM writer");
  EXPECT_EQ(commit(*writer, {put(1, 0)}), std::vector{Verdict::committed});
}

// Stands between the store and the server. It can lose an answer, and it can hold a request back: the client sees a lost
// connection, and the server gets the request when the test says so.
class Proxy {
 public:
  explicit Proxy(int server_port) : server_port_(server_port) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~Proxy() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    for (auto& pump : pumps_) pump.join();
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const { return port_; }
  void swallow_next_answer() { swallow_ = true; }
  void hold_next_request() { hold_ = true; }
  // Returns when the server has answered the request that was held back.
  void deliver_held_request() {
    deliver_.count_down();
    delivered_.wait();
  }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  void accept_all() {
    for (;;) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address = loopback(server_port_);
      EXPECT_EQ(connect(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
      pumps_.emplace_back([this, client, server] { pump(client, server); });
    }
  }
  // Forwards bytes in both directions until one side closes; then closes both.
  void pump(int client, int server) {
    std::vector<char> buffer(65536);
    for (bool open = true; open;) {
      pollfd sources[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      poll(sources, 2, -1);
      for (int i = 0; i < 2 && open; ++i) {
        if (sources[i].revents == 0) continue;
        const auto size = read(sources[i].fd, buffer.data(), buffer.size());
        open = size > 0 && !(i == 1 && swallow_.exchange(false));
        if (open && i == 0 && hold_.exchange(false)) {
          shutdown(client, SHUT_RDWR);
          deliver_.wait();
          EXPECT_EQ(write(server, buffer.data(), static_cast<std::size_t>(size)), size);
          EXPECT_GT(read(server, buffer.data(), buffer.size()), 0);
          delivered_.count_down();
          open = false;
          break;
        }
        if (open) open = write(sources[1 - i].fd, buffer.data(), static_cast<std::size_t>(size)) == size;
      }
    }
    close(client);
    close(server);
  }

  const int server_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> swallow_ = false;
  std::atomic<bool> hold_ = false;
  std::latch deliver_{1}, delivered_{1};
  std::thread acceptor_;
  std::vector<std::thread> pumps_;
};

// The URL of the test server with another port, and the port that it has.
std::string url_through(int port) {
  const std::string url = test::postgres_test_url();
  const auto colon = url.rfind(':');
  return url.substr(0, colon + 1) + std::to_string(port) + url.substr(url.find('/', colon));
}
int port_of_server() {
  const std::string url = test::postgres_test_url();
  return std::stoi(url.substr(url.rfind(':') + 1));
}

// A commit that was on its way when its connection was lost arrives after another connection has taken the writer over.
// The set has no record whose guard would refuse it.
TEST_F(PostgresStoreTest, a_writer_that_was_taken_over_cannot_commit) {
  store_ = open();
  Proxy proxy(port_of_server());
  auto through = open(url_through(proxy.port()) + "?schema=" + schema_);
  ASSERT_NE(through, nullptr);
  auto writer = session(*through);
  const auto write = [&](const std::string& body) {
    ChangeSet set;
    set.satellites = {{{key(1), 1, 0}, body}};
    EXPECT_EQ(commit(*writer, {set}), std::vector{Verdict::committed});
  };
  commit(*writer, {put(1, 0)});
  write("prepared");  // so that the request which is held back is one message
  proxy.hold_next_request();
  write("old");  // sent again over a new connection
  write("new");
  proxy.deliver_held_request();
  EXPECT_EQ(store_->load_satellites(key(1), 1, 0, 1)->at(0).body, "new");
  writer.reset();
  through.reset();
}

TEST_F(PostgresStoreTest, finds_out_that_a_commit_happened_when_its_answer_was_lost) {
  store_ = open();
  Proxy proxy(port_of_server());
  auto through = open(url_through(proxy.port()) + "?schema=" + schema_);
  ASSERT_NE(through, nullptr);
  auto writer = session(*through);
  commit(*writer, {put(1, 0)});
  for (std::uint64_t expected = 1; expected < 6; ++expected) {
    proxy.swallow_next_answer();
    // If it were sent again it would be stale; if the outcome were guessed, it might be lost.
    EXPECT_EQ(commit(*writer, {put_again(1, expected)}), std::vector{Verdict::committed});
    EXPECT_EQ(version(1), expected + 1);
  }
  EXPECT_EQ(store_->history(key(1), "", 100)->size(), 6U);
  writer.reset();
  through.reset();
}

// Collects the notifications of a listener.
class Ear {
 public:
  std::function<void(const Wakeup&)> listener() {
    return [this](const Wakeup& wakeup) {
      const std::lock_guard lock(mutex_);
      heard_.push_back(wakeup);
      changed_.notify_all();
    };
  }
  bool wait(std::chrono::milliseconds limit, const std::function<bool(const Wakeup&)>& wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return std::any_of(heard_.begin(), heard_.end(), wanted); });
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return heard_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Wakeup> heard_;
};

TEST_F(PostgresStoreTest, announcements_reach_others_and_not_oneself) {
  store_ = open();
  auto other = open();
  Ear own, theirs;
  store_->listen(own.listener());
  other->listen(theirs.listener());
  Wakeup wakeup;
  const std::map<ReadyLine, std::uint32_t> lines = {{{3, "a b:,c"}, 12}, {{5, ""}, 0}};
  wakeup.ready = lines;
  wakeup.earliest_due = 77;
  wakeup.log_advanced = true;
  wakeup.lanes_changed = {"a b,c"};
  store_->announce(wakeup);
  EXPECT_TRUE(theirs.wait(5s, [&](const Wakeup& w) {
    return w.ready == lines && w.earliest_due == 77 && w.log_advanced && !w.everything &&
           w.lanes_changed == std::vector<std::string>{"a b,c"};
  }));
  EXPECT_EQ(own.count(), 0U);

  Sql().run(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'flowfabric' "
      "AND query LIKE '%LISTEN%'");
  EXPECT_TRUE(theirs.wait(5s, [](const Wakeup& w) { return w.everything; }));
  other->listen({});
  store_->listen({});
}

TEST(PostgresWakeup, survives_its_encoding) {
  Wakeup wakeup;
  EXPECT_FALSE(postgres::decode_wakeup(postgres::encode_wakeup(wakeup, "1"), "1"));
  EXPECT_FALSE(postgres::decode_wakeup(postgres::encode_wakeup(wakeup, "1"), "2")->everything);
  for (RouteNo i = 0; i < 5000; ++i) wakeup.ready[{100000 + i, "ns"}] = 1;
  const auto text = postgres::encode_wakeup(wakeup, "1");
  EXPECT_LT(text.size(), 7900U);
  EXPECT_TRUE(postgres::decode_wakeup(text, "2")->everything);
  EXPECT_EQ(postgres::decode_wakeup("1 r3:61", "2")->ready, (std::map<ReadyLine, std::uint32_t>{{{3, "a"}, 0}}));
  for (const char* odd : {"", "1 r1,x", "1 r1:61*", "1 r1:61*x", "1 z", "1 l1", "1 l61,,61", "1  ", "1 d"}) {
    EXPECT_TRUE(postgres::decode_wakeup(odd, "2")->everything) << odd;
  }
}

TEST_F(PostgresStoreTest, an_idle_store_issues_no_statements) {
  store_ = open();
  Ear ear;
  store_->listen(ear.listener());
  auto writer = session(*store_);
  commit(*writer, {put(1, 0)});
  store_->announce({});
  EXPECT_EQ(version(1), 1U);
  std::this_thread::sleep_for(200ms);
  Sql sql;
  const std::string fingerprint =
      "SELECT string_agg(pid || ' ' || query_start || state_change || state, ',' ORDER BY pid) FROM pg_stat_activity "
      "WHERE application_name = 'flowfabric'";
  const std::string before = sql.run(fingerprint);
  EXPECT_FALSE(before.empty());
  EXPECT_EQ(before.find("transaction"), std::string::npos);
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(sql.run(fingerprint), before);
}

// Two sessions that work on the same few records: every commit is either complete or stale.
TEST_F(PostgresStoreTest, contending_sessions_lose_nothing) {
  store_ = open();
  constexpr int records = 8, rounds = 60;
  {
    auto writer = session(*store_);
    std::vector<ChangeSet> sets;
    for (int i = 0; i < records; ++i) sets.push_back(put(i, 0));
    commit(*writer, sets);
  }
  std::atomic<int> committed = 0;
  const auto work = [&] {
    auto writer = session(*store_);
    for (int round = 0; round < rounds; ++round) {
      ReadRequest request;
      for (int i = 0; i < records; ++i) request.keys.push_back(key(i));
      auto reply = writer->read(request);
      ASSERT_TRUE(reply);
      std::vector<ChangeSet> sets;
      for (const auto& record : reply->records) {
        sets.push_back(put(static_cast<std::uint8_t>(record.key.bytes[16]), record.version));
        sets.back().roots.front().last_entry = record.last_entry;
      }
      for (const auto verdict : commit(*writer, sets)) committed += verdict == Verdict::committed ? 1 : 0;
    }
  };
  std::thread other(work);
  work();
  other.join();
  int versions = 0;
  for (int i = 0; i < records; ++i) {
    const auto history = store_->history(key(i), "", 1000);
    EXPECT_EQ(history->size(), version(i));
    versions += static_cast<int>(version(i)) - 1;
  }
  EXPECT_EQ(versions, committed);
  EXPECT_GE(committed, rounds * records);
}

}  // namespace
}  // namespace flowfabric
