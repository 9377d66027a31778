#include <gtest/gtest.h>

#include "e2e/chaos/clients.hpp"
#include "e2e/chaos/flow_worker.hpp"
#include "e2e/chaos/signal_worker.hpp"
#include "e2e/chaos/step_worker.hpp"

int main(int argc, char** argv) {
  if (flowfabric::chaos::is_client_process(argc, argv)) return flowfabric::chaos::run_client_process(argc, argv);
  if (flowfabric::chaos::is_step_worker(argc, argv)) return flowfabric::chaos::run_step_worker(argc, argv);
  if (flowfabric::chaos::is_flow_worker(argc, argv)) return flowfabric::chaos::run_flow_worker(argc, argv);
  if (flowfabric::chaos::is_signal_worker(argc, argv)) return flowfabric::chaos::run_signal_worker(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
