#include "store/sqlite/database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.hpp"

namespace flowfabric::sqlite {
namespace {

Errc code_of(int status) {
  switch (status & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Errc::corruption;
    case SQLITE_TOOBIG: return Errc::payload_too_large;
    case SQLITE_INTERRUPT: return Errc::timed_out;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_NOMEM:
    case SQLITE_PROTOCOL: return Errc::unavailable;
    default: return Errc::internal;
  }
}

std::string sentence_of(int status, const char* message) {
  switch (status & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "the database file is locked by another process";
    case SQLITE_FULL: return "the disk of the database file is full";
    case SQLITE_NOTADB: return "the file is not a SQLite database";
    case SQLITE_INTERRUPT:
      return "the read took longer than read_timeout and was stopped; narrow the filters or ask for a smaller page";
    case SQLITE_READONLY: return "the database file or its directory is not writable";
    default: return std::string("SQLite reports: ") + message;
  }
}

// SQLite counts every allocation under a lock, for statistics that are not used (see the README for the cost). The
// setting applies to the process and must be made first: a program that used SQLite before keeps its own.
void stop_counting_memory() {
  static std::once_flag once;
  std::call_once(once, [] { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); });
}

constexpr const char* sqlite_detail = "sqlite";

Unexpected<Error> failure(int status, sqlite3* connection) {
  const char* message = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(status);
  Error error{code_of(status), sentence_of(status, message), {}, {}};
  error.details.emplace_back(sqlite_detail, sqlite3_errstr(status));
  return Unexpected(std::move(error));
}

// A path as a URI: whatever could mean something there is escaped.
std::string immutable_uri(const std::string& path) {
  constexpr char digits[] = "0123456789abcdef";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c != '%' && c != '?' && c != '#') {
      uri += c;
      continue;
    }
    uri += '%';
    uri += digits[byte >> 4];
    uri += digits[byte & 15];
  }
  return uri + "?immutable=1";
}

}  // namespace

bool reports_damage(const Error& error) {
  if (error.code != Errc::corruption) return false;
  return std::any_of(error.details.begin(), error.details.end(),
                     [](const auto& detail) { return detail.first == sqlite_detail; });
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::bind(int parameter, std::int64_t value) {
  FF_CHECK(sqlite3_bind_int64(statement_.get(), parameter, value) == SQLITE_OK);
}

void Statement::bind_text(int parameter, std::string_view value) {
  // A null pointer would bind NULL, and an empty string is not NULL.
  const char* data = value.empty() ? "" : value.data();
  const int status = sqlite3_bind_text64(statement_.get(), parameter, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  FF_CHECK(status == SQLITE_OK);
}

void Statement::bind_blob(int parameter, std::string_view value) {
  const char* data = value.empty() ? "" : value.data();
  FF_CHECK(sqlite3_bind_blob64(statement_.get(), parameter, data, value.size(), SQLITE_STATIC) == SQLITE_OK);
}

void Statement::bind_null(int parameter) { FF_CHECK(sqlite3_bind_null(statement_.get(), parameter) == SQLITE_OK); }

Result<bool> Statement::step() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  auto failed = failure(status, sqlite3_db_handle(statement_.get()));
  sqlite3_reset(statement_.get());
  return failed;
}

Result<void> Statement::run() {
  FF_TRY(row, step());
  if (row) reset();
  return {};
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string_view Statement::view(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string Statement::bytes(int column) const { return std::string(view(column)); }

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Database::Database(sqlite3* connection, std::chrono::milliseconds wait)
    : patience_(std::make_unique<Patience>(Patience{{}, wait})), connection_(connection) {}

// SQLite's own handler soon sleeps 100 ms at a time, and a writer that checks so rarely starves next to a busy one,
// which pauses only briefly between two batches. This one checks at least every two milliseconds.
int Database::wait_while_busy(void* context, int attempts) {
  auto& patience = *static_cast<Patience*>(context);
  const auto now = std::chrono::steady_clock::now();
  if (attempts == 0) patience.since = now;
  if (now - patience.since >= patience.limit) return 0;
  std::this_thread::sleep_for(std::chrono::microseconds(std::min(100 << std::min(attempts, 5), 2000)));
  return 1;
}

int Database::time_is_up(void* context) {
  return std::chrono::steady_clock::now() >= static_cast<Patience*>(context)->stop_at ? 1 : 0;
}

void Database::stop_after(std::chrono::milliseconds time) {
  constexpr int instructions_between_looks = 10000;  // well below a millisecond
  patience_->stop_at = std::chrono::steady_clock::now() + time;
  sqlite3_progress_handler(connection_.get(), instructions_between_looks, time.count() == 0 ? nullptr : time_is_up,
                           patience_.get());
}

Result<Database> Database::open(const std::string& path, OpenMode mode, std::chrono::milliseconds wait) {
  // No mutex inside SQLite: a connection is used by one thread at a time (see the header).
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  if (mode == OpenMode::create) flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (mode == OpenMode::existing) flags |= SQLITE_OPEN_READWRITE;
  if (mode == OpenMode::immutable) flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  stop_counting_memory();
  sqlite3* connection = nullptr;
  const std::string name = mode == OpenMode::immutable ? immutable_uri(path) : path;
  const int status = sqlite3_open_v2(name.c_str(), &connection, flags, nullptr);
  Database database(connection, wait);  // owns the connection even if opening it failed
  if (status != SQLITE_OK) return failure(status, connection);
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_handler(connection, wait_while_busy, database.patience_.get());
  return database;
}

Result<void> Database::execute(const std::string& sql) {
  FF_TRY(statement, prepare(sql));
  return statement.run();
}

Result<std::int64_t> Database::query_integer(const char* sql) {
  FF_TRY(statement, cached(sql));
  FF_TRY(row, statement->step());
  if (!row) return fail(Errc::internal, std::string("no result for: ") + sql);
  const std::int64_t value = statement->integer(0);
  statement->reset();
  return value;
}

Result<std::string> Database::query_text(const char* sql) {
  FF_TRY(statement, cached(sql));
  FF_TRY(row, statement->step());
  if (!row) return fail(Errc::internal, std::string("no result for: ") + sql);
  std::string value = statement->bytes(0);
  statement->reset();
  return value;
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (status != SQLITE_OK) return failure(status, connection_.get());
  return Statement(statement);
}

Result<Statement*> Database::cached(const char* sql) {
  const auto found = cached_.find(sql);
  if (found != cached_.end()) return &found->second;
  FF_TRY(statement, prepare(sql));
  return &cached_.emplace(sql, std::move(statement)).first->second;
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

std::int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(connection_.get()); }

Trouble Database::last_trouble() const {
  switch (sqlite3_errcode(connection_.get()) & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Trouble::locked;
    case SQLITE_FULL: return Trouble::disk_full;
    default: return Trouble::other;
  }
}

bool Database::is_read_only() const { return sqlite3_db_readonly(connection_.get(), "main") == 1; }

void Database::keep_log_at_close() {
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void Database::on_commit(void (*hook)(void* context, int frames), void* context) {
  commit_hook_ = std::make_unique<CommitHook>(CommitHook{hook, context});
  const auto call = [](void* registered, sqlite3*, const char*, int frames) {
    const auto& kept = *static_cast<CommitHook*>(registered);
    kept.call(kept.context, frames);
    return SQLITE_OK;
  };
  sqlite3_wal_hook(connection_.get(), call, commit_hook_.get());
}

Result<Checkpoint> Database::checkpoint() {
  Checkpoint done;
  const int status =
      sqlite3_wal_checkpoint_v2(connection_.get(), "main", SQLITE_CHECKPOINT_PASSIVE, &done.frames, &done.copied);
  if (status != SQLITE_OK) return failure(status, connection_.get());
  return done;
}

}  // namespace flowfabric::sqlite
