// Asking before something happens to many executions at once.
#pragma once

#include <cstdio>
#include <string>

#include "cli/arguments.hpp"

namespace flowfabric::cli {

// Where the answer comes from and where the question goes.
struct Asked {
  std::FILE* in = stdin;
  std::FILE* out = stderr;  // not stdout: a program may be reading that
  bool terminal = false;    // somebody can answer
};

// True: go ahead. False: the person said no. `yes` is an answer given in advance. Without it and without a person there
// is nobody to ask, which is refused.
Result<bool> confirm(const std::string& question, bool yes, const Asked& asked);

// The same for a command with --yes, on stdin and stderr. A "no" is acknowledged.
Result<bool> confirm(const std::string& question, const Arguments& arguments);

// What a command exits with after a "no".
inline constexpr int exit_declined = 1;

}  // namespace flowfabric::cli
