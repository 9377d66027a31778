// A clock that only moves when a test moves it.
//
// Copies share one time, and `source()` keeps it alive, so a store may outlive the clock that it was given.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace flowfabric::test {

class ManualClock {
 public:
  static constexpr std::int64_t default_start_us = 1'700'000'000'000'000;

  explicit ManualClock(std::int64_t start_us = default_start_us)
      : now_us_(std::make_shared<std::atomic<std::int64_t>>(start_us)) {}

  std::int64_t now_us() const { return now_us_->load(); }
  std::int64_t now_ms() const { return now_us() / 1000; }

  void set_us(std::int64_t now_us) { now_us_->store(now_us); }
  void advance_us(std::int64_t us) { now_us_->fetch_add(us); }
  void advance_ms(std::int64_t ms) { advance_us(ms * 1000); }

  // For StoreOptions::now_us.
  std::function<std::int64_t()> source() const {
    return [now_us = now_us_] { return now_us->load(); };
  }

 private:
  std::shared_ptr<std::atomic<std::int64_t>> now_us_;
};

}  // namespace flowfabric::test
