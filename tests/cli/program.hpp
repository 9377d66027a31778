// Runs the real `flowfabric` program, like a shell or a user at a terminal.
#pragma once

#include <string>
#include <vector>

namespace flowfabric::cli_test {

struct Finished {
  int code = 0;
  std::string out;
  std::string err;
};

using Words = std::vector<std::string>;

// stdin is /dev/null, stdout and stderr are files. `environment` entries are NAME=VALUE; NO_COLOR, the variables of
// FlowFabric and of OpenTelemetry and the profiles of this user are not passed on.
Finished run_program(const Words& arguments, const Words& environment = {});

// stdin, stdout and stderr are one terminal of that width, on which `typed` has been typed. Its output is in `out`.
Finished run_on_terminal(const Words& arguments, const std::string& typed, const Words& environment = {},
                         unsigned short columns = 200);

// Runs a bash script in `folder`, with job control and with the program there as bin/flowfabric and in the PATH. Stops
// at the first command that fails; background processes are ended.
Finished run_script(const std::string& script, const std::string& folder, const Words& environment = {});

// `flowfabric serve` on a store, on a free port. Stopped with this object.
class RunningServer {
 public:
  explicit RunningServer(const std::string& store_url, const Words& more = {}, const Words& environment = {});
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;
  ~RunningServer();

  const std::string& url() const { return url_; }
  // SIGTERM; returns the exit code.
  int stop();
  // kill -9.
  void kill_hard();

 private:
  int pid_ = -1;
  int output_ = -1;
  std::string url_;
};

}  // namespace flowfabric::cli_test
