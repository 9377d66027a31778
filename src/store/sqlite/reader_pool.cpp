#include "store/sqlite/reader_pool.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.hpp"

namespace flowfabric::sqlite {
namespace {

// A small cache: readers page through much and come back to little.
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
  return tl::unexpected(looked.error());
}

ReaderPool::Loan::~Loan() {
  if (database_) pool_->take_back(std::move(database_));
}

Result<ReaderPool::Loan> ReaderPool::borrow() {
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [this] { return lent_ < max_readers; });
    ++lent_;
    if (!idle_.empty()) {
      std::unique_ptr<Database> database = std::move(idle_.back());
      idle_.pop_back();
      return Loan(*this, std::move(database));
    }
  }
  auto opened = open_reader();
  if (!opened) {
    take_back(nullptr);
    return tl::unexpected(std::move(opened).error());
  }
  return Loan(*this, std::move(*opened));
}

Result<std::unique_ptr<Database>> ReaderPool::open_reader() const {
  FF_TRY(database, unchanged_ ? open_unchanged(path_) : Database::open(path_, OpenMode::existing));
  for (const char* setting : reader_settings) FF_TRY_VOID(database.execute(setting));
  return std::make_unique<Database>(std::move(database));
}

void ReaderPool::take_back(std::unique_ptr<Database> database) {
  // A reader that failed half-way may still hold its snapshot, which would keep the log from being recycled.
  if (database && database->in_transaction()) static_cast<void>(database->execute("ROLLBACK"));
  {
    const std::lock_guard lock(mutex_);
    --lent_;
    if (database) idle_.push_back(std::move(database));
  }
  returned_.notify_one();
}

}  // namespace flowfabric::sqlite
