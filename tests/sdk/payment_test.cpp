// The test that docs/sdk.md shows.
#include <set>
#include <string>

#include <gtest/gtest.h>

// [testing]
#include <flowfabric/testing.hpp>

using namespace std::chrono_literals;

TEST(Payment, charges_one_key_whatever_crashes) {
  flowfabric::testing::crash_everywhere([](flowfabric::testing::Engine& engine) {
    std::set<std::string> keys;  // what the payment provider has seen
    engine.on("order", [&](flowfabric::Task& task) {
      const std::string key = to_string(task.uuid());
      task.step("charge", [&] { keys.insert(key); });
      task.sleep("cool-off", 72h);
      task.step("ship", [] {});
    });
    const auto id = engine.submit("order", flowfabric::Json());
    engine.run_until_ended(id);
    ASSERT_EQ(engine.outcome(id).outcome, flowfabric::Outcome::success);
    ASSERT_EQ(keys.size(), 1u);
  });
}
// [testing]
