// The SDK's gateway on a virtual engine, with crashes. One thread at a time; steps that run side by side take turns.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "sdk/running_task.hpp"
#include "testing/virtual_dead_letters.hpp"
#include "testing/virtual_engine.hpp"
#include "testing/virtual_limits.hpp"
#include "testing/virtual_schedules.hpp"

namespace flowfabric::testing {

// Where crashes were ordered, and what has been passed.
class CrashPlan {
 public:
  enum class Side : std::uint8_t { before, after, end };
  void order(Side side, std::string name) { ordered_.insert({side, std::move(name)}); }
  void order(std::uint64_t boundary) { at_.insert(boundary); }
  // Throws sdk::Abandon if a crash was ordered here.
  void pass(Side side, const std::string& name);
  std::uint64_t boundaries() const { return boundaries_; }
  std::uint64_t crashes() const { return crashes_; }

 private:
  std::multiset<std::pair<Side, std::string>> ordered_;
  std::set<std::uint64_t> at_;
  std::uint64_t boundaries_ = 0;
  std::uint64_t crashes_ = 0;
};

class VirtualGateway final : public sdk::Gateway {
 public:
  VirtualGateway(VirtualEngine& engine, CrashPlan& plan) : engine_(engine), plan_(plan) {}

  Result<Created> create(CreateRequest request) override;
  std::vector<Result<Created>> create_many(std::vector<CreateRequest> requests) override;
  Result<FlowCreated> submit_flow(FlowRequest request) override;
  Result<FlowAdded> add_to_flow(const FlowId& id, FlowAddition addition) override;
  Result<FlowSealed> seal_flow(const FlowId& id, std::string reason) override;
  sdk::ScheduleCalls& schedules() override { return schedules_; }
  sdk::LimitCalls& limits() override { return limits_; }
  sdk::DeadLetterCalls& dead_letters() override { return dead_letters_; }
  Result<FlowAdded> extend_flow(const Handle& handle, const FlowAddition& addition) override;
  Result<FlowInputsReply> list_flow_inputs(const ExecutionId& id, std::uint32_t from, std::uint32_t limit) override;
  Result<FlowResult> wait_flow(const FlowId& id, sdk::milliseconds timeout) override;
  Result<FlowDescription> describe_flow(const FlowId& id) override;
  Result<ListFlowsReply> list_flows(const ListFlowsRequest& request) override;
  Result<FlowNodesReply> flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) override;
  Result<FlowGraph> flow_graph(const FlowId& id) override;
  Result<FlowCancelReply> cancel_flow(const FlowId& id, FlowCancelRequest request, std::string reason) override;
  Result<FlowReplayReply> replay_flow(const FlowId& id, FlowReplayRequest request, std::string reason) override;
  Result<ExecutionDescription> describe(const ExecutionId& id) override;
  Result<ListReply> list(const ListRequest& request) override;
  Result<EventPage> history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) override;
  Result<EventPage> events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                           sdk::milliseconds wait, std::stop_token stop) override;
  Result<ExecutionResult> wait(const ExecutionId& id, sdk::milliseconds timeout) override;
  Result<CancelReply> cancel(const ExecutionId& id, std::string reason) override;
  Result<ReplayReply> replay(const ExecutionId& id, std::string reason,
                             const std::optional<std::string>& from_step) override;
  Result<void> change_priority(const ExecutionId& id, std::int32_t priority, std::string reason) override;
  Result<SignalReply> send_signal(const ExecutionId& id, SignalRequest request) override;
  Result<SignalReply> send_signal_by_token(const std::string& token, SignalRequest request) override;
  Result<SignalReply> decide_approval(const ExecutionId& id, DecideRequest request) override;
  Result<ExecutionWaits> describe_waits(const ExecutionId& id) override;
  Result<ListWaitsReply> list_waits(const ListWaitsRequest& request) override;
  Result<void> resume(const ExecutionId& id, std::string reason) override;
  Result<void> close_waitpoint(const ExecutionId& id, const std::string& waitpoint, std::string reason) override;
  Result<WaitpointToken> reissue_token(const ExecutionId& id, ReissueRequest request, std::string reason) override;
  Result<RegisterWorkerReply> register_worker(const WorkerRegistration& registration) override;
  Result<HeartbeatReply> heartbeat(const HeartbeatRequest& request) override;
  Result<std::vector<ClaimedExecution>> claim(const ClaimRequest& request, std::stop_token stop) override;
  Result<SpendReply> spend(const Handle& handle, const SpendRequest& request) override;
  Result<void> progress(const Handle& handle, ProgressReport report) override;
  Result<void> change_tags(const Handle& handle, TagChanges changes) override;
  Result<StepReply> record_step(const Handle& handle, const StepRequest& request) override;
  Result<ListStepsReply> list_steps(const ExecutionId& id, std::uint32_t from_position, std::uint32_t limit) override;
  Result<SuspendReply> suspend(const Handle& handle, const SuspendRequest& request) override;
  Result<WaitpointToken> open_waitpoint(const Handle& handle, const WaitpointRequest& request) override;
  Result<void> store_checkpoint(const Handle& handle, Bytes bytes) override;
  void settle(const Handle& handle, sdk::Settlement settlement, std::function<void(Result<void>)> done) override;
  void pause(sdk::milliseconds time, const std::stop_token& stop) override;

 private:
  Result<void> done(Command command);

  VirtualEngine& engine_;
  CrashPlan& plan_;
  std::mutex mutex_;
  VirtualSchedules schedules_{engine_, mutex_};
  VirtualLimits limits_{engine_, mutex_};
  VirtualDeadLetters dead_letters_{engine_, mutex_};
};

}  // namespace flowfabric::testing
