// Sends malformed requests to the server. Each must be answered with a clean error or not at all, must not reach the
// handler, and the server must still work afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "net/http_server.hpp"
#include "support/http_server.hpp"
#include "support/raw_socket.hpp"

namespace flowfabric::net {
namespace {

using test::get;
using test::post;
using test::RawSocket;

using Requests = std::vector<std::string>;

const std::string host = "Host: test\r\n";

std::string head(const std::string& line, const std::string& fields = host) { return line + "\r\n" + fields + "\r\n"; }

std::string with_field(const std::string& field) { return head("GET /x HTTP/1.1", host + field + "\r\n"); }

std::string in_chunks(const std::string& chunks) {
  return head("POST /x HTTP/1.1", host + "Transfer-Encoding: chunked\r\n") + chunks;
}

std::string with_length(const std::string& length) {
  return head("POST /x HTTP/1.1", host + "Content-Length: " + length + "\r\n") + "body";
}

std::string nul() { return std::string(1, '\0'); }

void add(Requests& requests, const Requests& more) { requests.insert(requests.end(), more.begin(), more.end()); }

Requests bad_request_lines() {
  return {
      "\n\n",
      "\r",
      "\n",
      "GET",
      "GET \r\n\r\n",
      " GET / HTTP/1.1\r\n\r\n",
      "\tGET / HTTP/1.1\r\n\r\n",
      head("GET /"),
      head("GET / "),
      head("GET  / HTTP/1.1"),
      head("GET /  HTTP/1.1"),
      head("GET / HTTP/1.1 "),
      head("GET / HTTP/1.1 extra"),
      head("GET / HTTP/1.12"),
      head("GET / HTTP/11"),
      head("GET / HTTP/1"),
      head("GET / HTTP/1."),
      head("GET / HTTP/.1"),
      head("GET / HTTP/-1.1"),
      head("GET / http/1.1"),
      head("GET / HTTP/0.9"),
      head("GET / HTTP/2.0"),
      head("GET / HTTP/3.0"),
      head("GET / HTTP/9.9"),
      head("GET / HTTPS/1.1"),
      head("GET / FTP/1.1"),
      head("/ GET HTTP/1.1"),
      head("G(T / HTTP/1.1"),
      head("G\xc3\xa9T / HTTP/1.1"),
      head("GE" + nul() + "T / HTTP/1.1"),
      head("GET\t/ HTTP/1.1"),
      head("GET /\tHTTP/1.1"),
      head("GET relative HTTP/1.1"),
      head("GET ?query HTTP/1.1"),
      head("GET * HTTP/1.1"),
      head("GET ftp://host/ HTTP/1.1"),
      head("GET host:80 HTTP/1.1"),
      head("CONNECT host:80 HTTP/1.1"),
      head("CONNECT / HTTP/1.1"),
      head("PRI * HTTP/2.0", ""),
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),  // the start of a TLS handshake
      std::string("\x05\x01\x00", 3),                                   // of SOCKS
      "SSH-2.0-OpenSSH_9.2\r\n",
      "{\"json\":true}\r\n\r\n",
      "\xff\xfe\xfd\xfc\r\n\r\n",
      std::string(100, '\0'),
      "GET / HTTP/1.1" + std::string(40'000, ' '),
      std::string(40'000, 'A'),
      head("GET /" + std::string(40'000, 'a') + " HTTP/1.1"),
      head(std::string(40'000, 'G') + " / HTTP/1.1"),
  };
}

Requests bad_targets() {
  Requests requests;
  for (const char* target : {"/%",
                             "/%1",
                             "/%zz",
                             "/%G0",
                             "/a%",
                             "/%%20",
                             "/%u0041",
                             "/%00",
                             "/a%00b",
                             "/%ff",
                             "/%c3",
                             "/%c3%28",
                             "/%c0%80",
                             "/%e0%80%80",
                             "/%ed%a0%80",
                             "/%f4%90%80%80",
                             "/%f8%88%80%80%80",
                             "/..",
                             "/../..",
                             "/a/../b",
                             "/.",
                             "/a/./b",
                             "/%2e%2e",
                             "/%2E/",
                             "/a/%2e%2e/b",
                             "/?%",
                             "/?a=%",
                             "/?a=%1",
                             "/?a=%zz",
                             "/?%00=1",
                             "/?a=%00",
                             "/?a=%ff",
                             "/?%c3=1",
                             "/?a&b=%ed%bf%bf",
                             "/#fragment",
                             "/a?b#c",
                             "/\xc3\xa9",
                             "/\xff",
                             "/a\x7f",
                             "/?\xe2\x82",
                             "http://",
                             "http:///%zz",
                             "https://host/%"}) {
    if (std::string(target) == "http://") continue;  // has an empty host; harmless
    requests.push_back(head("GET " + std::string(target) + " HTTP/1.1"));
  }
  return requests;
}

Requests bad_fields() {
  Requests requests = {
      head("GET / HTTP/1.1", ""),
      head("GET / HTTP/1.1", host + host),
      head("GET / HTTP/1.1", "Host: a\r\nhost: b\r\n"),
      head("GET / HTTP/1.1", "Host : test\r\n"),
      head("GET / HTTP/1.1", ": test\r\n"),
      head("GET / HTTP/1.1", "Host\r\n"),
      with_field("NoColon"),
      with_field("Bad Name: x"),
      with_field("Bad\tName: x"),
      with_field("Bad(Name): x"),
      with_field("Bad\xc3\xa9: x"),
      with_field(nul() + ": x"),
      with_field("X: a" + nul() + "b"),
      with_field("X: a\x01"),
      with_field("X: a\x7f"),
      with_field("X: a\rb"),
      with_field("X: a\nb"),
      with_field("X: a\r\n folded"),
      with_field("X: a\r\n\tfolded"),
      with_field(" X: leading"),
      with_field("X: a\r\r"),
      with_field("Connection: a(b"),
      with_field("Expect: wonders"),
      with_field("Expect: 200-ok"),
      with_field("Connection: upgrade\r\nUpgrade: websocket"),
      with_field("Connection: Upgrade\r\nUpgrade: TLS/1.0"),
      with_field("X: " + std::string(40'000, 'x')),
      with_field(std::string(40'000, 'x') + ": y"),
      "GET / HTTP/1.1\nHost: test\n\n",
      "GET / HTTP/1.1\r\nHost: test\n\r\n",
      "GET / HTTP/1.1\r\nHost: test\r\n\n",
      "GET / HTTP/1.1\r\nHost: test\r\r\n\r\n",
      "GET / HTTP/1.1\rHost: test\r\r",
  };
  std::string many;
  for (int i = 0; i < 200; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  requests.push_back(head("GET / HTTP/1.1", host + many));
  return requests;
}

Requests bad_lengths() {
  Requests requests;
  for (const char* length : {"-1",
                             "-0",
                             "+4",
                             "4.0",
                             "4e0",
                             "0x4",
                             "four",
                             "",
                             " ",
                             "4 4",
                             "4;4",
                             "4,5",
                             "4,4",
                             "4,",
                             ",4",
                             "\xd9\xa4",
                             "18446744073709551615",
                             "18446744073709551616",
                             "9223372036854775808",
                             "99999999999999999999999999999",
                             "8388609",
                             "1000000000000"}) {
    requests.push_back(with_length(length));
  }
  const std::string length = "Content-Length: 4\r\n";
  const std::string coding = "Transfer-Encoding: chunked\r\n";
  for (const std::string& fields :
       {length + length, length + "Content-Length: 5\r\n", "content-length: 4\r\n" + length, length + coding,
        coding + length, coding + coding, coding + "Transfer-Encoding: identity\r\n",
        std::string("Transfer-Encoding: gzip\r\n"), std::string("Transfer-Encoding: gzip, chunked\r\n"),
        std::string("Transfer-Encoding: chunked, gzip\r\n"), std::string("Transfer-Encoding: identity\r\n"),
        std::string("Transfer-Encoding: xchunked\r\n"), std::string("Transfer-Encoding: chunked;q=1\r\n"),
        std::string("Transfer-Encoding:\r\n"),
        std::string("Transfer-Encoding: \x0b"
                    "chunked\r\n"),
        std::string("Transfer-Encoding: \"chunked\"\r\n"), length + "Transfer-Encoding: gzip\r\n"}) {
    requests.push_back(head("POST /x HTTP/1.1", host + fields) + "4\r\nbody\r\n0\r\n\r\n");
  }
  requests.push_back(head("POST /x HTTP/1.0", coding) + "4\r\nbody\r\n0\r\n\r\n");
  return requests;
}

Requests bad_chunks() {
  Requests requests;
  for (const char* chunks : {"\r\n",
                             "x\r\n",
                             "-1\r\nx\r\n",
                             "+1\r\nx\r\n",
                             " 1\r\nx\r\n",
                             "0x1\r\nx\r\n",
                             "1\nx\n0\n\n",
                             "1\r\nxy\r\n",
                             "1\r\nx0\r\n\r\n",
                             "1\r\nx\n0\r\n\r\n",
                             "2\r\nx\r\n0\r\n\r\n",
                             "1\r\nx\r\n\r\n",
                             "ffffffff\r\nx\r\n",
                             "ffffffffffffffff\r\nx\r\n",
                             "10000000000000000\r\nx\r\n",
                             "00000000000000001\r\nx\r\n",
                             "800001\r\nx\r\n",
                             "7fffffffffffffff\r\n",
                             "1;\x01\r\nx\r\n",
                             "1\r\nx\r\n0\r\n",
                             "1\r\nx\r\n0\r\nTrailer",
                             "1\r\nx\r\n0\r\n\n",
                             "1\r\nx\r\n0\r\n\rx",
                             "g\r\n",
                             "1 1\n",
                             "1 0\r\nx\r\n0\r\n\r\n",
                             "1 \r\nx\r\n0\r\n\r\n",
                             "1,1\r\nx\r\n",
                             "",
                             "1",
                             "1\r",
                             "1\r\n",
                             "1\r\nx",
                             "1\r\nx\r"}) {
    requests.push_back(in_chunks(chunks));
  }
  requests.push_back(in_chunks("1;" + std::string(40'000, 'e') + "\r\nx\r\n0\r\n\r\n"));
  requests.push_back(in_chunks("0\r\n" + std::string(40'000, 't') + "\r\n\r\n"));
  requests.push_back(in_chunks(std::string(40'000, '0')));
  requests.push_back(in_chunks("1\r\n" + nul() + nul()));
  return requests;
}

// Every prefix of a valid request.
Requests truncated() {
  Requests requests;
  const std::string whole = post("/path?query=1", "the body");
  for (std::size_t size = 1; size < whole.size(); ++size) requests.push_back(whole.substr(0, size));
  return requests;
}

class HttpMalformed : public ::testing::Test {
 protected:
  void expect_clean_refusals(const Requests& requests) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      SCOPED_TRACE("request " + std::to_string(i) + ": " + ::testing::PrintToString(requests[i].substr(0, 120)));
      expect_clean_refusal(requests[i]);
    }
    expect_service();
  }

  void expect_clean_refusal(const std::string& request) {
    RawSocket client(server_->port());
    client.send(request);
    client.finish_sending();
    const std::string response = client.read_all();
    EXPECT_EQ(handled_, 0);
    if (response.empty()) return;
    EXPECT_THAT(response, ::testing::MatchesRegex("HTTP/1.1 (4..|50[15]) (.|\r|\n)*"));
    EXPECT_THAT(response, ::testing::HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(response, ::testing::HasSubstr("{\"error\":{\"code\":"));
    EXPECT_EQ(response.find("}HTTP/"), std::string::npos);  // one answer
  }

  void expect_service() {
    RawSocket client(server_->port());
    client.send(get("/good"));
    EXPECT_THAT(client.read_response(), ::testing::EndsWith("GET /good "));
    handled_ = 0;
  }

  std::atomic<int> handled_ = 0;
  std::unique_ptr<HttpServer> server_ = test::serve([this](const std::shared_ptr<Exchange>& exchange) {
    ++handled_;
    test::echo(exchange);
  });
};

TEST_F(HttpMalformed, RequestLines) { expect_clean_refusals(bad_request_lines()); }
TEST_F(HttpMalformed, Targets) { expect_clean_refusals(bad_targets()); }
TEST_F(HttpMalformed, Fields) { expect_clean_refusals(bad_fields()); }
TEST_F(HttpMalformed, Lengths) { expect_clean_refusals(bad_lengths()); }
TEST_F(HttpMalformed, Chunks) { expect_clean_refusals(bad_chunks()); }
TEST_F(HttpMalformed, Truncated) { expect_clean_refusals(truncated()); }

TEST_F(HttpMalformed, TheCorpusIsLarge) {
  Requests all = bad_request_lines();
  for (const Requests& more : {bad_targets(), bad_fields(), bad_lengths(), bad_chunks(), truncated()}) add(all, more);
  EXPECT_GE(all.size(), 200u);
}

TEST_F(HttpMalformed, ANulAnywhereInTheHead) {
  const std::string whole = get("/path");
  Requests requests;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    requests.push_back(whole);
    requests.back()[i] = '\0';
  }
  expect_clean_refusals(requests);
}

// The correct response is unknown here; there must be one, and the server must still work.
TEST_F(HttpMalformed, RandomDamage) {
  std::mt19937 random(20260101);
  const std::string whole = in_chunks("5;a=b\r\nhello\r\n3\r\nyou\r\n0\r\nTrailer: x\r\n\r\n") + post("/next", "body");
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (random() % 4 == 0) damaged.erase(random() % damaged.size(), random() % 20);
    RawSocket client(server_->port());
    client.send(damaged);
    client.finish_sending();
    const std::string response = client.read_all();
    if (response.empty()) continue;
    EXPECT_THAT(response, ::testing::StartsWith("HTTP/1.1 "));
  }
  expect_service();
}

// An error is sent at once when the bytes are wrong, without waiting for the end of the request.
TEST_F(HttpMalformed, GarbageIsRefusedWithoutWaiting) {
  for (const std::string& request : {std::string("GET / HTTP/1.1\nHost: x\n\n"), std::string("\x16\x03\x01\x02", 4),
                                     std::string("no request\r\n\r\n"), with_length("-1"), in_chunks("x")}) {
    RawSocket client(server_->port());
    client.send(request);
    EXPECT_THAT(client.read_all(), ::testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  }
}

}  // namespace
}  // namespace flowfabric::net
