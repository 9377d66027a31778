#include "api/pool.hpp"

#include <pthread.h>

#include <exception>

#include "base/log.hpp"

namespace flowfabric::api {

Pool::Pool(std::size_t threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Pool::~Pool() { stop(); }

// Threads wake each other one by one while there is more to do: tasks are short, and if one thread were woken for each,
// most would find the task already done.
bool Pool::should_wake() {
  if (waiting_.empty() || idle_ == 0 || waking_) return false;
  waking_ = true;
  return true;
}

bool Pool::submit(std::function<void()> work) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= max_waiting_) return false;
    waiting_.push_back(std::move(work));
    wake = should_wake();
  }
  if (wake) wake_.notify_one();
  return true;
}

void Pool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

// What fails here, for want of memory for example, fails one call: its exchange is dropped, which answers 500.
void Pool::run_one(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& failure) {
    log(LogLevel::error, "a call has failed", {{"reason", failure.what()}});
  }
}

void Pool::run() {
  pthread_setname_np(pthread_self(), "ff-pool");
  for (;;) {
    std::function<void()> work;
    bool wake = false;
    {
      std::unique_lock lock(mutex_);
      while (waiting_.empty()) {
        if (stopping_) return;
        ++idle_;
        wake_.wait(lock);
        --idle_;
        waking_ = false;
      }
      work = std::move(waiting_.front());
      waiting_.pop_front();
      wake = should_wake();
    }
    if (wake) wake_.notify_one();
    run_one(work);
  }
}

}  // namespace flowfabric::api
