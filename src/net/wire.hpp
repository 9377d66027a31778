// Responses as bytes. Pure functions.
#pragma once

#include <ctime>
#include <string>

#include "net/http.hpp"

namespace flowfabric::net {

// The connection and length fields of a response, in addition to the fields of the handler.
struct HeadFraming {
  enum class Body { none, length, chunked, until_close };
  Body body = Body::length;
  bool keep_alive = true;
  int minor_version = 1;    // of the request
  std::string_view date{};  // left out if empty
};

// Status line and headers with the empty line. Fields that this module sets (Connection, Content-Length,
// Transfer-Encoding, Date) are taken from `framing`, not from the response.
std::string response_head(const Response& response, const HeadFraming& framing);
// Whether all headers can be sent as they are.
bool has_safe_headers(const Response& response);
bool may_have_body(int status);
// Sun, 06 Nov 1994 08:49:37 GMT
std::string http_date(std::time_t at);

}  // namespace flowfabric::net
