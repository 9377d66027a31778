// The man page, made from the command table. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace flowfabric::cli {

struct ExitCode {
  int code = 0;
  std::string meaning{};
};
// docs/cli.md has the same table.
const std::vector<ExitCode>& exit_codes();

// In the man macros of roff.
std::string man_page(const std::vector<Command>& commands, const std::vector<CommandGroup>& groups);

}  // namespace flowfabric::cli
