#include "api/attention.hpp"

#include <algorithm>

#include "net/target.hpp"

namespace flowfabric::api {
namespace {

constexpr std::int64_t due_lag_warning_ms = 10'000;
constexpr std::int64_t due_lag_error_ms = 60'000;
constexpr std::int64_t held_back_warning_ms = 10'000;
constexpr std::int64_t long_wait_ms = 5 * 60'000;
constexpr std::size_t recent_samples = 60;  // five minutes
constexpr std::uint64_t few_failures = 10;
constexpr std::size_t max_lanes_named = 5;  // of one kind of trouble

std::string age(std::int64_t ms) {
  const std::int64_t seconds = ms / 1000;
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds / 3600) + " h";
}

std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string link_to_waiting(const std::string& lane) {
  return "/ui/executions?state=waiting&lane=" + net::percent_encode(lane);
}

void check_store(const OverviewReply& overview, const AttentionFacts& facts, std::vector<Attention>& found) {
  if (!overview.store.ready) {
    const std::string why = overview.store.message.empty() ? "" : ": " + overview.store.message;
    found.push_back({Severity::error, "store_not_ready", "The store cannot be used" + why + ".", {}});
  }
  if (overview.due_lag_ms >= due_lag_warning_ms) {
    const bool bad = overview.due_lag_ms >= due_lag_error_ms;
    found.push_back({bad ? Severity::error : Severity::warning,
                     "due_lag",
                     "Timers are processed " + age(overview.due_lag_ms) +
                         " late: delays, retries and the expiry of leases wait for it.",
                     {}});
  }
  if (facts.held_back_ms >= held_back_warning_ms) {
    const std::string holder = facts.holder.empty() ? "" : " (" + facts.holder + ")";
    found.push_back({Severity::warning, "events_held_back",
                     "An open transaction in the database" + holder + " has kept events from subscribers for " +
                         age(facts.held_back_ms) + ".",
                     "/ui/events"});
  }
}

void check_failures(const OverviewReply& overview, std::vector<Attention>& found) {
  const auto& samples = overview.samples;
  const std::size_t recent = std::min(samples.size(), recent_samples);
  std::uint64_t failed = 0, completed = 0, failed_before = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const bool is_recent = i >= samples.size() - recent;
    (is_recent ? failed : failed_before) += samples[i].failed;
    if (is_recent) completed += samples[i].completed;
  }
  const std::size_t periods_before = (samples.size() - recent) / recent_samples;
  const std::uint64_t usual = periods_before == 0 ? 0 : failed_before / periods_before;
  const bool many = failed >= few_failures && failed * 20 >= failed + completed;
  if (!many || failed <= 2 * usual) return;
  Attention attention{failed >= completed ? Severity::error : Severity::warning,
                      "failures_growing",
                      {},
                      "/ui/executions?state=failed,expired"};
  attention.message = counted(failed, "execution", "executions") + " failed in the last 5 minutes";
  if (periods_before > 0) attention.message += "; " + std::to_string(usual) + " is usual";
  attention.message += ".";
  if (!overview.failures.empty()) {
    const FailureFigures& most = overview.failures.front();
    attention.message += " Most fail with the kind \"" + most.kind + "\" on the lane \"" + most.lane + "\"";
    if (!most.last_category.empty()) attention.message += ", last because of \"" + most.last_category + "\"";
    attention.message += ".";
    attention.link += "&kind=" + net::percent_encode(most.kind) + "&lane=" + net::percent_encode(most.lane);
  }
  found.push_back(std::move(attention));
}

// The worst lanes by name, the others as a number.
void name_lanes(std::vector<std::pair<std::uint64_t, Attention>> lanes, const std::string& code,
                const std::string& others, std::vector<Attention>& found) {
  std::sort(lanes.begin(), lanes.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.message < b.second.message;
  });
  for (std::size_t i = 0; i < std::min(lanes.size(), max_lanes_named); ++i) found.push_back(std::move(lanes[i].second));
  if (lanes.size() <= max_lanes_named) return;
  const std::size_t more = lanes.size() - max_lanes_named;
  found.push_back(
      {Severity::warning, code, counted(more, "more lane", "more lanes") + " " + others + ".", "/ui/lanes"});
}

void check_lanes(const OverviewReply& overview, std::vector<Attention>& found) {
  std::vector<std::pair<std::uint64_t, Attention>> closed, slow;
  for (const OverviewLane& lane : overview.lanes) {
    const std::uint64_t waiting = waiting_on(lane);
    if (waiting == 0) continue;
    const std::string name = "The lane \"" + lane.lane + "\"";
    if (lane.state == LaneState::paused || lane.state == LaneState::disabled) {
      closed.push_back({waiting,
                        {Severity::warning, "lane_not_active",
                         name + " is " + std::string(to_string(lane.state)) + " and has " +
                             counted(waiting, "execution", "executions") + " waiting.",
                         "/ui/lanes"}});
      continue;
    }
    const std::int64_t waited = lane.oldest_waiting_at == 0 ? 0 : overview.now - lane.oldest_waiting_at;
    if (waited < long_wait_ms) continue;
    slow.push_back({static_cast<std::uint64_t>(waited),
                    {Severity::warning, "waiting_long",
                     name + " has " + counted(waiting, "execution", "executions") + " waiting, the oldest for " +
                         age(waited) + ".",
                     link_to_waiting(lane.lane)}});
  }
  name_lanes(std::move(closed), "lane_not_active", "are paused or disabled while executions wait", found);
  name_lanes(std::move(slow), "waiting_long", "have executions that wait for long", found);
}

}  // namespace

std::vector<Attention> needs_attention(const OverviewReply& overview, const AttentionFacts& facts) {
  std::vector<Attention> found;
  check_store(overview, facts, found);
  check_failures(overview, found);
  check_lanes(overview, found);
  if (facts.workers_lost > 0) {
    found.push_back({Severity::warning, "workers_lost",
                     counted(facts.workers_lost, "worker has", "workers have") +
                         " stopped sending heartbeats in the last 10 minutes.",
                     "/ui/workers"});
  }
  std::vector<Attention> ordered;
  for (const Severity severity : {Severity::error, Severity::warning}) {
    for (const Attention& one : found) {
      if (one.severity == severity) ordered.push_back(one);
    }
  }
  return ordered;
}

}  // namespace flowfabric::api
