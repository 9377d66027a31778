// The CPU time of processes so far: this one, another one, a PostgreSQL server.
#pragma once

#include <sys/types.h>

#include <string>

namespace flowfabric::bench {

double cpu_seconds(pid_t process);
double resident_megabytes(pid_t process);
double own_cpu_seconds();
double own_resident_megabytes();

// The parent of all processes of a PostgreSQL server.
pid_t postmaster_of(const std::string& url);
// Of the postmaster, its children, and those that have ended.
double postgres_cpu_seconds(pid_t postmaster);

}  // namespace flowfabric::bench
