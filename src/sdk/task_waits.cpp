// What a handler waits for.
#include <algorithm>

#include <flowfabric/task.hpp>

#include "sdk/running_task.hpp"
#include "sdk/steps.hpp"

namespace flowfabric {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_open_pause{50};
constexpr milliseconds longest_open_pause{2'000};

WaitpointRequest waitpoint_of(const ApprovalOptions& options) {
  WaitpointRequest waitpoint;
  waitpoint.name = options.name;
  waitpoint.approval = ApprovalRequest{
      options.title,     options.context.bytes, options.context.encoding,
      options.approvers, options.needed,        options.rejections,
  };
  return waitpoint;
}

// Times that have passed already are the shortest possible.
void resume_after(SuspendRequest& request, milliseconds timeout) {
  request.timeout_ms = std::max<std::int64_t>(timeout.count(), 1);
  request.on_timeout = OnWaitTimeout::resume;
}

std::optional<std::size_t> shortest_time(const std::vector<Alternative>& alternatives) {
  std::optional<std::size_t> shortest;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const auto& time = alternatives[i].time;
    if (time && (!shortest || *time < *alternatives[*shortest].time)) shortest = i;
  }
  return shortest;
}

std::size_t place_of(const std::vector<Alternative>& alternatives, const Signal& signal) {
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (!alternatives[i].time && alternatives[i].waitpoint == signal.waitpoint) return i;
  }
  throw HandlerChanged(signal.waitpoint, "the handler has changed against its recorded steps: a signal at \"" +
                                             signal.waitpoint +
                                             "\" is recorded, and the handler does not wait there any more");
}

ApprovalResult::End end_of(WaitCause cause) {
  switch (cause) {
    case WaitCause::signals: return ApprovalResult::End::approved;
    case WaitCause::veto: return ApprovalResult::End::rejected;
    case WaitCause::by_operator: return ApprovalResult::End::by_operator;
    case WaitCause::timeout: break;
  }
  return ApprovalResult::End::timed_out;
}

}  // namespace

WaitOutcome Task::wait(SuspendRequest request) {
  std::string name = request.step_name;
  if (name.empty() && !request.waitpoints.empty()) name = request.waitpoints.front().name;
  if (steps_->inside_step()) {
    throw PermanentFailure(
        "the wait \"" + name + "\" is inside of a step; a wait is a step of its own, so it stands outside of others",
        "wait_in_step");
  }
  return steps_->wait(steps_->reserve(name), std::move(request));
}

std::optional<Signal> Task::await_signal(std::string_view name, std::optional<milliseconds> timeout) {
  SuspendRequest request;
  request.waitpoints = {{std::string(name), {}, {}}};
  if (timeout) resume_after(request, *timeout);
  const WaitOutcome outcome = wait(std::move(request));
  if (!outcome.signals.empty()) return outcome.signals.front();
  if (timeout) return std::nullopt;
  throw PermanentFailure("an operator has ended the wait for \"" + std::string(name) + "\" without a signal" +
                             (outcome.reason.empty() ? "" : ": " + outcome.reason),
                         "no_signal");
}

AnyResult Task::any(const std::vector<Alternative>& alternatives) {
  SuspendRequest request;
  std::vector<WaitCondition> signals;
  for (const Alternative& one : alternatives) {
    if (one.time) continue;
    request.waitpoints.push_back({one.waitpoint, {}, {}});
    WaitCondition condition;
    condition.signal = SignalMatch{one.waitpoint, {}, {}, {}};
    signals.push_back(std::move(condition));
  }
  if (signals.empty()) throw PermanentFailure("any() needs at least one signal", "wait_refused");
  request.step_name = "any " + request.waitpoints.front().name;
  request.condition.emplace().any_of = std::move(signals);
  const auto time = shortest_time(alternatives);
  if (time) resume_after(request, *alternatives[*time].time);
  WaitOutcome outcome = wait(std::move(request));
  AnyResult result;
  if (!outcome.signals.empty()) {
    result.index = place_of(alternatives, outcome.signals.front());
    result.signal = std::move(outcome.signals.front());
  } else if (outcome.cause == WaitCause::timeout) {
    result.index = time;
  }
  return result;
}

ApprovalResult Task::approval(const ApprovalOptions& options) {
  SuspendRequest request;
  request.waitpoints = {waitpoint_of(options)};
  request.reason = options.title;
  if (options.timeout) resume_after(request, *options.timeout);
  WaitOutcome outcome = wait(std::move(request));
  ApprovalResult result;
  result.end = end_of(outcome.cause);
  result.by = std::move(outcome.by);
  result.reason = std::move(outcome.reason);
  for (Signal& signal : outcome.signals) {
    const bool rejects = signal.name == to_string(ApprovalDecision::reject);
    result.decisions.push_back({rejects ? ApprovalDecision::reject : ApprovalDecision::approve,
                                std::move(signal.source), std::move(signal.payload), signal.delivered_at});
  }
  return result;
}

WaitpointToken Task::open_waitpoint(std::string_view name, std::optional<milliseconds> token_ttl) {
  return open_waitpoint(WaitpointRequest{std::string(name), {}, {}}, token_ttl);
}

WaitpointToken Task::open_waitpoint(const ApprovalOptions& approval, std::optional<milliseconds> token_ttl) {
  return open_waitpoint(waitpoint_of(approval), token_ttl);
}

// Outside of a step every later run of the handler would open another one, also behind the end of the wait.
WaitpointToken Task::open_waitpoint(WaitpointRequest request, std::optional<milliseconds> token_ttl) {
  if (!steps_->inside_step()) {
    throw PermanentFailure(
        "waitpoint \"" + request.name + "\" is opened outside of a step; open it in the step that hands its token out",
        "open_outside_step");
  }
  if (token_ttl) request.token_ttl_ms = token_ttl->count();
  for (auto pause = first_open_pause;; pause = std::min(pause * 2, longest_open_pause)) {
    check_stopped();
    auto token = running_.gateway().open_waitpoint(running_.handle(), request);
    if (token) return std::move(*token);
    const Error& error = token.error();
    if (error.code == Errc::invalid_argument || (error.code == Errc::overloaded && !error.field.empty())) {
      throw PermanentFailure("waitpoint \"" + request.name + "\" was refused: " + error.message, "wait_refused");
    }
    if (!sdk::is_passing(error)) running_.lose("the lease is lost: " + error.message);
    check_stopped();
    running_.gateway().pause(pause, stop_token());
  }
}

}  // namespace flowfabric
