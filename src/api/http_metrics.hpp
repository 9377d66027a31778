// The metrics of the HTTP server and of the process. docs/operating.md describes each name.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/request_span.hpp"
#include "net/http_server.hpp"
#include "observe/metrics.hpp"
#include "observe/tracer.hpp"

namespace flowfabric::api {

// Thread-safe.
class HttpMetrics {
 public:
  // The tracer whose counters are shown; null: they are zero.
  explicit HttpMetrics(std::shared_ptr<observe::Tracer> tracer);
  // From now on text() includes the metrics of this server, which must exist until the last call of text().
  void watch(const net::HttpServer& server) { server_ = &server; }
  void answered(std::string_view route, std::string_view method, int status, std::int64_t nanoseconds);
  std::string text() const { return registry_.text(); }

  observe::Gauge& in_flight() { return in_flight_; }
  const std::shared_ptr<observe::Tracer>& tracer() const { return tracer_; }

 private:
  using Figure = std::uint64_t net::ServerStatistics::*;
  observe::Compute figure(Figure figure) const;
  void add_figures_of_tracing();

  const std::shared_ptr<observe::Tracer> tracer_;
  std::atomic<const net::HttpServer*> server_{nullptr};
  observe::Registry registry_;
  observe::Family<observe::Counter>& requests_;
  observe::Family<observe::Histogram>& durations_;
  observe::Gauge& in_flight_;
};

// An exchange that counts, traces and logs its response: when it is sent, or, for a stream, when that begins. Every
// response has a request id, the client's own or a new one, and the CORS headers.
class CountedExchange final : public net::Exchange {
 public:
  CountedExchange(std::shared_ptr<net::Exchange> exchange, std::shared_ptr<HttpMetrics> metrics);
  ~CountedExchange() override;

  // The pattern of the route, never the path of the request: the number of values must be small. Before the response.
  void matched(std::string_view route) { route_ = route; }
  // For frequent requests of no interest. Before the response.
  void forget_span() { span_.reset(); }

  // Web pages of these origins may use the API; "*" for all.
  void allow_origins(const std::vector<std::string>& origins);
  // Answers a CORS preflight request. False if it is none, or if the origin is not allowed.
  bool answer_preflight(const std::string& methods);
  const std::string& request_id() const { return request_id_; }

  net::Request& request() override { return exchange_->request(); }
  bool respond(net::Response response) override;
  void respond_and_report(net::Response response, std::function<void(bool)> report) override;
  bool is_abandoned() override { return exchange_->is_abandoned(); }
  std::shared_ptr<net::ResponseStream> begin_stream(net::Response head) override;
  void on_abandoned(std::function<void()> callback) override { exchange_->on_abandoned(std::move(callback)); }

 private:
  void count(int status);
  void sign(net::Response& response) const;

  const std::shared_ptr<net::Exchange> exchange_;
  const std::shared_ptr<HttpMetrics> metrics_;
  const observe::Stopwatch watch_{};
  const std::string_view method_;
  const std::string target_;  // without the query, which may be confidential and must not be logged
  const std::string request_id_;
  std::string allowed_origin_;  // the origin of the request, if it is allowed
  std::string route_;           // empty: none was found
  std::optional<RequestSpan> span_;
  std::atomic<bool> counted_ = false;
};

}  // namespace flowfabric::api
