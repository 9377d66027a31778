#include "net/wire.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace flowfabric::net {
namespace {

bool is_ours(std::string_view name) {
  static constexpr std::array<std::string_view, 4> names = {"Connection", "Content-Length", "Transfer-Encoding",
                                                            "Date"};
  return std::any_of(names.begin(), names.end(), [&](std::string_view own) { return equal_ignoring_case(own, name); });
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

}  // namespace

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

bool has_safe_headers(const Response& response) {
  if (!response.content_type.empty() && !is_safe_field("Content-Type", response.content_type)) return false;
  return std::all_of(response.headers.begin(), response.headers.end(),
                     [](const auto& field) { return is_safe_field(field.first, field.second); });
}

std::string response_head(const Response& response, const HeadFraming& framing) {
  std::string out;
  out.reserve(256);
  out += "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\n";
  if (!framing.date.empty()) append_field(out, "Date", framing.date);
  const bool typed = may_have_body(response.status) && !response.content_type.empty();
  if (typed && !response.headers.find("Content-Type")) append_field(out, "Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) {
    if (!is_ours(name)) append_field(out, name, value);
  }
  if (framing.body == HeadFraming::Body::length) {
    append_field(out, "Content-Length", std::to_string(response.body.size()));
  } else if (framing.body == HeadFraming::Body::chunked) {
    append_field(out, "Transfer-Encoding", "chunked");
  }
  if (!framing.keep_alive) {
    append_field(out, "Connection", "close");
  } else if (framing.minor_version == 0) {
    append_field(out, "Connection", "keep-alive");
  }
  out += "\r\n";
  return out;
}

std::string http_date(std::time_t at) {
  static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm parts{};
  gmtime_r(&at, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[parts.tm_wday % 7], parts.tm_mday,
                months[parts.tm_mon % 12], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text;
}

}  // namespace flowfabric::net
