// What a handler sees of the execution that it works on.
//
// A Task belongs to the handler for the time of its call. `stop_token()` may be handed to other threads; everything else is
// for the thread of the handler.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/budgets.hpp>
#include <flowfabric/convert.hpp>
#include <flowfabric/operations.hpp>

namespace flowfabric {

// ---- How a handler ends other than by returning its result. Any other exception is a failed attempt with its message;
// the policy of the execution decides whether it is retried.

// The attempt failed, and repeating it is no use: the execution fails.
class PermanentFailure : public std::runtime_error {
 public:
  explicit PermanentFailure(const std::string& message, std::string category = "permanent")
      : std::runtime_error(message), category_(std::move(category)) {}
  const std::string& category() const { return category_; }

 private:
  std::string category_;
};

// The attempt failed and is retried after this time instead of the policy's backoff. It counts as a retry.
class RetryAfter : public std::runtime_error {
 public:
  explicit RetryAfter(std::chrono::milliseconds delay, const std::string& message = "asked to be retried later")
      : std::runtime_error(message), delay_(delay) {}
  std::chrono::milliseconds delay() const { return delay_; }

 private:
  std::chrono::milliseconds delay_;
};

// Thrown by calls of a Task whose lease is lost or which was cancelled: the handler has nothing left to decide. Let it pass.
class TaskStopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A durable step failed for good: its own retries are used up, or it threw PermanentFailure. Thrown when it fails and again,
// alike, whenever the handler comes back to it. If the handler lets it pass, the attempt fails, and the next attempt runs the
// step again; if the handler catches it and goes on, the failure stays on record.
class StepFailed : public std::runtime_error {
 public:
  StepFailed(std::string step, std::string category, const std::string& message, bool permanent)
      : std::runtime_error(message), step_(std::move(step)), category_(std::move(category)), permanent_(permanent) {}
  const std::string& step() const { return step_; }
  const std::string& category() const { return category_; }
  bool permanent() const { return permanent_; }

 private:
  std::string step_, category_;
  bool permanent_;
};

// The handler comes to other steps, or in another order, than an earlier run of the same execution has recorded.
class HandlerChanged : public std::runtime_error {
 public:
  HandlerChanged(std::string step, const std::string& message) : std::runtime_error(message), step_(std::move(step)) {}
  const std::string& step() const { return step_; }

 private:
  std::string step_;
};

// What a task wanted to spend is over a hard limit; nothing was counted. If the handler lets it pass, the attempt fails with the
// category `budget_exceeded`; a retry starts when the budget has room.
class BudgetExceeded : public std::runtime_error {
 public:
  BudgetExceeded(const std::string& message, std::string budget, std::string dimension, std::int64_t spent,
                 std::int64_t limit)
      : std::runtime_error(message),
        budget_(std::move(budget)),
        dimension_(std::move(dimension)),
        spent_(spent),
        limit_(limit) {}
  const std::string& budget() const { return budget_; }
  const std::string& dimension() const { return dimension_; }
  std::int64_t spent() const { return spent_; }
  std::int64_t limit() const { return limit_; }

 private:
  std::string budget_, dimension_;
  std::int64_t spent_, limit_;
};

struct SpendOptions {
  // The same key counts once. Empty: inside of a durable step it is made of the execution, the step and the number of the call
  // in the step, so that a step that runs again does not count twice; outside, every call counts.
  std::string key{};
  bool force = false;  // it is spent already: count it also over a hard limit
};

// How often and how long a step tries. The first failure that is not retried is recorded.
struct StepOptions {
  std::uint32_t max_retries = 0;
  std::chrono::milliseconds initial_delay{100};
  double multiplier = 2.0;
  std::chrono::milliseconds max_delay{30'000};
  // For one try; 0: none. The function is asked to stop through the token that it may take as its parameter; a try that
  // ends late has failed.
  std::chrono::milliseconds timeout{0};
};

// How a spawned execution runs.
struct SpawnOptions {
  std::string lane{};  // empty: that of the task
  std::int32_t priority = 0;
  Tags tags{};
  std::vector<std::string> required_capabilities{};
  Policy policy{};
};

// An execution that the task spawns as a node of its flow.
struct Child {
  std::string name{};  // unique within the flow
  std::string kind{};
  Bytes input{};
  SpawnOptions options{};
};

// What became of one.
struct ChildResult {
  std::string name{};
  ExecutionId execution_id{};
  Outcome outcome = Outcome::none;
  Bytes result{};
  std::optional<Failure> failure{};

  bool succeeded() const { return outcome == Outcome::success; }
  // The result as a value. Throws std::runtime_error if it did not succeed.
  template <class T = Json>
  T value() const {
    if (!succeeded()) {
      throw std::runtime_error("node \"" + name + "\" ended as " + std::string(to_string(outcome)) +
                               (failure ? ": " + failure->message : ""));
    }
    if constexpr (std::is_same_v<T, Bytes>) {
      return result;
    } else {
      return Convert<T>::from_bytes(result.bytes);
    }
  }
};

// ---- What a handler waits for (docs/signals.md).

// One of the things of which `Task::any` waits for the first: a signal at the waitpoint of this name, or that time passes.
struct Alternative {
  std::string waitpoint{};
  std::optional<std::chrono::milliseconds> time{};
};
inline Alternative signal(std::string waitpoint) { return {std::move(waitpoint), {}}; }
inline Alternative sleep_for(std::chrono::milliseconds time) { return {{}, time}; }

// What a signal carries, as a value; `Signal` itself with everything that is known of it, or `Bytes`. A signal without a
// payload is null as Json. A payload that cannot be read so ends the execution as failed, without a retry, unless the handler
// catches it.
template <class T = Json>
T signal_value(const Signal& signal) {
  if constexpr (std::is_same_v<T, Signal>) return signal;
  if constexpr (std::is_same_v<T, Bytes>) return {signal.payload, signal.payload_encoding};
  if constexpr (std::is_same_v<T, Json>) {
    if (signal.payload.empty()) return {};
  }
  if constexpr (!std::is_same_v<T, Signal> && !std::is_same_v<T, Bytes>) {
    try {
      return Convert<T>::from_bytes(signal.payload);
    } catch (const std::exception& error) {
      throw PermanentFailure(
          "the signal \"" + signal.name + "\" at \"" + signal.waitpoint + "\" cannot be read: " + error.what(),
          "bad_signal");
    }
  }
}

// Which alternative came first.
struct AnyResult {
  std::optional<std::size_t> index{};  // in the list; absent: an operator has ended the wait
  std::optional<Signal> signal{};      // absent: the time has passed, or an operator has ended the wait

  // Whether it was a signal at this waitpoint.
  bool is(std::string_view waitpoint) const { return signal && signal->waitpoint == waitpoint; }
  // Throws std::runtime_error if it was none.
  template <class T = Json>
  T value() const {
    if (!signal) throw std::runtime_error("no signal came");
    return signal_value<T>(*signal);
  }
};

// What people are asked.
struct ApprovalOptions {
  std::string name = "approval";  // of the waitpoint, and of the step
  std::string title{};
  Bytes context{};                       // what they should know: encode_value(order), {"text", "text/plain"}
  std::vector<std::string> approvers{};  // who may decide; empty: everybody who may send signals
  std::uint32_t needed = 1;              // so many different people must approve
  std::uint32_t rejections = 1;          // so many rejections end it
  std::optional<std::chrono::milliseconds> timeout{};  // absent: until the deadline of the execution
};

// What they have decided.
struct ApprovalResult {
  enum class End : std::uint8_t { approved, rejected, timed_out, by_operator };
  End end = End::timed_out;
  std::vector<Decision> decisions{};  // in their order; also when they were not enough
  std::string by{};                   // the operator who ended it
  std::string reason{};               // the operator's

  bool approved() const { return end == End::approved; }
  bool rejected() const { return end == End::rejected; }
  bool timed_out() const { return end == End::timed_out; }
};

namespace sdk {
class RunningTask;
class StepPlan;
class Steps;
}  // namespace sdk

class Task {
 public:
  // Of a running execution; the worker makes these.
  explicit Task(sdk::RunningTask& running, const sdk::StepPlan* plan = nullptr);
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // ---- What it is
  const ClaimedExecution& execution() const;
  const ExecutionId& id() const { return execution().execution_id; }
  const std::string& kind() const { return execution().kind; }
  const Tags& tags() const { return execution().tags; }
  std::uint32_t attempt_index() const { return execution().attempt.attempt_index; }
  const std::string& payload() const { return execution().payload; }
  // The payload as a value. A payload that cannot be read so ends the execution as failed, without a retry.
  template <class T = Json>
  T input() const {
    if constexpr (std::is_same_v<T, Bytes>) return {payload(), execution().payload_encoding};
    try {
      return Convert<T>::from_bytes(payload());
    } catch (const std::exception& error) {
      throw PermanentFailure("the payload cannot be read: " + std::string(error.what()), "bad_payload");
    }
  }

  // What the upstream nodes of its flow have left for it; empty outside of flows.
  const std::vector<FlowInput>& inputs() const { return execution().inputs; }
  // The result of one upstream node as a value. One that is missing, too large to come along, or cannot be read so ends the
  // execution as failed, without a retry.
  template <class T = Json>
  T input_from(std::string_view node) const {
    for (const FlowInput& one : inputs()) {
      if (one.name != node || one.by_reference) continue;
      if constexpr (std::is_same_v<T, Bytes>) return {one.result, one.result_encoding};
      try {
        return Convert<T>::from_bytes(one.result);
      } catch (const std::exception& error) {
        throw PermanentFailure("the input cannot be read: " + std::string(error.what()), "bad_input");
      }
    }
    throw PermanentFailure("node \"" + std::string(node) + "\" has left no input", "bad_input");
  }

  // ---- Whether to go on
  // Requested when the execution was cancelled, when the lease is lost, or when the worker stops and cannot wait any longer.
  std::stop_token stop_token() const;
  bool cancelled() const { return stop_token().stop_requested(); }
  // Why, once it is: for example "cancelled: duplicate order", "lease lost", "the worker is stopping".
  std::string stop_reason() const;
  // Throws TaskStopped if it is.
  void check_stopped() const;

  // ---- Telling
  // What people see while it runs. Throws TaskStopped when the lease is lost.
  void progress(std::uint8_t percent, std::optional<std::string> message = std::nullopt);
  // Sets tags of the execution, and removes those with the keys in `remove`. People see and search them at once; `tags()` is
  // what the claim brought. Throws TaskStopped when the lease is lost, std::invalid_argument for keys that are not allowed.
  void tag(Tags set, std::vector<std::string> remove = {});
  // Counts what the task has spent, in every budget that it is under or in none (docs/budgets.md). Throws BudgetExceeded when a
  // hard limit does not allow it, TaskStopped when the lease is lost, std::invalid_argument for a dimension that no budget has.
  SpendReply spend(Amounts amounts, SpendOptions options = {});
  SpendReply spend(std::string dimension, std::int64_t amount, SpendOptions options = {}) {
    return spend(Amounts{{std::move(dimension), amount}}, std::move(options));
  }
  // Ends the execution as cancelled. Throws, so that the handler ends too.
  [[noreturn]] void cancel(std::string reason);

  // ---- Durable steps
  // Runs `work` and records what it returns; when the handler runs again, the recorded value is returned instead. `work` may
  // run more than once, if its worker dies before the value is recorded; the value counts once. Names are those that people
  // see; a name that comes again is numbered: "charge", "charge#2".
  template <class Work>
  auto step(std::string_view name, Work work, const StepOptions& options = {}) {
    using R = StepValue<Work>;
    if constexpr (std::is_void_v<R>) {
      run_step(name, options, bytes_of(work));
    } else {
      return value_of<R>(run_step(name, options, bytes_of(work)));
    }
  }
  // Several steps side by side, each recorded by itself; all values, in the order of the list. When one fails the others are
  // still waited for, and the first failure in the order of the list is thrown.
  template <class R>
  struct NamedStep {
    std::string name;
    std::function<R()> work;
    StepOptions options{};
  };
  template <class R>
  std::vector<R> all(std::vector<NamedStep<R>> steps) {
    std::vector<AnyStep> any;
    any.reserve(steps.size());
    for (auto& one : steps) any.push_back({std::move(one.name), one.options, bytes_of(std::move(one.work))});
    std::vector<R> values;
    for (const Bytes& bytes : run_all(std::move(any))) values.push_back(value_of<R>(bytes));
    return values;
  }
  // Durable: no thread, no lease and no memory while it sleeps. The handler is left and called again when the time has come,
  // perhaps by another worker; then it goes on behind this line.
  void sleep(std::string_view name, std::chrono::milliseconds duration);

  // ---- Waiting for signals (docs/signals.md). Each wait is a durable step: the handler is left, without thread, lease and
  // memory, and called again when the wait is over; every later run finds the same signals. Signals that are there already end
  // it at once. Waits stand outside of steps.
  // The first signal at the waitpoint `name`. Nothing if none has come in time, or an operator has ended the wait.
  template <class T = Json>
  std::optional<T> wait_for_signal(std::string_view name, std::chrono::milliseconds timeout) {
    const std::optional<Signal> signal = await_signal(name, timeout);
    if (!signal) return std::nullopt;
    return signal_value<T>(*signal);
  }
  // The same until the deadline of the execution. Throws PermanentFailure when an operator ends the wait without a signal.
  template <class T = Json>
  T wait_for_signal(std::string_view name) {
    return signal_value<T>(*await_signal(name, std::nullopt));
  }
  // The first of several signals, or that a time has passed: any({signal("paid"), signal("cancelled"), sleep_for(24h)}). The
  // step has the name "any paid".
  AnyResult any(const std::vector<Alternative>& alternatives);
  // People decide.
  ApprovalResult approval(const ApprovalOptions& options);
  // The general form: several waitpoints, conditions, vetoes, escalation. The step is named by `step_name`, or else by the first
  // waitpoint; its position is filled in. What ends the execution on timeout does not return.
  WaitOutcome wait(SuspendRequest request);
  // Opens the waitpoint of a later wait, so that its token can be handed out first. For the inside of the step that hands it
  // out: if that step runs again, it finds the same waitpoint. The token is not recorded.
  WaitpointToken open_waitpoint(std::string_view name, std::optional<std::chrono::milliseconds> token_ttl = {});
  WaitpointToken open_waitpoint(const ApprovalOptions& approval,
                                std::optional<std::chrono::milliseconds> token_ttl = {});

  // ---- Children: nodes that the task adds to its flow. Only for a task that is a node of a flow (docs/flows.md).
  // A durable step: adds a node that can run at once. What becomes of it does not fail the flow; `join` tells.
  template <class T>
  void spawn(std::string name, std::string kind, const T& input, SpawnOptions options = {}) {
    spawn_all({Child{std::move(name), std::move(kind), encode_value(input), std::move(options)}});
  }
  // Several in one step; all are added or none.
  void spawn_all(std::vector<Child> children);
  // Durable: no thread, no lease and no memory while it waits. Returns when all of them have ended, however; in the order of
  // the names. The handler is left and called again then, perhaps by another worker.
  std::vector<ChildResult> join(const std::vector<std::string>& names);
  // Spawns one child for each input, `name.0`, `name.1` and so on, and joins them. Throws std::runtime_error if one of them
  // does not succeed, after all of them have ended.
  template <class R = Json, class T>
  std::vector<R> map(const std::string& name, const std::string& kind, const std::vector<T>& inputs,
                     const SpawnOptions& options = {}) {
    std::vector<Child> children;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      names.push_back(name + "." + std::to_string(i));
      children.push_back({names.back(), kind, encode_value(inputs[i]), options});
    }
    std::vector<R> values;
    if (inputs.empty()) return values;
    spawn_all(std::move(children));
    for (const ChildResult& one : join(names)) values.push_back(one.template value<R>());
    return values;
  }
  // Recorded, so that every run of the handler sees the same.
  TimestampMs now();
  std::uint64_t random();
  Uuid uuid();
  // For handlers that count rather than step: replaces the last checkpoint. Throws TaskStopped when the lease is lost.
  template <class T>
  void checkpoint(const T& value) {
    store_checkpoint(encode_value(value));
  }
  // The last one that this execution has stored.
  template <class T>
  std::optional<T> last_checkpoint() const {
    const auto& stored = execution().checkpoint;
    if (!stored) return std::nullopt;
    return value_of<T>({stored->bytes, stored->encoding});
  }
  // Used by the worker when the handler has returned.
  void check_steps_reached();

 private:
  using StepWork = std::function<Bytes(std::stop_token)>;
  struct AnyStep {
    std::string name;
    StepOptions options;
    StepWork work;
  };
  // A step's function takes nothing, or the token that asks it to stop.
  template <class Work>
  static auto call(Work& work, std::stop_token stop) {
    if constexpr (std::is_invocable_v<Work&, std::stop_token>) {
      return work(std::move(stop));
    } else {
      return work();
    }
  }
  template <class Work>
  using StepValue = decltype(call(std::declval<Work&>(), std::stop_token()));
  template <class Work>
  static StepWork bytes_of(Work work) {
    return [work = std::move(work)](std::stop_token stop) mutable -> Bytes {
      using R = StepValue<Work>;
      if constexpr (std::is_void_v<R>) {
        call(work, std::move(stop));
        return {};
      } else {
        return encode_value<R>(call(work, std::move(stop)));
      }
    };
  }
  template <class R>
  static R value_of(const Bytes& bytes) {
    if constexpr (std::is_same_v<R, Bytes>) {
      return bytes;
    } else {
      return Convert<R>::from_bytes(bytes.bytes);
    }
  }
  Bytes run_step(std::string_view name, const StepOptions& options, const StepWork& work);
  std::vector<Bytes> run_all(std::vector<AnyStep> steps);
  std::map<std::string, ChildResult> ended_children(const std::vector<std::string>& names);
  Bytes result_by_reference(const FlowInput& input);
  // Throws if there is no signal and no time-out either.
  std::optional<Signal> await_signal(std::string_view name, std::optional<std::chrono::milliseconds> timeout);
  WaitpointToken open_waitpoint(WaitpointRequest request, std::optional<std::chrono::milliseconds> token_ttl);
  void store_checkpoint(Bytes bytes);
  void check_written(const Result<void>& written);

  sdk::RunningTask& running_;
  std::unique_ptr<sdk::Steps> steps_;
};

}  // namespace flowfabric
