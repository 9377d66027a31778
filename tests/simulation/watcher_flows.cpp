// Flows: every edge is resolved once, what is counted is so, and no member starts before its groups have fired.
#include <algorithm>
#include <set>

#include "core/state.hpp"
#include "simulation/watcher.hpp"
#include "simulation/watcher_parts.hpp"

namespace flowfabric::simulation {

void Watcher::flow_changed(const Key& key) {
  FlowRecord now = ok(decode_flow(ok(store_->load({key})).front()));
  FlowShadow& shadow = flows_[key];
  if (shadow.removed) shadow = {};
  bool reopened = false;
  for (const Event& event : new_events(key, shadow.position)) {
    if (ends_flow(event.type)) ++shadow.ends;
    if (event.type != EventType::flow_reopened) continue;
    if (shadow.ends != 1) violated("only an ended flow is replayed", "{}", name_of(key));
    shadow.ends = 0;
    reopened = true;
  }
  const FlowState before = shadow.record.facts.state;
  if (has_ended(before) && now.facts.state != before && !reopened) violated("a flow ends once", "{}", name_of(key));
  if (shadow.ends != (has_ended(now.facts.state) ? 1 : 0)) {
    violated("a flow has one terminal event, and it has ended then", "{} has {}", name_of(key), shadow.ends);
  }
  shadow.record = std::move(now);
}

void Watcher::flow_removed(const Key& key) {
  FlowShadow& shadow = flows_.at(key);
  if (!has_ended(shadow.record.facts.state)) violated("retention never removes a live one", "{}", name_of(key));
  shadow.removed = true;
  just_removed_.push_back(key);
  forget_log(key);
}

// After the whole commit: the last members go with the flow, in any order.
void Watcher::check_removed_flows() {
  for (const Key& key : just_removed_) {
    const FlowRecord& flow = flows_.at(key).record;
    for (std::uint32_t i = 0; i < flow.facts.members; ++i) {
      const Shadow* one = member(flow.id, i);
      if (one != nullptr && !one->removed) violated("a flow and its members go together", "{}", name_of(key));
    }
  }
  just_removed_.clear();
}

const Shadow* Watcher::member(const FlowId& flow, std::uint32_t ordinal) const {
  const auto found = shadows_.find(execution_key(member_id(flow, ordinal)));
  return found == shadows_.end() ? nullptr : &found->second;
}

// Computed from the outcomes of the upstream nodes, not from what the node itself has counted.
void Watcher::check_start(const Shadow& shadow, const std::vector<Event>& events) const {
  const Execution& execution = shadow.execution;
  if (!execution.spec.member || shadow.life.attempts() > 0) return;
  const bool starts =
      std::any_of(events.begin(), events.end(), [](const Event& event) { return event.type == EventType::claimed; });
  if (!starts) return;
  const Membership& own = *execution.spec.member;
  for (std::uint32_t group = 0; group < own.groups.size(); ++group) {
    std::uint32_t satisfied = 0;
    for (const IncomingEdge& edge : own.incoming) {
      if (edge.group != group) continue;
      const Execution& upstream = member(flow_of(execution), edge.from)->execution;
      if (upstream.facts.phase != Phase::terminal) continue;
      const Ending ending = ending_of(upstream.facts.outcome, upstream.facts.member->withdrawn);
      satisfied += edge_verdict(edge.kind, ending, upstream.facts.member->unhandled) == EdgeState::satisfied ? 1U : 0U;
    }
    if (satisfied < own.groups[group].needed) {
      violated("no member starts before its groups fire", "{}", to_string(execution.id));
    }
  }
}

// Each resolved edge of its upstream nodes is counted once.
void Watcher::check_groups_of(const Shadow& shadow) const {
  const Execution& execution = shadow.execution;
  const Membership& own = *execution.spec.member;
  std::vector<GroupTally> recount(own.groups.size());
  for (const IncomingEdge& edge : own.incoming) {
    const Execution& upstream = member(flow_of(execution), edge.from)->execution;
    const auto& outgoing = upstream.spec.member->outgoing;
    for (std::size_t i = 0; i < std::min<std::size_t>(upstream.facts.member->resolved, outgoing.size()); ++i) {
      if (outgoing[i].to != own.ordinal || outgoing[i].group != edge.group) continue;
      const Ending ending = ending_of(upstream.facts.outcome, upstream.facts.member->withdrawn);
      const bool satisfied = edge_verdict(edge.kind, ending, upstream.facts.member->unhandled) == EdgeState::satisfied;
      ++(satisfied ? recount[edge.group].satisfied : recount[edge.group].unsatisfiable);
    }
  }
  for (std::size_t i = 0; i < recount.size(); ++i) {
    const GroupTally& counted = execution.facts.member->groups[i];
    if (counted.satisfied != recount[i].satisfied || counted.unsatisfiable != recount[i].unsatisfiable) {
      violated("every edge is resolved once", "{}: group {} has counted {}+{}, the edges are {}+{}",
               to_string(execution.id), i, counted.satisfied, counted.unsatisfiable, recount[i].satisfied,
               recount[i].unsatisfiable);
    }
  }
}

// A node that is a flow succeeds or fails by what became of the nodes in it, all of which have ended then. Nothing is said after a
// replay of one of these alone: it has ended after the node, or was replayed more often.
void Watcher::check_parts_of(const Shadow& shadow) const {
  const Execution& whole = shadow.execution;
  const Outcome outcome = whole.facts.outcome;
  if (!is_flow_node(*whole.spec.member) || (outcome != Outcome::success && outcome != Outcome::failed)) return;
  bool failed = false;
  for (const IncomingEdge& edge : whole.spec.member->incoming) {
    const Execution& part = member(flow_of(whole), edge.from)->execution;
    if (part.facts.replay_count != whole.facts.replay_count || part.facts.finished_at > whole.facts.finished_at) return;
    if (part.facts.phase != Phase::terminal) {
      violated("a node that is a flow ends after the nodes in it", "{}", to_string(whole.id));
    }
    const bool unhandled =
        is_failure(ending_of(part.facts.outcome, part.facts.member->withdrawn)) && !is_handled(*part.spec.member);
    if (unhandled && !part.facts.member->unhandled) {
      violated("a failure that no edge takes up is marked", "{}", to_string(part.id));
    }
    failed = failed || part.facts.member->unhandled;
  }
  if (failed != (outcome == Outcome::failed)) {
    violated("a node that is a flow fails with the nodes in it", "{}", to_string(whole.id));
  }
}

// Of a flow that grows, each member is found by its name.
void Watcher::check_names(const FlowRecord& flow) const {
  if (flow.facts.named == 0) return;
  if (flow.facts.named != flow.facts.members)
    violated("members of a growing flow have names", "{}", to_string(flow.id));
  for (std::uint32_t i = 0; i < flow.facts.members; ++i) {
    const std::string& node = member(flow.id, i)->execution.spec.member->node;
    const auto records = ok(store_->load({flow_name_key(flow.id, node)}));
    if (records.empty() || ok(decode_flow_name(records.front().body)).ordinal != i) {
      violated("members of a growing flow have names", "{} of {}", node, to_string(flow.id));
    }
  }
}

void Watcher::check_flow(const FlowShadow& shadow) const {
  const FlowFacts& facts = shadow.record.facts;
  if (facts.removing || facts.replay) return;
  std::map<Outcome, std::uint32_t> ended;
  bool all = true;
  for (std::uint32_t i = 0; i < facts.members; ++i) {
    const Shadow* one = member(shadow.record.id, i);
    if (one == nullptr || one->removed)
      violated("a member stays as long as its flow", "{}", to_string(shadow.record.id));
    const Facts& of_member = one->execution.facts;
    check_groups_of(*one);
    check_parts_of(*one);
    const bool counted = of_member.phase == Phase::terminal && !of_member.member->unresolved;
    if (counted) ++ended[of_member.outcome];
    all = all && counted;
  }
  const bool same = facts.succeeded == ended[Outcome::success] && facts.failed == ended[Outcome::failed] &&
                    facts.cancelled == ended[Outcome::cancelled] && facts.expired == ended[Outcome::expired] &&
                    facts.skipped == ended[Outcome::skipped];
  if (!same) violated("the counters of a flow equal a recount", "{}", to_string(shadow.record.id));
  check_names(shadow.record);
  const bool open = facts.state == FlowState::building;
  if (all && !open && !has_ended(facts.state)) violated("every flow ends", "{}", to_string(shadow.record.id));
  if (!all && has_ended(facts.state) && facts.cancel->policy != FlowCancelPolicy::flow_only) {
    violated("a flow ends with its last member", "{}", to_string(shadow.record.id));
  }
}

void Watcher::check_flows() const {
  for (const auto& [key, shadow] : flows_) {
    if (!shadow.removed) check_flow(shadow);
  }
}

}  // namespace flowfabric::simulation
