// Compares the indexes of a store with what its records ask for, and puts them right.
//
// Works page by page beside running engines: an entry counts as missing or superfluous only if its record has not changed
// meanwhile, and a repair is an ordinary commit under the record's guard. Records themselves are never altered, except
// for the time that they are armed for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <flowfabric/result.hpp>

#include "store/store.hpp"

namespace flowfabric {

struct IntegrityFinding {
  std::string problem;
  std::string repair{};  // what was done about it; empty: nothing
};

struct IntegritySummary {
  std::uint64_t records = 0;  // looked at
  std::uint64_t problems = 0;
  std::uint64_t repaired = 0;
};

// Calls `found` for each problem as it is met.
Result<IntegritySummary> check_integrity(Store& store, bool repair,
                                         const std::function<void(const IntegrityFinding&)>& found);

// The problems as sentences, at most `limits::max_findings` and then how many more there are.
Result<std::vector<std::string>> integrity_findings(Store& store);

}  // namespace flowfabric
