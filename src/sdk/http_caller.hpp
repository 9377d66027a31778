// Calls of the HTTP API: a pool of connections, JSON there and back, errors as values, and repeats while nobody answers.
//
// Threads: any.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <flowfabric/client.hpp>

#include "base/check.hpp"
#include "net/http_client.hpp"
#include "wire/shape.hpp"

namespace flowfabric::sdk {

// A path with a query: what is absent is left out.
class Url {
 public:
  explicit Url(std::string path) : text_(std::move(path)) {}

  Url& add(const char* name, const std::string& value);
  Url& add(const char* name, const std::optional<std::string>& value) { return value ? add(name, *value) : *this; }
  Url& add(const char* name, const std::optional<std::int64_t>& value) {
    return value ? add(name, std::to_string(*value)) : *this;
  }
  Url& page(const std::string& cursor, std::uint32_t limit);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool first_ = true;
};

// "a,b", or nothing when there are none.
template <class Enum>
std::optional<std::string> joined(const std::vector<Enum>& values) {
  std::string text;
  for (const Enum value : values) text += (text.empty() ? "" : ",") + std::string(to_string(value));
  return text.empty() ? std::nullopt : std::optional(text);
}

// Text in a path.
std::string in_path(std::string_view text);
std::string path_of(const ExecutionId& id);

struct CallOptions {
  std::chrono::milliseconds extra_time{0};  // that the server may take before it answers, besides the usual
  bool repeat = true;                       // when the connection fails: the call may have been carried out
  std::stop_token stop{};                   // ends the call early, as `shutting_down`
};

class HttpCaller {
 public:
  static Result<std::unique_ptr<HttpCaller>> create(const std::string& url, const ClientOptions& options);

  template <class Reply>
  Result<Reply> get(const Url& url, const CallOptions& options = {}) {
    return ask<Reply>("GET", url.text(), {}, options);
  }
  template <class Reply, class Body>
  Result<Reply> send(const char* method, const std::string& path, const Body& body, const CallOptions& options = {}) {
    return ask<Reply>(method, path, wire::to_json(body), options);
  }
  // The reply says nothing that matters.
  template <class Body>
  Result<void> send_only(const char* method, const std::string& path, const Body& body,
                         const CallOptions& options = {}) {
    FF_TRY(response, call(method, path, wire::to_json(body), options));
    static_cast<void>(response);
    return {};
  }

  // A response with a status below 300; everything else is an error.
  Result<net::Response> call(const char* method, const std::string& target, const std::string& body,
                             const CallOptions& options);
  // The reply in a response.
  template <class Reply>
  static Result<Reply> read(const net::Response& response) {
    auto reply = wire::from_reply<Reply>(response.body);
    if (reply) return reply;
    return fail(Errc::schema_mismatch,
                "the server's answer cannot be read; is it of another version? " + reply.error().message);
  }

 private:
  struct Connection {
    std::stop_token stop;
    net::HttpClient client;
  };

  HttpCaller(std::string url, ClientOptions options) : url_(std::move(url)), options_(std::move(options)) {}
  template <class Reply>
  Result<Reply> ask(const char* method, const std::string& target, const std::string& body,
                    const CallOptions& options) {
    FF_TRY(response, call(method, target, body, options));
    return read<Reply>(response);
  }
  net::ClientOptions client_options(std::stop_token stop) const;
  Result<Connection> take(const std::stop_token& stop);
  void put_back(Connection connection);
  Result<net::Response> call_once(const net::ClientRequest& request, const std::stop_token& stop);

  std::string url_;
  ClientOptions options_;
  std::mutex mutex_;
  std::vector<Connection> idle_;
};

}  // namespace flowfabric::sdk
