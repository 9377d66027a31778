// Dead letters and redrives through HTTP: every route with a good and with a bad request, and for keys of one namespace.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "e2e/support/test_client.hpp"

namespace flowfabric::e2e {
namespace {

class DeadLettersApi : public testing::Test {
 protected:
  static api::ApiOptions with_api_keys() {
    api::ApiOptions options;
    options.api_keys = true;
    return options;
  }
  DeadLettersApi() : admin_(key("admin", ApiRole::admin)) {}

  std::string key(const std::string& name, ApiRole role, std::optional<std::string> name_space = {}) {
    return server_.engine().create_api_key({name, role, std::move(name_space), 0}, {"test", ""}).value().secret;
  }
  Reply call(const std::string& secret, const std::string& method, const std::string& target,
             const std::string& body = {}) {
    return client_.send(method, target, body, {{"Authorization", "Bearer " + secret}});
  }
  Reply get(const std::string& target) { return call(admin_, "GET", target); }
  Reply post(const std::string& target, const std::string& body = {}) { return call(admin_, "POST", target, body); }

  void fail_some(int count, const std::string& name_space = "default") {
    for (int i = 0; i < count; ++i) {
      CreateRequest request;
      request.kind = "mail";
      request.name_space = name_space;
      must(server_.engine().create(request));
      ClaimRequest claim;
      claim.worker_id = claim.worker_instance_id = "w";
      claim.lanes = {"default"};
      const auto claimed = must(server_.engine().claim(claim));
      must(server_.engine().fail(claimed.at(0).handle, {"timeout", "after " + std::to_string(i) + " ms", {}}));
    }
  }
  std::string fingerprint() {
    return text(get("/v1/dead-letters?namespace=default").json.at("groups").as_array().at(0).at("fingerprint"));
  }
  std::string state_of(const std::string& redrive) { return text(get("/v1/redrives/" + redrive).json.at("state")); }

  TestServer server_{with_api_keys()};
  TestClient client_{server_.url()};
  const std::string admin_;
};

TEST_F(DeadLettersApi, groups_are_listed_shown_and_redriven) {
  fail_some(3);
  const Reply all = get("/v1/dead-letters");
  ASSERT_EQ(all.status, 200) << all.body;
  EXPECT_EQ(all.json.at("executions").to_number<int>(), 3);
  const auto& group = all.json.at("groups").as_array().at(0);
  EXPECT_EQ(text(group.at("message")), "after <n> ms");
  EXPECT_EQ(group.at("count").to_number<int>(), 3);
  const Reply one = get("/v1/dead-letters/" + fingerprint() + "?limit=2");
  EXPECT_EQ(one.json.at("executions").as_array().size(), 2u) << one.body;
  EXPECT_FALSE(text(one.json.at("next_cursor")).empty());

  const std::string body = R"({"fingerprints":[")" + fingerprint() + R"("],"reason":"fixed","idempotency_key":"k"})";
  const Reply made = post("/v1/redrives", body);
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string id = text(made.json.at("redrive_id"));
  EXPECT_EQ(text(post("/v1/redrives", body).json.at("redrive_id")), id);
  while (state_of(id) != "completed") std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const Reply done = get("/v1/redrives/" + id);
  EXPECT_EQ(done.json.at("replayed").to_number<int>(), 3) << done.body;
  EXPECT_EQ(text(done.json.at("created_by")), "admin");
  EXPECT_EQ(get("/v1/dead-letters").json.at("groups").as_array().size(), 0u);
  EXPECT_EQ(get("/v1/redrives?state=completed").json.at("redrives").as_array().size(), 1u);
  EXPECT_EQ(post("/v1/redrives/" + id + "/pause").code(), "conflict");
}

TEST_F(DeadLettersApi, a_redrive_is_paused_resumed_and_cancelled) {
  fail_some(3);
  const Reply made = post("/v1/redrives", R"({"all":true,"rate":"1/1h"})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string one = "/v1/redrives/" + text(made.json.at("redrive_id"));
  EXPECT_EQ(text(post(one + "/pause", R"({"reason":"wait"})").json.at("state")), "paused");
  EXPECT_EQ(text(post(one + "/resume").json.at("state")), "running");
  EXPECT_EQ(text(post(one + "/cancel").json.at("state")), "cancelled");
}

TEST_F(DeadLettersApi, bad_requests_name_the_field) {
  const auto refuses = [](const Reply& reply, int status, const std::string& field) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(reply.field(), field) << reply.body;
  };
  refuses(get("/v1/dead-letters/xyz"), 400, "fingerprint");
  refuses(get("/v1/dead-letters/0123456789abcdef"), 404, "fingerprint");
  refuses(get("/v1/redrives/xyz"), 400, "redrive_id");
  refuses(get("/v1/redrives/01929b1c-7a52-8000-8000-0123456789ab"), 404, "redrive_id");
  refuses(post("/v1/redrives"), 400, "all");
  refuses(post("/v1/redrives", R"({"all":true,"rate":"fast"})"), 400, "rate");
  refuses(post("/v1/redrives", R"({"all":true,"speed":1})"), 400, "speed");
  refuses(post("/v1/redrives", R"({"fingerprints":["0123456789abcdef"]})"), 404, "fingerprints");
}

TEST_F(DeadLettersApi, a_key_of_one_namespace_sees_its_own_only) {
  fail_some(1);
  fail_some(2, "team");
  const std::string team = key("team", ApiRole::operating, "team");
  EXPECT_EQ(call(team, "GET", "/v1/dead-letters").json.at("executions").to_number<int>(), 2);
  EXPECT_EQ(call(team, "GET", "/v1/dead-letters?namespace=default").status, 403);
  EXPECT_EQ(call(team, "POST", "/v1/redrives", R"({"namespace":"default","all":true})").status, 403);
  const Reply foreign = post("/v1/redrives", R"({"all":true,"paused":true})");
  const std::string one = "/v1/redrives/" + text(foreign.json.at("redrive_id"));
  EXPECT_EQ(call(team, "GET", one).status, 404);
  EXPECT_EQ(call(team, "POST", one + "/cancel").status, 404);
  const Reply own = call(team, "POST", "/v1/redrives", R"({"all":true})");
  EXPECT_EQ(own.json.at("found").to_number<int>(), 2) << own.body;
  EXPECT_EQ(call(team, "GET", "/v1/redrives").json.at("redrives").as_array().size(), 1u);
  const std::string viewer = key("viewer", ApiRole::viewer);
  EXPECT_EQ(call(viewer, "POST", "/v1/redrives", R"({"all":true})").status, 403);
}

}  // namespace
}  // namespace flowfabric::e2e
