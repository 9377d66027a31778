// A terminal that is drawn on as a whole and that hands out keys as they are pressed.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace flowfabric::cli {

// While it lives stdin and stdout belong to it: an own page, no cursor, no echo. Afterwards the terminal is as it was,
// whichever way it ends, Ctrl-C and SIGTERM among them. There is one at a time.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  static std::size_t rows();
  // Lines that do not fit are left out.
  void draw(const std::string& text) const;
  // True when q or Ctrl-C was pressed, or the process was told to end; false when the time is over.
  bool left_within(std::chrono::milliseconds patience) const;
};

// stdin and stdout are terminals.
bool can_have_screen();

}  // namespace flowfabric::cli
