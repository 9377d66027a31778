// Webhooks through HTTP: the routes of operators, and what senders can and cannot do.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "base/hashing.hpp"
#include "e2e/support/test_client.hpp"
#include "engine/engine_impl.hpp"
#include "open/open.hpp"
#include "support/manual_clock.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;

constexpr const char* senders_secret = "a secret of the sender";

class HooksApi : public testing::Test {
 protected:
  HooksApi() : server(engine_of_hooks(clock)), client(server.url()) {}

  static std::unique_ptr<Engine> engine_of_hooks(const test::ManualClock& clock) {
    StoreOptions options;
    options.now_us = clock.source();
    return start_engine(open_store("memory:", std::move(options)).value(), {}).value();
  }
  Reply make_hook(const std::string& more) {
    return client.post("/v1/hooks",
                       R"({"name":"orders","secret":")" + std::string(senders_secret) + "\"," + more + "}");
  }
  // As the sender does, with whatever type the body has.
  Reply send_hook(const std::string& body, const std::string& key = senders_secret,
                  const std::string& target = "/v1/hooks/orders") {
    return client.send("POST", target, body,
                       {{"X-Signature", to_hex(Signer(key).sign(body))}, {"Content-Type", "text/x-anything"}});
  }
  std::string outcome(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    return text(reply.json.at("outcome"));
  }
  std::string suspended_execution() {
    const Reply created = client.post("/v1/executions", R"({"kind":"k"})");
    const Reply claimed = client.post("/v1/claims", R"({"worker_id":"w","worker_instance_id":"w-1"})");
    const std::string handle = json::serialize(claimed.json.at("executions").at(0).at("handle"));
    const Reply reply =
        client.post("/v1/leases/suspend", R"({"handle":)" + handle + R"(,"waitpoints":[{"name":"paid"}]})");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return text(created.json.at("execution_id"));
  }

  test::ManualClock clock;
  TestServer server;
  TestClient client;
};

TEST_F(HooksApi, signed_request_becomes_a_signal_once) {
  EXPECT_EQ(make_hook(R"("execution_at":"/execution","waitpoint":"paid","idempotency_at":"/id")").status, 201);
  const std::string id = suspended_execution();
  const std::string body = R"({"id":"evt-1","execution":")" + id + R"(","state":"paid"})";
  EXPECT_EQ(outcome(send_hook(body)), "delivered");
  EXPECT_EQ(outcome(send_hook(body)), "duplicate");
  const Reply claimed = client.post("/v1/claims", R"({"worker_id":"w","worker_instance_id":"w-2"})");
  const json::value& signal = claimed.json.at("executions").at(0).at("last_wait").at("signals").at(0);
  EXPECT_EQ(text(signal.at("source")), "hook:orders");
  EXPECT_EQ(text(signal.at("payload").at("state")), "paid");
}

TEST_F(HooksApi, signed_request_becomes_an_execution_once) {
  EXPECT_EQ(make_hook(R"("action":"create","kind":"build","lane":"ci","idempotency_at":"query:delivery")").status, 201);
  const Reply first = send_hook(R"({"ref":"main"})", senders_secret, "/v1/hooks/orders?delivery=1&else=2");
  EXPECT_EQ(outcome(first), "created");
  const Reply again = send_hook(R"({"ref":"main"})", senders_secret, "/v1/hooks/orders?delivery=1&else=2");
  EXPECT_EQ(outcome(again), "duplicate");
  EXPECT_EQ(first.json.at("execution_id"), again.json.at("execution_id"));
}

TEST_F(HooksApi, forged_request_and_unknown_hook_are_refused_alike) {
  make_hook(R"("execution_at":"/execution","waitpoint":"paid")");
  const std::string id = suspended_execution();
  const std::string body = R"({"execution":")" + id + R"("})";
  const Reply forged = send_hook(body, "not the secret, surely");
  const Reply unknown = send_hook(body, senders_secret, "/v1/hooks/other");
  const Reply bare = client.send("POST", "/v1/hooks/orders", body, {});
  EXPECT_EQ(forged.status, 401);
  EXPECT_EQ(forged.body, unknown.body);
  EXPECT_EQ(forged.body, bare.body);
  EXPECT_EQ(text(client.get("/v1/executions/" + id + "/state").json.at("public_state")), "suspended");
}

TEST_F(HooksApi, what_cannot_be_used_is_answered_so_that_it_is_not_repeated) {
  make_hook(R"("execution_at":"/execution","waitpoint":"paid")");
  const Reply nothing = send_hook("{}");
  EXPECT_EQ(outcome(nothing), "dropped");
  EXPECT_NE(text(nothing.json.at("reason")).find("/execution"), std::string::npos);
  const std::string id = suspended_execution();
  client.post("/v1/executions/" + id + "/cancel", "{}");
  EXPECT_EQ(outcome(send_hook(R"({"execution":")" + id + R"("})")), "dropped");
}

TEST_F(HooksApi, hook_reaches_its_own_namespace_only) {
  make_hook(R"("namespace":"shop","execution_at":"/execution","waitpoint":"paid")");
  const std::string id = suspended_execution();
  EXPECT_EQ(outcome(send_hook(R"({"execution":")" + id + R"("})")), "dropped");
  EXPECT_EQ(text(client.get("/v1/executions/" + id + "/state").json.at("public_state")), "suspended");
}

TEST_F(HooksApi, secret_is_shown_once_and_can_be_rotated) {
  const Reply made = client.post("/v1/hooks", R"({"name":"orders","action":"create","kind":"k"})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string first = text(made.json.at("secret"));
  EXPECT_EQ(outcome(send_hook("1", first)), "created");
  EXPECT_EQ(client.get("/v1/hooks").body.find(first), std::string::npos);
  const Reply rotated = client.post("/v1/hooks/orders/rotate", R"({"grace_ms":1000})");
  const std::string second = text(rotated.json.at("secret"));
  EXPECT_EQ(outcome(send_hook("2", first)), "created");
  EXPECT_EQ(outcome(send_hook("3", second)), "created");
  clock.advance_ms(1000);
  EXPECT_EQ(send_hook("4", first).status, 401);
  EXPECT_EQ(client.send("DELETE", "/v1/hooks/orders", {}, {}).status, 200);
  EXPECT_EQ(send_hook("5", second).status, 401);
}

TEST_F(HooksApi, bad_settings_are_refused_by_name) {
  const Reply place = make_hook(R"("execution_at":"here","waitpoint":"paid")");
  EXPECT_EQ(place.status, 400);
  EXPECT_EQ(place.field(), "execution_at");
  EXPECT_EQ(make_hook(R"("scheme":"gitlab")").field(), "scheme");
  EXPECT_EQ(client.get("/v1/hooks").json.at("hooks").as_array().size(), 0u);
}

}  // namespace
}  // namespace flowfabric::e2e
