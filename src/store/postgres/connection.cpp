#include "store/postgres/connection.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "base/check.hpp"

namespace flowfabric::postgres {
namespace {

constexpr int oldest_server = 150000;
constexpr std::size_t max_schema_bytes = 48;  // a notification channel is named after it and must be shorter than 64

std::uint64_t read_number(const char* bytes, int width) {
  std::uint64_t value = 0;
  for (int i = 0; i < width; ++i) value = (value << 8) | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

std::string trimmed(const char* text) {
  std::string out(text == nullptr ? "" : text);
  while (!out.empty() && std::isspace(static_cast<unsigned char>(out.back())) != 0) out.pop_back();
  return out;
}

bool is_identifier(std::string_view name) {
  if (name.empty() || name.size() > max_schema_bytes) return false;
  if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return name.substr(0, 3) != "pg_";
}

// 42P05, 26000: a prepared statement is there that should not be, or is missing. Only a pooler between can do that.
bool is_of_a_pooler(std::string_view sqlstate) { return sqlstate == "42P05" || sqlstate == "26000"; }

// The server has become a standby, or was one all along: the primary is elsewhere.
constexpr std::string_view read_only_transaction = "25006";

// 57Pxx: the server or an operator ends the connection; 08xxx: it is broken; 25P03: it idled in a transaction.
bool ends_connection(std::string_view sqlstate) {
  return sqlstate.substr(0, 3) == "57P" || sqlstate.substr(0, 2) == "08" || sqlstate == "25P03";
}

std::string where(PGconn* handle) {
  const char* host = PQhost(handle);
  const char* port = PQport(handle);
  return std::string(host == nullptr || *host == '\0' ? "localhost" : host) + ":" + (port == nullptr ? "" : port);
}

Result<void> take_parameter(const std::string& name, const std::string& value, Address& address) {
  if (name == "schema") {
    address.schema = value;
    return {};
  }
  constexpr std::array allowed = {"on", "remote_apply", "remote_write", "local", "off"};
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    return fail(Errc::invalid_argument,
                "synchronous_commit: is \"" + value + "\"; allowed: on, remote_apply, remote_write, local and off",
                "synchronous_commit");
  }
  address.synchronous_commit = value;
  return {};
}

// What a role, a database or the server's file may have set otherwise, and what would change the meaning of our statements
// or how safe a commit is. A commit is reported when it is on disk; weaker only if the URL says so.
std::string session_settings(const Address& address) {
  const std::string commits =
      address.synchronous_commit.empty()
          ? "CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END"
          : "'" + address.synchronous_commit + "'";
  return "SET search_path TO " + address.quoted_schema() +
         "; SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = off;"
         " SET default_transaction_deferrable = off; SET statement_timeout = 0; SET lock_timeout = 0;"
         " SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0; SET jit = off;"
         " SET standard_conforming_strings = on; SET transform_null_equals = off; SET array_nulls = on;"
         " SELECT set_config('synchronous_commit', " +
         commits +
         ", false), CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL"
         " THEN set_config('transaction_timeout', '0', false) END; ";
}

}  // namespace

Result<Address> parse_address(const std::string& url) {
  Address address{.uri = url, .schema = "flowfabric"};
  const auto question = url.find('?');
  if (question != std::string::npos) {
    address.uri = url.substr(0, question);
    char separator = '?';
    for (std::size_t from = question + 1; from <= url.size();) {
      const auto end = std::min(url.find('&', from), url.size());
      const std::string item = url.substr(from, end - from);
      from = end + 1;
      const auto equals = std::min(item.find('='), item.size());
      const std::string name = item.substr(0, equals);
      if (name == "schema" || name == "synchronous_commit") {
        FF_TRY_VOID(take_parameter(name, item.substr(std::min(equals + 1, item.size())), address));
      } else if (!item.empty()) {
        address.uri += separator + item;
        separator = '&';
      }
    }
  }
  if (!is_identifier(address.schema)) {
    return fail(Errc::invalid_argument,
                "the schema in a PostgreSQL URL has up to 48 lower-case letters, digits and underscores, "
                "and must not begin with a digit or pg_",
                "schema");
  }
  // libpq quotes the whole URL, including the password, if it cannot parse it; therefore its message is not passed on.
  char* message = nullptr;
  PQconninfoOption* parsed = PQconninfoParse(address.uri.c_str(), &message);
  PQfreemem(message);
  if (parsed == nullptr) {
    return fail(Errc::invalid_argument, "the PostgreSQL URL cannot be parsed; it looks like postgres://user@host/db",
                "url");
  }
  for (const PQconninfoOption* option = parsed; option->keyword != nullptr; ++option) {
    const bool names_hosts = std::strcmp(option->keyword, "host") == 0 || std::strcmp(option->keyword, "hostaddr") == 0;
    if (names_hosts && option->val != nullptr && std::strchr(option->val, ',') != nullptr) address.several_hosts = true;
  }
  PQconninfoFree(parsed);
  return address;
}

Error pooled_by_transaction() {
  return {
      Errc::unsupported,
      "a connection pooler between this program and PostgreSQL changes the server connection between transactions; "
      "FlowFabric keeps prepared statements, settings and LISTEN in its connections. Let the pooler pool by session "
      "(PgBouncer: pool_mode = session), or connect to PostgreSQL directly",
      {},
      {}};
}

Error to_error(const Failure& failure) {
  if (failure.lost) return {Errc::unavailable, failure.message, {}, {}};
  const std::string_view state = failure.sqlstate;
  if (is_of_a_pooler(state)) return pooled_by_transaction();
  // 53: out of disk, memory or connections; 57: cancelled by an operator; 25006: the server has become a standby.
  const bool transient = state.substr(0, 2) == "53" || state.substr(0, 2) == "57" || state.substr(0, 2) == "40" ||
                         state == read_only_transaction;
  const bool damaged = state == "XX001" || state == "XX002";  // a table or an index
  return {damaged     ? Errc::corruption
          : transient ? Errc::unavailable
                      : Errc::internal,
          "PostgreSQL refused: " + failure.message + " (" + failure.sqlstate + ")",
          {},
          {}};
}

Params& Params::bytes(std::string_view value) {
  open();
  data_.append(value);
  return close();
}

Params& Params::null() {
  open();
  slots_.back().null = true;
  return *this;
}

void Params::clear() {
  data_.clear();
  slots_.clear();
}

Params& Params::scalar(Type type, std::int64_t value) {
  open();
  number(static_cast<std::uint64_t>(value), type == Type::int8 ? 8 : 4);
  return close();
}

void Params::open() { slots_.push_back({.offset = data_.size()}); }

// Binary array header: dimensions, whether nulls may follow, element type, count, lower bound.
void Params::open_array(Type type, std::size_t count) {
  open();
  number(1, 4);
  number(1, 4);
  number(static_cast<std::uint32_t>(type), 4);
  number(count, 4);
  number(1, 4);
}

Params& Params::close() {
  slots_.back().length = static_cast<int>(data_.size() - slots_.back().offset);
  return *this;
}

void Params::number(std::uint64_t value, int width) {
  std::array<char, 8> bytes{};
  for (int i = 0; i < width; ++i) bytes[i] = static_cast<char>(value >> (8 * (width - 1 - i)));
  data_.append(bytes.data(), static_cast<std::size_t>(width));
}

// A ctid is a block number (4 bytes) and an index in the block (2).
static int width_of(Type type) {
  switch (type) {
    case Type::int8:
    case Type::xid8: return 8;
    case Type::tid: return 6;
    case Type::int4: return 4;
    default: return 2;
  }
}

void Params::element(Type type, std::int64_t value) {
  const int width = width_of(type);
  number(static_cast<std::uint64_t>(width), 4);
  number(static_cast<std::uint64_t>(value), width);
}

void Params::element(Type, std::string_view value) {
  number(value.size(), 4);
  data_.append(value);
}

std::string_view Rows::bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::integer(int row, int column) const {
  const int width = PQgetlength(result_.get(), row, column);
  const std::uint64_t value = read_number(PQgetvalue(result_.get(), row, column), width);
  if (width == 2) return static_cast<std::int16_t>(value);
  if (width == 4) return static_cast<std::int32_t>(value);
  return static_cast<std::int64_t>(value);
}

std::uint64_t Rows::place(int row, int column) const {
  return read_number(PQgetvalue(result_.get(), row, column), PQgetlength(result_.get(), row, column));
}

std::vector<std::string_view> Rows::elements(int row, int column) const {
  const std::string_view all = bytes(row, column);
  std::vector<std::string_view> out;
  if (all.size() < 20) return out;  // no dimension, no elements
  const auto count = read_number(all.data() + 12, 4);
  std::size_t at = 20;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::size_t>(read_number(all.data() + at, 4));
    out.push_back(all.substr(at + 4, length));
    at += 4 + length;
  }
  return out;
}

std::vector<std::string> Rows::texts(int row, int column) const {
  const auto all = elements(row, column);
  return {all.begin(), all.end()};
}

Result<std::unique_ptr<Connection>> Connection::open(const Address& address, const std::string& setup) {
  // Parameters before dbname are defaults that the URL may override; those after it cannot be overridden.
  const char* wanted = address.several_hosts ? "primary" : "any";
  const std::array<const char*, 11> names = {"connect_timeout",
                                             "keepalives",
                                             "keepalives_idle",
                                             "keepalives_interval",
                                             "keepalives_count",
                                             "tcp_user_timeout",
                                             "target_session_attrs",
                                             "dbname",
                                             "client_encoding",
                                             "fallback_application_name",
                                             nullptr};
  const std::array<const char*, 11> values = {
      "10", "1", "10", "5", "3", "30000", wanted, address.uri.c_str(), "UTF8", "flowfabric", nullptr};
  std::unique_ptr<Connection> connection(new Connection(PQconnectdbParams(names.data(), values.data(), 1)));
  PGconn* handle = connection->handle_.get();
  if (handle == nullptr) return fail(Errc::unavailable, "out of memory for a PostgreSQL connection");
  // Important messages also come as errors; libpq would print the others on the user's terminal.
  PQsetNoticeProcessor(handle, [](void*, const char*) {}, nullptr);
  if (PQstatus(handle) != CONNECTION_OK) {
    return fail(Errc::unavailable,
                "cannot reach PostgreSQL at " + where(handle) + ": " + trimmed(PQerrorMessage(handle)));
  }
  if (PQserverVersion(handle) < oldest_server) {
    return fail(Errc::unsupported, "PostgreSQL 15 or newer is needed; the server at " + where(handle) + " is version " +
                                       std::to_string(PQserverVersion(handle) / 10000));
  }
  if (auto ready = connection->exec(session_settings(address) + setup); !ready) {
    return Unexpected(to_error(ready.error()));
  }
  return connection;
}

void Connection::send(const Statement& statement, bool prepare_only, const Params& params) {
  if (broken()) return;
  PGconn* handle = handle_.get();
  if (PQpipelineStatus(handle) == PQ_PIPELINE_OFF && PQenterPipelineMode(handle) != 1) {
    broken_ = true;
    return;
  }
  if (prepare_only) {
    if (PQsendPrepare(handle, statement.name, statement.sql, 0, nullptr) != 1) broken_ = true;
    expected_.push_back(&statement);
    return;
  }
  const std::size_t count = params.slots_.size();
  std::vector<const char*> values(count);
  std::vector<int> lengths(count);
  const std::vector<int> formats(count, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& slot = params.slots_[i];
    values[i] = slot.null ? nullptr : params.data_.data() + slot.offset;
    lengths[i] = slot.length;
  }
  const int n = static_cast<int>(count);
  const int sent =
      statement.name != nullptr
          ? PQsendQueryPrepared(handle, statement.name, n, values.data(), lengths.data(), formats.data(), 1)
          : PQsendQueryParams(handle, statement.sql, n, nullptr, values.data(), lengths.data(), formats.data(), 1);
  if (sent != 1) broken_ = true;
  expected_.push_back(nullptr);
}

void Connection::queue(const Statement& statement, const Params& params) {
  if (prepared_.count(&statement) == 0 && preparing_.insert(&statement).second) send(statement, true, params);
  send(statement, false, params);
}

void Connection::queue_once(const std::string& sql, const Params& params) {
  send(Statement{nullptr, sql.c_str()}, false, params);
}

Failure Connection::failure_of(const PGresult* result) {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (sqlstate == nullptr || ends_connection(sqlstate)) {
    broken_ = true;
    Failure failure = lost();
    if (text != nullptr) failure.message += std::string(" (") + text + ")";
    return failure;
  }
  // Nothing was written, but nothing ever will be over this connection.
  if (sqlstate == read_only_transaction) broken_ = true;
  return {false, sqlstate, trimmed(text)};
}

Failure Connection::lost() {
  broken_ = true;
  return {true, {}, "lost the connection to PostgreSQL at " + where(handle_.get())};
}

// Reads the reply to one queued statement. False if the connection is lost.
bool Connection::read_one(const Statement* prepared, std::vector<Rows>& rows, std::optional<Failure>& failure) {
  PGresult* result = PQgetResult(handle_.get());
  if (result == nullptr) return false;
  Rows holder(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
    if (prepared != nullptr) {
      prepared_.insert(prepared);
    } else {
      rows.push_back(std::move(holder));
    }
  } else if (!failure) {  // the rest of an aborted pipeline has no new information
    failure = failure_of(result);
    if (failure->lost) return false;
  }
  while (PGresult* more = PQgetResult(handle_.get())) PQclear(more);
  return PQstatus(handle_.get()) == CONNECTION_OK;
}

Reply<std::vector<Rows>> Connection::flush() {
  const auto expected = std::exchange(expected_, {});
  preparing_.clear();
  if (broken() || PQpipelineSync(handle_.get()) != 1) return Unexpected(lost());
  std::vector<Rows> rows;
  std::optional<Failure> failure;
  for (const Statement* prepared : expected) {
    if (read_one(prepared, rows, failure)) continue;
    return Unexpected(failure && failure->lost ? *failure : lost());
  }
  PGresult* sync = PQgetResult(handle_.get());
  const bool in_step = sync != nullptr && PQresultStatus(sync) == PGRES_PIPELINE_SYNC;
  PQclear(sync);
  if (!in_step) return Unexpected(lost());
  if (failure) return Unexpected(std::move(*failure));
  return rows;
}

Reply<Rows> Connection::run(const Statement& statement, const Params& params) {
  queue(statement, params);
  auto rows = flush();
  if (!rows) return Unexpected(std::move(rows).error());
  return std::move(rows->front());
}

Reply<Rows> Connection::exec(const std::string& sql) {
  if (broken()) return Unexpected(lost());
  if (PQpipelineStatus(handle_.get()) != PQ_PIPELINE_OFF && PQexitPipelineMode(handle_.get()) != 1) {
    return Unexpected(lost());
  }
  PGresult* result = PQexec(handle_.get(), sql.c_str());
  if (result == nullptr) return Unexpected(lost());
  Rows rows(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return rows;
  return Unexpected(failure_of(result));
}

}  // namespace flowfabric::postgres
