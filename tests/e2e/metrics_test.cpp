// /metrics of a running server, and its uses: the table in docs/operating.md and the Grafana dashboard.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <fstream>
#include <future>
#include <regex>
#include <sstream>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>

#include "api/api.hpp"
#include "e2e/promql.hpp"
#include "e2e/support/test_client.hpp"
#include "net/http_client.hpp"
#include "support/exposition.hpp"
#include "support/stores.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;
using test::Exposition;
using test::MetricFamily;

constexpr std::chrono::seconds patience{60};

std::string read_source_file(const std::string& path) {
  std::ifstream file(std::string(FF_SOURCE_DIR) + "/" + path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string text_of(const json::value& value) { return std::string(value.as_string()); }

// A server on a fresh store.
class Metrics : public testing::TestWithParam<test::StoreKind> {
 protected:
  Metrics()
      : database_(test::make_database(GetParam().id)),
        first_handle_(database_->open()),  // creates the schema
        engine_(must(Engine::open(database_->url()))) {
    api::ApiOptions options;
    options.port = 0;
    server_ = must(api::ApiServer::start(*engine_, options));
    net::ClientOptions client;
    client.url = server_->url();
    client_.emplace(must(net::HttpClient::create(client)));
  }
  ~Metrics() override {
    engine_->stop();
    server_->drain(std::chrono::milliseconds(5000));
  }

  Engine& engine() { return *engine_; }

  net::Response call(const std::string& method, const std::string& target, const json::value& body = nullptr) {
    net::ClientRequest request;
    request.method = method;
    request.target = target;
    if (!body.is_null()) {
      request.headers.add("Content-Type", "application/json");
      request.body = json::serialize(body);
    }
    return must(client_->request(request));
  }
  json::value post(const std::string& target, const json::value& body) {
    const net::Response response = call("POST", target, body);
    if (response.status >= 300) throw std::runtime_error(target + ": " + response.body);
    return json::parse(response.body);
  }
  Exposition scrape() { return test::parse_exposition(call("GET", "/metrics").body); }
  // Until a value that another thread changes is as expected.
  Exposition scrape_until(const std::string& name, double value) {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
      Exposition read = scrape();
      if (read.sum(name) == value) return read;
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << name << " is " << read.sum(name) << " and not " << value;
        return read;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::string create(json::object more = {}) {
    json::object body = {{"lane", "mail"}, {"kind", "send"}};
    for (const auto& [name, value] : more) body[name] = value;
    return text_of(post("/v1/executions", body).at("execution_id"));
  }
  json::value claim(const std::string& instance, std::uint32_t wait_ms = 0) {
    const auto reply = post("/v1/claims", {{"worker_id", "w"},
                                           {"worker_instance_id", instance},
                                           {"lanes", {"mail"}},
                                           {"lease_ttl_ms", 3600 * 1000},
                                           {"wait_ms", wait_ms}});
    if (reply.at("executions").as_array().empty()) throw std::runtime_error("nothing to claim");
    return reply.at("executions").as_array().front();
  }

  void complete_one() {
    create();
    post("/v1/leases/complete", {{"handle", claim("w-1").at("handle")}});
  }
  void retry_one() {
    create({{"policy", {{"retry", {{"max_retries", 1}, {"initial_delay_ms", 1}}}}}});
    post("/v1/leases/fail", {{"handle", claim("w-1").at("handle")}, {"category", "flaky"}});
    post("/v1/leases/complete", {{"handle", claim("w-1", 60000).at("handle")}});  // after the clock has run
  }
  void lose_one() {
    const std::string id = create();
    claim("w-1");
    post("/v1/executions/" + id + "/revoke-lease", {{"reason", "test"}});
    post("/v1/executions/" + id + "/cancel", {{"reason", "test"}});
  }
  void bury_one() {
    WorkerRegistration registration;
    registration.worker_id = "w";
    registration.worker_instance_id = "w-2";
    registration.lanes = {"mail"};
    registration.liveness_ttl_ms = 60000;
    must(engine().register_worker(registration));
    must(engine().mark_worker_dead(registration.name_space, "w-2", {"tester", "test"}));
  }
  // A flow of one node.
  std::string submit_flow(const char* kind) {
    json::value body = json::parse(R"({"nodes": [{"name": "a", "lane": "mail", "kind": "send"}]})");
    body.as_object()["kind"] = kind;
    return text_of(post("/v1/flows", body).at("flow_id"));
  }
  void wait_for_flow(const std::string& flow) {
    while (call("GET", "/v1/flows/" + flow + "/result?wait_ms=60000").status == 202) {
    }
  }
  void complete_flow() {
    const std::string flow = submit_flow("media");
    post("/v1/leases/complete", {{"handle", claim("w-1").at("handle")}});
    wait_for_flow(flow);
  }
  void fire_a_schedule() {
    post("/v1/schedules", json::parse(R"({"name":"hourly","every_ms":3600000,"execution":{"kind":"report"}})"));
    post("/v1/schedules/hourly/trigger", json::parse("{}"));
  }
  // Two executions under a limit for one.
  void hold_one_back() {
    call("PUT", "/v1/limits/calls", {{"lane", "mail"}, {"concurrency", 1}, {"namespace", "shop"}});
    call("PUT", "/v1/limits/unused", {{"concurrency", 5}, {"lane", "nowhere"}});
    for (int i = 0; i < 2; ++i) create({{"namespace", "shop"}});
    claim("w-1");
    post("/v1/claims", {{"worker_id", "w"}, {"worker_instance_id", "w-9"}, {"lanes", {"mail"}}});
  }
  // A dead letter, made under a unique key.
  void fail_one() {
    post("/v1/executions", json::parse(R"({"lane": "mail", "kind": "send", "unique": {"key": "ada"}})"));
    post("/v1/leases/fail", {{"handle", claim("w-1").at("handle")}, {"category", "flaky"}});
  }
  void keep_a_budget() {
    call("PUT", "/v1/limits/tokens",
         json::parse(R"({"lane": "nowhere", "budget": {"dimensions": [{"name": "tokens", "hard": 10}]}})"));
  }
  std::string suspend_one(const char* how) {
    const std::string id = create();
    json::value body = json::parse(how);
    body.as_object()["handle"] = claim("w-1").at("handle");
    post("/v1/leases/suspend", body);
    return id;
  }
  void wait_and_signal() {
    const std::string id = suspend_one(R"({"waitpoints": [{"name": "paid"}]})");
    post("/v1/executions/" + id + "/signals", {{"waitpoint", "paid"}});
    post("/v1/leases/complete", {{"handle", claim("w-1").at("handle")}});
  }
  void a_little_of_everything() {
    complete_one();
    retry_one();
    lose_one();
    bury_one();
    call("GET", "/v1/nothing/here");
    call("GET", "/v1/executions/nonsense");
  }

 private:
  std::unique_ptr<test::TestDatabase> database_;
  std::unique_ptr<Store> first_handle_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<api::ApiServer> server_;
  std::optional<net::HttpClient> client_;
};

INSTANTIATE_TEST_SUITE_P(, Metrics, testing::ValuesIn(test::store_kinds()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Metrics, AreAnsweredAsPrometheusText) {
  const net::Response response = call("GET", "/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4");
  EXPECT_NO_THROW(test::parse_exposition(response.body));
  EXPECT_EQ(call("POST", "/metrics", json::object{}).status, 405);
}

TEST_P(Metrics, CountWhatHappensToExecutions) {
  a_little_of_everything();
  create();
  const Exposition read = scrape();
  EXPECT_EQ(read.sum("flowfabric_executions_created_total", {{"lane", "mail"}}), 4);
  const auto finished = [&](const char* outcome) {
    return read.sum("flowfabric_executions_finished_total", {{"lane", "mail"}, {"kind", "send"}, {"outcome", outcome}});
  };
  EXPECT_EQ(finished("completed"), 2);
  EXPECT_EQ(finished("cancelled"), 1);
  EXPECT_EQ(finished("failed"), 0);
  EXPECT_EQ(read.sum("flowfabric_execution_lifetime_seconds_count", {{"outcome", "completed"}}), 2);
  EXPECT_EQ(read.sum("flowfabric_start_delay_seconds_count"), 4);
  EXPECT_EQ(read.sum("flowfabric_retries_total", {{"lane", "mail"}, {"kind", "send"}}), 1);
  EXPECT_EQ(read.sum("flowfabric_lease_losses_total", {{"lane", "mail"}, {"cause", "revoked"}}), 1);
  EXPECT_EQ(read.sum("flowfabric_worker_deaths_total", {{"cause", "marked_dead"}}), 1);
  EXPECT_EQ(read.sum("flowfabric_events_total", {{"type", "created"}}), 4);
  EXPECT_GE(read.sum("flowfabric_due_lag_seconds_count"), 1) << "the clock brought the retry";
}

TEST_P(Metrics, CountFlowsByStateAndOutcome) {
  complete_flow();
  const std::string failed = submit_flow("media");
  post("/v1/leases/fail", {{"handle", claim("w-1").at("handle")}, {"category", "broken"}});
  wait_for_flow(failed);
  const std::string cancelled = submit_flow("report");
  post("/v1/flows/" + cancelled + "/cancel", json::object{});
  wait_for_flow(cancelled);
  submit_flow("report");

  const Exposition read = scrape_until("flowfabric_flows", 4);
  const auto finished = [&](const char* kind, const char* outcome) {
    return read.sum("flowfabric_flows_finished_total", {{"kind", kind}, {"outcome", outcome}});
  };
  EXPECT_EQ(read.sum("flowfabric_flows_submitted_total", {{"kind", "media"}}), 2);
  EXPECT_EQ(finished("media", "completed"), 1);
  EXPECT_EQ(finished("media", "failed"), 1);
  EXPECT_EQ(finished("report", "cancelled"), 1);
  EXPECT_EQ(read.sum("flowfabric_flow_lifetime_seconds_count"), 3);
  for (const char* state : {"running", "completed", "failed", "cancelled"}) {
    EXPECT_EQ(read.sum("flowfabric_flows", {{"state", state}}), 1) << state;
  }
  EXPECT_EQ(read.sum("flowfabric_flows", {{"state", "cancelling"}}), 0);
}

TEST_P(Metrics, CountSignalsByEffectAndWaitsByTheirCause) {
  wait_and_signal();
  const std::string two = "/v1/executions/" + suspend_one(R"({"waitpoints": [{"name": "a"}, {"name": "b"}]})");
  post(two + "/signals", {{"waitpoint", "a"}, {"idempotency_key", "once"}});
  post(two + "/signals", {{"waitpoint", "a"}, {"idempotency_key", "once"}});
  post(two + "/signals", {{"waitpoint", "a"}});
  post(two + "/signals", {{"waitpoint", "later"}});
  EXPECT_EQ(call("POST", two + "/signals", {{"waitpoint", ""}}).status, 400);
  const std::string approval =
      "/v1/executions/" + suspend_one(R"({"waitpoints": [{"name": "a", "approval": {"title": "?"}}]})");
  post(approval + "/approvals/a/decide", {{"decision", "reject"}, {"actor", "ada"}});
  suspend_one(R"({"waitpoints": [{"name": "a"}], "timeout_ms": 1})");
  suspend_one(R"({"waitpoints": [{"name": "a"}], "timeout_ms": 1, "on_timeout": "resume"})");
  scrape_until("flowfabric_suspended_executions", 1);
  post(two + "/resume", json::object{});

  const Exposition read = scrape_until("flowfabric_suspended_executions", 0);
  const auto signals = [&](const char* effect) { return read.sum("flowfabric_signals_total", {{"effect", effect}}); };
  EXPECT_EQ(signals("resumed"), 2);
  EXPECT_EQ(signals("accepted"), 1);
  EXPECT_EQ(signals("duplicate"), 1);
  EXPECT_EQ(signals("ignored"), 1);
  EXPECT_EQ(signals("kept"), 1);
  const auto ended = [&](const char* cause) { return read.sum("flowfabric_waits_ended_total", {{"cause", cause}}); };
  EXPECT_EQ(ended("signals"), 1);
  EXPECT_EQ(ended("veto"), 1);
  EXPECT_EQ(ended("timeout"), 2) << "one has failed its execution, one has resumed it";
  EXPECT_EQ(ended("operator"), 1);
}

TEST_P(Metrics, CountSlotsAndWhatLimitsHoldBack) {
  hold_one_back();
  const Exposition read = scrape();
  const std::map<std::string, std::string> calls = {{"namespace", "shop"}, {"limit", "calls"}};
  EXPECT_EQ(read.sum("flowfabric_limit_slots_in_use", calls), 1);
  EXPECT_EQ(read.sum("flowfabric_limit_held_back", calls), 1);
  EXPECT_EQ(read.sum("flowfabric_limit_held_back_total", calls), 1);
  EXPECT_EQ(read.samples("flowfabric_limit_slots_in_use").size(), 2U) << "one series for each limit";
  EXPECT_EQ(read.sum("flowfabric_limit_slots_in_use", {{"limit", "unused"}}), 0);
}

TEST_P(Metrics, CountEveryOperationWithItsOutcome) {
  a_little_of_everything();
  const std::string id = create();
  EXPECT_EQ(call("GET", "/v1/executions/" + id).status, 200);
  EXPECT_EQ(call("POST", "/v1/leases/complete", {{"handle", "nonsense"}}).status, 400);
  const Exposition read = scrape();
  const auto calls = [&](const char* operation, const char* outcome) {
    return read.sum("flowfabric_operations_total", {{"operation", operation}, {"outcome", outcome}});
  };
  EXPECT_EQ(calls("create", "ok"), 4);
  EXPECT_EQ(calls("claim", "ok"), 4);
  EXPECT_EQ(calls("complete", "ok"), 2);
  EXPECT_EQ(calls("complete", "invalid_handle"), 1);
  EXPECT_EQ(calls("describe_execution", "ok"), 1);
  EXPECT_EQ(calls("mark_worker_dead", "ok"), 1);
  EXPECT_EQ(read.sum("flowfabric_operation_duration_seconds_count", {{"operation", "complete"}}), 3);
  EXPECT_GE(read.sum("flowfabric_batches_total", {{"kind", "commands"}, {"outcome", "committed"}}), 10);
  EXPECT_EQ(read.sum("flowfabric_batches_total", {{"kind", "commands"}}), read.sum("flowfabric_batch_commands_count"));
}

TEST_P(Metrics, ShowWhoWaitsAndWhatCanBeClaimed) {
  EXPECT_EQ(scrape().sum("flowfabric_parked_claims"), 0);
  std::promise<std::size_t> claimed;
  ClaimRequest request;
  request.worker_id = "w";
  request.worker_instance_id = "w-1";
  request.lanes = {"mail"};
  request.lease_ttl_ms = 60000;
  request.wait_ms = 600000;
  engine().claim_async(request, [&](const auto& reply) { claimed.set_value(reply ? reply->size() : 0); });
  scrape_until("flowfabric_parked_claims", 1);
  create();
  EXPECT_EQ(claimed.get_future().get(), 1u);
  EXPECT_EQ(scrape().sum("flowfabric_parked_claims"), 0);

  for (int i = 0; i < 3; ++i) create({{"lane", "bulk"}, {"priority", -32768}});
  scrape_until("flowfabric_ready_executions", 3);
  WorkerRegistration registration;
  registration.worker_id = "w";
  registration.worker_instance_id = "w-2";
  registration.lanes = {"mail"};
  registration.liveness_ttl_ms = 600000;
  must(engine().register_worker(registration));
  EXPECT_EQ(scrape_until("flowfabric_workers", 1).sum("flowfabric_workers", {{"state", "working"}}), 1);
}

TEST_P(Metrics, NameRoutesByTheirPattern) {
  const std::string id = create();
  call("GET", "/v1/executions/" + id);
  call("GET", "/v1/executions/" + id + "?nonsense=1");
  call("GET", "/v1/no/such/" + id);
  call("DELETE", "/healthz");
  call("BREW", "/v1/executions/" + id);
  call("GET", "/healthz");
  const Exposition read = scrape();
  const auto requests = [&](const char* route, const char* method, const char* status) {
    return read.sum("flowfabric_http_requests_total", {{"route", route}, {"method", method}, {"status", status}});
  };
  EXPECT_EQ(requests("/v1/executions", "POST", "201"), 1);
  EXPECT_EQ(requests("/v1/executions/{execution_id}", "GET", "200"), 1);
  EXPECT_EQ(requests("/v1/executions/{execution_id}", "GET", "400"), 1);
  EXPECT_EQ(requests("unmatched", "GET", "404"), 1);
  EXPECT_EQ(requests("/healthz", "DELETE", "405"), 1);
  EXPECT_EQ(requests("/v1/executions/{execution_id}", "other", "405"), 1);
  EXPECT_EQ(requests("/healthz", "GET", "200"), 1);
  for (const auto& sample : read.samples("flowfabric_http_requests_total")) {
    EXPECT_EQ(sample.labels.at("route").find(id), std::string::npos);
  }
  EXPECT_EQ(read.sum("flowfabric_http_request_duration_seconds_count", {{"route", "unmatched"}}), 1);
  EXPECT_EQ(read.sum("flowfabric_http_connections"), 1);
  EXPECT_EQ(read.sum("flowfabric_http_requests_in_flight"), 1) << "the one that asks";
  EXPECT_GT(read.sum("flowfabric_http_received_bytes_total"), 100);
  EXPECT_GT(read.sum("flowfabric_http_sent_bytes_total"), 100);
  EXPECT_EQ(read.sum("flowfabric_build_info"), 1);
}

// ---------------------------------------------------------------- include/flowfabric/engine.hpp

// The operations of an engine, from its header. Bulk and async calls count as their parts.
std::set<std::string> operations_of_the_engine() {
  const std::string header = read_source_file("include/flowfabric/engine.hpp");
  const std::string declared = header.substr(header.find("\nclass Engine {"));
  const std::regex method("\n  (?:static )?(?:Result<.*>|std::vector<Result<.*>>|void) ([a-z_]+)\\(");
  std::set<std::string> found;
  for (std::sregex_iterator it(declared.begin(), declared.end(), method), end; it != end; ++it) {
    const std::string name = (*it)[1];
    const bool counted_otherwise = name.ends_with("_many") || name.ends_with("_async") || name.ends_with("_by_token") ||
                                   name == "delay_for" || name == "open_flow";
    const bool is_no_operation = name == "open" || name == "stop" || name == "withdraw_claim";
    if (!counted_otherwise && !is_no_operation) found.insert(name);
  }
  return found;
}

// Most calls fail, and each is counted all the same; the replies do not matter.
void ask_for_everything(Engine& engine) {
  const ExecutionId id = must(engine.create({.lane = "mail", .kind = "send"})).execution_id;
  const Handle handle = "nonsense";
  engine.create_many({{}, {}});
  engine.create_async({}, [](const auto&) {});
  std::ignore = engine.claim({});
  engine.claim_async({}, [](const auto&) {});
  std::ignore = engine.renew(handle);
  engine.renew_many({handle, handle});
  engine.renew_async(handle, [](const auto&) {});
  std::ignore = engine.report_progress(handle, {});
  std::ignore = engine.complete(handle);
  engine.complete_async(handle, {}, [](const auto&) {});
  std::ignore = engine.fail(handle, {});
  engine.fail_async(handle, {}, [](const auto&) {});
  std::ignore = engine.delay(handle, 0);
  std::ignore = engine.delay_for(handle, 0);
  std::ignore = engine.release(handle);
  engine.release_async(handle, [](const auto&) {});
  std::ignore = engine.record_step(handle, {});
  engine.record_step_async(handle, {}, [](const auto&) {});
  std::ignore = engine.store_checkpoint(handle, {});
  std::ignore = engine.change_tags_held(handle, {});
  std::ignore = engine.cancel_held(handle, {});
  std::ignore = engine.register_worker({});
  std::ignore = engine.heartbeat_worker({});
  std::ignore = engine.mark_worker_dead("default", "w-1");
  std::ignore = engine.drain_worker("default", "w-1");
  std::ignore = engine.list_workers();
  std::ignore = engine.list_expired_leases();
  std::ignore = engine.list_worker_leases({});
  std::ignore = engine.issue_claim_grant({});
  std::ignore = engine.claim_for_worker({});
  std::ignore = engine.claim_from_grant({});
  std::ignore = engine.issue_reclaim_grant({});
  std::ignore = engine.reclaim_execution({});
  std::ignore = engine.cancel(id);
  std::ignore = engine.revoke_lease(id);
  std::ignore = engine.replay_execution(id);
  std::ignore = engine.change_priority(id, 1);
  std::ignore = engine.change_tags(id, {});
  std::ignore = engine.set_lane_state("mail", LaneState::active);
  std::ignore = engine.set_namespace({});
  std::ignore = engine.describe_execution(id);
  std::ignore = engine.read_execution_state(id);
  std::ignore = engine.get_execution_result(id);
  std::ignore = engine.read_execution_context(id);
  std::ignore = engine.list_attempts(id);
  std::ignore = engine.list_steps(id);
  std::ignore = engine.get_tags(id);
  std::ignore = engine.execution_history(id);
  std::ignore = engine.list_executions({});
  std::ignore = engine.count_executions();
  std::ignore = engine.list_lanes();
  std::ignore = engine.get_namespace("default");
  std::ignore = engine.list_namespaces();
  std::ignore = engine.wait(id, 0);
  std::ignore = engine.now();
  std::ignore = engine.ready();
  std::ignore = engine.namespaces_of({});
  std::ignore = engine.namespace_of(id);
  std::ignore = engine.release(handle);
  std::ignore = engine.subscribe();
  std::ignore = engine.read_events({}, {}, 1, 0);
  std::ignore = engine.rotate_keys(0);
  std::ignore = engine.list_keys();
  std::ignore = engine.create_api_key({});
  std::ignore = engine.revoke_api_key("nobody");
  std::ignore = engine.list_api_keys();
  std::ignore = engine.authenticate("nonsense");
  std::ignore = engine.begin_session("nonsense", 0);
  std::ignore = engine.authenticate_session("nonsense");
  std::ignore = engine.delays();
  std::ignore = engine.run_retention();
  std::ignore = engine.check_integrity();
}

void ask_for_waits(Engine& engine) {
  const ExecutionId id{7, Uuid{}};
  std::ignore = engine.suspend({}, {});
  std::ignore = engine.open_waitpoint({}, {});
  std::ignore = engine.send_signal(id, {});
  engine.send_signal_async(id, {}, [](const auto&) {});
  std::ignore = engine.send_signal_by_token("nonsense", {});
  engine.send_signal_by_token_async("nonsense", {}, [](const auto&) {});
  std::ignore = engine.decide_approval(id, {});
  std::ignore = engine.resume(id);
  std::ignore = engine.close_waitpoint(id, "w");
  std::ignore = engine.reissue_token(id, {});
  std::ignore = engine.describe_waits(id);
  std::ignore = engine.list_waits();
  std::ignore = engine.describe_token("nonsense");
}

void ask_for_schedules_and_hooks(Engine& engine) {
  std::ignore = engine.create_schedule({});
  std::ignore = engine.update_schedule("default", "s", {});
  std::ignore = engine.pause_schedule("default", "s");
  std::ignore = engine.resume_schedule("default", "s");
  std::ignore = engine.delete_schedule("default", "s");
  std::ignore = engine.trigger_schedule("default", "s");
  std::ignore = engine.backfill_schedule("default", "s", {});
  std::ignore = engine.describe_schedule("default", "s");
  std::ignore = engine.list_schedules();
  std::ignore = engine.next_runs("default", "s");
  std::ignore = engine.preview_runs({});
  std::ignore = engine.schedule_history("default", "s");
  std::ignore = engine.create_hook({});
  std::ignore = engine.remove_hook("h");
  std::ignore = engine.rotate_hook("h", 0);
  std::ignore = engine.list_hooks();
  std::ignore = engine.receive_hook({});
}

void ask_for_limits(Engine& engine) {
  std::ignore = engine.set_limit({});
  std::ignore = engine.remove_limit({});
  std::ignore = engine.list_limits();
  std::ignore = engine.list_limit_use({});
  std::ignore = engine.check_limits({});
  std::ignore = engine.change_budget({});
  std::ignore = engine.spend("nonsense", {});
}

void ask_for_dead_letters(Engine& engine) {
  std::ignore = engine.list_dead_letters();
  std::ignore = engine.get_dead_letters({});
  std::ignore = engine.create_redrive({});
  std::ignore = engine.change_redrive("nonsense", RedriveAction::pause);
  std::ignore = engine.get_redrive("nonsense");
  std::ignore = engine.list_redrives();
}

void ask_for_flows(Engine& engine) {
  const FlowId id{7, Uuid{}};
  std::ignore = engine.submit_flow({});
  std::ignore = engine.add_to_flow(id, {});
  std::ignore = engine.extend_flow({}, {});
  std::ignore = engine.seal_flow(id);
  std::ignore = engine.join_nodes({}, {});
  std::ignore = engine.cancel_flow(id);
  std::ignore = engine.replay_flow(id);
  std::ignore = engine.wait_flow(id, 0);
  std::ignore = engine.describe_flow(id);
  std::ignore = engine.get_flow_result(id);
  std::ignore = engine.list_flows();
  std::ignore = engine.list_flow_nodes(id);
  std::ignore = engine.list_flow_edges(id);
  std::ignore = engine.read_flow_graph(id);
  std::ignore = engine.flow_history(id);
  std::ignore = engine.list_flow_inputs(id);
  std::ignore = engine.flow_of_execution(id);
  std::ignore = engine.namespace_of_flow(id);
}

TEST(EngineMetrics, EveryOperationIsCounted) {
  const auto engine = must(Engine::open("memory:"));
  ask_for_everything(*engine);
  ask_for_flows(*engine);
  ask_for_waits(*engine);
  ask_for_schedules_and_hooks(*engine);
  ask_for_limits(*engine);
  ask_for_dead_letters(*engine);
  const Exposition read = test::parse_exposition(engine->metrics());
  std::set<std::string> counted;
  for (const auto& sample : read.samples("flowfabric_operations_total")) {
    counted.insert(sample.labels.at("operation"));
  }
  EXPECT_EQ(counted, operations_of_the_engine());
  const auto calls = [&](const char* operation) {
    return read.sum("flowfabric_operations_total", {{"operation", operation}});
  };
  EXPECT_EQ(calls("create"), 4);
  EXPECT_EQ(calls("claim"), 2);
  EXPECT_EQ(calls("renew"), 4);
  EXPECT_EQ(calls("complete"), 2);
  EXPECT_EQ(calls("delay"), 2) << "delay_for is one";
  EXPECT_EQ(calls("get_execution_result"), 1) << "a wait is not one";
  EXPECT_EQ(calls("list_executions"), 1) << "nor is retention";
  EXPECT_EQ(read.sum("flowfabric_operation_duration_seconds_count"), read.sum("flowfabric_operations_total"));
}

TEST(EngineMetrics, LeaseLossesAreToldApartByTheirCause) {
  const auto engine = must(Engine::open("memory:"));
  WorkerRegistration registration;
  registration.worker_id = "w";
  registration.worker_instance_id = "w-1";
  registration.lanes = {"mail"};
  registration.liveness_ttl_ms = 600000;
  must(engine->register_worker(registration));
  const auto claim = [&](std::uint32_t lease_ttl_ms) {
    must(engine->create({.lane = "mail", .kind = "send", .policy = {.on_lease_lost = OnLeaseLost::manual}}));
    ClaimRequest request;
    request.worker_namespace = registration.name_space;
    request.worker_id = "w";
    request.worker_instance_id = "w-1";
    request.lanes = {"mail"};
    request.lease_ttl_ms = lease_ttl_ms;
    return must(engine->claim(request)).at(0).execution_id;
  };
  must(engine->revoke_lease(claim(600000), {"clara", "test"}));
  claim(600000);
  must(engine->mark_worker_dead(registration.name_space, "w-1", {"clara", "test"}));
  const auto losses = [&](const char* cause) {
    return test::parse_exposition(engine->metrics()).sum("flowfabric_lease_losses_total", {{"cause", cause}});
  };
  const auto end = std::chrono::steady_clock::now() + patience;
  while (losses("worker_dead") < 1 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  must(engine->register_worker(registration));  // the dead claim nothing
  claim(100);
  while (losses("expired") < 1 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(losses("revoked"), 1);
  EXPECT_EQ(losses("worker_dead"), 1);
  EXPECT_EQ(losses("expired"), 1);
}

// ---------------------------------------------------------------- docs/operating.md

struct Documented {
  std::string type;
  std::set<std::string> labels;

  friend bool operator==(const Documented&, const Documented&) = default;
};

void PrintTo(const Documented& documented, std::ostream* out) {
  *out << documented.type;
  for (const std::string& label : documented.labels) *out << ' ' << label;
}

// The rows of the section's tables: | `name` | type | `label`, `label` | meaning |
std::map<std::string, Documented> documented_metrics() {
  const std::string document = read_source_file("docs/operating.md");
  const std::size_t begin = document.find("\n## Metrics\n");
  if (begin == std::string::npos) throw std::runtime_error("docs/operating.md has no section Metrics");
  const std::string section = document.substr(begin, document.find("\n## ", begin + 1) - begin);
  const std::regex row(R"(\| `([a-z_]+)` \| ([a-z]+) \| ([^|]*) \| [^|]+ \|)");
  const std::regex label("`([a-z_]+)`");
  std::map<std::string, Documented> found;
  for (std::sregex_iterator it(section.begin(), section.end(), row), end; it != end; ++it) {
    Documented documented{(*it)[2], {}};
    const std::string labels = (*it)[3];
    for (std::sregex_iterator one(labels.begin(), labels.end(), label); one != end; ++one) {
      documented.labels.insert((*one)[1]);
    }
    EXPECT_TRUE(found.emplace((*it)[1], documented).second) << (*it)[1] << " is documented twice";
  }
  return found;
}

TEST_P(Metrics, AreDocumented) {
  a_little_of_everything();
  complete_flow();
  wait_and_signal();
  fire_a_schedule();
  hold_one_back();
  fail_one();
  keep_a_budget();
  std::map<std::string, Documented> exposed;
  for (const auto& [name, family] : scrape().families) {
    EXPECT_FALSE(family.samples.empty()) << name << " has no sample, so its labels cannot be compared";
    exposed[name] = {family.type, family.label_names()};
  }
  auto documented = documented_metrics();
  if (GetParam().id != test::StoreKindId::sqlite) {
    std::erase_if(documented, [](const auto& metric) { return metric.first.starts_with("flowfabric_sqlite_"); });
  }
  for (const auto& [name, description] : documented) EXPECT_EQ(exposed[name], description) << name;
  for (const auto& [name, family] : exposed) EXPECT_TRUE(documented.contains(name)) << name << " is not documented";
}

// ---------------------------------------------------------------- deploy/grafana/flowfabric.json

// Labels that Prometheus adds to everything.
const std::set<std::string> added_by_prometheus = {"instance", "job"};

class Dashboard {
 public:
  explicit Dashboard(Exposition exposed) : exposed_(std::move(exposed)) {}

  void check(const json::value& panel) {
    for (const json::value& target : panel.at("targets").as_array()) {
      const std::string expression = text_of(target.at("expr"));
      SCOPED_TRACE(text_of(panel.at("title")) + ": " + expression);
      check(read_query(expression), text_of(target.at("legendFormat")));
    }
  }
  const std::set<std::string>& metrics() const { return metrics_; }

 private:
  void check(const Query& query, const std::string& legend) {
    EXPECT_FALSE(query.selectors.empty());
    std::set<std::string> available = query.grouped_by;
    for (const Selector& selector : query.selectors) {
      metrics_.insert(selector.metric);
      const auto samples = exposed_.samples(selector.metric);
      EXPECT_FALSE(samples.empty()) << "there is no " << selector.metric;
      if (samples.empty()) continue;
      for (const std::string& label : query.grouped_by) expect_label(samples.front(), label);
      for (const std::string& label : query.joined_on) EXPECT_TRUE(added_by_prometheus.contains(label)) << label;
      for (const Matcher& matcher : selector.matchers) check(matcher, samples);
      if (query.grouped_by.empty()) available.insert(added_by_prometheus.begin(), added_by_prometheus.end());
    }
    const std::regex shown("\\{\\{([a-z_]+)\\}\\}");
    for (std::sregex_iterator it(legend.begin(), legend.end(), shown), end; it != end; ++it) {
      EXPECT_TRUE(available.contains((*it)[1])) << "the legend shows " << (*it)[1] << ", which the query drops";
    }
  }

  static void expect_label(const test::MetricSample& sample, const std::string& label) {
    EXPECT_TRUE(sample.labels.contains(label)) << sample.name << " has no label " << label;
  }

  // A value that never occurs would leave a panel empty.
  static void check(const Matcher& matcher, const std::vector<test::MetricSample>& samples) {
    expect_label(samples.front(), matcher.label);
    const bool exact = matcher.relation == "=" || matcher.relation == "!=";
    const std::regex pattern(exact ? std::string() : matcher.value);
    const bool occurs = std::any_of(samples.begin(), samples.end(), [&](const test::MetricSample& sample) {
      const auto found = sample.labels.find(matcher.label);
      if (found == sample.labels.end()) return false;
      return exact ? found->second == matcher.value : std::regex_match(found->second, pattern);
    });
    EXPECT_TRUE(occurs) << matcher.label << " never is " << matcher.value;
  }

  Exposition exposed_;
  std::set<std::string> metrics_;
};

TEST_P(Metrics, FeedEveryPanelOfTheDashboard) {
  a_little_of_everything();
  const json::value document = json::parse(read_source_file("deploy/grafana/flowfabric.json"));
  Dashboard dashboard(scrape());
  std::size_t panels = 0;
  for (const json::value& panel : document.at("panels").as_array()) {
    if (text_of(panel.at("type")) == "row") continue;
    ++panels;
    EXPECT_EQ(text_of(panel.at("datasource").at("uid")), "${datasource}");
    dashboard.check(panel);
  }
  EXPECT_GE(panels, 20u);
  EXPECT_GE(dashboard.metrics().size(), 25u);
  const auto& variables = document.at("templating").at("list").as_array();
  ASSERT_EQ(variables.size(), 1u);
  EXPECT_EQ(text_of(variables.front().at("name")), "datasource");
}

// ---------------------------------------------------------------- deploy/prometheus/flowfabric.rules.yml

struct AlertRule {
  std::string alert;
  std::string expression;
  std::string texts;  // what is shown to people
};

// Rules as our file writes them: every value on the line of its key.
std::vector<AlertRule> read_alert_rules(const std::string& text) {
  std::vector<AlertRule> rules;
  std::istringstream lines(text);
  const std::regex entry("^ *(?:- )?(alert|expr|for|summary|description): (.*)$");
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, found, entry)) continue;
    if (found[1] == "alert") rules.push_back({found[2], {}, {}});
    if (rules.empty()) throw std::runtime_error("a line before the first alert: " + line);
    if (found[1] == "expr") rules.back().expression = found[2];
    if (found[1] == "summary" || found[1] == "description") rules.back().texts += found[2].str() + "\n";
  }
  return rules;
}

// A rule that asks for a metric or a label that does not exist never fires.
void check_rule(const AlertRule& rule, Exposition& exposed) {
  SCOPED_TRACE(rule.alert + ": " + rule.expression);
  const Query query = read_query(rule.expression);
  ASSERT_FALSE(query.selectors.empty());
  EXPECT_FALSE(rule.texts.empty());
  std::set<std::string> kept = query.grouped_by;
  for (const Selector& selector : query.selectors) {
    if (selector.metric == "up") {  // made by Prometheus
      kept = added_by_prometheus;
      continue;
    }
    const auto samples = exposed.samples(selector.metric);
    ASSERT_FALSE(samples.empty()) << "there is no " << selector.metric;
    const auto known = [&](const std::string& label) {
      return added_by_prometheus.contains(label) || samples.front().labels.contains(label);
    };
    for (const Matcher& matcher : selector.matchers) EXPECT_TRUE(known(matcher.label)) << matcher.label;
    for (const std::string& label : query.grouped_by) EXPECT_TRUE(known(label)) << label;
  }
  const std::regex shown("\\$labels\\.([a-z_]+)");
  for (std::sregex_iterator it(rule.texts.begin(), rule.texts.end(), shown), end; it != end; ++it) {
    EXPECT_TRUE(kept.contains((*it)[1])) << "the text shows " << (*it)[1] << ", which the expression drops";
  }
}

TEST_P(Metrics, FeedEveryAlertRule) {
  a_little_of_everything();
  const auto rules = read_alert_rules(read_source_file("deploy/prometheus/flowfabric.rules.yml"));
  EXPECT_GE(rules.size(), 10u);
  Exposition exposed = scrape();
  std::set<std::string> names;
  for (const AlertRule& rule : rules) {
    EXPECT_TRUE(names.insert(rule.alert).second) << rule.alert;
    check_rule(rule, exposed);
  }
}

TEST(PromQl, SeesWhatAQueryAsksFor) {
  const Query query = read_query(
      "histogram_quantile(0.95, sum by (le, route) (rate(a_bucket{x=\"1\",y!~\"2|3\"}[$__rate_interval]))) / "
      "max(b) and on (instance) c");
  ASSERT_EQ(query.selectors.size(), 3u);
  EXPECT_EQ(query.selectors[0].metric, "a_bucket");
  ASSERT_EQ(query.selectors[0].matchers.size(), 2u);
  EXPECT_EQ(query.selectors[0].matchers[1].label, "y");
  EXPECT_EQ(query.selectors[0].matchers[1].relation, "!~");
  EXPECT_EQ(query.selectors[0].matchers[1].value, "2|3");
  EXPECT_EQ(query.selectors[1].metric, "b");
  EXPECT_EQ(query.selectors[2].metric, "c");
  EXPECT_EQ(query.grouped_by, (std::set<std::string>{"le", "route"}));
  EXPECT_EQ(query.joined_on, std::set<std::string>{"instance"});
}

}  // namespace
}  // namespace flowfabric::e2e
