// Connections for reads outside any batch: opened when first needed, kept, replaced when broken. Thread-safe.
//
// Reads that can be slow have a pool of their own, and so has the clock: nobody waits for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/postgres/connection.hpp"

namespace flowfabric::postgres {

class ReaderPool {
 public:
  struct Limits {
    int connections = 8;
    bool refuses = false;          // who would have to wait while all of them are slow
    std::uint32_t timeout_ms = 0;  // a statement that takes longer is stopped; 0: none is
  };
  ReaderPool(Address address, Limits limits) : address_(std::move(address)), limits_(limits) {}

  // Calls `work(Connection&)`, which returns a Reply. Reads may run twice: a connection that has died since its last
  // use is detected only when it is used, so a loss is answered with another attempt on a fresh one.
  template <class Work>
  auto run(Work work) -> Result<typename decltype(work(std::declval<Connection&>()))::value_type> {
    for (bool fresh = false;; fresh = true) {
      auto lease = take(fresh);
      if (!lease) return Unexpected(std::move(lease).error());
      auto reply = work(**lease);
      give_back(std::move(*lease));
      if (reply) return std::move(*reply);
      if (!reply.error().lost || fresh) return Unexpected(explain(reply.error()));
    }
  }

 private:
  Result<std::unique_ptr<Connection>> take(bool fresh);
  bool wait_for_one(std::unique_lock<std::mutex>& lock);
  Error explain(const Failure& failure) const;
  void give_back(std::unique_ptr<Connection> connection);

  const Address address_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> idle_;
  int taken_ = 0;
  std::chrono::steady_clock::time_point moved_{};  // when a connection was last taken or returned
};

}  // namespace flowfabric::postgres
