// Commands of the state machine: validated, with handles already decoded into fences and ids generated.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <flowfabric/dead_letters.hpp>
#include <flowfabric/limits.hpp>
#include <flowfabric/schedules.hpp>

#include "core/hooks.hpp"
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
  std::uint64_t request_digest = 0;
  CreateRequest request;
};
// Leases one execution that the search has found.
struct LeaseCommand {
  ExecutionId id;
  std::string worker_namespace;
  std::string worker_id;
  std::string worker_instance_id;
  std::uint32_t lease_ttl_ms = 0;
  std::optional<std::string> name_space{};  // the namespace to which the claim is restricted; absent: all
};
struct RenewCommand {
  Fence fence;
  std::uint32_t lease_ttl_ms = 0;  // 0: that of the claim
};
struct ProgressCommand {
  Fence fence;
  ProgressReport report;
};
struct SpendCommand {
  Fence fence;
  SpendRequest request;
};
struct CompleteCommand {
  Fence fence;
  CompleteRequest request;
  // The outgoing edges of a node are left to the clock: another change of the flow was in the way.
  bool leaves_edges = false;
};
struct FailCommand {
  Fence fence;
  FailRequest request;
};
struct DelayCommand {
  Fence fence;
  TimestampMs delay_until = 0;
  std::optional<std::int64_t> delay_ms{};  // instead of delay_until: from now
};
// Gives the lease back now: the same attempt goes on with whoever claims it next.
struct ReleaseHeldCommand {
  Fence fence;
};
struct StepCommand {
  Fence fence;
  StepRequest request;
};
struct CheckpointCommand {
  Fence fence;
  std::string bytes;
  std::string encoding;
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
  // The new life keeps the steps before this position; absent: all. Positions are those of the life that has ended.
  std::optional<std::uint32_t> from_position{};
  std::uint32_t replay_count = 0;  // of that life; only with a position
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
  std::optional<Fence> held_under{};  // by the worker that changes them; absent: an operator does
};
struct LaneCommand {
  std::string lane;
  LaneState state = LaneState::active;
  Operator by;
  bool has_routes = true;  // a lane that was made by an older version has routes but may have no record
};
struct NamespaceCommand {
  NamespaceInfo info;
  Operator by;
};

// Reserves one execution. A claim grant answers with a Grant or an error, a reclaim grant with its outcome.
struct GrantCommand {
  GrantKind kind = GrantKind::claim;
  GrantRequest request;
  std::optional<std::string> name_space{};  // as in LeaseCommand
};
// A grant key with a verified signature, presented by the worker that it names.
struct RedeemCommand {
  GrantKind kind = GrantKind::claim;
  std::string grant_id;
  TimestampMs grant_expires_at = 0;
  RedeemRequest request;
};

struct RegisterCommand {
  WorkerRegistration registration;
};
struct HeartbeatCommand {
  std::string name_space;
  std::string worker_instance_id;
};
struct MarkDeadCommand {
  std::string name_space;
  std::string worker_instance_id;
  Operator by;
};
struct DrainWorkerCommand {
  std::string name_space;
  std::string worker_instance_id;
  Operator by;
};
// Releases the lease of a dead worker, if that worker holds it and got it before that time.
struct ReleaseCommand {
  ExecutionId id;
  std::string name_space;
  std::string worker_instance_id;
  TimestampMs acquired_until = 0;
};
struct RotateKeysCommand {
  std::int64_t grace_ms = 0;
  Operator by;
};
struct CreateApiKeyCommand {
  ApiKeyRequest request;
  Operator by;
};
struct RevokeApiKeyCommand {
  std::string key;  // its id or its name
  Operator by;
};
// Removes an ended execution: if it ended before that time, or, without a time, if its retention is over.
struct RemoveCommand {
  ExecutionId id;
  std::optional<TimestampMs> finished_before;
  std::optional<std::pair<std::string, std::string>> tag{};  // only if it has this one
  bool dry_run = false;                                      // only say whether it would be removed
};
// Records in the event log that an operator removed ended executions.
struct NoteRetentionCommand {
  RetentionRun run;
  std::uint64_t removed = 0;
  Operator by;
};
// A flow that was validated as a whole, with one Membership for each node.
struct SubmitFlowCommand {
  FlowId id;
  bool id_is_supplied = false;
  std::uint64_t request_digest = 0;
  FlowRequest request;
  std::vector<Membership> members;
};
struct CancelFlowCommand {
  FlowId id;
  FlowCancelRequest request;
  Operator by;
};
// Runs members of an ended flow again.
struct ReplayFlowCommand {
  FlowId id;
  std::optional<std::uint32_t> ordinal;  // absent: all that have not succeeded
  bool descendants = true;               // and all nodes behind it
  Operator by;
};
// Adds to a flow from outside, or, with a fence, from one of its running nodes.
struct GrowFlowCommand {
  FlowId id;  // not used with a fence: the flow is that of the node
  FlowAddition addition;
  std::optional<Fence> held_under{};
  Operator by{};  // without a fence
};
struct SealFlowCommand {
  FlowId id;
  Operator by;
};
// Waits for nodes that the holder has added with join edges.
struct JoinNodesCommand {
  Fence fence;
  std::vector<std::string> names;
};
// Waits for signals, unless those that are there are enough.
struct SuspendCommand {
  Fence fence;
  SuspendRequest request;
};
// Opens a waitpoint ahead of a wait, so that its token can be handed out.
struct OpenWaitpointCommand {
  Fence fence;
  WaitpointRequest request;
};
// Delivers a signal to one waitpoint: that of the token, or the one of this name.
struct SignalCommand {
  ExecutionId id;
  SignalRequest request;
  std::optional<WaitpointClaims> token{};
  bool decides = false;  // it is a decision about an approval: nothing is kept for later
};
// Ends a wait by force.
struct ResumeCommand {
  ExecutionId id;
  Operator by;
};
struct CloseWaitpointCommand {
  ExecutionId id;
  std::string waitpoint;
  Operator by;
};
struct ReissueTokenCommand {
  ExecutionId id;
  ReissueRequest request;
  Operator by;
};
struct CreateHookCommand {
  HookRequest request;
  Operator by;
};
struct RemoveHookCommand {
  std::string name;
  Operator by;
};
// Gives it a new secret; the one before is accepted for another while.
struct RotateHookCommand {
  std::string name;
  std::string secret;  // empty: one is made
  std::int64_t grace_ms = 0;
  Operator by;
};
// Removes an ended flow with all its members: as RemoveCommand.
struct RemoveFlowCommand {
  FlowId id;
  std::optional<TimestampMs> finished_before;
  std::optional<std::pair<std::string, std::string>> tag{};
  bool dry_run = false;
};
// A new schedule.
struct CreateScheduleCommand {
  ScheduleRequest request;
};
// Another spec for an existing one.
struct UpdateScheduleCommand {
  std::string name_space;
  std::string name;
  ScheduleSpec spec;
  std::optional<std::uint64_t> expected_revision;
  Operator by;
};
// Pauses, resumes or deletes it.
struct ScheduleStateCommand {
  std::string name_space;
  std::string name;
  ScheduleState state = ScheduleState::paused;
  Operator by;
};
struct TriggerScheduleCommand {
  std::string name_space;
  std::string name;
  TriggerRequest request;
  Operator by;
};
// The scheduled times of a range, computed from the record of this incarnation and revision.
struct BackfillScheduleCommand {
  std::string name_space;
  std::string name;
  std::uint64_t incarnation = 0;
  std::uint64_t revision = 0;
  std::vector<TimestampMs> times;
  Operator by;
};
// Records of a group of the due index, which the clock has read for one that is due.
struct FoundGroup {
  RouteNo route = 0;  // of executions that a pool holds back
  std::vector<Key> keys;
  bool all = false;  // there are no more
};
// An entry of the group that the clock has read for a redrive: a letter, or an execution that failed under an older version.
struct FoundLetter {
  std::int64_t rank = 0;
  Key key;
};
// The clock found this record due.
struct DueCommand {
  Key key;
  bool holds_leases = false;  // a dead worker that still holds leases
  std::vector<FoundGroup> found{};
  std::vector<FoundLetter> letters{};
  bool letters_end = false;  // the group has no more
};
// Makes a limit, or changes one.
struct SetLimitCommand {
  LimitRequest request;
  Operator by;
};
struct RemoveLimitCommand {
  LimitName limit;
  Operator by;
};
struct ChangeBudgetCommand {
  ChangeBudgetRequest request;
  Operator by;
};

// Replays many dead letters.
struct CreateRedriveCommand {
  Uuid id;
  RedriveRequest request;
  std::optional<RateLimit> rate{};
  std::vector<std::uint64_t> fingerprints{};  // the groups to go through; 0: older failures
  std::uint64_t found = 0;                    // how many could be meant
  Operator by{};
};
struct RedriveActionCommand {
  Uuid id;
  RedriveAction action = RedriveAction::pause;
  Operator by;
};

using Command =
    std::variant<CreateCommand, LeaseCommand, RenewCommand, ProgressCommand, CompleteCommand, FailCommand, DelayCommand,
                 ReleaseHeldCommand, CancelHeldCommand, CancelCommand, RevokeCommand, ReplayCommand, PriorityCommand,
                 TagsCommand, LaneCommand, NamespaceCommand, GrantCommand, RedeemCommand, RegisterCommand,
                 HeartbeatCommand, MarkDeadCommand, DrainWorkerCommand, ReleaseCommand, RotateKeysCommand,
                 CreateApiKeyCommand, RevokeApiKeyCommand, RemoveCommand, NoteRetentionCommand, DueCommand, StepCommand,
                 CheckpointCommand, SubmitFlowCommand, CancelFlowCommand, RemoveFlowCommand, ReplayFlowCommand,
                 GrowFlowCommand, SealFlowCommand, JoinNodesCommand, SuspendCommand, OpenWaitpointCommand,
                 SignalCommand, ResumeCommand, CloseWaitpointCommand, ReissueTokenCommand, CreateHookCommand,
                 RemoveHookCommand, RotateHookCommand, CreateScheduleCommand, UpdateScheduleCommand,
                 ScheduleStateCommand, TriggerScheduleCommand, BackfillScheduleCommand, SetLimitCommand,
                 RemoveLimitCommand, SpendCommand, ChangeBudgetCommand, CreateRedriveCommand, RedriveActionCommand>;

struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};

struct RemoveReply {
  bool removed = false;
};

using Reply =
    std::variant<Done, Created, ClaimedExecution, RenewVerdict, FailReply, DelayReply, CancelReply, RevokeReply,
                 ReplayReply, Tags, LaneInfo, NamespaceInfo, Grant, IssueReclaimGrantOutcome, ReclaimExecutionOutcome,
                 RegisterWorkerReply, HeartbeatReply, MarkWorkerDeadOutcome, DrainWorkerOutcome, KeyRotation, NewApiKey,
                 ApiKeyInfo, RemoveReply, StepReply, FlowCreated, FlowCancelReply, FlowReplayReply, FlowAdded,
                 FlowSealed, FlowJoinReply, SuspendReply, WaitpointToken, SignalReply, NewHook, HookInfo, ScheduleSaved,
                 TriggerReply, BackfillReply, LimitSaved, SpendReply, BudgetUse, RedriveInfo>;

}  // namespace flowfabric
