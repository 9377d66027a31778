// Recounts the slots of limits from the executions that have them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/workspace.hpp"
#include "store/store.hpp"

namespace flowfabric {

// A pool whose holders are not those that the executions say, with the change set that puts that right.
struct WrongSlots {
  std::string problem;
  ChangeSet repair;
};

class SlotAudit {
 public:
  // Every record, in any order.
  void note(const Slot& slot);
  // Looks again at those that did not agree: records may have changed between two notes.
  Result<std::vector<WrongSlots>> disagreements(Store& store) const;

 private:
  using Holder = std::pair<ExecutionId, std::uint64_t>;  // with the epoch of the lease
  using Holders = std::set<Holder>;

  static Result<std::optional<WrongSlots>> look_again(Store& store, const Key& pool, const std::set<Key>& executions);

  std::map<Key, Holders> taken_;    // by pool, as the executions say
  std::map<Key, Holders> counted_;  // by pool, as the pools say
};

}  // namespace flowfabric
