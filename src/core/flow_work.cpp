// What the clock does for flows and their members.
//
// A member that has ended is due at once: its outgoing edges are resolved, in steps if there are many, and then it is
// counted in its flow. The position in the list of edges is part of the member's record and commits together with the
// downstream records, so every edge is resolved exactly once, wherever a process stops. A downstream node that is skipped
// has ended, and is due in its turn: skips spread without recursion.
//
// A decision often rests on members that it leaves as they are, and nobody takes it back: a position has moved on. Therefore
// decisions read members with `read_member`, which guards them, and only the keys to be loaded are found with `member_slot`.
#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/limiting.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

const std::string flow_actor = "flow";
const std::string flow_clock_actor = "clock";
const std::string deadline_reason = "deadline";
const std::string node_failed_category = "node_failed";

std::string group_text(const Membership& member, std::uint32_t group) {
  const std::string& name = member.groups[group].name;
  return name.empty() ? "the incoming edges of node \"" + member.node + "\""
                      : "group \"" + name + "\" of node \"" + member.node + "\"";
}

// ---- Resolving edges

// A node that is a flow, and all nodes in it have ended.
bool has_gathered(const Execution& execution) {
  return is_flow_node(*execution.spec.member) && execution.facts.phase != Phase::terminal &&
         execution.facts.member->groups.front().state == GroupState::fired;
}

std::vector<Key> edge_keys(const Execution& execution) {
  const MemberFacts& facts = *execution.facts.member;
  const FlowId flow = flow_of(execution);
  if (has_gathered(execution)) {
    return {flow_key(flow), execution_key(member_id(flow, begin_of(*execution.spec.member)))};
  }
  if (!facts.unresolved) return {};
  const auto& outgoing = execution.spec.member->outgoing;
  std::vector<Key> keys = {flow_key(flow)};
  const std::size_t end = std::min<std::size_t>(facts.resolved + std::size_t{limits::max_flow_step}, outgoing.size());
  for (std::size_t i = facts.resolved; i < end; ++i) {
    keys.push_back(execution_key(member_id(flow, outgoing[i].to)));
  }
  return keys;
}

void note_work(MemberFacts& facts, TimestampMs now) {
  if (facts.work_at == 0) facts.work_at = now;
}

void count_outcome(FlowFacts& facts, Outcome outcome) {
  switch (outcome) {
    case Outcome::success: ++facts.succeeded; break;
    case Outcome::cancelled: ++facts.cancelled; break;
    case Outcome::expired: ++facts.expired; break;
    case Outcome::skipped: ++facts.skipped; break;
    case Outcome::none:
    case Outcome::failed: ++facts.failed; break;
  }
}

void start_retention(FlowRecord& flow, const Context& context) {
  Policy policy;
  policy.retention = flow.spec.retention;
  Outcome outcome = Outcome::success;
  if (flow.facts.state == FlowState::failed) outcome = Outcome::failed;
  if (flow.facts.state == FlowState::cancelled) outcome = Outcome::cancelled;
  flow.facts.retain_until =
      context.now + retention_ms(policy, flow.spec.namespace_retention, outcome, context.default_retention_ms);
}

// A member has ended and all its edges are resolved.
void count_member(Slot& slot, const Execution& execution, const Context& context) {
  FlowRecord& flow = *slot.flow();
  FlowFacts& facts = flow.facts;
  count_outcome(facts, execution.facts.outcome);
  facts.last_mutation_at = context.now;
  slot.changed = true;
  if (execution.facts.member->unhandled && !is_part(*execution.spec.member)) {
    const Membership& member = *execution.spec.member;
    ++facts.unhandled;
    const std::string category = execution.facts.failure ? execution.facts.failure->category : "";
    if (!facts.first_failure) {
      facts.first_failure = FlowFirstFailure{member.ordinal, member.node, execution.facts.outcome, category};
    }
    const bool goes_on =
        facts.state == FlowState::building || (facts.state == FlowState::running && facts.ended() < facts.members);
    const bool fails_now = goes_on && flow.spec.failure_policy == FailurePolicy::fail_fast;
    if (fails_now) {
      begin_cancel(slot,
                   {FlowCancelPolicy::cancel_pending, CancelCause::failure, true, flow_actor,
                    "node \"" + member.node + "\" ended as " + std::string(to_string(execution.facts.outcome))},
                   context);
    }
  }
  if (facts.ended() < facts.members || facts.state == FlowState::building) return;
  has_ended(facts.state) ? start_retention(flow, context) : end_with_members(slot, context);
}

void resolve_edges(Workspace& workspace, Slot& slot, const Context& context) {
  Execution& execution = *slot.execution();
  MemberFacts& facts = *execution.facts.member;
  if (!facts.unresolved || !all_known(workspace, edge_keys(execution))) return;
  const Membership& member = *execution.spec.member;
  const FlowId flow = flow_of(execution);
  if (facts.resolved == 0) facts.unhandled = is_failure(ending_of(execution)) && !is_handled(member);
  for (std::uint32_t step = 0; step < limits::max_flow_step && facts.resolved < member.outgoing.size(); ++step) {
    const OutgoingEdge& edge = member.outgoing[facts.resolved++];
    Slot* downstream = read_member(workspace, slot, flow, edge.to);
    if (downstream == nullptr) continue;
    arrive(*downstream, edge, execution, context);
  }
  if (facts.resolved < member.outgoing.size()) return;
  facts.unresolved = false;
  Slot& of_flow = workspace.at(flow_key(flow));
  workspace.rest_on(slot, of_flow);
  if (of_flow.flow() == nullptr || of_flow.erased) return;
  count_member(of_flow, execution, context);
}

// ---- Upstream nodes that a group no longer needs

// The next positions in the list of incoming edges that belong to the group.
std::vector<std::uint32_t> next_siblings(const Execution& execution, const SiblingCancel& cancel) {
  const auto& incoming = execution.spec.member->incoming;
  std::vector<std::uint32_t> positions;
  for (std::uint32_t i = cancel.next; i < incoming.size() && positions.size() < limits::max_sibling_step; ++i) {
    if (incoming[i].group == cancel.group) positions.push_back(i);
  }
  return positions;
}

bool may_be_cancelled(const Execution& sibling) {
  return sibling.facts.phase != Phase::terminal && sibling.spec.member->outgoing.size() <= limits::max_sibling_edges;
}

std::vector<Key> sibling_keys(Workspace& workspace, const Execution& execution) {
  const MemberFacts& facts = *execution.facts.member;
  if (facts.sibling_cancels.empty()) return {};
  const FlowId flow = flow_of(execution);
  std::vector<Key> keys;
  for (const std::uint32_t position : next_siblings(execution, facts.sibling_cancels.front())) {
    const std::uint32_t ordinal = execution.spec.member->incoming[position].from;
    keys.push_back(execution_key(member_id(flow, ordinal)));
    const Slot* sibling = member_slot(workspace, flow, ordinal);
    if (sibling == nullptr || !may_be_cancelled(*sibling->execution())) continue;
    for (const OutgoingEdge& edge : sibling->execution()->spec.member->outgoing) {
      keys.push_back(execution_key(member_id(flow, edge.to)));
    }
  }
  return keys;
}

// The downstream record is older than the edge, which was added since. Its version refuses the commit, so it does not matter
// what is decided by it.
bool is_older_than(const OutgoingEdge& edge, const Execution& downstream) {
  const MemberFacts& facts = *downstream.facts.member;
  return edge.group >= facts.groups.size() || (edge.kind == EdgeKind::join && !facts.growth);
}

// Another group that has not fired counts on it. The node whose part it is does not: it waits for any end.
bool is_needed(Workspace& workspace, const Execution& sibling, const Slot& by, std::uint32_t group) {
  const FlowId flow = flow_of(sibling);
  const std::uint32_t by_ordinal = by.execution()->spec.member->ordinal;
  const auto& outgoing = sibling.spec.member->outgoing;
  return std::any_of(outgoing.begin(), outgoing.end(), [&](const OutgoingEdge& edge) {
    if (edge.to == by_ordinal && edge.group == group) return false;
    if (edge.kind == EdgeKind::part || edge.kind == EdgeKind::output) return false;
    const Slot* slot = read_member(workspace, by, flow, edge.to);
    if (slot == nullptr || slot->execution()->facts.phase == Phase::terminal) return false;
    if (is_older_than(edge, *slot->execution())) return true;
    return slot->execution()->facts.member->groups[edge.group].state == GroupState::waiting;
  });
}

void withdraw(Slot& slot, Outcome outcome, EventType type, const std::string& by, const std::string& reason,
              const Context& context) {
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  facts.member->withdrawn = true;
  if (outcome == Outcome::cancelled) {
    facts.cancelled_by = by;
    facts.cancellation_reason = reason;
  }
  finish(transition, outcome, type, AttemptState::ended_cancelled, by, reason);
}

// A node in a flow node that has ended, or in which another node has failed: then only those that have not started are
// cancelled, and a flow node in it does the same with the nodes in it.
void cancel_part(const Execution& whole, Slot& part, const Context& context) {
  const Execution& execution = *part.execution();
  if (execution.facts.phase == Phase::terminal) return;
  if (whole.facts.phase == Phase::terminal) {
    return withdraw(part, Outcome::cancelled, EventType::cancelled, flow_actor,
                    "node \"" + whole.spec.member->node + "\" has ended", context);
  }
  if (has_started(execution.facts) || is_cleanup(*execution.spec.member)) return;
  if (is_flow_node(*execution.spec.member)) {
    MemberFacts& facts = *part.execution()->facts.member;
    facts.sibling_cancels.push_back({0, 0});
    note_work(facts, context.now);
    return Transition(part, context).touch();
  }
  withdraw(part, Outcome::cancelled, EventType::cancelled, flow_actor,
           "a node of \"" + whole.spec.member->node + "\" has failed", context);
}

void cancel_siblings(Workspace& workspace, Slot& slot, const Context& context) {
  Execution& execution = *slot.execution();
  MemberFacts& facts = *execution.facts.member;
  if (facts.sibling_cancels.empty() || !all_known(workspace, sibling_keys(workspace, execution))) return;
  const Membership& member = *execution.spec.member;
  SiblingCancel& cancel = facts.sibling_cancels.front();
  const bool of_parts = member.groups[cancel.group].policy == GroupPolicy::gather;
  const std::string reason =
      group_text(member, cancel.group) +
      (facts.groups[cancel.group].state == GroupState::fired ? " has fired without it" : " cannot fire any more");
  const std::vector<std::uint32_t> positions = next_siblings(execution, cancel);
  for (const std::uint32_t position : positions) {
    Slot* sibling = read_member(workspace, slot, flow_of(execution), member.incoming[position].from);
    if (sibling == nullptr) continue;
    settle(*sibling, context);
    if (of_parts) {
      cancel_part(execution, *sibling, context);
      continue;
    }
    if (!may_be_cancelled(*sibling->execution())) continue;
    if (is_needed(workspace, *sibling->execution(), slot, cancel.group)) continue;
    sibling->execution()->facts.member->unneeded = true;
    withdraw(*sibling, Outcome::cancelled, EventType::cancelled, flow_actor, reason, context);
  }
  if (positions.size() == limits::max_sibling_step) {
    cancel.next = positions.back() + 1;
  } else {
    facts.sibling_cancels.erase(facts.sibling_cancels.begin());
  }
}

// ---- The flow itself

bool is_cancelling(const FlowFacts& facts) { return facts.cancel && !facts.cancel->done; }

bool is_to_be_removed(const FlowFacts& facts, TimestampMs now) {
  return has_ended(facts.state) && facts.retain_until != 0 && (facts.removing || facts.retain_until <= now);
}

std::vector<Key> members_from(const FlowRecord& flow, std::uint32_t first) {
  std::vector<Key> keys;
  const std::uint32_t end = std::min(first + limits::max_flow_step, flow.facts.members);
  for (std::uint32_t i = first; i < end; ++i) keys.push_back(execution_key(member_id(flow.id, i)));
  return keys;
}

std::vector<Key> flow_keys(Workspace& workspace, const FlowRecord& flow) {
  const FlowFacts& facts = flow.facts;
  if (facts.untold_schedule) return {};  // see schedule_work_keys
  if (facts.replay) return replay_keys(workspace, flow);
  if (is_cancelling(facts)) return members_from(flow, facts.cancel->next);
  if (!has_ended(facts.state) || facts.retain_until == 0) return {};
  std::vector<Key> keys = members_from(flow, facts.removing.value_or(0));
  for (std::size_t i = 0, members = facts.named == 0 ? 0 : keys.size(); i < members; ++i) {
    const Slot* member = workspace.find(keys[i]);
    if (member == nullptr || member->execution() == nullptr) continue;
    keys.push_back(flow_name_key(flow.id, member->execution()->spec.member->node));
  }
  keys.push_back(namespace_key(flow.spec.name_space));
  return keys;
}

bool is_spared(const FlowCancel& cancel, const Execution& execution) {
  if (cancel.cause == CancelCause::deadline) return false;
  const bool started = has_started(execution.facts);
  if (cancel.policy == FlowCancelPolicy::cancel_pending && started) return true;
  return cancel.run_cleanup && !started && is_cleanup(*execution.spec.member);
}

// Also of a flow that an operator has cancelled before: its order stays, what is left expires.
bool deadline_has_passed(const FlowRecord& flow) {
  return flow.spec.deadline_span_ms != 0 && flow.facts.deadline_at == 0;
}

void cancel_members(Workspace& workspace, Slot& slot, const Context& context) {
  FlowRecord& flow = *slot.flow();
  if (!all_known(workspace, members_from(flow, flow.facts.cancel->next))) return;
  FlowCancel& cancel = *flow.facts.cancel;
  const bool expires = deadline_has_passed(flow);
  const std::uint32_t end = std::min(cancel.next + limits::max_flow_step, flow.facts.members);
  for (std::uint32_t spared = 0; cancel.next < end && spared < limits::max_spared_step; ++cancel.next) {
    Slot* member = read_member(workspace, slot, flow.id, cancel.next);
    if (member == nullptr) continue;
    settle(*member, context);
    const Execution& execution = *member->execution();
    if (execution.facts.phase == Phase::terminal) continue;
    if (is_spared(cancel, execution)) {
      ++spared;
      continue;
    }
    if (is_flow_node(*execution.spec.member)) continue;  // it ends with the nodes in it
    if (expires) {
      withdraw(*member, Outcome::expired, EventType::expired, flow_clock_actor, deadline_reason, context);
    } else {
      withdraw(*member, Outcome::cancelled, EventType::cancelled, cancel.by, cancel.reason, context);
    }
  }
  cancel.done = cancel.next == flow.facts.members;
}

// A flow that an operator has cancelled ends as cancelled also if its deadline passes before, and shows who cancelled it.
void extend_to_all(FlowCancel& cancel) {
  cancel.policy = FlowCancelPolicy::cancel_all;
  cancel.run_cleanup = false;
  cancel.next = 0;
  cancel.done = false;
}

// All nodes in a flow node have ended: it ends, too.
void end_flow_node(Workspace& workspace, Slot& slot, const Context& context) {
  Execution& execution = *slot.execution();
  if (!has_gathered(execution) || !all_known(workspace, edge_keys(execution))) return;
  const Slot* begin = read_member(workspace, slot, flow_of(execution), begin_of(*execution.spec.member));
  if (begin != nullptr && begin->execution()->facts.outcome == Outcome::skipped) {
    Transition transition(slot, context);
    return finish(transition, Outcome::skipped, EventType::skipped, AttemptState::ended_cancelled, flow_actor,
                  "node \"" + begin->execution()->spec.member->node + "\" was skipped");
  }
  if (execution.facts.member->groups.front().unsatisfiable > 0) {
    Transition transition(slot, context);
    return finish(transition, Outcome::failed, EventType::failed, AttemptState::ended_failure, flow_actor,
                  node_failed_category);
  }
  if (!execution.facts.member->groups.front().winners.empty()) {
    const Slot& of_flow = workspace.at(flow_key(flow_of(execution)));
    workspace.rest_on(slot, of_flow);
    const FlowRecord* flow = of_flow.erased ? nullptr : of_flow.flow();
    const bool expires = flow != nullptr && flow->facts.state == FlowState::cancelling && deadline_has_passed(*flow);
    if (expires) {
      return withdraw(slot, Outcome::expired, EventType::expired, flow_clock_actor, deadline_reason, context);
    }
    return withdraw(slot, Outcome::cancelled, EventType::cancelled, flow_actor, "nodes in it were cancelled", context);
  }
  Transition transition(slot, context);
  finish(transition, Outcome::success, EventType::completed, AttemptState::ended_success, flow_actor, {});
}

void remove_members(Workspace& workspace, Slot& slot, const Context& context) {
  FlowRecord& flow = *slot.flow();
  FlowFacts& facts = flow.facts;
  if (!all_known(workspace, flow_keys(workspace, flow))) return;
  if (!facts.removing) {
    // The default of the namespace may have changed since.
    flow.spec.namespace_retention = namespace_retention(workspace, flow.spec.name_space);
    const TimestampMs now = context.now;
    Context at_the_end = context;
    at_the_end.now = facts.finished_at;
    start_retention(flow, at_the_end);
    if (facts.retain_until > now) return;
    facts.removing = 0;
  }
  const std::uint32_t end = std::min(*facts.removing + limits::max_flow_step, facts.members);
  for (std::uint32_t i = *facts.removing; i < end; ++i) {
    Slot* member = read_member(workspace, slot, flow.id, i);
    if (member == nullptr) continue;
    if (owes_slots(member->execution()->facts)) {
      facts.removing = i;  // it is due itself, and gives them back first
      return;
    }
    member->changed = true;
    member->erased = true;
    if (facts.named == 0) continue;
    Slot& name = workspace.at(flow_name_key(flow.id, member->execution()->spec.member->node));
    workspace.tie(slot, name);
    name.changed = true;
    name.erased = true;
  }
  facts.removing = end;
  slot.erased = end == facts.members;
}

}  // namespace

bool all_known(Workspace& workspace, const std::vector<Key>& keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const Key& key) { return workspace.knows(key); });
}

Slot* member_slot(Workspace& workspace, const FlowId& flow, std::uint32_t ordinal) {
  Slot* slot = workspace.find(execution_key(member_id(flow, ordinal)));
  return slot == nullptr || slot->execution() == nullptr || slot->erased ? nullptr : slot;
}

Slot* read_member(Workspace& workspace, const Slot& decided, const FlowId& flow, std::uint32_t ordinal) {
  const Slot* read = workspace.find(execution_key(member_id(flow, ordinal)));
  if (read != nullptr) workspace.rest_on(decided, *read);
  return member_slot(workspace, flow, ordinal);
}

void open_gate(Slot& slot, const Context& context) {
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  if (is_begin(*transition.spec().member)) {
    return finish(transition, Outcome::success, EventType::completed, AttemptState::ended_success, flow_actor,
                  "dependencies_satisfied");
  }
  facts.gates &= ~dependency_gate;
  if (facts.delay_until != 0) {
    transition.record(EventType::delayed, flow_actor, "dependencies_satisfied", facts.delay_until);
    return;
  }
  make_runnable(transition, 0, DelayCause::none);
  transition.record(EventType::ready, flow_actor, "dependencies_satisfied");
}

// Join edges come from nodes that the node itself has added, so it does not wait for them before it starts.
static bool may_start(const Membership& member, const MemberFacts& facts) {
  for (std::size_t i = 0; i < facts.groups.size(); ++i) {
    if (facts.groups[i].state != GroupState::fired && member.groups[i].name != join_group) return false;
  }
  return true;
}

// A node that was added by the downstream node has ended. The downstream node goes on when it was the last that it waits for.
static void arrive_joined(Slot& slot, const OutgoingEdge& edge, const Membership& from, const Context& context) {
  settle(slot, context);
  Execution& execution = *slot.execution();
  MemberFacts& facts = *execution.facts.member;
  FF_CHECK(facts.growth.has_value());
  count_edge(execution.spec.member->groups[edge.group], facts.groups[edge.group], EdgeState::satisfied, from.ordinal);
  facts.growth->joined.push_back(from.ordinal);
  const bool awaited = std::erase(facts.growth->awaits, from.ordinal) > 0;
  Transition(slot, context).touch();
  if (execution.facts.phase == Phase::terminal || (execution.facts.gates & dependency_gate) == 0) return;
  if (awaited && facts.growth->awaits.empty()) open_gate(slot, context);
}

static std::string ending_text(Ending ending) {
  static constexpr std::string_view endings[] = {"succeeded",     "failed",  "was cancelled",
                                                 "was cancelled", "expired", "was skipped"};
  return std::string(endings[static_cast<std::size_t>(ending)]);
}

// A node in the flow that the downstream node is has ended, or its begin.
static void arrive_part(Slot& slot, const OutgoingEdge& edge, EdgeState verdict, const Execution& upstream,
                        const Context& context) {
  settle(slot, context);
  const Membership& from = *upstream.spec.member;
  Execution& execution = *slot.execution();
  const IncomingGroup& group = execution.spec.member->groups[edge.group];
  MemberFacts& facts = *execution.facts.member;
  GroupTally& tally = facts.groups[edge.group];
  const bool first_failure = verdict == EdgeState::unsatisfiable && tally.unsatisfiable == 0;
  count_edge(group, tally, verdict, from.ordinal);
  const MemberFacts& of_part = *upstream.facts.member;
  if (of_part.withdrawn && !of_part.unneeded && tally.winners.empty()) tally.winners.push_back(from.ordinal);
  Transition(slot, context).touch();
  if (execution.facts.phase == Phase::terminal) return;
  if (first_failure) {
    execution.facts.failure =
        Failure{node_failed_category, "node \"" + from.node + "\" " + ending_text(ending_of(upstream)), {}};
    if (group.rest == GroupRest::cancel_remaining) facts.sibling_cancels.push_back({edge.group, 0});
  }
  if (!facts.sibling_cancels.empty() || has_gathered(execution)) note_work(facts, context.now);
}

void arrive(Slot& slot, const OutgoingEdge& edge, const Execution& upstream, const Context& context) {
  if (is_older_than(edge, *slot.execution())) return;
  const Membership& from = *upstream.spec.member;
  const Ending ending = ending_of(upstream);
  const EdgeState verdict = edge_verdict(edge.kind, ending, upstream.facts.member->unhandled);
  if (edge.kind == EdgeKind::join) return arrive_joined(slot, edge, from, context);
  if (edge.kind == EdgeKind::part || edge.kind == EdgeKind::output) {
    return arrive_part(slot, edge, verdict, upstream, context);
  }
  settle(slot, context);
  Execution& execution = *slot.execution();
  const Membership& member = *execution.spec.member;
  MemberFacts& facts = *execution.facts.member;
  GroupTally& tally = facts.groups[edge.group];
  const GroupState before = tally.state;
  const GroupState after = count_edge(member.groups[edge.group], tally, verdict, from.ordinal);
  Transition(slot, context).touch();
  if (before == after) return;
  if (member.groups[edge.group].rest == GroupRest::cancel_remaining) {
    facts.sibling_cancels.push_back({edge.group, 0});
    note_work(facts, context.now);
  }
  if (execution.facts.phase == Phase::terminal || (execution.facts.gates & dependency_gate) == 0) return;
  if (after == GroupState::impossible) {
    Transition transition(slot, context);
    finish(transition, Outcome::skipped, EventType::skipped, AttemptState::ended_cancelled, flow_actor,
           group_text(member, edge.group) + " cannot fire: node \"" + from.node + "\" " + ending_text(ending));
    return;
  }
  if (may_start(member, facts)) open_gate(slot, context);
}

void end_with_members(Slot& slot, const Context& context) {
  const FlowFacts& facts = slot.flow()->facts;
  if (facts.cancel && facts.cancel->cause == CancelCause::by_operator) {
    return end_flow(slot, FlowState::cancelled, facts.cancel->by, facts.cancel->reason, context);
  }
  if (facts.cancel && facts.cancel->cause == CancelCause::deadline) {
    return end_flow(slot, FlowState::failed, flow_clock_actor, deadline_reason, context);
  }
  if (facts.first_failure) {
    const FlowFirstFailure& failure = *facts.first_failure;
    return end_flow(slot, FlowState::failed, flow_actor,
                    "node \"" + failure.node + "\" ended as " + std::string(to_string(failure.outcome)), context);
  }
  end_flow(slot, FlowState::completed, flow_actor, {}, context);
}

void resolve_late_edge(Workspace& workspace, Slot& from, const OutgoingEdge& edge, const Context& context) {
  const Execution& execution = *from.execution();
  Slot* downstream = read_member(workspace, from, flow_of(execution), edge.to);
  if (downstream == nullptr) return;
  arrive(*downstream, edge, execution, context);
}

void record_flow_event(Slot& slot, EventType type, const std::string& actor, const std::string& reason,
                       const Context& context) {
  FlowRecord& flow = *slot.flow();
  flow.facts.last_mutation_at = context.now;
  slot.changed = true;
  Event event;
  event.type = type;
  event.at = context.now;
  event.flow_id = flow.id;
  event.name_space = flow.spec.name_space;
  event.kind = flow.spec.kind;
  event.actor = actor;
  event.reason = reason;
  slot.log(std::move(event));
}

void begin_cancel(Slot& slot, CancelOrder order, const Context& context) {
  FlowFacts& facts = slot.flow()->facts;
  const bool first = facts.state != FlowState::cancelling;
  facts.state = FlowState::cancelling;
  facts.cancel =
      FlowCancel{order.policy, order.cause, order.run_cleanup, order.by, order.reason, context.now, 0, false};
  if (order.policy == FlowCancelPolicy::flow_only) facts.cancel->done = true;
  if (first && order.policy != FlowCancelPolicy::flow_only) {
    record_flow_event(slot, EventType::flow_cancelling, order.by, order.reason, context);
  }
  slot.changed = true;
}

void end_flow(Slot& slot, FlowState state, const std::string& actor, const std::string& reason,
              const Context& context) {
  FlowRecord& flow = *slot.flow();
  FF_CHECK(!has_ended(flow.facts.state));
  flow.facts.state = state;
  flow.facts.finished_at = context.now;
  flow.facts.untold_schedule = flow.spec.schedule.has_value();
  if (flow.facts.cancel) flow.facts.cancel->done = true;
  if (flow.facts.ended() == flow.facts.members) start_retention(flow, context);
  const EventType type = state == FlowState::completed ? EventType::flow_completed
                         : state == FlowState::failed  ? EventType::flow_failed
                                                       : EventType::flow_cancelled;
  record_flow_event(slot, type, actor, reason, context);
}

std::vector<Key> flow_work_keys(Workspace& workspace, const Key& key) {
  const Slot* slot = workspace.find(key);
  if (slot == nullptr || slot->erased) return {};
  if (const FlowRecord* flow = slot->flow()) return flow_keys(workspace, *flow);
  const Execution* execution = slot->execution();
  if (execution == nullptr || !execution->facts.member) return {};
  std::vector<Key> keys = edge_keys(*execution);
  for (Key& more : sibling_keys(workspace, *execution)) keys.push_back(std::move(more));
  return keys;
}

std::vector<Key> at_once_keys(const Execution& execution) {
  if (!execution.spec.member || execution.facts.phase == Phase::terminal) return {};
  const Membership& member = *execution.spec.member;
  if (member.outgoing.size() > limits::max_edges_at_once || member.ordinal >= limits::max_members_at_once) return {};
  const FlowId flow = flow_of(execution);
  std::vector<Key> keys = {flow_key(flow)};
  for (const OutgoingEdge& edge : member.outgoing) keys.push_back(execution_key(member_id(flow, edge.to)));
  return keys;
}

void resolve_at_once(Workspace& workspace, Slot& slot, const Context& context) {
  const Execution& execution = *slot.execution();
  if (!execution.facts.member || !execution.facts.member->unresolved) return;
  if (execution.spec.member->outgoing.size() > limits::max_edges_at_once) return;
  const auto is_damaged = [&](const Key& key) {
    const Slot* one = workspace.find(key);
    return one != nullptr && one->damage != nullptr;
  };
  const std::vector<Key> keys = edge_keys(execution);
  if (std::any_of(keys.begin(), keys.end(), is_damaged)) return;
  const Slot* flow = workspace.find(flow_key(flow_of(execution)));
  if (flow == nullptr || flow->erased || flow->flow() == nullptr) return;
  if (flow->flow()->facts.members > limits::max_members_at_once) return;
  member_due(workspace, slot, context);
}

void member_due(Workspace& workspace, Slot& slot, const Context& context) {
  MemberFacts& facts = *slot.execution()->facts.member;
  if (facts.work_at == 0 || facts.work_at > context.now) return;
  const Execution& execution = *slot.execution();
  const bool begins = is_begin(*execution.spec.member) && execution.spec.member->groups.empty();
  if (begins && execution.facts.phase != Phase::terminal) open_gate(slot, context);
  cancel_siblings(workspace, slot, context);
  end_flow_node(workspace, slot, context);
  resolve_edges(workspace, slot, context);
  facts.work_at = facts.unresolved || !facts.sibling_cancels.empty() || has_gathered(execution) ? context.now : 0;
}

void flow_due(Workspace& workspace, Slot& slot, const Context& context) {
  slot.changed = true;  // moves the due entry
  FlowFacts& facts = slot.flow()->facts;
  if (facts.untold_schedule) return tell_schedule(workspace, slot, context);
  if (facts.replay) return prepare_replay(workspace, slot, context);
  if (is_cancelling(facts)) return cancel_members(workspace, slot, context);
  if (is_to_be_removed(facts, context.now)) return remove_members(workspace, slot, context);
  if (facts.deadline_at == 0 || facts.deadline_at > context.now || has_ended(facts.state)) return;
  facts.deadline_at = 0;
  if (facts.cancel && facts.cancel->cause == CancelCause::by_operator) {
    extend_to_all(*facts.cancel);
  } else {
    begin_cancel(slot, {FlowCancelPolicy::cancel_all, CancelCause::deadline, false, flow_clock_actor, deadline_reason},
                 context);
  }
  if (facts.ended() == facts.members) end_with_members(slot, context);  // it was open
}

}  // namespace flowfabric
