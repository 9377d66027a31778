// Executions and workers, through HTTP only.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "e2e/support/test_client.hpp"
#include "net/target.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;

class Api : public testing::Test {
 protected:
  std::string create(const std::string& body = R"({"kind":"k"})") {
    const Reply reply = client.post("/v1/executions", body);
    EXPECT_EQ(reply.status, 201) << reply.body;
    return text(reply.json.at("execution_id"));
  }
  json::value claim(int count = 1, const std::string& lane = "default") {
    const Reply reply = client.post("/v1/claims", R"({"worker_id":"w","worker_instance_id":"w-1","lanes":[")" + lane +
                                                      R"("],"max_executions":)" + std::to_string(count) + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json.at("executions");
  }
  std::string claim_handle() { return text(claim().at(0).at("handle")); }
  std::string state(const std::string& id) { return text(client.get(path_of(id) + "/state").json.at("public_state")); }
  void refuses(const Reply& reply, int status, const std::string& code, const std::string& field) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(reply.code(), code) << reply.body;
    EXPECT_EQ(reply.field(), field) << reply.body;
  }

  TestServer server;
  TestClient client{server.url()};
};

TEST_F(Api, AnExecutionFromItsCreationToItsResult) {
  const std::string id =
      create(R"({"kind":"mail","lane":"default","payload":{"to": "ada"},"tags":{"app.team":"x"},"priority":3})");
  EXPECT_EQ(state(id), "waiting");
  EXPECT_EQ(client.get(path_of(id) + "/explain").json.at("reasons").as_array().size(), 1u);
  EXPECT_EQ(text(client.get(path_of(id) + "/tags").json.at("tags").at("app.team")), "x");
  const auto claimed = claim();
  EXPECT_EQ(text(claimed.at(0).at("execution_id")), id);
  EXPECT_EQ(json::serialize(claimed.at(0).at("payload")), R"({"to":"ada"})");
  const std::string handle = text(claimed.at(0).at("handle"));
  const Reply progress = client.post("/v1/leases/progress", R"({"handle":")" + handle + R"(","percent":50})");
  EXPECT_EQ(progress.body, "{}");
  EXPECT_EQ(client.get(path_of(id)).json.at("progress").at("percent").as_int64(), 50);
  const auto renewed = client.post("/v1/leases/renew", R"({"handles":[")" + handle + R"(","nonsense"]})").json;
  EXPECT_TRUE(renewed.at("results").at(0).as_object().contains("value"));
  EXPECT_EQ(text(renewed.at("results").at(1).at("error").at("code")), "invalid_handle");
  EXPECT_EQ(client.post("/v1/leases/complete", R"({"handle":")" + handle + R"(","result":[1, 2]})").status, 200);
  const Reply result = client.get(path_of(id) + "/result?wait_ms=5000");
  EXPECT_EQ(text(result.json.at("outcome")), "success");
  EXPECT_NE(result.body.find(R"("result":[1, 2])"), std::string::npos) << "byte for byte: " << result.body;
  EXPECT_EQ(client.get(path_of(id) + "/attempts").json.at("attempts").as_array().size(), 1u);
  EXPECT_TRUE(client.get(path_of(id) + "/attempts?cursor=1").json.at("attempts").as_array().empty());
  EXPECT_EQ(text(client.get(path_of(id) + "/attempts/0/result").json.at("outcome")), "success");
  EXPECT_EQ(client.get(path_of(id) + "/attempts/7/result").status, 404);
  EXPECT_EQ(client.get(path_of(id) + "/history").json.at("events").as_array().size(), 3u);
}

TEST_F(Api, IdsAreWrittenInOneFormAndReadInTheEarlierOneToo) {
  const std::string id = create();
  const std::size_t hyphen = id.find('-');
  ASSERT_TRUE(id.starts_with("fp") && hyphen != id.npos) << id;
  const std::string earlier = "{fp:" + id.substr(2, hyphen - 2) + "}:" + id.substr(hyphen + 1);
  EXPECT_EQ(text(client.get("/v1/executions/" + id).json.at("summary").at("execution_id")), id);
  EXPECT_EQ(text(client.get(path_of(earlier)).json.at("summary").at("execution_id")), id);
  EXPECT_EQ(client.get("/v1/events?cursor=earliest&execution_id=" + net::percent_encode(earlier)).status, 200);
  const auto cancelled = client.post("/v1/executions/bulk", R"({"action":"cancel","ids":[")" + earlier + R"("]})").json;
  EXPECT_EQ(text(cancelled.at("results").at(0).at("execution_id")), id);
}

TEST_F(Api, BytesTravelUntouched) {
  const std::string bytes("\x00\xff{\n", 4);
  const Reply created = client.send("POST", "/v1/executions?kind=k&payload_encoding=x-raw&priority=7&idempotency_key=i",
                                    bytes, {{"Content-Type", "application/octet-stream"}});
  ASSERT_EQ(created.status, 201) << created.body;
  const std::string id = text(created.json.at("execution_id"));
  const net::Headers as_bytes = {{"Accept", "application/octet-stream"}};
  const Reply payload = client.send("GET", path_of(id) + "/payload", {}, as_bytes);
  EXPECT_EQ(payload.body, bytes);
  EXPECT_EQ(payload.headers.find("FlowFabric-Encoding"), "x-raw");
  EXPECT_EQ(text(client.get(path_of(id) + "/payload").json.at("payload_base64")), "AP97Cg==");
  const auto claimed = claim().at(0);
  EXPECT_EQ(claimed.at("priority").as_int64(), 7);
  EXPECT_EQ(text(claimed.at("payload_base64")), "AP97Cg==");
  EXPECT_EQ(client.send("GET", path_of(id) + "/result", {}, as_bytes).status, 202) << "not yet";
  client.post("/v1/leases/complete", R"({"handle":")" + text(claimed.at("handle")) + R"(","result_base64":"//4="})");
  EXPECT_EQ(client.send("GET", path_of(id) + "/result", {}, as_bytes).body, "\xff\xfe");
  EXPECT_EQ(client.send("GET", path_of(id) + "/attempts/0/result", {}, as_bytes).body, "\xff\xfe");

  const net::Headers octets = {{"Content-Type", "application/octet-stream"}};
  refuses(client.send("POST", "/v1/executions", bytes, octets), 400, "invalid_argument", "kind");
  refuses(client.send("POST", "/v1/executions?kind=k&priority=99999", bytes, octets), 400, "invalid_argument",
          "priority");
  refuses(client.post("/v1/executions?lane=l", R"({"kind":"k"})"), 400, "invalid_argument", "lane");
}

TEST_F(Api, CreatingSaysWhereItIsAndWhetherItWasThere) {
  const std::string body = R"({"kind":"k","idempotency_key":"once"})";
  const Reply first = client.post("/v1/executions", body);
  EXPECT_EQ(first.status, 201) << first.body;
  const std::string id = text(first.json.at("execution_id"));
  ASSERT_EQ(first.headers.find("Location"), "/v1/executions/" + id);
  EXPECT_EQ(client.get(std::string(*first.headers.find("Location"))).status, 200);
  const Reply second = client.post("/v1/executions", body);
  EXPECT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(text(second.json.at("execution_id")), id);
  EXPECT_TRUE(second.json.at("duplicate").as_bool());
}

TEST_F(Api, KeysAtSubmissionSayWhatTheyHaveLedTo) {
  const auto create_with = [&](const std::string& key) {
    return client.post("/v1/executions", R"({"kind":"k","payload":{"n":1},)" + key + "}");
  };
  const Reply first = create_with(R"("unique":{"key":"u"})");
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(text(first.json.at("outcome")), "created");
  const std::string id = text(first.json.at("execution_id"));
  const Reply refused = create_with(R"("unique":{"key":"u"})");
  refuses(refused, 409, "conflict", "unique.key");
  EXPECT_EQ(text(refused.json.at("error").at("details").at("execution_id")), id);
  const Reply returned = create_with(R"("unique":{"key":"u","on_conflict":"return"})");
  EXPECT_EQ(returned.status, 200) << returned.body;
  EXPECT_EQ(text(returned.json.at("outcome")), "returned");
  const Reply replaced = create_with(R"("unique":{"key":"u","on_conflict":"replace"})");
  EXPECT_EQ(replaced.status, 201) << replaced.body;
  EXPECT_EQ(text(replaced.json.at("replaced")), id);
  const Reply shown = client.get(path_of(text(replaced.json.at("execution_id"))));
  EXPECT_EQ(text(shown.json.at("submit_key").at("kind")), "unique");
  EXPECT_EQ(text(shown.json.at("submit_key").at("key")), "u");
  EXPECT_TRUE(shown.json.at("submit_key").at("held").as_bool());

  EXPECT_EQ(create_with(R"("debounce":{"key":"d","delay_ms":600000})").status, 201);
  const Reply debounced = create_with(R"("debounce":{"key":"d","delay_ms":600000})");
  EXPECT_EQ(debounced.status, 200) << debounced.body;
  EXPECT_EQ(text(debounced.json.at("outcome")), "debounced");

  EXPECT_EQ(create_with(R"("throttle":{"key":"t","period_ms":600000})").status, 201);
  const Reply throttled = create_with(R"("throttle":{"key":"t","period_ms":600000})");
  refuses(throttled, 429, "throttled", "throttle.key");
  const auto pause = throttled.headers.find("Retry-After");
  ASSERT_TRUE(pause);
  EXPECT_GT(std::stoi(std::string(*pause)), 1) << "it is known when the next one is let in";
  EXPECT_EQ(text(create_with(R"("throttle":{"key":"t","period_ms":600000,"on_limit":"return"})").json.at("outcome")),
            "throttled");

  refuses(create_with(R"("unique":{})"), 400, "invalid_argument", "unique.key");
  refuses(create_with(R"("unique":{"key":"u","on_conflict":"wait"})"), 400, "invalid_argument", "unique.on_conflict");
  refuses(create_with(R"("unique":{"key":"u"},"debounce":{"key":"d","delay_ms":1})"), 400, "invalid_argument",
          "debounce");
}

TEST_F(Api, TheIdempotencyKeyMayBeAHeader) {
  const net::Headers key = {{"Idempotency-Key", "by header"}};
  const Reply first = client.send("POST", "/v1/executions", R"({"kind":"k"})", key);
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(client.send("POST", "/v1/executions", R"({"kind":"k"})", key).status, 200);
  EXPECT_EQ(client.post("/v1/executions", R"({"kind":"k","idempotency_key":"by header"})").status, 200);
  EXPECT_EQ(client.send("POST", "/v1/executions", R"({"kind":"k","idempotency_key":"by header"})", key).status, 200);
  refuses(client.send("POST", "/v1/executions", R"({"kind":"k","idempotency_key":"other"})", key), 400,
          "invalid_argument", "idempotency_key");
  refuses(client.send("POST", "/v1/executions/batch", R"({"executions":[{"kind":"k"}]})", key), 400, "invalid_argument",
          "idempotency-key");
  const net::Headers bytes = {{"Idempotency-Key", "of bytes"}, {"Content-Type", "application/octet-stream"}};
  EXPECT_EQ(client.send("POST", "/v1/executions?kind=k", "x", bytes).status, 201);
  EXPECT_EQ(client.send("POST", "/v1/executions?kind=k", "x", bytes).status, 200);
}

TEST_F(Api, AReleasedLeaseGoesToTheNextClaim) {
  const std::string id = create();
  const std::string handle = claim_handle();
  EXPECT_EQ(client.post("/v1/leases/release", R"({"handle":")" + handle + R"("})").body, "{}");
  EXPECT_EQ(client.post("/v1/leases/release", R"({"handle":")" + handle + R"("})").body, "{}") << "a repeat";
  EXPECT_EQ(state(id), "resumable");
  refuses(client.post("/v1/leases/complete", R"({"handle":")" + handle + R"("})"), 409, "stale_lease", "");
  const auto again = claim();
  EXPECT_EQ(text(again.at(0).at("execution_id")), id);
  EXPECT_EQ(again.at(0).at("attempt").at("attempt_index").as_int64(), 0);
  EXPECT_EQ(text(again.at(0).at("handle_kind")), "resumed");
  EXPECT_EQ(client.get(path_of(id)).json.at("reclaim_count").as_int64(), 0);
}

TEST_F(Api, TimesMayBeRelative) {
  const std::string id = create(R"({"kind":"k","delay_ms":3600000,"deadline_ms":7200000})");
  const auto described = client.get(path_of(id)).json;
  const std::int64_t created = described.at("summary").at("created_at").as_int64();
  EXPECT_EQ(described.at("delay_until").as_int64(), created + 3600000);
  EXPECT_EQ(described.at("deadline_at").as_int64(), created + 7200000);
  create();
  const Reply delayed = client.post("/v1/leases/delay", R"({"handle":")" + claim_handle() + R"(","delay_ms":3600000})");
  EXPECT_EQ(delayed.status, 200) << delayed.body;
  EXPECT_GT(delayed.json.at("delay_until").as_int64(), created + 3600000 - 1);
  create();
  const std::string handle = claim_handle();
  refuses(client.post("/v1/leases/delay", R"({"handle":")" + handle + R"("})"), 400, "invalid_argument", "delay_ms");
  refuses(client.post("/v1/leases/delay", R"({"handle":")" + handle + R"(","delay_ms":1,"delay_until":1794792917000})"),
          400, "invalid_argument", "delay_ms");
}

TEST_F(Api, TimesInSecondsAreRefused) {
  for (const std::string field : {"delay_until", "deadline_at"}) {
    refuses(client.post("/v1/executions", R"({"kind":"k",")" + field + R"(":1794792917})"), 400, "invalid_argument",
            field);
  }
  create();
  refuses(client.post("/v1/leases/delay", R"({"handle":")" + claim_handle() + R"(","delay_until":1794792917})"), 400,
          "invalid_argument", "delay_until");
  refuses(client.get("/v1/executions?created_before=1794792917"), 400, "invalid_argument", "created_before");
  EXPECT_EQ(client.get("/v1/executions?created_from=0").status, 200);
}

TEST_F(Api, ListsInQueriesAreSeparatedByCommas) {
  create();
  client.post(path_of(create()) + "/cancel");
  const auto count = [&](const std::string& query) {
    return client.get("/v1/executions?" + query).json.at("executions").as_array().size();
  };
  EXPECT_EQ(count("state=waiting,cancelled"), 2u);
  EXPECT_EQ(count("state=waiting&state=cancelled"), 2u);
  EXPECT_EQ(count("state=cancelled,failed"), 1u);
  refuses(client.get("/v1/executions?state=waiting,,failed"), 400, "invalid_argument", "state");
  refuses(client.get("/v1/executions?state="), 400, "invalid_argument", "state");
  refuses(client.get("/v1/events?type=,created"), 400, "invalid_argument", "type");
}

TEST_F(Api, AttemptsComeInPages) {
  const std::string id = create(R"({"kind":"k","policy":{"retry":{"max_retries":9,"initial_delay_ms":0}}})");
  for (int i = 0; i < 4; ++i) {
    const Reply claimed = client.post(
        "/v1/claims", R"({"worker_id":"w","worker_instance_id":"w-1","lanes":["default"],"wait_ms":30000})");
    client.post("/v1/leases/fail", R"({"handle":")" + text(claimed.json.at("executions").at(0).at("handle")) + R"("})");
  }
  const auto first = client.get(path_of(id) + "/attempts?limit=2").json;
  EXPECT_EQ(first.at("attempts").as_array().size(), 2u);
  const std::string cursor = text(first.at("next_cursor"));
  ASSERT_FALSE(cursor.empty());
  const auto second = client.get(path_of(id) + "/attempts?limit=2&cursor=" + cursor).json;
  EXPECT_EQ(second.at("attempts").at(0).at("attempt_index").as_int64(), 2);
  EXPECT_EQ(text(second.at("next_cursor")), "") << "an exactly full last page has no cursor";
  refuses(client.get(path_of(id) + "/attempts?cursor=AQAAAAAAAAAC"), 400, "invalid_argument", "cursor");
}

TEST_F(Api, UnsetFieldsAreLeftOut) {
  const std::string id = create();
  const auto waiting = client.get(path_of(id) + "/result").json.as_object();
  EXPECT_EQ(json::serialize(waiting), R"({"outcome":"none"})");
  const auto described = client.get(path_of(id)).json.as_object();
  for (const char* field : {"creator", "payload_encoding", "cancelled_by", "cancellation_reason", "lease", "failure"}) {
    EXPECT_FALSE(described.contains(field)) << field;
  }
  const auto events = client.get("/v1/events?cursor=earliest").json.at("events").as_array();
  EXPECT_FALSE(events.empty());
  for (const auto& event : events) {
    for (const auto& [name, value] : event.as_object()) EXPECT_NE(value, "") << name;
  }
}

TEST_F(Api, ClaimedEventsNameTheWorker) {
  const std::string id = create();
  claim();
  const auto history = client.get(path_of(id) + "/history").json.at("events").as_array();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_FALSE(history[0].as_object().contains("worker_instance_id"));
  EXPECT_EQ(text(history[1].at("type")), "claimed");
  EXPECT_EQ(text(history[1].at("worker_instance_id")), "w-1");
}

TEST_F(Api, PayloadsMayBeDeepUpToALimit) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const Reply created =
      client.send("POST", "/v1/executions/batch", R"({"executions":[{"kind":"k","payload":)" + nested(500) + "}]}");
  ASSERT_EQ(created.status, 200) << created.body;
  const auto id = text(created.json.at("results").at(0).at("value").at("execution_id"));
  const net::Headers as_bytes = {{"Accept", "application/octet-stream"}};
  EXPECT_EQ(client.send("GET", path_of(id) + "/payload", {}, as_bytes).body, nested(500));
  refuses(client.post("/v1/executions", R"({"kind":"k","payload":)" + nested(501) + "}"), 400, "invalid_argument",
          "payload");
  refuses(client.post("/v1/executions", R"({"kind":"k","payload":)" + nested(5000) + "}"), 400, "invalid_argument",
          "body");
}

TEST_F(Api, AFailureHasNoResultBytes) {
  const std::string id = create();
  client.post("/v1/leases/fail", R"({"handle":")" + claim_handle() + R"(","category":"c","detail_base64":"//4="})");
  EXPECT_EQ(client.send("GET", path_of(id) + "/result", {}, {{"Accept", "application/octet-stream"}}).status, 404);
  EXPECT_EQ(text(client.get(path_of(id) + "/result").json.at("failure").at("detail_base64")), "//4=");
}

TEST_F(Api, ListsByEveryFilter) {
  const std::string a = create(R"({"kind":"a","lane":"x","namespace":"n","tags":{"app.k":"v"}})");
  const std::string b = create(R"({"kind":"b","lane":"y"})");
  client.post(path_of(b) + "/cancel", R"({"reason":"no"})");
  const auto described = client.get(path_of(b)).json.at("summary");
  const std::int64_t created = described.at("created_at").as_int64();
  const std::int64_t finished = described.at("finished_at").as_int64();
  const auto ids = [&](const std::string& query) {
    std::set<std::string> all;
    const Reply reply = client.get("/v1/executions?" + query);
    EXPECT_EQ(reply.status, 200) << reply.body;
    for (const auto& execution : reply.json.at("executions").as_array()) all.insert(text(execution.at("execution_id")));
    return all;
  };
  using Ids = std::set<std::string>;
  for (const char* only_a : {"namespace=n", "lane=x", "kind=a", "state=waiting", "tag=app.k%3Dv"}) {
    EXPECT_EQ(ids(only_a), Ids{a}) << only_a;
  }
  EXPECT_EQ(ids("state=waiting&state=cancelled"), (Ids{a, b}));
  EXPECT_EQ(ids("created_from=" + std::to_string(created) + "&kind=b"), Ids{b});
  EXPECT_EQ(ids("created_before=" + std::to_string(created) + "&kind=b"), Ids{});
  EXPECT_EQ(ids("finished_from=" + std::to_string(finished)), Ids{b});
  EXPECT_EQ(ids("finished_before=" + std::to_string(finished)), Ids{});
  EXPECT_EQ(ids("flow=01890000-0000-7000-8000-000000000001"), Ids{});
  const Reply first = client.get("/v1/executions?limit=1");
  const std::string cursor = text(first.json.at("next_cursor"));
  Ids both = ids("limit=1&cursor=" + cursor);
  both.insert(text(first.json.at("executions").at(0).at("execution_id")));
  EXPECT_EQ(both, (Ids{a, b}));
  for (const auto& [query, field] :
       std::vector<std::pair<std::string, std::string>>{{"state=lost", "state"},
                                                        {"tag=x", "tag"},
                                                        {"flow=x", "uuid"},
                                                        {"created_from=x", "created_from"},
                                                        {"finished_before=-1", "finished_before"},
                                                        {"limit=0", "limit"},
                                                        {"limit=1001", "limit"},
                                                        {"lane=a&lane=b", "lane"},
                                                        {"colour=red", "colour"}}) {
    const Reply reply = client.get("/v1/executions?" + query);
    EXPECT_EQ(reply.status, 400) << query;
    if (field != "uuid") {
      EXPECT_EQ(reply.field(), field) << reply.body;
    }
  }
}

TEST_F(Api, ManyAreCreatedAndEachHasItsAnswer) {
  const Reply reply = client.post("/v1/executions/batch", R"({"executions":[{"kind":"a"},{"kind":"","lane":"x"}]})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_TRUE(reply.json.at("results").at(0).as_object().contains("value"));
  EXPECT_EQ(text(reply.json.at("results").at(1).at("error").at("field")), "kind");
  std::string too_many = R"({"executions":[)";
  for (int i = 0; i < 1001; ++i) too_many += std::string(i == 0 ? "" : ",") + R"({"kind":"k"})";
  const Reply refused = client.post("/v1/executions/batch", too_many + "]}");
  refuses(refused, 400, "invalid_argument", "executions");
  EXPECT_NE(refused.message().find("at most 1000"), std::string::npos);
  refuses(client.post("/v1/executions/batch", R"({"executions":[{"kind":"a"},{"kind":1}]})"), 400, "invalid_argument",
          "executions[1].kind");
}

TEST_F(Api, ManyEndInOneCall) {
  for (int i = 0; i < 3; ++i) create(R"({"kind":"k","policy":{"retry":{"max_retries":1,"initial_delay_ms":60000}}})");
  const auto claimed = claim(3);
  ASSERT_EQ(claimed.as_array().size(), 3u);
  const auto handle = [&](std::size_t i) { return text(claimed.at(i).at("handle")); };
  const Reply reply =
      client.post("/v1/completions",
                  R"({"completions":[{"handle":")" + handle(0) + R"(","complete":{"result":true}},{"handle":")" +
                      handle(1) + R"(","fail":{"category":"c","detail":{"why": 1}}},{"handle":"x","complete":{}},)" +
                      R"({"handle":")" + handle(2) + R"(","fail":{"retryable":"never"}}]})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto results = reply.json.at("results").as_array();
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(json::serialize(results[0].at("value")), "{}");
  EXPECT_EQ(text(results[1].at("value").at("fail").at("decision")), "retry_scheduled");
  EXPECT_EQ(text(results[2].at("error").at("code")), "invalid_handle");
  EXPECT_EQ(text(results[3].at("value").at("fail").at("reason")), "never");
  EXPECT_EQ(state(text(claimed.at(0).at("execution_id"))), "completed");
  EXPECT_EQ(state(text(claimed.at(1).at("execution_id"))), "delayed");
  EXPECT_EQ(state(text(claimed.at(2).at("execution_id"))), "failed");
  const auto attempts = client.get(path_of(text(claimed.at(1).at("execution_id"))) + "/attempts").json.at("attempts");
  EXPECT_EQ(json::serialize(attempts.at(0).at("failure").at("detail")), R"({"why":1})");
  EXPECT_EQ(client.post("/v1/completions", R"({"completions":[]})").body, R"({"results":[]})");
  refuses(client.post("/v1/completions", R"({"completions":[{"handle":"x"}]})"), 400, "invalid_argument",
          "completions[0]");
  refuses(client.post("/v1/completions", R"({"completions":[{"handle":"x","complete":{},"fail":{}}]})"), 400,
          "invalid_argument", "completions[0]");
}

TEST_F(Api, AHolderPutsOffAndGivesUp) {
  const std::string id = create();
  const std::int64_t later = client.get(path_of(id)).json.at("summary").at("created_at").as_int64() + 3600 * 1000;
  const Reply delayed = client.post(
      "/v1/leases/delay", R"({"handle":")" + claim_handle() + R"(","delay_until":)" + std::to_string(later) + "}");
  EXPECT_EQ(delayed.json.at("delay_until").as_int64(), later);
  EXPECT_EQ(state(id), "delayed");
  const std::string other = create();
  const Reply cancelled =
      client.post("/v1/leases/cancel", R"({"handle":")" + claim_handle() + R"(","reason":"pointless"})");
  EXPECT_FALSE(cancelled.json.at("already_cancelled").as_bool());
  EXPECT_EQ(text(client.get(path_of(other)).json.at("cancellation_reason")), "pointless");
}

TEST_F(Api, OperatorsActOnOne) {
  const std::string id = create();
  EXPECT_EQ(client.put(path_of(id) + "/priority", R"({"priority":9})").status, 200);
  EXPECT_EQ(client.get(path_of(id)).json.at("summary").at("priority").as_int64(), 9);
  EXPECT_EQ(
      text(client.patch(path_of(id) + "/tags", R"({"set":{"a.b":"c"},"remove":["a.x"]})").json.at("tags").at("a.b")),
      "c");
  claim();
  EXPECT_EQ(text(client.post(path_of(id) + "/revoke-lease").json.at("public_state")), "waiting");
  EXPECT_FALSE(client.post(path_of(id) + "/cancel").json.at("already_cancelled").as_bool()) << "no body is needed";
  EXPECT_TRUE(client.post(path_of(id) + "/cancel", "{}").json.at("already_cancelled").as_bool());
  EXPECT_EQ(client.post(path_of(id) + "/replay", R"({"reason":"again"})").json.at("replay_count").as_int64(), 1);
  const auto events = client.get(path_of(id) + "/history").json.at("events").as_array();
  EXPECT_EQ(text(events.back().at("actor")), "local");
  EXPECT_EQ(text(events.back().at("reason")), "again");
}

// ---- Many at once

TEST_F(Api, BulkGoesPageByPage) {
  for (int i = 0; i < 5; ++i) create(R"({"kind":"k","lane":"bulk"})");
  create(R"({"kind":"k","lane":"other"})");
  const std::string filter = R"("filter":{"lane":"bulk"})";
  const Reply dry = client.post("/v1/executions/bulk", R"({"action":"cancel","dry_run":true,)" + filter + "}");
  EXPECT_EQ(dry.json.at("matched").as_int64(), 5);
  EXPECT_EQ(dry.json.at("changed").as_int64(), 0);
  EXPECT_TRUE(dry.json.at("done").as_bool());
  std::int64_t changed = 0;
  std::string cursor;
  int calls = 0;
  for (bool done = false; !done && calls < 10; ++calls) {
    const Reply page = client.post("/v1/executions/bulk", R"({"action":"cancel","limit":2,"reason":"storm",)" + filter +
                                                              R"(,"cursor":")" + cursor + "\"}");
    ASSERT_EQ(page.status, 200) << page.body;
    changed += page.json.at("changed").as_int64();
    cursor = text(page.json.at("next_cursor"));
    done = page.json.at("done").as_bool();
  }
  EXPECT_EQ(changed, 5);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(client.get("/v1/executions?state=cancelled").json.at("executions").as_array().size(), 5u);
  const Reply replayed =
      client.post("/v1/executions/bulk", R"({"action":"replay","filter":{"lane":"bulk","states":["cancelled"]}})");
  EXPECT_EQ(replayed.json.at("changed").as_int64(), 5);
  EXPECT_EQ(replayed.json.at("results").at(0).at("replay_count").as_int64(), 1);
  const Reply priority =
      client.post("/v1/executions/bulk", R"({"action":"priority","priority":4,"filter":{"lane":"bulk"}})");
  EXPECT_EQ(priority.json.at("changed").as_int64(), 5);
  EXPECT_EQ(client.get("/v1/executions?lane=bulk&limit=1").json.at("executions").at(0).at("priority").as_int64(), 4);
}

TEST_F(Api, BulkTakesIdsToo) {
  const std::string id = create();
  const std::string unknown = "fp7-01890000-0000-7000-8000-000000000001";
  const std::string body = R"({"action":"cancel","ids":[")" + id + R"(",")" + unknown + R"("]})";
  const auto first = client.post("/v1/executions/bulk", body).json;
  EXPECT_EQ(first.at("changed").as_int64(), 1);
  EXPECT_EQ(text(first.at("failures").at(0).at("error").at("code")), "not_found");
  const auto second = client.post("/v1/executions/bulk", body).json;
  EXPECT_EQ(second.at("unchanged").as_int64(), 1);
  EXPECT_TRUE(second.at("results").at(0).at("already_cancelled").as_bool());
}

TEST_F(Api, BulkRefusesWhatIsUnclear) {
  const std::pair<const char*, const char*> mistakes[] = {
      {R"({"filter":{"lane":"l"}})", "action"},
      {R"({"action":"cancel"})", "filter"},
      {R"({"action":"cancel","filter":{}})", "filter"},
      {R"({"action":"cancel","ids":[],"filter":{"lane":"l"}})", "filter"},
      {R"({"action":"cancel","ids":[],"dry_run":true})", "dry_run"},
      {R"({"action":"cancel","ids":[],"cursor":"x"})", "cursor"},
      {R"({"action":"cancel","filter":{"states":["failed"]}})", "filter.states"},
      {R"({"action":"replay","filter":{"states":["waiting"]}})", "filter.states"},
      {R"({"action":"cancel","filter":{"lane":"l"},"limit":1001})", "limit"},
      {R"({"action":"cancel","filter":{"lane":"l"},"limit":0})", "limit"},
      {R"({"action":"cancel","filter":{"lane":"l"},"priority":1})", "priority"},
      {R"({"action":"priority","filter":{"lane":"l"}})", "priority"},
      {R"({"action":"priority","priority":99999,"filter":{"lane":"l"}})", "priority"},
      {R"({"action":"cancel","filter":{"colour":"red"}})", "filter.colour"},
  };
  for (const auto& [body, field] : mistakes) {
    const Reply reply = client.post("/v1/executions/bulk", body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(reply.field(), field) << reply.body;
  }
}

// ---- Mistakes

TEST_F(Api, MistakesHaveOneShape) {
  refuses(client.get("/v1/nothing"), 404, "not_found", "");
  const Reply method = client.send("DELETE", "/v1/executions");
  refuses(method, 405, "method_not_allowed", "");
  EXPECT_TRUE(method.headers.find("Allow"));
  refuses(client.send("POST", "/v1/claims", "a=b", {{"Content-Type", "text/plain"}}), 415, "unsupported_media_type",
          "content-type");
  refuses(client.post("/v1/claims", "{"), 400, "invalid_argument", "body");
  refuses(client.post("/v1/claims", "\"\xff\""), 400, "invalid_argument", "body");
  refuses(client.post("/v1/claims"), 400, "invalid_argument", "worker_id");
  refuses(client.post("/v1/claims", R"({"worker_id":"w","worker_instance_id":"i","wait_ms":60001})"), 400,
          "invalid_argument", "wait_ms");
  refuses(client.send("GET", "/v1/lanes", "{}"), 400, "invalid_argument", "body");
  refuses(client.get("/v1/executions/nonsense"), 400, "invalid_argument", "execution_id");
  refuses(client.get(path_of("fp7-01890000-0000-7000-8000-000000000001")), 404, "not_found", "execution_id");
  const std::string id = create();
  refuses(client.get(path_of(id) + "/result?wait_ms=61000"), 400, "invalid_argument", "wait_ms");
  refuses(client.get(path_of(id) + "/result?wait_ms=soon"), 400, "invalid_argument", "wait_ms");
  refuses(client.get(path_of(id) + "/result?wait_ms=99999999999999999999"), 400, "invalid_argument", "wait_ms");
  EXPECT_EQ(client.get(path_of(id) + "/result?wait_ms=10").status, 202);
  refuses(client.get(path_of(id) + "/attempts/x/result"), 400, "invalid_argument", "attempt_index");
  refuses(client.get(path_of(id) + "/attempts?cursor=-1"), 400, "invalid_argument", "cursor");
}

TEST_F(Api, NullIsRefusedByName) {
  const std::string id = create();
  claim();
  const auto ended = create();
  client.post(path_of(ended) + "/cancel");
  refuses(client.post("/v1/retention/run", R"({"older_than_ms":0,"namespace":null})"), 400, "invalid_argument",
          "namespace");
  refuses(client.post("/v1/retention/run", R"({"older_than_ms":null})"), 400, "invalid_argument", "older_than_ms");
  refuses(client.post("/v1/retention/run", R"({"tag":null})"), 400, "invalid_argument", "tag");
  EXPECT_EQ(state(ended), "cancelled");
  refuses(client.post(path_of(id) + "/revoke-lease", R"({"expected_lease_id":null})"), 400, "invalid_argument",
          "expected_lease_id");
  EXPECT_EQ(state(id), "active");
  refuses(client.post("/v1/claims", R"({"worker_id":"w","worker_instance_id":"i","namespace":null})"), 400,
          "invalid_argument", "namespace");
  refuses(client.post("/v1/executions/bulk", R"({"action":"cancel","filter":{"lane":null}})"), 400, "invalid_argument",
          "filter.lane");
  refuses(client.post("/v1/executions", R"({"kind":"k","idempotency_key":null})"), 400, "invalid_argument",
          "idempotency_key");
  EXPECT_EQ(client.post("/v1/executions", R"({"kind":"k","payload":null})").status, 201) << "a payload may be any JSON";
}

TEST_F(Api, ErrorsNameTheFieldAndItsBounds) {
  const std::string worker = R"({"worker_id":"w","worker_instance_id":"i",)";
  const auto message = [](const Reply& reply) { return text(reply.json.at("error").at("message")); };
  const Reply ttl = client.post("/v1/claims", worker + R"("lease_ttl_ms":-1})");
  refuses(ttl, 400, "invalid_argument", "lease_ttl_ms");
  EXPECT_EQ(message(ttl), "lease_ttl_ms: is -1; allowed: 100 to 86400000");
  const Reply priority = client.post("/v1/executions", R"({"kind":"k","priority":99999999999})");
  EXPECT_EQ(message(priority), "priority: is 99999999999; allowed: -32768 to 32767");
  refuses(client.post("/v1/claims", worker + R"("lanes":["ok",""]})"), 400, "invalid_argument", "lanes[1]");
  const std::string id = create();
  refuses(client.send("PATCH", path_of(id) + "/tags", R"({"set":{"bad":""}})"), 400, "invalid_argument", "set");
  refuses(client.send("PATCH", path_of(id) + "/tags", R"({"remove":["bad"]})"), 400, "invalid_argument", "remove[0]");
  refuses(client.get("/v1/executions?flow=x"), 400, "invalid_argument", "flow");
  claim();
  refuses(client.post(path_of(id) + "/revoke-lease", R"({"expected_lease_id":"01890000-0000-7000-8000-000000000001"})"),
          409, "stale_lease", "expected_lease_id");
  const Reply reason = client.post(path_of(id) + "/cancel", R"({"reason":")" + std::string(5000, 'r') + "\"}");
  EXPECT_EQ(message(reason), "reason: has 5000 bytes; allowed: 0 to 1024");
}

TEST_F(Api, ACancelledExecutionIsCancelledWhoeverAsks) {
  const std::string id = create();
  const std::string handle = claim_handle();
  client.post(path_of(id) + "/cancel", R"({"reason":"by an operator"})");
  const Reply again = client.post("/v1/leases/cancel", R"({"handle":")" + handle + R"(","reason":"by the worker"})");
  EXPECT_EQ(again.body, R"({"already_cancelled":true})");
}

TEST_F(Api, RetentionByTag) {
  const std::string mine = create(R"({"kind":"k","tags":{"app.team":"a"}})");
  const std::string other = create(R"({"kind":"k","tags":{"app.team":"b"}})");
  client.post(path_of(mine) + "/cancel");
  client.post(path_of(other) + "/cancel");
  const Reply removed = client.post("/v1/retention/run", R"({"older_than_ms":0,"tag":{"app.team":"a"}})");
  EXPECT_EQ(removed.body, R"({"matched":1,"removed":1})");
  EXPECT_EQ(client.get(path_of(mine)).status, 404);
  EXPECT_EQ(client.get(path_of(other)).status, 200);
}

}  // namespace
}  // namespace flowfabric::e2e
