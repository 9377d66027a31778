// The fleet: workers that register, send heartbeats, freeze, die and return; a remote scheduler that grants executions;
// clients that list lost leases and reclaim them.
#include <algorithm>

#include "base/hashing.hpp"
#include "core/ingress.hpp"
#include "core/tokens.hpp"
#include "engine/reads.hpp"
#include "engine/routes.hpp"
#include "simulation/world.hpp"

namespace flowfabric::simulation {
namespace {

constexpr std::size_t most_grants = 24;
const Operator fleet_operator{"operator", "because"};

template <class Request>
Request admitted(Request request) {
  if (const auto good = admit(request); !good) violated("the simulator asks properly", "{}", good.error().message);
  return request;
}

std::string text_of(const Grant& grant) {
  return fmt::format("{} grant {} of {}", to_string(grant.kind), grant.grant_id.substr(0, 8),
                     to_string(grant.execution_id));
}

}  // namespace

void World::fleet_somehow() {
  Worker& worker = workers_[random_.below(workers_.size())];
  const auto dice = random_.below(100);
  if (dice < 16) {
    register_worker(worker);
  } else if (dice < 46) {
    heartbeat(worker);
  } else if (dice < 53) {
    leave_alone(worker);
  } else if (dice < 59) {
    operate_on_worker(worker);
  } else if (dice < 74) {
    grant_something(worker);
  } else if (dice < 87) {
    redeem_something();
  } else {
    reclaim_something();
  }
}

// ---------------------------------------------------------------- workers

World::Standing World::standing_of(const Worker& worker) const {
  const WorkerShadow* shadow = watcher_->find_worker(worker.name_space, worker.instance);
  if (shadow == nullptr) return {};
  const WorkerLife& life = shadow->life;
  return {life.live(), life.draining(), life.worker_id(), life.registrations(), life.deaths().size(), life.turns()};
}

void World::register_worker(Worker& worker) {
  Process& process = live_process();
  if (!process.is_up() || worker.frozen_until > now_ms()) return;
  WorkerRegistration registration;
  registration.name_space = worker.name_space;
  registration.worker_id = random_.chance(120) ? "impostor" : worker.id;
  registration.worker_instance_id = worker.instance;
  registration.lanes = {random_.pick(lane_names)};
  registration.capabilities = worker.capabilities;
  registration.liveness_ttl_ms = static_cast<std::uint32_t>(random_.between(1000, 9000));
  registration = admitted(registration);
  const Standing before = standing_of(worker);
  const std::string who = registration.worker_id;
  send(process, RegisterCommand{registration}, fmt::format("register {} as {}", worker.instance, who),
       [this, &worker, before, who](Process&, const Result<Reply>& reply) {
         const Standing after = standing_of(worker);
         if (reply) return judge_registration(worker, before, after, who, std::get<RegisterWorkerReply>(*reply));
         if (reply.error().code != Errc::conflict || before.registrations != after.registrations) return;
         if (!before.live || before.worker_id == who) {
           violated("a free instance id can be registered", "{} by {}", worker.instance, who);
         }
       });
}

void World::judge_registration(Worker& worker, const Standing& before, const Standing& after, const std::string& who,
                               const RegisterWorkerReply& reply) {
  worker.draining = false;
  const bool anew = reply.outcome == RegisterWorkerReply::Outcome::registered;
  if (anew && after.registrations == before.registrations) {
    violated("an acknowledged registration is there", "{} by {}", worker.instance, who);
  }
  const bool undisturbed = after.registrations == before.registrations && after.deaths == before.deaths;
  if (undisturbed && (!before.live || before.worker_id != who)) {
    violated("an instance is not reassigned while it lives", "{} of {} to {}", worker.instance, before.worker_id, who);
  }
}

void World::heartbeat(Worker& worker) {
  Process& process = live_process();
  if (!process.is_up() || worker.frozen_until > now_ms()) return;
  HeartbeatRequest request;
  request.name_space = worker.name_space;
  request.worker_instance_id = worker.instance;
  std::vector<Held> carried;
  for (const Held& held : worker.held) {
    if (!random_.chance(500)) continue;
    carried.push_back(held);
    request.leases.push_back(held.claimed.handle);
  }
  const Standing before = standing_of(worker);
  const std::uint64_t sent = watcher_->commits();
  auto done =
      ask<HeartbeatReply>(process, fmt::format("heartbeat of {} with {} leases", worker.instance, carried.size()),
                          [this, &worker, before, carried, sent](Process&, const Result<HeartbeatReply>& reply) {
                            if (reply) judge_heartbeat(worker, before, carried, sent, *reply);
                          });
  run_in(process, [&] { process.runtime->submit_heartbeat(std::move(request), std::move(done)); });
}

void World::judge_heartbeat(Worker& worker, const Standing& before, const std::vector<Held>& carried,
                            std::uint64_t sent, const HeartbeatReply& reply) {
  const Standing after = standing_of(worker);
  const bool refreshed = reply.outcome == HeartbeatReply::Outcome::refreshed;
  if (refreshed) worker.draining = reply.drain;
  if (before.registrations == after.registrations) {
    if (refreshed && !before.live) violated("a heartbeat revives nobody", "{} is not registered", worker.instance);
    if (!refreshed && before.live && after.live) {
      violated("a worker in good standing is not written off", "{} was told to register", worker.instance);
    }
    if (refreshed && before.turns == after.turns && reply.drain != before.draining) {
      violated("a heartbeat tells whether to drain", "{}", worker.instance);
    }
  }
  if (reply.leases.size() != carried.size()) violated("every lease gets a verdict", "{}", worker.instance);
  for (std::size_t i = 0; i < carried.size(); ++i) judge_renewal(carried[i], reply.leases[i], sent);
}

// It freezes with its leases, or it dies and forgets them. In both cases it may return.
void World::leave_alone(Worker& worker) {
  const bool dies = random_.chance(400);
  trace_.line("{}/{} {}", worker.name_space, worker.instance, dies ? "dies" : "freezes");
  if (dies) worker.held.clear();
  worker.draining = false;
  worker.frozen_until = now_ms() + random_.between(100, dies ? 4000 : 15000);
}

void World::operate_on_worker(Worker& worker) {
  const Standing before = standing_of(worker);
  const auto must = [&worker](bool holds, const char* what) {
    if (!holds) violated("an operator's success is true", "{} of {}", what, worker.instance);
  };
  // The reply "no such worker" must not be given for a live worker.
  const auto was_there = [this, &worker, before] {
    const Standing after = standing_of(worker);
    return before.live && after.live && before.registrations == after.registrations;
  };
  if (random_.chance(500)) {
    return send(live_process(), MarkDeadCommand{worker.name_space, worker.instance, fleet_operator},
                "mark dead " + worker.instance, [this, &worker, before, must, was_there](Process&, const auto& reply) {
                  if (!reply) return;
                  const bool marked = std::get<MarkWorkerDeadOutcome>(*reply) == MarkWorkerDeadOutcome::marked;
                  must(marked ? standing_of(worker).deaths > before.deaths : !was_there(), "mark dead");
                });
  }
  send(live_process(), DrainWorkerCommand{worker.name_space, worker.instance, fleet_operator},
       "drain " + worker.instance, [this, &worker, before, must, was_there](Process&, const auto& reply) {
         if (!reply) return;
         const Standing after = standing_of(worker);
         const bool draining = std::get<DrainWorkerOutcome>(*reply) == DrainWorkerOutcome::draining;
         must(draining ? after.draining || after.turns != before.turns : !was_there(), "drain");
       });
}

// ---------------------------------------------------------------- grants

GrantRequest World::random_grant(const Worker& worker, const ExecutionId& id) {
  GrantRequest request;
  request.execution_id = id;
  request.worker_id = worker.id;
  request.worker_instance_id = worker.instance;
  request.capabilities = worker.capabilities;
  request.grant_ttl_ms = static_cast<std::uint32_t>(random_.between(1, 6000));
  return admitted(request);
}

// The scheduler chooses an execution for a worker, or a lane.
void World::grant_something(const Worker& worker) {
  Process& process = live_process();
  if (!process.is_up()) return;
  const auto lanes = lanes_;
  if (random_.chance(600)) {
    ClaimForWorkerRequest request;
    request.name_space = worker.keeps_to;
    request.lane = random_.pick(lane_names);
    request.worker_id = worker.id;
    request.worker_instance_id = worker.instance;
    request.capabilities = worker.capabilities;
    request.grant_ttl_ms = static_cast<std::uint32_t>(random_.between(1, 6000));
    auto done = ask<std::optional<Grant>>(process, fmt::format("claim for {} on {}", worker.instance, request.lane),
                                          [this, lanes, &worker](Process&, const Result<std::optional<Grant>>& reply) {
                                            if (!reply || !*reply) return;
                                            keep_grant(lanes, worker.capabilities, **reply);
                                            const Spec& spec = watcher_->find((*reply)->execution_id)->execution.spec;
                                            if (worker.keeps_to.value_or(spec.name_space) == spec.name_space) return;
                                            violated("a claim keeps to its namespace", "{}", text_of(**reply));
                                          });
    return run_in(process, [&] { process.runtime->submit_claim_for_worker(std::move(request), std::move(done)); });
  }
  const auto id = any_execution();
  if (!id) return;
  send(process, GrantCommand{GrantKind::claim, random_grant(worker, *id)}, "grant a claim of " + to_string(*id),
       [this, lanes, capabilities = worker.capabilities](Process&, const auto& reply) {
         if (reply) keep_grant(lanes, capabilities, std::get<Grant>(*reply));
       });
}

void World::keep_grant(const std::map<std::string, LaneBook>& lanes, const std::vector<std::string>& capabilities,
                       const Grant& grant) {
  const Shadow* shadow = watcher_->find(grant.execution_id);
  if (shadow == nullptr || (!shadow->life.was_granted(grant.grant_id) && shadow->incarnation == 1)) {
    violated("an acknowledged grant is there", "{}", text_of(grant));
  }
  if (to_hex(grant_id_of(grant.grant_key)) != grant.grant_id) violated("a grant id is the hash of its key", "");
  if (!covers(capabilities, shadow->execution.spec.required_capabilities)) {
    violated("claims respect capabilities", "{}", text_of(grant));
  }
  check_lane_served(lanes, grant.lane, grant.execution_id);
  if (grants_.size() >= most_grants) grants_.erase(grants_.begin());
  grants_.push_back({grant, shadow->incarnation});
}

// Late, twice, from another instance, by another worker: every owner of the key may try.
void World::redeem_something() {
  if (grants_.empty()) return;
  const SentGrant sent = random_.chance(500) ? grants_.back() : random_.pick(grants_);
  std::vector<std::size_t> entitled;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].id == sent.grant.worker_id) entitled.push_back(i);
  }
  for (int tries = random_.chance(250) ? 2 : 1; tries > 0; --tries) {
    Worker& worker = workers_[random_.chance(100) ? random_.below(workers_.size()) : random_.pick(entitled)];
    redeem(worker, sent);
  }
}

// By value: other grants may be added while the engine checks the key.
void World::redeem(Worker& worker, SentGrant sent) {
  Process& process = live_process();
  if (!process.is_up() || worker.frozen_until > now_ms()) return;
  const Grant& grant = sent.grant;
  RedeemRequest request;
  request.execution_id = grant.execution_id;
  request.grant_key = grant.grant_key;
  request.worker_namespace = worker.name_space;
  request.worker_id = worker.id;
  request.worker_instance_id = worker.instance;
  request.capabilities = worker.capabilities;
  request.lease_ttl_ms = static_cast<std::uint32_t>(random_.between(100, 9000));
  const GrantKind wrong = grant.kind == GrantKind::claim ? GrantKind::reclaim : GrantKind::claim;
  const GrantKind kind = random_.chance(30) ? wrong : grant.kind;
  const bool entitled = kind == grant.kind && worker.id == grant.worker_id;
  std::optional<Result<RedeemCommand>> command;
  run_in(process, [&] { command = process.runtime->redeem_command(kind, request); });
  if (!command || !process.is_up()) return;
  if (!*command) {
    const bool no_news = (*command).error().code == Errc::unavailable || watcher_->rotations() > 0;
    if (entitled && !no_news) violated("a grant is good on every engine", "{}", (*command).error().message);
    return;
  }
  if (!entitled) violated("a grant is for its worker", "{} was shown by {}", text_of(grant), worker.instance);
  send(process, **command, fmt::format("redeem {} by {}", text_of(grant), worker.instance),
       [this, &worker, sent, request, lanes = lanes_](Process&, const Result<Reply>& reply) {
         judge_redemption(worker, sent, request, lanes, reply);
       });
}

void World::judge_redemption(Worker& worker, const SentGrant& sent, const RedeemRequest& request,
                             const std::map<std::string, LaneBook>& lanes, const Result<Reply>& reply) {
  const Grant& grant = sent.grant;
  const ClaimedExecution* claimed = nullptr;
  bool refused = false;
  if (!reply) {
    refused = reply.error().code == Errc::invalid_claim_grant || reply.error().code == Errc::claim_grant_expired;
  } else if (const auto* outcome = std::get_if<ReclaimExecutionOutcome>(&*reply)) {
    refused = std::holds_alternative<GrantNotFound>(*outcome);
    if (const auto* reclaimed = std::get_if<Claimed>(outcome)) claimed = &reclaimed->execution;
  } else {
    claimed = &std::get<ClaimedExecution>(*reply);
  }
  const Shadow* shadow = watcher_->find(grant.execution_id);
  if (refused && shadow->incarnation == sent.incarnation && shadow->life.reservation() &&
      shadow->life.reservation()->grant_id == grant.grant_id) {
    violated("a grant in good standing is honoured", "{}", text_of(grant));
  }
  if (claimed == nullptr) return;
  if (!redeemed_.insert(grant.grant_id).second) violated("a grant is used once", "{}", text_of(grant));
  if (grant.kind == GrantKind::reclaim &&
      (claimed->handle_kind != HandleKind::reclaimed || claimed->attempt.attempt_type != AttemptType::reclaim)) {
    violated("a reclaim starts a reclaim attempt", "{}", text_of(grant));
  }
  check_lane_served(lanes, claimed->lane, claimed->execution_id);
  ClaimRequest as;
  as.worker_namespace = request.worker_namespace;
  as.worker_id = request.worker_id;
  as.worker_instance_id = request.worker_instance_id;
  as.lanes = {claimed->lane};
  as.capabilities = request.capabilities;
  check_claimed(as, *claimed, grant.grant_id);
  hold(worker, *claimed);
}

// ---------------------------------------------------------------- lost leases

void World::reclaim_something() {
  Process& process = live_process();
  if (!process.is_up()) return;
  ListExpiredLeasesRequest request;
  request.limit = static_cast<std::uint32_t>(random_.between(1, 5));
  std::optional<Result<ListExpiredLeasesReply>> listed;
  run_in(process, [&] { listed = reads::expired_leases(process.runtime->store(), request); });
  std::optional<ExecutionId> id;
  if (listed && *listed && !(*listed)->leases.empty()) {
    const auto& leases = (*listed)->leases;
    const auto in_order = [](const ExpiredLease& a, const ExpiredLease& b) {
      return std::pair(a.expires_at, execution_key(a.execution_id)) <
             std::pair(b.expires_at, execution_key(b.execution_id));
    };
    if (!std::is_sorted(leases.begin(), leases.end(), in_order)) violated("lost leases are listed", "in disorder");
    id = leases[random_.below(leases.size())].execution_id;
  } else if (random_.chance(300)) {
    id = any_execution();
  }
  if (!id) return;
  for (int rivals = random_.chance(300) ? 2 : 1; rivals > 0; --rivals) {
    request_reclaim(workers_[random_.below(workers_.size())], *id);
  }
}

void World::request_reclaim(Worker& worker, const ExecutionId& id) {
  const Shadow* shadow = watcher_->find(id);
  const bool reclaimable = !shadow->removed && shadow->life.reclaimable();
  const std::uint64_t epoch = shadow->life.epoch();
  const bool at_once = random_.chance(400);
  send(live_process(), GrantCommand{GrantKind::reclaim, random_grant(worker, id)},
       "grant a reclaim of " + to_string(id),
       [this, &worker, id, reclaimable, epoch, at_once, lanes = lanes_](Process&, const Result<Reply>& reply) {
         if (!reply) return;
         const auto& outcome = std::get<IssueReclaimGrantOutcome>(*reply);
         if (const auto* granted = std::get_if<Granted>(&outcome)) {
           keep_grant(lanes, worker.capabilities, granted->grant);
           if (at_once) redeem(worker, grants_.back());
           return;
         }
         const Shadow* after = watcher_->find(id);
         const auto* refusal = std::get_if<NotReclaimable>(&outcome);
         const bool by_state = refusal != nullptr && !refusal->detail.starts_with("lane") &&
                               !refusal->detail.starts_with("capability_mismatch");
         if (by_state && reclaimable && !after->removed && after->life.reclaimable() && after->life.epoch() == epoch) {
           violated("a lost lease can be reclaimed", "{}: {}", to_string(id), refusal->detail);
         }
       });
}

// ---------------------------------------------------------------- keys and retention

void World::rotate_keys() {
  const std::int64_t grace_ms = random_.chance(500) ? 0 : random_.between(1, 20000);
  send(live_process(), RotateKeysCommand{grace_ms, fleet_operator}, fmt::format("rotate keys, grace {}", grace_ms),
       [this](Process&, const auto& reply) {
         if (reply && watcher_->rotations() == 0) violated("an operator's success is true", "rotate keys");
       });
}

void World::remove_something() {
  const auto id = any_execution();
  if (!id) return;
  std::optional<TimestampMs> finished_before;
  if (random_.chance(600)) finished_before = now_ms() - random_.between(0, 5000);
  if (finished_before) watcher_->permit_removal(*id, *finished_before);
  const int incarnation = watcher_->find(*id)->incarnation;
  send(live_process(), RemoveCommand{*id, finished_before}, "remove " + to_string(*id),
       [this, id, incarnation](Process&, const auto& reply) {
         if (!reply || !std::get<RemoveReply>(*reply).removed) return;
         const Shadow* shadow = watcher_->find(*id);
         if (shadow->removed || shadow->incarnation > incarnation) return;
         violated("an operator's success is true", "remove of {}", to_string(*id));
       });
}

// When all had time to learn of it, every engine accepts and refuses the same handles.
void World::check_keys() {
  constexpr std::int64_t doubt_ms = 5;  // engines round their clocks
  for (const auto& process : processes_) {
    for (const Worker& worker : workers_) {
      for (const Held& held : worker.held) {
        const bool good = watcher_->key_is_good(held.claimed.handle, now_ms() + doubt_ms);
        if (good != watcher_->key_is_good(held.claimed.handle, now_ms() - doubt_ms)) continue;
        const auto fence = process->runtime->fence_of(held.claimed.handle);
        if (fence.has_value() == good && (!fence || *fence == held.fence)) continue;
        violated("engines agree on what is signed", "process {} {} a handle whose key is {}", process->state->number,
                 fence ? "takes" : "refuses", good ? "good" : "retired");
      }
    }
  }
}

}  // namespace flowfabric::simulation
