// Progress: redrawn in place on a terminal, an occasional line elsewhere.
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
  std::vector<std::string> counts;  // the current state of the work, in a few words; one line each
  std::chrono::milliseconds elapsed{0};
};

// Writes to stdout. Owned by one thread. Hides the cursor of a terminal while it exists.
class ProgressDisplay {
 public:
  ProgressDisplay();
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // May be called at any rate; a terminal shows every call, a file gets one line per second or per tenth of the work.
  void show(const ProgressView& view);
  // Draws the final state and restores the cursor.
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
