// Finds the change that puts a record among the changes of one set. Entries of the log mostly follow the order of the
// changes, so this looks there first; a set of any size and order costs linear time.
#pragma once

#include <string_view>
#include <unordered_map>

#include "base/check.hpp"
#include "core/changes.hpp"

namespace flowfabric {

class PutIndex {
 public:
  // The set must outlive it.
  explicit PutIndex(const ChangeSet& set) : set_(set) {}

  // The position among the roots of the set, or their number if it does not put the record.
  std::size_t find(const Key& root) {
    const std::size_t count = set_.roots.size();
    for (std::size_t ahead = 0; ahead < max_ahead && last_ + ahead < count; ++ahead) {
      if (puts(set_.roots[last_ + ahead], root)) return last_ += ahead;
    }
    if (by_key_.empty()) {
      for (std::size_t i = 0; i < count; ++i) {
        if (set_.roots[i].action == RootChange::Action::put) by_key_.emplace(set_.roots[i].key.bytes, i);
      }
    }
    const auto found = by_key_.find(root.bytes);
    if (found == by_key_.end()) return count;
    return last_ = found->second;
  }

  // The same if the interface guarantees that the set puts it.
  std::size_t at(const Key& root) {
    const std::size_t found = find(root);
    FF_CHECK(found < set_.roots.size());
    return found;
  }

 private:
  static constexpr std::size_t max_ahead = 4;

  static bool puts(const RootChange& change, const Key& root) {
    return change.action == RootChange::Action::put && change.key == root;
  }

  const ChangeSet& set_;
  std::size_t last_ = 0;
  std::unordered_map<std::string_view, std::size_t> by_key_;
};

}  // namespace flowfabric
