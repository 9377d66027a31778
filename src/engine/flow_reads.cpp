// Reads of flows. Ids of members are computed, so the nodes of a flow are loaded by their ordinals, page by page.
#include <algorithm>
#include <charconv>
#include <set>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/counts.hpp"
#include "core/ingress.hpp"
#include "core/state.hpp"
#include "engine/flow_inputs.hpp"
#include "engine/reads.hpp"

namespace flowfabric::reads {
namespace {

constexpr std::uint32_t graph_page = 1000;
constexpr std::size_t max_named_winners = 100;

using Members = std::map<std::uint32_t, Execution>;

// Damaged and missing members are left out.
Result<void> load_members(Store& store, const FlowId& flow, const std::set<std::uint32_t>& ordinals, Members& members) {
  std::vector<Key> keys;
  for (const std::uint32_t ordinal : ordinals) {
    if (!members.contains(ordinal)) keys.push_back(execution_key(member_id(flow, ordinal)));
  }
  for (std::size_t first = 0; first < keys.size(); first += graph_page) {
    const std::size_t end = std::min<std::size_t>(first + graph_page, keys.size());
    FF_TRY(records, store.load({keys.begin() + static_cast<std::ptrdiff_t>(first),
                                keys.begin() + static_cast<std::ptrdiff_t>(end)}));
    for (const Record& record : records) {
      auto execution = decode_execution(record);
      if (!execution || !execution->spec.member) continue;
      const std::uint32_t ordinal = execution->spec.member->ordinal;
      members.emplace(ordinal, std::move(*execution));
    }
  }
  return {};
}

Result<Members> load_range(Store& store, const FlowRecord& flow, std::uint32_t from, std::uint32_t limit) {
  std::set<std::uint32_t> ordinals;
  const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{from} + limit, flow.facts.members);
  for (std::uint64_t i = from; i < end; ++i) ordinals.insert(static_cast<std::uint32_t>(i));
  Members members;
  FF_TRY_VOID(load_members(store, flow.id, ordinals, members));
  return members;
}

std::string name_of(const Members& members, std::uint32_t ordinal) {
  const auto found = members.find(ordinal);
  return found == members.end() ? "#" + std::to_string(ordinal) : found->second.spec.member->node;
}

// An edge whose upstream node has ended is still open until the clock has resolved it.
bool is_resolved(const Execution& upstream, std::size_t position) {
  return upstream.facts.phase == Phase::terminal && position < upstream.facts.member->resolved;
}

bool is_open(const Execution& upstream, const Execution& downstream, std::uint32_t group) {
  const auto& outgoing = upstream.spec.member->outgoing;
  for (std::size_t i = 0; i < outgoing.size(); ++i) {
    if (outgoing[i].to == downstream.spec.member->ordinal && outgoing[i].group == group)
      return !is_resolved(upstream, i);
  }
  return false;
}

EdgeState edge_state(const Execution& upstream, std::size_t position) {
  if (!is_resolved(upstream, position)) return EdgeState::waiting;
  const Ending ending = ending_of(upstream.facts.outcome, upstream.facts.member->withdrawn);
  return edge_verdict(upstream.spec.member->outgoing[position].kind, ending, upstream.facts.member->unhandled);
}

bool waits(const Execution& execution) { return (execution.facts.gates & dependency_gate) != 0; }

// The members that the description of a node names.
void add_named(const Execution& execution, std::set<std::uint32_t>& ordinals) {
  for (const GroupTally& tally : execution.facts.member->groups) {
    for (std::size_t i = 0; i < std::min(tally.winners.size(), max_named_winners); ++i)
      ordinals.insert(tally.winners[i]);
  }
  if (!waits(execution)) return;
  std::size_t named = 0;
  for (const IncomingEdge& edge : execution.spec.member->incoming) {
    if (++named > limits::max_explained_edges) break;
    ordinals.insert(edge.from);
  }
}

FlowGroupInfo group_info(const IncomingGroup& group, const GroupTally& tally, const Members& members) {
  FlowGroupInfo info{group.name,          group.policy, group.needed, group.edges, tally.satisfied,
                     tally.unsatisfiable, tally.state,  group.rest,   {}};
  if (group.policy == GroupPolicy::gather) return info;
  for (std::size_t i = 0; i < std::min(tally.winners.size(), max_named_winners); ++i) {
    info.winners.push_back(name_of(members, tally.winners[i]));
  }
  return info;
}

FlowNodeInfo node_info(const Execution& execution, const Members& members) {
  const Membership& member = *execution.spec.member;
  FlowNodeInfo info;
  info.name = member.node;
  info.ordinal = member.ordinal;
  info.execution_id = execution.id;
  info.kind = execution.spec.kind;
  info.lane = execution.spec.lane;
  info.public_state = public_state(execution.facts);
  info.started_at = execution.facts.started_at;
  info.finished_at = execution.facts.finished_at;
  info.attempt_count = execution.facts.attempt_count;
  if (execution.facts.outcome == Outcome::failed) info.failure = execution.facts.failure;
  for (std::size_t i = 0; i < member.groups.size(); ++i) {
    info.groups.push_back(group_info(member.groups[i], execution.facts.member->groups[i], members));
  }
  if (!waits(execution)) return info;
  for (const IncomingEdge& edge : member.incoming) {
    const auto upstream = members.find(edge.from);
    if (upstream == members.end() || info.waits_for.size() >= limits::max_explained_edges) continue;
    if (is_open(upstream->second, execution, edge.group)) info.waits_for.push_back(upstream->second.spec.member->node);
  }
  return info;
}

void add_edges(const Execution& execution, const Members& members, std::vector<FlowEdgeInfo>& edges) {
  const auto& outgoing = execution.spec.member->outgoing;
  for (std::size_t i = 0; i < outgoing.size(); ++i) {
    const OutgoingEdge& edge = outgoing[i];
    const auto target = members.find(edge.to);
    std::string group;
    if (target != members.end()) {
      const auto& groups = target->second.spec.member->groups;
      // It was read before the edge was added.
      if (edge.group < groups.size()) group = groups[edge.group].name;
    }
    edges.push_back({execution.spec.member->node, name_of(members, edge.to), edge.kind, std::move(group),
                     edge_state(execution, i)});
  }
}

// A position among the nodes.
Result<std::uint32_t> ordinal_cursor(const std::string& cursor) {
  if (cursor.empty()) return 0U;
  std::uint32_t ordinal = 0;
  const char* end = cursor.data() + cursor.size();
  const auto [stopped, problem] = std::from_chars(cursor.data(), end, ordinal);
  if (problem == std::errc{} && stopped == end) return ordinal;
  const Error error = bad_cursor();
  return fail(error.code, error.message, error.field);
}

std::string next_ordinal(const FlowRecord& flow, std::uint32_t from, std::uint32_t limit) {
  const std::uint64_t next = std::uint64_t{from} + limit;
  return next < flow.facts.members ? std::to_string(next) : std::string();
}

FlowSummary damaged_flow(const ListedRecord& listed, const Error& error) {
  FlowSummary summary;
  if (listed.record.key.bytes.size() == execution_key_bytes) summary.flow_id = flow_id_of(listed.record.key);
  summary.created_at = listed.created_at;
  if (listed.state <= static_cast<std::uint8_t>(FlowState::cancelled)) {
    summary.state = static_cast<FlowState>(listed.state);
  }
  summary.damage = error.message;
  return summary;
}

Result<bool> has_member(Store& store, const FlowRecord& flow, const std::vector<PublicState>& states) {
  ListQuery query;
  query.flow = std::string(reinterpret_cast<const char*>(flow.id.uuid.bytes.data()), flow.id.uuid.bytes.size());
  query.name_space = flow.spec.name_space;
  for (const PublicState state : states) query.states.push_back(static_cast<std::uint8_t>(state));
  query.limit = 1;
  FF_TRY(found, store.list(query));
  return !found.empty();
}

FlowFailure failure_of(const FlowRecord& flow, const FlowFirstFailure& failure) {
  return {failure.node, member_id(flow.id, failure.ordinal), failure.outcome, failure.category};
}

std::string cause_text(CancelCause cause) {
  switch (cause) {
    case CancelCause::by_operator: return "operator";
    case CancelCause::failure: return "failure";
    case CancelCause::deadline: return "deadline";
  }
  return {};
}

// What holds a flow back that has not ended.
Result<std::vector<Reason>> explain_flow(Store& store, const FlowRecord& flow, FlowState& state) {
  const FlowFacts& facts = flow.facts;
  const std::string open = std::to_string(facts.members - facts.ended()) + " of " + std::to_string(facts.members);
  std::vector<Reason> reasons;
  if (facts.replay) reasons.push_back({"preparing_replay", "The nodes that run again are being prepared.", 0});
  if (facts.state == FlowState::cancelling) {
    reasons.push_back(
        {"cancelling",
         "It is being cancelled (" + cause_text(facts.cancel->cause) + "); " + open + " nodes have not ended.", 0});
  }
  if (facts.state == FlowState::building) {
    reasons.push_back({"building", "It is open: nodes can be added until it is sealed.", 0});
  }
  FF_TRY(runs, has_member(store, flow, {PublicState::active}));
  FF_TRY(ready, has_member(store, flow, {PublicState::waiting, PublicState::resumable}));
  if (runs) reasons.push_back({"running", "Workers run nodes of it; " + open + " have not ended.", 0});
  if (ready) reasons.push_back({"waiting_for_worker", "Nodes of it wait for a worker.", 0});
  if (runs || ready || facts.state != FlowState::running) return reasons;
  state = FlowState::blocked;
  FF_TRY(delayed, has_member(store, flow, {PublicState::delayed, PublicState::suspended}));
  reasons.push_back(delayed ? Reason{"waiting_for_delay", "All nodes that could run are delayed or suspended.", 0}
                            : Reason{"resolving", "The edges of nodes that have ended are being resolved.", 0});
  return reasons;
}

}  // namespace

Result<FlowRecord> load_flow(Store& store, const FlowId& id) {
  FF_TRY_VOID(admit_flow_id(id));
  FF_TRY(records, store.load({flow_key(id)}));
  if (records.empty()) return fail(Errc::not_found, "there is no flow " + to_string(id), "flow_id");
  auto flow = decode_flow(records.front());
  if (flow) return flow;
  return fail(Errc::corruption, "flow " + to_string(id) + " is damaged: " + flow.error().message);
}

Result<ReplayFlowCommand> replay_command(Store& store, const FlowId& id, const FlowReplayRequest& request,
                                         Operator by) {
  if (request.node.empty()) {
    FF_TRY_VOID(admit_flow_id(id));
    if (request.descendants) return ReplayFlowCommand{id, std::nullopt, true, std::move(by)};
    return fail(Errc::invalid_argument, "node: is missing; only one node can be replayed without those behind it",
                "node");
  }
  FF_TRY(flow, load_flow(store, id));
  for (std::uint32_t from = 0; from < flow.facts.members; from += graph_page) {
    FF_TRY(page, load_range(store, flow, from, graph_page));
    for (const auto& [ordinal, execution] : page) {
      if (execution.spec.member->node != request.node) continue;
      return ReplayFlowCommand{id, ordinal, request.descendants, std::move(by)};
    }
  }
  return fail(Errc::not_found, "node: flow " + to_string(id) + " has no node \"" + request.node + "\"", "node");
}

Result<FlowDescription> describe_flow(Store& store, const FlowId& id) {
  FF_TRY(flow, load_flow(store, id));
  const FlowFacts& facts = flow.facts;
  FlowDescription out;
  out.summary = summarize(flow);
  out.creator = flow.spec.creator;
  out.failure_policy = flow.spec.failure_policy;
  out.revision = facts.revision;
  out.edge_count = flow.spec.edge_count + facts.added_edges;
  // The deadline of a replayed flow counts from the replay; one that has passed is not in the facts any more.
  if (flow.spec.deadline_span_ms != 0) out.deadline_at = flow.spec.created_at + flow.spec.deadline_span_ms;
  if (facts.deadline_at != 0) out.deadline_at = facts.deadline_at;
  out.last_mutation_at = facts.last_mutation_at;
  out.retain_until = facts.retain_until;
  out.unhandled_failures = facts.unhandled;
  if (facts.first_failure) out.first_failure = failure_of(flow, *facts.first_failure);
  if (const auto& cancel = facts.cancel) {
    out.cancellation = FlowCancellation{cancel->policy, cancel->run_cleanup, cause_text(cancel->cause),
                                        cancel->by,     cancel->reason,      cancel->at};
  }
  if (has_ended(facts.state)) return out;
  FF_TRY(reasons, explain_flow(store, flow, out.summary.state));
  out.explain = std::move(reasons);
  return out;
}

// The flow node whose output the node is.
static std::optional<std::uint32_t> output_of(const Membership& member) {
  const auto& outgoing = member.outgoing;
  if (outgoing.size() != 1 || outgoing.front().kind != EdgeKind::output) return std::nullopt;
  return outgoing.front().to;
}

// The nodes whose results are those of the flow. A flow node can get an outgoing edge after it was added; the nodes in it were
// listed before.
static Result<Members> load_outputs(Store& store, const FlowRecord& flow) {
  const std::vector<std::uint32_t>& listed = flow.facts.sinks ? *flow.facts.sinks : flow.spec.sinks;
  Members members;
  std::set<std::uint32_t> wanted(listed.begin(), listed.end());
  while (!wanted.empty()) {
    FF_TRY_VOID(load_members(store, flow.id, wanted, members));
    std::set<std::uint32_t> around;
    for (const std::uint32_t ordinal : wanted) {
      const auto found = members.find(ordinal);
      const auto flow_node = found == members.end() ? std::nullopt : output_of(*found->second.spec.member);
      if (flow_node) around.insert(*flow_node);
    }
    wanted = std::move(around);
  }
  std::set<std::uint32_t> outputs;
  for (const std::uint32_t ordinal : listed) {
    auto at = members.find(ordinal);
    while (at != members.end() && output_of(*at->second.spec.member))
      at = members.find(*output_of(*at->second.spec.member));
    if (at == members.end() || at->second.spec.member->outgoing.empty()) outputs.insert(ordinal);
  }
  std::erase_if(members, [&](const auto& one) { return !outputs.contains(one.first); });
  return members;
}

Result<FlowResult> flow_result(Store& store, const FlowRecord& flow) {
  FlowResult out;
  const FlowSummary summary = summarize(flow);
  out.flow_id = flow.id;
  out.state = summary.state;
  out.counts = summary.counts;
  out.finished_at = summary.finished_at;
  if (flow.facts.first_failure) out.first_failure = failure_of(flow, *flow.facts.first_failure);
  FF_TRY(outputs, load_outputs(store, flow));
  std::size_t bytes = 0;
  for (const auto& [ordinal, execution] : outputs) {
    FlowOutput output{execution.spec.member->node, execution.id, execution.facts.outcome, {}, {}, false};
    FF_TRY(result, result_of(store, execution));
    output.result_encoding = result.result_encoding;
    output.by_reference = bytes + result.result.size() > limits::max_claim_bytes;
    if (!output.by_reference) {
      bytes += result.result.size();
      output.result = std::move(result.result);
    }
    out.outputs.push_back(std::move(output));
  }
  return out;
}

Result<ListFlowsReply> flows(Store& store, const ListFlowsRequest& request) {
  FF_TRY_VOID(admit(request));
  ListQuery query;
  query.record_kind = RecordKind::flow;
  query.name_space = request.name_space;
  query.kind = request.kind;
  for (const FlowState state : request.states) query.states.push_back(static_cast<std::uint8_t>(state));
  if (request.tag) query.tag = request.tag->first + "=" + request.tag->second;
  query.created_from = request.created_from;
  query.created_before = request.created_before;
  query.finished_from = request.finished_from;
  query.finished_before = request.finished_before;
  query.limit = request.limit + 1;  // one more than asked for tells whether there is more
  if (!request.cursor.empty()) {
    FF_TRY(position, decode_list_cursor(request.cursor));
    query.after = std::move(position);
  }
  FF_TRY(found, store.list(query));
  const bool more = found.size() > request.limit;
  if (more) found.pop_back();
  ListFlowsReply reply;
  for (const ListedRecord& listed : found) {
    const auto flow = decode_flow(listed.record);
    reply.flows.push_back(flow ? summarize(*flow) : damaged_flow(listed, flow.error()));
  }
  if (more) reply.next_cursor = encode_cursor({found.back().created_at, found.back().record.key});
  return reply;
}

Result<FlowNodesReply> flow_nodes(Store& store, const FlowId& id, const std::string& cursor, std::uint32_t limit) {
  FF_TRY_VOID(admit_limit(limit));
  FF_TRY(from, ordinal_cursor(cursor));
  FF_TRY(flow, load_flow(store, id));
  FF_TRY(page, load_range(store, flow, from, limit));
  std::set<std::uint32_t> named;
  for (const auto& [ordinal, execution] : page) add_named(execution, named);
  Members members = page;
  FF_TRY_VOID(load_members(store, id, named, members));
  FlowNodesReply reply;
  for (const auto& [ordinal, execution] : page) reply.nodes.push_back(node_info(execution, members));
  reply.next_cursor = next_ordinal(flow, from, limit);
  return reply;
}

Result<FlowEdgesReply> flow_edges(Store& store, const FlowId& id, const std::string& cursor, std::uint32_t limit) {
  FF_TRY_VOID(admit_limit(limit));
  FF_TRY(from, ordinal_cursor(cursor));
  FF_TRY(flow, load_flow(store, id));
  FF_TRY(page, load_range(store, flow, from, limit));
  std::set<std::uint32_t> targets;
  for (const auto& [ordinal, execution] : page) {
    for (const OutgoingEdge& edge : execution.spec.member->outgoing) targets.insert(edge.to);
  }
  Members members = page;
  FF_TRY_VOID(load_members(store, id, targets, members));
  FlowEdgesReply reply;
  for (const auto& [ordinal, execution] : page) add_edges(execution, members, reply.edges);
  reply.next_cursor = next_ordinal(flow, from, limit);
  return reply;
}

namespace {

// Of two ended nodes. Several may end in one millisecond: then the one that started later, or depends on the other.
bool ended_later(const Execution& a, const Execution& b) {
  const auto times = [](const Facts& facts) { return std::pair(facts.finished_at, facts.started_at); };
  if (times(a.facts) != times(b.facts)) return times(a.facts) > times(b.facts);
  const auto& incoming = a.spec.member->incoming;
  return std::any_of(incoming.begin(), incoming.end(),
                     [&](const IncomingEdge& edge) { return edge.from == b.spec.member->ordinal; });
}

// From the node that ended last, or runs, back to the upstream node that ended last before it, and so on.
std::vector<std::string> critical_path(const Members& members) {
  const Execution* at = nullptr;
  for (const auto& [ordinal, execution] : members) {
    if (execution.facts.started_at == 0) continue;
    const bool runs = execution.facts.phase != Phase::terminal;
    if (at == nullptr) {
      at = &execution;
      continue;
    }
    const bool best_runs = at->facts.phase != Phase::terminal;
    const bool later = runs == best_runs
                           ? (runs ? execution.facts.started_at < at->facts.started_at : ended_later(execution, *at))
                           : runs;
    if (later) at = &execution;
  }
  std::vector<std::string> path;
  while (at != nullptr) {
    path.push_back(at->spec.member->node);
    const Execution* before = nullptr;
    // A node that is a flow never starts; its end counts.
    const TimestampMs began = at->facts.started_at != 0 ? at->facts.started_at : at->facts.finished_at;
    for (const IncomingEdge& edge : at->spec.member->incoming) {
      const auto upstream = members.find(edge.from);
      if (upstream == members.end() || upstream->second.facts.phase != Phase::terminal) continue;
      if (upstream->second.facts.finished_at > began) continue;
      if (before == nullptr || upstream->second.facts.finished_at > before->facts.finished_at)
        before = &upstream->second;
    }
    at = before;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

Result<FlowGraph> flow_graph(Store& store, const FlowId& id) {
  FF_TRY(flow, load_flow(store, id));
  if (flow.facts.members > limits::max_graph_nodes) {
    return fail(Errc::unsupported,
                "the flow has " + std::to_string(flow.facts.members) + " nodes; graphs of up to " +
                    std::to_string(limits::max_graph_nodes) + " nodes are read whole: list its nodes and edges instead",
                "flow_id");
  }
  FF_TRY(members, load_range(store, flow, 0, flow.facts.members));
  FlowGraph graph;
  graph.summary = summarize(flow);
  for (const auto& [ordinal, execution] : members) {
    graph.nodes.push_back(node_info(execution, members));
    add_edges(execution, members, graph.edges);
  }
  graph.critical_path = critical_path(members);
  return graph;
}

Result<std::map<FlowState, std::uint64_t>> flow_counts(Store& store) {
  FF_TRY(rows, store.counters(counter_prefix(RecordKind::flow, std::nullopt)));
  std::map<FlowState, std::uint64_t> counts;
  for (const Counter& row : rows) {
    const auto counted = decode_counter(row.name);
    if (!counted || counted->state > static_cast<std::uint8_t>(FlowState::cancelled) || row.value <= 0) continue;
    counts[static_cast<FlowState>(counted->state)] += static_cast<std::uint64_t>(row.value);
  }
  return counts;
}

Result<EventPage> flow_history(Store& store, const FlowId& id, const std::string& cursor, std::uint32_t limit) {
  FF_TRY_VOID(admit_limit(limit));
  FF_TRY(flow, load_flow(store, id));
  return history_of(store, flow_key(flow.id), cursor, limit);
}

Result<FlowInputsReply> flow_inputs(Store& store, const ExecutionId& id, std::uint32_t from, std::uint32_t limit) {
  FF_TRY_VOID(admit_limit(limit));
  FF_TRY(execution, load_execution(store, id));
  if (!execution.spec.member) return FlowInputsReply{};
  Members members;
  std::set<std::uint32_t> looked_up;
  const MemberLookup lookup = [&](std::uint32_t ordinal) -> std::optional<const Execution*> {
    if (!looked_up.contains(ordinal)) return std::nullopt;
    const auto found = members.find(ordinal);
    return found == members.end() ? nullptr : &found->second;
  };
  InputPage page = input_page(execution, from, limit, lookup);
  while (!page.unknown.empty()) {
    const std::set<std::uint32_t> ordinals(page.unknown.begin(), page.unknown.end());
    FF_TRY_VOID(load_members(store, flow_of(execution), ordinals, members));
    looked_up.insert(ordinals.begin(), ordinals.end());
    page = input_page(execution, from, limit, lookup);
  }
  Upstream upstream;
  for (const auto& [ordinal, one] : members) upstream.emplace(ordinal, &one);
  std::map<SatelliteName, std::string> large;
  for (const SatelliteName& name : large_results(page, upstream)) {
    FF_TRY(found, store.load_satellites(name.root, name.kind, name.n, 1));
    if (!found.empty() && found.front().name == name) large[name] = std::move(found.front().body);
  }
  return FlowInputsReply{inputs_of(page, upstream, large), page.next};
}

Result<std::map<std::uint32_t, std::string>> open_upstream(Store& store, const Execution& execution) {
  std::set<std::uint32_t> ordinals;
  for (const IncomingEdge& edge : execution.spec.member->incoming) {
    if (ordinals.size() >= 10 * std::size_t{limits::max_explained_edges}) break;
    ordinals.insert(edge.from);
  }
  Members members;
  FF_TRY_VOID(load_members(store, flow_of(execution), ordinals, members));
  std::map<std::uint32_t, std::string> out;
  for (const IncomingEdge& edge : execution.spec.member->incoming) {
    const auto upstream = members.find(edge.from);
    if (upstream == members.end() || !is_open(upstream->second, execution, edge.group)) continue;
    out[edge.from] = "node \"" + upstream->second.spec.member->node + "\", " +
                     std::string(to_string(public_state(upstream->second.facts)));
  }
  return out;
}

}  // namespace flowfabric::reads
