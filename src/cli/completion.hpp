// Scripts that complete commands and options in shells. Pure functions of the command table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace flowfabric::cli {

// Nothing for a shell that is not known: bash, zsh and fish are.
std::optional<std::string> completion_script(const std::string& shell, const std::vector<Command>& commands,
                                             const std::vector<CommandGroup>& groups);

}  // namespace flowfabric::cli
