// A libpq connection with the features that this store needs: pipelines of prepared statements, binary parameters and
// results.
//
// A statement is prepared at its first use on a connection, inside the same round trip. Nothing here retries: a lost
// connection stays `broken()` and its owner replaces it. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <flowfabric/result.hpp>

namespace flowfabric::postgres {

// The address of the database. `uri` is passed to libpq and may contain a password: never print it.
struct Address {
  std::string uri;
  std::string schema;                // a validated identifier
  bool several_hosts = false;        // of these the primary is wanted
  std::string synchronous_commit{};  // a validated value; empty: what the server has, but at least `on`

  std::string quoted_schema() const { return '"' + schema + '"'; }
};

// Takes our own parameters out of the URL and checks the rest.
Result<Address> parse_address(const std::string& url);

// An error of PostgreSQL or the network. `lost`: the connection is lost, and so is the reply to the last statements.
struct Failure {
  bool lost = false;
  std::string sqlstate;
  std::string message;
};

template <class T>
using Reply = Result<T, Failure>;

Error to_error(const Failure& failure);
Error pooled_by_transaction();

// Unwraps a Reply in a function that returns Result.
template <class T>
Result<T> to_result(Reply<T> reply) {
  if (!reply) return Unexpected(to_error(reply.error()));
  return std::move(*reply);
}

// One SQL text under one name, for the life of the program.
struct Statement {
  const char* name;
  const char* sql;
};

// Type numbers of PostgreSQL that we send as array elements.
enum class Type : std::uint32_t { bytea = 17, int8 = 20, int2 = 21, int4 = 23, text = 25, tid = 27, xid8 = 5069 };

// Parameters in wire format, laid out in one buffer. `clear()` keeps the memory.
class Params {
 public:
  Params& int4(std::int64_t value) { return scalar(Type::int4, value); }
  Params& int8(std::int64_t value) { return scalar(Type::int8, value); }
  Params& bytes(std::string_view value);
  Params& null();
  // One array with an element for each of `items`; `get` gives an integer, a string_view, or an optional of either.
  template <class Items, class Get>
  Params& array(Type type, const Items& items, Get get) {
    open_array(type, items.size());
    for (const auto& item : items) element(type, get(item));
    return close();
  }

  void clear();
  std::size_t size() const { return slots_.size(); }
  std::string_view data() const { return data_; }

 private:
  friend class Connection;
  struct Slot {
    std::size_t offset = 0;
    int length = 0;
    bool null = false;
  };

  Params& scalar(Type type, std::int64_t value);
  void open();
  void open_array(Type type, std::size_t count);
  Params& close();
  void number(std::uint64_t value, int width);
  void element(Type type, std::int64_t value);
  void element(Type type, std::string_view value);
  template <class T>
  void element(Type type, const std::optional<T>& value) {
    if (value) return element(type, *value);
    number(0xffffffffU, 4);
  }

  std::string data_;
  std::vector<Slot> slots_;
};

// The rows of one statement. Views into it live as long as it does.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, &PQclear) {}

  int size() const { return PQntuples(result_.get()); }
  bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  std::string_view bytes(int row, int column) const;
  std::string string(int row, int column) const { return std::string(bytes(row, column)); }
  std::int64_t integer(int row, int column) const;                    // of any width; booleans too
  std::uint64_t place(int row, int column) const;                     // a ctid; never 0
  std::vector<std::string_view> elements(int row, int column) const;  // of an array without nulls
  std::vector<std::string> texts(int row, int column) const;

 private:
  std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
};

class Connection {
 public:
  // Connects, refuses servers that are too old, undoes settings of the role or database that would change what statements
  // mean, and runs `setup` (plain SQL).
  static Result<std::unique_ptr<Connection>> open(const Address& address, const std::string& setup);

  bool broken() const { return broken_ || PQstatus(handle_.get()) != CONNECTION_OK; }

  // Adds to the pipeline. Problems surface in `flush`.
  void queue(const Statement& statement, const Params& params);
  // Adds a statement that is used once and is not prepared.
  void queue_once(const std::string& sql, const Params& params);
  // Ends the pipeline and reads all replies: the rows of each statement in order, or the first failure. Without BEGIN
  // among them the statements are one transaction, which ends here.
  Reply<std::vector<Rows>> flush();
  // One statement, one round trip.
  Reply<Rows> run(const Statement& statement, const Params& params);
  // Plain SQL without parameters, possibly several statements; text results.
  Reply<Rows> exec(const std::string& sql);

  PGconn* handle() { return handle_.get(); }

 private:
  explicit Connection(PGconn* handle) : handle_(handle, &PQfinish) {}

  void send(const Statement& statement, bool prepare_only, const Params& params);
  Failure failure_of(const PGresult* result);
  Failure lost();
  bool read_one(const Statement* prepared, std::vector<Rows>& rows, std::optional<Failure>& failure);

  std::unique_ptr<PGconn, void (*)(PGconn*)> handle_;
  std::unordered_set<const Statement*> prepared_;
  std::unordered_set<const Statement*> preparing_;
  std::vector<const Statement*> expected_;  // the expected replies; set for a preparation, null for rows
  bool broken_ = false;
};

}  // namespace flowfabric::postgres
