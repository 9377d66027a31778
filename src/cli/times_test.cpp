#include "cli/times.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"

namespace flowfabric::cli {
namespace {

TEST(Durations, EveryUnit) {
  const std::pair<const char*, std::int64_t> right[] = {
      {"0s", 0},       {"500ms", 500},    {"30s", 30000}, {"5m", 300000},
      {"2h", 7200000}, {"7d", 604800000}, {"007s", 7000}, {"3660d", 3660LL * 24 * 3600 * 1000}};
  for (const auto& [text, ms] : right) {
    const auto parsed = parse_duration(text, "--grace");
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, ms) << text;
  }
}

TEST(Durations, EverythingElseIsRefusedByName) {
  for (const char* wrong : {"", "5", "s", "-5s", "+5s", "5 s", " 5s", "5s ", "5S", "1.5h", "1h30m", "5w", "5µs",
                            "99999999999999999999s", "9223372036854775807d", "3661d"}) {
    const auto parsed = parse_duration(wrong, "--grace");
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code, Errc::invalid_argument);
    EXPECT_EQ(parsed.error().field, "--grace");
    EXPECT_NE(parsed.error().message.find("--grace"), std::string::npos);
  }
}

TEST(Durations, TheShortestTextComesBack) {
  EXPECT_EQ(format_duration(0), "0s");
  EXPECT_EQ(format_duration(90000), "90s");
  EXPECT_EQ(format_duration(3600000), "1h");
  EXPECT_EQ(format_duration(1001), "1001ms");
  for (const std::int64_t ms : {1LL, 999LL, 60000LL, 86400000LL, 86400001LL, 123456789LL}) {
    EXPECT_EQ(parse_duration(format_duration(ms), "").value_or(-1), ms);
  }
}

TEST(Times, UtcOrMilliseconds) {
  EXPECT_EQ(parse_time("1767323045678", "").value_or(-1), 1767323045678);
  EXPECT_EQ(parse_time("2026-01-02T03:04:05.678Z", "").value_or(-1), 1767323045678);
  EXPECT_EQ(parse_time("2026-01-02T03:04:05.6Z", "").value_or(-1), 1767323045600);
  EXPECT_EQ(parse_time("2026-01-02T03:04:05Z", "").value_or(-1), 1767323045000);
  EXPECT_EQ(parse_time(format_time(1767323045678), "").value_or(-1), 1767323045678);
  EXPECT_EQ(format_time(0), "-");
}

TEST(Times, NonsenseIsRefused) {
  for (const char* wrong :
       {"", "now", "-1", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-02-31T03:04:05Z",
        "2026-13-01T00:00:00Z", "2026-01-02T25:00:00Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05.1234Z",
        "2026-01-02T03:04:05+01:00", "253402300800000"}) {
    EXPECT_FALSE(parse_time(wrong, "--as-of")) << wrong;
  }
}

}  // namespace
}  // namespace flowfabric::cli
