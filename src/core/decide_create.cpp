#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/route.hpp"
#include "core/state.hpp"
#include "core/submitting.hpp"

namespace flowfabric {
namespace {

// The idempotency key may be remembered for longer than the execution is kept.
Reply duplicate_of(Workspace& workspace, const ExecutionId& id) {
  Created reply{id, std::nullopt, true, CreateOutcome::duplicate, std::nullopt};
  const Slot* slot = workspace.find(execution_key(id));
  const Execution* execution = slot == nullptr || slot->erased ? nullptr : slot->execution();
  if (execution != nullptr) reply.public_state = public_state(execution->facts);
  return reply;
}

// The times of a request, absolute; 0: none.
TimestampMs delay_until_of(const CreateRequest& request, TimestampMs now) {
  if (request.debounce) return now + request.debounce->delay_ms;
  return request.delay_ms ? now + *request.delay_ms : request.delay_until;
}
TimestampMs deadline_of(const CreateRequest& request, TimestampMs now) {
  return request.deadline_ms ? now + *request.deadline_ms : request.deadline_at;
}

Spec make_spec(Workspace& workspace, const CreateRequest& request, std::uint64_t request_digest, TimestampMs now) {
  Spec spec;
  spec.name_space = request.name_space;
  spec.lane = request.lane;
  spec.kind = request.kind;
  spec.creator = request.creator;
  spec.traceparent = request.traceparent;
  spec.payload_encoding = request.payload_encoding;
  spec.payload_bytes = request.payload.size();
  if (request.payload.size() <= limits::max_inline_bytes) spec.payload = request.payload;
  spec.required_capabilities = request.required_capabilities;
  spec.route = route_of(request.lane, request.required_capabilities);
  spec.policy = request.policy;
  spec.reserve = request.reserve;
  spec.namespace_retention = namespace_retention(workspace, request.name_space);
  const TimestampMs deadline_at = deadline_of(request, now);
  if (deadline_at != 0) spec.deadline_span_ms = std::max<std::int64_t>(deadline_at - now, 1);
  spec.created_at = now;
  spec.request_digest = request_digest;
  const RequestedKey key = requested_key(request);
  spec.submit_key_kind = key.kind;
  spec.submit_key = key.key;
  return spec;
}

// The answer commits with the execution, if that is new or was changed.
void remember_answer(Workspace& workspace, const CreateCommand& command, const ExecutionId& id, const Slot* changed,
                     TimestampMs now) {
  const CreateRequest& request = command.request;
  if (request.idempotency_key.empty()) return;
  Slot& slot = workspace.at(idempotency_key_of(request));
  IdempotencyRecord record;
  record.execution_id = id;
  record.request_digest = command.request_digest;
  record.expires_at = now + request.policy.dedup_window_ms;
  slot.record = record;
  slot.changed = true;
  slot.erased = false;
  if (changed != nullptr) workspace.tie(*changed, slot);
}

// The reply to a repeated request, if it is one.
std::optional<Result<Reply>> earlier_answer(Workspace& workspace, const CreateCommand& command, TimestampMs now) {
  const CreateRequest& request = command.request;
  if (!request.idempotency_key.empty()) {
    Slot& slot = workspace.at(idempotency_key_of(request));
    const auto* record = std::get_if<IdempotencyRecord>(&slot.record);
    if (record != nullptr && !slot.erased && record->expires_at > now) {
      if (record->request_digest == command.request_digest) return duplicate_of(workspace, record->execution_id);
      return fail(
          Errc::conflict,
          "this idempotency key was used for a different request, which created " + to_string(record->execution_id),
          "idempotency_key");
    }
  }
  Slot& slot = workspace.at(execution_key(command.id));
  const Execution* existing = slot.execution();
  if (existing == nullptr || slot.erased) return std::nullopt;
  if (existing->spec.request_digest == command.request_digest) return duplicate_of(workspace, command.id);
  return fail(Errc::conflict,
              "execution " + to_string(command.id) + " already exists and was created by a different request", "id");
}

}  // namespace

// A lane comes into being with its first execution. Its record lies in another partition, so it commits by itself; if that
// fails, another engine has just registered the lane.
void register_lane(Workspace& workspace, const std::string& lane, const std::string& creator, TimestampMs now) {
  Slot& slot = workspace.at(lane_key(lane));
  if (std::holds_alternative<LaneRecord>(slot.record)) return;
  LaneRecord record;
  record.info.lane = lane;
  record.info.registered_at = now;
  record.info.registered_by = creator;
  slot.record = std::move(record);
  slot.changed = true;
}

Result<void> check_accepts(Workspace& workspace, const CreateRequest& request, const Context& context) {
  const LaneState lane = lane_state(workspace, request.lane);
  if (lane == LaneState::draining || lane == LaneState::disabled) {
    return fail(Errc::lane_closed,
                "lane \"" + request.lane + "\" is " + std::string(to_string(lane)) + " and accepts no new executions",
                "lane");
  }
  if (!context.admit_route) return {};
  return context.admit_route(route_of(request.lane, request.required_capabilities), request.name_space);
}

Slot& create_execution(Workspace& workspace, const ExecutionId& id, const CreateRequest& request,
                       std::uint64_t request_digest, const Context& context, const Uuid* flow,
                       const Membership* member) {
  Slot& slot = workspace.at(execution_key(id));
  slot.record =
      std::make_unique<Execution>(Execution{id, make_spec(workspace, request, request_digest, context.now), {}});
  slot.erased = false;
  if (member != nullptr) {
    Execution& execution = *slot.execution();
    execution.spec.flow = *flow;
    execution.spec.member = *member;
    execution.facts.member.emplace();
    execution.facts.member->groups.resize(member->groups.size());
    const bool begins_at_once = is_begin(*member) && member->groups.empty();
    if (!member->groups.empty() || begins_at_once) execution.facts.gates = dependency_gate;
    if (begins_at_once) execution.facts.member->work_at = context.now;
  }
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  facts.priority = request.priority;
  facts.tags = request.tags;
  facts.deadline_at = deadline_of(request, context.now);
  facts.pending = PendingAttempt{};
  make_runnable(transition, delay_until_of(request, context.now), DelayCause::submitted);
  if (!transition.spec().payload_is_inline()) transition.add_satellite(SatelliteKind::payload, 0, request.payload);
  transition.record(EventType::created, request.creator, {}, facts.delay_until);
  // A create has no previous state; the event repeats the state after it.
  slot.events.back().state_before = slot.events.back().state_after;
  return slot;
}

Result<Reply> decide_one(Workspace& workspace, const CreateCommand& command, const Context& context) {
  if (auto answer = earlier_answer(workspace, command, context.now)) return std::move(*answer);
  const CreateRequest& request = command.request;
  FF_TRY_VOID(check_accepts(workspace, request, context));
  // Removed within the same batch: the old record must be deleted before a new one can replace it.
  if (workspace.at(execution_key(command.id)).version != 0) {
    return fail(Errc::contended, "the execution with this id is being removed; try again", "id");
  }
  FF_TRY(verdict, judge_key(workspace, command, context));
  if (verdict.answer) {
    remember_answer(workspace, command, verdict.answer->execution_id, verdict.changed, context.now);
    return *verdict.answer;
  }
  Slot& slot = create_execution(workspace, command.id, request, command.request_digest, context);
  Created reply{command.id, public_state(slot.execution()->facts), false};
  if (verdict.in_the_way != nullptr) {
    reply.outcome = CreateOutcome::replaced;
    reply.replaced = verdict.in_the_way->execution()->id;
  }
  take_key(workspace, request, slot, verdict.in_the_way, context);
  remember_answer(workspace, command, command.id, &slot, context.now);
  register_lane(workspace, request.lane, request.creator, context.now);
  return reply;
}

}  // namespace flowfabric
