// Bodies of the fleet's routes. Outcomes that are a variant in C++ are an object with its name in `outcome` here.
#pragma once

#include "wire/bodies.hpp"
#include "wire/fleet_shapes.hpp"

namespace flowfabric::bodies {

struct HeartbeatAnswer {
  HeartbeatReply::Outcome outcome = HeartbeatReply::Outcome::refreshed;
  TimestampMs next_expiry_at = 0;
  std::vector<Item<RenewVerdict>> leases{};
  bool drain = false;
  std::vector<ExecutionId> revoked_leases{};
};
struct WorkerBody {
  std::string name_space = "default";
  std::string reason{};
};
struct MarkDeadReply {
  MarkWorkerDeadOutcome outcome = MarkWorkerDeadOutcome::marked;
};
struct DrainReply {
  DrainWorkerOutcome outcome = DrainWorkerOutcome::draining;
};

struct NextGrantReply {
  enum class Outcome : std::uint8_t { granted, no_work };
  Outcome outcome = Outcome::no_work;
  std::optional<Grant> grant{};
};
struct ReclaimGrantReply {
  enum class Outcome : std::uint8_t { granted, not_reclaimable, reclaim_cap_exceeded };
  Outcome outcome = Outcome::granted;
  std::optional<Grant> grant{};
  std::optional<std::string> detail{};
  std::optional<std::uint32_t> count{};
};
struct ReclaimReply {
  enum class Outcome : std::uint8_t { claimed, grant_not_found, not_reclaimable, reclaim_cap_exceeded };
  Outcome outcome = Outcome::claimed;
  std::optional<ClaimedExecution> execution{};
  std::optional<std::string> detail{};
  std::optional<std::uint32_t> count{};
};

struct KeysReply {
  std::vector<SigningKeyInfo> keys{};
};
struct RotateBody {
  std::int64_t grace_ms = 3600 * 1000;
  std::string reason{};
};
struct RetentionBody {
  std::optional<std::int64_t> older_than_ms{};
  std::optional<std::string> name_space{};
  std::optional<std::string> lane{};
  std::optional<std::pair<std::string, std::string>> tag{};
  bool dry_run = false;
  std::string reason{};
};
struct RetentionReply {
  std::uint64_t matched = 0;
  std::uint64_t removed = 0;
};

}  // namespace flowfabric::bodies

namespace flowfabric::wire {

inline constexpr std::string_view next_grant_names[] = {"granted", "no_work"};
template <>
struct EnumRange<bodies::NextGrantReply::Outcome> : NamedBy<bodies::NextGrantReply::Outcome, next_grant_names> {};
inline constexpr std::string_view reclaim_grant_names[] = {"granted", "not_reclaimable", "reclaim_cap_exceeded"};
template <>
struct EnumRange<bodies::ReclaimGrantReply::Outcome>
    : NamedBy<bodies::ReclaimGrantReply::Outcome, reclaim_grant_names> {};
inline constexpr std::string_view reclaim_names[] = {"claimed", "grant_not_found", "not_reclaimable",
                                                     "reclaim_cap_exceeded"};
template <>
struct EnumRange<bodies::ReclaimReply::Outcome> : NamedBy<bodies::ReclaimReply::Outcome, reclaim_names> {};

FF_SHAPE(bodies::HeartbeatAnswer, "HeartbeatReply", field("outcome", &T::outcome, "not_registered: register again."),
         moment("next_expiry_at", &T::next_expiry_at, "Send the next heartbeat before this time."),
         field("leases", &T::leases, "One for each handle, in order; present even if the worker is not registered."),
         field("drain", &T::drain, "Finish the claimed executions and claim no more."),
         field("revoked_leases", &T::revoked_leases, "Stop working on these; the worker no longer owns them."))
FF_SHAPE(
    bodies::WorkerBody, "WorkerBody",
    field("namespace", &T::name_space, "The namespace of the worker (default).").within(1, limits::max_namespace_bytes),
    field("reason", &T::reason, about_reason).up_to(limits::max_death_reason_bytes))
FF_SHAPE(bodies::MarkDeadReply, "MarkDeadReply", field("outcome", &T::outcome, "Whether the worker was registered."))
FF_SHAPE(bodies::DrainReply, "DrainReply", field("outcome", &T::outcome, "Whether the worker was registered."))
FF_SHAPE(bodies::NextGrantReply, "NextGrantReply", field("outcome", &T::outcome, "Whether there was an execution."),
         field("grant", &T::grant, "The grant."))
FF_SHAPE(bodies::ReclaimGrantReply, "ReclaimGrantReply", field("outcome", &T::outcome, "Whether it can be reclaimed."),
         field("grant", &T::grant, "The grant."), field("detail", &T::detail, "Why it cannot be reclaimed."),
         field("count", &T::count, "The number of reclaims, if the limit is reached."))
FF_SHAPE(bodies::ReclaimReply, "ReclaimReply", field("outcome", &T::outcome, "Whether it was reclaimed."),
         field("execution", &T::execution, "The reclaimed execution with its new handle."),
         field("detail", &T::detail, "Why it cannot be reclaimed."),
         field("count", &T::count, "The number of reclaims, if the limit is reached."))
FF_SHAPE(bodies::KeysReply, "KeysReply", field("keys", &T::keys, "Oldest first, without their secrets."))
FF_SHAPE(bodies::RotateBody, "RotateBody",
         field("grace_ms", &T::grace_ms, "How long signatures of older keys are accepted (an hour).")
             .up_to(limits::max_duration_ms),
         field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))
FF_SHAPE(
    bodies::RetentionBody, "RetentionBody",
    field("older_than_ms", &T::older_than_ms,
          "Remove what ended this long ago or longer, whatever its policy says; absent: what its policy says.")
        .up_to(limits::max_duration_ms),
    field("namespace", &T::name_space, "Only executions of this namespace.").within(1, limits::max_namespace_bytes),
    field("lane", &T::lane, "Only executions of this lane.").within(1, limits::max_lane_bytes),
    Special<TagFilter>{"tag", "Only executions with this tag: one key with its value."},
    field("dry_run", &T::dry_run, "Only count them (false)."),
    field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))
FF_SHAPE(bodies::RetentionReply, "RetentionReply", field("matched", &T::matched, "How many executions were selected."),
         field("removed", &T::removed, "The number of removed executions."))

}  // namespace flowfabric::wire
