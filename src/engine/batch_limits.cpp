// The part of a sweep that concerns limits: which executions wait for the pools that are due.
#include <algorithm>

#include "base/check.hpp"
#include "core/limiting.hpp"
#include "engine/batch.hpp"

namespace flowfabric {

void Batch::note_found(const GroupWanted& wanted, const std::vector<DueCandidate>& grouped, FoundGroup& found) {
  found.route = wanted.route;
  for (const DueCandidate& one : grouped) {
    if (one.entry.group != wanted.group) continue;
    found.keys.push_back(one.entry.key);
    take(one.record);
  }
  found.all = found.keys.size() < wanted.limit;
}

// Those that one read has no room for stay due.
Result<void> Batch::find_held_back() {
  std::vector<std::pair<std::size_t, GroupWanted>> wanted;
  ReadRequest request;
  request.group_limit = limits::max_due_batch;
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < clock_commands_.size(); ++i) {
    const auto* due = std::get_if<DueCommand>(&clock_commands_[i]);
    if (due == nullptr || postponed_.contains(i)) continue;
    const auto groups = groups_wanted(workspace_, due->key, context_.now);
    std::uint32_t asked = 0;
    for (const GroupWanted& one : groups) asked += one.limit;
    if (asked == 0) continue;
    if (total > 0 && total + asked > request.group_limit) {
      postponed_.insert(i);
      more_is_due_ = true;
      continue;
    }
    total += asked;
    for (const GroupWanted& one : groups) {
      wanted.emplace_back(i, one);
      request.groups.push_back({one.group, one.limit});
    }
  }
  if (wanted.empty()) return {};
  request.group_limit = std::max(request.group_limit, total);
  FF_TRY(reply, session_.read(request));
  for (const auto& [index, one] : wanted) {
    note_found(one, reply.grouped, std::get<DueCommand>(clock_commands_[index]).found.emplace_back());
  }
  return {};
}

}  // namespace flowfabric
