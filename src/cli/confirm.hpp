// Confirmation before many executions are changed at once.
#pragma once

#include <cstdio>
#include <string>

#include "cli/arguments.hpp"

namespace flowfabric::cli {

// The source of the answer and the target of the question.
struct Asked {
  std::FILE* in = stdin;
  std::FILE* out = stderr;  // not stdout, which a program may be reading
  bool terminal = false;    // a user can answer
};

// True: confirmed. False: declined. `yes` confirms in advance. Without it and without a terminal it is an error.
Result<bool> confirm(const std::string& question, bool yes, const Asked& asked);

// The same for a command with --yes, on stdin and stderr. A declined confirmation is acknowledged.
Result<bool> confirm(const std::string& question, const Arguments& arguments);

// The exit code after a declined confirmation.
inline constexpr int exit_declined = 1;

}  // namespace flowfabric::cli
