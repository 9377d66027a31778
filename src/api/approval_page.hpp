// The page of a signed link, GET and POST /approve/{token}: an approval, and a form to decide. Its bearer needs no API key,
// because the token is the right to decide, once, at one waitpoint. Reading it changes nothing, whoever reads ahead.
// docs/decisions/0082-signed-links.md.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <flowfabric/engine.hpp>

#include "net/http.hpp"

namespace flowfabric::api {

inline constexpr std::string_view approval_route = "/approve/{token}";

bool is_approval_link(const net::Request& request);
// Takes the token out of all that is logged and traced about the request. It stays in the segments.
void hide_approval_token(net::Request& request);

using Form = std::map<std::string, std::string, std::less<>>;
// The fields of application/x-www-form-urlencoded. Refuses what a browser does not send: a field twice, bad escapes.
Result<Form> read_form(std::string_view body);

// For GET, HEAD and POST. Blocks.
net::Response answer_approval(Engine& engine, const net::Request& request);
// A page that says what went wrong before the token was looked at.
net::Response approval_problem(const Error& error);

}  // namespace flowfabric::api
