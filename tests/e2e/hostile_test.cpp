// Malformed requests, through the whole server: the correct error in the common form, no change, and other clients are
// served meanwhile. Cases that concern only bytes and framing are tested in src/net.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <boost/json/parse.hpp>

#include "api/route.hpp"
#include "base/text.hpp"
#include "e2e/support/json_schema.hpp"
#include "e2e/support/test_client.hpp"
#include "fuzz/request_shapes.hpp"
#include "support/certificates.hpp"
#include "support/http_server.hpp"
#include "support/raw_socket.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using test::RawSocket;

constexpr std::size_t longest_refusal = 4096;

std::uint16_t port_of(const std::string& url) {
  return static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
}

std::string request_with(const std::string& line, const std::string& fields, const std::string& body = {}) {
  return line + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n" + body;
}

class Hostile : public testing::Test {
 protected:
  explicit Hostile(const api::ApiOptions& options = {}) : server(options), client(server.url()) {}

  RawSocket connect() const { return RawSocket(port_of(server.url())); }
  std::size_t events() { return server.engine().read_events({}, "earliest", 1000, 0).value().events.size(); }

  // One response that is an error in the common form, and nothing after it.
  void expect_refusal(const std::string& response, int status, const std::string& code) {
    ASSERT_EQ(response.substr(0, 12), "HTTP/1.1 " + std::to_string(status)) << response.substr(0, 300);
    const std::size_t body = response.find("\r\n\r\n");
    ASSERT_NE(body, std::string::npos);
    EXPECT_NE(response.find("Content-Type: application/json\r\n"), std::string::npos) << response;
    EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos) << response;
    json::error_code problem;
    const json::value error = json::parse(response.substr(body + 4), problem);
    ASSERT_FALSE(problem) << response;
    const json::value* schema = resolve(client.openapi(), "#/components/schemas/Error");
    for (const std::string& violation : violations(client.openapi(), *schema, error)) ADD_FAILURE() << violation;
    EXPECT_EQ(text(error.at("error").at("code")), code);
  }
  void refuses_bytes(const std::string& bytes, int status, const std::string& code) {
    SCOPED_TRACE(testing::PrintToString(bytes.substr(0, 200)));
    RawSocket socket = connect();
    socket.send(bytes);
    socket.finish_sending();
    expect_refusal(socket.read_all(), status, code);
  }
  void refuses(const Reply& reply, int status, const std::string& code, const std::string& field) {
    EXPECT_EQ(reply.status, status) << reply.body.substr(0, 300);
    EXPECT_EQ(reply.code(), code) << reply.body.substr(0, 300);
    EXPECT_EQ(reply.field(), field) << reply.body.substr(0, 300);
    EXPECT_LT(reply.body.size(), longest_refusal);
    EXPECT_TRUE(is_valid_utf8(reply.body)) << testing::PrintToString(reply.body);
  }
  void still_serves() { EXPECT_EQ(client.get("/readyz").status, 200); }

  // Calls visit(method, path, schema of the body) for every route that has one.
  template <class Visit>
  void for_each_body(Visit visit) {
    for (const api::Route& route : api::all_routes()) {
      if (!route.request_schema) continue;
      wire::Schemas schemas;
      const json::value reference = json::parse(route.request_schema(schemas));
      SCOPED_TRACE(route.method + " " + route.pattern);
      visit(route, some_path(route.pattern), *resolve(client.openapi(), text(reference.at("$ref"))));
    }
  }

  TestServer server;
  TestClient client;
};

// ---------------------------------------------------------------- bodies

TEST_F(Hostile, NoRouteTakesABodyThatIsNoJsonObject) {
  const std::size_t before = events();
  const std::string bad[] = {"[]",
                             "1",
                             "null",
                             "\"text\"",
                             "{",
                             "{}}",
                             "{\"a\"}",
                             "{'a':1}",
                             "{\"a\":1",
                             "{\"a\":1,}",
                             "{\"a\":01}",
                             "{\"a\":NaN}",
                             "\xff",
                             "{\"\xff\":1}",
                             "{\"a\":\"\xc0\x80\"}",
                             "{\"a\":\"\xed\xa0\x80\"}",
                             R"({"a":"\ud800"})",
                             R"({"a":"\x"})",
                             "{\"a\":\"\n\"}",
                             "\xef\xbb\xbf{}",
                             std::string(40, '[') + std::string(40, ']'),
                             std::string(100'000, '['),
                             std::string("{\"a\":1}\0", 8)};
  for_each_body([&](const api::Route& route, const std::string& path, const json::value&) {
    for (const std::string& body : bad) refuses(client.send(route.method, path, body), 400, "invalid_argument", "body");
  });
  EXPECT_EQ(events(), before);
}

// A value of every type other than the documented one.
std::vector<std::string> wrong_values(const json::value& document, const json::value* schema) {
  if (const json::value* reference = schema->as_object().if_contains("$ref")) {
    schema = resolve(document, text(*reference));
  }
  const json::value* type = schema->as_object().if_contains("type");
  if (type == nullptr) return {};  // any JSON
  if (*type == "string") return {"1", "true", "{}", "[]"};
  if (*type == "integer") return {"\"1\"", "true", "{}", "[]", "1.5", "1e3", "9223372036854775808", "-1e400"};
  if (*type == "boolean") return {"1", "\"true\"", "{}", "[]"};
  if (*type == "array") return {"1", "\"x\"", "{}", "true"};
  return {"1", "\"x\"", "[]", "true"};
}

TEST_F(Hostile, EveryFieldOfEveryBodyIsRefusedByItsName) {
  const std::size_t before = events();
  std::size_t fields = 0;
  for_each_body([&](const api::Route& route, const std::string& path, const json::value& schema) {
    for (const auto& [key, property] : schema.at("properties").as_object()) {
      const std::string name(key.data(), key.size());
      ++fields;
      for (const std::string& value : wrong_values(client.openapi(), &property)) {
        const std::string member = "\"" + name + "\":" + value;
        refuses(client.send(route.method, path, "{" + member + "}"), 400, "invalid_argument", name);
      }
    }
    refuses(client.send(route.method, path, R"({"no_such_field":1})"), 400, "invalid_argument", "no_such_field");
  });
  EXPECT_GT(fields, 50u);
  EXPECT_EQ(events(), before);
}

TEST_F(Hostile, AFieldThatComesTwiceIsRefused) {
  for (const std::string body : {R"({"reason":"a","reason":"b"})", R"({"reason":"a","re\u0061son":"b"})"}) {
    refuses(client.post(some_path("/v1/executions/{execution_id}/cancel"), body), 400, "invalid_argument", "reason");
  }
  refuses(client.post("/v1/executions", R"({"kind":"k","tags":{"a.b":"1","a.b":"2"}})"), 400, "invalid_argument",
          "tags.a.b");
  refuses(client.post("/v1/executions", R"({"kind":"k","policy":{"retry":{"max_retries":1,"max_retries":1}}})"), 400,
          "invalid_argument", "policy.retry.max_retries");
}

TEST_F(Hostile, NumbersBeyondTheirRangeAreRefusedByName) {
  const std::pair<const char*, const char*> mistakes[] = {
      {R"("priority":32768)", "priority"},
      {R"("priority":-32769)", "priority"},
      {R"("priority":-9223372036854775808)", "priority"},
      {R"("delay_until":-1)", "delay_until"},
      {R"("deadline_at":9223372036854775807)", "deadline_at"},
      {R"("policy":{"max_replays":4294967295})", "policy.max_replays"},
      {R"("policy":{"retry":{"multiplier_percent":0}})", "policy.retry.multiplier_percent"},
      {R"("policy":{"attempt_timeout_ms":0})", "policy.attempt_timeout_ms"},
  };
  for (const auto& [member, field] : mistakes) {
    refuses(client.post("/v1/executions", "{\"kind\":\"k\"," + std::string(member) + "}"), 400, "invalid_argument",
            field);
  }
  EXPECT_EQ(events(), 0u);
}

TEST_F(Hostile, ARefusalDoesNotRepeatAllThatWasSent) {
  const std::string large(1'000'000, 'x');
  EXPECT_LT(client.post("/v1/executions", "{\"" + large + "\":1}").body.size(), longest_refusal);
  EXPECT_LT(client.post("/v1/executions", R"({"kind":"k","policy":{"on_lease_lost":")" + large + "\"}}").body.size(),
            longest_refusal);
  EXPECT_LT(client.post("/v1/executions", R"({"kind":"k","tags":{")" + large + "\":1}}").body.size(), longest_refusal);
  EXPECT_LT(client.get("/v1/" + std::string(8000, 'x')).body.size(), longest_refusal);
  const std::string accents = client.post("/v1/executions", "{\"a" + std::string(5000, '\xc3') + "\":1}").body;
  EXPECT_TRUE(is_valid_utf8(accents));
}

// ---------------------------------------------------------------- heads

TEST_F(Hostile, ContentTypesThatNobodyReadsAreRefused) {
  for_each_body([&](const api::Route& route, const std::string& path, const json::value&) {
    for (const std::string type :
         {"text/plain", "application/jsonp", "application/json-patch+json", "multipart/form-data",
          "application/x-www-form-urlencoded", "*/*", "x", "text/\xff\xfe"}) {
      refuses(client.send(route.method, path, "{}", {{"Content-Type", type}}), 415, "unsupported_media_type",
              "content-type");
    }
    for (const std::string type : {"application/json;charset=utf-8", "Application/JSON", "application/json ; x=y"}) {
      EXPECT_NE(client.send(route.method, path, "[]", {{"Content-Type", type}}).status, 415) << type;
    }
  });
}

TEST_F(Hostile, MethodsAndRoutesThatDoNotExistAreRefused) {
  for (const api::Route& route : api::all_routes()) {
    for (const std::string method : {"BREW", "TRACE", "get"}) {
      const Reply reply = client.send(method, some_path(route.pattern));
      refuses(reply, 405, "method_not_allowed", "");
      EXPECT_NE(reply.headers.find("Allow").value_or("").find(route.method), std::string_view::npos);
    }
    refuses(client.send(route.method, some_path(route.pattern) + "/no/such/route"), 404, "not_found", "");
    refuses(client.send(route.method, "/" + some_path(route.pattern)), 404, "not_found", "");
  }
}

TEST_F(Hostile, QueriesThatCannotBeReadAreRefused) {
  for (const std::string value : {"", "-1", "0", "x", "1x", "%20", "1.5", "99999999999999999999", "1001"}) {
    refuses(client.get("/v1/executions?limit=" + value), 400, "invalid_argument", "limit");
  }
  for (const std::string cursor : {"x", "AQ", "AAAA", "%C3%A9", "earliest", "AQAAAAAAAAAAAAAAAAAAAAAA"}) {
    for (const std::string list : {"/v1/executions", "/v1/workers", "/v1/leases/expired"}) {
      refuses(client.get(list + "?cursor=" + cursor), 400, "invalid_argument", "cursor");
    }
    if (cursor != "earliest") {
      refuses(client.get("/v1/events?cursor=" + cursor), 400, "invalid_argument", "cursor");
    }
  }
  refuses(client.get("/v1/executions?limit=1&limit=2"), 400, "invalid_argument", "limit");
  refuses(client.get("/v1/executions?state=asleep"), 400, "invalid_argument", "state");
}

TEST_F(Hostile, HandlesThatWeDidNotSignAreRefused) {
  const std::string handles[] = {"", "x", "AQ", std::string(90, 'A'), std::string(100'000, 'A'), "\\u0000", "é"};
  for (const std::string& handle : handles) {
    const std::string member = "{\"handle\":\"" + handle + "\"";
    refuses(client.post("/v1/leases/complete", member + "}"), 400, "invalid_handle", "handle");
    refuses(client.post("/v1/leases/fail", member + ",\"category\":\"c\",\"message\":\"m\"}"), 400, "invalid_handle",
            "handle");
  }
}

TEST_F(Hostile, OversizedRequestsAreRefused) {
  std::string many;
  for (int i = 0; i < 101; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  refuses_bytes(request_with("GET /v1/lanes", many), 431, "invalid_argument");
  refuses_bytes(request_with("GET /v1/lanes", "X: " + std::string(20'000, 'x') + "\r\n"), 431, "invalid_argument");
  refuses_bytes(request_with("GET /v1/" + std::string(20'000, 'x'), ""), 414, "invalid_argument");
  refuses_bytes(request_with("POST /v1/executions", "Content-Length: 8388609\r\n"), 413, "payload_too_large");
  refuses_bytes(request_with("POST /v1/executions", "Transfer-Encoding: chunked\r\n", "800001\r\n"), 413,
                "payload_too_large");
  still_serves();
}

// ---------------------------------------------------------------- frames

TEST_F(Hostile, NothingIsSmuggledInsideARequest) {
  const std::string body = R"({"kind":"smuggled"})";
  const std::string inner = test::post("/v1/executions", body, "Content-Type: application/json\r\n");
  const std::string length = "Content-Length: " + std::to_string(inner.size()) + "\r\n";
  for (const std::string fields :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
        "Content-Length: 0\r\nContent-Length: 5\r\n", "Content-Length: 0, 5\r\n", "Content-Length: +0\r\n",
        "Transfer-Encoding : chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}) {
    refuses_bytes(request_with("POST /v1/claims", fields, "0\r\n\r\n" + inner), 400, "invalid_argument");
  }
  refuses_bytes(request_with("POST /v1/claims", "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n" + inner), 501,
                "unsupported");
  // Correctly framed, it is the body of something else.
  RawSocket socket = connect();
  socket.send(request_with("GET /v1/lanes", length + "Connection: close\r\n", inner));
  EXPECT_EQ(socket.read_all().substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(events(), 0u);
}

TEST_F(Hostile, GarbageBehindARequestDoesNotSpoilIt) {
  RawSocket socket = connect();
  const std::string good = test::post("/v1/executions", R"({"kind":"k"})", "Content-Type: application/json\r\n");
  socket.send(good + "\x16\x03\x01 garbage\r\n\r\n");
  EXPECT_EQ(socket.read_response().substr(0, 12), "HTTP/1.1 201");
  expect_refusal(socket.read_all(), 400, "invalid_argument");
  EXPECT_EQ(events(), 1u);
}

TEST_F(Hostile, ATruncatedBodyChangesNothing) {
  const std::string whole = test::post("/v1/executions", R"({"kind":"k"})");
  for (std::size_t size = whole.size() - 12; size < whole.size(); ++size) {
    refuses_bytes(whole.substr(0, size), 400, "invalid_argument");
  }
  EXPECT_EQ(events(), 0u);
}

// ---------------------------------------------------------------- slow ones

class HostileSlow : public Hostile {
 protected:
  static api::ApiOptions impatient() {
    api::ApiOptions options;
    options.http.header_timeout = milliseconds(200);
    options.http.body_timeout = milliseconds(200);
    return options;
  }
  HostileSlow() : Hostile(impatient()) {}
};

TEST_F(HostileSlow, ManyWhoTrickleAreCutWhileOthersAreServed) {
  std::vector<RawSocket> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(connect());
    slow.back().send("GET /v1/lanes HTTP/1.1\r\nHost: te");
    slow.push_back(connect());
    slow.back().send(request_with("POST /v1/executions", "Content-Length: 12\r\n", R"({"kind":)"));
    slow.push_back(connect());
    slow.back().send(request_with("POST /v1/executions", "Transfer-Encoding: chunked\r\n", "c\r\n{\"kind\""));
  }
  still_serves();
  for (RawSocket& socket : slow) expect_refusal(socket.read_all(), 408, "timed_out");
  // Single bytes do not extend it.
  RawSocket drops = connect();
  EXPECT_TRUE(test::eventually([&] { return !drops.send("G"); }));
  still_serves();
  EXPECT_EQ(events(), 0u);
}

// ---------------------------------------------------------------- TLS

class HostileTls : public testing::Test {
 protected:
  static api::ApiOptions secure(const test::TempDir& folder) {
    test::write_certificate(folder.file("cert.pem"), folder.file("key.pem"), "127.0.0.1");
    api::ApiOptions options;
    options.http.certificate_file = folder.file("cert.pem");
    options.http.private_key_file = folder.file("key.pem");
    options.http.handshake_timeout = milliseconds(500);
    return options;
  }
  test::TempDir folder;
  TestServer server{secure(folder)};
};

TEST_F(HostileTls, GarbageInsteadOfAHandshakeIsCut) {
  const std::string garbage[] = {test::get("/v1/lanes"),
                                 std::string(1000, '\0'),
                                 std::string(100'000, '\xff'),
                                 std::string("\x16\x03\x01\x00\x04\x01\x00\x00\x00", 9),
                                 std::string("\x16\x03\x01\xff\xff\x01\x00\x00\x00", 9),
                                 std::string("\x15\x03\x03\x00\x02\x02\x28", 7),
                                 std::string("\x17\x03\x03\x00\x05hello", 10),
                                 std::string("\x16\x03\x01\x02", 4),
                                 ""};
  for (const std::string& bytes : garbage) {
    RawSocket socket(port_of(server.url()));
    socket.send(bytes);
    EXPECT_EQ(socket.read_all().find("HTTP/"), std::string::npos) << testing::PrintToString(bytes.substr(0, 40));
  }
  auto client = net::HttpClient::create({.url = server.url(), .ca_file = folder.file("cert.pem")});
  ASSERT_TRUE(client) << client.error().message;
  const auto answer = client->request({.target = "/readyz"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
}

// ---------------------------------------------------------------- many

constexpr int idle_connections = 10'000;
constexpr rlim_t needed_files = idle_connections + 500;
// An idle connection should cost a few kilobytes at most, with any allocator.
constexpr std::size_t idle_memory_bytes = std::size_t{40} * 1024 * 1024;

bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#else
  return false;
#endif
#else
  return false;
#endif
}

bool may_open_enough_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed_files) return false;
  if (limit.rlim_cur < needed_files) limit.rlim_cur = needed_files;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Another process that opens connections and holds them, because one process may not have enough files for both ends.
class Crowd {
 public:
  Crowd(std::uint16_t port, int count) {
    FF_CHECK(pipe(done_) == 0);
    child_ = fork();
    FF_CHECK(child_ >= 0);
    if (child_ == 0) hold(port, count);
  }
  ~Crowd() {
    close(done_[1]);
    int status = 0;
    waitpid(child_, &status, 0);
    EXPECT_EQ(status, 0) << "not all connections could be opened";
    close(done_[0]);
  }

 private:
  // System calls only: the threads of the server do not exist here, but the locks that they held do.
  [[noreturn]] void hold(std::uint16_t port, int count) const {
    close(done_[1]);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; ++i) {
      const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
      if (socket < 0 || connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) _exit(1);
    }
    char nothing = 0;
    while (read(done_[0], &nothing, 1) > 0) {
    }
    _exit(0);
  }

  int done_[2] = {-1, -1};
  pid_t child_ = -1;
};

class HostileCrowd : public Hostile {
 protected:
  static api::ApiOptions roomy() {
    api::ApiOptions options;
    options.http.max_connections = idle_connections + 100;
    options.http.idle_timeout = std::chrono::minutes(30);
    return options;
  }
  HostileCrowd() : Hostile(roomy()) {}

  long open_connections() {
    const std::string metrics = client.get("/metrics").body;
    const std::string name = "\nflowfabric_http_connections ";
    return std::stol(metrics.substr(metrics.find(name) + name.size()));
  }
};

TEST_F(HostileCrowd, TenThousandIdleConnectionsCostLittleAndDisturbNobody) {
  if (!may_open_enough_files()) {
    GTEST_SKIP() << "the hard limit of open files (ulimit -Hn) is below " << needed_files;
  }
  ASSERT_EQ(client.post("/v1/executions", R"({"kind":"before"})").status, 201);
  const std::size_t before = resident_bytes();
  {
    const Crowd crowd(port_of(server.url()), idle_connections);
    ASSERT_TRUE(test::eventually([&] { return open_connections() > idle_connections; }));
    const std::size_t after = resident_bytes();
    const std::size_t more = after > before ? after - before : 0;
    RecordProperty("bytes_for_each_connection", static_cast<int>(more / idle_connections));
    if (!is_sanitized()) {
      EXPECT_LT(more, idle_memory_bytes);
    }
    for (int i = 0; i < 100; ++i) ASSERT_EQ(client.post("/v1/executions", R"({"kind":"during"})").status, 201);
    TestClient newcomer(server.url());
    EXPECT_EQ(newcomer.get("/v1/executions").status, 200);
  }
  EXPECT_TRUE(test::eventually([&] { return open_connections() < 10; }));
  still_serves();
}

// ---------------------------------------------------------------- the fuzz targets

TEST(RequestShapes, AreThoseOfTheRouteTable) {
  std::set<std::string> fuzzed;
  fuzz::for_each_request_shape([&](const auto& shape) {
    fuzzed.insert(wire::schema_reference(wire::Shape<std::decay_t<decltype(shape)>>::name));
  });
  std::set<std::string> taken;
  wire::Schemas schemas;
  for (const api::Route& route : api::all_routes()) {
    if (route.request_schema) taken.insert(route.request_schema(schemas));
  }
  EXPECT_EQ(fuzzed, taken);
}

}  // namespace
}  // namespace flowfabric::e2e
