#include "store/sqlite/log_flusher.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace flowfabric::sqlite {
namespace {

std::string reason_of(int error) { return std::generic_category().message(error); }

}  // namespace

// SQLite keeps its locks on the database and on the shared index, none on the log: closing our descriptor releases none
// of them.
Result<std::unique_ptr<LogFlusher>> LogFlusher::open(const std::string& log_path, Flush flush) {
  const int descriptor = ::open(log_path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return fail(Errc::unavailable, log_path + " cannot be opened: " + reason_of(errno));
  if (!flush) flush = ::fdatasync;
  return std::unique_ptr<LogFlusher>(new LogFlusher(descriptor, std::move(flush)));
}

LogFlusher::LogFlusher(int descriptor, Flush flush) : descriptor_(descriptor), flush_(std::move(flush)) {}

LogFlusher::~LogFlusher() { ::close(descriptor_); }

void LogFlusher::begin_write() {
  const std::lock_guard lock(mutex_);
  ++begun_;
}

void LogFlusher::end_write() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = begun_;
  }
  changed_.notify_all();
}

Result<void> LogFlusher::settle() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = begun_;
  while (durable_ < wanted && failure_ == 0) {
    if (flushing_ || durable_ == ended_) {
      changed_.wait(lock);
      continue;
    }
    flushing_ = true;
    const std::uint64_t covered = ended_;
    lock.unlock();
    const int failure = flush_(descriptor_) == 0 ? 0 : errno;
    lock.lock();
    flushing_ = false;
    failure_ = failure;
    if (failure == 0) durable_ = covered;
    changed_.notify_all();
  }
  if (durable_ >= wanted) return {};
  return fail(Errc::outcome_unknown, "the disk failed to store written data: " + reason_of(failure_));
}

bool LogFlusher::broken() const {
  const std::lock_guard lock(mutex_);
  return failure_ != 0;
}

}  // namespace flowfabric::sqlite
