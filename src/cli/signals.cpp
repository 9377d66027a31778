#include "cli/signals.hpp"

#include <signal.h>

#include <atomic>

namespace flowfabric::cli {
namespace {

std::atomic<bool> stop_came{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void set_handlers(void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  stop_came = false;
  set_handlers([](int) { stop_came = true; }, static_cast<int>(SA_RESETHAND));
}

StopSignal::~StopSignal() { set_handlers(SIG_DFL, 0); }

bool StopSignal::came() { return stop_came; }

}  // namespace flowfabric::cli
