// Shared by tests of the HTTP server: starting one, waiting for a condition, short requests.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "net/http_server.hpp"

namespace flowfabric::test {

inline std::unique_ptr<net::HttpServer> serve(net::Handler handler, net::ServerOptions options = {}) {
  auto server = net::HttpServer::start(std::move(options), std::move(handler));
  FF_CHECK(server);
  return std::move(*server);
}

// Answers with the request.
inline void echo(const std::shared_ptr<net::Exchange>& exchange) {
  const net::Request& request = exchange->request();
  exchange->respond({.body = request.method + " " + request.target + " " + request.body, .content_type = "text/plain"});
}

inline std::string get(const std::string& target, const std::string& headers = {}) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}

inline std::string post(const std::string& target, const std::string& body, const std::string& headers = {}) {
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         headers + "\r\n" + body;
}

// Waits for changes on other threads. False after a minute, which a correct test never reaches.
template <class Condition>
bool eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace flowfabric::test
