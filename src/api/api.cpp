#include "api/api.hpp"

#include "api/dispatcher.hpp"
#include "base/check.hpp"

namespace flowfabric::api {

struct ApiServer::Impl {
  Impl(Engine& engine, const ApiOptions& options) : dispatcher(engine, options) {}

  Dispatcher dispatcher;
  bool secure = false;
  bool has_dashboard = false;
  std::unique_ptr<net::HttpServer> http;
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Work in the pool may use the server, so the pool ends first.
ApiServer::~ApiServer() { impl_->dispatcher.stop(); }

Result<std::unique_ptr<ApiServer>> ApiServer::start(Engine& engine, const ApiOptions& options) {
  auto impl = std::make_unique<Impl>(engine, options);
  net::ServerOptions http = options.http;
  http.address = options.address;
  http.port = options.port;
  http.threads = options.io_threads;
  http.error_body = [](int, const Error& error) { return error_json(error); };
  impl->has_dashboard = options.dashboard.enabled && !embedded_dashboard().empty();
  impl->secure = !http.certificate_file.empty();
  Dispatcher& dispatcher = impl->dispatcher;
  FF_TRY(server, net::HttpServer::start(std::move(http), [&dispatcher](std::shared_ptr<net::Exchange> exchange) {
           dispatcher.handle(std::move(exchange));
         }));
  impl->http = std::move(server);
  dispatcher.metrics().watch(*impl->http);
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

std::string ApiServer::url() const {
  const std::string& address = impl_->http->address();
  const bool six = address.find(':') != std::string::npos;
  return (impl_->secure ? "https://" : "http://") + (six ? "[" + address + "]" : address) + ":" +
         std::to_string(impl_->http->port());
}

std::optional<std::string> ApiServer::dashboard_url() const {
  if (!impl_->has_dashboard) return std::nullopt;
  return url() + "/";
}

Result<void> ApiServer::reload_tls() { return impl_->http->reload_tls(); }

void ApiServer::begin_drain() { impl_->dispatcher.begin_drain(); }

void ApiServer::drain(std::chrono::milliseconds patience) {
  impl_->http->drain(patience);
  impl_->dispatcher.stop();
}

}  // namespace flowfabric::api
