#include "api/api.hpp"

#include <algorithm>

#include "api/route.hpp"
#include "base/check.hpp"
#include "base/log.hpp"

namespace flowfabric::api {
namespace {

constexpr std::size_t max_waiting_calls = 10000;

struct PreparedRoute {
  Route route;
  std::vector<std::string> segments;  // "{name}" for what varies
};

std::vector<std::string> split(const std::string& pattern) {
  std::vector<std::string> segments;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', at + 1), pattern.size());
    segments.push_back(pattern.substr(at + 1, end - at - 1));
    at = end;
  }
  return segments;
}

bool varies(const std::string& segment) { return segment.starts_with('{'); }

bool matches(const PreparedRoute& prepared, const std::vector<std::string>& segments) {
  if (prepared.segments.size() != segments.size()) return false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!varies(prepared.segments[i]) && prepared.segments[i] != segments[i]) return false;
  }
  return true;
}

std::map<std::string, std::string, std::less<>> parameters_of(const PreparedRoute& prepared,
                                                              const std::vector<std::string>& segments) {
  std::map<std::string, std::string, std::less<>> parameters;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string& name = prepared.segments[i];
    if (varies(name)) parameters[name.substr(1, name.size() - 2)] = segments[i];
  }
  return parameters;
}

// A parameter that nobody knows would be ignored silently.
const std::string* unknown_query(const Route& route, const net::Request& request) {
  for (const auto& [name, value] : request.query) {
    const bool known = std::any_of(route.query.begin(), route.query.end(),
                                   [&, &wanted = name](const QueryParameter& p) { return p.name == wanted; });
    if (!known) return &name;
  }
  return nullptr;
}

}  // namespace

struct ApiServer::Impl {
  Impl(Engine& engine_in, const ApiOptions& options)
      : engine(engine_in), pool(options.pool_threads, max_waiting_calls) {
    std::vector<Route> table = all_routes(options.streams);
    openapi = openapi_json(table);
    for (Route& route : table) {
      auto segments = split(route.pattern);
      routes.push_back({std::move(route), std::move(segments)});
    }
  }

  void handle(const std::shared_ptr<net::Exchange>& exchange) {
    net::Request& request = exchange->request();
    if (answer_plain(*exchange)) return;
    std::string allowed;
    for (const PreparedRoute& prepared : routes) {
      if (!matches(prepared, request.segments)) continue;
      if (prepared.route.method == request.method) return run(prepared, exchange);
      allowed += (allowed.empty() ? "" : ", ") + prepared.route.method;
    }
    if (allowed.empty()) {
      exchange->respond(error_response(Error{Errc::not_found, "there is no route " + request.path, {}, {}}));
      return;
    }
    auto response = error_response(
        Error{Errc::method_not_allowed, request.method + " is not allowed here; allowed: " + allowed, {}, {}});
    response.headers.add("Allow", allowed);
    exchange->respond(std::move(response));
  }

  void run(const PreparedRoute& prepared, const std::shared_ptr<net::Exchange>& exchange) {
    const net::Request& request = exchange->request();
    if (const std::string* unknown = unknown_query(prepared.route, request)) {
      exchange->respond(
          error_response(Error{Errc::invalid_argument, *unknown + ": there is no such parameter here", *unknown, {}}));
      return;
    }
    prepared.route.run(std::make_shared<Call>(exchange, engine, pool, parameters_of(prepared, request.segments)));
  }

  // What is not part of the API proper.
  bool answer_plain(net::Exchange& exchange) {
    const net::Request& request = exchange.request();
    if (request.method != "GET" && request.method != "HEAD") return false;
    net::Response response;
    if (request.path == "/healthz") {
      response.body = R"({"status":"ok"})";
    } else if (request.path == "/openapi.json") {
      response.body = openapi;
    } else {
      return false;
    }
    exchange.respond(std::move(response));
    return true;
  }

  Engine& engine;
  Pool pool;
  std::vector<PreparedRoute> routes;
  std::string openapi;
  std::unique_ptr<net::HttpServer> http;
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::start(Engine& engine, const ApiOptions& options) {
  auto impl = std::make_unique<Impl>(engine, options);
  net::ServerOptions http;
  http.address = options.address;
  http.port = options.port;
  http.threads = options.io_threads;
  http.error_body = [](int, const Error& error) { return error_json(error); };
  Impl* raw = impl.get();
  FF_TRY(server, net::HttpServer::start(std::move(http),
                                        [raw](std::shared_ptr<net::Exchange> exchange) { raw->handle(exchange); }));
  impl->http = std::move(server);
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

std::string ApiServer::url() const {
  const std::string& address = impl_->http->address();
  const bool six = address.find(':') != std::string::npos;
  return "http://" + (six ? "[" + address + "]" : address) + ":" + std::to_string(impl_->http->port());
}

void ApiServer::drain(std::chrono::milliseconds patience) {
  impl_->http->drain(patience);
  impl_->pool.stop();
}

}  // namespace flowfabric::api
