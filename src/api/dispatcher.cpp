#include "api/dispatcher.hpp"

#include <algorithm>
#include <chrono>

#include "api/approval_page.hpp"
#include "api/browser_guard.hpp"
#include "base/check.hpp"

namespace flowfabric::api {
namespace {

using Parameters = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t max_waiting_calls = 10000;

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

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& segments) {
  if (pattern.size() != segments.size()) return false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!varies(pattern[i]) && pattern[i] != segments[i]) return false;
  }
  return true;
}

Parameters parameters_of(const std::vector<std::string>& pattern, const std::vector<std::string>& segments) {
  Parameters parameters;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string& name = pattern[i];
    if (varies(name)) parameters[name.substr(1, name.size() - 2)] = segments[i];
  }
  return parameters;
}

const QueryParameter* find_query(const Route& route, std::string_view name) {
  const auto found = std::find_if(route.query.begin(), route.query.end(),
                                  [&](const QueryParameter& parameter) { return parameter.name == name; });
  return found == route.query.end() ? nullptr : &*found;
}

// Unknown parameters, and repeated ones of which only one would be used, must not be ignored silently.
Result<void> check_query(const Route& route, const net::Request& request) {
  for (auto at = request.query.begin(); at != request.query.end(); ++at) {
    const std::string& name = at->first;
    const QueryParameter* known = find_query(route, name);
    if (known == nullptr) return fail(Errc::invalid_argument, name + ": unknown parameter", name);
    const bool twice = std::any_of(request.query.begin(), at, [&](const auto& before) { return before.first == name; });
    if (twice && !known->is_list) return fail(Errc::invalid_argument, name + ": appears twice", name);
  }
  return {};
}

// For a caller that reaches one namespace only.
Error about_all_namespaces(const Caller& caller) {
  return {Errc::permission_denied,
          "the key \"" + caller.name + "\" is restricted to the namespace " + *caller.name_space +
              ", and this call is about all namespaces",
          {},
          {}};
}

// For a client that is restricted to one namespace: the request must be restricted to it. Reads the store, so it
// blocks.
Result<void> keep_to_namespace(const Route& route, const Call& call) {
  bool kept = route.keeps_to_namespace;
  if (find_query(route, "namespace") != nullptr) {
    FF_TRY_VOID(call.check_reach(*call.query("namespace")));
    kept = true;
  }
  if (call.has_parameter("execution_id")) {
    FF_TRY(id, call.execution_id());
    FF_TRY_VOID(call.check_reach(id));
    kept = true;
  }
  if (call.has_parameter("flow_id")) {
    FF_TRY(id, call.flow_id());
    FF_TRY_VOID(call.check_reach_of_flow(id));
    kept = true;
  }
  if (call.has_parameter("redrive_id")) {
    FF_TRY_VOID(call.check_reach_of_redrive(call.parameter("redrive_id")));
    kept = true;
  }
  if (call.has_parameter("namespace")) {
    FF_TRY_VOID(call.check_reach(call.parameter("namespace")));
    kept = true;
  }
  if (kept) return {};
  return Unexpected(about_all_namespaces(call.caller()));
}

std::int64_t steady_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

void refuse(net::Exchange& exchange, const Error& error) { exchange.respond(error_response(error)); }

void refuse(net::Exchange& exchange, Errc code, std::string message) {
  refuse(exchange, Error{code, std::move(message), {}, {}});
}

void refuse_method(net::Exchange& exchange, const std::string& allowed) {
  auto response = error_response(
      Error{Errc::method_not_allowed, exchange.request().method + " is not allowed here; allowed: " + allowed, {}, {}});
  response.headers.add("Allow", allowed);
  exchange.respond(std::move(response));
}

}  // namespace

Dispatcher::Dispatcher(Engine& engine, const ApiOptions& options)
    : engine_(engine),
      cors_origins_(options.cors_origins),
      pages_(options.dashboard.enabled ? std::optional<DashboardPages>(std::in_place) : std::nullopt),
      overview_(options.dashboard.enabled ? Overview::start(engine, options.dashboard.store_kind) : nullptr),
      gatekeeper_(std::make_shared<Gatekeeper>(engine, options.api_keys)),
      metrics_(std::make_shared<HttpMetrics>(options.tracer)),
      pool_(std::make_shared<Pool>(options.pool_threads, max_waiting_calls)),
      readiness_(pool_, [&engine] { return engine.ready(); }, steady_ms) {
  std::vector<Route> table = all_routes(options.streams, options.dashboard, overview_);
  if (!pages_) std::erase_if(table, [](const Route& route) { return route.of_dashboard; });
  openapi_ = openapi_json(table);
  for (Route& route : table) {
    auto segments = split(route.pattern);
    routes_.push_back({std::move(route), std::move(segments)});
  }
}

void Dispatcher::handle(std::shared_ptr<net::Exchange> exchange) {
  hide_approval_token(exchange->request());
  const auto counted = std::make_shared<CountedExchange>(std::move(exchange), metrics_);
  if (is_approval_link(counted->request())) return dispatch_approval(counted);
  counted->allow_origins(cors_origins_);
  if (!gatekeeper_->required()) {
    const auto checked = check_sender(counted->request(), cors_origins_);
    if (!checked) return refuse(*counted, checked.error());
  }
  dispatch(counted);
}

void Dispatcher::dispatch(const Exchange& exchange) {
  const net::Request& request = exchange->request();
  std::string allowed;
  for (const Prepared& prepared : routes_) {
    if (!matches(prepared.segments, request.segments)) continue;
    exchange->matched(prepared.route.pattern);
    if (prepared.route.method == request.method) {
      if (prepared.route.anybody) return let_anybody_in(prepared, exchange);
      return let_in(exchange, prepared.route.needs,
                    [this, &prepared, exchange](Caller caller) { run(prepared, exchange, std::move(caller)); });
    }
    allowed += (allowed.empty() ? "" : ", ") + prepared.route.method;
  }
  if (allowed.empty()) {
    if (dispatch_plain(exchange) || dispatch_dashboard(exchange)) return;
    return refuse(*exchange, Errc::not_found, "there is no route " + request.path);
  }
  if (exchange->answer_preflight(allowed)) return;
  refuse_method(*exchange, allowed);
}

const std::vector<Dispatcher::Plain>& Dispatcher::plain_ones() {
  static const std::vector<Plain> all = {{"/healthz", true, &Dispatcher::answer_health},
                                         {"/readyz", true, &Dispatcher::answer_ready},
                                         {"/openapi.json", true, &Dispatcher::answer_openapi},
                                         {"/metrics", false, &Dispatcher::answer_metrics}};
  return all;
}

bool Dispatcher::dispatch_plain(const Exchange& exchange) {
  const net::Request& request = exchange->request();
  for (const Plain& plain : plain_ones()) {
    if (plain.path != request.path) continue;
    exchange->matched(plain.path);
    exchange->forget_span();
    if (request.method != "GET" && request.method != "HEAD") {
      refuse_method(*exchange, "GET, HEAD");
    } else if (plain.anybody) {
      (this->*plain.answer)(exchange);
    } else {
      let_in(exchange, ApiRole::viewer, [this, &plain, exchange](const Caller& caller) {
        if (caller.name_space) return refuse(*exchange, about_all_namespaces(caller));
        (this->*plain.answer)(exchange);
      });
    }
    return true;
  }
  return false;
}

// Anybody may load the pages: what they show, they ask the API for.
bool Dispatcher::dispatch_dashboard(const Exchange& exchange) {
  const net::Request& request = exchange->request();
  const auto route = pages_ ? pages_->route_of(request.path) : std::nullopt;
  if (!route) return false;
  exchange->matched(*route);
  exchange->forget_span();
  if (request.method != "GET" && request.method != "HEAD") {
    refuse_method(*exchange, "GET, HEAD");
    return true;
  }
  net::Response response = pages_->answer(request);
  if (response.status == 404) {
    response.body = error_json({Errc::not_found, "the dashboard has no file " + request.path, {}, {}});
  }
  exchange->respond(std::move(response));
  return true;
}

// No key keeps pages of other sites away from what needs none.
void Dispatcher::let_anybody_in(const Prepared& prepared, const Exchange& exchange) {
  const auto checked = check_origin(exchange->request(), cors_origins_);
  if (!checked) return refuse(*exchange, checked.error());
  run(prepared, exchange, Caller{"", ApiRole::viewer, {}});
}

// Anybody who has the token may use the page. No page of another origin may read it, whatever cors_origins allows.
void Dispatcher::dispatch_approval(const Exchange& exchange) {
  const net::Request& request = exchange->request();
  exchange->matched(approval_route);
  if (!gatekeeper_->required()) {
    if (const auto checked = check_host(request); !checked) return refuse(*exchange, checked.error());
  }
  if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
    return refuse_method(*exchange, "GET, HEAD, POST");
  }
  const bool queued =
      pool_->submit([this, exchange] { exchange->respond(answer_approval(engine_, exchange->request())); });
  if (!queued) exchange->respond(approval_problem(too_many_waiting()));
}

void Dispatcher::let_in(const Exchange& exchange, ApiRole needs, std::function<void(Caller)> go_on) {
  const auto decide = [exchange, needs, go_on = std::move(go_on)](Result<Caller> caller) {
    if (!caller) return refuse(*exchange, caller.error());
    if (const auto may = check_role(*caller, needs); !may) return refuse(*exchange, may.error());
    go_on(std::move(*caller));
  };
  if (auto caller = gatekeeper_->recall(exchange->request())) return decide(std::move(*caller));
  in_pool(exchange, [this, exchange, decide] { decide(gatekeeper_->ask(exchange->request())); });
}

void Dispatcher::run(const Prepared& prepared, const Exchange& exchange, Caller caller) {
  const net::Request& request = exchange->request();
  if (prepared.route.method != "GET" && !prepared.route.signed_by_sender) {
    const auto checked = check_content_type(request, prepared.route.takes_bytes);
    if (!checked) return refuse(*exchange, checked.error());
  }
  if (!prepared.route.signed_by_sender) {
    if (const auto checked = check_query(prepared.route, request); !checked) return refuse(*exchange, checked.error());
  }
  const bool everywhere = !caller.name_space.has_value();
  const auto call = std::make_shared<Call>(exchange, Call::Home{engine_, pool_, gatekeeper_}, std::move(caller),
                                           parameters_of(prepared.segments, request.segments));
  if (everywhere) return prepared.route.run(call);
  call->in_pool([&prepared, call] {
    if (const auto kept = keep_to_namespace(prepared.route, *call); !kept) return call->refuse(kept.error());
    prepared.route.run(call);
  });
}

void Dispatcher::in_pool(const Exchange& exchange, std::function<void()> work) {
  if (!pool_->submit(std::move(work))) refuse(*exchange, too_many_waiting());
}

void Dispatcher::answer_health(const Exchange& exchange) {
  net::Response response;
  response.body = R"({"status":"ok"})";
  exchange->respond(std::move(response));
}

// Anybody may ask, so nothing is said about the cause; the log has it.
void Dispatcher::answer_ready(const Exchange& exchange) {
  if (draining_) return refuse(*exchange, Errc::shutting_down, "this server is stopping");
  readiness_.ask([exchange](bool ready) {
    if (!ready) return refuse(*exchange, Errc::unavailable, "the store cannot be used; the log of the server says why");
    net::Response response;
    response.body = R"({"status":"ready"})";
    exchange->respond(std::move(response));
  });
}

// In the pool, because the engine queries its store for some metrics.
void Dispatcher::answer_metrics(const Exchange& exchange) {
  in_pool(exchange, [this, exchange] {
    net::Response response;
    response.content_type = "text/plain; version=0.0.4";
    response.body = engine_.metrics() + metrics_->text();
    exchange->respond(std::move(response));
  });
}

void Dispatcher::answer_openapi(const Exchange& exchange) {
  net::Response response;
  response.body = openapi_;
  exchange->respond(std::move(response));
}

}  // namespace flowfabric::api
