// What redrives promise: each execution is replayed at most once by one of them, and none is left out.
#include <algorithm>
#include <utility>

#include "simulation/watcher_parts.hpp"

namespace flowfabric::simulation {
namespace {

// There are never so many executions that the list of refusals is full.
bool is_refused_for_its_key(const RedriveRecord& redrive, const Key& failed) {
  return std::any_of(redrive.refusals.begin(), redrive.refusals.end(), [&](const RefusedRedrive& one) {
    return one.reason == RedriveRefusal::unique_key && execution_key(one.execution_id) == failed;
  });
}

}  // namespace

// All that are failed now, as everybody can see, are meant.
void Watcher::redrive_was_asked_for(const Uuid& id) {
  auto& failed = asked_[id];
  for (const auto& [key, shadow] : shadows_) {
    const Facts& facts = shadow.execution.facts;
    if (shadow.removed || facts.phase != Phase::terminal || facts.outcome != Outcome::failed) continue;
    failed[key] = {shadow.incarnation, facts.replay_count};
  }
}

void Watcher::check_redriven(const Key& key, const Shadow& shadow, const Facts& before) {
  const Facts& now = shadow.execution.facts;
  if (now.replay_count == before.replay_count || !now.letter.redriven_by) return;
  const std::string reason = std::string(redrive_reason) + to_string(*now.letter.redriven_by);
  if (!now.pending || !now.pending->reason.starts_with(reason)) return;
  if (!redriven_.emplace(key, shadow.incarnation, *now.letter.redriven_by).second) {
    violated("a redrive replays each execution once", "{} was replayed again by {}", name_of(key), reason);
  }
}

void Watcher::redrive_changed(const Key& key, bool erased) {
  if (erased) {
    std::erase_if(redrives_, [&](const auto& one) { return redrive_key(one.first) == key; });
    return;
  }
  new_events(key, other_positions_[key]);
  const RedriveRecord now = ok(decode_redrive(ok(store_->load({key})).front()));
  const bool ends = now.state == RedriveState::completed && redrives_[now.id].state != RedriveState::completed;
  redrives_[now.id] = now;
  if (ends) just_ended_redrives_.push_back(now.id);
}

// After the whole commit: the last executions are replayed together with the end.
void Watcher::check_ended_redrives() {
  for (const Uuid& id : std::exchange(just_ended_redrives_, {})) check_left_out(redrives_.at(id));
}

void Watcher::check_left_out(const RedriveRecord& now) {
  for (const auto& [failed, life] : asked_[now.id]) {
    const Shadow& shadow = shadows_.at(failed);
    const Facts& facts = shadow.execution.facts;
    if (shadow.removed || shadow.incarnation != life.first || facts.replay_count != life.second) continue;
    if (shadow.execution.spec.name_space != now.name_space || facts.member) continue;
    if (facts.replay_count >= shadow.execution.spec.policy.max_replays || is_refused_for_its_key(now, failed)) continue;
    // By the clock of the store it failed later: that was set back in between.
    if (facts.finished_at > now.created_at) continue;
    violated("a redrive leaves none out", "{} is still as it failed at {}, {} was made at {}", name_of(failed),
             facts.finished_at, to_string(now.id), now.created_at);
  }
}

}  // namespace flowfabric::simulation
