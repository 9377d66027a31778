#include "model/flow_graph.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

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

 private:
  std::uint32_t number_;
};

std::string name_of_node(std::size_t i) { return "n" + std::to_string(i); }

// The nodes are named in an order in which all edges lead forward; in the request they have another order.
std::vector<FlowNode> shuffled_nodes(const FlowNumbers& numbers) {
  std::vector<FlowNode> nodes;
  const std::size_t count = std::max<std::size_t>(numbers.nodes.size(), 1);
  std::size_t stride = 1 + numbers.rules / 2 % count;
  while (std::gcd(stride, count) != 1) ++stride;
  for (std::size_t i = 0; i < count; ++i) {
    FlowNode node;
    node.name = name_of_node(i * stride % count);
    node.request.kind = "node";
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<FlowEdge> edges_of(const FlowNumbers& numbers, std::size_t count) {
  std::vector<FlowEdge> edges;
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  const auto size = static_cast<std::uint32_t>(count);
  for (const std::uint32_t number : numbers.edges) {
    Digits digits(number);
    const auto kind = static_cast<EdgeKind>(digits.next(4));
    const std::uint32_t group = digits.next(3);
    const std::size_t one = digits.next(size);
    const std::size_t two = digits.next(size);
    if (one == two || !pairs.insert(std::minmax(one, two)).second) continue;
    FlowEdge edge;
    edge.from = name_of_node(std::min(one, two));
    edge.to = name_of_node(std::max(one, two));
    edge.kind = kind;
    if (group != 0) edge.group = "g" + std::to_string(group);
    edges.push_back(std::move(edge));
  }
  return edges;
}

std::vector<FlowGroup> groups_of(const FlowNumbers& numbers, const std::vector<FlowEdge>& edges) {
  std::vector<FlowGroup> groups;
  for (std::size_t i = 0; i < numbers.nodes.size(); ++i) {
    Digits digits(numbers.nodes[i]);
    for (const char* name : {"g1", "g2"}) {
      FlowGroup group;
      group.node = name_of_node(i);
      group.name = name;
      group.policy = static_cast<GroupPolicy>(digits.next(3));
      group.rest = static_cast<GroupRest>(digits.next(2));
      const std::uint32_t k = digits.next(6);
      const auto size = static_cast<std::uint32_t>(std::count_if(edges.begin(), edges.end(), [&](const FlowEdge& edge) {
        return edge.to == group.node && edge.group == group.name;
      }));
      if (size == 0) continue;
      if (group.policy == GroupPolicy::quorum) group.k = 1 + k % size;
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const FlowNumbers& numbers) {
  out << "{{";
  for (const std::uint32_t number : numbers.nodes) out << number << ", ";
  out << "}, {";
  for (const std::uint32_t number : numbers.edges) out << number << ", ";
  return out << "}, " << numbers.rules << '}';
}

FlowRequest flow_of(const FlowNumbers& numbers) {
  FlowRequest request;
  request.kind = "random";
  request.failure_policy = static_cast<FailurePolicy>(numbers.rules % 2);
  request.nodes = shuffled_nodes(numbers);
  request.edges = edges_of(numbers, request.nodes.size());
  request.groups = groups_of(numbers, request.edges);
  return request;
}

std::string show_graph(const FlowRequest& request) {
  std::string text = fmt::format("{} nodes, {}\n", request.nodes.size(), to_string(request.failure_policy));
  for (const FlowEdge& edge : request.edges) {
    text += fmt::format("  {} -> {} {} {}\n", edge.from, edge.to, to_string(edge.kind), edge.group);
  }
  for (const FlowGroup& group : request.groups) {
    text += fmt::format("  group {} of {}: {} {} {}\n", group.name, group.node, to_string(group.policy), group.k,
                        to_string(group.rest));
  }
  return text;
}

}  // namespace flowfabric::test
