// Takes request targets apart. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "net/http.hpp"

namespace flowfabric::net {

// Decodes %XX, and + as a space when asked. False on a bad escape, on NUL and on what is not UTF-8 afterwards.
bool percent_decode(std::string_view text, bool plus_is_space, std::string& out);
// Encodes everything but unreserved characters, so the text fits into a segment or a query.
std::string percent_encode(std::string_view text);

// Fills path, segments and query from method and target. Takes origin-form (/a?b), absolute-form (http://host/a?b) and
// the * of OPTIONS. Dot segments are refused: nobody needs them, and whoever maps segments to something may trip.
tl::expected<void, Fault> decode_target(Request& request);

}  // namespace flowfabric::net
