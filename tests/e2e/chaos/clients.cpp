#include "e2e/chaos/clients.hpp"

#include <cstdlib>

namespace flowfabric::chaos {
namespace {

const std::string worker_marker = "--chaos-worker";
const std::string submitter_marker = "--chaos-submitter";

// Common to both: marker, name, journal and seed first, the servers at the end.
std::vector<std::string> words(const std::string& marker, const ClientOptions& options,
                               const std::vector<std::string>& between) {
  std::vector<std::string> all = {marker, options.name, options.journal, std::to_string(options.seed)};
  all.insert(all.end(), between.begin(), between.end());
  all.insert(all.end(), options.urls.begin(), options.urls.end());
  return all;
}

std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

}  // namespace

std::vector<std::string> worker_words(const ClientOptions& options) { return words(worker_marker, options, {}); }

std::vector<std::string> submitter_words(const ClientOptions& options, std::uint64_t executions,
                                         std::uint64_t seconds) {
  return words(submitter_marker, options, {std::to_string(executions), std::to_string(seconds)});
}

bool is_client_process(int argc, char** argv) {
  return argc > 5 && (argv[1] == worker_marker || (argc > 7 && argv[1] == submitter_marker));
}

int run_client_process(int argc, char** argv) {
  const bool works = argv[1] == worker_marker;
  ClientOptions options;
  options.name = argv[2];
  options.journal = argv[3];
  options.seed = number(argv[4]);
  options.urls.assign(argv + (works ? 5 : 7), argv + argc);
  if (works) run_worker(options);
  run_submitter(options, number(argv[5]), number(argv[6]));
  return 0;
}

}  // namespace flowfabric::chaos
