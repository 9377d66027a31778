#include "api/activity.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "base/hashing.hpp"

namespace flowfabric::api {
namespace {

constexpr std::size_t max_followed = 20000;
constexpr std::size_t max_namespaces = 100;
constexpr ActivitySeries::Bounds bounds_of_all{250, 200};
constexpr ActivitySeries::Bounds bounds_of_namespace{20, 50};
constexpr std::size_t max_failures_shown = 50;
// Servers commit side by side, so an event may come a moment after those of the next interval.
constexpr std::size_t open_intervals = 2;
constexpr std::int64_t minute_ms = 60'000;
constexpr std::int64_t workers_lost_window_ms = 10 * minute_ms;
constexpr std::size_t max_workers_lost = 10000;
constexpr int linear_bits = 3;  // eight buckets for each power of two

std::int64_t interval_of(TimestampMs at) { return at / activity_interval_ms; }

std::size_t slot_of(std::int64_t interval) { return static_cast<std::size_t>(interval) % activity_intervals; }

// Whether a ring whose newest interval is `last` still has this one.
bool is_kept(std::int64_t interval, std::int64_t last) {
  return interval <= last && interval > last - static_cast<std::int64_t>(activity_intervals);
}

std::uint64_t hash_of(const ExecutionId& id) {
  return fnv1a64({reinterpret_cast<const char*>(id.uuid.bytes.data()), id.uuid.bytes.size()});
}

// Drops the entry that has been quiet for longest.
template <class Map, class Time>
void make_room(Map& map, std::size_t bound, const Time& time_of) {
  if (map.size() < bound) return;
  map.erase(std::min_element(map.begin(), map.end(),
                             [&](const auto& a, const auto& b) { return time_of(a.second) < time_of(b.second); }));
}

bool takes_a_lease(EventType type) {
  return type == EventType::claimed || type == EventType::resumed || type == EventType::lease_reclaimed;
}

}  // namespace

// ---------------------------------------------------------------- durations

void DurationHistogram::add(std::int64_t ms) {
  const auto value = static_cast<std::uint64_t>(std::clamp<std::int64_t>(ms, 0, (1LL << 35) - 1));
  std::size_t bucket = value;
  if (value >= (1U << linear_bits)) {
    const auto shift = static_cast<std::size_t>(std::bit_width(value) - 1 - linear_bits);
    bucket = (shift << linear_bits) + (value >> shift);
  }
  ++counts_[bucket];
  ++total_;
}

std::optional<std::int64_t> DurationHistogram::quantile(double q) const {
  if (total_ == 0) return std::nullopt;
  const auto rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(q * total_)));
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  while ((seen += counts_[bucket]) < rank) ++bucket;
  if (bucket < (2U << linear_bits)) return static_cast<std::int64_t>(bucket);
  const std::size_t shift = (bucket >> linear_bits) - 1;
  const std::uint64_t low = (bucket - (shift << linear_bits)) << shift;
  return static_cast<std::int64_t>(low + (1ULL << shift) / 2);
}

// ---------------------------------------------------------------- executions that are followed

StretchMeter::Measured StretchMeter::note(const Event& event) {
  if (!event.execution_id) return {};
  const std::uint64_t hash = hash_of(*event.execution_id);
  if (!is_followed(hash)) return {};
  Measured measured;
  const auto found = by_id_.find(hash);
  Stretch stretch = found == by_id_.end() ? Stretch{} : found->second;
  if (takes_a_lease(event.type)) {
    if (stretch.claimable_at != 0) measured.waited_ms = std::max<std::int64_t>(event.at - stretch.claimable_at, 0);
    stretch = {0, event.at};
  } else if (event.state_after != PublicState::active) {
    const bool attempt_ended = event.type == EventType::completed || event.type == EventType::failed ||
                               event.type == EventType::retry_scheduled;
    if (attempt_ended && stretch.claimed_at != 0)
      measured.ran_ms = std::max<std::int64_t>(event.at - stretch.claimed_at, 0);
    stretch.claimed_at = 0;
    const bool starts_to_wait = event.state_before != event.state_after || event.type == EventType::created;
    if (starts_to_wait) stretch.claimable_at = event.state_after == PublicState::waiting ? event.at : event.next_at;
  }
  if (is_terminal(event.type) || (stretch.claimable_at == 0 && stretch.claimed_at == 0)) {
    if (found != by_id_.end()) by_id_.erase(found);
  } else {
    by_id_.insert_or_assign(hash, stretch);
    if (by_id_.size() > max_followed_) follow_fewer();
    if (by_id_.size() < max_followed_ / 8) mask_ /= 2;  // and more again when there is room
  }
  return measured;
}

void StretchMeter::follow_fewer() {
  mask_ = 2 * mask_ + 1;
  std::erase_if(by_id_, [&](const auto& one) { return !is_followed(one.first); });
}

// ---------------------------------------------------------------- one series

ActivitySeries::ActivitySeries(Bounds bounds) : bounds_(bounds), cells_(activity_intervals) {}

// False for what is too old to be counted.
bool ActivitySeries::advance(std::int64_t interval) {
  constexpr auto size = static_cast<std::int64_t>(activity_intervals);
  if (interval <= last_ - size) return false;
  for (std::int64_t next = std::max(last_ + 1, interval - size + 1); next <= interval; ++next) {
    cell(next) = ActivitySample{next * activity_interval_ms};
  }
  if (interval > last_) {
    last_ = interval;
    open_.push_back({interval});
    while (open_.size() > open_intervals) {
      const Times& oldest = open_.front();
      if (oldest.interval > last_ - size) settle(oldest, cell(oldest.interval));
      open_.pop_front();
    }
  }
  return true;
}

ActivitySeries::Times* ActivitySeries::times_of(std::int64_t interval) {
  for (Times& times : open_) {
    if (times.interval == interval) return &times;
  }
  return nullptr;
}

void ActivitySeries::settle(const Times& times, ActivitySample& figures) {
  figures.wait_p50_ms = times.waits.quantile(0.5);
  figures.wait_p95_ms = times.waits.quantile(0.95);
  figures.run_p50_ms = times.runs.quantile(0.5);
  figures.run_p95_ms = times.runs.quantile(0.95);
}

void ActivitySeries::note(const Event& event, const StretchMeter::Measured& measured) {
  const std::int64_t interval = interval_of(event.at);
  if (!advance(interval)) return;
  ActivitySample& figures = cell(interval);
  if (takes_a_lease(event.type)) ++figures.claimed;
  switch (event.type) {
    case EventType::created: ++figures.created; break;
    case EventType::cancelled: ++figures.cancelled; break;
    case EventType::completed:
      ++figures.completed;
      count_completion(event.lane, interval);
      break;
    case EventType::failed:
    case EventType::expired:
      ++figures.failed;
      count_failure(event);
      break;
    case EventType::worker_ttl_swept:
      workers_lost_.push_back(event.at);
      if (workers_lost_.size() > max_workers_lost) workers_lost_.pop_front();
      break;
    default: break;
  }
  Times* times = times_of(interval);
  if (times == nullptr) return;
  if (measured.waited_ms) times->waits.add(*measured.waited_ms);
  if (measured.ran_ms) times->runs.add(*measured.ran_ms);
}

void ActivitySeries::count_completion(const std::string& name, std::int64_t interval) {
  auto found = lanes_.find(name);
  if (found == lanes_.end()) {
    make_room(lanes_, bounds_.lanes, [](const Lane& lane) { return lane.last; });
    found = lanes_.try_emplace(name).first;
    found->second.last = interval;
  }
  Lane& lane = found->second;
  constexpr auto size = static_cast<std::int64_t>(activity_intervals);
  for (std::int64_t next = std::max(lane.last + 1, interval - size + 1); next <= interval; ++next) {
    lane.completed[slot_of(next)] = 0;
  }
  lane.last = std::max(lane.last, interval);
  ++lane.completed[slot_of(interval)];
}

void ActivitySeries::count_failure(const Event& event) {
  const auto key = std::pair(event.kind, event.lane);
  auto found = failures_.find(key);
  const std::int64_t minute = event.at / minute_ms;
  if (found == failures_.end()) {
    make_room(failures_, bounds_.failures, [](const Failures& failures) { return failures.last_at; });
    found = failures_.try_emplace(key).first;
    found->second.last_minute = minute;
  }
  Failures& failures = found->second;
  constexpr auto size = static_cast<std::int64_t>(std::tuple_size_v<decltype(Failures::by_minute)>);
  if (minute <= failures.last_minute - size) return;
  for (std::int64_t next = std::max(failures.last_minute + 1, minute - size + 1); next <= minute; ++next) {
    failures.by_minute[static_cast<std::size_t>(next % size)] = 0;
  }
  failures.last_minute = std::max(failures.last_minute, minute);
  ++failures.by_minute[static_cast<std::size_t>(minute % size)];
  if (event.at < failures.last_at) return;
  failures.last_at = event.at;
  failures.last_category = event.type == EventType::expired ? "expired" : event.reason;
}

void ActivitySeries::note_gap(std::int64_t interval) {
  if (advance(interval)) cell(interval).incomplete = true;
}

ActivityView ActivitySeries::view(std::int64_t first, std::int64_t last) const {
  ActivityView view;
  for (std::int64_t interval = first; interval <= last; ++interval) {
    view.samples.push_back(is_kept(interval, last_) ? cells_[slot_of(interval)] : ActivitySample{});
    ActivitySample& sample = view.samples.back();
    sample.at = interval * activity_interval_ms;
    for (const Times& times : open_) {
      if (times.interval == interval) settle(times, sample);
    }
  }
  for (const auto& [name, lane] : lanes_) {
    std::vector<std::uint32_t>& completed = view.completed_by_lane[name];
    for (std::int64_t interval = first; interval <= last; ++interval) {
      completed.push_back(is_kept(interval, lane.last) ? lane.completed[slot_of(interval)] : 0);
    }
  }
  const TimestampMs now = (last + 1) * activity_interval_ms;
  view.failures = failures_until(now);
  view.workers_lost = static_cast<std::uint64_t>(std::count_if(
      workers_lost_.begin(), workers_lost_.end(), [&](TimestampMs at) { return at > now - workers_lost_window_ms; }));
  return view;
}

std::vector<FailureFigures> ActivitySeries::failures_until(TimestampMs now) const {
  constexpr auto minutes = static_cast<std::int64_t>(std::tuple_size_v<decltype(Failures::by_minute)>);
  std::vector<FailureFigures> all;
  for (const auto& [key, failures] : failures_) {
    FailureFigures figures{key.first, key.second, 0, failures.last_category, failures.last_at};
    const std::int64_t newest = std::max(now / minute_ms, failures.last_minute);
    for (std::int64_t minute = newest - minutes + 1; minute <= failures.last_minute; ++minute) {
      figures.count += failures.by_minute[static_cast<std::size_t>(minute % minutes)];
    }
    if (figures.count > 0) all.push_back(std::move(figures));
  }
  std::sort(all.begin(), all.end(), [](const FailureFigures& a, const FailureFigures& b) {
    return std::tie(b.count, b.last_at, a.kind, a.lane) < std::tie(a.count, a.last_at, b.kind, b.lane);
  });
  if (all.size() > max_failures_shown) all.resize(max_failures_shown);
  return all;
}

// ---------------------------------------------------------------- all of them

Activity::Activity() : meter_(max_followed), all_(bounds_of_all) {}

void Activity::begin(TimestampMs now) {
  const std::lock_guard lock(mutex_);
  if (first_ == 0) first_ = interval_of(now);
}

ActivitySeries& Activity::series_of(const std::string& name_space) {
  const auto found = by_namespace_.find(name_space);
  if (found != by_namespace_.end()) return found->second;
  make_room(by_namespace_, max_namespaces, [](const ActivitySeries& series) { return series.last_interval(); });
  return by_namespace_.try_emplace(name_space, bounds_of_namespace).first->second;
}

void Activity::note(const std::vector<Event>& events) {
  const std::lock_guard lock(mutex_);
  for (const Event& event : events) {
    const StretchMeter::Measured measured = meter_.note(event);
    all_.note(event, measured);
    if (!event.name_space.empty()) series_of(event.name_space).note(event, measured);
  }
}

void Activity::note_gap(TimestampMs now) {
  const std::lock_guard lock(mutex_);
  all_.note_gap(interval_of(now));
  for (auto& [name, series] : by_namespace_) series.note_gap(interval_of(now));
}

ActivityView Activity::view(const std::optional<std::string>& name_space, TimestampMs now) const {
  const std::lock_guard lock(mutex_);
  if (first_ == 0) return {};
  const std::int64_t last = std::max(interval_of(now), first_);
  const std::int64_t first = std::max(first_, last - static_cast<std::int64_t>(activity_intervals) + 1);
  if (!name_space) return all_.view(first, last);
  const auto found = by_namespace_.find(*name_space);
  return found == by_namespace_.end() ? ActivitySeries(bounds_of_namespace).view(first, last)
                                      : found->second.view(first, last);
}

}  // namespace flowfabric::api
