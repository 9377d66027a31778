// The program `flowfabric`: finds the subcommand and runs it.
#pragma once

#include <string>
#include <vector>

namespace flowfabric::cli {

// Arguments without the program's name. Returns the exit code: 0, that of the error table, or that of the command.
int run(const std::vector<std::string>& arguments);

}  // namespace flowfabric::cli
