// The tables, as numbered migrations that only go forward.
#pragma once

#include "store/postgres/connection.hpp"

namespace flowfabric::postgres {

// Makes sure that the schema is the one this program knows. With `migrate` the missing steps are applied under a lock
// that other processes doing the same wait for; without it an old or missing schema is Errc::schema_mismatch.
Result<void> prepare_schema(Connection& connection, const Address& address, bool migrate);

}  // namespace flowfabric::postgres
