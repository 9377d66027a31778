// The limit of PostgreSQL with the rows that the engine writes: a plain libpq loop, batches of a hundred, no engine.
#pragma once

#include <string>

namespace flowfabric::bench {

// Whole cycles (create, claim with SKIP LOCKED, complete) per second, `batch` executions per transaction. `url` is a
// libpq URI; the tables are in `schema`, which must have been migrated.
double raw_postgres_cycles(const std::string& url, const std::string& schema, int connections, int batch,
                           double seconds);

}  // namespace flowfabric::bench
