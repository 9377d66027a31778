// The program behind `flowfabric`: finds the subcommand and runs it.
#pragma once

#include <string>
#include <vector>

namespace flowfabric::cli {

// Arguments without the program's name. Returns the exit code: 0, what the error table says, or what the command does.
int run(const std::vector<std::string>& arguments);

}  // namespace flowfabric::cli
