// Empties the queue of a tracer into a collector, on a thread of its own.
//
// A batch that cannot be delivered is tried again, with pauses that grow, for as long as it takes; meanwhile the queue
// fills up and then drops what is new. So memory is bounded by the queue and one batch. What the collector refuses for good
// is dropped at once. A batch may arrive twice when the answer to the first try got lost.
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
// Takes a base URL as OTEL_EXPORTER_OTLP_ENDPOINT has it.
Result<Endpoint> read_endpoint(const std::string& url);

struct ExporterOptions {
  Endpoint endpoint{};
  net::Headers headers{};
  std::string ca_file{};  // PEM; empty: what the system trusts
  Resource resource{};
  std::size_t max_batch = 512;
  std::chrono::milliseconds patience{1'000};  // how long a span waits for others to share its batch
  std::chrono::milliseconds timeout{10'000};  // of one try
  std::chrono::milliseconds first_pause{500};
  std::chrono::milliseconds longest_pause{30'000};
};

class Exporter {
 public:
  static Result<std::unique_ptr<Exporter>> start(ExporterOptions options, std::shared_ptr<observe::Tracer> tracer);
  ~Exporter() { finish(std::chrono::milliseconds(0)); }
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // Sends what is left, and drops what is not sent within that time.
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
