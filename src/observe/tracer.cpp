#include "observe/tracer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/hashing.hpp"

namespace flowfabric::observe {

// By a hash: ids chosen by users need not be random.
bool Tracer::samples(const TraceId& trace_id) const {
  if (options_.ratio >= 1) return true;
  const std::string_view bytes(reinterpret_cast<const char*>(trace_id.data()), trace_id.size());
  return std::ldexp(static_cast<double>(digest64(bytes)), -64) < options_.ratio;
}

void Tracer::record(Span span) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= options_.max_queued || finished_) {
      (finished_ ? dropped_at_stop : dropped_when_full).add();
      return;
    }
    queue_.push_back(std::move(span));
    if (queue_.size() != wanted_) return;
  }
  wake_.notify_one();
}

std::size_t Tracer::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

std::optional<std::vector<Span>> Tracer::next_batch(std::size_t max, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  wanted_ = max;
  wake_.wait_for(lock, patience, [&] { return queue_.size() >= max || finished_; });
  if (finished_ && queue_.empty()) return std::nullopt;
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(max, queue_.size()));
  std::vector<Span> batch(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return batch;
}

void Tracer::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  wake_.notify_all();
}

}  // namespace flowfabric::observe
