#include "api/http_metrics.hpp"

#include <algorithm>
#include <array>

#include "api/browser_guard.hpp"
#include "base/entropy.hpp"
#include "base/log.hpp"
#include "observe/process.hpp"

namespace flowfabric::api {
namespace {

using observe::Label;

// Clients can send any word as a method.
std::string_view known_method(const std::string& method) {
  constexpr std::array<std::string_view, 7> known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
  const auto found = std::find(known.begin(), known.end(), method);
  return found == known.end() ? observe::other : *found;
}

// The client's own, if it is valid in a header and a log line; else a new one.
std::string request_id_of(const net::Request& request) {
  constexpr std::size_t max_bytes = 128;
  const auto given = request.headers.find("x-request-id");
  const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
  if (given && !given->empty() && given->size() <= max_bytes && std::all_of(given->begin(), given->end(), is_visible)) {
    return std::string(*given);
  }
  static const Entropy entropy = system_entropy();
  return to_string(random_uuid(entropy));
}

}  // namespace

HttpMetrics::HttpMetrics(std::shared_ptr<observe::Tracer> tracer)
    : tracer_(std::move(tracer)),
      requests_(registry_.counters({"flowfabric_http_requests_total",
                                    "Requests by the pattern of their route, method and status.",
                                    {Label::closed("route"), Label::closed("method"), Label::closed("status")},
                                    2000})),
      durations_(registry_.histograms(
          {"flowfabric_http_request_duration_seconds",
           "Time from the complete request to its response; claims include the time they were parked.",
           {Label::closed("route")}},
          observe::durations())),
      in_flight_(registry_.gauges({"flowfabric_http_requests_in_flight", "Requests in progress."}).with()) {
  registry_.computed_gauges({"flowfabric_http_connections", "Open connections."},
                            figure(&net::ServerStatistics::open_connections));
  registry_.computed_counters({"flowfabric_http_connections_accepted_total", "Connections that were accepted."},
                              figure(&net::ServerStatistics::accepted_connections));
  registry_.computed_counters(
      {"flowfabric_http_connections_refused_total", "Connections refused because of max_connections."},
      figure(&net::ServerStatistics::refused_connections));
  registry_.computed_counters(
      {"flowfabric_http_faults_total", "Requests refused before routing: malformed, too large, too slow."},
      figure(&net::ServerStatistics::faults));
  registry_.computed_counters({"flowfabric_http_received_bytes_total", "Bytes of HTTP received, without TLS."},
                              figure(&net::ServerStatistics::received_bytes));
  registry_.computed_counters({"flowfabric_http_sent_bytes_total", "Bytes of HTTP sent, without TLS."},
                              figure(&net::ServerStatistics::sent_bytes));
  add_figures_of_tracing();
  observe::add_process_metrics(registry_, FLOWFABRIC_VERSION);
}

void HttpMetrics::add_figures_of_tracing() {
  using observe::Sample;
  const auto value = [this](observe::Counter observe::Tracer::* counter) {
    return tracer_ ? static_cast<double>(((*tracer_).*counter).value()) : 0;
  };
  registry_.computed_counters({"flowfabric_spans_exported_total", "Spans that the collector accepted."},
                              observe::one_value([value] { return value(&observe::Tracer::exported); }));
  registry_.computed_counters(
      {"flowfabric_spans_dropped_total",
       "Spans that were dropped: the queue was full, the collector refused them, or the server stopped.",
       {Label::closed("reason")}},
      [value] {
        return std::vector<Sample>{{{"queue_full"}, value(&observe::Tracer::dropped_when_full)},
                                   {{"refused"}, value(&observe::Tracer::dropped_refused)},
                                   {{"stopped"}, value(&observe::Tracer::dropped_at_stop)}};
      });
  registry_.computed_counters({"flowfabric_span_export_failures_total", "Failed attempts to send spans."},
                              observe::one_value([value] { return value(&observe::Tracer::failed_exports); }));
  registry_.computed_gauges({"flowfabric_spans_queued", "Spans waiting to be sent."}, observe::one_value([this] {
                              return tracer_ ? static_cast<double>(tracer_->queued()) : 0;
                            }));
}

observe::Compute HttpMetrics::figure(Figure figure) const {
  return [this, figure]() -> std::vector<observe::Sample> {
    const net::HttpServer* server = server_;
    if (server == nullptr) return {};
    return {{{}, static_cast<double>(server->statistics().*figure)}};
  };
}

void HttpMetrics::answered(std::string_view route, std::string_view method, int status, std::int64_t nanoseconds) {
  requests_.with(route, method, std::to_string(status)).add();
  durations_.with(route).observe(nanoseconds);
}

CountedExchange::CountedExchange(std::shared_ptr<net::Exchange> exchange, std::shared_ptr<HttpMetrics> metrics)
    : exchange_(std::move(exchange)),
      metrics_(std::move(metrics)),
      method_(known_method(exchange_->request().method)),
      target_(exchange_->request().path),
      request_id_(request_id_of(exchange_->request())) {
  if (metrics_->tracer()) span_.emplace(metrics_->tracer(), exchange_->request());
  metrics_->in_flight().add(1);
}

// If unanswered, the server answers it.
CountedExchange::~CountedExchange() { count(500); }

void CountedExchange::count(int status) {
  if (counted_.exchange(true)) return;
  const std::int64_t took_ns = watch_.nanoseconds();
  metrics_->answered(route_.empty() ? "unmatched" : std::string_view(route_), method_, status, took_ns);
  if (span_) span_->end({method_, route_, status, request_id_, took_ns});
  const LogLevel level = status >= 500 ? LogLevel::warn : LogLevel::debug;
  if (log_enabled(level)) {
    log(level, "answered",
        {{"method", std::string(method_)},
         {"path", target_},
         {"status", std::to_string(status)},
         {"request_id", request_id_},
         {"took_us", std::to_string(took_ns / 1000)}});
  }
  metrics_->in_flight().add(-1);
}

void CountedExchange::allow_origins(const std::vector<std::string>& origins) {
  const auto origin = exchange_->request().headers.find("origin");
  if (origin && is_allowed_origin(*origin, origins)) allowed_origin_ = *origin;
}

bool CountedExchange::answer_preflight(const std::string& methods) {
  const net::Request& request = exchange_->request();
  if (request.method != "OPTIONS" || allowed_origin_.empty()) return false;
  net::Response response;
  response.status = 204;
  response.content_type = "";
  response.headers.add("Access-Control-Allow-Methods", methods);
  response.headers.add("Access-Control-Allow-Headers",
                       "authorization, content-type, idempotency-key, last-event-id, traceparent, x-request-id");
  response.headers.add("Access-Control-Max-Age", "600");
  respond(std::move(response));
  return true;
}

void CountedExchange::sign(net::Response& response) const {
  response.headers.add("X-Request-Id", request_id_);
  // What users have stored is data; no browser may take it for a page or a script.
  response.headers.add("X-Content-Type-Options", "nosniff");
  if (allowed_origin_.empty()) return;
  response.headers.add("Access-Control-Allow-Origin", allowed_origin_);
  response.headers.add("Access-Control-Expose-Headers", "x-request-id, retry-after, location, flowfabric-encoding");
  response.headers.add("Vary", "Origin");
}

bool CountedExchange::respond(net::Response response) {
  count(response.status);
  sign(response);
  return exchange_->respond(std::move(response));
}

void CountedExchange::respond_and_report(net::Response response, std::function<void(bool)> report) {
  count(response.status);
  sign(response);
  exchange_->respond_and_report(std::move(response), std::move(report));
}

std::shared_ptr<net::ResponseStream> CountedExchange::begin_stream(net::Response head) {
  count(head.status);
  sign(head);
  return exchange_->begin_stream(std::move(head));
}

}  // namespace flowfabric::api
