// State shared by all I/O threads of a server. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "net/http_server.hpp"
#include "net/tls.hpp"

namespace flowfabric::net {

struct ServerState {
  ServerState(ServerOptions chosen, Handler function) : options(std::move(chosen)), handler(std::move(function)) {}

  const ServerOptions options;
  Handler handler;                     // cleared after the last I/O thread has ended
  std::atomic<bool> draining = false;  // no connection starts, and none is kept after its response

  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> faults = 0;
  std::atomic<std::uint64_t> received_bytes = 0;
  std::atomic<std::uint64_t> sent_bytes = 0;
  std::atomic<std::size_t> body_bytes = 0;

  std::shared_ptr<const TlsContext> tls() const {
    const std::lock_guard lock(mutex_);
    return tls_;
  }
  void set_tls(std::shared_ptr<const TlsContext> context) {
    const std::lock_guard lock(mutex_);
    tls_ = std::move(context);
  }

  std::size_t open_connections() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }
  void connection_opened() {
    const std::lock_guard lock(mutex_);
    ++open_;
  }
  void connection_closed() {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) none_open_.notify_all();
  }
  void wait_until_none_open() {
    std::unique_lock lock(mutex_);
    none_open_.wait(lock, [&] { return open_ == 0; });
  }
  void wait_until_none_open(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    none_open_.wait_for(lock, patience, [&] { return open_ == 0; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable none_open_;
  std::size_t open_ = 0;
  std::shared_ptr<const TlsContext> tls_;
};

// Counts the bytes of a body against max_total_body_bytes while they are kept.
class BodyCharge {
 public:
  explicit BodyCharge(std::shared_ptr<ServerState> state) : state_(std::move(state)) {}
  BodyCharge(BodyCharge&& other) noexcept
      : state_(std::move(other.state_)), bytes_(std::exchange(other.bytes_, std::size_t{0})) {}
  BodyCharge& operator=(BodyCharge&&) = delete;
  ~BodyCharge() {
    if (bytes_ > 0) state_->body_bytes -= bytes_;
  }

  // False if all bodies together would exceed the limit.
  bool add(std::size_t bytes) {
    bytes_ += bytes;
    return (state_->body_bytes += bytes) <= state_->options.max_total_body_bytes;
  }

 private:
  std::shared_ptr<ServerState> state_;
  std::size_t bytes_ = 0;
};

}  // namespace flowfabric::net
