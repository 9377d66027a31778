// The PostgreSQL store (15 and newer): many engines on one database.
#pragma once

#include <memory>
#include <string>

#include "store/store.hpp"

namespace flowfabric {

// `url` is a libpq connection URI (`postgres://` or `postgresql://`) with one parameter of ours, `schema` (default
// "flowfabric"): the schema that holds the tables.
Result<std::unique_ptr<Store>> open_postgres_store(const std::string& url, StoreOptions options);

}  // namespace flowfabric
