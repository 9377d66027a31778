// GET /v1/overview: what happens on the store, whichever server does it, and who may see it.
#include <gtest/gtest.h>

#include <chrono>

#include <boost/json/serialize.hpp>

#include "conformance/watched_store.hpp"
#include "e2e/support/test_client.hpp"
#include "engine/engine_impl.hpp"
#include "open/open.hpp"
#include "support/http_server.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;

api::ApiOptions requiring_keys() {
  api::ApiOptions options;
  options.api_keys = true;
  return options;
}

std::uint64_t sum(const json::value& overview, const char* figure) {
  std::uint64_t all = 0;
  for (const auto& sample : overview.at("samples").as_array()) all += sample.at(figure).to_number<std::uint64_t>();
  return all;
}

const json::value* lane_of(const json::value& overview, const std::string& name) {
  for (const auto& lane : overview.at("lanes").as_array()) {
    if (text(lane.at("lane")) == name) return &lane;
  }
  return nullptr;
}

std::set<std::string> attention_in(const json::value& overview) {
  std::set<std::string> codes;
  for (const auto& one : overview.at("needs_attention").as_array()) codes.insert(text(one.at("code")));
  return codes;
}

// Asks until the answer is as wanted: events are read about once a second.
template <class Good>
json::value overview_when(TestClient& client, const std::string& target, const net::Headers& headers,
                          const Good& good) {
  json::value seen;
  EXPECT_TRUE(test::eventually([&] {
    const Reply reply = client.send("GET", target, {}, headers);
    EXPECT_EQ(reply.status, 200) << reply.body;
    seen = reply.json;
    return reply.status != 200 || good(seen);
  })) << json::serialize(seen);
  return seen;
}

void run_one(Engine& engine, const std::string& lane, bool fails = false, const std::string& name_space = "default") {
  engine.create({.name_space = name_space, .lane = lane, .kind = "k-" + lane}).value();
  const auto claimed = engine.claim({.worker_id = "w", .worker_instance_id = "w-1", .lanes = {lane}}).value();
  if (fails) {
    ASSERT_TRUE(engine.fail(claimed.at(0).handle, {.category = "broken", .message = "no"}));
  } else {
    ASSERT_TRUE(engine.complete(claimed.at(0).handle));
  }
}

TEST(Overview, CountsWhatHappens) {
  api::ApiOptions options;
  options.dashboard.store_kind = "memory";
  TestServer server(options);
  TestClient client(server.url());
  const Reply empty = client.get("/v1/overview");
  // One sample, or two if an interval has ended since the start.
  EXPECT_FALSE(empty.json.at("samples").as_array().empty()) << empty.body;
  EXPECT_EQ(sum(empty.json, "created"), 0u) << empty.body;
  EXPECT_TRUE(empty.json.at("lanes").as_array().empty());
  EXPECT_TRUE(empty.json.at("store").at("ready").as_bool());
  EXPECT_EQ(text(empty.json.at("store").at("kind")), "memory");

  for (int i = 0; i < 5; ++i) run_one(server.engine(), "mail");
  run_one(server.engine(), "print", true);
  server.engine().create({.lane = "mail", .kind = "k"}).value();
  const auto cancelled = server.engine().create({.lane = "mail", .kind = "k"}).value();
  ASSERT_TRUE(server.engine().cancel(cancelled.execution_id));

  const json::value overview = overview_when(client, "/v1/overview", {}, [](const json::value& seen) {
    return sum(seen, "cancelled") == 1 && lane_of(seen, "print") != nullptr;
  });
  EXPECT_EQ(sum(overview, "created"), 8u);
  EXPECT_EQ(sum(overview, "claimed"), 6u);
  EXPECT_EQ(sum(overview, "completed"), 5u);
  EXPECT_EQ(sum(overview, "failed"), 1u);
  const auto& failure = overview.at("failures").at(0);
  EXPECT_EQ(text(failure.at("kind")), "k-print");
  EXPECT_EQ(text(failure.at("last_category")), "broken");
  const json::value* mail = lane_of(overview, "mail");
  ASSERT_NE(mail, nullptr);
  EXPECT_EQ(mail->at("counts").at("waiting").to_number<int>(), 1);
  EXPECT_GT(mail->at("oldest_waiting_at").to_number<std::int64_t>(), 0);
  EXPECT_EQ(mail->at("samples").as_array().size(), overview.at("samples").as_array().size());
  EXPECT_GT(overview.at("batches").at("commits_per_s").to_number<double>(), 0);
}

TEST(Overview, GivesOnlyNewSamplesToThoseWhoHaveTheOthers) {
  TestServer server;
  TestClient client(server.url());
  const json::value all = client.get("/v1/overview").json;
  const std::int64_t last = all.at("samples").as_array().back().at("at").to_number<std::int64_t>();
  const Reply next = client.get("/v1/overview?since=" + std::to_string(last + 1));
  EXPECT_EQ(next.json.at("samples").at(0).at("at").to_number<std::int64_t>(), last) << "it was still open";
  const Reply later = client.get("/v1/overview?since=" + std::to_string(last + 3'600'000));
  EXPECT_TRUE(later.json.at("samples").as_array().empty());
  EXPECT_EQ(client.get("/v1/overview?since=x").field(), "since");
}

TEST(Overview, SaysWhatNeedsAttention) {
  TestServer server;
  TestClient client(server.url());
  server.engine().create({.lane = "mail", .kind = "k"}).value();
  ASSERT_TRUE(server.engine().set_lane_state("mail", LaneState::paused));
  for (int i = 0; i < 12; ++i) run_one(server.engine(), "print", true);
  overview_when(client, "/v1/overview", {}, [](const json::value& seen) {
    return attention_in(seen) == std::set<std::string>{"lane_not_active", "failures_growing"};
  });
}

// However many tabs ask, the store is asked at most once a second.
TEST(Overview, AsksTheStoreForAllTogether) {
  TestServer server;
  TestClient client(server.url());
  const auto began = std::chrono::steady_clock::now();
  constexpr int requests = 40;
  for (int i = 0; i < requests; ++i) ASSERT_EQ(client.get("/v1/overview").status, 200);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began).count();
  const std::string metrics = server.engine().metrics();
  const std::string line = "flowfabric_operations_total{operation=\"count_executions\",outcome=\"ok\"} ";
  const std::size_t at = metrics.find(line);
  ASSERT_NE(at, std::string::npos);
  EXPECT_LE(std::stol(metrics.substr(at + line.size())), seconds + 1);
}

TEST(Overview, AStoreThatDoesNotAnswerIsPartOfTheAnswer) {
  const auto watch = std::make_shared<test::Watch>();
  auto store = std::make_unique<test::WatchedStore>(must(open_store("memory:", {})), watch);
  TestServer server(must(start_engine(std::move(store), {})));
  TestClient client(server.url());
  run_one(server.engine(), "mail");
  const auto ready = [](const json::value& seen) { return seen.at("store").at("ready").as_bool(); };
  overview_when(client, "/v1/overview", {}, [&](const json::value& seen) {
    return ready(seen) && sum(seen, "completed") == 1 && lane_of(seen, "mail");
  });
  watch->dead = true;
  const json::value away =
      overview_when(client, "/v1/overview", {}, [&](const json::value& seen) { return !ready(seen); });
  EXPECT_TRUE(attention_in(away).contains("store_not_ready"));
  EXPECT_EQ(text(away.at("store").at("message")), "dead");
  EXPECT_EQ(sum(away, "completed"), 1u) << "what was counted stays";
  EXPECT_NE(lane_of(away, "mail"), nullptr) << "what was known stays";
  watch->dead = false;
  overview_when(client, "/v1/overview", {},
                [&](const json::value& seen) { return ready(seen) && attention_in(seen).empty(); });
}

// Two servers, and each shows what the other one does.
TEST(Overview, ShowsTheWholeStore) {
  const test::TempDir folder;
  const std::string url = "sqlite:" + folder.file("shared.db");
  TestServer one(must(Engine::open(url)));
  TestServer two(must(Engine::open(url)));
  TestClient first(one.url()), second(two.url());
  run_one(one.engine(), "mail");
  run_one(two.engine(), "mail");
  for (TestClient* client : {&first, &second}) {
    overview_when(*client, "/v1/overview", {}, [](const json::value& seen) { return sum(seen, "completed") == 2; });
  }
}

TEST(Overview, AKeyOfOneNamespaceLearnsNothingOfOthers) {
  TestServer server(requiring_keys());
  TestClient client(server.url());
  const auto key = [&](const std::string& name, std::optional<std::string> name_space) {
    return net::Headers{
        {"Authorization",
         "Bearer " + server.engine().create_api_key({name, ApiRole::viewer, std::move(name_space), 0}).value().secret}};
  };
  const net::Headers all = key("all", {}), team = key("team", "team");
  run_one(server.engine(), "secret-lane", true);
  server.engine().create({.lane = "secret-lane", .kind = "secret-kind"}).value();
  ASSERT_TRUE(server.engine().set_lane_state("secret-lane", LaneState::paused));
  run_one(server.engine(), "own", false, "team");
  // The events of the other namespace come before its own in the log.
  overview_when(client, "/v1/overview", all, [](const json::value& seen) { return sum(seen, "completed") == 1; });
  const Reply seen = client.send("GET", "/v1/overview", {}, team);
  EXPECT_EQ(sum(seen.json, "created"), 1u);
  EXPECT_EQ(sum(seen.json, "failed"), 0u);
  EXPECT_EQ(seen.body.find("secret"), std::string::npos) << seen.body;
  EXPECT_FALSE(seen.json.as_object().contains("batches"));
  EXPECT_EQ(seen.json.at("lanes").as_array().size(), 1u);
  EXPECT_EQ(client.send("GET", "/v1/overview?namespace=default", {}, team).status, 403);
  const Reply chosen = client.send("GET", "/v1/overview?namespace=team", {}, all);
  EXPECT_EQ(sum(chosen.json, "created"), 1u);
}

}  // namespace
}  // namespace flowfabric::e2e
