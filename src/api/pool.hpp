// Threads for blocking calls: reads of the store and operator commands. I/O threads pass these on and continue.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace flowfabric::api {

class Pool {
 public:
  Pool(std::size_t threads, std::size_t max_waiting);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // False if the pool is full.
  bool submit(std::function<void()> work);
  // Finishes queued work; later work is refused.
  void stop();

 private:
  void run();
  static void run_one(const std::function<void()>& work);
  bool should_wake();

  std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;  // sleeping threads
  bool waking_ = false;   // one of them has been notified and is not awake yet
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace flowfabric::api
