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
    case EdgeKind::within:
    case EdgeKind::part:
    case EdgeKind::output: break;  // made by the engine; the evaluator has rules for flow nodes instead
  }
  return EdgeState::waiting;
}

FlowEvaluator::FlowEvaluator(const FlowRequest& request, Freedom freedom)
    : failure_policy_(request.failure_policy), is_open_(request.open), freedom_(std::move(freedom)) {
  read({}, {}, {request.nodes, request.edges, request.groups, request.failure_policy});
  count_needed();
  spread_cleanup();
  counted_.resize(nodes_.size());
  settle();
}

void FlowEvaluator::count_needed() {
  for (Group& group : groups_) {
    if (group.policy == GroupPolicy::all) group.needed = group.edges.size();
    if (group.policy == GroupPolicy::any) group.needed = 1;
  }
}

// ---- The graph

void FlowEvaluator::read(const std::string& prefix, std::optional<std::size_t> inside, const InnerFlow& flow) {
  std::vector<std::size_t> added;
  for (const FlowNode& node : flow.nodes) added.push_back(add_node(prefix + node.name, inside, node));
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (!flow.nodes[i].flow) continue;
    const std::string name = nodes_[added[i]].name;
    const std::size_t begin = add_node(name + "/(begin)", added[i], {});
    nodes_[begin].role = Role::begin;
    nodes_[added[i]].role = Role::flow;
    nodes_[added[i]].begin = begin;
    nodes_[added[i]].failure_policy = flow.nodes[i].flow->failure_policy;
    read(name + "/", added[i], *flow.nodes[i].flow);
  }
  add_edges(prefix, flow);
}

std::size_t FlowEvaluator::add_node(const std::string& name, std::optional<std::size_t> inside, const FlowNode& node) {
  Node made;
  made.name = name;
  made.inside = inside;
  made.delay_ms = node.request.delay_ms;
  made.deadline_ms = node.request.deadline_ms;
  nodes_.push_back(std::move(made));
  return nodes_.size() - 1;
}

void FlowEvaluator::add_edges(const std::string& prefix, const InnerFlow& flow) {
  for (const FlowEdge& edge : flow.edges) {
    const std::size_t to = index_of(prefix + edge.to);
    Edge made;
    made.from = index_of(prefix + edge.from);
    made.to = nodes_[to].role == Role::flow ? nodes_[to].begin : to;
    made.kind = edge.kind;
    made.group = group_of(prefix, flow, made.to, edge.group);
    groups_[made.group].edges.push_back(edges_.size());
    edges_.push_back(made);
    nodes_[made.from].has_outgoing = true;
    if (edge.kind == EdgeKind::on_finish) nodes_[to].is_cleanup = true;
    if (edge.kind != EdgeKind::on_failure) continue;
    Node& handled = nodes_[made.from];
    if (!handled.handles_failure && is_unhandled_failure(made.from)) handled.was_unhandled = true;
    handled.handles_failure = true;
  }
}

std::size_t FlowEvaluator::index_of(const std::string& name) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.name == name; });
  FF_CHECK(found != nodes_.end());
  return static_cast<std::size_t>(found - nodes_.begin());
}

std::size_t FlowEvaluator::group_of(const std::string& prefix, const InnerFlow& flow, std::size_t node,
                                    const std::string& name) {
  for (const std::size_t group : nodes_[node].groups) {
    if (groups_[group].name == name) return group;
  }
  const std::size_t owner = nodes_[node].role == Role::begin ? *nodes_[node].inside : node;
  Group made;
  made.node = node;
  made.name = name;
  for (const FlowGroup& group : flow.groups) {
    if (prefix + group.node != nodes_[owner].name || group.name != name) continue;
    made.policy = group.policy;
    made.rest = group.rest;
    made.needed = group.k;
  }
  nodes_[node].groups.push_back(groups_.size());
  groups_.push_back(made);
  return groups_.size() - 1;
}

// All nodes in a cleanup node are cleanup nodes. A flow node precedes the nodes in it.
void FlowEvaluator::spread_cleanup() {
  for (Node& node : nodes_) {
    if (node.inside && nodes_[*node.inside].is_cleanup) node.is_cleanup = true;
  }
}

// At any depth. Everything is in the flow as a whole, which has no number.
bool FlowEvaluator::is_in(std::size_t node, std::optional<std::size_t> flow) const {
  if (!flow) return true;
  for (auto around = nodes_[node].inside; around; around = nodes_[*around].inside) {
    if (around == flow) return true;
  }
  return false;
}

// The begin that a node waits for, if it is in a flow node. That of the flow node itself waits for the one around it.
std::optional<std::size_t> FlowEvaluator::begin_before(const Node& node) const {
  const auto around = node.role == Role::begin ? nodes_[*node.inside].inside : node.inside;
  if (!around) return {};
  return nodes_[*around].begin;
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
  nodes_[node].outcome = outcome;
  nodes_[node].ended_in = event_;
  settle();
}

// Cancelling again changes nothing, unless the policy is stronger.
void FlowEvaluator::cancel_flow(const FlowCancelRequest& request) {
  ++event_;
  if ((all_ended() && !is_open_) || (cancelled_ && request.policy <= *cancelled_)) return;
  if (cancelled_ == FlowCancelPolicy::flow_only) return;  // the flow has ended
  cancelled_ = request.policy;
  is_open_ = false;
  if (request.policy != FlowCancelPolicy::flow_only)
    orders_.push_back({event_, {}, request.policy, request.run_cleanup, false});
  settle();
}

void FlowEvaluator::pass_deadline() {
  ++event_;
  if ((all_ended() && !is_open_) || cancelled_ == FlowCancelPolicy::flow_only) return;
  deadline_has_passed_ = true;
  is_open_ = false;
  orders_.push_back({event_, {}, FlowCancelPolicy::cancel_all, false, true});
  settle();
}

bool FlowEvaluator::may_get_edge(std::size_t node) const {
  const Node& one = nodes_[node];
  const bool may_wait = one.life == Life::waiting || (one.life == Life::ready && one.groups.empty());
  if (one.role != Role::work || !may_wait) return false;
  return std::none_of(one.groups.begin(), one.groups.end(), [&](std::size_t group) {
    return groups_[group].name.empty() && groups_[group].state != GroupState::waiting;
  });
}

void FlowEvaluator::add(const FlowAddition& addition, const std::function<void()>& added) {
  ++event_;
  FF_CHECK(is_open_);
  read({}, {}, {addition.nodes, addition.edges, addition.groups});
  count_needed();
  spread_cleanup();
  counted_.resize(nodes_.size());
  // A node that could be claimed and gets an edge waits again.
  for (Node& node : nodes_) {
    if (node.life == Life::ready && !has_fired(node)) node.life = Life::waiting;
  }
  added();
  settle();
}

void FlowEvaluator::seal() {
  ++event_;
  is_open_ = false;
}

// Of what is in a flow node, all is behind its begin, and the flow node is behind all.
bool FlowEvaluator::is_behind(std::size_t node, std::size_t upstream) const {
  if (nodes_[upstream].inside == node || begin_before(nodes_[node]) == upstream) return true;
  return std::any_of(edges_.begin(), edges_.end(),
                     [&](const Edge& edge) { return edge.from == upstream && edge.to == node; });
}

std::vector<bool> FlowEvaluator::chosen_to_replay(std::optional<std::size_t> node, bool descendants) const {
  std::vector<bool> again(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) again[i] = node ? i == *node : nodes_[i].outcome != Outcome::success;
  if (node && nodes_[*node].role == Role::flow) again[nodes_[*node].begin] = true;
  for (bool changed = descendants; changed;) {
    changed = false;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (std::size_t j = 0; again[i] && j < nodes_.size(); ++j) {
        if (again[j] || !is_behind(j, i)) continue;
        again[j] = true;
        changed = true;
      }
    }
  }
  return again;
}

// Nodes that do not run again keep what has become of them, and so do their groups; only the edges are counted anew.
void FlowEvaluator::arm(const std::vector<bool>& again) {
  for (Edge& edge : edges_) {
    if (!again[edge.from] && !again[edge.to]) continue;
    Group& group = groups_[edge.group];
    --(edge.state == EdgeState::satisfied ? group.satisfied : group.unsatisfiable);
    edge.state = EdgeState::waiting;
    group.is_older = true;
  }
  for (Group& group : groups_) {
    if (!again[group.node]) continue;
    group.state = GroupState::waiting;
    group.changed_in = 0;
    group.is_older = false;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!again[i]) continue;
    Node& node = nodes_[i];
    node.life = Life::waiting;
    node.has_started = false;
    node.ended_by_flow = false;
    node.was_unhandled = false;
    node.order.reset();
    node.is_swept_away = false;
    node.outcome = Outcome::none;
    node.ended_in = 0;
    node.armed_in = event_;
    counted_[i] = false;
  }
}

void FlowEvaluator::replay(std::optional<std::size_t> node, bool descendants) {
  ++event_;
  FF_CHECK(all_ended());
  cancelled_.reset();
  deadline_has_passed_ = false;
  first_order_ = orders_.size();
  arm(chosen_to_replay(node, descendants));
  // Which of the failures that stay is the first one is not defined.
  first_failures_.clear();
  unhandled_failures_ = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!counted_[i] || nodes_[i].inside) continue;
    first_failures_.insert(i);
    ++unhandled_failures_;
  }
  settle();
}

// ---- What follows

// Until nothing follows any more. Where several ends may be next, those come first that the engine shows.
void FlowEvaluator::settle() {
  bool changed = true;
  while (changed) {
    changed = resolve_edges();
    changed = change_groups() || changed;
    changed = make_ready() || changed;
    changed = count_failures() || changed;
    if (!changed) changed = end_one(true) || end_one(false);
  }
}

bool FlowEvaluator::resolve_edges() {
  bool changed = false;
  for (Edge& edge : edges_) {
    const Node& from = nodes_[edge.from];
    if (edge.state != EdgeState::waiting || from.life != Life::ended) continue;
    edge.state = resolved(edge.kind, from.outcome, from.ended_by_flow);
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

bool FlowEvaluator::make_ready() {
  bool changed = false;
  for (Node& node : nodes_) {
    if (node.life != Life::waiting || node.role != Role::work || !has_fired(node)) continue;
    node.life = Life::ready;
    changed = true;
  }
  return changed;
}

bool FlowEvaluator::is_unhandled_failure(std::size_t node) const {
  const Node& one = nodes_[node];
  const bool is_handled = one.handles_failure && !one.was_unhandled;
  return one.life == Life::ended && !one.ended_by_flow && one.outcome != Outcome::success && !is_handled;
}

// A failure in a flow node is one of that flow node only.
bool FlowEvaluator::count_failures() {
  bool changed = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (counted_[i] || !is_unhandled_failure(i)) continue;
    counted_[i] = true;
    changed = true;
    const auto flow = nodes_[i].inside;
    if (!flow) {
      // One event can end several flow nodes.
      const auto first = first_failures_.begin();
      if (first == first_failures_.end() || nodes_[*first].ended_in == event_) first_failures_.insert(i);
      ++unhandled_failures_;
    }
    const FailurePolicy policy = flow ? nodes_[*flow].failure_policy : failure_policy_;
    const bool flow_has_ended = !flow && cancelled_ == FlowCancelPolicy::flow_only;
    if (policy == FailurePolicy::fail_fast && !flow_has_ended) {
      orders_.push_back({event_, flow, FlowCancelPolicy::cancel_pending, true, false});
      if (!flow) is_open_ = false;
    }
  }
  return changed;
}

// Ends one node. As the engine shows it, or in any way that is possible.
bool FlowEvaluator::end_one(bool as_shown) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.life == Life::ended) continue;
    for (const End& end : possible_ends(i)) {
      if (as_shown && end.outcome != shown(i)) continue;
      if (node.life == Life::running) has_cancelled_running_ = true;
      node.life = Life::ended;
      node.outcome = end.outcome;
      node.ended_by_flow = end.by_flow;
      node.order = end.order;
      node.is_swept_away = end.is_swept_away;
      node.ended_in = event_;
      return true;
    }
  }
  return false;
}

std::vector<FlowEvaluator::End> FlowEvaluator::possible_ends(std::size_t node) const {
  std::vector<End> ends;
  const Node& one = nodes_[node];
  const auto own = one.role == Role::flow ? end_of_flow_node(node) : end_by_groups(one);
  if (own) ends.push_back(*own);
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    if (!is_covered(orders_[i], node)) continue;
    ends.push_back({orders_[i].is_deadline ? Outcome::expired : Outcome::cancelled, true, i, true});
  }
  const bool is_unneeded_now = is_unneeded(node) && (!may_be_let_run(node) || shown(node) == Outcome::cancelled);
  const bool is_in_ended = is_in_ended_flow(node);
  if (is_unneeded_now || is_in_ended) ends.push_back({Outcome::cancelled, true, {}, is_in_ended});
  return ends;
}

bool FlowEvaluator::has_group(const Node& node, GroupState state) const {
  return std::any_of(node.groups.begin(), node.groups.end(),
                     [&](std::size_t group) { return groups_[group].state == state; });
}

bool FlowEvaluator::has_fired(const Node& node) const {
  const auto begin = begin_before(node);
  if (begin && nodes_[*begin].outcome != Outcome::success) return false;
  return !has_group(node, GroupState::waiting) && !has_group(node, GroupState::impossible);
}

std::optional<FlowEvaluator::End> FlowEvaluator::end_by_groups(const Node& node) const {
  if (node.life != Life::waiting) return {};
  const auto begin = begin_before(node);
  const bool has_no_begin = begin && nodes_[*begin].life == Life::ended && nodes_[*begin].outcome != Outcome::success;
  if (has_no_begin || has_group(node, GroupState::impossible)) return End{Outcome::skipped};
  if (node.role == Role::begin && has_fired(node)) return End{Outcome::success, false};
  return {};
}

// When all nodes in it have ended.
std::optional<FlowEvaluator::End> FlowEvaluator::end_of_flow_node(std::size_t node) const {
  bool has_failed = false;
  bool is_cancelled = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!is_in(i, node)) continue;
    if (nodes_[i].life != Life::ended) return {};
    if (nodes_[i].inside == node && is_unhandled_failure(i)) has_failed = true;
    // Within one run, there is a failure if a node was swept away for another reason than an order from around.
    if (nodes_[i].inside == node && nodes_[i].is_swept_away) is_cancelled = true;
    if (!nodes_[i].order) continue;
    const auto ordered = orders_[*nodes_[i].order].flow;
    if (ordered != node && is_in(node, ordered)) is_cancelled = true;
  }
  if (nodes_[nodes_[node].begin].outcome == Outcome::skipped) return End{Outcome::skipped};
  if (has_failed) return End{Outcome::failed, false};
  if (is_cancelled) return End{deadline_has_passed_ ? Outcome::expired : Outcome::cancelled, true, {}, true};
  return End{Outcome::success, false};
}

// What an order has spared may go on: it is carried out once, right after it was given. A flow node that has begun ends with
// the last node in it.
bool FlowEvaluator::is_covered(const Order& order, std::size_t node) const {
  const Node& one = nodes_[node];
  if (order.given_in != event_ || !is_in(node, order.flow)) return false;
  if (one.role == Role::flow && nodes_[one.begin].outcome == Outcome::success) return false;
  if (order.is_deadline) return true;
  if (order.keeps_cleanup && one.is_cleanup && !one.has_started) return false;
  return order.policy == FlowCancelPolicy::cancel_all || !one.has_started;
}

// The flow node was ended before the nodes in it. One that does not run again has ended before the replay, and ends nothing.
bool FlowEvaluator::is_in_ended_flow(std::size_t node) const {
  for (auto around = nodes_[node].inside; around; around = nodes_[*around].inside) {
    const bool has_ended = nodes_[*around].life == Life::ended;
    if (has_ended && nodes_[*around].ended_in >= nodes_[node].armed_in) return true;
  }
  return false;
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

// ---- What must be

bool FlowEvaluator::all_ended() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.life == Life::ended; });
}

std::set<FlowState> FlowEvaluator::states() const {
  if (cancelled_ == FlowCancelPolicy::flow_only) return {FlowState::cancelled};
  if (is_open_) return {FlowState::building};
  const bool has_failed = unhandled_failures_ > 0 || deadline_has_passed_;
  if (all_ended()) {
    if (cancelled_) return {FlowState::cancelled};
    return {has_failed ? FlowState::failed : FlowState::completed};
  }
  const bool is_cancelling = std::any_of(orders_.begin() + static_cast<std::ptrdiff_t>(first_order_), orders_.end(),
                                         [](const Order& order) { return !order.flow; });
  if (is_cancelling) return {FlowState::cancelling};
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
  // A node in a flow node that has no incoming edges gets the inputs of the flow node.
  const auto begin = begin_before(nodes_[node]);
  if (nodes_[node].groups.empty() && begin) return inputs(*begin, winners);
  std::vector<std::string> names;
  for (const std::size_t i : nodes_[node].groups) {
    const Group& group = groups_[i];
    const std::vector<std::string> chosen =
        group.policy == GroupPolicy::all ? std::vector<std::string>{} : winners(group);
    for (const std::size_t j : group.edges) {
      const Edge& edge = edges_[j];
      const Node& from = nodes_[edge.from];
      if (edge.state != EdgeState::satisfied) continue;
      if (edge.kind == EdgeKind::optional && from.outcome != Outcome::success) continue;
      const bool gives =
          group.policy == GroupPolicy::all || std::find(chosen.begin(), chosen.end(), from.name) != chosen.end();
      if (gives) add_inputs_from(edge.from, names);
    }
  }
  return names;
}

// A flow node gives its own outcome, and the results of the nodes in it that have no outgoing edges, at any depth.
void FlowEvaluator::add_inputs_from(std::size_t from, std::vector<std::string>& names) const {
  names.push_back(nodes_[from].name);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool is_output = nodes_[i].role != Role::begin && i != from && is_last_in(i, from);
    if (is_output && nodes_[i].outcome == Outcome::success) names.push_back(nodes_[i].name);
  }
}

// Neither the node nor a flow node around it, up to this one, has outgoing edges.
bool FlowEvaluator::is_last_in(std::size_t node, std::optional<std::size_t> flow) const {
  for (std::optional<std::size_t> one = node; one != flow; one = nodes_[*one].inside) {
    if (!one || nodes_[*one].has_outgoing) return false;
  }
  return true;
}

bool FlowEvaluator::is_output_of_flow(std::size_t node) const {
  return nodes_[node].role == Role::work && is_last_in(node, {});
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
