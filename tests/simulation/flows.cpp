// Clients that submit flows, and operators that cancel them.
#include "simulation/world.hpp"

namespace flowfabric::simulation {

// Edges lead from earlier to later nodes, so there is no cycle.
FlowRequest World::random_flow() {
  FlowRequest request;
  request.name_space = random_.pick(namespace_names);
  request.kind = "flow";
  const std::uint64_t nodes = 1 + random_.below(8);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    CreateRequest node = random_create();
    node.name_space = request.name_space;
    node.idempotency_key.clear();
    node.id.reset();
    if (node.policy.on_lease_lost == OnLeaseLost::manual) node.policy.on_lease_lost = OnLeaseLost::requeue;
    request.nodes.push_back({fmt::format("n{}", i), std::move(node)});
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
  const auto& flows = watcher_->flows();
  if (flows.empty()) return;
  auto chosen = flows.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(flows.size())));
  FlowCancelRequest request;
  request.policy = static_cast<FlowCancelPolicy>(random_.below(3));
  request.run_cleanup = random_.chance(300);
  send(live_process(), CancelFlowCommand{chosen->second.record.id, request, {"operator", ""}}, "cancel a flow",
       [](Process&, const auto&) {});
}

}  // namespace flowfabric::simulation
