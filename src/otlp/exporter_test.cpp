#include "otlp/exporter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/certificates.hpp"
#include "support/collector.hpp"
#include "support/free_port.hpp"
#include "support/http_server.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::otlp {
namespace {

using std::chrono::milliseconds;
using test::Collector;
using test::eventually;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr milliseconds long_enough{60'000};

TEST(OtlpEndpoint, TracesLieBelowTheBaseUrl) {
  EXPECT_EQ(read_endpoint("http://collector:4318")->url, "http://collector:4318");
  EXPECT_EQ(read_endpoint("http://collector:4318")->target, "/v1/traces");
  EXPECT_EQ(read_endpoint("http://collector:4318/")->target, "/v1/traces");
  EXPECT_EQ(read_endpoint("https://[::1]/otlp/")->url, "https://[::1]");
  EXPECT_EQ(read_endpoint("https://[::1]/otlp/")->target, "/otlp/v1/traces");
  for (const char* bad : {"", "collector", "collector:4318", "grpc://collector:4317", "http://", "http:///v1/traces",
                          "http://collector:port", "http://collector/a b", "http://collector/a?b", "http://a@b"}) {
    EXPECT_FALSE(read_endpoint(bad)) << bad;
  }
}

// An exporter with short timeouts.
class OtlpExporter : public testing::Test {
 protected:
  void start(const std::string& url, ExporterOptions options = {}, observe::TracerOptions tracing = {}) {
    tracer = std::make_shared<observe::Tracer>(tracing);
    options.endpoint = read_endpoint(url).value();
    options.resource = {"shop", "1.2", "i-1"};
    options.patience = milliseconds(1);
    options.first_pause = milliseconds(1);
    options.longest_pause = milliseconds(20);
    auto started = Exporter::start(std::move(options), tracer);
    ASSERT_TRUE(started) << started.error().message;
    exporter = std::move(*started);
  }
  void record(const std::string& name) {
    observe::Span span;
    span.trace_id[0] = 1;
    span.span_id[0] = 1;
    span.name = name;
    span.start_ns = span.end_ns = 1'000'000'000;
    tracer->record(std::move(span));
  }
  static std::vector<std::string> names_at(const Collector& collector) {
    std::vector<std::string> names;
    for (const auto& span : collector.spans()) names.push_back(span.name);
    return names;
  }
  bool exported(std::uint64_t count) {
    return eventually([&] { return tracer->exported.value() == count; });
  }

  std::shared_ptr<observe::Tracer> tracer;
  std::unique_ptr<Exporter> exporter;
};

TEST_F(OtlpExporter, SendsWhatIsRecorded) {
  Collector collector;
  ExporterOptions options;
  options.headers = {{"Authorization", "Bearer of spans"}};
  start(collector.url() + "/otlp", std::move(options));
  record("a");
  record("b");
  ASSERT_TRUE(exported(2));
  EXPECT_THAT(names_at(collector), ElementsAre("a", "b"));
  EXPECT_THAT(collector.complaints(), IsEmpty());
  EXPECT_EQ(collector.headers().find("authorization"), "Bearer of spans");
  EXPECT_EQ(collector.spans()[0].resource.at("service.name"), "shop");
  EXPECT_EQ(tracer->failed_exports.value(), 0u);
}

TEST_F(OtlpExporter, TriesAgainWhatMayPass) {
  Collector collector;
  collector.answer_next({{.status = 503}, {.status = 429}, {.status = 502}, {.status = 504}});
  start(collector.url());
  record("a");
  ASSERT_TRUE(exported(1));
  EXPECT_THAT(names_at(collector), ElementsAre("a"));
  EXPECT_EQ(collector.requests(), 5u);
  EXPECT_EQ(tracer->failed_exports.value(), 4u);
}

TEST_F(OtlpExporter, LeavesTheCollectorAloneForAsLongAsItAsks) {
  Collector collector;
  collector.answer_next({{.status = 503, .headers = {{"Retry-After", "1"}}}});
  start(collector.url());
  const auto begin = std::chrono::steady_clock::now();
  record("a");
  ASSERT_TRUE(exported(1));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(1000));
}

TEST_F(OtlpExporter, DropsWhatIsRefusedForGood) {
  Collector collector;
  collector.answer_next({{.status = 400, .body = "no"}});
  start(collector.url());
  record("a");
  ASSERT_TRUE(eventually([&] { return tracer->dropped_refused.value() == 1; }));
  record("b");
  ASSERT_TRUE(exported(1));
  EXPECT_THAT(names_at(collector), ElementsAre("b"));
}

TEST_F(OtlpExporter, CountsWhatTheCollectorTookButRejected) {
  Collector collector;
  collector.answer_next({{.body = R"({"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}})"}});
  ExporterOptions options;
  options.max_batch = 2;
  start(collector.url(), std::move(options));
  record("a");
  ASSERT_TRUE(eventually([&] { return tracer->dropped_refused.value() == 1; }));
  EXPECT_EQ(tracer->exported.value(), 0u);
}

TEST_F(OtlpExporter, WaitsForACollectorThatIsAway) {
  const int port = test::free_port();
  start("http://127.0.0.1:" + std::to_string(port));
  record("a");
  ASSERT_TRUE(eventually([&] { return tracer->failed_exports.value() >= 3; }));
  record("b");
  net::ServerOptions server;
  server.port = static_cast<std::uint16_t>(port);
  Collector collector(std::move(server));
  ASSERT_TRUE(exported(2));
  EXPECT_THAT(names_at(collector), ElementsAre("a", "b"));
}

TEST_F(OtlpExporter, KeepsNoMoreThanItsQueueAndOneBatch) {
  ExporterOptions options;
  options.max_batch = 2;
  start("http://127.0.0.1:" + std::to_string(test::free_port()), std::move(options), {1, 3});
  for (const char* name : {"a", "b"}) record(name);
  ASSERT_TRUE(eventually([&] { return tracer->failed_exports.value() >= 1; }));
  for (int i = 0; i < 20; ++i) record("more");
  const std::uint64_t kept = 22 - tracer->dropped_when_full.value();
  EXPECT_GE(kept, 3u);
  EXPECT_LE(kept, 5u);
  exporter->finish(milliseconds(10));
  EXPECT_EQ(tracer->dropped_at_stop.value(), kept);
  EXPECT_EQ(tracer->queued(), 0u);
}

TEST_F(OtlpExporter, SendsWhatIsLeftBeforeItEnds) {
  Collector collector;
  ExporterOptions options;
  options.max_batch = 2;
  start(collector.url(), std::move(options));
  for (int i = 0; i < 5; ++i) record("last");
  collector.answer_next({{.status = 503}});
  exporter->finish(long_enough);
  EXPECT_EQ(collector.spans().size(), 5u);
  EXPECT_EQ(tracer->dropped_at_stop.value(), 0u);
}

TEST_F(OtlpExporter, ACollectorThatDoesNotAnswerCannotHoldUpTheEnd) {
  Collector collector;
  collector.fall_silent();
  ExporterOptions options;
  options.timeout = std::chrono::hours(1);
  start(collector.url(), std::move(options));
  record("a");
  ASSERT_TRUE(eventually([&] { return collector.requests() == 1; }));
  record("b");
  exporter->finish(milliseconds(50));
  EXPECT_EQ(tracer->dropped_at_stop.value(), 2u);
}

TEST_F(OtlpExporter, TrustsOnlyTheCertificateThatItIsTold) {
  const test::TempDir folder;
  const std::string certificate = folder.file("certificate.pem");
  const std::string key = folder.file("key.pem");
  test::write_certificate(certificate, key, "127.0.0.1");
  net::ServerOptions server;
  server.certificate_file = certificate;
  server.private_key_file = key;
  Collector collector(std::move(server));
  const std::string url = "https://127.0.0.1:" + std::to_string(collector.port());
  start(url);
  record("a");
  ASSERT_TRUE(eventually([&] { return tracer->failed_exports.value() >= 2; }));
  exporter->finish(milliseconds(0));
  EXPECT_EQ(collector.requests(), 0u);
  ExporterOptions options;
  options.ca_file = certificate;
  start(url, std::move(options));
  record("b");
  ASSERT_TRUE(exported(1));
  EXPECT_THAT(names_at(collector), ElementsAre("b"));
}

TEST_F(OtlpExporter, ACertificateFileThatIsNotThereIsFoundAtTheStart) {
  ExporterOptions options;
  options.endpoint = read_endpoint("https://127.0.0.1:1").value();
  options.ca_file = "/nowhere/ca.pem";
  EXPECT_FALSE(Exporter::start(std::move(options), std::make_shared<observe::Tracer>()));
}

}  // namespace
}  // namespace flowfabric::otlp
