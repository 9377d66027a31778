// Browsers that sign in: what their cookie may do, and what no cookie may do.
#include <gtest/gtest.h>

#include "api/route.hpp"
#include "e2e/support/test_client.hpp"
#include "support/http_server.hpp"
#include "support/raw_socket.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::e2e {
namespace {

constexpr int ok = 200;
constexpr int unauthenticated = 401;
constexpr int denied = 403;

std::string value_of(const std::string& set_cookie) {
  const std::size_t begin = set_cookie.find('=') + 1;
  return set_cookie.substr(begin, set_cookie.find(';') - begin);
}

api::ApiOptions with_keys() {
  api::ApiOptions options;
  options.api_keys = true;
  options.dashboard.store_kind = "memory";
  return options;
}

class Browser {
 public:
  explicit Browser(const TestServer& server) : url_(server.url()), client_(url_) {}

  Reply sign_in(const std::string& secret) {
    Reply reply = client_.send("POST", "/v1/session", R"({"api_key":")" + secret + "\"}", {{"Origin", url_}});
    if (const auto set = reply.headers.find("set-cookie")) cookie = value_of(std::string(*set));
    return reply;
  }
  // As a script on a page of the server calls it.
  Reply call(const std::string& method, const std::string& target, const std::string& body = {}) {
    net::Headers headers = {{"Cookie", "flowfabric_session=" + cookie}};
    if (method != "GET") headers.add("Origin", url_);
    return client_.send(method, target, body, std::move(headers));
  }
  // As a page elsewhere makes it call.
  Reply call_from(const std::string& origin, const std::string& method, const std::string& target,
                  const std::string& body = {}) {
    return client_.send(method, target, body, {{"Cookie", "flowfabric_session=" + cookie}, {"Origin", origin}});
  }
  TestClient& client() { return client_; }
  const std::string& url() const { return url_; }

  std::string cookie;

 private:
  const std::string url_;
  TestClient client_;
};

class Sessions : public testing::Test {
 protected:
  std::string key(const std::string& name, ApiRole role, std::optional<std::string> name_space = {}) {
    return server.engine().create_api_key({name, role, std::move(name_space), 0}, {"test", ""}).value().secret;
  }

  TestServer server{with_keys()};
  Browser browser{server};
};

TEST_F(Sessions, AStrangerLearnsOnlyThatAKeyIsNeeded) {
  const Reply reply = browser.client().get("/v1/session");
  EXPECT_EQ(reply.status, ok);
  EXPECT_EQ(reply.body, R"({"authentication":true,"signed_in":false})");
  EXPECT_EQ(reply.headers.find("cache-control"), "no-store");
}

TEST_F(Sessions, SigningInGivesACookieThatScriptsCannotRead) {
  const std::string secret = key("boss", ApiRole::operating, "team");
  const Reply reply = browser.sign_in(secret);
  ASSERT_EQ(reply.status, ok) << reply.body;
  EXPECT_TRUE(reply.json.at("signed_in").as_bool());
  EXPECT_EQ(text(reply.json.at("name")), "boss");
  EXPECT_EQ(text(reply.json.at("role")), "operator");
  EXPECT_EQ(text(reply.json.at("namespace")), "team");
  EXPECT_EQ(text(reply.json.at("store")), "memory");
  const std::string set(reply.headers.find("set-cookie").value());
  for (const char* part : {"flowfabric_session=", "; HttpOnly", "; SameSite=Strict", "; Path=/"}) {
    EXPECT_NE(set.find(part), std::string::npos) << set;
  }
  EXPECT_EQ(set.find("Secure"), std::string::npos) << "it would be lost over plain HTTP";
  EXPECT_EQ(set.find(secret), std::string::npos) << "the key itself is not kept";
  EXPECT_EQ(set.find("Max-Age"), std::string::npos) << "it ends with the browser";
  const Reply again = browser.call("GET", "/v1/session");
  EXPECT_EQ(again.body, reply.body);
}

TEST_F(Sessions, BehindTlsTheCookieStaysThere) {
  const std::string secret = key("boss", ApiRole::viewer);
  const Reply reply = browser.client().send("POST", "/v1/session", R"({"api_key":")" + secret + "\"}",
                                            {{"Origin", "https" + browser.url().substr(4)}});
  ASSERT_EQ(reply.status, ok) << reply.body;
  EXPECT_NE(reply.headers.find("set-cookie").value().find("; Secure"), std::string_view::npos);
}

TEST_F(Sessions, ACookieIsAsGoodAsItsKeyOnEveryRoute) {
  browser.sign_in(key("viewer", ApiRole::viewer));
  for (const api::Route& route : api::all_routes()) {
    if (route.anybody) continue;
    const std::string path = some_path(route.pattern) + "?no-such-parameter=1";
    const bool enough = route.needs == ApiRole::viewer;
    EXPECT_EQ(browser.call(route.method, path).status, enough ? 400 : denied) << route.method << " " << path;
  }
  EXPECT_EQ(browser.call("GET", "/metrics").status, ok);
  browser.sign_in(key("worker", ApiRole::worker));
  EXPECT_EQ(browser.call("POST", "/v1/executions", R"({"kind":"k"})").status, 201);
  EXPECT_EQ(text(browser.call("GET", "/v1/whoami").json.at("name")), "worker");
}

TEST_F(Sessions, ACookieReachesNoFurtherThanItsKey) {
  browser.sign_in(key("team", ApiRole::admin, "team"));
  EXPECT_EQ(browser.call("POST", "/v1/executions", R"({"kind":"k"})").status, 201);
  EXPECT_EQ(browser.call("GET", "/v1/executions?namespace=other").status, denied);
  EXPECT_EQ(browser.call("GET", "/v1/signing-keys").status, denied);
  EXPECT_EQ(browser.call("GET", "/v1/executions").json.at("executions").as_array().size(), 1u);
}

TEST_F(Sessions, AWrongKeyGetsNothing) {
  const std::string good = key("good", ApiRole::admin);
  for (const std::string& bad : {std::string(), std::string("x"), good.substr(1), good + "x", std::string(5000, 'x')}) {
    const Reply reply = browser.sign_in(bad);
    EXPECT_EQ(reply.status, unauthenticated) << bad;
    EXPECT_EQ(reply.code(), "unauthenticated");
    EXPECT_FALSE(reply.headers.find("set-cookie"));
  }
  EXPECT_EQ(browser.client().post("/v1/session", R"({"api_key":7})").field(), "api_key");
  EXPECT_EQ(browser.client().post("/v1/session", "{}").field(), "api_key");
  EXPECT_EQ(browser.client().send("POST", "/v1/session", "{}", {{"Content-Type", "text/plain"}}).status, 415);
}

TEST_F(Sessions, ForgedCookiesAreRefused) {
  const std::string secret = key("good", ApiRole::admin);
  browser.sign_in(secret);
  const std::string good = browser.cookie;
  ASSERT_EQ(browser.call("GET", "/v1/whoami").status, ok);
  std::vector<std::string> bad = {"", "x", secret, good + "x", "x" + good, good + good, std::string(10000, 'A')};
  for (std::size_t size = 1; size < good.size(); size += 7) bad.push_back(good.substr(0, size));
  for (std::size_t i = 0; i < good.size(); i += 3) {
    bad.push_back(good);
    bad.back()[i] = good[i] == 'A' ? 'B' : 'A';
  }
  // A handle is signed with the same key, and is something else.
  server.engine().create({.kind = "k"}).value();
  bad.push_back(server.engine().claim({.worker_id = "w", .worker_instance_id = "w-1"}).value().at(0).handle);
  for (const std::string& cookie : bad) {
    browser.cookie = cookie;
    const Reply reply = browser.call("GET", "/v1/whoami");
    EXPECT_EQ(reply.status, unauthenticated) << cookie << reply.body;
    EXPECT_FALSE(browser.call("GET", "/v1/session").json.at("signed_in").as_bool());
  }
}

TEST_F(Sessions, ACookieOfAnotherStoreIsRefused) {
  TestServer elsewhere(with_keys());
  Browser stranger(elsewhere);
  const std::string secret = elsewhere.engine().create_api_key({"boss", ApiRole::admin, {}, 0}).value().secret;
  stranger.sign_in(secret);
  ASSERT_EQ(stranger.call("GET", "/v1/whoami").status, ok);
  browser.cookie = stranger.cookie;
  EXPECT_EQ(browser.call("GET", "/v1/whoami").status, unauthenticated);
}

TEST_F(Sessions, ACookieEndsWithItsTime) {
  const std::string secret = key("good", ApiRole::admin);
  browser.cookie = server.engine().begin_session(secret, 60'000).value().token;
  EXPECT_EQ(browser.call("GET", "/v1/whoami").status, ok);
  browser.cookie = server.engine().begin_session(secret, 0).value().token;
  EXPECT_EQ(browser.call("GET", "/v1/whoami").status, unauthenticated);
}

TEST_F(Sessions, ACookieEndsWithItsKey) {
  browser.sign_in(key("temp", ApiRole::viewer));
  ASSERT_EQ(browser.call("GET", "/v1/whoami").status, ok);
  const std::string admin = key("root", ApiRole::admin);
  ASSERT_EQ(browser.client().send("DELETE", "/v1/api-keys/temp", {}, {{"Authorization", "Bearer " + admin}}).status,
            ok);
  EXPECT_EQ(browser.call("GET", "/v1/whoami").status, unauthenticated) << "at once, where it was revoked";
  EXPECT_FALSE(browser.call("GET", "/v1/session").json.at("signed_in").as_bool());
  // A new key of the same name is another key.
  key("temp", ApiRole::admin);
  EXPECT_EQ(browser.call("GET", "/v1/whoami").status, unauthenticated);
}

TEST_F(Sessions, NewSigningKeysWithoutGraceEndAllSessions) {
  browser.sign_in(key("boss", ApiRole::viewer));
  ASSERT_TRUE(server.engine().rotate_keys(60'000));
  EXPECT_EQ(browser.call("GET", "/v1/whoami").status, ok) << "the old key is still accepted";
  ASSERT_TRUE(server.engine().rotate_keys(0));
  // What was believed a moment ago is believed for some seconds more, as keys are.
  EXPECT_TRUE(test::eventually([&] { return browser.call("GET", "/v1/whoami").status == unauthenticated; }));
}

TEST_F(Sessions, PagesElsewhereCannotUseTheCookie) {
  browser.sign_in(key("boss", ApiRole::admin));
  const std::string port = browser.url().substr(browser.url().rfind(':'));
  const std::size_t before = server.engine().read_events({}, "earliest", 1000, 0).value().events.size();
  for (const std::string& origin :
       {std::string("https://evil.example"), std::string("null"), std::string("http://127.0.0.1:1"),
        "http://localhost" + port, "http://127.0.0.1" + port + ".evil.example", std::string()}) {
    for (const api::Route& route : api::all_routes()) {
      const Reply reply =
          browser.call_from(origin, route.method, some_path(route.pattern), route.method == "GET" ? "" : "{}");
      EXPECT_EQ(reply.status, denied) << origin << " " << route.method << " " << route.pattern << reply.body;
      EXPECT_EQ(reply.field(), "origin");
    }
  }
  EXPECT_EQ(server.engine().read_events({}, "earliest", 1000, 0).value().events.size(), before);
}

TEST_F(Sessions, WhatChangesSomethingMustNameItsPage) {
  browser.sign_in(key("boss", ApiRole::admin));
  const net::Headers cookie = {{"Cookie", "flowfabric_session=" + browser.cookie}};
  EXPECT_EQ(browser.client().send("POST", "/v1/executions", R"({"kind":"k"})", cookie).status, denied);
  EXPECT_EQ(browser.client().send("GET", "/v1/whoami", {}, cookie).status, ok);
  for (const char* site : {"cross-site", "same-site", "unknown"}) {
    net::Headers fetched = cookie;
    fetched.add("Sec-Fetch-Site", site);
    EXPECT_EQ(browser.client().send("GET", "/v1/whoami", {}, fetched).status, denied) << site;
  }
  net::Headers own = cookie;
  own.add("Sec-Fetch-Site", "same-origin");
  EXPECT_EQ(browser.client().send("GET", "/v1/whoami", {}, own).status, ok);
  // A form cannot send JSON, wherever it stands.
  net::Headers form = cookie;
  form.add("Origin", browser.url());
  form.add("Content-Type", "application/x-www-form-urlencoded");
  EXPECT_EQ(browser.client().send("POST", "/v1/executions", "kind=k", form).status, 415);
}

TEST_F(Sessions, PagesElsewhereCannotSignABrowserInOrOut) {
  const std::string body = R"({"api_key":")" + key("boss", ApiRole::admin) + "\"}";
  for (const char* method : {"POST", "DELETE"}) {
    const Reply reply =
        browser.client().send(method, "/v1/session", *method == 'P' ? body : "", {{"Origin", "https://evil.example"}});
    EXPECT_EQ(reply.status, denied) << method;
    EXPECT_FALSE(reply.headers.find("set-cookie"));
  }
}

TEST_F(Sessions, AKeyComesBeforeACookie) {
  browser.sign_in(key("cookie", ApiRole::viewer));
  const std::string secret = key("header", ApiRole::viewer);
  const auto ask = [&](const std::string& authorization) {
    return browser.client().send(
        "GET", "/v1/whoami", {},
        {{"Cookie", "flowfabric_session=" + browser.cookie}, {"Authorization", authorization}});
  };
  EXPECT_EQ(text(ask("Bearer " + secret).json.at("name")), "header");
  EXPECT_EQ(ask("Bearer wrong").status, unauthenticated) << "it does not fall back on the cookie";
}

TEST_F(Sessions, SigningOutTakesTheCookieAway) {
  browser.sign_in(key("boss", ApiRole::viewer));
  const Reply reply = browser.call("DELETE", "/v1/session");
  ASSERT_EQ(reply.status, ok) << reply.body;
  EXPECT_FALSE(reply.json.at("signed_in").as_bool());
  const std::string set(reply.headers.find("set-cookie").value());
  EXPECT_TRUE(set.starts_with("flowfabric_session=;")) << set;
  EXPECT_NE(set.find("Max-Age=0"), std::string::npos);
  EXPECT_EQ(browser.client().send("DELETE", "/v1/session").status, ok) << "twice is as good as once";
}

// ---- Event streams

std::uint16_t port_of(const TestServer& server) {
  const std::string url = server.url();
  return static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
}

TEST_F(Sessions, AnEventStreamTakesACookieAndEndsWithItsKey) {
  browser.sign_in(key("watcher", ApiRole::viewer));
  test::RawSocket socket(port_of(server));
  socket.send(
      "GET /v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: text/event-stream\r\nCookie: "
      "flowfabric_session=" +
      browser.cookie + "\r\n\r\n");
  EXPECT_NE(socket.read_until("heartbeat").find(" 200 "), std::string::npos);
  server.engine().create({.kind = "seen"}).value();
  EXPECT_NE(socket.read_until("\"seen\"").find("event: created"), std::string::npos);
  ASSERT_TRUE(server.engine().revoke_api_key("watcher"));
  // The revocation itself is an event; it, or one that comes when the key is no longer believed, ends the stream.
  std::string got;
  for (int i = 0; i < 600 && got.find("event: cut") == std::string::npos; ++i) {
    server.engine().create({.kind = "unseen"}).value();
    got += socket.read_until("\n\n");
  }
  got += socket.read_all();
  EXPECT_NE(got.find("unauthenticated"), std::string::npos) << got;
}

TEST_F(Sessions, AStreamForAPageElsewhereIsRefused) {
  browser.sign_in(key("watcher", ApiRole::viewer));
  test::RawSocket socket(port_of(server));
  socket.send(
      "GET /v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: text/event-stream\r\nOrigin: http://evil\r\n"
      "Cookie: flowfabric_session=" +
      browser.cookie + "\r\n\r\n");
  EXPECT_NE(socket.read_all().find(" 403 "), std::string::npos);
}

// ---- Several servers on one store

TEST(SessionsOfAStore, AreGoodAndEndOnEveryServer) {
  const test::TempDir folder;
  const std::string url = "sqlite:" + folder.file("shared.db");
  TestServer one(must(Engine::open(url)), with_keys());
  TestServer two(must(Engine::open(url)), with_keys());
  const std::string secret = one.engine().create_api_key({"boss", ApiRole::viewer, {}, 0}).value().secret;
  Browser here(one);
  Browser there(two);
  ASSERT_EQ(here.sign_in(secret).status, ok);
  there.cookie = here.cookie;
  // The other server looks at the keys once a second.
  ASSERT_TRUE(test::eventually([&] { return there.call("GET", "/v1/whoami").status == ok; }));
  EXPECT_EQ(text(there.call("GET", "/v1/session").json.at("name")), "boss");
  ASSERT_TRUE(one.engine().revoke_api_key("boss"));
  EXPECT_TRUE(test::eventually([&] { return there.call("GET", "/v1/whoami").status == unauthenticated; }));
}

TEST(SessionsWithoutKeys, EverybodyIsSignedIn) {
  api::ApiOptions options;
  options.dashboard.store_kind = "memory";
  TestServer server(options);
  TestClient client(server.url());
  const Reply reply = client.get("/v1/session");
  EXPECT_FALSE(reply.json.at("authentication").as_bool());
  EXPECT_TRUE(reply.json.at("signed_in").as_bool());
  EXPECT_EQ(text(reply.json.at("role")), "admin");
  EXPECT_EQ(client.post("/v1/session", R"({"api_key":"x"})").field(), "api_key");
}

}  // namespace
}  // namespace flowfabric::e2e
