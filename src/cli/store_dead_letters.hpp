// The calls about dead letters on a store: reading opens only the store, changes open an engine on it.
#pragma once

#include <functional>
#include <memory>

#include "sdk/dead_letter_calls.hpp"
#include "store/store.hpp"

namespace flowfabric::cli {

std::unique_ptr<sdk::DeadLetterCalls> store_dead_letters(std::function<Result<Store*>()> opened_store,
                                                         std::function<Result<Engine*>()> opened_engine);

}  // namespace flowfabric::cli
