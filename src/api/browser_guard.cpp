#include "api/browser_guard.hpp"

#include <algorithm>

#include "api/call.hpp"
#include "base/check.hpp"

namespace flowfabric::api {
namespace {

// The name in a Host header, without the port; in brackets when it is an IPv6 address.
std::string_view name_of_host(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

// 127.0.0.1 and its like. A name such as 127.example.com is none of them.
bool is_loopback_address(std::string_view name) {
  return name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_loopback_name(std::string_view name) {
  return net::equal_ignoring_case(name, "localhost") || name == "[::1]" || is_loopback_address(name);
}

// A page that this server itself has served.
bool is_same_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme) && net::equal_ignoring_case(origin.substr(scheme.size()), host)) return true;
  }
  return false;
}

}  // namespace

bool is_allowed_origin(std::string_view origin, const std::vector<std::string>& allowed) {
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& one) { return one == "*" || one == origin; });
}

Result<void> check_host(const net::Request& request) {
  // Only HTTP/1.0 may do without, and no browser does.
  const std::string_view host = request.headers.find("host").value_or("localhost");
  if (!is_loopback_name(name_of_host(host))) {
    return fail(Errc::permission_denied,
                "host: is \"" + std::string(host) +
                    "\"; a server without API keys answers only to localhost, 127.0.0.1 and [::1]",
                "host");
  }
  return {};
}

Result<void> check_sender(const net::Request& request, const std::vector<std::string>& allowed_origins) {
  FF_TRY_VOID(check_host(request));
  return check_origin(request, allowed_origins);
}

Result<void> check_origin(const net::Request& request, const std::vector<std::string>& allowed_origins) {
  const std::string_view host = request.headers.find("host").value_or("localhost");
  for (const auto& [name, origin] : request.headers) {
    if (!net::equal_ignoring_case(name, "origin")) continue;
    if (is_allowed_origin(origin, allowed_origins) || is_same_origin(origin, host)) continue;
    return fail(
        Errc::permission_denied,
        "origin: pages of \"" + origin + "\" may not call this server; the setting cors_origins lists those that may",
        "origin");
  }
  return {};
}

Result<void> check_own_page(const net::Request& request) {
  const std::string_view host = request.headers.find("host").value_or("");
  for (const auto& [name, value] : request.headers) {
    if (net::equal_ignoring_case(name, "origin") && !is_same_origin(value, host)) {
      return fail(Errc::permission_denied,
                  "origin: is \"" + value + "\" and the server was called as \"" + std::string(host) +
                      "\"; only pages of this server may do this (a proxy in front of it must pass Host on)",
                  "origin");
    }
    // An address that was typed or bookmarked belongs to no page.
    if (net::equal_ignoring_case(name, "sec-fetch-site") && value != "same-origin" && value != "none") {
      return fail(Errc::permission_denied,
                  "sec-fetch-site: is \"" + value + "\"; only pages of this server may do this", "sec-fetch-site");
    }
  }
  return {};
}

Result<void> check_cookie_sender(const net::Request& request) {
  FF_TRY_VOID(check_own_page(request));
  if (request.method == "GET" || request.method == "HEAD" || request.headers.find("origin")) return {};
  return fail(
      Errc::permission_denied,
      "origin: is missing; requests with a session that may change something must name the page that sends them",
      "origin");
}

Result<void> check_form_sender(const net::Request& request) {
  const auto refuse_sender = [] {
    return fail(Errc::permission_denied, "Another page has sent this form. Open the link itself and decide there.");
  };
  const std::string_view host = request.headers.find("host").value_or("");
  for (const auto& [name, value] : request.headers) {
    if (net::equal_ignoring_case(name, "origin") && value != "null" && !is_same_origin(value, host)) {
      return refuse_sender();
    }
    // It tells whether an origin of "null" is ours. Browsers send it over TLS and to this machine.
    if (net::equal_ignoring_case(name, "sec-fetch-site") && value != "same-origin" && value != "none") {
      return refuse_sender();
    }
  }
  const auto type = request.headers.find("content-type");
  if (type && is_media_type(*type, "application/x-www-form-urlencoded")) return {};
  return fail(Errc::unsupported_media_type, "The decision must be sent by the form of the page.", "content-type");
}

Result<void> check_content_type(const net::Request& request, bool takes_bytes) {
  const auto type = request.headers.find("content-type");
  if (type && is_media_type(*type, json_type)) return {};
  if (type && takes_bytes && is_media_type(*type, bytes_type)) return {};
  const std::string allowed = std::string(json_type) + (takes_bytes ? " or " + std::string(bytes_type) : "");
  return fail(Errc::unsupported_media_type,
              "content-type: " + (type ? "is \"" + std::string(*type) + "\"" : std::string("is missing")) +
                  "; must be " + allowed + ", also without a body",
              "content-type");
}

}  // namespace flowfabric::api
