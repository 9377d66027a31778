// One I/O thread: its io_context, its connections, its deadlines, and the queue of tasks from other threads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/deadline_wheel.hpp"
#include "net/server_state.hpp"

namespace flowfabric::net {

namespace asio = boost::asio;
using asio::ip::tcp;

// The concrete executor instead of any_io_executor: smaller sockets, and no virtual call per operation.
using Socket = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;
using Acceptor = asio::basic_socket_acceptor<tcp, asio::io_context::executor_type>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, asio::io_context::executor_type>;

class Connection;

class Loop : public std::enable_shared_from_this<Loop> {
 public:
  using Task = std::function<void()>;

  explicit Loop(std::shared_ptr<ServerState> state);

  asio::io_context& context() { return context_; }
  ServerState& state() { return *state_; }
  const std::shared_ptr<ServerState>& shared_state() { return state_; }

  // From any thread.
  void run_in_thread();
  bool on_thread() const { return thread_id_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  // Runs the task on the thread, in the order of posting. After stop() tasks are dropped.
  void post(Task task);
  // Ends the thread. All connections must be closed.
  void stop();

  // On the thread.
  void adopt(Socket socket, bool refused);
  void forget(const std::shared_ptr<Connection>& connection);
  void set_deadline(Deadline& deadline, Clock::time_point due);
  void close_idle_connections();
  void cut_all_connections();
  // Its content is valid only within one task.
  char* scratch() { return scratch_.data(); }
  std::size_t scratch_bytes() const { return scratch_.size(); }
  std::string_view date();

 private:
  void run_tasks();
  void schedule_turn(Clock::time_point at);
  void turn_wheel();

  const std::shared_ptr<ServerState> state_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
  std::atomic<std::thread::id> thread_id_{};

  std::mutex mutex_;
  std::vector<Task> tasks_;
  bool stopped_ = false;

  std::unordered_set<std::shared_ptr<Connection>> connections_;
  DeadlineWheel wheel_;
  Timer timer_;
  Clock::time_point turn_at_ = Clock::time_point::max();
  std::vector<char> scratch_;
  std::time_t date_second_ = 0;
  std::string date_;
};

}  // namespace flowfabric::net
