// Claim grants.
#include "base/hashing.hpp"
#include "conformance/fleet_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineClaimGrants : public FleetSuite {
 protected:
  Grant issue(const ExecutionId& id, std::uint32_t grant_ttl_ms = 5000) {
    return value_of(engine().issue_claim_grant(grant_for(id, grant_ttl_ms)));
  }
  std::optional<ExecutionId> best(ClaimForWorkerRequest request = best_for()) {
    const auto grant = value_of(engine().claim_for_worker(std::move(request)));
    return grant ? std::optional<ExecutionId>(grant->execution_id) : std::nullopt;
  }
  Errc redeemed(const RedeemRequest& request) { return refusal(engine().claim_from_grant(request)); }
  BlockingReason blocked(const ExecutionId& id) { return engine().describe(id).state.blocking_reason; }
};
ON_EVERY_STORE(EngineClaimGrants);

// ---- Issuing and redeeming -----------------------------------------------------------------------------------------

TEST_P(EngineClaimGrants, C8_a_grant_reserves_and_redeeming_leases) {
  const ExecutionId id = engine().make();
  const Grant grant = issue(id, 5000);
  EXPECT_EQ(grant.kind, GrantKind::claim);
  EXPECT_EQ(grant.execution_id, id);
  EXPECT_EQ(grant.lane, "default");
  EXPECT_EQ(grant.worker_id, "worker");
  EXPECT_EQ(grant.worker_instance_id, "w-1");
  EXPECT_EQ(grant.expires_at, now() + 5000);
  const Sha256 digest = sha256(grant.grant_key);
  const std::string digest_bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  EXPECT_EQ(grant.grant_id, to_hex(digest_bytes));
  EXPECT_EQ(facts(id).grant->grant_id, digest_bytes) << "the store knows the hash, not the key";
  EXPECT_EQ(blocked(id), BlockingReason::reserved_by_grant);
  EXPECT_EQ(engine().describe(id).explain.front().code, "reserved_by_grant");
  EXPECT_EQ(engine().describe(id).explain.front().until, grant.expires_at);
  EXPECT_EQ(state(id), PublicState::waiting);
  EXPECT_TRUE(claim(ask()).empty());
  EXPECT_TRUE(value_of(second().claim(ask())).empty());
  EXPECT_EQ(best(), std::nullopt);

  RedeemRequest request = redeem(grant);
  request.worker_instance_id = "w-2";
  request.lease_ttl_ms = 7000;
  const ClaimedExecution claimed = value_of(second().claim_from_grant(request));
  EXPECT_EQ(claimed.execution_id, id);
  EXPECT_EQ(claimed.handle_kind, HandleKind::fresh);
  EXPECT_EQ(claimed.attempt.attempt_type, AttemptType::initial);
  EXPECT_EQ(claimed.lease.worker_instance_id, "w-2") << "the instance may be another";
  EXPECT_EQ(claimed.lease.expires_at, now() + 7000);
  EXPECT_FALSE(facts(id).grant.has_value());
  value_of(engine().complete(claimed));
  EXPECT_EQ(engine().history(id),
            (Events{EventType::created, EventType::grant_issued, EventType::claimed, EventType::completed}));
}

TEST_P(EngineClaimGrants, C8_a_grant_works_once) {
  const ExecutionId id = engine().make();
  const Grant grant = issue(id);
  const ClaimedExecution claimed = value_of(engine().claim_from_grant(redeem(grant)));
  EXPECT_EQ(redeemed(redeem(grant)), Errc::invalid_claim_grant);
  EXPECT_EQ(refusal(second().claim_from_grant(redeem(grant))), Errc::invalid_claim_grant);
  EXPECT_TRUE(is_held_by(claimed));
  value_of(engine().delay(claimed, now() + 10));
  engine().advance(10);
  EXPECT_EQ(redeemed(redeem(grant)), Errc::invalid_claim_grant) << "nor when the execution could be claimed again";
  const Grant next = issue(id);
  EXPECT_EQ(redeemed(redeem(grant)), Errc::invalid_claim_grant) << "nor when another one stands";
  const ClaimedExecution again = value_of(engine().claim_from_grant(redeem(next)));
  EXPECT_EQ(again.handle_kind, HandleKind::resumed);
  EXPECT_EQ(again.attempt.attempt_index, 0u);
  EXPECT_EQ(engine().history(id).back(), EventType::resumed);
  value_of(engine().complete(again));
  EXPECT_EQ(redeemed(redeem(next)), Errc::already_terminal);
}

TEST_P(EngineClaimGrants, C8_a_grant_is_for_one_worker_and_one_execution) {
  const ExecutionId id = engine().make();
  const ExecutionId other = engine().make();
  const Grant grant = issue(id);
  const Facts before = facts(id);
  RedeemRequest request = redeem(grant);
  request.worker_id = "thief";
  EXPECT_EQ(redeemed(request), Errc::invalid_claim_grant);
  request = redeem(grant);
  request.execution_id = other;
  EXPECT_EQ(redeemed(request), Errc::invalid_claim_grant);
  request.execution_id = ExecutionId{id.partition, Uuid{{1}}};
  EXPECT_EQ(redeemed(request), Errc::invalid_claim_grant);
  EXPECT_EQ(refusal(engine().reclaim(redeem(grant))), Errc::invalid_claim_grant) << "not of this kind";
  EXPECT_EQ(refusal(engine().runtime().fence_of(grant.grant_key)), Errc::invalid_handle);
  EXPECT_EQ(facts(id), before);
  const ClaimedExecution claimed = engine().take();
  EXPECT_EQ(claimed.execution_id, other);
  request = redeem(grant);
  request.grant_key = claimed.handle;
  EXPECT_EQ(redeemed(request), Errc::invalid_claim_grant) << "a handle is no grant";
  value_of(engine().claim_from_grant(redeem(grant)));
}

TEST_P(EngineClaimGrants, C8_a_forged_grant_is_refused_and_changes_nothing) {
  const ExecutionId id = engine().make();
  const Grant grant = issue(id);
  const Facts before = facts(id);
  std::vector<std::string> forgeries = {
      "", "x", "not a grant", grant.grant_id, grant.grant_key + "A", "A" + grant.grant_key, std::string(5000, 'A')};
  for (std::size_t i = 0; i < grant.grant_key.size(); ++i) {
    forgeries.push_back(grant.grant_key);
    forgeries.back()[i] = forgeries.back()[i] == 'A' ? 'B' : 'A';
    forgeries.push_back(grant.grant_key.substr(0, i));
  }
  for (const std::string& forged : forgeries) {
    RedeemRequest request = redeem(grant);
    request.grant_key = forged;
    for (Driver* driver : {&engine(), &second()}) {
      EXPECT_EQ(refusal(driver->claim_from_grant(request)), Errc::invalid_claim_grant) << forged;
    }
  }
  EXPECT_EQ(facts(id), before);
  value_of(engine().claim_from_grant(redeem(grant)));
}

TEST_P(EngineClaimGrants, C8_capabilities_are_checked_when_issued_and_when_redeemed) {
  CreateRequest request = job();
  request.required_capabilities = {"fast", "gpu"};
  const ExecutionId id = make(request);
  GrantRequest asked = grant_for(id);
  asked.capabilities = {"gpu"};
  const Error error = error_of(engine().issue_claim_grant(asked));
  EXPECT_EQ(error.code, Errc::capability_mismatch);
  EXPECT_EQ(error.details, (std::vector<std::pair<std::string, std::string>>{{"missing", "fast"}}));
  EXPECT_EQ(best(), std::nullopt);
  asked.capabilities = {"more", "gpu", "fast"};
  const Grant grant = value_of(engine().issue_claim_grant(asked));
  RedeemRequest redeeming = redeem(grant);
  redeeming.capabilities = {"fast"};
  EXPECT_EQ(redeemed(redeeming), Errc::capability_mismatch);
  redeeming.capabilities = {"gpu", "fast"};
  EXPECT_EQ(value_of(engine().claim_from_grant(redeeming)).execution_id, id) << "a refusal does not use it up";
}

TEST_P(EngineClaimGrants, only_what_could_be_claimed_now_can_be_granted) {
  const auto refused_for = [&](const ExecutionId& id) { return refusal(engine().issue_claim_grant(grant_for(id))); };
  EXPECT_EQ(refused_for(ExecutionId{3, Uuid{{9}}}), Errc::not_found);
  CreateRequest later = job();
  later.delay_until = now() + 5000;
  EXPECT_EQ(refused_for(make(later)), Errc::not_eligible);
  const ExecutionId leased = engine().make();
  const ClaimedExecution claimed = engine().take();
  EXPECT_EQ(refused_for(leased), Errc::not_eligible);
  value_of(engine().complete(claimed));
  EXPECT_EQ(refused_for(leased), Errc::already_terminal);
  const ExecutionId granted = engine().make();
  issue(granted);
  EXPECT_EQ(refused_for(granted), Errc::grant_already_exists);
  EXPECT_EQ(refusal(second().issue_claim_grant(grant_for(granted))), Errc::grant_already_exists);
  const ExecutionId manual = make(manual_job("manual"));
  engine().take("manual", 1000);
  engine().advance(1000);
  EXPECT_EQ(refused_for(manual), Errc::not_eligible);
}

TEST_P(EngineClaimGrants, bad_requests_are_refused_by_name) {
  const ExecutionId id = engine().make();
  const auto issued = [&](auto spoil) {
    GrantRequest request = grant_for(id);
    spoil(request);
    return error_of(engine().issue_claim_grant(request));
  };
  const auto found = [&](auto spoil) {
    ClaimForWorkerRequest request = best_for();
    spoil(request);
    return error_of(engine().claim_for_worker(request));
  };
  using G = GrantRequest;
  using C = ClaimForWorkerRequest;
  for (const Error& error : {issued([](G& r) { r.grant_ttl_ms = 0; }), issued([](G& r) { r.grant_ttl_ms = 60001; }),
                             found([](C& r) { r.grant_ttl_ms = 0; }), found([](C& r) { r.grant_ttl_ms = 60001; })}) {
    EXPECT_EQ(error.code, Errc::invalid_argument);
    EXPECT_EQ(error.field, "grant_ttl_ms");
  }
  EXPECT_EQ(issued([](G& r) { r.worker_id = ""; }).field, "worker_id");
  EXPECT_EQ(issued([](G& r) { r.worker_instance_id = "a b"; }).field, "worker_instance_id");
  EXPECT_EQ(issued([](G& r) { r.capabilities = {"a,b"}; }).field, "capabilities");
  EXPECT_EQ(issued([](G& r) { r.execution_id.partition = partition_count; }).field, "execution_id");
  EXPECT_EQ(found([](C& r) { r.lane = ""; }).field, "lane");
  EXPECT_EQ(found([](C& r) { r.worker_id = "a\n"; }).field, "worker_id");
  EXPECT_FALSE(facts(id).grant.has_value());
  Grant grant = value_of(engine().issue_claim_grant(grant_for(id, 60000)));
  RedeemRequest request = redeem(grant);
  request.lease_ttl_ms = 99;
  EXPECT_EQ(error_of(engine().claim_from_grant(request)).field, "lease_ttl_ms");
  request = redeem(grant);
  request.worker_namespace = "";
  EXPECT_EQ(error_of(engine().claim_from_grant(request)).field, "worker_namespace");
}

TEST_P(EngineClaimGrants, the_longest_names_fit_a_grant) {
  const ExecutionId id = engine().make();
  GrantRequest request = grant_for(id, 60000, std::string(256, 'w'));
  request.worker_instance_id = std::string(256, 'i');
  const Grant grant = value_of(engine().issue_claim_grant(request));
  EXPECT_EQ(grant.expires_at, now() + 60000);
  EXPECT_EQ(value_of(engine().claim_from_grant(redeem(grant))).execution_id, id);
}

TEST_P(EngineClaimGrants, a_large_payload_comes_along) {
  CreateRequest request = job();
  request.payload = std::string(limits::max_inline_bytes + 5000, 'p');
  make(request);
  make(request);
  const Grant first = *value_of(engine().claim_for_worker(best_for()));
  const Grant next = *value_of(engine().claim_for_worker(best_for()));
  EXPECT_EQ(value_of(engine().claim_from_grant(redeem(first))).payload, request.payload);
  EXPECT_EQ(value_of(second().claim_from_grant(redeem(next))).payload, request.payload);
}

// ---- Expiry --------------------------------------------------------------------------------------------------------

TEST_P(EngineClaimGrants, C8_expiry_is_evaluated_at_use) {
  const ExecutionId id = engine().make();
  Grant grant = issue(id, 1);
  clock_.advance_ms(1);
  EXPECT_EQ(redeemed(redeem(grant)), Errc::claim_grant_expired) << "the clock loop has not run";
  grant = issue(id, 5000);
  clock_.advance_ms(4999);
  const ClaimedExecution claimed = value_of(engine().claim_from_grant(redeem(grant)));
  clock_.advance_ms(1);
  EXPECT_EQ(redeemed(redeem(grant)), Errc::claim_grant_expired);
  EXPECT_TRUE(is_held_by(claimed)) << "a lease outlives the grant that made it";
}

TEST_P(EngineClaimGrants, C8_an_expired_grant_does_not_keep_others_from_the_execution) {
  const ExecutionId id = engine().make();
  issue(id, 1000);
  clock_.advance_ms(1000);
  const Grant next = value_of(engine().issue_claim_grant(grant_for(id, 1000, "other")));
  EXPECT_EQ(next.worker_id, "other") << "granted again although nobody swept";
  clock_.advance_ms(1000);
  // The search cannot find it before its due transition is applied, which happens within the call.
  const auto claimed = value_of(engine().claim(ask()));
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].execution_id, id);
  EXPECT_EQ(redeemed(redeem(next)), Errc::claim_grant_expired);
  EXPECT_EQ(count_of(engine().history(id), EventType::grant_expired), 2);
}

TEST_P(EngineClaimGrants, C8_an_unused_grant_gives_the_execution_back_at_its_old_place) {
  const std::vector<ExecutionId> made = make_many({job("default", 5), job("default", 5), job("default", 9)});
  const ExecutionId first = made[0];
  issue(first, 1000);
  EXPECT_EQ(value_of(engine().claim_for_worker(best_for()))->execution_id, made[2]);
  engine().advance(1000);
  const auto description = engine().describe(first);
  EXPECT_EQ(description.summary.public_state, PublicState::waiting);
  EXPECT_EQ(description.state.blocking_reason, BlockingReason::waiting_for_worker);
  EXPECT_EQ(ids_of(claim(ask(2))), (std::vector<ExecutionId>{first, made[1]})) << "before those that came after it";
  const auto page = value_of(reads::history(engine().store(), first, {}, 100));
  Events types;
  for (const Event& event : page.events) types.push_back(event.type);
  EXPECT_EQ(types, (Events{EventType::created, EventType::grant_issued, EventType::grant_expired, EventType::claimed}));
  EXPECT_EQ(page.events[2].actor, "clock");
  engine().advance(5000);
  EXPECT_EQ(engine().take().execution_id, made[2]);
}

TEST_P(EngineClaimGrants, C8_a_claim_that_parked_before_is_served_when_the_grant_runs_out) {
  const ExecutionId id = engine().make();
  issue(id, 5000);
  ClaimRequest request = ask_and_wait(60000);
  const auto parked = engine().claim_later(request);
  engine().advance(4999);
  EXPECT_FALSE(parked.done());
  engine().advance(1);
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(value_of(parked.get()).at(0).execution_id, id);
}

TEST_P(EngineClaimGrants, C8_a_claim_that_parked_at_another_engine_is_served_too) {
  const ExecutionId id = engine().make();
  issue(id, 5000);
  const auto parked = second().claim_later(ask_and_wait(3600000));
  EXPECT_FALSE(parked.done());
  engine().advance(5000);
  ASSERT_TRUE(comes_true(second(), [&] { return parked.done(); }));
  EXPECT_EQ(value_of(parked.get()).at(0).execution_id, id);
}

// A refused command applies due transitions as well, and waiting claims must be woken.
TEST_P(EngineClaimGrants, a_parked_claim_is_served_when_a_late_redeemer_finds_the_grant_expired) {
  const ExecutionId id = engine().make();
  const Grant grant = issue(id, 5000);
  const auto parked = engine().claim_later(ask_and_wait(60000));
  clock_.advance_ms(5000);
  RedeemCommand late = value_of(engine().runtime().redeem_command(GrantKind::claim, redeem(grant)));
  EXPECT_EQ(refusal(call_without_clock(engine(), late)), Errc::claim_grant_expired);
  ASSERT_TRUE(parked.done()) << "the clock loop has not run";
  EXPECT_EQ(value_of(parked.get()).at(0).execution_id, id);
}

TEST_P(EngineClaimGrants, a_grant_outlives_its_engine_and_runs_out_under_the_next) {
  const ExecutionId used = engine().make();
  const ExecutionId unused = engine().make();
  const Grant grant = issue(used);
  issue(unused);
  engine_.reset();
  engine_ = open_engine(3);
  EXPECT_EQ(value_of(engine().claim_from_grant(redeem(grant))).execution_id, used);
  engine_.reset();
  clock_.advance_ms(10000);
  engine_ = open_engine(4);
  engine().settle();
  EXPECT_EQ(engine().take().execution_id, unused);
}

// ---- Finding the best ----------------------------------------------------------------------------------------------

TEST_P(EngineClaimGrants, C3_the_best_is_the_one_that_a_claim_would_get) {
  const auto made =
      make_many({job("default", 1), job("default", 7), job("default", 7), job("default", -3), job("x", 9)});
  for (const std::size_t i : {1u, 2u, 0u, 3u}) EXPECT_EQ(best(), made[i]) << "granted ones are passed over";
  EXPECT_EQ(best(), std::nullopt);
  EXPECT_EQ(best(best_for("worker", "x")), made[4]);
  EXPECT_EQ(best(best_for("worker", "unheard-of")), std::nullopt);
}

TEST_P(EngineClaimGrants, C3_two_schedulers_in_one_batch_and_claims_beside_them_get_different_ones) {
  const auto made = make_jobs(4);
  std::vector<ExecutionId> granted;
  Claims claimed;
  for (int i = 0; i < 4; ++i) {
    if (i == 2) {
      engine().runtime().submit_claim(ask(), [&](Result<Claims> reply) { claimed = value_of(std::move(reply)); });
      continue;
    }
    engine().runtime().submit_claim_for_worker(best_for("s" + std::to_string(i)), [&](auto reply) {
      granted.push_back(value_of(std::move(reply))->execution_id);
    });
  }
  engine().settle();
  EXPECT_EQ(granted, (std::vector<ExecutionId>{made[0], made[1], made[3]}));
  EXPECT_EQ(ids_of(claimed), std::vector<ExecutionId>{made[2]});
}

TEST_P(EngineClaimGrants, C5_capabilities_decide_what_is_best) {
  CreateRequest special = job("default", 9);
  special.required_capabilities = {"gpu"};
  const ExecutionId gpu = make(special);
  const ExecutionId plain = engine().make();
  EXPECT_EQ(best(), plain);
  EXPECT_EQ(best(), std::nullopt);
  EXPECT_EQ(best(best_for("w", "default", {"gpu"})), gpu);
}

TEST_P(EngineClaimGrants, C7_a_paused_lane_grants_and_redeems_nothing) {
  const ExecutionId granted = engine().make();
  const ExecutionId other = engine().make();
  const Grant grant = issue(granted, 60000);
  for (const LaneState closed : {LaneState::paused, LaneState::disabled}) {
    call<LaneInfo>(LaneCommand{"default", closed, {"ops", "stop"}});
    EXPECT_EQ(best(), std::nullopt);
    EXPECT_EQ(refusal(engine().issue_claim_grant(grant_for(other))), Errc::not_eligible);
    EXPECT_EQ(redeemed(redeem(grant)), Errc::not_eligible);
    EXPECT_TRUE(facts(granted).grant.has_value()) << "a refusal does not use it up";
  }
  call<LaneInfo>(LaneCommand{"default", LaneState::draining, {}});
  EXPECT_EQ(value_of(engine().claim_from_grant(redeem(grant))).execution_id, granted);
  EXPECT_EQ(best(), other);
}

TEST_P(EngineClaimGrants, a_grant_that_runs_out_in_a_paused_lane_is_claimed_when_the_lane_resumes) {
  const ExecutionId id = engine().make();
  issue(id, 1000);
  call<LaneInfo>(LaneCommand{"default", LaneState::paused, {}});
  const auto parked = engine().claim_later(ask_and_wait(60000));
  engine().advance(5000);
  EXPECT_FALSE(parked.done());
  EXPECT_EQ(blocked(id), BlockingReason::paused_by_lane);
  call<LaneInfo>(LaneCommand{"default", LaneState::active, {}});
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(value_of(parked.get()).at(0).execution_id, id);
}

TEST_P(EngineClaimGrants, hundreds_of_grants_at_the_head_of_the_queue_hide_nothing_behind_them) {
  constexpr std::size_t granted = limits::max_route_candidates + 50;
  const auto made = make_jobs(granted + 1);
  std::vector<Grant> grants;
  for (std::size_t i = 0; i < granted; ++i) {
    engine().runtime().submit_claim_for_worker(best_for(),
                                               [&](auto reply) { grants.push_back(*value_of(std::move(reply))); });
  }
  engine().settle();
  ASSERT_EQ(grants.size(), granted);
  EXPECT_EQ(ids_of(claim(ask(10))), std::vector<ExecutionId>{made.back()});
  std::set<ExecutionId> different;
  for (const Grant& grant : grants) different.insert(grant.execution_id);
  EXPECT_EQ(different.size(), granted);
  engine().advance(5000);
  EXPECT_EQ(claim_all().size(), granted);
}

// ---- What befalls a granted execution ------------------------------------------------------------------------------

TEST_P(EngineClaimGrants, an_end_takes_the_grant_along) {
  const ExecutionId id = engine().make();
  const Grant grant = issue(id, 60000);
  call<CancelReply>(CancelCommand{id, {}});
  EXPECT_EQ(redeemed(redeem(grant)), Errc::already_terminal);
  call<ReplayReply>(ReplayCommand{id, {}});
  EXPECT_EQ(redeemed(redeem(grant)), Errc::invalid_claim_grant) << "not in the next life either";
  EXPECT_EQ(engine().take().attempt.attempt_type, AttemptType::replay);

  CreateRequest urgent = job();
  urgent.deadline_at = now() + 1000;
  const ExecutionId late = make(urgent);
  const Grant useless = issue(late, 60000);
  engine().advance(1000);
  EXPECT_EQ(state(late), PublicState::expired);
  EXPECT_EQ(redeemed(redeem(useless)), Errc::already_terminal);
}

TEST_P(EngineClaimGrants, priority_and_tags_may_change_under_a_grant) {
  const ExecutionId id = engine().make();
  const ExecutionId other = make(job("default", 5));
  const Grant grant = issue(id, 1000);
  ASSERT_TRUE(engine().call(PriorityCommand{id, 9, {}}));
  ASSERT_TRUE(engine().call(TagsCommand{id, {{{"app.k", "v"}}, {}}, {}}));
  EXPECT_TRUE(facts(id).grant.has_value());
  engine().advance(1000);
  EXPECT_EQ(ids_of(claim(ask(2))), (std::vector<ExecutionId>{id, other})) << "it comes back with its new priority";
  EXPECT_EQ(redeemed(redeem(grant)), Errc::claim_grant_expired);
}

// ---- Races and cost ------------------------------------------------------------------------------------------------

TEST_P(EngineClaimGrants, C2_two_engines_redeem_one_grant_and_exactly_one_wins) {
  constexpr std::size_t executions = 40;
  const auto made = make_jobs(executions);
  std::vector<Grant> grants;
  for (const ExecutionId& id : made) grants.push_back(issue(id, 60000));
  second();
  Claims here, there;
  std::vector<Errc> codes, other_codes;
  const auto redeem_all = [&](Driver& driver, const std::string& instance, Claims& won, std::vector<Errc>& lost) {
    for (const Grant& grant : grants) {
      RedeemRequest request = redeem(grant);
      request.worker_instance_id = instance;
      const auto claimed = driver.claim_from_grant(request);
      if (claimed) won.push_back(*claimed);
      if (!claimed) lost.push_back(claimed.error().code);
    }
  };
  std::thread other([&] { redeem_all(second(), "there", there, other_codes); });
  redeem_all(engine(), "here", here, codes);
  other.join();
  EXPECT_EQ(here.size() + there.size(), executions);
  codes.insert(codes.end(), other_codes.begin(), other_codes.end());
  for (const Errc code : codes) EXPECT_EQ(code, Errc::invalid_claim_grant);
  EXPECT_EQ(held_of(here) + held_of(there), executions);
  for (const ExecutionId& id : made) EXPECT_EQ(count_of(engine().history(id), EventType::claimed), 1);
}

TEST_P(EngineClaimGrants, C2_two_engines_grant_one_execution_and_exactly_one_wins) {
  constexpr std::size_t executions = 40;
  const auto made = make_jobs(executions);
  second();
  std::atomic<int> granted{0};
  std::vector<Errc> codes, other_codes;
  const auto grant_all = [&](Driver& driver, std::vector<Errc>& lost) {
    for (const ExecutionId& id : made) {
      const auto grant = driver.issue_claim_grant(grant_for(id, 60000));
      if (grant) ++granted;
      if (!grant) lost.push_back(grant.error().code);
    }
  };
  std::thread other([&] { grant_all(second(), other_codes); });
  grant_all(engine(), codes);
  other.join();
  EXPECT_EQ(granted, static_cast<int>(executions));
  codes.insert(codes.end(), other_codes.begin(), other_codes.end());
  for (const Errc code : codes) EXPECT_EQ(code, Errc::grant_already_exists);
}

TEST_P(EngineClaimGrants, C2_schedulers_and_claims_on_two_engines_never_share_an_execution) {
  constexpr std::size_t executions = 120;
  make_jobs(executions);
  second();
  std::vector<ExecutionId> granted;
  Claims claimed;
  std::thread other([&] {
    for (std::size_t i = 0; i < executions; ++i) {
      ClaimForWorkerRequest request = best_for();
      request.grant_ttl_ms = 60000;
      const auto grant = value_of(second().claim_for_worker(request));
      if (!grant) return;
      granted.push_back(grant->execution_id);
    }
  });
  for (;;) {
    const Claims some = claim(ask());
    if (some.empty()) break;
    claimed.push_back(some.front());
  }
  other.join();
  std::set<ExecutionId> different(granted.begin(), granted.end());
  for (const auto& each : claimed) different.insert(each.execution_id);
  EXPECT_EQ(different.size(), granted.size() + claimed.size());
  const Claims rest = claim_all();
  EXPECT_EQ(different.size() + rest.size(), executions);
}

TEST_P(EngineClaimGrants, C9_a_crash_around_a_grant_loses_and_doubles_nothing) {
  for (const auto when : {Watch::Death::before, Watch::Death::after}) {
    bool survived = false;
    for (int call = 1; !survived; ++call) {
      ASSERT_LT(call, 100);
      SCOPED_TRACE("call " + std::to_string(call) + (when == Watch::Death::before ? " before" : " after"));
      const ExecutionId id = engine().make();
      const auto watch = std::make_shared<Watch>();
      bool leased = false;
      {
        RuntimeOptions options;
        options.writers = 1;
        Driver doomed(std::make_unique<WatchedStore>(open_store(), watch), clock_, 77, options);
        watch->calls = 0;
        watch->fatal_call = call;
        watch->death = when;
        const auto grant = doomed.claim_for_worker(best_for());
        leased = grant && *grant && doomed.claim_from_grant(redeem(**grant)).has_value();
        survived = !watch->dead;
      }
      if (leased) {
        EXPECT_TRUE(facts(id).lease.has_value());
      }
      engine().advance(61000);  // the grant and the lease expire; a keep-alive passes
      value_of(engine().complete(engine().take()));
      EXPECT_EQ(state(id), PublicState::completed);
      if (HasFailure()) return;
    }
  }
}

TEST_P(EngineClaimGrants, C25_a_grant_costs_nothing_until_it_runs_out) {
  const auto watch = std::make_shared<Watch>();
  Driver driver(std::make_unique<WatchedStore>(open_store(), watch), clock_, 5);
  const ExecutionId id = value_of(driver.create(job())).execution_id;
  value_of(driver.issue_claim_grant(grant_for(id, 50000)));
  driver.settle();
  watch->calls = 0;
  watch->commits = 0;
  driver.advance(49999);
  EXPECT_EQ(watch->calls, 0);
  driver.advance(1);
  EXPECT_EQ(watch->commits, 1) << "one change at its end";
  EXPECT_FALSE(facts(id).grant.has_value());
  driver.advance(1000);
  watch->calls = 0;
  driver.advance(40000);
  EXPECT_LE(watch->calls, 1);
  EXPECT_EQ(watch->commits, 1);
}

}  // namespace
}  // namespace flowfabric::test
