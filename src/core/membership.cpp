#include "core/membership.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.hpp"

namespace flowfabric {

namespace {

// What a Membership and its growth have in common.
template <class Graph>
void put_graph(Encoder& out, const Graph& graph) {
  out.unsigned_number(graph.outgoing.size());
  for (const OutgoingEdge& edge : graph.outgoing) {
    out.unsigned_number(edge.to);
    out.enumerator(edge.kind);
    out.unsigned_number(edge.group);
  }
  out.unsigned_number(graph.incoming.size());
  for (const IncomingEdge& edge : graph.incoming) {
    out.unsigned_number(edge.from);
    out.enumerator(edge.kind);
    out.unsigned_number(edge.group);
  }
  out.unsigned_number(graph.groups.size());
  for (const IncomingGroup& group : graph.groups) {
    out.text(group.name);
    out.enumerator(group.policy);
    out.unsigned_number(group.needed);
    out.unsigned_number(group.edges);
    out.enumerator(group.rest);
  }
}

template <class Graph>
void get_graph(Decoder& in, Graph& graph) {
  graph.outgoing.resize(in.count());
  for (OutgoingEdge& edge : graph.outgoing) {
    edge.to = in.u32();
    edge.kind = in.enumerator(EdgeKind::output);
    edge.group = in.u32();
  }
  graph.incoming.resize(in.count());
  for (IncomingEdge& edge : graph.incoming) {
    edge.from = in.u32();
    edge.kind = in.enumerator(EdgeKind::output);
    edge.group = in.u32();
  }
  graph.groups.resize(in.count());
  for (IncomingGroup& group : graph.groups) {
    group.name = in.text();
    group.policy = in.enumerator(GroupPolicy::gather);
    group.needed = in.u32();
    group.edges = in.u32();
    group.rest = in.enumerator(GroupRest::cancel_remaining);
  }
}

void put_ordinals(Encoder& out, const std::vector<std::uint32_t>& ordinals) {
  out.unsigned_number(ordinals.size());
  for (const std::uint32_t ordinal : ordinals) out.unsigned_number(ordinal);
}

std::vector<std::uint32_t> get_ordinals(Decoder& in) {
  std::vector<std::uint32_t> ordinals(in.count());
  for (std::uint32_t& ordinal : ordinals) ordinal = in.u32();
  return ordinals;
}

}  // namespace

void encode_into(Encoder& out, const Membership& member) {
  out.text(member.node);
  out.unsigned_number(member.ordinal);
  put_graph(out, member);
}

void encode_into(Encoder& out, const MemberGrowth& growth) {
  put_graph(out, growth);
  put_ordinals(out, growth.joined);
  put_ordinals(out, growth.awaits);
}

MemberGrowth decode_member_growth(Decoder& in) {
  MemberGrowth growth;
  get_graph(in, growth);
  growth.joined = get_ordinals(in);
  growth.awaits = get_ordinals(in);
  return growth;
}

bool grow(Membership& member, const MemberGrowth& growth) {
  member.outgoing.insert(member.outgoing.end(), growth.outgoing.begin(), growth.outgoing.end());
  member.groups.insert(member.groups.end(), growth.groups.begin(), growth.groups.end());
  for (const IncomingEdge& edge : growth.incoming) {
    if (edge.group >= member.groups.size()) return false;
    member.incoming.push_back(edge);
    IncomingGroup& group = member.groups[edge.group];
    ++group.edges;
    if (wants_all(group.policy)) ++group.needed;
  }
  return true;
}

Membership decode_membership(Decoder& in) {
  Membership member;
  member.node = in.text();
  member.ordinal = in.u32();
  get_graph(in, member);
  return member;
}

// Three of the facts are stored together, as bits.
constexpr unsigned withdrawn_mark = 1, unhandled_mark = 2, unneeded_mark = 4;
enum class EndMarks : std::uint8_t { all = withdrawn_mark | unhandled_mark | unneeded_mark };

void encode_into(Encoder& out, const MemberFacts& facts) {
  out.unsigned_number(facts.groups.size());
  for (const GroupTally& tally : facts.groups) {
    out.unsigned_number(tally.satisfied);
    out.unsigned_number(tally.unsatisfiable);
    out.enumerator(tally.state);
    out.unsigned_number(tally.winners.size());
    for (const std::uint32_t ordinal : tally.winners) out.unsigned_number(ordinal);
  }
  out.boolean(facts.unresolved);
  out.unsigned_number(facts.resolved);
  out.u8(static_cast<std::uint8_t>((facts.withdrawn ? withdrawn_mark : 0) | (facts.unhandled ? unhandled_mark : 0) |
                                   (facts.unneeded ? unneeded_mark : 0)));
  out.unsigned_number(facts.sibling_cancels.size());
  for (const SiblingCancel& cancel : facts.sibling_cancels) {
    out.unsigned_number(cancel.group);
    out.unsigned_number(cancel.next);
  }
  out.number(facts.work_at);
}

MemberFacts decode_member_facts(Decoder& in) {
  MemberFacts facts;
  facts.groups.resize(in.count());
  for (GroupTally& tally : facts.groups) {
    tally.satisfied = in.u32();
    tally.unsatisfiable = in.u32();
    tally.state = in.enumerator(GroupState::impossible);
    tally.winners.resize(in.count());
    for (std::uint32_t& ordinal : tally.winners) ordinal = in.u32();
  }
  facts.unresolved = in.boolean();
  facts.resolved = in.u32();
  const auto marks = static_cast<unsigned>(in.enumerator(EndMarks::all));
  facts.withdrawn = (marks & withdrawn_mark) != 0;
  facts.unhandled = (marks & unhandled_mark) != 0;
  facts.unneeded = (marks & unneeded_mark) != 0;
  facts.sibling_cancels.resize(in.count());
  for (SiblingCancel& cancel : facts.sibling_cancels) {
    cancel.group = in.u32();
    cancel.next = in.u32();
  }
  facts.work_at = in.number();
  return facts;
}

Ending ending_of(Outcome outcome, bool withdrawn) {
  switch (outcome) {
    case Outcome::success: return Ending::success;
    case Outcome::skipped: return Ending::skipped;
    case Outcome::cancelled: return withdrawn ? Ending::withdrawn : Ending::cancelled;
    case Outcome::expired: return withdrawn ? Ending::withdrawn : Ending::expired;
    case Outcome::none:
    case Outcome::failed: return Ending::failed;
  }
  return Ending::failed;
}

namespace {

bool has_outgoing(const Membership& member, std::initializer_list<EdgeKind> kinds) {
  return std::any_of(member.outgoing.begin(), member.outgoing.end(), [&](const OutgoingEdge& edge) {
    return std::find(kinds.begin(), kinds.end(), edge.kind) != kinds.end();
  });
}

}  // namespace

EdgeState edge_verdict(EdgeKind kind, Ending ending, bool unhandled) {
  bool satisfied = true;
  switch (kind) {
    case EdgeKind::on_success:
    case EdgeKind::within: satisfied = ending == Ending::success; break;
    case EdgeKind::on_failure: satisfied = is_failure(ending); break;
    case EdgeKind::on_finish:
    case EdgeKind::optional:
    case EdgeKind::join: break;
    case EdgeKind::part:
    case EdgeKind::output: satisfied = !unhandled; break;
  }
  return satisfied ? EdgeState::satisfied : EdgeState::unsatisfiable;
}

bool passes_input(EdgeKind kind, Ending ending) {
  switch (kind) {
    case EdgeKind::on_success:
    case EdgeKind::optional:
    case EdgeKind::output: return ending == Ending::success;
    case EdgeKind::on_failure: return is_failure(ending);
    case EdgeKind::on_finish:
    case EdgeKind::join: return true;
    case EdgeKind::within:
    case EdgeKind::part: return false;
  }
  return false;
}

bool is_failure(Ending ending) {
  return ending == Ending::failed || ending == Ending::expired || ending == Ending::cancelled;
}

bool is_handled(const Membership& member) { return has_outgoing(member, {EdgeKind::on_failure, EdgeKind::join}); }

bool is_part(const Membership& member) { return has_outgoing(member, {EdgeKind::part, EdgeKind::output}); }

bool is_begin(const Membership& member) { return has_outgoing(member, {EdgeKind::within}); }

bool is_flow_node(const Membership& member) {
  return !member.groups.empty() && member.groups.front().policy == GroupPolicy::gather;
}

std::uint32_t begin_of(const Membership& flow_node) {
  FF_CHECK(is_flow_node(flow_node));
  return flow_node.incoming.front().from;
}

std::optional<std::uint32_t> inherits_inputs_from(const Membership& member) {
  std::optional<std::uint32_t> begin;
  for (const IncomingEdge& edge : member.incoming) {
    if (edge.kind == EdgeKind::join) continue;  // from nodes that it has added itself
    if (edge.kind != EdgeKind::within) return std::nullopt;
    begin = edge.from;
  }
  return begin;
}

bool wants_all(GroupPolicy policy) { return policy == GroupPolicy::all || policy == GroupPolicy::gather; }

bool is_cleanup(const Membership& member) {
  return std::any_of(member.incoming.begin(), member.incoming.end(), [&](const IncomingEdge& edge) {
    return edge.kind == EdgeKind::on_finish || member.groups[edge.group].name == inner_cleanup_group;
  });
}

std::vector<IncomingEdge> input_edges(const Membership& member, const MemberFacts& facts) {
  std::vector<std::vector<IncomingEdge>> by_group(member.groups.size());
  for (const IncomingEdge& edge : member.incoming) by_group[edge.group].push_back(edge);
  std::vector<IncomingEdge> all;
  std::set<std::uint32_t> seen;
  const auto add = [&](const IncomingEdge& edge) {
    if (seen.insert(edge.from).second) all.push_back(edge);
  };
  for (std::size_t group = 0; group < member.groups.size(); ++group) {
    if (is_inner_group(member.groups[group].name)) continue;
    if (member.groups[group].policy == GroupPolicy::all) {
      for (const IncomingEdge& edge : by_group[group]) add(edge);
      continue;
    }
    std::map<std::uint32_t, IncomingEdge> by_upstream;
    for (const IncomingEdge& edge : by_group[group]) by_upstream.emplace(edge.from, edge);
    for (const std::uint32_t winner : facts.groups[group].winners) add(by_upstream.at(winner));
  }
  return all;
}

GroupState count_edge(const IncomingGroup& group, GroupTally& tally, EdgeState verdict, std::uint32_t from) {
  FF_CHECK(verdict != EdgeState::waiting);
  // The upstream record is older than this one: its edge was counted before. The version of the upstream record refuses
  // the commit, so it does not matter what is counted here.
  if (tally.satisfied + tally.unsatisfiable >= group.edges) return tally.state;
  const bool open = tally.state == GroupState::waiting;
  if (verdict == EdgeState::satisfied) {
    ++tally.satisfied;
    if (open && !wants_all(group.policy)) tally.winners.push_back(from);
  } else {
    ++tally.unsatisfiable;
  }
  if (!open) return tally.state;
  if (group.policy == GroupPolicy::gather) {
    if (tally.satisfied + tally.unsatisfiable == group.edges) tally.state = GroupState::fired;
    return tally.state;
  }
  if (tally.satisfied >= group.needed) tally.state = GroupState::fired;
  if (tally.unsatisfiable > group.edges - group.needed) tally.state = GroupState::impossible;
  return tally.state;
}

}  // namespace flowfabric
