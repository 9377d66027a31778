#include "core/sharing.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

constexpr std::uint64_t turn = std::uint64_t{10} << 10;  // of a key with the weight 1

LimitRequest share_by_customer(Weights weights = {}) {
  LimitRequest request;
  request.name = "fair";
  request.lane = "default";
  request.per = {"tags.app.customer"};
  request.share = ShareSpec{std::move(weights)};
  return request;
}

class SharesTest : public testing::Test {
 protected:
  void SetUp() override { set(share_by_customer({{"b", 4}})); }

  void set(LimitRequest request) { rehearsal_.expect<LimitSaved>(SetLimitCommand{std::move(request), {"ops", {}}}); }

  CreateRequest request_of(const std::string& customer) {
    CreateRequest request;
    request.kind = "job";
    if (!customer.empty()) request.tags["app.customer"] = customer;
    return request;
  }
  // As the engine does it.
  Result<Reply> run(const Command& command) {
    Workspace workspace;
    Result<Reply> reply = rehearsal_.decide_in(workspace, command);
    used_ = take_places(workspace, context());
    rehearsal_.commit(workspace);
    return reply;
  }
  Context context() {
    Context context = rehearsal_.context();
    context.head_of = [this](RouteNo, std::int32_t) { return head_; };
    return context;
  }
  ExecutionId make(const CreateRequest& request) {
    const auto reply = run(rehearsal_.create_command(request));
    return std::get<Created>(*reply).execution_id;
  }
  ExecutionId make(const std::string& customer) { return make(request_of(customer)); }
  std::uint64_t number(const ExecutionId& id) { return rehearsal_.facts(id).ready_sequence; }

  Rehearsal rehearsal_;
  LineHead head_{std::uint64_t{5'000'000}, 0};
  std::optional<Key> used_;
};

TEST_F(SharesTest, ExecutionsOfAKeyStandAtDistancesByItsWeight) {
  const ExecutionId a1 = make("a"), b1 = make("b"), a2 = make("a"), b2 = make("b"), a3 = make("a");
  EXPECT_EQ(number(a1), 5'000'000U);
  EXPECT_EQ(number(a2), 5'000'000U + turn);
  EXPECT_EQ(number(a3), 5'000'000U + 2 * turn);
  EXPECT_EQ(number(b1), 5'000'000U);
  EXPECT_EQ(number(b2), 5'000'000U + turn / 4);
  EXPECT_TRUE(used_);
}

TEST_F(SharesTest, AKeyBeginsWhereTheOthersAre) {
  make("a");
  head_.first = 90'000'000;
  EXPECT_EQ(number(make("a")), 90'000'000U);
  head_ = {std::uint64_t{1000}, 90'500'000};
  EXPECT_EQ(number(make("c")), 90'500'000U) << "virtual time does not go back";
  head_ = {};
  EXPECT_LT(number(make("d")), 1000U) << "the clock, where nothing is ready";
  head_ = {std::nullopt, 100'000'000};
  EXPECT_EQ(number(make("e")), 100'000'000U) << "unless virtual time is ahead of it";
}

TEST_F(SharesTest, ThoseWithoutAValueAreOneKey) {
  const ExecutionId first = make(""), second = make("");
  EXPECT_EQ(number(second) - number(first), turn);
}

TEST_F(SharesTest, PrioritiesHaveTheirOwnPlaces) {
  make("a");
  CreateRequest urgent = request_of("a");
  urgent.priority = 3;
  EXPECT_EQ(number(make(urgent)), 5'000'000U);
  EXPECT_EQ(number(make("a")), 5'000'000U + turn);
}

TEST_F(SharesTest, OtherLanesAreNotUnderIt) {
  CreateRequest other = request_of("a");
  other.lane = "other";
  EXPECT_LT(number(make(other)), 1000U);
  EXPECT_FALSE(used_);
}

TEST_F(SharesTest, ARetryGoesBehindItsKey) {
  CreateRequest retried = request_of("a");
  retried.policy.retry = RetryPolicy{};
  retried.policy.retry->initial_delay_ms = 0;
  const ExecutionId id = make(retried);
  make("a");
  const ClaimedExecution claim = std::get<ClaimedExecution>(*run(LeaseCommand{id, "default", "w", "w-1", 500}));
  ASSERT_TRUE(run(FailCommand{fence_of(claim), {"c", "m", {}}}));
  EXPECT_EQ(number(id), 5'000'000U + 2 * turn);
}

TEST_F(SharesTest, TheEndOfADelayTakesATurn) {
  CreateRequest delayed = request_of("a");
  delayed.delay_ms = 100;
  const ExecutionId id = make(delayed);
  make("a");
  rehearsal_.now += 100;
  ASSERT_TRUE(run(DueCommand{execution_key(id)}));
  EXPECT_EQ(number(id), 5'000'000U + turn);
}

// A renewal does not ask for the pool, but finds that the lease is lost.
TEST_F(SharesTest, WithoutItsPoolItComesFirst) {
  const ExecutionId id = make("a");
  for (int i = 0; i < 5; ++i) make("a");
  const ClaimedExecution claim = std::get<ClaimedExecution>(*run(LeaseCommand{id, "default", "w", "w-1", 500}));
  rehearsal_.now += 1000;
  ASSERT_FALSE(run(RenewCommand{fence_of(claim), 0}));
  EXPECT_EQ(number(id), 5'000'000U);
  EXPECT_FALSE(used_);
}

TEST_F(SharesTest, WhatIsHeldBackComesBackToItsPlace) {
  LimitRequest one;
  one.name = "one";
  one.concurrency = 1;
  set(one);
  const ExecutionId first = make("a"), second = make("a");
  ASSERT_TRUE(run(LeaseCommand{first, "default", "w", "w-1", 500}));
  ASSERT_FALSE(run(LeaseCommand{second, "default", "w", "w-1", 500}));
  EXPECT_EQ(rehearsal_.facts(second).limits.held->ready_sequence, 5'000'000U + turn);
  // Its delay ends, and there is no room, in one decision.
  CreateRequest delayed = request_of("c");
  delayed.delay_ms = 100;
  const ExecutionId third = make(delayed);
  rehearsal_.now += 100;
  ASSERT_FALSE(run(LeaseCommand{third, "default", "w", "w-1", 500}));
  ASSERT_TRUE(rehearsal_.facts(third).limits.held);
  EXPECT_EQ(rehearsal_.facts(third).limits.held->ready_sequence, 5'000'000U);
}

TEST_F(SharesTest, PlacesThatWerePassedAreForgotten) {
  make("a");
  PoolRecord pool;
  pool.shared = {{1, 0, 10}, {1, 1, 20}, {2, 0, 5'000'001}};
  drop_passed_lines(pool, context());
  EXPECT_EQ(pool.shared, (std::vector<ShareLine>{{2, 0, 5'000'001}}));
  head_ = {std::nullopt, 9'000'000};
  drop_passed_lines(pool, context());
  EXPECT_EQ(pool.shared.size(), 1U) << "nothing is ready, and the clock has not come there";
}

TEST_F(SharesTest, AKeyHasSoManyLines) {
  CreateRequest request = request_of("a");
  for (std::int32_t priority = 0; priority < 3 * static_cast<std::int32_t>(limits::max_share_lines); ++priority) {
    request.priority = priority;
    make(request);
  }
  Workspace workspace;
  ASSERT_TRUE(rehearsal_.decide_in(workspace, rehearsal_.create_command(request)));
  const Slot* pool = used_ ? workspace.find(*used_) : nullptr;
  ASSERT_TRUE(pool != nullptr && pool->pool() != nullptr);
  EXPECT_EQ(pool->pool()->shared.size(), limits::max_share_lines);
  EXPECT_EQ(pool->pool()->shared.back().priority, request.priority) << "the newest is there";
}

TEST_F(SharesTest, AShareStaysAShare) {
  LimitRequest request = share_by_customer();
  request.share.reset();
  request.concurrency = 1;
  EXPECT_EQ(rehearsal_.refusal(SetLimitCommand{request, {}}), Errc::conflict);
  LimitRequest another = share_by_customer();
  another.name = "another";
  EXPECT_EQ(rehearsal_.refusal(SetLimitCommand{another, {}}), Errc::conflict);
}

TEST(ShareKeys, AreJoined) {
  EXPECT_EQ(share_key_text({"acme", "eu"}), "acme/eu");
  EXPECT_EQ(share_key_text({""}), "");
  EXPECT_EQ(weight_of({{{"acme/eu", 7}}}, {"acme", "eu"}), 7U);
  EXPECT_EQ(weight_of({}, {"acme"}), 1U);
}

}  // namespace
}  // namespace flowfabric
