// Conditions that must hold after everything was processed, and the end of a run.
#include <algorithm>
#include <set>

#include "base/limits.hpp"
#include "core/state.hpp"
#include "engine/routes.hpp"
#include "simulation/world.hpp"

namespace flowfabric::simulation {
namespace {

constexpr int most_turns = 20000;
constexpr int most_drain_rounds = 3000;
constexpr std::int64_t store_retry_ms = 1100;  // longer than any pause of the engine after an error
constexpr std::int64_t longest_nap_ms = 3600 * 1000;

}  // namespace

// Lets every engine do everything that is possible at this moment.
void World::settle() {
  for (int turns = 0; turns < most_turns; ++turns) {
    bool moved = false;
    for (const auto& process : processes_) {
      process->store->deliver_held();
      tick(*process);
      while (look(*process)) moved = true;
      for (std::size_t i = 0; i < process->writer_busy.size(); ++i) {
        while (pump(*process, i)) {
          moved = true;
          if (++turns > most_turns) break;
        }
      }
      if (settle_written(*process)) moved = true;
    }
    if (!moved) return;
  }
  violated("an engine comes to rest", "it is still busy after {} batches", most_turns);
}

// Lets time pass in the steps that the engines ask for. With traffic, commands keep coming and something is always due:
// the periodic checks must also work when the engines are never idle.
void World::let_time_pass(std::int64_t ms, bool with_traffic) {
  while (ms > 0) {
    std::int64_t nap = with_traffic ? std::min<std::int64_t>(ms, 900) : ms;
    for (const auto& process : processes_) nap = std::min(nap, std::max<std::int64_t>(process->runtime->tick(), 1));
    advance(nap);
    ms -= nap;
    if (with_traffic) {
      for (const auto& process : processes_) make_traffic(*process);
    }
    settle();
  }
}

// A worker that registers repeatedly and always too late.
void World::make_traffic(Process& process) {
  const std::string instance = fmt::format("noise-{}", process.state->number);
  const WorkerShadow* noise = watcher_->find_worker("default", instance);
  if (noise != nullptr && noise->life.live()) {
    return send(process, TagsCommand{{7, Uuid{}}, {}, {"operator", ""}}, "nothing", [](Process&, const auto&) {});
  }
  WorkerRegistration registration;
  registration.worker_id = registration.worker_instance_id = instance;
  registration.liveness_ttl_ms = limits::min_liveness_ttl_ms;
  send(process, RegisterCommand{registration}, "register " + instance, [](Process&, const auto&) {});
}

void World::check_calm() {
  trace_.line("faults pause");
  calm_ = true;
  bury_the_dead();
  settle();
  // Engines pause a little after an error of the store; an engine that missed a notification notices within a
  // keep-alive period.
  let_time_pass(news_lost_ ? 2 * keep_alive_ms : store_retry_ms, news_lost_ && random_.chance(500));
  news_lost_ = false;
  // An engine that has not used the store for long reads its clock again.
  for (const auto& process : processes_) {
    send(*process, TagsCommand{{7, Uuid{}}, {}, {"operator", ""}}, "nothing", [](Process&, const auto&) {});
  }
  settle();
  check_nothing_sleeps();
  check_spending();
  check_keys();
  calm_ = false;
  trace_.line("faults go on");
}

void World::check_nothing_sleeps() {
  for (const auto& [key, shadow] : watcher_->shadows()) {
    if (shadow.removed) continue;
    const TimestampMs due = next_due(shadow.execution.facts);
    if (due != 0 && due <= now_ms()) {
      violated("the clock does what is due", "{} is {} and was due {} ms ago", to_string(shadow.execution.id),
               to_string(public_state(shadow.execution.facts)), now_ms() - due);
    }
  }
  for (const auto& [key, shadow] : watcher_->flows()) {
    const TimestampMs due = next_due(shadow.record.facts);
    if (!shadow.removed && due != 0 && due <= now_ms()) {
      violated("the clock does what is due", "flow {} was due {} ms ago", to_string(shadow.record.id), now_ms() - due);
    }
  }
  for (const auto& [key, shadow] : watcher_->schedules()) {
    const TimestampMs due = next_due(shadow.record);
    if (!shadow.removed && due != 0 && due <= now_ms()) {
      violated("the clock does what is due", "schedule {} was due {} ms ago", shadow.record.name, now_ms() - due);
    }
  }
  watcher_->check_flows();
  watcher_->check_pools(now_ms());
  watcher_->check_keys(now_ms());
  watcher_->check_list_of_waits();
  watcher_->check_fleet_is_settled(now_ms());
  watcher_->check_fleet(processes_.front()->runtime->store(), now_ms());
  for (const auto& [number, call] : calls_) {
    if (!call.parks) violated("every call is answered", "call {} ({}) is not", number, call.what);
    check_call_may_wait(call);
  }
}

// Where engines do not tell each other of changes, each finds them once in a keep-alive period.
bool World::may_be_unknown(const Shadow& shadow) const {
  return !kind_.announces && processes_.size() > 1 &&
         now_ms() - shadow.execution.facts.last_transition_at < 2 * keep_alive_ms;
}

void World::check_call_may_wait(const Call& call) {
  // The clock may have gone back since the wait was computed, by less than this.
  if (call.until + 10000 < now_ms()) violated("waiting ends in time", "{}", call.what);
  if (call.awaited) {
    const Shadow* shadow = watcher_->find(*call.awaited);
    if (may_be_unknown(*shadow)) return;
    if (shadow->removed || shadow->life.ended()) violated("waiters hear of the end", "{}", call.what);
    return;
  }
  for (const auto& [key, shadow] : watcher_->shadows()) {
    if (shadow.removed || !shadow.life.claimable() || may_be_unknown(shadow)) continue;
    const Spec& spec = shadow.execution.spec;
    const auto lane = lanes_.find(spec.lane);
    const bool serves =
        lane == lanes_.end() ||
        (lane->second.certain && lane->second.in_flight == 0 &&
         (lane->second.acknowledged == LaneState::active || lane->second.acknowledged == LaneState::draining));
    const auto& wanted = call.claim.lanes;
    if (!serves || std::find(wanted.begin(), wanted.end(), spec.lane) == wanted.end()) continue;
    if (!covers(call.claim.capabilities, spec.required_capabilities)) continue;
    if (call.claim.name_space.value_or(spec.name_space) != spec.name_space) continue;
    violated("a parked claim is woken by work", "{} waits while {} is ready", call.what,
             to_string(shadow.execution.id));
  }
}

// ---------------------------------------------------------------- the end

void World::finish_claimed(Process& process, const std::vector<ClaimedExecution>& claims) {
  for (const ClaimedExecution& claimed : claims) {
    Held held;
    held.claimed = claimed;
    held.fence = {claimed.execution_id, claimed.attempt.attempt_index, claimed.lease.lease_epoch,
                  claimed.lease.lease_id};
    held.incarnation = incarnation_of(claimed);
    const CompleteCommand complete{held.fence, {"finished", {}}};
    send(process, complete, "complete " + to_string(claimed.execution_id),
         [this, held, complete, sent = watcher_->commits()](Process& answering, const Result<Reply>& reply) {
           judge_fenced(answering, held, complete, sent, reply);
         });
  }
}

// A capable worker on each engine takes all work. Returns whether everything has ended.
bool World::drain_round(std::int64_t patience_ms) {
  for (const auto& process : processes_) {
    ClaimRequest request;
    request.worker_id = "drain";
    request.worker_instance_id = "drain";
    request.lanes = lane_names;
    request.capabilities = capability_names;
    request.max_executions = 50;
    send_claim(*process, request, [this, request](Process& answering, const auto& claims) {
      if (!claims) return;
      for (const ClaimedExecution& claimed : *claims) check_claimed(request, claimed, {});
      finish_claimed(answering, *claims);
    });
  }
  settle();
  // A flow whose replay is being prepared has members that will run.
  bool all_ended = std::all_of(watcher_->flows().begin(), watcher_->flows().end(), [](const auto& flow) {
    return flow.second.removed || has_ended(flow.second.record.facts.state);
  });
  for (auto& [key, shadow] : watcher_->shadows()) {
    if (shadow.removed || shadow.life.ended()) continue;
    all_ended = false;
    const Facts& facts = shadow.execution.facts;
    // Only an operator ends an execution that waits for a manual reclaim.
    const bool stuck = facts.phase == Phase::active && !facts.lease && !facts.grant;
    if (facts.phase == Phase::suspended) {
      send(*processes_.front(), ResumeCommand{shadow.execution.id, {"operator", "drain"}}, "resume",
           [](Process&, const auto&) {});
    }
    if (stuck) {
      send(*processes_.front(), CancelCommand{shadow.execution.id, {"operator", "drain"}}, "cancel",
           [](Process&, const auto&) {});
    }
  }
  settle();
  if (!all_ended) {
    std::int64_t nap = patience_ms;
    for (const auto& process : processes_) nap = std::min(nap, std::max<std::int64_t>(process->runtime->tick(), 1));
    advance(nap);
    settle();
  }
  return all_ended;
}

void World::drain() {
  trace_.line("faults end");
  calm_ = true;
  bury_the_dead();
  settle();
  for (const auto& lane : lane_names) {
    set_lane(lane, LaneState::active);
    settle();
  }
  seal_all_flows();
  delete_all_schedules();
  cancel_all_redrives();
  if (random_.chance(300)) remove_all_limits();
  remove_all_budgets();
  settle();
  for (int round = 0; round < most_drain_rounds; ++round) {
    if (drain_round(longest_nap_ms)) return;
  }
  for (const auto& [key, shadow] : watcher_->shadows()) {
    if (shadow.removed || shadow.life.ended()) continue;
    violated("every execution ends", "{} is still {}", to_string(shadow.execution.id),
             to_string(public_state(shadow.execution.facts)));
  }
}

// Workers without heartbeats lapse, and ended executions are kept for exactly their retention.
void World::outlive_everything() {
  constexpr std::int64_t a_day_and_more_ms = 25LL * 3600 * 1000;
  for (int i = 0; i < 2; ++i) {
    advance(a_day_and_more_ms);
    settle();
  }
  for (const auto& [key, shadow] : watcher_->shadows()) {
    if (!shadow.removed) violated("nothing is kept for ever", "{}", to_string(shadow.execution.id));
  }
  for (const auto& [key, shadow] : watcher_->flows()) {
    if (!shadow.removed) violated("nothing is kept for ever", "flow {}", to_string(shadow.record.id));
  }
  if (!watcher_->store().scan(RecordKind::flow_name, {}, 1)->empty()) {
    violated("nothing is kept for ever", "the name of a node");
  }
  if (!watcher_->store().scan(RecordKind::dead_letter, {}, 1)->empty()) {
    violated("nothing is kept for ever", "a dead letter");
  }
  for (const auto& [key, shadow] : watcher_->workers()) {
    if (!shadow.removed) violated("nothing is kept for ever", "{}", shadow.record.info.worker_instance_id);
  }
  for (const auto& [key, shadow] : watcher_->schedules()) {
    if (!shadow.removed) violated("nothing is kept for ever", "schedule {}", shadow.record.name);
  }
  if (!watcher_->submit_keys().empty()) violated("nothing is kept for ever", "a key at submission");
  if (!watcher_->pools().empty()) violated("nothing is kept for ever", "{} pools", watcher_->pools().size());
  watcher_->check_indexes();
}

void World::check_the_end() {
  let_time_pass(news_lost_ ? 2 * keep_alive_ms : store_retry_ms, false);
  check_nothing_sleeps();
  watcher_->check_indexes();
  watcher_->check_everything();
  watcher_->read_as_subscriber(random_, true);
  for (const Completion& completion : completions_) {
    Shadow* shadow = watcher_->find(completion.id);
    if (shadow->removed || shadow->incarnation != completion.incarnation) continue;
    if (watcher_->result_of(completion.id, completion.attempt_index) != completion.result) {
      violated("an acknowledged completion is there", "{} has another result", to_string(completion.id));
    }
  }
  outlive_everything();
  trace_.line("{} executions, {} commits", watcher_->shadows().size(), watcher_->commits());
}

}  // namespace flowfabric::simulation
