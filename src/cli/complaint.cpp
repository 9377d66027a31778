#include "cli/complaint.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/core.h>

#include "base/text.hpp"
#include "cli/table.hpp"
#include "wire/shapes.hpp"

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

std::string error_to_json(const Error& error) {
  wire::ErrorBody body{error};
  std::string& message = body.error.message;
  if (!is_valid_utf8(message)) {  // the message of a database in a foreign character set
    std::replace_if(message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  return wire::to_json(body);
}

int complain(const std::string& who, const Error& error, bool json) {
  std::fflush(stdout);  // Keeps the order of stdout and stderr when both go into one pipe.
  if (json) {
    fmt::print(stderr, "{}\n", error_to_json(error));
  } else {
    fmt::print(stderr, "{}: {}\n", who, in_one_line(error.message));
  }
  return describe(error.code).exit_code;
}

}  // namespace flowfabric::cli
