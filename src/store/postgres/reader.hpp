// Connections for reads outside any batch: opened when first needed, kept, replaced when broken. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/postgres/connection.hpp"

namespace flowfabric::postgres {

class ReaderPool {
 public:
  explicit ReaderPool(Address address) : address_(std::move(address)) {}

  // Calls `work(Connection&)`, which returns a Reply. What only reads may run twice: a connection that has died since
  // its last use shows only when it is used, so a loss is answered with one more attempt on a fresh one.
  template <class Work>
  auto run(Work work) -> Result<typename decltype(work(std::declval<Connection&>()))::value_type> {
    for (bool fresh = false;; fresh = true) {
      auto lease = take(fresh);
      if (!lease) return tl::unexpected(std::move(lease).error());
      auto reply = work(**lease);
      give_back(std::move(*lease));
      if (reply) return std::move(*reply);
      if (!reply.error().lost || fresh) return tl::unexpected(to_error(reply.error()));
    }
  }

 private:
  Result<std::unique_ptr<Connection>> take(bool fresh);
  void give_back(std::unique_ptr<Connection> connection);

  const Address address_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> idle_;
  int taken_ = 0;
};

}  // namespace flowfabric::postgres
