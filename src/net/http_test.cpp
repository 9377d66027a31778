#include "net/http.hpp"

#include <gtest/gtest.h>

#include "net/wire.hpp"

namespace flowfabric::net {
namespace {

TEST(HttpHeaders, NamesAreComparedWithoutCase) {
  const Headers headers{{"Content-Type", "a"}, {"X-One", "1"}, {"content-type", "b"}};
  EXPECT_EQ(headers.find("CONTENT-TYPE"), "a");
  EXPECT_EQ(headers.count("content-Type"), 2u);
  EXPECT_EQ(headers.find("Content"), std::nullopt);
}

TEST(HttpHeaders, TokensAreFoundInEveryFieldOfTheName) {
  const Headers headers{{"Connection", "keep-alive ,  Upgrade"}, {"connection", "x"}};
  EXPECT_TRUE(headers.has_token("Connection", "upgrade"));
  EXPECT_TRUE(headers.has_token("Connection", "X"));
  EXPECT_FALSE(headers.has_token("Connection", "keep"));
}

TEST(HttpErrors, DefaultBodyIsTheUniformShape) {
  EXPECT_EQ(default_error_body(Error{Errc::overloaded, "say \"later\"\n", {}, {}}),
            R"({"error":{"code":"overloaded","message":"say \"later\"\u000a","retryable":true}})");
  EXPECT_EQ(default_error_body(Error{Errc::invalid_argument, "\xff", {}, {}}),
            R"({"error":{"code":"invalid_argument","message":"unreadable message","retryable":false}})");
}

TEST(HttpWire, DatesAreThoseOfTheStandard) { EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT"); }

TEST(HttpWire, TheRoomsOwnFieldsCannotBeSetFromOutside) {
  const Response response{.headers = {{"content-length", "7"}, {"Connection", "x"}, {"X-Mine", "y"}}, .body = "abc"};
  EXPECT_EQ(response_head(response, {}),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Mine: y\r\nContent-Length: 3\r\n\r\n");
}

TEST(HttpWire, ALineEndInAHeaderIsNoticed) {
  EXPECT_TRUE(has_safe_headers(Response{.headers = {{"X-Ok", "a\tb \xc3\xa9"}}}));
  EXPECT_FALSE(has_safe_headers(Response{.headers = {{"X-Bad", "a\r\nSet-Cookie: b"}}}));
  EXPECT_FALSE(has_safe_headers(Response{.headers = {{"X Bad", "a"}}}));
  EXPECT_FALSE(has_safe_headers(Response{.headers = {{"", "a"}}}));
  EXPECT_FALSE(has_safe_headers(Response{.content_type = "text/plain\n"}));
}

TEST(HttpWire, SomeStatusesHaveNoBody) {
  EXPECT_FALSE(may_have_body(204));
  EXPECT_FALSE(may_have_body(304));
  EXPECT_TRUE(may_have_body(200));
  EXPECT_TRUE(may_have_body(404));
}

}  // namespace
}  // namespace flowfabric::net
