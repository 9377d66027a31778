// Limits as JSON.
#pragma once

#include <flowfabric/limits.hpp>

#include "wire/bodies.hpp"
#include "wire/budget_shapes.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::bodies {

struct LimitBody : LimitSpec {
  std::optional<std::string> name_space{};
  std::optional<std::uint64_t> expected_revision{};
  std::string reason{};
};
struct LimitsReply {
  std::vector<LimitInfo> limits{};
};

}  // namespace flowfabric::bodies

namespace flowfabric::wire {

template <>
struct EnumRange<LimitChange> : Range<LimitChange, LimitChange::created, LimitChange::removed> {};

inline constexpr std::string_view about_limit_namespace =
    "The limit is for executions of this namespace only. Absent: for those of all namespaces.";

FF_SHAPE(
    RateLimit, "RateLimit",
    required("count", &T::count, "So many may start in a period.").within(1, limits::max_rate_count),
    required("period_ms", &T::period_ms, "The period, up to 31 days.").within(1, limits::max_rate_period_ms),
    field("burst", &T::burst,
          "Present: a token bucket that holds so many tokens and gets `count` of them in a period. Absent: at most "
          "`count` starts in any period, wherever it begins.")
        .within(1, limits::max_rate_count))

FF_SHAPE(
    ShareSpec, "ShareSpec",
    field("weights", &T::weights,
          "How many turns a key has where others have one, 1 to 1000: {\"acme\": 5}. A key is the values of `per`, "
          "joined with `/`; one that is not here has the weight 1.")
        .up_to(limits::max_share_weights))

template <>
struct Shape<LimitSpec> {
  using S = LimitSpec;
  static constexpr std::string_view name = "LimitSpec";
  static constexpr auto fields = std::tuple{
      field("lane", &S::lane, "Only executions of this lane.").within(1, limits::max_lane_bytes),
      field("kind", &S::kind, "Only executions of this kind.").within(1, limits::max_kind_bytes),
      field("per", &S::per,
            "Counted apart for each value of these: `tags.NAME`, `namespace`, `lane`, `kind`, `creator`, `flow`, "
            "`execution`. An execution without such a value is not limited.")
          .up_to(limits::max_limit_keys),
      field("concurrency", &S::concurrency, "So many executions at the same time.").within(1, limits::max_concurrency),
      field("rate", &S::rate, "So many starts in a period."),
      field("budget", &S::budget, "So much may be spent."),
      field(
          "share", &S::share,
          "The executions of the lane are served in turns, one key after the other. Needs `lane` and `per`, is for all "
          "namespaces and kinds, and is alone in its limit; a lane has at most one."),
  };
};

template <>
struct Shape<bodies::LimitBody> {
  using T = bodies::LimitBody;
  static constexpr std::string_view name = "LimitBody";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{
          field("namespace", &T::name_space, about_limit_namespace).within(1, limits::max_namespace_bytes),
          field("expected_revision", &T::expected_revision,
                "Only if the limit has this revision, 0: only if there is none; else `conflict`."),
          field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes),
      },
      Shape<LimitSpec>::fields);
};

template <>
struct Shape<LimitInfo> {
  using T = LimitInfo;
  static constexpr std::string_view name = "LimitInfo";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{
          field("namespace", &T::name_space, "Absent: it is for the executions of all namespaces."),
          field("name", &T::name, "Its name."),
      },
      Shape<LimitSpec>::fields,
      std::tuple{
          field("revision", &T::revision, "One more with each change."),
          moment("created_at", &T::created_at, "When it was created."),
          if_set("created_by", &T::created_by, "Who created it."),
          moment("changed_at", &T::changed_at, "The last change."),
          if_set("changed_by", &T::changed_by, "Who made it."),
      });
};

FF_SHAPE(LimitSaved, "LimitSaved", field("outcome", &T::outcome, "What became of the call."),
         field("info", &T::info, "The limit as it is now; after a removal: as it was."))
FF_SHAPE(bodies::LimitsReply, "LimitsReply", field("limits", &T::limits, "By namespace and name."))
FF_SHAPE(LimitUse, "LimitUse", field("key", &T::key, "The values of `per`, in its order; empty: all together."),
         field("in_use", &T::in_use, "Slots that are taken."),
         field("free", &T::free, "How many executions could start now; absent: any number."),
         moment("next_start_at", &T::next_start_at,
                "When the next one can start by time alone, if none can now and nothing but time is missing."),
         field("held_back", &T::held_back, "How many executions wait; counted up to 1000."),
         field("holders", &T::holders, "The executions that have the slots, up to 100 of them."),
         field("budget", &T::budget, "What is spent and reserved, if the limit has a budget."),
         field("weight", &T::weight, "The weight of the key, if the limit is a share."))
FF_SHAPE(ListLimitUseReply, "LimitUseReply", field("info", &T::info, "The limit."),
         field("keys", &T::keys, "The keys that are in use, or were a short time ago, in no particular order."),
         field("next_cursor", &T::next_cursor, "Cursor of the next page; empty on the last page."),
         field("keys_hidden", &T::keys_hidden,
               "The limit is for all namespaces, and the caller is restricted to one of them: no keys are shown."))
FF_SHAPE(LimitCheckRequest, "LimitCheckRequest",
         field("namespace", &T::name_space, "The namespace of the execution (default).")
             .within(1, limits::max_namespace_bytes),
         field("lane", &T::lane, "Its lane (default).").within(1, limits::max_lane_bytes),
         field("kind", &T::kind, "Its job type.").up_to(limits::max_kind_bytes),
         field("creator", &T::creator, "Its requester.").up_to(limits::max_creator_bytes),
         field("tags", &T::tags, "Its tags.").up_to(limits::max_tags),
         field("reserve", &T::reserve, "What its lease reserves of budgets, instead of their defaults.")
             .up_to(limits::max_dimensions))
FF_SHAPE(LimitChecked, "LimitChecked", field("info", &T::info, "A limit that it would be under."),
         field("use", &T::use, "What is in use of its key."),
         field("would_hold_back", &T::would_hold_back, "The limit would hold it back."))
FF_SHAPE(LimitCheck, "LimitCheck", field("limits", &T::limits, "The limits that it would be under."),
         field("could_start", &T::could_start, "It could start now, as far as limits are concerned."),
         moment("could_start_at", &T::could_start_at,
                "When it could start, if nothing but time is missing; executions that wait already go first."))

}  // namespace flowfabric::wire
