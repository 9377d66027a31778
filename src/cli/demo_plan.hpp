// What the demo submits, and what must become of it.
//
// Every expectation follows from the plan alone, never from the speed of the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/operations.hpp>

namespace flowfabric::cli {

enum class JobKind : std::uint8_t {
  plain,
  large,      // carries a payload far beyond a record
  flaky,      // fails one to three times, then succeeds
  hopeless,   // fails until its retries are used up
  delayed,    // must not start before a time
  pausing,    // its worker gives it back for a while and goes on later
  gpu,        // only a worker with this capability may have it
  repeated,   // submitted twice with one idempotency key
  late,       // on a lane that nobody serves, with a deadline
  cancelled,  // on a lane that nobody serves, until an operator cancels it
  orphaned,   // claimed by the worker that dies
};

inline constexpr std::size_t job_kinds = 11;
std::string_view to_string(JobKind kind);

struct Job {
  JobKind kind = JobKind::plain;
  std::uint32_t number = 0;    // position in the plan
  std::uint32_t failures = 0;  // how often it fails
};

// How a job must end.
struct Fate {
  PublicState end = PublicState::completed;
  std::uint32_t attempts = 1;
  std::uint32_t retries = 0;
  std::uint32_t reclaims = 0;

  friend bool operator==(const Fate&, const Fate&) = default;
};

inline constexpr std::string_view gpu_capability = "gpu";

// Immutable once made.
class Plan {
 public:
  // `run` keeps this run apart from all others in the store: it is the namespace and begins the names of the lanes,
  // since workers choose by lane and must not meet what an earlier run has left.
  Plan(std::string run, std::uint32_t executions, std::uint64_t seed);

  const std::string& run() const { return run_; }
  const std::vector<Job>& jobs() const { return jobs_; }
  std::string served_lane() const { return run_ + ".work"; }
  std::string unserved_lane() const { return run_ + ".nobody"; }

  CreateRequest request(const Job& job, TimestampMs now) const;
  std::string payload(const Job& job) const;
  std::string result(const Job& job) const;
  static Fate fate(const Job& job);

 private:
  std::string run_;
  std::vector<Job> jobs_;
};

}  // namespace flowfabric::cli
