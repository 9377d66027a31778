#include "cli/flow_layers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include "base/text.hpp"
#include "cli/table.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::size_t max_layers_shown = 30;
constexpr std::size_t max_upstream_named = 4;
constexpr std::size_t path_ends = 8;  // nodes named at each end of a long critical path

struct Links {
  std::vector<std::vector<std::size_t>> downstream;        // by position of the upstream node
  std::vector<std::vector<const FlowEdgeInfo*>> incoming;  // by position of the downstream node
  std::vector<std::size_t> open;                           // number of incoming edges
};

// Edges to nodes that are missing, because their record is damaged, are left out.
Links links_of(const FlowGraph& graph) {
  std::unordered_map<std::string_view, std::size_t> positions;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) positions.emplace(graph.nodes[i].name, i);
  Links links{std::vector<std::vector<std::size_t>>(graph.nodes.size()),
              std::vector<std::vector<const FlowEdgeInfo*>>(graph.nodes.size()),
              std::vector<std::size_t>(graph.nodes.size())};
  for (const FlowEdgeInfo& edge : graph.edges) {
    const auto from = positions.find(edge.from);
    const auto to = positions.find(edge.to);
    if (from == positions.end() || to == positions.end()) continue;
    links.downstream[from->second].push_back(to->second);
    links.incoming[to->second].push_back(&edge);
    ++links.open[to->second];
  }
  return links;
}

std::vector<std::vector<std::size_t>> layers_by(const Links& links) {
  std::vector<std::size_t> open = links.open;
  std::vector<std::vector<std::size_t>> layers;
  std::vector<std::size_t> layer;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i] == 0) layer.push_back(i);
  }
  while (!layer.empty()) {
    std::vector<std::size_t> next;
    for (const std::size_t node : layer) {
      for (const std::size_t to : links.downstream[node]) {
        if (--open[to] == 0) next.push_back(to);
      }
    }
    std::sort(next.begin(), next.end());
    layers.push_back(std::exchange(layer, std::move(next)));
  }
  return layers;
}

// What an operator looks for first: failures, then what runs, then what has not ended.
int rank_of(PublicState state) {
  switch (state) {
    case PublicState::failed:
    case PublicState::expired: return 0;
    case PublicState::active: return 1;
    case PublicState::completed: return 3;
    case PublicState::cancelled:
    case PublicState::skipped: return 4;
    default: return 2;
  }
}

class LayerTable {
 public:
  LayerTable(const FlowGraph& graph, const Look& look)
      : graph_(graph), look_(look), critical_(graph.critical_path.begin(), graph.critical_path.end()) {}

  std::string text() {
    const std::vector<std::vector<std::size_t>> layers = layers_by(links_);
    const bool whole = graph_.nodes.size() <= max_graph_lines;
    const bool deep = !whole && layers.size() > max_layers_shown;
    const std::size_t shown = deep ? max_layers_shown : std::max<std::size_t>(layers.size(), 1);
    const std::size_t lines = whole ? graph_.nodes.size() : std::max<std::size_t>(max_graph_lines / shown, 2);
    const std::size_t head = deep ? max_layers_shown * 2 / 3 : layers.size();
    const std::size_t tail = deep ? layers.size() - (max_layers_shown - head) : layers.size();
    for (std::size_t i = 0; i < head; ++i) add_layer(i + 1, layers[i], lines);
    if (deep) add_note(fmt::format("... {} more layers", tail - head));
    for (std::size_t i = tail; i < layers.size(); ++i) add_layer(i + 1, layers[i], lines);
    return table_.render(look_);
  }

 private:
  void add_layer(std::size_t number, const std::vector<std::size_t>& nodes, std::size_t lines);
  void add_node(const std::string& layer, const char* line, std::size_t position);
  void add_note(const std::string& text) { table_.add({{}, {}, {}, {text, Tone::quiet}, {}, {}, {}, {}}); }
  std::vector<std::size_t> most_telling(const std::vector<std::size_t>& nodes, std::size_t count) const;
  // How many there are besides those shown, by state.
  std::string rest_of(const std::vector<std::size_t>& nodes, const std::vector<std::size_t>& shown) const;
  std::string upstream_of(std::size_t position) const;
  // The line beside a layer: its begin, middle and end, or a layer of one node.
  const char* line_at(std::size_t i, std::size_t count) const {
    if (count == 1) return look_.utf8 ? "─" : "-";
    if (i == 0) return look_.utf8 ? "┌" : "+";
    if (i + 1 == count) return look_.utf8 ? "└" : "+";
    return look_.utf8 ? "│" : "|";
  }

  const FlowGraph& graph_;
  const Look& look_;
  std::set<std::string_view> critical_;
  Links links_ = links_of(graph_);
  Table table_ = Table({{"LAYER", true},
                        {},
                        {},
                        {"NODE", false, true},
                        {"STATE"},
                        {"STARTED", true},
                        {"TOOK", true},
                        {"AFTER", false, true}});
};

std::vector<std::size_t> LayerTable::most_telling(const std::vector<std::size_t>& nodes, std::size_t count) const {
  std::vector<std::size_t> chosen = nodes;
  const auto rank = [&](std::size_t position) {
    const FlowNodeInfo& node = graph_.nodes[position];
    const bool critical = critical_.contains(node.name);
    return std::pair(critical ? std::min(1, rank_of(node.public_state)) : rank_of(node.public_state), position);
  };
  std::sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  chosen.resize(count);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::string LayerTable::rest_of(const std::vector<std::size_t>& nodes, const std::vector<std::size_t>& shown) const {
  std::map<PublicState, std::size_t> counts;
  for (const std::size_t position : nodes) ++counts[graph_.nodes[position].public_state];
  for (const std::size_t position : shown) --counts[graph_.nodes[position].public_state];
  std::vector<std::string> parts;
  for (const auto& [state, count] : counts) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, to_string(state)));
  }
  return join(parts, ", ");
}

void LayerTable::add_layer(std::size_t number, const std::vector<std::size_t>& nodes, std::size_t lines) {
  const bool cut = nodes.size() > lines;
  const std::vector<std::size_t> shown = cut ? most_telling(nodes, lines - 1) : nodes;
  const std::size_t count = shown.size() + (cut ? 1 : 0);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    add_node(i == 0 ? fmt::format("{}", number) : "", line_at(i, count), shown[i]);
  }
  if (!cut) return;
  table_.add({{},
              {line_at(count - 1, count), Tone::quiet},
              {},
              {fmt::format("... {} more", nodes.size() - shown.size()), Tone::quiet},
              {},
              {},
              {},
              {rest_of(nodes, shown), Tone::quiet}});
}

void LayerTable::add_node(const std::string& layer, const char* line, std::size_t position) {
  const FlowNodeInfo& node = graph_.nodes[position];
  const bool started = node.started_at != 0;
  const bool ended = started && node.finished_at != 0;
  table_.add({{layer, Tone::quiet},
              {line, Tone::quiet},
              {critical_.contains(node.name) ? "*" : ""},
              {node.name},
              state_cell(node.public_state),
              {started ? "+" + rounded_duration(node.started_at - graph_.summary.created_at) : "-"},
              {ended ? rounded_duration(node.finished_at - node.started_at) : "-"},
              {upstream_of(position)}});
}

// "any of "; nothing for a group that wants all of its edges.
std::string wanted_by(const FlowNodeInfo& node, const std::string& group) {
  for (const FlowGroupInfo& info : node.groups) {
    if (info.name != group) continue;
    if (info.policy == GroupPolicy::any) return "any of ";
    if (info.policy == GroupPolicy::quorum) return fmt::format("{} of ", info.needed);
  }
  return "";
}

std::string LayerTable::upstream_of(std::size_t position) const {
  std::map<std::string, std::vector<std::string>> groups;
  for (const FlowEdgeInfo* edge : links_.incoming[position]) {
    std::string text = edge->from;
    if (edge->kind != EdgeKind::on_success) text += fmt::format(" ({})", to_string(edge->kind));
    groups[edge->group].push_back(std::move(text));
  }
  std::vector<std::string> parts;
  for (auto& [group, names] : groups) {
    const std::size_t all = names.size();
    if (all > max_upstream_named) {
      names.resize(max_upstream_named - 1);
      names.push_back(fmt::format("... {} more", all - names.size()));
    }
    parts.push_back(wanted_by(graph_.nodes[position], group) + join(names, ", "));
  }
  return parts.empty() ? "-" : join(parts, "; ");
}

}  // namespace

std::vector<std::vector<std::size_t>> layers_of(const FlowGraph& graph) { return layers_by(links_of(graph)); }

std::string layers_text(const FlowGraph& graph, const Look& look) { return LayerTable(graph, look).text(); }

std::string critical_path_text(const FlowGraph& graph) {
  const std::vector<std::string>& path = graph.critical_path;
  if (path.size() <= 2 * path_ends) return join(path, " > ");
  const std::vector<std::string> head(path.begin(), path.begin() + path_ends);
  const std::vector<std::string> tail(path.end() - path_ends, path.end());
  return fmt::format("{} > ... {} more ... > {}", join(head, " > "), path.size() - 2 * path_ends, join(tail, " > "));
}

std::string rounded_duration(std::int64_t duration_ms) {
  const std::int64_t ms = std::max<std::int64_t>(duration_ms, 0);
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (ms < 60'000) return fmt::format("{}.{}s", ms / 1000, ms % 1000 / 100);
  const std::int64_t seconds = ms / 1000;
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  const std::int64_t minutes = seconds / 60;
  if (minutes < 24 * 60) return fmt::format("{}h{:02}m", minutes / 60, minutes % 60);
  const std::int64_t hours = minutes / 60;
  return fmt::format("{}d{:02}h", hours / 24, hours % 24);
}

}  // namespace flowfabric::cli
