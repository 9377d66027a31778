// Counters, gauges and histograms, and the registry that writes them in the Prometheus text format.
//
// A *family* has a name and label names; a *series* is one set of label values with its number. Families are created
// once, at the start. with() finds a series without a lock and creates it if it is new, so it may be called for every
// event; frequent callers keep the reference, which is valid as long as the registry.
//
// The number of series is bounded. Beyond `max_series` the labels whose values users choose (Label::open) get the value
// "other", while labels with a fixed set of values (Label::closed) keep theirs, so that sums over them stay correct.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flowfabric::observe {

class Counter {
 public:
  void add(std::uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t difference) { value_.fetch_add(difference, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Measured in whole numbers, so that a sum is one atomic addition; shown divided by `per_unit`.
struct Buckets {
  std::vector<std::int64_t> bounds{};  // ascending; a value belongs to the first bound that is not smaller
  double per_unit = 1;
};
Buckets durations();       // nanoseconds, shown as seconds: 100 µs to a minute
Buckets long_durations();  // the same, from a millisecond to a week
Buckets sizes();           // powers of two up to 1024

class Histogram {
 public:
  explicit Histogram(const Buckets& buckets);  // which must outlive it
  void observe(std::int64_t value);
  // The number of values in each bucket; the last bucket is for values above every bound.
  std::vector<std::uint64_t> counts() const;
  std::int64_t sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<std::int64_t>& bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
  std::atomic<std::int64_t> sum_{0};
};

// By a monotonic clock.
inline std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Measures a duration.
class Stopwatch {
 public:
  std::int64_t nanoseconds() const { return steady_ns() - start_ns_; }

 private:
  std::int64_t start_ns_ = steady_ns();
};

struct Label {
  std::string name{};
  bool is_open = false;

  // Values chosen by users: any number of them.
  static Label open(std::string name) { return {std::move(name), true}; }
  // Values defined by this program: few.
  static Label closed(std::string name) { return {std::move(name), false}; }
};

struct Definition {
  std::string name{};
  std::string help{};
  std::vector<Label> labels{};
  std::size_t max_series = 1000;
};

inline constexpr std::string_view other = "other";

namespace detail {

using Values = std::span<const std::string_view>;

struct Series {
  std::vector<std::string> values{};
  virtual ~Series() = default;
};

// Series by their label values. Reading takes no lock: slots are written once and never change.
class SeriesTable {
 public:
  explicit SeriesTable(std::size_t capacity);
  Series* find(Values values) const;
  void insert(std::unique_ptr<Series> series);  // one thread at a time
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  // Ordered by label values.
  std::vector<const Series*> all() const;

 private:
  std::vector<std::atomic<Series*>> slots_;  // a power of two, never more than half full
  std::vector<std::unique_ptr<Series>> owned_;
  std::atomic<std::size_t> size_{0};
};

class FamilyBase {
 public:
  FamilyBase(Definition definition, std::string_view type);
  virtual ~FamilyBase() = default;
  const std::string& name() const { return definition_.name; }
  virtual void write(std::string& out) const = 0;

 protected:
  void write_head(std::string& out) const;
  Series& series(Values values);
  std::vector<const Series*> all_series() const;
  virtual std::unique_ptr<Series> make() const = 0;

  const Definition definition_;

 private:
  std::vector<std::string_view> admitted(Values values) const;
  Series* known(Values values) const;

  const std::string_view type_;
  mutable std::mutex mutex_;  // for new series
  SeriesTable table_;
};

}  // namespace detail

template <class Metric>
class Family : public detail::FamilyBase {
 public:
  // One value per label, in the order of the definition.
  template <class... Texts>
  Metric& with(const Texts&... texts) {
    const std::array<std::string_view, sizeof...(Texts)> values{std::string_view(texts)...};
    return static_cast<SeriesOf&>(series(values)).metric;
  }

  explicit Family(Definition definition, Buckets buckets = {});
  void write(std::string& out) const override;

 private:
  struct SeriesOf : detail::Series {
    explicit SeriesOf(const Buckets& buckets);
    Metric metric;
  };
  std::unique_ptr<detail::Series> make() const override { return std::make_unique<SeriesOf>(buckets_); }

  const Buckets buckets_;
};

// One line of a family that is computed on request.
struct Sample {
  std::vector<std::string> values{};
  double value = 0;
};
using Compute = std::function<std::vector<Sample>()>;
// For families without labels.
Compute one_value(std::function<double()> compute);
// Caches the result of an expensive computation for twenty times as long as it took, at most half a minute, so that
// frequent scrapes cost no more than rare ones.
Compute seldom(Compute compute, std::function<std::int64_t()> now_ns = steady_ns);

class Registry {
 public:
  Family<Counter>& counters(Definition definition);
  Family<Gauge>& gauges(Definition definition);
  Family<Histogram>& histograms(Definition definition, Buckets buckets);
  // `compute` is called by text(), on its thread. Its result is bounded by max_series too: further series are added up.
  void computed_counters(Definition definition, Compute compute);
  void computed_gauges(Definition definition, Compute compute);

  // All families, sorted by name.
  std::string text() const;

 private:
  template <class F>
  F& add(std::unique_ptr<F> family);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<detail::FamilyBase>> families_;
};

}  // namespace flowfabric::observe
