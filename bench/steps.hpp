// What durable steps and the worker of the SDK cost, beside loops that insert rows and beside the bare engine.
#pragma once

#include <functional>
#include <string>

#include "load.hpp"

namespace flowfabric::bench {

struct StepsOptions {
  double seconds = 3;  // of each measurement
  int rounds = 3;
};

// Rows a second that a plain loop inserts, with so many rows a commit.
using RawInserts = std::function<double(int rows_per_commit, double seconds)>;
RawInserts raw_sqlite_inserts(const std::string& path);
RawInserts raw_postgres_inserts(const std::string& url);

// `store_url` makes the URL of a new store from a name.
void bench_steps(const std::string& title, const std::function<std::string(const std::string& name)>& store_url,
                 const RawInserts& raw, const StepsOptions& options);

}  // namespace flowfabric::bench
