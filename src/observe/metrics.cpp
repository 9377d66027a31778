#include "observe/metrics.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"

namespace flowfabric::observe {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

// Beyond its limit a family still accepts the values of its closed labels, with "other" for the open ones. There are
// few of them; this check prevents an overflow of the table if a label is marked closed by mistake.
constexpr std::size_t reserve = 64;

constexpr std::int64_t remember_factor = 20;
constexpr std::int64_t longest_memory_ns = 30'000 * ns_per_ms;

bool is_name(std::string_view text, std::string_view also) {
  const auto allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           also.find(c) != std::string_view::npos;
  };
  return !text.empty() && (text[0] < '0' || text[0] > '9') && std::all_of(text.begin(), text.end(), allowed);
}

void append_escaped(std::string& out, std::string_view text, bool quoted) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quoted) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

std::string number(double value) { return fmt::format("{}", value); }

// {a="1",b="2"}; `le` is the label that only buckets have.
void append_labels(std::string& out, const std::vector<Label>& labels, const std::vector<std::string>& values,
                   std::string_view le = {}) {
  char separator = '{';
  const auto append = [&](std::string_view name, std::string_view value) {
    out += separator;
    out += name;
    out += "=\"";
    append_escaped(out, value, true);
    out += '"';
    separator = ',';
  };
  for (std::size_t i = 0; i < labels.size(); ++i) append(labels[i].name, values[i]);
  if (!le.empty()) append("le", le);
  if (separator == ',') out += '}';
}

void append_sample(std::string& out, const Definition& definition, std::string_view suffix,
                   const std::vector<std::string>& values, std::string_view value, std::string_view le = {}) {
  out += definition.name;
  out += suffix;
  append_labels(out, definition.labels, values, le);
  out += ' ';
  out += value;
  out += '\n';
}

void append_metric(std::string& out, const Definition& definition, const std::vector<std::string>& values,
                   const Counter& counter, const Buckets&) {
  append_sample(out, definition, "", values, std::to_string(counter.value()));
}

void append_metric(std::string& out, const Definition& definition, const std::vector<std::string>& values,
                   const Gauge& gauge, const Buckets&) {
  append_sample(out, definition, "", values, std::to_string(gauge.value()));
}

// The count is the sum of the buckets that were read, so that the lines are consistent while other threads count.
void append_metric(std::string& out, const Definition& definition, const std::vector<std::string>& values,
                   const Histogram& histogram, const Buckets& buckets) {
  const std::vector<std::uint64_t> counts = histogram.counts();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const bool last = i == buckets.bounds.size();
    const std::string le = last ? "+Inf" : number(static_cast<double>(buckets.bounds[i]) / buckets.per_unit);
    append_sample(out, definition, "_bucket", values, std::to_string(total), le);
  }
  append_sample(out, definition, "_sum", values, number(static_cast<double>(histogram.sum()) / buckets.per_unit));
  append_sample(out, definition, "_count", values, std::to_string(total));
}

template <class Metric>
constexpr std::string_view type_of();
template <>
constexpr std::string_view type_of<Counter>() {
  return "counter";
}
template <>
constexpr std::string_view type_of<Gauge>() {
  return "gauge";
}
template <>
constexpr std::string_view type_of<Histogram>() {
  return "histogram";
}

Buckets of_nanoseconds(std::initializer_list<double> seconds) {
  Buckets buckets{{}, 1e9};
  for (const double bound : seconds) buckets.bounds.push_back(static_cast<std::int64_t>(bound * 1e9 + 0.5));
  return buckets;
}

std::size_t hash_of(detail::Values values) {
  std::size_t hash = 0;
  for (const std::string_view value : values) hash = hash * 31 + std::hash<std::string_view>{}(value);
  return hash;
}

bool is_of(const detail::Series& series, detail::Values values) {
  return std::equal(values.begin(), values.end(), series.values.begin(), series.values.end());
}

// A family whose values are computed on request.
class ComputedFamily : public detail::FamilyBase {
 public:
  ComputedFamily(Definition definition, std::string_view type, Compute compute)
      : FamilyBase(std::move(definition), type), compute_(std::move(compute)) {}

  void write(std::string& out) const override {
    std::map<std::vector<std::string>, double> sums;
    for (Sample& sample : compute_()) {
      FF_CHECK(sample.values.size() == definition_.labels.size());
      if (sums.size() >= definition_.max_series && !sums.contains(sample.values)) hide_open(sample.values);
      sums[std::move(sample.values)] += sample.value;
    }
    write_head(out);
    for (const auto& [values, sum] : sums) append_sample(out, definition_, "", values, number(sum));
  }

 private:
  void hide_open(std::vector<std::string>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (definition_.labels[i].is_open) values[i] = other;
    }
  }
  std::unique_ptr<detail::Series> make() const override { return std::make_unique<detail::Series>(); }

  const Compute compute_;
};

}  // namespace

Buckets durations() {
  return of_nanoseconds(
      {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60});
}

Buckets long_durations() {
  return of_nanoseconds({0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,      0.25,      0.5,          1, 2.5, 5,
                         10,    30,     60,    300,  1800,  3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600});
}

Buckets sizes() { return {{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, 1}; }

Histogram::Histogram(const Buckets& buckets)
    : bounds_(buckets.bounds), counts_(std::make_unique<std::atomic<std::uint64_t>[]>(bounds_.size() + 1)) {}

void Histogram::observe(std::int64_t value) {
  const auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  counts_[static_cast<std::size_t>(bound - bounds_.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<std::uint64_t> Histogram::counts() const {
  std::vector<std::uint64_t> counts(bounds_.size() + 1);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

namespace detail {

SeriesTable::SeriesTable(std::size_t capacity) : slots_(std::bit_ceil(2 * capacity)) {}

Series* SeriesTable::find(Values values) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash_of(values) & mask;; at = (at + 1) & mask) {
    Series* const series = slots_[at].load(std::memory_order_acquire);
    if (series == nullptr || is_of(*series, values)) return series;
  }
}

void SeriesTable::insert(std::unique_ptr<Series> series) {
  FF_CHECK(2 * (size_ + 1) <= slots_.size());
  const std::size_t mask = slots_.size() - 1;
  const std::vector<std::string_view> values(series->values.begin(), series->values.end());
  std::size_t at = hash_of(values) & mask;
  while (slots_[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & mask;
  slots_[at].store(series.get(), std::memory_order_release);
  owned_.push_back(std::move(series));
  ++size_;
}

std::vector<const Series*> SeriesTable::all() const {
  std::vector<const Series*> all;
  for (const auto& series : owned_) all.push_back(series.get());
  std::sort(all.begin(), all.end(), [](const Series* a, const Series* b) { return a->values < b->values; });
  return all;
}

FamilyBase::FamilyBase(Definition definition, std::string_view type)
    : definition_(std::move(definition)), type_(type), table_(definition_.max_series + reserve + 1) {
  FF_CHECK(is_name(definition_.name, ":"));
  for (const Label& label : definition_.labels) FF_CHECK(is_name(label.name, "") && label.name != "le");
}

void FamilyBase::write_head(std::string& out) const {
  out += "# HELP " + definition_.name + " ";
  append_escaped(out, definition_.help, false);
  out += "\n# TYPE " + definition_.name + " ";
  out += type_;
  out += '\n';
}

// The name of a new series with these values.
std::vector<std::string_view> FamilyBase::admitted(Values values) const {
  std::vector<std::string_view> names(values.begin(), values.end());
  const std::size_t size = table_.size();
  if (size < definition_.max_series) return names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (definition_.labels[i].is_open || size >= definition_.max_series + reserve) names[i] = other;
  }
  return names;
}

Series* FamilyBase::known(Values values) const {
  Series* const exactly = table_.find(values);
  return exactly != nullptr ? exactly : table_.find(admitted(values));
}

Series& FamilyBase::series(Values values) {
  FF_CHECK(values.size() == definition_.labels.size());
  if (Series* series = known(values)) return *series;
  const std::lock_guard lock(mutex_);
  if (Series* series = known(values)) return *series;
  auto made = make();
  const auto names = admitted(values);
  made->values.assign(names.begin(), names.end());
  Series& series = *made;
  table_.insert(std::move(made));
  return series;
}

std::vector<const Series*> FamilyBase::all_series() const {
  const std::lock_guard lock(mutex_);
  return table_.all();
}

}  // namespace detail

template <>
Family<Counter>::SeriesOf::SeriesOf(const Buckets&) {}
template <>
Family<Gauge>::SeriesOf::SeriesOf(const Buckets&) {}
template <>
Family<Histogram>::SeriesOf::SeriesOf(const Buckets& buckets) : metric(buckets) {}

template <class Metric>
Family<Metric>::Family(Definition definition, Buckets buckets)
    : FamilyBase(std::move(definition), type_of<Metric>()), buckets_(std::move(buckets)) {}

template <class Metric>
void Family<Metric>::write(std::string& out) const {
  write_head(out);
  for (const detail::Series* series : all_series()) {
    append_metric(out, definition_, series->values, static_cast<const SeriesOf*>(series)->metric, buckets_);
  }
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

Compute one_value(std::function<double()> compute) {
  return [compute = std::move(compute)] { return std::vector<Sample>{{{}, compute()}}; };
}

Compute seldom(Compute compute, std::function<std::int64_t()> now_ns) {
  struct Memory {
    std::mutex mutex;
    std::vector<Sample> samples;
    std::optional<std::int64_t> good_until_ns;
  };
  return [memory = std::make_shared<Memory>(), compute = std::move(compute), now_ns = std::move(now_ns)] {
    const std::lock_guard lock(memory->mutex);
    const std::int64_t begin = now_ns();
    if (!memory->good_until_ns || begin >= *memory->good_until_ns) {
      memory->samples = compute();
      const std::int64_t end = now_ns();
      memory->good_until_ns = end + std::min(remember_factor * (end - begin), longest_memory_ns);
    }
    return memory->samples;
  };
}

template <class F>
F& Registry::add(std::unique_ptr<F> family) {
  F& added = *family;
  const std::lock_guard lock(mutex_);
  const auto where = std::lower_bound(families_.begin(), families_.end(), added.name(),
                                      [](const auto& one, const std::string& name) { return one->name() < name; });
  FF_CHECK(where == families_.end() || (*where)->name() != added.name());
  families_.insert(where, std::move(family));
  return added;
}

Family<Counter>& Registry::counters(Definition definition) {
  return add(std::make_unique<Family<Counter>>(std::move(definition)));
}

Family<Gauge>& Registry::gauges(Definition definition) {
  return add(std::make_unique<Family<Gauge>>(std::move(definition)));
}

Family<Histogram>& Registry::histograms(Definition definition, Buckets buckets) {
  return add(std::make_unique<Family<Histogram>>(std::move(definition), std::move(buckets)));
}

void Registry::computed_counters(Definition definition, Compute compute) {
  add(std::make_unique<ComputedFamily>(std::move(definition), "counter", std::move(compute)));
}

void Registry::computed_gauges(Definition definition, Compute compute) {
  add(std::make_unique<ComputedFamily>(std::move(definition), "gauge", std::move(compute)));
}

std::string Registry::text() const {
  std::string out;
  const std::lock_guard lock(mutex_);
  for (const auto& family : families_) family->write(out);
  return out;
}

}  // namespace flowfabric::observe
