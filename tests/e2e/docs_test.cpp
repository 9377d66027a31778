// docs/http-api.md must match the route table, and its examples the responses of a server.
//
// FF_UPDATE_DOCS=1 writes the file instead of comparing it; `./dev docs` does that.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <boost/json/parse.hpp>

#include "api/route.hpp"
#include "base/hashing.hpp"
#include "e2e/support/api_reference.hpp"
#include "engine/engine_impl.hpp"
#include "open/open.hpp"
#include "support/manual_clock.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;

constexpr std::int64_t new_year_us = 1'767'225'600'000'000;

// An engine with a stopped clock that tests move, so that the examples have the same times in every run.
std::unique_ptr<Engine> engine_with(const test::ManualClock& clock) {
  StoreOptions options;
  options.now_us = clock.source();
  return start_engine(open_store("memory:", std::move(options)).value(), {}).value();
}

// A scenario in which every route is called once with a good reason.
class Tour {
 public:
  void run() {
    submit_and_look();
    watch();
    work();
    operate();
    run_a_flow();
    wait_for_signals();
    decide();
    keep_a_schedule();
    take_webhooks();
    manage_the_fleet();
    reserve();
    care();
    redrive();
    keep_limits();
    post("/v1/schedules/preview", R"({"cron":"30 2 * * *","time_zone":"Europe/Berlin","count":3})");
  }

  TestClient& client() { return client_; }
  const ExampleRecorder& recorder() const { return recorder_; }

  // An example of an error.
  ExampleRecorder::Example refusal() {
    const std::string body = R"({"lane":"mail","kind":"send","policy":{"retry":{"max_retries":"three"}}})";
    return {"POST", "/v1/executions", json::parse(body), client_.post("/v1/executions", body)};
  }

 private:
  // Time passes between two calls.
  Reply send(const std::string& method, const std::string& target, const std::string& body = {}) {
    clock_.advance_ms(10);
    Reply reply = recorder_.send(method, target, body);
    EXPECT_LT(reply.status, 300) << method << " " << target << " " << reply.body;
    return reply;
  }
  Reply get(const std::string& target) { return send("GET", target); }
  Reply post(const std::string& target, const std::string& body = {}) { return send("POST", target, body); }

  static std::string with_handle(const std::string& handle, const std::string& more = {}) {
    return R"({"handle":")" + handle + "\"" + more + "}";
  }
  std::string create(const std::string& body) { return text(post("/v1/executions", body).json.at("execution_id")); }
  std::string claim() {
    const Reply reply = post("/v1/claims", "{" + worker_ + R"(,"lanes":["mail"],"wait_ms":30000})");
    return text(reply.json.at("executions").at(0).at("handle"));
  }

  void submit_and_look() {
    first_ =
        create(R"({"lane":"mail","kind":"send","payload":{"to":"ada@example.com"},"tags":{"mail.campaign":"welcome"},)"
               R"("idempotency_key":"welcome-ada","policy":{"retry":{"max_retries":3}}})");
    post("/v1/executions/batch",
         R"({"executions":[{"lane":"mail","kind":"send","priority":-5,"payload":{"to":"bob@example.com"}},)"
         R"({"lane":"mail","kind":"send","priority":40000,"payload":{"to":"eve@example.com"}}]})");
    get("/v1/executions?lane=mail&state=waiting&limit=1");
    get(path_of(first_) + "/explain");
  }

  // The server reads its event log now and then, so what it shows comes a moment later.
  void watch() {
    const std::string path = "/v1/overview?namespace=default";
    TestClient other(server_.url());
    while (other.get(path).json.at("samples").at(0).at("created").to_number<int>() < 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    recorder_.send("GET", path);
  }

  void work() {
    const std::string held = claim();
    get(path_of(first_));
    get(path_of(first_) + "/state");
    get(path_of(first_) + "/payload");
    post("/v1/leases/progress", with_handle(held, R"(,"percent":50,"message":"connected")"));
    post("/v1/leases/renew", R"({"handles":[")" + held + R"(",")" + made_up_handle + R"("]})");
    post("/v1/leases/steps",
         with_handle(held, R"(,"position":1,"name":"connect","duration_ms":120,"result":{"server":"mx1"})"));
    post("/v1/leases/checkpoint", with_handle(held, R"(,"checkpoint":{"recipients":17})"));
    get(path_of(first_) + "/steps");
    post("/v1/leases/tags", with_handle(held, R"(,"set":{"mail.server":"mx1"})"));
    post("/v1/leases/fail", with_handle(held, R"(,"category":"smtp","message":"greylisted","retryable":"force")"));
    get(path_of(first_) + "/attempts");
    const std::string second = claim();
    post("/v1/leases/complete", with_handle(second, R"(,"result":{"sent":true})"));
    get("/v1/events?cursor=earliest&type=completed");
    get(path_of(text(client_.get("/v1/executions?state=completed").json.at("executions").at(0).at("execution_id"))) +
        "/result?wait_ms=30000");
    put_off_and_give_up();
  }

  void put_off_and_give_up() {
    const std::string later = create(R"({"lane":"mail","kind":"send"})");
    post("/v1/leases/release", with_handle(claim()));
    post("/v1/leases/delay", with_handle(claim(), R"(,"delay_ms":0)"));
    create(R"({"lane":"mail","kind":"send"})");
    post("/v1/leases/cancel", with_handle(claim(), R"(,"reason":"the address is gone")"));
    create(R"({"lane":"mail","kind":"send"})");
    const std::string one = claim();
    create(R"({"lane":"mail","kind":"send"})");
    const std::string other = claim();
    post("/v1/completions", R"({"completions":[{"handle":")" + one + R"(","complete":{"result":{"sent":true}}},)" +
                                R"({"handle":")" + other +
                                R"(","fail":{"category":"smtp","message":"no such user"}}]})");
    post(path_of(later) + "/cancel", R"({"reason":"sent by hand"})");
    get(path_of(later) + "/history");
    ended_ = later;
  }

  // Two nodes, one behind the other.
  void run_a_flow() {
    const std::string flow =
        "/v1/flows/" +
        text(post("/v1/flows", R"({"kind":"media","nodes":[{"name":"fetch","kind":"fetch","lane":"media"},)"
                               R"({"name":"resize","kind":"resize","lane":"media"}],)"
                               R"("edges":[{"from":"fetch","to":"resize"}]})")
                 .json.at("flow_id"));
    get("/v1/flows?kind=media&state=running&limit=1");
    get(flow + "/nodes");
    get(flow + "/edges");
    get(flow + "/graph?format=mermaid");
    const auto claim_node = [&] {
      return client_.post("/v1/claims", "{" + worker_ + R"(,"lanes":["media"],"wait_ms":30000})")
          .json.at("executions")
          .at(0)
          .as_object();
    };
    const auto fetch = claim_node();
    get(flow);
    client_.post("/v1/leases/complete", with_handle(text(fetch.at("handle")), R"(,"result":{"bytes":4711})"));
    const auto resize = claim_node();
    get(path_of(text(resize.at("execution_id"))) + "/inputs");
    client_.post("/v1/leases/complete", with_handle(text(resize.at("handle")), R"(,"result":{"width":640})"));
    TestClient(server_.url()).get(flow + "/result?wait_ms=30000");  // the flow ends before the time of the next call
    get(flow + "/result?wait_ms=30000");
    get(flow + "/history");
    post(flow + "/replay", R"({"node":"resize","reason":"the size was wrong"})");
    const auto again = claim_node();
    client_.post("/v1/leases/complete", with_handle(text(again.at("handle")), R"(,"result":{"width":800})"));
    TestClient(server_.url()).get(flow + "/result?wait_ms=30000");
    const std::string other =
        "/v1/flows/" + text(client_
                                .post("/v1/flows", R"({"kind":"media","nodes":[)"
                                                   R"({"name":"fetch","kind":"fetch","lane":"media"}]})")
                                .json.at("flow_id"));
    grow_a_flow();
    post(other + "/cancel", R"({"policy":"cancel_all","reason":"not needed any more"})");
    client_.get(other + "/result?wait_ms=30000");
  }

  void grow_a_flow() {
    const std::string open =
        "/v1/flows/" + text(client_.post("/v1/flows", R"({"kind":"media","open":true})").json.at("flow_id"));
    post(open + "/nodes", R"({"nodes":[{"name":"split","kind":"split","lane":"parts"}]})");
    post(open + "/seal", R"({"reason":"that is all"})");
    const std::string split = text(client_.post("/v1/claims", "{" + worker_ + R"(,"lanes":["parts"],"wait_ms":30000})")
                                       .json.at("executions")
                                       .at(0)
                                       .at("handle"));
    post("/v1/leases/extend", with_handle(split, R"(,"nodes":[{"name":"part","kind":"part","lane":"parts"}],)"
                                                 R"("edges":[{"from":"part","to":"split","kind":"join"}])"));
    post("/v1/leases/join", with_handle(split, R"(,"names":["part"])"));
    TestClient(server_.url()).post(open + "/cancel");  // the example of this route is another call
    client_.get(open + "/result?wait_ms=30000");
  }

  // An order that waits for its payment, first ahead of the wait.
  void wait_for_signals() {
    const std::string order =
        text(client_.post("/v1/executions", R"({"lane":"orders","kind":"order"})").json.at("execution_id"));
    const std::string held = claim_order();
    post("/v1/leases/waitpoints", with_handle(held, R"(,"name":"paid")"));
    post("/v1/leases/suspend",
         with_handle(held, R"(,"waitpoints":[{"name":"paid"}],"timeout_ms":86400000,"on_timeout":"cancel",)"
                           R"("reason":"the payment")"));
    get(path_of(order) + "/waits");
    get("/v1/waits?namespace=default");
    const Reply token =
        post(path_of(order) + "/waitpoints/paid/reissue", R"({"source":"bank","token_ttl_ms":3600000})");
    post("/v1/signals", R"({"token":")" + text(token.json.at("token")) +
                            R"(","name":"received","payload":{"amount":42},"idempotency_key":"payment-17"})");
    const std::string again = claim_order();
    client_.post("/v1/leases/waitpoints", with_handle(again, R"(,"name":"returned")"));
    post(path_of(order) + "/waitpoints/returned/close", R"({"reason":"no returns"})");
    client_.post("/v1/leases/suspend", with_handle(again, R"(,"waitpoints":[{"name":"packed"}])"));
    post("/v1/executions/bulk/signal", R"({"waitpoint":"packed","filter":{"lane":"orders"},"dry_run":true})");
    post(path_of(order) + "/signals", R"({"waitpoint":"packed","source":"warehouse","payload":{"parcels":2}})");
    client_.post("/v1/leases/suspend", with_handle(claim_order(), R"(,"waitpoints":[{"name":"delivered"}])"));
    post(path_of(order) + "/resume", R"({"reason":"delivered by hand"})");
    client_.post("/v1/leases/complete", with_handle(claim_order()));
  }

  void decide() {
    const std::string order =
        text(client_.post("/v1/executions", R"({"lane":"orders","kind":"refund"})").json.at("execution_id"));
    client_.post(
        "/v1/leases/suspend",
        with_handle(claim_order(), R"(,"waitpoints":[{"name":"refund","approval":{"title":"Refund 42 EUR?"}}])"));
    post(path_of(order) + "/approvals/refund/decide",
         R"({"decision":"approve","comment":"a good customer","actor":"ada"})");
    client_.post("/v1/leases/complete", with_handle(claim_order()));
  }

  std::string claim_order() {
    const Reply reply = client_.post("/v1/claims", "{" + worker_ + R"(,"lanes":["orders"],"wait_ms":30000})");
    return text(reply.json.at("executions").at(0).at("handle"));
  }

  void take_webhooks() {
    post("/v1/hooks", R"({"name":"pushes","scheme":"github","action":"create","kind":"build","lane":"ci"})");
    get("/v1/hooks");
    const std::string secret = "a secret that both know";
    post("/v1/hooks/pushes/rotate", R"({"secret":")" + secret + R"(","grace_ms":86400000})");
    const std::string body = R"({"ref":"refs/heads/main"})";
    const Reply received = recorder_.send("POST", "/v1/hooks/pushes", body,
                                          {{"X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
                                           {"X-Hub-Signature-256", "sha256=" + to_hex(Signer(secret).sign(body))}});
    EXPECT_EQ(received.status, 200) << received.body;
    send("DELETE", "/v1/hooks/pushes");
  }

  void keep_a_schedule() {
    const std::string one = "/v1/schedules/nightly-report";
    const std::string execution = R"("execution":{"kind":"report","lane":"reports"})";
    post("/v1/schedules",
         R"({"name":"nightly-report","cron":"30 2 * * *","time_zone":"Europe/Berlin",)" + execution + "}");
    send("PUT", one,
         R"({"cron":"30 2 * * MON-FRI","time_zone":"Europe/Berlin","overlap":"buffer_one",)" + execution + "}");
    get("/v1/schedules?state=active");
    get(one + "/next?count=3");
    post(one + "/trigger", R"({"idempotency_key":"before the audit"})");
    post(one + "/backfill", R"({"from":1767052800000,"to":1767225600000})");
    post(one + "/pause", R"({"reason":"the numbers are wrong"})");
    get(one);
    post(one + "/resume");
    get(one + "/history");
    send("DELETE", one + "?reason=done");
  }

  // After everything else: nothing else is under limits.
  void keep_limits() {
    const std::string one = "/v1/limits/api-calls";
    send("PUT", one, R"({"lane":"api","per":["tags.app.customer"],"concurrency":1,"expected_revision":0})");
    client_.put("/v1/limits/mails", R"({"lane":"mail","rate":{"count":100,"period_ms":60000}})");
    for (int i = 0; i < 2; ++i) {
      client_.post("/v1/executions", R"({"kind":"call","lane":"api","tags":{"app.customer":"acme"}})");
    }
    client_.post("/v1/claims",
                 R"({"worker_id":"caller","worker_instance_id":"caller-1","lanes":["api"],"max_executions":2})");
    get("/v1/limits");
    get(one);
    post("/v1/limits/check", R"({"lane":"api","kind":"call","tags":{"app.customer":"acme"}})");
    send("DELETE", one + "?reason=the%20service%20has%20grown");
    keep_budget();
  }

  void keep_budget() {
    client_.put("/v1/limits/tokens",
                R"({"lane":"agents","budget":{"dimensions":[{"name":"tokens","hard":1000,"soft":800,)"
                R"("reserve":200}],"period":"1d"}})");
    client_.post("/v1/executions", R"({"kind":"agent","lane":"agents"})");
    // The other worker is dead by now.
    const Reply claimed =
        client_.post("/v1/claims", R"({"worker_id":"agent","worker_instance_id":"agent-1","lanes":["agents"]})");
    const std::string handle = text(claimed.json.at("executions").at(0).at("handle"));
    post("/v1/leases/spend", R"({"handle":")" + handle + R"(","amounts":{"tokens":850},"key":"call-17"})");
    post("/v1/limits/tokens/budget", R"({"change":"adjust","amounts":{"tokens":-50},"reason":"a refund"})");
  }

  // They are paused while they are shown, so that the clock changes nothing meanwhile.
  void redrive() {
    client_.post("/v1/executions", R"({"kind":"letter","lane":"letters"})");
    const Reply claimed =
        client_.post("/v1/claims", R"({"worker_id":"printer","worker_instance_id":"printer-2","lanes":["letters"]})");
    const std::string handle = text(claimed.json.at("executions").at(0).at("handle"));
    client_.post("/v1/leases/fail", with_handle(handle, R"(,"category":"paper","message":"tray 2 is empty")"));
    const auto groups = get("/v1/dead-letters").json.at("groups").as_array();
    const std::string fingerprint = text(groups.at(0).at("fingerprint"));
    get("/v1/dead-letters/" + fingerprint);
    const std::string one =
        "/v1/redrives/" +
        text(post("/v1/redrives", R"({"fingerprints":[")" + fingerprint +
                                      R"("],"rate":"100/1m","paused":true,"reason":"the server is back"})")
                 .json.at("redrive_id"));
    get(one);
    get("/v1/redrives?state=paused");
    post(one + "/pause", R"({"reason":"one thing is to be checked first"})");
    const std::string other =
        "/v1/redrives/" + text(client_.post("/v1/redrives", R"({"all":true,"paused":true})").json.at("redrive_id"));
    post(other + "/cancel", R"({"reason":"not all of them"})");
    post(one + "/resume");
  }

  void operate() {
    post(path_of(ended_) + "/replay", R"({"reason":"it was not sent after all"})");
    send("PUT", path_of(ended_) + "/priority", R"({"priority":10,"reason":"urgent"})");
    send("PATCH", path_of(ended_) + "/tags", R"({"set":{"mail.team":"growth"},"remove":["mail.campaign"]})");
    get(path_of(ended_) + "/tags");
    post("/v1/leases/complete", with_handle(claim(), R"(,"result":{"sent":true})"));
    get(path_of(ended_) + "/attempts/1/result");
    post("/v1/executions/bulk", R"({"action":"cancel","filter":{"lane":"mail"},"dry_run":true})");
  }

  void manage_the_fleet() {
    post("/v1/workers", "{" + worker_ + R"(,"lanes":["mail"],"capabilities":["smtp"]})");
    create(R"({"lane":"mail","kind":"send"})");
    const std::string held = claim();
    post("/v1/workers/heartbeat", R"({"worker_instance_id":"mailer-1","leases":[")" + held + R"("]})");
    recorder_.send("GET", "/v1/workers/mailer-1/leases");
    // The leases of a dead worker are released a little later; this one would make the counts below random.
    post("/v1/leases/complete", with_handle(held));
    get("/v1/workers?lane=mail");
    post("/v1/workers/mailer-1/drain", R"({"reason":"new version"})");
    post("/v1/workers/mailer-1/mark-dead", R"({"reason":"its machine burnt"})");
  }

  void reserve() {
    const std::string wanted = create(R"({"lane":"print","kind":"page","policy":{"on_lease_lost":"manual"}})");
    const std::string printer = R"("worker_id":"printer","worker_instance_id":"printer-1")";
    const std::string request = R"({"execution_id":")" + wanted + "\"," + printer;
    const auto grant = post("/v1/claim-grants", request + "}").json;
    const auto redeeming = [&](const json::value& of) {
      return request + R"(,"grant_key":")" + text(of.at("grant_key")) + "\"}";
    };
    post("/v1/claim-grants/redeem", redeeming(grant));
    post(path_of(wanted) + "/revoke-lease", R"({"reason":"the printer is jammed"})");
    get("/v1/leases/expired");
    const auto again = post("/v1/reclaim-grants", request + "}").json;
    post("/v1/reclaim-grants/redeem", redeeming(again.at("grant")));
    create(R"({"lane":"print","kind":"page"})");
    post("/v1/claim-grants/next", "{" + printer + R"(,"lane":"print"})");
  }

  void care() {
    send("PUT", "/v1/lanes/mail", R"({"state":"paused","reason":"the mail server is down"})");
    get("/v1/lanes");
    get("/v1/lanes/mail");
    get("/v1/counts");
    send("PUT", "/v1/namespaces/default", R"({"retention":{"completed_ms":86400000,"failed_ms":2592000000}})");
    get("/v1/namespaces/default");
    get("/v1/namespaces");
    post("/v1/signing-keys/rotate", R"({"grace_ms":3600000,"reason":"quarterly"})");
    get("/v1/signing-keys");
    post("/v1/api-keys", R"({"name":"mailer","role":"worker"})");
    get("/v1/api-keys");
    send("DELETE", "/v1/api-keys/mailer");
    get("/v1/whoami");
    sign_in();
    post("/v1/retention/run", R"({"older_than_ms":0,"lane":"mail"})");
  }

  // On a server that requires keys, which this one does not.
  void sign_in() {
    const std::string secret = server_.engine().create_api_key({"ada", ApiRole::operating, {}, 0}).value().secret;
    api::ApiOptions options = served_as("sqlite");
    options.port = 0;
    options.api_keys = true;
    const auto with_keys = api::ApiServer::start(server_.engine(), options).value();
    TestClient client(with_keys->url());
    ExampleRecorder recorder(client);
    recorder.send("POST", "/v1/session", R"({"api_key":")" + secret + "\"}");
    recorder.send("DELETE", "/v1/session");
    recorder.send("GET", "/v1/session");
    for (const auto& [operation, example] : recorder.examples()) recorder_.add(operation, example);
  }

  static api::ApiOptions served_as(const std::string& store_kind) {
    api::ApiOptions options;
    options.dashboard.store_kind = store_kind;
    return options;
  }

  const std::string worker_ = R"("worker_id":"mailer","worker_instance_id":"mailer-1")";
  test::ManualClock clock_{new_year_us};
  TestServer server_{engine_with(clock_), served_as("sqlite")};
  TestClient client_{server_.url()};
  ExampleRecorder recorder_{client_};
  std::string first_;
  std::string ended_;
};

std::string content_of(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

std::vector<std::string> lines_of(const std::string& words) {
  std::vector<std::string> lines;
  std::istringstream in(words);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Docs, TheApiReferenceIsWhatTheRoutesSayAndTheServerAnswers) {
  Tour tour;
  tour.run();
  for (const api::Route& route : api::all_routes()) {
    const std::string operation = route.method + " " + route.pattern;
    EXPECT_TRUE(tour.recorder().examples().contains(operation)) << operation << " has no example";
  }
  const std::string now = render_api_reference(tour.client().openapi(), tour.recorder().examples(), tour.refusal());
  const std::string path = FF_SOURCE_DIR "/docs/http-api.md";
  if (std::getenv("FF_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << now;
    return;
  }
  const auto wanted = lines_of(now);
  const auto found = lines_of(content_of(path));
  std::size_t at = 0;
  while (at < wanted.size() && at < found.size() && wanted[at] == found[at]) ++at;
  ASSERT_TRUE(at == wanted.size() && at == found.size())
      << "docs/http-api.md is not up to date; ./dev docs writes it. Line " << at + 1 << " should be\n"
      << (at < wanted.size() ? wanted[at] : "the end") << "\nand is\n"
      << (at < found.size() ? found[at] : "the end");
}

}  // namespace
}  // namespace flowfabric::e2e
