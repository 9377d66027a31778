#include "raw_sqlite.hpp"

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace flowfabric::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t lease_due = 1700000030000, retention_due = 1700600000000;

class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) != SQLITE_OK) die(sql);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& blob(int i, const std::string& value) {
    sqlite3_bind_blob64(statement_, i, value.data(), value.size(), SQLITE_STATIC);
    return *this;
  }
  Statement& number(int i, std::int64_t value) {
    sqlite3_bind_int64(statement_, i, value);
    return *this;
  }
  void run() {
    if (sqlite3_step(statement_) != SQLITE_DONE) die("step");
    sqlite3_reset(statement_);
  }
  bool step() { return sqlite3_step(statement_) == SQLITE_ROW; }
  void reset() { sqlite3_reset(statement_); }
  std::string column_blob(int i) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, i));
    return std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, i)));
  }
  std::int64_t column_number(int i) { return sqlite3_column_int64(statement_, i); }

 private:
  [[noreturn]] void die(const char* what) {
    std::fprintf(stderr, "bench: raw SQLite: %s: %s\n", what, sqlite3_errmsg(database_));
    std::exit(1);
  }
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
};

struct RawSqlite {
  explicit RawSqlite(sqlite3* db)
      : begin(db, "BEGIN IMMEDIATE"),
        commit(db, "COMMIT"),
        create_root(
            db,
            "INSERT INTO root(key, version, record_kind, state, created_at, finished_at, name_space, lane, kind, "
            "flow, tags, fixed, body) VALUES(?1, 1, 101, 0, 1700000000000, 0, 'default', 'default', 'bench', x'', "
            "x'', ?2, ?3)"),
        put_ready(db, "INSERT INTO ready(route, neg_priority, sequence, key) VALUES(1, 0, ?2, ?1)"),
        drop_ready(db, "DELETE FROM ready WHERE route = 1 AND neg_priority = 0 AND sequence = ?2 AND key = ?1"),
        search(db, "SELECT sequence, key FROM ready WHERE route = 1 ORDER BY neg_priority, sequence, key LIMIT ?1"),
        load(db, "SELECT version, fixed, body FROM root WHERE key = ?1"),
        update_root(db,
                    "UPDATE root SET version = version + 1, state = ?2, finished_at = ?2, body = ?3 WHERE key = ?1"),
        put_due(db, "INSERT INTO due(due_at, key) VALUES(?2, ?1)"),
        drop_due(db, "DELETE FROM due WHERE due_at = ?2 AND key = ?1"),
        event(db,
              "INSERT INTO event(root, type, at, name_space, lane, body) VALUES(?1, ?2, 1700000000000, 'default', "
              "'default', ?3)") {}
  Statement begin, commit, create_root, put_ready, drop_ready, search, load, update_root, put_due, drop_due, event;
  const std::string fixed = std::string(250, 'f'), body = std::string(220, 'b'), event_body = std::string(80, 'e');
};

std::string fresh_key(std::uint64_t n) {
  std::string key = "e";
  for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>((n >> shift) & 255);
  for (int i = 0; i < 8; ++i) key += static_cast<char>(std::rand() & 255);
  return key + "\1\2";
}

void create(RawSqlite& raw, const std::string& key, std::int64_t sequence) {
  raw.create_root.blob(1, key).blob(2, raw.fixed).blob(3, raw.body).run();
  raw.put_ready.blob(1, key).number(2, sequence).run();
  raw.event.blob(1, key).number(2, 1).blob(3, raw.event_body).run();
}

void read_record(RawSqlite& raw, const std::string& key) {
  raw.load.blob(1, key).step();
  raw.load.column_blob(1);
  raw.load.column_blob(2);
  raw.load.reset();
}

void claim(RawSqlite& raw, const std::string& key, std::int64_t sequence) {
  read_record(raw, key);
  raw.drop_ready.blob(1, key).number(2, sequence).run();
  raw.update_root.blob(1, key).number(2, 1).blob(3, raw.body).run();
  raw.put_due.blob(1, key).number(2, lease_due).run();
  raw.event.blob(1, key).number(2, 3).blob(3, raw.event_body).run();
}

void complete(RawSqlite& raw, const std::string& key) {
  read_record(raw, key);
  raw.update_root.blob(1, key).number(2, 2).blob(3, raw.body).run();
  raw.drop_due.blob(1, key).number(2, lease_due).run();
  raw.put_due.blob(1, key).number(2, retention_due).run();
  raw.event.blob(1, key).number(2, 9).blob(3, raw.event_body).run();
}

}  // namespace

double raw_sqlite_cycles(const std::string& path, int batch, double seconds) {
  sqlite3* database = nullptr;
  if (sqlite3_open(path.c_str(), &database) != SQLITE_OK) std::exit(1);
  for (const char* pragma :
       {"PRAGMA synchronous = FULL", "PRAGMA cache_size = -16384", "PRAGMA wal_autocheckpoint = 8000"}) {
    sqlite3_exec(database, pragma, nullptr, nullptr, nullptr);
  }
  std::uint64_t done = 0;
  const auto start = Clock::now();
  double elapsed = 0;
  {
    RawSqlite raw(database);
    auto next = static_cast<std::uint64_t>(start.time_since_epoch().count());
    while (elapsed < seconds) {
      raw.begin.run();
      for (int i = 0; i < batch; ++i, ++next) create(raw, fresh_key(next), static_cast<std::int64_t>(next));
      raw.commit.run();
      raw.begin.run();
      std::vector<std::pair<std::int64_t, std::string>> found;
      raw.search.number(1, batch);
      while (raw.search.step()) found.emplace_back(raw.search.column_number(0), raw.search.column_blob(1));
      raw.search.reset();
      for (const auto& [sequence, key] : found) claim(raw, key, sequence);
      raw.commit.run();
      raw.begin.run();
      for (const auto& [sequence, key] : found) complete(raw, key);
      raw.commit.run();
      done += found.size();
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    }
  }
  sqlite3_close(database);
  return static_cast<double>(done) / elapsed;
}

}  // namespace flowfabric::bench
