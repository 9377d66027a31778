// Shared between the decide_*.cpp files; not included elsewhere.
#pragma once

#include "core/decide.hpp"

namespace flowfabric {

// decide_create.cpp
Result<Reply> decide_one(Workspace& workspace, const CreateCommand& command, const Context& context);

// Whether the lane accepts new executions, and the route is within the limits.
Result<void> check_accepts(Workspace& workspace, const CreateRequest& request, const Context& context);
// A new execution, or, with a membership, a new member of a flow.
Slot& create_execution(Workspace& workspace, const ExecutionId& id, const CreateRequest& request,
                       std::uint64_t request_digest, const Context& context, const Uuid* flow = nullptr,
                       const Membership* member = nullptr);
void register_lane(Workspace& workspace, const std::string& lane, const std::string& creator, TimestampMs now);

// decide_flows.cpp
Result<Reply> decide_one(Workspace& workspace, const SubmitFlowCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const CancelFlowCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RemoveFlowCommand& command, const Context& context);
// A new flow with its members. All its keys are known.
Slot& make_flow(Workspace& workspace, const SubmitFlowCommand& command, const Context& context);
// The slot of an existing flow; or `not_found`.
Result<Slot*> existing_flow(Workspace& workspace, const FlowId& id);
// The record that leads from the name of a node to the member.
void name_member(Workspace& workspace, Slot& flow, const std::string& node, std::uint32_t ordinal);
// Whether its flow lets a member start.
Result<void> check_flow(Workspace& workspace, const Execution& execution);

// decide_growth.cpp: flows that grow.
std::vector<Key> grow_flow_needs(Workspace& workspace, const GrowFlowCommand& command);
std::vector<Key> join_nodes_needs(Workspace& workspace, const JoinNodesCommand& command);
Result<Reply> decide_one(Workspace& workspace, const GrowFlowCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const SealFlowCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const JoinNodesCommand& command, const Context& context);

// flow_work.cpp: what the clock does for flows and their members. Each step handles a bounded number of records, and
// only if all of them are known; what is left stays due.
std::vector<Key> flow_work_keys(Workspace& workspace, const Key& key);
void member_due(Workspace& workspace, Slot& slot, const Context& context);
void flow_due(Workspace& workspace, Slot& slot, const Context& context);
// A completion resolves the edges of its node itself, if they and its flow are small: the next node then starts one commit
// earlier. The keys are those of records that it would change; none if it leaves the edges to the clock.
std::vector<Key> at_once_keys(const Execution& execution);
void resolve_at_once(Workspace& workspace, Slot& slot, const Context& context);
bool all_known(Workspace& workspace, const std::vector<Key>& keys);
// Null if there is none, or it is removed in this batch.
Slot* member_slot(Workspace& workspace, const FlowId& flow, std::uint32_t ordinal);
// The same, for a decision: what is decided for the first slot commits only if the member is then what was read.
Slot* read_member(Workspace& workspace, const Slot& decided, const FlowId& flow, std::uint32_t ordinal);
// All groups of a waiting member have fired.
void open_gate(Slot& slot, const Context& context);
// How a member ended, as its edges see it.
inline Ending ending_of(const Execution& execution) {
  return ending_of(execution.facts.outcome, execution.facts.member->withdrawn);
}
// One resolved edge of an ended member arrives at its downstream node.
void arrive(Slot& slot, const OutgoingEdge& edge, const Execution& upstream, const Context& context);
struct CancelOrder {
  FlowCancelPolicy policy = FlowCancelPolicy::cancel_all;
  CancelCause cause = CancelCause::by_operator;
  bool run_cleanup = false;
  std::string by;
  std::string reason;
};
// The members are cancelled by the clock, from the first one on.
void begin_cancel(Slot& slot, CancelOrder order, const Context& context);
// Of a flow that has not ended and is not being prepared for a replay; false: it is being cancelled at least as strongly.
bool cancel_flow(Slot& slot, CancelOrder order, const Context& context);
// The state follows from what became of the members, all of which have ended.
void end_with_members(Slot& slot, const Context& context);
// An edge that was added to a member after all its edges had been resolved: it is resolved at once.
void resolve_late_edge(Workspace& workspace, Slot& from, const OutgoingEdge& edge, const Context& context);
// Ends the flow in this state, and starts its retention if all members have ended.
void end_flow(Slot& slot, FlowState state, const std::string& actor, const std::string& reason, const Context& context);
void record_flow_event(Slot& slot, EventType type, const std::string& actor, const std::string& reason,
                       const Context& context);

// flow_replay.cpp
Result<Reply> decide_one(Workspace& workspace, const ReplayFlowCommand& command, const Context& context);
std::vector<Key> replay_keys(Workspace& workspace, const FlowRecord& flow);
void prepare_replay(Workspace& workspace, Slot& slot, const Context& context);

// decide_worker.cpp: operations of a worker. All except the lease itself are fenced.
Result<Reply> decide_one(Workspace& workspace, const LeaseCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RenewCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const ProgressCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const CompleteCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const FailCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const DelayCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const ReleaseHeldCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const CancelHeldCommand& command, const Context& context);

Release release_of(const Fence& fence, Release::Operation operation, std::uint64_t digest);
// Whether this call has been answered before, so that a repetition after a lost reply gets the same answer.
bool is_repeat(const Facts& facts, const Release& now);
// The holder gives its lease up without an end: the next claim goes on with the same attempt, so neither a retry nor a
// reclaim is counted.
void put_attempt_aside(Transition& transition, TimestampMs delay_until);
// The part of it that does not say when the attempt goes on.
void interrupt_attempt(Transition& transition);

// The one fence. Time has caught up with the execution before, so a lease that ran out is gone by now.
Result<void> check_fence(const Execution& execution, const Fence& fence);

// decide_waits.cpp
Result<Reply> decide_one(Workspace& workspace, const SuspendCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const OpenWaitpointCommand& command, const Context& context);
// decide_signals.cpp
// Whether the signal is a decision about the approval that the waitpoint is, of a person who may decide. `unnamed` as in
// KeptSignal.
Result<void> check_may_decide(const WaitpointFacts& waitpoint, const Signal& signal, bool unnamed);
Result<Reply> decide_one(Workspace& workspace, const SignalCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const ResumeCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const CloseWaitpointCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const ReissueTokenCommand& command, const Context& context);

// decide_steps.cpp
Result<Reply> decide_one(Workspace& workspace, const StepCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const CheckpointCommand& command, const Context& context);

// decide_operator.cpp
// An event that belongs to no execution.
Event plain_event(EventType type, const Context& context, const Operator& by, std::string reason);
Result<Reply> decide_one(Workspace& workspace, const CancelCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RevokeCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const ReplayCommand& command, const Context& context);
// Whether its policy allows one more replay.
Result<void> check_replays(const Execution& execution);
// A new life of an ended execution. It keeps the steps before the position; absent: all.
void start_over(Transition& transition, const Operator& by, std::optional<std::uint32_t> from_position);
Result<Reply> decide_one(Workspace& workspace, const PriorityCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const TagsCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const LaneCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const NamespaceCommand& command, const Context& context);

Result<Reply> decide_one(Workspace& workspace, const RotateKeysCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RemoveCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const NoteRetentionCommand& command, const Context& context);

// decide_api_keys.cpp
Result<Reply> decide_one(Workspace& workspace, const CreateApiKeyCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RevokeApiKeyCommand& command, const Context& context);

// decide_hooks.cpp
Result<Reply> decide_one(Workspace& workspace, const CreateHookCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RemoveHookCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RotateHookCommand& command, const Context& context);

// decide_grants.cpp
Result<Reply> decide_one(Workspace& workspace, const GrantCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RedeemCommand& command, const Context& context);

// decide_fleet.cpp
Result<Reply> decide_one(Workspace& workspace, const RegisterCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const HeartbeatCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const MarkDeadCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const DrainWorkerCommand& command, const Context& context);
// Ends a worker whose TTL has passed; returns whether it did.
bool settle_worker(Slot& slot, const Context& context);
void worker_due(Slot& slot, bool holds_leases, const Context& context);

// decide_due.cpp
void retire(Workspace& workspace, Slot& slot, const Context& context);
// When the retention of an ended execution is over.
TimestampMs retention_end(Workspace& workspace, const Execution& execution, const Context& context);

// decide_schedules.cpp
Result<Reply> decide_one(Workspace& workspace, const CreateScheduleCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const UpdateScheduleCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const ScheduleStateCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const TriggerScheduleCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const BackfillScheduleCommand& command, const Context& context);
// The key of the schedule that a command is for; null for other commands.
std::optional<Key> schedule_key_of(const Command& command);
std::vector<Key> schedule_command_needs(Workspace& workspace, const Command& command);

// schedule_work.cpp: what the clock does for schedules. Like the work for flows, it waits until all its records are known.
std::vector<Key> schedule_work_keys(Workspace& workspace, const Key& key);
// What the firings of a schedule need beside its record.
std::vector<Key> firing_keys(Workspace& workspace, const Key& schedule);
void schedule_due(Workspace& workspace, Slot& slot, const Context& context);
// Tells its schedule that an execution or a flow has ended.
void tell_schedule(Workspace& workspace, Slot& slot, const Context& context);

// decide_budgets.cpp
Result<Reply> decide_one(Workspace& workspace, const SpendCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const ChangeBudgetCommand& command, const Context& context);
// What they need, as far as it is known yet.
std::vector<Key> spend_keys(const Workspace& workspace, const Execution& execution);
std::vector<Key> change_budget_keys(const Workspace& workspace, const ChangeBudgetCommand& command);
// decide_redrives.cpp
Result<Reply> decide_one(Workspace& workspace, const CreateRedriveCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RedriveActionCommand& command, const Context& context);

// decide_limits.cpp
Result<Reply> decide_one(Workspace& workspace, const SetLimitCommand& command, const Context& context);
Result<Reply> decide_one(Workspace& workspace, const RemoveLimitCommand& command, const Context& context);

LaneState lane_state(Workspace& workspace, const std::string& lane);
RetentionPolicy namespace_retention(Workspace& workspace, const std::string& name_space);

// The slot of an existing execution, with due transitions applied; or `not_found`.
Result<Slot*> settled_execution(Workspace& workspace, const ExecutionId& id, const Context& context);

Error already_terminal(const Execution& execution);

// Whether a claim that is restricted to one namespace may take it.
Result<void> check_namespace(const Spec& spec, const std::optional<std::string>& claimed);

}  // namespace flowfabric
