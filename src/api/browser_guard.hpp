// Keeps web pages away from the API.
//
// A browser sends requests to this machine on behalf of any page that asks it to, and a server without API keys cannot
// tell them from the user's own. Three checks tell them apart. `Host` carries the name that the page was loaded from when
// its owner lets that name resolve to 127.0.0.1 (DNS rebinding). `Origin` names the page's site. And a page may send only
// a few content types without a preflight, JSON and bytes not among them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/result.hpp>

#include "net/http.hpp"

namespace flowfabric::api {

// Whether pages of this origin may call: it is in the list, or the list has "*".
bool is_allowed_origin(std::string_view origin, const std::vector<std::string>& allowed);

// For a server that does not ask for API keys: refuses hosts that are no loopback names.
Result<void> check_host(const net::Request& request);
// The same, and refuses origins that are neither the server itself nor allowed.
Result<void> check_sender(const net::Request& request, const std::vector<std::string>& allowed_origins);

// Refuses origins that are neither the server itself nor allowed. Programs that are no browsers name none.
Result<void> check_origin(const net::Request& request, const std::vector<std::string>& allowed_origins);

// For what only pages of this server may do: refuses requests that a browser sends for another page. Programs that are no
// browsers send none of the fields that are looked at.
Result<void> check_own_page(const net::Request& request);
// The same for requests that carry a cookie, which a browser sends whatever page asks for them. Those that may change
// something must name their origin. SameSite is not enough: it takes all ports of a host for one site.
Result<void> check_cookie_sender(const net::Request& request);

// For the form of a page that says `Referrer-Policy: no-referrer`, whose browser therefore sends `Origin: null`. Everything that
// names another page is refused. The body is application/x-www-form-urlencoded.
Result<void> check_form_sender(const net::Request& request);

// For everything that may change something: the body, be it empty, is JSON, or bytes where those are taken.
Result<void> check_content_type(const net::Request& request, bool takes_bytes);

}  // namespace flowfabric::api
