#include "cli/demo_workers.hpp"

#include <charconv>
#include <chrono>
#include <span>
#include <thread>

#include <fmt/core.h>

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t claim_size = 16;
constexpr std::uint32_t claim_wait_ms = 200;
constexpr std::uint32_t dying_lease_ttl_ms = 1000;
constexpr std::int64_t pause_ms = 100;
constexpr std::size_t submit_batch = 250;
constexpr std::chrono::milliseconds after_error{100};

class Worker {
 public:
  Worker(Stage& stage, std::uint32_t number, bool has_gpu) : stage_(stage), has_gpu_(has_gpu) {
    request_.worker_id = "demo";
    request_.worker_instance_id = fmt::format("demo-{}", number);
    request_.lanes = {stage.plan.served_lane()};
    if (has_gpu) request_.capabilities = {std::string(gpu_capability)};
    request_.max_executions = claim_size;
    request_.wait_ms = claim_wait_ms;
  }

  void run() {
    while (!stage_.stop) {
      const auto claimed = stage_.engine.claim(request_);
      if (!claimed) {
        expect(claimed, "claim");
        std::this_thread::sleep_for(after_error);
        continue;
      }
      for (const ClaimedExecution& execution : *claimed) handle(execution);
    }
  }

 private:
  // Errors while stopping are expected.
  template <class T>
  void expect(const Result<T>& reply, const char* what) {
    if (reply || stage_.stop) return;
    stage_.complaints.add(fmt::format("a {} was refused: {}", what, reply.error().message));
  }

  void handle(const ClaimedExecution& execution) {
    std::uint32_t number = 0;
    std::from_chars(execution.payload.data(), execution.payload.data() + execution.payload.size(), number);
    const auto& jobs = stage_.plan.jobs();
    if (number >= jobs.size() || stage_.plan.payload(jobs[number]) != execution.payload) {
      stage_.complaints.add("the payload of " + to_string(execution.execution_id) + " arrived damaged");
      expect(stage_.engine.complete(execution.handle), "complete");
      return;
    }
    const Job& job = jobs[number];
    if (job.kind == JobKind::gpu && !has_gpu_) stage_.complaints.add("a worker without a GPU got work that needs one");
    if (execution.attempt.attempt_index < job.failures) {
      expect(stage_.engine.fail(execution.handle, {"demo", "this attempt fails on purpose", {}, {}}), "fail");
      return;
    }
    if (job.kind == JobKind::pausing && execution.handle_kind == HandleKind::fresh) {
      expect(stage_.engine.delay(execution.handle, execution.lease.acquired_at + pause_ms), "delay");
      return;
    }
    expect(stage_.engine.complete(execution.handle, {stage_.plan.result(job), {}}), "complete");
  }

  Stage& stage_;
  const bool has_gpu_;
  ClaimRequest request_;
};

// Sends jobs once; there is one reply per job.
std::vector<Result<Created>> send(Stage& stage, std::span<const Job> jobs) {
  const auto now = stage.engine.now();
  if (!now) return std::vector<Result<Created>>(jobs.size(), Unexpected(now.error()));
  std::vector<CreateRequest> requests;
  for (const Job& job : jobs) requests.push_back(stage.plan.request(job, *now));
  return stage.engine.create_many(std::move(requests));
}

void expect_duplicates(Stage& stage, const std::vector<Job>& jobs) {
  const auto answers = send(stage, jobs);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (stage.stop) return;
    if (!answers[i]) stage.complaints.add("a repeated create was refused: " + answers[i].error().message);
    if (!answers[i]) continue;
    if (!answers[i]->duplicate || answers[i]->execution_id != stage.ids[jobs[i].number]) {
      stage.complaints.add("a repeated create made a second execution");
    }
  }
}

void submit_batch_of(Stage& stage, std::span<const Job> jobs) {
  std::vector<Job> repeated;
  std::vector<ExecutionId> unwanted;
  const auto answers = send(stage, jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!answers[i]) {
      if (!stage.stop) stage.complaints.add("a create was refused: " + answers[i].error().message);
      continue;
    }
    stage.ids[jobs[i].number] = answers[i]->execution_id;
    if (jobs[i].kind == JobKind::repeated) repeated.push_back(jobs[i]);
    if (jobs[i].kind == JobKind::cancelled) unwanted.push_back(answers[i]->execution_id);
  }
  expect_duplicates(stage, repeated);
  for (const ExecutionId& id : unwanted) {
    const auto cancelled = stage.engine.cancel(id, {"demo operator", "no longer needed"});
    if (!cancelled && !stage.stop) stage.complaints.add("a cancel was refused: " + cancelled.error().message);
  }
}

}  // namespace

void work(Stage& stage, std::uint32_t number, bool has_gpu) { Worker(stage, number, has_gpu).run(); }

void claim_and_die(Stage& stage, std::uint32_t orphaned) {
  if (orphaned == 0) return;
  ClaimRequest request;
  request.worker_id = "demo";
  request.worker_instance_id = "demo-doomed";
  request.lanes = {stage.plan.served_lane()};
  request.max_executions = orphaned;
  request.lease_ttl_ms = dying_lease_ttl_ms;
  const auto claimed = stage.engine.claim(request);
  if (!claimed) return stage.complaints.add("a claim was refused: " + claimed.error().message);
  if (claimed->size() != orphaned) {
    stage.complaints.add(
        fmt::format("the doomed worker claimed {} executions instead of {}", claimed->size(), orphaned));
  }
}

void submit(Stage& stage, const std::vector<Job>& jobs) {
  const std::span<const Job> all(jobs);
  for (std::size_t at = 0; at < all.size() && !stage.stop; at += submit_batch) {
    submit_batch_of(stage, all.subspan(at, std::min(submit_batch, all.size() - at)));
  }
}

}  // namespace flowfabric::cli
