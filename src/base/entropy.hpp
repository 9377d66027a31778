// Randomness as a parameter, so that a seed reproduces a run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include <flowfabric/ids.hpp>

namespace flowfabric {

// Returns 64 fresh random bits. Must be thread-safe when the engine runs threads.
using Entropy = std::function<std::uint64_t()>;

// From the operating system, buffered per thread.
Entropy system_entropy();
// A reproducible stream (splitmix64). Not thread-safe.
Entropy seeded_entropy(std::uint64_t seed);

// UUID version 4.
Uuid random_uuid(const Entropy& entropy);
// UUID version 7: 48 bits of milliseconds, then 12 bits of `order`, then random bits.
Uuid time_ordered_uuid(TimestampMs at, std::uint16_t order, const Entropy& entropy);

}  // namespace flowfabric
