// The bodies of POST /v1/executions/bulk.
#pragma once

#include "api/bodies.hpp"
#include "api/bulk.hpp"

namespace flowfabric::api {

struct BulkBody {
  BulkVerb action = BulkVerb::cancel;
  std::optional<std::vector<ExecutionId>> ids{};
  std::optional<ListRequest> filter{};
  bool dry_run = false;
  std::optional<std::int32_t> priority{};
  std::optional<std::string> from_step{};
  std::string reason{};
  std::uint32_t limit = 1000;
  std::string cursor{};
};

struct BulkReply : BulkTally {
  std::string next_cursor{};
  bool done = true;
};

}  // namespace flowfabric::api

namespace flowfabric::wire {

template <>
struct EnumRange<api::BulkVerb> : Range<api::BulkVerb, api::BulkVerb::cancel, api::BulkVerb::priority> {};

FF_SHAPE(api::BulkSuccess, "BulkSuccess", field("execution_id", &T::execution_id, "Which."),
         field("already_cancelled", &T::already_cancelled, "Of cancel: it was so before."),
         field("replay_count", &T::replay_count, "Of replay: how often it was started over."),
         field("public_state", &T::public_state, "Of replay: where it stands now."),
         field("priority", &T::priority, "Of priority: the one that it has now."))
FF_SHAPE(api::BulkFailure, "BulkFailure", field("execution_id", &T::execution_id, "Which."),
         field("error", &T::error, "Why."))
FF_SHAPE(
    api::BulkBody, "BulkBody", required("action", &T::action, "What to do."),
    field("ids", &T::ids, "With these, up to 1,000; or").up_to(limits::max_http_items),
    field("filter", &T::filter,
          "with what this selects. Without states: for replay those that failed, else all that have not ended."),
    field("dry_run", &T::dry_run, "Only count what the filter selects."),
    field("priority", &T::priority, "For the action priority: the new one, -32768 to 32767.")
        .within(limits::min_priority, limits::max_priority),
    field("from_step", &T::from_step, "For the action replay: keep only the steps that were recorded before this one.")
        .within(1, limits::max_step_name_bytes),
    field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes),
    field("limit", &T::limit, "How many a call handles at most, 1 to 1000 (1000).").within(1, limits::max_http_items),
    field("cursor", &T::cursor, "The next_cursor of the call before; absent at the beginning.")
        .up_to(limits::max_cursor_bytes))
FF_SHAPE(api::BulkReply, "BulkReply", field("matched", &T::matched, "How many this call has looked at."),
         field("changed", &T::changed, "How many it has changed."),
         field("unchanged", &T::unchanged, "How many were so before."),
         field("skipped", &T::skipped, "How many had moved on between the choice and the action."),
         field("results", &T::results, "What became of each that was handled."),
         field("failures", &T::failures, "What could not be done, and why."),
         field("next_cursor", &T::next_cursor, "For the next call; empty when it is done."),
         field("done", &T::done, "Whether everything has been looked at."))

}  // namespace flowfabric::wire
