#include "net/loop.hpp"

#include <boost/asio/post.hpp>

#include "net/connection.hpp"
#include "net/wire.hpp"

namespace flowfabric::net {
namespace {

constexpr std::size_t scratch_size = std::size_t{64} * 1024;

}  // namespace

Loop::Loop(std::shared_ptr<ServerState> state)
    : state_(std::move(state)),
      work_(context_.get_executor()),
      wheel_(Clock::now()),
      timer_(context_),
      scratch_(scratch_size) {}

void Loop::run_in_thread() {
  thread_ = std::thread([this] {
    thread_id_ = std::this_thread::get_id();
    context_.run();
  });
}

void Loop::post(Task task) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  tasks_.push_back(std::move(task));
  // One wake-up runs all tasks that are queued until then.
  if (tasks_.size() == 1) asio::post(context_, [this] { run_tasks(); });
}

void Loop::run_tasks() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const Task& task : tasks) task();
}

void Loop::stop() {
  std::vector<Task> dropped;  // may own exchanges whose destruction posts again, so it is destroyed outside of the lock
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
  }
  work_.reset();
  context_.stop();
  if (thread_.joinable()) thread_.join();
  // Handlers of sockets that were closed last must still be called; each owns its connection, which owns this loop.
  timer_.cancel();
  context_.restart();
  context_.poll();
}

void Loop::adopt(Socket socket, bool refused) {
  if (state_->draining) {
    state_->connection_closed();
    return;
  }
  auto connection = std::make_shared<Connection>(shared_from_this(), std::move(socket), refused);
  connections_.insert(connection);
  connection->start();
}

void Loop::forget(const std::shared_ptr<Connection>& connection) {
  if (connections_.erase(connection) > 0) state_->connection_closed();
}

void Loop::set_deadline(Deadline& deadline, Clock::time_point due) { schedule_turn(wheel_.set(deadline, due)); }

void Loop::schedule_turn(Clock::time_point at) {
  if (at >= turn_at_) return;
  turn_at_ = at;
  timer_.expires_at(at);  // cancels the wait for a later turn
  timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) turn_wheel();
  });
}

void Loop::turn_wheel() {
  turn_at_ = Clock::time_point::max();
  wheel_.turn(Clock::now(), [](Deadline& deadline) { static_cast<Connection&>(deadline).on_deadline(); });
  schedule_turn(wheel_.next_turn());
}

void Loop::close_idle_connections() {
  const auto connections = connections_;  // closing one changes the set
  for (const auto& connection : connections) connection->close_if_idle();
}

void Loop::cut_all_connections() {
  const auto connections = connections_;
  for (const auto& connection : connections) connection->cut();
}

std::string_view Loop::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    date_ = http_date(now);
  }
  return date_;
}

}  // namespace flowfabric::net
