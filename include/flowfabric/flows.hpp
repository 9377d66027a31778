// Flows: directed acyclic graphs of executions, submitted in one call or built step by step. docs/flows.md has the rules.
//
// Plain values; validated once, when they enter the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/operations.hpp>

namespace flowfabric {

// A flow is identified like an execution: a UUID and a partition, `fpN-uuid`. Its members are in the same partition.
using FlowId = ExecutionId;

// ---- The graph -----------------------------------------------------------------------------------------------------

// Which outcomes of the upstream node satisfy an edge. Values are stored; append only.
enum class EdgeKind : std::uint8_t {
  on_success,  // success
  on_failure,  // failed, expired, or cancelled by somebody other than the flow
  on_finish,   // any outcome, also skipped
  optional,    // any outcome, but the downstream node gets an input only from a success
  join,        // any outcome; from a node to the running node that has added it and waits for it (`join_nodes`)
  // Edges that the engine makes for a node that is a flow; requests cannot have them.
  within,  // from its begin to each node in it: success
  part,    // from its begin and from each node in it to the node itself: anything but an unhandled failure
  output   // the same, from a node in it that has no other outgoing edges
};
// When a group of incoming edges fires. Values are stored; append only.
enum class GroupPolicy : std::uint8_t {
  all,
  any,
  quorum,
  gather  // of a node that is a flow: when all edges are resolved, whatever they are
};
// What happens to the other upstream nodes of a group once it has fired or become impossible. Values are stored.
enum class GroupRest : std::uint8_t { let_run, cancel_remaining };
// What an unhandled failure of a node does. Values are stored; append only.
enum class FailurePolicy : std::uint8_t {
  fail_fast,       // nodes that have not started are cancelled
  continue_others  // the other branches go on; the flow fails at its end
};
// Values are stored; append only.
enum class FlowState : std::uint8_t { building, running, blocked, cancelling, completed, failed, cancelled };
enum class FlowCancelPolicy : std::uint8_t {
  flow_only,       // only the flow ends; its members go on as they are
  cancel_pending,  // nodes that have not started are cancelled, the others finish
  cancel_all       // every node that has not ended is cancelled
};
// The state of one edge. `waiting` until the upstream node has ended and the edge was resolved.
enum class EdgeState : std::uint8_t { waiting, satisfied, unsatisfiable };
enum class GroupState : std::uint8_t { waiting, fired, impossible };

std::string_view to_string(EdgeKind value);
std::string_view to_string(GroupPolicy value);
std::string_view to_string(GroupRest value);
std::string_view to_string(FailurePolicy value);
std::string_view to_string(FlowState value);
std::string_view to_string(FlowCancelPolicy value);
std::string_view to_string(EdgeState value);
std::string_view to_string(GroupState value);
Result<FlowState> parse_flow_state(std::string_view text);
Result<FlowCancelPolicy> parse_flow_cancel_policy(std::string_view text);
bool has_ended(FlowState state);

struct FlowEdge {
  std::string from{};
  std::string to{};
  EdgeKind kind = EdgeKind::on_success;
  std::string group{};  // a group of `to`; empty: its default group, which wants all of its edges
};

// Incoming edges of one node that are counted together. A node runs when all of its groups have fired.
struct FlowGroup {
  std::string node{};
  std::string name{};
  GroupPolicy policy = GroupPolicy::all;
  std::uint32_t k = 0;  // only of a quorum: how many edges must be satisfied
  GroupRest rest = GroupRest::let_run;
};

struct FlowNode;

// The flow that a node is. Its nodes become nodes of the outer flow, with the name of the node and a slash in front.
struct InnerFlow {
  std::vector<FlowNode> nodes;    // no initializer: the type is incomplete here
  std::vector<FlowEdge> edges{};  // between these nodes
  std::vector<FlowGroup> groups{};
  FailurePolicy failure_policy = FailurePolicy::fail_fast;
};

struct FlowNode {
  std::string name{};  // unique within the flow; names the input of downstream nodes
  // The namespace is that of the flow. Neither an id nor an idempotency key may be given: the flow has them. A node that is a
  // flow has no kind; it can have tags and a deadline.
  CreateRequest request{};
  std::optional<InnerFlow> flow{};
};

struct FlowRequest {
  std::string name_space = "default";
  std::string kind{};  // what sort of flow it is; for listings
  std::vector<FlowNode> nodes{};
  std::vector<FlowEdge> edges{};
  std::vector<FlowGroup> groups{};
  bool open = false;  // it stays in the state `building`, and nodes can be added, until it is sealed; may have no nodes
  FailurePolicy failure_policy = FailurePolicy::fail_fast;
  TimestampMs deadline_at = 0;                // what has not ended by then expires
  std::optional<std::int64_t> deadline_ms{};  // instead of deadline_at: from the submission
  RetentionPolicy retention{};                // of the flow with all its members, by the state in which it ends
  Tags tags{};
  std::string creator{};
  std::string idempotency_key{};
  std::int64_t dedup_window_ms = 24 * 3600 * 1000;
  std::optional<Uuid> id{};  // generated (UUIDv7) if absent
  std::string traceparent{};
};

struct FlowCreated {
  FlowId flow_id{};
  // Absent for a duplicate whose flow has ended and been removed by retention since.
  std::optional<FlowState> state{};
  bool duplicate = false;

  friend bool operator==(const FlowCreated&, const FlowCreated&) = default;
};

// Nodes, edges and groups that are added to a flow. Edges may begin and end at nodes that exist.
struct FlowAddition {
  std::vector<FlowNode> nodes{};
  std::vector<FlowEdge> edges{};
  std::vector<FlowGroup> groups{};
};

struct FlowMember {
  std::string name{};
  ExecutionId execution_id{};

  friend bool operator==(const FlowMember&, const FlowMember&) = default;
};

struct FlowAdded {
  FlowId flow_id{};
  FlowState state = FlowState::building;
  std::uint64_t revision = 0;     // of the graph, after the call
  std::uint32_t added_nodes = 0;  // nodes and edges that were not there before; none: the call was a repetition
  std::uint32_t added_edges = 0;
  std::vector<FlowMember> nodes{};  // those of the request, in its order

  friend bool operator==(const FlowAdded&, const FlowAdded&) = default;
};

struct FlowSealed {
  FlowId flow_id{};
  FlowState state = FlowState::running;
  bool already_sealed = false;

  friend bool operator==(const FlowSealed&, const FlowSealed&) = default;
};

struct FlowJoinReply {
  // All of them have ended, and the lease is kept. Otherwise the lease was given back, and the execution can be claimed
  // when they have.
  bool ended = false;

  friend bool operator==(const FlowJoinReply&, const FlowJoinReply&) = default;
};

struct FlowCancelRequest {
  FlowCancelPolicy policy = FlowCancelPolicy::cancel_all;
  bool run_cleanup = false;  // nodes behind an on_finish edge are kept and run
};

struct FlowCancelReply {
  FlowState state = FlowState::cancelling;
  FlowCancelPolicy policy = FlowCancelPolicy::cancel_all;  // the one in force: an earlier call may have set a stronger
  bool already_cancelled = false;

  friend bool operator==(const FlowCancelReply&, const FlowCancelReply&) = default;
};

// Runs nodes of an ended flow again. The flow is running until they have ended.
struct FlowReplayRequest {
  std::string node{};       // empty: all nodes that have not succeeded, and all nodes behind them
  bool descendants = true;  // of `node`: all nodes behind it run again too; false: only the node itself
};

struct FlowReplayReply {
  FlowState state = FlowState::running;
  std::uint64_t revision = 0;  // one more with each addition and each replay

  friend bool operator==(const FlowReplayReply&, const FlowReplayReply&) = default;
};

// ---- Reading -------------------------------------------------------------------------------------------------------

// Members by outcome.
struct FlowCounts {
  std::uint32_t total = 0;
  std::uint32_t pending = 0;  // have not ended
  std::uint32_t succeeded = 0;
  std::uint32_t failed = 0;
  std::uint32_t cancelled = 0;
  std::uint32_t expired = 0;
  std::uint32_t skipped = 0;

  friend bool operator==(const FlowCounts&, const FlowCounts&) = default;
};

struct FlowSummary {
  FlowId flow_id{};
  std::string name_space{};
  std::string kind{};
  FlowState state = FlowState::running;
  FlowCounts counts{};
  Tags tags{};
  TimestampMs created_at = 0;
  TimestampMs finished_at = 0;
  std::optional<std::string> damage{};  // why the stored record cannot be decoded, in listings

  friend bool operator==(const FlowSummary&, const FlowSummary&) = default;
};

struct FlowGroupInfo {
  std::string name{};  // empty: the default group
  GroupPolicy policy = GroupPolicy::all;
  std::uint32_t needed = 0;  // satisfied edges with which it fires
  std::uint32_t edges = 0;
  std::uint32_t satisfied = 0;
  std::uint32_t unsatisfiable = 0;
  GroupState state = GroupState::waiting;
  GroupRest rest = GroupRest::let_run;
  std::vector<std::string> winners{};  // of any and quorum: the nodes that fired it, in the order of completion

  friend bool operator==(const FlowGroupInfo&, const FlowGroupInfo&) = default;
};

// One node, without its edges.
struct FlowNodeInfo {
  std::string name{};
  std::uint32_t ordinal = 0;  // from 0, in the order of the request
  ExecutionId execution_id{};
  std::string kind{};
  std::string lane{};
  PublicState public_state = PublicState::waiting;
  TimestampMs started_at = 0;
  TimestampMs finished_at = 0;
  std::uint32_t attempt_count = 0;
  std::optional<Failure> failure{};      // of a failed one
  std::vector<FlowGroupInfo> groups{};   // its incoming edges
  std::vector<std::string> waits_for{};  // while it waits: upstream nodes whose edges are not resolved, up to a few
};

struct FlowEdgeInfo {
  std::string from{};
  std::string to{};
  EdgeKind kind = EdgeKind::on_success;
  std::string group{};
  EdgeState state = EdgeState::waiting;

  friend bool operator==(const FlowEdgeInfo&, const FlowEdgeInfo&) = default;
};

struct FlowFailure {
  std::string node{};
  ExecutionId execution_id{};
  Outcome outcome = Outcome::failed;
  std::string category{};

  friend bool operator==(const FlowFailure&, const FlowFailure&) = default;
};

struct FlowCancellation {
  FlowCancelPolicy policy = FlowCancelPolicy::cancel_all;
  bool run_cleanup = false;
  std::string cause{};  // "operator", "failure" or "deadline"
  std::string by{};
  std::string reason{};
  TimestampMs at = 0;

  friend bool operator==(const FlowCancellation&, const FlowCancellation&) = default;
};

struct FlowDescription {
  FlowSummary summary{};
  std::string creator{};
  FailurePolicy failure_policy = FailurePolicy::fail_fast;
  std::uint64_t revision = 0;
  std::uint32_t edge_count = 0;
  TimestampMs deadline_at = 0;
  TimestampMs last_mutation_at = 0;
  TimestampMs retain_until = 0;
  std::optional<FlowFailure> first_failure{};  // the first one that no edge took up
  std::uint32_t unhandled_failures = 0;
  std::optional<FlowCancellation> cancellation{};
  std::vector<Reason> explain{};  // what holds it back; empty once it has ended
};

struct FlowOutput {
  std::string node{};
  ExecutionId execution_id{};
  Outcome outcome = Outcome::none;
  std::string result{};
  std::string result_encoding{};
  bool by_reference = false;  // the result is too large for this reply: read it from the execution
};

struct FlowResult {
  FlowId flow_id{};
  FlowState state = FlowState::completed;
  FlowCounts counts{};
  TimestampMs finished_at = 0;
  std::optional<FlowFailure> first_failure{};
  std::vector<FlowOutput> outputs{};  // of the nodes without outgoing edges, in the order of the request, up to a page
};

struct FlowNodesReply {
  std::vector<FlowNodeInfo> nodes{};  // by ordinal
  std::string next_cursor{};
};
struct FlowInputsReply {
  std::vector<FlowInput> inputs{};
  std::uint32_t next_input = 0;  // where to go on; 0 at the end
};
struct FlowEdgesReply {
  std::vector<FlowEdgeInfo> edges{};  // by the ordinal of the upstream node
  std::string next_cursor{};
};

// The whole graph.
struct FlowGraph {
  FlowSummary summary{};
  std::vector<FlowNodeInfo> nodes{};
  std::vector<FlowEdgeInfo> edges{};
  // The chain of nodes that determined when the flow ended, or has determined it so far, from the first to the last.
  std::vector<std::string> critical_path{};
};
// Drawings of it.
std::string to_graphviz(const FlowGraph& graph);
std::string to_mermaid(const FlowGraph& graph);

struct ListFlowsRequest {
  std::optional<std::string> name_space{};
  std::optional<std::string> kind{};
  std::vector<FlowState> states{};
  std::optional<std::pair<std::string, std::string>> tag{};
  std::optional<TimestampMs> created_from{}, created_before{};
  std::optional<TimestampMs> finished_from{}, finished_before{};
  std::string cursor{};
  std::uint32_t limit = 100;
};

struct ListFlowsReply {
  std::vector<FlowSummary> flows{};  // newest first
  std::string next_cursor{};
};

}  // namespace flowfabric
