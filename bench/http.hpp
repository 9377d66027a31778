// The figures of the server: the cost of requests and of parked claims, and the delay until submitted work starts.
#pragma once

#include <string>

namespace flowfabric::bench {

struct HttpOptions {
  int callers = 64;  // connections
  int rounds = 3;
  int requests = 10000;  // of each kind
  int parked = 10000;    // claims at once
};

// Starts `flowfabric serve` on the store. `postgres` names the database server for its share of the CPU; empty: none.
void bench_http(const std::string& name, const std::string& store, const std::string& postgres,
                const HttpOptions& options);

}  // namespace flowfabric::bench
