#include "net/http_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "net/http_server.hpp"
#include "support/certificates.hpp"
#include "support/http_server.hpp"
#include "support/raw_socket.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::net {
namespace {

using std::chrono::milliseconds;
using test::echo;
using test::eventually;
using test::RawSocket;
using test::serve;
using ::testing::HasSubstr;

HttpClient connect(const HttpServer& server, const std::string& scheme = "http", ClientOptions options = {}) {
  options.url = scheme + "://127.0.0.1:" + std::to_string(server.port());
  auto client = HttpClient::create(std::move(options));
  FF_CHECK(client);
  return std::move(*client);
}

Errc code_of(const Result<Response>& result) { return result ? Errc::internal : result.error().code; }

TEST(HttpClient, AsksAndKeepsTheConnection) {
  const auto server = serve(echo);
  HttpClient client = connect(*server);
  for (int i = 0; i < 3; ++i) {
    const auto response = client.request({.method = "POST", .target = "/a?b", .body = "text"});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "POST /a?b text");
    EXPECT_EQ(response->content_type, "text/plain");
  }
  EXPECT_TRUE(client.connected());
  EXPECT_EQ(server->statistics().accepted_connections, 1u);
  const auto head = client.request({.method = "HEAD"});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(client.request({.target = "/after"})->body, "GET /after ");
}

TEST(HttpClient, SendsHeadersAndReadsThem) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    const auto sent = exchange->request().headers.find("X-In");
    exchange->respond({.status = 404, .headers = {{"X-Out", std::string(sent.value_or("none"))}}});
  });
  const auto response = connect(*server).request({.headers = {{"X-In", "value"}}});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->headers.find("x-out"), "value");
}

TEST(HttpClient, ConnectsAgainWhenTheServerHasClosed) {
  const auto server = serve(echo, {.idle_timeout = milliseconds(20)});
  HttpClient client = connect(*server);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.request({.method = "POST", .target = "/p", .body = "x"})->body, "POST /p x");
    EXPECT_TRUE(eventually([&] { return server->statistics().open_connections == 0; }));
  }
  EXPECT_EQ(server->statistics().accepted_connections, 3u);
}

TEST(HttpClient, GoesWhenTheServerSaysSo) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.headers = {{"Connection", "close"}}, .body = "bye"});
  });
  HttpClient client = connect(*server);
  EXPECT_EQ(client.request({})->body, "bye");
  EXPECT_FALSE(client.connected());
  EXPECT_EQ(client.request({})->body, "bye");
}

TEST(HttpClient, StreamsAsTheBytesCome) {
  std::shared_ptr<ResponseStream> stream;
  const auto server = serve([&](const std::shared_ptr<Exchange>& exchange) {
    stream = exchange->begin_stream({.content_type = "text/event-stream"});
    stream->write("event 1\n");
  });
  HttpClient client = connect(*server);
  std::string seen;
  const auto response = client.stream({.target = "/events"}, [&](std::string_view bytes) {
    seen += bytes;
    if (seen == "event 1\n") stream->write("event 2\n");
    if (seen == "event 1\nevent 2\n") stream->end();
    return true;
  });
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(seen, "event 1\nevent 2\n");
  EXPECT_EQ(response->content_type, "text/event-stream");
  EXPECT_TRUE(client.connected());
}

TEST(HttpClient, AStreamEndsWhenTheReaderHasEnough) {
  std::atomic<bool> closed = false;
  std::shared_ptr<ResponseStream> stream;
  const auto server = serve([&](const std::shared_ptr<Exchange>& exchange) {
    stream = exchange->begin_stream({});
    stream->on_closed([&] { closed = true; });
    stream->write("event");
  });
  HttpClient client = connect(*server);
  EXPECT_TRUE(client.stream({}, [](std::string_view) { return false; }));
  EXPECT_FALSE(client.connected());
  EXPECT_TRUE(eventually([&] { return closed.load(); }));
}

TEST(HttpClient, ABrokenStreamIsAnError) {
  const auto server =
      serve([](const std::shared_ptr<Exchange>& exchange) { exchange->begin_stream({})->write("half"); });
  HttpClient client = connect(*server);
  EXPECT_EQ(code_of(client.stream({.method = "POST"}, [](std::string_view) { return true; })), Errc::outcome_unknown);
}

TEST(HttpClient, SaysWhatWentWrong) {
  Handler silent = [kept = std::make_shared<std::vector<std::shared_ptr<Exchange>>>()](
                       std::shared_ptr<Exchange> exchange) { kept->push_back(std::move(exchange)); };
  auto server = serve(silent);
  HttpClient client = connect(*server);
  EXPECT_EQ(code_of(client.request({.timeout = milliseconds(20)})), Errc::timed_out);
  EXPECT_FALSE(client.connected());
  EXPECT_EQ(code_of(client.stream({.timeout = milliseconds(20)}, [](std::string_view) { return true; })),
            Errc::timed_out);
  EXPECT_EQ(code_of(client.request({.target = "/a b"})), Errc::invalid_argument);
  EXPECT_EQ(code_of(client.request({.method = "G T"})), Errc::invalid_argument);
  EXPECT_EQ(code_of(client.request({.headers = {{"X", "a\r\nb"}}})), Errc::invalid_argument);
  server->stop();
  EXPECT_EQ(code_of(client.request({})), Errc::unavailable);
}

TEST(HttpClient, UrlsAreChecked) {
  for (const char* url : {"", "host", "ftp://host", "http://", "http://host:port", "http://host/path",
                          "http://host:", "http://user@host", "http://[::1", "http://:80", "http://a b"}) {
    EXPECT_FALSE(HttpClient::create({.url = url})) << url;
  }
  for (const char* url : {"http://host", "https://host:8443/", "http://[::1]:80", "http://127.0.0.1:1"}) {
    EXPECT_TRUE(HttpClient::create({.url = url})) << url;
  }
}

TEST(HttpClient, AnAnswerMayNotBeTooLong) {
  const auto server =
      serve([](const std::shared_ptr<Exchange>& exchange) { exchange->respond({.body = std::string(1000, 'x')}); });
  HttpClient client = connect(*server, "http", {.max_response_bytes = 999});
  EXPECT_EQ(code_of(client.request({})), Errc::payload_too_large);
}

TEST(HttpClient, ARefusalOfALargeBodyIsRead) {
  const auto server = serve(echo, {.max_body_bytes = 10});
  HttpClient client = connect(*server);
  const auto response = client.request({.method = "POST", .body = std::string(3'000'000, 'x')});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 413);
}

// ---------------------------------------------------------------- TLS

TEST(HttpClient, StopsWaitingWhenItIsTold) {
  std::stop_source stop;
  std::shared_ptr<Exchange> parked;
  std::atomic<bool> asked = false;
  const auto server = serve([&](std::shared_ptr<Exchange> exchange) {
    parked = std::move(exchange);
    asked = true;
  });
  HttpClient client = connect(*server, "http", {.stop = stop.get_token()});
  std::thread stopper([&] {
    EXPECT_TRUE(eventually([&] { return asked.load(); }));
    stop.request_stop();
  });
  EXPECT_EQ(code_of(client.request({.timeout = std::chrono::hours(1)})), Errc::timed_out);
  stopper.join();
}

class HttpTls : public ::testing::Test {
 protected:
  HttpTls() { test::write_certificate(certificate_, key_, "127.0.0.1"); }

  ServerOptions options() const { return {.certificate_file = certificate_, .private_key_file = key_}; }

  const test::TempDir directory_;
  const std::string certificate_ = directory_.file("certificate.pem");
  const std::string key_ = directory_.file("key.pem");
};

TEST_F(HttpTls, ServesLikePlain) {
  std::atomic<bool> secure = false;
  const auto server = serve(
      [&](const std::shared_ptr<Exchange>& exchange) {
        secure = exchange->request().secure;
        echo(exchange);
      },
      options());
  HttpClient client = connect(*server, "https", {.ca_file = certificate_});
  for (int i = 0; i < 3; ++i) {
    const auto response = client.request({.method = "POST", .target = "/tls", .body = "x"});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "POST /tls x");
  }
  EXPECT_TRUE(secure);
  EXPECT_EQ(server->statistics().accepted_connections, 1u);
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(client.request({.method = "PUT", .target = "/", .body = large})->body, "PUT / " + large);
}

TEST_F(HttpTls, StreamsAndNoticesThatTheReaderLeft) {
  std::atomic<bool> closed = false;
  std::shared_ptr<ResponseStream> stream;
  const auto server = serve(
      [&](const std::shared_ptr<Exchange>& exchange) {
        stream = exchange->begin_stream({});
        stream->on_closed([&] { closed = true; });
        stream->write("event");
      },
      options());
  HttpClient client = connect(*server, "https", {.ca_file = certificate_});
  EXPECT_TRUE(client.stream({}, [](std::string_view bytes) { return bytes != "event"; }));
  EXPECT_TRUE(eventually([&] { return closed.load(); }));
}

TEST_F(HttpTls, AParkedRequestNoticesThatTheClientLeft) {
  std::atomic<bool> left = false;
  std::shared_ptr<Exchange> parked;
  const auto server = serve(
      [&](std::shared_ptr<Exchange> exchange) {
        parked = std::move(exchange);
        parked->on_abandoned([&] { left = true; });
      },
      options());
  HttpClient client = connect(*server, "https", {.ca_file = certificate_});
  EXPECT_EQ(code_of(client.request({.timeout = milliseconds(20)})), Errc::timed_out);
  EXPECT_TRUE(eventually([&] { return left.load(); }));
}

TEST_F(HttpTls, TheClientTrustsOnlyWhatItShould) {
  const auto server = serve(echo, options());
  const auto unknown = connect(*server, "https").request({});
  EXPECT_EQ(code_of(unknown), Errc::unavailable);
  EXPECT_THAT(unknown.error().message, HasSubstr("self-signed"));
  EXPECT_TRUE(connect(*server, "https", {.verify = false}).request({}));
  test::write_certificate(certificate_, key_, "elsewhere.example");
  EXPECT_TRUE(server->reload_tls());
  EXPECT_EQ(code_of(connect(*server, "https", {.ca_file = certificate_}).request({})), Errc::unavailable);
}

TEST_F(HttpTls, ANewCertificateIsTakenAndABadOneIsNot) {
  const auto server = serve(echo, options());
  HttpClient old = connect(*server, "https", {.ca_file = certificate_});
  EXPECT_TRUE(old.request({}));
  test::write_certificate(certificate_, key_, "127.0.0.1");
  EXPECT_TRUE(server->reload_tls());
  EXPECT_TRUE(old.request({}));  // continues with its first certificate
  old.disconnect();
  EXPECT_FALSE(old.request({}));
  const std::string good = directory_.file("good.pem");
  std::filesystem::copy_file(certificate_, good);
  std::filesystem::resize_file(certificate_, 100);
  const auto failed = server->reload_tls();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr(certificate_));
  HttpClient fresh = connect(*server, "https", {.ca_file = good});
  EXPECT_TRUE(fresh.request({}));
  // A key of another certificate is invalid too.
  std::filesystem::remove(certificate_);
  std::filesystem::copy_file(good, certificate_);
  test::write_certificate(directory_.file("other.pem"), key_, "127.0.0.1");
  EXPECT_FALSE(server->reload_tls());
  EXPECT_TRUE(connect(*server, "https", {.ca_file = good}).request({}));
}

TEST_F(HttpTls, AHandshakeThatDoesNotComeIsCutOff) {
  ServerOptions chosen = options();
  chosen.handshake_timeout = milliseconds(50);
  const auto server = serve(echo, chosen);
  RawSocket silent(server->port());
  EXPECT_EQ(silent.read_all(), "");
  RawSocket half(server->port());
  half.send({"\x16\x03\x01\x02\x00\x01", 6});
  half.read_all();
  EXPECT_TRUE(half.at_end());
}

TEST_F(HttpTls, GarbageInsteadOfAHandshakeIsCutOff) {
  const auto server = serve(echo, options());
  RawSocket plain(server->port());
  plain.send(test::get("/"));
  plain.read_all();
  EXPECT_TRUE(plain.at_end());
  EXPECT_TRUE(connect(*server, "https", {.ca_file = certificate_}).request({}));
}

TEST_F(HttpTls, DrainSaysGoodbye) {
  const auto server = serve(echo, options());
  HttpClient client = connect(*server, "https", {.ca_file = certificate_});
  EXPECT_TRUE(client.request({}));
  server->drain(std::chrono::minutes(1));
  EXPECT_EQ(code_of(client.request({.method = "POST"})), Errc::unavailable);
}

TEST_F(HttpTls, TooManyConnectionsAreToldSo) {
  ServerOptions chosen = options();
  chosen.max_connections = 1;
  const auto server = serve(echo, chosen);
  HttpClient first = connect(*server, "https", {.ca_file = certificate_});
  EXPECT_EQ(first.request({})->status, 200);
  HttpClient second = connect(*server, "https", {.ca_file = certificate_});
  const auto response = second.request({});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 503);
}

}  // namespace
}  // namespace flowfabric::net
