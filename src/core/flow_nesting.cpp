#include "core/flow_nesting.hpp"

#include <set>
#include <utility>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/membership.hpp"

namespace flowfabric {
namespace {

std::string entry(const std::string& list, std::size_t i) { return list + "[" + std::to_string(i) + "]"; }

auto refuse_nesting(const std::string& field, const std::string& message) {
  return fail(Errc::invalid_argument, field + ": " + message, field);
}

std::string begin_name(const std::string& node) { return node + "/(begin)"; }

// What only the engine makes. `path` is where the lists are in the request, with a dot at its end.
Result<void> check_given(const std::vector<FlowEdge>& edges, const std::vector<FlowGroup>& groups,
                         const std::string& path) {
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].kind <= EdgeKind::join) continue;
    return refuse_nesting(path + entry("edges", i) + ".kind",
                          "is " + std::string(to_string(edges[i].kind)) +
                              ", which only the engine makes; allowed: on_success, on_failure, on_finish, optional");
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].policy == GroupPolicy::gather) {
      return refuse_nesting(path + entry("groups", i) + ".policy",
                            "is gather, which only the engine makes; allowed: all, any, quorum");
    }
    if (is_inner_group(groups[i].name)) {
      return refuse_nesting(path + entry("groups", i) + ".name",
                            "\"" + groups[i].name + "\" is the name of a group of the engine; use another");
    }
  }
  return {};
}

Result<std::set<std::string>> names_of(const InnerFlow& flow, const std::string& path) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < flow.nodes.size(); ++i) {
    if (names.insert(flow.nodes[i].name).second) continue;
    return refuse_nesting(path + entry("nodes", i) + ".name",
                          "\"" + flow.nodes[i].name + "\" is given twice; names are unique within a flow");
  }
  return names;
}

Result<void> check_inner(const InnerFlow& flow, const std::string& path) {
  if (flow.nodes.empty()) return refuse_nesting(path + "nodes", "has 0 entries; a flow has at least one node");
  FF_TRY_VOID(check_given(flow.edges, flow.groups, path));
  FF_TRY(names, names_of(flow, path));
  const auto check_name = [&](const std::string& name, const std::string& field) -> Result<void> {
    if (names.contains(name)) return {};
    return refuse_nesting(path + field, "there is no node \"" + name + "\" in this flow");
  };
  for (std::size_t i = 0; i < flow.edges.size(); ++i) {
    FF_TRY_VOID(check_name(flow.edges[i].from, entry("edges", i) + ".from"));
    FF_TRY_VOID(check_name(flow.edges[i].to, entry("edges", i) + ".to"));
  }
  for (std::size_t i = 0; i < flow.groups.size(); ++i) {
    FF_TRY_VOID(check_name(flow.groups[i].node, entry("groups", i) + ".node"));
  }
  return {};
}

class Unfolder {
 public:
  Unfolder(std::vector<FlowNode>& nodes, std::vector<FlowEdge>& edges, std::vector<FlowGroup>& groups)
      : nodes_(nodes), edges_(edges), groups_(groups) {}

  Result<void> run() {
    FF_TRY_VOID(check_given(edges_, groups_, ""));
    std::vector<Found> found;
    std::set<std::string> flows;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].flow) continue;
      found.push_back({i, entry("nodes", i) + ".flow.", false});
      flows.insert(nodes_[i].name);
    }
    if (found.empty()) return {};
    FF_TRY_VOID(check_outer(flows));
    lead_to_begins(edges_, groups_, flows);
    for (const Found& one : found) FF_TRY_VOID(unfold(one, 1));
    return {};
  }

 private:
  // A node that is a flow.
  struct Found {
    std::size_t place = 0;  // in the list of nodes
    std::string path;       // of its flow in the request
    bool in_cleanup = false;
  };

  // The outer flow names no node that lies within another.
  Result<void> check_outer(const std::set<std::string>& flows) const {
    const auto check_name = [&](const std::string& name, const std::string& field) -> Result<void> {
      for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
        if (!flows.contains(name.substr(0, slash))) continue;
        return refuse_nesting(field, "\"" + name + "\" lies within node \"" + name.substr(0, slash) +
                                         "\", which is a flow; edges lead to and from that node");
      }
      return {};
    };
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      FF_TRY_VOID(check_name(nodes_[i].name, entry("nodes", i) + ".name"));
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      FF_TRY_VOID(check_name(edges_[i].from, entry("edges", i) + ".from"));
      FF_TRY_VOID(check_name(edges_[i].to, entry("edges", i) + ".to"));
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      FF_TRY_VOID(check_name(groups_[i].node, entry("groups", i) + ".node"));
    }
    return {};
  }

  // Edges to a node that is a flow lead to its begin.
  void lead_to_begins(std::vector<FlowEdge>& edges, std::vector<FlowGroup>& groups,
                      const std::set<std::string>& flows) {
    for (FlowEdge& edge : edges) {
      if (!flows.contains(edge.to)) continue;
      if (edge.kind == EdgeKind::on_finish) cleanups_.insert(edge.to);
      edge.to = begin_name(edge.to);
    }
    for (FlowGroup& group : groups) {
      if (flows.contains(group.node)) group.node = begin_name(group.node);
    }
  }

  Result<void> unfold(const Found& found, std::size_t depth) {
    if (depth > limits::max_flow_depth) {
      return refuse_nesting(found.path.substr(0, found.path.size() - 1), "flows are within each other more than " +
                                                                             std::to_string(limits::max_flow_depth) +
                                                                             " deep, which is the limit");
    }
    InnerFlow inner = std::move(*nodes_[found.place].flow);
    nodes_[found.place].flow.reset();
    FF_TRY_VOID(check_inner(inner, found.path));
    const std::string name = nodes_[found.place].name;
    const bool is_cleanup = found.in_cleanup || cleanups_.contains(name);
    const std::string group(is_cleanup ? inner_cleanup_group : inner_flow_group);

    FlowNode begin{begin_name(name), nodes_[found.place].request, {}};
    begin.request.tags.clear();
    begin.request.deadline_at = 0;
    begin.request.deadline_ms.reset();
    nodes_.push_back(std::move(begin));
    const bool cancels = inner.failure_policy == FailurePolicy::fail_fast;
    groups_.push_back(
        {name, group, GroupPolicy::gather, 0, cancels ? GroupRest::cancel_remaining : GroupRest::let_run});
    edges_.push_back({begin_name(name), name, EdgeKind::part, group});  // the first one: see begin_of
    const std::vector<Found> deeper = add_nodes(inner, name, group, found.path, is_cleanup);
    for (const Found& one : deeper) FF_TRY_VOID(unfold(one, depth + 1));
    return {};
  }

  // The nodes of an inner flow with their edges; those that are flows themselves are returned.
  std::vector<Found> add_nodes(InnerFlow& inner, const std::string& name, const std::string& group,
                               const std::string& path, bool is_cleanup) {
    std::set<std::string> flows, upstream;
    for (FlowEdge& edge : inner.edges) {
      upstream.insert(edge.from);
      edge.from = name + "/" + edge.from;
      edge.to = name + "/" + edge.to;
    }
    for (FlowGroup& one : inner.groups) one.node = name + "/" + one.node;
    std::vector<Found> deeper;
    for (std::size_t i = 0; i < inner.nodes.size(); ++i) {
      FlowNode& node = inner.nodes[i];
      const bool is_output = !upstream.contains(node.name);
      node.name = name + "/" + node.name;
      const std::string first = node.flow ? begin_name(node.name) : node.name;
      groups_.push_back({first, group, GroupPolicy::all, 0, GroupRest::let_run});
      edges_.push_back({begin_name(name), first, EdgeKind::within, group});
      edges_.push_back({node.name, name, is_output ? EdgeKind::output : EdgeKind::part, group});
      if (node.flow) {
        flows.insert(node.name);
        deeper.push_back({nodes_.size(), path + entry("nodes", i) + ".flow.", is_cleanup});
      }
      nodes_.push_back(std::move(node));
    }
    lead_to_begins(inner.edges, inner.groups, flows);
    edges_.insert(edges_.end(), inner.edges.begin(), inner.edges.end());
    groups_.insert(groups_.end(), inner.groups.begin(), inner.groups.end());
    return deeper;
  }

  std::vector<FlowNode>& nodes_;
  std::vector<FlowEdge>& edges_;
  std::vector<FlowGroup>& groups_;
  std::set<std::string> cleanups_;  // nodes that are flows and have an on_finish edge
};

}  // namespace

Result<void> unfold_flows(FlowRequest& request) { return Unfolder(request.nodes, request.edges, request.groups).run(); }

Result<void> unfold_flows(FlowAddition& addition) {
  return Unfolder(addition.nodes, addition.edges, addition.groups).run();
}

}  // namespace flowfabric
