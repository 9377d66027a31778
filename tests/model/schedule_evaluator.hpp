// What docs/schedules.md says about firings, without a line of the engine but the times of a spec: which scheduled times are
// started, skipped, buffered or missed, given when the clock looks and when what was started ends.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include <flowfabric/schedules.hpp>

namespace flowfabric::test {

class ScheduleEvaluator {
 public:
  // A schedule that is made now.
  ScheduleEvaluator(ScheduleSpec spec, TimestampMs now);

  // The clock looks, for the first time since the last call.
  void look(TimestampMs now);
  void trigger(TimestampMs now, bool ignore_overlap);
  void pause();
  void resume(TimestampMs now);
  // Returns the times that have nothing yet.
  std::vector<TimestampMs> backfill(TimestampMs from, TimestampMs to, TimestampMs now);
  // What was started for this time has ended. Several for one time are told apart by nothing.
  void end(TimestampMs scheduled_at);

  struct Counts {
    std::uint64_t fired = 0, skipped = 0, missed = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  const Counts& counts() const { return counts_; }
  // Scheduled times of what runs, backfilled ones included.
  const std::multiset<TimestampMs>& running() const { return running_; }
  bool is_buffered() const { return buffered_.has_value(); }
  bool is_paused() const { return paused_; }

 private:
  TimestampMs next_after(TimestampMs at) const;
  void decide(TimestampMs at);
  void start(TimestampMs at, bool counts_as_running = true);
  void start_buffered();

  ScheduleSpec spec_;
  TimestampMs next_ = 0;
  bool paused_ = false;
  Counts counts_;
  std::multiset<TimestampMs> running_;
  std::multiset<TimestampMs> blocking_;  // of these, those at which the overlap policy looks
  std::set<TimestampMs> started_;        // by the clock or a backfill
  std::optional<TimestampMs> buffered_;
};

}  // namespace flowfabric::test
