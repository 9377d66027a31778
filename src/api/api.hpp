// The HTTP API of one engine: finds the route of a request, runs it, and answers everything else with an error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/engine.hpp>

#include "api/dashboard.hpp"
#include "api/event_stream.hpp"
#include "net/http_server.hpp"
#include "observe/tracer.hpp"

namespace flowfabric::api {

struct ApiOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 7070;
  std::size_t io_threads = 1;
  std::size_t pool_threads = 8;
  bool api_keys = false;  // require API keys; else every client is the local user
  // Origins of web pages that may use the API. Empty: none.
  std::vector<std::string> cors_origins{};
  net::ServerOptions http{};  // limits, timeouts and TLS; address, port and threads are taken from above
  StreamSettings streams{};
  DashboardSettings dashboard{};
  std::shared_ptr<observe::Tracer> tracer{};  // receives the spans of requests; null: tracing is off
};

class ApiServer {
 public:
  // The engine must outlive the server.
  static Result<std::unique_ptr<ApiServer>> start(Engine& engine, const ApiOptions& options);
  ~ApiServer();

  std::string url() const;
  // Where browsers find the dashboard; nothing when it is switched off, or was not built.
  std::optional<std::string> dashboard_url() const;
  // Reloads the certificate.
  Result<void> reload_tls();
  // From now on /readyz answers 503, so that load balancers send no more requests.
  void begin_drain();
  // Stops accepting and lets requests in progress finish. The engine is stopped before, so that parked claims are
  // answered.
  void drain(std::chrono::milliseconds patience);

 private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowfabric::api
