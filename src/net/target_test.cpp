#include "net/target.hpp"

#include <gtest/gtest.h>

namespace flowfabric::net {
namespace {

using Strings = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

Request decoded(std::string target, std::string method = "GET") {
  Request request{.method = std::move(method), .target = std::move(target)};
  EXPECT_TRUE(decode_target(request)) << request.target;
  return request;
}

bool refused(std::string target) {
  Request request{.method = "GET", .target = std::move(target)};
  const auto result = decode_target(request);
  return !result && result.error().status == 400;
}

TEST(HttpTarget, SegmentsAreDecodedOneByOne) {
  EXPECT_EQ(decoded("/").segments, Strings{});
  EXPECT_EQ(decoded("/a/b").segments, (Strings{"a", "b"}));
  EXPECT_EQ(decoded("/a%2Fb/c%20d+e").segments, (Strings{"a/b", "c d+e"}));
  EXPECT_EQ(decoded("/a//b/").segments, (Strings{"a", "", "b", ""}));
  EXPECT_EQ(decoded("/%C3%A9").segments, Strings{"é"});
  EXPECT_EQ(decoded("/a%2Fb?x").path, "/a%2Fb");
}

TEST(HttpTarget, QueryKeepsItsOrder) {
  EXPECT_EQ(decoded("/p?b=2&a=1&b=3").query, (Pairs{{"b", "2"}, {"a", "1"}, {"b", "3"}}));
  EXPECT_EQ(decoded("/p?a+b=c%26d&flag&&=x").query, (Pairs{{"a b", "c&d"}, {"flag", ""}, {"", "x"}}));
  EXPECT_EQ(decoded("/p?a=b=c?d").query_value("a"), "b=c?d");
  EXPECT_EQ(decoded("/p?").query, Pairs{});
  EXPECT_EQ(decoded("/p?a=1").query_value("b"), std::nullopt);
}

TEST(HttpTarget, AbsoluteFormLosesItsAuthority) {
  EXPECT_EQ(decoded("http://host:80/a/b?c=d").segments, (Strings{"a", "b"}));
  EXPECT_EQ(decoded("HTTPS://host/a").path, "/a");
  EXPECT_EQ(decoded("http://host").path, "/");
  EXPECT_EQ(decoded("http://host?a=b").query, (Pairs{{"a", "b"}}));
}

TEST(HttpTarget, StarIsForOptions) {
  EXPECT_EQ(decoded("*", "OPTIONS").path, "*");
  EXPECT_TRUE(refused("*"));
}

TEST(HttpTarget, WhatCannotBeDecodedIsRefused) {
  for (const char* target : {"/%",         "/%4",           "/%zz",  "/a%00b",       "/%ff",    "/%c3",   "/?a=%",
                             "/?%g0=1",    "/?a=%ed%a0%80", "/../x", "/a/%2e%2E/b",  "/.",      "a",      "?a=b",
                             "//host\x7f", "/\xc3\xa9",     "/a#b",  "ftp://host/a", "host:80", "/%c0%af"}) {
    EXPECT_TRUE(refused(target)) << target;
  }
}

TEST(HttpTarget, EncodingComesBack) {
  const std::string text = "a/b c+d&é%";
  std::string back;
  EXPECT_TRUE(percent_decode(percent_encode(text), true, back));
  EXPECT_EQ(back, text);
}

}  // namespace
}  // namespace flowfabric::net
