// The work of the clock for redrives (decide_redrives.cpp).
#pragma once

#include <optional>
#include <vector>

#include "core/commands.hpp"
#include "core/transitions.hpp"

namespace flowfabric {

// The entries of a group of the due index that the clock has to read for a redrive that is due.
struct LettersWanted {
  std::uint64_t group = 0;
  std::optional<LetterPosition> after;
  std::uint32_t limit = 0;
};
std::optional<LettersWanted> letters_wanted(const Workspace& workspace, const Key& due, TimestampMs now);
// The executions of what was found, or of those that the redrive names. It does not rest on them: one that cannot be decoded is
// refused.
std::vector<Key> redrive_work_keys(Workspace& workspace, const DueCommand& command);
void redrive_due(Workspace& workspace, Slot& slot, const DueCommand& command, const Context& context);

}  // namespace flowfabric
