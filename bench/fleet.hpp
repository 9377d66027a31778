// The figures of the fleet: what heartbeats cost, how fast dead workers and dead leases are dealt with.
#pragma once

#include <string>

namespace flowfabric::bench {

// Workers that are registered and send a heartbeat each every ten seconds, evenly spread. `postgres` names the server for
// its share of the CPU; it may be another address of the same server.
void bench_heartbeats(const std::string& url, const std::string& postgres, int workers, double seconds);

// So many workers whose TTL ends at the same millisecond: how late they were written off.
void bench_lapse(const std::string& name, const std::string& url, int workers);

// So many leases that end at the same millisecond, while other lanes are served.
void bench_expiry(const std::string& name, const std::string& url, int leases);

}  // namespace flowfabric::bench
