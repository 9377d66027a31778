// The part of a sweep that reads groups: which executions wait for the pools that are due, and which dead letters the redrives
// that are due come to.
#include <algorithm>

#include "base/check.hpp"
#include "core/limiting.hpp"
#include "core/redriving.hpp"
#include "engine/batch.hpp"

namespace flowfabric {

// Asked once for each route and priority, and only where there is a share.
LineHead Batch::head_of(RouteNo route, std::int32_t priority) {
  const auto [known, is_new] = heads_.try_emplace({route, priority});
  if (is_new) known->second = runtime_.head_of(route, priority);
  return known->second;
}

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

// What the store says is where to look; the records decide. Redrives that one sweep has no room for stay due.
Result<void> Batch::find_letters() {
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < clock_commands_.size(); ++i) {
    auto* due = std::get_if<DueCommand>(&clock_commands_[i]);
    if (due == nullptr || postponed_.contains(i)) continue;
    const auto wanted = letters_wanted(workspace_, due->key, context_.now);
    if (!wanted) continue;
    if (total > 0 && total + wanted->limit > limits::max_due_batch) {
      postponed_.insert(i);
      more_is_due_ = true;
      continue;
    }
    total += wanted->limit;
    std::optional<Store::GroupPosition> after;
    if (wanted->after) after = Store::GroupPosition{wanted->after->rank, wanted->after->key};
    FF_TRY(entries, runtime_.store().group_entries(wanted->group, after, wanted->limit));
    for (DueEntry& entry : entries) due->letters.push_back({entry.rank, std::move(entry.key)});
    due->letters_end = entries.size() < wanted->limit;
  }
  return {};
}

}  // namespace flowfabric
