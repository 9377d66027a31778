// Web pages and the server: what a browser can be made to send by any page must not do or show anything.
#include <gtest/gtest.h>

#include "api/route.hpp"
#include "e2e/support/test_client.hpp"
#include "support/raw_socket.hpp"

namespace flowfabric::e2e {
namespace {

using test::RawSocket;

constexpr int status_ok = 200;
constexpr int status_denied = 403;
constexpr int status_unsupported = 415;

struct Asked {
  std::string method;
  std::string path;
};

// Everything that the server answers to.
std::vector<Asked> everything() {
  std::vector<Asked> all;
  for (const api::Route& route : api::all_routes()) all.push_back({route.method, some_path(route.pattern)});
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/openapi.json", "/nowhere", "/", "/ui", "/ui/executions",
                           "/assets/main.js"})
    all.push_back({"GET", path});
  return all;
}

class Pages : public testing::Test {
 protected:
  explicit Pages(const api::ApiOptions& options = {}) : server(options) {}

  std::uint16_t port() const {
    const std::string url = server.url();
    return static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
  }
  // The whole response to a request with exactly these fields.
  std::string answer(const Asked& asked, const std::string& fields, const std::string& body = {}) {
    RawSocket socket(port());
    socket.send(asked.method + " " + asked.path + " HTTP/1.1\r\nConnection: close\r\n" + fields +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return socket.read_all();
  }
  int status(const Asked& asked, const std::string& fields, const std::string& body = {}) {
    return std::stoi(answer(asked, fields, body).substr(9, 3));
  }
  // What there is of everything that the API can make or change.
  std::size_t traces() {
    Engine& engine = server.engine();
    return engine.read_events({}, "earliest", 1000, 0).value().events.size() + engine.list_keys().value().size() +
           engine.list_api_keys().value().size() + engine.list_lanes().value().size();
  }

  const std::string local = "Host: localhost\r\n";
  const std::string json = "Content-Type: application/json\r\n";
  TestServer server;
};

TEST_F(Pages, NothingChangesWithoutAContentTypeThatPagesCannotSend) {
  const std::size_t before = traces();
  std::size_t routes = 0;
  for (const api::Route& route : api::all_routes()) {
    // No page can sign as the sender of a webhook does, whatever type it sends.
    if (route.method == "GET" || route.signed_by_sender) continue;
    ++routes;
    const Asked asked{route.method, some_path(route.pattern)};
    SCOPED_TRACE(asked.method + " " + asked.path);
    for (const char* type :
         {"", "Content-Type:\r\n", "Content-Type: text/plain\r\n",
          "Content-Type: application/x-www-form-urlencoded\r\n", "Content-Type: multipart/form-data; boundary=x\r\n",
          "Content-Type: text/plain; application/json\r\n", "Content-Type: application/jsonx\r\n"}) {
      for (const char* body : {"", "{}", R"({"kind":"k"})"}) {
        const std::string response = answer(asked, local + type, body);
        EXPECT_EQ(response.substr(9, 3), std::to_string(status_unsupported)) << type << body << response;
        EXPECT_NE(response.find("\"field\":\"content-type\""), std::string::npos) << response;
      }
    }
    if (!route.takes_bytes) {
      EXPECT_EQ(status(asked, local + "Content-Type: application/octet-stream\r\n", "x"), status_unsupported);
    }
    EXPECT_NE(status({route.method, asked.path + "?no-such-parameter=1"}, local + json), status_unsupported);
  }
  EXPECT_GT(routes, 20u);
  EXPECT_EQ(traces(), before);
}

TEST_F(Pages, NothingIsServedUnderAForeignName) {
  const std::size_t before = traces();
  for (const char* host :
       {"evil.example", "evil.example:7070", "127.0.0.1.evil.example", "127.evil", "localhost.evil.example",
        "xlocalhost", "[::2]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1", "", "evil.example@127.0.0.1", "[::1"}) {
    for (const Asked& asked : everything()) {
      const std::string response = answer(asked, "Host: " + std::string(host) + "\r\n" + json, "{}");
      EXPECT_EQ(response.substr(9, 3), std::to_string(status_denied))
          << host << " " << asked.method << asked.path << response;
      EXPECT_NE(response.find("\"field\":\"host\""), std::string::npos) << response;
    }
  }
  EXPECT_EQ(traces(), before);
  for (const char* host : {"localhost", "LocalHost:7070", "127.0.0.1", "127.8.9.1:99", "[::1]", "[::1]:7070"}) {
    EXPECT_EQ(status({"GET", "/healthz"}, "Host: " + std::string(host) + "\r\n"), status_ok) << host;
  }
}

TEST_F(Pages, PagesOfOthersAreRefused) {
  const std::size_t before = traces();
  for (const char* origin :
       {"https://evil.example", "null", "http://localhost:1", "http://localhost.evil.example", ""}) {
    for (const Asked& asked : everything()) {
      const std::string fields = local + json + "Origin: " + origin + "\r\n";
      const std::string response = answer(asked, fields, "{}");
      EXPECT_EQ(response.substr(9, 3), std::to_string(status_denied))
          << origin << " " << asked.method << asked.path << response;
      EXPECT_NE(response.find("\"field\":\"origin\""), std::string::npos) << response;
      EXPECT_EQ(response.find("Access-Control-Allow-Origin"), std::string::npos) << response;
    }
    EXPECT_EQ(status({"OPTIONS", "/v1/executions"}, local + "Origin: " + origin + "\r\n"), status_denied) << origin;
  }
  const std::string own = "http://localhost:" + std::to_string(port());
  const std::string here = "Host: localhost:" + std::to_string(port()) + "\r\n";
  EXPECT_EQ(status({"GET", "/v1/lanes"}, here + "Origin: " + own + "\r\nOrigin: https://evil.example\r\n"),
            status_denied);
  EXPECT_EQ(traces(), before);
  EXPECT_EQ(status({"GET", "/v1/lanes"}, here + "Origin: " + own + "\r\n"), status_ok) << "a page of this server";
}

// ---- The settings

class PagesThatMay : public Pages {
 protected:
  PagesThatMay()
      : Pages([] {
          api::ApiOptions options;
          options.cors_origins = {"https://panel.example"};
          return options;
        }()) {}
};

TEST_F(PagesThatMay, CallLikeAnybodyElse) {
  const std::string fields = local + "Origin: https://panel.example\r\n";
  const std::string body = R"({"kind":"k"})";
  EXPECT_EQ(status({"OPTIONS", "/v1/executions"}, fields), 204);
  EXPECT_EQ(status({"POST", "/v1/executions"}, fields + json, body), 201);
  EXPECT_EQ(status({"POST", "/v1/executions"}, fields, body), status_unsupported);
  EXPECT_EQ(status({"POST", "/v1/executions"}, local + json + "Origin: https://other.example\r\n", body),
            status_denied);
}

class PagesAndKeys : public Pages {
 protected:
  PagesAndKeys()
      : Pages([] {
          api::ApiOptions options;
          options.api_keys = true;
          return options;
        }()) {}
};

// Browsers add no keys by themselves, so a request that has one was meant.
TEST_F(PagesAndKeys, AKeyIsProofEnough) {
  const std::string secret = server.engine().create_api_key({"k", ApiRole::admin, {}, 0}, {}).value().secret;
  const std::string fields =
      "Host: flow.example\r\nOrigin: https://other.example\r\nAuthorization: Bearer " + secret + "\r\n";
  EXPECT_EQ(status({"POST", "/v1/executions"}, fields + json, R"({"kind":"k"})"), 201);
  EXPECT_EQ(status({"POST", "/v1/executions"}, fields, R"({"kind":"k"})"), status_unsupported);
  EXPECT_EQ(status({"POST", "/v1/executions"}, "Host: flow.example\r\n" + json, R"({"kind":"k"})"), 401);
}

}  // namespace
}  // namespace flowfabric::e2e
