#include "cli/demo_plan.hpp"

#include <algorithm>
#include <array>
#include <random>

#include <fmt/core.h>

namespace flowfabric::cli {
namespace {

struct KindRow {
  JobKind kind;
  std::string_view name;
  std::uint32_t per_thousand;  // the rest is plain
};

constexpr std::array<KindRow, job_kinds> rows = {{
    {JobKind::plain, "plain", 0},
    {JobKind::large, "large", 10},
    {JobKind::flaky, "flaky", 120},
    {JobKind::hopeless, "hopeless", 40},
    {JobKind::delayed, "delayed", 80},
    {JobKind::pausing, "pausing", 60},
    {JobKind::gpu, "gpu", 60},
    {JobKind::repeated, "repeated", 40},
    {JobKind::late, "late", 40},
    {JobKind::cancelled, "cancelled", 40},
    {JobKind::orphaned, "orphaned", 20},
}};

// The dying worker takes its whole share in one claim, so the share is well below the limit of one claim.
constexpr std::uint32_t max_orphaned = 200;
constexpr std::uint32_t max_failures = 3;
constexpr std::uint32_t hopeless_retries = 2;
constexpr std::int64_t retry_delay_ms = 25;
constexpr std::int64_t submitted_delay_ms = 500;
constexpr std::int64_t deadline_ms = 1000;
constexpr std::size_t large_bytes = 128 * 1024;

Policy retry_policy(std::uint32_t max_retries) {
  RetryPolicy retry;
  retry.max_retries = max_retries;
  retry.initial_delay_ms = retry_delay_ms;
  Policy policy;
  policy.retry = retry;
  return policy;
}

}  // namespace

std::string_view to_string(JobKind kind) { return rows[static_cast<std::size_t>(kind)].name; }

Plan::Plan(std::string run, std::uint32_t executions, std::uint64_t seed) : run_(std::move(run)) {
  for (const KindRow& row : rows) {
    auto count = static_cast<std::uint32_t>(std::uint64_t{executions} * row.per_thousand / 1000);
    if (row.kind == JobKind::orphaned) count = std::min(count, max_orphaned);
    jobs_.insert(jobs_.end(), count, Job{row.kind, 0, 0});
  }
  jobs_.resize(executions, Job{JobKind::plain, 0, 0});
  std::mt19937_64 random(seed);
  std::shuffle(jobs_.begin(), jobs_.end(), random);
  for (std::uint32_t i = 0; i < executions; ++i) {
    jobs_[i].number = i;
    if (jobs_[i].kind == JobKind::flaky) jobs_[i].failures = 1 + static_cast<std::uint32_t>(random() % max_failures);
    if (jobs_[i].kind == JobKind::hopeless) jobs_[i].failures = hopeless_retries + 1;
  }
}

CreateRequest Plan::request(const Job& job, TimestampMs now) const {
  CreateRequest request;
  request.name_space = run_;
  request.lane = served_lane();
  request.kind = std::string(to_string(job.kind));
  request.payload = payload(job);
  request.priority = static_cast<std::int32_t>(job.number % 7) - 3;
  request.creator = "demo";
  switch (job.kind) {
    case JobKind::flaky: request.policy = retry_policy(max_failures); break;
    case JobKind::hopeless: request.policy = retry_policy(hopeless_retries); break;
    case JobKind::delayed: request.delay_until = now + submitted_delay_ms; break;
    case JobKind::gpu: request.required_capabilities = {std::string(gpu_capability)}; break;
    case JobKind::repeated: request.idempotency_key = fmt::format("order-{}", job.number); break;
    case JobKind::late:
      request.lane = unserved_lane();
      request.deadline_at = now + deadline_ms;
      break;
    case JobKind::cancelled: request.lane = unserved_lane(); break;
    case JobKind::plain:
    case JobKind::large:
    case JobKind::pausing:
    case JobKind::orphaned: break;
  }
  return request;
}

// Begins with the job's number, by which a worker identifies the job.
std::string Plan::payload(const Job& job) const {
  std::string bytes = fmt::format("{} {}", job.number, to_string(job.kind));
  if (job.kind != JobKind::large) return bytes;
  // Every byte value occurs, including zero.
  for (std::size_t i = bytes.size(); i < large_bytes; ++i)
    bytes.push_back(static_cast<char>((i * 31 + job.number) % 256));
  return bytes;
}

std::string Plan::result(const Job& job) const { return fmt::format("done {}", job.number); }

Fate Plan::fate(const Job& job) {
  switch (job.kind) {
    case JobKind::flaky: return {PublicState::completed, job.failures + 1, job.failures, 0};
    case JobKind::hopeless: return {PublicState::failed, hopeless_retries + 1, hopeless_retries, 0};
    case JobKind::late: return {PublicState::expired, 0, 0, 0};
    case JobKind::cancelled: return {PublicState::cancelled, 0, 0, 0};
    case JobKind::orphaned: return {PublicState::completed, 2, 0, 1};
    case JobKind::plain:
    case JobKind::large:
    case JobKind::delayed:
    case JobKind::pausing:
    case JobKind::gpu:
    case JobKind::repeated: break;
  }
  return {};
}

}  // namespace flowfabric::cli
