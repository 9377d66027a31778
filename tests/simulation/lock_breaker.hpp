// Ends waits for locks in PostgreSQL.
//
// The simulator runs on one thread. If an engine waits for a row that another one has locked in the middle of its batch,
// nobody can end that batch. The lock breaker cancels the waiting statement: its engine sees a store that failed, which
// it must bear. Whether a statement waits depends only on the seed, so runs stay reproducible.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace flowfabric::simulation {

class LockBreaker {
 public:
  // Cancels statements of connections with this application name.
  LockBreaker(std::string url, std::string application);
  ~LockBreaker();
  LockBreaker(const LockBreaker&) = delete;
  LockBreaker& operator=(const LockBreaker&) = delete;

 private:
  void run();

  const std::string url_;
  const std::string application_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace flowfabric::simulation
