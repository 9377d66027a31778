#include "sdk/steps.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/check.hpp"

namespace flowfabric::sdk {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint32_t steps_page = 1000;
constexpr milliseconds first_record_pause{50};
constexpr milliseconds longest_record_pause{2'000};
constexpr std::size_t names_shown = 20;

milliseconds backoff(const StepOptions& options, std::uint32_t tries) {
  double delay = static_cast<double>(options.initial_delay.count());
  for (std::uint32_t i = 1; i < tries; ++i) delay = std::min(delay * options.multiplier, 1e12);
  return std::min(milliseconds(static_cast<milliseconds::rep>(delay)), options.max_delay);
}

// The step that this thread is in.
struct CurrentStep {
  const Steps* steps = nullptr;
  const std::string* name = nullptr;
  int reports = 0;
};
thread_local CurrentStep step_of_thread;

class InsideStep {
 public:
  InsideStep(const Steps* steps, const std::string& name)
      : before_(std::exchange(step_of_thread, CurrentStep{steps, &name, 0})) {}
  ~InsideStep() { step_of_thread = before_; }
  InsideStep(const InsideStep&) = delete;
  InsideStep& operator=(const InsideStep&) = delete;

 private:
  CurrentStep before_;
};

// The lease is in order, and the same wait would be refused again.
bool refuses_wait(const Error& error) {
  return error.code == Errc::invalid_argument || error.code == Errc::payload_too_large ||
         (error.code == Errc::overloaded && error.field == "waitpoints");
}

// What a thrown exception is recorded as.
struct Thrown {
  Failure failure;
  bool permanent = false;
};

Thrown current_exception_as_failure() {
  try {
    throw;
  } catch (const PermanentFailure& error) {
    return {{error.category(), error.what(), {}}, true};
  } catch (const BudgetExceeded& error) {
    return {{"budget_exceeded", error.what(), {}}, false};
  } catch (const StepFailed& error) {
    return {{error.category(), error.what(), {}}, error.permanent()};
  } catch (const std::exception& error) {
    return {{"error", error.what(), {}}, false};
  } catch (...) {
    return {{"error", "the step threw something that is no std::exception", {}}, false};
  }
}

}  // namespace

Steps::Place Steps::reserve(std::string_view name) {
  const int count = ++repeats_[std::string(name)];
  Place place;
  place.name = count == 1 ? std::string(name) : std::string(name) + "#" + std::to_string(count);
  const std::lock_guard lock(mutex_);
  reached_.push_back(place.name);
  place.position = static_cast<std::uint32_t>(reached_.size());
  if (walk_ && !walk_->take(place.name)) {
    throw HandlerChanged(place.name, "step \"" + place.name + "\" is not declared at this place; declared: " +
                                         plan_->text() + "; now: " + order_reached());
  }
  return place;
}

// The claim has brought the first of them; the rest is read when the first step is reached.
void Steps::load() {
  const std::lock_guard lock(mutex_);
  if (loaded_) return;
  const ClaimedExecution& execution = task_.execution();
  for (const Step& step : execution.steps) recorded_.emplace(step.position, step);
  std::uint32_t next = execution.next_step_position;
  while (next != 0) {
    auto more = task_.gateway().list_steps(execution.execution_id, next, steps_page);
    if (!more) throw std::runtime_error("the recorded steps cannot be read: " + more.error().message);
    for (Step& step : more->steps) recorded_.emplace(step.position, std::move(step));
    next = more->next_position;
  }
  for (const auto& [position, step] : recorded_) recorded_names_[step.name] = position;
  loaded_ = true;
}

const Step* Steps::recorded(const Place& place, bool is_wait) {
  load();
  const std::lock_guard lock(mutex_);
  const auto found = recorded_.find(place.position);
  if (found != recorded_.end()) {
    if (found->second.name != place.name)
      changed(place, "step " + std::to_string(place.position) + " is \"" + place.name +
                         "\" now and was recorded as \"" + found->second.name + "\"");
    if (found->second.wait.has_value() != is_wait) changed_kind(place, is_wait);
    return &found->second;
  }
  const auto elsewhere = recorded_names_.find(place.name);
  if (elsewhere != recorded_names_.end()) {
    changed(place, "\"" + place.name + "\" is step " + std::to_string(place.position) +
                       " now and was recorded as step " + std::to_string(elsewhere->second));
  }
  return nullptr;
}

Bytes Steps::try_once(const Place& place, const StepOptions& options,
                      const std::function<Bytes(std::stop_token)>& work) {
  const InsideStep inside(this, place.name);
  if (options.timeout.count() == 0) return work(task_.stop_token());
  // Trips at the time-out and when the task stops, whichever comes first.
  std::stop_source source;
  const std::stop_callback passed_on(task_.stop_token(), [&] { source.request_stop(); });
  const auto deadline = steady_clock::now() + options.timeout;
  std::jthread timer([&](const std::stop_token& done) {
    task_.gateway().pause(std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()), done);
    if (!done.stop_requested()) source.request_stop();
  });
  Bytes result = work(source.get_token());
  if (steady_clock::now() < deadline) return result;
  throw std::runtime_error("the step took longer than its time-out of " + std::to_string(options.timeout.count()) +
                           " ms");
}

Step Steps::run(const Place& place, const StepOptions& options, const std::function<Bytes(std::stop_token)>& work) {
  Step step;
  if (const Step* known = recorded(place)) {
    step = *known;
  } else {
    StepRequest request;
    request.position = place.position;
    request.name = place.name;
    request.group_end = place.group_end;
    const auto begin = steady_clock::now();
    for (request.tries = 1;; ++request.tries) {
      if (task_.stop_token().stop_requested()) throw TaskStopped(task_.stop_reason());
      try {
        Bytes result = try_once(place, options, work);
        request.result = std::move(result.bytes);
        request.result_encoding = std::move(result.encoding);
        break;
      } catch (const TaskStopped&) {
        throw;
      } catch (const LeaveHandler&) {
        throw;
      } catch (const Abandon&) {
        throw;
      } catch (...) {
        const Thrown thrown = current_exception_as_failure();
        if (!thrown.permanent && request.tries <= options.max_retries) {
          task_.gateway().pause(backoff(options, request.tries), task_.stop_token());
          continue;
        }
        request.failure = thrown.failure;
        request.permanent = thrown.permanent;
        break;
      }
    }
    request.duration_ms = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin).count();
    step = record(std::move(request));
  }
  if (step.failure) throw StepFailed(step.name, step.failure->category, step.failure->message, step.permanent);
  return step;
}

Step Steps::note(const Place& place) {
  if (const Step* known = recorded(place)) return *known;
  StepRequest request;
  request.position = place.position;
  request.name = place.name;
  return record(std::move(request));
}

void Steps::sleep(const Place& place, milliseconds duration) {
  const Step* known = recorded(place);
  TimestampMs wake_at = known != nullptr ? known->wake_at : 0;
  if (known == nullptr) {
    StepRequest request;
    request.position = place.position;
    request.name = place.name;
    request.sleep_ms = std::max<std::int64_t>(duration.count(), 0);
    wake_at = record(std::move(request)).wake_at;
  }
  if (wake_at > task_.store_now()) wait_until(wake_at);
}

void Steps::wait_until(TimestampMs wake_at) { throw LeaveHandler{Delay{wake_at}}; }

// The work is done, so its outcome is reported as long as the lease is ours.
Step Steps::record(StepRequest request) {
  for (milliseconds wait = first_record_pause;; wait = std::min(wait * 2, longest_record_pause)) {
    if (task_.state() == RunningTask::State::lost) throw TaskStopped(task_.stop_reason());
    const auto reply = task_.gateway().record_step(task_.handle(), request);
    if (reply && reply->duplicate) return recorded_before(request.position);
    if (reply) {
      Step step{request.position,
                std::move(request.name),
                StepState::succeeded,
                std::move(request.result),
                std::move(request.result_encoding),
                std::move(request.failure),
                request.permanent,
                request.tries,
                request.duration_ms,
                reply->recorded_at,
                reply->wake_at,
                0,
                0,
                {}};
      return step;
    }
    const Errc code = reply.error().code;
    if (code == Errc::payload_too_large || code == Errc::invalid_argument) {
      throw PermanentFailure("the result of step \"" + request.name + "\" was refused: " + reply.error().message,
                             "result_refused");
    }
    if (!is_passing(reply.error())) {
      task_.lose("the lease is lost: " + reply.error().message);
      throw TaskStopped(task_.stop_reason());
    }
    task_.gateway().pause(wait, task_.stop_token());
  }
}

// The answer to an earlier try was lost, or two runs of one worker are at work: what is recorded counts.
Step Steps::recorded_before(std::uint32_t position) {
  const auto found = task_.gateway().list_steps(task_.execution().execution_id, position, 1);
  if (!found) throw std::runtime_error("a recorded step cannot be read: " + found.error().message);
  if (found->steps.empty() || found->steps.front().position != position) {
    throw std::runtime_error("step " + std::to_string(position) + " is recorded and cannot be found");
  }
  return found->steps.front();
}

// The wait is the settlement of this lease: once it is asked for, heartbeats that find no lease are no loss, and a worker that
// stops hands nothing back. If it is over at once the handler goes on with its lease.
WaitOutcome Steps::wait(const Place& place, SuspendRequest request) {
  if (const Step* known = recorded(place, true)) return *known->wait;
  if (task_.stop_token().stop_requested() || !task_.begin_settling()) throw TaskStopped(task_.stop_reason());
  request.position = place.position;
  request.step_name = place.name;
  const auto reply = suspend(request);
  if (reply && reply->suspended) throw LeaveHandler{Suspended{}};
  if (!reply && !refuses_wait(reply.error()) && !is_passing(reply.error())) {
    task_.lose("the lease is lost: " + reply.error().message);
  }
  if (!task_.go_on() || (!reply && is_passing(reply.error()) && !refuses_wait(reply.error()))) {
    throw TaskStopped(task_.stop_reason());
  }
  if (!reply) {
    throw PermanentFailure("wait \"" + place.name + "\" was refused: " + reply.error().message, "wait_refused");
  }
  if (reply->outcome) return *reply->outcome;
  const Step step = recorded_before(place.position);
  if (step.wait) return *step.wait;
  const std::lock_guard lock(mutex_);
  changed_kind(place, true);
}

// Tries until somebody answers. A passing error is returned when the task is lost or asked to stop.
Result<SuspendReply> Steps::suspend(const SuspendRequest& request) {
  for (milliseconds pause = first_record_pause;; pause = std::min(pause * 2, longest_record_pause)) {
    auto reply = task_.gateway().suspend(task_.handle(), request);
    if (reply || refuses_wait(reply.error()) || !is_passing(reply.error())) return reply;
    task_.gateway().pause(pause, task_.stop_token());
    if (task_.stop_token().stop_requested()) return reply;
  }
}

// Expects the lock.
void Steps::changed_kind(const Place& place, bool is_wait) {
  changed(place, "step " + std::to_string(place.position) + " \"" + place.name +
                     (is_wait ? "\" is a wait now and was recorded as something else"
                              : "\" is no wait now and was recorded as one"));
}

bool Steps::inside_step() const { return step_of_thread.steps == this; }

std::string Steps::next_report_key() const {
  if (!inside_step()) return {};
  return "step " + *step_of_thread.name + " " + std::to_string(++step_of_thread.reports);
}

void Steps::finish() {
  load();
  const std::lock_guard lock(mutex_);
  const auto beyond = recorded_.upper_bound(static_cast<std::uint32_t>(reached_.size()));
  if (beyond == recorded_.end()) return;
  const Step& step = beyond->second;
  changed({step.position, step.name, 0}, "the handler returned without coming to step " +
                                             std::to_string(step.position) + " \"" + step.name +
                                             "\", which is recorded");
}

std::string Steps::order_recorded() const {
  std::string text;
  for (const auto& [position, step] : recorded_) {
    if (position > names_shown) return text + ", ...";
    text += (text.empty() ? "" : ", ") + step.name;
  }
  return text;
}

std::string Steps::order_reached() const {
  std::string text;
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    if (i >= names_shown) return text + ", ...";
    text += (text.empty() ? "" : ", ") + reached_[i];
  }
  return text;
}

// Expects the lock.
void Steps::changed(const Place& place, const std::string& what) {
  throw HandlerChanged(place.name, "the handler has changed against its recorded steps: " + what +
                                       "; recorded: " + order_recorded() + "; now: " + order_reached());
}

}  // namespace flowfabric::sdk
