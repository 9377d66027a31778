#include "engine/health.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"

namespace flowfabric {
namespace {

const Error disk_full{Errc::unavailable, "the disk is full", {}, {}};
const Error read_only{Errc::unavailable, "the server is read-only", {}, {}};

std::size_t times_said(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(Health, ACauseIsLoggedOnceAndThenCounted) {
  Health health;
  configure_log(LogLevel::warn, LogFormat::text);
  testing::internal::CaptureStderr();
  for (std::int64_t now_ms = 0; now_ms <= 60000; now_ms += 100) health.note_failure(disk_full, false, now_ms);
  health.note_failure(read_only, false, 60100);
  health.note_failure(read_only, false, 60200);
  health.note_success();
  health.note_success();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(times_said(said, "the disk is full"), 2u) << "at once and after a minute: " << said;
  EXPECT_EQ(times_said(said, "failed_writes=600"), 1u) << said;
  EXPECT_EQ(times_said(said, "the server is read-only"), 1u) << said;
  EXPECT_EQ(times_said(said, "can be written to again"), 1u) << said;
  EXPECT_EQ(health.failures(), 603u);
  EXPECT_FALSE(health.failure());
}

TEST(Health, AsksForAProbeOnceASecondWhileWritesFail) {
  Health health;
  EXPECT_FALSE(health.next_probe_ms());
  EXPECT_FALSE(health.probe_is_due(5000));
  health.note_failure(disk_full, false, 5000);
  EXPECT_EQ(health.next_probe_ms(), 6000);
  EXPECT_FALSE(health.probe_is_due(5999));
  EXPECT_FALSE(health.take_probe());
  EXPECT_TRUE(health.probe_is_due(6000));
  EXPECT_FALSE(health.probe_is_due(6000));
  EXPECT_TRUE(health.take_probe());
  EXPECT_FALSE(health.take_probe());
  EXPECT_EQ(health.next_probe_ms(), 7000);
  health.note_success();
  EXPECT_FALSE(health.next_probe_ms());
}

TEST(Health, AFailureThatLastsIsNotProbed) {
  Health health;
  health.note_failure(disk_full, true, 0);
  EXPECT_FALSE(health.probe_is_due(100000));
  health.note_success();
  ASSERT_TRUE(health.lasting_failure());
  EXPECT_EQ(health.lasting_failure()->message, "the disk is full");
}

}  // namespace
}  // namespace flowfabric
