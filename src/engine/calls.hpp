// How a public call waits for its reply. For the engine_*.cpp files.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "base/gate.hpp"
#include "engine/engine_impl.hpp"

namespace flowfabric {

// A caller waits here for one reply.
template <class T>
class Answer {
 public:
  void give(T value) {
    value_ = std::move(value);
    given_.open();
  }
  T take() {
    given_.wait();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  Gate given_;
};

// Many replies, one wait.
template <class T>
class Answers {
 public:
  explicit Answers(std::size_t count) : values_(count, fail(Errc::internal, "no answer")), missing_(count) {}
  void give(std::size_t i, T value) {
    values_[i] = std::move(value);
    if (missing_.fetch_sub(1) == 1) complete_.open();
  }
  std::vector<T> take() {
    complete_.wait();
    return std::move(values_);
  }

 private:
  std::vector<T> values_;
  std::atomic<std::size_t> missing_;
  Gate complete_;
};

template <class T>
Result<T> reply_as(Result<Reply> reply) {
  if (!reply) return Unexpected(std::move(reply).error());
  return std::get<T>(std::move(*reply));
}

// Answers a call that does not reach the queue.
template <class T>
void refuse(const OperationTimer& timer, const Engine::Done<T>& done, const Error& error) {
  const Result<T> refusal = Unexpected(error);
  timer.ended(refusal);
  done(refusal);
}

template <class T>
void submit_as(Runtime& runtime, const OperationTimer& timer, Command command, Engine::Done<T> done) {
  runtime.submit(std::move(command), [timer, done = std::move(done)](Result<Reply> reply) {
    timer.ended(reply);
    if constexpr (std::is_void_v<T>) {
      if (!reply) return done(Unexpected(std::move(reply).error()));
      done({});
    } else {
      done(reply_as<T>(std::move(reply)));
    }
  });
}

inline Result<Reply> call(Runtime& runtime, Command command) {
  Answer<Result<Reply>> answer;
  runtime.submit(std::move(command), [&](Result<Reply> reply) { answer.give(std::move(reply)); });
  return answer.take();
}

template <class T>
Result<T> call_as(Runtime& runtime, Command command) {
  return reply_as<T>(call(runtime, std::move(command)));
}

inline Result<void> call_done(Runtime& runtime, Command command) {
  auto reply = call(runtime, std::move(command));
  if (!reply) return Unexpected(std::move(reply).error());
  return {};
}

}  // namespace flowfabric
