// What `flowfabric serve` does about the machine that it runs on.
#include <gtest/gtest.h>

#include "cli/program.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

// Serves under a limit of open files; prints the limits that the server has then, and what it said about them.
std::string limits_of_server(const std::string& limit) {
  const test::TempDir folder;
  const Finished finished = run_script(limit + R"(
flowfabric serve --store sqlite:jobs.db --listen 127.0.0.1:0 --max-connections 1000 > said 2>&1 &
while ! grep -q 'FlowFabric serves' said; do kill -0 $!; sleep 0.02; done
grep 'Max open files' /proc/$!/limits
cat said
)",
                                       folder.file(""));
  EXPECT_EQ(finished.code, 0) << finished.err;
  return finished.out;
}

TEST(Serve, AsksForAsManyOpenFilesAsItsConnectionsNeed) {
  const std::string out = limits_of_server("ulimit -Sn 256");
  EXPECT_NE(out.find("Max open files            1200 "), std::string::npos) << out;
  EXPECT_EQ(out.find("max_connections"), std::string::npos) << out;
}

TEST(Serve, SaysWhenItMayNotOpenSoMany) {
  const std::string out = limits_of_server("ulimit -n 256");
  EXPECT_NE(out.find("Max open files            256 "), std::string::npos) << out;
  EXPECT_NE(out.find("max_connections needs more open files"), std::string::npos) << out;
}

}  // namespace
}  // namespace flowfabric::cli_test
