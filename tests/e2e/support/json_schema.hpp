// Checks JSON against the part of JSON Schema that our OpenAPI documents use. Unknown keywords are reported, so that
// nothing goes unchecked.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

namespace flowfabric::e2e {

// All violations of the schema by `value`, each with its place. `document` is used to resolve references.
std::vector<std::string> violations(const boost::json::value& document, const boost::json::value& schema,
                                    const boost::json::value& value);

// The target of "#/a/b"; null if there is none.
const boost::json::value* resolve(const boost::json::value& document, const std::string& reference);

}  // namespace flowfabric::e2e
