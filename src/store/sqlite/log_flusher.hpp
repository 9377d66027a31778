// Makes commits durable: flushes the write-ahead log of one database file, once for everybody who waits.
//
// SQLite at synchronous=FULL flushes inside COMMIT, and whoever wants to write next waits for the disk. Here COMMIT only
// writes (synchronous=NORMAL), the turn ends, and the flush is made outside of it: the next batch is at work meanwhile.
// What FULL promises still holds, because nobody is answered before a flush that began after his commit.
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

  // `log_path` is the write-ahead log, which lasts as long as a connection to its database is open.
  static Result<std::unique_ptr<LogFlusher>> open(const std::string& log_path, Flush flush = {});
  ~LogFlusher();

  LogFlusher(const LogFlusher&) = delete;
  LogFlusher& operator=(const LogFlusher&) = delete;

  // Around each COMMIT, whether it succeeds or not. One at a time.
  void begin_write();
  void end_write();
  // Waits until all that could be seen before the call is durable: the writes that had begun. Errc::outcome_unknown when
  // the disk failed to keep them.
  Result<void> settle();
  // Whether a flush has failed. What the kernel could not write it may have dropped, and a later flush would succeed
  // without it: so nothing is written any more.
  bool broken() const;

 private:
  LogFlusher(int descriptor, Flush flush);

  const int descriptor_;
  const Flush flush_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // How many writes have begun, have ended, and are on the disk.
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t durable_ = 0;
  bool flushing_ = false;
  int failure_ = 0;  // the errno of the flush that failed
};

}  // namespace flowfabric::sqlite
