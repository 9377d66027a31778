#include "sdk/running_task.hpp"

namespace flowfabric::sdk {

Handle RunningTask::handle() const {
  const std::lock_guard lock(mutex_);
  return handle_;
}

TimestampMs RunningTask::store_now() const {
  const auto held = std::chrono::steady_clock::now() - received_at_;
  return execution_.lease.acquired_at + std::chrono::duration_cast<std::chrono::milliseconds>(held).count();
}

std::string RunningTask::stop_reason() const {
  const std::lock_guard lock(mutex_);
  return stop_reason_;
}

void RunningTask::renewed(SteadyTime asked_at, const RenewVerdict& verdict) {
  const std::lock_guard lock(mutex_);
  renewed_at_ = asked_at;
  // Signed with the newest key, so that an attempt outlives the keys that it began with.
  if (!verdict.handle.empty()) handle_ = verdict.handle;
}

bool RunningTask::ran_out(SteadyTime now) const {
  const std::lock_guard lock(mutex_);
  return now - renewed_at_ > ttl_;
}

bool RunningTask::lose(std::string reason) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::lost) return false;
    state_ = State::lost;
    if (stop_reason_.empty()) stop_reason_ = std::move(reason);
  }
  stop_.request_stop();
  return true;
}

bool RunningTask::begin_settling() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::running) return false;
  state_ = State::settling;
  return true;
}

bool RunningTask::go_on() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::settling) state_ = State::running;
  return state_ == State::running;
}

RunningTask::State RunningTask::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void RunningTask::request_stop(std::string reason) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_reason_.empty()) stop_reason_ = std::move(reason);
  }
  stop_.request_stop();
}

}  // namespace flowfabric::sdk
