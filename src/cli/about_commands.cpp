// version, completion, man: what the program says about itself.
#include <fmt/core.h>

#include "cli/build_hash.hpp"
#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "cli/man_page.hpp"
#include "wire/writer.hpp"

namespace flowfabric::cli {
namespace {

Result<int> run_version(const Arguments& arguments) {
  if (!arguments.has("--json")) {
    fmt::print("{}\n", version_text());
    return 0;
  }
  wire::Writer writer;
  writer.begin_object();
  writer.key("version");
  writer.text(FLOWFABRIC_VERSION);
  writer.key("build");
  writer.text(build_hash());
  writer.end_object();
  fmt::print("{}\n", writer.take());
  return 0;
}

Result<int> run_completion(const Arguments& arguments) {
  const std::string& shell = arguments.operands.front();
  const auto script = completion_script(shell, all_commands(), command_groups());
  if (!script) return fail(Errc::invalid_argument, "SHELL: must be bash, zsh or fish, not \"" + shell + "\"", "SHELL");
  fmt::print("{}", *script);
  return 0;
}

Result<int> run_man(const Arguments&) {
  fmt::print("{}", man_page(all_commands(), command_groups()));
  return 0;
}

}  // namespace

std::string version_text() { return fmt::format("flowfabric {} (build {})", FLOWFABRIC_VERSION, build_hash()); }

std::vector<Command> about_commands() {
  return {
      {{"version",
        {},
        "print the version and the build",
        "Prints the version and the commit that the program was built from; a + means that files had been changed.",
        {json_option()}},
       run_version},
      {{"completion",
        {"SHELL", 1, 1},
        "print a completion script for bash, zsh or fish",
        "Prints a script that completes commands and options. For this session: source <(flowfabric completion bash).\n"
        "cmake --install puts the scripts where the shells look for them.",
        {}},
       run_completion},
      {{"man", {}, "print the man page", "Prints the man page: flowfabric man | man -l -", {}}, run_man},
  };
}

}  // namespace flowfabric::cli
