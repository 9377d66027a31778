// The embedded default: one SQLite file.
#pragma once

#include <memory>
#include <string>

#include "store/store.hpp"

namespace flowfabric {

// `url` is `sqlite:PATH`, with optional parameters `?synchronous=full|normal` (default full).
Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& url, StoreOptions options);

}  // namespace flowfabric
