// Ctrl-C and similar signals as a flag that loops can check.
#pragma once

namespace flowfabric::cli {

// The exit code of a program that was interrupted.
constexpr int exit_interrupted = 130;

// While it exists, the first SIGINT or SIGTERM is only noted; a second one ends the process as usual.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool came();
};

}  // namespace flowfabric::cli
