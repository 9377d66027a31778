// A worker process of the SDK for nodes of flows. How a node ends depends only on its payload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowfabric::chaos {

struct FlowWorkerOptions {
  std::string name{};  // no other process has it, nor had
  std::string url{};   // of a store or a server
  std::uint64_t seed = 0;
};

inline constexpr const char* flow_node = "node";  // the kind
// Payloads, as JSON.
inline constexpr const char* plan_success = "\"success\"";
inline constexpr const char* plan_retries = "\"retries\"";  // fails twice, then succeeds
inline constexpr const char* plan_failure = "\"failure\"";

std::vector<std::string> flow_worker_words(const FlowWorkerOptions& options);
bool is_flow_worker(int argc, char** argv);
int run_flow_worker(int argc, char** argv);

}  // namespace flowfabric::chaos
