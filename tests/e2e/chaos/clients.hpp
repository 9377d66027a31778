// The clients: processes that know only the addresses of the servers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowfabric::chaos {

struct ClientOptions {
  std::vector<std::string> urls{};
  std::string name{};  // unique among all clients
  std::string journal{};
  std::uint64_t seed = 0;
};

// Claims, completes, fails, delays, abandons and sometimes dies, until it is killed.
[[noreturn]] void run_worker(const ClientOptions& options);

// Creates this many executions, spread over this many seconds if possible, and returns when all of them are
// acknowledged.
void run_submitter(const ClientOptions& options, std::uint64_t executions, std::uint64_t seconds);

// The command line of a client process, after the name of the program, and its function.
std::vector<std::string> worker_words(const ClientOptions& options);
std::vector<std::string> submitter_words(const ClientOptions& options, std::uint64_t executions, std::uint64_t seconds);
bool is_client_process(int argc, char** argv);
int run_client_process(int argc, char** argv);

}  // namespace flowfabric::chaos
