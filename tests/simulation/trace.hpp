// The trace of a run, line by line, and its violations.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace flowfabric::simulation {

// A violated rule. Thrown from any place, also from below the engine; it ends the run.
struct Violation {
  std::string rule;
  std::string detail;
};

template <class... Args>
[[noreturn]] void violated(const char* rule, fmt::format_string<Args...> format, Args&&... args) {
  throw Violation{rule, fmt::format(format, std::forward<Args>(args)...)};
}

// Hashes every line, so that two runs of a seed can be compared, and prints them on request.
class Trace {
 public:
  explicit Trace(bool prints) : prints_(prints) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.clear();
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    for (const char c : text_) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    if (prints_) std::printf("%6d  %*s%s\n", step_, depth_ * 2, "", text_.c_str());
  }

  void set_step(int step) { step_ = step; }
  void deeper() { ++depth_; }
  void shallower() { --depth_; }
  int step() const { return step_; }
  std::uint64_t hash() const { return hash_; }

 private:
  bool prints_;
  int step_ = 0;
  int depth_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  std::string text_;
};

}  // namespace flowfabric::simulation
