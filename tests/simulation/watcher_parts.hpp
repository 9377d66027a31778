// Shared between the watcher*.cpp files; not included elsewhere.
#pragma once

#include "base/hashing.hpp"
#include "simulation/trace.hpp"
#include "simulation/watcher.hpp"

namespace flowfabric::simulation {

inline constexpr std::uint32_t everything = 100000;

template <class T>
T ok(Result<T> result) {
  if (!result) violated("the database can be read", "{}", result.error().message);
  return std::move(*result);
}

inline std::string name_of(const Key& key) {
  return key.kind() == RecordKind::execution ? to_string(execution_id_of(key)) : to_hex(key.bytes);
}

}  // namespace flowfabric::simulation
