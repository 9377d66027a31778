// The release of the leases of a dead worker, through any engine and with engines that stop at any point.
#include "conformance/fleet_suite.hpp"
#include "core/state.hpp"

namespace flowfabric::test {
namespace {

class EngineWorkerDeaths : public FleetSuite {
 protected:
  std::vector<Event> losses() {
    EventFilter filter;
    filter.types = {EventType::lease_revoked};
    return events_from(start_cursor("earliest"), filter);
  }
  static std::vector<ExecutionId> sorted(std::vector<ExecutionId> ids) {
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  // The owners of the leases revoked since then, with repetitions.
  std::vector<ExecutionId> lost_since(const std::string& cursor) {
    EventFilter filter;
    filter.types = {EventType::lease_revoked};
    std::vector<ExecutionId> ids;
    for (const Event& event : events_from(cursor, filter)) ids.push_back(event.execution_id.value());
    return sorted(std::move(ids));
  }
  void complete_everything() {
    std::vector<Command> ends;
    for (const auto& claimed : claim_all()) ends.emplace_back(CompleteCommand{engine().fence(claimed), {}});
    for (const auto& reply : call_together(engine(), std::move(ends))) value_of(reply);
  }
  Command death(const std::string& instance) { return MarkDeadCommand{"default", instance, {"ops", "gone"}}; }
  // Claims `count` jobs, with as many calls as needed.
  Claims hold(Driver& driver, const std::string& instance, std::size_t count, const std::string& lane = "default") {
    make_jobs(count, lane);
    Claims all;
    while (all.size() < count) {
      ClaimRequest request =
          ask_as(instance, static_cast<std::uint32_t>(std::min<std::size_t>(count - all.size(), 500)));
      request.lanes = {lane};
      Claims some = value_of(driver.claim(request));
      if (some.empty()) throw std::runtime_error("there was nothing to claim");
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    return all;
  }
  // The same without running the clock.
  Claims hold_without_clock(Driver& driver, const std::string& instance, std::size_t count, const std::string& lane) {
    Claims all;
    while (all.size() < count) {
      ClaimRequest request =
          ask_as(instance, static_cast<std::uint32_t>(std::min<std::size_t>(count - all.size(), 500)));
      request.lanes = {lane};
      Claims some = claim_without_clock(driver, request);
      if (some.empty()) throw std::runtime_error("there was nothing to claim");
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    return all;
  }
};
ON_EVERY_STORE(EngineWorkerDeaths);

TEST_P(EngineWorkerDeaths, a_worker_that_is_marked_loses_its_leases_at_once_and_nobody_else_does) {
  enlist(worker("w-1"));
  enlist(worker("w-2"));
  WorkerRegistration namesake = worker("w-1");
  namesake.name_space = "there";
  enlist(namesake);
  const Claims lost = hold(engine(), "w-1", 3);
  const Claims kept = hold(engine(), "w-2", 3);
  engine().make();
  ClaimRequest request = ask_as("w-1");
  request.worker_namespace = "there";
  const Claims of_namesake = claim(request);
  engine().advance(1000);
  value_of(engine().mark_dead("w-1", {"ops", "gone"}));
  EXPECT_EQ(held_of(lost), 0u);
  EXPECT_EQ(held_of(kept), 3u);
  EXPECT_EQ(held_of(of_namesake), 1u);
  for (const auto& claimed : lost) {
    EXPECT_EQ(state(claimed.execution_id), PublicState::waiting);
    EXPECT_EQ(refusal(engine().complete(claimed)), Errc::lease_revoked);
    const auto page = value_of(reads::history(engine().store(), claimed.execution_id, {}, 100));
    EXPECT_EQ(page.events.back().type, EventType::lease_revoked);
    EXPECT_EQ(page.events.back().reason, "worker_dead");
    EXPECT_EQ(page.events.back().actor, "clock");
    EXPECT_EQ(page.events.back().at, now());
  }
  const ClaimedExecution next = engine().take("default", 1000, "w-2");
  EXPECT_EQ(next.attempt.attempt_type, AttemptType::reclaim);
  EXPECT_EQ(next.attempt.reason, "worker_dead");
  EXPECT_GT(next.lease.lease_epoch, lost[0].lease.lease_epoch);
}

TEST_P(EngineWorkerDeaths, a_worker_that_lapses_loses_its_leases_at_that_moment) {
  enlist(worker("w-1", 5000));
  const Claims claims = hold(engine(), "w-1", 3);
  engine().advance(4999);
  EXPECT_EQ(held_of(claims), 3u);
  engine().advance(1);
  EXPECT_EQ(held_of(claims), 0u);
  EXPECT_EQ(losses().size(), 3u);
  for (const Event& event : losses()) EXPECT_EQ(event.reason, "worker_dead");
}

TEST_P(EngineWorkerDeaths, leases_got_through_grants_go_too) {
  enlist(worker("w-1", 5000));
  make_jobs(1);
  const Grant grant = *value_of(engine().claim_for_worker(best_for()));
  RedeemRequest request = redeem(grant);
  request.worker_instance_id = "w-1";
  request.lease_ttl_ms = 600000;
  const ClaimedExecution claimed = value_of(engine().claim_from_grant(request));
  engine().advance(5000);
  EXPECT_FALSE(is_held_by(claimed));
}

TEST_P(EngineWorkerDeaths, wait_for_lease_leaves_them_until_they_expire) {
  RuntimeOptions options;
  options.release_on_worker_death = false;
  engine_ = open_engine(5, options);
  enlist(worker("marked"));
  enlist(worker("lapsing", 5000));
  make_jobs(2);
  const Claims marked = claim_as(engine(), "marked", 1, 20000);
  const Claims lapsing = claim_as(engine(), "lapsing", 1, 20000);
  value_of(engine().mark_dead("marked"));
  engine().advance(19999);
  EXPECT_EQ(info("lapsing").state, WorkerState::ttl_swept);
  EXPECT_EQ(held_of(marked) + held_of(lapsing), 2u);
  EXPECT_TRUE(engine().renew(lapsing[0]).has_value()) << "a lease is good until it expires";
  engine().advance(1);
  EXPECT_EQ(held_of(marked), 0u);
  engine().advance(20000);
  EXPECT_EQ(held_of(lapsing), 0u);
  EXPECT_TRUE(losses().empty());
  EXPECT_EQ(events_of(EventType::lease_expired), 2u);
}

TEST_P(EngineWorkerDeaths, who_is_not_registered_cannot_die) {
  const Claims claims = hold(engine(), "stranger", 2);
  EXPECT_EQ(value_of(engine().mark_dead("stranger")), MarkWorkerDeadOutcome::not_registered);
  engine().advance(60000);
  EXPECT_EQ(held_of(claims), 2u);
}

TEST_P(EngineWorkerDeaths, C12_more_leases_than_a_sweep_takes_are_all_lost_each_once) {
  constexpr std::size_t held = 3 * limits::max_due_batch + 200;
  enlist(worker("w-1"));
  const Claims claims = hold(engine(), "w-1", held);
  engine().advance(1000);
  value_of(engine().mark_dead("w-1"));
  EXPECT_EQ(held_of(claims), 0u);
  std::set<ExecutionId> lost;
  const auto events = losses();
  for (const Event& event : events) lost.insert(*event.execution_id);
  EXPECT_EQ(events.size(), held) << "each once";
  EXPECT_EQ(lost.size(), held);
}

TEST_P(EngineWorkerDeaths, C12_many_workers_with_many_leases_die_at_once) {
  constexpr std::size_t fleet = 60, each = 30;
  Claims all;
  for (std::size_t i = 0; i < fleet; ++i) {
    const std::string instance = "w-" + std::to_string(i);
    enlist(worker(instance, 5000));
    const Claims some = hold(engine(), instance, each);
    all.insert(all.end(), some.begin(), some.end());
  }
  enlist(worker("survivor", 60000));
  const Claims kept = hold(engine(), "survivor", each);
  engine().jump(5000);
  EXPECT_EQ(held_of(all), 0u);
  EXPECT_EQ(held_of(kept), each);
  EXPECT_EQ(losses().size(), fleet * each);
  EXPECT_EQ(events_of(EventType::worker_ttl_swept), fleet);
}

TEST_P(EngineWorkerDeaths, a_manual_policy_leaves_the_lost_lease_to_somebody) {
  const ExecutionId id = make(manual_job());
  enlist(worker("w-1"));
  const Claims claims = claim_as(engine(), "w-1");
  engine().advance(1000);
  value_of(engine().mark_dead("w-1"));
  EXPECT_EQ(state(id), PublicState::waiting);
  EXPECT_EQ(engine().describe(id).state.ownership_state, Ownership::lease_revoked);
  const auto listed = value_of(engine().list_expired_leases()).leases;
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].lease_id, claims[0].lease.lease_id);
  EXPECT_EQ(listed[0].cause, LeaseLoss::revoked);
  EXPECT_EQ(listed[0].expires_at, now());
  EXPECT_TRUE(claim(ask_as("w-2")).empty());
}

TEST_P(EngineWorkerDeaths, deaths_count_towards_the_cap) {
  CreateRequest request = job();
  request.policy.max_reclaims = 1;
  const ExecutionId id = make(request);
  for (int life = 0; life < 2; ++life) {
    EXPECT_NE(state(id), PublicState::failed);
    enlist(worker("w-1"));
    ASSERT_EQ(claim_as(engine(), "w-1").size(), 1u);
    engine().advance(10);
    value_of(engine().mark_dead("w-1"));
    engine().advance(10);
  }
  EXPECT_EQ(state(id), PublicState::failed);
  EXPECT_EQ(facts(id).failure->category, "max_reclaims_exceeded");
  const Events history = engine().history(id);
  EXPECT_EQ(count_of(history, EventType::lease_revoked), 2);
  EXPECT_EQ(history.back(), EventType::failed);
}

// ---- Several engines -----------------------------------------------------------------------------------------------

TEST_P(EngineWorkerDeaths, marked_through_one_engine_while_another_gave_out_the_leases) {
  value_of(second().register_worker(worker("w-1")));
  make_jobs(5);
  const Claims claims = claim_as(second(), "w-1", 5);
  ASSERT_EQ(claims.size(), 5u);
  value_of(engine().mark_dead("w-1"));
  EXPECT_EQ(held_of(claims), 0u);
  for (const auto& claimed : claims) EXPECT_EQ(refusal(second().renew(claimed)), Errc::lease_revoked);
  EXPECT_EQ(value_of(second().heartbeat(beat("w-1"))).outcome, HeartbeatReply::Outcome::not_registered);
}

TEST_P(EngineWorkerDeaths, a_parked_claim_is_served_when_a_dead_workers_lease_is_released) {
  CreateRequest request = job();
  request.required_capabilities = {"gpu"};
  const ExecutionId id = make(request);
  enlist(worker("w-1", 5000, {"gpu"}));
  ClaimRequest first = ask_as("w-1");
  first.capabilities = {"gpu"};
  ASSERT_EQ(claim(first).size(), 1u);
  ClaimRequest incapable = ask_and_wait(60000);
  incapable.worker_instance_id = "incapable";
  ClaimRequest capable = incapable;
  capable.worker_instance_id = "capable";
  capable.capabilities = {"fast", "gpu"};
  const auto without = engine().claim_later(incapable);
  const auto with = engine().claim_later(capable);
  engine().advance(4999);
  EXPECT_FALSE(with.done());
  engine().advance(1);
  EXPECT_FALSE(without.done());
  ASSERT_TRUE(with.done()) << "at the very moment of the death";
  EXPECT_EQ(value_of(with.get()).at(0).execution_id, id);
  EXPECT_EQ(value_of(with.get()).at(0).lease.worker_instance_id, "capable");
}

TEST_P(EngineWorkerDeaths, a_claim_that_is_parked_at_another_engine_is_served) {
  enlist(worker("w-1"));
  const Claims claims = hold(engine(), "w-1", 1);
  ClaimRequest request = ask_and_wait(3600000);
  request.worker_instance_id = "w-2";
  const auto parked = second().claim_later(request);
  EXPECT_FALSE(parked.done());
  value_of(engine().mark_dead("w-1"));
  ASSERT_TRUE(comes_true(second(), [&] { return parked.done(); }));
  EXPECT_EQ(value_of(parked.get()).at(0).execution_id, claims[0].execution_id);
}

TEST_P(EngineWorkerDeaths, two_engines_release_each_lease_once) {
  constexpr std::size_t held = 1300;
  enlist(worker("w-1", 5000));
  const Claims claims = hold(engine(), "w-1", held);
  second();
  clock_.advance_ms(5000);
  std::thread other([&] { second().settle(); });
  engine().settle();
  other.join();
  engine().advance(1000);
  EXPECT_EQ(held_of(claims), 0u);
  EXPECT_EQ(losses().size(), held);
  EXPECT_EQ(events_of(EventType::worker_ttl_swept), 1u);
}

// ---- Engines that stop ---------------------------------------------------------------------------------------------

TEST_P(EngineWorkerDeaths, the_next_engine_releases_what_the_first_could_not) {
  enlist(worker("w-1"));
  const Claims claims = hold(engine(), "w-1", 700);
  engine().advance(1000);
  ASSERT_TRUE(call_without_clock(engine(), death("w-1")).has_value());
  EXPECT_EQ(held_of(claims), 700u) << "it stopped before its clock came by";
  engine_.reset();
  clock_.advance_ms(1000);
  engine_ = open_engine(3);
  engine().settle();
  EXPECT_EQ(held_of(claims), 0u);
  EXPECT_EQ(losses().size(), 700u);
}

// Kills the engine at each of its store calls while a worker with more leases than fit a sweep dies.
TEST_P(EngineWorkerDeaths, C9_a_crash_at_any_storage_call_leaves_no_lease_behind) {
  for (const auto when : {Watch::Death::before, Watch::Death::after}) {
    bool survived = false;
    for (int call = 1; !survived; ++call) {
      ASSERT_LT(call, 100);
      SCOPED_TRACE("call " + std::to_string(call) + (when == Watch::Death::before ? " before" : " after"));
      const std::string instance = "w-" + std::to_string(call) + (when == Watch::Death::before ? "b" : "a");
      enlist(worker(instance));
      const Claims claims = hold(engine(), instance, call % 10 == 4 ? limits::max_due_batch + 20 : 5);
      const std::string cursor = start_cursor("");
      const auto watch = std::make_shared<Watch>();
      bool acknowledged = false;
      {
        RuntimeOptions options;
        options.writers = 1;
        Driver doomed(std::make_unique<WatchedStore>(open_store(), watch), clock_, 77, options);
        watch->calls = 0;
        watch->fatal_call = call;
        watch->death = when;
        acknowledged = doomed.mark_dead(instance).has_value();
        doomed.advance(100);
        survived = !watch->dead;
      }
      engine().advance(61000);  // a keep-alive, for changes that the dead engine could not announce
      if (info(instance).state == WorkerState::live) {
        EXPECT_FALSE(acknowledged) << "an acknowledged death was lost";
        value_of(engine().mark_dead(instance));
      }
      EXPECT_EQ(held_of(claims), 0u);
      EXPECT_EQ(lost_since(cursor), sorted(ids_of(claims))) << "each is lost once";
      complete_everything();
      if (HasFailure()) return;
    }
  }
}

// ---- Workers that come back ----------------------------------------------------------------------------------------

TEST_P(EngineWorkerDeaths, a_restarted_worker_keeps_its_new_leases_while_the_old_ones_go) {
  enlist(worker("w-1"));
  const Claims old = hold(engine(), "w-1", 2 * limits::max_due_batch + 100);
  const auto fresh_jobs = make_jobs(20, "new");
  engine().advance(1000);
  ASSERT_TRUE(call_without_clock(engine(), death("w-1")).has_value());
  clock_.advance_ms(1);
  ASSERT_TRUE(call_without_clock(engine(), RegisterCommand{worker("w-1")}).has_value());
  const Claims fresh = hold_without_clock(engine(), "w-1", fresh_jobs.size(), "new");
  EXPECT_EQ(held_of(old), old.size());
  engine().settle();
  EXPECT_EQ(held_of(old), 0u);
  EXPECT_EQ(held_of(fresh), fresh.size());
  EXPECT_EQ(info("w-1").state, WorkerState::live);
  engine().advance(29999);
  EXPECT_EQ(held_of(fresh), fresh.size());
  engine().advance(1);
  EXPECT_EQ(held_of(fresh), 0u) << "the new life ends by its own TTL";
}

// Supervisors are fast: death, restart and claim may happen within one millisecond.
TEST_P(EngineWorkerDeaths, a_worker_that_restarts_within_the_millisecond_keeps_its_new_leases) {
  enlist(worker("w-1"));
  const Claims old = hold(engine(), "w-1", 10);
  const auto fresh_jobs = make_jobs(10, "new");
  engine().advance(1);
  ASSERT_TRUE(call_without_clock(engine(), death("w-1")).has_value());
  ASSERT_TRUE(call_without_clock(engine(), RegisterCommand{worker("w-1")}).has_value());
  const Claims fresh = hold_without_clock(engine(), "w-1", fresh_jobs.size(), "new");
  engine().settle();
  EXPECT_EQ(held_of(old), 0u);
  EXPECT_EQ(held_of(fresh), fresh.size());
}

TEST_P(EngineWorkerDeaths, a_worker_that_lapsed_and_registers_in_the_same_breath_keeps_its_new_leases) {
  enlist(worker("w-1", 5000));
  const Claims old = hold(engine(), "w-1", 10);
  const auto fresh_jobs = make_jobs(10, "new");
  clock_.advance_ms(5000);
  const auto again = value_of(call_without_clock(engine(), RegisterCommand{worker("w-1", 5000)}));
  EXPECT_EQ(std::get<RegisterWorkerReply>(again).outcome, RegisterWorkerReply::Outcome::registered);
  const Claims fresh = hold_without_clock(engine(), "w-1", fresh_jobs.size(), "new");
  engine().settle();
  EXPECT_EQ(held_of(old), 0u);
  EXPECT_EQ(held_of(fresh), fresh.size());
  EXPECT_EQ(worker_history("w-1"),
            (Events{EventType::worker_registered, EventType::worker_ttl_swept, EventType::worker_registered}));
}

// The search for the old leases must end although there are more new ones than it examines.
TEST_P(EngineWorkerDeaths, a_restarted_worker_may_hold_more_new_leases_than_a_sweep_looks_at) {
  constexpr std::size_t many = limits::max_due_batch + 100;
  for (const std::string instance : {"w-1", "w-2", "w-3"}) {
    enlist(worker(instance));
    hold(engine(), instance, 3);
  }
  make_jobs(3 * many, "new");
  engine().advance(1000);
  Claims fresh;
  for (const std::string instance : {"w-1", "w-2", "w-3"}) {
    ASSERT_TRUE(call_without_clock(engine(), death(instance)).has_value());
    clock_.advance_ms(1);
    ASSERT_TRUE(call_without_clock(engine(), RegisterCommand{worker(instance)}).has_value());
    const Claims some = hold_without_clock(engine(), instance, many, "new");
    fresh.insert(fresh.end(), some.begin(), some.end());
  }
  const auto& statistics = engine().runtime().statistics();
  for (int i = 0; i < 50; ++i) {
    engine().runtime().tick();
    pump_only(engine());
  }
  EXPECT_EQ(losses().size(), 9u);
  EXPECT_EQ(held_of(fresh), fresh.size());
  EXPECT_LE(statistics.sweeps, 20u) << "it does not look for ever";
}

TEST_P(EngineWorkerDeaths, a_second_death_before_the_first_was_dealt_with_takes_the_leases_of_both_lives) {
  enlist(worker("w-1", 5000));
  const Claims old = hold(engine(), "w-1", 3);
  make_jobs(3, "new");
  engine().advance(10);
  ASSERT_TRUE(call_without_clock(engine(), death("w-1")).has_value());
  clock_.advance_ms(10);
  ASSERT_TRUE(call_without_clock(engine(), RegisterCommand{worker("w-1", 5000)}).has_value());
  const Claims fresh = hold_without_clock(engine(), "w-1", 3, "new");
  engine_.reset();
  clock_.advance_ms(5000);
  engine_ = open_engine(3);
  engine().settle();
  EXPECT_EQ(info("w-1").state, WorkerState::ttl_swept);
  EXPECT_EQ(held_of(old), 0u);
  EXPECT_EQ(held_of(fresh), 0u);
}

TEST_P(EngineWorkerDeaths, a_life_without_old_leases_that_ends_while_a_release_is_open_loses_its_own) {
  enlist(worker("w-1", 5000));
  make_jobs(3, "new");
  engine().advance(10);
  ASSERT_TRUE(call_without_clock(engine(), death("w-1")).has_value());
  clock_.advance_ms(10);
  ASSERT_TRUE(call_without_clock(engine(), RegisterCommand{worker("w-1", 5000)}).has_value());
  const Claims fresh = hold_without_clock(engine(), "w-1", 3, "new");
  clock_.advance_ms(5000);
  engine().settle();
  EXPECT_EQ(info("w-1").state, WorkerState::ttl_swept);
  EXPECT_EQ(held_of(fresh), 0u) << "what was left over from the first life hides nothing";
}

// ---- One unreadable record -----------------------------------------------------------------------------------------

TEST_P(EngineWorkerDeaths, an_unreadable_lease_does_not_hold_up_the_others) {
  enlist(worker("w-1", 5000));
  const Claims claims = hold(engine(), "w-1", 3);
  damage(execution_key(claims[1].execution_id));
  clock_.advance_ms(5000);
  for (int i = 0; i < 20; ++i) {
    engine().runtime().tick();
    pump_only(engine());
  }
  EXPECT_FALSE(is_held_by(claims[0]) || is_held_by(claims[2]));
  EXPECT_EQ(info("w-1").state, WorkerState::ttl_swept);
}

}  // namespace
}  // namespace flowfabric::test
