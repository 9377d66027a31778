// Workers: active ones, silent ones, and those that return with an old handle.
#include <algorithm>

#include "engine/reads.hpp"
#include "engine/routes.hpp"
#include "simulation/world.hpp"

namespace flowfabric::simulation {
namespace {

constexpr std::size_t large_result = 3000;
constexpr std::size_t most_held = 12;

std::string name_of(const Command& command) {
  if (std::holds_alternative<RenewCommand>(command)) return "renew";
  if (std::holds_alternative<ProgressCommand>(command)) return "progress";
  if (std::holds_alternative<CompleteCommand>(command)) return "complete";
  if (std::holds_alternative<FailCommand>(command)) return "fail";
  if (std::holds_alternative<DelayCommand>(command)) return "delay";
  if (std::holds_alternative<ReleaseHeldCommand>(command)) return "release";
  if (std::holds_alternative<StepCommand>(command)) return "step";
  if (std::holds_alternative<CheckpointCommand>(command)) return "checkpoint";
  if (std::holds_alternative<TagsCommand>(command)) return "tags_held";
  if (std::holds_alternative<GrowFlowCommand>(command)) return "extend";
  if (std::holds_alternative<JoinNodesCommand>(command)) return "join";
  if (std::holds_alternative<SuspendCommand>(command)) return "suspend";
  if (std::holds_alternative<OpenWaitpointCommand>(command)) return "open_waitpoint";
  return "cancel_held";
}

// Distinguishes the requests of a worker under one lease; the same text is the same request.
std::string text_of(const Command& command) {
  std::string text = name_of(command);
  if (const auto* complete = std::get_if<CompleteCommand>(&command)) text += complete->request.result;
  if (const auto* delay = std::get_if<DelayCommand>(&command)) text += std::to_string(delay->delay_until);
  if (const auto* join = std::get_if<JoinNodesCommand>(&command)) {
    for (const std::string& name : join->names) text += " " + name;
  }
  if (const auto* suspend = std::get_if<SuspendCommand>(&command)) text += suspend->request.idempotency_key;
  if (const auto* fail = std::get_if<FailCommand>(&command)) {
    text += fail->request.category + std::to_string(static_cast<int>(fail->request.retryable));
  }
  return text;
}

// Whether such a command ends a lease in this way.
bool is_end_by(const Command& command, const LeaseSpan& span) {
  if (std::holds_alternative<CompleteCommand>(command)) return span.ended_by == EventType::completed;
  if (span.ended_actor != span.instance) return false;
  if (std::holds_alternative<DelayCommand>(command)) return span.ended_by == EventType::delayed;
  if (std::holds_alternative<ReleaseHeldCommand>(command)) return span.ended_by == EventType::released;
  if (std::holds_alternative<JoinNodesCommand>(command)) return span.ended_by == EventType::joining;
  if (std::holds_alternative<SuspendCommand>(command)) return span.ended_by == EventType::suspended;
  if (std::holds_alternative<CancelHeldCommand>(command)) return span.ended_by == EventType::cancelled;
  return span.ended_by == EventType::failed || span.ended_by == EventType::retry_scheduled;
}

constexpr const char* worker_tag = "app.worker";

// The value that the command gives to the checkpoint or to the tag of the workers, if it does.
const std::string* overwriting(const Command& command) {
  if (const auto* checkpoint = std::get_if<CheckpointCommand>(&command)) return &checkpoint->bytes;
  if (const auto* tags = std::get_if<TagsCommand>(&command)) return &tags->changes.set.at(worker_tag);
  return nullptr;
}

bool refuses_holder(Errc code) {
  return code == Errc::lease_expired || code == Errc::lease_revoked || code == Errc::stale_lease ||
         code == Errc::already_terminal || code == Errc::not_found || code == Errc::not_active;
}

}  // namespace

void World::work_somehow() {
  Worker& worker = workers_[random_.below(workers_.size())];
  if (worker.frozen_until > now_ms()) return;
  spend_something(worker);
  if (worker.held.empty() || random_.chance(350)) return claim_something(worker);
  use_handle(worker, worker.held[random_.below(worker.held.size())]);
}

// ---------------------------------------------------------------- claiming

void World::claim_something(Worker& worker) {
  if (worker.draining && !random_.chance(200)) return;
  ClaimRequest request;
  request.worker_namespace = worker.name_space;
  request.worker_id = worker.id;
  request.worker_instance_id = worker.instance;
  request.name_space = worker.keeps_to;
  request.lanes.clear();
  for (const auto& lane : lane_names) {
    if (random_.chance(700)) request.lanes.push_back(lane);
  }
  if (request.lanes.empty()) request.lanes = lane_names;
  request.capabilities = worker.capabilities;
  request.max_executions = static_cast<std::uint32_t>(random_.between(1, 4));
  request.lease_ttl_ms = static_cast<std::uint32_t>(random_.between(100, 12000));
  if (random_.chance(400)) request.wait_ms = static_cast<std::uint32_t>(random_.between(1, 15000));
  send_claim(live_process(), request, [this, &worker, request, lanes = lanes_](Process&, const auto& claims) {
    if (!claims) return;
    for (const ClaimedExecution& claimed : *claims) check_lane_served(lanes, claimed.lane, claimed.execution_id);
    take_claims(worker, request, *claims);
    if (!claims->empty()) wait_at_once(worker);
  });
}

// `lanes` is the knowledge about them when the call was sent.
void World::check_lane_served(const std::map<std::string, LaneBook>& lanes, const std::string& lane,
                              const ExecutionId& id) {
  const auto found = lanes.find(lane);
  if (found == lanes.end()) return;
  const LaneBook& book = found->second;
  const bool known = book.certain && book.in_flight == 0 && lanes_[lane].changes_sent == book.changes_sent;
  if (known && (book.acknowledged == LaneState::paused || book.acknowledged == LaneState::disabled)) {
    violated("a paused lane hands out nothing", "{} on {}", to_string(id), lane);
  }
}

void World::take_claims(Worker& worker, const ClaimRequest& request, const std::vector<ClaimedExecution>& claims) {
  if (claims.size() > request.max_executions)
    violated("a claim brings no more than was asked for", "{}", claims.size());
  for (const ClaimedExecution& claimed : claims) {
    check_claimed(request, claimed, {});
    hold(worker, claimed);
  }
}

int World::incarnation_of(const ClaimedExecution& claimed) {
  const Shadow* shadow = watcher_->find(claimed.execution_id);
  return shadow->execution.spec.created_at == claimed.created_at ? shadow->incarnation : 0;
}

void World::hold(Worker& worker, const ClaimedExecution& claimed) {
  Held held;
  held.claimed = claimed;
  held.fence = {claimed.execution_id, claimed.attempt.attempt_index, claimed.lease.lease_epoch, claimed.lease.lease_id};
  held.incarnation = incarnation_of(claimed);
  if (worker.held.size() >= most_held) worker.held.erase(worker.held.begin());
  worker.held.push_back(std::move(held));
}

// `grant_id` is that of the redeemed grant, if any.
void World::check_claimed(const ClaimRequest& request, const ClaimedExecution& claimed, const std::string& grant_id) {
  const std::string id = to_string(claimed.execution_id);
  trace_.line("  {} epoch {} to {}", id, claimed.lease.lease_epoch, request.worker_instance_id);
  Shadow* shadow = watcher_->find(claimed.execution_id);
  if (shadow == nullptr) violated("a claim is true", "{} does not exist", id);
  if (settles_later_ && incarnation_of(claimed) == 0) return;
  const auto span = shadow->life.leases().find(claimed.lease.lease_epoch);
  if (span == shadow->life.leases().end() || span->second.instance != request.worker_instance_id ||
      span->second.attempt_index != claimed.attempt.attempt_index) {
    violated("a claim is true", "{} was not leased to {} under epoch {}", id, request.worker_instance_id,
             claimed.lease.lease_epoch);
  }
  if (span->second.grant_id != grant_id) {
    violated("a granted execution goes to the grant's worker", "{} was claimed with grant {}, there was {}", id,
             grant_id, span->second.grant_id);
  }
  if (request.name_space &&
      (claimed.name_space != *request.name_space || shadow->execution.spec.name_space != *request.name_space)) {
    violated("a claim keeps to its namespace", "{} of {} was given to a claim of {}", id, claimed.name_space,
             *request.name_space);
  }
  if (claimed.lease.worker_namespace != request.worker_namespace) {
    violated("a claim is true", "{} was leased in namespace {}", id, claimed.lease.worker_namespace);
  }
  if (span->second.lease_id && *span->second.lease_id != claimed.lease.lease_id) {
    violated("a claim is true", "{} has another lease id", id);
  }
  span->second.lease_id = claimed.lease.lease_id;
  if (span->second.acknowledged) violated("at most one live lease", "epoch {} of {} was given to two", span->first, id);
  span->second.acknowledged = true;
  const Spec& spec = shadow->execution.spec;
  if (!covers(request.capabilities, spec.required_capabilities)) violated("claims respect capabilities", "{}", id);
  const auto& lanes = request.lanes;
  if (std::find(lanes.begin(), lanes.end(), spec.lane) == lanes.end()) violated("claims respect lanes", "{}", id);
  if (shadow->removed) return;
  const auto context = reads::context(watcher_->store(), claimed.execution_id);
  if (!context || context->payload != claimed.payload) violated("a claim brings the payload", "{}", id);
  check_steps(claimed, shadow->incarnation);
  check_last_wait(claimed);
  const auto key = std::pair(claimed.execution_id, shadow->incarnation);
  const auto tag = claimed.tags.find(worker_tag);
  // A replay of a flow may drop the checkpoint of a node, as it drops its steps.
  const Life& life = shadow->life;
  std::uint32_t& seen = replays_seen_[key];
  if (claimed.flow_id && life.replays() > seen && claimed.lease.lease_epoch > life.replayed_epoch()) {
    seen = life.replays();
    if (!claimed.checkpoint) checkpoints_.erase(key);
  }
  // The answer to a claim may come late, after a later holder has written.
  if (life.leases().rbegin()->first > claimed.lease.lease_epoch) return;
  check_last("checkpoint", checkpoints_[key], claimed.checkpoint ? &claimed.checkpoint->bytes : nullptr, id);
  check_last("tag", worker_tags_[key], tag == claimed.tags.end() ? nullptr : &tag->second, id);
}

// ---------------------------------------------------------------- holding

// A node of a flow adds to it, and waits for what it has added.
Command World::random_growth(const Held& held) {
  std::vector<std::string> added;
  const Execution& own = watcher_->find(held.fence.execution_id)->execution;
  for (const IncomingEdge& edge : own.spec.member->incoming) {
    const Shadow* child = watcher_->find(member_id(flow_of(own), edge.from));
    if (edge.kind == EdgeKind::join && child != nullptr) added.push_back(child->execution.spec.member->node);
  }
  if (!added.empty() && random_.chance(600)) {
    return JoinNodesCommand{held.fence, random_.chance(500) ? added : std::vector{random_.pick(added)}};
  }
  const auto flow = watcher_->flows().find(flow_key(FlowId{*held.claimed.flow_id}));
  return GrowFlowCommand{{}, random_addition(flow->second.record, held.claimed.node), held.fence, {}};
}

Command World::random_fenced(const Held& held) {
  if (held.claimed.flow_id && random_.chance(350)) return random_growth(held);
  if (random_.chance(300)) return random_wait(held);
  switch (random_.below(10)) {
    case 0:
    case 1:
      return RenewCommand{held.fence, random_.chance(500) ? 0 : static_cast<std::uint32_t>(random_.between(100, 9000))};
    case 2: {
      if (random_.chance(500)) return random_step(held);
      if (random_.chance(400)) return CheckpointCommand{held.fence, std::to_string(++values_sent_), "text"};
      if (random_.chance(500)) {
        const TagChanges changes{{{worker_tag, std::to_string(++values_sent_)}}, {}};
        return TagsCommand{held.fence.execution_id, changes, {}, held.fence};
      }
      ProgressReport report;
      report.percent = static_cast<std::uint8_t>(random_.below(101));
      return ProgressCommand{held.fence, report};
    }
    case 3:
    case 4: {
      FailRequest request;
      request.category = random_.chance(500) ? "error" : "other";
      request.retryable = static_cast<FailRequest::Retryable>(random_.below(3));
      return FailCommand{held.fence, request};
    }
    case 5: {
      const std::int64_t delay_ms = random_.between(-500, 6000);
      if (delay_ms < -200) return ReleaseHeldCommand{held.fence};
      return DelayCommand{held.fence, now_ms() + delay_ms};
    }
    case 6: return CancelHeldCommand{held.fence, "not needed"};
    default: {
      CompleteRequest request;
      const std::size_t size = random_.chance(80) ? large_result : 1 + random_.below(12);
      request.result.assign(size, static_cast<char>(random_.below(256)));
      return CompleteCommand{held.fence, request};
    }
  }
}

// A handler comes to its steps one after another; several runs of it may think that they are at the same one.
std::uint32_t World::next_position(const Held& held) const {
  std::uint32_t known = 0;
  for (const Step& step : held.claimed.steps) known = std::max(known, step.position);
  for (const Command& command : held.sent) {
    const auto* suspend = std::get_if<SuspendCommand>(&command);
    const bool is_step = std::holds_alternative<StepCommand>(command) || (suspend && suspend->request.position != 0);
    known += is_step ? 1 : 0;
  }
  return known + 1;
}

Command World::random_step(const Held& held) {
  StepRequest request;
  request.position = next_position(held);
  request.name = "step-" + std::to_string(request.position);
  request.result = std::to_string(++steps_sent_);
  return StepCommand{held.fence, request};
}

// A step that was acknowledged is there in every later run, with its value, and no second value was taken for it.
void World::note_step(const Held& held, const StepRequest& request, const StepReply& reply) {
  if (reply.duplicate) return;
  const Shadow* shadow = watcher_->find(held.fence.execution_id);
  if (shadow != nullptr && shadow->life.replays() > 0 && held.fence.lease_epoch <= shadow->life.replayed_epoch())
    return;
  const auto key = std::tuple(held.fence.execution_id, held.incarnation, request.position);
  const AcknowledgedStep step{request.result, held.fence.lease_epoch};
  if (steps_.try_emplace(key, step).first->second.result != request.result) {
    violated("a step is recorded once", "step {} of {}", request.position, to_string(held.fence.execution_id));
  }
}

// A replay of a flow drops the steps of a node whose inputs may differ: all or none.
void World::forget_steps_before_replay(const ClaimedExecution& claimed, int incarnation,
                                       const std::map<std::uint32_t, std::string>& brought) {
  const Shadow* shadow = watcher_->find(claimed.execution_id);
  if (!claimed.flow_id || shadow == nullptr || shadow->life.replays() == 0) return;
  const std::uint64_t replayed = shadow->life.replayed_epoch();
  if (claimed.lease.lease_epoch <= replayed) return;
  const auto is_older = [&](const auto& step) {
    const auto& [id, life, position] = step.first;
    return id == claimed.execution_id && life == incarnation && step.second.lease_epoch <= replayed;
  };
  const bool kept = std::any_of(steps_.begin(), steps_.end(), [&](const auto& step) {
    const auto found = brought.find(std::get<2>(step.first));
    return is_older(step) && found != brought.end() && found->second == step.second.result;
  });
  if (!kept) std::erase_if(steps_, is_older);
}

void World::check_steps(const ClaimedExecution& claimed, int incarnation) {
  std::map<std::uint32_t, std::string> brought;
  for (const Step& step : claimed.steps) brought[step.position] = step.result;
  forget_steps_before_replay(claimed, incarnation, brought);
  const auto first = steps_.lower_bound(std::tuple(claimed.execution_id, incarnation, std::uint32_t{0}));
  for (auto step = first; step != steps_.end(); ++step) {
    const auto& [id, life, position] = step->first;
    if (id != claimed.execution_id || life != incarnation) return;
    if (claimed.next_step_position != 0 && position >= claimed.next_step_position) return;
    // The answer to a claim may come late, after a later holder has recorded steps.
    if (step->second.lease_epoch >= claimed.lease.lease_epoch) continue;
    if (!brought.contains(position) || brought.at(position) != step->second.result) {
      violated("an acknowledged step is there", "step {} of {}", position, to_string(id));
    }
  }
}

LastValues& World::values_of(const Held& held, const Command& command) {
  const auto key = std::pair(held.fence.execution_id, held.incarnation);
  return std::holds_alternative<CheckpointCommand>(command) ? checkpoints_[key] : worker_tags_[key];
}

// Returns whether the call may write: it may not when its lease has ended already.
bool World::note_sent_value(const Held& held, const Command& command) {
  const std::string* value = overwriting(command);
  const Shadow* shadow = watcher_->find(held.fence.execution_id);
  if (value == nullptr || shadow->incarnation != held.incarnation) return false;
  if (shadow->life.leases().at(held.fence.lease_epoch).ended_commit != 0) return false;
  ++values_of(held, command)[*value].unanswered;
  return true;
}

void World::note_answered_value(const Held& held, const Command& command, std::uint64_t sent,
                                const Result<Reply>& reply) {
  if (!reply && !refuses_holder(reply.error().code)) return;  // it may have been written
  LastValue& value = values_of(held, command)[*overwriting(command)];
  --value.unanswered;
  if (!reply) return;
  value.acknowledged = true;
  value.after = std::max(value.after, sent);
  value.until = std::max(value.until, watcher_->commits());
}

// A later claim brings the value that was written last.
void World::check_last(const char* what, const LastValues& values, const std::string* brought, const std::string& id) {
  LastValue none;
  const auto found = brought == nullptr ? values.end() : values.find(*brought);
  const LastValue& there = found == values.end() ? none : found->second;
  if (brought != nullptr && !there.acknowledged && there.unanswered == 0) {
    violated("no write by a stale holder", "{} has the {} {}, which no holder can have written", id, what, *brought);
  }
  if (there.unanswered != 0) return;
  for (const auto& [text, value] : values) {
    if (&value == &there || !value.acknowledged || value.after < there.until) continue;
    violated("the last acknowledged value is there", "{} has the {} {} instead of {}", id, what,
             brought == nullptr ? "(none)" : *brought, text);
  }
}

void World::use_handle(Worker&, Held& held) {
  if (!held.sent.empty() && random_.chance(300)) return send_fenced(held, random_.pick(held.sent));
  Command command = random_fenced(held);
  held.sent.push_back(command);
  send_fenced(held, std::move(command));
}

// By value: others may claim, and so move what the worker holds, while the engine checks the handle.
void World::send_fenced(Held held, Command command) {
  Process& process = live_process();
  if (!process.is_up()) return;
  std::optional<Result<Fence>> fence;
  run_in(process, [&] { fence = process.runtime->fence_of(held.claimed.handle); });
  if (!fence || process.state->dead) return;
  // After a rotation, an engine may refuse it, or not know its key yet.
  if (!*fence && watcher_->rotations() > 0) return;
  if (!*fence || **fence != held.fence) {
    violated("a handle is good on every engine", "process {}", process.state->number);
  }
  const std::string what =
      fmt::format("{} {} epoch {}", name_of(command), to_string(held.fence.execution_id), held.fence.lease_epoch);
  const std::uint64_t sent = watcher_->commits();
  const bool may_write = note_sent_value(held, command);
  send(process, command, what, [this, held, command, sent, may_write](Process& answering, const Result<Reply>& reply) {
    if (may_write) note_answered_value(held, command, sent, reply);
    judge_fenced(answering, held, command, sent, reply);
  });
}

void World::judge_fenced(Process& process, const Held& held, const Command& command, std::uint64_t sent,
                         const Result<Reply>& reply) {
  const Shadow* shadow = watcher_->find(held.fence.execution_id);
  // The id has been used again since: the copy has no data about the old execution.
  if (shadow->incarnation != held.incarnation) return;
  if (reply) {
    judge_success(process, held, command, sent, *reply);
  } else if (refuses_holder(reply.error().code)) {
    judge_refusal(held, command, reply.error());
  }
}

void World::judge_success(Process& process, const Held& held, const Command& command, std::uint64_t sent,
                          const Reply& reply) {
  Shadow* shadow = watcher_->find(held.fence.execution_id);
  const LeaseSpan& span = shadow->life.leases().at(held.fence.lease_epoch);
  const auto* step = std::get_if<StepCommand>(&command);
  if (step != nullptr) note_step(held, step->request, std::get<StepReply>(reply));
  const auto* added = std::get_if<FlowAdded>(&reply);
  const auto* joined = std::get_if<FlowJoinReply>(&reply);
  const auto* suspended = std::get_if<SuspendReply>(&reply);
  if (suspended != nullptr || std::holds_alternative<WaitpointToken>(reply)) judge_wait(held, reply);
  // What has been there before is answered by what was read, perhaps before the lease ended.
  if (std::holds_alternative<WaitpointToken>(reply) || (suspended != nullptr && !suspended->suspended)) return;
  // These have written nothing.
  if ((added != nullptr && added->added_nodes + added->added_edges == 0) || (joined != nullptr && joined->ended))
    return;
  const bool keeps = std::holds_alternative<RenewCommand>(command) ||
                     std::holds_alternative<ProgressCommand>(command) || added != nullptr;
  // A repeated record of a step writes nothing: it is answered by what was read, perhaps before the lease ended.
  if (step != nullptr && std::get<StepReply>(reply).duplicate) return;
  if (keeps || step != nullptr || overwriting(command) != nullptr) {
    // It may have ended since, but not before the commit that is being answered. Where batches wait for the disk, several
    // are answered after one flush: then only the moment of the call is known. The same for tags, since a repeat may have
    // found its value there and written nothing.
    const bool is_vague = settles_later_ || std::holds_alternative<TagsCommand>(command);
    const std::uint64_t first = is_vague ? sent + 1 : process.state->reply_commit;
    if (span.ended_commit == 0 || span.ended_commit >= first) return;
    violated("no write by a stale holder", "{} of {} under epoch {}, which ended in commit {}", name_of(command),
             to_string(held.fence.execution_id), held.fence.lease_epoch, span.ended_commit);
  }
  // A cancellation of what was cancelled before, whoever did it, has written nothing.
  const auto* cancelled = std::get_if<CancelReply>(&reply);
  if (cancelled != nullptr && cancelled->already_cancelled) return;
  if (span.ended_commit == 0 || !is_end_by(command, span)) {
    violated("no write by a stale holder", "{} of {} under epoch {} was acknowledged; {} ended that lease",
             name_of(command), to_string(held.fence.execution_id), held.fence.lease_epoch,
             span.ended_commit == 0 ? "nothing" : to_string(span.ended_by));
  }
  released_.insert({held.fence.execution_id, held.incarnation, held.fence.lease_epoch, text_of(command)});
  if (const auto* complete = std::get_if<CompleteCommand>(&command)) check_completion(held, complete->request);
  if (std::holds_alternative<FailCommand>(command)) {
    const auto& answer = std::get<FailReply>(reply);
    const auto key = std::tuple(held.fence.execution_id, held.incarnation, held.fence.lease_epoch);
    if (fail_replies_.try_emplace(key, answer).first->second != answer) {
      violated("a repeated call gets the first answer", "fail of {}", to_string(held.fence.execution_id));
    }
  }
}

void World::check_completion(const Held& held, const CompleteRequest& request) {
  if (watcher_->find(held.fence.execution_id)->removed) return;
  if (watcher_->result_of(held.fence.execution_id, held.fence.attempt_index) != request.result) {
    violated("an acknowledged completion is there", "{} has another result", to_string(held.fence.execution_id));
  }
  completions_.push_back({held.fence.execution_id, held.incarnation, held.fence.attempt_index, request.result});
}

// The result of a heartbeat for one of its leases. `sent` is the last commit before it was sent.
void World::judge_renewal(const Held& held, const Result<RenewVerdict>& verdict, std::uint64_t sent) {
  Shadow* shadow = watcher_->find(held.fence.execution_id);
  if (shadow->incarnation != held.incarnation) return;
  if (!verdict) {
    const Errc code = verdict.error().code;
    if (refuses_holder(code)) judge_refusal(held, RenewCommand{held.fence, 0}, verdict.error());
    if (code == Errc::invalid_handle && watcher_->rotations() == 0) {
      violated("a handle is good on every engine", "{}", verdict.error().message);
    }
    return;
  }
  const LeaseSpan& span = shadow->life.leases().at(held.fence.lease_epoch);
  if (span.ended_commit != 0 && span.ended_commit <= sent) {
    violated("no write by a stale holder", "heartbeat with {} under epoch {}, which ended in commit {}",
             to_string(held.fence.execution_id), held.fence.lease_epoch, span.ended_commit);
  }
}

// A holder of a valid lease is never refused.
void World::judge_refusal(const Held& held, const Command& command, const Error& error) {
  Shadow* shadow = watcher_->find(held.fence.execution_id);
  const LeaseSpan& span = shadow->life.leases().at(held.fence.lease_epoch);
  if (span.ended_commit == 0) {
    violated("a holder in good standing is served", "{} of {} epoch {}", to_string(error.code),
             to_string(held.fence.execution_id), held.fence.lease_epoch);
  }
  // The reply to a release is remembered until the next lease.
  const bool is_last = shadow->life.leases().rbegin()->first == held.fence.lease_epoch;
  const bool acknowledged =
      released_.contains({held.fence.execution_id, held.incarnation, held.fence.lease_epoch, text_of(command)});
  if (is_last && acknowledged && !shadow->removed) {
    violated("a repeated call gets the first answer", "{} of {}: {}", name_of(command),
             to_string(held.fence.execution_id), to_string(error.code));
  }
  if (error.code == Errc::not_found && !shadow->removed) {
    violated("nothing is lost", "{} was not found", to_string(held.fence.execution_id));
  }
}

}  // namespace flowfabric::simulation
