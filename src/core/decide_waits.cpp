// What a worker does to wait: opening waitpoints, and suspending its execution on them.
#include <algorithm>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/tokens.hpp"

namespace flowfabric {
namespace {

std::uint64_t digest_of(const SuspendRequest& request) {
  // Times are left out: a client that repeats a request computes them again.
  Encoder out;
  for (const WaitpointRequest& waitpoint : request.waitpoints) out.text(waitpoint.name);
  out.boolean(request.condition.has_value());
  Wait wait;
  wait.condition = request.condition.value_or(WaitCondition{});
  wait.veto = request.veto;
  wait.on_timeout = request.on_timeout;
  wait.position = request.position;
  wait.step_name = request.step_name;
  wait.reason = request.reason;
  WaitFacts waits;
  waits.wait = std::move(wait);
  encode_into(out, waits);
  out.text(request.idempotency_key);
  return digest64(out.take());
}

WaitpointToken token_of(const Execution& execution, const WaitpointFacts& waitpoint, const TokenSigner* signer) {
  WaitpointToken token{waitpoint.name, waitpoint.number, {}, waitpoint.token_expires_at};
  if (signer != nullptr) {
    token.token = signer->sign_waitpoint(
        {execution.id, waitpoint.number, waitpoint.generation, waitpoint.token_expires_at, waitpoint.name, {}});
  }
  return token;
}

std::vector<WaitpointToken> tokens_of_wait(const Execution& execution, const SuspendRequest& request,
                                           const TokenSigner* signer) {
  std::vector<WaitpointToken> tokens;
  for (const WaitpointRequest& asked : request.waitpoints) {
    for (const WaitpointFacts& waitpoint : execution.facts.waits->open) {
      if (waitpoint.name == asked.name) tokens.push_back(token_of(execution, waitpoint, signer));
    }
  }
  return tokens;
}

Result<void> check_room(const WaitFacts& waits, const std::vector<WaitpointRequest>& requests) {
  std::size_t open = requests.size();
  for (const WaitpointFacts& waitpoint : waits.open) {
    const bool named = std::any_of(requests.begin(), requests.end(),
                                   [&](const WaitpointRequest& request) { return request.name == waitpoint.name; });
    if (!named) ++open;
  }
  if (open <= limits::max_waitpoints) return {};
  return fail(Errc::overloaded,
              "waitpoints: the execution would have " + std::to_string(open) +
                  " open waitpoints; allowed: " + std::to_string(limits::max_waitpoints),
              "waitpoints");
}

// The open waitpoint of that name, or a new one.
WaitpointFacts& open_waitpoint(WaitFacts& waits, const WaitpointRequest& request, TimestampMs now) {
  WaitpointFacts* waitpoint = find_open(waits, request.name);
  if (waitpoint == nullptr) {
    waitpoint = &waits.open.emplace_back();
    waitpoint->name = request.name;
    waitpoint->number = ++waits.waitpoint_count;
    waitpoint->opened_at = now;
  }
  if (request.token_ttl_ms) waitpoint->token_expires_at = now + *request.token_ttl_ms;
  if (request.approval) {
    // What came before it was an approval is no decision.
    for (KeptSignal& kept : waits.signals) {
      if (!waitpoint->approval && kept.waitpoint_number == waitpoint->number) kept.waitpoint_number = 0;
    }
    waitpoint->approval = request.approval;
    waitpoint->approval->context.clear();
    waitpoint->approval->context_encoding.clear();
  }
  return *waitpoint;
}

void keep_context(Transition& transition, const WaitpointRequest& request, std::uint32_t number) {
  if (!request.approval) return;
  transition.add_satellite(SatelliteKind::approval_context, number,
                           encode(ApprovalContext{request.approval->context, request.approval->context_encoding}));
}

// Whoever sent early signals was not asked whether they may decide.
bool may_count(const WaitFacts& waits, const WaitpointFacts& waitpoint, const KeptSignal& kept) {
  if (!waitpoint.approval) return true;
  if (!check_may_decide(waitpoint, kept.signal, kept.unnamed)) return false;
  return std::none_of(waits.signals.begin(), waits.signals.end(), [&](const KeptSignal& earlier) {
    return earlier.counts && earlier.waitpoint_number == waitpoint.number &&
           earlier.signal.source == kept.signal.source;
  });
}

// Signals that are there already count in the order in which they came, until the wait is over.
void count_kept_signals(WaitFacts& waits) {
  for (KeptSignal& kept : waits.signals) {
    const WaitpointFacts* waitpoint = find_open(waits, kept.signal.waitpoint);
    if (waitpoint == nullptr || !waitpoint->waited_for) continue;
    if (kept.waitpoint_number != 0 && kept.waitpoint_number != waitpoint->number) continue;
    if (!may_count(waits, *waitpoint, kept) || !makes_difference(waits, kept.signal)) continue;
    kept.waitpoint_number = waitpoint->number;
    kept.counts = true;
    if (cause_of_end(waits)) return;
  }
}

WaitFacts waits_with(const Facts& facts, const SuspendRequest& request, TimestampMs timeout_at, TimestampMs now) {
  WaitFacts waits = facts.waits.value_or(WaitFacts{});
  for (const WaitpointRequest& asked : request.waitpoints) open_waitpoint(waits, asked, now).waited_for = true;
  Wait& wait = waits.wait.emplace();
  wait.number = ++waits.wait_count;
  wait.since = now;
  wait.timeout_at = timeout_at;
  wait.on_timeout = request.on_timeout;
  wait.escalate_ms = request.escalate_ms;
  wait.after_escalation = request.after_escalation;
  wait.resume_delay_ms = request.resume_delay_ms;
  wait.reason = request.reason;
  wait.position = request.position;
  wait.step_name = request.step_name;
  wait.condition = *request.condition;
  wait.veto = request.veto;
  count_kept_signals(waits);
  return waits;
}

std::string names_of(const std::vector<WaitpointRequest>& waitpoints) {
  std::string text;
  for (const WaitpointRequest& waitpoint : waitpoints) text += (text.empty() ? "" : ", ") + waitpoint.name;
  return text.substr(0, limits::max_reason_bytes);
}

// The request with its defaults. A waitpoint that was opened ahead as an approval is one, whether the request repeats that or not.
SuspendRequest completed(const SuspendRequest& request, const WaitFacts& waits) {
  SuspendRequest whole = request;
  for (WaitpointRequest& asked : whole.waitpoints) {
    for (const WaitpointFacts& open : waits.open) {
      if (open.name == asked.name && open.approval && !asked.approval) asked.approval = open.approval;
    }
  }
  fill_in_defaults(whole);
  // What is known of the waitpoint stays as it is, its context too.
  whole.waitpoints = request.waitpoints;
  return whole;
}

// The answer to a repeated call. If the wait has ended meanwhile its tokens are worth nothing.
SuspendReply repeated_reply(const Execution& execution, const SuspendRequest& request, const Release& first,
                            const TokenSigner* signer) {
  SuspendReply reply;
  reply.suspended = first.suspended;
  reply.wait = first.wait;
  const auto& wait = execution.facts.waits->wait;
  if (!wait || wait->number != first.wait) return reply;
  reply.timeout_at = wait->timeout_at;
  reply.tokens = tokens_of_wait(execution, request, signer);
  return reply;
}

}  // namespace

Result<Reply> decide_one(Workspace& workspace, const SuspendCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  Release release = release_of(command.fence, Release::Operation::suspend, digest_of(command.request));
  Facts& facts = slot->execution()->facts;
  if (is_repeat(facts, release)) {
    return repeated_reply(*slot->execution(), command.request, facts.release, context.signer);
  }
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));
  const SuspendRequest request = completed(command.request, facts.waits.value_or(WaitFacts{}));
  FF_TRY_VOID(admit_most_signals(request));
  if (request.position != 0 && facts.steps.contains(request.position)) {
    SuspendReply reply;
    reply.duplicate = true;
    return reply;
  }
  const TimestampMs timeout_at = request.timeout_ms ? context.now + *request.timeout_ms : request.timeout_at;
  if (timeout_at != 0 && timeout_at <= context.now) {
    return fail(Errc::invalid_argument, "timeout_at: is in the past", "timeout_at");
  }
  FF_TRY_VOID(check_room(facts.waits.value_or(WaitFacts{}), request.waitpoints));

  WaitFacts waits = waits_with(facts, request, timeout_at, context.now);
  const auto cause = cause_of_end(waits);
  const std::string holder = facts.lease->worker_instance_id;
  release.wait = waits.wait->number;
  release.suspended = !cause;
  SuspendReply reply;
  reply.wait = release.wait;
  reply.suspended = release.suspended;
  facts.release = std::move(release);
  if (cause) {
    facts.waits = std::move(waits);
    reply.outcome = end_wait(*slot, context, *cause, {holder, {}});
    return reply;
  }
  Transition transition(*slot, context);
  interrupt_attempt(transition);
  begin_wait(transition, std::move(waits));
  for (const WaitpointRequest& asked : request.waitpoints) {
    keep_context(transition, asked, find_open(*facts.waits, asked.name)->number);
  }
  transition.record(EventType::suspended, holder, names_of(request.waitpoints), timeout_at);
  reply.timeout_at = timeout_at;
  reply.tokens = tokens_of_wait(*slot->execution(), request, context.signer);
  return reply;
}

Result<Reply> decide_one(Workspace& workspace, const OpenWaitpointCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));
  Facts& facts = slot->execution()->facts;
  WaitFacts waits = facts.waits.value_or(WaitFacts{});
  // A repetition, also by a later run of the handler, gets the waitpoint that is there.
  if (const WaitpointFacts* open = find_open(waits, command.request.name)) {
    return token_of(*slot->execution(), *open, context.signer);
  }
  FF_TRY_VOID(check_room(waits, {command.request}));
  const WaitpointFacts opened = open_waitpoint(waits, command.request, context.now);
  Transition transition(*slot, context);
  facts.waits = std::move(waits);
  keep_context(transition, command.request, opened.number);
  transition.record(EventType::waitpoint_opened, facts.lease->worker_instance_id, opened.name);
  return token_of(*slot->execution(), opened, context.signer);
}

}  // namespace flowfabric
