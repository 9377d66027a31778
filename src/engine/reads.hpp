// Reads outside any batch: pure functions of a store. The engine's public reads and the tests use them.
#pragma once

#include <map>
#include <string>

#include <flowfabric/flows.hpp>
#include <flowfabric/operations.hpp>

#include "core/commands.hpp"
#include "engine/routes.hpp"
#include "store/store.hpp"

namespace flowfabric::reads {

Error bad_cursor();

Result<Execution> load_execution(Store& store, const ExecutionId& id);
// Of those that exist.
Result<std::map<ExecutionId, std::string>> namespaces(Store& store, const std::vector<ExecutionId>& ids);
Result<ExecutionDescription> describe(Store& store, const ExecutionId& id);
Result<ExecutionResult> result(Store& store, const ExecutionId& id);
Result<ExecutionResult> result_of(Store& store, const Execution& execution);
// The result of one attempt; the outcome is `none` unless it succeeded.
Result<ExecutionResult> attempt_result(Store& store, const ExecutionId& id, std::uint32_t attempt_index);
Result<ExecutionContext> context(Store& store, const ExecutionId& id);
Result<std::vector<Attempt>> attempts(Store& store, const ExecutionId& id, std::uint32_t from, std::uint32_t limit);
// step_reads.cpp
Result<ListStepsReply> steps(Store& store, const ExecutionId& id, std::uint32_t from, std::uint32_t limit);
struct StepPlace {
  std::uint32_t position = 0;
  std::uint32_t replay_count = 0;  // of the execution
};
// Where the step of that name stands; `not_found` names the steps that there are.
Result<StepPlace> find_step(Store& store, const ExecutionId& id, const std::string& name);
Result<EventPage> history(Store& store, const ExecutionId& id, const std::string& cursor, std::uint32_t limit);
// The events of one record.
Result<EventPage> history_of(Store& store, const Key& key, const std::string& cursor, std::uint32_t limit);
// Cursors of listings.
std::string encode_cursor(const ListQuery::Position& position);
Result<ListQuery::Position> decode_list_cursor(const std::string& cursor);
Result<void> admit_limit(std::uint32_t limit);
Result<ListReply> list(Store& store, const ListRequest& request);
Result<std::vector<LaneCounts>> counts(Store& store, const std::optional<std::string>& name_space);
Result<std::vector<LaneInfo>> lanes(Store& store, const RouteTable& routes);
Result<NamespaceInfo> name_space(Store& store, const std::string& name);
// Those that have settings, by name.
Result<std::vector<NamespaceInfo>> all_namespaces(Store& store);
// The number of claimable executions per lane: of the first thousand routes, counted up to `limit` each.
Result<std::map<std::string, std::uint64_t>> ready_by_lane(Store& store, const RouteTable& routes, std::uint64_t limit);

// flow_reads.cpp
Result<FlowRecord> load_flow(Store& store, const FlowId& id);
// The command of a request that names a node.
Result<ReplayFlowCommand> replay_command(Store& store, const FlowId& id, const FlowReplayRequest& request, Operator by);
Result<FlowDescription> describe_flow(Store& store, const FlowId& id);
// The result of a flow: what its nodes without outgoing edges have returned.
Result<FlowResult> flow_result(Store& store, const FlowRecord& flow);
Result<ListFlowsReply> flows(Store& store, const ListFlowsRequest& request);
Result<FlowNodesReply> flow_nodes(Store& store, const FlowId& id, const std::string& cursor, std::uint32_t limit);
Result<FlowEdgesReply> flow_edges(Store& store, const FlowId& id, const std::string& cursor, std::uint32_t limit);
// How many flows are in each state, from the counters of the store.
Result<std::map<FlowState, std::uint64_t>> flow_counts(Store& store);
Result<FlowGraph> flow_graph(Store& store, const FlowId& id);
Result<EventPage> flow_history(Store& store, const FlowId& id, const std::string& cursor, std::uint32_t limit);
// What a member was given by its upstream nodes, in the order of FlowInput. From the input with this number on.
Result<FlowInputsReply> flow_inputs(Store& store, const ExecutionId& id, std::uint32_t from, std::uint32_t limit);
// The upstream nodes of a waiting member whose edges are open, with their states.
Result<std::map<std::uint32_t, std::string>> open_upstream(Store& store, const Execution& execution);

// wait_reads.cpp
Result<ExecutionWaits> execution_waits(Store& store, const ExecutionId& id);
Result<std::optional<WaitOutcome>> last_wait(Store& store, const Execution& execution);
Result<TokenInfo> token_info(Store& store, const WaitpointClaims& claims);
Result<ListWaitsReply> waits(Store& store, const ListWaitsRequest& request);

// fleet_reads.cpp
Result<ListWorkersReply> workers(Store& store, const ListWorkersRequest& request);
struct LiveWorkers {
  std::uint64_t working = 0;
  std::uint64_t draining = 0;
};
Result<LiveWorkers> count_workers(Store& store);
// Whether a live registered worker serves the execution's lane and offers the required capabilities.
Result<bool> capable_worker_lives(Store& store, const Spec& spec, TimestampMs now);
Result<ListWorkerLeasesReply> worker_leases(Store& store, const ListWorkerLeasesRequest& request);
Result<ListExpiredLeasesReply> expired_leases(Store& store, const ListExpiredLeasesRequest& request);
Result<std::vector<SigningKeyInfo>> keys(Store& store);
Result<std::vector<ApiKeyInfo>> api_keys(Store& store);
Result<ApiKeysRecord> api_keys_record(Store& store);
Result<HooksRecord> hooks_record(Store& store);
Result<std::vector<HookInfo>> hooks(Store& store);

// How long the earliest entry of the due index has been due; 0: nothing is.
Result<std::int64_t> overdue_ms(Store& store);

// Turns "now" (empty), "earliest" or a cursor into a cursor.
Result<std::string> start_cursor(Store& store, const std::string& cursor);
struct EventsRead {
  EventPage page;
  bool behind = false;
};
Result<EventsRead> events(Store& store, const EventFilter& filter, const std::string& cursor, std::uint32_t limit);

}  // namespace flowfabric::reads
