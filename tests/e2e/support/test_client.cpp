#include "e2e/support/test_client.hpp"

#include <stdexcept>

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include "e2e/support/json_schema.hpp"
#include "net/target.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;

std::vector<std::string> segments_of(std::string path) {
  path = path.substr(0, path.find('?'));
  std::vector<std::string> all;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    all.push_back(path.substr(at + 1, end - at - 1));
    at = end;
  }
  return all;
}

bool fits(const std::string& pattern, const std::string& target) {
  const auto wanted = segments_of(pattern);
  const auto given = segments_of(target);
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].starts_with('{') && wanted[i] != given[i]) return false;
  }
  return true;
}

std::string lower_case(std::string word) {
  for (char& c : word) c = static_cast<char>(c | 0x20);
  return word;
}

std::string error_member(const Reply& reply, const char* name) {
  if (!reply.json.is_object()) return {};
  const json::value* error = reply.json.as_object().if_contains("error");
  const json::value* member = error == nullptr ? nullptr : error->as_object().if_contains(name);
  return member == nullptr ? "" : text(*member);
}

}  // namespace

std::string Reply::code() const { return error_member(*this, "code"); }
std::string Reply::field() const { return error_member(*this, "field"); }
std::string Reply::message() const { return error_member(*this, "message"); }

std::string text(const json::value& value) {
  const auto& string = value.as_string();
  return {string.data(), string.size()};
}

std::string some_path(std::string pattern) {
  for (std::size_t at = pattern.find('{'); at != std::string::npos; at = pattern.find('{')) {
    const std::size_t end = pattern.find('}', at);
    const std::string name = pattern.substr(at + 1, end - at - 1);
    const std::string value =
        name == "execution_id" ? "fp1-01a1e1fe-886f-7003-bd39-10a388a0e029" : (name == "attempt_index" ? "0" : "x");
    pattern.replace(at, end - at + 1, value);
  }
  return pattern;
}

std::string path_of(const std::string& execution_id) { return "/v1/executions/" + net::percent_encode(execution_id); }

TestClient::TestClient(const std::string& url) : http_(must(net::HttpClient::create({.url = url}))) {
  openapi_ = json::parse(raw("GET", "/openapi.json", {}, {}).body);
}

Reply TestClient::raw(const std::string& method, const std::string& target, const std::string& body,
                      net::Headers headers) {
  const bool changes = method != "GET" && method != "HEAD" && method != "OPTIONS";
  if ((changes || !body.empty()) && !headers.find("content-type")) headers.add("Content-Type", "application/json");
  net::ClientRequest request;
  request.method = method;
  request.target = target;
  request.headers = std::move(headers);
  request.body = body;
  net::Response response = must(http_.request(request));
  Reply reply{response.status, std::move(response.body), std::move(response.headers), {}};
  json::error_code problem;
  auto parsed = json::parse(reply.body, problem);
  if (!problem) reply.json = std::move(parsed);
  return reply;
}

Reply TestClient::send(const std::string& method, const std::string& target, const std::string& body,
                       net::Headers headers) {
  Reply reply = raw(method, target, body, std::move(headers));
  check(method, target, reply);
  return reply;
}

void TestClient::check(const std::string& method, const std::string& target, const Reply& reply) {
  const std::string what = method + " " + target + " -> " + std::to_string(reply.status) + " " + reply.body;
  const json::value* schema = nullptr;
  if (reply.status >= 400) {
    schema = resolve(openapi_, "#/components/schemas/Error");
  } else {
    for (const auto& [pattern, operations] : openapi_.at("paths").as_object()) {
      const std::string path(pattern.data(), pattern.size());
      const json::value* operation = operations.as_object().if_contains(lower_case(method));
      if (operation == nullptr || !fits(path, target)) continue;
      if (schema != nullptr && path.find('{') != std::string::npos) continue;  // explicit headers take precedence
      const json::value* response = operation->at("responses").as_object().if_contains(std::to_string(reply.status));
      ASSERT_NE(response, nullptr) << what << ": a status that the document does not know";
      const auto type = reply.headers.find("content-type").value_or("application/json");
      const json::value* content = response->at("content").as_object().if_contains(type);
      ASSERT_NE(content, nullptr) << what << ": a content type that the document does not know";
      succeeded_.insert(method + " " + path);
      schema = content->as_object().if_contains("schema");
      if (type != "application/json") return;  // bytes, or a stream of texts
    }
  }
  // Health, metrics and the document itself are not part of the API; neither are CORS preflight requests.
  if (schema == nullptr && (!target.starts_with("/v1/") || method == "OPTIONS")) return;
  ASSERT_NE(schema, nullptr) << what << ": not in the document";
  for (const std::string& violation : violations(openapi_, *schema, reply.json))
    ADD_FAILURE() << what << ": " << violation;
}

std::set<std::string> TestClient::operations() const {
  std::set<std::string> all;
  for (const auto& [pattern, operations] : openapi_.at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      std::string upper(method.data(), method.size());
      for (char& c : upper) c = static_cast<char>(c & ~0x20);
      all.insert(upper + " " + std::string(pattern.data(), pattern.size()));
    }
  }
  return all;
}

TestServer::TestServer(api::ApiOptions options) : TestServer(must(Engine::open("memory:")), std::move(options)) {}

TestServer::TestServer(std::unique_ptr<Engine> engine, api::ApiOptions options) : engine_(std::move(engine)) {
  options.port = 0;
  api_ = must(api::ApiServer::start(*engine_, options));
}

TestServer::~TestServer() {
  engine_->stop();
  api_->drain(std::chrono::milliseconds(10000));
}

}  // namespace flowfabric::e2e
