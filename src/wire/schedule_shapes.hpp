// Schedules as JSON.
#pragma once

#include <flowfabric/schedules.hpp>

#include "wire/bodies.hpp"
#include "wire/flow_shapes.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::bodies {

struct ScheduleUpdateBody : ScheduleSpec {
  std::string name_space = "default";
  std::optional<std::uint64_t> revision{};
  std::string reason{};
};
struct ScheduleBody {
  std::string name_space = "default";
  std::string reason{};
};
struct TriggerBody : TriggerRequest {
  std::string name_space = "default";
  std::string reason{};
};
struct PreviewBody : ScheduleSpec, NextRunsRequest {};
struct BackfillBody : BackfillRequest {
  std::string name_space = "default";
  std::string reason{};
};

}  // namespace flowfabric::bodies

namespace flowfabric::wire {

template <>
struct EnumRange<ScheduleState> : Range<ScheduleState, ScheduleState::active, ScheduleState::deleted> {};
template <>
struct EnumRange<OverlapPolicy> : Range<OverlapPolicy, OverlapPolicy::skip, OverlapPolicy::cancel_running> {};
template <>
struct EnumRange<CatchUpPolicy> : Range<CatchUpPolicy, CatchUpPolicy::none, CatchUpPolicy::all> {};
template <>
struct EnumRange<FiringCause> : Range<FiringCause, FiringCause::timer, FiringCause::backfill> {};
template <>
struct EnumRange<FiringOutcome> : Range<FiringOutcome, FiringOutcome::fired, FiringOutcome::refused> {};

inline constexpr std::string_view about_schedule_namespace = "The namespace of the schedule (default).";

// The part of a spec that says when it fires.
inline constexpr auto schedule_time_fields = std::tuple{
    if_set("cron", &ScheduleSpec::cron,
           "Five fields: minute, hour, day of month, month, day of week; or six with the second in front. Instead of "
           "`every_ms`.")
        .up_to(limits::max_cron_bytes),
    if_set("every_ms", &ScheduleSpec::every_ms, "An interval instead of `cron`.")
        .within(limits::min_schedule_interval_ms, limits::max_duration_ms),
    moment("anchor_at", &ScheduleSpec::anchor_at, "From when on intervals are counted (1970).")
        .up_to(limits::max_timestamp_ms),
    field("time_zone", &ScheduleSpec::time_zone, "A name of the IANA database, like `Europe/Berlin` (UTC).")
        .within(1, limits::max_time_zone_bytes),
    field("exceptions", &ScheduleSpec::exceptions,
          "Local days without firings: `2026-12-24`, `2026-12-24/2027-01-01`, or `12-25` for every year.")
        .up_to(limits::max_exceptions)
        .each_up_to(limits::max_exception_bytes),
    moment("start_at", &ScheduleSpec::start_at, "No firings before this time.").up_to(limits::max_timestamp_ms),
    moment("end_at", &ScheduleSpec::end_at, "No firings from this time on.").up_to(limits::max_timestamp_ms),
};

// Left out if each firing creates a flow.
struct ScheduledExecution {
  static bool present(const ScheduleSpec& spec) { return !spec.flow; }
  static Result<void> read(const Value& value, const At& at, ScheduleSpec& spec) {
    return Codec<CreateRequest>::read(value, at, spec.execution);
  }
  static void write(Writer& writer, const ScheduleSpec& spec) { Codec<CreateRequest>::write(writer, spec.execution); }
  static std::string schema(Schemas& schemas) { return Codec<CreateRequest>::schema(schemas); }
};

template <>
struct Shape<ScheduleSpec> {
  using S = ScheduleSpec;
  static constexpr std::string_view name = "ScheduleSpec";
  static constexpr auto fields = std::tuple_cat(
      schedule_time_fields,
      std::tuple{
          field("jitter_ms", &S::jitter_ms, "Each firing is late by a part of this, the same on every server (0).")
              .up_to(limits::max_duration_ms),
          field("overlap", &S::overlap,
                "What a firing does while the execution or flow of an earlier one has not ended (skip)."),
          field("catch_up", &S::catch_up, "Which of the firings that were missed are made up for (last)."),
          field("catch_up_limit", &S::catch_up_limit, "With `catch_up` all: only the last so many (100).")
              .within(1, limits::max_catch_up),
          field("start_window_ms", &S::start_window_ms, "A firing that is later than this was missed (a minute).")
              .up_to(limits::max_duration_ms),
          Special<ScheduledExecution>{"execution",
                                      "What each firing creates, unless `flow` is given. The namespace is that of the "
                                      "schedule; it can have neither an "
                                      "id nor an idempotency key, and no absolute times."},
          field("flow", &S::flow,
                "Instead of `execution`: the flow that each firing creates. The same holds for its times and ids; it "
                "cannot be "
                "open, and has at most 1,000 nodes."),
      });
};

template <>
struct Shape<bodies::PreviewBody> {
  using T = bodies::PreviewBody;
  static constexpr std::string_view name = "PreviewBody";
  static constexpr auto fields =
      std::tuple_cat(schedule_time_fields,
                     std::tuple{
                         moment("from", &T::from, "Only times after this, in milliseconds since the epoch (now).")
                             .up_to(limits::max_timestamp_ms),
                         field("count", &T::count, "How many, 1 to 1000 (10).").within(1, limits::max_next_runs),
                     });
};

template <>
struct Shape<ScheduleRequest> {
  using R = ScheduleRequest;
  static constexpr std::string_view name = "ScheduleRequest";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{
          field("namespace", &R::name_space, about_schedule_namespace).within(1, limits::max_namespace_bytes),
          required("name", &R::name, "Unique within the namespace.").within(1, limits::max_schedule_name_bytes),
          field("paused", &R::paused, "It fires nothing until it is resumed (false)."),
      },
      Shape<ScheduleSpec>::fields);
};

template <>
struct Shape<bodies::ScheduleUpdateBody> {
  using T = bodies::ScheduleUpdateBody;
  static constexpr std::string_view name = "ScheduleUpdateBody";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{
          field("namespace", &T::name_space, about_schedule_namespace).within(1, limits::max_namespace_bytes),
          field("revision", &T::revision, "Only if the schedule has this revision; else `conflict`."),
          field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes),
      },
      Shape<ScheduleSpec>::fields);
};

FF_SHAPE(bodies::ScheduleBody, "ScheduleBody",
         field("namespace", &T::name_space, about_schedule_namespace).within(1, limits::max_namespace_bytes),
         field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))
FF_SHAPE(bodies::TriggerBody, "TriggerBody",
         field("namespace", &T::name_space, about_schedule_namespace).within(1, limits::max_namespace_bytes),
         field("ignore_overlap", &T::ignore_overlap, "Start beside what runs, whatever the policy (false)."),
         field("idempotency_key", &T::idempotency_key,
               "Repeating the call with the same key starts nothing new while the execution or flow is kept.")
             .up_to(limits::max_idempotency_key_bytes),
         field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))
FF_SHAPE(bodies::BackfillBody, "BackfillBody",
         field("namespace", &T::name_space, about_schedule_namespace).within(1, limits::max_namespace_bytes),
         required("from", &T::from, "The first scheduled time, in milliseconds since the epoch.")
             .up_to(limits::max_timestamp_ms),
         required("to", &T::to, "Where the range ends; exclusive. What is after now is left out.")
             .up_to(limits::max_timestamp_ms),
         field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))

FF_SHAPE(ScheduleSaved, "ScheduleSaved", field("namespace", &T::name_space, "Its namespace."),
         field("name", &T::name, "Its name."), field("state", &T::state, "Its state."),
         field("revision", &T::revision, "One more with each change of the spec."),
         moment("next_at", &T::next_at, "The next firing; absent: none."),
         field("duplicate", &T::duplicate, "It was like this already."))
FF_SHAPE(ScheduleFiring, "ScheduleFiring", moment("scheduled_at", &T::scheduled_at, "The scheduled time."),
         moment("at", &T::at, "When it was decided."), field("cause", &T::cause, "What made it fire."),
         field("outcome", &T::outcome, "What became of it."),
         field("execution_id", &T::execution_id, "The execution, if there is one."),
         field("flow_id", &T::flow_id, "The flow, if there is one."),
         field("ended", &T::ended, "How that execution or flow ended; none: it has not."),
         field("count", &T::count, "How many in a row this entry stands for."),
         if_set("detail", &T::detail, "Why it was skipped or refused."))
FF_SHAPE(ScheduleSummary, "ScheduleSummary", field("namespace", &T::name_space, "Its namespace."),
         field("name", &T::name, "Its name."), field("state", &T::state, "Its state."),
         if_set("cron", &T::cron, "Its expression."), if_set("every_ms", &T::every_ms, "Its interval."),
         if_set("time_zone", &T::time_zone, "Its time zone."), field("overlap", &T::overlap, "Its overlap policy."),
         if_set("kind", &T::kind, "Of its executions or flows."), if_set("lane", &T::lane, "Of its executions."),
         field("flow", &T::flow, "It creates flows, not executions."),
         moment("next_at", &T::next_at, "The next firing, without jitter; absent: none."),
         moment("last_fired_at", &T::last_fired_at, "When it last created an execution or a flow."),
         field("last", &T::last, "What became of its last firing."),
         field("fired", &T::fired, "How many of them it has created."),
         field("running", &T::running, "How many of them have not ended, as far as the overlap policy counts them."),
         moment("created_at", &T::created_at, "When it was created."),
         field("damage", &T::damage, "Why the stored record cannot be decoded."))
FF_SHAPE(ScheduleCounts, "ScheduleCounts", field("fired", &T::fired, "Executions or flows that were created."),
         field("skipped", &T::skipped, "Firings that the overlap policy skipped."),
         field("missed", &T::missed, "Firings that were missed and not made up for."),
         field("refused", &T::refused, "Firings whose execution or flow could not be created."),
         field("succeeded", &T::succeeded, "Executions or flows that ended in success."),
         field("unsuccessful", &T::unsuccessful, "Executions or flows that ended otherwise."))
FF_SHAPE(RunningFiring, "RunningFiring", field("execution_id", &T::execution_id, "The execution, if it is one."),
         field("flow_id", &T::flow_id, "The flow, if it is one."),
         moment("scheduled_at", &T::scheduled_at, "The time for which it was created."))
FF_SHAPE(ScheduleDescription, "ScheduleDescription", field("summary", &T::summary, "What listings show."),
         field("spec", &T::spec, "When it fires, and what it creates."),
         field("revision", &T::revision, "One more with each change of the spec."),
         if_set("creator", &T::creator, "The requester."),
         moment("changed_at", &T::changed_at, "The last change of its spec or state."),
         if_set("changed_by", &T::changed_by, "Who made it."),
         if_set("reason", &T::reason, "Why it was paused or resumed."),
         field("counts", &T::counts, "Since it was created."),
         field("running", &T::running, "Executions or flows that the overlap policy counts as running."),
         moment("buffered_at", &T::buffered_at, "The scheduled time of the firing that waits."),
         field("history", &T::history, "The last hundred firings, newest first."),
         field("next", &T::next, "The next ten times, in milliseconds since the epoch, without jitter."),
         field("explain", &T::explain, "What it waits for."))
FF_SHAPE(ListSchedulesReply, "ListSchedulesReply", field("schedules", &T::schedules, "By namespace and name."),
         field("next_cursor", &T::next_cursor, "Cursor of the next page; empty on the last page."))
FF_SHAPE(NextRuns, "NextRuns", field("next", &T::next, "In milliseconds since the epoch, without jitter."))
FF_SHAPE(TriggerReply, "TriggerReply",
         field("outcome", &T::outcome, "fired, or what the overlap policy did: skipped, buffered."),
         moment("scheduled_at", &T::scheduled_at, "The time of the call."),
         field("execution_id", &T::execution_id, "The execution that was or will be created."),
         field("flow_id", &T::flow_id, "The flow that was or will be created."),
         field("duplicate", &T::duplicate, "An earlier call with this idempotency key did it."))
FF_SHAPE(BackfillReply, "BackfillReply", field("created", &T::created, "How many executions or flows it created."),
         field("existing", &T::existing, "How many scheduled times had theirs already."),
         field("executions", &T::executions, "The new ones, by scheduled time."))

}  // namespace flowfabric::wire
