// A worker process of the SDK whose handlers record durable steps, and the ledger in which it tells what it did.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace flowfabric::chaos {

struct StepWorkerOptions {
  std::string name{};    // no other process has it, nor had
  std::string ledger{};  // file
  std::string url{};     // of a store or a server
  std::uint64_t seed = 0;
  bool may_die = true;  // kills itself now and then, between any two lines of a handler
};

inline constexpr int steps_of_an_execution = 5;
inline constexpr const char* five_steps = "five_steps";  // the kind
// A handler of this kind waits in its first attempt until it is stopped, and then tries to write; later attempts complete.
inline constexpr const char* outlived = "outlived";

std::vector<std::string> step_worker_words(const StepWorkerOptions& options);
bool is_step_worker(int argc, char** argv);
int run_step_worker(int argc, char** argv);

struct LedgerOfStep {
  std::set<std::string> made{};  // by the step's function
  std::set<std::string> seen{};  // returned by task.step
};
// By execution and step, of all ledgers in the folder.
using Ledger = std::map<std::string, std::map<std::string, LedgerOfStep>>;
Ledger read_ledgers(const std::filesystem::path& folder);

}  // namespace flowfabric::chaos
