// Budgets through HTTP: what operators set and change, and what workers report, with good and bad requests.
#include <gtest/gtest.h>

#include "e2e/support/test_client.hpp"

namespace flowfabric::e2e {
namespace {

class BudgetsApi : public testing::Test {
 protected:
  Reply set(const std::string& budget, const std::string& more = {}) {
    return client.put("/v1/limits/b", R"({"budget":)" + budget + more + "}");
  }
  std::string claimed(const std::string& more = {}) {
    client.post("/v1/executions", R"({"kind":"k")" + more + "}");
    const Reply reply = client.post("/v1/claims", R"({"worker_id":"w","worker_instance_id":"w-1"})");
    const auto& executions = reply.json.at("executions").as_array();
    return executions.empty() ? std::string() : text(executions.at(0).at("handle"));
  }
  Reply spend(const std::string& handle, const std::string& rest) {
    return client.post("/v1/leases/spend", R"({"handle":")" + handle + R"(",)" + rest + "}");
  }
  Reply change(const std::string& body) { return client.post("/v1/limits/b/budget", body); }
  boost::json::value use() { return client.get("/v1/limits/b").json.at("keys").at(0).at("budget"); }

  TestServer server;
  TestClient client{server.url()};
};

TEST_F(BudgetsApi, WorkersSpendAndAreRefused) {
  ASSERT_EQ(set(R"({"dimensions":[{"name":"tokens","hard":100,"soft":50,"reserve":10}],"period":"1d"})").status, 201);
  const std::string handle = claimed();
  EXPECT_EQ(use().at("dimensions").at(0).at("reserved"), 10);
  const Reply first = spend(handle, R"("amounts":{"tokens":60},"key":"call-1")");
  ASSERT_EQ(first.status, 200) << first.body;
  const auto& balance = first.json.at("balances").at(0);
  EXPECT_EQ(text(balance.at("budget")), "b");
  EXPECT_EQ(balance.at("spent"), 60);
  EXPECT_EQ(balance.at("warning"), true);
  EXPECT_EQ(spend(handle, R"("amounts":{"tokens":60},"key":"call-1")").json.at("repeated"), true);
  const Reply over = spend(handle, R"("amounts":{"tokens":41})");
  EXPECT_EQ(over.status, 409);
  EXPECT_EQ(over.code(), "budget_exceeded");
  EXPECT_EQ(over.field(), "amounts.tokens");
  EXPECT_EQ(spend(handle, R"("amounts":{"tokens":41},"force":true)").json.at("balances").at(0).at("overdrawn"), true);
  EXPECT_EQ(use().at("dimensions").at(0).at("spent"), 101);
  EXPECT_TRUE(use().as_object().contains("period_end"));
  EXPECT_EQ(claimed(), "");
}

TEST_F(BudgetsApi, BadRequestsAreRefusedByName) {
  const auto refuses = [](const Reply& reply, const std::string& field) {
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(reply.field(), field) << reply.body;
  };
  refuses(set(R"({"dimensions":[{"name":"tokens","hard":0}]})"), "budget.dimensions[0].hard");
  refuses(set(R"({"dimensions":[]})"), "budget.dimensions");
  refuses(set(R"({"dimensions":[{"name":"tokens"}],"period":"soon"})"), "budget.period");
  refuses(set(R"({"dimensions":[{"name":"tokens"}],"period":"1d","time_zone":"Mars/Phobos"})"), "budget.time_zone");
  refuses(set(R"({"dimensions":[{"name":"tokens"}],"on_hard_limit":"explode"})"), "budget.on_hard_limit");
  refuses(set(R"({"dimensions":[{"name":"tokens"}],"limit":3})"), "budget.limit");
  ASSERT_EQ(set(R"({"dimensions":[{"name":"tokens","hard":10}]})").status, 201);
  const std::string handle = claimed();
  refuses(spend(handle, R"("amounts":{"tokens":-1})"), "amounts.tokens");
  refuses(spend(handle, R"("amounts":{"toknes":1})"), "amounts.toknes");
  refuses(spend(handle, R"("amounts":{})"), "amounts");
  refuses(client.post("/v1/executions", R"({"kind":"k","reserve":{"tokens":-1}})"), "reserve.tokens");
  refuses(change(R"({"change":"reset","amounts":{"tokens":1}})"), "amounts");
  refuses(change(R"({"change":"adjust"})"), "amounts");
  EXPECT_EQ(use().at("dimensions").at(0).at("spent"), 0);
}

TEST_F(BudgetsApi, OperatorsChangeAccounts) {
  EXPECT_EQ(change(R"({"change":"reset"})").code(), "not_found");
  set(R"({"dimensions":[{"name":"tokens","hard":10}],"on_hard_limit":"pause"})", R"(,"per":["lane"])");
  const std::string handle = claimed();
  spend(handle, R"("amounts":{"tokens":8})");
  EXPECT_EQ(spend(handle, R"("amounts":{"tokens":8})").code(), "budget_exceeded");
  EXPECT_EQ(use().at("paused"), true);
  EXPECT_EQ(change(R"({"change":"resume","reason":"paid"})").field(), "account");
  EXPECT_EQ(change(R"({"change":"resume","account":["default"],"reason":"paid"})").json.at("paused"), false);
  const Reply adjusted =
      change(R"({"change":"adjust","account":["default"],"amounts":{"tokens":-3},"reason":"refund"})");
  EXPECT_EQ(adjusted.json.at("dimensions").at(0).at("spent"), 5);
  EXPECT_EQ(change(R"({"change":"reset","account":["default"]})").json.at("dimensions").at(0).at("spent"), 0);
  const Reply events =
      client.get("/v1/events?cursor=earliest&type=budget_paused,budget_resumed,budget_adjusted,budget_reset");
  std::vector<std::string> logged;
  for (const auto& event : events.json.at("events").as_array()) {
    logged.push_back(text(event.at("type")) + " " + text(event.at("reason")));
  }
  EXPECT_EQ(logged,
            (std::vector<std::string>{"budget_paused b", "budget_resumed b of default: paid",
                                      "budget_adjusted b of default; -3 tokens: refund", "budget_reset b of default"}));
}

TEST_F(BudgetsApi, AWaitingExecutionIsExplained) {
  set(R"({"dimensions":[{"name":"tokens","hard":10,"reserve":10}]})");
  claimed();
  EXPECT_EQ(claimed(R"(,"id":"0193e0a2-7c55-7d6e-8f3a-6b1f0c9d2e41")"), "");
  const auto listed = client.get("/v1/executions?state=waiting&limit=1").json.at("executions").at(0);
  const Reply reasons = client.get("/v1/executions/" + text(listed.at("execution_id")) + "/explain");
  EXPECT_EQ(text(reasons.json.at("reasons").at(0).at("code")), "waiting_for_budget");
}

}  // namespace
}  // namespace flowfabric::e2e
