// Flows as JSON. A node of a request is a create request with a name.
#pragma once

#include <flowfabric/flows.hpp>

#include "wire/shapes.hpp"

namespace flowfabric::wire {

template <>
struct EnumRange<EdgeKind> : Range<EdgeKind, EdgeKind::on_success, EdgeKind::output> {};
template <>
struct EnumRange<GroupPolicy> : Range<GroupPolicy, GroupPolicy::all, GroupPolicy::gather> {};
template <>
struct EnumRange<GroupRest> : Range<GroupRest, GroupRest::let_run, GroupRest::cancel_remaining> {};
template <>
struct EnumRange<FailurePolicy> : Range<FailurePolicy, FailurePolicy::fail_fast, FailurePolicy::continue_others> {};
template <>
struct EnumRange<FlowState> : Range<FlowState, FlowState::building, FlowState::cancelled> {};
template <>
struct EnumRange<FlowCancelPolicy>
    : Range<FlowCancelPolicy, FlowCancelPolicy::flow_only, FlowCancelPolicy::cancel_all> {};
template <>
struct EnumRange<EdgeState> : Range<EdgeState, EdgeState::waiting, EdgeState::unsatisfiable> {};
template <>
struct EnumRange<GroupState> : Range<GroupState, GroupState::waiting, GroupState::impossible> {};

template <>
struct Shape<FlowEdge> {
  using E = FlowEdge;
  static constexpr std::string_view name = "FlowEdge";
  static constexpr auto fields = std::tuple{
      required("from", &E::from, "The upstream node."),
      required("to", &E::to, "The downstream node."),
      field("kind", &E::kind, "Which outcomes of the upstream node satisfy it (on_success)."),
      if_set("group", &E::group, "A group of the downstream node; absent: its default group, which wants all edges."),
  };
};

template <>
struct Shape<FlowGroup> {
  using G = FlowGroup;
  static constexpr std::string_view name = "FlowGroup";
  static constexpr auto fields = std::tuple{
      required("node", &G::node, "The downstream node."),
      if_set("name", &G::name, "Its name; absent: the default group of the node."),
      field("policy", &G::policy, "How many of its edges it wants (all)."),
      field("k", &G::k, "Of a quorum: how many edges must be satisfied.").up_to(limits::max_flow_fan),
      field("rest", &G::rest, "What happens to the other upstream nodes once it has fired or cannot fire (let_run)."),
  };
};

// The same as FlowNode with its fields side by side.
struct FlatFlowNode : CreateRequest {
  std::string node_name{};
  std::optional<InnerFlow> flow{};
};

// Fields of a create request as a node has them: one that is a flow has no kind.
template <class Object, class Member>
constexpr Field<Object, Member> field_of_node(Field<Object, Member> field) {
  if (field.name == "kind") field.required = false;
  return field;
}
template <class Other>
constexpr Other field_of_node(Other field) {
  return field;
}

template <>
struct Shape<InnerFlow> {
  using F = InnerFlow;
  static constexpr std::string_view name = "InnerFlow";
  static constexpr auto fields = std::tuple{
      required("nodes", &F::nodes, "Its nodes: at least one.").within(1, limits::max_flow_nodes),
      field("edges", &F::edges, "Edges between its nodes.").up_to(limits::max_flow_edges),
      field("groups", &F::groups, "Groups of edges other than the default ones.").up_to(limits::max_flow_edges),
      field("failure_policy", &F::failure_policy, "What an unhandled failure of a node in it does (fail_fast)."),
  };
};
template <>
struct Shape<FlatFlowNode> {
  static constexpr std::string_view name = "FlowNode";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{
          required("name", &FlatFlowNode::node_name, "Unique within the flow; names the input of nodes behind it.")
              .within(1, limits::max_node_name_bytes),
          field("flow", &FlatFlowNode::flow,
                "Instead of `kind`: the node is a flow. Of the other fields it can have only `tags` and a deadline.")},
      std::apply([](const auto&... fields) { return std::tuple{field_of_node(fields)...}; },
                 Shape<CreateRequest>::fields));
};
template <>
struct Codec<FlowNode> {
  static Result<void> read(const Value& value, const At& at, FlowNode& out) {
    FlatFlowNode flat;
    FF_TRY_VOID(Codec<FlatFlowNode>::read(value, at, flat));
    if (flat.kind.empty() && !flat.flow) return refuse(At{&at, "kind", 0}, "is missing, and so is flow; give one");
    out.name = std::move(flat.node_name);
    out.flow = std::move(flat.flow);
    out.request = std::move(static_cast<CreateRequest&>(flat));
    return {};
  }
  static void write(Writer& writer, const FlowNode& node) {
    FlatFlowNode flat;
    static_cast<CreateRequest&>(flat) = node.request;
    flat.node_name = node.name;
    flat.flow = node.flow;
    Codec<FlatFlowNode>::write(writer, flat);
  }
  static std::string schema(Schemas& schemas) { return Codec<FlatFlowNode>::schema(schemas); }
};

template <>
struct Shape<FlowRequest> {
  using R = FlowRequest;
  static constexpr std::string_view name = "FlowRequest";
  static constexpr auto fields = std::tuple{
      field("namespace", &R::name_space, "The namespace of the flow and of its nodes (default).")
          .within(1, limits::max_namespace_bytes),
      required("kind", &R::kind, "What sort of flow it is.").within(1, limits::max_kind_bytes),
      field("nodes", &R::nodes, "The nodes: at least one, unless the flow is open.").up_to(limits::max_flow_nodes),
      field("edges", &R::edges, "The edges.").up_to(limits::max_flow_edges),
      field("groups", &R::groups, "Groups of edges other than the default ones.").up_to(limits::max_flow_edges),
      field("open", &R::open, "It stays in the state `building`, and nodes can be added, until it is sealed (false)."),
      field("failure_policy", &R::failure_policy, "What an unhandled failure of a node does (fail_fast)."),
      moment("deadline_at", &R::deadline_at, "What has not ended by then expires.").up_to(limits::max_timestamp_ms),
      field("deadline_ms", &R::deadline_ms, "Instead of `deadline_at`: so long from now, by the store's clock.")
          .within(1, limits::max_duration_ms),
      field("retention", &R::retention, "How long the flow is kept with all its nodes after its end."),
      field("tags", &R::tags, "Up to 64; keys like `team.name`.").up_to(limits::max_tags),
      field("creator", &R::creator, "The requester.").up_to(limits::max_creator_bytes),
      field("idempotency_key", &R::idempotency_key,
            "Unique in the namespace: repeating the call makes nothing new. Also as the header `Idempotency-Key`.")
          .up_to(limits::max_idempotency_key_bytes),
      field("dedup_window_ms", &R::dedup_window_ms, "How long the idempotency key is remembered (a day).")
          .within(1, limits::max_duration_ms),
      field("id", &R::id, "A UUID chosen by the client; generated if absent."),
      field("traceparent", &R::traceparent,
            "W3C trace context, passed to the workers that claim nodes. Absent: the header of that name."),
  };
};

template <>
struct Shape<FlowCreated> {
  using C = FlowCreated;
  static constexpr std::string_view name = "FlowCreated";
  static constexpr auto fields = std::tuple{
      field("flow_id", &C::flow_id, "Its id."),
      field("state", &C::state, "Its state; absent if an earlier flow with this key is gone."),
      field("duplicate", &C::duplicate, "It was created by an earlier request with this idempotency key or id."),
  };
};

template <>
struct Shape<FlowAddition> {
  using A = FlowAddition;
  static constexpr std::string_view name = "FlowAddition";
  static constexpr auto fields = std::tuple{
      field("nodes", &A::nodes, "New nodes. One that exists with equal content is left as it is.")
          .up_to(limits::max_flow_nodes),
      field("edges", &A::edges, "New edges, also from and to nodes that exist.").up_to(limits::max_flow_edges),
      field("groups", &A::groups, "New groups of edges, also of nodes that exist.").up_to(limits::max_flow_edges),
  };
};

template <>
struct Shape<FlowMember> {
  using M = FlowMember;
  static constexpr std::string_view name = "FlowMember";
  static constexpr auto fields = std::tuple{
      field("name", &M::name, "The node."),
      field("execution_id", &M::execution_id, "Its execution."),
  };
};

template <>
struct Shape<FlowAdded> {
  using A = FlowAdded;
  static constexpr std::string_view name = "FlowAdded";
  static constexpr auto fields = std::tuple{
      field("flow_id", &A::flow_id, "The flow."),
      field("state", &A::state, "Its state."),
      field("revision", &A::revision, "The revision of its graph after the call."),
      field("added_nodes", &A::added_nodes, "Nodes that were not there before."),
      field("added_edges", &A::added_edges, "Edges that were not there before."),
      field("nodes", &A::nodes, "The nodes of the request, in its order."),
  };
};

template <>
struct Shape<FlowSealed> {
  using S = FlowSealed;
  static constexpr std::string_view name = "FlowSealed";
  static constexpr auto fields = std::tuple{
      field("flow_id", &S::flow_id, "The flow."),
      field("state", &S::state, "Its state."),
      field("already_sealed", &S::already_sealed, "It was not open any more."),
  };
};

template <>
struct Shape<FlowJoinReply> {
  using J = FlowJoinReply;
  static constexpr std::string_view name = "FlowJoinReply";
  static constexpr auto fields = std::tuple{
      field("ended", &J::ended,
            "All nodes have ended, and the lease is kept. Otherwise the lease is released, and the execution can be "
            "claimed when they have ended."),
  };
};

template <>
struct Shape<FlowCounts> {
  using C = FlowCounts;
  static constexpr std::string_view name = "FlowCounts";
  static constexpr auto fields = std::tuple{
      field("total", &C::total, "All nodes."),         field("pending", &C::pending, "Have not ended."),
      field("succeeded", &C::succeeded, "Succeeded."), field("failed", &C::failed, "Failed."),
      field("cancelled", &C::cancelled, "Cancelled."), field("expired", &C::expired, "Expired."),
      field("skipped", &C::skipped, "Skipped."),
  };
};

template <>
struct Shape<FlowSummary> {
  using S = FlowSummary;
  static constexpr std::string_view name = "FlowSummary";
  static constexpr auto fields = std::tuple{
      field("flow_id", &S::flow_id, "Its id."),
      field("namespace", &S::name_space, "Its namespace."),
      field("kind", &S::kind, "What sort of flow it is."),
      field("state", &S::state, "Its state."),
      field("counts", &S::counts, "Its nodes by outcome."),
      field("tags", &S::tags, "Its tags."),
      moment("created_at", &S::created_at, "When it was submitted."),
      moment("finished_at", &S::finished_at, "When it ended."),
      field("damage", &S::damage, "In listings: why the stored record cannot be decoded."),
  };
};

template <>
struct Shape<FlowGroupInfo> {
  using G = FlowGroupInfo;
  static constexpr std::string_view name = "FlowGroupInfo";
  static constexpr auto fields = std::tuple{
      if_set("name", &G::name, "Absent: the default group."),
      field("policy", &G::policy, "How many of its edges it wants."),
      field("needed", &G::needed, "Satisfied edges with which it fires."),
      field("edges", &G::edges, "How many edges it has."),
      field("satisfied", &G::satisfied, "Edges that are satisfied."),
      field("unsatisfiable", &G::unsatisfiable, "Edges that cannot be satisfied."),
      field("state", &G::state, "Whether it has fired."),
      field("rest", &G::rest, "What happens to its other upstream nodes then."),
      field("winners", &G::winners, "Of any and quorum: the nodes that made it fire, in the order of completion."),
  };
};

template <>
struct Shape<FlowNodeInfo> {
  using N = FlowNodeInfo;
  static constexpr std::string_view name = "FlowNodeInfo";
  static constexpr auto fields = std::tuple{
      field("name", &N::name, "Its name."),
      field("ordinal", &N::ordinal, "Counts from 0, in the order of the request."),
      field("execution_id", &N::execution_id, "Its execution."),
      field("kind", &N::kind, "The job type, which selects the handler."),
      field("lane", &N::lane, "The lane (queue)."),
      field("public_state", &N::public_state, "Its state."),
      moment("started_at", &N::started_at, "When it was first claimed."),
      moment("finished_at", &N::finished_at, "When it ended."),
      field("attempt_count", &N::attempt_count, "How many attempts there were."),
      field("failure", &N::failure, "Why it failed."),
      field("groups", &N::groups, "Its incoming edges."),
      field("waits_for", &N::waits_for, "While it waits: upstream nodes whose edges are open, the first 20."),
  };
};

template <>
struct Shape<FlowEdgeInfo> {
  using E = FlowEdgeInfo;
  static constexpr std::string_view name = "FlowEdgeInfo";
  static constexpr auto fields = std::tuple{
      field("from", &E::from, "The upstream node."),
      field("to", &E::to, "The downstream node."),
      field("kind", &E::kind, "Which outcomes satisfy it."),
      if_set("group", &E::group, "The group of the downstream node; absent: the default group."),
      field("state", &E::state, "Waiting until its upstream node has ended."),
  };
};

template <>
struct Shape<FlowFailure> {
  using F = FlowFailure;
  static constexpr std::string_view name = "FlowFailure";
  static constexpr auto fields = std::tuple{
      field("node", &F::node, "The node."),
      field("execution_id", &F::execution_id, "Its execution."),
      field("outcome", &F::outcome, "How it ended."),
      if_set("category", &F::category, "The category of its failure."),
  };
};

template <>
struct Shape<FlowCancellation> {
  using C = FlowCancellation;
  static constexpr std::string_view name = "FlowCancellation";
  static constexpr auto fields = std::tuple{
      field("policy", &C::policy, "Which nodes are cancelled."),
      field("run_cleanup", &C::run_cleanup, "Nodes behind an on_finish edge are kept and run."),
      field("cause", &C::cause, "`operator`, `failure` or `deadline`."),
      if_set("by", &C::by, "The actor."),
      if_set("reason", &C::reason, "Why."),
      moment("at", &C::at, "When it began."),
  };
};

template <>
struct Shape<FlowDescription> {
  using D = FlowDescription;
  static constexpr std::string_view name = "FlowDescription";
  static constexpr auto fields = std::tuple{
      field("summary", &D::summary, "Its state and counts."),
      if_set("creator", &D::creator, "The requester."),
      field("failure_policy", &D::failure_policy, "What an unhandled failure of a node does."),
      field("revision", &D::revision, "Increases with every change of the graph."),
      field("edge_count", &D::edge_count, "How many edges it has."),
      moment("deadline_at", &D::deadline_at, "What has not ended by then expires."),
      moment("last_mutation_at", &D::last_mutation_at, "When it was changed last."),
      moment("retain_until", &D::retain_until, "When it is removed."),
      field("first_failure", &D::first_failure, "The first failure that no edge took up."),
      field("unhandled_failures", &D::unhandled_failures, "How many such failures there are."),
      field("cancellation", &D::cancellation, "Present once nodes were cancelled, for any cause."),
      field("explain", &D::explain, "What holds it back."),
  };
};

template <>
struct Shape<FlowOutput> {
  using O = FlowOutput;
  static constexpr std::string_view name = "FlowOutput";
  static constexpr auto fields = std::tuple{
      field("node", &O::node, "A node without outgoing edges."),
      field("execution_id", &O::execution_id, "Its execution."),
      field("outcome", &O::outcome, "How it ended."),
      LabelledJson<&O::result, &O::result_encoding>{"result", about_json_out},
      LabelledBase64<&O::result, &O::result_encoding>{"result_base64", about_base64_out},
      if_set("result_encoding", &O::result_encoding, "The label of the result."),
      field("by_reference", &O::by_reference, "The result is too large: read the result of the execution."),
  };
};

template <>
struct Shape<FlowResult> {
  using R = FlowResult;
  static constexpr std::string_view name = "FlowResult";
  static constexpr auto fields = std::tuple{
      field("flow_id", &R::flow_id, "The flow."),
      field("state", &R::state, "How it ended, or its state."),
      field("counts", &R::counts, "Its nodes by outcome."),
      moment("finished_at", &R::finished_at, "When it ended."),
      field("first_failure", &R::first_failure, "The first failure that no edge took up."),
      field("outputs", &R::outputs, "Of the nodes without outgoing edges, the first 100."),
  };
};

template <>
struct Shape<FlowCancelReply> {
  using R = FlowCancelReply;
  static constexpr std::string_view name = "FlowCancelReply";
  static constexpr auto fields = std::tuple{
      field("state", &R::state, "Its state now."),
      field("policy", &R::policy, "The policy in force; an earlier call may have set a stronger one."),
      field("already_cancelled", &R::already_cancelled, "Nothing was changed."),
  };
};

template <>
struct Shape<FlowReplayReply> {
  using R = FlowReplayReply;
  static constexpr std::string_view name = "FlowReplayReply";
  static constexpr auto fields = std::tuple{
      field("state", &R::state, "Its state now."),
      field("revision", &R::revision, "Starts with 1; one more with each addition and each replay."),
  };
};

template <>
struct Shape<FlowNodesReply> {
  using R = FlowNodesReply;
  static constexpr std::string_view name = "FlowNodes";
  static constexpr auto fields = std::tuple{
      field("nodes", &R::nodes, "In the order of the request."),
      if_set("next_cursor", &R::next_cursor, "Absent on the last page."),
  };
};

template <>
struct Shape<FlowEdgesReply> {
  using R = FlowEdgesReply;
  static constexpr std::string_view name = "FlowEdges";
  static constexpr auto fields = std::tuple{
      field("edges", &R::edges, "In the order of their upstream nodes."),
      if_set("next_cursor", &R::next_cursor, "Absent on the last page."),
  };
};

template <>
struct Shape<FlowGraph> {
  using G = FlowGraph;
  static constexpr std::string_view name = "FlowGraph";
  static constexpr auto fields = std::tuple{
      field("summary", &G::summary, "Its state and counts."),
      field("nodes", &G::nodes, "All nodes, in the order of the request."),
      field("edges", &G::edges, "All edges, in the order of their upstream nodes."),
      field("critical_path", &G::critical_path, "The chain of nodes that determined the time, from the first one on."),
  };
};

template <>
struct Shape<ListFlowsReply> {
  using R = ListFlowsReply;
  static constexpr std::string_view name = "ListFlowsReply";
  static constexpr auto fields = std::tuple{
      field("flows", &R::flows, "Newest first."),
      if_set("next_cursor", &R::next_cursor, "Absent on the last page."),
  };
};

template <>
struct Shape<FlowInputsReply> {
  using R = FlowInputsReply;
  static constexpr std::string_view name = "FlowInputs";
  static constexpr auto fields = std::tuple{
      field("inputs", &R::inputs, "In the order of a claim."),
      field("next_input", &R::next_input, "Where to go on; 0 at the end."),
  };
};

}  // namespace flowfabric::wire
