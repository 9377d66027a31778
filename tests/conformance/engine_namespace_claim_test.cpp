// Claims restricted to one namespace: their results, the order, and what wakes them. Lanes are shared by all
// namespaces.
#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineNamespaceClaims : public EngineSuite {
 protected:
  static CreateRequest job_of(const std::string& name_space, std::int32_t priority = 0) {
    CreateRequest request = job("default", priority);
    request.name_space = name_space;
    return request;
  }
  static ClaimRequest only(const std::string& name_space, ClaimRequest request) {
    request.name_space = name_space;
    return request;
  }
  ExecutionId make_of(const std::string& name_space, std::int32_t priority = 0) {
    return make(job_of(name_space, priority));
  }
  // Becomes claimable by the clock, not by a create that could hand it over.
  ExecutionId make_due_in(std::int64_t ms, CreateRequest request) {
    request.delay_until = now() + ms;
    return make(std::move(request));
  }
  static std::vector<ExecutionId> got(const Pending<Claims>& pending) {
    return pending.done() ? ids_of(value_of(pending.get())) : std::vector<ExecutionId>{};
  }
};
ON_EVERY_STORE(EngineNamespaceClaims);

using Ids = std::vector<ExecutionId>;

// ---- What they see -------------------------------------------------------------------------------------------------

TEST_P(EngineNamespaceClaims, a_claim_sees_only_its_namespace_and_others_see_everything_in_order) {
  const ExecutionId b_low = make_of("b", -1);
  const ExecutionId a_first = make_of("a");
  const ExecutionId b = make_of("b");
  const ExecutionId a_second = make_of("a");
  const ExecutionId a_urgent = make_of("a", 5);
  const ExecutionId b_urgent = make_of("b", 9);
  EXPECT_TRUE(claim(only("c", ask(10))).empty());
  EXPECT_EQ(ids_of(claim(only("a", ask(2)))), (Ids{a_urgent, a_first})) << "priority first, then who came first";
  EXPECT_EQ(ids_of(claim(ask(2))), (Ids{b_urgent, b}));
  EXPECT_EQ(ids_of(claim(only("a", ask(10)))), Ids{a_second});
  EXPECT_EQ(ids_of(claim(only("b", ask(10)))), Ids{b_low});
}

TEST_P(EngineNamespaceClaims, a_crowd_of_another_namespace_hides_nothing) {
  const std::size_t crowd = limits::max_route_candidates + 50;
  make_many(std::vector<CreateRequest>(crowd, job_of("crowd", 9)));
  const ExecutionId first = make_of("small"), second_one = make_of("small");
  EXPECT_EQ(ids_of(claim(only("small", ask()))), Ids{first});
  EXPECT_EQ(ids_of(claim(only("small", ask(100)))), Ids{second_one});
  EXPECT_EQ(claim_all().size(), crowd);
}

TEST_P(EngineNamespaceClaims, capabilities_and_lanes_matter_as_ever) {
  CreateRequest needing = job_of("a", 9);
  needing.required_capabilities = {"gpu"};
  const ExecutionId gpu = make(needing);
  CreateRequest elsewhere = job_of("a", 5);
  elsewhere.lane = "other";
  const ExecutionId other = make(elsewhere);
  const ExecutionId plain = make_of("a");
  make_of("b", 20);
  EXPECT_EQ(ids_of(claim(only("a", ask(10)))), Ids{plain});
  EXPECT_EQ(ids_of(claim(only("a", ask(10, {"default", "other"}, {"gpu"})))), (Ids{gpu, other}));
}

TEST_P(EngineNamespaceClaims, both_kinds_in_one_batch_share_fairly) {
  std::vector<CreateRequest> requests;
  for (int i = 0; i < 20; ++i) requests.push_back(job_of(i % 2 == 0 ? "a" : "b"));
  const auto made = make_many(requests);
  // All of them want the start of the same queue; no claim may stay empty because another took what was found for it.
  std::vector<Pending<Claims>> pending;
  for (int i = 0; i < 6; ++i) {
    Pending<Claims> one;
    const auto done = [answer = one.answer](Result<Claims> claims) { *answer = std::move(claims); };
    const ClaimRequest request = i % 3 == 0 ? ask(2) : only(i % 3 == 1 ? "a" : "b", ask(2));
    engine().runtime().submit_claim(request, done);
    pending.push_back(one);
  }
  const auto batches = engine().runtime().statistics().batches.load();
  engine().settle();
  EXPECT_EQ(engine().runtime().statistics().batches, batches + 1) << "and nobody has to search again";
  EXPECT_EQ(got(pending[0]), (Ids{made[0], made[1]}));
  EXPECT_EQ(got(pending[1]), (Ids{made[2], made[4]}));
  EXPECT_EQ(got(pending[2]), (Ids{made[3], made[5]}));
  EXPECT_EQ(got(pending[3]), (Ids{made[6], made[7]}));
  EXPECT_EQ(got(pending[4]), (Ids{made[8], made[10]}));
  EXPECT_EQ(got(pending[5]), (Ids{made[9], made[11]}));
}

TEST_P(EngineNamespaceClaims, a_lease_that_was_lost_comes_back_to_its_namespace) {
  CreateRequest request = job_of("a");
  const ExecutionId id = make(request);
  claim(only("a", ask()));
  call<RevokeReply>(RevokeCommand{id, {}, {}});
  EXPECT_TRUE(claim(only("b", ask())).empty());
  EXPECT_EQ(ids_of(claim(only("a", ask()))), Ids{id});
}

TEST_P(EngineNamespaceClaims, a_bad_namespace_is_refused) {
  for (const std::string& bad :
       {std::string(), std::string("a\nb"), std::string(limits::max_namespace_bytes + 1, 'x')}) {
    const auto reply = engine().claim(only(bad, ask()));
    EXPECT_EQ(refusal(reply), Errc::invalid_argument);
    EXPECT_EQ(reply.error().field, "namespace");
  }
}

TEST_P(EngineNamespaceClaims, the_best_of_a_namespace_can_be_reserved) {
  make_of("b", 9);
  const ExecutionId id = make_of("a");
  ClaimForWorkerRequest request;
  request.worker_id = "worker";
  request.worker_instance_id = "w-1";
  request.name_space = "c";
  EXPECT_FALSE(value_of(engine().claim_for_worker(request)));
  request.name_space = "a";
  const auto grant = value_of(engine().claim_for_worker(request));
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->execution_id, id);
  EXPECT_FALSE(value_of(engine().claim_for_worker(request))) << "it is reserved";
  RedeemRequest redeem;
  redeem.execution_id = id;
  redeem.grant_key = grant->grant_key;
  redeem.worker_id = "worker";
  redeem.worker_instance_id = "w-1";
  EXPECT_EQ(value_of(engine().claim_from_grant(redeem)).name_space, "a");
}

TEST_P(EngineNamespaceClaims, two_engines_share_a_namespace) {
  std::vector<CreateRequest> requests;
  for (int i = 0; i < 60; ++i) requests.push_back(job_of(i % 3 == 0 ? "a" : "b"));
  make_many(requests);
  std::set<ExecutionId> taken;
  for (int i = 0; i < 10; ++i) {
    for (Driver* driver : {&engine(), &second()}) {
      const Claims claims = value_of(driver->claim(only("a", ask())));
      ASSERT_EQ(claims.size(), 1u);
      EXPECT_EQ(claims[0].name_space, "a");
      EXPECT_TRUE(taken.insert(claims[0].execution_id).second);
    }
  }
  EXPECT_TRUE(claim(only("a", ask())).empty());
  EXPECT_TRUE(value_of(second().claim(only("a", ask()))).empty());
}

// ---- What wakes them -----------------------------------------------------------------------------------------------

TEST_P(EngineNamespaceClaims, a_parked_claim_is_woken_by_its_own_namespace_only) {
  const auto scoped = engine().claim_later(only("a", ask_and_wait(60000)));
  const auto any = engine().claim_later(ask_and_wait(60000));
  const auto behind = engine().claim_later(ask_and_wait(60000));
  const ExecutionId b = make_of("b");
  EXPECT_FALSE(scoped.done());
  EXPECT_EQ(got(any), Ids{b}) << "who stands in front cannot take it, and does not use it up";
  const ExecutionId a = make_of("a");
  EXPECT_EQ(got(scoped), Ids{a}) << "who came first";
  EXPECT_FALSE(behind.done());
  const ExecutionId last = make_of("a");
  EXPECT_EQ(got(behind), Ids{last});
}

TEST_P(EngineNamespaceClaims, a_parked_claim_is_woken_by_the_clock_too) {
  const auto theirs = engine().claim_later(only("b", ask_and_wait(60000)));
  const auto mine = engine().claim_later(only("a", ask_and_wait(60000)));
  const ExecutionId id = make_due_in(1000, job_of("a"));
  engine().advance(999);
  EXPECT_FALSE(mine.done());
  engine().advance(1);
  EXPECT_EQ(got(mine), Ids{id});
  EXPECT_FALSE(theirs.done());
}

// The unrestricted claim is woken for a's work, and finds better work of b.
TEST_P(EngineNamespaceClaims, who_takes_something_else_passes_the_wake_up_on) {
  const auto any = engine().claim_later(ask_and_wait(60000));
  const auto scoped = engine().claim_later(only("a", ask_and_wait(60000)));
  const ExecutionId a = make_due_in(1000, job_of("a"));
  const ExecutionId b = make_due_in(1000, job_of("b", 9));
  engine().advance(1000);
  EXPECT_EQ(got(any), Ids{b});
  EXPECT_EQ(got(scoped), Ids{a});
}

// The reverse: b's work wakes the first claim, which takes a's work, for which another claim was woken.
TEST_P(EngineNamespaceClaims, nobody_waits_while_there_is_work_for_him) {
  const auto scoped = engine().claim_later(only("a", ask_and_wait(60000)));
  const auto first = engine().claim_later(ask_and_wait(60000));
  const auto next = engine().claim_later(ask_and_wait(60000));
  const ExecutionId a = make_due_in(1000, job_of("a", 9));
  const ExecutionId b = make_due_in(1000, job_of("b"));
  engine().advance(1000);
  Ids all = got(scoped);
  for (const auto* pending : {&first, &next}) {
    for (const ExecutionId& id : got(*pending)) all.push_back(id);
  }
  std::sort(all.begin(), all.end());
  Ids expected = {a, b};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(all, expected);
}

TEST_P(EngineNamespaceClaims, a_parked_claim_is_woken_by_another_engines_create) {
  make_of("a");
  claim(ask());  // so that the route is known
  const auto scoped = engine().claim_later(only("a", ask_and_wait(3600000)));
  const auto other = engine().claim_later(only("b", ask_and_wait(3600000)));
  const ExecutionId b = value_of(second().create(job_of("b"))).execution_id;
  ASSERT_TRUE(comes_true(engine(), [&] { return other.done(); }));
  EXPECT_EQ(got(other), Ids{b});
  EXPECT_FALSE(scoped.done());
  const ExecutionId a = value_of(second().create(job_of("a"))).execution_id;
  ASSERT_TRUE(comes_true(engine(), [&] { return scoped.done(); }));
  EXPECT_EQ(got(scoped), Ids{a});
}

TEST_P(EngineNamespaceClaims, a_resumed_lane_wakes_everybody) {
  call<LaneInfo>(LaneCommand{"default", LaneState::paused, {}});
  const ExecutionId b = make_of("b"), a = make_of("a");
  const auto scoped = engine().claim_later(only("a", ask_and_wait(60000)));
  const auto other = engine().claim_later(only("c", ask_and_wait(60000)));
  const auto any = engine().claim_later(ask_and_wait(60000));
  EXPECT_FALSE(scoped.done() || other.done() || any.done());
  call<LaneInfo>(LaneCommand{"default", LaneState::active, {}});
  EXPECT_EQ(got(scoped), Ids{a});
  EXPECT_EQ(got(any), Ids{b});
  EXPECT_FALSE(other.done());
}

// No claim searches for work that it cannot take: the store calls are counted.
TEST_P(EngineNamespaceClaims, work_of_others_costs_a_parked_claim_nothing) {
  const auto watch = std::make_shared<Watch>();
  RuntimeOptions options;
  options.writers = 1;
  Driver driver(std::make_unique<WatchedStore>(open_store(), watch), clock_, 5, options);
  ASSERT_TRUE(driver.create(job_of("b")));
  ASSERT_EQ(value_of(driver.claim(ask())).size(), 1u);  // so that the route is known
  const auto calls_of_a_create = [&] {
    driver.settle();
    watch->calls = 0;
    EXPECT_TRUE(driver.create(job_of("b")));
    return watch->calls.load();
  };
  const int alone = calls_of_a_create();
  std::vector<Pending<Claims>> parked;
  for (int i = 0; i < 20; ++i) parked.push_back(driver.claim_later(only("a" + std::to_string(i), ask_and_wait(60000))));
  EXPECT_EQ(calls_of_a_create(), alone);
  for (const auto& one : parked) EXPECT_FALSE(one.done());
}

}  // namespace
}  // namespace flowfabric::test
