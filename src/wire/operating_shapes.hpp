// What operators ask for and get as JSON. A part of shapes.hpp, which has the names of the enums; include that one.
#pragma once

#include <flowfabric/operations.hpp>

#include "wire/shape.hpp"

namespace flowfabric::wire {

template <>
struct Shape<LaneCounts> {
  static constexpr std::string_view name = "LaneCounts";
  static constexpr auto fields = std::tuple{
      field("lane", &LaneCounts::lane, "The lane."),
      field("counts", &LaneCounts::counts,
            "The number of executions in each public state; states without executions are left out."),
  };
};

template <>
struct Shape<CancelReply> {
  static constexpr std::string_view name = "CancelReply";
  static constexpr auto fields = std::tuple{
      field("already_cancelled", &CancelReply::already_cancelled, "It was already cancelled; nothing changed.")};
};

template <>
struct Shape<RevokeReply> {
  static constexpr std::string_view name = "RevokeReply";
  static constexpr auto fields = std::tuple{
      field("lease_id", &RevokeReply::lease_id, "The revoked lease."),
      field("lease_epoch", &RevokeReply::lease_epoch, "After the revocation."),
      field("public_state", &RevokeReply::public_state, "The state of the execution now."),
  };
};

template <>
struct Shape<ReplayReply> {
  static constexpr std::string_view name = "ReplayReply";
  static constexpr auto fields = std::tuple{
      field("replay_count", &ReplayReply::replay_count, "The number of replays."),
      field("public_state", &ReplayReply::public_state, "Its state now."),
  };
};

template <>
struct Shape<DelayReply> {
  static constexpr std::string_view name = "DelayReply";
  static constexpr auto fields =
      std::tuple{moment("delay_until", &DelayReply::delay_until, "When the attempt continues.")};
};

template <>
struct Shape<LaneInfo> {
  static constexpr std::string_view name = "Lane";
  static constexpr auto fields = std::tuple{
      field("lane", &LaneInfo::lane, "Its name."),
      field("state", &LaneInfo::state, "Whether it accepts and hands out executions."),
      moment("changed_at", &LaneInfo::changed_at, "When its state changed last."),
      if_set("changed_by", &LaneInfo::changed_by, "The actor that changed it."),
      if_set("reason", &LaneInfo::reason, "Why."),
      moment("registered_at", &LaneInfo::registered_at, "When its first execution was created."),
      if_set("registered_by", &LaneInfo::registered_by, "The creator of that execution."),
  };
};

template <>
struct Shape<NamespaceInfo> {
  static constexpr std::string_view name = "Namespace";
  static constexpr auto fields = std::tuple{
      field("namespace", &NamespaceInfo::name_space, "Its name."),
      field("retention", &NamespaceInfo::retention,
            "How long its ended executions are kept, unless their policy sets it."),
  };
};

}  // namespace flowfabric::wire
