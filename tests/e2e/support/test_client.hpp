// A strict client: every reply is checked against the description of its route in /openapi.json, and every error
// against the common form of errors.
#pragma once

#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include <flowfabric/engine.hpp>

#include "api/api.hpp"
#include "net/http_client.hpp"

namespace flowfabric::e2e {

struct Reply {
  int status = 0;
  std::string body{};
  net::Headers headers{};
  boost::json::value json{};  // null if the body is not JSON

  // The fields of an error; empty if the reply is not an error.
  std::string code() const;
  std::string field() const;
  std::string message() const;
};

std::string text(const boost::json::value& value);
// An execution id as a segment of a path.
std::string path_of(const std::string& execution_id);
// A path that matches the pattern of a route, with names that do not exist.
std::string some_path(std::string pattern);

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

class TestClient {
 public:
  explicit TestClient(const std::string& url);

  // What may change something is sent as JSON unless the headers say otherwise.
  Reply send(const std::string& method, const std::string& target, const std::string& body = {},
             net::Headers headers = {});
  Reply get(const std::string& target) { return send("GET", target); }
  Reply post(const std::string& target, const std::string& body = {}) { return send("POST", target, body); }
  Reply put(const std::string& target, const std::string& body) { return send("PUT", target, body); }
  Reply patch(const std::string& target, const std::string& body) { return send("PATCH", target, body); }

  const boost::json::value& openapi() const { return openapi_; }
  // "POST /v1/claims": every operation of the document, and those that have succeeded here.
  std::set<std::string> operations() const;
  const std::set<std::string>& succeeded() const { return succeeded_; }

 private:
  Reply raw(const std::string& method, const std::string& target, const std::string& body, net::Headers headers);
  void check(const std::string& method, const std::string& target, const Reply& reply);

  net::HttpClient http_;
  boost::json::value openapi_;
  std::set<std::string> succeeded_;
};

// An engine behind a server of this process; in memory, unless one is given.
class TestServer {
 public:
  explicit TestServer(api::ApiOptions options = {});
  explicit TestServer(std::unique_ptr<Engine> engine, api::ApiOptions options = {});
  ~TestServer();

  Engine& engine() { return *engine_; }
  std::string url() const { return api_->url(); }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<api::ApiServer> api_;
};

}  // namespace flowfabric::e2e
