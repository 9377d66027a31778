// Durable steps and checkpoints: what a handler wants to find again. Fenced like everything that a worker writes.
#include "base/check.hpp"
#include "core/decide_parts.hpp"

namespace flowfabric {
namespace {

Step step_of(const StepRequest& request, const Facts& facts, TimestampMs now) {
  Step step;
  step.position = request.position;
  step.name = request.name;
  step.result = request.result;
  step.result_encoding = request.result_encoding;
  step.failure = request.failure;
  step.permanent = request.failure && request.permanent;
  step.tries = request.tries;
  step.duration_ms = request.duration_ms;
  step.recorded_at = now;
  step.attempt_index = facts.attempt->attempt_index;
  step.replay_count = facts.replay_count;
  step.worker_instance_id = facts.lease->worker_instance_id;
  if (request.failure) step.state = StepState::failed;
  if (request.sleep_ms) {
    step.state = StepState::sleep;
    step.wake_at = now + *request.sleep_ms;
  }
  return step;
}

}  // namespace

// A position is recorded once. A repeat, after a lost reply, is told so and reads what is there.
Result<Reply> decide_one(Workspace& workspace, const StepCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));
  Facts& facts = slot->execution()->facts;
  if (facts.steps.contains(command.request.position)) return StepReply{0, 0, true};
  Transition transition(*slot, context);
  const Step step = step_of(command.request, facts, context.now);
  if (step.state == StepState::failed) {
    facts.steps.add_failed(step.position, command.request.group_end);
  } else {
    facts.steps.add(step.position);
  }
  transition.add_satellite(SatelliteKind::step, step.position, encode(step));
  transition.record(EventType::step_recorded, step.worker_instance_id, step.name, step.wake_at);
  return StepReply{step.recorded_at, step.wake_at, false};
}

Result<Reply> decide_one(Workspace& workspace, const CheckpointCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));
  Transition transition(*slot, context);
  transition.facts().has_checkpoint = true;
  transition.add_satellite(SatelliteKind::checkpoint, 0,
                           encode(Checkpoint{command.bytes, command.encoding, context.now}));
  transition.touch();
  return Done{};
}

}  // namespace flowfabric
