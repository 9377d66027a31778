// The output of --json: one document in one line.
//
// Objects are those of the HTTP API (wire/shapes.hpp): the same names, and what is not set is left out. Here are the
// few that only the program has; most are an object of the API with more fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <flowfabric/flows.hpp>
#include <flowfabric/operations.hpp>

#include "api/bulk_bodies.hpp"
#include "cli/bulk.hpp"
#include "cli/target.hpp"
#include "cli/top_snapshot.hpp"
#include "wire/bodies.hpp"
#include "wire/fleet_bodies.hpp"
#include "wire/flow_shapes.hpp"
#include "wire/shapes.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::cli {

struct ShownExecution {
  ExecutionDescription description{};
  std::optional<ExecutionContext> context{};  // with the payload, if requested
  std::optional<ExecutionResult> result{};
  ListStepsReply steps{};                 // the first of them
  std::optional<ExecutionWaits> waits{};  // what it waits for, if anything
};

struct ShownFlow {
  FlowDescription description{};
  FlowGraph graph{};
};

struct ShownLanes {
  std::vector<LaneView> lanes{};
};

// A reply, together with what it is about.
template <class Reply>
struct OfExecution {
  ExecutionId execution_id{};
  Reply reply{};
};
template <class Reply>
struct OfFlow {
  FlowId flow_id{};
  Reply reply{};
};

struct ShownReasons {
  ExecutionId execution_id{};
  PublicState public_state = PublicState::waiting;
  std::vector<Reason> reasons{};
};
struct ShownTags {
  ExecutionId execution_id{};
  Tags tags{};
};
struct ShownWaitpoints {
  ExecutionId execution_id{};
  std::vector<WaitpointInfo> waitpoints{};
};
struct ClosedWaitpoint {
  ExecutionId execution_id{};
  std::string waitpoint{};
  bool closed = true;
};
struct Resumed {
  ExecutionId execution_id{};
  bool resumed = true;
};
struct WorkerOutcome {
  std::string name_space{};
  std::string worker_instance_id{};
  std::string outcome{};
};
struct IntegrityReport {
  std::vector<std::string> findings{};
  std::optional<std::vector<std::string>> repairs{};  // of a check that repairs
};

// An execution whose recorded steps do not fit those that a worker declares.
struct Misfit {
  ExecutionId execution_id{};
  std::string kind{};
  PublicState public_state = PublicState::waiting;
  std::uint32_t position = 0;  // of the first step that does not fit
  std::string step{};
  std::string recorded{};  // both orders, for people
  std::string declared{};
};
struct DeployReport {
  std::uint64_t kinds = 0;
  std::uint64_t examined = 0;
  std::vector<Misfit> misfits{};
};

template <class T>
std::string to_json(const T& value) {
  return wire::to_json(value);
}

}  // namespace flowfabric::cli

namespace flowfabric::wire {

// One field of a member.
template <auto outer, auto inner>
struct FieldOf {
  template <class Object>
  static bool present(const Object&) {
    return true;
  }
  template <class Object>
  static void write(Writer& writer, const Object& object) {
    Codec<std::remove_cvref_t<decltype((object.*outer).*inner)>>::write(writer, (object.*outer).*inner);
  }
};

// A number with three digits behind the point, absent if it is not known.
template <auto rate>
struct Rate {
  static bool present(const cli::LaneFigures& lane) { return (lane.*rate).has_value(); }
  static void write(Writer& writer, const cli::LaneFigures& lane) { writer.raw(fmt::format("{:.3f}", *(lane.*rate))); }
};

struct FailureCount {
  static bool present(const cli::BulkReport&) { return true; }
  static void write(Writer& writer, const cli::BulkReport& report) { writer.unsigned_number(report.failures.size()); }
};

struct FirstSteps {
  static bool present(const cli::ShownExecution& shown) { return !shown.steps.steps.empty(); }
  static void write(Writer& writer, const cli::ShownExecution& shown) {
    Codec<std::vector<Step>>::write(writer, shown.steps.steps);
  }
};

template <class Reply>
struct Shape<cli::OfExecution<Reply>> {
  using T = cli::OfExecution<Reply>;
  static constexpr std::string_view name = "OfExecution";
  static constexpr auto fields = std::tuple_cat(std::tuple{field("execution_id", &T::execution_id, "Which.")},
                                                inside<&T::reply>(Shape<Reply>::fields));
};
template <class Reply>
struct Shape<cli::OfFlow<Reply>> {
  using T = cli::OfFlow<Reply>;
  static constexpr std::string_view name = "OfFlow";
  static constexpr auto fields =
      std::tuple_cat(std::tuple{field("flow_id", &T::flow_id, "Which.")}, inside<&T::reply>(Shape<Reply>::fields));
};

template <>
struct Shape<cli::ShownExecution> {
  using T = cli::ShownExecution;
  static constexpr std::string_view name = "ShownExecution";
  static constexpr auto fields = std::tuple_cat(
      inside<&T::description>(Shape<ExecutionDescription>::fields),
      std::tuple{field("context", &T::context, "With the payload."), field("result", &T::result, "Its result."),
                 Special<FirstSteps>{"steps", "The first recorded steps."},
                 field("waits", &T::waits, "What it waits for.")});
};
template <>
struct Shape<cli::ShownFlow> {
  using T = cli::ShownFlow;
  static constexpr std::string_view name = "ShownFlow";
  static constexpr auto fields = std::tuple_cat(inside<&T::description>(Shape<FlowDescription>::fields),
                                                std::tuple{Special<FieldOf<&T::graph, &FlowGraph::critical_path>>{
                                                    "critical_path", "The nodes that took longest."}});
};
template <>
struct Shape<cli::LaneView> {
  using T = cli::LaneView;
  static constexpr std::string_view name = "LaneView";
  static constexpr auto fields = std::tuple_cat(inside<&T::info>(Shape<LaneInfo>::fields),
                                                std::tuple{field("counts", &T::counts, "Executions by state.")});
};
FF_SHAPE(cli::ShownLanes, "ShownLanes", field("lanes", &T::lanes, "By name."))

FF_SHAPE(cli::ShownReasons, "ShownReasons", field("execution_id", &T::execution_id, "Which."),
         field("public_state", &T::public_state, "Its state."), field("reasons", &T::reasons, "Empty while it runs."))
FF_SHAPE(cli::ShownTags, "ShownTags", field("execution_id", &T::execution_id, "Which."),
         field("tags", &T::tags, "All tags."))
FF_SHAPE(cli::ShownWaitpoints, "ShownWaitpoints", field("execution_id", &T::execution_id, "Which."),
         field("waitpoints", &T::waitpoints, "Open ones."))
FF_SHAPE(cli::ClosedWaitpoint, "ClosedWaitpoint", field("execution_id", &T::execution_id, "Which."),
         field("waitpoint", &T::waitpoint, "Its name."), field("closed", &T::closed, "True."))
FF_SHAPE(cli::Resumed, "Resumed", field("execution_id", &T::execution_id, "Which."),
         field("resumed", &T::resumed, "True."))
FF_SHAPE(cli::WorkerOutcome, "WorkerOutcome", field("namespace", &T::name_space, "Its namespace."),
         field("worker_instance_id", &T::worker_instance_id, "The process."),
         field("outcome", &T::outcome, "What was done."))
FF_SHAPE(cli::IntegrityReport, "IntegrityReport", field("findings", &T::findings, "The problems."),
         field("repairs", &T::repairs, "What was repaired."))

FF_SHAPE(cli::BulkReport, "BulkReport", field("action", &T::action, "The action."),
         field("dry_run", &T::dry_run, "Whether nothing was changed."),
         field("interrupted", &T::interrupted, "Whether it was stopped before its end."),
         field("matched", &T::matched, "The number of selected executions."),
         field("changed", &T::changed, "The number of changed executions."),
         field("unchanged", &T::unchanged, "The number of executions that needed no change."),
         field("skipped", &T::skipped, "The number of executions that changed between selection and action."),
         Special<FailureCount>{"failed", "The number of failures."},
         field("results", &T::results, "The result for each execution."),
         field("failures", &T::failures, "The failed executions with their errors."))

FF_SHAPE(cli::Misfit, "Misfit", field("execution_id", &T::execution_id, "Which."), field("kind", &T::kind, "Its kind."),
         field("public_state", &T::public_state, "Its state."),
         field("position", &T::position, "Of the first step that does not fit."), field("step", &T::step, "Its name."),
         field("recorded", &T::recorded, "The recorded order."), field("declared", &T::declared, "The declared order."))
FF_SHAPE(cli::DeployReport, "DeployReport", field("kinds", &T::kinds, "The number of declared kinds."),
         field("examined", &T::examined, "The number of examined executions."),
         field("would_break", &T::misfits, "Executions that the declared steps do not fit."))

FF_SHAPE(cli::LaneFigures, "LaneFigures", field("lane", &T::lane, "Its name."), field("state", &T::state, "Its state."),
         field("waiting", &T::waiting, "Claimable executions."), field("active", &T::active, "Running ones."),
         field("delayed", &T::delayed, "Delayed ones."), field("other", &T::other, "Others that have not ended."),
         field("completed", &T::completed, "Completed ones."), field("failed", &T::failed, "Failed ones."),
         field("gone", &T::gone, "Cancelled, expired or skipped ones."),
         Special<Rate<&T::created_per_s>>{"created_per_s", "Created per second."},
         Special<Rate<&T::finished_per_s>>{"finished_per_s", "Ended per second."},
         field("oldest_waiting_ms", &T::oldest_waiting_ms, "For how long the oldest has waited."))
FF_SHAPE(cli::Pulse, "Pulse", field("at", &T::now, "The time of the store."),
         field("parked_claims", &T::parked_claims, "Claims that wait for work."),
         field("due_lag_ms", &T::due_lag_ms, "The lag of the clock."))
template <>
struct Shape<cli::TopSnapshot> {
  using T = cli::TopSnapshot;
  static constexpr std::string_view name = "TopSnapshot";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{field("store", &T::store, "The store or the server.")}, inside<&T::pulse>(Shape<cli::Pulse>::fields),
      std::tuple{field("workers_live", &T::workers_live, "Registered workers that are alive."),
                 field("workers_draining", &T::workers_draining, "Those that take no more work."),
                 field("lanes", &T::lanes, "In the order that was asked for.")});
};

}  // namespace flowfabric::wire
