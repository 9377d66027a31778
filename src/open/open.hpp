// Opens a store by its URL.
#pragma once

#include <memory>
#include <string>

#include "store/store.hpp"

namespace flowfabric {

Result<std::unique_ptr<Store>> open_store(const std::string& url, StoreOptions options);

}  // namespace flowfabric
