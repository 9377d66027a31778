// The part of a flow's graph that a member carries in its own record, and what becomes of it.
//
// The Membership is written once, with the member. MemberFacts change when an edge is resolved, and stay small: a node
// with thousands of incoming edges rewrites a few numbers for each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/flows.hpp>

#include "base/codec.hpp"

namespace flowfabric {

// Members are named by their ordinals.
struct OutgoingEdge {
  std::uint32_t to = 0;
  EdgeKind kind = EdgeKind::on_success;
  std::uint32_t group = 0;  // of the downstream node

  friend bool operator==(const OutgoingEdge&, const OutgoingEdge&) = default;
};

struct IncomingEdge {
  std::uint32_t from = 0;
  EdgeKind kind = EdgeKind::on_success;
  std::uint32_t group = 0;

  friend bool operator==(const IncomingEdge&, const IncomingEdge&) = default;
};

struct IncomingGroup {
  std::string name;
  GroupPolicy policy = GroupPolicy::all;
  std::uint32_t needed = 0;  // satisfied edges with which it fires
  std::uint32_t edges = 0;
  GroupRest rest = GroupRest::let_run;

  friend bool operator==(const IncomingGroup&, const IncomingGroup&) = default;
};

struct Membership {
  std::string node;
  std::uint32_t ordinal = 0;
  std::vector<OutgoingEdge> outgoing;
  std::vector<IncomingEdge> incoming;
  std::vector<IncomingGroup> groups;

  friend bool operator==(const Membership&, const Membership&) = default;
};

struct GroupTally {
  std::uint32_t satisfied = 0;
  std::uint32_t unsatisfiable = 0;
  GroupState state = GroupState::waiting;
  // Of any and quorum: at most as many as are needed, in order of resolution. Of gather: the first node that the flow ended.
  std::vector<std::uint32_t> winners;

  friend bool operator==(const GroupTally&, const GroupTally&) = default;
};

// A group whose other upstream nodes are being cancelled, a few at a time.
struct SiblingCancel {
  std::uint32_t group = 0;
  std::uint32_t next = 0;  // position in Membership::incoming

  friend bool operator==(const SiblingCancel&, const SiblingCancel&) = default;
};

// What was added to the part of the graph that a member carries, after it was written. The Membership in memory has these
// too, at the end of its lists.
struct MemberGrowth {
  std::vector<OutgoingEdge> outgoing;
  std::vector<IncomingEdge> incoming;
  // `edges` is 0, and `needed` what is needed beside the edges (of a quorum, its k): the incoming edges are counted when the
  // record is read.
  std::vector<IncomingGroup> groups;
  std::vector<std::uint32_t> joined;  // nodes whose join edges have arrived
  std::vector<std::uint32_t> awaits;  // nodes that it waits for, after it has started

  friend bool operator==(const MemberGrowth&, const MemberGrowth&) = default;
};

struct MemberFacts {
  std::vector<GroupTally> groups;  // as many as the Membership has
  // It has ended, and its flow does not know yet: its outgoing edges from `resolved` on are to be resolved, then it is
  // counted.
  bool unresolved = false;
  std::uint32_t resolved = 0;
  bool withdrawn = false;  // its flow ended it: a group that no longer needs it, a cancellation, the flow's deadline
  bool unneeded = false;   // the first of these
  // It failed, and when its edges were resolved none of them took that up. One that is added later does not change it.
  bool unhandled = false;
  std::vector<SiblingCancel> sibling_cancels;
  TimestampMs work_at = 0;  // not 0: the clock has to continue with one of the above
  std::optional<MemberGrowth> growth;

  friend bool operator==(const MemberFacts&, const MemberFacts&) = default;
};

void encode_into(Encoder& out, const Membership& member);
Membership decode_membership(Decoder& in);
void encode_into(Encoder& out, const MemberFacts& facts);
MemberFacts decode_member_facts(Decoder& in);
void encode_into(Encoder& out, const MemberGrowth& growth);
MemberGrowth decode_member_growth(Decoder& in);

// The group into which the join edges of a node lead.
inline constexpr std::string_view join_group = "(joined)";

// The groups into which the edges lead that the engine makes for a node that is a flow: one of the node itself, and one of each
// node in it. If the node is a cleanup node, they have the second name.
inline constexpr std::string_view inner_flow_group = "(flow)";
inline constexpr std::string_view inner_cleanup_group = "(cleanup)";
inline bool is_inner_group(std::string_view name) { return name == inner_flow_group || name == inner_cleanup_group; }

// The kind of the executions of a node that is a flow. No worker gets them.
inline constexpr const char* inner_flow_kind = "flow";

// Adds edges and groups to a Membership. False if they do not fit: the numbers of groups are out of range.
bool grow(Membership& member, const MemberGrowth& growth);

// ---- The rules of edges and groups. docs/flows.md has the same tables.

// How a member ended, as its edges see it.
enum class Ending : std::uint8_t { success, failed, cancelled, withdrawn, expired, skipped };

Ending ending_of(Outcome outcome, bool withdrawn);

// Never `waiting`. `unhandled` is that of the upstream node.
EdgeState edge_verdict(EdgeKind kind, Ending ending, bool unhandled);
// Whether the downstream node gets an input from the edge.
bool passes_input(EdgeKind kind, Ending ending);
// Whether this end makes the flow fail, unless an edge takes it up.
bool is_failure(Ending ending);
// Whether an on_failure or a join edge takes its failure up.
bool is_handled(const Membership& member);
// It lies within a flow that is a node: its failure fails that node, not the flow.
bool is_part(const Membership& member);
// A node that is a flow is two members: its begin, and the node itself, which ends with the nodes in it.
bool is_begin(const Membership& member);
bool is_flow_node(const Membership& member);
std::uint32_t begin_of(const Membership& flow_node);
// The begin from which it takes its inputs: it lies within a flow and has no incoming edges of its own.
std::optional<std::uint32_t> inherits_inputs_from(const Membership& member);
// A group for which all edges count.
bool wants_all(GroupPolicy policy);
// Whether it is kept when the flow is cancelled and its cleanup nodes are to run.
bool is_cleanup(const Membership& member);

// The edges from which the node gets inputs, if their upstream nodes have something to pass: those of its groups in their
// order, of `any` and `quorum` only the winners. Each upstream node once.
std::vector<IncomingEdge> input_edges(const Membership& member, const MemberFacts& facts);

// Counts one resolved edge. A group changes its state at most once; later edges are only counted.
GroupState count_edge(const IncomingGroup& group, GroupTally& tally, EdgeState verdict, std::uint32_t from);

}  // namespace flowfabric
