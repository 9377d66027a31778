// An engine without threads on virtual time. One thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "engine/runtime.hpp"

namespace flowfabric::testing {

class VirtualEngine {
 public:
  explicit VirtualEngine(std::uint64_t seed);

  Runtime& runtime() { return *runtime_; }
  Store& store() { return runtime_->store(); }
  TimestampMs now() const { return now_us_->load() / 1000; }

  // Does everything that can be done now.
  void settle();
  // Lets time pass up to the next moment at which the clock wants to act, `most` at the most. Returns how much passed.
  std::int64_t step(std::int64_t most_ms);

  Result<Reply> call(Command command);
  // Starts something with a callback and returns what the callback was given.
  template <class T, class Start>
  Result<T> answer_of(Start start) {
    std::optional<Result<T>> answer;
    start([&](Result<T> given) { answer = std::move(given); });
    settle();
    if (!answer) return fail(Errc::timed_out, "there is no answer yet");
    return std::move(*answer);
  }

 private:
  std::shared_ptr<std::atomic<std::int64_t>> now_us_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace flowfabric::testing
