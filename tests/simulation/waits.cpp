// Workers that wait, clients that send signals and decide, and operators that resume, close and reissue.
#include <algorithm>

#include "core/waits.hpp"
#include "simulation/world.hpp"

namespace flowfabric::simulation {
namespace {

constexpr std::size_t most_tokens = 24;
constexpr std::size_t most_signals = 40;

const std::vector<std::string> waitpoint_names = {"a", "b", "ok"};
const std::vector<std::string> signal_names = {"", "go", "approve", "reject"};
const std::vector<std::string> people = {"", "ann", "bob", "eve"};
const std::vector<std::string> payload_states = {"open", "paid"};

const WaitpointFacts* find_number(const Facts& facts, std::uint32_t number) {
  if (!facts.waits) return nullptr;
  for (const WaitpointFacts& waitpoint : facts.waits->open) {
    if (waitpoint.number == number) return &waitpoint;
  }
  return nullptr;
}

}  // namespace

// ---------------------------------------------------------------- workers

SignalMatch World::random_match(const std::vector<WaitpointRequest>& waitpoints) {
  SignalMatch match;
  if (random_.chance(800)) match.waitpoint = random_.pick(waitpoints).name;
  if (random_.chance(250)) match.name = random_.pick(signal_names);
  if (random_.chance(250)) match.sources = {"ann", "bob"};
  if (random_.chance(200)) match.fields.push_back({"/state", "\"" + random_.pick(payload_states) + "\""});
  return match;
}

WaitCondition World::random_condition(const std::vector<WaitpointRequest>& waitpoints, int depth) {
  WaitCondition condition;
  const auto kind = random_.below(depth > 2 ? 2 : 4);
  if (kind == 0) {
    condition.signal = random_match(waitpoints);
  } else if (kind == 1) {
    SignalCount& count = condition.count.emplace();
    count.n = static_cast<std::uint32_t>(random_.between(1, 3));
    count.by = static_cast<CountBy>(random_.below(3));
    for (auto matches = random_.between(1, 2); matches > 0; --matches) count.of.push_back(random_match(waitpoints));
  } else {
    std::vector<WaitCondition> members;
    for (auto left = random_.between(1, 3); left > 0; --left)
      members.push_back(random_condition(waitpoints, depth + 1));
    (kind == 2 ? condition.all_of : condition.any_of) = std::move(members);
  }
  return condition;
}

WaitpointRequest World::random_waitpoint(const std::string& name) {
  WaitpointRequest waitpoint;
  waitpoint.name = name;
  if (random_.chance(300)) waitpoint.token_ttl_ms = random_.between(1, 6000);
  if (name != "ok" || random_.chance(250)) return waitpoint;
  ApprovalRequest& approval = waitpoint.approval.emplace();
  approval.title = "May it go on?";
  approval.context = "the context";
  if (random_.chance(500)) approval.approvers = {"ann", "bob"};
  approval.needed = static_cast<std::uint32_t>(random_.between(1, 2));
  approval.rejections = static_cast<std::uint32_t>(random_.between(1, 2));
  return waitpoint;
}

void World::choose_timeout(SuspendRequest& request) {
  if (random_.chance(350)) return;
  request.timeout_ms = random_.between(1, 8000);
  request.on_timeout = static_cast<OnWaitTimeout>(random_.below(5));
  if (request.on_timeout != OnWaitTimeout::escalate) return;
  request.escalate_ms = random_.between(1, 5000);
  request.after_escalation = static_cast<OnWaitTimeout>(random_.below(4));
}

Command World::random_wait(const Held& held) {
  if (random_.chance(200)) return OpenWaitpointCommand{held.fence, random_waitpoint(random_.pick(waitpoint_names))};
  SuspendRequest request;
  for (const std::string& name : waitpoint_names) {
    if (random_.chance(500)) request.waitpoints.push_back(random_waitpoint(name));
  }
  if (request.waitpoints.empty()) request.waitpoints.push_back(random_waitpoint(random_.pick(waitpoint_names)));
  if (random_.chance(600)) request.condition = random_condition(request.waitpoints, 0);
  if (random_.chance(200)) request.veto = random_condition(request.waitpoints, 1);
  choose_timeout(request);
  if (random_.chance(200)) request.resume_delay_ms = random_.between(1, 3000);
  request.idempotency_key = fmt::format("wait-{}", ++waits_sent_);
  if (random_.chance(300)) {
    request.position = next_position(held);
    request.step_name = fmt::format("step-{}", request.position);
  }
  if (!admit(request)) {  // it could never hold
    request.condition.reset();
    request.veto.reset();
    if (const auto admitted = admit(request); !admitted) {
      violated("a request of the simulation is valid", "{}", admitted.error().message);
    }
  }
  return SuspendCommand{held.fence, std::move(request)};
}

// A new lease is still good when the call arrives.
void World::wait_at_once(Worker& worker) {
  if (worker.held.empty() || !random_.chance(400)) return;
  Held& held = worker.held.back();
  Command command = random_wait(held);
  held.sent.push_back(command);
  send_fenced(held, std::move(command));
}

void World::keep_token(const ExecutionId& id, int incarnation, const WaitpointToken& token) {
  const Shadow* shadow = watcher_->find(id);
  if (token.token.empty() || token.number == 0) violated("a waitpoint has a token", "{}", to_string(id));
  if (shadow->incarnation == incarnation && token.number > shadow->execution.facts.waits->waitpoint_count) {
    violated("an acknowledged waitpoint exists", "waitpoint {} of {}", token.number, to_string(id));
  }
  if (tokens_.size() >= most_tokens) tokens_.erase(tokens_.begin());
  tokens_.push_back({id, incarnation, token});
}

void World::judge_wait(const Held& held, const Reply& reply) {
  if (const auto* token = std::get_if<WaitpointToken>(&reply)) {
    return keep_token(held.fence.execution_id, held.incarnation, *token);
  }
  const auto& suspended = std::get<SuspendReply>(reply);
  for (const WaitpointToken& token : suspended.tokens) {
    keep_token(held.fence.execution_id, held.incarnation, token);
  }
  if (suspended.duplicate) return;
  const Shadow* shadow = watcher_->find(held.fence.execution_id);
  if (suspended.wait == 0 || suspended.wait > shadow->execution.facts.waits->wait_count) {
    violated("an acknowledged wait exists", "wait {} of {}", suspended.wait, to_string(held.fence.execution_id));
  }
  if (suspended.suspended && suspended.outcome) {
    violated("a wait ends or goes on", "wait {} of {}", suspended.wait, to_string(held.fence.execution_id));
  }
}

// A claim brings the outcome of the last wait of this life.
void World::check_last_wait(const ClaimedExecution& claimed) {
  const Shadow* shadow = watcher_->find(claimed.execution_id);
  const auto& waits = shadow->execution.facts.waits;
  const Life& life = shadow->life;
  if (life.leases().rbegin()->first > claimed.lease.lease_epoch || life.ended()) return;
  if (life.replays() > 0 && life.replayed_epoch() >= claimed.lease.lease_epoch) return;
  const std::uint32_t there = waits && waits->has_outcome ? shadow->waits.last_ended : 0;
  const std::uint32_t brought = claimed.last_wait ? claimed.last_wait->number : 0;
  // Its holder may have waited again, without giving the lease back.
  const bool again = life.waited_under() == claimed.lease.lease_epoch;
  if (brought != there && !(again && brought < there)) {
    violated("a claim says why it goes on", "{} brings wait {} instead of {}", to_string(claimed.execution_id), brought,
             there);
  }
}

// ---------------------------------------------------------------- clients

void World::signal_something() {
  const auto dice = random_.below(100);
  if (!signals_.empty() && dice < 20) return send_signal(random_.pick(signals_));
  if (!tokens_.empty() && dice < 50) return signal_by_token();
  const auto id = waiting_or_any();
  if (!id) return;
  SentSignal sent;
  sent.incarnation = watcher_->find(*id)->incarnation;
  sent.command.id = *id;
  sent.command.request = random_signal();
  sent.command.request.waitpoint = some_waitpoint(*id);
  if (dice >= 85) {
    sent.command.decides = true;
    sent.command.request.waitpoint = "ok";
    sent.command.request.name = random_.chance(700) ? "approve" : "reject";
    sent.command.request.source = random_.chance(500) ? "ann" : "bob";
  }
  remember_and_send(std::move(sent));
}

// Those that wait are more interesting.
std::optional<ExecutionId> World::waiting_or_any() {
  std::vector<ExecutionId> waiting;
  for (const auto& [key, shadow] : watcher_->shadows()) {
    if (!shadow.removed && (shadow.life.suspended() || shadow.life.held())) waiting.push_back(shadow.execution.id);
  }
  if (waiting.empty() || random_.chance(100)) return any_execution();
  return random_.pick(waiting);
}

// An open one, if there is one, most of the time.
std::string World::some_waitpoint(const ExecutionId& id) {
  const auto& waits = watcher_->find(id)->execution.facts.waits;
  if (!waits || waits->open.empty() || random_.chance(300)) return random_.pick(waitpoint_names);
  return random_.pick(waits->open).name;
}

SignalRequest World::random_signal() {
  SignalRequest request;
  request.name = random_.pick(signal_names);
  request.source = random_.pick(people);
  const std::uint64_t number = ++signals_sent_;
  const bool has_key = random_.chance(500);
  if (has_key) request.idempotency_key = fmt::format("signal-{}", number);
  // No two requests have the same payload, except repetitions.
  request.payload =
      fmt::format("{{\"{}\": {}, \"state\": \"{}\"}}", has_key ? "key" : "n", number, random_.pick(payload_states));
  return request;
}

void World::remember_and_send(SentSignal sent) {
  if (signals_.size() >= most_signals) signals_.erase(signals_.begin());
  signals_.push_back(sent);
  send_signal(std::move(sent));
}

void World::signal_by_token() {
  const HeldToken held = random_.pick(tokens_);
  Process& process = live_process();
  if (!process.is_up()) return;
  std::string text = held.token.token;
  const bool forged = random_.chance(150);
  if (forged) text[random_.below(text.size() - 1)] ^= 1;
  std::optional<Result<WaitpointClaims>> claims;
  run_in(process, [&] { claims = process.runtime->waitpoint_claims(text); });
  if (!claims || process.state->dead) return;
  if (forged) {
    if (*claims) violated("only our tokens are accepted", "of {}", to_string(held.id));
    const Error wanted = refuse_wait_token().error();
    if (claims->error().code == wanted.code && claims->error().message != wanted.message) {
      violated("a refusal of a token tells nothing", "{}", claims->error().message);
    }
    return;
  }
  if (!*claims) {
    if (watcher_->rotations() > 0) return;
    violated("a token is good on every engine", "{}", claims->error().message);
  }
  if ((*claims)->execution_id != held.id || (*claims)->number != held.token.number) {
    violated("a token is good on every engine", "it is for another waitpoint");
  }
  SentSignal sent;
  sent.incarnation = held.incarnation;
  sent.command.id = held.id;
  sent.command.request = random_signal();
  sent.command.token = **claims;
  if (!(*claims)->source.empty()) sent.command.request.source.clear();
  remember_and_send(std::move(sent));
}

// Whether the token is refused for ever: its waitpoint is closed, or it was revoked.
bool World::is_worthless(const SentSignal& sent) const {
  if (!sent.command.token) return false;
  const Shadow* shadow = watcher_->find(sent.command.id);
  if (shadow == nullptr || shadow->incarnation != sent.incarnation) return false;
  const WaitpointFacts* open = find_number(shadow->execution.facts, sent.command.token->number);
  return open == nullptr || open->generation > sent.command.token->generation;
}

void World::send_signal(SentSignal sent) {
  const bool worthless = is_worthless(sent);
  const std::string what =
      fmt::format("signal {} at {} of {}", sent.command.request.payload,
                  sent.command.token ? "a token" : sent.command.request.waitpoint, to_string(sent.command.id));
  send(live_process(), sent.command, what, [this, sent, worthless](Process&, const Result<Reply>& reply) {
    if (reply) judge_signal(sent, std::get<SignalReply>(*reply), worthless);
  });
}

void World::judge_signal(const SentSignal& sent, const SignalReply& reply, bool worthless) {
  const std::string id = to_string(sent.command.id);
  const Shadow* shadow = watcher_->find(sent.command.id);
  if (shadow == nullptr) violated("an acknowledged signal is there", "{} does not exist", id);
  if (shadow->incarnation != sent.incarnation) return;
  if (worthless && !reply.duplicate) violated("a token is good for its waitpoint and time only", "{}", id);
  const auto& token = sent.command.token;
  if (token) {
    const WaitpointFacts* open = find_number(shadow->execution.facts, token->number);
    if (worthless && open != nullptr) violated("a revoked token stays revoked", "{}", id);
  }
  if ((reply.number == 0) != (reply.effect == SignalEffect::ignored)) {
    violated("an acknowledged signal has a number", "{} of {}", reply.number, id);
  }
  if (reply.number == 0) return;
  if (reply.duplicate && sent.command.request.idempotency_key.empty()) violated("a key has one effect", "{}", id);
  if (reply.number > shadow->execution.facts.waits->signal_count) {
    violated("an acknowledged signal is there", "signal {} of {}", reply.number, id);
  }
  const auto seen = shadow->waits.seen.find(reply.number);
  if (seen == shadow->waits.seen.end()) return;  // it came and went in one commit
  const Signal& signal = seen->second.signal;
  if (signal.payload != sent.command.request.payload) {
    violated("an acknowledged signal is there", "signal {} of {} is another", reply.number, id);
  }
  if (!token || reply.duplicate) return;
  const std::uint32_t reached = seen->second.waitpoint_number;
  const bool in_time = token->expires_at == 0 || signal.delivered_at < token->expires_at;
  if (!in_time || signal.waitpoint != token->waitpoint || (reached != 0 && reached != token->number)) {
    violated("a token is good for its waitpoint and time only", "signal {} of {}", reply.number, id);
  }
}

// ---------------------------------------------------------------- operators

void World::operate_on_wait() {
  const auto id = waiting_or_any();
  if (!id) return;
  const Shadow* shadow = watcher_->find(*id);
  const int incarnation = shadow->incarnation;
  const Operator by{"operator", "because"};
  const std::string name = some_waitpoint(*id);
  switch (random_.below(3)) {
    case 0:
      return send(live_process(), ResumeCommand{*id, by}, "resume " + to_string(*id),
                  [this, id, incarnation](Process&, const auto& reply) {
                    const Shadow* after = watcher_->find(*id);
                    if (!reply || after->incarnation != incarnation || after->waits.ended > 0) return;
                    violated("an operator's success is true", "resume of {}", to_string(*id));
                  });
    case 1:
      return send(live_process(), CloseWaitpointCommand{*id, name, by}, "close " + name + " of " + to_string(*id),
                  [](Process&, const auto&) {});
    default: {
      ReissueTokenCommand command{*id, {}, by};
      command.request.waitpoint = name;
      if (random_.chance(400)) command.request.source = random_.pick(people);
      if (random_.chance(400)) command.request.token_ttl_ms = random_.between(1, 6000);
      command.request.revoke_earlier = random_.chance(500);
      return send(live_process(), command, "reissue " + name + " of " + to_string(*id),
                  [this, id, incarnation](Process&, const auto& reply) {
                    if (!reply || watcher_->find(*id)->incarnation != incarnation) return;
                    keep_token(*id, incarnation, std::get<WaitpointToken>(*reply));
                  });
    }
  }
}

}  // namespace flowfabric::simulation
