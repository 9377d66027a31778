#include "base/log.hpp"

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

TEST(Log, ALineForPeopleIsOneLine) {
  EXPECT_EQ(log_line(LogFormat::text, "T", LogLevel::warn, "two\nlines", {{"key", "a\tb"}}),
            "T warn two lines key=a b");
}

TEST(Log, ALineForProgramsIsJson) {
  EXPECT_EQ(log_line(LogFormat::json, "T", LogLevel::info, "said \"so\"\n", {{"path", "a\\b"}, {"n", "1"}}),
            R"({"time":"T","level":"info","message":"said \"so\"\u000a","path":"a\\b","n":"1"})");
  EXPECT_EQ(log_line(LogFormat::json, "T", LogLevel::error, "\xff", {}),
            R"x({"time":"T","level":"error","message":"(not UTF-8)"})x");
}

}  // namespace
}  // namespace flowfabric
