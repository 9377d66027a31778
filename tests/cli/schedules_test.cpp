// The commands for schedules of flows, on a store and through a server.
#include <fstream>

#include <gtest/gtest.h>

#include "cli/fixture.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

const std::string import_flow =
    R"({"kind": "import", "nodes": [{"name": "a", "kind": "job"}, {"name": "b", "kind": "job"}],
  "edges": [{"from": "a", "to": "b"}]})";

class Schedules : public OnAStore {
 protected:
  std::string file(const std::string& content) {
    const std::string path = (folder_.path() / "scheduled.json").string();
    std::ofstream(path) << content;
    return path;
  }

  test::TempDir folder_{"flowfabric-schedules-cli"};
};

INSTANTIATE_TEST_SUITE_P(, Schedules, testing::ValuesIn(all_ways()), way_name);

TEST_P(Schedules, CreateTriggerAndShowFlows) {
  const auto made = run({"schedules", "create", "nightly", "--every", "1h", "--flow", file(import_flow)});
  ASSERT_EQ(made.code, 0) << made.err;
  const auto fired = run({"schedules", "trigger", "nightly"});
  ASSERT_EQ(fired.code, 0) << fired.err;
  const std::string flow = fired.out.substr(0, fired.out.find('\n'));
  EXPECT_EQ(run({"flows", "show", flow}).code, 0);
  const auto shown = run({"schedules", "show", "nightly"});
  EXPECT_NE(shown.out.find("flow import with 2 nodes"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("flow " + flow), std::string::npos) << shown.out;
  const auto skipped = run({"schedules", "trigger", "nightly"});
  EXPECT_EQ(skipped.out, "skipped: what an earlier firing created has not ended\n");
  const auto both = run({"schedules", "create", "other", "--every", "1h", "--kind", "k", "--flow", file(import_flow)});
  EXPECT_NE(both.code, 0);
  EXPECT_NE(both.err.find("--flow"), std::string::npos) << both.err;
}

}  // namespace
}  // namespace flowfabric::cli_test
