// The public interface for webhooks.
#include <algorithm>

#include "base/check.hpp"
#include "core/admit_parts.hpp"
#include "core/hooks.hpp"
#include "core/ingress.hpp"
#include "engine/calls.hpp"
#include "engine/engine_impl.hpp"
#include "engine/reads.hpp"

namespace flowfabric {

namespace {

// A sender cannot do anything about these, and repeating the request would not help.
bool is_beyond_the_sender(Errc code) {
  switch (code) {
    case Errc::not_found:
    case Errc::already_terminal:
    case Errc::waitpoint_closed:
    case Errc::invalid_token:
    case Errc::permission_denied:
    case Errc::conflict:
    case Errc::invalid_argument:
    case Errc::payload_too_large: return true;
    default: return false;
  }
}

template <class T, class Use>
Result<HookReply> hook_reply(const Result<T>& result, Use use) {
  HookReply reply;
  if (result) {
    use(*result, reply);
    return reply;
  }
  if (!is_beyond_the_sender(result.error().code)) return Unexpected(result.error());
  reply.outcome = HookOutcome::dropped;
  reply.reason = std::string(to_string(result.error().code)) + ": " + result.error().message;
  return reply;
}

void note_signal(const SignalReply& signal, HookReply& reply) {
  reply.execution_id = signal.execution_id;
  reply.outcome = signal.duplicate                         ? HookOutcome::duplicate
                  : signal.effect == SignalEffect::ignored ? HookOutcome::dropped
                                                           : HookOutcome::delivered;
  if (reply.outcome == HookOutcome::dropped) reply.reason = "the signal makes no difference to the wait";
}

void note_created(const Created& created, HookReply& reply) {
  reply.execution_id = created.execution_id;
  reply.outcome = created.duplicate ? HookOutcome::duplicate : HookOutcome::created;
}

}  // namespace

Result<NewHook> Engine::create_hook(HookRequest request, Operator by) {
  return impl_->counted("create_hook", [&]() -> Result<NewHook> {
    FF_TRY_VOID(admit(request));
    FF_TRY_VOID(admit(by));
    return call_as<NewHook>(*impl_->runtime, CreateHookCommand{std::move(request), std::move(by)});
  });
}

Result<HookInfo> Engine::remove_hook(const std::string& name, Operator by) {
  return impl_->counted("remove_hook", [&]() -> Result<HookInfo> {
    FF_TRY_VOID(admit_hook_name(name));
    FF_TRY_VOID(admit(by));
    return call_as<HookInfo>(*impl_->runtime, RemoveHookCommand{name, std::move(by)});
  });
}

Result<NewHook> Engine::rotate_hook(const std::string& name, std::int64_t grace_ms, std::string secret, Operator by) {
  return impl_->counted("rotate_hook", [&]() -> Result<NewHook> {
    FF_TRY_VOID(admit_hook_name(name));
    FF_TRY_VOID(admit_grace(grace_ms));
    if (!secret.empty()) {
      FF_TRY_VOID(admit_parts::admit_text(secret, "secret", limits::min_hook_secret_bytes,
                                          limits::max_hook_secret_bytes, admit_parts::Content::no_controls));
    }
    FF_TRY_VOID(admit(by));
    return call_as<NewHook>(*impl_->runtime, RotateHookCommand{name, std::move(secret), grace_ms, std::move(by)});
  });
}

Result<std::vector<HookInfo>> Engine::list_hooks() {
  return impl_->counted("list_hooks", [&] { return reads::hooks(impl_->runtime->store()); });
}

Result<HookReply> Engine::receive_hook(const HookCall& call) {
  return impl_->counted("receive_hook", [&]() -> Result<HookReply> {
    FF_TRY(record, reads::hooks_record(impl_->runtime->store()));
    FF_TRY(now_us, impl_->runtime->store().now_us());
    FF_TRY(wish, receive(record, call, now_us / 1000));
    HookReply reply;
    if (const auto* challenge = std::get_if<HookChallenge>(&wish)) {
      reply.outcome = HookOutcome::challenge;
      reply.challenge = challenge->text;
      return reply;
    }
    if (auto* dropped = std::get_if<HookDropped>(&wish)) {
      reply.reason = std::move(dropped->reason);
      return reply;
    }
    if (auto* request = std::get_if<CreateRequest>(&wish)) return hook_reply(create(std::move(*request)), note_created);
    auto& signal = std::get<HookSignal>(wish);
    if (!signal.execution_id) return hook_reply(send_signal_by_token(signal.token, signal.request), note_signal);
    // A hook reaches executions of its namespace only.
    const auto name_space = namespace_of(*signal.execution_id);
    const auto hook = std::find_if(record.hooks.begin(), record.hooks.end(),
                                   [&](const HooksRecord::Hook& one) { return one.request.name == call.name; });
    if (name_space && *name_space != hook->request.name_space) {
      reply.reason = "not_found: there is no such execution in the namespace of the hook";
      return reply;
    }
    return hook_reply(send_signal(*signal.execution_id, signal.request), note_signal);
  });
}

}  // namespace flowfabric
