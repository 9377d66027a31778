// Runs a Runtime by hand on virtual time: no threads, no sleeping, every step reproducible.
//
// Calls look like those of the public Engine. A call submits its command, pumps until it is answered, and returns the
// reply; a claim or wait that parks stays pending until `advance` or another call wakes it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <flowfabric/operations.hpp>

#include "engine/reads.hpp"
#include "engine/runtime.hpp"
#include "support/manual_clock.hpp"

namespace flowfabric::test {

// A claim or wait that may still be parked.
template <class T>
struct Pending {
  std::shared_ptr<std::optional<Result<T>>> answer = std::make_shared<std::optional<Result<T>>>();
  bool done() const { return answer->has_value(); }
  const Result<T>& get() const { return answer->value(); }
};

class Driver {
 public:
  // Opens an engine on `store`, whose clock must be `clock`. Aborts if it cannot. The steady clock is that of `clock`
  // too unless the options have their own.
  Driver(std::unique_ptr<Store> store, ManualClock& clock, std::uint64_t seed = 1, RuntimeOptions options = {});

  Runtime& runtime() { return *runtime_; }
  Store& store() { return runtime_->store(); }

  // Pumps all writers, the clock and the waiters until nothing changes.
  void settle();
  // Lets time pass, stopping at every moment at which the clock wants to run.
  void advance(std::int64_t ms);
  // Lets time pass in one step, as after a long pause of the process.
  void jump(std::int64_t ms);

  Result<Reply> call(Command command);
  Result<Created> create(CreateRequest request);
  Result<FlowCreated> submit_flow(FlowRequest request);
  Pending<FlowResult> wait_flow_later(const FlowId& id, std::uint32_t wait_ms);
  Result<std::vector<ClaimedExecution>> claim(ClaimRequest request);
  Pending<std::vector<ClaimedExecution>> claim_later(ClaimRequest request);
  Pending<ExecutionResult> wait_later(const ExecutionId& id, std::uint32_t wait_ms);
  Pending<EventPage> events_later(const std::string& cursor, std::uint32_t wait_ms, const EventFilter& filter = {});

  // The fleet (driver_fleet.cpp). A heartbeat is answered with the next batch or when its patience ends: `heartbeat`
  // lets that much time pass.
  Result<RegisterWorkerReply> register_worker(WorkerRegistration registration);
  Pending<HeartbeatReply> heartbeat_later(HeartbeatRequest request);
  Result<HeartbeatReply> heartbeat(HeartbeatRequest request);
  Result<MarkWorkerDeadOutcome> mark_dead(const std::string& instance, Operator by = {},
                                          const std::string& name_space = "default");
  Result<DrainWorkerOutcome> drain(const std::string& instance, Operator by = {},
                                   const std::string& name_space = "default");
  Result<ListWorkersReply> list_workers(const ListWorkersRequest& request = {});
  Result<ListWorkerLeasesReply> list_worker_leases(const ListWorkerLeasesRequest& request);
  Result<ListExpiredLeasesReply> list_expired_leases(const ListExpiredLeasesRequest& request = {});
  Result<Grant> issue_claim_grant(GrantRequest request);
  Result<std::optional<Grant>> claim_for_worker(ClaimForWorkerRequest request);
  Result<ClaimedExecution> claim_from_grant(RedeemRequest request);
  Result<IssueReclaimGrantOutcome> issue_reclaim_grant(GrantRequest request);
  Result<ReclaimExecutionOutcome> reclaim(RedeemRequest request);
  Result<KeyRotation> rotate_keys(std::int64_t grace_ms, Operator by = {});

  // Shorthands.
  ExecutionId make(std::string kind = "job", std::string lane = "default");
  // Claims one from the lane; aborts if there is none.
  ClaimedExecution take(std::string lane = "default", std::uint32_t lease_ttl_ms = 30000, std::string instance = "w-1");
  Fence fence(const ClaimedExecution& claimed) const;
  Result<Reply> complete(const ClaimedExecution& claimed, std::string result = {});
  Result<FailReply> fail(const ClaimedExecution& claimed, std::string category = "error");
  Result<RenewVerdict> renew(const ClaimedExecution& claimed);
  Result<DelayReply> delay(const ClaimedExecution& claimed, TimestampMs until);
  Result<Reply> release(const ClaimedExecution& claimed);
  Execution execution(const ExecutionId& id);
  ExecutionDescription describe(const ExecutionId& id);
  std::vector<EventType> history(const ExecutionId& id);

 private:
  ManualClock& clock_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace flowfabric::test
