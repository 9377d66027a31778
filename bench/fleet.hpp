// The figures of the fleet: what heartbeats cost, how fast dead workers and dead leases are dealt with.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace flowfabric::bench {

// Workers that are registered and send a heartbeat each every ten seconds, evenly spread. `postgres` names the server for
// its share of the CPU; it may be another address of the same server.
void bench_heartbeats(const std::string& url, const std::string& postgres, int workers, double seconds);

// One round of a fleet whose TTLs end at the same millisecond.
struct Lapse {
  double last_ms = 0;       // how late the last one was written off, by the time in its event
  double committed_ms = 0;  // and that was durable
  double cpu_us = 0;        // of ours, a death
  double server_cpu_us = 0;
};
// `postmaster` is 0 where the store has none.
Lapse bench_lapse(const std::string& url, pid_t postmaster, int workers);
void print_lapses(const std::string& name, int workers, const std::vector<Lapse>& rounds);

// So many leases that end at the same millisecond, while other lanes are served.
void bench_expiry(const std::string& name, const std::string& url, int leases);

}  // namespace flowfabric::bench
