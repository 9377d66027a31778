#include "cli/man_page.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace flowfabric::cli {
namespace {

// Text as roff shows it: no line begins with a control character, and hyphens can be copied.
std::string roff(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string command_text(const CommandSpec& spec) {
  std::string text = fmt::format(".SS flowfabric {}\n{}\n", roff(synopsis(spec)), roff(spec.description));
  for (const OptionSpec& option : spec.options) {
    const std::string value = option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR";
    text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(option.name), value, roff(option.help));
  }
  return text;
}

std::string commands_text(const std::vector<Command>& commands, const std::vector<CommandGroup>& groups) {
  std::string text = ".SH COMMANDS\n";
  for (const Command& command : commands) {
    if (command.spec.name.find(' ') == std::string::npos) text += command_text(command.spec);
  }
  for (const CommandGroup& group : groups) {
    for (const Command& command : commands) {
      if (command.spec.name.starts_with(group.name + " ")) text += command_text(command.spec);
    }
  }
  return text;
}

std::string exit_text() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCode& exit : exit_codes()) text += fmt::format(".TP\n.B {}\n{}\n", exit.code, roff(exit.meaning));
  return text;
}

constexpr const char* head = R"(.TH FLOWFABRIC 1 "" "FlowFabric {}" "User Commands"
.SH NAME
flowfabric \- durable job queue and execution engine: server, operator commands, demo
.SH SYNOPSIS
.B flowfabric
.I COMMAND
.RI [ arguments ]
.SH DESCRIPTION
.B flowfabric serve
runs the engine behind an HTTP API. The other commands work on a store or through a server. A store is
sqlite:PATH, postgres://USER@HOST/DATABASE or memory:, a server is http://HOST:PORT or https://HOST.
)";

constexpr const char* tail = R"(.SH ENVIRONMENT
.TP
.B FLOWFABRIC_STORE
The store or server, instead of \-\-store.
.TP
.BR FLOWFABRIC_PROFILE ", " FLOWFABRIC_API_KEY ", " FLOWFABRIC_CA_FILE
Instead of \-\-profile, \-\-api\-key and \-\-ca\-file.
.TP
.BI FLOWFABRIC_ NAME
The setting of that name of \fBflowfabric serve\fR.
.TP
.B NO_COLOR
If set, output has no colours.
.SH FILES
.TP
.I ~/.config/flowfabric/config.toml
Profiles: names for stores and servers.
)";

}  // namespace

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> all = {{0, "success"},
                                            {1, "`integrity` found a problem, or you declined the confirmation"},
                                            {2, "wrong arguments"},
                                            {3, "not found"},
                                            {4, "not possible in this state"},
                                            {5, "temporary failure, try again: the store is unavailable or busy"},
                                            {6, "the schema is older or newer than the program"},
                                            {7, "damaged data"},
                                            {8, "the API key is missing, wrong, or has no permission"},
                                            {70, "internal error"},
                                            {130, "interrupted"}};
  return all;
}

std::string man_page(const std::vector<Command>& commands, const std::vector<CommandGroup>& groups) {
  return fmt::format(fmt::runtime(head), FLOWFABRIC_VERSION) + commands_text(commands, groups) + exit_text() + tail;
}

}  // namespace flowfabric::cli
