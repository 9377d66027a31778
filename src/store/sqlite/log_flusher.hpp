// Makes commits durable: flushes the write-ahead log of one database file, once for all waiting threads.
//
// At synchronous=FULL, SQLite flushes inside COMMIT, and the next writer waits for the disk. Here COMMIT only writes
// (synchronous=NORMAL), the write lock is released, and the flush happens outside: meanwhile the next batch runs. The
// guarantee of FULL is kept, because no caller is answered before a flush that began after its commit.
//
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <flowfabric/result.hpp>

namespace flowfabric::sqlite {

class LogFlusher {
 public:
  // Flushes the file behind a descriptor; 0, or -1 with errno.
  using Flush = std::function<int(int descriptor)>;

  // `log_path` is the write-ahead log, which exists as long as a connection to its database is open.
  static Result<std::unique_ptr<LogFlusher>> open(const std::string& log_path, Flush flush = {});
  ~LogFlusher();

  LogFlusher(const LogFlusher&) = delete;
  LogFlusher& operator=(const LogFlusher&) = delete;

  // Around each COMMIT, successful or not. One at a time.
  void begin_write();
  void end_write();
  // Waits until everything visible before the call is durable: the writes that had begun. Errc::outcome_unknown if the
  // disk failed to store them.
  Result<void> settle();
  // Whether a flush has failed. The kernel may have dropped pages that it could not write, and a later flush would
  // succeed without them: therefore nothing more is written.
  bool broken() const;

 private:
  LogFlusher(int descriptor, Flush flush);

  const int descriptor_;
  const Flush flush_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // The number of writes that have begun, have ended, and are on the disk.
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t durable_ = 0;
  bool flushing_ = false;
  int failure_ = 0;  // the errno of the failed flush
};

}  // namespace flowfabric::sqlite
