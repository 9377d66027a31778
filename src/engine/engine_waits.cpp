// The public interface for waits, signals and approvals.
#include "base/check.hpp"
#include "core/ingress.hpp"
#include "core/waits.hpp"
#include "engine/calls.hpp"
#include "engine/engine_impl.hpp"
#include "engine/reads.hpp"

namespace flowfabric {
namespace {

// Counts the signal before its sender has the answer.
Engine::Done<SignalReply> counting_signals(Runtime& runtime, Engine::Done<SignalReply> done) {
  return [&metrics = runtime.metrics(), done = std::move(done)](const Result<SignalReply>& reply) {
    if (reply) metrics.signal_answered(*reply);
    done(reply);
  };
}

}  // namespace

Result<SuspendReply> Engine::suspend(const Handle& handle, SuspendRequest request) {
  return impl_->counted("suspend", [&]() -> Result<SuspendReply> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit(request));
    FF_TRY(reply, call_as<SuspendReply>(*impl_->runtime, SuspendCommand{fence, std::move(request)}));
    // A repeated call is told that it was not suspended, and finds what the first one was told in the store.
    if (!reply.suspended && !reply.duplicate && !reply.outcome) {
      FF_TRY(execution, reads::load_execution(impl_->runtime->store(), fence.execution_id));
      FF_TRY(outcome, reads::last_wait(impl_->runtime->store(), execution));
      if (outcome && outcome->number == reply.wait) reply.outcome = std::move(outcome);
    }
    return reply;
  });
}

Result<WaitpointToken> Engine::open_waitpoint(const Handle& handle, WaitpointRequest request) {
  return impl_->counted("open_waitpoint", [&]() -> Result<WaitpointToken> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit(request, ""));
    return call_as<WaitpointToken>(*impl_->runtime, OpenWaitpointCommand{fence, std::move(request)});
  });
}

Result<SignalReply> Engine::send_signal(const ExecutionId& id, SignalRequest request) {
  Answer<Result<SignalReply>> answer;
  send_signal_async(id, std::move(request), [&](Result<SignalReply> reply) { answer.give(std::move(reply)); });
  return answer.take();
}

void Engine::send_signal_async(const ExecutionId& id, SignalRequest request, Done<SignalReply> done) {
  const auto timer = impl_->timer("send_signal");
  Result<void> admitted = admit_execution_id(id);
  if (admitted) admitted = admit(request, false);
  if (!admitted) return refuse(timer, done, admitted.error());
  submit_as(*impl_->runtime, timer, SignalCommand{id, std::move(request)},
            counting_signals(*impl_->runtime, std::move(done)));
}

Result<SignalReply> Engine::send_signal_by_token(const std::string& token, SignalRequest request) {
  Answer<Result<SignalReply>> answer;
  send_signal_by_token_async(token, std::move(request),
                             [&](Result<SignalReply> reply) { answer.give(std::move(reply)); });
  return answer.take();
}

// Checking the token may block for a moment: it may have been signed with a key that this engine has not read yet.
void Engine::send_signal_by_token_async(const std::string& token, SignalRequest request, Done<SignalReply> done) {
  const auto timer = impl_->timer("send_signal");
  auto claims = impl_->runtime->waitpoint_claims(token);
  if (!claims) return refuse(timer, done, claims.error());
  if (auto admitted = admit(request, true); !admitted) return refuse(timer, done, admitted.error());
  if (!request.waitpoint.empty() && request.waitpoint != claims->waitpoint) {
    return refuse(timer, done,
                  Error{Errc::invalid_argument, "waitpoint: the token is for another waitpoint", "waitpoint", {}});
  }
  const ExecutionId id = claims->execution_id;
  submit_as(*impl_->runtime, timer, SignalCommand{id, std::move(request), std::move(*claims)},
            counting_signals(*impl_->runtime, std::move(done)));
}

Result<SignalReply> Engine::decide_approval(const ExecutionId& id, DecideRequest request) {
  return impl_->counted("decide_approval", [&]() -> Result<SignalReply> {
    FF_TRY_VOID(admit_execution_id(id));
    FF_TRY_VOID(admit(request));
    SignalRequest signal;
    signal.waitpoint = std::move(request.waitpoint);
    signal.name = to_string(request.decision);
    signal.payload = std::move(request.comment);
    signal.payload_encoding = "text/plain";
    signal.source = std::move(request.actor);
    FF_TRY(reply, call_as<SignalReply>(*impl_->runtime, SignalCommand{id, std::move(signal), {}, true}));
    impl_->runtime->metrics().signal_answered(reply);
    return reply;
  });
}

Result<void> Engine::resume(const ExecutionId& id, Operator by) {
  return impl_->counted("resume", [&]() -> Result<void> {
    FF_TRY_VOID(admit_execution_id(id));
    FF_TRY_VOID(admit(by));
    return call_done(*impl_->runtime, ResumeCommand{id, std::move(by)});
  });
}

Result<void> Engine::close_waitpoint(const ExecutionId& id, const std::string& waitpoint, Operator by) {
  return impl_->counted("close_waitpoint", [&]() -> Result<void> {
    FF_TRY_VOID(admit_execution_id(id));
    FF_TRY_VOID(admit_waitpoint_name(waitpoint));
    FF_TRY_VOID(admit(by));
    return call_done(*impl_->runtime, CloseWaitpointCommand{id, waitpoint, std::move(by)});
  });
}

Result<WaitpointToken> Engine::reissue_token(const ExecutionId& id, ReissueRequest request, Operator by) {
  return impl_->counted("reissue_token", [&]() -> Result<WaitpointToken> {
    FF_TRY_VOID(admit_execution_id(id));
    FF_TRY_VOID(admit(request));
    FF_TRY_VOID(admit(by));
    return call_as<WaitpointToken>(*impl_->runtime, ReissueTokenCommand{id, std::move(request), std::move(by)});
  });
}

Result<ExecutionWaits> Engine::describe_waits(const ExecutionId& id) {
  return impl_->counted("describe_waits", [&]() -> Result<ExecutionWaits> {
    FF_TRY_VOID(admit_execution_id(id));
    return reads::execution_waits(impl_->runtime->store(), id);
  });
}

Result<ListWaitsReply> Engine::list_waits(const ListWaitsRequest& request) {
  return impl_->counted("list_waits", [&] { return reads::waits(impl_->runtime->store(), request); });
}

Result<TokenInfo> Engine::describe_token(const std::string& token) {
  return impl_->counted("describe_token", [&]() -> Result<TokenInfo> {
    FF_TRY(claims, impl_->runtime->waitpoint_claims(token));
    return reads::token_info(impl_->runtime->store(), claims);
  });
}

}  // namespace flowfabric
