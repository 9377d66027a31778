// A program that is started, killed and started again.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace flowfabric::test {

using Words = std::vector<std::string>;

// One run of a program. Owned by one thread; the process dies with this object, and with the thread that created it.
class Process {
 public:
  // Its output is appended to the file. No variable of FlowFabric is passed on.
  Process(const Words& words, const std::string& log);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  void kill_now();  // SIGKILL
  // As of waitpid(), once it has ended.
  std::optional<int> status();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace flowfabric::test
