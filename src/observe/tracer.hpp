// The queue of finished spans. Recording a span never waits for the exporter: if the queue is full, the span is dropped
// and counted.
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
  double ratio = 1;  // the share of the traces started here that is recorded: 0 to 1
  std::size_t max_queued = 8192;
};

class Tracer {
 public:
  explicit Tracer(TracerOptions options = {}) : options_(options) {}

  // Whether a trace that starts here with this id is recorded. Servers with the same ratio decide equally.
  bool samples(const TraceId& trace_id) const;
  void record(Span span);
  std::size_t queued() const;

  // For the exporter. Waits until there are `max` spans, `patience` has passed, or finish() was called; may be empty.
  // Nothing after finish() if there are no more spans.
  std::optional<std::vector<Span>> next_batch(std::size_t max, std::chrono::milliseconds patience);
  // From now on no spans are accepted, and next_batch does not wait.
  void finish();

  // Counters of the results.
  Counter exported;
  Counter dropped_when_full;  // because the queue was full
  Counter dropped_refused;    // because the collector refused them
  Counter dropped_at_stop;    // because the program ended before they were sent
  Counter failed_exports;     // failed attempts to send spans, even if they were sent later

 private:
  const TracerOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Span> queue_;
  std::size_t wanted_ = 0;  // the number of spans that next_batch waits for
  bool finished_ = false;
};

}  // namespace flowfabric::observe
