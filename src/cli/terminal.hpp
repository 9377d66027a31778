// What stdout can show.
#pragma once

#include <cstddef>

namespace flowfabric::cli {

// How to lay out text. The default is for files and pipes: nothing is cut, nothing is coloured.
struct Look {
  std::size_t columns = 0;  // 0: as wide as it gets
  bool colour = false;
  bool utf8 = false;
};

// True when stdout is a terminal that can move its cursor.
bool stdout_is_terminal();
Look stdout_look();

}  // namespace flowfabric::cli
