// Commands as the state machine takes them: validated, with handles already turned into fences and ids minted.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/records.hpp"

namespace flowfabric {

// Proof of ownership, from a verified handle.
struct Fence {
  ExecutionId execution_id;
  std::uint32_t attempt_index = 0;
  std::uint64_t lease_epoch = 0;
  Uuid lease_id;

  friend bool operator==(const Fence&, const Fence&) = default;
};

struct CreateCommand {
  ExecutionId id;
  bool id_is_supplied = false;
  RouteNo route = 0;
  std::uint64_t request_digest = 0;
  CreateRequest request;
};
// Leases one execution that the search has proposed.
struct LeaseCommand {
  ExecutionId id;
  std::string worker_id;
  std::string worker_instance_id;
  std::uint32_t lease_ttl_ms = 0;
};
struct RenewCommand {
  Fence fence;
  std::uint32_t lease_ttl_ms = 0;  // 0: that of the claim
};
struct ProgressCommand {
  Fence fence;
  ProgressReport report;
};
struct CompleteCommand {
  Fence fence;
  CompleteRequest request;
};
struct FailCommand {
  Fence fence;
  FailRequest request;
};
struct DelayCommand {
  Fence fence;
  TimestampMs delay_until = 0;
};
struct CancelHeldCommand {
  Fence fence;
  std::string reason;
};
struct CancelCommand {
  ExecutionId id;
  Operator by;
};
struct RevokeCommand {
  ExecutionId id;
  std::optional<Uuid> expected_lease_id;
  Operator by;
};
struct ReplayCommand {
  ExecutionId id;
  Operator by;
};
struct PriorityCommand {
  ExecutionId id;
  std::int32_t priority = 0;
  Operator by;
};
struct TagsCommand {
  ExecutionId id;
  TagChanges changes;
  Operator by;
};
struct LaneCommand {
  std::string lane;
  LaneState state = LaneState::active;
  Operator by;
};
struct NamespaceCommand {
  NamespaceInfo info;
  Operator by;
};
// The clock found this record due.
struct DueCommand {
  Key key;
};

using Command = std::variant<CreateCommand, LeaseCommand, RenewCommand, ProgressCommand, CompleteCommand, FailCommand,
                             DelayCommand, CancelHeldCommand, CancelCommand, RevokeCommand, ReplayCommand,
                             PriorityCommand, TagsCommand, LaneCommand, NamespaceCommand, DueCommand>;

struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};

using Reply = std::variant<Done, Created, ClaimedExecution, RenewVerdict, FailReply, DelayReply, CancelReply,
                           RevokeReply, ReplayReply, Tags, LaneInfo, NamespaceInfo>;

}  // namespace flowfabric
