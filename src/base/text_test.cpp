#include "base/text.hpp"

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

TEST(Text, WellFormedUtf8) {
  for (const char* good : {"", "plain", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
                           "gr\xc3\xbc\xc3\x9f"
                           "e"}) {
    EXPECT_TRUE(is_valid_utf8(good)) << good;
  }
  EXPECT_TRUE(is_valid_utf8(std::string(1, '\0')));
}

TEST(Text, MalformedUtf8) {
  const char* bad[] = {
      "\x80",
      "\xbf",
      "\xc0\x80",
      "\xc1\xbf",  // a lone continuation, overlong forms of two bytes
      "\xc2",
      "\xc2g",
      "\xe0\x9f\xbf",
      "\xe1\x80",  // cut short, overlong forms of three bytes
      "\xed\xa0\x80",
      "\xed\xbf\xbf",  // surrogates
      "\xf0\x8f\xbf\xbf",
      "\xf4\x90\x80\x80",
      "\xf5\x80\x80\x80",  // overlong, above U+10FFFF
      "\xf1\x80\x80",
      "\xff",
      "\xfe",
      "good then \xc3",
  };
  for (const char* text : bad) EXPECT_FALSE(is_valid_utf8(text));
}

TEST(Text, EveryTruncationOfACharacterIsMalformed) {
  const std::string whole = "\xf0\x9f\x9a\x80";
  for (std::size_t size = 1; size < whole.size(); ++size) EXPECT_FALSE(is_valid_utf8(whole.substr(0, size)));
}

// Words of plain characters are checked as a whole; characters between and after them must be checked too.
TEST(Text, MalformedBytesAreFoundAtEveryPlace) {
  for (std::size_t size = 1; size <= 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      EXPECT_TRUE(is_valid_utf8(text));
      text[at] = '\xff';
      EXPECT_FALSE(is_valid_utf8(text)) << size << " " << at;
    }
    EXPECT_TRUE(is_valid_utf8(std::string(size, 'a') + "\xc3\xbc" + std::string(size, 'a')));
  }
}

TEST(Text, ControlCharacters) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(has_control_characters(text), byte < 0x20 || byte == 0x7f) << byte;
  }
  EXPECT_FALSE(has_control_characters(""));
  EXPECT_TRUE(has_control_characters("line\n"));
  for (int byte = 0x80; byte < 0xc0; ++byte) {
    const std::string c1_or_later = std::string("a\xc2") + static_cast<char>(byte);
    EXPECT_EQ(has_control_characters(c1_or_later), byte < 0xa0) << byte;
    EXPECT_FALSE(has_control_characters(std::string("\xc3") + static_cast<char>(byte))) << byte;
  }
}

TEST(Text, JoinPutsTheSeparatorBetweenAllParts) {
  EXPECT_EQ(join({}, ","), "");
  EXPECT_EQ(join({"a"}, ","), "a");
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({"a", "", "c"}, ","), "a,,c");
  EXPECT_EQ(join({"", "b"}, ","), ",b") << "an empty first part is a part";
}

TEST(Text, TimesAreUtcWithMilliseconds) {
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_utc(1767323045678), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(format_utc(951782400007), "2000-02-29T00:00:00.007Z");
  EXPECT_EQ(format_utc(253402300799999), "9999-12-31T23:59:59.999Z");
}

TEST(Text, ATraceparentHasItsForm) {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_TRUE(is_traceparent(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = 'G';
    EXPECT_FALSE(is_traceparent(bad)) << i;
    EXPECT_FALSE(is_traceparent(good.substr(0, i)));
  }
  EXPECT_FALSE(is_traceparent("01" + good.substr(2)));
  EXPECT_FALSE(is_traceparent(good + "-x"));
  EXPECT_FALSE(is_traceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  EXPECT_FALSE(is_traceparent("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
}

TEST(Text, ClippedTextsEndWithAWholeCharacter) {
  EXPECT_EQ(clipped("short", 5), "short");
  EXPECT_EQ(clipped("longer", 5), "longe\xe2\x80\xa6");
  EXPECT_EQ(clipped("abc\xc3\xa9", 4), "abc\xe2\x80\xa6");
  EXPECT_EQ(clipped("\xf0\x9f\x98\x80", 3), "\xe2\x80\xa6");
}

}  // namespace
}  // namespace flowfabric
