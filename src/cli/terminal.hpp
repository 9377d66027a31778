// The capabilities of stdout.
#pragma once

#include <cstddef>

namespace flowfabric::cli {

// How to lay out text. The default is for files and pipes: nothing is cut, no colours.
struct Look {
  std::size_t columns = 0;  // 0: unlimited
  bool colour = false;
  bool utf8 = false;
};

// True if stdout is a terminal that can move its cursor.
bool stdout_is_terminal();
Look stdout_look();

}  // namespace flowfabric::cli
