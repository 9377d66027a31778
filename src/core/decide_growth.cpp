// Flows that grow: additions from outside and from running nodes, sealing, and waiting for added nodes.
#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/flow_graph.hpp"
#include "core/flow_growth.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

// Members that are loaded together with one that the search for a cycle needs: nodes of a chain often follow each other.
constexpr std::uint32_t search_ahead = 256;
constexpr std::size_t searched_ahead_at_once = 16;

const Execution* live_execution(Workspace& workspace, const Key& key) {
  const Slot* slot = workspace.find(key);
  return slot == nullptr || slot->erased ? nullptr : slot->execution();
}

const FlowRecord* live_flow(Workspace& workspace, const FlowId& id) {
  const Slot* slot = workspace.find(flow_key(id));
  return slot == nullptr || slot->erased ? nullptr : slot->flow();
}

const Execution* live_member(Workspace& workspace, const FlowId& flow, std::uint32_t ordinal) {
  return live_execution(workspace, execution_key(member_id(flow, ordinal)));
}

// The names of the members have no records yet: the flow was submitted whole, and this is its first addition.
bool is_unnamed(const FlowRecord& flow) { return flow.facts.named < flow.facts.members; }

std::optional<std::uint32_t> named_ordinal(Workspace& workspace, const FlowId& flow, const std::string& name) {
  const Slot* slot = workspace.find(flow_name_key(flow, name));
  const auto* record = slot == nullptr || slot->erased ? nullptr : std::get_if<FlowNameRecord>(&slot->record);
  if (record == nullptr) return std::nullopt;
  return record->ordinal;
}

// The members that a growing flow has by name. Of a flow whose names have no records, all members are known.
class MembersByName {
 public:
  MembersByName(Workspace& workspace, const FlowRecord& flow) : workspace_(workspace), flow_(flow) {
    for (std::uint32_t i = 0; is_unnamed(flow) && i < flow.facts.members; ++i) {
      const Execution* member = live_member(workspace, flow.id, i);
      if (member != nullptr) unnamed_.emplace(member->spec.member->node, member);
    }
  }
  const Execution* find(const std::string& name) const {
    if (const auto found = unnamed_.find(name); found != unnamed_.end()) return found->second;
    const auto ordinal = named_ordinal(workspace_, flow_.id, name);
    return ordinal ? live_member(workspace_, flow_.id, *ordinal) : nullptr;
  }

 private:
  Workspace& workspace_;
  const FlowRecord& flow_;
  std::map<std::string, const Execution*> unnamed_;
};

std::optional<std::uint32_t> adder_of(Workspace& workspace, const GrowFlowCommand& command) {
  if (!command.held_under) return std::nullopt;
  const Execution* execution = live_execution(workspace, execution_key(command.held_under->execution_id));
  return execution != nullptr && execution->spec.member ? std::optional(execution->spec.member->ordinal) : std::nullopt;
}

Result<GrowthPlan> plan_of(Workspace& workspace, const FlowRecord& flow, const GrowFlowCommand& command, bool settled) {
  const MembersByName members(workspace, flow);
  return plan_growth(command.addition, {&flow, adder_of(workspace, command),
                                        [&](const std::string& name) { return members.find(name); }, settled});
}

// Whether a member belongs to a later flow than the one that was read before it: another engine has added to the flow in
// between. New nodes would get ordinals that others have.
bool is_newer_than(const FlowRecord& flow, const Execution& execution) {
  const Membership& member = *execution.spec.member;
  const auto is_later = [&](std::uint32_t ordinal) { return ordinal >= flow.facts.members; };
  return is_later(member.ordinal) ||
         std::any_of(member.outgoing.begin(), member.outgoing.end(),
                     [&](const OutgoingEdge& edge) { return is_later(edge.to); }) ||
         std::any_of(member.incoming.begin(), member.incoming.end(),
                     [&](const IncomingEdge& edge) { return is_later(edge.from); });
}

bool mentions_newer(Workspace& workspace, const FlowRecord& flow, const FlowAddition& addition) {
  const MembersByName members(workspace, flow);
  const std::set<std::string> names = names_in(addition);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const Execution* member = members.find(name);
    return member != nullptr && is_newer_than(flow, *member);
  });
}

// Another command of the batch may have read a member that the flow did not have yet.
bool creates_known(Workspace& workspace, const FlowRecord& flow, const GrowthPlan& plan) {
  return std::any_of(plan.created.begin(), plan.created.end(), [&](const Membership& member) {
    return live_member(workspace, flow.id, member.ordinal) != nullptr;
  });
}

// What is decided for a slot by the search rests on the nodes that it visits. A node that is newer than the flow counts as
// unknown.
CycleSearch search_of(Workspace& workspace, const FlowRecord& record, const GrowthPlan& plan,
                      const Slot* decided = nullptr) {
  static const std::vector<OutgoingEdge> none;
  const FlowId& flow = record.id;
  return search_cycle(
      plan,
      [&](std::uint32_t ordinal) -> const std::vector<OutgoingEdge>* {
        if (!workspace.knows(execution_key(member_id(flow, ordinal)))) return nullptr;
        if (decided != nullptr) (void)read_member(workspace, *decided, flow, ordinal);
        const Execution* member = live_member(workspace, flow, ordinal);
        if (member != nullptr && is_newer_than(record, *member)) return nullptr;
        return member == nullptr ? &none : &member->spec.member->outgoing;
      },
      [&](std::uint32_t ordinal) {
        const Execution* member = live_member(workspace, flow, ordinal);
        return member != nullptr && !member->spec.member->incoming.empty();
      });
}

void add_search_keys(Workspace& workspace, const FlowRecord& flow, const GrowthPlan& plan, std::vector<Key>& keys) {
  std::set<std::uint32_t> wanted;
  const CycleSearch search = search_of(workspace, flow, plan);
  if (search.too_large || !search.cycle.empty()) return;
  for (const std::uint32_t ordinal : search.unknown) {
    const bool ahead = wanted.size() < searched_ahead_at_once * search_ahead;
    const std::uint32_t end = std::min(ordinal + (ahead ? search_ahead : 1), flow.facts.members);
    for (std::uint32_t i = ordinal; i < end; ++i) wanted.insert(i);
  }
  for (const std::uint32_t ordinal : wanted) keys.push_back(execution_key(member_id(flow.id, ordinal)));
}

bool knows_all(const Workspace& workspace, const std::vector<Key>& keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const Key& key) { return workspace.knows(key); });
}

// The records of the nodes that the addition mentions.
void add_member_keys(Workspace& workspace, const FlowRecord& flow, const std::set<std::string>& names,
                     std::vector<Key>& keys) {
  if (is_unnamed(flow)) {
    for (std::uint32_t i = 0; i < flow.facts.members; ++i) keys.push_back(execution_key(member_id(flow.id, i)));
    return;
  }
  for (const std::string& name : names) {
    keys.push_back(flow_name_key(flow.id, name));
    if (const auto ordinal = named_ordinal(workspace, flow.id, name)) {
      keys.push_back(execution_key(member_id(flow.id, *ordinal)));
    }
  }
}

std::optional<FlowId> flow_of_command(Workspace& workspace, const GrowFlowCommand& command) {
  if (!command.held_under) return command.id;
  const Execution* execution = live_execution(workspace, execution_key(command.held_under->execution_id));
  if (execution == nullptr || !execution->spec.member) return std::nullopt;
  return flow_of(*execution);
}

Result<void> check_takes_more(const FlowRecord& flow, bool from_inside) {
  const FlowState state = flow.facts.state;
  const std::string text = "flow " + to_string(flow.id);
  // To a running node this is no end of its own.
  if (has_ended(state) && from_inside) {
    return fail(Errc::not_eligible, text + " has ended and takes no more nodes", "flow_id");
  }
  if (has_ended(state)) {
    Error error{Errc::already_terminal,
                text + " has ended: " + std::string(to_string(state)),
                {},
                {{"outcome", std::string(to_string(state))}}};
    return Unexpected(std::move(error));
  }
  if (state == FlowState::cancelling) {
    return fail(Errc::not_eligible, text + " is being cancelled and takes no more nodes", "flow_id");
  }
  // The edges of its last stage are those that the graph had at its beginning.
  if (flow.facts.replay) return fail(Errc::contended, "a replay of the flow is being prepared; try again in a moment");
  if (state != FlowState::building && !from_inside) {
    return fail(Errc::conflict, text + " is sealed; only its running nodes can add to it", "flow_id");
  }
  return {};
}

// The flow is not as it was read, or nodes of it are not. If it is the flow, its version refuses the commit, and the command
// is decided again by newer records.
Unexpected<Error> refuse_as_changed(Slot& flow) {
  flow.changed = true;
  return fail(Errc::contended, "nodes of the flow have changed meanwhile; try again");
}

Result<void> check_search(Workspace& workspace, Slot& slot, const GrowthPlan& plan) {
  constexpr std::size_t named = 12;
  const FlowRecord& flow = *slot.flow();
  const CycleSearch search = search_of(workspace, flow, plan, &slot);
  if (search.too_large) {
    return fail(Errc::invalid_argument,
                "edges: more than " + std::to_string(limits::max_flow_search) +
                    " nodes are behind those that get an edge, too many to look for a cycle among them",
                "edges");
  }
  // A search that could not go on has found nothing out.
  if (search.cycle.empty() && !search.unknown.empty()) return refuse_as_changed(slot);
  if (search.cycle.empty()) return {};
  const auto name_of = [&](std::uint32_t ordinal) -> std::string {
    for (const Membership& member : plan.created) {
      if (member.ordinal == ordinal) return "\"" + member.node + "\"";
    }
    const Execution* member = live_member(workspace, flow.id, ordinal);
    return member == nullptr ? "#" + std::to_string(ordinal) : "\"" + member->spec.member->node + "\"";
  };
  std::string text;
  for (std::size_t i = 0; i < std::min(search.cycle.size(), named); ++i) text += name_of(search.cycle[i]) + " -> ";
  if (search.cycle.size() > named) text += "... (" + std::to_string(search.cycle.size()) + " nodes) -> ";
  return fail(Errc::invalid_argument,
              "edges: the nodes depend on each other in a cycle: " + text + name_of(search.cycle.front()), "edges");
}

// ---- Applying

// A record that is new in this batch is written with all its edges at once.
void grow_member(Slot& slot, const MemberGrowth& growth) {
  Execution& execution = *slot.execution();
  FF_CHECK(grow(*execution.spec.member, growth));
  MemberFacts& facts = *execution.facts.member;
  facts.groups.resize(execution.spec.member->groups.size());
  const bool joins = std::any_of(growth.incoming.begin(), growth.incoming.end(),
                                 [](const IncomingEdge& edge) { return edge.kind == EdgeKind::join; });
  if (slot.version == 0 && !joins) return;
  if (!facts.growth) facts.growth.emplace();
  if (slot.version == 0) return;
  MemberGrowth& all = *facts.growth;
  all.outgoing.insert(all.outgoing.end(), growth.outgoing.begin(), growth.outgoing.end());
  all.incoming.insert(all.incoming.end(), growth.incoming.begin(), growth.incoming.end());
  all.groups.insert(all.groups.end(), growth.groups.begin(), growth.groups.end());
}

// Beside the edges of dependencies: a node that could have been claimed has to wait now, and the group of join edges, whose
// edges may all have arrived, is open again.
void note_incoming(Slot& slot, const MemberGrowth& growth, const Context& context) {
  Facts& facts = slot.execution()->facts;
  bool waits = false;
  for (const IncomingEdge& edge : growth.incoming) {
    if (edge.kind != EdgeKind::join)
      waits = true;
    else
      facts.member->groups[edge.group].state = GroupState::waiting;
  }
  if (!waits || (facts.gates & dependency_gate) != 0) return;
  Transition transition(slot, context);
  facts.gates |= dependency_gate;
  facts.ready_sequence = 0;
  transition.record(EventType::held_back, "flow", "edge_added");
}

std::string counted(std::size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

class Growing {
 public:
  Growing(Workspace& workspace, Slot& flow, const GrowFlowCommand& command, const Context& context)
      : workspace_(workspace), slot_(flow), flow_(*flow.flow()), command_(command), context_(context) {}

  Result<void> create(const GrowthPlan& plan) {
    std::vector<CreateRequest> requests;
    for (const std::size_t i : plan.created_from) {
      FF_TRY(request, member_request(command_.addition.nodes[i], flow_.spec));
      FF_TRY_VOID(check_accepts(workspace_, request, context_));
      requests.push_back(std::move(request));
    }
    FF_CHECK(requests.size() == plan.created.size());
    name_all();
    for (std::size_t i = 0; i < requests.size(); ++i) create_member(plan.created[i], requests[i]);
    return {};
  }

  void connect(const GrowthPlan& plan) {
    for (const auto& [ordinal, growth] : plan.grown) {
      Slot& member = workspace_.at(execution_key(member_id(flow_.id, ordinal)));
      grow_member(member, growth);
      note_incoming(member, growth, context_);
      Transition(member, context_).touch();
      workspace_.tie(slot_, member);
    }
    // Once every node has all its edges.
    for (const auto& [ordinal, growth] : plan.grown) resolve_late(ordinal, growth);
  }

  void count(const GrowthPlan& plan, const std::string& actor) {
    FlowFacts& facts = flow_.facts;
    facts.members += static_cast<std::uint32_t>(plan.created.size());
    facts.named = facts.members;
    facts.added_edges += plan.added_edges;
    facts.sinks = sinks_after(plan);
    ++facts.revision;
    record_flow_event(slot_, EventType::flow_extended, actor,
                      counted(plan.created.size(), "node") + ", " + counted(plan.added_edges, "edge"), context_);
  }

 private:
  void name_all() {
    if (!is_unnamed(flow_)) return;
    for (std::uint32_t i = 0; i < flow_.facts.members; ++i) {
      const Execution* member = live_member(workspace_, flow_.id, i);
      if (member != nullptr) name_member(workspace_, slot_, member->spec.member->node, i);
    }
  }

  void create_member(const Membership& member, const CreateRequest& request) {
    const ExecutionId id = member_id(flow_.id, member.ordinal);
    workspace_.note_looked_up(execution_key(id));  // the flow is guarded, and has no member with this ordinal
    Slot& slot = create_execution(workspace_, id, request, request_digest(request), context_, &flow_.id.uuid, &member);
    workspace_.tie(slot_, slot);
    name_member(workspace_, slot_, member.node, member.ordinal);
    register_lane(workspace_, request.lane, request.creator, context_.now);
  }

  // Edges of a node that has been counted. A node whose edges are being resolved comes to its new ones by itself.
  void resolve_late(std::uint32_t ordinal, const MemberGrowth& growth) {
    Slot& member = workspace_.at(execution_key(member_id(flow_.id, ordinal)));
    Facts& facts = member.execution()->facts;
    if (facts.phase != Phase::terminal || facts.member->unresolved) return;
    facts.member->resolved = static_cast<std::uint32_t>(member.execution()->spec.member->outgoing.size());
    for (const OutgoingEdge& edge : growth.outgoing) resolve_late_edge(workspace_, member, edge, context_);
  }

  std::vector<std::uint32_t> sinks_after(const GrowthPlan& plan) const {
    std::vector<std::uint32_t> sinks = flow_.facts.sinks.value_or(flow_.spec.sinks);
    std::erase_if(sinks, [&](std::uint32_t ordinal) {
      const auto grown = plan.grown.find(ordinal);
      return grown != plan.grown.end() && !grown->second.outgoing.empty();
    });
    for (const std::uint32_t ordinal : sinks_among(plan.created)) {
      if (sinks.size() < limits::max_flow_outputs) sinks.push_back(ordinal);
    }
    return sinks;
  }

  Workspace& workspace_;
  Slot& slot_;
  FlowRecord& flow_;
  const GrowFlowCommand& command_;
  const Context& context_;
};

FlowAdded added_reply(const FlowRecord& flow, const FlowAddition& addition, const GrowthPlan& plan) {
  FlowAdded reply;
  reply.flow_id = flow.id;
  reply.state = flow.facts.state;
  reply.revision = flow.facts.revision;
  reply.added_nodes = static_cast<std::uint32_t>(plan.created.size());
  reply.added_edges = plan.added_edges;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    reply.nodes.push_back({addition.nodes[i].name, member_id(flow.id, plan.nodes[i])});
  }
  return reply;
}

// Time catches up with the nodes that the addition mentions: one may have expired meanwhile.
void settle_mentioned(Workspace& workspace, const FlowRecord& flow, const FlowAddition& addition,
                      const Context& context) {
  const MembersByName members(workspace, flow);
  for (const std::string& name : names_in(addition)) {
    const Execution* member = members.find(name);
    if (member != nullptr) settle(workspace.at(execution_key(member->id)), context);
  }
}

// The running node that adds, with its lease checked; null: the addition comes from outside.
Result<Slot*> checked_adder(Workspace& workspace, const GrowFlowCommand& command, const Context& context) {
  if (!command.held_under) return nullptr;
  FF_TRY(slot, settled_execution(workspace, command.held_under->execution_id, context));
  FF_TRY_VOID(check_fence(*slot->execution(), *command.held_under));
  if (slot->execution()->spec.member) return slot;
  return fail(Errc::unsupported, "the execution belongs to no flow; only a node of a flow can add nodes");
}

std::string joined_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (text.size() > limits::max_reason_bytes / 2) return text + ", ...";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::uint64_t digest_of_names(const std::vector<std::string>& names) {
  Encoder out;
  for (const std::string& name : names) out.text(name);
  return digest64(out.take());
}

// Of the names, those whose join edges have not arrived.
Result<std::vector<std::uint32_t>> not_joined(Workspace& workspace, const Execution& execution,
                                              const std::vector<std::string>& names) {
  std::set<std::uint32_t> sources;
  for (const IncomingEdge& edge : execution.spec.member->incoming) {
    if (edge.kind == EdgeKind::join) sources.insert(edge.from);
  }
  std::set<std::uint32_t> wanted;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto ordinal = named_ordinal(workspace, flow_of(execution), names[i]);
    if (ordinal && sources.contains(*ordinal)) {
      wanted.insert(*ordinal);
      continue;
    }
    const std::string field = "names[" + std::to_string(i) + "]";
    return fail(
        Errc::invalid_argument,
        field + ": no join edge leads from node \"" + names[i] + "\" to node \"" + execution.spec.member->node + "\"",
        field);
  }
  if (execution.facts.member->growth) {
    for (const std::uint32_t ordinal : execution.facts.member->growth->joined) wanted.erase(ordinal);
  }
  return std::vector<std::uint32_t>(wanted.begin(), wanted.end());
}

}  // namespace

std::vector<Key> grow_flow_needs(Workspace& workspace, const GrowFlowCommand& command) {
  std::vector<Key> keys;
  if (command.held_under) keys.push_back(execution_key(command.held_under->execution_id));
  std::set<std::string> lanes;
  for (const FlowNode& node : command.addition.nodes) lanes.insert(node.request.lane);
  for (const std::string& lane : lanes) keys.push_back(lane_key(lane));
  const auto id = flow_of_command(workspace, command);
  if (!id) return keys;
  keys.push_back(flow_key(*id));
  const FlowRecord* flow = live_flow(workspace, *id);
  if (flow == nullptr) return keys;
  keys.push_back(namespace_key(flow->spec.name_space));
  add_member_keys(workspace, *flow, names_in(command.addition), keys);
  if (!knows_all(workspace, keys)) return keys;
  const auto plan = plan_of(workspace, *flow, command, false);
  if (plan) add_search_keys(workspace, *flow, *plan, keys);
  return keys;
}

std::vector<Key> join_nodes_needs(Workspace& workspace, const JoinNodesCommand& command) {
  std::vector<Key> keys = {execution_key(command.fence.execution_id)};
  const Execution* execution = live_execution(workspace, keys.front());
  if (execution == nullptr || !execution->spec.member) return keys;
  for (const std::string& name : command.names) keys.push_back(flow_name_key(flow_of(*execution), name));
  return keys;
}

Result<Reply> decide_one(Workspace& workspace, const GrowFlowCommand& command, const Context& context) {
  FF_TRY(adder, checked_adder(workspace, command, context));
  FF_TRY(slot, existing_flow(workspace, adder != nullptr ? flow_of(*adder->execution()) : command.id));
  FlowRecord& flow = *slot->flow();
  if (mentions_newer(workspace, flow, command.addition)) return refuse_as_changed(*slot);
  settle_mentioned(workspace, flow, command.addition, context);
  const auto plan = plan_of(workspace, flow, command, true);
  // A repetition is answered whatever has become of the flow.
  if (plan && plan->changes_nothing()) return added_reply(flow, command.addition, *plan);
  FF_TRY_VOID(check_takes_more(flow, adder != nullptr));
  if (!plan) return Unexpected(plan.error());
  if (creates_known(workspace, flow, *plan)) return refuse_as_changed(*slot);
  FF_TRY_VOID(check_search(workspace, *slot, *plan));
  Growing growing(workspace, *slot, command, context);
  FF_TRY_VOID(growing.create(*plan));
  growing.connect(*plan);
  std::string actor = command.by.name;
  if (adder != nullptr) {
    FF_CHECK(adder->execution()->facts.lease.has_value());
    actor = adder->execution()->facts.lease->worker_instance_id;
    // Its lease is guarded together with what it adds.
    Transition(*adder, context).touch();
    workspace.tie(*slot, *adder);
  }
  growing.count(*plan, actor);
  return added_reply(flow, command.addition, *plan);
}

Result<Reply> decide_one(Workspace& workspace, const SealFlowCommand& command, const Context& context) {
  FF_TRY(slot, existing_flow(workspace, command.id));
  FlowFacts& facts = slot->flow()->facts;
  if (facts.state != FlowState::building) return FlowSealed{command.id, facts.state, true};
  facts.state = FlowState::running;
  record_flow_event(*slot, EventType::flow_sealed, command.by.name, command.by.reason, context);
  if (facts.ended() == facts.members) end_with_members(*slot, context);
  return FlowSealed{command.id, facts.state, false};
}

Result<Reply> decide_one(Workspace& workspace, const JoinNodesCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  Release release = release_of(command.fence, Release::Operation::join, digest_of_names(command.names));
  if (is_repeat(slot->execution()->facts, release)) return FlowJoinReply{false};
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));
  if (!slot->execution()->spec.member) {
    return fail(Errc::unsupported, "the execution belongs to no flow; only a node of a flow can wait for nodes");
  }
  FF_TRY(open, not_joined(workspace, *slot->execution(), command.names));
  if (open.empty()) return FlowJoinReply{true};
  Transition transition(*slot, context);
  Facts& facts = transition.facts();
  const std::string actor = facts.lease->worker_instance_id;
  facts.gates |= dependency_gate;
  facts.member->growth->awaits = std::move(open);
  put_attempt_aside(transition, 0);
  facts.release = std::move(release);
  transition.record(EventType::joining, actor, joined_names(command.names));
  return FlowJoinReply{false};
}

}  // namespace flowfabric
