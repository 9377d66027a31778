// The write side: one connection per process, and the sessions that take turns on it.
//
// SQLite allows one write transaction at a time, so a second write connection would only wait, and need its own cache.
// All sessions of a store share one Writer instead. A batch lasts from `begin` to `commit` or `rollback` and is a BEGIN
// IMMEDIATE transaction: during it no other connection writes, in this process or another. Keep it short. Its writes
// become durable afterwards, in `settle`, while the next batch is already running (log_flusher.hpp).
//
// Writer is thread-safe; `batch()` belongs to the thread that has begun a batch. A Session belongs to one thread at a
// time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/wall_clock.hpp"
#include "store/sqlite/batch.hpp"
#include "store/sqlite/checkpointer.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/files.hpp"
#include "store/sqlite/log_flusher.hpp"
#include "store/store.hpp"

namespace flowfabric::sqlite {

// The store's clock: the one that tests supply, or the system's, which here does not jump back. Its lead, if it has one, is
// on record in the file, so that all processes on it have the same time.
class Clock {
 public:
  explicit Clock(std::function<std::int64_t()> supplied, WallClock::Source wall_us = {},
                 WallClock::Source steady_us = {})
      : supplied_(std::move(supplied)), system_(std::move(wall_us), std::move(steady_us)) {}
  // Inside a batch; may write to the file.
  Result<std::int64_t> now_us(Database& database);
  // Outside of one; only reads.
  Result<std::int64_t> look(Database& reader);

 private:
  const std::function<std::int64_t()> supplied_;
  WallClock system_;
};

enum class Synchronous { full, normal };

class Writer {
 public:
  // Opens the file, creating or migrating it if needed. Tests supply their own flush.
  static Result<std::shared_ptr<Writer>> open(const std::string& path, Synchronous synchronous,
                                              LogFlusher::Flush flush = {});

  // Waits for its turn, at most `busy_timeout` in this process and the same time for other processes.
  Result<void> begin();
  Batch& batch() { return *batch_; }
  Database& database() { return database_; }
  // Both end the batch in any case. An error of `commit` means the same as in Session::commit.
  Result<void> commit();
  void rollback();
  // Waits until everything that a batch or a reader has seen so far is durable.
  Result<void> settle();
  bool settles_later() const { return flusher_ != nullptr; }

  // `unavailable` when the files are no longer where they were: what is read or written would be lost or foreign.
  Result<void> check_files();
  // After a report of damage: nothing more is written.
  void note_damage(const Error& error);
  // Why nothing can be written until the file is opened again.
  std::optional<Error> failure() const;
  const Checkpointer& checkpointer() const { return *checkpointer_; }

  // Whether another connection has committed since the last call. Never waits: during a batch it returns what `begin`
  // saw.
  bool foreign_commits();

 private:
  explicit Writer(Database database) : database_(std::move(database)) {}
  Result<void> configure();
  Result<void> remember_files(const std::string& path);
  void fail_for_good(const Error& error);
  Result<void> write_commit();
  void end_turn();
  void look_for_foreign_commits();
  Result<void> undo_commit(Error error);

  std::mutex mutex_;
  std::condition_variable turn_ended_;
  bool taken_ = false;  // under mutex_; everything below belongs to the holder

  mutable std::mutex failure_mutex_;
  std::optional<Error> failure_;
  std::vector<FileIdentity> files_;  // never changes once it is open

  Database database_;
  std::unique_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<LogFlusher> flusher_;  // none with synchronous=normal: the system decides when commits become durable
  std::unique_ptr<Batch> batch_;
  std::int64_t data_version_ = 0;
  std::atomic<bool> foreign_commits_{false};
};

class SqliteSession final : public Session {
 public:
  SqliteSession(std::shared_ptr<Writer> writer, std::shared_ptr<Clock> clock);
  ~SqliteSession() override;

  Result<ReadReply> read(const ReadRequest& request) override;
  Result<std::vector<Satellite>> read_satellites(const std::vector<SatelliteName>& names) override;
  Result<std::vector<SequenceEntry>> read_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override;
  Result<std::vector<Verdict>> commit(const std::vector<ChangeSet>& sets) override;
  const std::vector<std::uint64_t>& appended() const override { return appended_; }
  void release() override;
  Result<void> settle() override { return writer_->settle(); }

 private:
  Result<void> ensure_begun();
  void give_up(const Error& error);

  std::shared_ptr<Writer> writer_;
  std::shared_ptr<Clock> clock_;
  bool begun_ = false;
  std::vector<std::uint64_t> appended_;  // copied, because the sessions share the batch
};

}  // namespace flowfabric::sqlite
