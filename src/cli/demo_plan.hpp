// The jobs that the demo submits, and their expected results.
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
  large,      // has a payload far too large for a record
  flaky,      // fails one to three times, then succeeds
  hopeless,   // fails until its retries are used up
  delayed,    // must not start before a time
  pausing,    // its worker delays it for a while and continues later
  gpu,        // only a worker with this capability may claim it
  repeated,   // submitted twice with one idempotency key
  late,       // on a lane without workers, with a deadline
  cancelled,  // on a lane without workers, until an operator cancels it
  orphaned,   // claimed by the worker that dies
};

inline constexpr std::size_t job_kinds = 11;
std::string_view to_string(JobKind kind);

struct Job {
  JobKind kind = JobKind::plain;
  std::uint32_t number = 0;    // position in the plan
  std::uint32_t failures = 0;  // how often it fails
};

// The expected end of a job.
struct Fate {
  PublicState end = PublicState::completed;
  std::uint32_t attempts = 1;
  std::uint32_t retries = 0;
  std::uint32_t reclaims = 0;

  friend bool operator==(const Fate&, const Fate&) = default;
};

inline constexpr std::string_view gpu_capability = "gpu";

// Immutable after construction.
class Plan {
 public:
  // `run` separates this run from all others in the store: it is the namespace and the prefix of the lane names, since
  // workers choose by lane and must not get executions of an earlier run.
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
