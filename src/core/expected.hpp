// What the indexes ought to hold for a record, computed from the record alone. Pure.
//
// Checks compare it with what the store has (engine/integrity.hpp). Indexes are derived data, so repairs write it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workspace.hpp"

namespace flowfabric {

struct ExpectedEntries {
  std::unique_ptr<Slot> slot;  // the decoded record
  std::optional<ReadyEntry> ready;
  std::optional<DueEntry> due;
  std::optional<Listing> listing;
  std::optional<Route> route;  // of an execution
  std::vector<SatelliteName> satellites;
  std::uint32_t ended_attempts = 0;  // each has a satellite too, whose body may ask for another: a result
  // The record names a due entry that comes too late for it, or none: it has to be armed again.
  bool armed_wrongly = false;
};

// `corruption` when the record cannot be decoded.
Result<ExpectedEntries> expected_entries(const Record& record);

}  // namespace flowfabric
