// Resource usage of this process, under the names that Prometheus clients of all languages use, and the version of the
// program.
#pragma once

#include <string>

#include "observe/metrics.hpp"

namespace flowfabric::observe {

// From /proc; a value that cannot be read is left out.
void add_process_metrics(Registry& registry, const std::string& version);

}  // namespace flowfabric::observe
