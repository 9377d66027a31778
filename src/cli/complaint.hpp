// How the program says what went wrong: one line on stderr, and the exit code of the error table.
#pragma once

#include <string>

#include <flowfabric/result.hpp>

namespace flowfabric::cli {

// `who` is the command, for people. With `json` the line is {"error":{"code","message","field"}}.
int complain(const std::string& who, const Error& error, bool json);

}  // namespace flowfabric::cli
