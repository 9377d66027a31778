// The people of the demo: workers, one of whom dies, and those who submit.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <flowfabric/engine.hpp>

#include "cli/demo_plan.hpp"
#include "cli/demo_tally.hpp"

namespace flowfabric::cli {

// What the threads of one run share. `ids` has one place a job; each is written once, by the thread that submits it.
struct Stage {
  Engine& engine;
  const Plan& plan;
  Complaints& complaints;
  const std::atomic<bool>& stop;
  std::vector<ExecutionId> ids;
};

// Claims and handles until `stop`.
void work(Stage& stage, std::uint32_t number, bool has_gpu);

// Takes all orphaned jobs under short leases and is never heard of again. Call it before any other worker starts, and
// when they are the only submitted ones.
void claim_and_die(Stage& stage, std::uint32_t orphaned);

// Submits these jobs, cancels those that an operator cancels, and repeats those that are submitted twice.
void submit(Stage& stage, const std::vector<Job>& jobs);

}  // namespace flowfabric::cli
