#include "cli/complaint.hpp"

#include <cstdio>

#include <fmt/core.h>

#include "cli/json_out.hpp"
#include "cli/table.hpp"

namespace flowfabric::cli {
namespace {

// Error messages of databases can have several lines; an error here is printed as one.
std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : printable(text)) {
    if (c != ' ' || (!line.empty() && line.back() != ' ')) line.push_back(c);
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace

int complain(const std::string& who, const Error& error, bool json) {
  std::fflush(stdout);  // Keeps the order of stdout and stderr when both go into one pipe.
  if (json) {
    fmt::print(stderr, "{}\n", to_json(error));
  } else {
    fmt::print(stderr, "{}: {}\n", who, in_one_line(error.message));
  }
  return describe(error.code).exit_code;
}

}  // namespace flowfabric::cli
