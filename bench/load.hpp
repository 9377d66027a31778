// The load of the benchmarks: callers that repeatedly do one create, one claim, one complete, and wait for the durable
// reply of each.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include <flowfabric/engine.hpp>

namespace flowfabric::bench {

struct LoadOptions {
  int callers = 64;
  double seconds = 5;
  std::size_t payload_bytes = 128;
  std::size_t result_bytes = 32;
  bool threads = true;   // a thread for each caller, blocked in its call; or callers without threads (the async calls)
  int keys = 0;          // values of the tag `bench.key` of the executions; 0: they have none
  pid_t postmaster = 0;  // of the server whose CPU is counted; 0: none
};

struct LoadFigures {
  double cycles_per_second = 0;
  double create_p50_ms = 0, create_p99_ms = 0;
  double claim_p50_ms = 0, claim_p99_ms = 0;
  double complete_p50_ms = 0, complete_p99_ms = 0;
  double commands_per_batch = 0;
  double cpu_us_per_cycle = 0;         // of this process
  double server_cpu_us_per_cycle = 0;  // of all processes of the database's server
  std::uint64_t stale = 0;             // change sets that lost a race
};

// Runs the load; prints and exits on the first error, because a figure with errors is invalid.
LoadFigures run_load(Engine& engine, const LoadOptions& options);

}  // namespace flowfabric::bench
