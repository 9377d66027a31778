// The command `serve`.
#pragma once

#include "cli/arguments.hpp"

namespace flowfabric::cli {

Result<int> run_serve(const Arguments& arguments);

}  // namespace flowfabric::cli
