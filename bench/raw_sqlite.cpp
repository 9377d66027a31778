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
            "flow, tags, fixed, body, last_entry) VALUES(?1, 1, 101, 0, 1700000000000, 0, 'default', 'default', "
            "'bench', x'', x'', ?2, ?3, ?4)"),
        put_ready(db,
                  "INSERT INTO ready(route, neg_priority, sequence, key, name_space) VALUES(1, 0, ?2, ?1, 'default')"),
        drop_ready(db, "DELETE FROM ready WHERE route = 1 AND neg_priority = 0 AND sequence = ?2 AND key = ?1"),
        search(db, "SELECT sequence, key FROM ready WHERE route = 1 ORDER BY neg_priority, sequence, key LIMIT ?1"),
        load(db, "SELECT version, fixed, body, last_entry FROM root WHERE key = ?1"),
        update_root(db,
                    "UPDATE root SET version = version + 1, state = ?2, finished_at = ?2, body = ?3, last_entry = ?4 "
                    "WHERE key = ?1"),
        put_due(db, "INSERT INTO due(due_at, key) VALUES(?2, ?1)"),
        drop_due(db, "DELETE FROM due WHERE due_at = ?2 AND key = ?1"),
        put_page(db, "INSERT INTO log(seq, entries, live, body) VALUES(?1, ?2, ?2, ?3)") {}
  Statement begin, commit, create_root, put_ready, drop_ready, search, load, update_root, put_due, drop_due, put_page;
  const std::string fixed = std::string(250, 'f'), body = std::string(220, 'b');
  // The size of an entry without the key: names, a body of 80 bytes, type, time, the previous entry, lengths.
  const std::string rest_of_entry = std::string(14 + 80 + 16, 'e');
  std::int64_t last_entry = 0, entries = 0;  // the latter on the page that is being filled
  std::string page;
};

std::int64_t last_entry_in(sqlite3* database) {
  Statement find(database, "SELECT coalesce(max(seq + entries - 1), 0) FROM log");
  find.step();
  return find.column_number(0);
}

void write_page(RawSqlite& raw) {
  if (raw.entries == 0) return;
  raw.put_page.number(1, raw.last_entry - raw.entries + 1).number(2, raw.entries).blob(3, raw.page).run();
  raw.entries = 0;
  raw.page.clear();
}

// The number of the new entry.
std::int64_t log_entry(RawSqlite& raw, const std::string& key) {
  constexpr std::size_t max_page_bytes = 3900;
  if (raw.page.size() + key.size() + raw.rest_of_entry.size() > max_page_bytes) write_page(raw);
  raw.page += key;
  raw.page += raw.rest_of_entry;
  ++raw.entries;
  return ++raw.last_entry;
}

void commit(RawSqlite& raw) {
  write_page(raw);
  raw.commit.run();
}

std::string fresh_key(std::uint64_t n) {
  std::string key = "e";
  for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>((n >> shift) & 255);
  for (int i = 0; i < 8; ++i) key += static_cast<char>(std::rand() & 255);
  return key + "\1\2";
}

void create(RawSqlite& raw, const std::string& key, std::int64_t sequence) {
  raw.create_root.blob(1, key).blob(2, raw.fixed).blob(3, raw.body).number(4, log_entry(raw, key)).run();
  raw.put_ready.blob(1, key).number(2, sequence).run();
}

void read_record(RawSqlite& raw, const std::string& key) {
  raw.load.blob(1, key).step();
  raw.load.column_blob(1);
  raw.load.column_blob(2);
  raw.load.column_number(3);
  raw.load.reset();
}

void claim(RawSqlite& raw, const std::string& key, std::int64_t sequence) {
  read_record(raw, key);
  raw.drop_ready.blob(1, key).number(2, sequence).run();
  raw.update_root.blob(1, key).number(2, 1).blob(3, raw.body).number(4, log_entry(raw, key)).run();
  raw.put_due.blob(1, key).number(2, lease_due).run();
}

void complete(RawSqlite& raw, const std::string& key) {
  read_record(raw, key);
  raw.update_root.blob(1, key).number(2, 2).blob(3, raw.body).number(4, log_entry(raw, key)).run();
  raw.drop_due.blob(1, key).number(2, lease_due).run();
  raw.put_due.blob(1, key).number(2, retention_due).run();
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
    raw.last_entry = last_entry_in(database);
    auto next = static_cast<std::uint64_t>(start.time_since_epoch().count());
    while (elapsed < seconds) {
      raw.begin.run();
      for (int i = 0; i < batch; ++i, ++next) create(raw, fresh_key(next), static_cast<std::int64_t>(next));
      commit(raw);
      raw.begin.run();
      std::vector<std::pair<std::int64_t, std::string>> found;
      raw.search.number(1, batch);
      while (raw.search.step()) found.emplace_back(raw.search.column_number(0), raw.search.column_blob(1));
      raw.search.reset();
      for (const auto& [sequence, key] : found) claim(raw, key, sequence);
      commit(raw);
      raw.begin.run();
      for (const auto& [sequence, key] : found) complete(raw, key);
      commit(raw);
      done += found.size();
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    }
  }
  sqlite3_close(database);
  return static_cast<double>(done) / elapsed;
}

}  // namespace flowfabric::bench
