#include "otlp/exporter.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace flowfabric::otlp {
namespace {

constexpr std::string_view path_of_traces = "/v1/traces";
constexpr std::size_t max_repeated_bytes = 200;  // of a response of the collector, in a log line

// According to OTLP these may be retried; all others are permanent.
bool may_pass(int status) {
  constexpr std::array<int, 4> passing = {429, 502, 503, 504};
  return std::find(passing.begin(), passing.end(), status) != passing.end();
}

// The pause that the collector asks for. If it gives a date, the usual pause is used.
std::optional<std::chrono::milliseconds> retry_after(const net::Response& response) {
  constexpr int longest_s = 300;
  const auto header = response.headers.find("retry-after");
  if (!header) return std::nullopt;
  int seconds = 0;
  const auto [stopped, problem] = std::from_chars(header->data(), header->data() + header->size(), seconds);
  if (problem != std::errc{} || stopped != header->data() + header->size() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, longest_s));
}

}  // namespace

Result<Endpoint> read_endpoint(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t path = scheme == std::string::npos ? scheme : url.find('/', scheme + 3);
  Endpoint endpoint{url.substr(0, path), path == std::string::npos ? "" : url.substr(path)};
  while (endpoint.target.ends_with('/')) endpoint.target.pop_back();
  endpoint.target += path_of_traces;
  const bool sendable = std::all_of(endpoint.target.begin(), endpoint.target.end(),
                                    [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; });
  net::ClientOptions options;
  options.url = endpoint.url;
  if (sendable && net::HttpClient::create(options)) return endpoint;
  return fail(Errc::invalid_argument, "must be http://HOST:PORT or https://HOST:PORT, optionally with a path", "url");
}

Exporter::Exporter(ExporterOptions options, std::shared_ptr<observe::Tracer> tracer)
    : options_(std::move(options)), tracer_(std::move(tracer)), pause_(options_.first_pause) {}

Result<std::unique_ptr<Exporter>> Exporter::start(ExporterOptions options, std::shared_ptr<observe::Tracer> tracer) {
  std::unique_ptr<Exporter> exporter(new Exporter(std::move(options), std::move(tracer)));
  net::ClientOptions client;
  client.url = exporter->options_.endpoint.url;
  client.ca_file = exporter->options_.ca_file;
  client.max_response_bytes = std::size_t{64} * 1024;
  client.stop = exporter->give_up_.get_token();
  FF_TRY(made, net::HttpClient::create(std::move(client)));
  exporter->client_.emplace(std::move(made));
  exporter->thread_ = std::thread([&self = *exporter] { self.run(); });
  return exporter;
}

void Exporter::finish(std::chrono::milliseconds time) {
  if (!thread_.joinable()) return;
  tracer_->finish();
  {
    std::unique_lock lock(mutex_);
    finishing_ = true;
    wake_.notify_all();
    wake_.wait_for(lock, time, [this] { return ended_; });
    give_up_.request_stop();
    wake_.notify_all();
  }
  thread_.join();
}

void Exporter::run() {
  while (const auto batch = tracer_->next_batch(options_.max_batch, options_.patience)) {
    if (batch->empty() || deliver(*batch)) continue;
    tracer_->dropped_at_stop.add(batch->size());
    drop_the_rest();
    break;
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  wake_.notify_all();
}

// False if there was not enough time.
bool Exporter::deliver(const std::vector<observe::Span>& batch) {
  net::ClientRequest request;
  request.method = "POST";
  request.target = options_.endpoint.target;
  request.headers = options_.headers;
  request.headers.add("Content-Type", "application/json");
  request.body = encode(options_.resource, batch);
  request.timeout = options_.timeout;
  while (!give_up_.stop_requested()) {
    const Verdict verdict = judge(client_->request(request), batch.size());
    if (verdict.over) return true;
    pause(verdict.wait);
  }
  return false;
}

Exporter::Verdict Exporter::judge(const Result<net::Response>& response, std::size_t spans) {
  if (response && response->status / 100 == 2) {
    taken(*response, spans);
    return {true, {}};
  }
  tracer_->failed_exports.add();
  if (!response) {
    complain(response.error().message);
    return {false, next_pause()};
  }
  const std::string problem =
      "the collector answered " + std::to_string(response->status) + " " + clipped(response->body, max_repeated_bytes);
  if (may_pass(response->status)) {
    complain(problem);
    const auto usual = next_pause();
    return {false, retry_after(*response).value_or(usual)};
  }
  refused(spans, problem);
  return {true, {}};
}

void Exporter::taken(const net::Response& response, std::size_t spans) {
  pause_ = options_.first_pause;
  const Rejected rejected = read_answer(response.body);
  const std::size_t lost = std::min<std::size_t>(rejected.spans, spans);
  tracer_->exported.add(spans - lost);
  if (lost > 0) return refused(lost, "the collector rejected some: " + clipped(rejected.message, max_repeated_bytes));
  if (in_trouble_) log(LogLevel::info, "spans reach the collector again");
  in_trouble_ = false;
}

void Exporter::refused(std::size_t spans, const std::string& problem) {
  tracer_->dropped_refused.add(spans);
  complain(problem);
}

// Logs once, until the next success.
void Exporter::complain(const std::string& problem) {
  if (!in_trouble_) log(LogLevel::warn, "spans do not reach the collector", {{"error", problem}});
  in_trouble_ = true;
}

// Between half of the current pause and the whole of it, so that many servers do not retry at the same time.
std::chrono::milliseconds Exporter::next_pause() {
  const auto half = pause_ / 2;
  const auto pause = half + std::chrono::milliseconds(entropy_() % static_cast<std::uint64_t>(half.count() + 1));
  pause_ = std::min(2 * pause_, options_.longest_pause);
  return pause;
}

// Ends early when the program stops: then one more attempt is made at once.
void Exporter::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  const bool finishing = finishing_;
  wake_.wait_for(lock, time, [&] { return finishing_ != finishing || give_up_.stop_requested(); });
  if (finishing_ != finishing) pause_ = options_.first_pause;
}

void Exporter::drop_the_rest() {
  std::size_t dropped = 0;
  while (const auto batch = tracer_->next_batch(options_.max_batch, std::chrono::milliseconds(0))) {
    dropped += batch->size();
  }
  tracer_->dropped_at_stop.add(dropped);
  log(LogLevel::warn, "the collector did not accept the last spans within the time limit",
      {{"dropped", std::to_string(tracer_->dropped_at_stop.value())}});
}

}  // namespace flowfabric::otlp
