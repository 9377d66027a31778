#include "api/log_follower.hpp"

#include <chrono>

#include "base/limits.hpp"

namespace flowfabric::api {
namespace {

constexpr std::chrono::milliseconds between_rounds{1000};
constexpr std::uint32_t longest_wait_ms = 60'000;
// Of one round: about two hundred thousand events a second, far more than one store commits.
constexpr int pages_a_round = 200;

}  // namespace

LogFollower::LogFollower(Engine& engine, Activity& activity) : engine_(engine), activity_(activity) {
  const bool begun = begin();
  thread_ = std::thread([this, begun] { run(begun); });
}

LogFollower::~LogFollower() {
  {
    const std::lock_guard lock(inbox_->mutex);
    inbox_->stopping = true;
    inbox_->changed.notify_all();
  }
  thread_.join();
}

std::optional<Result<EventPage>> LogFollower::read(const std::string& cursor, std::uint32_t wait_ms) {
  engine_.read_events_async({}, cursor, limits::max_page, wait_ms, [inbox = inbox_](Result<EventPage> page) {
    const std::lock_guard lock(inbox->mutex);
    inbox->page = std::move(page);
    inbox->changed.notify_all();
  });
  std::unique_lock lock(inbox_->mutex);
  inbox_->changed.wait(lock, [&] { return inbox_->stopping || inbox_->page; });
  if (inbox_->stopping) return std::nullopt;
  return std::exchange(inbox_->page, std::nullopt);
}

bool LogFollower::pause() {
  std::unique_lock lock(inbox_->mutex);
  return !inbox_->changed.wait_for(lock, between_rounds, [&] { return inbox_->stopping; });
}

bool LogFollower::begin() {
  const auto now = engine_.now();
  const auto end = engine_.subscribe();
  if (!now || !end) return false;
  cursor_ = end->cursor();
  activity_.begin(*now);
  return true;
}

void LogFollower::run(bool begun) {
  while (!begun) {
    if (!pause()) return;
    begun = begin();
  }
  while (catch_up() && pause()) {
  }
}

// Waits for the first events and reads on to the end. False when it is to stop.
bool LogFollower::catch_up() {
  std::uint32_t wait_ms = longest_wait_ms;
  for (int i = 0; i < pages_a_round; ++i) {
    auto page = read(cursor_, wait_ms);
    if (!page) return false;
    if (!*page) {
      // A cursor that the log does not know any more: it was restored to an earlier state.
      if (page->error().code == Errc::cursor_expired) skip();
      return true;
    }
    cursor_ = std::move((*page)->next_cursor);
    activity_.note((*page)->events);
    if ((*page)->events.size() < limits::max_page) return true;
    wait_ms = 0;
  }
  skip();
  return true;
}

void LogFollower::skip() {
  cursor_.clear();
  if (const auto now = engine_.now()) activity_.note_gap(*now);
}

}  // namespace flowfabric::api
