// Finds the metrics of a PromQL query. Not a full parser: it supports what our dashboards use, and treats an unknown
// word as the name of a metric, so that nothing goes unchecked.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace flowfabric::e2e {

struct Matcher {
  std::string label;
  std::string relation;  // = != =~ !~
  std::string value;
};

struct Selector {
  std::string metric;
  std::vector<Matcher> matchers;
};

struct Query {
  std::vector<Selector> selectors;
  std::set<std::string> grouped_by;  // by (...)
  std::set<std::string> joined_on;   // on (...)
};

// Throws std::runtime_error.
Query read_query(const std::string& text);

}  // namespace flowfabric::e2e
