// The figures of the fleet: the cost of heartbeats, and the time to process dead workers and expired leases.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace flowfabric::bench {

// Registered workers that each send a heartbeat every ten seconds, evenly spread. `postgres` names the server for its
// share of the CPU; it may be another address of the same server.
void bench_heartbeats(const std::string& url, const std::string& postgres, int workers, double seconds);

// One round of a fleet whose TTLs end in the same millisecond.
struct Lapse {
  double last_ms = 0;       // the delay of the last death, by the time in its event
  double committed_ms = 0;  // and until it was durable
  double cpu_us = 0;        // of ours, per death
  double server_cpu_us = 0;
};
// `postmaster` is 0 if the store has none.
Lapse bench_lapse(const std::string& url, pid_t postmaster, int workers);
void print_lapses(const std::string& name, int workers, const std::vector<Lapse>& rounds);

// This many leases that end in the same millisecond, while other lanes are served.
void bench_expiry(const std::string& name, const std::string& url, int leases);

}  // namespace flowfabric::bench
