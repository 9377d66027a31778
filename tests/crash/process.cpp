#include "crash/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace flowfabric::crash {
namespace {

constexpr char marker[] = "--load-process";
constexpr int report_fd = 3;
// Marker, url, role, name, seed and lease time.
constexpr int argument_count = 7;

// One write() per line: up to PIPE_BUF bytes a pipe is atomic, so a killed process leaves no partial line.
void report(const std::string& line) {
  const std::string whole = line + "\n";
  if (write(report_fd, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) _exit(1);
}

}  // namespace

LoadProcess::LoadProcess(const std::string& url, Role role, const LoadOptions& options, Ledger& ledger) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> words = {"crash_tests",
                                    marker,
                                    url,
                                    role == Role::hold ? "hold" : "load",
                                    options.name,
                                    std::to_string(options.seed),
                                    std::to_string(options.lease_ttl_ms)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], report_fd);
  const int refused = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (refused != 0) {
    close(ends[0]);
    throw std::runtime_error("the load process cannot be started");
  }
  reader_ = std::thread([this, from = ends[0], &ledger] { read_lines(from, ledger); });
}

LoadProcess::~LoadProcess() {
  if (pid_ > 0) kill_now();
}

void LoadProcess::read_lines(int from, Ledger& ledger) {
  std::string pending;
  char buffer[65536];
  for (;;) {
    const ssize_t size = read(from, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    pending.append(buffer, static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end; (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1) {
      ledger.note(pending.substr(begin, end - begin));
    }
    pending.erase(0, begin);
  }
  EXPECT_TRUE(pending.empty()) << "a torn line: " << pending;
  close(from);
}

void LoadProcess::kill_now() {
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the process ended by itself, status " << status;
  reader_.join();
  pid_ = -1;
}

bool is_load_process(int argc, char** argv) { return argc == argument_count && std::string(argv[1]) == marker; }

int run_load_process(char** argv) {
  // The test may be killed as well; its processes must not outlive it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == 1) return 1;
  EngineOptions engine_options;
  engine_options.migrate = true;
  const auto engine = Engine::open(argv[2], engine_options);
  if (!engine) {
    std::fprintf(stderr, "the load process cannot open its store: %s\n", engine.error().message.c_str());
    return 1;
  }
  LoadOptions options;
  options.name = argv[4];
  options.seed = std::strtoull(argv[5], nullptr, 10);
  options.lease_ttl_ms = static_cast<std::uint32_t>(std::strtoul(argv[6], nullptr, 10));
  const std::atomic<bool> never{false};
  if (std::string(argv[3]) == "hold") {
    run_holder(**engine, options, held_count, report, never);
  } else {
    run_load(**engine, options, report, never);
  }
  return 0;
}

}  // namespace flowfabric::crash
