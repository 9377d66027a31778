#include "sdk/gateway.hpp"

#include <condition_variable>
#include <mutex>

namespace flowfabric::sdk {

bool is_passing(const Error& error) {
  switch (error.code) {
    case Errc::unavailable:
    case Errc::outcome_unknown:
    case Errc::timed_out:
    case Errc::overloaded:
    case Errc::contended:
    case Errc::shutting_down:
    case Errc::internal: return true;
    default: return false;
  }
}

void Gateway::pause(milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace flowfabric::sdk
