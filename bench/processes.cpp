#include "processes.hpp"

#include <libpq-fe.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "figures.hpp"

namespace flowfabric::bench {
namespace {

struct ProcessTimes {
  int parent = 0;
  double own = 0;
  double of_ended_children = 0;
};

std::optional<ProcessTimes> process_times(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  std::istringstream rest(line.substr(line.rfind(')') + 2));
  std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto seconds = [&](std::size_t i) { return std::stod(fields[i]) / ticks; };
  return ProcessTimes{std::stoi(fields[1]), seconds(11) + seconds(12), seconds(13) + seconds(14)};
}

}  // namespace

// The clock of a process is exact, while /proc counts hundredths of a second.
double cpu_seconds(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    give_up("process " + std::to_string(process) + " is gone");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double resident_megabytes(pid_t process) {
  std::ifstream statm("/proc/" + std::to_string(process) + "/statm");
  long total = 0, resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

double own_cpu_seconds() { return cpu_seconds(getpid()); }
double own_resident_megabytes() { return resident_megabytes(getpid()); }

pid_t postmaster_of(const std::string& url) {
  PGconn* connection = PQconnectdb(url.c_str());
  PGresult* result = PQexec(connection, "SELECT pg_backend_pid()");
  const std::string backend = PQgetvalue(result, 0, 0);
  const auto times = process_times(backend);
  PQclear(result);
  PQfinish(connection);
  if (!times) give_up("the PostgreSQL server does not run on this machine");
  return times->parent;
}

double postgres_cpu_seconds(pid_t postmaster) {
  double total = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto times = process_times(pid);
    if (!times) continue;
    if (std::stoi(pid) == postmaster) total += times->own + times->of_ended_children;
    if (times->parent == postmaster) total += times->own;
  }
  return total;
}

}  // namespace flowfabric::bench
