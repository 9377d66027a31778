#include "sdk/settler.hpp"

#include <pthread.h>

#include <algorithm>

namespace flowfabric::sdk {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds longest_pause{2'000};
constexpr const char* refused_category = "result_refused";

// A result that the engine refuses cannot be reported later either; the execution has to end all the same.
bool refuses_result(const Error& error) {
  return error.code == Errc::payload_too_large || error.code == Errc::invalid_argument;
}

FailRequest failure_of(const Error& error) {
  FailRequest failure;
  failure.category = refused_category;
  failure.message = "what the handler returned or threw was refused: " + error.message;
  failure.retryable = FailRequest::Retryable::never;
  return failure;
}

}  // namespace

Settler::Settler() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

Settler::~Settler() {
  thread_.request_stop();
  thread_.join();
}

void Settler::settle(const TaskPtr& task, Settlement settlement, Done done) {
  send(std::make_shared<Report>(Report{task, std::move(settlement), std::move(done)}));
}

void Settler::send(const std::shared_ptr<Report>& report) {
  report->task->gateway().settle(report->task->handle(), report->settlement,
                                 [this, report](const Result<void>& answer) { answered(report, answer); });
}

void Settler::answered(const std::shared_ptr<Report>& report, const Result<void>& answer) {
  if (answer || report->task->state() == RunningTask::State::lost) return report->done(answer);
  const auto* failed = std::get_if<FailRequest>(&report->settlement);
  const bool replaceable = std::holds_alternative<CompleteRequest>(report->settlement) ||
                           (failed != nullptr && failed->category != refused_category);
  if (refuses_result(answer.error()) && replaceable) {
    report->settlement = failure_of(answer.error());
    return at(steady_clock::now(), [this, report] { send(report); });
  }
  if (!is_passing(answer.error())) return report->done(answer);
  at(steady_clock::now() + report->pause, [this, report] { send(report); });
  report->pause = std::min(report->pause * 2, longest_pause);
}

void Settler::at(SteadyTime time, std::function<void()> what) {
  {
    const std::lock_guard lock(mutex_);
    later_.emplace(time, std::move(what));
  }
  wake_.notify_one();
}

void Settler::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "ff-settle");
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (later_.empty()) {
      wake_.wait(lock, stop, [&] { return !later_.empty(); });
      continue;
    }
    const SteadyTime next = later_.begin()->first;
    if (next > steady_clock::now()) {
      wake_.wait_until(lock, stop, next, [&] { return later_.begin()->first < next; });
      continue;
    }
    const auto what = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    lock.unlock();
    what();
    lock.lock();
  }
}

}  // namespace flowfabric::sdk
