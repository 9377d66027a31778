// Plain loops that insert rows of the size of a recorded step.
#include <libpq-fe.h>
#include <sqlite3.h>

#include <memory>
#include <string>

#include "figures.hpp"
#include "steps.hpp"

namespace flowfabric::bench {
namespace {

constexpr int row_bytes = 64;

void must_run(sqlite3* database, const char* sql) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) give_up(sqlite3_errmsg(database));
}

void must_run(PGconn* connection, const char* sql) {
  PGresult* result = PQexec(connection, sql);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) give_up(PQerrorMessage(connection));
  PQclear(result);
}

// Calls `insert` so many times between `begin` and `commit`, until the time is over.
template <class Step>
double rows_per_second(int rows_per_commit, double seconds, Step begin, Step commit, Step insert) {
  const auto start = Clock::now();
  double rows = 0;
  while (seconds_since(start) < seconds) {
    begin();
    for (int i = 0; i < rows_per_commit; ++i) insert();
    commit();
    rows += rows_per_commit;
  }
  return rows / seconds_since(start);
}

}  // namespace

RawInserts raw_sqlite_inserts(const std::string& path) {
  return [path](int rows_per_commit, double seconds) {
    sqlite3* database = nullptr;
    if (sqlite3_open(path.c_str(), &database) != SQLITE_OK) give_up("cannot open " + path);
    for (const char* sql : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
                            "CREATE TABLE IF NOT EXISTS raw_steps (n INTEGER PRIMARY KEY, body BLOB NOT NULL)"}) {
      must_run(database, sql);
    }
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(database, "INSERT INTO raw_steps (body) VALUES (zeroblob(?1))", -1, &statement, nullptr);
    sqlite3_bind_int(statement, 1, row_bytes);
    const std::function<void()> begin = [&] { must_run(database, "BEGIN IMMEDIATE"); };
    const std::function<void()> commit = [&] { must_run(database, "COMMIT"); };
    const std::function<void()> insert = [&] {
      if (sqlite3_step(statement) != SQLITE_DONE) give_up(sqlite3_errmsg(database));
      sqlite3_reset(statement);
    };
    const double rate = rows_per_second(rows_per_commit, seconds, begin, commit, insert);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return rate;
  };
}

RawInserts raw_postgres_inserts(const std::string& url) {
  return [url](int rows_per_commit, double seconds) {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(url.c_str()), &PQfinish);
    must_run(connection.get(), "SET client_min_messages = warning");
    must_run(connection.get(), "CREATE TABLE IF NOT EXISTS raw_steps (n bigserial PRIMARY KEY, body bytea NOT NULL)");
    const std::string sql = "INSERT INTO raw_steps (body) SELECT decode(repeat('00', " + std::to_string(row_bytes) +
                            "), 'hex') FROM generate_series(1, " + std::to_string(rows_per_commit) + ")";
    // One statement is one transaction, and one round trip.
    const std::function<void()> nothing = [] {};
    const std::function<void()> insert = [&] { must_run(connection.get(), sql.c_str()); };
    return rows_per_second(1, seconds, nothing, nothing, insert) * rows_per_commit;
  };
}

}  // namespace flowfabric::bench
