// How large the tables of PostgreSQL become when executions come and go for a long time.
#pragma once

#include <string>

#include "load.hpp"

namespace flowfabric::bench {

// Runs the load for `load.seconds`, with executions that are removed five seconds after their end, and prints the sizes of
// the tables beside the rows that live, sixteen times in all.
void bench_churn(Engine& engine, const std::string& postgres_url, const std::string& schema, const LoadOptions& load);

}  // namespace flowfabric::bench
