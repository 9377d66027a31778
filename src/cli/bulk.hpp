// One action on many executions: named one by one or chosen by a filter, after asking, with progress and a report.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <flowfabric/engine.hpp>

#include "cli/arguments.hpp"

namespace flowfabric::cli {

struct PriorityReply {
  std::int32_t priority = 0;
};
using ActionReply = std::variant<CancelReply, ReplayReply, PriorityReply>;

struct BulkAction {
  std::string verb{};                       // "cancel"
  std::string request{};                    // "cancel", before "3 executions?"
  std::string past{};                       // "cancelled", after "3 executions"
  std::vector<PublicState> applies_to{};    // the states that it can do something with
  std::vector<PublicState> unless_named{};  // the states that a filter without --state selects
  std::function<Result<ActionReply>(Engine&, const ExecutionId&)> act{};
};

struct BulkSuccess {
  ExecutionId execution_id{};
  ActionReply reply{};
};
struct BulkFailure {
  ExecutionId execution_id{};
  Error error{};
};

struct BulkReport {
  std::string action{};
  bool dry_run = false;
  bool interrupted = false;
  std::uint64_t matched = 0;
  std::uint64_t changed = 0;
  std::uint64_t unchanged = 0;  // was so already
  std::uint64_t skipped = 0;    // chosen by a filter, but had ended, gone or started over by the time of the action
  std::vector<BulkSuccess> results{};
  std::vector<BulkFailure> failures{};
};

std::vector<OptionSpec> bulk_options();
// Every state in which an execution has not ended, and every other.
std::vector<PublicState> open_states();
std::vector<PublicState> ended_states();

Result<int> run_bulk(const BulkAction& action, const Arguments& arguments);

}  // namespace flowfabric::cli
