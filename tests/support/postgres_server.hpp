// A private PostgreSQL for tests and benchmarks.
//
// Each PostgresServer is a separate cluster in a temporary directory, on a free loopback port, with trust
// authentication, user and database `postgres`. It ends with its object, and also when this process is killed. Failures
// throw std::runtime_error with the end of the server's log. Thread rule: one thread at a time per object.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace flowfabric::test {

struct PostgresOptions {
  bool fsync = true;
  std::vector<std::string> settings = {};  // "name=value", as in postgresql.conf without quotes
};

class PostgresServer {
 public:
  using Options = PostgresOptions;

  static PostgresServer start(Options options = {});
  // A standby that follows the primary, on a data directory of its own. It has the primary's settings of today only.
  static PostgresServer standby_of(const PostgresServer& primary, Options options = {});

  PostgresServer(PostgresServer&&) noexcept;
  PostgresServer& operator=(PostgresServer&&) noexcept;
  ~PostgresServer();

  // postgres://postgres@127.0.0.1:PORT/postgres; stays the same after crash() and start_again().
  const std::string& url() const;
  // The log of all its runs. Deleted with this object.
  const std::string& log_file() const;

  // Immediate shutdown: no checkpoint, connections are closed, committed data is in the WAL only.
  void crash();

  // SIGKILL to every process of the server.
  void kill();

  // Makes a standby a primary, on a new timeline; returns when it takes writes.
  void promote();

  // Starts after crash() or kill() on the same data and port; returns when recovery has finished.
  void start_again();

 private:
  class Impl;
  explicit PostgresServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Copies what is in one database into another, empty one: pg_dump and psql.
void dump_and_restore(const std::string& from_url, const std::string& to_url);

// The server that the tests of this process share; started by the first call, stopped at exit.
PostgresServer& shared_postgres();

// $FF_TEST_POSTGRES if it is set, else the url of shared_postgres().
std::string postgres_test_url();

}  // namespace flowfabric::test
