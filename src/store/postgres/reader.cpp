#include "store/postgres/reader.hpp"

#include <chrono>

namespace flowfabric::postgres {
namespace {

using std::chrono::steady_clock;

constexpr auto slow = std::chrono::seconds(1);  // is a read that takes longer
constexpr std::string_view query_canceled = "57014";

Unexpected<Error> too_many_reads(int connections) {
  return fail(Errc::overloaded,
              std::to_string(connections) + " slow reads of the store are running already; back off and repeat");
}

}  // namespace

Error ReaderPool::explain(const Failure& failure) const {
  if (limits_.timeout_ms == 0 || failure.lost || failure.sqlstate != query_canceled) return to_error(failure);
  return {Errc::timed_out,
          "reading took longer than read_timeout (" + std::to_string(limits_.timeout_ms) +
              " ms) and was stopped; narrow the filters or ask for a smaller page",
          {},
          {}};
}

// False when it is not worth it: all are taken, and none has come back for a while.
bool ReaderPool::wait_for_one(std::unique_lock<std::mutex>& lock) {
  while (taken_ >= limits_.connections) {
    if (!limits_.refuses) {
      returned_.wait(lock);
    } else if (steady_clock::now() >= moved_ + slow) {
      return false;
    } else {
      returned_.wait_until(lock, moved_ + slow);
    }
  }
  return true;
}

Result<std::unique_ptr<Connection>> ReaderPool::take(bool fresh) {
  {
    std::unique_lock lock(mutex_);
    if (!wait_for_one(lock)) return too_many_reads(limits_.connections);
    ++taken_;
    moved_ = steady_clock::now();
    if (fresh) idle_.clear();  // the cause has probably killed the other connections too
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  auto opened = Connection::open(address_, "SET statement_timeout = " + std::to_string(limits_.timeout_ms));
  if (!opened) give_back(nullptr);
  return opened;
}

void ReaderPool::give_back(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    --taken_;
    moved_ = steady_clock::now();
    if (connection != nullptr && !connection->broken()) idle_.push_back(std::move(connection));
  }
  returned_.notify_one();
}

}  // namespace flowfabric::postgres
