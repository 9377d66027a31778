#include "engine/flow_inputs.hpp"

#include <algorithm>

#include "base/limits.hpp"

namespace flowfabric {
namespace {

Ending how_it_ended(const Execution& execution) {
  return flowfabric::ending_of(execution.facts.outcome, execution.facts.member->withdrawn);
}

const Execution* passing(const IncomingEdge& edge, const Upstream& upstream) {
  const auto found = upstream.find(edge.from);
  if (found == upstream.end() || found->second->facts.phase != Phase::terminal) return nullptr;
  return passes_input(edge.kind, how_it_ended(*found->second)) ? found->second : nullptr;
}

SatelliteName result_name(const Execution& execution) {
  return {execution_key(execution.id), static_cast<std::uint8_t>(SatelliteKind::result),
          execution.facts.attempt->attempt_index};
}

bool has_large_result(const Execution& execution) {
  return execution.facts.has_result && !execution.facts.result_is_inline && execution.facts.attempt;
}

void put_result(FlowInput& input, std::string result, std::size_t& bytes) {
  if (bytes + result.size() > limits::max_claimed_input_bytes) {
    input.by_reference = true;
    return;
  }
  bytes += result.size();
  input.result = std::move(result);
}

// The edge, and behind a node that is a flow the edges of its outputs, as far as they have room.
void add_with_outputs(InputPage& page, const IncomingEdge& edge, std::size_t limit, const MemberLookup& lookup) {
  page.edges.push_back(edge);
  const auto found = lookup(edge.from);
  if (!found) page.unknown.push_back(edge.from);
  if (!found || *found == nullptr || !is_flow_node(*(*found)->spec.member)) return;
  const bool passes = (*found)->facts.phase == Phase::terminal && passes_input(edge.kind, how_it_ended(**found));
  if (!passes && edge.kind != EdgeKind::output) return;
  for (const IncomingEdge& output : (*found)->spec.member->incoming) {
    if (output.kind == EdgeKind::output && page.edges.size() < limit) add_with_outputs(page, output, limit, lookup);
  }
}

}  // namespace

InputPage input_page(const Execution& execution, std::uint32_t from, std::uint32_t limit, const MemberLookup& lookup) {
  InputPage page;
  if (!execution.spec.member) return page;
  std::vector<IncomingEdge> all = input_edges(*execution.spec.member, *execution.facts.member);
  const Execution* heir = &execution;
  while (const auto begin = inherits_inputs_from(*heir->spec.member)) {
    const auto found = lookup(*begin);
    if (!found) page.unknown.push_back(*begin);
    if (!found || *found == nullptr) break;
    heir = *found;
    const std::vector<IncomingEdge> more = input_edges(*heir->spec.member, *heir->facts.member);
    all.insert(all.begin(), more.begin(), more.end());
  }
  const std::size_t first = std::min<std::size_t>(from, all.size());
  const std::size_t end = std::min<std::size_t>(first + limit, all.size());
  for (std::size_t i = first; i < end; ++i) add_with_outputs(page, all[i], limit, lookup);
  if (end < all.size()) page.next = static_cast<std::uint32_t>(end);
  return page;
}

std::vector<SatelliteName> large_results(const InputPage& page, const Upstream& upstream) {
  std::vector<SatelliteName> names;
  for (const IncomingEdge& edge : page.edges) {
    if (names.size() == limits::max_large_inputs) break;
    const Execution* execution = passing(edge, upstream);
    if (execution != nullptr && has_large_result(*execution)) names.push_back(result_name(*execution));
  }
  return names;
}

std::vector<FlowInput> inputs_of(const InputPage& page, const Upstream& upstream,
                                 const std::map<SatelliteName, std::string>& large) {
  std::vector<FlowInput> inputs;
  std::size_t bytes = 0;
  for (const IncomingEdge& edge : page.edges) {
    const Execution* execution = passing(edge, upstream);
    if (execution == nullptr) continue;
    const Facts& facts = execution->facts;
    FlowInput input;
    input.name = execution->spec.member->node;
    input.execution_id = execution->id;
    input.outcome = facts.outcome;
    if (facts.outcome == Outcome::failed) input.failure = facts.failure;
    if (facts.has_result) {
      input.result_encoding = facts.attempt->result_encoding;
      if (!has_large_result(*execution)) {
        put_result(input, facts.result, bytes);
      } else if (const auto found = large.find(result_name(*execution)); found != large.end()) {
        put_result(input, found->second, bytes);
      } else {
        input.by_reference = true;
      }
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace flowfabric
