// Shares on every store: keys of a lane are served in turns, in proportion to their weights, each in its own order.
#include <algorithm>
#include <map>

#include "conformance/engine_limit_suite.hpp"

namespace flowfabric::test {
namespace {

LimitRequest share_of_customers(Weights weights = {}, const std::string& lane = "default") {
  LimitRequest request;
  request.name = "fair";
  request.lane = lane;
  request.per = {"tags.app.customer"};
  request.share = ShareSpec{std::move(weights)};
  return request;
}

class EngineShares : public LimitSuite {
 protected:
  std::vector<ExecutionId> make_of(const std::string& customer, int count) {
    return make_many(std::vector<CreateRequest>(static_cast<std::size_t>(count), job_of(customer)));
  }
  static std::string customers_of(const Claims& claims) {
    std::string text;
    for (const auto& claim : claims) {
      const auto tag = claim.tags.find("app.customer");
      text += tag == claim.tags.end() ? "-" : tag->second;
    }
    return text;
  }
  static std::map<char, int> counts_of(const std::string& served) {
    std::map<char, int> counts;
    for (const char one : served) ++counts[one];
    return counts;
  }
  static std::vector<ExecutionId> only(const Claims& claims, const std::string& customer) {
    std::vector<ExecutionId> ids;
    for (const auto& claim : claims) {
      if (claim.tags.at("app.customer") == customer) ids.push_back(claim.execution_id);
    }
    return ids;
  }
  std::string served(std::uint32_t count) { return customers_of(claim(ask(count))); }
};
ON_EVERY_STORE(EngineShares);

TEST_P(EngineShares, ALateSmallKeyIsServedInTurnsWithALargeOne) {
  set(share_of_customers());
  make_of("a", 300);
  engine().advance(5000);
  EXPECT_EQ(served(40), std::string(40, 'a'));
  make_of("b", 5);
  const std::string next = served(12);
  EXPECT_EQ(counts_of(next), (std::map<char, int>{{'a', 7}, {'b', 5}})) << next;
  EXPECT_EQ(served(10), std::string(10, 'a'));
}

TEST_P(EngineShares, WithoutAShareTheOrderIsThatOfArrival) {
  make_of("a", 20);
  engine().advance(5000);
  make_of("b", 5);
  EXPECT_EQ(served(25), std::string(20, 'a') + "bbbbb");
}

TEST_P(EngineShares, WeightsAreTheRatioInWhichKeysAreServed) {
  set(share_of_customers({{"a", 3}}));
  make_of("a", 120);
  make_of("b", 120);
  const auto counts = counts_of(served(80));
  EXPECT_NEAR(counts.at('a'), 60, 2);
  EXPECT_NEAR(counts.at('b'), 20, 2);
}

TEST_P(EngineShares, AChangedWeightIsForWhatComesAfterIt) {
  set(share_of_customers());
  make_of("a", 30);
  make_of("b", 30);
  EXPECT_EQ(set(share_of_customers({{"a", 1000}})).outcome, LimitChange::changed);
  const auto before = counts_of(served(20));
  EXPECT_NEAR(before.at('a'), 10, 1) << "what is in line keeps its place";
  (void)served(40);
  make_of("a", 30);
  make_of("b", 30);
  EXPECT_GE(counts_of(served(31)).at('a'), 29);
}

TEST_P(EngineShares, ExecutionsOfAKeyKeepTheirOrder) {
  set(share_of_customers({{"b", 7}}));
  std::vector<ExecutionId> a, b;
  for (int round = 0; round < 6; ++round) {
    for (const ExecutionId& id : make_of("a", 9)) a.push_back(id);
    for (const ExecutionId& id : make_of("b", 4)) b.push_back(id);
    if (round == 2) engine().advance(3000);
    if (round == 3) {  // another process goes on
      engine_.reset();
      engine_ = open_engine(7);
    }
  }
  Claims all;
  for (int i = 0; i < 30; ++i) {
    for (auto& claim : claim(ask(4))) all.push_back(std::move(claim));
  }
  EXPECT_EQ(only(all, "a"), a);
  EXPECT_EQ(only(all, "b"), b);
}

TEST_P(EngineShares, TwoEnginesAgree) {
  set(share_of_customers());
  std::vector<ExecutionId> a;
  for (int i = 0; i < 10; ++i) {
    a.push_back(make(job_of("a")));
    a.push_back(value_of(second().create(job_of("a"))).execution_id);
  }
  for (int i = 0; i < 4; ++i) (void)value_of(second().create(job_of("b")));
  Claims all = claim(ask(5));
  for (auto& claim : value_of(second().claim(ask(5)))) all.push_back(std::move(claim));
  EXPECT_EQ(counts_of(customers_of(all)), (std::map<char, int>{{'a', 6}, {'b', 4}})) << customers_of(all);
  for (auto& claim : claim(ask(30))) all.push_back(std::move(claim));
  EXPECT_EQ(only(all, "a"), a);
}

// Both have read the pool before either has written it.
TEST_P(EngineShares, CreatesOfTwoEnginesAtTheSameTimeAllSucceed) {
  set(share_of_customers());
  std::vector<ExecutionId> made;
  for (int round = 0; round < 5; ++round) {
    for (Driver* driver : {&engine(), &second()}) {
      for (int i = 0; i < 10; ++i) {
        driver->runtime().submit_create(job_of("a"), [&](Result<Reply> reply) {
          made.push_back(std::get<Created>(value_of(std::move(reply))).execution_id);
        });
      }
    }
    engine().settle();
    second().settle();
  }
  EXPECT_EQ(made.size(), 100U);
  EXPECT_EQ(claim(ask(200)).size(), 100U);
}

TEST_P(EngineShares, ThoseWithoutAValueAreOneKey) {
  set(share_of_customers({{"", 2}}));
  make_of("a", 30);
  make_many(std::vector<CreateRequest>(30, job()));
  const auto counts = counts_of(served(30));
  EXPECT_NEAR(counts.at('-'), 20, 2);
}

TEST_P(EngineShares, OtherLanesAreNotShared) {
  set(share_of_customers({}, "other"));
  make_of("a", 10);
  engine().advance(10);
  make_of("b", 2);
  EXPECT_EQ(served(12), std::string(10, 'a') + "bb");
  EXPECT_TRUE(uses("fair").empty());
}

TEST_P(EngineShares, PrioritiesGoFirst) {
  set(share_of_customers());
  make_of("a", 5);
  make_of("b", 5);
  CreateRequest urgent = job_of("a");
  urgent.priority = 5;
  const auto first = make_many({urgent, urgent, urgent});
  const Claims claims = claim(ask(3));
  EXPECT_EQ(ids_of(claims), first);
}

TEST_P(EngineShares, RetriesAndDelaysTakeTheirTurn) {
  set(share_of_customers());
  CreateRequest retried = retried_job();
  retried.tags["app.customer"] = "b";
  make(retried);
  make_of("a", 100);
  const Claims first = claim(ask(2));
  ASSERT_EQ(counts_of(customers_of(first)), (std::map<char, int>{{'a', 1}, {'b', 1}}));
  const auto& of_b = first[0].tags.at("app.customer") == "b" ? first[0] : first[1];
  (void)call<FailReply>(FailCommand{fence_of(of_b), {"c", "m", {}}});
  CreateRequest delayed = job_of("c");
  delayed.delay_ms = 500;
  make(delayed);
  engine().advance(1500);
  const auto counts = counts_of(served(6));
  EXPECT_EQ(counts.at('b'), 1) << "the retry does not wait for all of the other key";
  EXPECT_EQ(counts.at('c'), 1);
}

TEST_P(EngineShares, ALostLeaseTakesItsTurn) {
  set(share_of_customers());
  make_of("b", 1);
  ASSERT_EQ(served(1), "b");
  make_of("a", 50);
  engine().advance(31000);
  EXPECT_EQ(counts_of(served(4)).at('b'), 1);
}

TEST_P(EngineShares, NodesOfFlowsTakeTheirTurn) {
  set(share_of_customers());
  make_of("a", 60);
  FlowRequest flow;
  flow.kind = "flow";
  for (const char* name : {"one", "two"}) {
    FlowNode node;
    node.name = name;
    node.request = job_of("b");
    flow.nodes.push_back(std::move(node));
  }
  flow.edges.push_back({"one", "two"});
  (void)value_of(engine().submit_flow(flow));
  const Claims first = claim(ask(3));
  ASSERT_EQ(counts_of(customers_of(first))['b'], 1);
  for (const auto& claim : first) complete(claim);
  engine().settle();
  EXPECT_EQ(counts_of(served(3))['b'], 1);
}

TEST_P(EngineShares, AKeyThatWasIdleHasSavedNothingUp) {
  set(share_of_customers());
  make_of("b", 1);
  make_of("a", 400);
  (void)served(200);
  make_of("b", 100);
  const auto counts = counts_of(served(40));
  EXPECT_NEAR(counts.at('a'), 20, 1);
}

TEST_P(EngineShares, ARemovedShareLeavesTheOrderOfArrival) {
  set(share_of_customers());
  make_of("a", 20);
  remove("fair");
  engine().advance(1000);
  make_of("b", 2);
  EXPECT_EQ(served(22), std::string(20, 'a') + "bb");
  engine().advance(limits::pool_visit_ms + 1000);
  EXPECT_TRUE(value_of(engine().store().scan(RecordKind::limit_pool, "", 10)).empty());
}

TEST_P(EngineShares, WhatIsNotUsedAnyMoreIsForgotten) {
  set(share_of_customers());
  make_of("a", 3);
  make_of("b", 3);
  ASSERT_EQ(uses("fair").size(), 2U);
  engine().advance(limits::pool_visit_ms + 1000);
  EXPECT_EQ(uses("fair").size(), 2U) << "what is ready has its place by them";
  for (const auto& claim : claim(ask(6))) complete(claim);
  engine().advance(limits::pool_visit_ms + 1000);
  EXPECT_TRUE(uses("fair").empty());
}

// The other limit holds back what is over it; the share says who is next.
TEST_P(EngineShares, GoesTogetherWithAConcurrency) {
  set(share_of_customers());
  LimitRequest three = at_most(3, {}, "three");
  set(three);
  make_of("a", 30);
  std::string order;
  Claims running = claim(ask(10));
  ASSERT_EQ(running.size(), 3U);
  make_of("b", 3);
  for (int i = 0; i < 18; ++i) {
    order += running.front().tags.at("app.customer");
    complete(running.front());
    running.erase(running.begin());
    engine().settle();
    for (auto& claim : claim(ask(10))) running.push_back(std::move(claim));
    ASSERT_EQ(running.size(), 3U);
  }
  EXPECT_EQ(counts_of(order).at('b'), 3) << order;
}

TEST_P(EngineShares, ALaneHasOneShare) {
  set(share_of_customers());
  LimitRequest other = share_of_customers();
  other.name = "fairer";
  const auto refused = engine().call(SetLimitCommand{other, {"ops", {}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
  EXPECT_EQ(refused.error().message,
            "lane: \"default\" has the share \"fair\" already; allowed: one for each lane (remove "
            "that one first)");
  other.lane = "x";
  EXPECT_EQ(set(other).outcome, LimitChange::created);
  EXPECT_EQ(set(share_of_customers()).outcome, LimitChange::unchanged);
}

TEST_P(EngineShares, ReadsShowTheWeights) {
  set(share_of_customers({{"a", 4}}));
  const auto ids = make_of("a", 1);
  const std::string sentence = engine().describe(ids[0]).explain.back().sentence;
  EXPECT_NE(sentence.find("share \"fair\" gives its key turns by the weight 4"), std::string::npos) << sentence;
  const auto keys = uses("fair");
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].weight, 4U);
  EXPECT_EQ(keys[0].in_use, 0U);
  LimitCheckRequest request;
  request.tags["app.customer"] = "b";
  const LimitCheck check = value_of(reads::check_limits(engine().store(), request));
  ASSERT_EQ(check.limits.size(), 1U);
  EXPECT_EQ(check.limits[0].use.weight, 1U);
  EXPECT_EQ(check.limits[0].use.key, std::vector<std::string>{"b"});
  EXPECT_TRUE(check.could_start);
}

// ---- Lane weights

class LaneWeights : public EngineSuite {
 protected:
  std::string lanes_of(const Claims& claims) {
    std::string text;
    for (const auto& claim : claims) text += claim.lane;
    return text;
  }
  void fill(const std::string& lane, int count) {
    make_many(std::vector<CreateRequest>(static_cast<std::size_t>(count), job(lane)));
  }
};
ON_EVERY_STORE(LaneWeights);

TEST_P(LaneWeights, AreTheRatioInWhichLanesAreServed) {
  fill("a", 40);
  fill("b", 40);
  fill("c", 40);
  ClaimRequest request = ask(7, {"a", "b", "c"});
  request.lane_weights = {{"c", 5}};
  EXPECT_EQ(lanes_of(claim(request)), "ccacbcc");
  request.max_executions = 1;
  std::string one_by_one;
  for (int i = 0; i < 7; ++i) one_by_one += lanes_of(claim(request));
  EXPECT_EQ(one_by_one, "ccacbcc") << "the turns go on from claim to claim";
}

TEST_P(LaneWeights, AnEmptyLaneTakesNoPart) {
  fill("a", 4);
  fill("b", 4);
  ClaimRequest request = ask(20, {"a", "b", "c"});
  request.lane_weights = {{"a", 3}, {"c", 9}};
  EXPECT_EQ(lanes_of(claim(request)), "aabaabbb");
}

TEST_P(LaneWeights, WithoutThemTheOrderIsThatOfAllLanes) {
  fill("b", 3);
  engine().advance(5);
  fill("a", 3);
  EXPECT_EQ(lanes_of(claim(ask(6, {"a", "b"}))), "bbbaaa");
}

TEST_P(LaneWeights, InsideALaneTheOrderIsAsAlways) {
  const auto low = make(job("a", 0));
  const auto high = make(job("a", 9));
  const auto other = make(job("b", 5));
  ClaimRequest request = ask(3, {"a", "b"});
  request.lane_weights = {{"a", 2}};
  EXPECT_EQ(ids_of(claim(request)), (std::vector{high, other, low}));
}

TEST_P(LaneWeights, APausedLaneTakesNoPart) {
  fill("a", 3);
  fill("b", 3);
  (void)call<LaneInfo>(engine().runtime().lane_command("a", LaneState::paused, {}));
  ClaimRequest request = ask(6, {"a", "b"});
  request.lane_weights = {{"a", 100}};
  EXPECT_EQ(lanes_of(claim(request)), "bbb");
}

}  // namespace
}  // namespace flowfabric::test
