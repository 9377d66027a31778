// `flowfabric integrity` on a SQLite file whose tables were damaged from outside.
#include <string>

#include <gtest/gtest.h>

#include "cli/program.hpp"
#include "store/sqlite/database.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

class DamagedFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_program({"migrate", url()}).code, 0);
    const Finished made = run_program({"executions", "create", "--store", url(), "--kind", "mail"});
    ASSERT_EQ(made.code, 0) << made.err;
    id_ = made.out.substr(0, made.out.find('\n'));
  }
  std::string url() const { return "sqlite:" + folder_.file("store.db"); }
  void execute(const std::string& sql) {
    auto database = sqlite::Database::open(folder_.file("store.db"));
    ASSERT_TRUE(database) << database.error().message;
    const auto done = database->execute(sql);
    ASSERT_TRUE(done) << done.error().message;
  }
  // Finds the problem, repairs it, and finds nothing more.
  void expect_repair(const std::string& problem, const std::string& repair) {
    const Finished found = run_program({"integrity", url()});
    EXPECT_EQ(found.code, 1);
    EXPECT_EQ(found.out, problem + "\none problem found in 3 records\n") << found.err;
    const Finished repaired = run_program({"integrity", "--repair", url()});
    EXPECT_EQ(repaired.code, 0);
    EXPECT_EQ(repaired.out, problem + ": " + repair + "\none problem found in 3 records, 1 repaired\n") << repaired.err;
    EXPECT_EQ(run_program({"integrity", url()}).out, "no problems found\n");
  }

  const test::TempDir folder_;
  std::string id_;
};

TEST_F(DamagedFile, ARouteThatIsNotStoredIsStoredAgain) {
  execute("DELETE FROM route");
  expect_repair("execution " + id_ + " can be claimed, but its route is not stored", "stored the route");
}

TEST_F(DamagedFile, AnEmptyReadyIndexIsFilledAgain) {
  execute("DELETE FROM ready");
  expect_repair("execution " + id_ + " can be claimed, but is missing from the ready index", "added the entry");
}

}  // namespace
}  // namespace flowfabric::cli_test
