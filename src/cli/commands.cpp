#include "cli/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>

#include <fmt/core.h>

#include <flowfabric/engine.hpp>

#include "cli/arguments.hpp"
#include "cli/demo.hpp"
#include "open/open.hpp"

namespace flowfabric::cli {
namespace {

constexpr int exit_findings = 1;

struct Command {
  CommandSpec spec;
  std::function<Result<int>(const Arguments&)> run;
};

// Looking at a file must not make one.
Result<void> refuse_missing_file(const std::string& url) {
  constexpr std::string_view scheme = "sqlite:";
  if (!url.starts_with(scheme)) return {};
  const std::string path = url.substr(scheme.size(), url.find('?') - scheme.size());
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return {};
  return fail(Errc::not_found, "there is no file " + path, "URL");
}

Result<int> run_migrate(const Arguments& arguments) {
  const auto migrated = migrate_store(arguments.operands.front());
  if (!migrated) return tl::unexpected(migrated.error());
  fmt::print("the schema is up to date\n");
  return 0;
}

// Opens the store alone: an engine would set its clock to work, and a check should change nothing.
Result<int> run_integrity(const Arguments& arguments) {
  const std::string& url = arguments.operands.front();
  if (const auto present = refuse_missing_file(url); !present) return tl::unexpected(present.error());
  const auto store = open_store(url, {});
  if (!store) return tl::unexpected(store.error());
  const auto findings = (*store)->check_integrity();
  if (!findings) return tl::unexpected(findings.error());
  for (const std::string& finding : *findings) fmt::print("{}\n", finding);
  if (findings->empty()) fmt::print("no problems found\n");
  return findings->empty() ? 0 : exit_findings;
}

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {{"demo",
        "",
        "run ten thousand executions here and account for every one",
        "Runs an engine and its workers in this process. Some executions fail and are retried, some are delayed, some\n"
        "expire or are cancelled, and one worker dies holding leases. At the end what happened is compared with what\n"
        "must have happened; the exit code is 1 if one execution is not accounted for.",
        {{"--store", "URL", "where to keep them (a new SQLite file in a temporary folder)"},
         {"--executions", "N", "how many (10000)"},
         {"--workers", "N", "how many worker threads (16)"},
         {"--seed", "S", "shuffles the kinds of work (1)"},
         {"--keep", "", "do not remove the temporary folder"}}},
       run_demo},
      {{"migrate",
        "URL",
        "bring the schema of a store up to date",
        "Applies the numbered migrations that the store does not have yet. SQLite files are also migrated whenever an\n"
        "engine opens them; a PostgreSQL database only here.",
        {}},
       run_migrate},
      {{"integrity",
        "URL",
        "check the consistency of a store",
        "Compares the tables of a store with each other and prints one sentence for each finding. The exit code is 1 "
        "if\n"
        "there is one.",
        {}},
       run_integrity},
  };
  return all;
}

const Command* find_command(const std::string& name) {
  const auto& all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.spec.name == name; });
  return found == all.end() ? nullptr : &*found;
}

void print_overview(std::FILE* out) {
  fmt::print(out, "usage: flowfabric COMMAND [arguments]\n\n");
  for (const Command& command : commands()) {
    const std::string words = command.spec.name + (command.spec.operand.empty() ? "" : " " + command.spec.operand);
    fmt::print(out, "  {:<18}{}\n", words, command.spec.summary);
  }
  fmt::print(out, "  {:<18}{}\n", "help COMMAND", "say more about one command");
  fmt::print(out,
             "\nA store is sqlite:PATH, postgres://USER@HOST/DATABASE or memory:.\n--version prints the version.\n");
}

// Databases like to explain themselves over several lines; an error here is one.
std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\t' || c == ' ';
    if (!space) line.push_back(c);
    if (space && !line.empty() && line.back() != ' ') line.push_back(' ');
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

int complain(const std::string& who, const Error& error) {
  std::fflush(stdout);
  fmt::print(stderr, "{}: {}\n", who, in_one_line(error.message));
  return describe(error.code).exit_code;
}

int refuse_command(const std::string& name) {
  return complain(
      "flowfabric",
      Error{Errc::invalid_argument, "there is no command \"" + name + "\"; flowfabric --help lists them", {}, {}});
}

int run_help(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) {
    print_overview(stdout);
    return 0;
  }
  const Command* command = find_command(arguments[1]);
  if (command == nullptr) return refuse_command(arguments[1]);
  fmt::print("{}", usage(command->spec));
  return 0;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    print_overview(stderr);
    return describe(Errc::invalid_argument).exit_code;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") return run_help(arguments);
  if (name == "--version") {
    fmt::print("flowfabric {}\n", FLOWFABRIC_VERSION);
    return 0;
  }
  const Command* command = find_command(name);
  if (command == nullptr) return refuse_command(name);
  const auto parsed = parse_arguments(command->spec, {arguments.begin() + 1, arguments.end()});
  if (!parsed) return complain("flowfabric " + name, parsed.error());
  if (parsed->help) {
    fmt::print("{}", usage(command->spec));
    return 0;
  }
  const auto code = command->run(*parsed);
  return code ? *code : complain("flowfabric " + name, code.error());
}

}  // namespace flowfabric::cli
