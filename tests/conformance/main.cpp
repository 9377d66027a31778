// Runs the conformance suite and prints how many cases each store ran. The numbers must be equal: a case that only some
// stores run proves nothing about the interface.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "support/stores.hpp"

namespace {

// Test names end in "/<parameter name>".
int cases_run_on(std::string_view store) {
  const std::string suffix = "/" + std::string(store);
  int cases = 0;
  const auto& unit_test = *testing::UnitTest::GetInstance();
  for (int i = 0; i < unit_test.total_test_suite_count(); ++i) {
    const auto& suite = *unit_test.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const auto& info = *suite.GetTestInfo(j);
      if (info.should_run() && std::string_view(info.name()).ends_with(suffix)) ++cases;
    }
  }
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  if (GTEST_FLAG_GET(list_tests)) return result;

  std::string line;
  bool equal = true;
  int first = -1;
  for (const auto& kind : flowfabric::test::store_kinds()) {
    const int cases = cases_run_on(kind.name);
    if (first < 0) first = cases;
    equal = equal && cases == first;
    line += (line.empty() ? "cases on " : ", ") + kind.name + ": " + std::to_string(cases);
  }
  std::printf("%s\n", line.c_str());
  const bool filtered = GTEST_FLAG_GET(filter) != "*";
  if (!equal && !filtered) {
    std::printf("the stores did not run the same number of cases\n");
    return 1;
  }
  return result;
}
