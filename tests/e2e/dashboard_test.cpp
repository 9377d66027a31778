// The pages of the dashboard over HTTP, whether or not this program was built with them.
#include <gtest/gtest.h>

#include "api/dashboard.hpp"
#include "api/route.hpp"
#include "e2e/support/test_client.hpp"
#include "support/raw_socket.hpp"

namespace flowfabric::e2e {
namespace {

api::ApiOptions options_with(bool dashboard, bool keys = false) {
  api::ApiOptions options;
  options.dashboard.enabled = dashboard;
  options.api_keys = keys;
  return options;
}

TEST(Dashboard, AnybodyMayLoadThePages) {
  TestServer server(options_with(true, true));
  TestClient client(server.url());
  for (const char* path : {"/", "/ui", "/ui/", "/ui/executions/fp1-x?state=failed"}) {
    const Reply reply = client.get(path);
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_EQ(reply.headers.find("content-type"), "text/html; charset=utf-8");
    EXPECT_NE(reply.body.find("<!doctype html>"), std::string::npos) << reply.body;
    EXPECT_EQ(reply.headers.find("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.headers.find("referrer-policy"), "same-origin");
    EXPECT_EQ(reply.headers.find("content-security-policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
              "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
  }
  const Reply none = client.get("/assets/none.js");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.code(), "not_found");
  EXPECT_EQ(client.post("/").status, 405);
  EXPECT_EQ(client.send("DELETE", "/ui/x").status, 405);
}

TEST(Dashboard, EveryFileThatWasBuiltIsServed) {
  TestServer server(options_with(true));
  TestClient client(server.url());
  for (const api::DashboardFile& file : api::embedded_dashboard()) {
    const std::string path = file.path == "index.html" ? "/" : "/" + std::string(file.path);
    const Reply plain = client.get(path);
    ASSERT_EQ(plain.status, 200) << path;
    EXPECT_EQ(plain.body.size(), file.plain_bytes) << path;
    EXPECT_EQ(plain.headers.find("content-type"), file.content_type);
    const Reply packed = client.send("GET", path, {}, {{"Accept-Encoding", "gzip"}});
    EXPECT_EQ(packed.body, file.gzipped) << path;
    const std::string tag(packed.headers.find("etag").value());
    const Reply known = client.send("GET", path, {}, {{"Accept-Encoding", "gzip"}, {"If-None-Match", tag}});
    EXPECT_EQ(known.status, 304) << path;
    EXPECT_TRUE(known.body.empty());
  }
}

TEST(Dashboard, HeadIsGetWithoutABody) {
  TestServer server(options_with(true));
  TestClient client(server.url());
  const std::size_t size = client.get("/").body.size();
  const std::string url = server.url();
  test::RawSocket socket(static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))));
  socket.send("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string response = socket.read_all();
  EXPECT_NE(response.find(" 200 "), std::string::npos);
  EXPECT_NE(response.find("Content-Length: " + std::to_string(size)), std::string::npos) << response;
  EXPECT_TRUE(response.ends_with("\r\n\r\n")) << response;
}

TEST(Dashboard, SwitchedOffThereIsNothingOfIt) {
  TestServer server(options_with(false));
  TestClient client(server.url());
  for (const char* path : {"/", "/ui", "/ui/x", "/assets/main.js", "/v1/session", "/v1/overview"}) {
    const Reply reply = client.get(path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_EQ(reply.code(), "not_found") << path;
  }
  const std::set<std::string> operations = client.operations();
  for (const api::Route& route : api::all_routes()) {
    EXPECT_EQ(operations.contains(route.method + " " + route.pattern), !route.of_dashboard) << route.pattern;
  }
  EXPECT_EQ(client.get("/v1/lanes").status, 200);
}

// What users have stored is data, whatever it looks like.
TEST(Dashboard, NoAnswerOfTheApiIsTakenForAPage) {
  TestServer server;
  TestClient client(server.url());
  const Reply made =
      client.post("/v1/executions", R"({"kind":"k","payload_base64":"PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg=="})");
  const std::string path = path_of(text(made.json.at("execution_id"))) + "/payload";
  for (const char* accept : {"application/json", "application/octet-stream", "text/html"}) {
    const Reply reply = client.send("GET", path, {}, {{"Accept", accept}});
    EXPECT_EQ(reply.headers.find("x-content-type-options"), "nosniff");
    EXPECT_NE(reply.headers.find("content-type"), "text/html");
  }
}

}  // namespace
}  // namespace flowfabric::e2e
