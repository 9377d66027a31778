#include "testing/virtual_gateway.hpp"

#include "base/check.hpp"
#include "core/budget_ingress.hpp"
#include "core/ingress.hpp"
#include "engine/reads.hpp"

namespace flowfabric::testing {

void CrashPlan::pass(Side side, const std::string& name) {
  const bool here = at_.erase(boundaries_++) > 0;
  const auto ordered = ordered_.find({side, name});
  if (ordered == ordered_.end() && !here) return;
  if (ordered != ordered_.end()) ordered_.erase(ordered);
  ++crashes_;
  throw sdk::Abandon{};
}

Result<void> VirtualGateway::done(Command command) {
  FF_TRY(reply, engine_.call(std::move(command)));
  static_cast<void>(reply);
  return {};
}

Result<Created> VirtualGateway::create(CreateRequest request) {
  const std::lock_guard lock(mutex_);
  FF_TRY(reply, engine_.answer_of<Reply>(
                    [&](auto given) { engine_.runtime().submit_create(std::move(request), std::move(given)); }));
  return std::get<Created>(reply);
}

std::vector<Result<Created>> VirtualGateway::create_many(std::vector<CreateRequest> requests) {
  std::vector<Result<Created>> all;
  for (CreateRequest& request : requests) all.push_back(create(std::move(request)));
  return all;
}

Result<ExecutionDescription> VirtualGateway::describe(const ExecutionId& id) {
  const std::lock_guard lock(mutex_);
  return reads::describe(engine_.store(), id);
}
Result<ListReply> VirtualGateway::list(const ListRequest& request) {
  const std::lock_guard lock(mutex_);
  return reads::list(engine_.store(), request);
}
Result<EventPage> VirtualGateway::history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  return reads::history(engine_.store(), id, cursor, limit);
}
Result<EventPage> VirtualGateway::events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                                         sdk::milliseconds, std::stop_token) {
  const std::lock_guard lock(mutex_);
  FF_TRY(from, reads::start_cursor(engine_.store(), cursor));
  FF_TRY(read, reads::events(engine_.store(), filter, from, limit));
  return std::move(read.page);
}
Result<FlowCreated> VirtualGateway::submit_flow(FlowRequest request) {
  const std::lock_guard lock(mutex_);
  FF_TRY(reply, engine_.answer_of<Reply>(
                    [&](auto given) { engine_.runtime().submit_flow(std::move(request), std::move(given)); }));
  return std::get<FlowCreated>(reply);
}
Result<FlowAdded> VirtualGateway::add_to_flow(const FlowId& id, FlowAddition addition) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(addition, engine_.runtime().ingress()));
  FF_TRY(reply, engine_.call(GrowFlowCommand{id, std::move(addition), std::nullopt, {"test", {}}}));
  return std::get<FlowAdded>(reply);
}
Result<FlowSealed> VirtualGateway::seal_flow(const FlowId& id, std::string reason) {
  const std::lock_guard lock(mutex_);
  FF_TRY(reply, engine_.call(SealFlowCommand{id, {"test", std::move(reason)}}));
  return std::get<FlowSealed>(reply);
}
// A crash can be ordered before and after the nodes are added, by the name of the first of them.
Result<FlowAdded> VirtualGateway::extend_flow(const Handle& handle, const FlowAddition& addition) {
  const std::lock_guard lock(mutex_);
  const std::string what = addition.nodes.empty() ? "edges" : addition.nodes.front().name;
  plan_.pass(CrashPlan::Side::before, what);
  FF_TRY(fence, engine_.runtime().fence_of(handle));
  FlowAddition admitted = addition;
  FF_TRY_VOID(admit(admitted, engine_.runtime().ingress()));
  FF_TRY(reply, engine_.call(GrowFlowCommand{{}, std::move(admitted), fence, {}}));
  plan_.pass(CrashPlan::Side::after, what);
  return std::get<FlowAdded>(reply);
}
Result<FlowInputsReply> VirtualGateway::list_flow_inputs(const ExecutionId& id, std::uint32_t from,
                                                         std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  return reads::flow_inputs(engine_.store(), id, from, limit);
}
Result<FlowResult> VirtualGateway::wait_flow(const FlowId& id, sdk::milliseconds) {
  const std::lock_guard lock(mutex_);
  FF_TRY(flow, reads::load_flow(engine_.store(), id));
  return reads::flow_result(engine_.store(), flow);
}
Result<FlowDescription> VirtualGateway::describe_flow(const FlowId& id) {
  const std::lock_guard lock(mutex_);
  return reads::describe_flow(engine_.store(), id);
}
Result<ListFlowsReply> VirtualGateway::list_flows(const ListFlowsRequest& request) {
  const std::lock_guard lock(mutex_);
  return reads::flows(engine_.store(), request);
}
Result<FlowNodesReply> VirtualGateway::flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  return reads::flow_nodes(engine_.store(), id, cursor, limit);
}
Result<FlowGraph> VirtualGateway::flow_graph(const FlowId& id) {
  const std::lock_guard lock(mutex_);
  return reads::flow_graph(engine_.store(), id);
}
Result<FlowCancelReply> VirtualGateway::cancel_flow(const FlowId& id, FlowCancelRequest request, std::string reason) {
  const std::lock_guard lock(mutex_);
  FF_TRY(reply, engine_.call(CancelFlowCommand{id, request, {"test", std::move(reason)}}));
  return std::get<FlowCancelReply>(reply);
}
Result<FlowReplayReply> VirtualGateway::replay_flow(const FlowId& id, FlowReplayRequest request, std::string reason) {
  const std::lock_guard lock(mutex_);
  FF_TRY(command, reads::replay_command(engine_.store(), id, request, {"test", std::move(reason)}));
  FF_TRY(reply, engine_.call(std::move(command)));
  return std::get<FlowReplayReply>(reply);
}
Result<ExecutionResult> VirtualGateway::wait(const ExecutionId& id, sdk::milliseconds) {
  const std::lock_guard lock(mutex_);
  return reads::result(engine_.store(), id);
}
Result<CancelReply> VirtualGateway::cancel(const ExecutionId& id, std::string reason) {
  const std::lock_guard lock(mutex_);
  FF_TRY(reply, engine_.call(CancelCommand{id, {"test", std::move(reason)}}));
  return std::get<CancelReply>(reply);
}
Result<ReplayReply> VirtualGateway::replay(const ExecutionId& id, std::string reason,
                                           const std::optional<std::string>& from_step) {
  const std::lock_guard lock(mutex_);
  ReplayCommand command{id, {"test", std::move(reason)}};
  if (from_step) {
    FF_TRY(place, reads::find_step(engine_.store(), id, *from_step));
    command.from_position = place.position;
    command.replay_count = place.replay_count;
  }
  FF_TRY(reply, engine_.call(std::move(command)));
  return std::get<ReplayReply>(reply);
}
Result<void> VirtualGateway::change_priority(const ExecutionId& id, std::int32_t priority, std::string reason) {
  const std::lock_guard lock(mutex_);
  return done(PriorityCommand{id, priority, {"test", std::move(reason)}});
}

// The worker of a test is not registered: its leases alone say that it lives.
Result<RegisterWorkerReply> VirtualGateway::register_worker(const WorkerRegistration&) { return RegisterWorkerReply{}; }
Result<HeartbeatReply> VirtualGateway::heartbeat(const HeartbeatRequest&) { return HeartbeatReply{}; }

Result<std::vector<ClaimedExecution>> VirtualGateway::claim(const ClaimRequest& request, std::stop_token) {
  const std::lock_guard lock(mutex_);
  return engine_.answer_of<std::vector<ClaimedExecution>>(
      [&](auto given) { engine_.runtime().submit_claim(request, std::move(given)); });
}

Result<void> VirtualGateway::progress(const Handle& handle, ProgressReport report) {
  const std::lock_guard lock(mutex_);
  FF_TRY(fence, engine_.runtime().fence_of(handle));
  FF_TRY_VOID(admit(report));
  return done(ProgressCommand{fence, std::move(report)});
}

Result<SpendReply> VirtualGateway::spend(const Handle& handle, const SpendRequest& request) {
  const std::lock_guard lock(mutex_);
  FF_TRY(fence, engine_.runtime().fence_of(handle));
  FF_TRY_VOID(admit(request));
  FF_TRY(reply, engine_.call(SpendCommand{fence, request}));
  return std::get<SpendReply>(reply);
}

Result<void> VirtualGateway::change_tags(const Handle& handle, TagChanges changes) {
  const std::lock_guard lock(mutex_);
  FF_TRY(fence, engine_.runtime().fence_of(handle));
  FF_TRY_VOID(admit(changes));
  return done(TagsCommand{fence.execution_id, std::move(changes), {}, fence});
}

Result<StepReply> VirtualGateway::record_step(const Handle& handle, const StepRequest& request) {
  const std::lock_guard lock(mutex_);
  plan_.pass(CrashPlan::Side::before, request.name);
  FF_TRY(fence, engine_.runtime().fence_of(handle));
  FF_TRY_VOID(admit(request, engine_.runtime().ingress()));
  FF_TRY(reply, engine_.call(StepCommand{fence, request}));
  plan_.pass(CrashPlan::Side::after, request.name);
  return std::get<StepReply>(reply);
}

Result<ListStepsReply> VirtualGateway::list_steps(const ExecutionId& id, std::uint32_t from_position,
                                                  std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  return reads::steps(engine_.store(), id, from_position, limit);
}

Result<void> VirtualGateway::store_checkpoint(const Handle& handle, Bytes bytes) {
  const std::lock_guard lock(mutex_);
  FF_TRY(fence, engine_.runtime().fence_of(handle));
  FF_TRY_VOID(admit_checkpoint(bytes.bytes, bytes.encoding, engine_.runtime().ingress()));
  return done(CheckpointCommand{fence, std::move(bytes.bytes), std::move(bytes.encoding)});
}

void VirtualGateway::settle(const Handle& handle, sdk::Settlement settlement, std::function<void(Result<void>)> given) {
  const std::lock_guard lock(mutex_);
  const auto fence = engine_.runtime().fence_of(handle);
  if (!fence) return given(Unexpected(fence.error()));
  if (auto* complete = std::get_if<CompleteRequest>(&settlement)) {
    return given(done(CompleteCommand{*fence, std::move(*complete)}));
  }
  if (auto* failure = std::get_if<FailRequest>(&settlement)) {
    return given(done(FailCommand{*fence, std::move(*failure)}));
  }
  if (const auto* delay = std::get_if<sdk::Delay>(&settlement)) {
    return given(done(DelayCommand{*fence, delay->delay_until}));
  }
  if (auto* cancel = std::get_if<sdk::CancelHeld>(&settlement)) {
    return given(done(CancelHeldCommand{*fence, std::move(cancel->reason)}));
  }
  if (std::holds_alternative<sdk::Suspended>(settlement)) return given({});
  if (auto* join = std::get_if<sdk::Join>(&settlement)) {
    const auto joined = engine_.call(JoinNodesCommand{*fence, std::move(join->names)});
    if (!joined) return given(Unexpected(joined.error()));
    if (!std::get<FlowJoinReply>(*joined).ended) return given({});
  }
  given(done(ReleaseHeldCommand{*fence}));
}

void VirtualGateway::pause(sdk::milliseconds time, const std::stop_token&) {
  const std::lock_guard lock(mutex_);
  for (std::int64_t left = time.count(); left > 0;) left -= engine_.step(left);
}

}  // namespace flowfabric::testing
