// The calls about limits on a store: reading opens only the store, changes open an engine on it.
#pragma once

#include <functional>

#include "sdk/limit_calls.hpp"
#include "store/store.hpp"

namespace flowfabric::cli {

std::unique_ptr<sdk::LimitCalls> store_limits(std::function<Result<Store*>()> opened_store,
                                              std::function<Result<Engine*>()> opened_engine);

}  // namespace flowfabric::cli
