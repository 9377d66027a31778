// A load that runs until it is stopped or killed: threads that create, claim, complete, fail, renew and delay through
// the public engine, and report every acknowledgement to a witness, after it was received.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include <flowfabric/engine.hpp>

namespace flowfabric::crash {

// An acknowledgement of the engine, as one short line without its end: "created ID KEY", "completed ID RESULT" or "held
// ID". Called from many threads.
using Witness = std::function<void(const std::string& line)>;

struct LoadOptions {
  std::string name;  // makes keys, results and worker names unique among all loads on one store
  std::uint64_t seed = 0;
  int creators = 2;
  int workers = 3;
  std::uint32_t lease_ttl_ms = 300;
  int max_open = 120;  // creators pause while this many are not completed, so that the end is never far away
};

// Runs until `stop`. Retryable errors are retried; the others end the step, as for a real worker.
void run_load(Engine& engine, const LoadOptions& options, const Witness& witness, const std::atomic<bool>& stop);

// Creates and claims `count` executions, reports each as held and keeps renewing until `stop`, completing none.
void run_holder(Engine& engine, const LoadOptions& options, std::uint32_t count, const Witness& witness,
                const std::atomic<bool>& stop);

// Claims and completes until nothing is left that could still run. False if `limit_ms` pass without that.
bool drain(Engine& engine, const Witness& witness, std::int64_t limit_ms);

}  // namespace flowfabric::crash
