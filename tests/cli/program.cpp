#include "cli/program.hpp"

#include <fcntl.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

// Without the user's own settings, plus the variables of the caller. Only between fork and exec, which needs `words`
// until then.
void set_environment(Words& words) {
  for (const char* name : {"FLOWFABRIC_STORE", "FLOWFABRIC_PROFILE", "FLOWFABRIC_API_KEY", "FLOWFABRIC_CA_FILE",
                           "NO_COLOR", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS",
                           "OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_SERVICE_NAME"}) {
    unsetenv(name);
  }
  setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
  setenv("TERM", "xterm", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  for (std::string& word : words) putenv(word.data());
}

// Does not return.
[[noreturn]] void become(std::string program, Words arguments, Words environment) {
  set_environment(environment);
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execvp(program.c_str(), argv.data());
  _exit(127);
}
[[noreturn]] void become_program(const Words& arguments, const Words& environment) {
  become(FF_BIN_DIR "/flowfabric", arguments, environment);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void redirect(int to, const std::string& path, int flags) {
  const int from = open(path.c_str(), flags, 0600);
  if (from < 0 || dup2(from, to) < 0) _exit(126);
}

// Without a terminal: its output goes to files.
Finished run_quietly(const std::string& program, const Words& arguments, const Words& environment,
                     const std::string& folder = {}) {
  const test::TempDir outputs;
  const std::string out = outputs.file("out");
  const std::string err = outputs.file("err");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
    redirect(STDOUT_FILENO, out, O_WRONLY | O_CREAT);
    redirect(STDERR_FILENO, err, O_WRONLY | O_CREAT);
    if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(125);
    become(program, arguments, environment);
  }
  const int code = wait_for(pid);
  return {code, content(out), content(err)};
}

}  // namespace

Finished run_program(const Words& arguments, const Words& environment) {
  return run_quietly(FF_BIN_DIR "/flowfabric", arguments, environment);
}

Finished run_script(const std::string& script, const std::string& folder, const Words& environment) {
  namespace fs = std::filesystem;
  fs::create_directories(fs::path(folder) / "bin");
  fs::create_symlink(FF_BIN_DIR "/flowfabric", fs::path(folder) / "bin/flowfabric");
  const std::string file = folder + "/script.sh";
  std::ofstream(file) << "set -e\ntrap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT\nexport PATH=\"$PWD/bin:$PATH\"\n"
                      << script;
  // Background jobs have their own process groups, so only bash itself can end them.
  return run_quietly("timeout", {"--signal=TERM", "120", "bash", "-m", file}, environment, folder);
}

Finished run_on_terminal(const Words& arguments, const std::string& typed, const Words& environment,
                         unsigned short columns) {
  winsize size{};
  size.ws_col = columns;
  size.ws_row = 50;
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
  if (pid < 0) throw std::runtime_error("forkpty failed");
  if (pid == 0) become_program(arguments, environment);
  if (write(terminal, typed.data(), typed.size()) != static_cast<ssize_t>(typed.size())) {
    throw std::runtime_error("nothing can be typed");
  }
  std::string shown;
  char buffer[4096];
  // Reading fails when the program, the last one that has the terminal open, has ended.
  for (ssize_t got; (got = read(terminal, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR);) {
    if (got > 0) shown.append(buffer, static_cast<std::size_t>(got));
  }
  close(terminal);
  return {wait_for(pid), shown, {}};
}

RunningServer::RunningServer(const std::string& store_url, const Words& more, const Words& environment) {
  Words arguments = {"serve", "--store", store_url, "--listen", "127.0.0.1:0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
    if (dup2(pipe_ends[1], STDOUT_FILENO) < 0) _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a crashed test leaves no server behind
    become_program(arguments, environment);
  }
  close(pipe_ends[1]);
  output_ = pipe_ends[0];
  // It prints its address once it listens.
  std::string said;
  char c = 0;
  while (url_.empty() && read(output_, &c, 1) == 1) {
    said += c;
    const std::size_t begin = said.find("http://");
    if (c == '\n' && begin != std::string::npos) url_ = said.substr(begin, said.find_first_of(" \n", begin) - begin);
  }
  if (url_.empty()) throw std::runtime_error("the server did not start: " + said);
}

RunningServer::~RunningServer() {
  if (pid_ > 0) stop();
  close(output_);
}

int RunningServer::stop() {
  kill(pid_, SIGTERM);
  const int code = wait_for(pid_);
  pid_ = -1;
  return code;
}

void RunningServer::kill_hard() {
  kill(pid_, SIGKILL);
  wait_for(pid_);
  pid_ = -1;
}

}  // namespace flowfabric::cli_test
