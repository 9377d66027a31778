#include "store/sqlite/checkpointer.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::sqlite {
namespace {

class CheckpointerTest : public testing::Test {
 protected:
  CheckpointerTest() {
    EXPECT_EQ(database_.query_text("PRAGMA journal_mode = WAL").value(), "wal");
    EXPECT_TRUE(database_.execute("CREATE TABLE t(x)"));
  }
  void write() { ASSERT_TRUE(database_.execute("INSERT INTO t VALUES(zeroblob(20000))")); }

  const test::TempDir folder_;
  const std::string path_ = folder_.file("x.db");
  Database database_ = Database::open(path_).value();
};

TEST_F(CheckpointerTest, KeepsTheLogShort) {
  Checkpointer checkpointer(database_, {.checkpoint_frames = 20, .warning_frames = 60});
  for (int i = 0; i < 50; ++i) write();
  EXPECT_EQ(checkpointer.unfinished(), 0u);
  EXPECT_LT(checkpointer.log_bytes(), 30u * 5000u);
}

TEST_F(CheckpointerTest, SaysOnceThatTheLogGrowsAndThatItNoLongerDoes) {
  Checkpointer checkpointer(database_, {.checkpoint_frames = 20, .warning_frames = 60});
  write();
  auto reader = Database::open(path_).value();
  ASSERT_TRUE(reader.execute("BEGIN"));
  ASSERT_TRUE(reader.query_integer("SELECT count(*) FROM t"));
  configure_log(LogLevel::warn, LogFormat::text);
  testing::internal::CaptureStderr();
  while (checkpointer.log_bytes() < 100u * 4120u) write();
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string warning = "the write-ahead log grows";
  EXPECT_NE(said.find(warning), std::string::npos) << said;
  EXPECT_EQ(said.find(warning), said.rfind(warning)) << "once until it has doubled: " << said;
  EXPECT_NE(said.find("a reader keeps an old state"), std::string::npos) << said;
  EXPECT_GT(checkpointer.unfinished(), 0u);
  ASSERT_TRUE(reader.execute("COMMIT"));
  const auto unfinished = checkpointer.unfinished();
  write();
  write();
  EXPECT_LT(checkpointer.log_bytes(), 20u * 4120u) << "the log begins anew";
  EXPECT_EQ(checkpointer.unfinished(), unfinished);
}

}  // namespace
}  // namespace flowfabric::sqlite
