#include "sdk/lease_keeper.hpp"

#include <pthread.h>

#include <condition_variable>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"

namespace flowfabric::sdk {
namespace {

using std::chrono::steady_clock;

constexpr milliseconds watch_wait{30'000};
constexpr milliseconds watch_pause{5'000};  // after a failure
constexpr std::uint32_t watch_page = 100;

// Returns false when `stop` ends it.
bool rest(milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

Result<void> LeaseKeeper::start() {
  FF_TRY(registered, gateway_->register_worker(options_.registration));
  static_cast<void>(registered);
  keeping_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
  watching_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  expiring_ = std::jthread([this](const std::stop_token& stop) { expire(stop); });
  return {};
}

void LeaseKeeper::stop() {
  for (std::jthread* thread : {&watching_, &keeping_, &expiring_}) {
    if (!thread->joinable()) continue;
    thread->request_stop();
    thread->join();
  }
}

// A worker that stood still for longer than its lease may get the same execution again before it has noticed the loss.
// The later lease takes the place of the earlier one, so from here on no heartbeat would tell the earlier handler.
void LeaseKeeper::add(const TaskPtr& task) {
  TaskPtr earlier;
  {
    const std::lock_guard lock(mutex_);
    earlier = std::exchange(tasks_[task->execution().execution_id], task);
  }
  if (earlier == nullptr || earlier == task || earlier->state() != RunningTask::State::running) return;
  lose(earlier, "the lease is lost: the execution was claimed again");
}

void LeaseKeeper::remove(const TaskPtr& task) {
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(task->execution().execution_id);
  if (found != tasks_.end() && found->second == task) tasks_.erase(found);
}

std::vector<TaskPtr> LeaseKeeper::held() const {
  const std::lock_guard lock(mutex_);
  std::vector<TaskPtr> tasks;
  tasks.reserve(tasks_.size());
  for (const auto& [id, task] : tasks_) tasks.push_back(task);
  return tasks;
}

void LeaseKeeper::keep(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "ff-leases");
  while (rest(options_.period, stop)) beat();
}

void LeaseKeeper::beat() {
  const auto tasks = held();
  HeartbeatRequest request;
  request.name_space = options_.registration.name_space;
  request.worker_instance_id = options_.registration.worker_instance_id;
  for (const TaskPtr& task : tasks) request.leases.push_back(task->handle());
  const auto asked_at = steady_clock::now();
  const auto reply = gateway_->heartbeat(request);
  if (reply) {
    note_verdicts(tasks, *reply, asked_at);
    if (reply->drain && options_.on_drain) options_.on_drain();
    if (reply->outcome == HeartbeatReply::Outcome::not_registered) {
      const auto registered = gateway_->register_worker(options_.registration);
      if (!registered) log(LogLevel::warn, "the worker cannot be registered", {{"cause", registered.error().message}});
    }
  } else {
    log(LogLevel::warn, "heartbeat failed", {{"cause", reply.error().message}});
  }
}

// A heartbeat may hang for longer than a lease lasts; handlers are told in time all the same.
void LeaseKeeper::expire(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "ff-expire");
  while (rest(options_.period / 2, stop)) {
    for (const TaskPtr& task : held()) {
      if (task->ran_out(steady_clock::now())) lose(task, "the lease ran out: it could not be renewed in time");
    }
  }
}

void LeaseKeeper::note_verdicts(const std::vector<TaskPtr>& tasks, const HeartbeatReply& reply,
                                RunningTask::SteadyTime asked_at) {
  for (std::size_t i = 0; i < tasks.size() && i < reply.leases.size(); ++i) {
    const auto& verdict = reply.leases[i];
    if (verdict) {
      tasks[i]->renewed(asked_at, *verdict);
    } else if (!is_passing(verdict.error())) {
      // One that was settled a moment ago is not lost, it has ended.
      if (tasks[i]->state() == RunningTask::State::running) lose(tasks[i], reason_of(tasks[i], verdict.error()));
    }
  }
}

// An operator's reason is worth a call.
std::string LeaseKeeper::reason_of(const TaskPtr& task, const Error& error) {
  if (error.code != Errc::already_terminal) return "the lease is lost: " + error.message;
  const auto described = gateway_->describe(task->execution().execution_id);
  if (!described || described->summary.public_state != PublicState::cancelled) {
    return "the execution has ended: " + error.message;
  }
  return described->cancellation_reason.empty() ? "cancelled" : "cancelled: " + described->cancellation_reason;
}

void LeaseKeeper::lose(const TaskPtr& task, const std::string& reason) {
  if (!task->lose(reason)) return;
  remove(task);
  options_.on_lost(task);
}

void LeaseKeeper::take_away(const Event& event) {
  if (!event.execution_id) return;
  TaskPtr task;
  {
    const std::lock_guard lock(mutex_);
    const auto found = tasks_.find(*event.execution_id);
    if (found == tasks_.end()) return;
    task = found->second;
  }
  // Of this lease, not of one that the execution had before. An end by our own settlement is no loss.
  if (event.lease_epoch != 0 && event.lease_epoch < task->execution().lease.lease_epoch) return;
  if (task->state() != RunningTask::State::running) return;
  if (event.type == EventType::cancelled) {
    return lose(task, event.reason.empty() ? "cancelled" : "cancelled: " + event.reason);
  }
  lose(task, event.type == EventType::expired ? "the deadline of the execution has passed" : "the lease was revoked");
}

void LeaseKeeper::watch(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "ff-watch");
  EventFilter filter;
  filter.name_space = options_.name_space;
  filter.types = {EventType::cancelled, EventType::expired, EventType::lease_revoked};
  std::string cursor;
  while (!stop.stop_requested()) {
    const auto page = gateway_->events(filter, cursor, watch_page, watch_wait, stop);
    if (page) {
      cursor = page->next_cursor;
      for (const Event& event : page->events) take_away(event);
      continue;
    }
    // A worker's key may not be allowed to read events; heartbeats must do then.
    const Errc code = page.error().code;
    if (code == Errc::permission_denied || code == Errc::unauthenticated) return;
    if (code == Errc::cursor_expired) cursor.clear();
    rest(watch_pause, stop);
  }
}

}  // namespace flowfabric::sdk
