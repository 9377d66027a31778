#include "engine/log_health.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"

namespace flowfabric {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

class LogHealthTest : public ::testing::Test {
 protected:
  std::string lines_for(std::int64_t held_back_ms, std::int64_t uncleared_ms = 0) {
    CaptureStderr();
    report_.tell({held_back_ms, uncleared_ms, "pid 7"});
    return GetCapturedStderr();
  }

  LogHealthReport report_;
};

TEST_F(LogHealthTest, warns_when_it_begins_and_seldom_while_it_lasts) {
  const std::int64_t long_enough = limits::events_held_back_warning_ms;
  EXPECT_EQ(lines_for(long_enough - 1), "");
  EXPECT_NE(lines_for(long_enough).find("pid 7"), std::string::npos);
  EXPECT_EQ(lines_for(2 * long_enough), "");
  EXPECT_NE(lines_for(10 * long_enough).find("events are held back"), std::string::npos);
  lines_for(0);
  EXPECT_NE(lines_for(long_enough), "") << "it has begun again";
}

TEST_F(LogHealthTest, tells_of_removed_rows_on_their_own) {
  const std::string lines = lines_for(0, limits::uncleared_rows_warning_ms);
  EXPECT_NE(lines.find("removed rows"), std::string::npos);
  EXPECT_EQ(lines.find("events are held back"), std::string::npos);
}

}  // namespace
}  // namespace flowfabric
