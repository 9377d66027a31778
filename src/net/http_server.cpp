#include "net/http_server.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"
#include "net/loop.hpp"
#include "net/tls.hpp"

namespace flowfabric::net {
namespace {

constexpr std::size_t max_threads = 256;
// Connections that are answered 503 at the same time; further ones are closed without a response.
constexpr std::size_t max_refused_connections = 64;
// If the process has no file descriptors left, accepting again at once would only use CPU.
constexpr std::chrono::milliseconds accept_pause{50};

Result<void> check_options(const ServerOptions& options) {
  if (options.threads == 0 || options.threads > max_threads) {
    return fail(Errc::invalid_argument, "threads must be from 1 to 256", "threads");
  }
  if (options.certificate_file.empty() != options.private_key_file.empty()) {
    return fail(Errc::invalid_argument, "TLS needs both a certificate and a private key", "certificate_file");
  }
  return {};
}

}  // namespace

struct HttpServer::Impl {
  Impl(ServerOptions options, Handler handler)
      : state(std::make_shared<ServerState>(std::move(options), std::move(handler))) {}

  Result<void> load_tls();
  Result<void> listen();
  void run();
  void accept();
  void accepted(Socket socket, Loop& loop);
  void close_acceptor();
  void drain(std::chrono::milliseconds patience);
  void stop();

  std::shared_ptr<ServerState> state;
  std::vector<std::shared_ptr<Loop>> loops;
  std::unique_ptr<Acceptor> acceptor;  // on the first loop
  std::unique_ptr<Timer> accept_timer;
  std::size_t next_loop = 0;
  bool accept_failed = false;
  std::string address;
  std::uint16_t port = 0;
  std::mutex stop_mutex;
  bool stopped = false;
};

Result<void> HttpServer::Impl::load_tls() {
  const ServerOptions& options = state->options;
  if (options.certificate_file.empty()) return {};
  FF_TRY(context, TlsContext::for_server(options.certificate_file, options.private_key_file));
  state->set_tls(std::move(context));
  return {};
}

Result<void> HttpServer::Impl::listen() {
  const ServerOptions& options = state->options;
  boost::system::error_code failure;
  const auto host = asio::ip::make_address(options.address, failure);
  if (failure) return fail(Errc::invalid_argument, "\"" + options.address + "\" is not an IP address", "address");
  const tcp::endpoint endpoint(host, options.port);
  const auto attempt = [&](auto&& action) {
    if (!failure) failure = action();
  };
  acceptor = std::make_unique<Acceptor>(loops.front()->context());
  accept_timer = std::make_unique<Timer>(loops.front()->context());
  attempt([&] { return acceptor->open(endpoint.protocol(), failure); });
  attempt([&] { return acceptor->set_option(Acceptor::reuse_address(true), failure); });
  attempt([&] { return acceptor->bind(endpoint, failure); });
  attempt([&] { return acceptor->listen(Acceptor::max_listen_connections, failure); });
  tcp::endpoint bound;
  if (!failure) bound = acceptor->local_endpoint(failure);
  if (failure) {
    return fail(Errc::unavailable, "cannot listen on " + options.address + " port " + std::to_string(options.port) +
                                       ": " + failure.message());
  }
  address = options.address;
  port = bound.port();
  return {};
}

void HttpServer::Impl::run() {
  accept();
  for (const auto& loop : loops) loop->run_in_thread();
}

// Connections are distributed to the loops in turn: with few, long-lived connections the distribution of the kernel
// (SO_REUSEPORT) is uneven.
void HttpServer::Impl::accept() {
  Loop& loop = *loops[next_loop];
  next_loop = (next_loop + 1) % loops.size();
  acceptor->async_accept(loop.context(), [this, &loop](const boost::system::error_code& failure, Socket socket) {
    if (!acceptor->is_open()) return;
    if (!failure) accepted(std::move(socket), loop);
    if (!failure || failure == asio::error::connection_aborted) {
      accept_failed = false;
      return accept();
    }
    if (!std::exchange(accept_failed, true)) {
      log(LogLevel::warn, "cannot accept connections", {{"reason", failure.message()}});
    }
    accept_timer->expires_after(accept_pause);
    accept_timer->async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled && acceptor->is_open()) accept();
    });
  });
}

void HttpServer::Impl::accepted(Socket socket, Loop& loop) {
  const std::size_t open = state->open_connections();
  const std::size_t allowed = state->options.max_connections;
  const bool refused = open >= allowed;
  (refused ? state->refused : state->accepted).fetch_add(1, std::memory_order_relaxed);
  if (open >= allowed + max_refused_connections) return;
  state->connection_opened();
  if (loop.on_thread()) return loop.adopt(std::move(socket), refused);
  // std::function must be copyable, a socket is not.
  loop.post([&loop, refused, shared = std::make_shared<Socket>(std::move(socket))] {
    loop.adopt(std::move(*shared), refused);
  });
}

void HttpServer::Impl::close_acceptor() {
  loops.front()->post([this] {
    boost::system::error_code ignored;
    std::ignore = acceptor->close(ignored);
    accept_timer->cancel();
  });
}

void HttpServer::Impl::drain(std::chrono::milliseconds patience) {
  const std::lock_guard lock(stop_mutex);
  if (stopped) return;
  state->draining = true;
  close_acceptor();
  for (const auto& loop : loops) loop->post([&loop = *loop] { loop.close_idle_connections(); });
  state->wait_until_none_open(patience);
}

void HttpServer::Impl::stop() {
  const std::lock_guard lock(stop_mutex);
  if (std::exchange(stopped, true)) return;
  for (const auto& loop : loops) FF_CHECK(!loop->on_thread());
  state->draining = true;
  close_acceptor();
  // A connection that is handed over meanwhile is not started any more.
  for (const auto& loop : loops) loop->post([&loop = *loop] { loop.cut_all_connections(); });
  state->wait_until_none_open();
  for (const auto& loop : loops) loop->stop();
  boost::system::error_code ignored;
  std::ignore = acceptor->close(ignored);
  // Exchanges may outlive the server, and with them the state; objects owned by the handler must not.
  state->handler = nullptr;
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, Handler handler) {
  FF_TRY_VOID(check_options(options));
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  FF_TRY_VOID(impl->load_tls());
  for (std::size_t i = 0; i < impl->state->options.threads; ++i) {
    impl->loops.push_back(std::make_shared<Loop>(impl->state));
  }
  FF_TRY_VOID(impl->listen());
  impl->run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { stop(); }

std::uint16_t HttpServer::port() const { return impl_->port; }
const std::string& HttpServer::address() const { return impl_->address; }
Result<void> HttpServer::reload_tls() { return impl_->load_tls(); }
void HttpServer::stop() { impl_->stop(); }

void HttpServer::drain(std::chrono::milliseconds patience) {
  impl_->drain(patience);
  impl_->stop();
}

ServerStatistics HttpServer::statistics() const {
  const ServerState& state = *impl_->state;
  return {.open_connections = state.open_connections(),
          .accepted_connections = state.accepted,
          .refused_connections = state.refused,
          .requests = state.requests,
          .faults = state.faults,
          .received_bytes = state.received_bytes,
          .sent_bytes = state.sent_bytes};
}

}  // namespace flowfabric::net
