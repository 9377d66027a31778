// Compares the journals of the clients with the final data of the servers. Differences become test failures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "e2e/chaos/journal.hpp"

namespace flowfabric::chaos {

struct Figures {
  std::uint64_t executions = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t acknowledged_ends = 0;  // the others ended, but their worker died before the response
  std::uint64_t events = 0;
};

// Everything through HTTP: the listing, and for each execution its result and its history.
Figures verify(const Notes& notes, const std::vector<std::string>& urls, std::uint64_t executions);

}  // namespace flowfabric::chaos
