// An OpenTelemetry collector that keeps what it receives and checks everything: every body must have the form of
// OTLP/JSON.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/http_server.hpp"

namespace flowfabric::test {

struct CollectedSpan {
  std::string trace_id{};
  std::string span_id{};
  std::string parent_id{};  // empty: the first of its trace
  std::string name{};
  std::int64_t kind = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::map<std::string, std::string> attributes{};
  bool failed = false;
  std::string problem{};
  std::map<std::string, std::string> resource{};

  // Empty if it has none.
  std::string at(const std::string& key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? "" : found->second;
  }
};

// On 127.0.0.1. Thread-safe.
class Collector {
 public:
  explicit Collector(net::ServerOptions options = {});
  ~Collector();

  std::uint16_t port() const { return server_->port(); }
  std::string url() const;
  // The responses to the next requests, one each; later requests are accepted.
  void answer_next(std::vector<net::Response> answers);
  // From now on no request is answered.
  void fall_silent();

  std::size_t requests() const;
  // The headers of the last request.
  net::Headers headers() const;
  // The accepted spans, in the order of arrival.
  std::vector<CollectedSpan> spans() const;
  std::vector<CollectedSpan> spans_of(const std::string& trace_id) const;
  // The errors of the bodies.
  std::vector<std::string> complaints() const;

 private:
  void handle(std::shared_ptr<net::Exchange> exchange);

  mutable std::mutex mutex_;
  std::deque<net::Response> answers_;
  bool silent_ = false;
  std::vector<std::shared_ptr<net::Exchange>> unanswered_;
  std::size_t requests_ = 0;
  net::Headers headers_;
  std::vector<CollectedSpan> spans_;
  std::vector<std::string> complaints_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace flowfabric::test
