// Submitting, cancelling and removing flows.
#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/flow_graph.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

Reply duplicate_flow(Workspace& workspace, const FlowId& id) {
  FlowCreated reply{id, std::nullopt, true};
  const Slot* slot = workspace.find(flow_key(id));
  const FlowRecord* flow = slot == nullptr || slot->erased ? nullptr : slot->flow();
  if (flow != nullptr) reply.state = flow->facts.state;
  return reply;
}

// The reply to a repeated request, if it is one.
std::optional<Result<Reply>> earlier_flow(Workspace& workspace, const SubmitFlowCommand& command, TimestampMs now) {
  const FlowRequest& request = command.request;
  if (!request.idempotency_key.empty()) {
    const Slot& slot = workspace.at(flow_idempotency_key(request.name_space, request.idempotency_key));
    const auto* record = std::get_if<IdempotencyRecord>(&slot.record);
    if (record != nullptr && !slot.erased && record->expires_at > now) {
      if (record->request_digest == command.request_digest) return duplicate_flow(workspace, record->execution_id);
      return fail(Errc::conflict,
                  "this idempotency key was used for a different flow, " + to_string(record->execution_id),
                  "idempotency_key");
    }
  }
  const Slot& slot = workspace.at(flow_key(command.id));
  const FlowRecord* existing = slot.flow();
  if (existing == nullptr || slot.erased) return std::nullopt;
  if (existing->spec.request_digest == command.request_digest) return duplicate_flow(workspace, command.id);
  return fail(Errc::conflict, "flow " + to_string(command.id) + " already exists and was made by a different request",
              "id");
}

FlowSpec make_flow_spec(Workspace& workspace, const SubmitFlowCommand& command, TimestampMs deadline_at,
                        TimestampMs now) {
  const FlowRequest& request = command.request;
  FlowSpec spec;
  spec.name_space = request.name_space;
  spec.kind = request.kind;
  spec.creator = request.creator;
  spec.failure_policy = request.failure_policy;
  spec.retention = request.retention;
  spec.namespace_retention = namespace_retention(workspace, request.name_space);
  if (deadline_at != 0) spec.deadline_span_ms = std::max<std::int64_t>(deadline_at - now, 1);
  spec.created_at = now;
  spec.request_digest = command.request_digest;
  spec.edge_count = static_cast<std::uint32_t>(request.edges.size());
  spec.traceparent = request.traceparent;
  spec.sinks = sinks_among(command.members);
  if (spec.sinks.size() > limits::max_flow_outputs) spec.sinks.resize(limits::max_flow_outputs);
  return spec;
}

void remember_flow_key(Workspace& workspace, const SubmitFlowCommand& command, Slot& made, TimestampMs now) {
  const FlowRequest& request = command.request;
  Slot& slot = workspace.at(flow_idempotency_key(request.name_space, request.idempotency_key));
  IdempotencyRecord record;
  record.execution_id = command.id;
  record.request_digest = command.request_digest;
  record.expires_at = now + request.dedup_window_ms;
  slot.record = record;
  slot.changed = true;
  slot.erased = false;
  workspace.tie(made, slot);
}

Slot& create_flow(Workspace& workspace, const SubmitFlowCommand& command, const Context& context) {
  const FlowRequest& request = command.request;
  const TimestampMs deadline_at = request.deadline_ms ? context.now + *request.deadline_ms : request.deadline_at;
  Slot& slot = workspace.at(flow_key(command.id));
  auto flow = std::make_unique<FlowRecord>();
  flow->id = command.id;
  flow->spec = make_flow_spec(workspace, command, deadline_at, context.now);
  flow->facts.members = static_cast<std::uint32_t>(command.members.size());
  if (request.open) {
    flow->facts.state = FlowState::building;
    flow->facts.named = flow->facts.members;
  }
  flow->facts.deadline_at = deadline_at;
  flow->facts.tags = request.tags;
  slot.record = std::move(flow);
  slot.erased = false;
  record_flow_event(slot, EventType::flow_submitted, request.creator, {}, context);
  return slot;
}

bool stronger(FlowCancelPolicy wanted, const FlowCancel& current) {
  if (current.cause == CancelCause::deadline) return false;
  return current.cause != CancelCause::by_operator || wanted > current.policy;
}

}  // namespace

Result<Slot*> existing_flow(Workspace& workspace, const FlowId& id) {
  Slot& slot = workspace.at(flow_key(id));
  if (slot.flow() != nullptr && !slot.erased) return &slot;
  return fail(Errc::not_found, "there is no flow " + to_string(id), "flow_id");
}

void name_member(Workspace& workspace, Slot& flow, const std::string& node, std::uint32_t ordinal) {
  const Key key = flow_name_key(flow.flow()->id, node);
  workspace.note_looked_up(key);
  Slot& slot = workspace.at(key);
  slot.record = FlowNameRecord{ordinal};
  slot.changed = true;
  slot.erased = false;
  workspace.tie(flow, slot);
}

Slot& make_flow(Workspace& workspace, const SubmitFlowCommand& command, const Context& context) {
  Slot& flow = create_flow(workspace, command, context);
  for (const Membership& member : command.members) {
    const CreateRequest& request = command.request.nodes[member.ordinal].request;
    Slot& slot = create_execution(workspace, member_id(command.id, member.ordinal), request, request_digest(request),
                                  context, &command.id.uuid, &member);
    workspace.tie(flow, slot);
    if (command.request.open) name_member(workspace, flow, member.node, member.ordinal);
    register_lane(workspace, request.lane, request.creator, context.now);
  }
  return flow;
}

Result<Reply> decide_one(Workspace& workspace, const SubmitFlowCommand& command, const Context& context) {
  if (auto answer = earlier_flow(workspace, command, context.now)) return std::move(*answer);
  for (const FlowNode& node : command.request.nodes) FF_TRY_VOID(check_accepts(workspace, node.request, context));
  if (workspace.at(flow_key(command.id)).version != 0) {
    return fail(Errc::contended, "the flow with this id is being removed; try again", "id");
  }
  Slot& flow = make_flow(workspace, command, context);
  if (!command.request.idempotency_key.empty()) remember_flow_key(workspace, command, flow, context.now);
  return FlowCreated{command.id, flow.flow()->facts.state, false};
}

bool cancel_flow(Slot& slot, CancelOrder order, const Context& context) {
  const FlowFacts& facts = slot.flow()->facts;
  if (facts.cancel && !stronger(order.policy, *facts.cancel)) return false;
  begin_cancel(slot, order, context);
  if (order.policy == FlowCancelPolicy::flow_only) {
    end_flow(slot, FlowState::cancelled, order.by, order.reason, context);
  } else if (facts.ended() == facts.members) {
    end_with_members(slot, context);  // it was open, and there is nobody to wait for
  }
  return true;
}

Result<Reply> decide_one(Workspace& workspace, const CancelFlowCommand& command, const Context& context) {
  FF_TRY(slot, existing_flow(workspace, command.id));
  FlowFacts& facts = slot->flow()->facts;
  const FlowCancelPolicy wanted = command.request.policy;
  if (has_ended(facts.state)) {
    if (facts.state == FlowState::cancelled) return FlowCancelReply{facts.state, facts.cancel->policy, true};
    Error error{Errc::already_terminal,
                "flow " + to_string(command.id) + " has ended: " + std::string(to_string(facts.state)),
                {},
                {{"outcome", std::string(to_string(facts.state))}}};
    return Unexpected(std::move(error));
  }
  if (facts.replay) return fail(Errc::contended, "a replay of the flow is being prepared; try again in a moment");
  CancelOrder order{wanted, CancelCause::by_operator, command.request.run_cleanup, command.by.name, command.by.reason};
  if (!cancel_flow(*slot, std::move(order), context)) {
    return FlowCancelReply{facts.state, facts.cancel->policy, true};
  }
  return FlowCancelReply{facts.state, wanted, false};
}

// The clock removes it, with its members.
Result<Reply> decide_one(Workspace& workspace, const RemoveFlowCommand& command, const Context& context) {
  FF_TRY(slot, existing_flow(workspace, command.id));
  FlowFacts& facts = slot->flow()->facts;
  const bool gone = has_ended(facts.state) && facts.retain_until != 0;
  if (!gone) {
    return fail(Errc::not_terminal, "only an ended flow can be removed; this one is " +
                                        std::string(to_string(facts.state)) + " or has members that have not ended");
  }
  if (facts.removing) return RemoveReply{false};
  if (command.tag) {
    const auto found = facts.tags.find(command.tag->first);
    if (found == facts.tags.end() || found->second != command.tag->second) return RemoveReply{false};
  }
  const bool over =
      command.finished_before ? facts.finished_at < *command.finished_before : facts.retain_until <= context.now;
  if (!over || command.dry_run) return RemoveReply{over};
  facts.removing = 0;
  facts.retain_until = context.now;
  slot->changed = true;
  return RemoveReply{true};
}

// A member that has started goes on: cancelling it is the clock's work.
Result<void> check_flow(Workspace& workspace, const Execution& execution) {
  if (!execution.spec.member || has_started(execution.facts)) return {};
  const Slot* slot = workspace.find(flow_key(flow_of(execution)));
  const FlowRecord* flow = slot == nullptr ? nullptr : slot->flow();
  if (flow == nullptr || flow->facts.state != FlowState::cancelling) return {};
  if (flow->facts.cancel->run_cleanup && is_cleanup(*execution.spec.member)) return {};
  return fail(Errc::not_eligible, "flow " + to_string(flow->id) + " is being cancelled and starts no more nodes");
}

}  // namespace flowfabric
