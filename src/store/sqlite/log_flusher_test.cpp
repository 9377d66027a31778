#include "store/sqlite/log_flusher.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <latch>
#include <thread>

#include "store/sqlite/session.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::sqlite {
namespace {

class LogFlusherTest : public testing::Test {
 protected:
  std::unique_ptr<LogFlusher> open(LogFlusher::Flush flush) {
    const std::string path = folder_.file("log");
    std::ofstream{path}.put('x');
    auto flusher = LogFlusher::open(path, std::move(flush));
    if (!flusher) throw std::runtime_error(flusher.error().message);
    return std::move(*flusher);
  }
  static void write(LogFlusher& flusher) {
    flusher.begin_write();
    flusher.end_write();
  }

  test::TempDir folder_;
};

TEST_F(LogFlusherTest, FlushesWhatWasWrittenAndOnlyOnce) {
  int flushes = 0;
  const auto flusher = open([&](int) { return ++flushes, 0; });
  EXPECT_TRUE(flusher->settle());
  EXPECT_EQ(flushes, 0);
  write(*flusher);
  write(*flusher);
  EXPECT_TRUE(flusher->settle());
  EXPECT_TRUE(flusher->settle());
  EXPECT_EQ(flushes, 1);
}

// A flush that began before the write does not cover it.
TEST_F(LogFlusherTest, AWriteDuringAFlushNeedsAnother) {
  std::latch flushing(1), written(1);
  std::atomic<int> flushes{0};
  const auto flusher = open([&](int) {
    if (++flushes == 1) {
      flushing.count_down();
      written.wait();
    }
    return 0;
  });
  write(*flusher);
  std::thread first([&] { EXPECT_TRUE(flusher->settle()); });
  flushing.wait();
  write(*flusher);
  std::thread second([&] { EXPECT_TRUE(flusher->settle()); });
  written.count_down();
  first.join();
  second.join();
  EXPECT_EQ(flushes, 2);
}

// A reader may see a commit whose statement has not returned yet; it must not rely on an earlier flush, nor may the
// writer rely on the reader's flush, which may be too early.
TEST_F(LogFlusherTest, WhoSeesAWriteThatHasNotEndedWaitsForItsFlush) {
  std::atomic<int> flushes{0};
  const auto flusher = open([&](int) { return ++flushes, 0; });
  flusher->begin_write();
  std::atomic<bool> settled{false};
  std::thread reader([&] {
    EXPECT_TRUE(flusher->settle());
    settled = true;
  });
  EXPECT_FALSE(settled);
  EXPECT_EQ(flushes, 0);
  flusher->end_write();
  EXPECT_TRUE(flusher->settle());
  reader.join();
  EXPECT_EQ(flushes, 1);
}

TEST_F(LogFlusherTest, AFailureStays) {
  int result = -1;
  const auto flusher = open([&](int) { return errno = EIO, result; });
  write(*flusher);
  const auto refused = flusher->settle();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::outcome_unknown);
  EXPECT_NE(refused.error().message.find("Input/output error"), std::string::npos) << refused.error().message;
  result = 0;
  EXPECT_FALSE(flusher->settle());
  EXPECT_TRUE(flusher->broken());
}

TEST_F(LogFlusherTest, AWriterWhoseDiskHasFailedTakesNoMore) {
  int result = 0;
  const std::string path = folder_.file("jobs.db");
  const auto writer = Writer::open(path, Synchronous::full, [&](int) { return errno = EIO, result; });
  ASSERT_TRUE(writer) << writer.error().message;
  const auto commit_something = [&]() -> Result<void> {
    if (auto begun = (*writer)->begin(); !begun) return begun;
    if (auto set = (*writer)->database().execute("UPDATE meta SET value = value + 1"); !set) return set;
    if (auto committed = (*writer)->commit(); !committed) return committed;
    return (*writer)->settle();
  };
  EXPECT_TRUE(commit_something());
  result = -1;
  const auto lost = commit_something();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::outcome_unknown);
  result = 0;
  const auto refused = commit_something();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_NE(refused.error().message.find("start again"), std::string::npos) << refused.error().message;
}

// Another process may have died between its commit and its flush; what is read of it must be durable before it is told.
TEST(SqliteSettle, FlushesTheCommitsOfAnotherHandle) {
  const test::TempDir folder;
  const std::string path = folder.file("jobs.db");
  int flushes = 0;
  const auto reader = Writer::open(path, Synchronous::full, [&](int) { return ++flushes, 0; });
  const auto other = Writer::open(path, Synchronous::full, [](int) { return 0; });
  ASSERT_TRUE(reader && other);
  ASSERT_TRUE((*reader)->begin());
  (*reader)->rollback();
  ASSERT_TRUE((*reader)->settle());
  const int before = flushes;
  ASSERT_TRUE((*other)->begin());
  ASSERT_TRUE((*other)->database().execute("UPDATE meta SET value = value + 1"));
  ASSERT_TRUE((*other)->commit());
  ASSERT_TRUE((*reader)->begin()) << "from here on the batch sees the commit";
  (*reader)->rollback();
  ASSERT_TRUE((*reader)->settle());
  EXPECT_EQ(flushes, before + 1);
}

TEST(SqliteSettle, WithSynchronousNormalNobodyFlushes) {
  const test::TempDir folder;
  const auto writer = Writer::open(folder.file("jobs.db"), Synchronous::normal, [](int) {
    ADD_FAILURE() << "flushed";
    return 0;
  });
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_FALSE((*writer)->settles_later());
  EXPECT_TRUE((*writer)->settle());
}

}  // namespace
}  // namespace flowfabric::sqlite
