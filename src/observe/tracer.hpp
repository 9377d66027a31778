// Where spans go when they are over: a queue that somebody else empties. Whoever records a span never waits for that one:
// when the queue is full, the span is dropped and counted.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "observe/metrics.hpp"
#include "observe/span.hpp"

namespace flowfabric::observe {

struct TracerOptions {
  double ratio = 1;  // of the traces that begin here, how many are recorded: 0 to 1
  std::size_t max_queued = 8192;
};

class Tracer {
 public:
  explicit Tracer(TracerOptions options = {}) : options_(options) {}

  // Whether a trace that begins here with this id is recorded. All who have the same ratio agree.
  bool samples(const TraceId& trace_id) const;
  void record(Span span);
  std::size_t queued() const;

  // For the one who sends them. Waits until there are `max` spans, `patience` has passed, or finish() was called; may be
  // empty. Nothing after finish() when there are no more.
  std::optional<std::vector<Span>> next_batch(std::size_t max, std::chrono::milliseconds patience);
  // From now on nothing is taken any more, and next_batch waits for nothing.
  void finish();

  // What became of them.
  Counter exported;
  Counter dropped_when_full;  // the queue was
  Counter dropped_refused;    // by the collector
  Counter dropped_at_stop;    // the program ended before they were sent
  Counter failed_exports;     // tries to send some that failed, whether or not they were sent later

 private:
  const TracerOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Span> queue_;
  std::size_t wanted_ = 0;  // how many next_batch waits for
  bool finished_ = false;
};

}  // namespace flowfabric::observe
