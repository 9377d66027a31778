// Handlers that take several executions in one call: one insert of a thousand rows instead of a thousand inserts.
//
//   worker.on_batch("index", {.max_size = 500, .max_wait = 50ms}, [](std::vector<Document> documents) { ... });
//   worker.on_batch("mail", {.max_size = 100}, [](flowfabric::TaskBatch& batch) {
//     for (auto& task : batch) task.complete(send(task.input<Mail>()));
//   });
//
// A batch is a matter of the worker alone. Each execution keeps its own lease, attempt, retries and cancellation; what
// happens to one does not touch the others. Durable steps, sleeps and waits are for handlers of single executions.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <flowfabric/handler.hpp>

namespace flowfabric {

struct BatchOptions {
  std::uint32_t max_size = 100;  // executions in one call; at most the concurrency of the worker
  // How long a batch that is not full waits for more, from when its first execution was claimed.
  std::chrono::milliseconds max_wait{0};
  std::uint32_t concurrency = 0;  // at most so many calls of this kind at once in this worker; 0: as many as there are
};

namespace sdk {
struct BatchEntry;
}  // namespace sdk

// One execution of a batch. It is for the thread of the handler, apart from `stop_token()`.
//
// An answer is reported at once, so executions that are answered early do not wait for the others. Each answer is true if it
// counts, and false if the execution was answered before, or is not ours any more: cancelled, or its lease is lost. Nothing
// has to be done about it then.
class BatchTask {
 public:
  explicit BatchTask(sdk::BatchEntry& entry) : entry_(&entry) {}

  const ClaimedExecution& execution() const;
  const ExecutionId& id() const { return execution().execution_id; }
  const Tags& tags() const { return execution().tags; }
  const std::string& payload() const { return execution().payload; }
  // The payload as a value; throws PermanentFailure if it cannot be read so. `try_input` answers then, and returns nothing.
  template <class T = Json>
  T input() const {
    if constexpr (std::is_same_v<T, Bytes>) return {payload(), execution().payload_encoding};
    try {
      return Convert<T>::from_bytes(payload());
    } catch (const std::exception& error) {
      throw PermanentFailure("the payload cannot be read: " + std::string(error.what()), "bad_payload");
    }
  }
  template <class T = Json>
  std::optional<T> try_input() {
    try {
      return input<T>();
    } catch (const PermanentFailure& error) {
      fail_permanently(error.what(), error.category());
      return std::nullopt;
    }
  }

  // Requested when the execution was cancelled, its lease is lost, or the worker stops and cannot wait any longer.
  std::stop_token stop_token() const;
  bool cancelled() const { return stop_token().stop_requested(); }
  // What people see while it runs. False when the lease is lost.
  bool progress(std::uint8_t percent, std::optional<std::string> message = std::nullopt);

  bool complete() { return complete_with({}); }
  template <class T>
  bool complete(const T& result) {
    return complete_with(encode_value(result));
  }
  // The policy of the execution decides whether it is retried.
  bool fail(const std::string& message, const std::string& category = "error");
  bool fail_permanently(const std::string& message, const std::string& category = "permanent");
  bool retry_after(std::chrono::milliseconds delay, const std::string& message = "asked to be retried later");
  // The same attempt goes on after this time, perhaps with another worker. No retry is counted.
  bool delay(std::chrono::milliseconds time);
  bool answered() const;

 private:
  bool complete_with(Bytes result);

  sdk::BatchEntry* entry_;
};

// The executions of one call, at least one. What the handler has not answered when it returns is completed without a result;
// when it throws, that is the answer for all that are left, as for a handler of single executions.
class TaskBatch {
 public:
  explicit TaskBatch(std::vector<BatchTask> tasks) : tasks_(std::move(tasks)) {}

  std::size_t size() const { return tasks_.size(); }
  BatchTask& operator[](std::size_t i) { return tasks_[i]; }
  auto begin() { return tasks_.begin(); }
  auto end() { return tasks_.end(); }

 private:
  std::vector<BatchTask> tasks_;
};

// A handler in its one stored form.
using BatchHandler = std::function<void(TaskBatch&)>;

namespace detail {

template <class T>
struct ElementOf {};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};

// Those of the batch whose payloads can be read; the others are answered.
template <class T>
std::pair<std::vector<T>, std::vector<BatchTask*>> read_inputs(TaskBatch& batch) {
  std::pair<std::vector<T>, std::vector<BatchTask*>> read;
  for (BatchTask& task : batch) {
    if (auto value = task.try_input<T>()) {
      read.first.push_back(std::move(*value));
      read.second.push_back(&task);
    }
  }
  return read;
}

}  // namespace detail

// void(TaskBatch&), void(std::vector<T>), or std::vector<R>(std::vector<T>), whose results are in the order of the inputs.
template <class F>
BatchHandler make_batch_handler(F handler) {
  using Signature = detail::Signature<std::decay_t<F>>;
  using R = typename Signature::Result;
  static_assert(Signature::count == 1, "a handler of batches takes (TaskBatch&) or (std::vector<Input>)");
  using First = std::decay_t<typename Signature::template Parameter<0>>;
  if constexpr (std::is_same_v<First, TaskBatch>) {
    static_assert(std::is_void_v<R>, "a handler that takes TaskBatch& answers through it and returns nothing");
    return [handler = std::move(handler)](TaskBatch& batch) mutable { handler(batch); };
  } else {
    using Input = typename detail::ElementOf<First>::Type;
    return [handler = std::move(handler)](TaskBatch& batch) mutable {
      auto [inputs, tasks] = detail::read_inputs<Input>(batch);
      if (tasks.empty()) return;
      if constexpr (std::is_void_v<R>) {
        handler(std::move(inputs));
      } else {
        const auto results = handler(std::move(inputs));
        if (results.size() != tasks.size()) {
          throw PermanentFailure("the handler has returned " + std::to_string(results.size()) + " results for " +
                                     std::to_string(tasks.size()) + " executions",
                                 "batch_size");
        }
        for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i]->complete(results[i]);
      }
    };
  }
}

}  // namespace flowfabric
