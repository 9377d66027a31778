// Clients that submit flows, and operators that cancel them.
#include "core/flow_nesting.hpp"
#include "simulation/world.hpp"

namespace flowfabric::simulation {

FlowNode World::random_node(std::string name, const std::string& name_space) {
  CreateRequest node = random_create();
  node.name_space = name_space;
  node.idempotency_key.clear();
  node.id.reset();
  // Nodes have no keys: the entrance to the engine refuses them.
  node.unique.reset();
  node.debounce.reset();
  node.throttle.reset();
  if (node.policy.on_lease_lost == OnLeaseLost::manual) node.policy.on_lease_lost = OnLeaseLost::requeue;
  return {std::move(name), std::move(node), {}};
}

// A node that is a flow, rarely with another one in it.
FlowNode World::random_inner_flow(std::string name, const std::string& name_space) {
  FlowNode node;
  node.name = std::move(name);
  InnerFlow& flow = node.flow.emplace();
  const std::uint64_t nodes = 1 + random_.below(3);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const std::string inner = fmt::format("i{}", i);
    flow.nodes.push_back(random_.chance(150) ? random_inner_flow(inner, name_space) : random_node(inner, name_space));
    for (std::uint64_t from = 0; from < i; ++from) {
      if (!random_.chance(500)) continue;
      flow.edges.push_back({fmt::format("i{}", from), inner, static_cast<EdgeKind>(random_.below(4)), {}});
    }
  }
  if (random_.chance(300)) flow.failure_policy = FailurePolicy::continue_others;
  if (random_.chance(100)) node.request.deadline_ms = random_.between(1, 30000);
  return node;
}

// Some names come again, so additions repeat each other, in part or with other content. Edges lead anywhere: those that would
// make a cycle, or lead to a node that has started, are refused. With `adder`, new nodes may be waited for by it.
FlowAddition World::random_addition(const FlowRecord& flow, const std::string& adder) {
  FlowAddition addition;
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < flow.facts.members; ++i) {
    const Shadow* member = watcher_->find(member_id(flow.id, i));
    if (member != nullptr && !member->removed) names.push_back(member->execution.spec.member->node);
  }
  const std::uint64_t nodes = random_.below(4);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("g{}", random_.below(30));
    FlowNode node = random_node(name, flow.spec.name_space);
    if (random_.chance(700)) {  // the same content whenever the name comes
      node.request = {};
      node.request.kind = "added";
      node.request.name_space = flow.spec.name_space;
    }
    if (random_.chance(150)) {
      node = {name, {}, InnerFlow{}};
      node.request.name_space = flow.spec.name_space;
      node.request.kind = inner_flow_kind;
      node.flow->nodes.push_back(random_node("i0", flow.spec.name_space));
    }
    addition.nodes.push_back(std::move(node));
    names.push_back(name);
    if (!adder.empty() && random_.chance(500)) addition.edges.push_back({name, adder, EdgeKind::join, {}});
  }
  const std::uint64_t edges = names.empty() ? 0 : random_.below(4);
  for (std::uint64_t i = 0; i < edges; ++i) {
    addition.edges.push_back({random_.pick(names), random_.pick(names), static_cast<EdgeKind>(random_.below(4)), {}});
  }
  if (!unfold_flows(addition)) return {};
  return addition;
}

void World::build_some_flow() {
  const auto& flows = watcher_->flows();
  if (flows.empty()) return;
  auto chosen = flows.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(flows.size())));
  const FlowRecord& flow = chosen->second.record;
  if (chosen->second.removed || (flow.facts.state != FlowState::building && random_.chance(900))) return;
  if (random_.chance(150)) {
    return send(live_process(), SealFlowCommand{flow.id, {"builder", ""}}, "seal a flow", [](Process&, const auto&) {});
  }
  send(live_process(), GrowFlowCommand{flow.id, random_addition(flow, {}), std::nullopt, {"builder", ""}},
       "add to a flow", [this, key = chosen->first](Process&, const Result<Reply>& reply) {
         if (!reply) return;
         const auto& added = std::get<FlowAdded>(*reply);
         for (const FlowMember& node : added.nodes) {
           const Shadow* shadow = watcher_->find(node.execution_id);
           if (shadow != nullptr && shadow->execution.spec.member->node == node.name) continue;
           violated("an acknowledged node exists", "{} of {}", node.name, to_string(added.flow_id));
         }
       });
}

void World::seal_all_flows() {
  for (const auto& [key, shadow] : watcher_->flows()) {
    if (shadow.removed || shadow.record.facts.state != FlowState::building) continue;
    send(*processes_.front(), SealFlowCommand{shadow.record.id, {"builder", ""}}, "seal a flow",
         [](Process&, const auto&) {});
  }
}

// Edges lead from earlier to later nodes, so there is no cycle.
FlowRequest World::random_flow() {
  FlowRequest request;
  request.open = random_.chance(400);
  request.name_space = random_.pick(namespace_names);
  request.kind = "flow";
  const std::uint64_t nodes = (request.open ? 0 : 1) + random_.below(8);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("n{}", i);
    request.nodes.push_back(random_.chance(150) ? random_inner_flow(name, request.name_space)
                                                : random_node(name, request.name_space));
  }
  for (std::uint64_t to = 1; to < nodes; ++to) {
    std::vector<FlowEdge> edges;
    for (std::uint64_t from = 0; from < to; ++from) {
      if (!random_.chance(400)) continue;
      edges.push_back({fmt::format("n{}", from), fmt::format("n{}", to), static_cast<EdgeKind>(random_.below(4)), {}});
    }
    if (edges.size() > 1 && random_.chance(400)) {
      FlowGroup group{fmt::format("n{}", to), "g", static_cast<GroupPolicy>(random_.below(3)), 0,
                      static_cast<GroupRest>(random_.below(2))};
      if (group.policy == GroupPolicy::quorum) group.k = static_cast<std::uint32_t>(1 + random_.below(edges.size()));
      for (FlowEdge& edge : edges) edge.group = "g";
      request.groups.push_back(std::move(group));
    }
    request.edges.insert(request.edges.end(), edges.begin(), edges.end());
  }
  if (random_.chance(500)) request.failure_policy = FailurePolicy::continue_others;
  if (random_.chance(200)) request.deadline_ms = random_.between(1, 30000);
  if (random_.chance(300)) request.idempotency_key = fmt::format("flow-{}", random_.below(3));
  if (random_.chance(300)) request.retention.completed_ms = random_.between(0, 20000);
  return request;
}

void World::submit_some_flow() {
  Process& process = live_process();
  if (!process.is_up()) return;
  auto done = ask<Reply>(process, "submit a flow", [this](Process&, const Result<Reply>& reply) {
    if (!reply) return;
    const auto& created = std::get<FlowCreated>(*reply);
    const auto found = watcher_->flows().find(flow_key(created.flow_id));
    if (found == watcher_->flows().end()) {
      violated("an acknowledged flow exists", "{}", to_string(created.flow_id));
    }
  });
  run_in(process, [&] { process.runtime->submit_flow(random_flow(), done); });
}

void World::operate_on_flow() {
  std::vector<const FlowShadow*> flows, ended;
  for (const auto& [key, shadow] : watcher_->flows()) {
    if (shadow.removed) continue;
    flows.push_back(&shadow);
    if (has_ended(shadow.record.facts.state)) ended.push_back(&shadow);
  }
  if (flows.empty()) return;
  const FlowRecord& chosen = random_.pick(!ended.empty() && random_.chance(600) ? ended : flows)->record;
  // Only ended flows can be replayed, and only others be cancelled; the few that try otherwise are refused.
  if (random_.chance(has_ended(chosen.facts.state) ? 900 : 50)) {
    ReplayFlowCommand replay{chosen.id, std::nullopt, true, {"operator", "again"}};
    if (chosen.facts.members > 0 && random_.chance(700)) {
      replay.ordinal = static_cast<std::uint32_t>(random_.below(chosen.facts.members));
      replay.descendants = random_.chance(600);
    }
    return send(live_process(), replay, "replay a flow", [](Process&, const auto&) {});
  }
  FlowCancelRequest request;
  request.policy = static_cast<FlowCancelPolicy>(random_.below(3));
  request.run_cleanup = random_.chance(300);
  send(live_process(), CancelFlowCommand{chosen.id, request, {"operator", ""}}, "cancel a flow",
       [](Process&, const auto&) {});
}

}  // namespace flowfabric::simulation
