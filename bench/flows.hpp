// What edges cost: flows beside the same number of independent executions, in one run.
#pragma once

#include <functional>
#include <string>

namespace flowfabric::bench {

// `store_url` makes the URL of a new store from a name.
void bench_flows(const std::string& title, const std::function<std::string(const std::string& name)>& store_url,
                 int rounds);

}  // namespace flowfabric::bench
