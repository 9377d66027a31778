// Schedules through HTTP: every route once with a good and once with a bad request.
#include <gtest/gtest.h>

#include "e2e/support/test_client.hpp"
#include "engine/engine_impl.hpp"
#include "open/open.hpp"
#include "support/manual_clock.hpp"

namespace flowfabric::e2e {
namespace {

constexpr std::int64_t start_of_2026_us = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z
constexpr std::int64_t one_hour_ms = 3600'000;

class SchedulesApi : public testing::Test {
 protected:
  SchedulesApi() : server(engine_of_schedules(clock)), client(server.url()) {}

  static std::unique_ptr<Engine> engine_of_schedules(const test::ManualClock& clock) {
    StoreOptions options;
    options.now_us = clock.source();
    return start_engine(open_store("memory:", std::move(options)).value(), {}).value();
  }
  Reply make_schedule(const std::string& spec) {
    return client.post("/v1/schedules", R"({"name":"report",)" + spec + R"(,"execution":{"kind":"report"}})");
  }
  void refuses(const Reply& reply, int status, const std::string& code, const std::string& field) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(reply.code(), code) << reply.body;
    EXPECT_EQ(reply.field(), field) << reply.body;
  }

  test::ManualClock clock{start_of_2026_us};
  TestServer server;
  TestClient client;
  const std::string one = "/v1/schedules/report";
};

TEST_F(SchedulesApi, schedule_is_made_once_and_its_next_times_are_shown) {
  const Reply made = make_schedule(R"("cron":"30 2 * * *","time_zone":"Europe/Berlin")");
  ASSERT_EQ(made.status, 201) << made.body;
  // 02:30 in Berlin is 01:30 UTC in winter.
  EXPECT_EQ(made.json.at("next_at").to_number<std::int64_t>(), start_of_2026_us / 1000 + one_hour_ms * 3 / 2);
  const Reply again = make_schedule(R"("cron":"30 2 * * *","time_zone":"Europe/Berlin")");
  EXPECT_TRUE(again.json.at("duplicate").as_bool()) << again.body;
  EXPECT_EQ(make_schedule(R"("cron":"31 2 * * *","time_zone":"Europe/Berlin")").code(), "conflict");
  EXPECT_EQ(client.get(one + "/next?count=3").json.at("next").as_array().size(), 3u);
  EXPECT_EQ(client.get("/v1/schedules?state=active,paused").json.at("schedules").as_array().size(), 1u);
  EXPECT_EQ(client.get("/v1/schedules?state=paused").json.at("schedules").as_array().size(), 0u);
}

TEST_F(SchedulesApi, trigger_and_backfill_make_each_execution_once) {
  make_schedule(R"("every_ms":3600000,"overlap":"allow")");
  const Reply first = client.post(one + "/trigger", R"({"idempotency_key":"now"})");
  const Reply again = client.post(one + "/trigger", R"({"idempotency_key":"now"})");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.json.at("execution_id"), again.json.at("execution_id"));
  const std::int64_t now = start_of_2026_us / 1000;
  const std::string range =
      R"({"from":)" + std::to_string(now - 3 * one_hour_ms) + R"(,"to":)" + std::to_string(now - 1) + "}";
  ASSERT_EQ(client.post(one + "/backfill", range).status, 200);
  const auto made = client.get("/v1/executions?kind=report").json.at("executions").as_array().size();
  EXPECT_EQ(client.post(one + "/backfill", range).status, 200);
  EXPECT_EQ(client.get("/v1/executions?kind=report").json.at("executions").as_array().size(), made);
  EXPECT_GT(made, 1u);
}

TEST_F(SchedulesApi, list_says_the_overlap_policy_and_what_became_of_the_last_firing) {
  make_schedule(R"("every_ms":3600000)");
  const auto listed = [&] { return client.get("/v1/schedules").json.at("schedules").at(0); };
  EXPECT_EQ(text(listed().at("overlap")), "skip");
  EXPECT_EQ(listed().as_object().count("last"), 0u);
  const Reply fired = client.post(one + "/trigger");
  EXPECT_EQ(text(listed().at("last").at("outcome")), "fired");
  EXPECT_EQ(listed().at("last").at("execution_id"), fired.json.at("execution_id"));
  client.post(one + "/trigger");
  EXPECT_EQ(text(listed().at("last").at("outcome")), "skipped");
  EXPECT_NE(text(listed().at("last").at("detail")).find("has not ended"), std::string::npos);
}

TEST_F(SchedulesApi, times_are_previewed_without_a_schedule) {
  const std::string berlin = R"({"cron":"30 2 * * *","time_zone":"Europe/Berlin")";
  const Reply preview = client.post("/v1/schedules/preview", berlin + R"(,"count":2})");
  ASSERT_EQ(preview.status, 200) << preview.body;
  const auto& next = preview.json.at("next").as_array();
  ASSERT_EQ(next.size(), 2u) << preview.body;
  EXPECT_EQ(next[0].to_number<std::int64_t>(), start_of_2026_us / 1000 + one_hour_ms * 3 / 2);
  const std::string later = std::to_string(next[1].to_number<std::int64_t>());
  const Reply none =
      client.post("/v1/schedules/preview", berlin + R"(,"from":)" + later + R"(,"end_at":)" + later + "}");
  EXPECT_EQ(none.json.at("next").as_array().size(), 0u) << none.body;
  refuses(client.post("/v1/schedules/preview", R"({"cron":"61 * * * *"})"), 400, "invalid_argument", "cron");
  refuses(client.post("/v1/schedules/preview", "{}"), 400, "invalid_argument", "cron");
  refuses(client.post("/v1/schedules/preview", R"({"every_ms":1000,"time_zone":"Mars"})"), 400, "invalid_argument",
          "time_zone");
  refuses(client.post("/v1/schedules/preview", R"({"every_ms":1000,"exceptions":["32-99"]})"), 400, "invalid_argument",
          "exceptions");
  refuses(client.post("/v1/schedules/preview", R"({"every_ms":1000,"count":0})"), 400, "invalid_argument", "count");
  EXPECT_EQ(client.get("/v1/schedules").json.at("schedules").as_array().size(), 0u);
}

TEST_F(SchedulesApi, schedule_creates_flows_instead_of_executions) {
  const std::string flow = R"({"kind":"import","nodes":[{"name":"a","kind":"job"},{"name":"b","kind":"job"}],)"
                           R"("edges":[{"from":"a","to":"b"}]})";
  const std::string spec = R"({"name":"report","every_ms":3600000,"flow":)" + flow + "}";
  const Reply made = client.post("/v1/schedules", spec);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(client.post("/v1/schedules", spec).json.at("duplicate").as_bool());
  const Reply fired = client.post(one + "/trigger", R"({"idempotency_key":"now"})");
  ASSERT_EQ(fired.status, 200) << fired.body;
  EXPECT_FALSE(fired.json.as_object().contains("execution_id")) << fired.body;
  const Reply shown = client.get(one);
  EXPECT_TRUE(shown.json.at("summary").at("flow").as_bool()) << shown.body;
  EXPECT_EQ(text(shown.json.at("summary").at("kind")), "import");
  EXPECT_FALSE(shown.json.at("spec").as_object().contains("execution")) << shown.body;
  EXPECT_EQ(shown.json.at("spec").at("flow").at("nodes").as_array().size(), 2u);
  EXPECT_EQ(shown.json.at("history").as_array().at(0).at("flow_id"), fired.json.at("flow_id"));
  EXPECT_EQ(client.get("/v1/flows/" + text(fired.json.at("flow_id"))).status, 200);
  EXPECT_EQ(client.get("/v1/flows?kind=import").json.at("flows").as_array().size(), 1u);
  const auto events = client.get(one + "/history").json.at("events").as_array();
  EXPECT_EQ(events.back().at("flow_id"), fired.json.at("flow_id"));
  refuses(client.post("/v1/schedules", R"({"name":"x","every_ms":3600000})"), 400, "invalid_argument", "execution");
  refuses(
      client.post("/v1/schedules", R"({"name":"x","every_ms":3600000,"execution":{"kind":"k"},"flow":)" + flow + "}"),
      400, "invalid_argument", "flow");
  refuses(client.post("/v1/schedules", R"({"name":"x","every_ms":3600000,"flow":{"kind":"k","open":true}})"), 400,
          "invalid_argument", "flow.open");
}

TEST_F(SchedulesApi, schedule_is_changed_paused_resumed_and_deleted) {
  make_schedule(R"("every_ms":3600000)");
  const Reply changed = client.send("PUT", one, R"({"every_ms":7200000,"execution":{"kind":"report"}})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(client.post(one + "/pause", R"({"reason":"the numbers are wrong"})").status, 200);
  const Reply paused = client.get(one);
  EXPECT_EQ(text(paused.json.at("summary").at("state")), "paused") << paused.body;
  EXPECT_EQ(client.post(one + "/resume").status, 200);
  EXPECT_EQ(client.send("DELETE", one + "?reason=done").status, 200);
  EXPECT_EQ(client.get("/v1/schedules").json.at("schedules").as_array().size(), 0u);
  EXPECT_GE(client.get(one + "/history").json.at("events").as_array().size(), 5u);
}

TEST_F(SchedulesApi, bad_requests_are_refused_by_name_and_change_nothing) {
  refuses(make_schedule(R"("cron":"61 * * * *")"), 400, "invalid_argument", "cron");
  refuses(make_schedule(R"("cron":"* * * * *","time_zone":"Mars/Olympus")"), 400, "invalid_argument", "time_zone");
  refuses(make_schedule(R"("every_ms":10)"), 400, "invalid_argument", "every_ms");
  EXPECT_EQ(make_schedule(R"("cron":"* * * * *","every_ms":3600000)").status, 400);
  refuses(make_schedule(R"("cron":"* * * * *","overlap":"queue")"), 400, "invalid_argument", "overlap");
  refuses(client.get("/v1/schedules?state=running"), 400, "invalid_argument", "state");
  for (const char* verb : {"/pause", "/resume", "/trigger"}) EXPECT_EQ(client.post(one + verb).code(), "not_found");
  EXPECT_EQ(client.get(one).code(), "not_found");
  EXPECT_EQ(client.get("/v1/schedules").json.at("schedules").as_array().size(), 0u);
  make_schedule(R"("every_ms":3600000)");
  refuses(client.get(one + "/next?count=0"), 400, "invalid_argument", "count");
  EXPECT_EQ(client.post(one + "/backfill", R"({"from":2,"to":1})").status, 400);
}

}  // namespace
}  // namespace flowfabric::e2e
