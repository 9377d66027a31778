#include "engine/metrics.hpp"

#include <algorithm>

#include "core/submitting.hpp"

namespace flowfabric {
namespace {

using observe::Label;

constexpr std::int64_t ns_per_ms = 1'000'000;

// Users choose lanes and kinds; more series than this are of no use.
constexpr std::size_t max_lanes = 250;
constexpr std::size_t max_lanes_and_kinds = 1000;
constexpr std::size_t max_limits_shown = 250;  // a store has 200 at most; those that were removed go with the process

// The clock releases leases of dead workers only; every other actor is an operator.
std::string_view cause_of_loss(const Event& event) {
  if (event.type == EventType::lease_expired) return "expired";
  return event.actor == "clock" ? "worker_dead" : "revoked";
}

// A wait that was not over in time has ended its execution; no other event tells of the end of the wait.
bool ended_by_wait(const Event& event) { return event.actor == "clock" && event.reason == "wait_timeout"; }

// Enqueue numbers are computed from the store's time: see Runtime::next_sequence.
std::int64_t enqueued_at_us(const ReadyEntry& entry) { return static_cast<std::int64_t>(entry.sequence >> 10); }

}  // namespace

EngineMetrics::EngineMetrics()
    : commit_duration(
          registry
              .histograms({"flowfabric_commit_duration_seconds", "Time of the store's commit."}, observe::durations())
              .with()),
      requeued(registry
                   .counters({"flowfabric_requeued_commands_total",
                              "Commands and claims that were repeated because a record had changed."})
                   .with()),
      operations_(registry.counters({"flowfabric_operations_total",
                                     "Calls of the engine by operation; outcome is ok or the error code.",
                                     {Label::closed("operation"), Label::closed("outcome")}})),
      operation_duration_(registry.histograms({"flowfabric_operation_duration_seconds",
                                               "Duration of calls; claims and waits include the time they were parked.",
                                               {Label::closed("operation")}},
                                              observe::durations())),
      batches_(registry.counters({"flowfabric_batches_total",
                                  "Batches by kind (commands, sweep) and outcome: committed, unchanged or the code of "
                                  "the error.",
                                  {Label::closed("kind"), Label::closed("outcome")}})),
      batch_commands_(
          registry.histograms({"flowfabric_batch_commands", "Commands and claims per batch."}, observe::sizes())
              .with()),
      batch_duration_(registry.histograms({"flowfabric_batch_duration_seconds",
                                           "Time from taking a batch out of the queue to the end of its commit.",
                                           {Label::closed("kind")}},
                                          observe::durations())),
      due_lag_(
          registry
              .histograms({"flowfabric_due_lag_seconds", "Delay between the due time of an entry and its processing."},
                          observe::long_durations())
              .with()),
      events_(registry.counters(
          {"flowfabric_events_total", "Events written to the log by this engine.", {Label::closed("type")}})),
      created_(registry.counters(
          {"flowfabric_executions_created_total", "Executions created.", {Label::open("lane")}, max_lanes})),
      finished_(
          registry.counters({"flowfabric_executions_finished_total",
                             "Executions that ended; outcome is completed, failed, cancelled, expired or skipped.",
                             {Label::open("lane"), Label::open("kind"), Label::closed("outcome")},
                             max_lanes_and_kinds})),
      lifetime_(registry.histograms({"flowfabric_execution_lifetime_seconds",
                                     "Time from the creation of an execution to its end.",
                                     {Label::closed("outcome")}},
                                    observe::long_durations())),
      start_delay_(registry
                       .histograms({"flowfabric_start_delay_seconds", "Time from claimable to claimed."},
                                   observe::long_durations())
                       .with()),
      retries_(registry.counters({"flowfabric_retries_total",
                                  "Failed attempts that are retried.",
                                  {Label::open("lane"), Label::open("kind")},
                                  max_lanes_and_kinds})),
      flows_submitted_(registry.counters(
          {"flowfabric_flows_submitted_total", "Flows submitted.", {Label::open("kind")}, max_lanes_and_kinds})),
      flows_finished_(registry.counters({"flowfabric_flows_finished_total",
                                         "Flows that ended; outcome is completed, failed or cancelled.",
                                         {Label::open("kind"), Label::closed("outcome")},
                                         max_lanes_and_kinds})),
      flow_lifetime_(registry.histograms({"flowfabric_flow_lifetime_seconds",
                                          "Time from the submission of a flow to its end.",
                                          {Label::closed("outcome")}},
                                         observe::long_durations())),
      signals_(registry.counters({"flowfabric_signals_total",
                                  "Signals and decisions that this engine has taken; effect is kept, accepted, "
                                  "resumed, ignored, or duplicate for repetitions.",
                                  {Label::closed("effect")}})),
      waits_ended_(registry.counters({"flowfabric_waits_ended_total",
                                      "Waits that ended; cause is signals, veto, timeout or operator.",
                                      {Label::closed("cause")}})),
      creates_under_keys_(registry.counters({"flowfabric_creates_under_keys_total",
                                             "Creates with a unique, debounce or throttle key that this engine has "
                                             "answered; outcome is that of the reply, "
                                             "or rejected.",
                                             {Label::closed("kind"), Label::closed("outcome")}})),
      firings_(
          registry.counters({"flowfabric_schedule_firings_total",
                             "Decisions about firings of schedules; outcome is fired, buffered or skipped (also for "
                             "what was missed or refused).",
                             {Label::closed("outcome")}})),
      held_back_(
          registry.counters({"flowfabric_limit_held_back_total",
                             "Executions that a limit held back; without a namespace: a limit for all namespaces.",
                             {Label::open("namespace"), Label::open("limit")},
                             max_limits_shown})),
      redriven_(registry
                    .counters({"flowfabric_redriven_executions_total",
                               "Failed executions that this engine has replayed for redrives."})
                    .with()),
      lease_losses_(registry.counters({"flowfabric_lease_losses_total",
                                       "Leases that were lost; cause is expired, revoked or worker_dead.",
                                       {Label::open("lane"), Label::closed("cause")},
                                       max_lanes_and_kinds})),
      worker_deaths_(
          registry.counters({"flowfabric_worker_deaths_total",
                             "Registered workers that were marked dead (marked_dead) or stopped sending heartbeats "
                             "(ttl_swept).",
                             {Label::closed("cause")}})) {}

void EngineMetrics::operation_ended(std::string_view operation, const Error* error, std::int64_t nanoseconds) {
  operations_.with(operation, error == nullptr ? std::string_view("ok") : to_string(error->code)).add();
  operation_duration_.with(operation).observe(nanoseconds);
}

void EngineMetrics::signal_answered(const SignalReply& reply) {
  signals_.with(reply.duplicate ? "duplicate" : to_string(reply.effect)).add();
}

void EngineMetrics::create_answered(const CreateRequest& request, const Result<Reply>& reply) {
  const SubmitKeyKind kind = requested_key(request).kind;
  if (kind == SubmitKeyKind::none) return;
  const Created* created = reply ? std::get_if<Created>(&*reply) : nullptr;
  if (created == nullptr && reply.error().code != Errc::conflict && reply.error().code != Errc::throttled) return;
  creates_under_keys_.with(to_string(kind), created == nullptr ? "rejected" : to_string(created->outcome)).add();
}

void EngineMetrics::held_back(const LimitName& limit) {
  held_back_.with(limit.name_space.value_or(""), limit.name).add();
}

void EngineMetrics::batch_ended(bool sweep, std::string_view outcome, std::size_t pieces, std::int64_t nanoseconds) {
  const std::string_view kind = sweep ? "sweep" : "commands";
  batches_.with(kind, outcome).add();
  batch_duration_.with(kind).observe(nanoseconds);
  if (!sweep) batch_commands_.observe(static_cast<std::int64_t>(pieces));
}

namespace {

bool is_by_redrive(const Event& event, const Slot& slot) {
  const auto& redrive = slot.execution()->facts.letter.redriven_by;
  return redrive && event.reason.starts_with(std::string(redrive_reason) + to_string(*redrive));
}

}  // namespace

void EngineMetrics::committed(const Slot& slot, TimestampMs now, bool shared) {
  if (slot.rearm_exactly && slot.indexed_due) {
    due_lag_.observe(std::max<std::int64_t>(now - slot.indexed_due->due_at, 0) * ns_per_ms);
  }
  if (slot.erased) return;  // together with its events
  for (const Event& event : slot.events) {
    count(event, slot);
    if (event.type == EventType::replayed && is_by_redrive(event, slot)) redriven_.add();
    if (event.type == EventType::claimed || event.type == EventType::resumed) count_start(slot, now, shared);
  }
}

void EngineMetrics::count(const Event& event, const Slot& slot) {
  events_.with(to_string(event.type)).add();
  switch (event.type) {
    case EventType::created: return created_.with(event.lane).add();
    case EventType::retry_scheduled: return retries_.with(event.lane, event.kind).add();
    case EventType::lease_expired:
    case EventType::lease_revoked: return lease_losses_.with(event.lane, cause_of_loss(event)).add();
    case EventType::worker_marked_dead: return worker_deaths_.with("marked_dead").add();
    case EventType::flow_submitted: return flows_submitted_.with(event.kind).add();
    case EventType::wait_ended: return waits_ended_.with(event.reason).add();
    case EventType::schedule_fired: return firings_.with("fired").add();
    case EventType::schedule_buffered: return firings_.with("buffered").add();
    case EventType::schedule_skipped: return firings_.with("skipped").add();
    case EventType::worker_ttl_swept: return worker_deaths_.with("ttl_swept").add();
    default: break;
  }
  if (ends_flow(event.type)) return count_flow_end(event, slot.flow()->spec);
  if (!is_terminal(event.type)) return;
  if (ended_by_wait(event)) waits_ended_.with(to_string(WaitCause::timeout)).add();
  count_end(event, slot.execution()->spec);
}

void EngineMetrics::count_end(const Event& event, const Spec& spec) {
  const std::string_view outcome = to_string(event.type);
  finished_.with(event.lane, event.kind, outcome).add();
  lifetime_.with(outcome).observe(std::max<std::int64_t>(event.at - spec.created_at, 0) * ns_per_ms);
}

void EngineMetrics::count_flow_end(const Event& event, const FlowSpec& spec) {
  const FlowState state = event.type == EventType::flow_completed ? FlowState::completed
                          : event.type == EventType::flow_failed  ? FlowState::failed
                                                                  : FlowState::cancelled;
  flows_finished_.with(event.kind, to_string(state)).add();
  flow_lifetime_.with(to_string(state)).observe(std::max<std::int64_t>(event.at - spec.created_at, 0) * ns_per_ms);
}

// Claimed when it was created, or out of the ready index. An execution claimed through a grant left the index when the
// grant was issued; how long it had waited is not known any more. Under a share the number is no time, but the change of
// state by which it became claimable has one.
void EngineMetrics::count_start(const Slot& slot, TimestampMs now, bool shared) {
  if (slot.version == 0) return start_delay_.observe(0);
  if (!slot.indexed_ready) return;
  const std::int64_t since_us = shared ? slot.loaded_transition_at * 1000 : enqueued_at_us(*slot.indexed_ready);
  const std::int64_t waited_us = now * 1000 - since_us;
  start_delay_.observe(std::max<std::int64_t>(waited_us, 0) * 1000);
}

}  // namespace flowfabric
