// Sends the spans of a tracer to a collector, on a separate thread.
//
// A batch that cannot be delivered is sent again, with increasing pauses, without a limit; meanwhile the queue fills
// and then drops new spans. So memory is bounded by the queue and one batch. Batches that the collector refuses
// permanently are dropped at once. A batch may arrive twice if the response to the first attempt was lost.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include <flowfabric/result.hpp>

#include "base/entropy.hpp"
#include "net/http_client.hpp"
#include "observe/tracer.hpp"
#include "otlp/encode.hpp"

namespace flowfabric::otlp {

struct Endpoint {
  std::string url{};     // http(s)://host:port
  std::string target{};  // /v1/traces, below the path of the URL
};
// Takes a base URL like OTEL_EXPORTER_OTLP_ENDPOINT.
Result<Endpoint> read_endpoint(const std::string& url);

struct ExporterOptions {
  Endpoint endpoint{};
  net::Headers headers{};
  std::string ca_file{};  // PEM; empty: the CA certificates of the system
  Resource resource{};
  std::size_t max_batch = 512;
  std::chrono::milliseconds patience{1'000};  // how long a span waits for others to share its batch
  std::chrono::milliseconds timeout{10'000};  // of one attempt
  std::chrono::milliseconds first_pause{500};
  std::chrono::milliseconds longest_pause{30'000};
};

class Exporter {
 public:
  static Result<std::unique_ptr<Exporter>> start(ExporterOptions options, std::shared_ptr<observe::Tracer> tracer);
  ~Exporter() { finish(std::chrono::milliseconds(0)); }
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // Sends the remaining spans, and drops those that are not sent within that time.
  void finish(std::chrono::milliseconds time);

 private:
  struct Verdict {
    bool over = false;  // sent or refused
    std::chrono::milliseconds wait{0};
  };

  Exporter(ExporterOptions options, std::shared_ptr<observe::Tracer> tracer);
  void run();
  bool deliver(const std::vector<observe::Span>& batch);
  Verdict judge(const Result<net::Response>& response, std::size_t spans);
  void taken(const net::Response& response, std::size_t spans);
  void refused(std::size_t spans, const std::string& problem);
  void complain(const std::string& problem);
  std::chrono::milliseconds next_pause();
  void pause(std::chrono::milliseconds time);
  void drop_the_rest();

  const ExporterOptions options_;
  const std::shared_ptr<observe::Tracer> tracer_;
  const Entropy entropy_ = system_entropy();
  std::stop_source give_up_;
  std::optional<net::HttpClient> client_;
  std::chrono::milliseconds pause_;
  bool in_trouble_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool finishing_ = false;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace flowfabric::otlp
