#include "net/deadline_wheel.hpp"

#include <algorithm>

namespace flowfabric::net {
namespace {

void link(Deadline& anchor, Deadline& deadline) {
  deadline.previous = anchor.previous;
  deadline.next = &anchor;
  anchor.previous->next = &deadline;
  anchor.previous = &deadline;
}

}  // namespace

DeadlineWheel::DeadlineWheel(Clock::time_point now) : origin_(now) {
  for (Deadline& anchor : slots_) anchor.previous = anchor.next = &anchor;
}

void DeadlineWheel::clear(Deadline& deadline) {
  if (!deadline.linked()) return;
  deadline.previous->next = deadline.next;
  deadline.next->previous = deadline.previous;
  deadline.previous = deadline.next = nullptr;
}

Clock::time_point DeadlineWheel::set(Deadline& deadline, Clock::time_point due) {
  deadline.due = due;
  const std::int64_t exact = (due - origin_ + tick_length - Clock::duration(1)) / tick_length;
  const std::int64_t tick = std::clamp(exact, turned_ + 1, turned_ + slots - 1);
  if (!deadline.linked() || deadline.tick > tick) {
    clear(deadline);
    deadline.tick = tick;
    link(slot(tick), deadline);
  }
  return time_of(deadline.tick);
}

void DeadlineWheel::turn(Clock::time_point now, const std::function<void(Deadline&)>& expired) {
  const std::int64_t current = (now - origin_) / tick_length;
  // After a long pause one full round reaches every slot.
  for (std::int64_t tick = std::max(turned_ + 1, current - slots + 1); tick <= current; ++tick) {
    turned_ = tick;
    Deadline pending;  // deadlines set meanwhile may belong to the next round of this slot
    pending.previous = pending.next = &pending;
    Deadline& anchor = slot(tick);
    while (anchor.next != &anchor) {
      Deadline& deadline = *anchor.next;
      clear(deadline);
      link(pending, deadline);
    }
    while (pending.next != &pending) {
      Deadline& deadline = *pending.next;
      clear(deadline);
      if (deadline.due <= now) {
        expired(deadline);
      } else {
        set(deadline, deadline.due);
      }
    }
  }
  turned_ = std::max(turned_, current);
}

Clock::time_point DeadlineWheel::next_turn() const {
  for (std::int64_t tick = turned_ + 1; tick < turned_ + slots; ++tick) {
    const Deadline& anchor = slot(tick);
    if (anchor.next != &anchor) return time_of(tick);
  }
  return Clock::time_point::max();
}

}  // namespace flowfabric::net
