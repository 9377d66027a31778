// Waits, signals and approvals through HTTP: every route with good and bad requests, who may do what, and attacks on tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <boost/json/serialize.hpp>

#include "e2e/support/test_client.hpp"
#include "engine/engine_impl.hpp"
#include "open/open.hpp"
#include "support/manual_clock.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;

constexpr int forbidden_status = 403;

std::unique_ptr<Engine> engine_on(const test::ManualClock& clock) {
  StoreOptions options;
  options.now_us = clock.source();
  return start_engine(open_store("memory:", std::move(options)).value(), {}).value();
}

std::string in_quotes(const std::string& value) { return json::serialize(json::value(value)); }

// An execution that was suspended, and the tokens of its waitpoints.
struct Suspended {
  std::string id;
  std::vector<std::string> tokens;
};

constexpr const char* one_waitpoint = R"("waitpoints":[{"name":"paid"}])";
constexpr const char* one_approval =
    R"("waitpoints":[{"name":"approve","approval":{"title":"Ship it?","context":{"total":42}}}])";

class WaitsApi : public testing::Test {
 protected:
  explicit WaitsApi(const api::ApiOptions& options = {}) : server(engine_on(clock), options), client(server.url()) {}

  // As the caller of `secret`; without one if it is empty.
  Reply call(const std::string& secret, const std::string& method, const std::string& target,
             const std::string& body = {}) {
    return client.send(method, target, body,
                       secret.empty() ? net::Headers{} : net::Headers{{"Authorization", "Bearer " + secret}});
  }
  Reply get(const std::string& target) { return call(secret_, "GET", target); }
  Reply post(const std::string& target, const std::string& body = {}) { return call(secret_, "POST", target, body); }

  std::string create(const std::string& name_space = "default") {
    const Reply reply = post("/v1/executions", R"({"kind":"k","namespace":)" + in_quotes(name_space) + "}");
    EXPECT_EQ(reply.status, 201) << reply.body;
    return text(reply.json.at("execution_id"));
  }
  json::value claim() {
    const Reply reply = post("/v1/claims", R"({"worker_id":"w","worker_instance_id":"w-1"})");
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.json.at("executions").as_array().size(), 1u) << reply.body;
    return reply.json.at("executions").at(0);
  }
  Reply suspend_with(const std::string& handle, const std::string& how) {
    return post("/v1/leases/suspend", R"({"handle":)" + in_quotes(handle) + "," + how + "}");
  }
  Suspended suspended(const std::string& how = one_waitpoint, const std::string& name_space = "default") {
    Suspended made{create(name_space), {}};
    const Reply reply = suspend_with(text(claim().at("handle")), how);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_TRUE(reply.json.at("suspended").as_bool()) << reply.body;
    for (const json::value& token : reply.json.at("tokens").as_array()) made.tokens.push_back(text(token.at("token")));
    return made;
  }
  Reply signal(const std::string& id, const std::string& body) { return post(path_of(id) + "/signals", body); }
  // Without any key.
  Reply send_by(const std::string& token, const std::string& more = {}) {
    return client.post("/v1/signals", R"({"token":)" + in_quotes(token) + more + "}");
  }
  std::string state(const std::string& id) { return text(get(path_of(id) + "/state").json.at("public_state")); }
  json::value waits(const std::string& id) { return get(path_of(id) + "/waits").json; }
  // All that could have changed.
  std::string trace_of(const std::string& id) {
    return get(path_of(id)).body + get(path_of(id) + "/waits").body + get(path_of(id) + "/history").body;
  }
  void refuses(const Reply& reply, int status, const std::string& code, const std::string& field) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(reply.code(), code) << reply.body;
    EXPECT_EQ(reply.field(), field) << reply.body;
  }

  test::ManualClock clock;
  TestServer server;
  TestClient client;
  std::string secret_;
};

// ---------------------------------------------------------------- the routes

TEST_F(WaitsApi, ASignalEndsTheWaitAndTheClaimHasIt) {
  const Suspended one = suspended();
  EXPECT_EQ(state(one.id), "suspended");
  const json::value waiting = waits(one.id);
  EXPECT_EQ(text(waiting.at("waitpoints").at(0).at("name")), "paid");
  EXPECT_TRUE(waiting.at("waitpoints").at(0).at("waited_for").as_bool());

  const Reply sent = signal(one.id, R"({"waitpoint":"paid","payload":{"amount":42},"source":"bank"})");
  EXPECT_EQ(sent.status, 200) << sent.body;
  EXPECT_EQ(text(sent.json.at("effect")), "resumed");
  EXPECT_FALSE(sent.json.at("duplicate").as_bool());
  const json::value outcome = claim().at("last_wait");
  EXPECT_EQ(text(outcome.at("cause")), "signals");
  EXPECT_EQ(json::serialize(outcome.at("signals").at(0).at("payload")), R"({"amount":42})");
  EXPECT_EQ(text(outcome.at("signals").at(0).at("source")), "bank");
}

TEST_F(WaitsApi, SuspendingIsRefusedByField) {
  create();
  const std::string handle = text(claim().at("handle"));
  refuses(suspend_with(handle, R"("waitpoints":[])"), 400, "invalid_argument", "waitpoints");
  refuses(suspend_with(handle, R"("waitpoints":[{"name":".."}])"), 400, "invalid_argument", "waitpoints[0].name");
  refuses(suspend_with(handle, R"("waitpoints":[{"name":"a"}],"on_timeout":"wait")"), 400, "invalid_argument",
          "on_timeout");
  refuses(suspend_with(handle, R"("waitpoints":[{"name":"a"}],"condition":{"signal":{"waitpoint":"b"}})"), 400,
          "invalid_argument", "condition.signal.waitpoint");
  refuses(suspend_with("nonsense", one_waitpoint), 400, "invalid_handle", "handle");
  refuses(post("/v1/leases/suspend", "{}"), 400, "invalid_argument", "handle");
  refuses(post("/v1/leases/waitpoints", R"({"handle":)" + in_quotes(handle) + "}"), 400, "invalid_argument", "name");
  refuses(post("/v1/leases/waitpoints", R"({"handle":)" + in_quotes(handle) + R"(,"name":""})"), 400,
          "invalid_argument", "name");
}

TEST_F(WaitsApi, AWaitpointIsOpenedAheadAndItsTokenWorksBeforeTheWait) {
  const std::string id = create();
  const std::string handle = text(claim().at("handle"));
  const Reply opened = post("/v1/leases/waitpoints", R"({"handle":)" + in_quotes(handle) + R"(,"name":"paid"})");
  ASSERT_EQ(opened.status, 200) << opened.body;
  EXPECT_EQ(opened.headers.find("cache-control"), "no-store");
  const std::string token = text(opened.json.at("token"));
  EXPECT_EQ(text(send_by(token).json.at("effect")), "kept");
  const Reply suspended = suspend_with(handle, one_waitpoint);
  ASSERT_EQ(suspended.status, 200) << suspended.body;
  EXPECT_FALSE(suspended.json.at("suspended").as_bool()) << "the signal was there already";
  EXPECT_EQ(suspended.json.at("outcome").at("signals").as_array().size(), 1u);
  EXPECT_EQ(state(id), "active");
}

TEST_F(WaitsApi, RepliesWithTokensAreKeptByNoCache) {
  create();
  const Reply suspended = suspend_with(text(claim().at("handle")), one_waitpoint);
  EXPECT_EQ(suspended.headers.find("cache-control"), "no-store");
  const Suspended other = this->suspended();
  const Reply reissued = post(path_of(other.id) + "/waitpoints/paid/reissue");
  EXPECT_EQ(reissued.status, 200) << reissued.body;
  EXPECT_EQ(reissued.headers.find("cache-control"), "no-store");
  EXPECT_EQ(get(path_of(other.id) + "/waits").headers.find("cache-control"), std::nullopt);
}

TEST_F(WaitsApi, SignalsAreRefusedByField) {
  const Suspended one = suspended();
  const std::string before = trace_of(one.id);
  refuses(signal(one.id, "{}"), 400, "invalid_argument", "waitpoint");
  refuses(signal(one.id, R"({"waitpoint":""})"), 400, "invalid_argument", "waitpoint");
  refuses(signal(one.id, R"({"waitpoint":"paid","payload":1,"payload_base64":"AA=="})"), 400, "invalid_argument",
          "payload_base64");
  refuses(signal(one.id, R"({"waitpoint":"paid","name":"a\u0000b"})"), 400, "invalid_argument", "name");
  refuses(signal(one.id, R"({"waitpoint":"paid","source":)" + in_quotes(std::string(5000, 's')) + "}"), 400,
          "invalid_argument", "source");
  refuses(signal(one.id, R"({"waitpoint":"paid","token":"x"})"), 400, "invalid_argument", "token");
  refuses(signal("fp7-01890000-0000-7000-8000-000000000001", R"({"waitpoint":"paid"})"), 404, "not_found",
          "execution_id");
  refuses(signal("nonsense", R"({"waitpoint":"paid"})"), 400, "invalid_argument", "execution_id");
  refuses(client.post("/v1/signals", "{}"), 400, "invalid_argument", "token");
  refuses(send_by(one.tokens[0], R"(,"waitpoint":"other")"), 400, "invalid_argument", "waitpoint");
  EXPECT_EQ(trace_of(one.id), before);
}

TEST_F(WaitsApi, TheIdempotencyKeyOfASignalMayBeAHeader) {
  const Suspended one = suspended(R"("waitpoints":[{"name":"a"},{"name":"b"}])");
  const net::Headers key = {{"Idempotency-Key", "once"}};
  const auto send = [&](const std::string& body) {
    return client.send("POST", path_of(one.id) + "/signals", body, key);
  };
  EXPECT_EQ(text(send(R"({"waitpoint":"a"})").json.at("effect")), "accepted");
  const Reply again = send(R"({"waitpoint":"a"})");
  EXPECT_TRUE(again.json.at("duplicate").as_bool()) << again.body;
  EXPECT_TRUE(signal(one.id, R"({"waitpoint":"a","idempotency_key":"once"})").json.at("duplicate").as_bool());
  refuses(send(R"({"waitpoint":"a","idempotency_key":"twice"})"), 400, "invalid_argument", "idempotency_key");
  refuses(client.send("POST", path_of(one.id) + "/signals", R"({"waitpoint":"a"})", {{"Idempotency-Key", ""}}), 400,
          "invalid_argument", "idempotency-key");
  EXPECT_EQ(waits(one.id).at("signals").as_array().size(), 1u);

  const std::string by_token = R"({"token":)" + in_quotes(one.tokens[1]) + "}";
  EXPECT_EQ(text(client.send("POST", "/v1/signals", by_token, key).json.at("effect")), "resumed");
  EXPECT_TRUE(client.send("POST", "/v1/signals", by_token, key).json.at("duplicate").as_bool());
}

TEST_F(WaitsApi, PeopleDecide) {
  const Suspended one = suspended(
      R"("waitpoints":[{"name":"release / EU","approval":{"title":"Ship it?","approvers":["ada","bob"],"needed":2}}])");
  const std::string decide = path_of(one.id) + "/approvals/release%20%2F%20EU/decide";
  refuses(post(decide, R"({"decision":"maybe","actor":"ada"})"), 400, "invalid_argument", "decision");
  refuses(post(decide, R"({"actor":"ada"})"), 400, "invalid_argument", "decision");
  refuses(post(decide, R"({"decision":"approve"})"), 400, "invalid_argument", "actor");
  refuses(post(decide, R"({"decision":"approve","actor":"eve"})"), forbidden_status, "permission_denied", "source");
  refuses(post(path_of(one.id) + "/approvals/other/decide", R"({"decision":"approve","actor":"ada"})"), 409,
          "waitpoint_closed", "waitpoint");
  const Reply first = post(decide, R"({"decision":"approve","actor":"ada","comment":"looks good"})");
  EXPECT_EQ(text(first.json.at("effect")), "accepted") << first.body;
  refuses(post(decide, R"({"decision":"reject","actor":"ada"})"), 409, "conflict", "source");
  const json::value decision = waits(one.id).at("waitpoints").at(0).at("approval").at("decisions").at(0);
  EXPECT_EQ(text(decision.at("actor")), "ada");
  EXPECT_EQ(text(decision.at("comment")), "looks good");
  EXPECT_EQ(text(post(decide, R"({"decision":"approve","actor":"bob"})").json.at("effect")), "resumed");
}

TEST_F(WaitsApi, TheInboxHasTheLongestWaitsFirst) {
  std::vector<std::string> ids;
  for (const char* how : {one_waitpoint, one_approval, one_waitpoint}) {
    ids.push_back(suspended(how, ids.size() == 2 ? "team" : "default").id);
    clock.advance_ms(1000);
  }
  const auto listed = [&](const std::string& query) {
    std::vector<std::string> found;
    const Reply page = get("/v1/waits" + query);
    EXPECT_EQ(page.status, 200) << page.body;
    for (const json::value& one : page.json.at("waits").as_array()) found.push_back(text(one.at("execution_id")));
    return found;
  };
  EXPECT_EQ(listed(""), ids);
  EXPECT_EQ(listed("?approvals=true"), std::vector{ids[1]});
  EXPECT_EQ(listed("?namespace=team"), std::vector{ids[2]});
  const Reply page = get("/v1/waits?limit=2");
  EXPECT_EQ(page.json.at("waits").as_array().size(), 2u);
  EXPECT_EQ(listed("?cursor=" + text(page.json.at("next_cursor"))), std::vector{ids[2]});
  refuses(get("/v1/waits?approvals=yes"), 400, "invalid_argument", "approvals");
  refuses(get("/v1/waits?cursor=nonsense"), 400, "invalid_argument", "cursor");
  refuses(get("/v1/waits?limit=0"), 400, "invalid_argument", "limit");
  refuses(get("/v1/executions/nonsense/waits"), 400, "invalid_argument", "execution_id");
}

TEST_F(WaitsApi, AnOperatorResumesClosesAndReissues) {
  const Suspended one = suspended();
  const std::string path = path_of(one.id);
  refuses(post(path + "/waitpoints/paid/close"), 409, "conflict", "waitpoint");
  refuses(post(path + "/waitpoints/other/close"), 404, "not_found", "waitpoint");
  refuses(post(path + "/waitpoints/other/reissue"), 404, "not_found", "waitpoint");
  refuses(post(path + "/waitpoints/paid/reissue", R"({"token_ttl_ms":0})"), 400, "invalid_argument", "token_ttl_ms");
  const Reply reissued = post(path + "/waitpoints/paid/reissue", R"({"source":"bank","token_ttl_ms":60000})");
  ASSERT_EQ(reissued.status, 200) << reissued.body;
  EXPECT_EQ(reissued.json.at("expires_at").as_int64(), clock.now_ms() + 60000);
  refuses(send_by(text(reissued.json.at("token")), R"(,"source":"eve")"), 400, "invalid_argument", "source");

  EXPECT_EQ(post(path + "/resume", R"({"reason":"paid by phone"})").body, "{}");
  refuses(post(path + "/resume"), 409, "conflict", "");
  const json::value outcome = claim().at("last_wait");
  EXPECT_EQ(text(outcome.at("cause")), "operator");
  EXPECT_EQ(text(outcome.at("by")), "local");
  EXPECT_EQ(text(outcome.at("reason")), "paid by phone");

  const Suspended other = suspended(R"("waitpoints":[{"name":"a"},{"name":"b"}],)"
                                    R"("condition":{"count":{"n":1,"of":[{}]}})");
  EXPECT_EQ(post(path_of(other.id) + "/waitpoints/a/close", R"({"reason":"unused"})").body, "{}");
  refuses(send_by(other.tokens[0]), 409, "waitpoint_closed", "waitpoint");
  EXPECT_EQ(text(send_by(other.tokens[1]).json.at("effect")), "resumed");
}

// ---------------------------------------------------------------- many at a time

TEST_F(WaitsApi, ManyAreSignalledByAFilterAfterADryRun) {
  std::vector<std::string> ids;
  ids.reserve(3);
  for (int i = 0; i < 3; ++i) ids.push_back(suspended().id);
  const std::string running = create();
  const std::string filter = R"("waitpoint":"paid","idempotency_key":"all","filter":{"kind":"k"})";
  const Reply dry = post("/v1/executions/bulk/signal", "{" + filter + R"(,"dry_run":true})");
  EXPECT_EQ(dry.json.at("matched").as_int64(), 3) << dry.body;
  for (const std::string& id : ids) EXPECT_EQ(state(id), "suspended");

  std::string cursor;
  std::int64_t changed = 0;
  do {
    const Reply page =
        post("/v1/executions/bulk/signal", "{" + filter + R"(,"limit":2,"cursor":)" + in_quotes(cursor) + "}");
    ASSERT_EQ(page.status, 200) << page.body;
    for (const json::value& result : page.json.at("results").as_array()) {
      EXPECT_EQ(text(result.at("signal").at("effect")), "resumed");
    }
    changed += page.json.at("changed").as_int64();
    cursor = page.json.at("done").as_bool() ? "" : text(page.json.at("next_cursor"));
  } while (!cursor.empty());
  EXPECT_EQ(changed, 3);
  for (const std::string& id : ids) EXPECT_EQ(state(id), "resumable");
  EXPECT_TRUE(waits(running).at("signals").as_array().empty()) << "it is not suspended";
}

TEST_F(WaitsApi, ABulkSignalByIdsTellsOfEach) {
  const Suspended one = suspended();
  const std::string ended = create();
  EXPECT_EQ(post(path_of(ended) + "/cancel").status, 200);
  const std::string body =
      R"({"waitpoint":"paid","idempotency_key":"x","ids":[)" + in_quotes(one.id) + "," + in_quotes(ended) + "]}";
  const Reply first = post("/v1/executions/bulk/signal", body);
  EXPECT_EQ(first.json.at("changed").as_int64(), 1) << first.body;
  EXPECT_EQ(text(first.json.at("failures").at(0).at("error").at("code")), "already_terminal");
  const Reply again = post("/v1/executions/bulk/signal", body);
  EXPECT_EQ(again.json.at("unchanged").as_int64(), 1) << again.body;
  EXPECT_TRUE(again.json.at("results").at(0).at("signal").at("duplicate").as_bool());

  refuses(post("/v1/executions/bulk/signal", R"({"waitpoint":"paid"})"), 400, "invalid_argument", "filter");
  refuses(post("/v1/executions/bulk/signal", R"({"filter":{"kind":"k"}})"), 400, "invalid_argument", "waitpoint");
  refuses(post("/v1/executions/bulk/signal", R"({"waitpoint":"paid","filter":{}})"), 400, "invalid_argument", "filter");
  refuses(post("/v1/executions/bulk/signal", R"({"waitpoint":"paid","filter":{"states":["completed"]}})"), 400,
          "invalid_argument", "filter.states");
  refuses(post("/v1/executions/bulk", R"({"action":"signal","ids":[]})"), 400, "invalid_argument", "action");
}

// ---------------------------------------------------------------- attacks on tokens

class Tokens : public WaitsApi {
 protected:
  // Both are at their first waitpoint, so only the execution tells their tokens apart.
  const Suspended one = suspended();
  const Suspended other = suspended();
  const std::string& token() const { return one.tokens[0]; }

  // What every token that is not accepted is answered.
  void is_refused_like_nonsense(const std::string& bad, const std::string& what) {
    const std::string before = trace_of(one.id) + trace_of(other.id);
    const Reply nonsense = send_by("nonsense");
    refuses(nonsense, forbidden_status, "invalid_token", "token");
    const Reply reply = send_by(bad);
    EXPECT_EQ(reply.status, nonsense.status) << what;
    EXPECT_EQ(reply.body, nonsense.body) << what;
    EXPECT_EQ(send_by(bad, R"(,"idempotency_key":"k")").body, nonsense.body) << what;
    EXPECT_EQ(trace_of(one.id) + trace_of(other.id), before) << what;
  }
};

TEST_F(Tokens, ForgedAndDamagedOnesAreAllAnsweredAlike) {
  is_refused_like_nonsense("", "empty");
  is_refused_like_nonsense(std::string(100000, 'A'), "very long");
  is_refused_like_nonsense(token() + "A", "longer");
  for (std::size_t length = 0; length < token().size(); length += 7) {
    is_refused_like_nonsense(token().substr(0, length), "truncated");
  }
  for (std::size_t at = 0; at < token().size(); at += 3) {
    std::string flipped = token();
    flipped[at] = flipped[at] == 'A' ? 'B' : 'A';
    is_refused_like_nonsense(flipped, "flipped at " + std::to_string(at));
  }
  EXPECT_EQ(text(send_by(token()).json.at("effect")), "resumed") << "the real one still works";
}

TEST_F(Tokens, OneExecutionCannotBeSignalledWithTheTokenOfAnother) {
  const std::string& theirs = other.tokens[0];
  // Their lengths may differ by the length of the partition.
  for (std::size_t left = 8; left < std::min(theirs.size(), token().size()); left += 8) {
    const std::string spliced = token().substr(0, token().size() - left) + theirs.substr(theirs.size() - left);
    if (spliced != token() && spliced != theirs) {
      is_refused_like_nonsense(spliced, "spliced " + std::to_string(left) + " before the end");
    }
  }
  EXPECT_EQ(text(send_by(theirs).json.at("execution_id")), other.id);
  EXPECT_EQ(state(one.id), "suspended");
}

TEST_F(Tokens, OtherSignedTextsAreNoTokens) {
  create();
  is_refused_like_nonsense(text(claim().at("handle")), "a handle");
  create();
  const Reply grant = post("/v1/claim-grants/next", R"({"worker_id":"w","worker_instance_id":"w-1"})");
  is_refused_like_nonsense(text(grant.json.at("grant").at("grant_key")), "a grant key");
  EXPECT_EQ(suspend_with(token(), one_waitpoint).code(), "invalid_handle") << "and a token is no handle";
}

TEST_F(Tokens, ThoseOfAnotherStoreAreRefused) {
  class Elsewhere : public WaitsApi {
   public:
    void TestBody() override {}
    std::string token_there() { return suspended().tokens[0]; }
  };
  is_refused_like_nonsense(Elsewhere().token_there(), "signed with a foreign key");
}

TEST_F(Tokens, ExpiredOnesAreRefused) {
  const Suspended brief = suspended(R"("waitpoints":[{"name":"paid","token_ttl_ms":1000}])");
  clock.advance_ms(999);
  const Reply early = send_by(brief.tokens[0], R"(,"waitpoint":"other")");
  EXPECT_EQ(early.field(), "waitpoint") << "it is still known";
  clock.advance_ms(1);
  const std::string before = trace_of(brief.id);
  is_refused_like_nonsense(brief.tokens[0], "expired");
  EXPECT_EQ(trace_of(brief.id), before);
}

TEST_F(Tokens, RevokedOnesAreRefused) {
  const Reply renewed = post(path_of(one.id) + "/waitpoints/paid/reissue", R"({"revoke_earlier":true})");
  is_refused_like_nonsense(token(), "revoked");
  EXPECT_EQ(text(send_by(text(renewed.json.at("token"))).json.at("effect")), "resumed");
}

TEST_F(Tokens, ARotationWithoutGraceEndsThem) {
  ASSERT_EQ(post("/v1/signing-keys/rotate", R"({"grace_ms":0})").status, 200);
  clock.advance_ms(1);
  is_refused_like_nonsense(token(), "signed with a key that is not accepted any more");
  const Reply renewed = post(path_of(one.id) + "/waitpoints/paid/reissue");
  EXPECT_EQ(text(send_by(text(renewed.json.at("token"))).json.at("effect")), "resumed");
}

TEST_F(Tokens, ThoseOfARemovedExecutionAreRefused) {
  const Suspended gone = suspended();
  EXPECT_EQ(post(path_of(gone.id) + "/cancel").status, 200);
  EXPECT_EQ(post("/v1/retention/run", R"({"older_than_ms":0})").status, 200);
  ASSERT_EQ(get(path_of(gone.id)).status, 404);
  is_refused_like_nonsense(gone.tokens[0], "of an execution that does not exist");
}

TEST_F(Tokens, AReplayedOneDoesNotReachALaterWait) {
  EXPECT_EQ(text(send_by(token(), R"(,"idempotency_key":"k")").json.at("effect")), "resumed");
  const Reply duplicate = send_by(token(), R"(,"idempotency_key":"k")");
  EXPECT_TRUE(duplicate.json.at("duplicate").as_bool()) << "the same signal again";
  refuses(send_by(token()), 409, "waitpoint_closed", "waitpoint");
  const Reply next = suspend_with(text(claim().at("handle")), one_waitpoint);
  ASSERT_TRUE(next.json.at("suspended").as_bool()) << next.body;
  refuses(send_by(token()), 409, "waitpoint_closed", "waitpoint");
  EXPECT_EQ(state(one.id), "suspended");
  EXPECT_EQ(text(send_by(text(next.json.at("tokens").at(0).at("token"))).json.at("effect")), "resumed");
}

TEST_F(Tokens, AreShownNowhere) {
  const std::string bad = token().substr(0, token().size() - 1);
  const std::string part = token().substr(token().size() / 2);
  const auto never_in = [&](const std::string& text) {
    EXPECT_EQ(text.find(part.substr(0, 20)), std::string::npos) << text;
  };
  never_in(send_by(bad).body);
  never_in(send_by(token(), R"(,"waitpoint":"x")").body);
  never_in(send_by(token()).body);
  never_in(send_by(token()).body);
  never_in(get("/v1/events?cursor=earliest&limit=1000").body);
  never_in(get("/metrics").body);
  never_in(trace_of(one.id));
}

TEST_F(Tokens, AreNoWayAroundTheGuardAgainstPages) {
  const std::string body = R"({"token":)" + in_quotes(token()) + "}";
  const auto send = [&](net::Headers headers) { return client.send("POST", "/v1/signals", body, std::move(headers)); };
  refuses(send({{"Origin", "https://evil.example"}}), forbidden_status, "permission_denied", "origin");
  refuses(send({{"Host", "evil.example"}}), forbidden_status, "permission_denied", "host");
  EXPECT_EQ(send({{"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(send({{"Content-Type", "application/x-www-form-urlencoded"}}).status, 415);
  EXPECT_EQ(client.send("GET", "/v1/signals?token=" + token()).status, 405);
  EXPECT_EQ(state(one.id), "suspended");
}

// ---------------------------------------------------------------- who may do what

class WaitKeys : public WaitsApi {
 protected:
  static api::ApiOptions with_keys() {
    api::ApiOptions options;
    options.api_keys = true;
    return options;
  }
  WaitKeys() : WaitsApi(with_keys()) { secret_ = key("root", ApiRole::admin); }
  std::string key(const std::string& name, ApiRole role, std::optional<std::string> name_space = {}) {
    return server.engine().create_api_key({name, role, std::move(name_space), 0}, {"test", ""}).value().secret;
  }
};

TEST_F(WaitKeys, NobodySendsAsSomebodyElse) {
  const std::string ada = key("ada", ApiRole::worker);
  const Suspended one = suspended(
      R"("waitpoints":[{"name":"approve","approval":{"title":"Ship it?","approvers":["ada","bob"]}},{"name":"paid"}])");
  const std::string path = path_of(one.id);
  refuses(call(ada, "POST", path + "/signals", R"({"waitpoint":"paid","source":"bob"})"), forbidden_status,
          "permission_denied", "source");
  refuses(call(ada, "POST", path + "/approvals/approve/decide", R"({"decision":"approve","actor":"bob"})"),
          forbidden_status, "permission_denied", "actor");
  refuses(call(secret_, "POST", "/v1/executions/bulk/signal", R"({"waitpoint":"paid","source":"bob","ids":[]})"),
          forbidden_status, "permission_denied", "source");
  refuses(call(secret_, "POST", path + "/approvals/approve/decide", R"({"decision":"approve"})"), forbidden_status,
          "permission_denied", "source");
  EXPECT_EQ(text(call(ada, "POST", path + "/approvals/approve/decide", R"({"decision":"approve"})").json.at("effect")),
            "accepted");
  const Reply sent = call(ada, "POST", path + "/signals", R"({"waitpoint":"paid","source":"ada"})");
  EXPECT_EQ(text(sent.json.at("effect")), "resumed") << sent.body;
  const json::value outcome = claim().at("last_wait");
  for (const json::value& signal : outcome.at("signals").as_array()) EXPECT_EQ(text(signal.at("source")), "ada");
}

TEST_F(WaitKeys, ATokenNeedsNoKeyAndNothingElseIsOpenWithoutOne) {
  const Suspended one = suspended();
  EXPECT_EQ(call("", "POST", path_of(one.id) + "/signals", R"({"waitpoint":"paid"})").status, 401);
  EXPECT_EQ(call("", "GET", path_of(one.id) + "/waits").status, 401);
  EXPECT_EQ(call("", "GET", "/v1/waits").status, 401);
  refuses(send_by("nonsense"), forbidden_status, "invalid_token", "token");
  const Reply preflight = client.send("OPTIONS", "/v1/signals", {}, {{"Origin", "https://evil.example"}});
  EXPECT_EQ(preflight.headers.find("access-control-allow-origin"), std::nullopt);
  const std::string body = R"({"token":)" + in_quotes(one.tokens[0]) + "}";
  for (const char* origin : {"https://evil.example", "null", "http://127.0.0.1:1"}) {
    refuses(client.send("POST", "/v1/signals", body, {{"Origin", origin}}), forbidden_status, "permission_denied",
            "origin");
  }
  EXPECT_EQ(state(one.id), "suspended");
  const std::string own = server.url();
  const Reply sent = client.send("POST", "/v1/signals", body, {{"Origin", own}});
  EXPECT_EQ(sent.status, 200) << sent.body;
}

TEST_F(WaitKeys, AKeyOfOneNamespaceReachesNoOther) {
  const std::string team = key("team", ApiRole::admin, "team");
  const Suspended theirs = suspended(one_approval, "other");
  const Suspended own = suspended(one_approval, "team");
  const std::string path = path_of(theirs.id);
  const std::string before = trace_of(theirs.id);
  const std::map<std::string, std::string> posts = {
      {"/signals", R"({"waitpoint":"approve","name":"approve"})"},
      {"/approvals/approve/decide", R"({"decision":"approve"})"},
      {"/resume", "{}"},
      {"/waitpoints/approve/close", "{}"},
      {"/waitpoints/approve/reissue", "{}"},
  };
  for (const auto& [route, body] : posts) {
    refuses(call(team, "POST", path + route, body), 404, "not_found", "execution_id");
  }
  refuses(call(team, "GET", path + "/waits"), 404, "not_found", "execution_id");
  const std::string signal = R"("waitpoint":"approve","name":"approve")";
  EXPECT_EQ(call(team, "POST", "/v1/executions/bulk/signal", "{" + signal + R"(,"ids":[)" + in_quotes(theirs.id) + "]}")
                .status,
            404);
  EXPECT_EQ(
      call(team, "POST", "/v1/executions/bulk/signal", "{" + signal + R"(,"filter":{"namespace":"other"}})").status,
      forbidden_status);
  EXPECT_EQ(call(team, "GET", "/v1/waits?namespace=other").status, forbidden_status);
  EXPECT_EQ(trace_of(theirs.id), before);

  const json::value listed = call(team, "GET", "/v1/waits").json.at("waits");
  ASSERT_EQ(listed.as_array().size(), 1u);
  EXPECT_EQ(text(listed.at(0).at("execution_id")), own.id);
  const Reply all_own = call(team, "POST", "/v1/executions/bulk/signal", "{" + signal + R"(,"filter":{"kind":"k"}})");
  EXPECT_EQ(all_own.json.at("matched").as_int64(), 1) << all_own.body;
  EXPECT_EQ(all_own.json.at("changed").as_int64(), 1) << all_own.body;
  EXPECT_EQ(trace_of(theirs.id), before);
  EXPECT_EQ(state(own.id), "resumable");
}

TEST_F(WaitKeys, AHandleOfAnotherNamespaceSuspendsNothing) {
  const std::string team = key("team", ApiRole::worker, "team");
  create("other");
  const std::string handle = text(claim().at("handle"));
  const std::string body = R"({"handle":)" + in_quotes(handle) + ",";
  EXPECT_EQ(call(team, "POST", "/v1/leases/suspend", body + one_waitpoint + "}").status, forbidden_status);
  EXPECT_EQ(call(team, "POST", "/v1/leases/waitpoints", body + R"("name":"paid"})").status, forbidden_status);
  EXPECT_EQ(suspend_with(handle, one_waitpoint).status, 200);
}

}  // namespace
}  // namespace flowfabric::e2e
