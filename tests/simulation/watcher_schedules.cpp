// The watcher of schedules: every scheduled time is decided once, and nothing is decided that is not scheduled.
#include <algorithm>

#include "base/text.hpp"
#include "core/schedule_times.hpp"
#include "simulation/watcher_parts.hpp"

namespace flowfabric::simulation {
namespace {

// What the clock has decided in one commit, by the events.
struct Decided {
  std::set<std::string> named;                              // times with an event of their own
  std::vector<std::pair<std::string, std::string>> missed;  // the first and the last of several

  // Texts of times are ordered as the times are.
  bool covers(const std::string& at) const {
    return named.contains(at) || std::any_of(missed.begin(), missed.end(), [&](const auto& range) {
             return at >= range.first && at <= range.second;
           });
  }
};

constexpr std::size_t time_length = 24;  // 2026-01-02T03:04:05.678Z

Decided decided_in(const std::vector<Event>& events) {
  Decided decided;
  for (const Event& event : events) {
    const std::size_t missed = event.reason.find(" missed: ");
    if (event.type == EventType::schedule_skipped && missed != std::string::npos) {
      const std::string times = event.reason.substr(missed + 9);
      decided.missed.emplace_back(times.substr(0, time_length), times.substr(times.size() - time_length));
    } else if (event.type == EventType::schedule_fired || event.type == EventType::schedule_skipped ||
               event.type == EventType::schedule_buffered) {
      decided.named.insert(event.reason.substr(0, time_length));
    }
  }
  return decided;
}

}  // namespace

void Watcher::schedule_changed(const Key& key) {
  ScheduleRecord now = ok(decode_schedule(ok(store_->load({key})).front()));
  ScheduleShadow& shadow = schedules_[key];
  if (shadow.removed) shadow = {};
  const bool is_new = shadow.position.empty();
  const std::vector<Event> events = new_events(key, shadow.position);
  if (!is_new && shadow.record.incarnation == now.incarnation) check_firings(shadow, now, events);
  if (is_new || shadow.record.incarnation != now.incarnation) {
    shadow.fired.clear();
    shadow.fired_flows.clear();
  }
  for (const Event& event : events) {
    if (event.type != EventType::schedule_fired) continue;
    if (!event.execution_id && !event.flow_id) violated("a firing names its execution or flow", "{}", now.name);
    if (event.flow_id) {
      check_fired_flow(shadow, *event.flow_id);
      continue;
    }
    // The execution of a trigger with a key, or of a backfill, may come again once retention has removed it.
    const Shadow* known = find(*event.execution_id);
    const bool kept = known == nullptr || (known->incarnation == 0 && !known->removed);
    if (!shadow.fired.insert(*event.execution_id).second && kept) {
      violated("a firing happens once", "{} created {} again", now.name, to_string(*event.execution_id));
    }
  }
  shadow.record = std::move(now);
}

// Retention may have removed the flow of a backfill or of a trigger with a key; then it may come again.
void Watcher::check_fired_flow(ScheduleShadow& shadow, const FlowId& flow) {
  const auto known = flows_.find(flow_key(flow));
  if (shadow.fired_flows.insert(flow).second || known == flows_.end()) return;
  if (known->second.ends > 0 && !known->second.removed) {
    violated("a firing happens once", "{} created {} again", shadow.record.name, to_string(flow));
  }
}

void Watcher::check_firings(const ScheduleShadow& shadow, const ScheduleRecord& now, const std::vector<Event>& events) {
  const ScheduleRecord& before = shadow.record;
  const auto fired = std::count_if(events.begin(), events.end(),
                                   [](const Event& event) { return event.type == EventType::schedule_fired; });
  if (now.counts.fired != before.counts.fired + static_cast<std::uint64_t>(fired)) {
    violated("firings are counted", "{} counts {} after {} and {} events", now.name, now.counts.fired,
             before.counts.fired, fired);
  }
  if (before.next_at == 0 || before.state != ScheduleState::active) return;
  // A change of the spec or the state follows what was due.
  const bool same = now.revision == before.revision && now.state == before.state;
  if (same && now.next_at != 0 && now.next_at < before.next_at) {
    violated("a schedule does not go back", "{} from {} to {}", now.name, before.next_at, now.next_at);
  }
  if (!same || now.next_at == before.next_at) return;
  const auto times = ok(ScheduleTimes::of(now.spec, nullptr));
  const Decided decided = decided_in(events);
  for (TimestampMs at = before.next_at; at != 0 && at != now.next_at; at = times.next_after(at)) {
    if (at > now.next_at && now.next_at != 0) violated("a schedule keeps to its times", "{} skips {}", now.name, at);
    if (!decided.covers(format_utc(at))) {
      violated("every scheduled time is decided", "{} has no event for {}", now.name, format_utc(at));
    }
  }
}

void Watcher::schedule_removed(const Key& key) {
  ScheduleShadow& shadow = schedules_.at(key);
  if (shadow.record.state != ScheduleState::deleted)
    violated("a schedule stays until it is deleted", "{}", name_of(key));
  shadow.removed = true;
  forget_log(key);
}

}  // namespace flowfabric::simulation
