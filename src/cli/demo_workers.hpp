// The clients of the demo: workers, one of which dies, and submitters.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <flowfabric/engine.hpp>

#include "cli/demo_plan.hpp"
#include "cli/demo_tally.hpp"

namespace flowfabric::cli {

// The shared data of the threads of one run. `ids` has one element per job; each is written once, by the thread that
// submits it.
struct Stage {
  Engine& engine;
  const Plan& plan;
  Complaints& complaints;
  const std::atomic<bool>& stop;
  std::vector<ExecutionId> ids;
};

// Claims and handles executions until `stop`.
void work(Stage& stage, std::uint32_t number, bool has_gpu);

// Claims all orphaned jobs under short leases and does nothing more. Must be called before any other worker starts,
// when only these jobs are submitted.
void claim_and_die(Stage& stage, std::uint32_t orphaned);

// Submits these jobs, cancels those that an operator cancels, and repeats those that are submitted twice.
void submit(Stage& stage, const std::vector<Job>& jobs);

}  // namespace flowfabric::cli
