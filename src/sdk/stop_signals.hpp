// SIGTERM and SIGINT as a call, while this object lives. One at a time in a process.
#pragma once

#include <functional>
#include <thread>

namespace flowfabric::sdk {

class StopSignals {
 public:
  // `on_signal` is called on a thread of its own, once for each signal that comes.
  explicit StopSignals(std::function<void()> on_signal);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  std::thread thread_;
};

}  // namespace flowfabric::sdk
