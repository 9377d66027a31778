// `flowfabric serve` and its collector: the settings, and the last spans after SIGTERM.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/fixture.hpp"
#include "net/http_client.hpp"
#include "support/certificates.hpp"
#include "support/collector.hpp"
#include "support/free_port.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

using test::Collector;
using ::testing::IsEmpty;

int create_one(const RunningServer& server) {
  net::ClientOptions options;
  options.url = server.url();
  net::ClientRequest request;
  request.method = "POST";
  request.target = "/v1/executions";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = R"({"kind":"k"})";
  return net::HttpClient::create(options).value().request(request).value().status;
}

TEST(ServeTraces, SigtermSendsTheLastSpans) {
  Collector collector;
  RunningServer server("memory:", {"--otlp-endpoint", collector.url(), "--service-name", "shop"});
  EXPECT_EQ(create_one(server), 201);
  EXPECT_EQ(server.stop(), 0);
  const auto spans = collector.spans();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].name, "POST /v1/executions");
  EXPECT_EQ(spans[0].resource.at("service.name"), "shop");
  EXPECT_EQ(spans[0].resource.at("service.version"), FLOWFABRIC_VERSION);
  EXPECT_EQ(spans[0].resource.at("service.instance.id").size(), 36u);
  EXPECT_THAT(collector.complaints(), IsEmpty());
}

TEST(ServeTraces, TheVariablesOfOpenTelemetryAreHonoured) {
  const test::TempDir folder;
  net::ServerOptions options;
  options.certificate_file = folder.file("certificate.pem");
  options.private_key_file = folder.file("key.pem");
  test::write_certificate(options.certificate_file, options.private_key_file, "127.0.0.1");
  Collector collector(options);
  RunningServer server("memory:", {},
                       {"OTEL_EXPORTER_OTLP_ENDPOINT=https://127.0.0.1:" + std::to_string(collector.port()) + "/base",
                        "OTEL_EXPORTER_OTLP_HEADERS=x-team=blue%20one",
                        "OTEL_EXPORTER_OTLP_CERTIFICATE=" + options.certificate_file, "OTEL_SERVICE_NAME=shop"});
  EXPECT_EQ(create_one(server), 201);
  EXPECT_EQ(server.stop(), 0);
  ASSERT_EQ(collector.spans().size(), 1u);
  EXPECT_EQ(collector.spans()[0].resource.at("service.name"), "shop");
  EXPECT_EQ(collector.headers().find("x-team"), "blue one");
}

TEST(ServeTraces, ACollectorThatIsAwayHoldsNobodyUpForLong) {
  const std::string nobody = "http://127.0.0.1:" + std::to_string(test::free_port());
  RunningServer server("memory:", {"--otlp-endpoint", nobody});
  EXPECT_EQ(create_one(server), 201);
  EXPECT_EQ(server.stop(), 0);
}

TEST(ServeTraces, WhatCannotBeIsRefusedAtTheStart) {
  const Finished finished = run_program({"serve", "--store", "memory:", "--otlp-endpoint", "collector:4317"});
  EXPECT_EQ(finished.code, 2) << finished.err;
  EXPECT_TRUE(
      contains(finished.err, "otlp_endpoint (--otlp-endpoint): is \"collector:4317\"; must be http://HOST:PORT"))
      << finished.err;
}

}  // namespace
}  // namespace flowfabric::cli_test
