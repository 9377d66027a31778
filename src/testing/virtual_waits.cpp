// Waits, signals and approvals of the virtual engine.
#include "base/check.hpp"
#include "core/ingress.hpp"
#include "core/waits.hpp"
#include "engine/reads.hpp"
#include "testing/virtual_gateway.hpp"

namespace flowfabric::testing {

Result<SignalReply> VirtualGateway::send_signal(const ExecutionId& id, SignalRequest request) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(request, false));
  FF_TRY(reply, engine_.call(SignalCommand{id, std::move(request)}));
  return std::get<SignalReply>(reply);
}

Result<SignalReply> VirtualGateway::send_signal_by_token(const std::string& token, SignalRequest request) {
  const std::lock_guard lock(mutex_);
  FF_TRY(claims, engine_.runtime().waitpoint_claims(token));
  FF_TRY_VOID(admit(request, true));
  const ExecutionId id = claims.execution_id;
  FF_TRY(reply, engine_.call(SignalCommand{id, std::move(request), std::move(claims)}));
  return std::get<SignalReply>(reply);
}

Result<SignalReply> VirtualGateway::decide_approval(const ExecutionId& id, DecideRequest request) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(request));
  SignalRequest signal;
  signal.waitpoint = std::move(request.waitpoint);
  signal.name = to_string(request.decision);
  signal.payload = std::move(request.comment);
  signal.payload_encoding = "text/plain";
  signal.source = std::move(request.actor);
  FF_TRY(reply, engine_.call(SignalCommand{id, std::move(signal), {}, true}));
  return std::get<SignalReply>(reply);
}

Result<ExecutionWaits> VirtualGateway::describe_waits(const ExecutionId& id) {
  const std::lock_guard lock(mutex_);
  return reads::execution_waits(engine_.store(), id);
}

Result<ListWaitsReply> VirtualGateway::list_waits(const ListWaitsRequest& request) {
  const std::lock_guard lock(mutex_);
  return reads::waits(engine_.store(), request);
}

Result<void> VirtualGateway::resume(const ExecutionId& id, std::string reason) {
  const std::lock_guard lock(mutex_);
  return done(ResumeCommand{id, {"test", std::move(reason)}});
}

Result<void> VirtualGateway::close_waitpoint(const ExecutionId& id, const std::string& waitpoint, std::string reason) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit_waitpoint_name(waitpoint));
  return done(CloseWaitpointCommand{id, waitpoint, {"test", std::move(reason)}});
}

Result<WaitpointToken> VirtualGateway::reissue_token(const ExecutionId& id, ReissueRequest request,
                                                     std::string reason) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(request));
  FF_TRY(reply, engine_.call(ReissueTokenCommand{id, std::move(request), {"test", std::move(reason)}}));
  return std::get<WaitpointToken>(reply);
}

// A crash can be ordered before and after the call, by the name of the step.
Result<SuspendReply> VirtualGateway::suspend(const Handle& handle, const SuspendRequest& request) {
  const std::lock_guard lock(mutex_);
  plan_.pass(CrashPlan::Side::before, request.step_name);
  FF_TRY(fence, engine_.runtime().fence_of(handle));
  SuspendRequest admitted = request;
  FF_TRY_VOID(admit(admitted));
  FF_TRY(reply, engine_.call(SuspendCommand{fence, std::move(admitted)}));
  plan_.pass(CrashPlan::Side::after, request.step_name);
  return std::get<SuspendReply>(reply);
}

Result<WaitpointToken> VirtualGateway::open_waitpoint(const Handle& handle, const WaitpointRequest& request) {
  const std::lock_guard lock(mutex_);
  FF_TRY(fence, engine_.runtime().fence_of(handle));
  WaitpointRequest admitted = request;
  FF_TRY_VOID(admit(admitted, ""));
  FF_TRY(reply, engine_.call(OpenWaitpointCommand{fence, std::move(admitted)}));
  return std::get<WaitpointToken>(reply);
}

}  // namespace flowfabric::testing
