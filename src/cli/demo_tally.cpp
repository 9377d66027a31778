#include "cli/demo_tally.hpp"

#include <fmt/core.h>

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t events_a_read = 1000;
constexpr std::uint32_t wait_ms = 100;

}  // namespace

void Tally::note(const Event& event) {
  if (!event.execution_id) return;
  const std::lock_guard lock(mutex_);
  ++events_;
  Story& story = stories_[*event.execution_id];
  if (event.type != EventType::created) --by_state_[story.state];
  ++by_state_[event.state_after];
  story.state = event.state_after;
  const bool starts = event.type == EventType::claimed || event.type == EventType::resumed;
  if (starts && event.at < story.not_before) story.started_early = true;
  if (event.next_at != 0) story.not_before = event.next_at;
  if (event.type == EventType::claimed) ++story.claims;
  if (event.type == EventType::delayed) ++story.pauses;
  if (event.type == EventType::retry_scheduled) ++story.retries;
  if (event.type == EventType::lease_expired) ++story.lease_losses;
  if (!is_terminal(event.type)) return;
  if (++story.ends == 1) ++ended_;
}

std::uint64_t Tally::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::uint64_t Tally::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

Story Tally::story(const ExecutionId& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = stories_.find(id);
  return found == stories_.end() ? Story{} : found->second;
}

std::vector<std::string> Tally::counts() const {
  const std::lock_guard lock(mutex_);
  std::string open, ended;
  for (const auto& [state, count] : by_state_) {
    if (count == 0) continue;
    std::string& text = state < PublicState::completed ? open : ended;
    text += fmt::format("{}{} {}", text.empty() ? "" : "  ", to_string(state), count);
  }
  return {open, ended};
}

void Complaints::add(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  ++counted_[sentence];
}

std::map<std::string, std::uint64_t> Complaints::all() const {
  const std::lock_guard lock(mutex_);
  return counted_;
}

void follow(Subscription& subscription, Tally& tally, Complaints& complaints, const std::atomic<bool>& stop) {
  for (;;) {
    // After the stop the rest is still read: an execution that ends twice would be found there.
    const bool last_round = stop;
    const auto events = subscription.next(last_round ? 0 : wait_ms, events_a_read);
    if (!events) {
      if (!stop) complaints.add("the event log cannot be read: " + events.error().message);
      return;
    }
    for (const Event& event : *events) tally.note(event);
    if (last_round && events->empty()) return;
  }
}

}  // namespace flowfabric::cli
