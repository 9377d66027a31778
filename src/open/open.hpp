// Opens a store by its URL, and an engine on it.
#pragma once

#include <memory>
#include <string>

#include <flowfabric/engine.hpp>

#include "store/store.hpp"

namespace flowfabric {

namespace observe {
class Tracer;
}

Result<std::unique_ptr<Store>> open_store(const std::string& url, StoreOptions options);
// Engine::open for a program with tracing.
Result<std::unique_ptr<Engine>> open_engine(const std::string& url, const EngineOptions& options,
                                            std::shared_ptr<observe::Tracer> tracer);

}  // namespace flowfabric
