// Parses request targets. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "net/http.hpp"

namespace flowfabric::net {

// Decodes %XX, and + as a space if requested. False on a bad escape, on NUL and on invalid UTF-8.
bool percent_decode(std::string_view text, bool plus_is_space, std::string& out);
// Encodes everything except unreserved characters, so that the text fits into a segment or a query.
std::string percent_encode(std::string_view text);

// Fills path, segments and query from method and target. Accepts origin-form (/a?b), absolute-form (http://host/a?b)
// and the * of OPTIONS. Dot segments are refused: clients do not need them, and they are dangerous if segments are
// mapped to other names.
Result<void, Fault> decode_target(Request& request);

}  // namespace flowfabric::net
