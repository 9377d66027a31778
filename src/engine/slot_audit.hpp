// Recounts the slots of limits, and what is reserved of budgets, from the executions that have them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/workspace.hpp"
#include "store/store.hpp"

namespace flowfabric {

// A pool whose holders or reservations are not those that the executions say, with the change set that puts that right.
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

  bool agrees(const Key& pool) const;
  static Result<std::optional<WrongSlots>> look_again(Store& store, const Key& pool, const std::set<Key>& executions);

  // What is reserved of each dimension, and who has reserved it.
  struct Reserved {
    Amounts amounts;
    std::set<Key> executions;
  };
  std::map<Key, Reserved> reserved_;  // by pool, as the executions say
  std::map<Key, Amounts> accounted_;  // by pool, as the pools say
  std::map<Key, Holders> taken_;      // by pool, as the executions say
  std::map<Key, Holders> counted_;    // by pool, as the pools say
};

}  // namespace flowfabric
