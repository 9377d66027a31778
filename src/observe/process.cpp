#include "observe/process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace flowfabric::observe {
namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::optional<double> resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  if (!(file >> total >> resident)) return std::nullopt;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::optional<double> open_files() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  if (error) return std::nullopt;
  return count - 1;  // without the descriptor that reads the directory
}

std::optional<double> boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  }
  return std::nullopt;
}

// The 22nd field of /proc/self/stat, in ticks since the machine started. The second field is the name of the program in
// parentheses and may contain any characters.
std::optional<double> start_time() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  const auto boot = boot_time();
  if (!fields || !boot) return std::nullopt;
  return *boot + std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Compute if_known(std::optional<double> (*read)()) {
  return [read]() -> std::vector<Sample> {
    const auto value = read();
    if (!value) return {};
    return {{{}, *value}};
  };
}

}  // namespace

void add_process_metrics(Registry& registry, const std::string& version) {
  registry.computed_counters({"process_cpu_seconds_total", "CPU time used, user and system."}, one_value(cpu_seconds));
  registry.computed_gauges({"process_resident_memory_bytes", "Memory in use."}, if_known(resident_bytes));
  registry.computed_gauges({"process_open_fds", "Open files and sockets."}, if_known(open_files));
  registry.computed_gauges({"process_start_time_seconds", "Start time of the process, in seconds since 1970."},
                           if_known(start_time));
  registry.computed_gauges({"flowfabric_build_info", "1; the label is the version.", {Label::closed("version")}},
                           [version] { return std::vector<Sample>{{{version}, 1}}; });
}

}  // namespace flowfabric::observe
