// `flowfabric demo`.
#pragma once

#include "cli/arguments.hpp"

namespace flowfabric::cli {

Result<int> run_demo(const Arguments& arguments);

}  // namespace flowfabric::cli
