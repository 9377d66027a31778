#include "base/codec.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

enum class Colour : std::uint8_t { red, green, blue };

template <class Put>
std::string encoded(Put put) {
  Encoder out;
  put(out);
  return out.take();
}

TEST(Codec, UnsignedNumbersRoundTripAtEveryWidth) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t value : {(1ULL << bit) - 1, 1ULL << bit, (1ULL << bit) + 1}) {
      const std::string bytes = encoded([&](Encoder& out) { out.unsigned_number(value); });
      Decoder in(bytes);
      EXPECT_EQ(in.unsigned_number(), value);
      EXPECT_TRUE(in.at_end());
      EXPECT_LE(bytes.size(), 10u);
    }
  }
}

TEST(Codec, SignedNumbersRoundTrip) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{-64},
                                   std::int64_t{63}, std::int64_t{1767323045678}, Limits::min(), Limits::max()}) {
    const std::string bytes = encoded([&](Encoder& out) { out.number(value); });
    Decoder in(bytes);
    EXPECT_EQ(in.number(), value);
    EXPECT_TRUE(in.at_end());
  }
  EXPECT_EQ(encoded([](Encoder& out) { out.number(-1); }).size(), 1u)
      << "small numbers are short on both sides of zero";
}

TEST(Codec, EverythingElseRoundTrips) {
  Uuid uuid;
  for (std::size_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::uint8_t>(i * 17);
  const std::string binary("a\0\xff", 3);
  const std::string bytes = encoded([&](Encoder& out) {
    out.reserve(64);
    out.u8(255);
    out.boolean(true);
    out.boolean(false);
    out.text(binary);
    out.text("");
    out.text(binary);
    out.uuid(uuid);
    out.enumerator(Colour::blue);
  });
  Decoder in(bytes);
  EXPECT_EQ(in.u8(), 255);
  EXPECT_TRUE(in.boolean());
  EXPECT_FALSE(in.boolean());
  EXPECT_EQ(in.text(), binary);
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.text_view(), binary);
  EXPECT_EQ(in.uuid(), uuid);
  EXPECT_EQ(in.enumerator(Colour::blue), Colour::blue);
  EXPECT_TRUE(in.at_end());
}

TEST(Codec, WhatDoesNotFitBreaksTheDecoderForGood) {
  const auto breaks = [](const std::string& bytes, auto read) {
    Decoder in(bytes);
    read(in);
    EXPECT_FALSE(in.ok());
    EXPECT_FALSE(in.at_end());
    EXPECT_EQ(in.u8(), 0) << "a broken decoder reads zeros";
    EXPECT_EQ(in.text(), "");
    EXPECT_TRUE(in.uuid().is_nil());
    EXPECT_FALSE(in.ok());
  };
  breaks("", [](Decoder& in) { in.u8(); });
  breaks("\x02", [](Decoder& in) { in.boolean(); });
  breaks("\x03", [](Decoder& in) { in.enumerator(Colour::blue); });
  breaks(
      "\x05"
      "abcd",
      [](Decoder& in) { in.text(); });
  breaks(std::string(15, 'u'), [](Decoder& in) { in.uuid(); });
  breaks(
      "\x03"
      "ab",
      [](Decoder& in) { in.count(); });
  breaks("\xff\xff\xff\xff\x1f", [](Decoder& in) { in.u32(); });
  breaks("\x80", [](Decoder& in) { in.unsigned_number(); });
  breaks(std::string(10, '\xff') + "\x01", [](Decoder& in) { in.unsigned_number(); });
  breaks(std::string(9, '\xff') + "\x01" + "x", [](Decoder& in) { in.text(); });
}

TEST(Codec, ANumberBeyond64BitsIsBroken) {
  const std::string greatest = std::string(9, '\xff') + "\x01";
  Decoder fits(greatest);
  EXPECT_EQ(fits.unsigned_number(), UINT64_MAX);
  EXPECT_TRUE(fits.at_end());
  const std::string one_more = std::string(9, '\x80') + "\x02";
  Decoder in(one_more);
  in.unsigned_number();
  EXPECT_FALSE(in.ok()) << "the bits above the 64th must not be dropped";
}

TEST(Codec, AU32TakesAllOfItsRange) {
  const std::string bytes = encoded([](Encoder& out) { out.unsigned_number(UINT32_MAX); });
  Decoder in(bytes);
  EXPECT_EQ(in.u32(), UINT32_MAX);
  EXPECT_TRUE(in.at_end());
}

TEST(Codec, LeftOversAreNotTheEnd) {
  Decoder in("ab");
  in.u8();
  EXPECT_TRUE(in.ok());
  EXPECT_FALSE(in.at_end());
}

}  // namespace
}  // namespace flowfabric
