// Threads for calls that block: reads of the store and operator commands. I/O threads hand these over and go on.
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

  // False when too much is waiting already.
  bool submit(std::function<void()> work);
  // Finishes what is waiting; what comes later is refused.
  void stop();

 private:
  void run();
  static void run_one(const std::function<void()>& work);
  bool should_wake();

  std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;  // threads that sleep
  bool waking_ = false;   // one of them has been called and is not up yet
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace flowfabric::api
