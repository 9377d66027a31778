// Deadlines of very many connections, for one thread.
//
// A hashed wheel of lists: setting, moving and clearing a deadline costs a few instructions, and one timer serves all.
// A deadline is never met early and at most about one tick late. A deadline that moves later stays linked; the wheel
// examines it when its slot comes and links it again. This is the usual move (every request moves the idle deadline of
// its connection), and it costs one store.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>

namespace flowfabric::net {

using Clock = std::chrono::steady_clock;

// To be used as a base or a member. Must be cleared before it is destroyed.
struct Deadline {
  Clock::time_point due{};
  std::int64_t tick = 0;  // the slot it is linked in
  Deadline* previous = nullptr;
  Deadline* next = nullptr;

  bool linked() const { return next != nullptr; }
};

class DeadlineWheel {
 public:
  static constexpr std::chrono::milliseconds tick_length{16};
  static constexpr std::int64_t slots = 1024;  // about 16 s; later deadlines go round

  explicit DeadlineWheel(Clock::time_point now);
  DeadlineWheel(const DeadlineWheel&) = delete;
  DeadlineWheel& operator=(const DeadlineWheel&) = delete;

  // Returns the latest time at which the wheel must be turned for this deadline.
  Clock::time_point set(Deadline& deadline, Clock::time_point due);
  static void clear(Deadline& deadline);
  // Unlinks due deadlines and passes them to `expired`, which may set and clear any deadline.
  void turn(Clock::time_point now, const std::function<void(Deadline&)>& expired);
  // When it must be turned next; time_point::max() if it is empty.
  Clock::time_point next_turn() const;

 private:
  Deadline& slot(std::int64_t tick) { return slots_[static_cast<std::size_t>(tick % slots)]; }
  const Deadline& slot(std::int64_t tick) const { return slots_[static_cast<std::size_t>(tick % slots)]; }
  Clock::time_point time_of(std::int64_t tick) const { return origin_ + tick * tick_length; }

  Clock::time_point origin_;
  std::int64_t turned_ = 0;                                      // the last processed tick
  std::array<Deadline, static_cast<std::size_t>(slots)> slots_;  // rings: each slot is the anchor of its own ring
};

}  // namespace flowfabric::net
