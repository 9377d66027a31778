// The figures of the server: what requests cost, what parked claims cost, and how soon submitted work starts.
#pragma once

#include <string>

namespace flowfabric::bench {

struct HttpOptions {
  int callers = 64;  // connections
  int rounds = 3;
  int requests = 10000;  // of each kind
  int parked = 10000;    // claims at once
};

// Starts `flowfabric serve` on the store. `postgres` names the database server for its share of the CPU; empty: there is
// none.
void bench_http(const std::string& name, const std::string& store, const std::string& postgres,
                const HttpOptions& options);

}  // namespace flowfabric::bench
