// What has happened on the store during the last hour, in intervals of five seconds: counted from the event log.
//
// Everything is bounded: the intervals, the namespaces, lanes and kinds that have figures of their own, and the executions
// whose times are measured. Beyond these bounds what has been quiet for longest is dropped, and fewer executions are
// measured: always the same ones from their creation to their end, chosen by their id.
//
// Times are those of the events, which are the store's. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <flowfabric/types.hpp>

namespace flowfabric::api {

inline constexpr std::int64_t activity_interval_ms = 5000;
inline constexpr std::size_t activity_intervals = 720;  // one hour

// One interval. Times are absent when none was measured.
struct ActivitySample {
  TimestampMs at = 0;  // its beginning
  std::uint32_t created = 0;
  std::uint32_t claimed = 0;
  std::uint32_t completed = 0;
  std::uint32_t failed = 0;  // or expired
  std::uint32_t cancelled = 0;
  std::optional<std::int64_t> wait_p50_ms{}, wait_p95_ms{};  // from claimable to claimed
  std::optional<std::int64_t> run_p50_ms{}, run_p95_ms{};    // of attempts, from claimed to their end
  bool incomplete = false;                                   // events were skipped
};

struct FailureFigures {
  std::string kind{};
  std::string lane{};
  std::uint64_t count = 0;
  std::string last_category{};
  TimestampMs last_at = 0;
};

struct ActivityView {
  std::vector<ActivitySample> samples{};                                  // oldest first; the last one is still open
  std::map<std::string, std::vector<std::uint32_t>> completed_by_lane{};  // one number for each sample
  std::vector<FailureFigures> failures{};                                 // of the last hour; most first
  std::uint64_t workers_lost = 0;                                         // in the last ten minutes
};

// Durations in buckets whose width is an eighth of their value, at most.
class DurationHistogram {
 public:
  void add(std::int64_t ms);
  // Nothing when it is empty.
  std::optional<std::int64_t> quantile(double q) const;

 private:
  static constexpr std::size_t buckets = 272;  // up to a year
  std::array<std::uint32_t, buckets> counts_{};
  std::uint32_t total_ = 0;
};

// How long executions wait for a worker, and how long their attempts run: a sample of them, followed by their events.
class StretchMeter {
 public:
  explicit StretchMeter(std::size_t max_followed) : max_followed_(max_followed) {}

  struct Measured {
    std::optional<std::int64_t> waited_ms{};
    std::optional<std::int64_t> ran_ms{};
  };
  Measured note(const Event& event);
  std::size_t followed() const { return by_id_.size(); }

 private:
  struct Stretch {
    TimestampMs claimable_at = 0;  // 0: it is not, or since when is not known
    TimestampMs claimed_at = 0;
  };
  bool is_followed(std::uint64_t hash) const { return (hash & mask_) == 0; }
  void follow_fewer();

  const std::size_t max_followed_;
  std::uint64_t mask_ = 0;
  std::unordered_map<std::uint64_t, Stretch> by_id_;  // by a hash of the id
};

// The figures of the whole store, or of one namespace.
class ActivitySeries {
 public:
  struct Bounds {
    std::size_t lanes = 0;
    std::size_t failures = 0;
  };
  explicit ActivitySeries(Bounds bounds);

  void note(const Event& event, const StretchMeter::Measured& measured);
  void note_gap(std::int64_t interval);
  // Of the intervals from `first` to `last`.
  ActivityView view(std::int64_t first, std::int64_t last) const;
  std::int64_t last_interval() const { return last_; }

 private:
  struct Times {
    std::int64_t interval = 0;
    DurationHistogram waits{}, runs{};
  };
  struct Lane {
    std::vector<std::uint32_t> completed = std::vector<std::uint32_t>(activity_intervals);
    std::int64_t last = 0;
  };
  // Counted by the minute.
  struct Failures {
    std::array<std::uint32_t, 60> by_minute{};
    std::int64_t last_minute = 0;
    std::string last_category{};
    TimestampMs last_at = 0;
  };

  bool advance(std::int64_t interval);
  ActivitySample& cell(std::int64_t interval) {
    return cells_[static_cast<std::size_t>(interval) % activity_intervals];
  }
  std::vector<FailureFigures> failures_until(TimestampMs now) const;
  Times* times_of(std::int64_t interval);
  static void settle(const Times& times, ActivitySample& figures);
  void count_completion(const std::string& lane, std::int64_t interval);
  void count_failure(const Event& event);

  const Bounds bounds_;
  std::int64_t last_ = 0;  // the newest interval that has a cell
  std::vector<ActivitySample> cells_;
  std::deque<Times> open_;  // of the last intervals, which events may still come for
  std::map<std::string, Lane, std::less<>> lanes_;
  std::map<std::pair<std::string, std::string>, Failures> failures_;  // by kind and lane
  std::deque<TimestampMs> workers_lost_;
};

class Activity {
 public:
  Activity();

  // From when on there are figures.
  void begin(TimestampMs now);
  void note(const std::vector<Event>& events);
  // Some events up to then were not read.
  void note_gap(TimestampMs now);
  ActivityView view(const std::optional<std::string>& name_space, TimestampMs now) const;

 private:
  ActivitySeries& series_of(const std::string& name_space);

  mutable std::mutex mutex_;
  std::int64_t first_ = 0;  // the interval in which it began; 0: it has not
  StretchMeter meter_;
  ActivitySeries all_;
  std::map<std::string, ActivitySeries, std::less<>> by_namespace_;
};

}  // namespace flowfabric::api
