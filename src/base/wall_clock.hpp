// The time of stores that have no server to ask: the wall clock, except that it does not jump back.
//
// When the wall clock is set back, time goes on by the steady clock: no lease and no timer waits until the wall clock has
// caught up. From then on the store's time is ahead of the wall clock. This lead is worked off: while there is one, the
// store's time passes a sixteenth more slowly. A lead is two numbers, and what is left of it is a function of these and the
// wall clock; so processes that share a database share the lead too, and have the same time.
//
// - Set back by up to `clock_tolerance_us`: time stands still for as long.
// - Set back by up to `largest_clock_lead_us`: time goes on, with a lead.
// - Set back further: time jumps back too. A clock that was ahead by a year must not put the store ahead for years.
// - Set forward: time follows at once, or uses up a lead.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

namespace flowfabric {

inline constexpr std::int64_t clock_tolerance_us = 1'000'000;
inline constexpr std::int64_t largest_clock_lead_us = 3'600'000'000;

struct ClockLead {
  std::int64_t ahead_us = 0;
  std::int64_t since_us = 0;  // by the wall clock

  friend bool operator==(const ClockLead&, const ClockLead&) = default;
};

class WallClock {
 public:
  // A clock in microseconds. Tests bring their own.
  using Source = std::function<std::int64_t()>;
  explicit WallClock(Source wall_us = {}, Source steady_us = {});

  // `recorded` is the lead that the database has on record. If the wall clock has been set since the last call, it is
  // changed, and the caller should record it. What is not recorded, because the transaction failed, is asked for again.
  std::int64_t now_us(ClockLead& recorded);
  // The time outside of a transaction.
  std::int64_t now_us();
  // The same for one who may never have had a transaction, but has looked at the lead on record.
  std::int64_t now_us_by(const ClockLead& recorded);

 private:
  std::int64_t read();
  void note_step(std::int64_t wall, std::int64_t step);

  const Source wall_us_;
  const Source steady_us_;
  std::mutex mutex_;
  ClockLead lead_;      // that counts
  ClockLead recorded_;  // as it was seen last
  bool started_ = false;
  std::int64_t last_wall_ = 0, last_steady_ = 0, last_now_ = 0;
};

}  // namespace flowfabric
