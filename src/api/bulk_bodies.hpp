// The bodies of POST /v1/executions/bulk and POST /v1/executions/bulk/signal.
#pragma once

#include "api/bulk.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::api {

// Which executions, and which page of them.
struct BulkSelection {
  std::optional<std::vector<ExecutionId>> ids{};
  std::optional<ListRequest> filter{};
  bool dry_run = false;
  std::uint32_t limit = 1000;
  std::string cursor{};
};

struct BulkBody : BulkSelection {
  BulkVerb action = BulkVerb::cancel;
  std::optional<std::int32_t> priority{};
  std::optional<std::string> from_step{};
  std::string reason{};
};

struct BulkSignalBody : BulkSelection, SignalRequest {};

struct BulkReply : BulkTally {
  std::string next_cursor{};
  bool done = true;
};

}  // namespace flowfabric::api

namespace flowfabric::wire {

template <>
struct EnumRange<api::BulkVerb> :  // signals have a route of their own
                                   Range<api::BulkVerb, api::BulkVerb::cancel, api::BulkVerb::priority> {};

FF_SHAPE(api::BulkSuccess, "BulkSuccess", field("execution_id", &T::execution_id, "Which."),
         field("already_cancelled", &T::already_cancelled, "Of cancel: it was already cancelled."),
         field("replay_count", &T::replay_count, "Of replay: the number of replays."),
         field("public_state", &T::public_state, "Of replay: its state now."),
         field("priority", &T::priority, "Of priority: its priority now."),
         field("signal", &T::signal, "Of signals: what the signal did."))
FF_SHAPE(api::BulkFailure, "BulkFailure", field("execution_id", &T::execution_id, "Which."),
         field("error", &T::error, "Why."))
FF_SHAPE(
    api::BulkBody, "BulkBody", required("action", &T::action, "The action."),
    field("ids", &T::ids, "The executions, up to 1,000. Give either ids or a filter.").up_to(limits::max_http_items),
    field("filter", &T::filter,
          "Selects the executions. Without states: for replay those that failed, else all that have not ended."),
    field("dry_run", &T::dry_run, "Only count the selected executions."),
    field("priority", &T::priority, "For the action priority: the new one, -32768 to 32767.")
        .within(limits::min_priority, limits::max_priority),
    field("from_step", &T::from_step, "For the action replay: keep only the steps that were recorded before this one.")
        .within(1, limits::max_step_name_bytes),
    field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes),
    field("limit", &T::limit, "Maximum number of executions per request, 1 to 1000 (1000).")
        .within(1, limits::max_http_items),
    field("cursor", &T::cursor, "The next_cursor of the previous request; absent in the first one.")
        .up_to(limits::max_cursor_bytes))

template <>
struct Shape<api::BulkSignalBody> {
  using T = api::BulkSignalBody;
  static constexpr std::string_view name = "BulkSignalBody";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{field("ids", &T::ids, "The executions, up to 1,000. Give either ids or a filter.")
                     .up_to(limits::max_http_items),
                 field("filter", &T::filter, "Selects the executions. Without states: those that are suspended."),
                 field("dry_run", &T::dry_run, "Only count the selected executions."),
                 field("limit", &T::limit, "Maximum number of executions per request, 1 to 1000 (1000).")
                     .within(1, limits::max_http_items),
                 field("cursor", &T::cursor, "The next_cursor of the previous request; absent in the first one.")
                     .up_to(limits::max_cursor_bytes),
                 required("waitpoint", &T::waitpoint, "The name of the waitpoint; it need not be open yet.")
                     .within(1, limits::max_waitpoint_name_bytes)},
      Shape<SignalRequest>::fields);
};

FF_SHAPE(api::BulkReply, "BulkReply",
         field("matched", &T::matched, "The number of executions that this request examined."),
         field("changed", &T::changed, "The number of changed executions."),
         field("unchanged", &T::unchanged, "The number of executions that needed no change."),
         field("skipped", &T::skipped, "The number of executions that changed between selection and action."),
         field("results", &T::results, "The result for each execution."),
         field("failures", &T::failures, "The failed executions with their errors."),
         field("next_cursor", &T::next_cursor, "The cursor for the next request; empty when done."),
         field("done", &T::done, "Whether all executions have been examined."))

}  // namespace flowfabric::wire
