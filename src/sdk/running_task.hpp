// One execution that a worker holds: its lease, whether it is still ours, and how it is left.
//
// Threads: any. The handler's thread settles it, the lease keeper loses it, the worker hands it back; whichever comes first
// decides, and the others find that out.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include <flowfabric/operations.hpp>

#include "sdk/gateway.hpp"

namespace flowfabric::sdk {

// Leaves the handler from inside one of the Task's calls. No std::exception: a handler that catches those must not take it
// for a failure of its own.
struct LeaveHandler {
  Settlement settlement;
};

// Leaves the handler and reports nothing, as if the worker were dead. For tests.
struct Abandon {};

class RunningTask {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  // The gateway outlives every call that is made on the task. The task does not own it: callbacks that hold the task run on
  // threads of the gateway, which must not end it.
  RunningTask(Gateway& gateway, ClaimedExecution execution)
      : gateway_(gateway),
        execution_(std::move(execution)),
        handle_(execution_.handle),
        ttl_(execution_.lease.lease_ttl_ms),
        renewed_at_(received_at_) {}

  Gateway& gateway() { return gateway_; }
  const ClaimedExecution& execution() const { return execution_; }
  Handle handle() const;
  std::stop_token stop_token() const { return stop_.get_token(); }
  std::string stop_reason() const;
  SteadyTime received_at() const { return received_at_; }
  // The claim says what time it was when the lease began. That was before it was received, so this is never ahead of the store:
  // a sleep may be entered again for its last moment, but never ends early.
  TimestampMs store_now() const;

  // ---- Keeping the lease
  void renewed(SteadyTime asked_at, const RenewVerdict& verdict);
  // Whether the lease must have run out by our own clock. A renewal counts from the moment when it was asked for. The claim
  // counts from its arrival, because it may have waited long before the lease began; until the first renewal our clock is late
  // by the way of that reply, and the fence alone decides.
  bool ran_out(SteadyTime now) const;

  // ---- Ends. Only the first one takes effect.
  enum class State : std::uint8_t { running, settling, lost };
  // Not ours any more: nothing is written for it from here on. False when it had been lost before.
  bool lose(std::string reason);
  // From here on only the settlement counts. False when the task was lost or is settled already.
  bool begin_settling();
  // The settlement was not wanted: the handler goes on. False when the task was lost meanwhile.
  bool go_on();
  State state() const;
  // Asks the handler to stop.
  void request_stop(std::string reason);

 private:
  Gateway& gateway_;
  const ClaimedExecution execution_;
  const SteadyTime received_at_ = std::chrono::steady_clock::now();
  std::stop_source stop_;

  mutable std::mutex mutex_;
  Handle handle_;
  std::chrono::milliseconds ttl_;
  SteadyTime renewed_at_;
  State state_ = State::running;
  std::string stop_reason_;
};

using TaskPtr = std::shared_ptr<RunningTask>;

}  // namespace flowfabric::sdk
