#include <gtest/gtest.h>

#include "crash/process.hpp"

int main(int argc, char** argv) {
  if (flowfabric::crash::is_load_process(argc, argv)) return flowfabric::crash::run_load_process(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
