#include "model/schedule_evaluator.hpp"

#include <utility>

#include "core/schedule_times.hpp"

namespace flowfabric::test {

ScheduleEvaluator::ScheduleEvaluator(ScheduleSpec spec, TimestampMs now) : spec_(std::move(spec)) {
  next_ = next_after(now);
}

TimestampMs ScheduleEvaluator::next_after(TimestampMs at) const {
  return ScheduleTimes::of(spec_, nullptr)->next_after(at);
}

void ScheduleEvaluator::start(TimestampMs at, bool counts_as_running) {
  ++counts_.fired;
  running_.insert(at);
  if (!counts_as_running) return;
  if (spec_.overlap == OverlapPolicy::cancel_running) {
    for (const TimestampMs cancelled : blocking_) running_.erase(running_.find(cancelled));
    blocking_.clear();
  }
  blocking_.insert(at);
}

void ScheduleEvaluator::decide(TimestampMs at) {
  const bool is_free =
      blocking_.empty() || spec_.overlap == OverlapPolicy::allow || spec_.overlap == OverlapPolicy::cancel_running;
  if (is_free) return start(at);
  if (spec_.overlap == OverlapPolicy::buffer_one && !buffered_) {
    buffered_ = at;
    return;
  }
  ++counts_.skipped;
}

void ScheduleEvaluator::start_buffered() {
  if (!buffered_ || paused_ || !blocking_.empty()) return;
  const TimestampMs at = *std::exchange(buffered_, std::nullopt);
  start(at);
}

// A time is missed if the window for its start has passed when somebody looks.
void ScheduleEvaluator::look(TimestampMs now) {
  if (paused_) return;
  start_buffered();
  std::deque<TimestampMs> late, in_time;
  for (; next_ != 0 && next_ <= now; next_ = next_after(next_)) {
    started_.insert(next_);  // decided: a backfill no longer leaves it to the clock
    (now - next_ > spec_.start_window_ms ? late : in_time).push_back(next_);
  }
  std::size_t made_up_for = 0;
  if (spec_.catch_up == CatchUpPolicy::all) made_up_for = spec_.catch_up_limit;
  if (spec_.catch_up == CatchUpPolicy::last && in_time.empty()) made_up_for = 1;
  while (late.size() > made_up_for) {
    started_.erase(late.front());
    late.pop_front();
    ++counts_.missed;
  }
  for (auto* times : {&late, &in_time}) {
    for (const TimestampMs at : *times) {
      const auto fired = counts_.fired;
      const bool was_buffered = buffered_.has_value();
      decide(at);
      if (counts_.fired == fired && was_buffered == buffered_.has_value()) started_.erase(at);
    }
  }
}

void ScheduleEvaluator::trigger(TimestampMs now, bool ignore_overlap) {
  if (!ignore_overlap) return decide(now);
  ++counts_.fired;
  running_.insert(now);
  blocking_.insert(now);
}

void ScheduleEvaluator::pause() {
  paused_ = true;
  next_ = 0;
}

void ScheduleEvaluator::resume(TimestampMs now) {
  paused_ = false;
  next_ = next_after(now);
  start_buffered();
}

std::vector<TimestampMs> ScheduleEvaluator::backfill(TimestampMs from, TimestampMs to, TimestampMs now) {
  std::vector<TimestampMs> made;
  for (TimestampMs at = next_after(from - 1); at != 0 && at < to && at <= now; at = next_after(at)) {
    if (next_ != 0 && at >= next_) break;
    if (!started_.insert(at).second) continue;
    start(at, false);
    made.push_back(at);
  }
  return made;
}

void ScheduleEvaluator::end(TimestampMs scheduled_at) {
  running_.erase(running_.find(scheduled_at));
  const auto found = blocking_.find(scheduled_at);
  if (found == blocking_.end()) return;
  blocking_.erase(found);
  start_buffered();
}

}  // namespace flowfabric::test
