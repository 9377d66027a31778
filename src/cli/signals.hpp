// Ctrl-C and its like as a question that loops can ask.
#pragma once

namespace flowfabric::cli {

// What a program says when it was stopped from outside before its end.
constexpr int exit_interrupted = 130;

// While it lives, the first SIGINT or SIGTERM is only remembered; a second one ends the process as usual.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool came();
};

}  // namespace flowfabric::cli
