// The tables, as numbered forward-only migrations.
#pragma once

#include "store/postgres/connection.hpp"

namespace flowfabric::postgres {

// Checks that the schema is the one that this program supports. With `migrate` the missing steps are applied under a
// lock that other migrating processes wait for; without it an old or missing schema is Errc::schema_mismatch.
Result<void> prepare_schema(Connection& connection, const Address& address, bool migrate);

}  // namespace flowfabric::postgres
