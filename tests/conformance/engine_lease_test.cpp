// Leases, fences, lost leases and their races.
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineLeases : public EngineSuite {
 protected:
  void expect_refused_everywhere(const ClaimedExecution& old, Errc expected, const std::string& when) {
    for (Driver* driver : {&engine(), &second()}) {
      // The first refusal may apply due transitions to the execution; after that nothing changes.
      EXPECT_EQ(refusal(driver->call(CompleteCommand{driver->fence(old), {"late", {}}})), expected) << when;
      const Facts before = facts(old.execution_id);
      for (const Command& command : everything_fenced(driver->fence(old))) {
        if (std::holds_alternative<CancelHeldCommand>(command) && before.outcome == Outcome::cancelled) {
          EXPECT_EQ(std::get<CancelReply>(value_of(driver->call(command))), CancelReply{true}) << "what it wants is so";
          continue;
        }
        EXPECT_EQ(refusal(driver->call(command)), expected) << when << ", command " << command.index();
      }
      EXPECT_EQ(facts(old.execution_id), before) << when;
    }
  }
};
ON_EVERY_STORE(EngineLeases);

TEST_P(EngineLeases, C10_renew_extends_to_now_plus_ttl) {
  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take("default", 10000);
  for (int i = 0; i < 5; ++i) {
    engine().advance(9000);
    EXPECT_EQ(value_of(engine().renew(claimed)),
              (RenewVerdict{now() + 10000, claimed.lease.lease_epoch, claimed.handle}));
  }
  EXPECT_EQ(state(id), PublicState::active) << "an old due entry does not end a renewed lease";
  EXPECT_EQ(call<RenewVerdict>(RenewCommand{engine().fence(claimed), 500}).expires_at, now() + 500);
  engine().advance(499);
  EXPECT_EQ(state(id), PublicState::active);
  engine().advance(1);
  EXPECT_EQ(state(id), PublicState::waiting);
  EXPECT_EQ(engine().history(id), (Events{EventType::created, EventType::claimed, EventType::lease_expired}));
}

TEST_P(EngineLeases, C10_renew_after_expiry_or_loss_fails) {
  const ExecutionId id = engine().make();
  const ClaimedExecution first = engine().take("default", 1000);
  clock_.advance_ms(1000);
  EXPECT_EQ(refusal(engine().renew(first)), Errc::lease_expired) << "whether or not the clock came by";
  const ClaimedExecution next = engine().take();
  EXPECT_EQ(refusal(engine().renew(first)), Errc::lease_expired);
  call<RevokeReply>(RevokeCommand{id, {}, {}});
  EXPECT_EQ(refusal(engine().renew(next)), Errc::lease_revoked);
  EXPECT_EQ(refusal(engine().renew(first)), Errc::stale_lease);
}

TEST_P(EngineLeases, release_gives_the_lease_back_at_once_and_counts_nothing) {
  CreateRequest request = job();
  request.policy.max_reclaims = 0;
  const ExecutionId id = value_of(engine().create(request)).execution_id;
  const ClaimedExecution first = engine().take("default", 600000);
  value_of(engine().release(first));
  EXPECT_EQ(state(id), PublicState::resumable);
  EXPECT_EQ(refusal(engine().complete(first)), Errc::stale_lease) << "the holder is fenced";
  value_of(engine().release(first));  // the same request gets the same answer
  const ClaimedExecution next = engine().take("default", 1000, "w-2");
  EXPECT_EQ(next.attempt.attempt_id, first.attempt.attempt_id);
  value_of(engine().release(first));
  EXPECT_TRUE(facts(id).lease) << "a repeat does not touch the next holder's lease";
  EXPECT_EQ(facts(id).reclaim_count, 0u);
  EXPECT_EQ(facts(id).attempt_count, 1u);
  value_of(engine().complete(next));
  EXPECT_EQ(engine().history(id), (Events{EventType::created, EventType::claimed, EventType::released,
                                          EventType::resumed, EventType::completed}));
}

TEST_P(EngineLeases, repeated_cancellation_by_handle_is_answered_after_a_replay_too) {
  CreateRequest request = job();
  request.policy.max_replays = 1;
  const ExecutionId id = value_of(engine().create(request)).execution_id;
  const Fence fence = engine().fence(engine().take());
  value_of(engine().call(CancelHeldCommand{fence, "enough"}));
  value_of(engine().call(ReplayCommand{id, {}}));
  const Reply again = value_of(engine().call(CancelHeldCommand{fence, "enough"}));
  EXPECT_TRUE(std::get<CancelReply>(again).already_cancelled);
  EXPECT_EQ(state(id), PublicState::waiting) << "the new life is not touched";
  EXPECT_EQ(refusal(engine().call(CancelHeldCommand{fence, "another reason"})), Errc::stale_lease);
}

TEST_P(EngineLeases, what_is_released_wakes_a_claim_that_waits) {
  const ExecutionId id = engine().make();
  const ClaimedExecution first = engine().take("default", 600000);
  const auto parked = engine().claim_later(ask_and_wait(60000));
  EXPECT_FALSE(parked.done());
  value_of(engine().release(first));
  engine().settle();
  ASSERT_TRUE(parked.done());
  EXPECT_EQ(ids_of(value_of(parked.get())), std::vector{id});
}

TEST_P(EngineLeases, renew_many_gives_each_its_own_verdict) {
  make_many(std::vector<CreateRequest>(40, job()));
  const Claims claims = claim_all("default", 5000);
  engine().advance(1000);
  for (std::size_t i = 0; i < claims.size(); i += 4) {
    call<RevokeReply>(RevokeCommand{claims[i].execution_id, {}, {}});
    value_of(engine().complete(claims[i + 1]));
  }
  std::vector<Command> renewals;
  for (const auto& claimed : claims) renewals.emplace_back(RenewCommand{engine().fence(claimed), 0});
  const auto replies = call_together(engine(), std::move(renewals));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (i % 4 == 0) {
      EXPECT_EQ(refusal(replies[i]), Errc::lease_revoked);
    } else if (i % 4 == 1) {
      EXPECT_EQ(refusal(replies[i]), Errc::already_terminal);
    } else {
      EXPECT_EQ(std::get<RenewVerdict>(value_of(replies[i])).expires_at, now() + 5000);
    }
  }
}

TEST_P(EngineLeases, C11_every_write_with_an_old_epoch_fails) {
  const ExecutionId id = engine().make();
  const ClaimedExecution expired = engine().take("default", 1000);
  clock_.advance_ms(1000);
  expect_refused_everywhere(expired, Errc::lease_expired, "after expiry");
  const ClaimedExecution revoked = engine().take();
  expect_refused_everywhere(expired, Errc::lease_expired, "after reclaim");
  call<RevokeReply>(RevokeCommand{id, {}, {}});
  expect_refused_everywhere(revoked, Errc::lease_revoked, "after revoke");
  expect_refused_everywhere(expired, Errc::stale_lease, "two leases later");
  const ClaimedExecution cancelled = engine().take();
  call<CancelReply>(CancelCommand{id, {}});
  expect_refused_everywhere(cancelled, Errc::already_terminal, "after cancel");
  call<ReplayReply>(ReplayCommand{id, {}});
  expect_refused_everywhere(cancelled, Errc::stale_lease, "after replay");
  const ClaimedExecution last = engine().take();
  expect_refused_everywhere(cancelled, Errc::stale_lease, "while the replay runs");
  value_of(engine().complete(last));
}

TEST_P(EngineLeases, C11_a_failed_or_delayed_holder_is_fenced_too) {
  const ExecutionId id = make(retried_job());
  const ClaimedExecution failed = engine().take();
  value_of(engine().fail(failed, "broken"));
  expect_refused_everywhere(failed, Errc::stale_lease, "after fail");
  engine().advance(1000);
  const ClaimedExecution delayed = engine().take();
  value_of(engine().delay(delayed, now() + 5));
  expect_refused_everywhere(delayed, Errc::stale_lease, "after delay");
  engine().advance(5);
  value_of(engine().complete(engine().take()));
  EXPECT_EQ(state(id), PublicState::completed);
}

TEST_P(EngineLeases, a_handle_works_in_every_engine_and_cannot_be_forged) {
  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take();
  EXPECT_EQ(value_of(second().runtime().fence_of(claimed.handle)), engine().fence(claimed));
  for (std::size_t i = 0; i < claimed.handle.size(); i += 7) {
    std::string forged = claimed.handle;
    forged[i] = forged[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(refusal(engine().runtime().fence_of(forged)), Errc::invalid_handle) << i;
  }
  for (const std::string bad : {"", "x", "not a handle"}) {
    EXPECT_EQ(refusal(engine().runtime().fence_of(bad)), Errc::invalid_handle);
  }
  value_of(second().complete(claimed));
  EXPECT_EQ(state(id), PublicState::completed);
}

TEST_P(EngineLeases, C12_ten_thousand_dead_leases_are_processed_completely) {
  constexpr std::size_t dead = 10000;
  const std::vector<ExecutionId> made = make_many(std::vector<CreateRequest>(dead, job()));
  ASSERT_EQ(claim_all("default", 1000).size(), dead);
  clock_.advance_ms(1000);
  engine().advance(1);
  const auto counts = value_of(reads::counts(engine().store(), {}));
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].counts, (std::map<PublicState, std::uint64_t>{{PublicState::waiting, dead}}));
  EventFilter filter;
  filter.types = {EventType::lease_expired};
  std::set<ExecutionId> lost;
  const auto events = events_from(start_cursor("earliest"), filter);
  for (const Event& event : events) lost.insert(*event.execution_id);
  EXPECT_EQ(events.size(), dead) << "each once";
  EXPECT_EQ(lost.size(), dead);
  const Claims again = claim(ask(100));
  ASSERT_EQ(again.size(), 100u);
  for (const auto& claimed : again) EXPECT_EQ(claimed.attempt.attempt_type, AttemptType::reclaim);
}

TEST_P(EngineLeases, C12_two_engines_share_the_dead_leases) {
  make_many(std::vector<CreateRequest>(1500, job()));
  claim_all("default", 1000);
  second();
  clock_.advance_ms(1000);
  std::thread other([&] { second().settle(); });
  engine().settle();
  other.join();
  engine().advance(1000);
  const auto counts = value_of(reads::counts(engine().store(), {}));
  EXPECT_EQ(counts.at(0).counts, (std::map<PublicState, std::uint64_t>{{PublicState::waiting, 1500}}));
  EventFilter filter;
  filter.types = {EventType::lease_expired};
  EXPECT_EQ(events_from(start_cursor("earliest"), filter).size(), 1500u);
}

TEST_P(EngineLeases, C13_reclaim_after_a_crash_without_any_client_call) {
  const ExecutionId id = engine().make();
  const ClaimedExecution dead = engine().take("default", 1000);
  engine_.reset();
  engine_ = open_engine(3);
  engine().advance(1000);
  const auto description = engine().describe(id);
  EXPECT_EQ(description.summary.public_state, PublicState::waiting);
  EXPECT_EQ(description.attempt->attempt_state, AttemptState::interrupted);
  EXPECT_GT(description.lease_epoch, dead.lease.lease_epoch);
  const ClaimedExecution next = engine().take();
  EXPECT_EQ(engine().describe(id).reclaim_count, 1u);
  EXPECT_EQ(next.attempt.attempt_type, AttemptType::reclaim);
  EXPECT_EQ(next.attempt.attempt_index, 1u);
  EXPECT_EQ(next.attempt.previous_attempt_index, 0u);
  EXPECT_EQ(next.handle_kind, HandleKind::reclaimed);
  EXPECT_GT(next.lease.lease_epoch, description.lease_epoch);
  const auto attempts = value_of(reads::attempts(engine().store(), id, 0, 10));
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].attempt_state, AttemptState::interrupted_reclaimed);
  EXPECT_EQ(attempts[1].attempt_state, AttemptState::started);
}

TEST_P(EngineLeases, C13_the_cap_ends_it_with_lease_and_terminal_events) {
  CreateRequest request = job();
  request.policy.max_reclaims = 2;
  const ExecutionId id = make(request);
  const auto waiting = engine().wait_later(id, 60000);
  for (int i = 0; i < 3; ++i) {
    engine().take("default", 1000);
    engine().advance(1000);
  }
  EXPECT_EQ(state(id), PublicState::failed);
  EXPECT_EQ(facts(id).failure->category, "max_reclaims_exceeded");
  const Events history = engine().history(id);
  EXPECT_EQ(count_of(history, EventType::lease_expired), 3);
  EXPECT_EQ(count_of(history, EventType::failed), 1);
  EXPECT_EQ(history.back(), EventType::failed);
  EXPECT_TRUE(waiting.done() && waiting.get());
  EXPECT_TRUE(claim(ask()).empty());
}

TEST_P(EngineLeases, C13_the_grace_passes_before_a_lost_execution_runs_again) {
  CreateRequest request = job();
  request.policy.reclaim_grace_ms = 5000;
  const ExecutionId id = make(request);
  engine().take("default", 1000);
  engine().advance(1000);
  EXPECT_EQ(state(id), PublicState::delayed);
  EXPECT_EQ(engine().describe(id).state.blocking_reason, BlockingReason::waiting_for_reclaim_grace);
  engine().advance(4999);
  EXPECT_TRUE(claim(ask()).empty());
  engine().advance(1);
  EXPECT_EQ(engine().take().attempt.attempt_type, AttemptType::reclaim);
}

TEST_P(EngineLeases, C13_manual_waits_until_somebody_decides) {
  CreateRequest request = job();
  request.policy.on_lease_lost = OnLeaseLost::manual;
  const ExecutionId lapsed = make(request);
  engine().take("default", 1000);
  const ExecutionId revoked = make(request);
  engine().take("default", 60000);
  call<RevokeReply>(RevokeCommand{revoked, {}, {"ops", "stuck"}});
  engine().advance(100000);
  EXPECT_EQ(engine().describe(lapsed).state.ownership_state, Ownership::lease_expired_reclaimable);
  EXPECT_EQ(engine().describe(revoked).state.ownership_state, Ownership::lease_revoked);
  for (const ExecutionId& id : {lapsed, revoked}) {
    EXPECT_EQ(state(id), PublicState::waiting);
    EXPECT_EQ(engine().describe(id).state.attempt_state, AttemptPhase::attempt_interrupted);
    EXPECT_EQ(refused(RevokeCommand{id, {}, {}}), Errc::no_active_lease);
  }
  EXPECT_TRUE(claim(ask(5)).empty());
  call<CancelReply>(CancelCommand{lapsed, {}});
  EXPECT_EQ(state(lapsed), PublicState::cancelled);
}

// At equal times the stronger effect is applied first: the deadline, then the attempt's timeout, then the lease.
TEST_P(EngineLeases, C14_timeout_deadline_and_expiry_are_independent_and_deterministic) {
  struct Times {
    std::int64_t lease, timeout, deadline;
  };
  const std::vector<Times> rows = {{100, 200, 300}, {100, 300, 200}, {200, 100, 300}, {300, 100, 200}, {200, 300, 100},
                                   {300, 200, 100}, {200, 200, 200}, {200, 200, 300}, {200, 300, 200}, {300, 200, 200}};
  std::map<std::size_t, std::vector<Events>> seen;
  for (const bool at_once : {false, true}) {
    std::vector<ExecutionId> ids;
    for (const Times& times : rows) {
      CreateRequest request = job();
      request.policy.attempt_timeout_ms = times.timeout;
      request.deadline_at = now() + times.deadline;
      ids.push_back(make(request));
      engine().take("default", static_cast<std::uint32_t>(times.lease));
    }
    if (at_once) {
      engine().jump(1000);
    } else {
      engine().advance(1000);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) seen[i].push_back(engine().history(ids[i]));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Times& times = rows[i];
    Events expected = {EventType::created, EventType::claimed};
    if (times.deadline <= std::min(times.lease, times.timeout)) {
      expected.push_back(EventType::expired);
    } else if (times.timeout <= times.lease) {
      expected.push_back(EventType::failed);
    } else {
      expected.insert(expected.end(), {EventType::lease_expired, EventType::expired});
    }
    EXPECT_EQ(seen[i][0], expected) << "row " << i << ", step by step";
    EXPECT_EQ(seen[i][1], expected) << "row " << i << ", all at once";
  }
}

TEST_P(EngineLeases, C15_equal_expiries_are_all_found_across_partitions_and_namespaces) {
  std::vector<CreateRequest> requests;
  for (int i = 0; i < 700; ++i) {
    requests.push_back(job());
    requests.back().name_space = i % 2 == 0 ? "even" : "odd";
  }
  make_many(requests);
  claim_all("default", 1000);
  engine().advance(1000);
  for (const std::string name_space : {"even", "odd"}) {
    EventFilter filter;
    filter.name_space = name_space;
    filter.types = {EventType::lease_expired};
    EXPECT_EQ(events_from(start_cursor("earliest"), filter).size(), 350u);
  }
}

TEST_P(EngineLeases, C24_a_skewed_clock_of_an_engine_changes_nothing) {
  for (const std::int64_t skew_ms : {3600000LL, -3600000LL}) {
    RuntimeOptions options;
    options.steady_ms = [clock = clock_.source(), skew_ms] { return clock() / 1000 + skew_ms; };
    const auto skewed = open_engine(9, options);
    CreateRequest request = retried_job();
    request.delay_until = now() + 1000;
    const auto created = value_of(skewed->create(request));
    skewed->advance(999);
    EXPECT_TRUE(value_of(skewed->claim(ask())).empty());
    skewed->advance(1);
    ClaimRequest asked = ask();
    asked.lease_ttl_ms = 10000;
    const ClaimedExecution claimed = value_of(skewed->claim(asked)).at(0);
    EXPECT_EQ(claimed.lease.expires_at, now() + 10000);
    engine().settle();
    EXPECT_EQ(value_of(engine().renew(claimed)).expires_at, now() + 10000) << "the other one agrees on the time";
    skewed->advance(9999);
    EXPECT_EQ(state(created.execution_id), PublicState::active);
    skewed->advance(1);
    EXPECT_EQ(state(created.execution_id), PublicState::waiting);
    value_of(engine().complete(engine().take()));
  }
}

TEST_P(EngineLeases, revoke_names_the_lease_and_is_audited) {
  const ExecutionId id = engine().make();
  EXPECT_EQ(refused(RevokeCommand{id, {}, {}}), Errc::no_active_lease);
  const ClaimedExecution claimed = engine().take();
  EXPECT_EQ(refused(RevokeCommand{id, Uuid{{1}}, {}}), Errc::stale_lease);
  EXPECT_EQ(state(id), PublicState::active);
  const auto reply = call<RevokeReply>(RevokeCommand{id, claimed.lease.lease_id, {"ops", "stuck"}});
  EXPECT_EQ(reply, (RevokeReply{claimed.lease.lease_id, claimed.lease.lease_epoch + 1, PublicState::waiting}));
  const auto page = value_of(reads::history(engine().store(), id, {}, 100));
  EXPECT_EQ(page.events.back().type, EventType::lease_revoked);
  EXPECT_EQ(page.events.back().actor, "ops");
  EXPECT_EQ(page.events.back().reason, "stuck");
  const ClaimedExecution next = engine().take();
  EXPECT_EQ(next.attempt.reason, "stuck");
  EXPECT_EQ(next.attempt.requested_by, "ops");
  value_of(engine().complete(next));
  EXPECT_EQ(refused(RevokeCommand{id, {}, {}}), Errc::already_terminal);
}

// ---- Races of section 2.9, each order ------------------------------------------------------------------------------

TEST_P(EngineLeases, race_complete_against_expiry_the_lease_decides) {
  const ExecutionId id = engine().make();
  const ClaimedExecution claimed = engine().take("default", 1000);
  clock_.advance_ms(999);
  second();
  EXPECT_TRUE(second().complete(claimed));
  clock_.advance_ms(1);
  engine().settle();
  EXPECT_EQ(engine().history(id), (Events{EventType::created, EventType::claimed, EventType::completed}));

  const ExecutionId late = engine().make();
  const ClaimedExecution slow = engine().take("default", 1000);
  clock_.advance_ms(1000);
  EXPECT_EQ(refusal(second().complete(slow)), Errc::lease_expired);
  EXPECT_EQ(count_of(engine().history(late), EventType::lease_expired), 1);
}

TEST_P(EngineLeases, race_revoke_against_expiry_loses_the_lease_once) {
  const ExecutionId id = engine().make();
  engine().take("default", 1000);
  clock_.advance_ms(1000);
  EXPECT_EQ(refusal(second().call(RevokeCommand{id, {}, {}})), Errc::no_active_lease);
  engine().settle();
  EXPECT_EQ(engine().history(id), (Events{EventType::created, EventType::claimed, EventType::lease_expired}));
  engine().take();
  EXPECT_EQ(facts(id).reclaim_count, 1u);
}

TEST_P(EngineLeases, race_of_cancel_and_replay_leaves_one_winner_each_time) {
  const ExecutionId id = engine().make();
  call<CancelReply>(CancelCommand{id, {}});
  EXPECT_TRUE(second().call(ReplayCommand{id, {}}));
  EXPECT_EQ(refused(ReplayCommand{id, {}}), Errc::not_terminal);
  EXPECT_FALSE(call<CancelReply>(CancelCommand{id, {}}).already_cancelled);
  EXPECT_TRUE(std::get<CancelReply>(value_of(second().call(CancelCommand{id, {}}))).already_cancelled);
  EXPECT_EQ(engine().history(id),
            (Events{EventType::created, EventType::cancelled, EventType::replayed, EventType::cancelled}));
}

TEST_P(EngineLeases, race_of_two_engines_on_one_record_never_surfaces_as_contended) {
  const ExecutionId id = engine().make();
  second();
  constexpr int rounds = 60;
  const auto hammer = [&](Driver& driver, int base, std::vector<std::string>& trouble) {
    for (int i = 0; i < rounds; ++i) {
      const std::string key = "app.k" + std::to_string((base + i) % 30);
      const auto tags = driver.call(TagsCommand{id, {{{key, std::to_string(base + i)}}, {}}, {}});
      const auto priority = driver.call(PriorityCommand{id, base + i, {}});
      if (!tags) trouble.push_back(tags.error().message);
      if (!priority) trouble.push_back(priority.error().message);
    }
  };
  std::vector<std::string> here, there;
  std::thread other([&] { hammer(second(), 1000, there); });
  hammer(engine(), 1, here);
  other.join();
  EXPECT_EQ(here, std::vector<std::string>{});
  EXPECT_EQ(there, std::vector<std::string>{});
  EXPECT_EQ(count_of(engine().history(id), EventType::tags_changed), 2 * rounds) << "no change was lost";
  EXPECT_EQ(count_of(engine().history(id), EventType::priority_changed), 2 * rounds);
}

// Whoever is slower would lose every race: between each of its reads and its commit, another engine changes the record.
TEST_P(EngineLeases, a_call_gets_through_although_another_engine_is_always_faster) {
  const ExecutionId id = engine().make();
  const auto watch = std::make_shared<Watch>();
  Driver slow(std::make_unique<WatchedStore>(open_store(), watch), clock_, 3);
  second();
  std::atomic<int> changes{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      const auto reply = second().call(TagsCommand{id, {{{"app.n", std::to_string(changes)}}, {}}, {}});
      if (reply) ++changes;
    }
  });
  // Where batches take turns nobody can be faster; where the record is held nobody is.
  watch->after_read = [&](const ReadRequest& request) {
    const int seen = changes;
    while (!GetParam().takes_turns && !request.hold && changes == seen) std::this_thread::yield();
  };
  const auto reply = slow.call(PriorityCommand{id, 7, {}});
  over = true;
  other.join();
  EXPECT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(count_of(engine().history(id), EventType::priority_changed), 1);
  EXPECT_EQ(count_of(engine().history(id), EventType::tags_changed), changes) << "no change was lost";
}

TEST_P(EngineLeases, race_of_two_engines_to_end_an_execution_has_one_winner) {
  constexpr std::size_t executions = 60;
  make_many(std::vector<CreateRequest>(executions, job()));
  const Claims claims = claim_all();
  second();
  std::vector<Errc> codes;
  std::atomic<int> completed{0}, cancelled{0};
  std::thread other([&] {
    for (const auto& claimed : claims) {
      const auto reply = second().call(CancelCommand{claimed.execution_id, {}});
      if (reply) ++cancelled;
      if (!reply) codes.push_back(reply.error().code);
    }
  });
  std::vector<Errc> own_codes;
  for (const auto& claimed : claims) {
    const auto reply = engine().complete(claimed, "r");
    if (reply) ++completed;
    if (!reply) own_codes.push_back(reply.error().code);
  }
  other.join();
  EXPECT_EQ(completed + cancelled, static_cast<int>(executions));
  codes.insert(codes.end(), own_codes.begin(), own_codes.end());
  for (const Errc code : codes) EXPECT_EQ(code, Errc::already_terminal);
  for (const auto& claimed : claims) EXPECT_EQ(ends_in(engine().history(claimed.execution_id)), 1);
}

}  // namespace
}  // namespace flowfabric::test
