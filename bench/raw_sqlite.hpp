// The limit of SQLite with the rows that the engine writes: prepared statements in one thread, no engine.
#pragma once

#include <string>

namespace flowfabric::bench {

// Whole cycles per second with `batch` operations per transaction, synchronous=FULL, on the migrated file `path`.
double raw_sqlite_cycles(const std::string& path, int batch, double seconds);

}  // namespace flowfabric::bench
