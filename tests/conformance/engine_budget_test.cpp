// Budgets on every store: what is acknowledged counts exactly once, hard limits hold, and whoever waits goes on when it may.
#include <algorithm>

#include "conformance/engine_suite.hpp"
#include "core/budget_ingress.hpp"
#include "core/limit_ingress.hpp"
#include "core/limiting.hpp"
#include "engine/limit_reads.hpp"

namespace flowfabric::test {
namespace {

constexpr std::int64_t hour = 3'600'000;

BudgetDimension counted(const std::string& name, std::optional<std::int64_t> hard,
                        std::optional<std::int64_t> soft = {}, std::int64_t reserve = 0) {
  return {name, hard, soft, reserve};
}

LimitRequest budget_of(std::vector<BudgetDimension> dimensions, const std::string& period = "lifetime",
                       std::vector<std::string> per = {}, const std::string& name = "b") {
  LimitRequest request;
  request.name = name;
  request.per = std::move(per);
  request.budget = BudgetSpec{};
  request.budget->dimensions = std::move(dimensions);
  request.budget->period = period;
  return request;
}

LimitRequest tokens(std::int64_t hard, std::int64_t reserve = 0, const std::string& period = "lifetime") {
  return budget_of({counted("tokens", hard, {}, reserve)}, period);
}

LimitRequest with_action(LimitRequest request, BreachAction action) {
  request.budget->on_hard_limit = action;
  return request;
}

class EngineBudgets : public EngineSuite {
 protected:
  void TearDown() override {
    if (engine_ && !leaves_damage_) {
      engine().settle();
      expect_reservations_agree();
    }
    EngineSuite::TearDown();
  }

  LimitSaved set(LimitRequest request) {
    EXPECT_TRUE(admit(request));
    const auto saved = call<LimitSaved>(SetLimitCommand{std::move(request), {"ops", {}}});
    engine().settle();
    return saved;
  }
  static Fence fence_of(const ClaimedExecution& claim) {
    return {claim.execution_id, claim.attempt.attempt_index, claim.lease.lease_epoch, claim.lease.lease_id};
  }
  SpendReply spend(const ClaimedExecution& claim, Amounts amounts, const std::string& key = {}, bool force = false) {
    return call<SpendReply>(SpendCommand{fence_of(claim), {std::move(amounts), key, force}});
  }
  Result<Reply> try_spend(const ClaimedExecution& claim, Amounts amounts, const std::string& key = {}) {
    return engine().call(SpendCommand{fence_of(claim), {std::move(amounts), key, false}});
  }
  Errc refused_spend(const ClaimedExecution& claim, Amounts amounts, const std::string& key = {}) {
    return refusal(try_spend(claim, std::move(amounts), key));
  }
  BudgetUse change(BudgetChange what, Amounts amounts = {}, std::vector<std::string> account = {}) {
    ChangeBudgetRequest request;
    request.name = "b";
    request.change = what;
    request.amounts = std::move(amounts);
    request.account = std::move(account);
    const auto use = call<BudgetUse>(ChangeBudgetCommand{std::move(request), {"ops", "because"}});
    engine().settle();
    return use;
  }
  std::vector<LimitUse> uses(const std::string& name = "b") {
    ListLimitUseRequest request;
    request.limit.name = name;
    return value_of(reads::limit_use(engine().store(), request)).keys;
  }
  BudgetUse use(const std::string& name = "b") {
    const auto all = uses(name);
    if (all.empty()) throw std::runtime_error("the budget has no account");
    return all.front().budget.value();
  }
  DimensionUse dimension(const std::string& dimension = "tokens", const std::string& name = "b") {
    for (const DimensionUse& one : use(name).dimensions) {
      if (one.name == dimension) return one;
    }
    throw std::runtime_error("no such dimension");
  }
  void expect_use(std::int64_t spent, std::int64_t reserved) {
    EXPECT_EQ(dimension().spent, spent);
    EXPECT_EQ(dimension().reserved, reserved);
  }
  void complete(const ClaimedExecution& claim) { call<Done>(CompleteCommand{fence_of(claim), {"", ""}}); }
  std::vector<ExecutionId> make_n(int count, const CreateRequest& request = job()) {
    std::vector<ExecutionId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(make(request));
    return ids;
  }
  std::vector<ExecutionId> claimed(std::uint32_t count) { return ids_of(claim(ask(count))); }
  ClaimedExecution take_one() {
    Claims claims = claim(ask());
    if (claims.size() != 1) throw std::runtime_error("nothing to claim");
    return claims.front();
  }
  long logged(EventType type) {
    EventFilter filter;
    filter.types = {type};
    return static_cast<long>(value_of(engine().events_later("earliest", 0, filter).get()).events.size());
  }
  bool is_held(const ExecutionId& id) { return facts(id).limits.held.has_value(); }

  void expect_reservations_agree() {
    std::map<Key, Amounts> reserved;
    for (const Record& record : value_of(engine().store().scan(RecordKind::execution, "", 10000))) {
      const Execution execution = value_of(decode_execution(record));
      EXPECT_FALSE(owes_slots(execution.facts)) << to_string(execution.id);
      for (const Reservation& one : execution.facts.limits.reserved) {
        EXPECT_EQ(execution.facts.limits.slots_epoch, execution.facts.lease->lease_epoch);
        for (const auto& [name, amount] : one.amounts) reserved[one.pool][name] += amount;
      }
    }
    for (const Record& record : value_of(engine().store().scan(RecordKind::limit_pool, "", 10000))) {
      const PoolRecord pool = value_of(decode_pool(record));
      if (!pool.account) continue;
      for (const DimensionAccount& one : pool.account->dimensions)
        EXPECT_EQ(one.reserved, reserved[record.key][one.name]);
    }
  }
};
ON_EVERY_STORE(EngineBudgets);

TEST_P(EngineBudgets, CountsUpToTheLimitAndNothingBeyond) {
  set(budget_of({counted("money", {}), counted("tokens", 100)}));
  make(job());
  const ClaimedExecution claim = take_one();
  EXPECT_EQ(spend(claim, {{"tokens", 60}}).balances.at(0).spent, 60);
  const auto over = try_spend(claim, {{"tokens", 41}, {"money", 5}});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Errc::budget_exceeded);
  const std::vector<std::pair<std::string, std::string>> details = {
      {"budget", "b"}, {"dimension", "tokens"}, {"spent", "60"}, {"reserved", "0"}, {"limit", "100"}};
  EXPECT_EQ(over.error().details, details);
  EXPECT_EQ(over.error().message,
            "budget \"b\" allows 100 tokens; 60 are spent and 0 reserved, so 41 more are too many");
  EXPECT_EQ(dimension("money").spent, 0);
  expect_use(60, 0);
  EXPECT_EQ(use().breaches, 1U);
  EXPECT_EQ(logged(EventType::budget_exceeded), 1);
  // To the limit is allowed.
  EXPECT_EQ(spend(claim, {{"tokens", 40}}).balances.at(0).spent, 100);
  EXPECT_EQ(refused_spend(claim, {{"tokens", 1}}), Errc::budget_exceeded);
  EXPECT_EQ(spend(claim, {{"tokens", 0}, {"money", 3}}).balances.size(), 2U);
  expect_use(100, 0);
  EXPECT_EQ(logged(EventType::budget_exceeded), 1);
}

TEST_P(EngineBudgets, AReportOfSeveralBudgetsCountsInAllOrInNone) {
  set(budget_of({counted("tokens", 100)}, "lifetime", {}, "all"));
  set(budget_of({counted("tokens", 50)}, "lifetime", {"lane"}, "lane"));
  set(budget_of({counted("tokens", 30)}, "lifetime", {"execution"}, "each"));
  make_n(2);
  const Claims claims = claim(ask(2));
  EXPECT_EQ(spend(claims[0], {{"tokens", 30}}).balances.size(), 3U);
  EXPECT_EQ(refused_spend(claims[0], {{"tokens", 1}}), Errc::budget_exceeded);
  EXPECT_EQ(refused_spend(claims[1], {{"tokens", 21}}), Errc::budget_exceeded);
  EXPECT_EQ(dimension("tokens", "all").spent, 30);
  EXPECT_EQ(dimension("tokens", "lane").spent, 30);
  spend(claims[1], {{"tokens", 20}});
  EXPECT_EQ(dimension("tokens", "all").spent, 50);
  EXPECT_EQ(dimension("tokens", "lane").spent, 50);
  EXPECT_EQ(uses("each").size(), 2U);
}

TEST_P(EngineBudgets, AKeyCountsOnceForEachAccountAndGetsTheSameAnswer) {
  set(budget_of({counted("tokens", 100, 10)}));
  make_n(2);
  const Claims claims = claim(ask(2));
  const SpendReply first = spend(claims[0], {{"tokens", 20}}, "call-1");
  EXPECT_FALSE(first.repeated);
  ASSERT_NE(first.warning(), nullptr);
  spend(claims[0], {{"tokens", 5}});
  SpendReply again = spend(claims[0], {{"tokens", 20}}, "call-1");
  EXPECT_TRUE(again.repeated);
  again.repeated = false;
  EXPECT_EQ(again, first);
  EXPECT_TRUE(spend(claims[1], {{"tokens", 20}}, "call-1").repeated);
  expect_use(25, 0);
  // What was refused is not remembered.
  EXPECT_EQ(refused_spend(claims[0], {{"tokens", 80}}, "call-2"), Errc::budget_exceeded);
  change(BudgetChange::reset);
  EXPECT_FALSE(spend(claims[0], {{"tokens", 80}}, "call-2").repeated);
  expect_use(80, 0);
  // Nor does one budget remember what another has counted.
  set(budget_of({counted("tokens", 100)}, "lifetime", {}, "other"));
  EXPECT_FALSE(spend(claims[0], {{"tokens", 80}}, "call-2").repeated);
  EXPECT_EQ(dimension("tokens", "other").spent, 80);
  expect_use(80, 0);
  engine().advance(1000);
  call<RenewVerdict>(RenewCommand{fence_of(claims[0]), limits::max_lease_ttl_ms});
  engine().jump(limits::spend_key_ms - 1000);
  EXPECT_FALSE(spend(claims[0], {{"tokens", 1}}, "call-1").repeated);
}

TEST_P(EngineBudgets, WhatIsWrongIsRefusedAndNotCounted) {
  set(budget_of({counted("money", {}), counted("tokens", 100)}));
  make(job());
  const ClaimedExecution claim = take_one();
  const auto unknown = try_spend(claim, {{"tokens", 1}, {"toknes", 1}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::invalid_argument);
  EXPECT_EQ(unknown.error().field, "amounts.toknes");
  EXPECT_EQ(unknown.error().message,
            "amounts.toknes: is not counted by any budget of the execution; these count money, tokens");
  complete(claim);
  EXPECT_EQ(refused_spend(claim, {{"tokens", 1}}), Errc::already_terminal);
  make(job());
  const ClaimedExecution lost = take_one();
  engine().advance(31000);
  EXPECT_EQ(refused_spend(lost, {{"tokens", 1}}), Errc::lease_expired);
  const ClaimedExecution next = take_one();
  EXPECT_EQ(refused_spend(lost, {{"tokens", 1}}), Errc::lease_expired);
  expect_use(0, 0);
  spend(next, {{"tokens", 1}});
  expect_use(1, 0);
}

TEST_P(EngineBudgets, WithoutABudgetNothingIsCounted) {
  make(job());
  const ClaimedExecution claim = take_one();
  EXPECT_TRUE(spend(claim, {{"tokens", 5}}).balances.empty());
  LimitRequest elsewhere = tokens(10);
  elsewhere.lane = "other";
  set(elsewhere);
  EXPECT_TRUE(spend(claim, {{"anything", 5}}).balances.empty());
}

TEST_P(EngineBudgets, ALeaseReservesAndGivesBackWhatItHasNotSpent) {
  set(tokens(100, 40));
  const auto ids = make_n(4);
  const Claims running = claim(ask(4));
  EXPECT_EQ(ids_of(running), (std::vector{ids[0], ids[1]}));
  expect_use(0, 80);
  const auto waiting = engine().describe(ids[2]);
  EXPECT_EQ(waiting.state.blocking_reason, BlockingReason::waiting_for_budget);
  EXPECT_EQ(waiting.state.eligibility_state, Eligibility::blocked_by_budget);
  ASSERT_EQ(waiting.explain.size(), 1U);
  EXPECT_EQ(waiting.explain[0].sentence,
            "Budget \"b\" has too little left: 0 tokens spent, 80 reserved of 100, it reserves 40; 2 wait for it.");
  spend(running[0], {{"tokens", 10}});
  expect_use(10, 70);
  // More than it has reserved, out of what is free.
  spend(running[1], {{"tokens", 55}});
  expect_use(65, 30);
  EXPECT_EQ(refused_spend(running[1], {{"tokens", 6}}), Errc::budget_exceeded);
  spend(running[0], {{"tokens", 30}});
  expect_use(95, 0);
  complete(running[0]);
  complete(running[1]);
  EXPECT_EQ(claimed(4), std::vector<ExecutionId>{});
  set(tokens(135, 40));
  EXPECT_EQ(claimed(4), std::vector{ids[2]});
  expect_use(95, 40);
}

TEST_P(EngineBudgets, AReservationComesBackWithWhateverEndsTheLease) {
  set(tokens(1000, 10));
  using End = std::function<void(const ClaimedExecution&)>;
  const std::vector<std::pair<const char*, End>> ends = {
      {"complete", [&](const auto& claim) { complete(claim); }},
      {"fail", [&](const auto& claim) { call<FailReply>(FailCommand{fence_of(claim), {"c", "m", {}}}); }},
      {"delay", [&](const auto& claim) { call<DelayReply>(DelayCommand{fence_of(claim), now() + 1000000}); }},
      {"release", [&](const auto& claim) { call<Done>(ReleaseHeldCommand{fence_of(claim)}); }},
      {"cancel", [&](const auto& claim) { call<CancelReply>(CancelCommand{claim.execution_id, {"ops", {}}}); }},
      {"revoke", [&](const auto& claim) { call<RevokeReply>(RevokeCommand{claim.execution_id, {}, {"ops", {}}}); }},
      {"expiry", [&](const auto&) { engine().advance(31000); }},
  };
  std::int64_t spent = 0;
  for (const auto& [name, end] : ends) {
    SCOPED_TRACE(name);
    make(job());
    const ClaimedExecution claim = take_one();
    spend(claim, {{"tokens", 3}});
    expect_use(spent += 3, 7);
    end(claim);
    engine().settle();
    expect_use(spent, 0);
    (void)engine().call(CancelCommand{claim.execution_id, {"ops", {}}});
    engine().settle();
  }
}

TEST_P(EngineBudgets, ACreateRequestSaysWhatIsReserved) {
  set(tokens(100, 10));
  CreateRequest large = job();
  large.reserve["tokens"] = 95;
  const ExecutionId first = make(job());
  const ExecutionId big = make(large);
  const auto small = make_n(2);
  const Claims running = claim(ask(4));
  EXPECT_EQ(ids_of(running), std::vector{first});
  EXPECT_TRUE(is_held(big));
  // Those behind it wait with it, so that it has its turn.
  EXPECT_TRUE(is_held(small[0]));
  complete(running[0]);
  engine().settle();
  const Claims next = claim(ask(4));
  EXPECT_EQ(ids_of(next), std::vector{big});
  expect_use(0, 95);
  complete(next[0]);
  engine().settle();
  EXPECT_EQ(claimed(4), small);
}

TEST_P(EngineBudgets, OneThatNeedsTooMuchHoldsNobodyUpAfterItsEnd) {
  set(tokens(100, 10));
  CreateRequest impossible = job();
  impossible.reserve["tokens"] = 101;
  const ExecutionId never = make(impossible);
  const ExecutionId small = make(job());
  EXPECT_EQ(claimed(4), std::vector<ExecutionId>{});
  const auto reasons = engine().describe(never).explain;
  EXPECT_NE(reasons.at(0).sentence.find("it reserves 101, which is more than the budget allows at all"),
            std::string::npos);
  call<CancelReply>(CancelCommand{never, {"ops", {}}});
  engine().advance(limits::large_need_look_ms);
  EXPECT_EQ(claimed(4), std::vector{small});
}

TEST_P(EngineBudgets, APeriodBeginsWhenItsTimeHasComeAndOnce) {
  set(tokens(100, 0, "1h"));
  const TimestampMs end = (now() / hour + 1) * hour;
  make_n(2);
  const Claims running = claim(ask());
  call<RenewVerdict>(RenewCommand{fence_of(running[0]), limits::max_lease_ttl_ms});
  spend(running[0], {{"tokens", 100}});
  EXPECT_EQ(use().period_end, end);
  EXPECT_EQ(claimed(1), std::vector<ExecutionId>{});
  second().settle();
  engine().jump(end - 1 - now());
  EXPECT_EQ(claimed(1), std::vector<ExecutionId>{});
  EXPECT_EQ(refused_spend(running[0], {{"tokens", 1}}), Errc::budget_exceeded);
  engine().jump(1);
  second().settle();
  engine().settle();
  second().settle();
  EXPECT_EQ(use().resets, 1U);
  EXPECT_EQ(logged(EventType::budget_reset), 1);
  expect_use(0, 0);
  EXPECT_EQ(claimed(1).size(), 1U);
  spend(running[0], {{"tokens", 1}});
  // A while after the next one has begun: one reset, and the bounds are where they always are.
  engine().jump(hour + hour / 2);
  second().settle();
  engine().settle();
  EXPECT_EQ(use().resets, 2U);
  spend(running[0], {{"tokens", 1}});
  EXPECT_EQ(use().period_start, end + hour);
  EXPECT_EQ(use().period_end, end + 2 * hour);
}

TEST_P(EngineBudgets, AReservationLivesOnInTheNextPeriodAndItsReturnTakesNothingOff) {
  set(tokens(100, 40, "1h"));
  const TimestampMs end = (now() / hour + 1) * hour;
  make_n(2);
  const Claims running = claim(ask(2));
  for (const auto& claim : running) call<RenewVerdict>(RenewCommand{fence_of(claim), limits::max_lease_ttl_ms});
  spend(running[0], {{"tokens", 30}});
  expect_use(30, 50);
  engine().jump(end - now());
  engine().settle();
  expect_use(0, 50);
  spend(running[1], {{"tokens", 20}});
  expect_use(20, 30);
  complete(running[0]);
  engine().settle();
  expect_use(20, 20);
  complete(running[1]);
  engine().settle();
  expect_use(20, 0);
}

TEST_P(EngineBudgets, ThoseThatWaitGoOnWhenThePeriodEnds) {
  set(tokens(50, 50, "1h"));
  const TimestampMs end = (now() / hour + 1) * hour;
  const auto ids = make_n(3);
  const ClaimedExecution first = take_one();
  EXPECT_EQ(claimed(3), std::vector<ExecutionId>{});
  spend(first, {{"tokens", 50}});
  complete(first);
  engine().settle();
  const auto later = engine().claim_later(ask_and_wait(hour));
  engine().advance(end - 1 - now());
  EXPECT_FALSE(later.done());
  engine().advance(1);
  ASSERT_TRUE(later.done());
  EXPECT_EQ(ids_of(value_of(later.get())), std::vector{ids[1]});
}

TEST_P(EngineBudgets, ASoftLimitWarnsOnceAPeriod) {
  set(budget_of({counted("tokens", {}, 10)}, "1h"));
  make(job());
  const ClaimedExecution claim = take_one();
  call<RenewVerdict>(RenewCommand{fence_of(claim), limits::max_lease_ttl_ms});
  EXPECT_EQ(spend(claim, {{"tokens", 10}}).warning(), nullptr);
  const SpendReply reply = spend(claim, {{"tokens", 1}});
  ASSERT_NE(reply.warning(), nullptr);
  EXPECT_EQ(reply.warning()->dimension, "tokens");
  EXPECT_NE(spend(claim, {{"tokens", 1}}).warning(), nullptr);
  EXPECT_EQ(logged(EventType::budget_warning), 1);
  engine().jump(hour);
  EXPECT_EQ(spend(claim, {{"tokens", 10}}).warning(), nullptr);
  EXPECT_NE(spend(claim, {{"tokens", 1}}).warning(), nullptr);
  EXPECT_EQ(logged(EventType::budget_warning), 2);
}

TEST_P(EngineBudgets, WhatIsSpentAlreadyCanBeCountedAnyway) {
  set(tokens(100));
  make_n(2);
  const ClaimedExecution claim = take_one();
  const SpendReply reply = spend(claim, {{"tokens", 130}}, {}, true);
  EXPECT_TRUE(reply.balances.at(0).overdrawn);
  expect_use(130, 0);
  EXPECT_EQ(use().breaches, 1U);
  EXPECT_EQ(claimed(1), std::vector<ExecutionId>{});
  set(tokens(131));
  EXPECT_EQ(claimed(1).size(), 1U);
}

TEST_P(EngineBudgets, APauseLastsUntilAnOperatorEndsIt) {
  set(with_action(tokens(100, 0, "1h"), BreachAction::pause));
  const auto ids = make_n(3);
  const ClaimedExecution claim = take_one();
  spend(claim, {{"tokens", 50}});
  EXPECT_FALSE(use().paused);
  EXPECT_EQ(refused_spend(claim, {{"tokens", 51}}), Errc::budget_exceeded);
  EXPECT_TRUE(use().paused);
  EXPECT_EQ(logged(EventType::budget_paused), 1);
  EXPECT_EQ(claimed(3), std::vector<ExecutionId>{});
  EXPECT_NE(engine().describe(ids[1]).explain.at(0).sentence.find("paused until an operator resumes it"),
            std::string::npos);
  engine().jump(hour);
  engine().settle();
  EXPECT_EQ(claimed(3), std::vector<ExecutionId>{});
  EXPECT_FALSE(change(BudgetChange::resume).paused);
  const Claims next = this->claim(ask());
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(refused_spend(next[0], {{"tokens", 101}}), Errc::budget_exceeded);
  EXPECT_EQ(claimed(3), std::vector<ExecutionId>{});
  // Raising it is another way.
  set(with_action(tokens(200, 0, "1h"), BreachAction::pause));
  EXPECT_FALSE(use().paused);
  EXPECT_FALSE(claimed(1).empty());
  EXPECT_EQ(logged(EventType::budget_resumed), 2);
}

TEST_P(EngineBudgets, AnExecutionThatWantsTooMuchCanFail) {
  set(with_action(tokens(100, 20), BreachAction::fail));
  const ExecutionId id = make(retried_job());
  const ClaimedExecution claim = take_one();
  EXPECT_EQ(refused_spend(claim, {{"tokens", 101}}), Errc::budget_exceeded);
  engine().settle();
  EXPECT_EQ(state(id), PublicState::failed);
  EXPECT_EQ(facts(id).failure->category, "budget_exceeded");
  expect_use(0, 0);
}

TEST_P(EngineBudgets, ThoseThatWaitCanBeCancelled) {
  set(with_action(tokens(100, 60, "1h"), BreachAction::cancel_pending));
  const auto ids = make_n(4);
  const ClaimedExecution claim = take_one();
  EXPECT_EQ(claimed(4), std::vector<ExecutionId>{});
  engine().settle();
  EXPECT_TRUE(is_held(ids[1]));
  EXPECT_EQ(refused_spend(claim, {{"tokens", 101}}), Errc::budget_exceeded);
  engine().settle();
  for (int i = 1; i < 4; ++i) EXPECT_EQ(state(ids[static_cast<std::size_t>(i)]), PublicState::cancelled);
  EXPECT_EQ(facts(ids[1]).cancellation_reason, "budget \"b\" is used up");
  EXPECT_EQ(state(ids[0]), PublicState::active);
  // Until the period ends, whatever finds no room is cancelled too.
  const ExecutionId later = make(job());
  EXPECT_EQ(claimed(4), std::vector<ExecutionId>{});
  engine().settle();
  EXPECT_EQ(state(later), PublicState::cancelled);
  complete(claim);
  engine().jump(hour);
  engine().settle();
  const ExecutionId next = make(job());
  EXPECT_EQ(claimed(4), std::vector{next});
}

TEST_P(EngineBudgets, ManyThatWaitAreCancelledInPieces) {
  set(with_action(tokens(100, 60), BreachAction::cancel_pending));
  const auto ids = make_n(static_cast<int>(limits::max_called) + 50);
  const ClaimedExecution claim = take_one();
  EXPECT_EQ(claimed(1000), std::vector<ExecutionId>{});
  engine().settle();
  EXPECT_EQ(refused_spend(claim, {{"tokens", 101}}), Errc::budget_exceeded);
  engine().settle();
  long cancelled = 0;
  for (const ExecutionId& id : ids) cancelled += state(id) == PublicState::cancelled ? 1 : 0;
  EXPECT_EQ(cancelled, static_cast<long>(ids.size()) - 1);
}

TEST_P(EngineBudgets, ABudgetCanOnlyNotify) {
  set(with_action(tokens(100, 60), BreachAction::notify));
  make_n(3);
  const Claims running = claim(ask(3));
  EXPECT_EQ(running.size(), 3U);
  EXPECT_TRUE(spend(running[0], {{"tokens", 150}}).balances.at(0).overdrawn);
  spend(running[1], {{"tokens", 10}});
  EXPECT_EQ(logged(EventType::budget_exceeded), 1);
  EXPECT_EQ(dimension().spent, 160);
}

TEST_P(EngineBudgets, OperatorsResetAndAdjust) {
  set(tokens(100));
  const auto ids = make_n(2);
  ChangeBudgetRequest absent;
  absent.name = "b";
  EXPECT_EQ(refused(ChangeBudgetCommand{absent, {"ops", {}}}), Errc::not_found);
  const ClaimedExecution claim = take_one();
  spend(claim, {{"tokens", 100}});
  EXPECT_EQ(claimed(2), std::vector<ExecutionId>{});
  EXPECT_EQ(change(BudgetChange::adjust, {{"tokens", -30}}).dimensions.at(0).spent, 70);
  EXPECT_EQ(claimed(2), std::vector{ids[1]});
  change(BudgetChange::adjust, {{"tokens", 30}});
  EXPECT_EQ(change(BudgetChange::reset).dimensions.at(0).spent, 0);
  EXPECT_EQ(use().resets, 1U);
  ChangeBudgetRequest wrong;
  wrong.name = "b";
  wrong.change = BudgetChange::adjust;
  wrong.amounts = {{"tokens", -1}};
  EXPECT_EQ(refused(ChangeBudgetCommand{wrong, {"ops", {}}}), Errc::conflict);
  wrong.amounts = {{"money", 1}};
  EXPECT_EQ(refused(ChangeBudgetCommand{wrong, {"ops", {}}}), Errc::invalid_argument);
  wrong.amounts = {{"tokens", 1}};
  wrong.account = {"x"};
  EXPECT_EQ(refused(ChangeBudgetCommand{wrong, {"ops", {}}}), Errc::invalid_argument);
  wrong.name = "other";
  EXPECT_EQ(refused(ChangeBudgetCommand{wrong, {"ops", {}}}), Errc::not_found);
  EventFilter filter;
  filter.types = {EventType::budget_adjusted};
  const auto events = value_of(engine().events_later("earliest", 0, filter).get()).events;
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].reason, "b; -30 tokens: because");
  EXPECT_EQ(events[0].actor, "ops");
}

TEST_P(EngineBudgets, UsageOverTimeAndAForecast) {
  set(tokens(1000, 0, "1d"));
  const std::int64_t day = 24 * hour;
  engine().jump((now() / day + 1) * day - now());
  make(job());
  const ClaimedExecution claim = take_one();
  call<RenewVerdict>(RenewCommand{fence_of(claim), limits::max_lease_ttl_ms});
  for (int i = 0; i < 4; ++i) {
    spend(claim, {{"tokens", 100}});
    engine().jump(hour);
  }
  const BudgetUse budget = use();
  EXPECT_EQ(budget.bucket_ms, hour);
  ASSERT_EQ(budget.usage.size(), 4U);
  EXPECT_EQ(budget.usage[3].from, now() - hour);
  EXPECT_EQ(budget.usage[3].spent.at("tokens"), 100);
  EXPECT_NEAR(static_cast<double>(dimension().per_hour), 100, 1);
  EXPECT_NEAR(static_cast<double>(dimension().runs_out_at - now()), 6.0 * hour, 60'000);
  engine().jump(19 * hour);
  // Nothing was spent for a while.
  EXPECT_EQ(dimension().runs_out_at, 0);
}

TEST_P(EngineBudgets, TwoEnginesNeverCountTooMuch) {
  set(tokens(100, 10));
  make_n(30);
  std::vector<std::pair<Driver*, ClaimedExecution>> running;
  std::int64_t acknowledged = 0;
  for (int round = 0; round < 60; ++round) {
    Driver& driver = round % 2 == 0 ? engine() : second();
    for (ClaimedExecution& one : value_of(driver.claim(ask(2)))) running.emplace_back(&driver, std::move(one));
    if (running.empty()) continue;
    auto [owner, claim] = running.front();
    running.erase(running.begin());
    const auto reply =
        driver.call(SpendCommand{fence_of(claim), {{{"tokens", 7}}, "k" + std::to_string(round), false}});
    if (reply) acknowledged += 7;
    if (!reply) {
      EXPECT_EQ(reply.error().code, Errc::budget_exceeded);
    }
    (void)owner->call(CompleteCommand{fence_of(claim), {"", ""}});
    engine().settle();
    second().settle();
    EXPECT_EQ(dimension().spent, acknowledged);
    EXPECT_LE(dimension().spent + dimension().reserved, 100);
  }
  EXPECT_EQ(acknowledged, 91);  // less than ten are left
}

TEST_P(EngineBudgets, AnAccountOfAnExecutionGoesWithIt) {
  set(budget_of({counted("tokens", 100)}, "lifetime", {"execution"}));
  CreateRequest request = job();
  request.policy.retention.completed_ms = 1000;
  make(request);
  const ClaimedExecution claim = take_one();
  spend(claim, {{"tokens", 5}});
  complete(claim);
  engine().advance(2000);
  EXPECT_EQ(uses().size(), 1U);
  engine().advance(limits::account_visit_ms);
  EXPECT_EQ(uses().size(), 0U);
}

TEST_P(EngineBudgets, ACheckSaysWhatWouldHappen) {
  set(tokens(100, 60, "1h"));
  make(job());
  take_one();
  LimitCheckRequest request;
  request.kind = "job";
  EXPECT_FALSE(value_of(reads::check_limits(engine().store(), request)).could_start);
  request.reserve["tokens"] = 40;
  EXPECT_TRUE(value_of(reads::check_limits(engine().store(), request)).could_start);
}

TEST_P(EngineBudgets, ADamagedPoolRefusesWhatRestsOnIt) {
  set(tokens(100));
  make(job());
  const ClaimedExecution claim = take_one();
  spend(claim, {{"tokens", 5}});
  damage(pool_key(1, {}));
  EXPECT_EQ(refused_spend(claim, {{"tokens", 5}}), Errc::corruption);
}

TEST_P(EngineBudgets, IntegrityRecountsReservations) {
  set(tokens(100, 40));
  make(job());
  const ClaimedExecution claim = take_one();
  const Record stored = value_of(engine().store().load({pool_key(1, {})})).front();
  Workspace workspace;
  Slot& slot = *value_of(workspace.admit(stored));
  slot.pool()->account->at("tokens").reserved = 55;
  slot.changed = true;
  auto session = value_of(engine().store().open_session());
  EXPECT_EQ(value_of(session->commit(workspace.plan().sets)).at(0), Verdict::committed);
  const auto findings = value_of(integrity_findings(engine().store()));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings[0].find("counts 55 tokens as reserved; executions have reserved 40 tokens"), std::string::npos)
      << findings[0];
  (void)value_of(check_integrity(engine().store(), true, [](const IntegrityFinding&) {}));
  expect_use(0, 40);
}

TEST(BudgetIngress, RefusesByName) {
  const auto field_of = [](LimitRequest request) {
    const auto admitted = admit(request);
    return admitted ? std::string() : admitted.error().field;
  };
  EXPECT_EQ(field_of(tokens(1)), "");
  EXPECT_EQ(field_of(tokens(0)), "budget.dimensions[0].hard");
  EXPECT_EQ(field_of(tokens(-1)), "budget.dimensions[0].hard");
  EXPECT_EQ(field_of(tokens(5, 6)), "budget.dimensions[0].reserve");
  EXPECT_EQ(field_of(tokens(5, 0, "1y")), "budget.period");
  EXPECT_EQ(field_of(tokens(5, 0, "0h")), "budget.period");
  EXPECT_EQ(field_of(tokens(5, 0, "")), "budget.period");
  EXPECT_EQ(field_of(tokens(5, 0, "99999999999d")), "budget.period");
  EXPECT_EQ(field_of(budget_of({})), "budget.dimensions");
  EXPECT_EQ(field_of(budget_of({counted("a b", 1)})), "budget.dimensions[0].name");
  EXPECT_EQ(field_of(budget_of({counted("a", 1), counted("a", 1)})), "budget.dimensions[1].name");
  EXPECT_EQ(field_of(budget_of({counted("a", 5, 6)})), "budget.dimensions[0].soft");
  LimitRequest zoned = tokens(5, 0, "1h");
  zoned.budget->time_zone = "Europe/Berlin";
  EXPECT_EQ(field_of(zoned), "budget.time_zone");
  SpendRequest spent;
  EXPECT_EQ(admit(spent).error().field, "amounts");
  spent.amounts = {{"tokens", -5}};
  EXPECT_EQ(admit(spent).error().message, "amounts.tokens: is -5; allowed: 0 to 1000000000000000");
  CreateRequest request = job();
  request.reserve["tokens"] = -1;
  EXPECT_EQ(admit_reserve(request.reserve).error().field, "reserve.tokens");
}

}  // namespace
}  // namespace flowfabric::test
