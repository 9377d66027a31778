// Connections for reads outside batches: opened when needed, at most a few, kept for the next reader. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <flowfabric/result.hpp>

#include "store/sqlite/database.hpp"

namespace flowfabric::sqlite {

inline constexpr std::size_t max_readers = 4;

// Opens a database for somebody who only looks at it. Nothing is created, migrated or checkpointed, and neither the file
// nor its folder need be writable. Afterwards the files are as they were.
Result<Database> open_unchanged(const std::string& path);

class ReaderPool {
 public:
  // `unchanged`: the files are to stay as they are; else somebody writes them through this store.
  ReaderPool(std::string path, bool unchanged) : path_(std::move(path)), unchanged_(unchanged) {}

  // A connection on loan; it goes back when the loan ends. The pool must outlive it.
  class Loan {
   public:
    Loan(ReaderPool& pool, std::unique_ptr<Database> database) : pool_(&pool), database_(std::move(database)) {}
    Loan(Loan&&) noexcept = default;
    Loan& operator=(Loan&&) = delete;
    ~Loan();
    Database* operator->() const { return database_.get(); }
    Database& operator*() const { return *database_; }

   private:
    ReaderPool* pool_;
    std::unique_ptr<Database> database_;
  };

  // Waits while all are on loan.
  Result<Loan> borrow();

 private:
  Result<std::unique_ptr<Database>> open_reader() const;
  void take_back(std::unique_ptr<Database> database);

  const std::string path_;
  const bool unchanged_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Database>> idle_;
  std::size_t lent_ = 0;
};

}  // namespace flowfabric::sqlite
