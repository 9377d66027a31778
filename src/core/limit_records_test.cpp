#include "core/limit_records.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "core/records.hpp"
#include "core/route.hpp"

namespace flowfabric {
namespace {

Key some_pool(const std::string& value) { return pool_key(7, {value}); }

LimitsRecord full_limits() {
  LimitsRecord record;
  record.last_number = 9;
  LimitDefinition limit;
  limit.number = 7;
  limit.info.name_space = "n";
  limit.info.name = "l";
  limit.info.lane = "x";
  limit.info.kind = "k";
  limit.info.per = {"tags.app.a", "lane"};
  limit.info.concurrency = 3;
  limit.info.rate = RateLimit{4, 5000, 6};
  limit.info.budget =
      BudgetSpec{{{"money", 100, 50, 0}, {"tokens", {}, 7, 3}}, "2w", "Europe/Berlin", BreachAction::cancel_pending};
  limit.info.revision = 2;
  limit.info.created_at = 10;
  limit.info.created_by = "ops";
  limit.info.changed_at = 11;
  limit.info.changed_by = "other";
  record.limits = {limit};
  record.to_visit = {7, 8};
  record.armed_due = 1;
  return record;
}

PoolRecord full_pool() {
  PoolRecord pool;
  pool.limit = 7;
  pool.key = {"a", "x"};
  pool.revision = 2;
  pool.holders = {{ExecutionId{3, {}}, 4}, {ExecutionId{5, {}}, 6}};
  pool.rate.full_at_us = 8;
  pool.rate.starts = {{1, 2}, {3, 4}};
  pool.lines = {{1, true, 0, {{"tokens", 3}}, 25}, {2, false, 5, {}, 0}};
  Account account;
  account.opened_at = 1;
  account.period_start = 2;
  account.period_end = 3;
  account.resets = 4;
  account.breaches = 5;
  account.paused = true;
  account.dimensions = {{"money", 6, 7, true, false}, {"tokens", 8, 9, false, true}};
  account.buckets = {{10, {{"money", 11}}}, {12, {}}};
  account.kept = {{13, 14, {{"tokens", 15}}}};
  pool.account = account;
  pool.call_at = 20;
  pool.visit_at = 30;
  pool.armed_due = 20;
  return pool;
}

Record stored(const PoolRecord& pool) {
  Record record;
  record.key = some_pool("a");
  record.fixed = encode_fixed(pool);
  record.body = encode(pool);
  return record;
}

TEST(LimitRecords, EveryFieldRoundTrips) {
  EXPECT_EQ(decode_limits(encode(full_limits())), full_limits());
  EXPECT_EQ(decode_limits(encode(LimitsRecord{})), LimitsRecord{});
  EXPECT_EQ(decode_pool(stored(full_pool())), full_pool());
  Facts facts;
  facts.limits.slots = {some_pool("a"), some_pool("b")};
  facts.limits.reserved = {{some_pool("b"), {{"tokens", 5}}}};
  facts.limits.slots_epoch = 12;
  facts.limits.called = some_pool("c");
  EXPECT_EQ(decode_facts(encode(facts)), facts);
  facts.limits = {};
  facts.gates = limit_gate;
  facts.limits.held = HeldBack{some_pool("d"), 77, 5, true};
  EXPECT_EQ(decode_facts(encode(facts)), facts);
}

TEST(LimitRecords, SharesRoundTripAndOlderVersionsReadTheRest) {
  constexpr char first_layout = 1;
  constexpr char second_layout = 2;
  EXPECT_EQ(encode(full_limits())[0], first_layout);
  EXPECT_EQ(encode(full_pool())[0], first_layout);
  LimitsRecord limits = full_limits();
  LimitDefinition share;
  share.number = 8;
  share.info.name = "share";
  share.info.share = ShareSpec{{{"", 2}, {"acme", 5}}};
  limits.limits.push_back(share);
  EXPECT_EQ(decode_limits(encode(limits)), limits);
  EXPECT_EQ(encode(limits)[0], second_layout);
  limits.limits.back().info.share->weights["acme"] = 0;
  EXPECT_FALSE(decode_limits(encode(limits))) << "what divides by it must be able to";
  PoolRecord pool = full_pool();
  pool.shared = {{1, -5, 77}, {2, 0, std::uint64_t{1} << 61}};
  EXPECT_EQ(decode_pool(stored(pool)), pool);
  EXPECT_EQ(encode(pool)[0], second_layout);
  const std::string body = encode(pool);
  for (std::size_t n = 0; n < body.size(); ++n) {
    Record half = stored(pool);
    half.body = body.substr(0, n);
    EXPECT_FALSE(decode_pool(half)) << n;
  }
}

TEST(LimitRecords, ASpecSaysWhatIsReserved) {
  Spec spec;
  spec.name_space = "n";
  spec.lane = "x";
  spec.route = route_of(spec.lane, spec.required_capabilities);
  const std::string without = encode(spec);
  spec.reserve = {{"money", 0}, {"tokens", 2000}};
  EXPECT_EQ(decode_spec(encode(spec)), spec);
  EXPECT_NE(encode(spec), without);
  EXPECT_TRUE(decode_spec(without)->reserve.empty());
  CreateRequest request;
  const std::uint64_t digest = request_digest(request);
  request.reserve = {{"tokens", 1}};
  EXPECT_NE(request_digest(request), digest);
}

TEST(LimitRecords, HalfOfThemIsCorruption) {
  const std::string limits = encode(full_limits());
  for (std::size_t n = 0; n < limits.size(); ++n) EXPECT_FALSE(decode_limits(limits.substr(0, n))) << n;
  Record pool = stored(full_pool());
  const std::string body = pool.body;
  for (std::size_t n = 0; n < body.size(); ++n) {
    pool.body = body.substr(0, n);
    EXPECT_FALSE(decode_pool(pool)) << n;
  }
}

TEST(LimitRecords, AHeldExecutionHasItsGate) {
  Facts facts;
  facts.gates = limit_gate;
  facts.limits.held = HeldBack{some_pool("d"), 77, 5, true};
  std::string bytes = encode(facts);
  facts.gates = 0;
  EXPECT_TRUE(decode_facts(bytes));
  EXPECT_FALSE(decode_facts(encode(facts)));
}

TEST(LimitRecords, AnImpossibleRateIsCorruption) {
  LimitsRecord record = full_limits();
  record.limits[0].info.rate->count = 0;
  EXPECT_FALSE(decode_limits(encode(record)));
}

TEST(LimitRecords, PoolsOfOtherKeysAreOthers) {
  EXPECT_NE(pool_key(1, {"a"}), pool_key(2, {"a"}));
  EXPECT_NE(pool_key(1, {"a", "b"}), pool_key(1, {"ab"}));
  EXPECT_NE(group_held_by(some_pool("a"), 1), group_held_by(some_pool("a"), 2));
  EXPECT_LT(group_held_by(some_pool("a"), 1), std::uint64_t{1} << 63);
}

TEST(LimitRecords, RanksFollowPriorityThenAge) {
  constexpr std::uint64_t second = std::uint64_t{1'000'000} << 10;  // of enqueue numbers
  const std::uint64_t sequence = 1'800'000'000 * second;
  // Also far apart: months, and the years in which this is used.
  for (const std::uint64_t seconds : {1, 86'400, 51 * 86'400, 52 * 86'400, 500'000'000}) {
    EXPECT_LT(held_rank(0, sequence), held_rank(0, sequence + seconds * second)) << seconds;
  }
  EXPECT_LE(held_rank(0, 1000), held_rank(0, sequence));
  EXPECT_LE(held_rank(0, sequence), held_rank(0, UINT64_MAX));
  EXPECT_LT(held_rank(0, UINT64_MAX), held_rank(-1, 0));
  EXPECT_LT(held_rank(5, sequence), held_rank(4, sequence));
  EXPECT_LT(held_rank(5, sequence + second), held_rank(4, sequence));
  EXPECT_LT(held_rank(0, sequence), held_rank(0, sequence + second / 100'000)) << "10 microseconds";
  EXPECT_LT(held_rank(limits::max_priority, sequence), held_rank(limits::min_priority, sequence));
  EXPECT_GE(held_rank(limits::max_priority, 0), 0);
}

}  // namespace
}  // namespace flowfabric
