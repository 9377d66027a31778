// The tables of a SQLite file, and their migration.
#pragma once

#include <string>

#include <flowfabric/result.hpp>

#include "store/sqlite/database.hpp"

namespace flowfabric::sqlite {

// The newest schema that this program supports.
int newest_schema();

// Brings the file to the newest schema and returns the one that it had before. Any number of processes may do this at once:
// one migrates, the others wait and find it done. A file of a newer program or of another program altogether is left
// untouched.
Result<int> prepare_schema(Database& database, const std::string& path);

// An error unless the file has the newest schema. Changes nothing.
Result<void> require_schema(Database& database, const std::string& path);

}  // namespace flowfabric::sqlite
