// A load in a separate process, which reports through a pipe and is to be killed.
#pragma once

#include <sys/types.h>

#include <string>
#include <thread>

#include "crash/ledger.hpp"
#include "crash/load.hpp"

namespace flowfabric::crash {

enum class Role { load, hold };

// Owned by one thread. The child dies with this object, and with the thread that created it.
class LoadProcess {
 public:
  LoadProcess(const std::string& url, Role role, const LoadOptions& options, Ledger& ledger);
  LoadProcess(const LoadProcess&) = delete;
  LoadProcess& operator=(const LoadProcess&) = delete;
  ~LoadProcess();

  // SIGKILL. Returns when everything that the process had reported is in the ledger. It is a test failure if the
  // process had already exited.
  void kill_now();

 private:
  void read_lines(int from, Ledger& ledger);

  pid_t pid_ = -1;
  std::thread reader_;
};

// What the child does: the arguments after the first.
bool is_load_process(int argc, char** argv);
int run_load_process(char** argv);

// The number of executions that a holder holds.
inline constexpr std::uint32_t held_count = 40;

}  // namespace flowfabric::crash
