// Slots and the ends of leases, several engines, changes of limits, rates to the millisecond: on every store.
#include <algorithm>

#include "conformance/engine_limit_suite.hpp"

namespace flowfabric::test {
namespace {

class LimitedLeases : public LimitSuite {
 protected:
  using End = std::function<void(const ClaimedExecution&)>;

  // A slot is taken with the lease, and free as soon as the lease has ended.
  void expect_slot_comes_back(const char* name, CreateRequest request, const End& end) {
    SCOPED_TRACE(name);
    const ExecutionId id = make(std::move(request));
    const ExecutionId waiting = make(job());
    const Claims held = claim(ask());
    ASSERT_EQ(ids_of(held), std::vector{id});
    EXPECT_EQ(use().in_use, 1U);
    EXPECT_EQ(claimed(2), std::vector<ExecutionId>{});
    end(held[0]);
    engine().settle();
    EXPECT_EQ(use().in_use, 0U);
    expect_slots_agree();
    // The one that was held back starts, before or after a retry of the other.
    (void)engine().call(CancelCommand{id, {"ops", {}}});
    engine().settle();
    const Claims next = claim(ask(2));
    ASSERT_EQ(ids_of(next), std::vector{waiting});
    complete(next[0]);
    engine().settle();
    EXPECT_EQ(use().in_use, 0U);
    EXPECT_EQ(use().held_back, 0U);
  }
};
ON_EVERY_STORE(LimitedLeases);

TEST_P(LimitedLeases, FailureWithARetryAndWithout) {
  set(at_most(1));
  const End fail_it = [&](const auto& claim) { call<FailReply>(FailCommand{fence_of(claim), {"c", "m", {}}}); };
  expect_slot_comes_back("with a retry", retried_job(), fail_it);
  expect_slot_comes_back("without", job(), fail_it);
}

TEST_P(LimitedLeases, ASuspendedExecutionHasNoSlot) {
  set(at_most(1));
  const ExecutionId first = make(job());
  const ExecutionId second_one = make(job());
  const Claims held = claim(ask());
  SuspendRequest request;
  request.waitpoints.push_back({});
  request.waitpoints[0].name = "w";
  call<SuspendReply>(SuspendCommand{fence_of(held.at(0)), request});
  engine().settle();
  EXPECT_EQ(use().in_use, 0U);
  const Claims other = claim(ask(2));
  EXPECT_EQ(ids_of(other), std::vector{second_one});
  // It is under the limit again when it goes on.
  SignalRequest signal;
  signal.waitpoint = "w";
  call<SignalReply>(SignalCommand{first, signal});
  engine().settle();
  EXPECT_EQ(claimed(2), std::vector<ExecutionId>{});
  complete(other[0]);
  EXPECT_EQ(claimed(2), std::vector{first});
}

TEST_P(LimitedLeases, DeadlinesAndTimeouts) {
  set(at_most(1));
  CreateRequest hasty = job();
  hasty.deadline_ms = 1000;
  expect_slot_comes_back("deadline", hasty, [&](const auto&) { engine().advance(1000); });
  CreateRequest timed = job();
  timed.policy.attempt_timeout_ms = 1000;
  expect_slot_comes_back("attempt timeout", timed, [&](const auto&) { engine().advance(1000); });
  CreateRequest retried = retried_job();
  retried.policy.attempt_timeout_ms = 1000;
  expect_slot_comes_back("attempt timeout with a retry", retried, [&](const auto&) { engine().advance(1000); });
  CreateRequest manual = job();
  manual.policy.on_lease_lost = OnLeaseLost::manual;
  expect_slot_comes_back("expiry that an operator looks at", manual, [&](const auto&) { engine().advance(31000); });
}

TEST_P(LimitedLeases, RetentionDoesNotTakeASlotAlong) {
  set(at_most(1));
  CreateRequest fleeting = job();
  fleeting.policy.retention.completed_ms = 0;
  expect_slot_comes_back("removed at once", fleeting, [&](const auto& claim) {
    complete(claim);
    engine().advance(1);
    EXPECT_TRUE(value_of(engine().store().load({execution_key(claim.execution_id)})).empty());
  });
}

TEST_P(LimitedLeases, ACancelledFlowGivesItsSlotsBack) {
  set(at_most(2, {"flow"}));
  FlowRequest flow;
  flow.kind = "test";
  flow.retention.cancelled_ms = 1000;
  for (const char* name : {"a", "b", "c"}) flow.nodes.push_back({name, job(), {}});
  const FlowId one = value_of(engine().submit_flow(flow)).flow_id;
  const FlowId other = value_of(engine().submit_flow(flow)).flow_id;
  EXPECT_EQ(claimed(9).size(), 4U) << "two of each flow";
  EXPECT_EQ(claimed(9).size(), 0U);
  call<FlowCancelReply>(CancelFlowCommand{one, {FlowCancelPolicy::cancel_all, false}, {"ops", {}}});
  engine().settle();
  expect_slots_agree();
  for (const LimitUse& one_use : uses()) EXPECT_EQ(one_use.in_use, one_use.key.at(0) == to_string(other) ? 2U : 0U);
  engine().advance(1000);
  EXPECT_TRUE(value_of(engine().store().load({flow_key(one)})).empty());
  expect_slots_agree();
}

// The lease is gone with the worker; what the dead worker sends later changes nothing.
TEST_P(LimitedLeases, ALateReportOfALostLeaseTakesNoSlotAway) {
  set(at_most(1));
  const ExecutionId id = make(retried_job());
  const Claims lost = claim(ask());
  engine().advance(31000);
  const Claims again = claim(ask());
  ASSERT_EQ(ids_of(again), std::vector{id});
  EXPECT_NE(refused(CompleteCommand{fence_of(lost.at(0)), {"", ""}}), Errc::internal);
  EXPECT_EQ(use().in_use, 1U);
  EXPECT_EQ(use().holders.at(0), id);
}

TEST_P(LimitedLeases, AnEngineThatReadBeforeAnotherClaimedDoesNotExceedTheLimit) {
  set(at_most(1));
  const auto ids = make_n(2);
  const auto watch = std::make_shared<Watch>();
  Driver slow(std::make_unique<WatchedStore>(open_store(), watch), clock_, 7);
  slow.settle();
  Claims of_the_other;
  bool interrupted = GetParam().takes_turns;  // there nobody can come between
  watch->after_read = [&](const ReadRequest& request) {
    const bool sees_pool = std::any_of(request.keys.begin(), request.keys.end(),
                                       [](const Key& key) { return key.kind() == RecordKind::limit_pool; });
    if (!sees_pool || std::exchange(interrupted, true)) return;
    of_the_other = claim(ask());
  };
  const Claims of_the_slow = value_of(slow.claim(ask(2)));
  EXPECT_TRUE(interrupted);
  EXPECT_EQ(of_the_other.size() + of_the_slow.size(), 1U);
  slow.settle();
  EXPECT_EQ(use().in_use, 1U);
  watch->after_read = nullptr;
  complete(of_the_other.empty() ? of_the_slow.at(0) : of_the_other.at(0));
  engine().settle();
  EXPECT_EQ(value_of(slow.claim(ask(2))).size(), 1U);
}

TEST_P(LimitedLeases, LoweredBelowWhatIsInUseNobodyStartsUntilThereIsRoom) {
  set(at_most(4));
  make_n(8);
  Claims running = claim(ask(8));
  ASSERT_EQ(running.size(), 4U);
  set(at_most(2));
  EXPECT_EQ(use().in_use, 4U);
  EXPECT_EQ(use().free, 0U);
  for (int left = 3; left >= 2; --left) {
    complete(running.back());
    running.pop_back();
    EXPECT_EQ(claimed(8).size(), 0U) << left;
  }
  complete(running.back());
  running.pop_back();
  EXPECT_EQ(claimed(8).size(), 1U);
  set(at_most(5));
  engine().settle();
  EXPECT_EQ(claimed(8).size(), 3U);
}

TEST_P(LimitedLeases, RemovedAndMadeAnewAtOnce) {
  set(at_most(1));
  make_n(4);
  const Claims before = claim(ask(4));
  ASSERT_EQ(before.size(), 1U);
  EXPECT_EQ(claimed(4).size(), 0U);
  const auto replies = call_together(
      engine(), {RemoveLimitCommand{{std::nullopt, "l"}, {"ops", {}}}, SetLimitCommand{at_most(2), {"ops", {}}}});
  for (const auto& reply : replies) EXPECT_TRUE(reply);
  engine().settle();
  // It counts what starts after it was made.
  EXPECT_EQ(use().in_use, 0U);
  const Claims after = claim(ask(4));
  EXPECT_EQ(after.size(), 2U);
  complete(before[0]);
  EXPECT_EQ(claimed(4).size(), 0U);
  complete(after[0]);
  EXPECT_EQ(claimed(4).size(), 1U);
}

// One of them has room, the other has not: nothing is taken of the first.
TEST_P(LimitedLeases, AStartTakesOfAllLimitsOrOfNone) {
  set(at_most(5, {}, "wide"));
  set(at_most(1, {}, "narrow"));
  set(rate_of(100, 1000));
  make_n(6);
  const Claims running = claim(ask(6));
  EXPECT_EQ(running.size(), 1U);
  EXPECT_EQ(use("wide").in_use, 1U);
  EXPECT_EQ(use("r").free, 99U);
  EXPECT_EQ(claimed(6).size(), 0U);
  EXPECT_EQ(use("wide").in_use, 1U);
  EXPECT_EQ(use("r").free, 99U);
}

TEST_P(LimitedLeases, TenThousandKeys) {
  constexpr int keys = 10'000;
  set(at_most(1, {"tags.app.customer"}));
  std::vector<CreateRequest> requests;
  for (int i = 0; i < keys; ++i) requests.push_back(job_of("c" + std::to_string(i)));
  make_many(requests);
  const ExecutionId second_of_one = make(job_of("c77"));
  const Claims running = claim_all("default", 3600 * 1000);
  EXPECT_EQ(running.size(), static_cast<std::size_t>(keys));
  EXPECT_TRUE(is_held(second_of_one));
  EXPECT_EQ(value_of(engine().store().scan(RecordKind::limit_pool, "", 2 * keys)).size(),
            static_cast<std::size_t>(keys));
  const auto of_77 = std::find_if(running.begin(), running.end(),
                                  [](const auto& claim) { return claim.tags.at("app.customer") == "c77"; });
  ASSERT_NE(of_77, running.end());
  complete(*of_77);
  EXPECT_EQ(claimed(5), std::vector{second_of_one});
}

TEST_P(LimitedLeases, AWindowEndsToTheMillisecond) {
  set(rate_of(2, 1000));
  const auto ids = make_n(6);
  EXPECT_EQ(claimed(1), std::vector{ids[0]});
  engine().advance(300);
  EXPECT_EQ(claimed(5), std::vector{ids[1]});
  engine().advance(699);
  EXPECT_EQ(claimed(5), std::vector<ExecutionId>{});
  engine().advance(1);
  EXPECT_EQ(claimed(5), std::vector{ids[2]});
  engine().advance(299);
  EXPECT_EQ(claimed(5), std::vector<ExecutionId>{});
  engine().advance(1);
  EXPECT_EQ(claimed(5), std::vector{ids[3]});
  engine().advance(999);
  EXPECT_EQ(claimed(5).size(), 1U) << "the third start was 700 before the fourth";
}

// Whatever starts, no window of a period has more than the rate allows, and those that wait keep their order.
TEST_P(LimitedLeases, NoWindowHasMoreStartsThanTheRate) {
  constexpr std::int64_t period_ms = 1000;
  set(rate_of(3, period_ms));
  const auto ids = make_n(40);
  std::vector<std::pair<TimestampMs, ExecutionId>> starts;
  for (int step = 0; step < 200 && starts.size() < ids.size(); ++step) {
    for (const ExecutionId& id : claimed(1 + static_cast<std::uint32_t>(step % 3))) starts.emplace_back(now(), id);
    engine().advance(37 + 61 * (step % 5));
  }
  ASSERT_EQ(starts.size(), ids.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    EXPECT_EQ(starts[i].second, ids[i]);
    if (i >= 3) {
      EXPECT_GE(starts[i].first - starts[i - 3].first, period_ms) << i;
    }
  }
}

TEST_P(LimitedLeases, EveryClaimIsAStart) {
  set(rate_of(1, 10'000));
  const ExecutionId id = make(retried_job());
  const Claims first = claim(ask());
  call<FailReply>(FailCommand{fence_of(first.at(0)), {"c", "m", {}}});
  engine().advance(9'999);
  EXPECT_EQ(claimed(1), std::vector<ExecutionId>{});
  engine().advance(1);
  EXPECT_EQ(claimed(1), std::vector{id});
}

TEST_P(LimitedLeases, TwoRoutesOfOnePoolBothGetOn) {
  set(at_most(1));
  std::vector<ExecutionId> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(make(job("x")));
    all.push_back(make(job("y")));
  }
  std::set<ExecutionId> ended;
  for (int round = 0; round < 40 && ended.size() < all.size(); ++round) {
    for (const char* lane : {"x", "y"}) {
      const Claims got = claim(ask(4, {lane}));
      EXPECT_LE(got.size(), 1U);
      const Claims none = claim(ask(4, {"x", "y"}));
      for (const auto& claim : got) {
        EXPECT_TRUE(none.empty());
        complete(claim);
        ended.insert(claim.execution_id);
      }
      for (const auto& claim : none) {
        complete(claim);
        ended.insert(claim.execution_id);
      }
      engine().settle();
    }
  }
  EXPECT_EQ(ended.size(), all.size());
}

}  // namespace
}  // namespace flowfabric::test
