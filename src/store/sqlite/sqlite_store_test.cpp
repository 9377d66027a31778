// Tests specific to the SQLite store. The common behaviour is tested in tests/conformance/.
#include "store/sqlite/sqlite_store.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/hashing.hpp"
#include "core/route.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/session.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Store> open_store(const std::string& path) {
  auto store = open_sqlite_store("sqlite:" + path, {});
  EXPECT_TRUE(store) << store.error().message;
  return store ? std::move(*store) : nullptr;
}

Error open_error(const std::string& url) {
  auto store = open_sqlite_store(url, {});
  EXPECT_FALSE(store) << url;
  return store ? Error{} : store.error();
}

Key key_of(std::string_view name) { return Key{"e" + std::string(name) + std::string("\0\1", 2)}; }

ChangeSet creation(std::string_view name, std::string body = "body") {
  ChangeSet set;
  const Key key = key_of(name);
  set.roots.push_back(RootChange{key, 0, RootChange::Action::put, "fixed", std::move(body), std::nullopt});
  set.log.push_back(LogEntry{key, 1, 1000, "default", "lane", std::string(name)});
  set.due_put.push_back(DueEntry{5000, key});
  return set;
}

// A change of a record that has been loaded.
RootChange change_of(Store& store, std::string_view name, RootChange::Action action) {
  const Record record = store.load({key_of(name)}).value().at(0);
  RootChange change{record.key, record.version, action, {}, "body", std::nullopt};
  change.last_entry = record.last_entry;
  return change;
}

// Rewrites a record as it was loaded, at its position.
ChangeSet rewrite_of(const Record& record) {
  ChangeSet set;
  RootChange change{record.key, record.version, RootChange::Action::put, {}, "rewritten", std::nullopt};
  change.last_entry = record.last_entry;
  change.place = record.place;
  set.roots.push_back(std::move(change));
  return set;
}

ChangeSet erasure(Store& store, std::string_view name) {
  ChangeSet set;
  set.roots.push_back(change_of(store, name, RootChange::Action::erase));
  set.due_drop.push_back(DueEntry{5000, key_of(name)});
  return set;
}

// Commits one set in a separate batch.
Verdict commit(Store& store, ChangeSet set) {
  auto session = store.open_session();
  auto verdicts = (*session)->commit({std::move(set)});
  EXPECT_TRUE(verdicts) << verdicts.error().message;
  return verdicts ? verdicts->front() : Verdict::stale;
}

std::size_t records_in(Store& store) { return store.scan(RecordKind::execution, "", 1000).value().size(); }

// Runs SQL on a separate connection, as another program would.
void run_sql(const std::string& path, const char* sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

// A forked process and a way to let it continue. Fork before any store is open: SQLite's connections and its record of
// file locks do not survive a fork.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) {
    EXPECT_EQ(pipe(to_child_), 0);
    EXPECT_EQ(pipe(from_child_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      body(*this);
      _exit(0);
    }
  }
  ~Child() {
    if (pid_ > 0) kill_and_wait();
    for (const int end : {to_child_[0], to_child_[1], from_child_[0], from_child_[1]}) close(end);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void tell() { send(to_child_[1]); }
  void wait_for_child() { receive(from_child_[0]); }
  void tell_parent() { send(from_child_[1]); }
  void wait_for_parent() { receive(to_child_[0]); }

  void kill_and_wait() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  static void send(int end) { EXPECT_EQ(write(end, "x", 1), 1); }
  static void receive(int end) {
    char byte = 0;
    EXPECT_EQ(::read(end, &byte, 1), 1);
  }

  int to_child_[2] = {};
  int from_child_[2] = {};
  pid_t pid_ = 0;
};

TEST(SqlitePlaces, FindsRecordsThatAreNoLongerWhereTheyWere) {
  const test::TempDir folder;
  const auto store = open_store(folder.file("a.db"));
  commit(*store, creation("one"));
  const Record one = store->load({key_of("one")}).value().at(0);
  ASSERT_NE(one.place, 0U);

  // Another record has its position, at the same version, and it is erased; then it is at another position.
  commit(*store, erasure(*store, "one"));
  commit(*store, creation("two"));
  ASSERT_EQ(store->load({key_of("two")}).value().at(0).place, one.place);
  EXPECT_EQ(commit(*store, rewrite_of(one)), Verdict::stale);
  commit(*store, creation("one"));
  EXPECT_EQ(commit(*store, rewrite_of(one)), Verdict::committed);
  EXPECT_EQ(store->load({key_of("one")}).value().at(0).body, "rewritten");
  EXPECT_EQ(store->load({key_of("two")}).value().at(0).body, "body");

  // It is at its position, but has changed.
  const Record two = store->load({key_of("two")}).value().at(0);
  EXPECT_EQ(commit(*store, rewrite_of(two)), Verdict::committed);
  EXPECT_EQ(commit(*store, rewrite_of(two)), Verdict::stale);
}

TEST(SqliteUrl, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(open_error("sqlite:").message, "sqlite: needs the path of a file");
  EXPECT_EQ(open_error("sqlite:?synchronous=full").message, "sqlite: needs the path of a file");
  EXPECT_EQ(open_error("sqlite:x.db?mode=ro").message, "a sqlite: URL has no parameter \"mode\"");
  EXPECT_EQ(open_error("sqlite:x.db?synchronous=off").message, "synchronous must be full or normal, not \"off\"");
  EXPECT_EQ(open_error("sqlite:///x.db").message, "the path follows sqlite: directly, without //");
  EXPECT_EQ(open_error("sqlite::memory:").code, Errc::invalid_argument);
  EXPECT_EQ(open_error("postgres:x").code, Errc::invalid_argument);
  EXPECT_EQ(open_error("sqlite:x.db?mode=ro").field, "url");
}

TEST(SqliteUrl, TakesBothKindsOfSynchronous) {
  const test::TempDir folder;
  EXPECT_TRUE(open_sqlite_store("sqlite:" + folder.file("a.db") + "?synchronous=normal", {}));
  EXPECT_TRUE(open_sqlite_store("sqlite:" + folder.file("b.db") + "?synchronous=full", {}));
}

TEST(SqliteOpen, SaysWhatIsWrongWithTheFile) {
  const test::TempDir folder;
  const Error missing = open_error("sqlite:" + folder.file("no/x.db"));
  EXPECT_EQ(missing.code, Errc::invalid_argument);
  EXPECT_EQ(missing.message, "the directory " + folder.file("no") + " of the database file does not exist");

  const Error directory = open_error("sqlite:" + folder.path().string());
  EXPECT_EQ(directory.message, "the path " + folder.path().string() + " is a directory, not a database file");

  const std::string text = folder.file("letter.txt");
  std::ofstream(text) << std::string(2000, 'x');
  const Error letter = open_error("sqlite:" + text);
  EXPECT_EQ(letter.code, Errc::corruption);
  EXPECT_EQ(letter.message, "cannot open " + text + ": the file is not a SQLite database");
}

TEST(SqliteOpen, LeavesTheDatabaseOfAnotherProgramAlone) {
  const test::TempDir folder;
  const std::string path = folder.file("other.db");
  run_sql(path, "CREATE TABLE song(title TEXT)");
  const auto size = std::filesystem::file_size(path);
  const Error error = open_error("sqlite:" + path);
  EXPECT_EQ(error.code, Errc::schema_mismatch);
  EXPECT_EQ(error.message, "the file " + path + " is a database of another program");
  EXPECT_EQ(std::filesystem::file_size(path), size);
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
}

TEST(SqliteOpen, RefusesANewerSchema) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  open_store(path).reset();
  run_sql(path, "PRAGMA user_version = 99");
  const Error error = open_error("sqlite:" + path);
  EXPECT_EQ(error.code, Errc::schema_mismatch);
  EXPECT_NE(error.message.find("has schema version 99, but this program supports versions up to"), std::string::npos);
}

TEST(SqliteOpen, MigratesOnceWhenManyOpenAtOnce) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  std::vector<std::thread> threads;
  std::atomic<int> opened = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      auto store = open_sqlite_store("sqlite:" + path, {});
      if (store && commit(**store, creation("job" + std::to_string(opened.fetch_add(1)))) == Verdict::committed) return;
      ADD_FAILURE() << (store ? "not committed" : store.error().message);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(records_in(*open_store(path)), 8u);
  auto database = sqlite::Database::open(path);
  EXPECT_EQ(database->query_integer("PRAGMA user_version").value(), sqlite::newest_schema());
  EXPECT_EQ(database->query_integer("SELECT count(*) FROM meta").value(), 2);
}

TEST(SqliteOpen, ReopeningKeepsEverything) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  const std::string bytes("a\0b\xff", 4);
  const Route route{route_of("lane", {"a,b", "gpu"}), "lane", {"a,b", "gpu"}, "ns"};
  std::string end;
  {
    auto store = open_store(path);
    ChangeSet set = creation("job", bytes);
    set.satellites.push_back(Satellite{{key_of("job"), 2, 7}, ""});
    set.counters.push_back(CounterAdd{"count", 5});
    EXPECT_EQ(commit(*store, set), Verdict::committed);
    set = creation("ready", bytes);
    set.routes = {route};
    set.ready_put = {{route.number, 0, 1, key_of("ready")}};
    EXPECT_EQ(commit(*store, set), Verdict::committed);
    end = store->log_end().value();
  }
  auto store = open_store(path);
  const std::vector<Record> records = store->load({key_of("job")}).value();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].version, 1u);
  EXPECT_EQ(records[0].body, bytes);
  const auto satellites = store->load_satellites(key_of("job"), 2, 0, 10).value();
  ASSERT_EQ(satellites.size(), 1u);
  EXPECT_EQ(satellites[0].body, "");
  EXPECT_EQ(store->counters("").value(), (std::vector<Counter>{{"count", 5}}));
  ReadRequest request;
  request.want_routes = true;
  EXPECT_EQ(store->open_session().value()->read(request).value().routes, std::vector<Route>{route});
  EXPECT_EQ(store->next_due().value(), 5000);
  EXPECT_EQ(store->log_end().value(), end);
}

// A recursive query that never ends on its own.
TEST(SqliteReads, ASlowReadIsStopped) {
  const test::TempDir folder;
  auto database = sqlite::Database::open(folder.file("x.db")).value();
  constexpr char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
  database.stop_after(std::chrono::milliseconds(50));
  const auto stopped = database.query_integer(endless);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Errc::timed_out);
  EXPECT_NE(stopped.error().message.find("read_timeout"), std::string::npos) << stopped.error().message;
  database.stop_after(std::chrono::milliseconds(0));
  EXPECT_EQ(database.query_integer("SELECT 1").value(), 1) << "the connection is good for the next one";
}

TEST(SqliteLog, ACopyThatIsPutBackRefusesCursorsFromAfterIt) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db"), copy = folder.file("copy.db");
  std::string before, after;
  {
    auto store = open_store(path);
    commit(*store, creation("first"));
    before = store->log_end().value();
  }
  std::filesystem::copy_file(path, copy);
  {
    auto store = open_store(path);
    commit(*store, creation("lost"));
    after = store->log_end().value();
  }
  std::filesystem::rename(copy, path);
  for (const char* rest : {"-wal", "-shm"}) std::filesystem::remove(path + rest);
  auto store = open_store(path);
  LogQuery query;
  query.limit = 10;
  query.after = after;
  const auto ahead = store->read_log(query);
  ASSERT_FALSE(ahead);
  EXPECT_EQ(ahead.error().code, Errc::cursor_expired);
  EXPECT_EQ(ahead.error().message, cursor_ahead_of_log);
  query.after = before;
  EXPECT_TRUE(store->read_log(query).value().entries.empty());
}

// Before logs had ids, a position was the number alone.
TEST(SqliteLog, OldPositionsAreStillGood) {
  const test::TempDir folder;
  auto store = open_store(folder.file("x.db"));
  for (const char* name : {"a", "b"}) commit(*store, creation(name));
  LogQuery query;
  query.limit = 10;
  query.after = std::string("\0\0\0\0\0\0\0\1", 8);
  EXPECT_EQ(store->read_log(query).value().entries.at(0).entry.body, "b");
  query.after = std::string("\0\0\0\0\0\0\0\3", 8);
  EXPECT_EQ(store->read_log(query).error().code, Errc::cursor_expired);
}

TEST(SqliteLog, ReadsFullAndFilteredPages) {
  const test::TempDir folder;
  auto store = open_store(folder.file("x.db"));
  for (const char* name : {"a", "b", "c"}) commit(*store, creation(name));
  LogQuery query;
  query.limit = 2;
  LogPage page = store->read_log(query).value();
  EXPECT_EQ(page.entries.size(), 2u);
  EXPECT_TRUE(page.behind);
  query.after = page.next;
  page = store->read_log(query).value();
  ASSERT_EQ(page.entries.size(), 1u);
  EXPECT_EQ(page.entries[0].entry.body, "c");
  EXPECT_FALSE(page.behind);
  query.after.clear();
  query.types = {9};
  page = store->read_log(query).value();
  EXPECT_TRUE(page.entries.empty());
  EXPECT_EQ(page.next, store->log_end().value());
  query.after = "short";
  EXPECT_EQ(store->read_log(query).error().code, Errc::invalid_argument);
}

TEST(SqliteLog, TheEntriesOfACommitSharePages) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_store(path);
  std::vector<ChangeSet> sets;
  for (int i = 0; i < 60; ++i) {
    sets.push_back(creation("job" + std::to_string(i)));
    sets.back().log[0].body.assign(i == 30 ? 20'000 : 100, 'x');
  }
  auto session = store->open_session().value();
  EXPECT_EQ(session->commit(sets).value(), std::vector<Verdict>(60, Verdict::committed));
  auto database = sqlite::Database::open(path);
  EXPECT_EQ(database->query_integer("SELECT sum(entries) FROM log").value(), 60);
  EXPECT_EQ(database->query_integer("SELECT count(*) FROM log").value(), 5) << "two, the large one, two";
  EXPECT_EQ(database->query_integer("SELECT entries FROM log WHERE seq = 31").value(), 1);
  // Fits into a page of the file together with the rest of its row.
  EXPECT_LE(database->query_integer("SELECT max(length(body)) FROM log WHERE seq <> 31").value(), 4040);
  EXPECT_TRUE(store->check_integrity().value().empty());
}

TEST(SqliteLog, SetsThatFailTakeNoNumbers) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_store(path);
  commit(*store, creation("a"));
  auto session = store->open_session().value();
  const std::vector<Verdict> verdicts = {Verdict::stale, Verdict::committed};
  EXPECT_EQ(session->commit({creation("a"), creation("c")}).value(), verdicts);
  auto database = sqlite::Database::open(path);
  EXPECT_EQ(database->query_integer("SELECT sum(entries) FROM log").value(), 2);
  EXPECT_EQ(database->query_integer("SELECT max(last_entry) FROM root").value(), 2);
  EXPECT_TRUE(store->check_integrity().value().empty());
}

TEST(SqliteLog, APageGoesWithItsLastLiveEntry) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_store(path);
  auto session = store->open_session().value();
  session->commit({creation("a"), creation("b"), creation("c")}).value();
  auto database = sqlite::Database::open(path);
  EXPECT_EQ(database->query_integer("SELECT live FROM log").value(), 3);
  constexpr const char* names_b =
      "SELECT instr(CAST(body AS TEXT), 'b') > 0 FROM (SELECT replace(body, x'00', x'20') "
      "AS body FROM log)";
  EXPECT_EQ(database->query_integer(names_b).value(), 1);
  commit(*store, erasure(*store, "b"));
  EXPECT_EQ(database->query_integer("SELECT live FROM log").value(), 2);
  EXPECT_EQ(database->query_integer(names_b).value(), 0) << "nothing of it stays in the page";
  EXPECT_EQ(store->history(key_of("c"), "", 10).value().size(), 1u);
  EXPECT_TRUE(store->check_integrity().value().empty());
  EXPECT_EQ(session->commit({erasure(*store, "a"), erasure(*store, "c")}).value().size(), 2u);
  EXPECT_EQ(database->query_integer("SELECT count(*) FROM log").value(), 0);
  commit(*store, creation("d"));
  EXPECT_EQ(database->query_integer("SELECT seq FROM log").value(), 4) << "no number is given out twice";
  EXPECT_TRUE(store->check_integrity().value().empty());
}

TEST(SqliteSessions, TwoTakeTurnsOnOneStore) {
  const test::TempDir folder;
  auto store = open_store(folder.file("x.db"));
  auto first = store->open_session().value();
  ASSERT_TRUE(first->read({}));
  std::atomic<bool> done = false;
  std::thread other([&] {
    EXPECT_EQ(commit(*store, creation("second")), Verdict::committed);
    done = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(done);
  EXPECT_EQ(first->commit({creation("first")}).value().front(), Verdict::committed);
  other.join();
  EXPECT_EQ(records_in(*store), 2u);
}

// A process that lived through the step, one that is started after it, and one that is started after both have ended.
TEST(SqliteClock, GoesOnInAllProcessesWhenTheSystemClockIsSetBack) {
  constexpr std::int64_t minute = 60'000'000;
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  std::int64_t wall = 1'700'000'000'000'000, steady = 7;
  const auto start = [&] {
    auto writer = sqlite::Writer::open(path, sqlite::Synchronous::normal).value();
    const std::function<std::int64_t()> from_system;
    auto clock = std::make_shared<sqlite::Clock>(from_system, [&] { return wall; }, [&] { return steady; });
    return std::make_unique<sqlite::SqliteSession>(std::move(writer), std::move(clock));
  };
  const auto time_in = [](Session& session, std::string_view name) {
    const std::int64_t now = session.read({}).value().now_us;
    EXPECT_EQ(session.commit({creation(name)}).value().front(), Verdict::committed);
    return now;
  };
  auto first = start();
  const std::int64_t before = time_in(*first, "a");
  EXPECT_EQ(before, wall);
  wall -= 10 * minute;
  EXPECT_EQ(first->read({}).value().now_us, before);
  first->release();  // nothing was recorded
  EXPECT_EQ(time_in(*first, "b"), before);
  auto second = start();
  EXPECT_EQ(time_in(*second, "c"), before);
  first.reset();
  second.reset();
  wall += minute;
  steady += minute;
  const std::int64_t passed = time_in(*start(), "d") - before;
  EXPECT_GE(passed, minute - minute / 16);
  EXPECT_LE(passed, minute);
}

TEST(SqliteProcesses, EachSeesAndIsWokenByTheOther) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  Child child([&](Child& self) {
    auto store = open_store(path);
    self.wait_for_parent();
    if (records_in(*store) == 1 && commit(*store, creation("job")) == Verdict::stale) {
      commit(*store, creation("theirs"));
    }
    self.tell_parent();
    self.wait_for_parent();
  });
  auto store = open_store(path);
  commit(*store, creation("job"));
  std::this_thread::sleep_for(300ms);  // the child's migration, if it came second, may still look like a foreign commit
  std::atomic<int> woken = 0;
  store->listen([&](const Wakeup& wakeup) { woken += wakeup.everything ? 1 : 0; });
  std::this_thread::sleep_for(250ms);
  woken = 0;
  commit(*store, creation("mine"));
  EXPECT_EQ(commit(*store, erasure(*store, "mine")), Verdict::committed);
  std::this_thread::sleep_for(250ms);
  EXPECT_EQ(woken, 0) << "our own commits are no news";

  child.tell();
  child.wait_for_child();
  for (int i = 0; i < 200 && woken == 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(records_in(*store), 2u);
  store->listen(nullptr);
}

TEST(SqliteProcesses, NewsDuringOurOwnBatchesIsNotMissed) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_store(path);
  auto other = open_store(path);  // for SQLite, a second store is like a second process
  std::atomic<int> woken = 0;
  store->listen([&](const Wakeup&) { ++woken; });
  std::this_thread::sleep_for(250ms);
  woken = 0;
  commit(*other, creation("theirs"));
  for (int i = 0; i < 20; ++i) commit(*store, creation("ours" + std::to_string(i)));
  for (int i = 0; i < 200 && woken == 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(woken, 1);
}

TEST(SqliteProcesses, ACrashInMidBatchLeavesNothing) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  Child child([&](Child& self) {
    auto store = open_store(path);
    commit(*store, creation("before"));
    auto session = store->open_session().value();
    ReadRequest request;
    request.keys.push_back(key_of("before"));
    static_cast<void>(session->read(request));
    self.tell_parent();
    self.wait_for_parent();
  });
  child.wait_for_child();
  auto store = open_store(path);
  EXPECT_EQ(records_in(*store), 1u);
  std::atomic<bool> committed = false;
  std::thread waiting([&] {
    EXPECT_EQ(commit(*store, creation("after")), Verdict::committed);
    committed = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(committed) << "the other process is in its batch";
  child.kill_and_wait();
  waiting.join();
  EXPECT_EQ(records_in(*store), 2u);
  EXPECT_TRUE(store->check_integrity().value().empty());
}

// Repeatedly kills a process that commits without pause, and compares with its acknowledgements.
TEST(SqliteProcesses, WhatWasCommittedSurvivesTheKill) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  for (int round = 0; round < 5; ++round) {
    Child child([&](Child& self) {
      auto store = open_store(path);
      auto session = store->open_session().value();
      for (int i = 0;; ++i) {
        const std::string name = std::to_string(round) + "/" + std::to_string(i);
        std::vector<ChangeSet> pair = {creation(name + "a", std::string(3000, 'x')), creation(name + "b")};
        if (!session->commit(pair)) _exit(1);
        if (i == 20) self.tell_parent();
      }
    });
    child.wait_for_child();
    child.kill_and_wait();
  }
  auto store = open_store(path);
  const std::vector<Record> records = store->scan(RecordKind::execution, "", 1'000'000).value();
  EXPECT_GE(records.size(), 5u * 21 * 2);
  EXPECT_EQ(records.size() % 2, 0u) << "a batch of two was cut in half";
  EXPECT_TRUE(store->check_integrity().value().empty());
}

TEST(SqliteDatabase, GivesUpOnALockedFile) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_store(path);
  auto session = store->open_session().value();
  ASSERT_TRUE(session->read({}));
  auto other = sqlite::Database::open(path, sqlite::OpenMode::create, 20ms);
  const auto refused = other->execute("BEGIN IMMEDIATE");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(refused.error().message, "the database file is locked by another process");
}

TEST(SqliteIntegrity, FindsWhatBreaksTheSchemasRules) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_store(path);
  EXPECT_TRUE(store->check_integrity().value().empty());
  run_sql(path, "INSERT INTO due VALUES(1, x'65', -1, 0)");
  EXPECT_EQ(store->check_integrity().value(), std::vector<std::string>{"1 due entries have a group below 0."});
}

TEST(SqliteIntegrity, FindsSequencesWithoutARecord) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_store(path);
  const Key root{std::string("ea\0\1", 4)};
  {
    auto database = sqlite::Database::open(path);
    ASSERT_TRUE(
        database->execute("INSERT INTO sequence_entry VALUES (x'65610001', 3, 1, x'78'), (x'65610001', 3, 2, x''),"
                          " (x'65610001', 4, -9, x'')"));
  }
  EXPECT_EQ(store->inspect()->orphaned_sequences({}, 10).value(), (std::vector<SequenceName>{{root, 3}, {root, 4}}));
  EXPECT_EQ(store->inspect()->orphaned_sequences(SequenceName{root, 3}, 10).value(),
            (std::vector<SequenceName>{{root, 4}}));
  ChangeSet set;
  set.sequence_drops = {{{root, 3}, whole_sequence}, {{root, 4}, whole_sequence}};
  commit(*store, set);
  EXPECT_TRUE(store->inspect()->orphaned_sequences({}, 10).value().empty());
}

TEST(SqliteIntegrity, FindsMiscountedPages) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_store(path);
  commit(*store, creation("a"));
  commit(*store, creation("b"));
  EXPECT_TRUE(store->check_integrity().value().empty());
  run_sql(path, "UPDATE log SET live = 2 WHERE seq = 1");
  EXPECT_EQ(store->check_integrity().value(),
            std::vector<std::string>{"1 pages of the log miscount their live entries."});
}

TEST(SqliteIntegrity, FindsBrokenChains) {
  const std::vector<std::string> expected = {"1 records have a broken chain of log entries.",
                                             "1 pages of the log miscount their live entries."};
  // The entry of another record; none at all; one that links to itself; bytes that are not a page.
  for (const char* damage :
       {"UPDATE root SET last_entry = 1 WHERE last_entry = 2", "UPDATE root SET last_entry = 3 WHERE last_entry = 2",
        "UPDATE log SET body = CAST(substr(body, 1, length(body) - 1) || x'02' AS BLOB) "
        "WHERE seq = 2",
        "UPDATE log SET body = x'ffff' WHERE seq = 2"}) {
    const test::TempDir folder;
    const std::string path = folder.file("x.db");
    auto store = open_store(path);
    commit(*store, creation("a"));
    commit(*store, creation("b"));
    run_sql(path, damage);
    EXPECT_EQ(store->check_integrity().value(), expected) << damage;
    EXPECT_EQ(store->history(key_of("b"), "", 10).error().code, Errc::corruption) << damage;
    EXPECT_EQ(store->history(key_of("a"), "", 10).value().size(), 1u) << damage;
    EXPECT_EQ(commit(*store, erasure(*store, "b")), Verdict::committed) << "what is damaged can be erased";
  }
}

}  // namespace
}  // namespace flowfabric
