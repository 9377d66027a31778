#include "sdk/stop_signals.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/check.hpp"

namespace flowfabric::sdk {
namespace {

// A signal handler may do little more than write to a descriptor. An eventfd adds up what is written: each signal adds 1,
// the end adds `the_end`.
std::atomic<int> event_fd{-1};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");
constexpr std::uint64_t the_end = 1'000'000;

struct sigaction earlier_term, earlier_int;

void add(std::uint64_t count) {
  const int saved = errno;
  const ssize_t written = ::write(event_fd, &count, sizeof count);
  static_cast<void>(written);  // it cannot be full
  errno = saved;
}

}  // namespace

StopSignals::StopSignals(std::function<void()> on_signal) {
  FF_CHECK(event_fd == -1);
  event_fd = eventfd(0, EFD_CLOEXEC);
  FF_CHECK(event_fd >= 0);
  thread_ = std::thread([on_signal = std::move(on_signal)] {
    pthread_setname_np(pthread_self(), "ff-signals");
    for (;;) {
      std::uint64_t count = 0;
      if (read(event_fd, &count, sizeof count) != sizeof count) continue;  // interrupted
      for (std::uint64_t i = 0; i < count % the_end; ++i) on_signal();
      if (count >= the_end) return;
    }
  });
  struct sigaction action{};
  action.sa_handler = [](int) { add(1); };
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, &earlier_term);
  sigaction(SIGINT, &action, &earlier_int);
}

StopSignals::~StopSignals() {
  sigaction(SIGTERM, &earlier_term, nullptr);
  sigaction(SIGINT, &earlier_int, nullptr);
  add(the_end);
  thread_.join();
  close(event_fd.exchange(-1));
}

}  // namespace flowfabric::sdk
