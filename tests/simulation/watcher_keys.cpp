// The accountant of keys at submission. It goes by what executions are and when they were created; records of keys are only
// asked whether they name the right one once nothing is left to do.
#include <algorithm>

#include "core/submitting.hpp"
#include "engine/reads.hpp"
#include "simulation/watcher_parts.hpp"

namespace flowfabric::simulation {

Throttle throttle_of(std::uint32_t number, OnThrottle on_limit) {
  return {fmt::format("throttle-{}", number), number + 1, 1500, on_limit};
}

void Watcher::submit_key_changed(const Key& key, bool erased) {
  submit_keys_.erase(key);
  if (erased) return;
  submit_keys_.emplace(key, ok(decode_submit_key(ok(store_->load({key})).front())));
}

// After each change of an execution that was created under a key.
void Watcher::note_key(const Key& key, const Shadow& shadow, bool is_new) {
  const Spec& spec = shadow.execution.spec;
  const std::string name = spec.name_space + "/" + spec.submit_key;
  if (spec.submit_key_kind == SubmitKeyKind::unique) {
    auto& live = live_unique_[name];
    if (shadow.execution.facts.phase == Phase::terminal) {
      live.erase(key);
    } else {
      live.insert(key);
    }
    changed_unique_.insert(name);
  }
  if (spec.submit_key_kind == SubmitKeyKind::throttle && is_new) {
    auto& created = let_in_[name];
    created.push_back(spec.created_at);
    check_throttle(name, spec.submit_key, created);
  }
}

// In order of time; the clock may have been set back.
void Watcher::check_throttle(const std::string& name, const std::string& key,
                             const std::vector<TimestampMs>& created) const {
  if (!std::is_sorted(created.begin(), created.end())) return;
  for (std::uint32_t number = 0; number < throttle_keys; ++number) {
    const Throttle throttle = throttle_of(number, OnThrottle::reject);
    if (throttle.key != key || created.size() <= throttle.count) continue;
    const std::int64_t passed = created.back() - created[created.size() - 1 - throttle.count];
    if (passed < throttle.period_ms) {
      violated("no throttle lets too many in", "{}: {} in {} ms", name, throttle.count + 1, passed);
    }
  }
}

// After a commit.
void Watcher::check_unique() {
  for (const std::string& name : changed_unique_) {
    if (live_unique_[name].size() <= 1) continue;
    std::string names;
    for (const Key& key : live_unique_[name]) names += " " + name_of(key);
    violated("one live execution has a unique key", "{} of{}", name, names);
  }
  changed_unique_.clear();
}

// When nothing is left to do now.
void Watcher::check_keys(TimestampMs now) const {
  for (const auto& [key, record] : submit_keys_) {
    if (record.kind == SubmitKeyKind::throttle) {
      if (record.expires_at <= now)
        violated("the clock does what is due", "a throttle has been over since {}", record.expires_at);
      continue;
    }
    const auto found = shadows_.find(execution_key(record.execution_id));
    const bool held = found != shadows_.end() && !found->second.removed &&
                      found->second.execution.facts.submit.holds == record.kind &&
                      !owes_key(found->second.execution.facts);
    if (!held) violated("no key is held by an ended execution", "{}", to_string(record.execution_id));
  }
  for (const auto& [key, shadow] : shadows_) {
    const Facts& facts = shadow.execution.facts;
    if (shadow.removed || facts.submit.holds == SubmitKeyKind::none) continue;
    const auto found = submit_keys_.find(submit_key_of(shadow.execution));
    if (found == submit_keys_.end() || found->second.execution_id != shadow.execution.id) {
      violated("an execution that holds a key is named by it", "{}", to_string(shadow.execution.id));
    }
  }
}

std::size_t Watcher::check_due_entries_of_keys(const std::map<Key, DueEntry>& due) {
  std::size_t expected = 0;
  for (const auto& [key, record] : submit_keys_) {
    expected += check_due_entry(due, {record.armed_due, key}, record.expires_at);
  }
  return expected;
}

std::string Watcher::payload_of(const ExecutionId& id) { return ok(reads::context(*store_, id)).payload; }

}  // namespace flowfabric::simulation
