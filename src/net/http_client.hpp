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
  std::string ca_file{};  // PEM; empty: the CA certificates of the system
  bool verify = true;     // the certificate, and that it belongs to this host
  std::chrono::milliseconds connect_timeout{5'000};
  std::size_t max_response_bytes = std::size_t{64} * 1024 * 1024;  // of a collected body
  // Ends every wait of the client soon after it is requested, as if the time were over. Does not interrupt a name
  // lookup.
  std::stop_token stop{};
};

struct ClientRequest {
  std::string method = "GET";
  std::string target = "/";
  Headers headers{};
  std::string body{};
  // For the whole response; for stream(), the longest time without data.
  std::chrono::milliseconds timeout{30'000};
};

// Errors: `unavailable` if no connection could be made, `timed_out` if no response came in time, `outcome_unknown` if
// the connection was lost, or the response was malformed, after the request was sent. `invalid_argument` for a request
// that cannot be sent. Every status is a response, not an error.
class HttpClient {
 public:
  static Result<HttpClient> create(ClientOptions options);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Connects if there is no connection. A repeatable request is repeated once if a kept connection turns out to be
  // closed.
  Result<Response> request(const ClientRequest& request);
  // Passes the body on as it arrives, and returns a response without one. If `on_data` returns false, the connection is
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
