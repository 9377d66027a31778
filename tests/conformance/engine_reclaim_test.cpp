// Reclaim grants.
#include "conformance/fleet_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineReclaims : public FleetSuite {
 protected:
  IssueReclaimGrantOutcome ask_to_reclaim(GrantRequest request) {
    return value_of(engine().issue_reclaim_grant(std::move(request)));
  }
  Grant granted(const ExecutionId& id, std::uint32_t grant_ttl_ms = 5000) {
    return std::get<Granted>(ask_to_reclaim(grant_for(id, grant_ttl_ms))).grant;
  }
  std::string not_reclaimable(const ExecutionId& id) {
    return std::get<NotReclaimable>(ask_to_reclaim(grant_for(id))).detail;
  }
  ReclaimExecutionOutcome reclaim(const RedeemRequest& request) { return value_of(engine().reclaim(request)); }
  ClaimedExecution reclaimed(const RedeemRequest& request) { return std::get<Claimed>(reclaim(request)).execution; }
  bool grant_not_found(const RedeemRequest& request) { return std::holds_alternative<GrantNotFound>(reclaim(request)); }
  // An execution whose lease has just expired.
  ExecutionId lost(const CreateRequest& request) {
    const ExecutionId id = make(request);
    last_ = engine().take(request.lane, 1000, "w-dead");
    engine().advance(1000);
    return id;
  }

  ClaimedExecution last_;
};
ON_EVERY_STORE(EngineReclaims);

// ---- The way it goes -----------------------------------------------------------------------------------------------

TEST_P(EngineReclaims, C13_a_reclaim_is_a_new_attempt_under_the_next_epoch) {
  for (const CreateRequest& request : {manual_job(), job()}) {
    SCOPED_TRACE(request.policy.on_lease_lost == OnLeaseLost::manual ? "manual" : "requeue");
    const ExecutionId id = lost(request);
    const std::uint64_t epoch = engine().describe(id).lease_epoch;
    EXPECT_EQ(engine().describe(id).reclaim_count, 0u);
    const Grant grant = granted(id);
    EXPECT_EQ(grant.kind, GrantKind::reclaim);
    EXPECT_EQ(grant.lane, "default");
    EXPECT_EQ(grant.expires_at, now() + 5000);
    RedeemRequest redeeming = redeem(grant);
    redeeming.worker_instance_id = "w-9";
    redeeming.lease_ttl_ms = 8000;
    const ClaimedExecution claimed = std::get<Claimed>(value_of(second().reclaim(redeeming))).execution;
    EXPECT_EQ(claimed.handle_kind, HandleKind::reclaimed);
    EXPECT_EQ(claimed.lease.lease_epoch, epoch + 1);
    EXPECT_GT(claimed.lease.lease_epoch, last_.lease.lease_epoch);
    EXPECT_EQ(claimed.lease.expires_at, now() + 8000);
    EXPECT_EQ(claimed.lease.worker_instance_id, "w-9") << "the instance may be another";
    EXPECT_EQ(claimed.attempt.attempt_type, AttemptType::reclaim);
    EXPECT_EQ(claimed.attempt.attempt_index, 1u);
    EXPECT_EQ(claimed.attempt.previous_attempt_index, 0u);
    EXPECT_EQ(claimed.attempt.reason, "lease_expired");
    const auto description = engine().describe(id);
    EXPECT_EQ(description.reclaim_count, 1u);
    EXPECT_EQ(description.attempts.at(0).attempt_state, AttemptState::interrupted_reclaimed);
    EXPECT_EQ(description.attempts.at(1).attempt_state, AttemptState::started);
    EXPECT_EQ(refusal(engine().complete(last_)), Errc::lease_expired);
    value_of(engine().complete(claimed));
    EXPECT_EQ(engine().history(id),
              (Events{EventType::created, EventType::claimed, EventType::lease_expired, EventType::grant_issued,
                      EventType::lease_reclaimed, EventType::completed}));
  }
}

TEST_P(EngineReclaims, a_revoked_lease_and_one_of_a_dead_worker_can_be_reclaimed) {
  const ExecutionId revoked = make(manual_job());
  engine().take("default", 600000);
  call<RevokeReply>(RevokeCommand{revoked, {}, {"ops", "stuck"}});
  EXPECT_EQ(reclaimed(redeem(granted(revoked))).attempt.reason, "lease_revoked");
  enlist(worker("w-1"));
  const ExecutionId orphan = make(manual_job());
  ASSERT_EQ(claim_as(engine(), "w-1").size(), 1u);
  EXPECT_NE(not_reclaimable(orphan).find("w-1"), std::string::npos);
  engine().advance(1);
  value_of(engine().mark_dead("w-1"));
  RedeemRequest by_another = redeem(granted(orphan));
  by_another.worker_instance_id = "w-2";
  EXPECT_EQ(reclaimed(by_another).execution_id, orphan);
}

TEST_P(EngineReclaims, a_lease_that_ran_out_can_be_reclaimed_before_the_clock_comes_by) {
  const ExecutionId id = engine().make();
  engine().take("default", 1000);
  clock_.advance_ms(999);
  EXPECT_FALSE(not_reclaimable(id).empty()) << "in its last millisecond it is alive";
  clock_.advance_ms(1);
  EXPECT_EQ(reclaimed(redeem(granted(id))).handle_kind, HandleKind::reclaimed);
  EXPECT_TRUE(claim(ask()).empty());
}

TEST_P(EngineReclaims, the_new_attempt_has_a_timeout_of_its_own) {
  CreateRequest request = manual_job();
  request.policy.attempt_timeout_ms = 5000;
  const ExecutionId id = lost(request);
  engine().advance(3000);
  const ClaimedExecution claimed = reclaimed(redeem(granted(id)));
  EXPECT_EQ(claimed.attempt.timeout_at, now() + 5000);
  engine().advance(4999);
  EXPECT_EQ(state(id), PublicState::active);
  engine().advance(1);
  EXPECT_EQ(state(id), PublicState::failed);
}

TEST_P(EngineReclaims, a_large_payload_comes_along) {
  CreateRequest request = manual_job();
  request.payload = std::string(limits::max_inline_bytes + 5000, 'p');
  EXPECT_EQ(reclaimed(redeem(granted(lost(request)))).payload, request.payload);
}

// ---- Who may not ---------------------------------------------------------------------------------------------------

TEST_P(EngineReclaims, C13_only_a_lost_lease_can_be_reclaimed) {
  EXPECT_EQ(refusal(engine().issue_reclaim_grant(grant_for(ExecutionId{3, Uuid{{9}}}))), Errc::not_found);
  const ExecutionId waiting = engine().make();
  EXPECT_NE(not_reclaimable(waiting).find("has not lost a lease"), std::string::npos);
  const ClaimedExecution claimed = engine().take("default", 60000, "w-live");
  const Facts before = facts(waiting);
  EXPECT_NE(not_reclaimable(waiting).find("w-live"), std::string::npos) << "a live lease can never be reclaimed";
  EXPECT_EQ(facts(waiting), before);
  value_of(engine().delay(claimed, now() + 5000));
  EXPECT_FALSE(not_reclaimable(waiting).empty()) << "a delayed attempt is still its own";
  engine().advance(5000);
  EXPECT_FALSE(not_reclaimable(waiting).empty());
  value_of(engine().complete(engine().take()));
  EXPECT_NE(not_reclaimable(waiting).find("ended"), std::string::npos);
  const ExecutionId retried = make(retried_job());
  value_of(engine().fail(engine().take()));
  EXPECT_FALSE(not_reclaimable(retried).empty()) << "a failed attempt has lost no lease";
  engine().advance(1000);
  EXPECT_FALSE(not_reclaimable(retried).empty());
}

TEST_P(EngineReclaims, C13_a_loss_that_was_followed_cannot_be_reclaimed_again) {
  const ExecutionId id = lost(job());
  const ClaimedExecution next = engine().take("default", 60000, "w-next");
  EXPECT_NE(not_reclaimable(id).find("w-next"), std::string::npos);
  value_of(engine().delay(next, now() + 10));
  EXPECT_FALSE(not_reclaimable(id).empty()) << "an old loss counts for nothing";
  engine().advance(10);
  EXPECT_FALSE(not_reclaimable(id).empty());
}

TEST_P(EngineReclaims, C13_capabilities_are_checked_when_granted_and_when_used) {
  CreateRequest request = manual_job();
  request.required_capabilities = {"fast", "gpu"};
  const ExecutionId id = make(request);
  ClaimRequest first = ask(1, {"default"}, {"fast", "gpu"});
  first.lease_ttl_ms = 1000;
  ASSERT_EQ(claim(first).size(), 1u);
  engine().advance(1000);
  GrantRequest asked = grant_for(id);
  asked.capabilities = {"gpu"};
  EXPECT_EQ(std::get<NotReclaimable>(ask_to_reclaim(asked)).detail, "capability_mismatch: fast");
  asked.capabilities = {"gpu", "fast"};
  const Grant grant = std::get<Granted>(ask_to_reclaim(asked)).grant;
  RedeemRequest redeeming = redeem(grant);
  EXPECT_EQ(std::get<NotReclaimable>(reclaim(redeeming)).detail, "capability_mismatch: fast,gpu");
  redeeming.capabilities = {"fast", "gpu"};
  EXPECT_EQ(reclaimed(redeeming).execution_id, id) << "a refusal does not use the grant up";
}

TEST_P(EngineReclaims, C7_a_paused_lane_hands_out_no_reclaims) {
  const ExecutionId id = lost(manual_job());
  const Grant grant = granted(id, 60000);
  const ExecutionId other = lost(manual_job());
  call<LaneInfo>(LaneCommand{"default", LaneState::paused, {"ops", "stop"}});
  EXPECT_NE(not_reclaimable(other).find("paused"), std::string::npos);
  EXPECT_TRUE(std::holds_alternative<NotReclaimable>(reclaim(redeem(grant))));
  call<LaneInfo>(LaneCommand{"default", LaneState::active, {}});
  EXPECT_EQ(reclaimed(redeem(grant)).execution_id, id);
}

TEST_P(EngineReclaims, bad_requests_are_refused_by_name) {
  const ExecutionId id = lost(manual_job());
  for (const std::uint32_t ttl : {0u, 60001u}) {
    EXPECT_EQ(error_of(engine().issue_reclaim_grant(grant_for(id, ttl))).field, "grant_ttl_ms");
  }
  GrantRequest request = grant_for(id);
  request.worker_id = "";
  EXPECT_EQ(error_of(engine().issue_reclaim_grant(request)).field, "worker_id");
  RedeemRequest redeeming = redeem(granted(id));
  redeeming.lease_ttl_ms = 1;
  EXPECT_EQ(error_of(engine().reclaim(redeeming)).field, "lease_ttl_ms");
}

// ---- With and without a grant --------------------------------------------------------------------------------------

TEST_P(EngineReclaims, C13_without_a_valid_grant_nothing_changes) {
  CreateRequest at_its_cap = manual_job();
  at_its_cap.policy.max_reclaims = 1;
  const ExecutionId capped = lost(at_its_cap);
  reclaimed(redeem(granted(capped)));  // the last one that its policy allows
  const ExecutionId free = lost(manual_job());
  const Grant grant = granted(free);
  for (const ExecutionId& id : {capped, free}) {
    const Facts before = facts(id);
    const auto history = engine().history(id);
    std::vector<RedeemRequest> attempts(id == free ? 4 : 5, redeem(grant));  // the fifth: another execution's grant
    attempts[0].grant_key = "forged";
    attempts[1].grant_key.back() = attempts[1].grant_key.back() == 'A' ? 'B' : 'A';
    attempts[2].worker_id = "thief";
    attempts[3].grant_key = last_.handle;
    for (RedeemRequest& request : attempts) {
      request.execution_id = id;
      EXPECT_EQ(refusal(engine().reclaim(request)), Errc::invalid_claim_grant);
    }
    EXPECT_EQ(facts(id), before);
    EXPECT_EQ(engine().history(id), history);
  }
  EXPECT_EQ(refusal(engine().claim_from_grant(redeem(grant))), Errc::invalid_claim_grant) << "not of this kind";
  EXPECT_EQ(reclaimed(redeem(grant)).execution_id, free);
}

TEST_P(EngineReclaims, C13_a_grant_is_used_once_and_runs_out) {
  const ExecutionId id = lost(manual_job());
  const Grant first = granted(id);
  EXPECT_EQ(refusal(engine().issue_reclaim_grant(grant_for(id))), Errc::grant_already_exists);
  clock_.advance_ms(5000);
  EXPECT_TRUE(grant_not_found(redeem(first))) << "expiry is evaluated at use";
  const Grant next = granted(id);
  EXPECT_TRUE(grant_not_found(redeem(first)));
  const ClaimedExecution claimed = reclaimed(redeem(next));
  const Facts before = facts(id);
  EXPECT_TRUE(grant_not_found(redeem(next))) << "a live lease can never be reclaimed";
  EXPECT_TRUE(std::holds_alternative<GrantNotFound>(value_of(second().reclaim(redeem(next)))));
  EXPECT_EQ(facts(id), before);
  EXPECT_TRUE(is_held_by(claimed));
}

TEST_P(EngineReclaims, C13_a_grant_holds_off_the_requeue_until_it_is_used_or_runs_out) {
  const ExecutionId used = lost(job());
  const Grant grant = granted(used, 5000);
  EXPECT_TRUE(claim(ask()).empty());
  EXPECT_EQ(engine().describe(used).state.blocking_reason, BlockingReason::reserved_by_grant);
  engine().advance(4999);
  EXPECT_TRUE(claim(ask()).empty());
  const ClaimedExecution claimed = reclaimed(redeem(grant));
  engine().advance(1);
  EXPECT_TRUE(is_held_by(claimed));

  const ExecutionId unused = lost(job());
  granted(unused, 5000);
  const auto parked = engine().claim_later(ask_and_wait(60000));
  engine().advance(4999);
  EXPECT_FALSE(parked.done());
  engine().advance(1);
  ASSERT_TRUE(parked.done()) << "served when the grant runs out";
  EXPECT_EQ(value_of(parked.get()).at(0).execution_id, unused);
  EXPECT_EQ(value_of(parked.get()).at(0).handle_kind, HandleKind::reclaimed);
  EXPECT_EQ(facts(unused).reclaim_count, 1u);
}

TEST_P(EngineReclaims, C13_a_grant_holds_off_the_end_of_the_grace_too) {
  CreateRequest request = job();
  request.policy.reclaim_grace_ms = 2000;
  const ExecutionId id = lost(request);
  const Grant grant = granted(id, 5000);
  const auto parked = engine().claim_later(ask_and_wait(60000));
  engine().advance(4999);
  EXPECT_FALSE(parked.done()) << "the grace is over, the grant is not";
  engine().advance(1);
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(value_of(parked.get()).at(0).execution_id, id);
  EXPECT_TRUE(grant_not_found(redeem(grant)));

  const ExecutionId longer = lost(request);
  granted(longer, 500);
  engine().advance(1999);
  EXPECT_TRUE(claim(ask()).empty()) << "the grant is over, the grace is not";
  engine().advance(1);
  EXPECT_EQ(engine().take().execution_id, longer);
}

TEST_P(EngineReclaims, a_manual_execution_goes_back_to_waiting_for_somebody) {
  const ExecutionId id = lost(manual_job());
  granted(id, 1000);
  engine().advance(1000);
  EXPECT_EQ(state(id), PublicState::waiting);
  EXPECT_EQ(engine().describe(id).state.ownership_state, Ownership::lease_expired_reclaimable);
  EXPECT_TRUE(claim(ask()).empty());
  EXPECT_EQ(value_of(engine().list_expired_leases()).leases.size(), 1u);
  EXPECT_EQ(reclaimed(redeem(granted(id))).execution_id, id);
}

TEST_P(EngineReclaims, an_end_takes_the_grant_along) {
  const ExecutionId id = lost(manual_job());
  const Grant grant = granted(id, 60000);
  call<CancelReply>(CancelCommand{id, {}});
  EXPECT_NE(std::get<NotReclaimable>(reclaim(redeem(grant))).detail.find("ended"), std::string::npos);
  EXPECT_FALSE(not_reclaimable(id).empty());
  call<ReplayReply>(ReplayCommand{id, {}});
  EXPECT_TRUE(grant_not_found(redeem(grant))) << "not in the next life either";
  EXPECT_FALSE(not_reclaimable(id).empty()) << "the losses of a former life do not count";
}

// ---- The cap -------------------------------------------------------------------------------------------------------

TEST_P(EngineReclaims, C13_the_cap_ends_it_as_failed_with_lease_and_completion_events) {
  for (const bool manual : {true, false}) {
    CreateRequest request = manual ? manual_job() : job();
    request.policy.max_reclaims = 2;
    const ExecutionId id = lost(request);
    const auto waiting = engine().wait_later(id, 600000);
    Grant last;
    for (int i = 0; i < 2; ++i) {
      last = granted(id);
      RedeemRequest redeeming = redeem(last);
      redeeming.lease_ttl_ms = 1000;
      reclaimed(redeeming);
      EXPECT_FALSE(waiting.done());
      engine().advance(1000);
    }
    EXPECT_EQ(state(id), PublicState::failed);
    EXPECT_TRUE(waiting.done());
    EXPECT_EQ(facts(id).failure->category, "max_reclaims_exceeded");
    EXPECT_EQ(engine().describe(id).attempt->attempt_state, AttemptState::interrupted);
    const Events history = engine().history(id);
    EXPECT_EQ(count_of(history, EventType::lease_expired), 3);
    EXPECT_EQ(count_of(history, EventType::lease_reclaimed), 2);
    EXPECT_EQ(ends_in(history), 1);
    EXPECT_EQ(history.back(), EventType::failed);
    const Facts before = facts(id);
    EXPECT_EQ(std::get<ReclaimCapExceeded>(ask_to_reclaim(grant_for(id))).count, 2u);
    EXPECT_EQ(std::get<ReclaimCapExceeded>(reclaim(redeem(last))).count, 2u);
    EXPECT_EQ(facts(id), before);
  }
}

TEST_P(EngineReclaims, C13_a_cap_of_zero_ends_it_at_the_first_loss) {
  CreateRequest request = manual_job();
  request.policy.max_reclaims = 0;
  const ExecutionId id = lost(request);
  EXPECT_EQ(state(id), PublicState::failed);
  EXPECT_EQ(std::get<ReclaimCapExceeded>(ask_to_reclaim(grant_for(id))).count, 0u);
  EXPECT_EQ(engine().history(id),
            (Events{EventType::created, EventType::claimed, EventType::lease_expired, EventType::failed}));
}

// ---- Races ---------------------------------------------------------------------------------------------------------

TEST_P(EngineReclaims, C2_two_engines_use_one_reclaim_grant_and_exactly_one_wins) {
  constexpr std::size_t executions = 40;
  const auto made = make_many(std::vector<CreateRequest>(executions, manual_job()));
  claim_all("default", 1000);
  engine().advance(1000);
  std::vector<Grant> grants;
  for (const ExecutionId& id : made) grants.push_back(granted(id, 60000));
  second();
  std::atomic<int> won{0}, not_found{0}, else_{0};
  const auto use_all = [&](Driver& driver) {
    for (const Grant& grant : grants) {
      const auto outcome = driver.reclaim(redeem(grant));
      if (outcome && std::holds_alternative<Claimed>(*outcome)) {
        ++won;
      } else if (outcome && std::holds_alternative<GrantNotFound>(*outcome)) {
        ++not_found;
      } else {
        ++else_;
      }
    }
  };
  std::thread other([&] { use_all(second()); });
  use_all(engine());
  other.join();
  EXPECT_EQ(won, static_cast<int>(executions));
  EXPECT_EQ(not_found, static_cast<int>(executions));
  EXPECT_EQ(else_, 0);
  for (const ExecutionId& id : made) {
    EXPECT_EQ(count_of(engine().history(id), EventType::lease_reclaimed), 1);
    EXPECT_EQ(facts(id).reclaim_count, 1u);
  }
}

TEST_P(EngineReclaims, race_of_a_late_renewal_and_a_reclaim_is_decided_by_the_lease) {
  const ExecutionId id = make(manual_job());
  const ClaimedExecution slow = engine().take("default", 1000);
  clock_.advance_ms(999);
  value_of(second().renew(slow));
  clock_.advance_ms(1);
  EXPECT_FALSE(not_reclaimable(id).empty()) << "renewed in time: alive";
  clock_.advance_ms(999);
  const Grant grant = granted(id);
  EXPECT_EQ(refusal(second().renew(slow)), Errc::lease_expired);
  EXPECT_EQ(refusal(second().complete(slow)), Errc::lease_expired);
  EXPECT_EQ(reclaimed(redeem(grant)).execution_id, id);
}

TEST_P(EngineReclaims, race_of_cancel_and_reclaim_has_one_winner) {
  constexpr std::size_t executions = 40;
  const auto made = make_many(std::vector<CreateRequest>(executions, manual_job()));
  claim_all("default", 1000);
  engine().advance(1000);
  std::vector<Grant> grants;
  for (const ExecutionId& id : made) grants.push_back(granted(id, 60000));
  second();
  std::vector<std::string> trouble;
  std::thread other([&] {
    for (const ExecutionId& id : made) {
      const auto reply = second().call(CancelCommand{id, {}});
      if (!reply) trouble.push_back(reply.error().message);
    }
  });
  std::vector<std::string> odd;
  for (const Grant& grant : grants) {
    const auto outcome = engine().reclaim(redeem(grant));
    if (!outcome) odd.push_back(outcome.error().message);
    if (outcome && std::holds_alternative<GrantNotFound>(*outcome)) odd.emplace_back("grant not found");
  }
  other.join();
  EXPECT_EQ(trouble, std::vector<std::string>{});
  EXPECT_EQ(odd, std::vector<std::string>{});
  for (const ExecutionId& id : made) {
    EXPECT_EQ(state(id), PublicState::cancelled);
    EXPECT_EQ(ends_in(engine().history(id)), 1);
  }
}

// ---- What is shown -------------------------------------------------------------------------------------------------

TEST_P(EngineReclaims, a_manual_execution_without_a_lease_is_not_shown_as_active) {
  const ExecutionId expired = lost(manual_job());
  const ExecutionId revoked = make(manual_job());
  engine().take();
  EXPECT_EQ(call<RevokeReply>(RevokeCommand{revoked, {}, {}}).public_state, PublicState::waiting);
  for (const ExecutionId& id : {expired, revoked}) {
    const ExecutionDescription shown = engine().describe(id);
    EXPECT_EQ(shown.summary.public_state, PublicState::waiting);
    EXPECT_EQ(shown.state.blocking_reason, BlockingReason::waiting_for_reclaim);
  }
  ListRequest active;
  active.states = {PublicState::active};
  EXPECT_TRUE(value_of(reads::list(engine().store(), active)).executions.empty());
  EXPECT_TRUE(claim(ask(5)).empty()) << "and it is not claimable";
  reclaimed(redeem(granted(revoked)));
  EXPECT_EQ(state(revoked), PublicState::active);
}

TEST_P(EngineReclaims, a_grant_is_shown_with_its_instance_and_the_texts_of_the_scheduler) {
  const ExecutionId id = lost(manual_job());
  GrantRequest request = grant_for(id);
  request.worker_instance_id = "w-7";
  request.capability_hash = "c0ffee";
  request.route_snapshot = std::string(limits::max_grant_note_bytes, 'r');
  request.admission_summary = "admitted\nby hand";
  const Grant grant = std::get<Granted>(value_of(engine().issue_reclaim_grant(request))).grant;
  const GrantInfo expected{
      GrantKind::reclaim,     grant.grant_id,           "worker", "w-7", grant.expires_at, request.capability_hash,
      request.route_snapshot, request.admission_summary};
  EXPECT_EQ(second().describe(id).grant, expected);
  engine().advance(request.grant_ttl_ms);
  EXPECT_FALSE(engine().describe(id).grant);
}

TEST_P(EngineReclaims, a_reservation_of_the_next_carries_the_texts_too) {
  engine().make();
  ClaimForWorkerRequest request = best_for();
  request.capability_hash = "c0ffee";
  request.route_snapshot = "route";
  request.admission_summary = "summary";
  const auto grant = value_of(engine().claim_for_worker(request));
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->capability_hash + grant->route_snapshot + grant->admission_summary, "c0ffeeroutesummary");
  EXPECT_EQ(engine().describe(grant->execution_id).grant->worker_instance_id, request.worker_instance_id);
}

TEST_P(EngineReclaims, a_caller_may_allow_fewer_reclaims_than_the_policy) {
  const ExecutionId id = lost(manual_job());
  RedeemRequest request = redeem(granted(id));
  request.max_reclaim_count = 0;
  EXPECT_EQ(std::get<ReclaimCapExceeded>(reclaim(request)).count, 0u);
  EXPECT_EQ(state(id), PublicState::failed);
  EXPECT_EQ(engine().history(id).back(), EventType::failed);
  EXPECT_TRUE(value_of(engine().list_expired_leases()).leases.empty());
}

}  // namespace
}  // namespace flowfabric::test
