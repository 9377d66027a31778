#include "net/head_parser.hpp"

#include <gtest/gtest.h>

namespace flowfabric::net {
namespace {

int status_of(const std::string& head) {
  const auto parsed = parse_request_head(head + "\r\n");
  return parsed ? 200 : parsed.error().status;
}

HeadScanner::Verdict scan_bytewise(std::string_view text, std::size_t& end) {
  HeadScanner scanner;
  auto verdict = HeadScanner::Verdict::incomplete;
  for (std::size_t i = 1; i <= text.size() && verdict == HeadScanner::Verdict::incomplete; ++i) {
    verdict = scanner.scan(text.substr(0, i));
  }
  end = scanner.end();
  return verdict;
}

TEST(HeadScanner, KnowsTheFirstLineHoweverTheBytesCome) {
  const std::string head = "GET /path HTTP/1.1\r\nHost: x\r\n\r\n";
  HeadScanner whole;
  whole.scan(head);
  EXPECT_EQ(whole.first_line(), 20u);
  HeadScanner drops;
  for (std::size_t size = 0; size <= head.size(); ++size) {
    drops.scan(std::string_view(head).substr(0, size));
    EXPECT_EQ(drops.first_line(), std::min<std::size_t>(size, 20u));
  }
}

TEST(HttpHeadScanner, FindsTheEndHoweverTheBytesAreSplit) {
  const std::string_view text = "GET / HTTP/1.1\r\nHost: x\r\n\r\nrest";
  HeadScanner whole;
  EXPECT_EQ(whole.scan(text), HeadScanner::Verdict::complete);
  EXPECT_EQ(text.substr(whole.end()), "rest");
  std::size_t end = 0;
  EXPECT_EQ(scan_bytewise(text, end), HeadScanner::Verdict::complete);
  EXPECT_EQ(end, whole.end());
}

TEST(HttpHeadScanner, RefusesAtOnceWhatNoHeadMayHave) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"GET / HTTP/1.1\n"sv, "GET /\rHTTP"sv, "\x16\x03\x01"sv, "GET /\0"sv, "A\r\n folded"sv, " GET"sv, "a\x7f"sv}) {
    std::size_t end = 0;
    EXPECT_EQ(scan_bytewise(text, end), HeadScanner::Verdict::malformed) << text;
  }
}

TEST(HttpHeadParser, ReadsARequest) {
  const auto head = parse_request_head("POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-Y:  z \r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->request.method, "POST");
  EXPECT_EQ(head->request.segments, std::vector<std::string>{"a"});
  EXPECT_EQ(head->request.headers.find("x-y"), "z");
  EXPECT_EQ(head->framing.kind, Framing::Kind::length);
  EXPECT_EQ(head->framing.length, 5u);
  EXPECT_TRUE(head->keep_alive);
}

TEST(HttpHeadParser, KnowsWhenToKeepTheConnection) {
  const auto keeps = [](const std::string& head) { return parse_request_head(head + "\r\n")->keep_alive; };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: x\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n"));
}

TEST(HttpHeadParser, StatesOneLengthOrNone) {
  const std::string start = "POST / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(status_of(start + "Content-Length: 5\r\n"), 200);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: Chunked\r\n"), 200);
  EXPECT_EQ(status_of(start + "Content-Length: 5\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length: 5\r\nContent-Length: 6\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n"), 400);
  for (const char* length : {"-1", "+5", "5x", "", "0x5", "5 5", "99999999999999999999999", "5,6", "5,5"}) {
    EXPECT_EQ(status_of(start + "Content-Length: " + length + "\r\n"), 400) << length;
  }
}

TEST(HttpHeadParser, RefusesWhatIsNotSpokenHere) {
  const std::string host = "Host: x\r\n";
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n"), 501);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: websocket\r\n"), 501);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: h2c\r\n"), 200);
  EXPECT_EQ(status_of("CONNECT x:80 HTTP/1.1\r\n" + host), 501);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\n" + host), 505);
  EXPECT_EQ(status_of("GET / HTTP/1.2\r\n" + host), 505);
  EXPECT_EQ(status_of("GET / HTTX/1.1\r\n" + host), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + host + "Expect: wonders\r\n"), 417);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + host + host), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n"), 200);
}

TEST(HttpHeadParser, CountsFields) {
  std::string head = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (std::size_t i = 1; i < max_header_fields; ++i) head += "A: b\r\n";
  EXPECT_EQ(status_of(head), 200);
  EXPECT_EQ(status_of(head + "A: b\r\n"), 431);
}

TEST(HttpHeadParser, ReadsAResponse) {
  const auto chunked = parse_response_head("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false);
  ASSERT_TRUE(chunked);
  EXPECT_EQ(chunked->framing.kind, Framing::Kind::chunked);
  const auto open_end = parse_response_head("HTTP/1.0 200 \r\n\r\n", false);
  ASSERT_TRUE(open_end);
  EXPECT_EQ(open_end->framing.kind, Framing::Kind::until_close);
  EXPECT_FALSE(open_end->keep_alive);
  const auto bodiless = parse_response_head("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true);
  ASSERT_TRUE(bodiless);
  EXPECT_EQ(bodiless->framing.kind, Framing::Kind::none);
  EXPECT_TRUE(bodiless->keep_alive);
  EXPECT_FALSE(parse_response_head("HTTP/1.1 abc\r\n\r\n", false));
  EXPECT_FALSE(parse_response_head("HTTP/1.1 000 OK\r\n\r\n", false));
  EXPECT_FALSE(parse_response_head("HTTP/1.1 099 OK\r\n\r\n", false));
}

}  // namespace
}  // namespace flowfabric::net
