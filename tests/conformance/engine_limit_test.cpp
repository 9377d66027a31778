// Limits on every store: no more leases than slots, no slot without a lease, and whoever waits goes on when there is room.
#include <algorithm>

#include "conformance/engine_suite.hpp"
#include "core/limit_ingress.hpp"
#include "core/limiting.hpp"
#include "engine/limit_reads.hpp"

namespace flowfabric::test {
namespace {

LimitRequest at_most(std::uint32_t concurrency, std::vector<std::string> per = {}, const std::string& name = "l") {
  LimitRequest request;
  request.name = name;
  request.concurrency = concurrency;
  request.per = std::move(per);
  return request;
}

LimitRequest rate_of(std::uint32_t count, std::int64_t period_ms, std::optional<std::uint32_t> burst = {}) {
  LimitRequest request;
  request.name = "r";
  request.rate = RateLimit{count, period_ms, burst};
  return request;
}

CreateRequest job_of(const std::string& customer, const std::string& lane = "default") {
  CreateRequest request = job(lane);
  request.tags["app.customer"] = customer;
  return request;
}

class EngineLimits : public EngineSuite {
 protected:
  // At the end of every case slots and leases agree, and nobody is forgotten.
  void TearDown() override {
    if (engine_ && !leaves_damage_) {
      engine().settle();
      expect_slots_agree();
    }
    EngineSuite::TearDown();
  }

  LimitSaved set(LimitRequest request) { return call<LimitSaved>(SetLimitCommand{std::move(request), {"ops", {}}}); }
  LimitSaved remove(const std::string& name) {
    return call<LimitSaved>(RemoveLimitCommand{{std::nullopt, name}, {"ops", {}}});
  }
  std::vector<LimitUse> uses(const std::string& name = "l") {
    ListLimitUseRequest request;
    request.limit.name = name;
    return value_of(reads::limit_use(engine().store(), request)).keys;
  }
  LimitUse use(const std::string& name = "l") {
    const auto all = uses(name);
    return all.empty() ? LimitUse{} : all.front();
  }
  std::vector<ExecutionId> make_n(int count, const CreateRequest& request = job()) {
    std::vector<ExecutionId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(make(request));
    return ids;
  }
  static Fence fence_of(const ClaimedExecution& claim) {
    return {claim.execution_id, claim.attempt.attempt_index, claim.lease.lease_epoch, claim.lease.lease_id};
  }
  void complete(const ClaimedExecution& claim) { call<Done>(CompleteCommand{fence_of(claim), {"", ""}}); }
  bool is_held(const ExecutionId& id) { return facts(id).limits.held.has_value(); }
  std::vector<ExecutionId> claimed(std::uint32_t count, std::vector<std::string> lanes = {"default"}) {
    return ids_of(claim(ask(count, std::move(lanes))));
  }

  // Counts the live leases of each pool, and compares.
  void expect_slots_agree() {
    std::map<Key, std::set<std::pair<ExecutionId, std::uint64_t>>> held;
    for (const Record& record : value_of(engine().store().scan(RecordKind::execution, "", 10000))) {
      const Execution execution = value_of(decode_execution(record));
      EXPECT_FALSE(owes_slots(execution.facts)) << to_string(execution.id);
      for (const Key& pool : execution.facts.limits.slots) {
        held[pool].emplace(execution.id, execution.facts.lease->lease_epoch);
      }
    }
    for (const Record& record : value_of(engine().store().scan(RecordKind::limit_pool, "", 10000))) {
      std::set<std::pair<ExecutionId, std::uint64_t>> holders;
      for (const SlotHolder& holder : value_of(decode_pool(record)).holders) {
        EXPECT_TRUE(holders.emplace(holder.execution_id, holder.lease_epoch).second);
      }
      EXPECT_EQ(holders, held[record.key]);
    }
  }
};
ON_EVERY_STORE(EngineLimits);

TEST_P(EngineLimits, LetsSoManyRunAtATime) {
  set(at_most(2));
  const auto ids = make_n(5);
  const Claims first = claim(ask(5));
  EXPECT_EQ(ids_of(first), (std::vector{ids[0], ids[1]}));
  EXPECT_EQ(claimed(5), std::vector<ExecutionId>{});
  EXPECT_EQ(use().in_use, 2U);
  EXPECT_EQ(use().free, 0U);
  EXPECT_EQ(use().held_back, 3U);
  EXPECT_EQ(use().holders.size(), 2U);
  complete(first[1]);
  EXPECT_EQ(claimed(5), std::vector{ids[2]});
  complete(first[0]);
  EXPECT_EQ(claimed(5), std::vector{ids[3]});
  EXPECT_EQ(use().held_back, 1U);
}

TEST_P(EngineLimits, CountsEachKeyApart) {
  set(at_most(1, {"tags.app.customer"}));
  const auto a = make_n(2, job_of("a"));
  const auto b = make_n(2, job_of("b"));
  const auto other = make_n(2);  // without the tag: not limited
  EXPECT_EQ(claimed(10), (std::vector{a[0], b[0], other[0], other[1]}));
  EXPECT_EQ(uses().size(), 2U);
}

TEST_P(EngineLimits, SeveralApplyAtOnce) {
  set(at_most(3, {}, "all"));
  set(at_most(1, {"tags.app.customer"}, "each"));
  std::vector<ExecutionId> ids;
  for (const char* customer : {"a", "a", "a", "a", "b", "b", "c", "d"}) ids.push_back(make(job_of(customer)));
  Claims running = claim(ask(8));
  EXPECT_EQ(ids_of(running), (std::vector{ids[0], ids[4], ids[6]}));
  EXPECT_EQ(claimed(8), std::vector<ExecutionId>{});
  // One after another all of them run, never two of a customer, never four.
  std::size_t ended = 0;
  while (!running.empty()) {
    complete(running.front());
    ++ended;
    running.erase(running.begin());
    for (ClaimedExecution& claim : claim(ask(8))) running.push_back(std::move(claim));
    std::set<std::string> customers;
    for (const auto& claim : running) EXPECT_TRUE(customers.insert(claim.tags.at("app.customer")).second);
    EXPECT_LE(running.size(), 3U);
  }
  EXPECT_EQ(ended, ids.size());
}

TEST_P(EngineLimits, ASlotComesBackWithWhateverEndsTheLease) {
  set(at_most(1));
  using End = std::function<void(const ClaimedExecution&)>;
  const std::vector<std::pair<const char*, End>> ends = {
      {"complete", [&](const auto& claim) { complete(claim); }},
      {"fail", [&](const auto& claim) { call<FailReply>(FailCommand{fence_of(claim), {"c", "m", {}}}); }},
      {"delay", [&](const auto& claim) { call<DelayReply>(DelayCommand{fence_of(claim), now() + 1000000}); }},
      {"release", [&](const auto& claim) { call<Done>(ReleaseHeldCommand{fence_of(claim)}); }},
      {"cancel held", [&](const auto& claim) { call<CancelReply>(CancelHeldCommand{fence_of(claim), "why"}); }},
      {"cancel", [&](const auto& claim) { call<CancelReply>(CancelCommand{claim.execution_id, {"ops", {}}}); }},
      {"revoke", [&](const auto& claim) { call<RevokeReply>(RevokeCommand{claim.execution_id, {}, {"ops", {}}}); }},
      {"expiry", [&](const auto&) { engine().advance(31000); }},
      {"death", [&](const auto&) { call<MarkWorkerDeadOutcome>(MarkDeadCommand{"default", "w-1", {"ops", {}}}); }},
  };
  for (const auto& [name, end] : ends) {
    SCOPED_TRACE(name);
    WorkerRegistration worker;
    worker.worker_id = "worker";
    worker.worker_instance_id = "w-1";
    worker.lanes = {"default"};
    call<RegisterWorkerReply>(RegisterCommand{worker});
    make(job());
    const Claims held = claim(ask());
    ASSERT_EQ(held.size(), 1U);
    EXPECT_EQ(use().in_use, 1U);
    end(held[0]);
    engine().settle();
    EXPECT_EQ(use().in_use, 0U);
    (void)engine().call(CancelCommand{held[0].execution_id, {"ops", {}}});  // if it has not ended
    engine().settle();
    expect_slots_agree();
  }
}

TEST_P(EngineLimits, ARateLetsSoManyStartInAPeriod) {
  set(rate_of(2, 1000));
  const auto ids = make_n(5);
  EXPECT_EQ(claimed(5), (std::vector{ids[0], ids[1]}));
  engine().advance(400);
  EXPECT_EQ(claimed(5), std::vector<ExecutionId>{});
  EXPECT_EQ(use("r").free, 0U);
  EXPECT_EQ(use("r").next_start_at, now() + 600);
  engine().advance(599);
  EXPECT_EQ(claimed(5), std::vector<ExecutionId>{});
  engine().advance(1);
  EXPECT_EQ(claimed(5), (std::vector{ids[2], ids[3]}));
  engine().advance(1000);
  EXPECT_EQ(claimed(5), std::vector{ids[4]});
}

TEST_P(EngineLimits, ABurstIsSpentAndComesBack) {
  set(rate_of(1, 1000, 3));
  const auto ids = make_n(6);
  EXPECT_EQ(claimed(6), (std::vector{ids[0], ids[1], ids[2]}));
  EXPECT_EQ(claimed(6), std::vector<ExecutionId>{});
  engine().advance(1000);
  EXPECT_EQ(claimed(6), std::vector{ids[3]});
  engine().advance(999);
  EXPECT_EQ(claimed(6), std::vector<ExecutionId>{});
  engine().advance(1);
  EXPECT_EQ(claimed(6), std::vector{ids[4]});
}

TEST_P(EngineLimits, WaitingClaimsGetWhatIsCalled) {
  set(at_most(1));
  set(rate_of(1, 5000));
  const auto ids = make_n(2);
  const Claims first = claim(ask());
  EXPECT_EQ(claimed(1), std::vector<ExecutionId>{});
  const auto later = engine().claim_later(ask_and_wait(60000));
  engine().settle();
  complete(first[0]);
  engine().settle();
  EXPECT_FALSE(later.done());
  engine().advance(5000);
  ASSERT_TRUE(later.done());
  EXPECT_EQ(ids_of(value_of(later.get())), std::vector{ids[1]});
}

TEST_P(EngineLimits, ARaisedLimitLetsMoreStartAndALoweredOneLetsTheRunningFinish) {
  set(at_most(1));
  const auto ids = make_n(6);
  EXPECT_EQ(claimed(6), std::vector{ids[0]});
  EXPECT_EQ(claimed(6), std::vector<ExecutionId>{});
  EXPECT_EQ(set(at_most(3)).outcome, LimitChange::changed);
  const Claims more = claim(ask(6));
  EXPECT_EQ(ids_of(more), (std::vector{ids[1], ids[2]}));
  set(at_most(1));
  complete(more[0]);
  EXPECT_EQ(claimed(6), std::vector<ExecutionId>{});
  EXPECT_EQ(use().in_use, 2U);
  complete(more[1]);
  EXPECT_EQ(claimed(6), std::vector<ExecutionId>{});
  EXPECT_EQ(use().in_use, 1U);
}

TEST_P(EngineLimits, ARemovedLimitHoldsNothingBack) {
  set(at_most(1));
  const auto ids = make_n(4);
  const Claims first = claim(ask(4));
  EXPECT_EQ(first.size(), 1U);
  EXPECT_EQ(claimed(4), std::vector<ExecutionId>{});
  remove("l");
  engine().settle();
  EXPECT_EQ(claimed(4), (std::vector{ids[1], ids[2], ids[3]}));
  complete(first[0]);
  EXPECT_TRUE(value_of(engine().store().scan(RecordKind::limit_pool, "", 10)).empty());
  // A limit of the same name has nothing to do with the one before.
  EXPECT_EQ(set(at_most(1)).outcome, LimitChange::created);
  EXPECT_EQ(use().in_use, 0U);
}

TEST_P(EngineLimits, AnUnusedPoolGoes) {
  set(at_most(1, {"tags.app.customer"}));
  for (int i = 0; i < 20; ++i) {
    make(job_of("c" + std::to_string(i)));
    complete(claim(ask())[0]);
  }
  EXPECT_EQ(uses().size(), 20U);
  engine().advance(limits::pool_visit_ms);
  EXPECT_EQ(uses().size(), 0U);
}

TEST_P(EngineLimits, HeldBackExecutionsEndLikeOthers) {
  set(at_most(1));
  CreateRequest hasty = job();
  hasty.deadline_ms = 5000;
  make(job());
  const ExecutionId cancelled = make(job());
  const ExecutionId expired = make(hasty);
  const ExecutionId last = make(job());
  const Claims first = claim(ask(4));
  EXPECT_EQ(claimed(4), std::vector<ExecutionId>{});
  ASSERT_TRUE(is_held(cancelled) && is_held(expired) && is_held(last));
  call<CancelReply>(CancelCommand{cancelled, {"ops", {}}});
  engine().advance(5000);
  EXPECT_EQ(state(expired), PublicState::expired);
  EXPECT_EQ(use().held_back, 1U);
  complete(first[0]);
  EXPECT_EQ(claimed(4), std::vector{last});
}

// One that was called and does not start any more must not keep the room for ever.
TEST_P(EngineLimits, ACalledExecutionThatIsCancelledMakesRoom) {
  set(at_most(1));
  const auto ids = make_n(3);
  const Claims first = claim(ask(3));
  complete(first[0]);
  engine().settle();
  ASSERT_FALSE(is_held(ids[1]));
  ASSERT_TRUE(is_held(ids[2]));
  call<CancelReply>(CancelCommand{ids[1], {"ops", {}}});
  engine().settle();
  EXPECT_EQ(claimed(3), std::vector{ids[2]});
}

TEST_P(EngineLimits, HigherPriorityIsCalledFirst) {
  set(at_most(1));
  make(job());
  const Claims first = claim(ask());
  const ExecutionId low = make(job("default", -5));
  const ExecutionId normal = make(job());
  const ExecutionId high = make(job("default", 5));
  const ExecutionId raised = make(job("default", -5));
  EXPECT_EQ(claimed(5), std::vector<ExecutionId>{});
  value_of(engine().call(PriorityCommand{raised, 10, {"ops", {}}}));
  std::vector<ExecutionId> order;
  complete(first[0]);
  for (int i = 0; i < 4; ++i) {
    const Claims next = claim(ask());
    ASSERT_EQ(next.size(), 1U);
    order.push_back(next[0].execution_id);
    complete(next[0]);
  }
  EXPECT_EQ(order, (std::vector{raised, high, normal, low}));
}

TEST_P(EngineLimits, ThoseWithoutRoomAreNotInTheWay) {
  set(at_most(1, {"tags.app.customer"}));
  std::vector<CreateRequest> requests(700, job_of("a"));
  requests.push_back(job_of("b"));
  const auto ids = make_many(requests);
  EXPECT_EQ(claimed(1).size(), 1U);
  EXPECT_EQ(claimed(1), std::vector{ids.back()});
  EXPECT_EQ(claimed(1), std::vector<ExecutionId>{});
}

// Work that no worker takes does not stand before work that one would take.
TEST_P(EngineLimits, RoutesWaitApart) {
  set(at_most(1));
  make(job("x"));
  const Claims first = claim(ask(1, {"x"}));
  const auto dead = make_n(3, job("x"));
  const auto alive = make_n(2, job("y"));
  EXPECT_EQ(claimed(9, {"x"}), std::vector<ExecutionId>{});
  EXPECT_EQ(claimed(9, {"y"}), std::vector<ExecutionId>{});
  complete(first[0]);
  const Claims next = claim(ask(9, {"y"}));
  EXPECT_EQ(ids_of(next), std::vector{alive[0]});
  complete(next[0]);
  EXPECT_EQ(claimed(9, {"y"}), std::vector{alive[1]});
  EXPECT_EQ(claimed(9, {"x"}), std::vector<ExecutionId>{});
}

TEST_P(EngineLimits, HoldOverSeveralEngines) {
  set(at_most(3));
  make_n(20);
  std::size_t ended = 0;
  std::vector<ClaimedExecution> running;
  for (int round = 0; round < 200 && ended < 20; ++round) {
    Driver& one = round % 2 == 0 ? engine() : second();
    for (auto& claim : value_of(one.claim(ask(5)))) running.push_back(std::move(claim));
    EXPECT_LE(running.size(), 3U);
    if (running.empty()) continue;
    Driver& other = round % 3 == 0 ? engine() : second();
    value_of(other.call(CompleteCommand{fence_of(running.front()), {"", ""}}));
    running.erase(running.begin());
    ++ended;
    engine().settle();
    second().settle();
  }
  EXPECT_EQ(ended, 20U);
}

TEST_P(EngineLimits, AreForTheLaneKindAndNamespaceThatTheyName) {
  LimitRequest request = at_most(1);
  request.lane = "x";
  request.kind = "job";
  request.name_space = "default";
  set(request);
  make_n(2, job("x"));
  make_n(2, job("y"));
  CreateRequest other = job("x");
  other.kind = "other";
  make_n(2, other);
  CreateRequest elsewhere = job("x");
  elsewhere.name_space = "elsewhere";
  make_n(2, elsewhere);
  EXPECT_EQ(claimed(9, {"x", "y"}).size(), 1U + 2U + 2U + 2U);
}

TEST_P(EngineLimits, AreExplained) {
  set(at_most(1));
  const auto ids = make_n(3);
  const auto running = claimed(3);
  claimed(3);
  const auto description = engine().describe(ids[2]);
  EXPECT_EQ(description.state.blocking_reason, BlockingReason::waiting_for_limit);
  EXPECT_EQ(description.state.eligibility_state, Eligibility::blocked_by_quota);
  ASSERT_EQ(description.explain.size(), 1U);
  EXPECT_EQ(description.explain[0].code, "waiting_for_limit");
  EXPECT_EQ(description.explain[0].sentence,
            "Limit \"l\" lets executions start: 1 at a time; 2 wait for it; its slots are held by " +
                to_string(running[0]) + ".");
}

TEST_P(EngineLimits, ACheckSaysWhatWouldHappen) {
  set(at_most(1, {"tags.app.customer"}));
  set(rate_of(2, 1000));
  make(job_of("a"));
  claimed(1);
  const auto check = [&](const std::string& customer) {
    LimitCheckRequest request;
    request.kind = "job";
    request.tags["app.customer"] = customer;
    return value_of(reads::check_limits(engine().store(), request));
  };
  EXPECT_FALSE(check("a").could_start);
  EXPECT_EQ(check("a").could_start_at, 0);
  EXPECT_TRUE(check("b").could_start);
  EXPECT_EQ(check("b").limits.size(), 2U);
  make(job_of("b"));
  claimed(1);
  EXPECT_FALSE(check("c").could_start);
  EXPECT_EQ(check("c").could_start_at, now() + 1000);
}

TEST_P(EngineLimits, GrantsAreUnderThemToo) {
  set(at_most(1));
  const auto ids = make_n(2);
  const auto granted = [&](const ExecutionId& id) {
    GrantRequest request;
    request.execution_id = id;
    request.worker_id = "worker";
    request.worker_instance_id = "w-1";
    request.grant_ttl_ms = 60000;
    return value_of(engine().issue_claim_grant(request));
  };
  const auto redeem = [&](const Grant& grant) {
    RedeemRequest request;
    request.execution_id = grant.execution_id;
    request.worker_id = "worker";
    request.worker_instance_id = "w-1";
    request.grant_key = grant.grant_key;
    return engine().claim_from_grant(request);
  };
  const Grant first = granted(ids[0]);
  const Grant later = granted(ids[1]);
  const auto claim = value_of(redeem(first));
  EXPECT_EQ(use().in_use, 1U);
  EXPECT_EQ(refusal(redeem(later)), Errc::not_eligible);
  complete(claim);
  EXPECT_EQ(value_of(redeem(later)).execution_id, ids[1]);
}

TEST_P(EngineLimits, SayWhatBecameOfThem) {
  EXPECT_EQ(set(at_most(1)).outcome, LimitChange::created);
  EXPECT_EQ(set(at_most(1)).outcome, LimitChange::unchanged);
  EXPECT_EQ(set(at_most(2)).info.revision, 2U);
  LimitRequest request = at_most(3);
  request.expected_revision = 1;
  EXPECT_EQ(refused(SetLimitCommand{request, {"ops", {}}}), Errc::conflict);
  request.expected_revision = 2;
  EXPECT_EQ(set(request).info.revision, 3U);
  EXPECT_EQ(refused(SetLimitCommand{at_most(3, {"lane"}), {"ops", {}}}), Errc::conflict);
  EXPECT_EQ(refused(RemoveLimitCommand{{std::nullopt, "other"}, {"ops", {}}}), Errc::not_found);
  EXPECT_EQ(refused(RemoveLimitCommand{{"default", "l"}, {"ops", {}}}), Errc::not_found);
  EXPECT_EQ(remove("l").outcome, LimitChange::removed);
}

TEST_P(EngineLimits, ADamagedPoolHoldsItsExecutionsUp) {
  set(at_most(1, {"tags.app.customer"}));
  make(job_of("a"));
  const Claims running = claim(ask());
  damage(pool_key(1, {"a"}));
  make(job_of("a"));
  const ExecutionId other = make(job_of("b"));
  EXPECT_EQ(claimed(5), std::vector{other});
  complete(running[0]);  // its slot stays where it cannot be read
  EXPECT_EQ(state(running[0].execution_id), PublicState::completed);
}

TEST(LimitIngress, RefusesByName) {
  const auto refused_field = [](LimitRequest request) {
    const auto admitted = admit(request);
    EXPECT_FALSE(admitted);
    return admitted ? std::string() : admitted.error().field;
  };
  LimitRequest nothing;
  nothing.name = "l";
  EXPECT_EQ(refused_field(nothing), "concurrency");
  EXPECT_EQ(refused_field(at_most(0)), "concurrency");
  EXPECT_EQ(refused_field(at_most(limits::max_concurrency + 1)), "concurrency");
  EXPECT_EQ(refused_field(at_most(1, {"customer"})), "per[0]");
  EXPECT_EQ(refused_field(at_most(1, {"lane", "lane"})), "per[1]");
  EXPECT_EQ(refused_field(at_most(1, {"tags.NO"})), "per[0]");
  EXPECT_EQ(refused_field(at_most(1, {"lane", "kind", "flow", "creator", "namespace"})), "per");
  EXPECT_EQ(refused_field(at_most(1, {}, "a b")), "name");
  EXPECT_EQ(refused_field(at_most(1, {}, "..")), "name");
  EXPECT_EQ(refused_field(rate_of(0, 1000)), "rate.count");
  EXPECT_EQ(refused_field(rate_of(1, 0)), "rate.period_ms");
  EXPECT_EQ(refused_field(rate_of(1, 1000, 0)), "rate.burst");
  LimitRequest fine = at_most(1, {"tags.app.customer", "lane"});
  EXPECT_TRUE(admit(fine));
}

}  // namespace
}  // namespace flowfabric::test
