// Checks JSON against the part of JSON Schema that our OpenAPI documents use. What it does not know it reports, so that
// nothing goes unchecked.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

namespace flowfabric::e2e {

// Everything about `value` that the schema forbids, each with the place where it stands. `document` is what references
// are looked up in.
std::vector<std::string> violations(const boost::json::value& document, const boost::json::value& schema,
                                    const boost::json::value& value);

// What "#/a/b" points at; null when there is nothing.
const boost::json::value* resolve(const boost::json::value& document, const std::string& reference);

}  // namespace flowfabric::e2e
