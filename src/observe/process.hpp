// What this process uses, under the names that Prometheus clients of all languages agree on, and which program it is.
#pragma once

#include <string>

#include "observe/metrics.hpp"

namespace flowfabric::observe {

// From /proc; a number that cannot be read is left out.
void add_process_metrics(Registry& registry, const std::string& version);

}  // namespace flowfabric::observe
