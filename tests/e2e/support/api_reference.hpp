// docs/http-api.md: the route table and its schemas, with examples from a server.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "e2e/support/test_client.hpp"

namespace flowfabric::e2e {

// A handle for examples that no server issued.
inline constexpr const char* made_up_handle = "HANDLE-OF-NOBODY";

// Sends requests and keeps the first successful one of each operation.
class ExampleRecorder {
 public:
  struct Example {
    std::string method{};
    std::string target{};
    boost::json::value body{};  // null if there is none
    Reply reply{};
    net::Headers headers{};  // beside the usual ones
  };

  explicit ExampleRecorder(TestClient& client) : client_(client) {}

  Reply send(const std::string& method, const std::string& target, const std::string& body = {},
             const net::Headers& headers = {});
  void add(const std::string& operation, const Example& example) { examples_.emplace(operation, example); }
  // "POST /v1/claims" -> its example.
  const std::map<std::string, Example>& examples() const { return examples_; }

 private:
  TestClient& client_;
  std::map<std::string, Example> examples_;
};

std::string render_api_reference(const boost::json::value& openapi,
                                 const std::map<std::string, ExampleRecorder::Example>& examples,
                                 const ExampleRecorder::Example& refusal);

}  // namespace flowfabric::e2e
