// A signal on the command line: --name, --payload, --payload-encoding, --source, --key.
#pragma once

#include <vector>

#include <flowfabric/signals.hpp>

#include "cli/arguments.hpp"

namespace flowfabric::cli {

std::vector<OptionSpec> signal_options();
// Without the waitpoint.
Result<SignalRequest> read_signal(const Arguments& arguments);

}  // namespace flowfabric::cli
