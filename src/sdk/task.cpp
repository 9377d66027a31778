#include <flowfabric/task.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "base/entropy.hpp"
#include "sdk/running_task.hpp"
#include "sdk/steps.hpp"

namespace flowfabric {

namespace {

constexpr std::size_t max_side_by_side = 16;

}  // namespace

Task::Task(sdk::RunningTask& running, const sdk::StepPlan* plan)
    : running_(running), steps_(std::make_unique<sdk::Steps>(running, plan)) {}
Task::~Task() = default;

const ClaimedExecution& Task::execution() const { return running_.execution(); }
std::stop_token Task::stop_token() const { return running_.stop_token(); }
std::string Task::stop_reason() const { return running_.stop_reason(); }

void Task::check_stopped() const {
  if (cancelled()) throw TaskStopped(stop_reason());
}

void Task::progress(std::uint8_t percent, std::optional<std::string> message) {
  check_stopped();
  const auto reported = running_.gateway().progress(running_.handle(), {percent, std::move(message)});
  // Progress is for people: if nobody can be told now, the work goes on.
  if (reported || sdk::is_passing(reported.error())) return;
  if (reported.error().code == Errc::invalid_argument) throw std::invalid_argument(reported.error().message);
  running_.lose("the lease is lost: " + reported.error().message);
  check_stopped();
}

Bytes Task::run_step(std::string_view name, const StepOptions& options, const StepWork& work) {
  Step step = steps_->run(steps_->reserve(name), options, work);
  return {std::move(step.result), std::move(step.result_encoding)};
}

// The handler's own thread takes part, so that this ends even when no other thread can be had.
std::vector<Bytes> Task::run_all(std::vector<AnyStep> steps) {
  std::vector<sdk::Steps::Place> places;
  for (const AnyStep& step : steps) places.push_back(steps_->reserve(step.name));
  for (auto& place : places) place.group_end = places.back().position;
  std::vector<Bytes> results(steps.size());
  std::vector<std::exception_ptr> failures(steps.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < steps.size(); i = next++) {
      try {
        Step step = steps_->run(places[i], steps[i].options, steps[i].work);
        results[i] = {std::move(step.result), std::move(step.result_encoding)};
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t wanted = std::min(steps.size(), max_side_by_side);
    while (helpers.size() + 1 < wanted) helpers.emplace_back(work);
    work();
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return results;
}

void Task::sleep(std::string_view name, std::chrono::milliseconds duration) {
  steps_->sleep(steps_->reserve(name), duration);
}

TimestampMs Task::now() { return steps_->note(steps_->reserve("now")).recorded_at; }

std::uint64_t Task::random() {
  return static_cast<std::uint64_t>(step("random", [] { return static_cast<std::int64_t>(system_entropy()()); }));
}

Uuid Task::uuid() {
  const std::string text = step("uuid", [] { return to_string(random_uuid(system_entropy())); });
  const auto uuid = parse_uuid(text);
  if (!uuid) throw std::runtime_error("a recorded uuid cannot be read: " + uuid.error().message);
  return *uuid;
}

void Task::store_checkpoint(Bytes bytes) {
  check_stopped();
  check_written(running_.gateway().store_checkpoint(running_.handle(), std::move(bytes)));
}

void Task::tag(Tags set, std::vector<std::string> remove) {
  check_stopped();
  check_written(running_.gateway().change_tags(running_.handle(), {std::move(set), std::move(remove)}));
}

void Task::check_written(const Result<void>& written) {
  if (written) return;
  const Errc code = written.error().code;
  if (sdk::is_passing(written.error())) throw std::runtime_error(written.error().message);
  if (code == Errc::invalid_argument || code == Errc::payload_too_large) {
    throw std::invalid_argument(written.error().message);
  }
  running_.lose("the lease is lost: " + written.error().message);
  check_stopped();
}

void Task::check_steps_reached() { steps_->finish(); }

void Task::cancel(std::string reason) { throw sdk::LeaveHandler{sdk::CancelHeld{std::move(reason)}}; }

}  // namespace flowfabric
