// A small blocking HTTP/1.1 client: one object, one connection, kept open between requests. One thread at a
// time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include <flowfabric/result.hpp>

#include "net/http.hpp"

namespace flowfabric::net {

struct ClientOptions {
  std::string url{};      // http://host:port or https://host:port
  std::string ca_file{};  // PEM; empty: what the system trusts
  bool verify = true;     // the certificate, and that it is for this host
  std::chrono::milliseconds connect_timeout{5'000};
  std::size_t max_response_bytes = std::size_t{64} * 1024 * 1024;  // of a body that is kept
  // Ends, soon after it is asked to, whatever the client waits for, as if the time were over. Looking up a name goes on.
  std::stop_token stop{};
};

struct ClientRequest {
  std::string method = "GET";
  std::string target = "/";
  Headers headers{};
  std::string body{};
  // For the whole answer; for stream(), the longest silence.
  std::chrono::milliseconds timeout{30'000};
};

// Errors: `unavailable` when no connection could be made, `timed_out` when no response came in time,
// `outcome_unknown` when the connection was lost, or became unreadable, after the request had left.
// `invalid_argument` for a request that cannot be sent. Every status is an answer, not an error.
class HttpClient {
 public:
  static Result<HttpClient> create(ClientOptions options);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Connects when there is no connection. A request that may be repeated is, once, when a kept connection turns out
  // to be closed.
  Result<Response> request(const ClientRequest& request);
  // Hands out the body as it comes, and returns a response without one. When `on_data` returns false the connection is
  // closed and the call returns.
  using OnData = std::function<bool(std::string_view bytes)>;
  Result<Response> stream(const ClientRequest& request, const OnData& on_data);
  void disconnect();
  bool connected() const;

 private:
  class Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace flowfabric::net
