// The SQLite C API with RAII and Results: a connection, and a prepared statement.
//
// A Database and its Statements belong to one thread at a time; callers that share them must lock. A Statement must not
// outlive its Database. Bound bytes are not copied: they must be valid until the statement is reset.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <flowfabric/result.hpp>

struct sqlite3;
struct sqlite3_stmt;

namespace flowfabric::sqlite {

// How long a statement waits for another process that is writing.
inline constexpr std::chrono::milliseconds busy_timeout{10'000};

enum class Trouble { locked, disk_full, other };

enum class OpenMode {
  create,     // makes a file where there is none
  existing,   // opens what is there; read-only where nothing else is allowed
  immutable,  // reads a file that nobody can be writing: needs no other file and no lock
};

// How far a checkpoint came: frames in the log, and those of them that are in the database now.
struct Checkpoint {
  int frames = 0;
  int copied = 0;
};

// Whether SQLite itself says so: the file is damaged, not only a value in it.
bool reports_damage(const Error& error);

class Statement {
 public:
  Statement() = default;

  // Parameters count from 1. A value stays bound until it is bound again.
  void bind(int parameter, std::int64_t value);
  void bind_text(int parameter, std::string_view value);
  void bind_blob(int parameter, std::string_view value);
  void bind_null(int parameter);

  // True if there is a row. At the end and on errors the statement resets itself; a caller that stops earlier calls
  // reset().
  Result<bool> step();
  // For statements without rows.
  Result<void> run();
  void reset();

  // Columns of the current row count from 0. An empty value and NULL are both returned as empty.
  std::int64_t integer(int column) const;
  std::string bytes(int column) const;
  std::string_view view(int column) const;  // valid until the next step
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // `path` is absolute.
  static Result<Database> open(const std::string& path, OpenMode mode = OpenMode::create,
                               std::chrono::milliseconds wait = busy_timeout);

  // `sql` is one statement whose rows are ignored.
  Result<void> execute(const std::string& sql);
  // The first column of the first row; an error if there is no row.
  Result<std::int64_t> query_integer(const char* sql);
  Result<std::string> query_text(const char* sql);
  // For statements that are kept as long as the connection, or (once) for those built dynamically.
  Result<Statement> prepare(std::string_view sql);
  // The statement of a named constant, prepared on first use and kept. Its address is the name.
  Result<Statement*> cached(const char* sql);

  // From now on statements are stopped with Errc::timed_out once that much time has passed; 0: they are not.
  void stop_after(std::chrono::milliseconds time);

  bool in_transaction() const;
  std::int64_t last_insert_id() const;
  // The kind of the last failure, if it matters beyond the message.
  Trouble last_trouble() const;
  bool is_read_only() const;

  // Leaves the write-ahead log as it is when this was the last connection.
  void keep_log_at_close();
  // Calls `hook` inside every COMMIT, with the number of frames in the log, instead of SQLite's own checkpoints.
  void on_commit(void (*hook)(void* context, int frames), void* context);
  // Copies as much of the log into the database as readers allow, without waiting.
  Result<Checkpoint> checkpoint();

 private:
  struct CommitHook {
    void (*call)(void* context, int frames) = nullptr;
    void* context = nullptr;
  };
  // The state of the busy handler: since when it has been waiting.
  struct Patience {
    std::chrono::steady_clock::time_point since;
    std::chrono::milliseconds limit;
    std::chrono::steady_clock::time_point stop_at{};
  };
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  Database(sqlite3* connection, std::chrono::milliseconds wait);
  static int wait_while_busy(void* patience, int attempts);
  static int time_is_up(void* patience);

  std::unique_ptr<Patience> patience_;
  std::unique_ptr<CommitHook> commit_hook_;
  std::unique_ptr<sqlite3, Close> connection_;
  std::unordered_map<const char*, Statement> cached_;  // last: statements are destroyed before their connection
};

}  // namespace flowfabric::sqlite
