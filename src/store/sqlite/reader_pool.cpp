#include "store/sqlite/reader_pool.hpp"

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

}  // namespace

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
  FF_TRY(database, Database::open(path_));
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
