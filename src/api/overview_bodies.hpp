// Bodies of GET /v1/overview.
#pragma once

#include <cmath>

#include <fmt/format.h>

#include "api/activity.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::api {

// A number with two decimals, in replies only.
struct Figure {
  double value = 0;
};

struct OverviewLane {
  std::string lane{};
  LaneState state = LaneState::active;
  std::map<PublicState, std::uint64_t> counts{};
  TimestampMs oldest_waiting_at = 0;
  std::optional<std::vector<std::uint32_t>> samples{};
};

inline std::uint64_t waiting_on(const OverviewLane& lane) {
  const auto found = lane.counts.find(PublicState::waiting);
  return found == lane.counts.end() ? 0 : found->second;
}

struct OverviewStore {
  std::string kind{};
  bool ready = false;
  std::string message{};
};

struct OverviewBatches {
  Figure commits_per_s{};
  Figure records_per_commit{};
  std::optional<Figure> commit_p95_ms{};
};

enum class Severity : std::uint8_t { warning, error };

struct Attention {
  Severity severity = Severity::warning;
  std::string code{};
  std::string message{};
  std::string link{};
};

struct OverviewReply {
  TimestampMs now = 0;
  std::int64_t interval_ms = activity_interval_ms;
  std::vector<ActivitySample> samples{};
  std::vector<OverviewLane> lanes{};
  std::uint64_t lanes_left_out = 0;
  std::vector<FailureFigures> failures{};
  std::int64_t due_lag_ms = 0;
  OverviewStore store{};
  std::optional<OverviewBatches> batches{};
  std::vector<Attention> needs_attention{};
};

}  // namespace flowfabric::api

namespace flowfabric::wire {

template <>
struct Codec<api::Figure> {
  static Result<void> read(const Value&, const At& at, api::Figure&) { return refuse(at, "is part of replies only"); }
  static void write(Writer& writer, const api::Figure& figure) {
    writer.raw(std::isfinite(figure.value) ? fmt::format("{:.2f}", figure.value) : "0");
  }
  static std::string schema(Schemas&) { return R"({"type":"number"})"; }
};

template <>
struct EnumRange<api::Severity> {
  static constexpr auto first = api::Severity::warning;
  static constexpr auto last = api::Severity::error;
  static std::string_view name(api::Severity value) { return value == api::Severity::warning ? "warning" : "error"; }
};

FF_SHAPE(api::ActivitySample, "ActivitySample", field("at", &T::at, "When the interval begins."),
         field("created", &T::created, "Executions created."),
         field("claimed", &T::claimed, "Attempts that were claimed or resumed."),
         field("completed", &T::completed, "Executions that completed."),
         field("failed", &T::failed, "Executions that failed or expired."),
         field("cancelled", &T::cancelled, "Executions that were cancelled."),
         field("wait_p50_ms", &T::wait_p50_ms, "Time from claimable to claimed: half took no longer."),
         field("wait_p95_ms", &T::wait_p95_ms, "95 of 100 took no longer."),
         field("run_p50_ms", &T::run_p50_ms, "Time from a claim to the end of its attempt: half took no longer."),
         field("run_p95_ms", &T::run_p95_ms, "95 of 100 took no longer."),
         if_set("incomplete", &T::incomplete, "The server did not read all events of the interval."))
FF_SHAPE(api::FailureFigures, "FailureFigures", field("kind", &T::kind, "The kind of the executions."),
         field("lane", &T::lane, "Their lane."),
         field("count", &T::count, "How many failed or expired in the last hour."),
         field("last_category", &T::last_category, "The category of the last failure."),
         field("last_at", &T::last_at, "When that was."))
FF_SHAPE(api::OverviewLane, "OverviewLane", field("lane", &T::lane, "The lane."),
         field("state", &T::state, "Its state."),
         field("counts", &T::counts, "How many executions are in each public state."),
         moment("oldest_waiting_at", &T::oldest_waiting_at,
                "When the oldest execution that waits was created, to within five per cent of its age."),
         field("samples", &T::samples, "Executions completed, one number for each sample; absent: none."))
FF_SHAPE(api::OverviewStore, "OverviewStore", field("kind", &T::kind, "Such as sqlite."),
         field("ready", &T::ready, "Whether the server can use it."), if_set("message", &T::message, "Why it cannot."))
FF_SHAPE(api::OverviewBatches, "OverviewBatches",
         field("commits_per_s", &T::commits_per_s, "Commits a second, over the last minute or so."),
         field("records_per_commit", &T::records_per_commit, "Commands that shared a commit, on average."),
         field("commit_p95_ms", &T::commit_p95_ms, "95 of 100 commits took no longer; absent: there was none."))
FF_SHAPE(api::Attention, "Attention", field("severity", &T::severity, "How bad it is."),
         field("code", &T::code,
               "What it is: store_not_ready, due_lag, events_held_back, failures_growing, "
               "lane_not_active, waiting_long or workers_lost."),
         field("message", &T::message, "A message for people."),
         if_set("link", &T::link, "The page of the dashboard that shows it."))
FF_SHAPE(
    api::OverviewReply, "Overview", field("now", &T::now, "The store's clock."),
    field("interval_ms", &T::interval_ms, "How long the interval of a sample is."),
    field("samples", &T::samples,
          "What happened on the store, by the event log: oldest first, since the server started, one hour at most. "
          "The last one is still open."),
    field("lanes", &T::lanes, "Lanes by name; at most 1000, those with the most unfinished executions."),
    if_set("lanes_left_out", &T::lanes_left_out, "How many lanes there are besides."),
    field("failures", &T::failures, "Failures of the last hour by kind and lane, most first, at most 50."),
    field("due_lag_ms", &T::due_lag_ms, "How long the earliest timer that is not processed yet has been due."),
    field("store", &T::store, "The store."),
    field("batches", &T::batches, "Commits of this server; absent when one namespace is asked for."),
    field("needs_attention", &T::needs_attention, "Errors first."))

}  // namespace flowfabric::wire
