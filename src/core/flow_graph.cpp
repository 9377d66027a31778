#include "core/flow_graph.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric {
namespace {

constexpr std::size_t named_of_a_cycle = 12;

std::string quoted(const std::string& name) { return "\"" + name + "\""; }
std::string place_of(const char* list, std::size_t i, const char* field) {
  return std::string(list) + "[" + std::to_string(i) + "]." + field;
}

auto refuse_graph(const std::string& field, const std::string& message) {
  return fail(Errc::invalid_argument, field + ": " + message, field);
}

Result<void> check_entries(const char* field, std::size_t count, std::size_t min, std::size_t max) {
  if (count >= min && count <= max) return {};
  return refuse_graph(field, "has " + std::to_string(count) + " entries; allowed: " + std::to_string(min) + " to " +
                                 std::to_string(max));
}

class Planner {
 public:
  explicit Planner(const FlowRequest& request) : request_(request) {}

  Result<std::vector<Membership>> run() {
    FF_TRY_VOID(check_entries("nodes", request_.nodes.size(), request_.open ? 0 : 1, limits::max_flow_nodes));
    FF_TRY_VOID(check_entries("edges", request_.edges.size(), 0, limits::max_flow_edges));
    FF_TRY_VOID(check_entries("groups", request_.groups.size(), 0, limits::max_flow_edges));
    FF_TRY_VOID(take_nodes());
    FF_TRY_VOID(take_groups());
    FF_TRY_VOID(take_edges());
    FF_TRY_VOID(check_groups());
    FF_TRY_VOID(check_cycles());
    return std::move(members_);
  }

 private:
  Result<void> take_nodes();
  Result<void> take_groups();
  Result<void> take_edges();
  Result<void> check_groups();
  Result<void> check_cycles();
  Result<std::uint32_t> ordinal_of(const std::string& name, const std::string& field, const std::string& of);
  Result<std::uint32_t> group_of(const FlowEdge& edge, std::uint32_t to, std::size_t i);
  std::string cycle_among(const std::vector<std::uint32_t>& open) const;

  const FlowRequest& request_;
  std::vector<Membership> members_;
  std::unordered_map<std::string, std::uint32_t> ordinals_;
  std::vector<std::map<std::string, std::uint32_t>> groups_;  // of each node, by name
};

Result<void> Planner::take_nodes() {
  groups_.resize(request_.nodes.size());
  for (std::size_t i = 0; i < request_.nodes.size(); ++i) {
    const std::string& name = request_.nodes[i].name;
    const std::string field = place_of("nodes", i, "name");
    FF_TRY_VOID(check_node_name(name, field));
    const auto ordinal = static_cast<std::uint32_t>(i);
    const auto [known, is_new] = ordinals_.emplace(name, ordinal);
    if (!is_new) {
      return refuse_graph(field, quoted(name) + " is also the name of nodes[" + std::to_string(known->second) +
                                     "]; names are unique within a flow");
    }
    Membership member;
    member.node = name;
    member.ordinal = ordinal;
    members_.push_back(std::move(member));
  }
  return {};
}

Result<std::uint32_t> Planner::ordinal_of(const std::string& name, const std::string& field, const std::string& of) {
  const auto found = ordinals_.find(name);
  if (found != ordinals_.end()) return found->second;
  return refuse_graph(field, "there is no node " + quoted(name) + " in this flow (" + of + ")");
}

Result<void> Planner::take_groups() {
  for (std::size_t i = 0; i < request_.groups.size(); ++i) {
    const FlowGroup& group = request_.groups[i];
    FF_TRY(node, ordinal_of(group.node, place_of("groups", i, "node"), "group " + quoted(group.name)));
    if (!group.name.empty()) FF_TRY_VOID(check_node_name(group.name, place_of("groups", i, "name")));
    if (group.name == join_group) {
      return refuse_graph(place_of("groups", i, "name"), "is the name of the group of join edges; use another");
    }
    if (group.policy != GroupPolicy::quorum && group.k != 0) {
      return refuse_graph(place_of("groups", i, "k"),
                          "is only for a quorum; the policy of this group is " + std::string(to_string(group.policy)));
    }
    const auto number = static_cast<std::uint32_t>(members_[node].groups.size());
    if (!groups_[node].emplace(group.name, number).second) {
      return refuse_graph(place_of("groups", i, "name"),
                          "node " + quoted(group.node) + " has two groups with the name " + quoted(group.name));
    }
    members_[node].groups.push_back({group.name, group.policy, group.k, 0, group.rest});
  }
  return {};
}

// The default group comes into being with the first edge that names none.
Result<std::uint32_t> Planner::group_of(const FlowEdge& edge, std::uint32_t to, std::size_t i) {
  const auto found = groups_[to].find(edge.group);
  if (found != groups_[to].end()) return found->second;
  if (!edge.group.empty()) {
    return refuse_graph(
        place_of("edges", i, "group"),
        "node " + quoted(edge.to) + " has no group " + quoted(edge.group) + " (edge from " + quoted(edge.from) + ")");
  }
  const auto number = static_cast<std::uint32_t>(members_[to].groups.size());
  groups_[to].emplace(std::string(), number);
  members_[to].groups.push_back({});
  return number;
}

Result<void> Planner::take_edges() {
  std::set<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>> seen;
  for (std::size_t i = 0; i < request_.edges.size(); ++i) {
    const FlowEdge& edge = request_.edges[i];
    const std::string text = "edge from " + quoted(edge.from) + " to " + quoted(edge.to);
    FF_TRY(from, ordinal_of(edge.from, place_of("edges", i, "from"), text));
    FF_TRY(to, ordinal_of(edge.to, place_of("edges", i, "to"), text));
    if (edge.kind == EdgeKind::join) {
      return refuse_graph(place_of("edges", i, "kind"),
                          "only a running node can add join edges, to itself (" + text + ")");
    }
    if (from == to)
      return refuse_graph(place_of("edges", i, "to"), "node " + quoted(edge.to) + " cannot depend on itself");
    FF_TRY(group, group_of(edge, to, i));
    if (!seen.insert({{from, to}, group}).second) {
      return refuse_graph(place_of("edges", i, "to"), "there are two edges from " + quoted(edge.from) + " to " +
                                                          quoted(edge.to) + " in the same group; give one");
    }
    Membership& upstream = members_[from];
    Membership& downstream = members_[to];
    upstream.outgoing.push_back({to, edge.kind, group});
    downstream.incoming.push_back({from, edge.kind, group});
    ++downstream.groups[group].edges;
    if (upstream.outgoing.size() > limits::max_flow_fan) {
      return refuse_graph("edges", "node " + quoted(edge.from) + " has more than " +
                                       std::to_string(limits::max_flow_fan) + " outgoing edges, which is the limit");
    }
    if (downstream.incoming.size() > limits::max_flow_fan) {
      return refuse_graph("edges", "node " + quoted(edge.to) + " has more than " +
                                       std::to_string(limits::max_flow_fan) + " incoming edges, which is the limit");
    }
  }
  return {};
}

// What a group needs is known when all edges are.
Result<void> Planner::check_groups() {
  for (Membership& member : members_) {
    for (IncomingGroup& group : member.groups) {
      const std::string text = "group " + quoted(group.name) + " of node " + quoted(member.node);
      if (group.edges == 0) return refuse_graph("groups", text + " has no edges");
      if (wants_all(group.policy)) group.needed = group.edges;
      if (group.policy == GroupPolicy::any) group.needed = 1;
      if (group.needed == 0 || group.needed > group.edges) {
        return refuse_graph("groups", text + " wants " + std::to_string(group.needed) + " of its " +
                                          std::to_string(group.edges) + " edges; allowed: 1 to " +
                                          std::to_string(group.edges));
      }
    }
  }
  return {};
}

// Nodes are taken away when all their upstream nodes are; what is left lies on a cycle or behind one.
Result<void> Planner::check_cycles() {
  std::vector<std::uint32_t> missing(members_.size());
  std::deque<std::uint32_t> free;
  for (const Membership& member : members_) {
    missing[member.ordinal] = static_cast<std::uint32_t>(member.incoming.size());
    if (member.incoming.empty()) free.push_back(member.ordinal);
  }
  std::size_t taken = 0;
  while (!free.empty()) {
    const std::uint32_t next = free.front();
    free.pop_front();
    ++taken;
    for (const OutgoingEdge& edge : members_[next].outgoing) {
      if (--missing[edge.to] == 0) free.push_back(edge.to);
    }
  }
  if (taken == members_.size()) return {};
  return refuse_graph("edges", "the nodes depend on each other in a cycle: " + cycle_among(missing));
}

// Every node that is left has an upstream node that is left too, so going upstream comes back to a node sooner or later.
std::string Planner::cycle_among(const std::vector<std::uint32_t>& open) const {
  std::uint32_t at = 0;
  while (open[at] == 0) ++at;
  std::vector<std::uint32_t> path;
  std::unordered_map<std::uint32_t, std::size_t> position;
  while (position.emplace(at, path.size()).second) {
    path.push_back(at);
    const auto& incoming = members_[at].incoming;
    at = std::find_if(incoming.begin(), incoming.end(), [&](const IncomingEdge& edge) {
           return open[edge.from] != 0;
         })->from;
  }
  std::vector<std::uint32_t> cycle(path.begin() + static_cast<std::ptrdiff_t>(position.at(at)), path.end());
  std::reverse(cycle.begin(), cycle.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), named_of_a_cycle); ++i) {
    text += quoted(members_[cycle[i]].node) + " -> ";
  }
  if (cycle.size() > named_of_a_cycle) text += "... (" + std::to_string(cycle.size()) + " nodes) -> ";
  return text + quoted(members_[cycle.front()].node);
}

}  // namespace

Result<void> check_node_name(const std::string& name, const std::string& field) {
  if (name.empty() || name.size() > limits::max_node_name_bytes) {
    return refuse_graph(field, "has " + std::to_string(name.size()) + " bytes; allowed: 1 to " +
                                   std::to_string(limits::max_node_name_bytes));
  }
  if (!is_valid_utf8(name)) return refuse_graph(field, "is not valid UTF-8");
  if (has_control_characters(name)) return refuse_graph(field, "has control characters; none are allowed");
  return {};
}

Result<std::vector<Membership>> plan_flow(const FlowRequest& request) { return Planner(request).run(); }

std::vector<std::uint32_t> sinks_among(const std::vector<Membership>& members) {
  std::unordered_map<std::uint32_t, const Membership*> by_ordinal;
  for (const Membership& member : members) by_ordinal.emplace(member.ordinal, &member);
  const auto is_last = [&](const Membership& member) {
    const Membership* at = &member;
    while (at->outgoing.size() == 1 && at->outgoing.front().kind == EdgeKind::output) {
      at = by_ordinal.at(at->outgoing.front().to);
    }
    return at->outgoing.empty();
  };
  std::vector<std::uint32_t> sinks;
  for (const Membership& member : members) {
    if (!is_flow_node(member) && is_last(member)) sinks.push_back(member.ordinal);
  }
  return sinks;
}

}  // namespace flowfabric
