// A server that sends its spans to a collector: the spans that arrive, and the effects of a bad collector on the
// server.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/api.hpp"
#include "e2e/support/test_client.hpp"
#include "net/http_client.hpp"
#include "open/open.hpp"
#include "otlp/exporter.hpp"
#include "support/collector.hpp"
#include "support/exposition.hpp"
#include "support/free_port.hpp"
#include "support/http_server.hpp"
#include "support/stores.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using test::CollectedSpan;
using test::Collector;
using test::eventually;
using ::testing::IsEmpty;

const std::string trace = "0af7651916cd43dd8448eb211c80319c";
const std::string submitter = "b7ad6b7169203331";
const std::string traceparent = "00-" + trace + "-" + submitter + "-01";

std::vector<CollectedSpan> with(std::vector<CollectedSpan> spans, const std::string& key, const std::string& value) {
  std::erase_if(spans, [&](const CollectedSpan& span) { return span.at(key) != value; });
  return spans;
}

std::vector<CollectedSpan> named(std::vector<CollectedSpan> spans, const std::string& name) {
  std::erase_if(spans, [&](const CollectedSpan& span) { return span.name != name; });
  return spans;
}

// The lease periods of workers, in order.
std::vector<CollectedSpan> turns_of(const std::vector<CollectedSpan>& spans) {
  std::vector<CollectedSpan> turns = named(spans, "attempt send");
  const auto epoch = [](const CollectedSpan& span) { return std::stoll(span.at("flowfabric.lease.epoch")); };
  std::sort(turns.begin(), turns.end(), [&](const auto& a, const auto& b) { return epoch(a) < epoch(b); });
  return turns;
}

// The objects of `flowfabric serve`, in this process.
class TracedServer {
 public:
  TracedServer(const std::string& store_url, const std::string& collector_url, observe::TracerOptions tracing = {})
      : tracer_(std::make_shared<observe::Tracer>(tracing)) {
    otlp::ExporterOptions exporting;
    exporting.endpoint = must(otlp::read_endpoint(collector_url));
    exporting.resource = {"flowfabric", "test", "i-1"};
    exporting.patience = milliseconds(10);
    exporting.first_pause = milliseconds(10);
    exporting.longest_pause = milliseconds(100);
    exporter_ = must(otlp::Exporter::start(std::move(exporting), tracer_));
    engine_ = must(open_engine(store_url, {}, tracer_));
    api::ApiOptions options;
    options.port = 0;
    options.tracer = tracer_;
    api_ = must(api::ApiServer::start(*engine_, options));
    client_.emplace(connect());
  }
  ~TracedServer() { stop(milliseconds(0)); }

  // As on SIGTERM.
  void stop(milliseconds flush) {
    client_.reset();
    api_->begin_drain();
    engine_->stop();
    api_->drain(milliseconds(5000));
    exporter_->finish(flush);
  }

  net::HttpClient connect() const {
    net::ClientOptions options;
    options.url = api_->url();
    return must(net::HttpClient::create(options));
  }
  net::Response call(const std::string& method, const std::string& target, const json::value& body = nullptr,
                     net::Headers headers = {}) {
    net::ClientRequest request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    if (!body.is_null()) {
      request.headers.add("Content-Type", "application/json");
      request.body = json::serialize(body);
    }
    return must(client_->request(request));
  }
  json::value post(const std::string& target, const json::value& body, net::Headers headers = {}) {
    const net::Response response = call("POST", target, body, std::move(headers));
    if (response.status >= 300) throw std::runtime_error(target + ": " + response.body);
    return json::parse(response.body);
  }
  std::string create(json::object more = {}, net::Headers headers = {}) {
    json::object body = {{"lane", "mail"}, {"kind", "send"}};
    for (const auto& [name, value] : more) body[name] = value;
    return text(post("/v1/executions", body, std::move(headers)).at("execution_id"));
  }
  std::string claim(const std::string& instance, std::uint32_t lease_ttl_ms = 600'000) {
    const auto reply = post("/v1/claims", {{"worker_id", "w"},
                                           {"worker_instance_id", instance},
                                           {"lanes", {"mail"}},
                                           {"lease_ttl_ms", lease_ttl_ms},
                                           {"wait_ms", 60000}});
    if (reply.at("executions").as_array().empty()) throw std::runtime_error("nothing to claim");
    return text(reply.at("executions").at(0).at("handle"));
  }
  void complete(const std::string& handle) { post("/v1/leases/complete", {{"handle", handle}}); }

  double metric(const std::string& name, const std::map<std::string, std::string>& labels = {}) {
    return test::parse_exposition(call("GET", "/metrics").body).sum(name, labels);
  }
  observe::Tracer& tracer() { return *tracer_; }
  Engine& engine() { return *engine_; }

 private:
  std::shared_ptr<observe::Tracer> tracer_;
  std::unique_ptr<otlp::Exporter> exporter_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<api::ApiServer> api_;
  std::optional<net::HttpClient> client_;
};

class Tracing : public testing::TestWithParam<test::StoreKind> {
 protected:
  Tracing() : database_(test::make_database(GetParam().id)), schema_(database_->open()) {}

  std::string url() const { return database_->url(); }
  // Until the collector has all spans of an execution.
  std::vector<CollectedSpan> spans_of(const std::string& execution_id, std::size_t count) {
    std::vector<CollectedSpan> found;
    EXPECT_TRUE(eventually([&] {
      found = with(collector.spans(), "flowfabric.execution.id", execution_id);
      return found.size() >= count;
    })) << found.size();
    EXPECT_EQ(found.size(), count);
    EXPECT_THAT(collector.complaints(), IsEmpty());
    return found;
  }

  Collector collector;

 private:
  std::unique_ptr<test::TestDatabase> database_;
  std::unique_ptr<Store> schema_;
};

INSTANTIATE_TEST_SUITE_P(, Tracing, testing::ValuesIn(test::store_kinds()),
                         [](const auto& parameter) { return parameter.param.name; });

// On the stores that several servers can share.
class SharedTracing : public Tracing {
 public:
  static std::vector<test::StoreKind> kinds() {
    std::vector<test::StoreKind> shared = test::store_kinds();
    std::erase_if(shared, [](const test::StoreKind& kind) { return kind.id == test::StoreKindId::memory; });
    return shared;
  }
};
INSTANTIATE_TEST_SUITE_P(, SharedTracing, testing::ValuesIn(SharedTracing::kinds()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Tracing, OneExecutionIsOneTree) {
  TracedServer server(url(), collector.url());
  const std::string id = server.create({{"policy", {{"retry", {{"max_retries", 1}, {"initial_delay_ms", 1}}}}}},
                                       {{"traceparent", traceparent}});
  server.post("/v1/leases/fail", {{"handle", server.claim("w-1")}, {"category", "smtp"}, {"message", "greylisted"}});
  server.complete(server.claim("w-2"));
  const auto spans = spans_of(id, 3);
  ASSERT_EQ(spans.size(), 3u);

  const auto lives = named(spans, "execution send");
  const auto turns = turns_of(spans);
  ASSERT_EQ(lives.size(), 1u);
  ASSERT_EQ(turns.size(), 2u);
  const CollectedSpan& life = lives[0];
  EXPECT_EQ(life.trace_id, trace);
  EXPECT_EQ(life.parent_id, submitter);
  EXPECT_EQ(life.at("flowfabric.outcome"), "completed");
  EXPECT_EQ(life.kind, 1);
  EXPECT_FALSE(life.failed);
  for (const CollectedSpan& turn : turns) {
    EXPECT_EQ(turn.trace_id, trace);
    EXPECT_EQ(turn.parent_id, life.span_id);
    EXPECT_GE(turn.start_ns, life.start_ns);
    EXPECT_LE(turn.end_ns, life.end_ns);
  }
  EXPECT_NE(turns[0].span_id, turns[1].span_id);
  EXPECT_EQ(turns[0].at("flowfabric.outcome"), "retry_scheduled");
  EXPECT_EQ(turns[0].at("flowfabric.worker.instance_id"), "w-1");
  EXPECT_EQ(turns[0].at("error.type"), "smtp");
  EXPECT_EQ(turns[0].problem, "greylisted");
  EXPECT_TRUE(turns[0].failed);
  EXPECT_EQ(turns[1].at("flowfabric.outcome"), "completed");
  EXPECT_EQ(turns[1].at("flowfabric.worker.instance_id"), "w-2");
  EXPECT_EQ(turns[1].at("flowfabric.attempt.index"), "1");
  EXPECT_EQ(turns[1].at("flowfabric.attempt.type"), "retry");
  EXPECT_FALSE(turns[1].failed);

  // The request that submitted it belongs to the same trace; those of the worker, which sent no traceparent, do not.
  const auto requests = named(collector.spans_of(trace), "POST /v1/executions");
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].parent_id, submitter);
  EXPECT_EQ(requests[0].kind, 2);
  EXPECT_EQ(collector.spans_of(trace).size(), 4u);
}

TEST_P(Tracing, TheClockEndsTurnsToo) {
  TracedServer server(url(), collector.url());
  const std::string id = server.create({{"traceparent", traceparent}});
  server.claim("w-1", 100);
  server.complete(server.claim("w-2"));  // waits until the clock has released the first lease
  const auto turns = turns_of(spans_of(id, 3));
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[0].at("flowfabric.outcome"), "lease_expired");
  EXPECT_EQ(turns[0].at("flowfabric.worker.instance_id"), "w-1");
  EXPECT_EQ(turns[0].at("flowfabric.ended_by"), "clock");
  EXPECT_GE(turns[0].end_ns - turns[0].start_ns, 100'000'000);
  EXPECT_TRUE(turns[0].failed);
  EXPECT_EQ(turns[1].at("flowfabric.attempt.type"), "reclaim");
  EXPECT_EQ(turns[1].parent_id, turns[0].parent_id);
}

TEST_P(SharedTracing, SeveralServersMakeOneTree) {
  TracedServer first(url(), collector.url());
  TracedServer second(url(), collector.url());
  const std::string id = first.create({{"policy", {{"retry", {{"max_retries", 1}, {"initial_delay_ms", 1}}}}}});
  first.post("/v1/leases/fail", {{"handle", first.claim("w-1")}, {"category", "smtp"}});
  second.complete(second.claim("w-2"));
  const auto spans = spans_of(id, 3);
  const auto lives = named(spans, "execution send");
  ASSERT_EQ(lives.size(), 1u);
  EXPECT_EQ(lives[0].parent_id, "");
  std::string uuid = id.substr(id.find('-') + 1);
  std::erase(uuid, '-');
  EXPECT_EQ(lives[0].trace_id, uuid) << "a trace of its own is named after the execution";
  for (const CollectedSpan& turn : turns_of(spans)) {
    EXPECT_EQ(turn.trace_id, lives[0].trace_id);
    EXPECT_EQ(turn.parent_id, lives[0].span_id);
  }
}

TEST_P(Tracing, WhatIsNotSampledIsNotSent) {
  TracedServer server(url(), collector.url());
  const std::string unwanted = "00-" + trace + "-" + submitter + "-00";
  const std::string id = server.create({}, {{"traceparent", unwanted}});
  server.complete(server.claim("w-1"));
  const std::string other = server.create();
  server.complete(server.claim("w-1"));
  spans_of(other, 2);
  server.stop(milliseconds(60'000));
  EXPECT_THAT(with(collector.spans(), "flowfabric.execution.id", id), IsEmpty());
  EXPECT_THAT(collector.spans_of(trace), IsEmpty());
}

// ---------------------------------------------------------------- requests

class RequestSpans : public testing::Test {
 protected:
  // The span of the request with that id.
  CollectedSpan span_of(const std::string& request_id) {
    std::vector<CollectedSpan> found;
    EXPECT_TRUE(eventually([&] {
      found = with(collector.spans(), "flowfabric.request.id", request_id);
      return !found.empty();
    })) << request_id;
    EXPECT_EQ(found.size(), 1u);
    EXPECT_THAT(collector.complaints(), IsEmpty());
    return found.empty() ? CollectedSpan{} : found.front();
  }
  static net::Headers as(const std::string& request_id) { return {{"X-Request-Id", request_id}}; }

  Collector collector;
  TracedServer server{"memory:", collector.url()};
};

TEST_F(RequestSpans, SayWhatWasAskedAndAnswered) {
  const std::string id = server.create({}, as("r-1"));
  const CollectedSpan created = span_of("r-1");
  EXPECT_EQ(created.name, "POST /v1/executions");
  EXPECT_EQ(created.kind, 2);
  EXPECT_EQ(created.parent_id, "");
  EXPECT_EQ(created.at("http.request.method"), "POST");
  EXPECT_EQ(created.at("http.route"), "/v1/executions");
  EXPECT_EQ(created.at("http.response.status_code"), "201");
  EXPECT_EQ(created.at("url.path"), "/v1/executions");
  EXPECT_EQ(created.at("url.scheme"), "http");
  EXPECT_FALSE(created.failed);
  EXPECT_GT(created.end_ns, created.start_ns);
  EXPECT_EQ(created.resource.at("service.name"), "flowfabric");

  server.call("GET", "/v1/executions/" + id + "?secret=1", nullptr, as("r-2"));
  const CollectedSpan refused = span_of("r-2");
  EXPECT_EQ(refused.name, "GET /v1/executions/{execution_id}");
  EXPECT_EQ(refused.at("url.path"), "/v1/executions/" + id) << "without the query";
  EXPECT_EQ(refused.at("http.response.status_code"), "400");
  EXPECT_FALSE(refused.failed) << "that is the caller's mistake";

  server.call("BREW", "/v1/coffee", nullptr, as("r-3"));
  const CollectedSpan unknown = span_of("r-3");
  EXPECT_EQ(unknown.name, "HTTP");
  EXPECT_EQ(unknown.at("http.request.method"), "_OTHER");
  EXPECT_EQ(unknown.at("http.route"), "");
}

TEST_F(RequestSpans, AClaimThatWaitsLastsAsLongAsItWaits) {
  std::promise<int> answered;
  std::thread waiting([&] {
    net::HttpClient client = server.connect();
    net::ClientRequest request;
    request.method = "POST";
    request.target = "/v1/claims";
    request.headers = {{"Content-Type", "application/json"}, {"X-Request-Id", "parked"}};
    request.body = R"({"worker_id":"w","worker_instance_id":"w-1","lanes":["mail"],"wait_ms":60000})";
    answered.set_value(must(client.request(request)).status);
  });
  ASSERT_TRUE(eventually([&] { return server.metric("flowfabric_parked_claims") == 1; }));
  std::this_thread::sleep_for(milliseconds(50));
  server.create();
  EXPECT_EQ(answered.get_future().get(), 200);
  waiting.join();
  EXPECT_GE(span_of("parked").end_ns - span_of("parked").start_ns, 50'000'000);
}

TEST_F(RequestSpans, AStreamEndsItsSpanWhenItBegins) {
  net::HttpClient client = server.connect();
  net::ClientRequest request;
  request.target = "/v1/events?cursor=earliest";
  request.headers = {{"Accept", "text/event-stream"}, {"X-Request-Id", "stream"}};
  server.create();
  must(client.stream(request, [&](std::string_view) {
    EXPECT_EQ(span_of("stream").at("http.response.status_code"), "200") << "while the stream is open";
    return false;
  }));
}

TEST_F(RequestSpans, AnAnswerThatTheServerIsToBlameForIsAnError) {
  server.engine().stop();
  EXPECT_EQ(server.call("POST", "/v1/executions", {{"kind", "send"}}, as("late")).status, 503);
  const CollectedSpan span = span_of("late");
  EXPECT_TRUE(span.failed);
  EXPECT_EQ(span.problem, "Service Unavailable");
  EXPECT_EQ(span.at("error.type"), "503");
}

TEST_F(RequestSpans, ProbesAndScrapesHaveNone) {
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/openapi.json"}) {
    EXPECT_EQ(server.call("GET", path, nullptr, as(path)).status, 200);
  }
  server.create({}, as("after"));
  span_of("after");
  for (const CollectedSpan& span : collector.spans()) EXPECT_EQ(span.at("flowfabric.request.id"), "after");
}

// ---------------------------------------------------------------- bad collectors

void work(TracedServer& server, int executions) {
  for (int i = 0; i < executions; ++i) {
    server.create();
    server.complete(server.claim("w-1"));
  }
}
constexpr int spans_of_work = 5;  // three requests, an attempt, an execution

TEST(BadCollectors, BusyOnesGetEverythingInTheEnd) {
  Collector collector;
  collector.answer_next({{.status = 503}, {.status = 503}, {.status = 429}});
  TracedServer server("memory:", collector.url());
  work(server, 20);
  ASSERT_TRUE(eventually([&] { return server.metric("flowfabric_spans_exported_total") == 20 * spans_of_work; }));
  EXPECT_EQ(collector.spans().size(), 20u * spans_of_work);
  EXPECT_EQ(server.metric("flowfabric_span_export_failures_total"), 3);
  EXPECT_EQ(server.metric("flowfabric_spans_dropped_total"), 0);
  EXPECT_EQ(server.metric("flowfabric_spans_queued"), 0);
}

TEST(BadCollectors, ThoseThatAreAwayFindNothingMissingWhenTheyComeBack) {
  const int port = test::free_port();
  TracedServer server("memory:", "http://127.0.0.1:" + std::to_string(port));
  work(server, 20);
  ASSERT_TRUE(eventually([&] { return server.metric("flowfabric_span_export_failures_total") >= 1; }));
  net::ServerOptions options;
  options.port = static_cast<std::uint16_t>(port);
  Collector collector(std::move(options));
  ASSERT_TRUE(eventually([&] { return collector.spans().size() == 20u * spans_of_work; })) << collector.spans().size();
}

TEST(BadCollectors, SilentOnesCostSpansButNothingElse) {
  Collector collector;
  collector.fall_silent();
  constexpr std::size_t max_queued = 10;
  TracedServer server("memory:", collector.url(), {1, max_queued});
  server.create();
  ASSERT_TRUE(eventually([&] { return collector.requests() == 1; })) << "one batch is under way, and stays so";
  work(server, 20);  // each call is answered, although the spans are not accepted
  const double dropped = server.metric("flowfabric_spans_dropped_total", {{"reason", "queue_full"}});
  EXPECT_EQ(dropped, 20 * spans_of_work - max_queued);
  EXPECT_EQ(server.metric("flowfabric_spans_queued"), max_queued);
  EXPECT_EQ(server.metric("flowfabric_spans_exported_total"), 0);
  server.stop(milliseconds(10));
  EXPECT_EQ(server.tracer().dropped_at_stop.value(), max_queued + 1);
}

TEST(BadCollectors, ThoseThatRefuseAreNotAskedAgain) {
  Collector collector;
  collector.answer_next({{.status = 401}});
  TracedServer server("memory:", collector.url());
  server.create();
  ASSERT_TRUE(
      eventually([&] { return server.metric("flowfabric_spans_dropped_total", {{"reason", "refused"}}) >= 1; }));
  EXPECT_EQ(collector.requests(), 1u);
}

}  // namespace
}  // namespace flowfabric::e2e
