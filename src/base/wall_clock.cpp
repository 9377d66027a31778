#include "base/wall_clock.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/log.hpp"

namespace flowfabric {
namespace {

constexpr std::int64_t slowdown = 16;

template <class Clock>
std::int64_t microseconds_of() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
}

// What is left of a lead.
std::int64_t left(const ClockLead& lead, std::int64_t wall) {
  const std::int64_t elapsed = std::max<std::int64_t>(wall - lead.since_us, 0);
  const std::int64_t ahead = std::clamp<std::int64_t>(lead.ahead_us, 0, largest_clock_lead_us);
  return std::max<std::int64_t>(ahead - elapsed / slowdown, 0);
}

}  // namespace

WallClock::WallClock(Source wall_us, Source steady_us)
    : wall_us_(wall_us ? std::move(wall_us) : microseconds_of<std::chrono::system_clock>),
      steady_us_(steady_us ? std::move(steady_us) : microseconds_of<std::chrono::steady_clock>) {}

std::int64_t WallClock::now_us(ClockLead& recorded) {
  const std::lock_guard lock(mutex_);
  // Somebody else has noticed a step, perhaps the same one.
  if (recorded != recorded_) {
    lead_ = recorded_ = recorded;
    started_ = false;
  }
  const std::int64_t now = read();
  recorded = lead_;
  return now;
}

std::int64_t WallClock::now_us() {
  const std::lock_guard lock(mutex_);
  return read();
}

std::int64_t WallClock::now_us_by(const ClockLead& recorded) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = read();
  return std::max(now, last_wall_ + left(recorded, last_wall_));
}

std::int64_t WallClock::read() {
  const std::int64_t wall = wall_us_();
  const std::int64_t steady = steady_us_();
  if (started_) note_step(wall, (wall - last_wall_) - (steady - last_steady_));
  started_ = true;
  last_wall_ = wall;
  last_steady_ = steady;
  const std::int64_t now = wall + left(lead_, wall);
  const bool stands_still = now < last_now_ && last_now_ - now <= clock_tolerance_us;
  if (!stands_still) last_now_ = now;
  return last_now_;
}

// The wall clock was set by so much since the last reading.
void WallClock::note_step(std::int64_t wall, std::int64_t step) {
  const std::int64_t unset = wall - step;
  const std::int64_t ahead = left(lead_, unset) - step;
  if (step < -clock_tolerance_us) {
    const bool too_far = ahead > largest_clock_lead_us;
    lead_ = too_far ? ClockLead{} : ClockLead{ahead, wall};
    log(too_far ? LogLevel::error : LogLevel::warn,
        too_far ? "the system clock was set back by more than an hour: time goes back, and what was due waits for it"
                : "the system clock was set back: time goes on without it until the two agree again",
        {{"by_ms", std::to_string(-step / 1000)}});
  } else if (step > clock_tolerance_us && left(lead_, unset) > 0) {
    lead_ = ahead > 0 ? ClockLead{ahead, wall} : ClockLead{};
  }
}

}  // namespace flowfabric
