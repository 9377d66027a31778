// Drawings of a flow: Graphviz and Mermaid.
#include <map>
#include <set>

#include <flowfabric/flows.hpp>

namespace flowfabric {
namespace {

const char* colour(PublicState state) {
  switch (state) {
    case PublicState::completed: return "#c7e9c0";
    case PublicState::failed:
    case PublicState::expired: return "#fcbba1";
    case PublicState::cancelled:
    case PublicState::skipped: return "#d9d9d9";
    case PublicState::active: return "#c6dbef";
    default: return "#ffffff";
  }
}

std::string in_quotes(const std::string& text, const char* quote) {
  std::string out;
  for (const char c : text) {
    if (c == '"') {
      out += quote;
    } else if (c == '\\') {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out;
}

std::string label_of(const FlowEdgeInfo& edge) {
  if (edge.kind > EdgeKind::join) return {};  // its nodes say what it is
  std::string label = edge.kind == EdgeKind::on_success ? "" : std::string(to_string(edge.kind));
  if (!edge.group.empty()) label += (label.empty() ? "" : ", ") + edge.group;
  return label;
}

// All edges but those that follow from others: every node in a flow waits for its begin, and the node that is the flow waits for
// every node in it.
std::vector<FlowEdgeInfo> drawn_edges(const FlowGraph& graph) {
  std::set<std::string> has_others;
  for (const FlowEdgeInfo& edge : graph.edges) {
    if (edge.kind < EdgeKind::within) has_others.insert(edge.to);
  }
  std::vector<FlowEdgeInfo> drawn;
  for (const FlowEdgeInfo& edge : graph.edges) {
    const bool follows = edge.kind == EdgeKind::part || (edge.kind == EdgeKind::within && has_others.contains(edge.to));
    if (!follows) drawn.push_back(edge);
  }
  return drawn;
}

}  // namespace

std::string to_graphviz(const FlowGraph& graph) {
  std::string out = "digraph flow {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=sans];\n";
  for (const FlowNodeInfo& node : graph.nodes) {
    out += "  n" + std::to_string(node.ordinal) + " [label=\"" + in_quotes(node.name, "\\\"") + "\\n" +
           std::string(to_string(node.public_state)) + "\", fillcolor=\"" + colour(node.public_state) + "\"];\n";
  }
  std::map<std::string, std::uint32_t> ordinals;
  for (const FlowNodeInfo& node : graph.nodes) ordinals[node.name] = node.ordinal;
  for (const FlowEdgeInfo& edge : drawn_edges(graph)) {
    const auto from = ordinals.find(edge.from);
    const auto to = ordinals.find(edge.to);
    if (from == ordinals.end() || to == ordinals.end()) continue;
    out += "  n" + std::to_string(from->second) + " -> n" + std::to_string(to->second) + " [label=\"" +
           in_quotes(label_of(edge), "\\\"") + "\"";
    if (edge.state == EdgeState::unsatisfiable) out += ", style=dotted";
    if (edge.state == EdgeState::waiting) out += ", style=dashed";
    out += "];\n";
  }
  return out + "}\n";
}

std::string to_mermaid(const FlowGraph& graph) {
  std::string out = "flowchart LR\n";
  std::map<std::string, std::uint32_t> ordinals;
  for (const FlowNodeInfo& node : graph.nodes) {
    ordinals[node.name] = node.ordinal;
    out += "  n" + std::to_string(node.ordinal) + "[\"" + in_quotes(node.name, "#quot;") + "<br>" +
           std::string(to_string(node.public_state)) + "\"]\n";
    out += "  style n" + std::to_string(node.ordinal) + " fill:" + colour(node.public_state) + "\n";
  }
  for (const FlowEdgeInfo& edge : drawn_edges(graph)) {
    const auto from = ordinals.find(edge.from);
    const auto to = ordinals.find(edge.to);
    if (from == ordinals.end() || to == ordinals.end()) continue;
    const std::string label = label_of(edge);
    const char* arrow = edge.state == EdgeState::satisfied ? " -->" : " -.->";
    out += "  n" + std::to_string(from->second) + arrow +
           (label.empty() ? "" : "|\"" + in_quotes(label, "#quot;") + "\"|") + " n" + std::to_string(to->second) + "\n";
  }
  return out;
}

}  // namespace flowfabric
