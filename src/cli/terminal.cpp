#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace flowfabric::cli {
namespace {

constexpr std::size_t default_columns = 80;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The first of these that is set is used, as in setlocale(3).
bool shows_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
  }
  return false;
}

std::size_t columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return default_columns;
  return size.ws_col;
}

}  // namespace

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0 && environment("TERM") != "dumb"; }

Look stdout_look() {
  if (!stdout_is_terminal()) return {};
  return {columns(), environment("NO_COLOR").empty(), shows_utf8()};
}

}  // namespace flowfabric::cli
