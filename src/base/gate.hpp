// A gate on which one thread waits and which another thread opens, once.
//
// Made for short waits of very many threads: opening costs at most one system call, and the waiter does not contend for
// a lock when it wakes. The waiter may destroy the gate as soon as `wait` returns, even while `open` is still running:
// after its store, `open` only passes the address to the kernel, which accepts an address that is no longer valid.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace flowfabric {

class Gate {
 public:
  void wait() {
    while (state_.load(std::memory_order_acquire) != opened) {
      std::uint32_t expected = closed;
      if (!state_.compare_exchange_strong(expected, awaited) && expected == opened) return;
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, awaited, nullptr, nullptr, 0);
    }
  }

  void open() {
    std::atomic<std::uint32_t>* address = &state_;
    if (state_.exchange(opened, std::memory_order_acq_rel) == awaited) {
      syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }

 private:
  static constexpr std::uint32_t closed = 0, awaited = 1, opened = 2;
  std::atomic<std::uint32_t> state_{closed};
};

}  // namespace flowfabric
