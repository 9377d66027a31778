#include "model/flow_evaluator.hpp"

#include <algorithm>
#include <map>

#include "base/check.hpp"

namespace flowfabric::test {

EdgeState resolved(EdgeKind kind, Outcome outcome, bool by_flow) {
  const bool is_failure =
      !by_flow && (outcome == Outcome::failed || outcome == Outcome::expired || outcome == Outcome::cancelled);
  switch (kind) {
    case EdgeKind::on_success: return outcome == Outcome::success ? EdgeState::satisfied : EdgeState::unsatisfiable;
    case EdgeKind::on_failure: return is_failure ? EdgeState::satisfied : EdgeState::unsatisfiable;
    case EdgeKind::on_finish:
    case EdgeKind::optional:
    case EdgeKind::join: return EdgeState::satisfied;
  }
  return EdgeState::waiting;
}

FlowEvaluator::FlowEvaluator(const FlowRequest& request, Freedom freedom)
    : failure_policy_(request.failure_policy), freedom_(std::move(freedom)) {
  read(request);
  settle();
}

// ---- The graph

void FlowEvaluator::read(const FlowRequest& request) {
  for (const FlowNode& node : request.nodes) {
    nodes_.emplace_back();
    nodes_.back().name = node.name;
  }
  counted_.resize(nodes_.size());
  for (const FlowEdge& edge : request.edges) {
    Edge made;
    made.from = index_of(edge.from);
    made.to = index_of(edge.to);
    made.kind = edge.kind;
    made.group = group_of(request, made.to, edge.group);
    groups_[made.group].edges.push_back(edges_.size());
    edges_.push_back(made);
    if (edge.kind == EdgeKind::on_finish) nodes_[made.to].is_cleanup = true;
    if (edge.kind == EdgeKind::on_failure) nodes_[made.from].handles_failure = true;
  }
  for (Group& group : groups_) {
    if (group.policy == GroupPolicy::all) group.needed = group.edges.size();
    if (group.policy == GroupPolicy::any) group.needed = 1;
  }
}

std::size_t FlowEvaluator::index_of(const std::string& name) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.name == name; });
  FF_CHECK(found != nodes_.end());
  return static_cast<std::size_t>(found - nodes_.begin());
}

std::size_t FlowEvaluator::group_of(const FlowRequest& request, std::size_t node, const std::string& name) {
  for (const std::size_t group : nodes_[node].groups) {
    if (groups_[group].name == name) return group;
  }
  Group made;
  made.node = node;
  made.name = name;
  for (const FlowGroup& group : request.groups) {
    if (group.node != nodes_[node].name || group.name != name) continue;
    made.policy = group.policy;
    made.rest = group.rest;
    made.needed = group.k;
  }
  nodes_[node].groups.push_back(groups_.size());
  groups_.push_back(made);
  return groups_.size() - 1;
}

// ---- What happens

void FlowEvaluator::claim(std::size_t node) {
  ++event_;
  FF_CHECK(nodes_[node].life == Life::ready || nodes_[node].life == Life::paused);
  nodes_[node].life = Life::running;
  nodes_[node].has_started = true;
}

void FlowEvaluator::pause(std::size_t node) {
  ++event_;
  FF_CHECK(nodes_[node].life == Life::running);
  nodes_[node].life = Life::paused;
}

void FlowEvaluator::end(std::size_t node, Outcome outcome) {
  ++event_;
  FF_CHECK(nodes_[node].life != Life::ended);
  nodes_[node].life = Life::ended;
  nodes_[node].outcomes = {outcome};
  nodes_[node].ended_in = event_;
  settle();
}

// Cancelling again changes nothing, unless the policy is stronger.
void FlowEvaluator::cancel_flow(const FlowCancelRequest& request) {
  ++event_;
  if (all_ended() || (cancelled_ && request.policy <= *cancelled_)) return;
  if (cancelled_ == FlowCancelPolicy::flow_only) return;  // the flow has ended
  cancelled_ = request.policy;
  if (request.policy != FlowCancelPolicy::flow_only)
    orders_.push_back({event_, request.policy, request.run_cleanup, false});
  settle();
}

void FlowEvaluator::pass_deadline() {
  ++event_;
  if (all_ended() || cancelled_ == FlowCancelPolicy::flow_only) return;
  deadline_has_passed_ = true;
  orders_.push_back({event_, FlowCancelPolicy::cancel_all, false, true});
  settle();
}

// ---- What follows

// Until nothing follows any more.
void FlowEvaluator::settle() {
  bool changed = true;
  while (changed) {
    changed = resolve_edges();
    changed = change_groups() || changed;
    changed = move_nodes() || changed;
    changed = count_failures() || changed;
    changed = carry_out_orders() || changed;
    changed = cancel_rests() || changed;
  }
  allow_other_reasons();
}

bool FlowEvaluator::resolve_edges() {
  bool changed = false;
  for (Edge& edge : edges_) {
    const Node& from = nodes_[edge.from];
    if (edge.state != EdgeState::waiting || from.life != Life::ended) continue;
    // Skipped and ended by the flow resolve every edge alike.
    edge.state = resolved(edge.kind, *from.outcomes.begin(), from.ended_by_flow);
    edge.resolved_in = event_;
    Group& group = groups_[edge.group];
    ++(edge.state == EdgeState::satisfied ? group.satisfied : group.unsatisfiable);
    changed = true;
  }
  return changed;
}

bool FlowEvaluator::change_groups() {
  bool changed = false;
  for (Group& group : groups_) {
    if (group.state != GroupState::waiting) continue;
    if (group.satisfied >= group.needed) group.state = GroupState::fired;
    if (group.unsatisfiable > group.edges.size() - group.needed) group.state = GroupState::impossible;
    if (group.state == GroupState::waiting) continue;
    group.changed_in = event_;
    changed = true;
  }
  return changed;
}

bool FlowEvaluator::move_nodes() {
  bool changed = false;
  for (Node& node : nodes_) {
    if (node.life != Life::waiting) continue;
    const auto has = [&](GroupState state) {
      return [this, state](std::size_t group) { return groups_[group].state == state; };
    };
    if (std::any_of(node.groups.begin(), node.groups.end(), has(GroupState::impossible))) {
      end_by_flow(node, Outcome::skipped);
      changed = true;
    } else if (std::all_of(node.groups.begin(), node.groups.end(), has(GroupState::fired))) {
      node.life = Life::ready;
      changed = true;
    }
  }
  return changed;
}

bool FlowEvaluator::count_failures() {
  bool changed = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (counted_[i] || node.life != Life::ended) continue;
    counted_[i] = true;
    const bool is_failure = !node.ended_by_flow && !node.outcomes.contains(Outcome::success);
    if (!is_failure || node.handles_failure) continue;
    changed = true;
    ++unhandled_failures_;
    if (unhandled_failures_ == 1) first_failures_.insert(i);
    const bool flow_has_ended = cancelled_ == FlowCancelPolicy::flow_only;
    if (failure_policy_ == FailurePolicy::fail_fast && !flow_has_ended) {
      orders_.push_back({event_, FlowCancelPolicy::cancel_pending, true, false});
    }
  }
  return changed;
}

// What an order has spared may go on: it is carried out once, right after it was given.
bool FlowEvaluator::is_covered(const Order& order, const Node& node) const {
  if (order.given_in != event_) return false;
  if (order.is_deadline) return true;
  if (order.keeps_cleanup && node.is_cleanup && !node.has_started) return false;
  return order.policy == FlowCancelPolicy::cancel_all || !node.has_started;
}

bool FlowEvaluator::carry_out_orders() {
  bool changed = false;
  for (const Order& order : orders_) {
    for (Node& node : nodes_) {
      if (node.life == Life::ended || !is_covered(order, node)) continue;
      end_by_flow(node, order.is_deadline ? Outcome::expired : Outcome::cancelled);
      changed = true;
    }
  }
  return changed;
}

// A group that wants the rest cancelled has just changed, and no other node that may still run waits for the node.
bool FlowEvaluator::is_unneeded(std::size_t node) const {
  for (const Edge& edge : edges_) {
    const Group& group = groups_[edge.group];
    const bool wants = edge.from == node && group.changed_in == event_ && group.state != GroupState::waiting &&
                       group.rest == GroupRest::cancel_remaining;
    if (!wants) continue;
    const bool is_needed = std::any_of(edges_.begin(), edges_.end(), [&](const Edge& other) {
      const Group& of_other = groups_[other.group];
      return other.from == node && of_other.node != group.node && of_other.state == GroupState::waiting &&
             nodes_[of_other.node].life != Life::ended;
    });
    if (!is_needed) return true;
  }
  return false;
}

// Another node needed it until the same event. What came first is not defined.
bool FlowEvaluator::may_be_let_run(std::size_t node) const {
  return std::any_of(edges_.begin(), edges_.end(), [&](const Edge& edge) {
    const Group& group = groups_[edge.group];
    const bool has_just_changed = group.changed_in == event_ && group.rest == GroupRest::let_run;
    return edge.from == node && (has_just_changed || nodes_[edge.to].ended_in == event_);
  });
}

bool FlowEvaluator::cancel_rests() {
  bool changed = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].life == Life::ended || !is_unneeded(i)) continue;
    if (may_be_let_run(i) && !(freedom_ && freedom_(i))) continue;
    end_by_flow(nodes_[i], Outcome::cancelled);
    changed = true;
  }
  return changed;
}

// What else would have ended the nodes that have just been ended.
void FlowEvaluator::allow_other_reasons() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.life != Life::ended || node.ended_in != event_ || !node.ended_by_flow) continue;
    for (const std::size_t group : node.groups) {
      if (groups_[group].state == GroupState::impossible) node.outcomes.insert(Outcome::skipped);
    }
    for (const Order& order : orders_) {
      if (is_covered(order, node)) node.outcomes.insert(order.is_deadline ? Outcome::expired : Outcome::cancelled);
    }
    if (is_unneeded(i)) node.outcomes.insert(Outcome::cancelled);
  }
}

void FlowEvaluator::end_by_flow(Node& node, Outcome outcome) {
  if (node.life == Life::running) has_cancelled_running_ = true;
  node.life = Life::ended;
  node.ended_by_flow = true;
  node.outcomes = {outcome};
  node.ended_in = event_;
}

// ---- What must be

bool FlowEvaluator::all_ended() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.life == Life::ended; });
}

std::set<FlowState> FlowEvaluator::states() const {
  if (cancelled_ == FlowCancelPolicy::flow_only) return {FlowState::cancelled};
  const bool has_failed = unhandled_failures_ > 0 || deadline_has_passed_;
  if (all_ended()) {
    if (cancelled_) return {FlowState::cancelled};
    return {has_failed ? FlowState::failed : FlowState::completed};
  }
  if (!orders_.empty()) return {FlowState::cancelling};
  const bool is_busy =
      std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.life == Life::running; });
  if (is_busy) return {FlowState::running};
  return {FlowState::running, FlowState::blocked};  // depends on delays
}

std::string FlowEvaluator::difference_of_winners(const Group& group, const std::vector<std::string>& winners) const {
  if (winners.size() != group.needed) return "their number must be " + std::to_string(group.needed);
  std::set<std::size_t> left;  // that must be among them: resolved before the event that fired the group
  std::map<std::size_t, const Edge*> satisfied;
  for (const std::size_t i : group.edges) {
    const Edge& edge = edges_[i];
    if (edge.state != EdgeState::satisfied) continue;
    satisfied[edge.from] = &edge;
    if (edge.resolved_in < group.changed_in) left.insert(edge.from);
  }
  std::size_t last = 0;
  for (const std::string& winner : winners) {
    const auto found = satisfied.find(index_of(winner));
    if (found == satisfied.end()) return winner + " has not satisfied its edge, or is named twice";
    const std::size_t resolved_in = found->second->resolved_in;
    if (resolved_in > group.changed_in) return winner + " came after the group had fired";
    if (resolved_in < last) return winner + " came before the one that precedes it";
    last = resolved_in;
    left.erase(found->first);
    satisfied.erase(found);
  }
  if (!left.empty()) return nodes_[*left.begin()].name + " is missing";
  return {};
}

std::vector<std::string> FlowEvaluator::inputs(
    std::size_t node, const std::function<std::vector<std::string>(const Group&)>& winners) const {
  std::vector<std::string> names;
  for (const std::size_t i : nodes_[node].groups) {
    const Group& group = groups_[i];
    const std::vector<std::string> chosen =
        group.policy == GroupPolicy::all ? std::vector<std::string>{} : winners(group);
    for (const std::size_t j : group.edges) {
      const Edge& edge = edges_[j];
      const Node& from = nodes_[edge.from];
      if (edge.state != EdgeState::satisfied) continue;
      if (edge.kind == EdgeKind::optional && !from.outcomes.contains(Outcome::success)) continue;
      const bool gives =
          group.policy == GroupPolicy::all || std::find(chosen.begin(), chosen.end(), from.name) != chosen.end();
      if (gives) names.push_back(from.name);
    }
  }
  return names;
}

// ---- In any order of events

namespace {

// The final numbers of a group, from the outcomes of its upstream nodes.
struct Tally {
  std::size_t satisfied = 0;
  std::size_t unsatisfiable = 0;
};

class EndedFlow {
 public:
  EndedFlow(const FlowRequest& request, const std::vector<EndedNode>& ended,
            const std::optional<FlowCancelRequest>& cancelled)
      : evaluator_(request), request_(request), cancelled_(cancelled) {
    for (const auto& node : evaluator_.nodes()) {
      const auto found =
          std::find_if(ended.begin(), ended.end(), [&](const EndedNode& one) { return one.name == node.name; });
      FF_CHECK(found != ended.end());
      ended_.push_back(*found);
    }
    for (const auto& group : evaluator_.groups()) tallies_.push_back(tally(group));
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      if (is_failure(i) && !evaluator_.nodes()[i].handles_failure) has_unhandled_ = true;
    }
  }

  std::string contradiction() const {
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      const std::string found = contradiction(i);
      if (!found.empty()) return ended_[i].name + ": " + found;
    }
    return {};
  }

 private:
  // Workers only complete and fail here, so that a cancelled node was ended by the flow.
  bool is_failure(std::size_t i) const { return ended_[i].outcome == Outcome::failed; }

  Tally tally(const FlowEvaluator::Group& group) const {
    Tally tally;
    for (const std::size_t i : group.edges) {
      const auto& edge = evaluator_.edges()[i];
      const bool satisfied =
          resolved(edge.kind, ended_[edge.from].outcome, !is_failure(edge.from)) == EdgeState::satisfied;
      ++(satisfied ? tally.satisfied : tally.unsatisfiable);
    }
    return tally;
  }
  bool fires(std::size_t group) const { return tallies_[group].satisfied >= evaluator_.groups()[group].needed; }

  std::string contradiction(std::size_t i) const {
    const auto& node = evaluator_.nodes()[i];
    const EndedNode& ended = ended_[i];
    const bool can_run =
        std::all_of(node.groups.begin(), node.groups.end(), [&](std::size_t group) { return fires(group); });
    switch (ended.outcome) {
      case Outcome::success:
      case Outcome::failed:
        if (ended.outcome != ended.planned) return "did not end as its worker ends it";
        if (ended.attempt_count == 0) return "has ended without an attempt";
        return can_run ? "" : "ran although one of its groups cannot fire";
      case Outcome::skipped:
        if (ended.attempt_count != 0) return "was skipped after it had started";
        return can_run ? "was skipped although all its groups fire" : "";
      case Outcome::cancelled: return may_be_cancelled(i) ? "" : "was cancelled without a reason";
      default: return "has ended as " + std::string(to_string(ended.outcome));
    }
  }

  bool may_be_cancelled(std::size_t i) const {
    const auto& node = evaluator_.nodes()[i];
    const bool by_failure = has_unhandled_ && request_.failure_policy == FailurePolicy::fail_fast &&
                            ended_[i].attempt_count == 0 && !node.is_cleanup;
    const auto& edges = evaluator_.edges();
    const bool by_group = std::any_of(edges.begin(), edges.end(), [&](const FlowEvaluator::Edge& edge) {
      return edge.from == i && evaluator_.groups()[edge.group].rest == GroupRest::cancel_remaining;
    });
    return by_failure || by_group || may_be_cancelled_by_operator(i);
  }
  bool may_be_cancelled_by_operator(std::size_t i) const {
    if (!cancelled_) return false;
    const bool has_started = ended_[i].attempt_count > 0;
    if (cancelled_->run_cleanup && evaluator_.nodes()[i].is_cleanup && !has_started) return false;
    return cancelled_->policy == FlowCancelPolicy::cancel_all || !has_started;
  }

  FlowEvaluator evaluator_;
  const FlowRequest& request_;
  const std::optional<FlowCancelRequest> cancelled_;
  std::vector<EndedNode> ended_;
  std::vector<Tally> tallies_;
  bool has_unhandled_ = false;
};

}  // namespace

std::string contradiction_of(const FlowRequest& request, const std::vector<EndedNode>& nodes,
                             const std::optional<FlowCancelRequest>& cancelled) {
  return EndedFlow(request, nodes, cancelled).contradiction();
}

}  // namespace flowfabric::test
