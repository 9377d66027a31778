// The fleet through HTTP only; and every route of the document at least once.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "api/route.hpp"
#include "e2e/support/test_client.hpp"
#include "support/http_server.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;

const std::string worker = R"("worker_id":"w","worker_instance_id":"w-1")";

class FleetApi : public testing::Test {
 protected:
  std::string create(const std::string& body = R"({"kind":"k"})") {
    const Reply reply = client.post("/v1/executions", body);
    EXPECT_EQ(reply.status, 201) << reply.body;
    return text(reply.json.at("execution_id"));
  }
  std::string claim(const std::string& more = "") {
    const Reply reply = client.post("/v1/claims", "{" + worker + more + "}");
    EXPECT_EQ(reply.json.at("executions").as_array().size(), 1u) << reply.body;
    return text(reply.json.at("executions").at(0).at("handle"));
  }
  // An execution that waits for a manual reclaim.
  std::string abandon() {
    const std::string id = create(R"({"kind":"k","policy":{"on_lease_lost":"manual"}})");
    claim();
    EXPECT_EQ(client.post(path_of(id) + "/revoke-lease").status, 200);
    return id;
  }
  std::string redeem_body(const std::string& id, const json::value& grant) {
    return R"({"execution_id":")" + id + R"(","grant_key":")" + text(grant.at("grant_key")) + "\"," + worker + "}";
  }

  TestServer server;
  TestClient client{server.url()};
};

TEST_F(FleetApi, AWorkerRegistersLivesAndDies) {
  EXPECT_EQ(text(client.post("/v1/workers", "{" + worker + R"(,"capabilities":["gpu"]})").json.at("outcome")),
            "registered");
  EXPECT_EQ(text(client.post("/v1/workers", "{" + worker + "}").json.at("outcome")), "refreshed");
  create();
  const std::string handle = claim();
  const std::string beat = R"({"worker_instance_id":"w-1","leases":[")" + handle + R"(","x"]})";
  const auto lively = client.post("/v1/workers/heartbeat", beat).json;
  EXPECT_EQ(text(lively.at("outcome")), "refreshed");
  EXPECT_TRUE(lively.at("leases").at(0).at("value").as_object().contains("expires_at"));
  EXPECT_EQ(text(lively.at("leases").at(1).at("error").at("code")), "invalid_handle");
  EXPECT_FALSE(lively.at("drain").as_bool());
  EXPECT_EQ(text(client.post("/v1/workers/w-1/drain", R"({"reason":"night"})").json.at("outcome")), "draining");
  EXPECT_TRUE(client.post("/v1/workers/heartbeat", beat).json.at("drain").as_bool());
  EXPECT_EQ(client.get("/v1/workers?lane=default&namespace=default").json.at("workers").as_array().size(), 1u);
  EXPECT_TRUE(client.get("/v1/workers?capability=tpu").json.at("workers").as_array().empty());
  EXPECT_EQ(text(client.post("/v1/workers/w-1/mark-dead", R"({"reason":"fire"})").json.at("outcome")), "marked");
  EXPECT_EQ(text(client.post("/v1/workers/w-1/mark-dead").json.at("outcome")), "not_registered");
  EXPECT_EQ(text(client.post("/v1/workers/w-2/drain").json.at("outcome")), "not_registered");
  EXPECT_TRUE(client.get("/v1/workers").json.at("workers").as_array().empty());
  const auto gone = client.get("/v1/workers?include_expired=true").json.at("workers").at(0);
  EXPECT_EQ(text(gone.at("state")), "marked_dead");
  EXPECT_EQ(text(gone.at("ended_by")), "local");
  EXPECT_EQ(client.get("/v1/workers?include_expired=yes").field(), "include_expired");
  EXPECT_EQ(client.post("/v1/workers", R"({"worker_id":"w"})").field(), "worker_instance_id");
  EXPECT_EQ(client.post("/v1/workers", R"({"worker_id":"w","worker_instance_id":"a b"})").field(),
            "worker_instance_id");
}

TEST_F(FleetApi, AHeartbeatCarriesAtMostAThousandLeases) {
  std::string beat = R"({"worker_instance_id":"w-1","leases":[)";
  for (int i = 0; i < 1001; ++i) beat += i == 0 ? "\"x\"" : ",\"x\"";
  const Reply reply = client.post("/v1/workers/heartbeat", beat + "]}");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.field(), "leases");
}

TEST_F(FleetApi, AGrantIsRedeemedOnce) {
  const std::string id = create();
  const std::string wanted = R"({"execution_id":")" + id + "\"," + worker + "}";
  const auto grant = client.post("/v1/claim-grants", wanted).json;
  EXPECT_EQ(text(grant.at("kind")), "claim");
  EXPECT_EQ(
      client.post("/v1/claim-grants", R"({"execution_id":")" + id + R"(","worker_id":"v","worker_instance_id":"v"})")
          .code(),
      "grant_already_exists");
  const Reply claimed = client.post("/v1/claim-grants/redeem", redeem_body(id, grant));
  EXPECT_EQ(text(claimed.json.at("execution_id")), id);
  EXPECT_EQ(client.post("/v1/claim-grants/redeem", redeem_body(id, grant)).code(), "invalid_claim_grant");
}

TEST_F(FleetApi, TheNextGrantIsForTheBest) {
  EXPECT_EQ(client.post("/v1/claim-grants/next", "{" + worker + "}").body, R"({"outcome":"no_work"})");
  create();
  const std::string best = create(R"({"kind":"k","priority":5})");
  const auto reply = client.post("/v1/claim-grants/next", "{" + worker + "}").json;
  EXPECT_EQ(text(reply.at("outcome")), "granted");
  EXPECT_EQ(text(reply.at("grant").at("execution_id")), best);
}

TEST_F(FleetApi, ALostLeaseIsReclaimed) {
  const std::string id = abandon();
  const auto lost = client.get("/v1/leases/expired").json.at("leases");
  EXPECT_EQ(text(lost.at(0).at("execution_id")), id);
  EXPECT_EQ(text(lost.at(0).at("cause")), "revoked");
  EXPECT_TRUE(client.get("/v1/leases/expired?namespace=other").json.at("leases").as_array().empty());
  EXPECT_TRUE(client.get("/v1/leases/expired?as_of=946684800000&limit=10000").json.at("leases").as_array().empty());
  EXPECT_TRUE(client.get("/v1/leases/expired?as_of=0").json.at("leases").as_array().empty());
  EXPECT_EQ(client.get("/v1/leases/expired?limit=10001").field(), "limit");
  const auto granted = client.post("/v1/reclaim-grants", R"({"execution_id":")" + id + "\"," + worker + "}").json;
  EXPECT_EQ(text(granted.at("outcome")), "granted");
  const auto reclaimed = client.post("/v1/reclaim-grants/redeem", redeem_body(id, granted.at("grant"))).json;
  EXPECT_EQ(text(reclaimed.at("outcome")), "claimed");
  EXPECT_EQ(text(reclaimed.at("execution").at("handle_kind")), "reclaimed");
  EXPECT_EQ(text(client.post("/v1/reclaim-grants/redeem", redeem_body(id, granted.at("grant"))).json.at("outcome")),
            "grant_not_found");
  const auto running = client.post("/v1/reclaim-grants", R"({"execution_id":")" + id + "\"," + worker + "}").json;
  EXPECT_EQ(text(running.at("outcome")), "not_reclaimable");
  EXPECT_FALSE(text(running.at("detail")).empty());
}

TEST_F(FleetApi, LanesNamespacesAndCounts) {
  create(R"({"kind":"k","lane":"mail","namespace":"n"})");
  EXPECT_EQ(text(client.put("/v1/lanes/mail", R"({"state":"paused","reason":"storm"})").json.at("state")), "paused");
  const auto lane = client.get("/v1/lanes/mail").json;
  EXPECT_EQ(text(lane.at("reason")), "storm");
  EXPECT_EQ(text(lane.at("changed_by")), "local");
  EXPECT_EQ(client.get("/v1/lanes").json.at("lanes").as_array().size(), 1u);
  EXPECT_EQ(client.get("/v1/lanes/none").code(), "not_found");
  EXPECT_EQ(client.put("/v1/lanes/none", R"({"state":"paused"})").code(), "not_found");
  EXPECT_EQ(client.get("/v1/lanes").json.at("lanes").as_array().size(), 1u) << "asking makes no lane";
  EXPECT_GT(lane.at("registered_at").as_int64(), 0);
  EXPECT_EQ(client.put("/v1/lanes/mail", R"({"state":"closed"})").field(), "state");
  EXPECT_EQ(client.put("/v1/lanes/mail", R"({})").field(), "state");
  EXPECT_EQ(client.get("/v1/counts").json.at("lanes").at(0).at("counts").at("waiting").as_int64(), 1);
  EXPECT_TRUE(client.get("/v1/counts?namespace=other").json.at("lanes").as_array().empty());
  EXPECT_EQ(client.get("/v1/namespaces/n").body, R"({"namespace":"n","retention":{}})");
  EXPECT_EQ(client.put("/v1/namespaces/n", R"({"retention":{"failed_ms":5}})").status, 200);
  EXPECT_EQ(client.get("/v1/namespaces/n").json.at("retention").at("failed_ms").as_int64(), 5);
  EXPECT_EQ(client.put("/v1/namespaces/n", R"({"retention":{"failed_ms":-5}})").status, 400);
}

TEST_F(FleetApi, KeysAndRetention) {
  EXPECT_EQ(client.get("/v1/signing-keys").json.at("keys").as_array().size(), 1u);
  const auto rotation = client.post("/v1/signing-keys/rotate", R"({"grace_ms":1000,"reason":"leak"})").json;
  EXPECT_EQ(rotation.at("keys").as_array().size(), 2u);
  EXPECT_EQ(client.post("/v1/signing-keys/rotate", R"({"grace_ms":-1})").status, 400);
  const std::string id = create();
  client.post(path_of(id) + "/cancel");
  EXPECT_EQ(client.post("/v1/retention/run").body, R"({"matched":0,"removed":0})") << "its retention is not over";
  EXPECT_EQ(client.post("/v1/retention/run", R"({"older_than_ms":0,"lane":"other"})").body,
            R"({"matched":0,"removed":0})");
  // An execution that ended in this millisecond is not older than anything.
  ASSERT_TRUE(test::eventually([&] {
    return client.post("/v1/retention/run", R"({"older_than_ms":0})").body == R"({"matched":1,"removed":1})";
  }));
  EXPECT_EQ(client.get(path_of(id)).status, 404);
  const auto runs = client.get("/v1/events?cursor=earliest&type=retention_run").json.at("events").as_array();
  ASSERT_GE(runs.size(), 3u) << "those that removed nothing too";
  EXPECT_EQ(text(runs[1].at("lane")), "other");
  EXPECT_NE(text(runs.back().at("reason")).find("removed 1 ended"), std::string::npos);
}

// Routes that have their own test: those for waits are in waits_api_test.cpp.
bool is_elsewhere(const std::string& operation) {
  for (const auto& routes : {api::wait_routes(), api::hook_routes(), api::schedule_routes(), api::dead_letter_routes(),
                             api::budget_routes()}) {
    for (const api::Route& route : routes) {
      if (operation == route.method + " " + route.pattern) return true;
    }
  }
  return operation == "POST /v1/leases/spend" || operation == "POST /v1/executions/bulk/signal" ||
         operation.find("/v1/events") != std::string::npos || operation == "POST /v1/session";
}

TEST_F(FleetApi, EveryRouteSucceedsAtLeastOnce) {
  const std::string done = create(R"({"kind":"k","payload":1})");
  client.post("/v1/executions/batch", R"({"executions":[{"kind":"k","lane":"other"}]})");
  client.post("/v1/leases/complete", R"({"handle":")" + claim() + "\"}");
  for (const char* part : {"", "/state", "/payload", "/result", "/explain", "/history", "/attempts", "/steps", "/tags",
                           "/attempts/0/result"}) {
    EXPECT_EQ(client.get(path_of(done) + part).status, 200) << part;
  }
  EXPECT_EQ(client.get(path_of(done) + "/inputs").status, 200);
  const std::string flow =
      "/v1/flows/" + text(client.post("/v1/flows", R"({"kind":"f","nodes":[{"name":"a","kind":"k","lane":"flows"}]})")
                              .json.at("flow_id"));
  for (const char* part : {"", "/nodes", "/edges", "/graph", "/history"}) {
    EXPECT_EQ(client.get(flow + part).status, 200) << part;
  }
  const std::string open =
      "/v1/flows/" +
      text(client.post("/v1/flows", R"({"kind":"f","open":true,"nodes":[{"name":"a","kind":"k","lane":"open"}]})")
               .json.at("flow_id"));
  EXPECT_EQ(client.post(open + "/nodes", R"({"nodes":[{"name":"b","kind":"k","lane":"later"}]})").status, 200);
  EXPECT_EQ(client.post(open + "/seal").status, 200);
  const std::string parent =
      text(client.post("/v1/claims", R"({"worker_id":"w","worker_instance_id":"w-1","lanes":["open"]})")
               .json.at("executions")
               .at(0)
               .at("handle"));
  EXPECT_EQ(client
                .post("/v1/leases/extend", R"({"handle":")" + parent +
                                               R"(","nodes":[{"name":"c","kind":"k","lane":"later"}],)"
                                               R"("edges":[{"from":"c","to":"a","kind":"join"}]})")
                .status,
            200);
  EXPECT_EQ(client.post("/v1/leases/join", R"({"handle":")" + parent + R"(","names":["c"]})").status, 200);
  client.post(flow + "/cancel");
  EXPECT_EQ(client.get(flow + "/result?wait_ms=30000").status, 200);
  EXPECT_EQ(client.post(flow + "/replay").status, 200);
  EXPECT_EQ(client.get("/v1/flows").status, 200);
  client.post(path_of(done) + "/replay");
  client.put(path_of(done) + "/priority", R"({"priority":1})");
  client.patch(path_of(done) + "/tags", R"({"set":{"a.b":"c"}})");
  client.post("/v1/leases/renew", R"({"handles":[]})");
  const std::string held = claim();
  client.post("/v1/leases/progress", R"({"handle":")" + held + R"(","percent":1})");
  client.post("/v1/leases/steps", R"({"handle":")" + held + R"(","position":1,"name":"a"})");
  client.post("/v1/leases/checkpoint", R"({"handle":")" + held + R"(","checkpoint":1})");
  client.post("/v1/leases/tags", R"({"handle":")" + held + R"(","set":{"a.b":"d"}})");
  client.post("/v1/leases/fail", R"({"handle":")" + held + "\"}");
  client.post("/v1/completions", R"({"completions":[]})");
  create();
  client.post("/v1/leases/delay", R"({"handle":")" + claim() + R"(","delay_until":253402300799000})");
  create();
  client.post("/v1/leases/release", R"({"handle":")" + claim() + "\"}");
  client.post("/v1/leases/cancel", R"({"handle":")" + claim() + "\"}");
  client.post(path_of(create()) + "/cancel");
  client.post("/v1/executions/bulk", R"({"action":"cancel","filter":{"lane":"nowhere"}})");
  for (const char* path : {"/v1/executions", "/v1/workers", "/v1/leases/expired", "/v1/lanes", "/v1/counts",
                           "/v1/namespaces", "/v1/namespaces/n", "/v1/signing-keys", "/v1/lanes/default", "/v1/whoami",
                           "/v1/api-keys", "/v1/session", "/v1/overview"}) {
    EXPECT_EQ(client.get(path).status, 200) << path;
  }
  client.post("/v1/workers", "{" + worker + "}");
  client.post("/v1/workers/heartbeat", R"({"worker_instance_id":"w-1"})");
  EXPECT_EQ(client.get("/v1/workers/w-1/leases").status, 200);
  client.post("/v1/workers/w-1/drain");
  client.post("/v1/workers/w-1/mark-dead");
  client.post("/v1/workers", "{" + worker + "}");
  const std::string reserved = create();
  const auto grant = client.post("/v1/claim-grants", R"({"execution_id":")" + reserved + "\"," + worker + "}").json;
  client.post("/v1/claim-grants/redeem", redeem_body(reserved, grant));
  client.post("/v1/claim-grants/next", "{" + worker + "}");
  const std::string lost = abandon();
  const auto again = client.post("/v1/reclaim-grants", R"({"execution_id":")" + lost + "\"," + worker + "}").json;
  client.post("/v1/reclaim-grants/redeem", redeem_body(lost, again.at("grant")));
  client.put("/v1/lanes/default", R"({"state":"active"})");
  client.put("/v1/namespaces/n", R"({"retention":{}})");
  client.post("/v1/signing-keys/rotate");
  client.post("/v1/api-keys", R"({"name":"ada","role":"viewer"})");
  client.send("DELETE", "/v1/api-keys/ada");
  client.send("DELETE", "/v1/session");
  client.post("/v1/retention/run");
  client.put("/v1/limits/one", R"({"concurrency":1})");
  client.get("/v1/limits");
  client.get("/v1/limits/one");
  client.post("/v1/limits/check", R"({"kind":"k"})");
  client.send("DELETE", "/v1/limits/one");
  for (const std::string& operation : client.operations()) {
    EXPECT_TRUE(client.succeeded().contains(operation) || is_elsewhere(operation)) << operation;
  }
}

TEST_F(FleetApi, AnAttemptOutlivesARotationOfKeysByRenewing) {
  const std::string id = create();
  const std::string old = claim();
  ASSERT_EQ(client.post("/v1/signing-keys/rotate", R"({"grace_ms":3600000})").status, 200);
  const auto renewed = client.post("/v1/leases/renew", R"({"handles":[")" + old + R"("]})").json;
  const std::string next = text(renewed.at("results").at(0).at("value").at("handle"));
  EXPECT_NE(next, old);
  const auto beaten =
      client.post("/v1/workers/heartbeat", R"({"worker_instance_id":"w-1","leases":[")" + next + R"("]})").json;
  EXPECT_EQ(text(beaten.at("leases").at(0).at("value").at("handle")), next);
  EXPECT_EQ(client.post("/v1/leases/complete", R"({"handle":")" + next + "\"}").status, 200);
}

TEST_F(FleetApi, ADrainedWorkerClaimsNothing) {
  create();
  client.post("/v1/workers", "{" + worker + "}");
  client.post("/v1/workers/w-1/drain");
  const Reply refused = client.post("/v1/claims", "{" + worker + "}");
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(refused.code(), "not_eligible");
  EXPECT_EQ(refused.field(), "worker_instance_id");
}

TEST_F(FleetApi, GrantsCarryTheTextsOfTheScheduler) {
  const std::string id = create();
  const auto grant = client
                         .post("/v1/claim-grants", R"({"execution_id":")" + id + "\"," + worker +
                                                       R"(,"capability_hash":"c0ffee","route_snapshot":"{}",)" +
                                                       R"("admission_summary":"ok"})")
                         .json;
  EXPECT_EQ(text(grant.at("capability_hash")), "c0ffee");
  const auto shown = client.get(path_of(id)).json.at("grant");
  EXPECT_EQ(text(shown.at("worker_instance_id")), "w-1");
  EXPECT_EQ(text(shown.at("route_snapshot")), "{}");
  EXPECT_EQ(text(shown.at("admission_summary")), "ok");
  EXPECT_FALSE(shown.as_object().contains("grant_key"));
  const Reply capped = client.post("/v1/claim-grants/redeem", R"({"execution_id":")" + id + "\"," + worker +
                                                                  R"(,"max_reclaim_count":1,"grant_key":")" +
                                                                  text(grant.at("grant_key")) + "\"}");
  EXPECT_EQ(capped.field(), "max_reclaim_count") << capped.body;
}

}  // namespace
}  // namespace flowfabric::e2e
