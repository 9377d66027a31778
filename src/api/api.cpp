#include "api/api.hpp"

#include <algorithm>
#include <atomic>

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

bool takes_query(const Route& route, std::string_view name) {
  return std::any_of(route.query.begin(), route.query.end(), [&](const QueryParameter& p) { return p.name == name; });
}

// What nobody knows, or what only one value of is looked at, would be ignored silently.
Result<void> check_query(const Route& route, const net::Request& request) {
  for (auto at = request.query.begin(); at != request.query.end(); ++at) {
    const std::string& name = at->first;
    const auto known = std::find_if(route.query.begin(), route.query.end(),
                                    [&](const QueryParameter& parameter) { return parameter.name == name; });
    if (known == route.query.end()) {
      return fail(Errc::invalid_argument, name + ": there is no such parameter here", name);
    }
    const bool twice = std::any_of(request.query.begin(), at, [&](const auto& before) { return before.first == name; });
    if (twice && !known->repeats) return fail(Errc::invalid_argument, name + ": comes twice", name);
  }
  return {};
}

}  // namespace

struct ApiServer::Impl {
  Impl(Engine& engine_in, const ApiOptions& options)
      : engine(engine_in), gatekeeper(engine_in, options.api_keys), pool(options.pool_threads, max_waiting_calls) {
    for (Route& route : all_routes()) {
      auto segments = split(route.pattern);
      routes.push_back({std::move(route), std::move(segments)});
    }
    std::vector<Route> table = all_routes();
    openapi = openapi_json(table);
  }

  void handle(const std::shared_ptr<net::Exchange>& exchange) {
    net::Request& request = exchange->request();
    std::string allowed;
    for (const PreparedRoute& prepared : routes) {
      if (!matches(prepared, request.segments)) continue;
      if (prepared.route.method == request.method) return let_in(prepared, exchange);
      allowed += (allowed.empty() ? "" : ", ") + prepared.route.method;
    }
    if (answer_plain(exchange)) return;
    if (allowed.empty()) return refuse(*exchange, Errc::not_found, "there is no route " + request.path);
    auto response = error_response(
        Error{Errc::method_not_allowed, request.method + " is not allowed here; allowed: " + allowed, {}, {}});
    response.headers.add("Allow", allowed);
    exchange->respond(std::move(response));
  }

  // Finds out who is calling. Mostly that is known already; else a thread of the pool asks.
  void let_in(const PreparedRoute& prepared, const std::shared_ptr<net::Exchange>& exchange) {
    if (auto caller = gatekeeper.recall(exchange->request())) return admit(prepared, exchange, std::move(*caller));
    const bool taken =
        pool.submit([this, &prepared, exchange] { admit(prepared, exchange, gatekeeper.ask(exchange->request())); });
    if (!taken) refuse(*exchange, Errc::overloaded, "too many requests are waiting; back off and repeat");
  }

  void admit(const PreparedRoute& prepared, const std::shared_ptr<net::Exchange>& exchange, Result<Caller> caller) {
    if (!caller) return refuse(*exchange, caller.error());
    if (const auto may = check_role(*caller, prepared.route.needs); !may) return refuse(*exchange, may.error());
    const net::Request& request = exchange->request();
    if (const auto checked = check_query(prepared.route, request); !checked) return refuse(*exchange, checked.error());
    const bool everywhere = !caller->name_space.has_value();
    const auto call = std::make_shared<Call>(exchange, Call::Home{engine, pool, gatekeeper}, std::move(*caller),
                                             parameters_of(prepared, request.segments));
    if (everywhere) return prepared.route.run(call);
    call->in_pool([&prepared, call] { run_within_reach(prepared, call); });
  }

  // For a caller that reaches one namespace only. Asks the store, so it blocks.
  static void run_within_reach(const PreparedRoute& prepared, const std::shared_ptr<Call>& call) {
    if (const auto within = keep_to_namespace(prepared, *call); !within) return call->refuse(within.error());
    prepared.route.run(call);
  }

  static Result<void> keep_to_namespace(const PreparedRoute& prepared, Call& call) {
    const std::string& reach = *call.caller().name_space;
    const Route& route = prepared.route;
    bool kept = route.keeps_to_namespace;
    if (takes_query(route, "namespace")) {
      FF_TRY_VOID(call.check_reach(*call.query("namespace")));
      kept = true;
    }
    if (call.has_parameter("execution_id")) {
      FF_TRY(id, call.execution_id());
      FF_TRY_VOID(call.check_reach(id));
      kept = true;
    }
    if (call.has_parameter("namespace")) {
      FF_TRY_VOID(call.check_reach(call.parameter("namespace")));
      kept = true;
    }
    if (kept) return {};
    return fail(Errc::permission_denied, "\"" + call.caller().name + "\" reaches only the namespace " + reach +
                                             ", and this call is about all of them");
  }

  static void refuse(net::Exchange& exchange, const Error& error) { exchange.respond(error_response(error)); }
  static void refuse(net::Exchange& exchange, Errc code, std::string message) {
    refuse(exchange, Error{code, std::move(message), {}, {}});
  }

  // What is not part of the API proper: anybody may ask.
  bool answer_plain(const std::shared_ptr<net::Exchange>& exchange) {
    const net::Request& request = exchange->request();
    if (request.method != "GET" && request.method != "HEAD") return false;
    net::Response response;
    if (request.path == "/healthz") {
      response.body = R"({"status":"ok"})";
    } else if (request.path == "/openapi.json") {
      response.body = openapi;
    } else if (request.path == "/readyz") {
      answer_ready(exchange);
      return true;
    } else {
      return false;
    }
    exchange->respond(std::move(response));
    return true;
  }

  // Ready is who reaches its store, and is not about to leave. Its schema was checked when it was opened.
  void answer_ready(const std::shared_ptr<net::Exchange>& exchange) {
    if (draining) return refuse(*exchange, Errc::shutting_down, "this server is about to stop");
    const bool taken = pool.submit([this, exchange] {
      if (const auto now = engine.now(); !now) return refuse(*exchange, now.error());
      net::Response response;
      response.body = R"({"status":"ready"})";
      exchange->respond(std::move(response));
    });
    if (!taken) refuse(*exchange, Errc::overloaded, "too many requests are waiting; back off and repeat");
  }

  Engine& engine;
  Gatekeeper gatekeeper;
  Pool pool;
  std::atomic<bool> draining = false;
  std::vector<PreparedRoute> routes;
  std::string openapi;
  bool secure = false;
  std::unique_ptr<net::HttpServer> http;
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::start(Engine& engine, const ApiOptions& options) {
  auto impl = std::make_unique<Impl>(engine, options);
  net::ServerOptions http = options.http;
  http.address = options.address;
  http.port = options.port;
  http.threads = options.io_threads;
  http.error_body = [](int, const Error& error) { return error_json(error); };
  impl->secure = !http.certificate_file.empty();
  Impl* raw = impl.get();
  FF_TRY(server, net::HttpServer::start(std::move(http),
                                        [raw](std::shared_ptr<net::Exchange> exchange) { raw->handle(exchange); }));
  impl->http = std::move(server);
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

std::string ApiServer::url() const {
  const std::string& address = impl_->http->address();
  const bool six = address.find(':') != std::string::npos;
  return (impl_->secure ? "https://" : "http://") + (six ? "[" + address + "]" : address) + ":" +
         std::to_string(impl_->http->port());
}

Result<void> ApiServer::reload_tls() { return impl_->http->reload_tls(); }

void ApiServer::begin_drain() { impl_->draining = true; }

void ApiServer::drain(std::chrono::milliseconds patience) {
  impl_->http->drain(patience);
  impl_->pool.stop();
}

}  // namespace flowfabric::api
