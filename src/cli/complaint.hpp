// Error output of the program: one line on stderr, and the exit code of the error table.
#pragma once

#include <string>

#include <flowfabric/result.hpp>

namespace flowfabric::cli {

// {"error":{"code","message","field","retryable"}}, as over HTTP.
std::string error_to_json(const Error& error);
// `who` is the command. With `json` the line is that of error_to_json.
int complain(const std::string& who, const Error& error, bool json);

}  // namespace flowfabric::cli
