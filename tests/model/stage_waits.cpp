// The part of waits: suspending, signals, decisions, and the operator's means.
#include "base/check.hpp"
#include "core/waits.hpp"
#include "engine/reads.hpp"
#include "model/stage.hpp"

namespace flowfabric::test {
namespace {

const std::vector<std::string> waitpoints = {"a", "b", "ok"};
const std::vector<std::string> names = {"", "go", "approve", "reject"};
const std::vector<std::string> people = {"", "ann", "bob"};

WaitpointRequest waitpoint_of(std::uint32_t n) {
  WaitpointRequest waitpoint;
  waitpoint.name = waitpoints[n % 3];
  if (n % 4 == 0) waitpoint.token_ttl_ms = 1 + n % 5000;
  if (waitpoint.name != "ok") return waitpoint;
  ApprovalRequest& approval = waitpoint.approval.emplace();
  approval.title = "May it go on?";
  approval.context = std::string(n % 7, 'c');
  if (n % 2 == 0) approval.approvers = {"ann", "bob"};
  approval.needed = 1 + n / 3 % 2;
  return waitpoint;
}

WaitCondition condition_of(std::uint32_t n) {
  SignalMatch match;
  match.waitpoint = n % 3 == 0 ? "" : "a";
  if (n % 5 == 0) match.fields = {{"/n", std::to_string(n % 2)}};
  WaitCondition leaf;
  if (n % 2 == 0) {
    leaf.signal = match;
  } else {
    leaf.count = SignalCount{1 + n / 2 % 3, static_cast<CountBy>(n / 6 % 3), {match}};
  }
  if (n % 7 < 4) return leaf;
  WaitCondition second;
  second.signal = SignalMatch{"", n % 4 == 0 ? "go" : "", {}, {}};
  WaitCondition both;
  (n % 7 == 4 ? both.any_of : both.all_of) = std::vector{leaf, second};
  return both;
}

}  // namespace

void Stage::suspend(std::uint32_t n, const Fence& fence) {
  if (n % 6 == 0) return keep_token(driver_.call(OpenWaitpointCommand{fence, waitpoint_of(n / 6)}));
  SuspendRequest request;
  request.waitpoints = {waitpoint_of(n)};
  if (n % 4 != 0) request.waitpoints.push_back(waitpoint_of(n + 1));
  request.waitpoints.back().approval.reset();
  if (n % 3 == 0) request.condition = condition_of(n / 3);
  if (n % 11 == 0) request.veto = condition_of(n / 5);
  if (n % 5 != 0) {
    request.timeout_ms = 1 + n % 7000;
    request.on_timeout = static_cast<OnWaitTimeout>(n / 5 % 5);
  }
  if (request.on_timeout == OnWaitTimeout::escalate) {
    request.escalate_ms = 1 + n % 900;
    request.after_escalation = static_cast<OnWaitTimeout>(n / 25 % 4);
  }
  if (n % 8 == 0) request.resume_delay_ms = n % 1000;
  if (n % 9 < 4) request.position = 1 + n / 3 % 6;
  if (request.position != 0) request.step_name = "wait";
  const auto admitted = admit(request);
  if (!admitted) return say("suspend", admitted.error());
  keep_token(driver_.call(SuspendCommand{fence, std::move(request)}));
}

void Stage::keep_token(const Result<Reply>& reply) {
  say("wait", reply);
  if (!reply) return;
  if (const auto* token = std::get_if<WaitpointToken>(&*reply)) tokens_.push_back(token->token);
  if (const auto* suspended = std::get_if<SuspendReply>(&*reply)) {
    for (const WaitpointToken& token : suspended->tokens) tokens_.push_back(token.token);
  }
}

void Stage::signal(const Step& step) {
  const std::uint32_t b = step.b;
  SignalCommand command;
  command.id = id(step.a);
  command.request.waitpoint = waitpoints[b % 3];
  command.request.name = names[b / 3 % 4];
  command.request.source = people[b / 12 % 3];
  command.request.payload = step.a % 9 == 0 ? "none" : "{\"n\": " + std::to_string(step.a % 2) + "}";
  if (b % 5 == 0) command.request.idempotency_key = "key-" + std::to_string(step.a % 4);
  if (b % 7 == 0) {
    command.decides = true;
    command.request.waitpoint = "ok";
    command.request.name = step.a % 3 == 0 ? "reject" : "approve";
  }
  if (b % 4 == 1 && !tokens_.empty()) {
    std::string token = tokens_[step.a % tokens_.size()];
    if (b % 24 == 1) token[token.size() / 2] ^= 1;
    const auto claims = driver_.runtime().waitpoint_claims(token);
    if (!claims) return say("token", claims.error());
    command.id = claims->execution_id;
    command.token = *claims;
    command.decides = false;
    command.request.waitpoint.clear();
  }
  say("signal", driver_.call(command));
}

void Stage::operate_on_wait(const Step& step) {
  const Operator by{"operator", step.b % 2 == 0 ? "" : "a reason"};
  const std::string& name = waitpoints[step.b / 2 % 3];
  switch (step.b % 4) {
    case 0: return say("resume", driver_.call(ResumeCommand{id(step.a), by}));
    case 1: return say("close", driver_.call(CloseWaitpointCommand{id(step.a), name, by}));
    case 2: {
      ReissueTokenCommand command{id(step.a), {name, people[step.a % 3], {}, step.b % 3 == 0}, by};
      if (step.a % 4 == 0) command.request.token_ttl_ms = 1 + step.a % 3000;
      return keep_token(driver_.call(command));
    }
    default: return list_waits(step);
  }
}

void Stage::list_waits(const Step& step) {
  ListWaitsRequest request;
  request.limit = 1 + step.a % 3;
  request.approvals = step.a % 2 == 0;
  if (step.b % 3 == 0) request.name_space = "default";
  do {
    const auto found = reads::waits(driver_.store(), request);
    FF_CHECK(found.has_value());
    for (const WaitingExecution& waiting : found->waits) lines_.push_back(show(waiting));
    request.cursor = found->next_cursor;
    lines_.push_back("waits: " + request.cursor);
  } while (!request.cursor.empty());
}

void Stage::describe_waits(const ExecutionId& chosen) {
  const auto waits = reads::execution_waits(driver_.store(), chosen);
  FF_CHECK(waits.has_value());
  if (*waits == ExecutionWaits{}) return;
  lines_.push_back(show(*waits));
}

}  // namespace flowfabric::test
