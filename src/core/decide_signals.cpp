// What arrives from outside for an execution that waits, or will: signals, decisions, and the operator's means.
#include <algorithm>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/state.hpp"
#include "core/tokens.hpp"

namespace flowfabric {
namespace {

// A caller with a token learns nothing about executions that the token is not for.
Result<Slot*> addressed_execution(Workspace& workspace, const SignalCommand& command, const Context& context) {
  auto slot = settled_execution(workspace, command.id, context);
  if (!command.token) return slot;
  if (!slot && slot.error().code == Errc::not_found) return refuse_wait_token();
  if (command.token->expires_at != 0 && command.token->expires_at <= context.now) return refuse_wait_token();
  return slot;
}

std::string key_digest(const std::string& waitpoint, const std::string& key) {
  Encoder out;
  out.text(waitpoint);
  out.text(key);
  const Sha256 digest = sha256(out.take());
  return std::string(reinterpret_cast<const char*>(digest.data()), 16);
}

const SignalKey* find_key(const WaitFacts& waits, const std::string& digest) {
  const auto found =
      std::find_if(waits.keys.begin(), waits.keys.end(), [&](const SignalKey& key) { return key.digest == digest; });
  return found == waits.keys.end() ? nullptr : &*found;
}

void remember_key(WaitFacts& waits, std::string digest, std::uint64_t number, SignalEffect effect) {
  if (waits.keys.size() >= limits::max_signal_keys) waits.keys.erase(waits.keys.begin());
  waits.keys.push_back({std::move(digest), number, effect});
}

Unexpected<Error> refuse_closed(const std::string& name) {
  return fail(Errc::waitpoint_closed, "waitpoint \"" + name + "\" is closed and takes no more signals", "waitpoint");
}

// The open waitpoint that the signal is for. Null: there is none of that name yet.
Result<WaitpointFacts*> addressed_waitpoint(WaitFacts& waits, const SignalCommand& command) {
  if (!command.token) {
    WaitpointFacts* open = find_open(waits, command.request.waitpoint);
    if (open == nullptr && command.decides) {
      return fail(Errc::waitpoint_closed, "there is no open approval \"" + command.request.waitpoint + "\"",
                  "waitpoint");
    }
    return open;
  }
  const auto open = std::find_if(waits.open.begin(), waits.open.end(), [&](const WaitpointFacts& waitpoint) {
    return waitpoint.number == command.token->number;
  });
  if (open == waits.open.end()) return refuse_closed(command.token->waitpoint);
  return &*open;
}

// Also with a key that was used: its bearer learns nothing any more.
bool is_revoked(const WaitFacts& waits, const std::optional<WaitpointClaims>& token) {
  return token && std::any_of(waits.open.begin(), waits.open.end(), [&](const WaitpointFacts& waitpoint) {
           return waitpoint.number == token->number && waitpoint.generation != token->generation;
         });
}

Result<void> check_source(const SignalCommand& command) {
  if (!command.token || command.token->source.empty() || command.request.source.empty()) return {};
  if (command.request.source == command.token->source) return {};
  return fail(Errc::invalid_argument, "source: the token speaks for another sender", "source");
}

// Every signal at an approval is a decision of a person.
Result<void> check_decision(const WaitFacts& waits, const WaitpointFacts& waitpoint, const Signal& signal,
                            bool unnamed) {
  FF_TRY_VOID(check_may_decide(waitpoint, signal, unnamed));
  for (const Decision& decision : decisions_at(waits, waitpoint.number)) {
    if (decision.actor != signal.source) continue;
    return fail(Errc::conflict, signal.source + " has decided already: " + std::string(to_string(decision.decision)),
                "source");
  }
  return {};
}

// Signals that nobody waits for do not keep away those that count. How many count is bounded by the condition.
Result<void> check_kept(const WaitFacts& waits, const Signal& signal, bool counts) {
  std::size_t bytes = signal.payload.size();
  std::size_t of_name = 1;
  std::size_t held = 0;
  for (const KeptSignal& kept : waits.signals) {
    if (kept.counts != counts) continue;
    ++held;
    bytes += kept.signal.payload.size();
    if (kept.signal.waitpoint == signal.waitpoint) ++of_name;
  }
  const auto full = [](const std::string& what, std::size_t most) {
    return fail(Errc::overloaded,
                "the execution holds " + what + " that no wait has used yet; allowed: " + std::to_string(most));
  };
  if (!counts && of_name > limits::max_waitpoint_signals) {
    return full(std::to_string(of_name - 1) + " signals for \"" + signal.waitpoint + "\"",
                limits::max_waitpoint_signals);
  }
  if (held >= limits::max_kept_signals) return full(std::to_string(held) + " signals", limits::max_kept_signals);
  if (bytes > limits::max_kept_signal_bytes) return full("payloads of signals", limits::max_kept_signal_bytes);
  return {};
}

Signal signal_of(const SignalCommand& command, const WaitpointFacts* waitpoint, std::uint64_t number, TimestampMs now) {
  const SignalRequest& request = command.request;
  Signal signal;
  signal.number = number;
  signal.waitpoint = waitpoint != nullptr ? waitpoint->name : request.waitpoint;
  signal.name = request.name.empty() ? signal.waitpoint : request.name;
  signal.payload = request.payload;
  signal.payload_encoding = request.payload_encoding;
  signal.source = command.token && !command.token->source.empty() ? command.token->source : request.source;
  signal.delivered_at = now;
  return signal;
}

void record_delivery(Slot& slot, const Context& context, const Signal& signal, SignalEffect effect) {
  Transition transition(slot, context);
  transition.record(EventType::signal_delivered, signal.source.empty() ? "anonymous" : signal.source,
                    "\"" + signal.name + "\" at \"" + signal.waitpoint + "\": " + std::string(to_string(effect)));
}

std::string name_of_waitpoint(const SignalCommand& command) {
  return command.token ? command.token->waitpoint : command.request.waitpoint;
}

// An open waitpoint, for the operator.
Result<WaitpointFacts*> existing_waitpoint(Slot& slot, const std::string& name) {
  Facts& facts = slot.execution()->facts;
  if (facts.phase == Phase::terminal) return Unexpected(already_terminal(*slot.execution()));
  WaitpointFacts* waitpoint = facts.waits ? find_open(*facts.waits, name) : nullptr;
  if (waitpoint != nullptr) return waitpoint;
  return fail(Errc::not_found, "the execution has no open waitpoint \"" + name + "\"", "waitpoint");
}

}  // namespace

Result<void> check_may_decide(const WaitpointFacts& waitpoint, const Signal& signal, bool unnamed) {
  if (signal.name != to_string(ApprovalDecision::approve) && signal.name != to_string(ApprovalDecision::reject)) {
    return fail(Errc::invalid_argument,
                "name: waitpoint \"" + waitpoint.name + "\" is an approval; allowed: approve, reject", "name");
  }
  if (signal.source.empty()) {
    return fail(Errc::invalid_argument, "source: is empty; an approval needs the name of the person", "source");
  }
  const auto& approvers = waitpoint.approval->approvers;
  if (!approvers.empty() && unnamed) {
    return fail(Errc::permission_denied,
                "token: it names nobody, and only the approvers may decide; each of them needs a token of their own",
                "token");
  }
  if (!approvers.empty() && std::find(approvers.begin(), approvers.end(), signal.source) == approvers.end()) {
    return fail(Errc::permission_denied, "source: " + signal.source + " is not one of the approvers", "source");
  }
  return {};
}

Result<Reply> decide_one(Workspace& workspace, const SignalCommand& command, const Context& context) {
  FF_TRY(slot, addressed_execution(workspace, command, context));
  Facts& facts = slot->execution()->facts;
  WaitFacts waits = facts.waits.value_or(WaitFacts{});
  if (is_revoked(waits, command.token)) return refuse_wait_token();
  const std::string& key = command.request.idempotency_key;
  const std::string digest = key.empty() ? "" : key_digest(name_of_waitpoint(command), key);
  if (const SignalKey* used = key.empty() ? nullptr : find_key(waits, digest)) {
    return SignalReply{command.id, used->number, used->effect, true};
  }
  if (facts.phase == Phase::terminal) return Unexpected(already_terminal(*slot->execution()));
  FF_TRY_VOID(check_source(command));
  FF_TRY(waitpoint, addressed_waitpoint(waits, command));
  const Signal signal = signal_of(command, waitpoint, waits.signal_count + 1, context.now);
  const bool unnamed = command.token && command.token->source.empty();
  if (waitpoint != nullptr && waitpoint->approval) {
    FF_TRY_VOID(check_decision(waits, *waitpoint, signal, unnamed));
  } else if (command.decides) {
    return fail(Errc::invalid_argument, "waitpoint: \"" + signal.waitpoint + "\" is not an approval", "waitpoint");
  }
  const bool counts = waitpoint != nullptr && waitpoint->waited_for;
  if (counts && !makes_difference(waits, signal)) return SignalReply{command.id, 0, SignalEffect::ignored, false};
  FF_TRY_VOID(check_kept(waits, signal, counts));

  waits.signal_count = signal.number;
  // What comes by name before the wait and does not count there is for the next wait of that name; decisions are for theirs.
  const bool bound = waitpoint != nullptr && (counts || command.token || waitpoint->approval);
  waits.signals.push_back({signal, bound ? waitpoint->number : 0, counts, unnamed});
  const auto cause = counts ? cause_of_end(waits) : std::nullopt;
  const SignalEffect effect = cause ? SignalEffect::resumed : counts ? SignalEffect::accepted : SignalEffect::kept;
  if (!key.empty()) remember_key(waits, digest, signal.number, effect);
  facts.waits = std::move(waits);
  record_delivery(*slot, context, signal, effect);
  if (cause) end_wait(*slot, context, *cause, {signal.source.empty() ? "anonymous" : signal.source, {}});
  return SignalReply{command.id, signal.number, effect, false};
}

Result<Reply> decide_one(Workspace& workspace, const ResumeCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  const Facts& facts = slot->execution()->facts;
  if (facts.phase == Phase::terminal) return Unexpected(already_terminal(*slot->execution()));
  if (facts.phase != Phase::suspended) {
    return fail(Errc::conflict, "only a suspended execution can be resumed; this one is " +
                                    std::string(to_string(public_state(facts))));
  }
  end_wait(*slot, context, WaitCause::by_operator, command.by);
  return Done{};
}

Result<Reply> decide_one(Workspace& workspace, const CloseWaitpointCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  FF_TRY(waitpoint, existing_waitpoint(*slot, command.waitpoint));
  WaitFacts& waits = *slot->execution()->facts.waits;
  if (waitpoint->waited_for && waits.wait->timeout_at == 0) {
    std::vector<std::string> rest;
    for (const WaitpointFacts& open : waits.open) {
      if (open.waited_for && open.name != command.waitpoint) rest.push_back(open.name);
    }
    if (!can_hold(waits.wait->condition, rest, signals_of_wait(waits))) {
      return fail(Errc::conflict,
                  "without waitpoint \"" + command.waitpoint +
                      "\" the wait could never end; resume or cancel the execution instead",
                  "waitpoint");
    }
  }
  Transition transition(*slot, context);
  const std::uint32_t number = waitpoint->number;
  std::erase_if(waits.signals, [&](const KeptSignal& kept) { return kept.waitpoint_number == number && !kept.counts; });
  std::erase_if(waits.open, [&](const WaitpointFacts& open) { return open.number == number; });
  const std::string& reason = command.by.reason;
  transition.record(EventType::waitpoint_closed, command.by.name,
                    command.waitpoint + (reason.empty() ? "" : ": " + reason));
  return Done{};
}

Result<Reply> decide_one(Workspace& workspace, const ReissueTokenCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  const ReissueRequest& request = command.request;
  FF_TRY(waitpoint, existing_waitpoint(*slot, request.waitpoint));
  if (request.revoke_earlier) ++waitpoint->generation;
  const TimestampMs expires_at =
      request.token_ttl_ms ? context.now + *request.token_ttl_ms : waitpoint->token_expires_at;
  WaitpointToken token{waitpoint->name, waitpoint->number, {}, expires_at};
  if (context.signer != nullptr) {
    token.token = context.signer->sign_waitpoint(
        {command.id, waitpoint->number, waitpoint->generation, expires_at, waitpoint->name, request.source});
  }
  Transition transition(*slot, context);
  transition.record(EventType::waitpoint_reissued, command.by.name,
                    waitpoint->name + (request.source.empty() ? "" : " for " + request.source) +
                        (request.revoke_earlier ? "; earlier tokens are revoked" : ""));
  return token;
}

}  // namespace flowfabric
