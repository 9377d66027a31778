#include "core/flow_growth.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/flow_graph.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

std::string in_quotes(const std::string& name) { return "\"" + name + "\""; }
std::string item(const char* list, std::size_t i, const char* field) {
  return std::string(list) + "[" + std::to_string(i) + "]." + field;
}

auto refuse_growth(Errc code, const std::string& field, const std::string& message) {
  return fail(code, field + ": " + message, field);
}

Result<void> check_size(const char* field, std::size_t count, std::size_t max) {
  if (count <= max) return {};
  return refuse_growth(Errc::invalid_argument, field,
                       "has " + std::to_string(count) + " entries; allowed: at most " + std::to_string(max));
}

// Why an existing node cannot get an incoming edge in this group; empty: it can.
std::string closed_because(const Execution& node, bool settled, const IncomingGroup* group, const GroupTally* tally) {
  const Facts& facts = node.facts;
  if (facts.phase == Phase::terminal) return "has ended";
  if (has_started(facts) || facts.phase != Phase::runnable) return "has started";
  if (facts.grant && settled) return "is reserved for a worker";
  const bool waits = (facts.gates & dependency_gate) != 0;
  if (!waits && !node.spec.member->groups.empty()) return "can start: its groups have fired";
  if (group == nullptr || tally == nullptr || tally->state == GroupState::waiting) return {};
  return "has a group " + in_quotes(group->name) + " that " +
         (tally->state == GroupState::fired ? "has fired" : "cannot fire any more");
}

bool lies_within(const Membership& member) {
  return is_begin(member) || std::any_of(member.groups.begin(), member.groups.end(),
                                         [](const IncomingGroup& group) { return is_inner_group(group.name); });
}

class GrowthPlanner {
 public:
  GrowthPlanner(const FlowAddition& addition, const GrowingGraph& graph) : addition_(addition), graph_(graph) {}

  Result<GrowthPlan> run() {
    FF_TRY_VOID(check_size("nodes", addition_.nodes.size(), limits::max_flow_nodes));
    FF_TRY_VOID(check_size("edges", addition_.edges.size(), limits::max_flow_edges));
    FF_TRY_VOID(check_size("groups", addition_.groups.size(), limits::max_flow_edges));
    if (addition_.nodes.empty() && addition_.edges.empty()) {
      return refuse_growth(Errc::invalid_argument, "nodes", "is empty, and so is edges; give at least one of them");
    }
    FF_TRY_VOID(take_nodes());
    FF_TRY_VOID(take_groups());
    FF_TRY_VOID(take_edges());
    FF_TRY_VOID(check_groups());
    FF_TRY_VOID(check_limits());
    return take_plan();
  }

 private:
  struct Node {
    Membership member;  // as it is after the addition
    const Execution* existing = nullptr;
    std::size_t outgoing_before = 0, incoming_before = 0, groups_before = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, EdgeKind> sources;  // of incoming edges, by upstream and group
    std::map<std::string, std::uint32_t> groups;
  };

  Result<void> take_nodes();
  Result<void> take_groups();
  Result<void> take_group(const FlowGroup& group, std::size_t i);
  Result<void> take_edges();
  Result<void> take_edge(const FlowEdge& edge, std::size_t i);
  Result<std::uint32_t> group_of(const FlowEdge& edge, Node& to, std::size_t i);
  Result<void> check_groups();
  Result<void> check_fan(const Node& node);
  Result<void> check_limits();
  GrowthPlan take_plan();
  Node* node_of(const std::string& name);
  Result<Node*> mentioned(const std::string& name, const std::string& field, const std::string& of);

  const FlowAddition& addition_;
  const GrowingGraph& graph_;
  std::map<std::uint32_t, Node> nodes_;
  std::unordered_map<std::string, std::uint32_t> ordinals_;
  std::set<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>> given_;  // edges of the addition
  GrowthPlan plan_;
};

// The node with this name: of the addition, or one that exists.
GrowthPlanner::Node* GrowthPlanner::node_of(const std::string& name) {
  const auto known = ordinals_.find(name);
  if (known != ordinals_.end()) return &nodes_.at(known->second);
  const Execution* existing = graph_.by_name(name);
  if (existing == nullptr) return nullptr;
  const Membership& member = *existing->spec.member;
  ordinals_.emplace(name, member.ordinal);
  Node& node = nodes_[member.ordinal];
  node.member = member;
  node.existing = existing;
  node.outgoing_before = member.outgoing.size();
  node.incoming_before = member.incoming.size();
  node.groups_before = member.groups.size();
  for (const IncomingEdge& edge : member.incoming) node.sources[{edge.from, edge.group}] = edge.kind;
  for (std::uint32_t i = 0; i < member.groups.size(); ++i) node.groups.emplace(member.groups[i].name, i);
  return &node;
}

Result<GrowthPlanner::Node*> GrowthPlanner::mentioned(const std::string& name, const std::string& field,
                                                      const std::string& of) {
  if (Node* node = node_of(name)) return node;
  return refuse_growth(Errc::invalid_argument, field,
                       "there is no node " + in_quotes(name) + " in this flow (" + of + ")");
}

Result<void> GrowthPlanner::take_nodes() {
  std::set<std::string> given;
  std::uint32_t next = graph_.flow->facts.members;
  for (std::size_t i = 0; i < addition_.nodes.size(); ++i) {
    const FlowNode& added = addition_.nodes[i];
    const std::string field = item("nodes", i, "name");
    FF_TRY_VOID(check_node_name(added.name, field));
    if (!given.insert(added.name).second) {
      return refuse_growth(Errc::invalid_argument, field,
                           in_quotes(added.name) + " is given twice; names are unique within a flow");
    }
    FF_TRY(request, member_request(added, graph_.flow->spec));
    if (const Node* same = node_of(added.name)) {
      if (same->existing->spec.request_digest != request_digest(request)) {
        return refuse_growth(Errc::conflict, field,
                             "node " + in_quotes(added.name) + " exists and was made by a different request");
      }
      plan_.nodes.push_back(same->member.ordinal);
      continue;
    }
    ordinals_.emplace(added.name, next);
    Node& node = nodes_[next];
    node.member.node = added.name;
    node.member.ordinal = next;
    plan_.nodes.push_back(next);
    plan_.created_from.push_back(i);
    ++next;
  }
  return {};
}

Result<void> GrowthPlanner::take_groups() {
  std::set<std::pair<std::string, std::string>> given;
  for (std::size_t i = 0; i < addition_.groups.size(); ++i) {
    const FlowGroup& group = addition_.groups[i];
    if (!given.insert({group.node, group.name}).second) {
      return refuse_growth(Errc::invalid_argument, item("groups", i, "name"),
                           "node " + in_quotes(group.node) + " has two groups with the name " + in_quotes(group.name));
    }
    FF_TRY_VOID(take_group(group, i));
  }
  return {};
}

Result<void> GrowthPlanner::take_group(const FlowGroup& group, std::size_t i) {
  FF_TRY(node, mentioned(group.node, item("groups", i, "node"), "group " + in_quotes(group.name)));
  const std::string field = item("groups", i, "name");
  if (!group.name.empty()) FF_TRY_VOID(check_node_name(group.name, field));
  if (group.name == join_group) {
    return refuse_growth(Errc::invalid_argument, field, "is the name of the group of join edges; use another");
  }
  if (group.policy != GroupPolicy::quorum && group.k != 0) {
    return refuse_growth(Errc::invalid_argument, item("groups", i, "k"),
                         "is only for a quorum; the policy of this group is " + std::string(to_string(group.policy)));
  }
  const auto found = node->groups.find(group.name);
  if (found != node->groups.end()) {
    const IncomingGroup& known = node->member.groups[found->second];
    const bool same_k = group.policy != GroupPolicy::quorum || known.needed == group.k;
    if (known.policy == group.policy && known.rest == group.rest && same_k) return {};
    return refuse_growth(Errc::conflict, field,
                         "group " + in_quotes(group.name) + " of node " + in_quotes(group.node) +
                             " exists with another policy, k or rest");
  }
  if (node->existing != nullptr) {
    const std::string closed = closed_because(*node->existing, graph_.settled, nullptr, nullptr);
    if (!closed.empty()) {
      return refuse_growth(Errc::conflict, item("groups", i, "node"),
                           "node " + in_quotes(group.node) + " " + closed + ", so it cannot get another group");
    }
  }
  const std::uint32_t needed = group.policy == GroupPolicy::quorum ? group.k
                               : group.policy == GroupPolicy::any  ? 1U
                                                                   : 0U;
  node->groups.emplace(group.name, static_cast<std::uint32_t>(node->member.groups.size()));
  node->member.groups.push_back({group.name, group.policy, needed, 0, group.rest});
  return {};
}

Result<std::uint32_t> GrowthPlanner::group_of(const FlowEdge& edge, Node& to, std::size_t i) {
  const std::string name = edge.kind == EdgeKind::join ? std::string(join_group) : edge.group;
  const auto found = to.groups.find(name);
  if (found != to.groups.end()) return found->second;
  if (!edge.group.empty()) {
    return refuse_growth(Errc::invalid_argument, item("edges", i, "group"),
                         "node " + in_quotes(edge.to) + " has no group " + in_quotes(edge.group) + " (edge from " +
                             in_quotes(edge.from) + ")");
  }
  const auto number = static_cast<std::uint32_t>(to.member.groups.size());
  to.groups.emplace(name, number);
  to.member.groups.push_back({name, GroupPolicy::all, 0, 0, GroupRest::let_run});
  return number;
}

Result<void> GrowthPlanner::take_edges() {
  for (std::size_t i = 0; i < addition_.edges.size(); ++i) FF_TRY_VOID(take_edge(addition_.edges[i], i));
  return {};
}

Result<void> GrowthPlanner::take_edge(const FlowEdge& edge, std::size_t i) {
  const std::string text = "edge from " + in_quotes(edge.from) + " to " + in_quotes(edge.to);
  FF_TRY(from, mentioned(edge.from, item("edges", i, "from"), text));
  FF_TRY(to, mentioned(edge.to, item("edges", i, "to"), text));
  const std::string field = item("edges", i, "to");
  if (from == to) {
    return refuse_growth(Errc::invalid_argument, field, "node " + in_quotes(edge.to) + " cannot depend on itself");
  }
  if (to->existing != nullptr && is_flow_node(to->member) && !is_inner_group(edge.group)) {
    return refuse_growth(
        Errc::conflict, field,
        "node " + in_quotes(edge.to) + " is a flow and gets its edges together with the nodes in it (" + text + ")");
  }
  const bool joins = edge.kind == EdgeKind::join;
  if (joins && (graph_.adder != to->member.ordinal || !edge.group.empty() || edge.group == join_group)) {
    return refuse_growth(Errc::invalid_argument, item("edges", i, "kind"),
                         "a join edge leads to the node that adds it and names no group (" + text + ")");
  }
  FF_TRY(group, group_of(edge, *to, i));
  if (!given_.insert({{from->member.ordinal, to->member.ordinal}, group}).second) {
    return refuse_growth(Errc::invalid_argument, field,
                         "there are two edges from " + in_quotes(edge.from) + " to " + in_quotes(edge.to) +
                             " in the same group; give one");
  }
  const auto known = to->sources.find({from->member.ordinal, group});
  if (known != to->sources.end()) {
    if (known->second == edge.kind) return {};
    return refuse_growth(Errc::conflict, item("edges", i, "kind"),
                         "the " + text + " exists as " + std::string(to_string(known->second)));
  }
  // A running node may add to the flow in which it lies; nobody else can.
  const bool crosses =
      (to->existing != nullptr && lies_within(to->member)) || (from->existing != nullptr && is_part(from->member));
  if (crosses && !graph_.adder) {
    return refuse_growth(
        Errc::conflict, field,
        "one end lies within a node that is a flow; only its running nodes can add edges there (" + text + ")");
  }
  if (to->existing != nullptr && !joins) {
    const bool is_old = group < to->groups_before;
    const std::string closed =
        closed_because(*to->existing, graph_.settled, is_old ? &to->member.groups[group] : nullptr,
                       is_old ? &to->existing->facts.member->groups[group] : nullptr);
    if (!closed.empty()) {
      return refuse_growth(
          Errc::conflict, field,
          "node " + in_quotes(edge.to) + " " + closed + ", so it cannot get another edge (" + text + ")");
    }
  }
  to->sources[{from->member.ordinal, group}] = edge.kind;
  from->member.outgoing.push_back({to->member.ordinal, edge.kind, group});
  to->member.incoming.push_back({from->member.ordinal, edge.kind, group});
  IncomingGroup& counted = to->member.groups[group];
  ++counted.edges;
  if (wants_all(counted.policy)) ++counted.needed;
  ++plan_.added_edges;
  return {};
}

Result<void> GrowthPlanner::check_groups() {
  for (const auto& [ordinal, node] : nodes_) {
    for (std::size_t i = node.groups_before; i < node.member.groups.size(); ++i) {
      const IncomingGroup& group = node.member.groups[i];
      const std::string text = "group " + in_quotes(group.name) + " of node " + in_quotes(node.member.node);
      if (group.edges == 0) return refuse_growth(Errc::invalid_argument, "groups", text + " has no edges");
      if (group.needed == 0 || group.needed > group.edges) {
        return refuse_growth(Errc::invalid_argument, "groups",
                             text + " wants " + std::to_string(group.needed) + " of its " +
                                 std::to_string(group.edges) + " edges; allowed: 1 to " + std::to_string(group.edges));
      }
    }
  }
  return {};
}

Result<void> GrowthPlanner::check_fan(const Node& node) {
  const auto refuse = [&](const char* what, std::size_t limit) {
    return refuse_growth(Errc::invalid_argument, "edges",
                         "node " + in_quotes(node.member.node) + " has more than " + std::to_string(limit) + " " +
                             what + ", which is the limit");
  };
  if (node.member.outgoing.size() > limits::max_flow_fan) return refuse("outgoing edges", limits::max_flow_fan);
  if (node.member.incoming.size() > limits::max_flow_fan) return refuse("incoming edges", limits::max_flow_fan);
  if (node.existing == nullptr) return {};
  const auto& before = node.existing->facts.member->growth;
  const std::size_t outgoing =
      node.member.outgoing.size() - node.outgoing_before + (before ? before->outgoing.size() : 0);
  const std::size_t incoming =
      node.member.incoming.size() - node.incoming_before + (before ? before->incoming.size() : 0);
  if (outgoing > limits::max_added_edges)
    return refuse("outgoing edges that were added later", limits::max_added_edges);
  if (incoming > limits::max_added_edges)
    return refuse("incoming edges that were added later", limits::max_added_edges);
  return {};
}

Result<void> GrowthPlanner::check_limits() {
  for (const auto& [ordinal, node] : nodes_) FF_TRY_VOID(check_fan(node));
  const FlowRecord& flow = *graph_.flow;
  const std::size_t members = flow.facts.members + plan_.created_from.size();
  if (members > limits::max_flow_members) {
    return refuse_growth(Errc::invalid_argument, "nodes",
                         "the flow would have " + std::to_string(members) + " nodes; allowed: at most " +
                             std::to_string(limits::max_flow_members));
  }
  const std::uint64_t edges = std::uint64_t{flow.spec.edge_count} + flow.facts.added_edges + plan_.added_edges;
  if (edges > limits::max_flow_members_edges) {
    return refuse_growth(Errc::invalid_argument, "edges",
                         "the flow would have " + std::to_string(edges) + " edges; allowed: at most " +
                             std::to_string(limits::max_flow_members_edges));
  }
  return {};
}

GrowthPlan GrowthPlanner::take_plan() {
  for (auto& [ordinal, node] : nodes_) {
    if (node.existing == nullptr) {
      plan_.created.push_back(std::move(node.member));
      continue;
    }
    MemberGrowth growth;
    const auto rest = []<class T>(const std::vector<T>& list, std::size_t first) {
      return std::vector<T>(list.begin() + static_cast<std::ptrdiff_t>(first), list.end());
    };
    growth.outgoing = rest(node.member.outgoing, node.outgoing_before);
    growth.incoming = rest(node.member.incoming, node.incoming_before);
    growth.groups = rest(node.member.groups, node.groups_before);
    for (IncomingGroup& group : growth.groups) {
      if (wants_all(group.policy)) group.needed = 0;
      group.edges = 0;
    }
    if (!growth.outgoing.empty() || !growth.incoming.empty()) plan_.grown.emplace(ordinal, std::move(growth));
  }
  return std::move(plan_);
}

// Depth first, with the way that led to the present node: a node on that way that is reached again closes a cycle.
class CycleSearcher {
 public:
  CycleSearcher(const GrowthPlan& plan, const OutgoingOf& outgoing_of)
      : plan_(plan),
        outgoing_of_(outgoing_of),
        most_(limits::max_flow_search + plan.created.size() + plan.grown.size()) {
    for (const Membership& member : plan.created) created_.emplace(member.ordinal, &member);
  }

  // Whether to go on with another start.
  bool search_from(std::uint32_t start, CycleSearch& found) {
    if (state_.contains(start)) return true;
    enter(start, found);
    while (!way_.empty()) {
      Place& place = way_.back();
      if (place.next == place.edges.size()) {
        state_[place.ordinal] = State::left;
        way_.pop_back();
        continue;
      }
      const std::uint32_t to = place.edges[place.next++];
      const auto seen = state_.find(to);
      if (seen == state_.end()) {
        if (state_.size() >= most_) found.too_large = true;
        if (found.too_large) return false;
        enter(to, found);
      } else if (seen->second == State::on_the_way) {
        const auto first = std::find_if(way_.begin(), way_.end(), [&](const Place& one) { return one.ordinal == to; });
        for (auto at = first; at != way_.end(); ++at) found.cycle.push_back(at->ordinal);
        return false;
      }
    }
    return true;
  }

 private:
  enum class State : std::uint8_t { on_the_way, left };
  struct Place {
    std::uint32_t ordinal = 0;
    std::vector<std::uint32_t> edges;
    std::size_t next = 0;
  };

  void enter(std::uint32_t ordinal, CycleSearch& found) {
    Place place{ordinal, {}, 0};
    const auto add = [&](const std::vector<OutgoingEdge>& edges) {
      for (const OutgoingEdge& edge : edges) place.edges.push_back(edge.to);
    };
    if (const auto created = created_.find(ordinal); created != created_.end()) {
      add(created->second->outgoing);
    } else {
      const auto* known = outgoing_of_(ordinal);
      known != nullptr ? add(*known) : found.unknown.push_back(ordinal);
      if (const auto grown = plan_.grown.find(ordinal); grown != plan_.grown.end()) add(grown->second.outgoing);
    }
    state_[ordinal] = State::on_the_way;
    way_.push_back(std::move(place));
  }

  const GrowthPlan& plan_;
  const OutgoingOf& outgoing_of_;
  std::size_t most_;  // nodes that it visits
  std::unordered_map<std::uint32_t, const Membership*> created_;
  std::unordered_map<std::uint32_t, State> state_;
  std::vector<Place> way_;
};

}  // namespace

std::set<std::string> names_in(const FlowAddition& addition) {
  std::set<std::string> names;
  for (const FlowNode& node : addition.nodes) names.insert(node.name);
  for (const FlowEdge& edge : addition.edges) names.insert({edge.from, edge.to});
  for (const FlowGroup& group : addition.groups) names.insert(group.node);
  return names;
}

Result<GrowthPlan> plan_growth(const FlowAddition& addition, const GrowingGraph& graph) {
  return GrowthPlanner(addition, graph).run();
}

// A cycle through existing nodes enters them by a new edge and leaves them by one, at a node that has incoming edges.
// Most additions have no such node, and need no search among existing nodes. Cycles among new nodes need no records.
CycleSearch search_cycle(const GrowthPlan& plan, const OutgoingOf& outgoing_of,
                         const std::function<bool(std::uint32_t)>& has_incoming) {
  CycleSearch found;
  std::vector<std::uint32_t> starts;
  for (const Membership& member : plan.created) starts.push_back(member.ordinal);
  const bool leaves = std::any_of(plan.grown.begin(), plan.grown.end(), [&](const auto& one) {
    return !one.second.outgoing.empty() && (!one.second.incoming.empty() || has_incoming(one.first));
  });
  static const std::vector<OutgoingEdge> none;
  const OutgoingOf nothing = [](std::uint32_t) { return &none; };
  for (const auto& [ordinal, growth] : plan.grown) {
    if (leaves && !growth.incoming.empty()) starts.push_back(ordinal);
  }
  CycleSearcher searcher(plan, leaves ? outgoing_of : nothing);
  for (const std::uint32_t start : starts) {
    if (!searcher.search_from(start, found)) break;
  }
  return found;
}

Result<CreateRequest> member_request(const FlowNode& node, const FlowSpec& flow) {
  CreateRequest request = node.request;
  if (request.name_space != flow.name_space && request.name_space != default_namespace) {
    return fail(Errc::invalid_argument,
                "namespace: is \"" + request.name_space + "\"; a node is in the namespace of its flow, \"" +
                    flow.name_space + "\" (node \"" + node.name + "\")",
                "namespace");
  }
  request.name_space = flow.name_space;
  if (request.creator.empty()) request.creator = flow.creator;
  if (request.traceparent.empty()) request.traceparent = flow.traceparent;
  return request;
}

}  // namespace flowfabric
