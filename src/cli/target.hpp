// The target of the operator commands: a local store, or a server. The commands do not depend on which.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/flows.hpp>
#include <flowfabric/hooks.hpp>
#include <flowfabric/operations.hpp>
#include <flowfabric/signals.hpp>

#include "api/bulk.hpp"
#include "cli/arguments.hpp"
#include "cli/store_access.hpp"
#include "sdk/dead_letter_calls.hpp"
#include "sdk/limit_calls.hpp"
#include "sdk/schedule_calls.hpp"

namespace flowfabric::cli {

// A lane with its counts.
struct LaneView {
  LaneInfo info{};
  std::map<PublicState, std::uint64_t> counts{};
};
// Every lane that has a state or an execution, by name.
std::vector<LaneView> lane_views(std::vector<LaneInfo> lanes, std::vector<LaneCounts> counts);

struct MarkedDead {
  MarkWorkerDeadOutcome outcome = MarkWorkerDeadOutcome::marked;
  bool released = false;  // its leases are released; else an engine is still releasing them
};

// The current state of a store or a server.
struct Pulse {
  TimestampMs now = 0;
  std::optional<std::int64_t> due_lag_ms{};      // the lag of the clock
  std::optional<std::uint64_t> parked_claims{};  // known to servers only
};

class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  // ---- Looking
  virtual Result<ListReply> list(const ListRequest& request) = 0;
  virtual Result<ExecutionDescription> describe(const ExecutionId& id) = 0;
  virtual Result<ExecutionContext> context(const ExecutionId& id) = 0;
  virtual Result<ExecutionResult> result(const ExecutionId& id) = 0;
  virtual Result<EventPage> history(const ExecutionId& id, const std::string& cursor, std::uint32_t limit) = 0;
  virtual Result<Tags> tags(const ExecutionId& id) = 0;
  virtual Result<ListStepsReply> steps(const ExecutionId& id, std::uint32_t from_position, std::uint32_t limit) = 0;
  // A page of the event log from the cursor on, or `earliest`, or empty for now. Waits up to `wait_ms` for the first event.
  virtual Result<EventPage> events(const EventFilter& filter, const std::string& cursor, std::uint32_t limit,
                                   std::uint32_t wait_ms) = 0;
  virtual Result<std::vector<NamespaceInfo>> namespaces() = 0;
  virtual Result<NamespaceInfo> name_space(const std::string& name) = 0;
  virtual Result<std::vector<LaneView>> lanes(const std::optional<std::string>& name_space) = 0;
  virtual Result<ListWorkersReply> workers(const ListWorkersRequest& request) = 0;
  virtual Result<ListExpiredLeasesReply> expired_leases(const ListExpiredLeasesRequest& request) = 0;
  virtual Result<std::vector<SigningKeyInfo>> keys() = 0;
  virtual Result<std::vector<ApiKeyInfo>> api_keys() = 0;
  virtual Result<std::vector<HookInfo>> hooks() = 0;

  virtual Result<ListFlowsReply> flows(const ListFlowsRequest& request) = 0;
  virtual Result<FlowDescription> describe_flow(const FlowId& id) = 0;
  virtual Result<FlowNodesReply> flow_nodes(const FlowId& id, const std::string& cursor, std::uint32_t limit) = 0;
  virtual Result<FlowEdgesReply> flow_edges(const FlowId& id, const std::string& cursor, std::uint32_t limit) = 0;
  virtual Result<FlowGraph> flow_graph(const FlowId& id) = 0;
  virtual Result<EventPage> flow_history(const FlowId& id, const std::string& cursor, std::uint32_t limit) = 0;
  // Waits up to `wait_ms` for its end; the result of a flow that has not ended is that of now.
  virtual Result<FlowResult> flow_result(const FlowId& id, std::uint32_t wait_ms) = 0;

  virtual Result<ExecutionWaits> waits_of(const ExecutionId& id) = 0;
  virtual Result<ListWaitsReply> waits(const ListWaitsRequest& request) = 0;
  virtual sdk::ScheduleCalls& schedules() = 0;
  virtual sdk::LimitCalls& limits() = 0;
  virtual sdk::DeadLetterCalls& dead_letters() = 0;

  virtual Result<Pulse> pulse() = 0;

  // ---- Acting. A server knows by itself who calls; it takes only the reason.
  virtual Result<Created> create(CreateRequest request) = 0;
  virtual Result<FlowCreated> submit_flow(FlowRequest request) = 0;
  virtual Result<FlowAdded> add_to_flow(const FlowId& id, FlowAddition addition, const Operator& by) = 0;
  virtual Result<FlowSealed> seal_flow(const FlowId& id, const Operator& by) = 0;
  // Returns when its nodes are ended, as far as the policy wants it, or on a server at once.
  virtual Result<FlowCancelReply> cancel_flow(const FlowId& id, const FlowCancelRequest& request,
                                              const Operator& by) = 0;
  // Returns when the nodes are ready to run again, or on a server at once.
  virtual Result<FlowReplayReply> replay_flow(const FlowId& id, const FlowReplayRequest& request,
                                              const Operator& by) = 0;
  virtual Result<SignalReply> send_signal(const ExecutionId& id, SignalRequest request) = 0;
  virtual Result<SignalReply> send_signal_by_token(const std::string& token, SignalRequest request) = 0;
  // Without an actor it is the operator on a store, and the API key on a server.
  virtual Result<SignalReply> decide_approval(const ExecutionId& id, DecideRequest request, const Operator& by) = 0;
  virtual Result<void> resume(const ExecutionId& id, const Operator& by) = 0;
  virtual Result<void> close_waitpoint(const ExecutionId& id, const std::string& waitpoint, const Operator& by) = 0;
  virtual Result<WaitpointToken> reissue_token(const ExecutionId& id, ReissueRequest request, const Operator& by) = 0;
  virtual Result<NamespaceInfo> set_namespace(const NamespaceInfo& info, const Operator& by) = 0;
  virtual Result<Tags> change_tags(const ExecutionId& id, TagChanges changes, const Operator& by) = 0;
  virtual Result<RevokeReply> revoke_lease(const ExecutionId& id, const Operator& by, std::optional<Uuid> expected) = 0;
  virtual Result<api::BulkTally> act_on(const api::BulkOrder& order, const std::vector<ExecutionId>& ids) = 0;
  virtual Result<LaneInfo> set_lane_state(const std::string& lane, LaneState state, const Operator& by) = 0;
  virtual Result<MarkedDead> mark_worker_dead(const std::string& name_space, const std::string& instance,
                                              const Operator& by) = 0;
  virtual Result<DrainWorkerOutcome> drain_worker(const std::string& name_space, const std::string& instance,
                                                  const Operator& by) = 0;
  virtual Result<KeyRotation> rotate_keys(std::int64_t grace_ms, const Operator& by) = 0;
  virtual Result<NewApiKey> create_api_key(const ApiKeyRequest& request, const Operator& by) = 0;
  virtual Result<ApiKeyInfo> revoke_api_key(const std::string& key, const Operator& by) = 0;
  virtual Result<NewHook> create_hook(const HookRequest& request, const Operator& by) = 0;
  virtual Result<NewHook> rotate_hook(const std::string& name, std::int64_t grace_ms, const std::string& secret,
                                      const Operator& by) = 0;
  virtual Result<HookInfo> remove_hook(const std::string& name, const Operator& by) = 0;
  // How many executions it removed, or in a dry run would remove.
  virtual Result<std::uint64_t> run_retention(const RetentionRun& run, const Operator& by) = 0;

  // The store or server for people, without its password.
  virtual std::string name() const = 0;
};

// Opens and connects nothing yet: the first call does.
Result<std::unique_ptr<Target>> find_target(const Arguments& arguments);

std::unique_ptr<Target> make_store_target(std::string url);
Result<std::unique_ptr<Target>> make_server_target(const Place& place);

}  // namespace flowfabric::cli
