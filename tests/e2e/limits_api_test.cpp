// Limits through HTTP: every route with good and bad requests, and with keys of one namespace.
#include <gtest/gtest.h>

#include "e2e/support/test_client.hpp"

namespace flowfabric::e2e {
namespace {

constexpr int denied = 403;

std::vector<std::string> names_in(const Reply& reply) {
  std::vector<std::string> names;
  for (const auto& limit : reply.json.at("limits").as_array()) names.push_back(text(limit.at("name")));
  return names;
}

class LimitsApi : public testing::Test {
 protected:
  Reply set(const std::string& body, const std::string& name = "l") { return client.put("/v1/limits/" + name, body); }
  std::string create(const std::string& customer) {
    return text(client.post("/v1/executions", R"({"kind":"k","tags":{"app.customer":")" + customer + R"("}})")
                    .json.at("execution_id"));
  }
  boost::json::array claim(int count) {
    return client
        .post("/v1/claims", R"({"worker_id":"w","worker_instance_id":"w-1","lanes":["default"],"max_executions":)" +
                                std::to_string(count) + "}")
        .json.at("executions")
        .as_array();
  }
  void refuses(const Reply& reply, const std::string& field, const std::string& in_message, int status = 400) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(reply.field(), field) << reply.body;
    EXPECT_NE(reply.message().find(in_message), std::string::npos) << reply.body;
  }

  TestServer server;
  TestClient client{server.url()};
  const std::string one = "/v1/limits/l";
};

TEST_F(LimitsApi, ALimitIsCreatedChangedAndRemoved) {
  const std::string spec = R"({"concurrency":3,"per":["tags.app.customer"],"reason":"the contract"})";
  const Reply made = set(spec);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(text(made.json.at("outcome")), "created");
  EXPECT_EQ(made.json.at("info").at("revision"), 1);
  EXPECT_FALSE(made.json.at("info").as_object().contains("namespace"));
  const Reply again = set(spec);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(text(again.json.at("outcome")), "unchanged");
  const Reply changed = set(R"({"rate":{"count":5,"period_ms":1000,"burst":9},"per":["tags.app.customer"]})");
  EXPECT_EQ(text(changed.json.at("outcome")), "changed");
  EXPECT_EQ(changed.json.at("info").at("revision"), 2);
  EXPECT_EQ(client.get(one).json.at("info").at("rate").at("burst"), 9);
  const Reply removed = client.send("DELETE", one + "?reason=done");
  EXPECT_EQ(text(removed.json.at("outcome")), "removed");
  EXPECT_EQ(client.get(one).code(), "not_found");
  EXPECT_EQ(client.send("DELETE", one).code(), "not_found");

  std::vector<std::string> logged;
  const Reply events = client.get("/v1/events?cursor=earliest&type=limit_created,limit_changed,limit_removed");
  for (const auto& event : events.json.at("events").as_array()) {
    logged.push_back(text(event.at("type")) + " " + text(event.at("reason")));
  }
  EXPECT_EQ(logged,
            (std::vector<std::string>{"limit_created l: the contract", "limit_changed l", "limit_removed l: done"}));
}

TEST_F(LimitsApi, TheRevisionGuardsAgainstOthers) {
  EXPECT_EQ(set(R"({"concurrency":1,"expected_revision":1})").code(), "conflict");
  EXPECT_EQ(set(R"({"concurrency":1,"expected_revision":0})").status, 201);
  const Reply refused = set(R"({"concurrency":2,"expected_revision":0})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.field(), "expected_revision");
  EXPECT_EQ(set(R"({"concurrency":2,"expected_revision":1})").status, 200);
}

TEST_F(LimitsApi, TheLimitOfANamespaceIsAnotherThanTheOneForAll) {
  set(R"({"concurrency":1})");
  set(R"({"concurrency":2,"namespace":"shop"})");
  EXPECT_EQ(client.get(one).json.at("info").at("concurrency"), 1);
  EXPECT_EQ(client.get(one + "?namespace=shop").json.at("info").at("concurrency"), 2);
  EXPECT_EQ(client.get(one + "?namespace=other").code(), "not_found");
  EXPECT_EQ(client.get("/v1/limits").json.at("limits").as_array().size(), 2u);
  EXPECT_EQ(client.get("/v1/limits?namespace=other").json.at("limits").as_array().size(), 1u);
  EXPECT_EQ(client.send("DELETE", one + "?namespace=shop").status, 200);
  EXPECT_EQ(client.get(one).status, 200);
}

TEST_F(LimitsApi, WhatIsInUseIsShownByKey) {
  set(R"({"concurrency":1,"per":["tags.app.customer"]})");
  const std::string running = create("a");
  const std::string waiting = create("a");
  create("b");
  ASSERT_EQ(claim(3).size(), 2u);
  const Reply first = client.get(one + "?limit=1");
  const std::string cursor = text(first.json.at("next_cursor"));
  ASSERT_NE(cursor, "");
  const Reply second = client.get(one + "?limit=1&cursor=" + cursor);
  EXPECT_EQ(text(second.json.at("next_cursor")), "") << "a full last page has no cursor";
  std::map<std::string, boost::json::value> uses;
  for (const Reply* page : {&first, &second}) {
    const auto use = page->json.at("keys").as_array().at(0);
    uses[text(use.at("key").as_array().at(0))] = use;
  }
  ASSERT_TRUE(uses.contains("a") && uses.contains("b"));
  EXPECT_EQ(uses["a"].at("in_use"), 1);
  EXPECT_EQ(uses["a"].at("free"), 0);
  EXPECT_EQ(uses["a"].at("held_back"), 1);
  EXPECT_EQ(text(uses["a"].at("holders").as_array().at(0)), running);
  EXPECT_EQ(uses["b"].at("held_back"), 0);
  const Reply shown = client.get(path_of(waiting) + "/explain");
  EXPECT_NE(shown.body.find(running), std::string::npos) << shown.body;
  EXPECT_EQ(text(shown.json.at("reasons").at(0).at("code")), "waiting_for_limit");
}

TEST_F(LimitsApi, ACheckSaysWhatWouldHappen) {
  set(R"({"concurrency":1,"per":["tags.app.customer"]})");
  create("a");
  claim(1);
  const Reply held = client.post("/v1/limits/check", R"({"kind":"k","tags":{"app.customer":"a"}})");
  EXPECT_FALSE(held.json.at("could_start").as_bool()) << held.body;
  EXPECT_TRUE(held.json.at("limits").at(0).at("would_hold_back").as_bool());
  const Reply free = client.post("/v1/limits/check", R"({"kind":"k","tags":{"app.customer":"b"}})");
  EXPECT_TRUE(free.json.at("could_start").as_bool()) << free.body;
  EXPECT_EQ(client.post("/v1/limits/check", R"({"kind":"k"})").json.at("limits").as_array().size(), 0u);
}

TEST_F(LimitsApi, BadRequestsAreRefusedByNameAndChangeNothing) {
  refuses(set("{}"), "concurrency", "a concurrency, a rate, a budget, or several of them");
  refuses(set(R"({"concurrency":0})"), "concurrency", "to stop a lane, pause it");
  refuses(set(R"({"concurrency":-1})"), "concurrency", "allowed: 1 to 10000");
  refuses(set(R"({"concurrency":10001})"), "concurrency", "allowed: 1 to 10000");
  refuses(set(R"({"concurrency":null})"), "concurrency", "null");
  refuses(set(R"({"rate":{"count":0,"period_ms":1000}})"), "rate.count", "allowed: 1 to 1000000");
  refuses(set(R"({"rate":{"count":-5,"period_ms":1000}})"), "rate.count", "allowed: 1 to 1000000");
  refuses(set(R"({"rate":{"count":1,"period_ms":0}})"), "rate.period_ms", "allowed: 1 to 2678400000");
  refuses(set(R"({"rate":{"count":1,"period_ms":1000,"burst":0}})"), "rate.burst", "allowed: 1 to 1000000");
  refuses(set(R"({"rate":{"period_ms":1000}})"), "rate.count", "is missing");
  refuses(set(R"({"rate":"5/1m"})"), "rate", "must be an object");
  refuses(set(R"({"concurrency":1,"per":["customer"]})"), "per[0]", "allowed: tags.NAME, namespace, lane");
  refuses(set(R"({"concurrency":1,"per":["tags."]})"), "per[0]", "malformed");
  refuses(set(R"({"concurrency":1,"per":["lane","kind","flow","creator","namespace"]})"), "per", "at most 4");
  refuses(set(R"({"concurrency":1,"scope":"lane"})"), "scope", "unknown field");
  refuses(set(R"({"concurrency":1,"namespace":""})"), "namespace", "allowed: 1 to");
  refuses(set(R"({"concurrency":1})", "a%20b"), "name", "white space");
  refuses(client.get("/v1/limits?lane=x"), "lane", "unknown parameter");
  refuses(client.get(one + "?limit=0"), "limit", "allowed: 1 to");
  refuses(client.post("/v1/limits/check", R"({"tags":{"Bad":"x"}})"), "tags", "malformed");
  EXPECT_EQ(client.get("/v1/limits").json.at("limits").as_array().size(), 0u);
  ASSERT_EQ(set(R"({"concurrency":1,"lane":"a"})").status, 201);
  refuses(set(R"({"concurrency":1,"lane":"b"})"), "lane", "cannot be changed", 409);
  refuses(client.get(one + "?cursor=nonsense"), "cursor", "is not a cursor");
}

TEST_F(LimitsApi, AStoreHasSoManyLimitsAndNoMore) {
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(set(R"({"concurrency":1})", "l" + std::to_string(i)).status, 201);
  }
  refuses(set(R"({"concurrency":1})", "more"), "name", "at most 200", 409);
  EXPECT_EQ(set(R"({"concurrency":2})", "l7").status, 200);
}

// ---------------------------------------------------------------- keys of one namespace

class LimitsOfTenants : public testing::Test {
 protected:
  static api::ApiOptions with_keys() {
    api::ApiOptions options;
    options.api_keys = true;
    return options;
  }
  std::string key(const std::string& name, ApiRole role, std::optional<std::string> name_space = {}) {
    return server.engine().create_api_key({name, role, std::move(name_space), 0}, {"test", ""}).value().secret;
  }
  Reply call(const std::string& secret, const std::string& method, const std::string& target,
             const std::string& body = {}) {
    return client.send(method, target, body, {{"Authorization", "Bearer " + secret}});
  }
  // An execution of the namespace, and whether it got a lease.
  std::string start(const std::string& name_space) {
    const std::string id = text(
        call(admin, "POST", "/v1/executions",
             R"({"kind":"k","tags":{"app.customer":"secret-)" + name_space + R"("},"namespace":")" + name_space + "\"}")
            .json.at("execution_id"));
    call(admin, "POST", "/v1/claims",
         R"({"worker_id":"w","worker_instance_id":"w-1","lanes":["default"],"namespace":")" + name_space + "\"}");
    return id;
  }

  TestServer server{with_keys()};
  TestClient client{server.url()};
  const std::string admin = key("the-admin", ApiRole::admin);
  const std::string shop = key("shop", ApiRole::operating, "shop");
};

TEST_F(LimitsOfTenants, ReadAndChangeOnlyTheirOwn) {
  const Reply made = call(shop, "PUT", "/v1/limits/own", R"({"concurrency":1})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(text(made.json.at("info").at("namespace")), "shop") << "never one for all namespaces";
  call(admin, "PUT", "/v1/limits/own", R"({"concurrency":5})");
  call(admin, "PUT", "/v1/limits/theirs", R"({"concurrency":5,"namespace":"other"})");
  EXPECT_EQ(call(shop, "GET", "/v1/limits/own").json.at("info").at("concurrency"), 1);
  EXPECT_EQ(call(shop, "GET", "/v1/limits/theirs").status, 404);
  EXPECT_EQ(call(shop, "GET", "/v1/limits/theirs?namespace=other").status, denied);
  EXPECT_EQ(call(shop, "GET", "/v1/limits?namespace=other").status, denied);
  EXPECT_EQ(call(shop, "PUT", "/v1/limits/theirs", R"({"concurrency":1,"namespace":"other"})").status, denied);
  EXPECT_EQ(call(shop, "DELETE", "/v1/limits/theirs").status, 404);
  EXPECT_EQ(call(shop, "DELETE", "/v1/limits/theirs?namespace=other").status, denied);
  EXPECT_EQ(call(shop, "POST", "/v1/limits/check", R"({"namespace":"other"})").status, denied);
  EXPECT_EQ(call(shop, "DELETE", "/v1/limits/own").status, 200);
  EXPECT_EQ(call(shop, "DELETE", "/v1/limits/own").status, 404) << "the one for all namespaces is not theirs";
  EXPECT_EQ(call(admin, "GET", "/v1/limits/own").json.at("info").at("concurrency"), 5);
  EXPECT_EQ(names_in(call(shop, "GET", "/v1/limits")), std::vector<std::string>{"own"});
}

TEST_F(LimitsOfTenants, SeeTheDefinitionOfASharedLimitButNothingOfOthers) {
  call(admin, "PUT", "/v1/limits/shared", R"({"concurrency":1})");
  const std::string of_other = start("other");
  const std::string own = start("shop");  // held back
  const Reply shared = call(shop, "GET", "/v1/limits/shared");
  ASSERT_EQ(shared.status, 200) << shared.body;
  EXPECT_EQ(shared.json.at("info").at("concurrency"), 1);
  EXPECT_EQ(shared.json.at("keys").as_array().size(), 0u);
  EXPECT_TRUE(shared.json.at("keys_hidden").as_bool());
  const Reply check = call(shop, "POST", "/v1/limits/check", R"({"kind":"k"})");
  EXPECT_FALSE(check.json.at("could_start").as_bool()) << check.body;
  const Reply explained = call(shop, "GET", path_of(own) + "/explain");
  EXPECT_NE(explained.body.find("other namespaces"), std::string::npos) << explained.body;
  const Reply described = call(shop, "GET", path_of(own));
  const Reply listed = call(shop, "GET", "/v1/limits");
  EXPECT_EQ(names_in(listed), std::vector<std::string>{"shared"});
  for (const Reply* reply : {&shared, &check, &explained, &described, &listed}) {
    for (const std::string& secret : {of_other, std::string("secret-other"), std::string("the-admin")}) {
      EXPECT_EQ(reply->body.find(secret), std::string::npos) << secret << " in " << reply->body;
    }
  }
  EXPECT_NE(call(admin, "GET", "/v1/limits/shared").body.find(of_other), std::string::npos);
  // Nor do the events of limits for all namespaces, which name their operators.
  const Reply events = call(shop, "GET", "/v1/events?cursor=earliest&type=limit_created");
  EXPECT_EQ(events.json.at("events").as_array().size(), 0u) << events.body;
}

TEST_F(LimitsOfTenants, SeeAShareWithoutItsWeights) {
  const std::string share =
      R"({"lane":"default","per":["tags.app.customer"],"share":{"weights":{"secret-other":5,"secret-shop":2}}})";
  ASSERT_EQ(call(admin, "PUT", "/v1/limits/turns", share).status, 201);
  start("other");
  const Reply shown = call(shop, "GET", "/v1/limits/turns");
  const Reply listed = call(shop, "GET", "/v1/limits");
  const Reply check = call(shop, "POST", "/v1/limits/check", R"({"tags":{"app.customer":"secret-shop"}})");
  EXPECT_EQ(names_in(listed), std::vector<std::string>{"turns"});
  EXPECT_EQ(check.json.at("limits").at(0).at("use").at("weight"), 2) << check.body;
  for (const Reply* reply : {&shown, &listed, &check}) {
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body.find("secret-other"), std::string::npos) << reply->body;
  }
  const Reply all = call(admin, "GET", "/v1/limits/turns");
  EXPECT_EQ(all.json.at("info").at("share").at("weights").at("secret-other"), 5) << all.body;
  EXPECT_EQ(all.json.at("keys").at(0).at("weight"), 5) << all.body;
  EXPECT_EQ(call(shop, "PUT", "/v1/limits/own", share).json.at("error").at("field"), "namespace");
}

TEST_F(LimitsOfTenants, RolesAreThoseOfSchedules) {
  const std::string viewer = key("viewer", ApiRole::viewer, "shop");
  const std::string worker = key("worker", ApiRole::worker, "shop");
  EXPECT_EQ(call(viewer, "GET", "/v1/limits").status, 200);
  EXPECT_EQ(call(viewer, "POST", "/v1/limits/check", R"({"kind":"k"})").status, 200);
  EXPECT_EQ(call(worker, "PUT", "/v1/limits/own", R"({"concurrency":1})").status, denied);
  EXPECT_EQ(call(worker, "DELETE", "/v1/limits/own").status, denied);
  EXPECT_EQ(call(shop, "PUT", "/v1/limits/own", R"({"concurrency":1})").status, 201);
}

}  // namespace
}  // namespace flowfabric::e2e
