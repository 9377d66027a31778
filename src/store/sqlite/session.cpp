#include "store/sqlite/session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "store/sqlite/schema.hpp"

namespace flowfabric::sqlite {
namespace {

constexpr char begin_sql[] = "BEGIN IMMEDIATE";
constexpr char commit_sql[] = "COMMIT";
constexpr char rollback_sql[] = "ROLLBACK";

// Changes exactly when another connection has committed; reads the shared index of the log, not the disk.
constexpr char data_version_sql[] = "PRAGMA data_version";

// A small separate commit; see undo_commit.
constexpr char note_undone_commit_sql[] = R"(
  INSERT INTO meta(name, value) VALUES('undone_commits', 1) ON CONFLICT(name) DO UPDATE SET value = value + 1)";

// By how much the time is ahead of the system's clock (base/wall_clock.hpp), and since when.
constexpr char load_lead_sql[] = R"(
  SELECT coalesce((SELECT value FROM meta WHERE name = 'clock_ahead_us'), 0),
         coalesce((SELECT value FROM meta WHERE name = 'clock_ahead_since_us'), 0))";
constexpr char put_lead_sql[] = R"(
  INSERT OR REPLACE INTO meta(name, value) VALUES('clock_ahead_us', ?1), ('clock_ahead_since_us', ?2))";

// No more than 64 MiB of log file are left after a large one; Checkpointer says when it is copied. Debian's SQLite
// overwrites deleted bytes with zeros unless told otherwise, which makes erasing a large payload write all of it again.
constexpr const char* writer_settings[] = {
    "PRAGMA cache_size = -16384",    "PRAGMA temp_store = MEMORY",           "PRAGMA foreign_keys = OFF",
    "PRAGMA wal_autocheckpoint = 0", "PRAGMA journal_size_limit = 67108864", "PRAGMA secure_delete = OFF",
    "PRAGMA synchronous = NORMAL",  // LogFlusher flushes the log; SQLite flushes it before it copies pages from it
};

Result<ClockLead> recorded_lead(Database& database) {
  FF_TRY(load, database.cached(load_lead_sql));
  FF_TRY_VOID(load->step());
  const ClockLead lead{load->integer(0), load->integer(1)};
  load->reset();
  return lead;
}

}  // namespace

Result<std::int64_t> Clock::look(Database& reader) {
  if (supplied_) return supplied_();
  FF_TRY(recorded, recorded_lead(reader));
  return system_.now_us_by(recorded);
}

Result<std::int64_t> Clock::now_us(Database& database) {
  if (supplied_) return supplied_();
  FF_TRY(recorded, recorded_lead(database));
  ClockLead lead = recorded;
  const std::int64_t now = system_.now_us(lead);
  if (lead == recorded) return now;
  FF_TRY(put, database.cached(put_lead_sql));
  put->bind(1, lead.ahead_us);
  put->bind(2, lead.since_us);
  FF_TRY_VOID(put->run());
  return now;
}

Result<std::shared_ptr<Writer>> Writer::open(const std::string& path, Synchronous synchronous,
                                             LogFlusher::Flush flush) {
  FF_TRY(found, find_database(path));
  if (!found) FF_TRY_VOID(create_database(path));
  FF_TRY(database, Database::open(path, OpenMode::existing));
  if (database.is_read_only()) return fail(Errc::unavailable, path + " cannot be written to");
  FF_TRY(version, prepare_schema(database, path));
  warn_of_loose_modes(path);
  if (version != newest_schema()) {
    log(LogLevel::warn, "the database was migrated; older programs cannot open it any more",
        {{"file", path}, {"from", std::to_string(version)}, {"to", std::to_string(newest_schema())}});
  }
  std::shared_ptr<Writer> writer(new Writer(std::move(database)));
  FF_TRY_VOID(writer->configure());
  FF_TRY(batch, Batch::prepare(writer->database_));
  writer->batch_ = std::move(batch);
  FF_TRY(data_version, writer->database_.query_integer(data_version_sql));
  writer->data_version_ = data_version;
  // Reading the version has created the log file.
  FF_TRY_VOID(writer->remember_files(path));
  if (synchronous == Synchronous::full) {
    FF_TRY(flusher, LogFlusher::open(path + "-wal", std::move(flush)));
    writer->flusher_ = std::move(flusher);
  }
  return writer;
}

Result<void> Writer::configure() {
  for (const char* setting : writer_settings) FF_TRY_VOID(database_.execute(setting));
  checkpointer_ = std::make_unique<Checkpointer>(database_);
  return {};
}

Result<void> Writer::remember_files(const std::string& path) {
  for (const char* suffix : {"", "-wal"}) {
    FF_TRY(identity, FileIdentity::of(path + suffix));
    files_.push_back(std::move(identity));
  }
  return {};
}

Result<void> Writer::check_files() {
  for (const FileIdentity& file : files_) {
    const auto there = file.check();
    if (there) continue;
    fail_for_good(there.error());
    return there;
  }
  return {};
}

void Writer::note_damage(const Error& error) {
  Error lasting = error;
  lasting.message = "the database file is damaged, and nothing more is written: " + error.message;
  fail_for_good(lasting);
}

// The first cause stays.
void Writer::fail_for_good(const Error& error) {
  const std::lock_guard lock(failure_mutex_);
  if (!failure_) failure_ = error;
}

std::optional<Error> Writer::failure() const {
  if (flusher_ && flusher_->broken()) {
    return Error{Errc::unavailable, "the disk failed to keep what was written; check it, then start again", {}, {}};
  }
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

Result<void> Writer::begin() {
  {
    std::unique_lock lock(mutex_);
    if (!turn_ended_.wait_for(lock, busy_timeout, [this] { return !taken_; })) {
      return fail(Errc::unavailable, "another batch of this process keeps the database file locked");
    }
    taken_ = true;
  }
  static_cast<void>(check_files());  // failure() has what it says
  if (auto failed = failure()) {
    end_turn();
    return Unexpected(std::move(*failed));
  }
  auto statement = database_.cached(begin_sql);
  auto begun = statement ? (*statement)->run() : Unexpected(std::move(statement).error());
  if (!begun) {
    if (reports_damage(begun.error())) note_damage(begun.error());
    rollback();
    return begun;
  }
  look_for_foreign_commits();
  batch_->begin();
  return {};
}

Result<void> Writer::write_commit() {
  FF_TRY(statement, database_.cached(commit_sql));
  if (flusher_) flusher_->begin_write();
  auto committed = statement->run();
  if (flusher_) flusher_->end_write();
  return committed;
}

// COMMIT cannot find the file locked, because the transaction already has the lock; if SQLite changed that, its busy
// handler would wait first, and the batch is aborted like after any other error.
Result<void> Writer::commit() {
  auto committed = write_commit();
  if (!committed) return undo_commit(std::move(committed).error());
  end_turn();
  return {};
}

// What was written to a file that is gone is not durable, whatever the disk says.
Result<void> Writer::settle() {
  if (flusher_) FF_TRY_VOID(flusher_->settle());
  if (const auto there = check_files(); !there) return fail(Errc::outcome_unknown, there.error().message);
  return {};
}

// A failed COMMIT has rolled back, but its pages may be in the log file after the last valid one, complete with their
// mark, and a crash now would restore them. The next commit overwrites them; therefore a small one is made at once, and
// only if that fails too is the outcome unknown.
Result<void> Writer::undo_commit(Error error) {
  if (reports_damage(error)) note_damage(error);
  const bool disk_full = database_.last_trouble() == Trouble::disk_full;
  if (database_.in_transaction()) static_cast<void>(database_.execute(rollback_sql));
  if (flusher_) flusher_->begin_write();
  bool overwritten = !database_.in_transaction() && database_.execute(note_undone_commit_sql).has_value();
  if (flusher_) flusher_->end_write();
  end_turn();
  overwritten = overwritten && settle().has_value();
  // On a full disk the mark, which comes last, was never written.
  if (overwritten || disk_full) {
    error.code = Errc::unavailable;
    return Unexpected(std::move(error));
  }
  return fail(Errc::outcome_unknown, "the commit failed and could not be undone: " + error.message);
}

void Writer::rollback() {
  // An error within a transaction may have rolled it back already. A failed rollback has nothing left to undo.
  if (database_.in_transaction()) static_cast<void>(database_.execute(rollback_sql));
  end_turn();
}

void Writer::end_turn() {
  {
    const std::lock_guard lock(mutex_);
    taken_ = false;
  }
  turn_ended_.notify_one();
}

void Writer::look_for_foreign_commits() {
  const auto version = database_.query_integer(data_version_sql);
  if (!version || *version == data_version_) return;
  data_version_ = *version;
  // Data of another process may be visible here before that process has flushed it.
  if (flusher_) {
    flusher_->begin_write();
    flusher_->end_write();
  }
  foreign_commits_.store(true, std::memory_order_relaxed);
}

bool Writer::foreign_commits() {
  bool mine = false;
  {
    const std::lock_guard lock(mutex_);
    mine = !std::exchange(taken_, true);
  }
  if (mine) {
    look_for_foreign_commits();
    end_turn();
  }
  return foreign_commits_.exchange(false, std::memory_order_relaxed);
}

SqliteSession::SqliteSession(std::shared_ptr<Writer> writer, std::shared_ptr<Clock> clock)
    : writer_(std::move(writer)), clock_(std::move(clock)) {}

SqliteSession::~SqliteSession() { release(); }

Result<void> SqliteSession::ensure_begun() {
  if (begun_) return {};
  FF_TRY_VOID(writer_->begin());
  begun_ = true;
  return {};
}

Result<ReadReply> SqliteSession::read(const ReadRequest& request) {
  FF_TRY_VOID(ensure_begun());
  // The clock is read after the wait for the lock, so that entries due by now are due when the batch decides.
  const auto now_us = clock_->now_us(writer_->database());
  auto reply = now_us ? writer_->batch().read(request, *now_us) : Unexpected(now_us.error());
  if (!reply) give_up(reply.error());
  return reply;
}

Result<std::vector<Satellite>> SqliteSession::read_satellites(const std::vector<SatelliteName>& names) {
  FF_TRY_VOID(ensure_begun());
  auto found = writer_->batch().read_satellites(names);
  if (!found) give_up(found.error());
  return found;
}

Result<std::vector<SequenceEntry>> SqliteSession::read_sequence(const SequenceName& name, std::uint64_t from,
                                                                std::uint32_t limit) {
  FF_TRY_VOID(ensure_begun());
  auto found = writer_->batch().read_sequence(name, from, limit);
  if (!found) give_up(found.error());
  return found;
}

Result<std::vector<Verdict>> SqliteSession::commit(const std::vector<ChangeSet>& sets) {
  FF_TRY_VOID(ensure_begun());
  auto verdicts = writer_->batch().write(sets);
  appended_ = writer_->batch().appended();
  if (!verdicts) {
    give_up(verdicts.error());
    return verdicts;
  }
  if (!writer_->batch().dirty()) {
    release();
    return verdicts;
  }
  begun_ = false;
  FF_TRY_VOID(writer_->commit());
  return verdicts;
}

void SqliteSession::give_up(const Error& error) {
  if (reports_damage(error)) writer_->note_damage(error);
  release();
}

void SqliteSession::release() {
  if (std::exchange(begun_, false)) writer_->rollback();
}

}  // namespace flowfabric::sqlite
