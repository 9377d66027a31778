// Error output of the program: one line on stderr, and the exit code of the error table.
#pragma once

#include <string>

#include <flowfabric/result.hpp>

namespace flowfabric::cli {

// `who` is the command. With `json` the line is {"error":{"code","message","field"}}.
int complain(const std::string& who, const Error& error, bool json);

}  // namespace flowfabric::cli
