// What becomes of cursors when the database crashes, fails over or is restored. Each case has servers of its own.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <chrono>
#include <thread>

#include "base/hashing.hpp"
#include "store/postgres/postgres_store.hpp"
#include "support/postgres_server.hpp"

namespace flowfabric {
namespace {

using test::PostgresServer;

std::string sql(const PostgresServer& server, const std::string& text) {
  PGconn* connection = PQconnectdb(server.url().c_str());
  PGresult* result = PQexec(connection, text.c_str());
  const auto status = PQresultStatus(result);
  EXPECT_TRUE(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) << text << ": " << PQerrorMessage(connection);
  std::string value = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  PQfinish(connection);
  return value;
}

// Gives out transaction ids without writing anything down: after a crash they are given out again.
void spend_ids(const PostgresServer& server, int count) {
  sql(server, "DO $$ BEGIN FOR i IN 1.." + std::to_string(count) +
                  " LOOP PERFORM pg_current_xact_id(); ROLLBACK; END LOOP; END $$");
}

// A store on a server, and what one says to it.
class Home {
 public:
  explicit Home(const PostgresServer& server) {
    auto store = open_postgres_store(server.url() + "?schema=home", {.now_us = {}, .migrate = true});
    if (!store) throw std::runtime_error(store.error().message);
    store_ = std::move(*store);
  }

  Store& store() { return *store_; }

  // Changes the record `name`, or makes it, and logs `body`.
  void log(const std::string& name, const std::string& body) {
    const Key key = make_key(RecordKind::execution, name, 1);
    RootChange change;
    change.key = key;
    change.listing = Listing{};
    const auto records = store_->load({key}).value();
    if (!records.empty()) {
      change.expected_version = records[0].version;
      change.last_entry = records[0].last_entry;
    }
    ChangeSet set;
    set.roots = {change};
    set.log = {{key, 1, 1000, "ns", "lane", body}};
    auto session = store_->open_session();
    ASSERT_TRUE(session) << session.error().message;
    ASSERT_EQ((*session)->commit({set}).value(), std::vector{Verdict::committed});
  }

  void erase(const std::string& name) {
    const Key key = make_key(RecordKind::execution, name, 1);
    const Record record = store_->load({key}).value().at(0);
    ChangeSet set;
    set.roots.push_back({key, record.version, RootChange::Action::erase, {}, {}, {}});
    set.roots.back().last_entry = record.last_entry;
    ASSERT_EQ(store_->open_session().value()->commit({set}).value(), std::vector{Verdict::committed});
  }

  // The bodies from the cursor to the end, each followed by a space. The cursor moves on.
  std::string read(std::string& cursor) {
    std::string bodies;
    LogQuery query;
    query.limit = 2;
    for (bool behind = true; behind;) {
      query.after = cursor;
      auto page = store_->read_log(query);
      if (!page) return page.error().message;
      for (const auto& entry : page->entries) bodies += entry.entry.body + " ";
      behind = page->behind && cursor != page->next;
      cursor = page->next;
    }
    return bodies;
  }
  std::string read_from_start() {
    std::string cursor;
    return read(cursor);
  }
  std::string history(const std::string& name) {
    std::string bodies;
    const auto entries = store_->history(make_key(RecordKind::execution, name, 1), "", 100).value();
    for (const auto& entry : entries) bodies += entry.entry.body + " ";
    return bodies;
  }
  // Where a refused cursor is told to go on.
  std::string earliest_for(const std::string& cursor) {
    LogQuery query;
    query.limit = 1;
    query.after = cursor;
    const auto page = store_->read_log(query);
    EXPECT_FALSE(page);
    return page ? "" : from_hex(page.error().details.at(0).second).value();
  }

 private:
  std::unique_ptr<Store> store_;
};

TEST(PostgresIncarnation, a_crash_that_gives_ids_out_again_loses_no_event) {
  PostgresServer server = PostgresServer::start();
  std::string caught_up, from_now;
  {
    Home home(server);
    home.log("a", "1");
    spend_ids(server, 500);
    EXPECT_EQ(home.read(caught_up), "1 ");
    from_now = home.store().log_end().value();
  }
  server.crash();
  server.start_again();
  Home home(server);
  home.log("a", "2");
  home.log("b", "3");
  EXPECT_EQ(home.read(caught_up), "2 3 ");
  EXPECT_EQ(home.read(from_now), "2 3 ");
  EXPECT_EQ(sql(server, "SELECT count(*) FROM home.incarnation"), "1") << "the log has lost nothing";
}

TEST(PostgresIncarnation, a_failover_that_loses_commits_refuses_the_cursors_of_those_who_saw_them) {
  PostgresServer primary = PostgresServer::start();
  std::string early, common, ahead;
  {
    Home home(primary);
    home.log("a", "1");
    EXPECT_EQ(home.read(early), "1 ");
    home.log("a", "2");
    home.log("gone", "removed");
    common = home.store().log_end().value();
    home.erase("gone");
  }
  PostgresServer standby = PostgresServer::standby_of(primary);
  standby.crash();  // it falls behind
  {
    Home home(primary);
    for (int i = 0; i < 20; ++i) home.log("a", "lost");
    ahead = home.store().log_end().value();
  }
  primary.kill();
  standby.start_again();
  standby.promote();

  Home home(standby);
  for (int i = 0; i < 30; ++i) home.log("b", std::to_string(i));  // the ids of what was lost are used again, and more
  std::string all;
  for (int i = 0; i < 30; ++i) all += std::to_string(i) + " ";
  EXPECT_EQ(home.read(early), "2 " + all);
  EXPECT_EQ(home.read(common), all) << "the last entry is gone with its record, its cursor is as good as before";
  EXPECT_EQ(home.read_from_start(), "1 2 " + all);
  std::string refused = ahead;
  EXPECT_EQ(home.read(refused), cursor_ahead_of_log);
  std::string earliest = home.earliest_for(ahead);
  EXPECT_EQ(home.read(earliest), all) << "that is where the two histories part";
  EXPECT_EQ(home.history("a"), "1 2 ");
  EXPECT_EQ(home.store().check_integrity().value(), std::vector<std::string>{});
  EXPECT_EQ(sql(standby, "SELECT count(*) FROM home.incarnation"), "2");
}

TEST(PostgresIncarnation, a_dump_goes_on_in_a_cluster_with_smaller_ids) {
  PostgresServer old = PostgresServer::start({.fsync = false});
  spend_ids(old, 5000);
  std::string early, late, lost;
  {
    Home home(old);
    home.log("a", "1");
    EXPECT_EQ(home.read(early), "1 ");
    home.log("b", "2");
    home.log("a", "3");
    late = home.store().log_end().value();
  }
  PostgresServer fresh = PostgresServer::start({.fsync = false});
  test::dump_and_restore(old.url(), fresh.url());
  {
    Home home(old);
    home.log("a", "after the dump");
    lost = home.store().log_end().value();
  }
  {
    Home home(fresh);
    EXPECT_EQ(home.read_from_start(), "1 2 3 ") << "at once, though the ids of this cluster are behind";
    home.log("b", "4");
    home.log("a", "5");
    EXPECT_EQ(home.read_from_start(), "1 2 3 4 5 ");
    EXPECT_EQ(home.read(early), "2 3 4 5 ");
    EXPECT_EQ(home.read(late), "4 5 ");
    EXPECT_EQ(home.history("a"), "1 3 5 ");
    std::string refused = lost;
    EXPECT_EQ(home.read(refused), cursor_ahead_of_log);
    home.erase("b");
    EXPECT_EQ(home.read_from_start(), "1 3 5 ");
    EXPECT_EQ(home.store().check_integrity().value(), std::vector<std::string>{});
  }
  // And once more, into a database of the same cluster, and from there on to a third incarnation.
  sql(fresh, "CREATE DATABASE copy");
  const std::string copy_url = fresh.url().substr(0, fresh.url().rfind('/')) + "/copy";
  test::dump_and_restore(fresh.url(), copy_url);
  auto copy = open_postgres_store(copy_url + "?schema=home", {}).value();
  LogQuery query;
  query.limit = 10;
  query.after = early;
  EXPECT_TRUE(copy->read_log(query)) << "a cursor outlives several restores";
}

TEST(PostgresIncarnation, an_open_transaction_does_not_hide_what_was_restored) {
  PostgresServer old = PostgresServer::start({.fsync = false});
  spend_ids(old, 1000);
  {
    Home(old).log("a", "1");
  }
  PostgresServer fresh = PostgresServer::start({.fsync = false});
  test::dump_and_restore(old.url(), fresh.url());
  PGconn* foreign = PQconnectdb(fresh.url().c_str());
  PQclear(PQexec(foreign, "BEGIN; SELECT pg_current_xact_id()"));
  spend_ids(fresh, 10);
  Home home(fresh);
  EXPECT_EQ(home.read_from_start(), "1 ");
  std::string cursor = home.store().log_end().value();
  home.log("a", "2");
  EXPECT_EQ(home.read(cursor), "") << "somebody may still write before it";
  PQclear(PQexec(foreign, "COMMIT"));
  EXPECT_EQ(home.read(cursor), "2 ");
  PQfinish(foreign);
}

TEST(PostgresIncarnation, a_standby_can_be_read_and_takes_no_writes) {
  PostgresServer primary = PostgresServer::start();
  {
    Home(primary).log("a", "1");
  }
  PostgresServer standby = PostgresServer::standby_of(primary);
  Home home(standby);
  EXPECT_EQ(home.read_from_start(), "1 ");
  const auto session = home.store().open_session();
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Errc::unavailable);
}

// 12 bytes, and as far as the oldest running transaction.
TEST(PostgresIncarnation, cursors_from_before_incarnations_are_still_good) {
  PostgresServer server = PostgresServer::start({.fsync = false});
  Home home(server);
  home.log("a", "1");
  home.log("a", "2");
  std::string first, cursor;
  LogQuery query;
  query.limit = 1;
  first = home.store().read_log(query).value().entries.at(0).position.substr(4);
  EXPECT_EQ(home.read(first), "2 ");
  const std::uint64_t horizon = std::stoull(sql(server, "SET search_path TO home; SELECT log_horizon()"));
  const auto old_cursor = [](std::uint64_t xid) {
    std::string bytes(12, '\0');
    for (int i = 7; i >= 0; --i, xid >>= 8) bytes[static_cast<std::size_t>(i)] = static_cast<char>(xid);
    return bytes;
  };
  cursor = old_cursor(horizon);
  EXPECT_EQ(home.read(cursor), "");
  cursor = old_cursor(horizon + 100000);
  EXPECT_EQ(home.read(cursor), cursor_ahead_of_log);
}

}  // namespace
}  // namespace flowfabric
