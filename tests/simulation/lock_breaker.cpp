#include "simulation/lock_breaker.hpp"

#include <libpq-fe.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace flowfabric::simulation {
namespace {

constexpr std::chrono::milliseconds pause{2};

}  // namespace

LockBreaker::LockBreaker(std::string url, std::string application)
    : url_(std::move(url)), application_(std::move(application)), thread_([this] { run(); }) {}

LockBreaker::~LockBreaker() {
  ends_ = true;
  thread_.join();
}

void LockBreaker::run() {
  PGconn* connection = PQconnectdb(url_.c_str());
  if (PQstatus(connection) != CONNECTION_OK) {
    std::fprintf(stderr, "the lock breaker cannot connect: %s", PQerrorMessage(connection));
    std::abort();
  }
  const char* values[] = {application_.c_str()};
  while (!ends_) {
    PQclear(PQexecParams(connection,
                         "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                         "WHERE application_name = $1 AND wait_event_type = 'Lock' AND state = 'active'",
                         1, nullptr, values, nullptr, nullptr, 0));
    std::this_thread::sleep_for(pause);
  }
  PQfinish(connection);
}

}  // namespace flowfabric::simulation
