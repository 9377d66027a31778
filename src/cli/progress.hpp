// How far something is: redrawn in place on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal.hpp"

namespace flowfabric::cli {

struct ProgressView {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::vector<std::string> counts;  // what the work is doing, in few words; a line each
  std::chrono::milliseconds elapsed{0};
};

// Writes to stdout. Owned by one thread. Hides the cursor of a terminal while it lives.
class ProgressDisplay {
 public:
  ProgressDisplay();
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Call it as often as you like; a terminal gets each, a file gets one a second or each tenth of the way.
  void show(const ProgressView& view);
  // Draws the last state for good and gives the cursor back.
  void finish(const ProgressView& view);

 private:
  void draw(const ProgressView& view, bool last) const;
  void print_line(const ProgressView& view);
  std::string bar(double share) const;

  bool terminal_ = false;
  Look look_;
  bool finished_ = false;
  std::uint64_t printed_tenth_ = 0;
  std::chrono::milliseconds printed_at_{0};
};

}  // namespace flowfabric::cli
