#include "store/sqlite/reader_pool.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.hpp"

namespace flowfabric::sqlite {
namespace {

// A small cache: readers read many pages and rarely the same ones again.
constexpr const char* reader_settings[] = {
    "PRAGMA query_only = ON",
    "PRAGMA cache_size = -1024",
    "PRAGMA temp_store = MEMORY",
};

enum class LogFile { absent, empty, filled };

LogFile log_file_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path + "-wal", error);
  if (error) return LogFile::absent;
  return size == 0 ? LogFile::empty : LogFile::filled;
}

using std::chrono::steady_clock;

constexpr std::chrono::seconds slow{1};  // is a read that takes longer

Unexpected<Error> too_many_reads(std::size_t connections) {
  return fail(Errc::overloaded,
              std::to_string(connections) + " slow reads of the store are running already; back off and repeat");
}

}  // namespace

// While a server has the database open there is a log. Where there is none, nobody writes, and a file that we may not
// write can be read without the files that SQLite would have to make beside it.
Result<Database> open_unchanged(const std::string& path) {
  constexpr static char look[] = "SELECT count(*) FROM sqlite_schema";
  const LogFile log = log_file_of(path);
  FF_TRY(database, Database::open(path, OpenMode::existing));
  if (log == LogFile::absent && database.is_read_only()) return Database::open(path, OpenMode::immutable);
  if (log == LogFile::filled) database.keep_log_at_close();
  const auto looked = database.query_integer(look);
  if (looked) return database;
  if (looked.error().code == Errc::unavailable && log != LogFile::filled) {
    return Database::open(path, OpenMode::immutable);
  }
  return Unexpected(looked.error());
}

ReaderPool::Loan::~Loan() {
  if (database_) pool_->take_back(std::move(database_));
}

Result<ReaderPool::Loan> ReaderPool::borrow() {
  FF_TRY(database, take());
  database->stop_after(limits_.timeout);
  return Loan(*this, std::move(database));
}

// False when it is not worth it: all are on loan, and none has come back for a while.
bool ReaderPool::wait_for_one(std::unique_lock<std::mutex>& lock) {
  while (lent_ >= limits_.connections) {
    if (!limits_.refuses) {
      returned_.wait(lock);
    } else if (steady_clock::now() >= moved_ + slow) {
      return false;
    } else {
      returned_.wait_until(lock, moved_ + slow);
    }
  }
  return true;
}

Result<std::unique_ptr<Database>> ReaderPool::take() {
  {
    std::unique_lock lock(mutex_);
    if (!wait_for_one(lock)) return too_many_reads(limits_.connections);
    ++lent_;
    moved_ = steady_clock::now();
    if (!idle_.empty()) {
      std::unique_ptr<Database> database = std::move(idle_.back());
      idle_.pop_back();
      return database;
    }
  }
  auto opened = open_reader();
  if (!opened) take_back(nullptr);
  return opened;
}

Result<std::unique_ptr<Database>> ReaderPool::open_reader() const {
  FF_TRY(database, limits_.unchanged ? open_unchanged(path_) : Database::open(path_, OpenMode::existing));
  for (const char* setting : reader_settings) FF_TRY_VOID(database.execute(setting));
  return std::make_unique<Database>(std::move(database));
}

void ReaderPool::take_back(std::unique_ptr<Database> database) {
  // A reader that failed may still hold its snapshot, which would prevent the log from being recycled.
  if (database) database->stop_after(std::chrono::milliseconds(0));
  if (database && database->in_transaction()) static_cast<void>(database->execute("ROLLBACK"));
  {
    const std::lock_guard lock(mutex_);
    --lent_;
    moved_ = steady_clock::now();
    if (database) idle_.push_back(std::move(database));
  }
  returned_.notify_one();
}

}  // namespace flowfabric::sqlite
