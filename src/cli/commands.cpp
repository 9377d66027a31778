#include "cli/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>

#include <fmt/core.h>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/complaint.hpp"
#include "cli/demo.hpp"
#include "cli/serve.hpp"
#include "cli/settings.hpp"

namespace flowfabric::cli {
namespace {

using Words = std::vector<std::string>;

const std::vector<CommandGroup>& groups() {
  static const std::vector<CommandGroup> all = {
      {"executions", "list, show and change executions"},
      {"flows", "submit, list, show, wait for and cancel flows"},
      {"signals", "send signals to executions that wait"},
      {"waits", "list and show what executions wait for"},
      {"waitpoints", "list, close and reissue waitpoints"},
      {"approvals", "list approvals and decide about them"},
      {"hooks", "create, list, rotate and remove webhooks"},
      {"schedules", "create, list, show, pause, trigger and backfill schedules"},
      {"budgets", "list, show, set, remove, reset and forecast budgets"},
      {"limits", "list, show, set, remove, check and apply limits"},
      {"dead-letters", "list, show and redrive failed executions by cause"},
      {"redrives", "list, show, pause, resume and cancel redrives"},
      {"lanes", "list, pause, resume, drain and disable lanes"},
      {"namespaces", "show and change the settings of namespaces"},
      {"workers", "list and drain registered workers, mark them dead"},
      {"leases", "list expired leases"},
      {"keys", "list and rotate the signing keys"},
      {"api-keys", "create, list and revoke keys for the HTTP API"},
      {"retention", "remove executions that ended long ago"}};
  return all;
}

Command demo_command() {
  return {
      {"demo",
       {},
       "run 10,000 executions in this process and check every one",
       "Runs an engine and its workers in this process. Some executions fail and are retried, some are delayed, some\n"
       "expire or are cancelled, and one worker dies while it holds leases. At the end the results are compared with\n"
       "the expected ones; the exit code is 1 if an execution is missing or has a wrong result.",
       {{"--store", "URL", "the store (a new SQLite file in a temporary directory)"},
        {"--executions", "N", "number of executions (10000)"},
        {"--workers", "N", "number of worker threads (16)"},
        {"--seed", "S", "random seed for the order of the job types (1)"},
        {"--keep", "", "do not remove the temporary directory"},
        {"--serve", "", "also serve HTTP, and keep serving after the demo, with a little work that goes on"},
        {"--exit", "", "with --serve: exit after the demo"}}},
      run_demo};
}

Command serve_command() {
  return {
      {"serve",
       {},
       "run the engine behind an HTTP API",
       "Opens the store and serves HTTP until Ctrl-C or SIGTERM. Then it accepts no new connections, answers waiting\n"
       "claims, finishes the requests in progress and exits. GET /openapi.json describes the API. Each setting is "
       "read\n"
       "from its option, else from the environment variable FLOWFABRIC_NAME, else from the config file.",
       setting_options()},
      run_serve};
}

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> table = {demo_command(), serve_command()};
    for (auto part :
         {top_commands(),    store_commands(),   execution_commands(),   bulk_commands(),  flow_act_commands(),
          flow_commands(),   signal_commands(),  wait_commands(),        hook_commands(),  schedule_commands(),
          limit_commands(),  budget_commands(),  dead_letter_commands(), lane_commands(),  worker_commands(),
          care_commands(),   api_key_commands(), create_commands(),      event_commands(), namespace_commands(),
          deploy_commands(), about_commands()}) {
      std::move(part.begin(), part.end(), std::back_inserter(table));
    }
    return table;
  }();
  return all;
}

const Command* find_command(const std::string& name) {
  const auto& all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.spec.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const CommandGroup* find_group(const std::string& name) {
  const auto& all = groups();
  const auto found = std::find_if(all.begin(), all.end(), [&](const CommandGroup& g) { return g.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool in_a_group(const CommandSpec& spec) { return spec.name.find(' ') != std::string::npos; }

std::string row(const std::string& words, const std::string& summary) {
  return fmt::format("  {:<30}{}\n", words, summary);
}

constexpr std::string_view about_stores = "\nA store is sqlite:PATH, postgres://USER@HOST/DATABASE or memory:.\n";

constexpr std::string_view about_places =
    "Give it with --store URL or in the environment variable FLOWFABRIC_STORE; the URL of a server, "
    "http(s)://HOST:PORT,\n"
    "works too. Profiles in ~/.config/flowfabric/config.toml give names to stores and servers: --profile NAME.\n";

constexpr std::string_view about_exit_codes =
    "Exit codes: 0 success, 1 problems found or confirmation declined, 2 wrong arguments, 3 not found, 4 not possible\n"
    "in this state, 5 temporary failure, try again, 6 wrong schema version, 7 damaged data, 8 API key missing or\n"
    "without permission, 70 internal error, 130 interrupted.\n";

constexpr std::string_view about_json =
    "--json prints one document, with the fields of the HTTP API: ids are text, times are milliseconds since the "
    "epoch,\n"
    "and fields that are not set are left out. Errors are {\"error\": {\"code\", \"message\", \"field\"}} on stderr.\n";

std::string overview() {
  std::string text = "usage: flowfabric COMMAND [arguments]\n\n";
  for (const Command& command : commands()) {
    if (!in_a_group(command.spec)) text += row(synopsis(command.spec), command.spec.summary);
  }
  for (const CommandGroup& group : groups()) text += row(group.name + " ...", group.summary);
  text += row("help COMMAND", "show the help of a command");
  return text + std::string(about_stores) + std::string(about_exit_codes) + "--version prints the version.\n";
}

std::string group_overview(const CommandGroup& group) {
  std::string text = fmt::format("usage: flowfabric {} COMMAND [arguments]\n\n", group.name);
  for (const Command& command : commands()) {
    if (command.spec.name.starts_with(group.name + " ")) text += row(synopsis(command.spec), command.spec.summary);
  }
  return text + std::string(about_stores) + std::string(about_places) + std::string(about_json) +
         fmt::format("flowfabric help {} COMMAND shows the help of one of these.\n", group.name);
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

bool wants_json(const Words& words) {
  const auto options_end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), options_end, "--json") != options_end;
}

int refuse_command(const std::string& name, const std::string& where, bool json) {
  const std::string list = where.empty() ? "flowfabric --help" : "flowfabric help " + where;
  return complain("flowfabric", Error{Errc::invalid_argument, "unknown command \"" + name + "\"; see " + list, {}, {}},
                  json);
}

int print(const std::string& text) {
  fmt::print("{}", text);
  return 0;
}

int run_help(const Words& words) {
  if (words.empty()) return print(overview());
  const std::string name = join(words, " ");
  if (const Command* command = find_command(name)) return print(usage(command->spec));
  const CommandGroup* group = find_group(words.front());
  if (group == nullptr) return refuse_command(name, "", false);
  return words.size() == 1 ? print(group_overview(*group)) : refuse_command(name, group->name, false);
}

int run_command(const Command& command, const Words& words) {
  const bool json = wants_json(words);
  const std::string who = "flowfabric " + command.spec.name;
  const auto parsed = parse_arguments(command.spec, words);
  if (!parsed) return complain(who, parsed.error(), json);
  if (parsed->help) return print(usage(command.spec));
  const auto code = command.run(*parsed);
  return code ? *code : complain(who, code.error(), json);
}

// `words` begin with the name of the group.
int run_in_group(const CommandGroup& group, const Words& words) {
  if (words.size() == 1) {
    fmt::print(stderr, "{}", group_overview(group));
    return describe(Errc::invalid_argument).exit_code;
  }
  if (asks_for_help(words[1])) return print(group_overview(group));
  const std::string name = group.name + " " + words[1];
  const Command* command = find_command(name);
  if (command == nullptr) return refuse_command(name, group.name, wants_json(words));
  return run_command(*command, {words.begin() + 2, words.end()});
}

}  // namespace

const std::vector<CommandGroup>& command_groups() { return groups(); }
const std::vector<Command>& all_commands() { return commands(); }

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    fmt::print(stderr, "{}", overview());
    return describe(Errc::invalid_argument).exit_code;
  }
  const std::string& name = arguments.front();
  const Words rest(arguments.begin() + 1, arguments.end());
  if (asks_for_help(name) || name == "help") return run_help(rest);
  if (name == "--version") return print(version_text() + "\n");
  if (const CommandGroup* group = find_group(name)) return run_in_group(*group, arguments);
  if (const Command* command = find_command(name)) return run_command(*command, rest);
  return refuse_command(name, "", wants_json(rest));
}

}  // namespace flowfabric::cli
