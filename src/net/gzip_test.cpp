#include "net/gzip.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

namespace flowfabric::net {
namespace {

std::string gunzip(std::string_view packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(HttpGzip, ComesBack) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "{\"number\":" + std::to_string(i) + "}";
  const auto packed = gzip(text);
  ASSERT_TRUE(packed);
  EXPECT_LT(packed->size(), text.size() / 3);
  EXPECT_EQ(gunzip(*packed), text);
  EXPECT_EQ(gunzip(*gzip("")), "");
}

TEST(HttpGzip, IsTakenApartWithinBounds) {
  const std::string text(10000, 'x');
  const std::string packed = *gzip(text);
  EXPECT_EQ(net::gunzip(packed, text.size()), text);
  EXPECT_EQ(net::gunzip(packed, 2 * text.size()), text);
  EXPECT_FALSE(net::gunzip(packed, text.size() - 1));
  EXPECT_FALSE(net::gunzip(std::string_view(packed).substr(0, packed.size() / 2), text.size()));
  EXPECT_FALSE(net::gunzip("no gzip", 100));
  EXPECT_FALSE(net::gunzip("", 100));
  EXPECT_EQ(net::gunzip(*gzip(""), 0), "");
}

TEST(HttpGzip, OnlyForWhoAsksForIt) {
  const auto accepts = [](std::string value) { return accepts_gzip(Headers{{"accept-encoding", std::move(value)}}); };
  EXPECT_TRUE(accepts("gzip"));
  EXPECT_TRUE(accepts("deflate, GZIP;q=0.5 , br"));
  EXPECT_TRUE(accepts("*"));
  EXPECT_TRUE(accepts("gzip;q=1, *;q=0"));
  EXPECT_FALSE(accepts("gzip; q=0"));
  EXPECT_FALSE(accepts("gzip;q=0.000"));
  EXPECT_FALSE(accepts("*;q=1, gzip;q=0"));
  EXPECT_FALSE(accepts("br, deflate"));
  EXPECT_FALSE(accepts(""));
  EXPECT_FALSE(accepts_gzip(Headers{}));
}

TEST(HttpGzip, OnlyForText) {
  for (const char* type : {"application/json", "text/html; charset=utf-8", "application/problem+json", "image/svg+xml",
                           "text/javascript", "Application/JSON"}) {
    EXPECT_TRUE(is_compressible(type)) << type;
  }
  for (const char* type : {"image/png", "application/octet-stream", "text/event-stream", "", "font/woff2"}) {
    EXPECT_FALSE(is_compressible(type)) << type;
  }
}

}  // namespace
}  // namespace flowfabric::net
