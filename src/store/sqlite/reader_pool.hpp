// Connections for reads outside batches: opened on demand, at most a few, kept for the next reader. Thread-safe.
//
// Reads that can be slow have a pool of their own, and so has the clock: nobody waits for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <flowfabric/result.hpp>

#include "store/sqlite/database.hpp"

namespace flowfabric::sqlite {

// Opens a database for somebody who only looks at it. Nothing is created, migrated or checkpointed, and neither the file
// nor its folder need be writable. Afterwards the files are as they were.
Result<Database> open_unchanged(const std::string& path);

class ReaderPool {
 public:
  struct Limits {
    std::size_t connections = 4;
    bool refuses = false;                  // who would have to wait while all of them are slow
    std::chrono::milliseconds timeout{0};  // of a loan; 0: none
    bool unchanged = false;  // the files are to stay as they are; else somebody writes them through this store
  };
  ReaderPool(std::string path, Limits limits) : path_(std::move(path)), limits_(limits) {}

  // A borrowed connection; it is returned when the loan ends. The pool must outlive it.
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

  // Waits while all are on loan, as far as the limits allow.
  Result<Loan> borrow();

 private:
  bool wait_for_one(std::unique_lock<std::mutex>& lock);
  Result<std::unique_ptr<Database>> take();
  Result<std::unique_ptr<Database>> open_reader() const;
  void take_back(std::unique_ptr<Database> database);

  const std::string path_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Database>> idle_;
  std::size_t lent_ = 0;
  std::chrono::steady_clock::time_point moved_{};  // when a connection was last taken or returned
};

}  // namespace flowfabric::sqlite
