// Whether failed executions have the letters that follow from them, and letters their executions: for the integrity check.
#pragma once

#include <string>
#include <vector>

#include "core/workspace.hpp"
#include "store/store.hpp"

namespace flowfabric {

struct WrongLetter {
  std::string problem;
  bool is_missing = false;  // else it belongs to nothing
  ChangeSet repair;         // guarded by what was read
};

// Of the executions and letters among these records. What changes meanwhile is left out.
Result<std::vector<WrongLetter>> wrong_letters(Store& store, const std::vector<const Slot*>& slots);

}  // namespace flowfabric
