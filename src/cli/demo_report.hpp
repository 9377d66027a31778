// The end of the demo: actual results compared with expected ones.
#pragma once

#include <string>
#include <vector>

#include "cli/demo_workers.hpp"

namespace flowfabric::cli {

// Compares every execution with the plan by all data of the store: its record, the listing, the counts, its result and
// the event log. Prints the table; returns one sentence for each difference.
Result<std::vector<std::string>> report(const Stage& stage, const Tally& tally);

}  // namespace flowfabric::cli
