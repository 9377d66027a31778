// A worker process whose executions wait for signals, over HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowfabric::chaos {

inline constexpr const char* waiting_kind = "waits_for_signals";
inline constexpr const char* awaited_waitpoint = "go";
inline constexpr std::uint32_t awaited_signals = 3;

struct SignalWorkerOptions {
  std::string name{};  // no other process has it, nor had
  std::uint64_t seed = 0;
  std::vector<std::string> urls{};
};

// It claims, suspends what has not waited yet, and completes what has, with the payloads of the signals as the result.
std::vector<std::string> signal_worker_words(const SignalWorkerOptions& options);
bool is_signal_worker(int argc, char** argv);
int run_signal_worker(int argc, char** argv);

}  // namespace flowfabric::chaos
