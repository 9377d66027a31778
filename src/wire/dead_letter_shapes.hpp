// Dead letters and redrives as JSON.
#pragma once

#include <flowfabric/dead_letters.hpp>

#include "wire/bodies.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::bodies {

struct RedriveBody : RedriveRequest {
  std::string reason{};
};

}  // namespace flowfabric::bodies

namespace flowfabric::wire {

template <>
struct EnumRange<RedriveState> : Range<RedriveState, RedriveState::running, RedriveState::cancelled> {};
template <>
struct EnumRange<RedriveRefusal> : Range<RedriveRefusal, RedriveRefusal::max_replays, RedriveRefusal::unique_key> {};

FF_SHAPE(DeadLetterLane, "DeadLetterLane", field("lane", &T::lane, "The lane."),
         field("count", &T::count, "Failed executions on it."))
FF_SHAPE(DeadLetterGroup, "DeadLetterGroup", field("namespace", &T::name_space, "The namespace of its executions."),
         field("fingerprint", &T::fingerprint,
               "16 hexadecimal digits; `older` for executions that failed under a version without fingerprints."),
         if_set("kind", &T::kind, "The kind of its executions."),
         if_set("category", &T::category, "The category of their failures."),
         if_set("message", &T::message, "Their message, with placeholders like `<n>` for what differs."),
         if_set("example", &T::example, "The message of the newest, as it is."),
         field("count", &T::count, "How many there are."),
         moment("first_at", &T::first_at, "When the first of them failed."),
         moment("last_at", &T::last_at, "When the last of them failed."),
         field("lanes", &T::lanes, "On which lanes they are, most first."))
FF_SHAPE(ListDeadLettersReply, "DeadLetterPage", field("groups", &T::groups, "The largest first."),
         field("executions", &T::executions, "Failed executions in all groups, not only those of this page."),
         field("total_groups", &T::total_groups, "How many groups there are."),
         field("next_cursor", &T::next_cursor, "Cursor of the next page; empty on the last page."))
FF_SHAPE(DeadLetter, "DeadLetter", field("summary", &T::summary, "The execution."),
         field("failure", &T::failure, "Why it failed."), moment("failed_at", &T::failed_at, "When it failed."),
         field("replay_count", &T::replay_count, "How often it was replayed."),
         field("max_replays", &T::max_replays, "How often its policy allows that."),
         if_set("redrive_id", &T::redrive_id, "The last redrive that replayed it."))
FF_SHAPE(DeadLetterDetails, "DeadLetterDetails", field("group", &T::group, "The group."),
         field("executions", &T::executions, "The last failure first; of `older`, the first created one first."),
         field("next_cursor", &T::next_cursor,
               "Cursor of the next page; empty on the last page. A page with a cursor may be short."))

template <>
struct Shape<RedriveSelection> {
  using S = RedriveSelection;
  static constexpr std::string_view name = "RedriveSelection";
  static constexpr auto fields = std::tuple{
      if_set("all", &S::all, "Every dead letter of the namespace (false)."),
      if_set("fingerprints", &S::fingerprints, "Only these groups.").up_to(limits::max_redrive_fingerprints),
      if_set("execution_ids", &S::execution_ids, "These executions; no other field can be given then.")
          .up_to(limits::max_redrive_executions),
      field("lane", &S::lane, "Only executions of this lane.").within(1, limits::max_lane_bytes),
      field("kind", &S::kind, "Only executions of this kind.").within(1, limits::max_kind_bytes),
      field("category", &S::category, "Only failures of this category.").up_to(limits::max_category_bytes),
      Special<TagFilter>{"tag", "Only executions with this tag: one key with its value."},
      field("failed_from", &S::failed_from, "Only what failed at this time or later.").up_to(limits::max_timestamp_ms),
      field("failed_before", &S::failed_before, "Only what failed before this time.").up_to(limits::max_timestamp_ms),
  };
};

template <>
struct Shape<bodies::RedriveBody> {
  using T = bodies::RedriveBody;
  static constexpr std::string_view name = "RedriveRequest";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{
          field("namespace", &T::name_space, "The namespace of the dead letters (default).")
              .within(1, limits::max_namespace_bytes),
          field(
              "rate", &T::rate,
              "How many in a period, spread evenly over it: `100/1m`; the units are s, m, h and d. Without it they are "
              "replayed as fast as they can be."),
          field("paused", &T::paused, "It does nothing until it is resumed (false)."),
          field("idempotency_key", &T::idempotency_key,
                "Repeating the call with the same key returns the redrive that the first call made.")
              .up_to(limits::max_idempotency_key_bytes),
          field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes),
      },
      Shape<RedriveSelection>::fields);
};

FF_SHAPE(RefusedRedrive, "RefusedRedrive", field("execution_id", &T::execution_id, "Which."),
         field("reason", &T::reason, "Why it was not replayed."))
FF_SHAPE(RedriveInfo, "Redrive", field("redrive_id", &T::redrive_id, "Its id."),
         field("namespace", &T::name_space, "Its namespace."), field("state", &T::state, "Its state."),
         field("selection", &T::selection, "Which dead letters are meant: those that had failed when it was made."),
         if_set("rate", &T::rate, "How many in a period."),
         field("found", &T::found, "How many could be meant when it was made."),
         field("replayed", &T::replayed, "How many it has replayed."),
         field("refused", &T::refused, "How many cannot be replayed."),
         field("left", &T::left, "How many it has still to look at, at most."),
         field("failed_again", &T::failed_again, "How many of those that it replayed are failed now."),
         field("refusals", &T::refusals, "The first hundred that were refused."),
         moment("created_at", &T::created_at, "When it was made."),
         moment("changed_at", &T::changed_at, "When it was last paused, resumed or ended."),
         moment("finished_at", &T::finished_at, "When it ended."),
         moment("next_at", &T::next_at, "When it goes on, if it has a rate."),
         if_set("created_by", &T::created_by, "Who made it."), if_set("changed_by", &T::changed_by, "Who changed it."),
         if_set("reason", &T::reason, "Why it was made."),
         if_set("duplicate", &T::duplicate, "It was made by an earlier call with the same idempotency key."),
         if_set("damage", &T::damage, "Why its stored record cannot be read."))
FF_SHAPE(ListRedrivesReply, "RedrivePage", field("redrives", &T::redrives, "The newest first."),
         field("next_cursor", &T::next_cursor, "Cursor of the next page; empty on the last page."))

}  // namespace flowfabric::wire
