// The type of a command, and the tables that the files of this module contribute.
#pragma once

#include <functional>
#include <vector>

#include "cli/arguments.hpp"

namespace flowfabric::cli {

struct Command {
  CommandSpec spec{};
  // Returns the exit code, or an error.
  std::function<Result<int>(const Arguments&)> run{};
};

// Commands of two words share the first, which names their group.
struct CommandGroup {
  std::string name{};
  std::string summary{};
};
const std::vector<CommandGroup>& command_groups();
// The whole table.
const std::vector<Command>& all_commands();
// "flowfabric 0.1.0 (build 0123456789ab)"
std::string version_text();

std::vector<Command> store_commands();      // migrate, integrity
std::vector<Command> execution_commands();  // executions list, show, ...: one at a time
std::vector<Command> create_commands();     // executions create
std::vector<Command> flow_commands();       // flows list, show, nodes, ...: reading
std::vector<Command> flow_act_commands();   // flows submit, add, seal, wait, cancel, replay
std::vector<Command> wait_commands();       // waits, waitpoints, approvals, executions resume
std::vector<Command> signal_commands();     // signals send
std::vector<Command> hook_commands();
std::vector<Command> schedule_commands();     // schedules create, list, show, ...
std::vector<Command> budget_commands();       // budgets list, show, set, ...
std::vector<Command> limit_commands();        // limits list, show, set, ...
std::vector<Command> dead_letter_commands();  // dead-letters, redrives
std::vector<Command> event_commands();        // events
std::vector<Command> namespace_commands();    // namespaces list, show, set
std::vector<Command> about_commands();        // version, completion, man
std::vector<Command> bulk_commands();         // executions cancel, replay, priority, signal: many at a time
std::vector<Command> top_commands();
std::vector<Command> lane_commands();
std::vector<Command> worker_commands();
std::vector<Command> api_key_commands();
std::vector<Command> care_commands();    // leases, keys, retention
std::vector<Command> deploy_commands();  // check-deploy

// Options that many commands share.
OptionSpec store_option();                // for commands that do not work through a server
std::vector<OptionSpec> place_options();  // --store, --profile, --api-key, --ca-file
OptionSpec json_option();
OptionSpec yes_option();
std::vector<OptionSpec> operator_options();  // --by, --reason
// `own` first, then the options of the target and --json.
std::vector<OptionSpec> options_of_reading(std::vector<OptionSpec> own);
// `own` first, then --by, --reason, the options of the target and --json.
std::vector<OptionSpec> options_of_acting(std::vector<OptionSpec> own);

}  // namespace flowfabric::cli
