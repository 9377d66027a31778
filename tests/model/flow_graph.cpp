#include "model/flow_graph.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace flowfabric::test {
namespace {

// Takes digits from a number, the lowest first.
class Digits {
 public:
  explicit Digits(std::uint32_t number) : number_(number) {}
  std::uint32_t next(std::uint32_t base) {
    const std::uint32_t digit = number_ % base;
    number_ /= base;
    return digit;
  }
  std::uint32_t rest() const { return number_; }

 private:
  std::uint32_t number_;
};

constexpr std::size_t top = static_cast<std::size_t>(-1);
constexpr std::uint32_t longest_run = 9;

// What is at one level: nodes and flow nodes.
struct Part {
  std::string name{};
  std::uint32_t number = 0;  // decides about its groups
};

// Neighbouring nodes that are in one flow node.
struct Run {
  std::size_t first = 0;
  std::size_t size = 0;
  std::size_t place = 0;  // among the numbers
  std::string name{};
  std::uint32_t number = 0;
  bool contains(std::size_t node) const { return first <= node && node < first + size; }
  bool contains(const Run& other) const { return contains(other.first) && contains(other.first + other.size - 1); }
  bool is_apart_from(const Run& other) const { return !contains(other.first) && !other.contains(first); }
};

std::vector<Run> runs_of(const FlowNumbers& numbers, std::size_t count) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < numbers.flows.size(); ++i) {
    Digits digits(numbers.flows[i]);
    Run run;
    run.first = digits.next(static_cast<std::uint32_t>(count));
    run.size = 1 + std::min<std::size_t>(digits.next(longest_run), count - run.first - 1);
    run.number = digits.rest();
    run.place = i;
    run.name = "f" + std::to_string(i);
    const bool fits = std::all_of(runs.begin(), runs.end(), [&](const Run& other) {
      return run.is_apart_from(other) || run.contains(other) || other.contains(run);
    });
    if (fits) runs.push_back(std::move(run));
  }
  // The outer ones first. Of equal ones the later is in the earlier.
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a.size != b.size ? a.size > b.size : a.place < b.place; });
  return runs;
}

// Builds the levels of a flow: that of the flow itself, and one for each run.
class Levels {
 public:
  explicit Levels(const FlowNumbers& numbers)
      : numbers_(numbers), count_(std::max<std::size_t>(numbers.nodes.size(), 1)), runs_(runs_of(numbers, count_)) {}

  InnerFlow build() {
    add_edges();
    return built(top);
  }

 private:
  // The runs around a node, from the outermost.
  std::vector<std::size_t> path_to(std::size_t node) const {
    std::vector<std::size_t> path;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i].contains(node)) path.push_back(i);
    }
    return path;
  }

  Part part_of(std::size_t node) const {
    return {"n" + std::to_string(node), node < numbers_.nodes.size() ? numbers_.nodes[node] : 0};
  }
  // What holds the node at a level.
  Part part_at(std::size_t level, std::size_t node) const {
    const auto path = path_to(node);
    const auto here = level == top ? path.begin() : std::next(std::find(path.begin(), path.end(), level));
    return here == path.end() ? part_of(node) : Part{runs_[*here].name, runs_[*here].number};
  }
  // The innermost level that has both nodes.
  std::size_t common_level(std::size_t one, std::size_t two) const {
    std::size_t level = top;
    for (const std::size_t run : path_to(one)) {
      if (runs_[run].contains(two)) level = run;
    }
    return level;
  }

  // An edge between nodes of different levels becomes one between the flow nodes that hold them.
  void add_edges() {
    std::set<std::tuple<std::size_t, std::string, std::string>> known;
    const auto size = static_cast<std::uint32_t>(count_);
    for (const std::uint32_t number : numbers_.edges) {
      Digits digits(number);
      const auto kind = static_cast<EdgeKind>(digits.next(4));
      const std::uint32_t group = digits.next(3);
      const std::size_t one = digits.next(size);
      const std::size_t two = digits.next(size);
      if (one == two) continue;
      const std::size_t level = common_level(one, two);
      FlowEdge edge;
      edge.from = part_at(level, std::min(one, two)).name;
      edge.to = part_at(level, std::max(one, two)).name;
      edge.kind = kind;
      if (group != 0) edge.group = "g" + std::to_string(group);
      if (known.emplace(level, edge.from, edge.to).second) edges_[level].push_back(std::move(edge));
    }
  }

  // The nodes are named in an order in which all edges lead forward; in the request they have another order.
  std::vector<std::size_t> shuffled() const {
    std::vector<std::size_t> order;
    std::size_t stride = 1 + numbers_.rules / 2 % count_;
    while (std::gcd(stride, count_) != 1) ++stride;
    for (std::size_t i = 0; i < count_; ++i) order.push_back(i * stride % count_);
    return order;
  }

  InnerFlow built(std::size_t level) {
    InnerFlow flow{{}, edges_[level], {}, FailurePolicy::fail_fast};
    const std::uint32_t rules = level == top ? numbers_.rules : runs_[level].number / (36 * 36);
    flow.failure_policy = static_cast<FailurePolicy>(rules % 2);
    std::set<std::string> known;
    for (const std::size_t i : shuffled()) {
      if (level != top && !runs_[level].contains(i)) continue;
      const Part part = part_at(level, i);
      if (!known.insert(part.name).second) continue;
      FlowNode node;
      node.name = part.name;
      const auto run = std::find_if(runs_.begin(), runs_.end(), [&](const Run& one) { return one.name == part.name; });
      if (run == runs_.end()) {
        node.request.kind = "node";
      } else {
        node.flow = built(static_cast<std::size_t>(run - runs_.begin()));
      }
      add_groups(part, flow);
      flow.nodes.push_back(std::move(node));
    }
    return flow;
  }

  static void add_groups(const Part& part, InnerFlow& flow) {
    Digits digits(part.number);
    for (const char* name : {"g1", "g2"}) {
      FlowGroup group;
      group.node = part.name;
      group.name = name;
      group.policy = static_cast<GroupPolicy>(digits.next(3));
      group.rest = static_cast<GroupRest>(digits.next(2));
      const std::uint32_t k = digits.next(6);
      const auto size =
          static_cast<std::uint32_t>(std::count_if(flow.edges.begin(), flow.edges.end(), [&](const FlowEdge& edge) {
            return edge.to == group.node && edge.group == group.name;
          }));
      if (size == 0) continue;
      if (group.policy == GroupPolicy::quorum) group.k = 1 + k % size;
      flow.groups.push_back(std::move(group));
    }
  }

  const FlowNumbers& numbers_;
  std::size_t count_;
  std::vector<Run> runs_;
  std::map<std::size_t, std::vector<FlowEdge>> edges_;  // by level
};

std::string show_level(const InnerFlow& flow, const std::string& indent) {
  std::string text = fmt::format("{} nodes, {}\n", flow.nodes.size(), to_string(flow.failure_policy));
  for (const FlowNode& node : flow.nodes) {
    if (node.flow) text += fmt::format("{}{} with {}", indent, node.name, show_level(*node.flow, indent + "  "));
  }
  for (const FlowEdge& edge : flow.edges) {
    text += fmt::format("{}{} -> {} {} {}\n", indent, edge.from, edge.to, to_string(edge.kind), edge.group);
  }
  for (const FlowGroup& group : flow.groups) {
    text += fmt::format("{}group {} of {}: {} {} {}\n", indent, group.name, group.node, to_string(group.policy),
                        group.k, to_string(group.rest));
  }
  return text;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const FlowNumbers& numbers) {
  out << "{{";
  for (const std::uint32_t number : numbers.nodes) out << number << ", ";
  out << "}, {";
  for (const std::uint32_t number : numbers.edges) out << number << ", ";
  out << "}, " << numbers.rules << ", {";
  for (const std::uint32_t number : numbers.flows) out << number << ", ";
  return out << "}}";
}

FlowRequest flow_of(const FlowNumbers& numbers) {
  InnerFlow flow = Levels(numbers).build();
  FlowRequest request;
  request.kind = "random";
  request.failure_policy = flow.failure_policy;
  request.nodes = std::move(flow.nodes);
  request.edges = std::move(flow.edges);
  request.groups = std::move(flow.groups);
  return request;
}

std::string show_graph(const FlowRequest& request) {
  return show_level({request.nodes, request.edges, request.groups, request.failure_policy}, "  ");
}

}  // namespace flowfabric::test
