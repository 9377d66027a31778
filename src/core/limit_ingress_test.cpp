#include "core/limit_ingress.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"

namespace flowfabric {
namespace {

LimitRequest sound_limit() {
  LimitRequest request;
  request.name = "l";
  request.concurrency = 1;
  return request;
}

// The message of the refusal; empty if there is none.
std::string limit_refusal(LimitRequest request) {
  const auto admitted = admit(request);
  return admitted ? "" : admitted.error().message;
}

template <class Change>
std::string refusal_after(Change change) {
  LimitRequest request = sound_limit();
  change(request);
  return limit_refusal(std::move(request));
}

TEST(LimitRequests, SoundOnesPass) {
  EXPECT_EQ(limit_refusal(sound_limit()), "");
  EXPECT_EQ(refusal_after([](auto& r) { r.per = {"tags.app.customer", "namespace", "flow", "creator"}; }), "");
  EXPECT_EQ(refusal_after([](auto& r) {
              r.concurrency.reset();
              r.rate = RateLimit{limits::max_rate_count, limits::max_rate_period_ms, 1};
            }),
            "");
}

TEST(LimitRequests, EveryRefusalSaysWhatIsAllowed) {
  EXPECT_EQ(refusal_after([](auto& r) { r.concurrency.reset(); }),
            "concurrency: is missing; a limit has a concurrency, a rate, a budget, or several of them; or a share");
  EXPECT_EQ(
      refusal_after([](auto& r) { r.concurrency = 0; }),
      "concurrency: is 0, which would hold back everything for ever; allowed: 1 to 10000 (to stop a lane, pause it)");
  EXPECT_EQ(refusal_after([](auto& r) { r.concurrency = 10001; }), "concurrency: is 10001; allowed: 1 to 10000");
  EXPECT_EQ(refusal_after([](auto& r) { r.rate = RateLimit{0, 1000, {}}; }), "rate.count: is 0; allowed: 1 to 1000000");
  EXPECT_EQ(refusal_after([](auto& r) { r.rate = RateLimit{1, 0, {}}; }),
            "rate.period_ms: is 0; allowed: 1 to 2678400000");
  EXPECT_EQ(refusal_after([](auto& r) { r.rate = RateLimit{1, -5, {}}; }),
            "rate.period_ms: is -5; allowed: 1 to 2678400000");
  EXPECT_EQ(refusal_after([](auto& r) { r.rate = RateLimit{1, 1000, 0}; }), "rate.burst: is 0; allowed: 1 to 1000000");
  EXPECT_EQ(refusal_after([](auto& r) { r.per = {"customer"}; }),
            "per[0]: is \"customer\"; allowed: tags.NAME, namespace, lane, kind, creator, flow, execution");
  EXPECT_EQ(refusal_after([](auto& r) { r.per = {"lane", "lane"}; }), "per[1]: repeats \"lane\"");
  EXPECT_EQ(refusal_after([](auto& r) { r.per = {"", "lane"}; }).find("per[0]: is \"\"; allowed: tags.NAME"), 0U);
  EXPECT_EQ(refusal_after([](auto& r) { r.per = {"lane", "kind", "flow", "creator", "namespace"}; }),
            "per: has 5 entries; allowed: at most 4");
  EXPECT_EQ(refusal_after([](auto& r) { r.lane = ""; }).find("lane: "), 0U);
  EXPECT_EQ(refusal_after([](auto& r) { r.kind = ""; }), "kind: has 0 bytes; allowed: 1 to 128");
  EXPECT_EQ(refusal_after([](auto& r) { r.name = ""; }), "name: has 0 bytes; allowed: 1 to 128");
  EXPECT_EQ(refusal_after([](auto& r) { r.name_space = ""; }).find("namespace: "), 0U);
}

TEST(LimitRequests, AShareIsOfOneLaneAndAlone) {
  const auto refusal_of_share = [](auto change) {
    LimitRequest share;
    share.name = "s";
    share.lane = "work";
    share.per = {"tags.app.customer"};
    share.share = ShareSpec{{{"acme", 5}, {"", limits::max_weight}}};
    change(share);
    return limit_refusal(std::move(share));
  };
  EXPECT_EQ(refusal_of_share([](auto&) {}), "");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.lane.reset(); }), "lane: is missing; a share is of one lane");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.per.clear(); }),
            "per: is missing; a share is between the values of something");
  EXPECT_EQ(
      refusal_of_share([](auto& r) { r.per = {"execution"}; }),
      "per: has \"execution\", so that nothing would be shared; allowed: tags.NAME, namespace, kind, creator, flow");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.name_space = "shop"; }),
            "namespace: is set; a share is for all namespaces");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.kind = "call"; }), "kind: is set; a share is for all kinds");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.concurrency = 3; }),
            "share: cannot be in one limit with a concurrency; make two limits");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.rate = RateLimit{1, 1000, {}}; }),
            "share: cannot be in one limit with a rate; make two limits");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.budget.emplace(); }),
            "share: cannot be in one limit with a budget; make two limits");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.share->weights["x"] = 0; }), "share.weights.x: is 0; allowed: 1 to 1000");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.share->weights["x"] = 1001; }),
            "share.weights.x: is 1001; allowed: 1 to 1000");
  EXPECT_EQ(refusal_of_share([](auto& r) { r.share->weights["x\n"] = 1; }),
            "share.weights: has control characters; none are allowed");
  EXPECT_EQ(refusal_of_share([](auto& r) {
              for (std::size_t i = 0; i < limits::max_share_weights; ++i) r.share->weights[std::to_string(i)] = 1;
            }),
            "share.weights: has 102 entries; allowed: at most 100");
}

TEST(LimitRequests, WhatALimitIsForCannotBeChanged) {
  const LimitRequest before = sound_limit();
  LimitRequest now = before;
  now.concurrency = 7;
  now.rate = RateLimit{1, 1000, {}};
  EXPECT_TRUE(admit_change(before, now));
  const auto field_of = [&](const LimitRequest& changed) { return admit_change(before, changed).error().field; };
  now.lane = "x";
  EXPECT_EQ(field_of(now), "lane");
  now = before;
  now.kind = "x";
  EXPECT_EQ(field_of(now), "kind");
  now = before;
  now.per = {"lane"};
  EXPECT_EQ(field_of(now), "per");
  now = before;
  now.share.emplace();
  EXPECT_EQ(field_of(now), "share");
  now.per = {"lane"};
  EXPECT_EQ(admit_change(before, now).error().code, Errc::conflict);
}

TEST(LimitNames, AreSaidWithTheirNamespace) {
  EXPECT_EQ(shown({std::nullopt, "api"}), "limit \"api\" for all namespaces");
  EXPECT_EQ(shown({"shop", "api"}), "limit \"api\" of namespace \"shop\"");
}

}  // namespace
}  // namespace flowfabric
