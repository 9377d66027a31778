// The reference model: everything in ordinary containers under one mutex. Also the simulator's store.
#pragma once

#include <memory>

#include "store/store.hpp"

namespace flowfabric {

// A database that several memory stores can share, as several processes share one database. Destroyed with its last
// owner.
class MemoryDatabase;
std::shared_ptr<MemoryDatabase> make_memory_database();

// A store handle on the database. `announce` calls the listeners of the database's other handles, in the same thread,
// without holding any lock.
std::unique_ptr<Store> open_memory_store(std::shared_ptr<MemoryDatabase> database, StoreOptions options);

}  // namespace flowfabric
