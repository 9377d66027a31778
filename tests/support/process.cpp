#include "support/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace flowfabric::test {
namespace {

// Between fork and exec only async-signal-safe calls are allowed: other threads may have held a lock.
[[noreturn]] void become(char* const* argv, char* const* environment, const char* log, pid_t parent) {
  const int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int null = open("/dev/null", O_RDONLY);
  if (out < 0 || null < 0) _exit(126);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  close_range(3, ~0U, 0);
  // The test may be killed as well; its processes must not outlive it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  execve(argv[0], argv, environment);
  _exit(127);
}

}  // namespace

Process::Process(const Words& words, const std::string& log) {
  Words copies = words;
  std::vector<char*> argv;
  for (std::string& copy : copies) argv.push_back(copy.data());
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "FLOWFABRIC_", 11) != 0) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) become(argv.data(), environment.data(), log.c_str(), parent);
}

Process::~Process() { kill_now(); }

void Process::kill_now() {
  if (status()) return;
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
}

std::optional<int> Process::status() {
  int status = 0;
  if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

}  // namespace flowfabric::test
