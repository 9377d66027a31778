#include "support/stores.hpp"

#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "store/memory/memory_store.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/postgres_server.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::test {
namespace {

std::unique_ptr<Store> opened(Result<std::unique_ptr<Store>> store, const std::string& url) {
  if (!store) throw std::runtime_error("cannot open " + url + ": " + store.error().message);
  return std::move(*store);
}

class MemoryTestDatabase final : public TestDatabase {
 public:
  std::unique_ptr<Store> open(StoreOptions options) override {
    return open_memory_store(database_, std::move(options));
  }
  std::string url() const override { return "memory:"; }

 private:
  const std::shared_ptr<MemoryDatabase> database_ = make_memory_database();
};

class SqliteTestDatabase final : public TestDatabase {
 public:
  std::unique_ptr<Store> open(StoreOptions options) override {
    options.migrate = true;
    return opened(open_sqlite_store(url(), std::move(options)), url());
  }
  std::string url() const override { return "sqlite:" + directory_.file("store.db"); }

 private:
  const TempDir directory_{"flowfabric-sqlite"};
};

// The time is part of the name because a server may outlive many test processes, and process ids are reused.
std::string unique_schema() {
  static std::atomic<int> number{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  return "test_" + std::to_string(getpid()) + "_" + std::to_string(us) + "_" + std::to_string(++number);
}

class PostgresTestDatabase final : public TestDatabase {
 public:
  ~PostgresTestDatabase() override {
    // An open handle must not hang the test run, so the drop waits for locks only for a limited time.
    const std::string statements =
        "SET client_min_messages = error; SET lock_timeout = '10s'; DROP SCHEMA IF EXISTS " + schema_ + " CASCADE";
    PGconn* connection = PQconnectdb(server_url_.c_str());
    PGresult* result = PQexec(connection, statements.c_str());
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
      std::fprintf(stderr, "cannot drop schema %s: %s", schema_.c_str(), PQerrorMessage(connection));
    }
    PQclear(result);
    PQfinish(connection);
  }

  std::unique_ptr<Store> open(StoreOptions options) override {
    options.migrate = true;
    return opened(open_postgres_store(url(), std::move(options)), url());
  }

  std::string url() const override {
    const char separator = server_url_.find('?') == std::string::npos ? '?' : '&';
    return server_url_ + separator + "schema=" + schema_;
  }

 private:
  const std::string server_url_ = postgres_test_url();
  const std::string schema_ = unique_schema();
};

}  // namespace

const std::vector<StoreKind>& store_kinds() {
  static const std::vector<StoreKind> kinds = {
      {StoreKindId::memory, "memory", true, false},
      {StoreKindId::sqlite, "sqlite", false, true},
      {StoreKindId::postgres, "postgres", true, false},
  };
  return kinds;
}

std::unique_ptr<TestDatabase> make_database(StoreKindId kind) {
  switch (kind) {
    case StoreKindId::memory: return std::make_unique<MemoryTestDatabase>();
    case StoreKindId::sqlite: return std::make_unique<SqliteTestDatabase>();
    case StoreKindId::postgres: return std::make_unique<PostgresTestDatabase>();
  }
  throw std::logic_error("no such kind of store");
}

}  // namespace flowfabric::test
