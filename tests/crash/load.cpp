#include "crash/load.hpp"

#include <chrono>
#include <random>
#include <thread>
#include <vector>

namespace flowfabric::crash {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds retry_pause{3};
constexpr std::uint32_t claim_wait_ms = 20;

// Calls until the reply is not "try again", or until the load ends.
template <class Call>
auto persist(const Call& call, const std::atomic<bool>& stop) {
  for (;;) {
    auto reply = call();
    if (reply || !describe(reply.error().code).retryable || stop) return reply;
    std::this_thread::sleep_for(retry_pause);
  }
}

// An execution of the load can always still be completed.
CreateRequest request_for(const std::string& key) {
  CreateRequest made;
  made.kind = "crash";
  made.payload = key;
  made.tags = {{"crash.key", key}};
  RetryPolicy retry;
  retry.max_retries = 100000;
  retry.backoff = RetryPolicy::Backoff::fixed;
  retry.initial_delay_ms = 5;
  made.policy.retry = retry;
  made.policy.max_reclaims = 100000;
  // A create that is repeated after a lost reply must not create a second execution.
  made.idempotency_key = key;
  return made;
}

class Load {
 public:
  Load(Engine& engine, const LoadOptions& options, const Witness& witness, const std::atomic<bool>& stop)
      : engine_(engine), options_(options), witness_(witness), stop_(stop) {}

  void run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.creators; ++i) threads.emplace_back([this, i] { create(i); });
    for (int i = 0; i < options_.workers; ++i) threads.emplace_back([this, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void create(int thread) {
    std::mt19937_64 random(options_.seed * 31 + static_cast<std::uint64_t>(thread));
    for (std::uint64_t n = 0; !stop_; ++n) {
      while (open_ >= options_.max_open && !stop_) std::this_thread::sleep_for(milliseconds(1));
      const std::string key = options_.name + "-" + std::to_string(thread) + "-" + std::to_string(n);
      CreateRequest request = request_for(key);
      request.priority = static_cast<std::int32_t>(random() % 3);
      if (random() % 8 == 0) request.payload.append(4000, 'x');
      const auto created = persist([&] { return engine_.create(request); }, stop_);
      if (!created) continue;
      ++open_;
      witness_("created " + to_string(created->execution_id) + " " + key);
    }
  }

  void work(int thread) {
    std::mt19937_64 random(options_.seed * 37 + static_cast<std::uint64_t>(thread));
    ClaimRequest claim;
    claim.worker_id = "load";
    claim.worker_instance_id = options_.name + "-worker-" + std::to_string(thread);
    claim.max_executions = 4;
    claim.lease_ttl_ms = options_.lease_ttl_ms;
    claim.wait_ms = claim_wait_ms;
    while (!stop_) {
      const auto claimed = engine_.claim(claim);
      if (!claimed) {
        std::this_thread::sleep_for(retry_pause);
        continue;
      }
      for (const ClaimedExecution& execution : *claimed) handle(execution, claim.worker_instance_id, random);
    }
  }

  void handle(const ClaimedExecution& execution, const std::string& worker, std::mt19937_64& random) {
    // The lease may be lost at any moment and the store may be closed; then another worker continues. Only completions are
    // witnessed, so the other replies are dropped.
    const std::uint64_t dice = random() % 100;
    if (dice < 20) {
      FailRequest failure;
      failure.category = "dice";
      failure.message = "unlucky";
      static_cast<void>(persist([&] { return engine_.fail(execution.handle, failure); }, stop_));
      return;
    }
    if (dice < 30) {
      const auto now = persist([&] { return engine_.now(); }, stop_);
      if (now) static_cast<void>(persist([&] { return engine_.delay(execution.handle, *now + 5); }, stop_));
      return;
    }
    if (dice < 50) static_cast<void>(persist([&] { return engine_.renew(execution.handle); }, stop_));
    CompleteRequest end;
    end.result = worker + "-" + std::to_string(execution.lease.lease_epoch) + "-" + std::to_string(random());
    if (!persist([&] { return engine_.complete(execution.handle, end); }, stop_)) return;
    --open_;
    witness_("completed " + to_string(execution.execution_id) + " " + end.result);
  }

  Engine& engine_;
  const LoadOptions& options_;
  const Witness& witness_;
  const std::atomic<bool>& stop_;
  std::atomic<int> open_{0};
};

bool has_open_executions(Engine& engine) {
  const auto counts = engine.count_executions();
  if (!counts) return true;
  for (const LaneCounts& lane : *counts) {
    for (const auto& [state, count] : lane.counts) {
      if (count > 0 && state < PublicState::completed) return true;
    }
  }
  return false;
}

}  // namespace

void run_load(Engine& engine, const LoadOptions& options, const Witness& witness, const std::atomic<bool>& stop) {
  Load(engine, options, witness, stop).run();
}

void run_holder(Engine& engine, const LoadOptions& options, std::uint32_t count, const Witness& witness,
                const std::atomic<bool>& stop) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string key = options.name + "-held-" + std::to_string(i);
    CreateRequest request = request_for(key);
    request.priority = 10;  // the next worker gets them at once, before all other work
    const auto created = persist([&] { return engine.create(request); }, stop);
    if (created) witness("created " + to_string(created->execution_id) + " " + key);
  }
  ClaimRequest claim;
  claim.worker_id = "holder";
  claim.worker_instance_id = options.name;
  claim.max_executions = count;
  claim.lease_ttl_ms = options.lease_ttl_ms;
  const auto claimed = persist([&] { return engine.claim(claim); }, stop);
  if (!claimed) return;
  std::vector<Handle> handles;
  for (const ClaimedExecution& execution : *claimed) {
    handles.push_back(execution.handle);
    witness("held " + to_string(execution.execution_id));
  }
  while (!stop) {
    engine.renew_many(handles);
    std::this_thread::sleep_for(milliseconds(options.lease_ttl_ms / 10));
  }
}

bool drain(Engine& engine, const Witness& witness, std::int64_t limit_ms) {
  const auto limit = steady_clock::now() + milliseconds(limit_ms);
  std::atomic<bool> done{false};
  const auto work = [&](int thread) {
    ClaimRequest claim;
    claim.worker_id = "drain";
    claim.worker_instance_id = "drain-" + std::to_string(thread);
    claim.max_executions = 8;
    claim.wait_ms = claim_wait_ms;
    while (!done) {
      const auto claimed = engine.claim(claim);
      if (!claimed) std::this_thread::sleep_for(retry_pause);
      if (!claimed) continue;
      for (const ClaimedExecution& execution : *claimed) {
        const CompleteRequest end{"drained", {}};
        if (!persist([&] { return engine.complete(execution.handle, end); }, done)) continue;
        witness("completed " + to_string(execution.execution_id) + " drained");
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i);
  bool empty = false;
  while (!empty && steady_clock::now() < limit) {
    empty = !has_open_executions(engine);
    if (!empty) std::this_thread::sleep_for(milliseconds(20));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  return empty;
}

}  // namespace flowfabric::crash
