// A terminal in full-screen mode that returns key presses.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace flowfabric::cli {

// While it exists, it owns stdin and stdout: alternate screen, no cursor, no echo. Afterwards the terminal is restored
// in all cases, including Ctrl-C and SIGTERM. Only one may exist.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  static std::size_t rows();
  // Lines that do not fit are left out.
  void draw(const std::string& text) const;
  // True if q or Ctrl-C was pressed, or the process was asked to end; false if the time is over.
  bool left_within(std::chrono::milliseconds patience) const;
};

// stdin and stdout are terminals.
bool can_have_screen();

}  // namespace flowfabric::cli
