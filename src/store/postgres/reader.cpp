#include "store/postgres/reader.hpp"

namespace flowfabric::postgres {
namespace {

constexpr int max_readers = 8;

}  // namespace

Result<std::unique_ptr<Connection>> ReaderPool::take(bool fresh) {
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return taken_ < max_readers; });
    ++taken_;
    if (fresh) idle_.clear();  // what killed one connection has killed the others
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  auto opened = Connection::open(address_, "");
  if (!opened) give_back(nullptr);
  return opened;
}

void ReaderPool::give_back(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    --taken_;
    if (connection != nullptr && !connection->broken()) idle_.push_back(std::move(connection));
  }
  returned_.notify_one();
}

}  // namespace flowfabric::postgres
