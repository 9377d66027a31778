// Everything that clients and workers ask of FlowFabric, whether it runs in this process or behind HTTP.
//
// Two homes: EngineGateway (engine_gateway.cpp) calls an Engine, HttpGateway (http_gateway.cpp) sends requests. Clients and
// workers know only this interface, so they behave alike on both.
//
// Threads: every call may be made from any thread and blocks, except for `settle`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include <flowfabric/budgets.hpp>
#include <flowfabric/client.hpp>
#include <flowfabric/operations.hpp>

namespace flowfabric::sdk {

class LimitCalls;
class DeadLetterCalls;
class ScheduleCalls;

using std::chrono::milliseconds;

// How one attempt is left. What the same handle says twice is answered twice alike, so each may be repeated.
struct Delay {
  TimestampMs delay_until = 0;
};
struct CancelHeld {
  std::string reason{};
};
struct GiveBack {};  // the lease, now: the same attempt goes on elsewhere
struct Join {        // the same attempt goes on when these nodes of its flow have ended
  std::vector<std::string> names{};
};
struct Suspended {};  // it waits for signals already, and the lease is gone: there is nothing to report
using Settlement = std::variant<CompleteRequest, FailRequest, Delay, CancelHeld, GiveBack, Join, Suspended>;

class Gateway {
 public:
  Gateway() = default;
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  virtual ~Gateway() = default;

  // ---- For clients
  virtual Result<Created> create(CreateRequest request) = 0;
  virtual std::vector<Result<Created>> create_many(std::vector<CreateRequest> requests) = 0;
  virtual Result<FlowCreated> submit_flow(FlowRequest request) = 0;
  virtual Result<FlowAdded> add_to_flow(const FlowId& id, FlowAddition addition) = 0;
  virtual Result<FlowSealed> seal_flow(const FlowId& id, std::string reason) = 0;
  virtual Result<FlowResult> wait_flow(const FlowId& id, milliseconds timeout) = 0;
  virtual Result<FlowDescription> describe_flow(const FlowId& id) = 0;
  virtual Result<ListFlowsReply> list_flows(const ListFlowsRequest& request) = 0;
  virtual Result<FlowNodesReply> flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) = 0;
  virtual Result<FlowGraph> flow_graph(const FlowId& id) = 0;
  virtual Result<FlowCancelReply> cancel_flow(const FlowId& id, FlowCancelRequest request, std::string reason) = 0;
  virtual Result<FlowReplayReply> replay_flow(const FlowId& id, FlowReplayRequest request, std::string reason) = 0;
  virtual ScheduleCalls& schedules() = 0;
  virtual LimitCalls& limits() = 0;
  virtual DeadLetterCalls& dead_letters() = 0;
  virtual Result<ExecutionDescription> describe(const ExecutionId& id) = 0;
  virtual Result<ListReply> list(const ListRequest& request) = 0;
  virtual Result<EventPage> history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) = 0;
  virtual Result<EventPage> events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                                   milliseconds wait, std::stop_token stop) = 0;
  virtual Result<ExecutionResult> wait(const ExecutionId& id, milliseconds timeout) = 0;
  virtual Result<CancelReply> cancel(const ExecutionId& id, std::string reason) = 0;
  virtual Result<ReplayReply> replay(const ExecutionId& id, std::string reason,
                                     const std::optional<std::string>& from_step) = 0;
  virtual Result<void> change_priority(const ExecutionId& id, std::int32_t priority, std::string reason) = 0;
  virtual Result<SignalReply> send_signal(const ExecutionId& id, SignalRequest request) = 0;
  virtual Result<SignalReply> send_signal_by_token(const std::string& token, SignalRequest request) = 0;
  virtual Result<SignalReply> decide_approval(const ExecutionId& id, DecideRequest request) = 0;
  virtual Result<ExecutionWaits> describe_waits(const ExecutionId& id) = 0;
  virtual Result<ListWaitsReply> list_waits(const ListWaitsRequest& request) = 0;
  virtual Result<void> resume(const ExecutionId& id, std::string reason) = 0;
  virtual Result<void> close_waitpoint(const ExecutionId& id, const std::string& waitpoint, std::string reason) = 0;
  virtual Result<WaitpointToken> reissue_token(const ExecutionId& id, ReissueRequest request, std::string reason) = 0;

  // ---- For workers
  virtual Result<RegisterWorkerReply> register_worker(const WorkerRegistration& registration) = 0;
  virtual Result<HeartbeatReply> heartbeat(const HeartbeatRequest& request) = 0;
  // Waits for work as long as the request says. Ends at once when `stop` is requested; what was handed out by then is
  // returned or given back, never lost.
  virtual Result<std::vector<ClaimedExecution>> claim(const ClaimRequest& request, std::stop_token stop) = 0;
  virtual Result<void> progress(const Handle& handle, ProgressReport report) = 0;
  virtual Result<void> change_tags(const Handle& handle, TagChanges changes) = 0;
  // One try: the task repeats it, with a key, while the lease is its own.
  virtual Result<SpendReply> spend(const Handle& handle, const SpendRequest& request) = 0;
  virtual Result<StepReply> record_step(const Handle& handle, const StepRequest& request) = 0;
  virtual Result<ListStepsReply> list_steps(const ExecutionId& id, std::uint32_t from_position,
                                            std::uint32_t limit) = 0;
  virtual Result<FlowAdded> extend_flow(const Handle& handle, const FlowAddition& addition) = 0;
  virtual Result<FlowInputsReply> list_flow_inputs(const ExecutionId& id, std::uint32_t from, std::uint32_t limit) = 0;
  // One try: the task repeats it while the lease is its own.
  virtual Result<SuspendReply> suspend(const Handle& handle, const SuspendRequest& request) = 0;
  virtual Result<WaitpointToken> open_waitpoint(const Handle& handle, const WaitpointRequest& request) = 0;
  virtual Result<void> store_checkpoint(const Handle& handle, Bytes bytes) = 0;
  // Ends or pauses an attempt. Does not block: settlements made at the same time share a request and a commit. `done` is
  // called once, on a thread of the gateway, after the commit; it must be quick. A lost connection is not retried here.
  virtual void settle(const Handle& handle, Settlement settlement, std::function<void(Result<void>)> done) = 0;

  // The engine inside this process; null for a server.
  virtual Engine* engine() { return nullptr; }

  // Lets time pass, for example between two tries; returns early when `stop` is requested.
  virtual void pause(milliseconds time, const std::stop_token& stop);
};

// Whether the same call may succeed later: nobody answered, or too many asked.
bool is_passing(const Error& error);

std::shared_ptr<Gateway> make_engine_gateway(std::shared_ptr<Engine> engine);
Result<std::shared_ptr<Gateway>> make_http_gateway(const std::string& url, const ClientOptions& options);

}  // namespace flowfabric::sdk
