// HTTP messages as plain values. Shared by server and client; no I/O, no library type.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <flowfabric/result.hpp>

namespace flowfabric::net {

// Header fields in the order of the message. Names are case-insensitive.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;

  Headers() = default;
  Headers(std::initializer_list<Field> fields) : fields_(fields) {}

  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // The value of the first field with that name.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  // Whether a field with that name has the token in its comma-separated list.
  bool has_token(std::string_view name, std::string_view token) const;

  std::size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

  friend bool operator==(const Headers&, const Headers&) = default;

 private:
  std::vector<Field> fields_;
};

struct Request {
  std::string method{};                                      // as sent; methods are case-sensitive
  std::string target{};                                      // as sent
  std::string path{};                                        // of the target, without the query, still encoded
  std::vector<std::string> segments{};                       // of the path, decoded: /a/b%2Fc is {"a", "b/c"}
  std::vector<std::pair<std::string, std::string>> query{};  // decoded, in the order of the target
  int minor_version = 1;                                     // of HTTP/1.x
  Headers headers{};
  std::string body{};
  std::string remote_address{};  // without the port
  bool secure = false;           // came over TLS

  // The first value of that name in the query.
  std::optional<std::string_view> query_value(std::string_view name) const;
};

struct Response {
  int status = 200;
  Headers headers{};
  std::string body{};
  std::string content_type = "application/json";  // empty: no Content-Type is sent
};

// An error response that this module sends itself, because the request cannot reach a handler.
struct Fault {
  int status = 500;
  Error error{};
};

// How a message indicates the end of its body.
struct Framing {
  enum class Kind { none, length, chunked, until_close };
  Kind kind = Kind::none;
  std::uint64_t length = 0;  // for Kind::length
};

bool equal_ignoring_case(std::string_view a, std::string_view b);
std::string_view reason_phrase(int status);
// True if neither name nor value can end the line early or start another one.
bool is_safe_field(std::string_view name, std::string_view value);
// {"error":{"code":…,"message":…,"retryable":…}}
std::string default_error_body(const Error& error);

}  // namespace flowfabric::net
