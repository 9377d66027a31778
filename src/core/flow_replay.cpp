// Replays of flows: some members run again, and the edges between them and the others are counted anew.
//
// Only an ended flow is replayed, so all its members have ended. The clock prepares the replay in stages, each in bounded
// steps with a cursor in the flow's record. No member can start before all chosen ones are reset; otherwise an outcome
// could reach a node that is reset afterwards.
#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

using Stage = FlowReplay::Stage;

bool has_bit(const std::string& bits, std::uint32_t n) {
  return n / 8 < bits.size() && (static_cast<unsigned char>(bits[n / 8]) >> (n % 8) & 1U) != 0;
}

void set_bit(std::string& bits, std::uint32_t n) {
  if (n / 8 >= bits.size()) bits.resize(n / 8 + 1);
  bits[n / 8] = static_cast<char>(static_cast<unsigned char>(bits[n / 8]) | (1U << (n % 8)));
}

bool is_chosen(const FlowReplay& replay, std::uint32_t ordinal) { return has_bit(replay.chosen, ordinal); }

// Failures that were counted before the mark existed have none.
bool is_unhandled_failure(const Execution& execution) {
  const Membership& member = *execution.spec.member;
  if (is_part(member)) return false;
  return execution.facts.member->unhandled || (is_failure(ending_of(execution)) && !is_handled(member));
}

std::vector<std::uint32_t> next_members(const FlowRecord& flow) {
  std::vector<std::uint32_t> ordinals;
  const std::uint32_t end = std::min(flow.facts.replay->next + limits::max_flow_step, flow.facts.members);
  for (std::uint32_t i = flow.facts.replay->next; i < end; ++i) ordinals.push_back(i);
  return ordinals;
}

// Chosen members the nodes behind which are not chosen yet.
std::vector<std::uint32_t> next_to_spread(const FlowRecord& flow) {
  const FlowReplay& replay = *flow.facts.replay;
  std::vector<std::uint32_t> ordinals;
  for (std::uint32_t i = 0; i < flow.facts.members && ordinals.size() < limits::max_flow_step; ++i) {
    if (is_chosen(replay, i) && !has_bit(replay.spread, i)) ordinals.push_back(i);
  }
  return ordinals;
}

// An edge whose downstream node changes in this step. Without an edge it is a node that nothing leads to.
struct Crossing {
  std::uint32_t from = 0;
  std::optional<std::uint32_t> edge;
};
struct Crossings {
  std::vector<Crossing> all;
  std::uint32_t next = 0;  // where the stage goes on
  std::uint32_t next_edge = 0;
};

// Edges from chosen to other nodes while these are taken back, and from other to chosen nodes while these arrive again. What
// has been joined stays so.
bool is_crossing(const FlowReplay& replay, std::uint32_t from, const OutgoingEdge& edge) {
  if (is_chosen(replay, from) == is_chosen(replay, edge.to)) return false;
  if (edge.kind == EdgeKind::join && replay.stage == Stage::arrive) return false;
  return is_chosen(replay, from) == (replay.stage == Stage::take_back);
}

bool waits_for_nothing(const Membership& member) {
  return std::all_of(member.groups.begin(), member.groups.end(),
                     [](const IncomingGroup& group) { return group.name == join_group; });
}

// The members from `next` on that are known, up to a number of changes.
Crossings next_crossings(Workspace& workspace, const FlowRecord& flow) {
  const FlowReplay& replay = *flow.facts.replay;
  Crossings found{{}, replay.next, replay.next_edge};
  for (const std::uint32_t ordinal : next_members(flow)) {
    const Slot* slot = member_slot(workspace, flow.id, ordinal);
    if (slot != nullptr) {
      const Membership& member = *slot->execution()->spec.member;
      const bool is_root = waits_for_nothing(member) && is_chosen(replay, ordinal) && replay.stage == Stage::arrive;
      if (is_root && found.next_edge == 0) found.all.push_back({ordinal, std::nullopt});
      for (; found.next_edge < member.outgoing.size(); ++found.next_edge) {
        if (found.all.size() >= limits::max_flow_step) return found;
        if (is_crossing(replay, ordinal, member.outgoing[found.next_edge])) {
          found.all.push_back({ordinal, found.next_edge});
        }
      }
    }
    found.next = ordinal + 1;
    found.next_edge = 0;
    if (found.all.size() >= limits::max_flow_step) return found;
  }
  return found;
}

std::vector<Key> keys_of(const FlowId& flow, const std::vector<std::uint32_t>& ordinals) {
  std::vector<Key> keys;
  for (const std::uint32_t ordinal : ordinals) keys.push_back(execution_key(member_id(flow, ordinal)));
  return keys;
}

std::vector<Key> crossing_keys(Workspace& workspace, const FlowRecord& flow) {
  std::vector<Key> keys = keys_of(flow.id, next_members(flow));
  if (!all_known(workspace, keys)) return keys;
  for (const Crossing& crossing : next_crossings(workspace, flow).all) {
    if (!crossing.edge) continue;
    const Slot* from = member_slot(workspace, flow.id, crossing.from);
    keys.push_back(execution_key(member_id(flow.id, from->execution()->spec.member->outgoing[*crossing.edge].to)));
  }
  return keys;
}

void begin_stage(FlowReplay& replay, Stage stage) {
  replay.stage = stage;
  replay.next = 0;
  replay.next_edge = 0;
}

// ---- Stages

void choose_unsuccessful(Workspace& workspace, Slot& of_flow) {
  FlowRecord& flow = *of_flow.flow();
  FlowReplay& replay = *flow.facts.replay;
  for (const std::uint32_t ordinal : next_members(flow)) {
    const Slot* slot = read_member(workspace, of_flow, flow.id, ordinal);
    if (slot != nullptr && slot->execution()->facts.outcome != Outcome::success) set_bit(replay.chosen, ordinal);
    replay.next = ordinal + 1;
  }
  if (replay.next == flow.facts.members) begin_stage(replay, Stage::spread);
}

void spread_to_descendants(Workspace& workspace, Slot& of_flow) {
  FlowRecord& flow = *of_flow.flow();
  FlowReplay& replay = *flow.facts.replay;
  for (const std::uint32_t ordinal : next_to_spread(flow)) {
    const Slot* slot = read_member(workspace, of_flow, flow.id, ordinal);
    set_bit(replay.spread, ordinal);
    if (slot == nullptr) continue;
    for (const OutgoingEdge& edge : slot->execution()->spec.member->outgoing) set_bit(replay.chosen, edge.to);
  }
  if (!next_to_spread(flow).empty()) return;
  replay.spread.clear();
  begin_stage(replay, Stage::take_back);
}

// The edge is counted again when its upstream node has ended again. Its group stays as it is.
void take_back(Slot& slot, const OutgoingEdge& edge, const Execution& upstream, const Context& context) {
  MemberFacts& facts = *slot.execution()->facts.member;
  if (edge.kind == EdgeKind::join && facts.growth) std::erase(facts.growth->joined, upstream.spec.member->ordinal);
  if (edge.group >= facts.groups.size()) return;  // the record is older than the edge; its version refuses the commit
  GroupTally& tally = facts.groups[edge.group];
  const EdgeState verdict = edge_verdict(edge.kind, ending_of(upstream), upstream.facts.member->unhandled);
  std::uint32_t& count = verdict == EdgeState::satisfied ? tally.satisfied : tally.unsatisfiable;
  if (count > 0) --count;
  Transition(slot, context).touch();
}

void uncount(FlowFacts& facts, const Execution& execution) {
  switch (execution.facts.outcome) {
    case Outcome::success: --facts.succeeded; break;
    case Outcome::cancelled: --facts.cancelled; break;
    case Outcome::expired: --facts.expired; break;
    case Outcome::skipped: --facts.skipped; break;
    case Outcome::none:
    case Outcome::failed: --facts.failed; break;
  }
  if (is_unhandled_failure(execution)) --facts.unhandled;
}

// Recorded steps are of use only if the node gets the same inputs again.
bool has_new_inputs(const FlowReplay& replay, const Membership& member) {
  return std::any_of(member.incoming.begin(), member.incoming.end(),
                     [&](const IncomingEdge& edge) { return is_chosen(replay, edge.from); });
}

// Empty, except that nodes which the member has added and which do not run again are joined already.
void arm_groups(const Membership& member, MemberFacts& facts, const FlowReplay& replay) {
  facts.groups.assign(facts.groups.size(), {});
  if (!facts.growth) return;
  facts.growth->awaits.clear();
  std::erase_if(facts.growth->joined, [&](std::uint32_t ordinal) { return is_chosen(replay, ordinal); });
  for (std::size_t i = 0; i < member.groups.size(); ++i) {
    if (member.groups[i].name != join_group) continue;
    facts.groups[i].satisfied = static_cast<std::uint32_t>(facts.growth->joined.size());
  }
}

void reset_member(Slot& slot, const FlowReplay& replay, const Context& context) {
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  const bool starts_afresh = has_new_inputs(replay, *transition.spec().member);
  facts.gates = dependency_gate;
  arm_groups(*transition.spec().member, *facts.member, replay);
  facts.member->resolved = 0;
  facts.member->withdrawn = false;
  facts.member->unneeded = false;
  facts.member->unhandled = false;
  facts.member->sibling_cancels.clear();
  facts.member->work_at = 0;
  if (starts_afresh) facts.has_checkpoint = false;
  start_over(transition, {replay.by, replay.reason}, starts_afresh ? std::optional<std::uint32_t>(0) : std::nullopt);
  transition.record(EventType::replayed, replay.by, replay.reason);
}

void reset_members(Workspace& workspace, Slot& slot, const Context& context) {
  FlowRecord& flow = *slot.flow();
  FlowReplay& replay = *flow.facts.replay;
  for (const std::uint32_t ordinal : next_members(flow)) {
    replay.next = ordinal + 1;
    Slot* member = read_member(workspace, slot, flow.id, ordinal);
    if (member == nullptr) continue;
    const Execution& execution = *member->execution();
    if (is_chosen(replay, ordinal)) {
      uncount(flow.facts, execution);
      reset_member(*member, replay, context);
    } else if (is_unhandled_failure(execution) && !flow.facts.first_failure) {
      const std::string category = execution.facts.failure ? execution.facts.failure->category : "";
      flow.facts.first_failure =
          FlowFirstFailure{ordinal, execution.spec.member->node, execution.facts.outcome, category};
    }
  }
  if (replay.next == flow.facts.members) begin_stage(replay, Stage::arrive);
}

// Between its reset and this stage it may have expired or been cancelled.
void start_root(Slot& slot, const Context& context) {
  settle(slot, context);
  const Facts& facts = slot.execution()->facts;
  if (facts.phase != Phase::terminal && (facts.gates & dependency_gate) != 0) open_gate(slot, context);
}

// The members whose edges were looked through, except those that may run already: in the last stage no edge of a chosen one
// counts.
void rest_on_looked_through(Workspace& workspace, const Slot& slot, const Crossings& crossings) {
  const FlowRecord& flow = *slot.flow();
  const FlowReplay& replay = *flow.facts.replay;
  const std::uint32_t end = crossings.next + (crossings.next_edge > 0 ? 1 : 0);
  for (std::uint32_t i = replay.next; i < end; ++i) {
    if (replay.stage == Stage::take_back || !is_chosen(replay, i)) (void)read_member(workspace, slot, flow.id, i);
  }
}

// Stages take_back and arrive.
void cross_edges(Workspace& workspace, Slot& slot, const Context& context) {
  FlowRecord& flow = *slot.flow();
  FlowReplay& replay = *flow.facts.replay;
  const Crossings crossings = next_crossings(workspace, flow);
  rest_on_looked_through(workspace, slot, crossings);
  for (const Crossing& crossing : crossings.all) {
    Slot& from = *read_member(workspace, slot, flow.id, crossing.from);
    if (!crossing.edge) {
      start_root(from, context);
      continue;
    }
    const Execution& upstream = *from.execution();
    const OutgoingEdge& edge = upstream.spec.member->outgoing[*crossing.edge];
    Slot* downstream = read_member(workspace, slot, flow.id, edge.to);
    if (downstream == nullptr) continue;
    if (replay.stage == Stage::take_back) {
      take_back(*downstream, edge, upstream, context);
    } else {
      arrive(*downstream, edge, upstream, context);
      // A failure that is not replayed cancels nothing, as one of the outer flow does not.
      if (is_flow_node(*downstream->execution()->spec.member)) {
        downstream->execution()->facts.member->sibling_cancels.clear();
      }
    }
  }
  replay.next = crossings.next;
  replay.next_edge = crossings.next_edge;
  if (replay.next < flow.facts.members) return;
  if (replay.stage == Stage::take_back) {
    flow.facts.first_failure.reset();
    return begin_stage(replay, Stage::reset);
  }
  flow.facts.replay.reset();
}

}  // namespace

std::vector<Key> replay_keys(Workspace& workspace, const FlowRecord& flow) {
  switch (flow.facts.replay->stage) {
    case Stage::choose:
    case Stage::reset: return keys_of(flow.id, next_members(flow));
    case Stage::spread: return keys_of(flow.id, next_to_spread(flow));
    case Stage::take_back:
    case Stage::arrive: return crossing_keys(workspace, flow);
  }
  return {};
}

void prepare_replay(Workspace& workspace, Slot& slot, const Context& context) {
  FlowRecord& flow = *slot.flow();
  if (!all_known(workspace, replay_keys(workspace, flow))) return;
  flow.facts.last_mutation_at = context.now;
  switch (flow.facts.replay->stage) {
    case Stage::choose: return choose_unsuccessful(workspace, slot);
    case Stage::spread: return spread_to_descendants(workspace, slot);
    case Stage::reset: return reset_members(workspace, slot, context);
    case Stage::take_back:
    case Stage::arrive: return cross_edges(workspace, slot, context);
  }
}

Result<Reply> decide_one(Workspace& workspace, const ReplayFlowCommand& command, const Context& context) {
  FF_TRY(slot, existing_flow(workspace, command.id));
  FlowFacts& facts = slot->flow()->facts;
  if (!has_ended(facts.state) || facts.retain_until == 0 || facts.replay) {
    return fail(Errc::not_terminal, "only a flow whose nodes have all ended can be replayed; this one is " +
                                        std::string(has_ended(facts.state) ? "ended, but some of its nodes are not"
                                                                           : to_string(facts.state)));
  }
  if (facts.removing) return fail(Errc::not_found, "flow " + to_string(command.id) + " is being removed", "flow_id");
  if (!command.ordinal && facts.succeeded == facts.members) {
    return fail(Errc::invalid_argument, "node: all nodes have succeeded; name the node from which to replay", "node");
  }
  FlowReplay replay;
  replay.by = command.by.name;
  replay.reason = command.by.reason;
  replay.at = context.now;
  if (command.ordinal) {
    const Slot* member = read_member(workspace, *slot, command.id, *command.ordinal);
    if (member == nullptr) return fail(Errc::not_found, "the flow has no such node", "node");
    FF_TRY_VOID(check_replays(*member->execution()));
    const Membership& chosen = *member->execution()->spec.member;
    if (is_flow_node(chosen) && !command.descendants) {
      return fail(Errc::invalid_argument,
                  "descendants: is false, and node \"" + chosen.node +
                      "\" is a flow: it is replayed with the nodes in it and those behind it",
                  "descendants");
    }
    set_bit(replay.chosen, is_flow_node(chosen) ? begin_of(chosen) : *command.ordinal);
    replay.stage = command.descendants ? Stage::spread : Stage::take_back;
  }
  facts.replay = std::move(replay);
  facts.untold_schedule = false;  // it has not ended after all
  facts.state = FlowState::running;
  facts.finished_at = 0;
  facts.retain_until = 0;
  facts.cancel.reset();
  ++facts.revision;
  const std::int64_t span = slot->flow()->spec.deadline_span_ms;
  facts.deadline_at = span == 0 ? 0 : context.now + span;
  record_flow_event(*slot, EventType::flow_reopened, command.by.name, command.by.reason, context);
  return FlowReplayReply{facts.state, facts.revision};
}

}  // namespace flowfabric
