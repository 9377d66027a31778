// The records that claims need beside what was found, and the inputs of nodes of flows that come with a claim.
#include <algorithm>

#include "base/check.hpp"
#include "core/limiting.hpp"
#include "engine/batch.hpp"

namespace flowfabric {
namespace {

// Upstream nodes are few as a rule; then they are read together with the flow, which saves a round trip.
constexpr std::size_t few_upstream_nodes = 16;

}  // namespace

void Batch::add_keys_of_offers(std::vector<Key>& keys) {
  const auto add = [&](const Key& key) {
    if (!workspace_.knows(key)) keys.push_back(key);
  };
  for (const auto& [route, line] : offers_) {
    for (const Offer& offer : line) {
      const Slot* slot = workspace_.find(offer.entry.key);
      const Execution* execution = slot == nullptr ? nullptr : slot->execution();
      if (execution == nullptr) continue;
      for (const Key& key : start_keys(workspace_, *execution)) add(key);
      if (!execution->spec.member) continue;
      const FlowId flow = flow_of(*execution);
      add(flow_key(flow));
      const auto& incoming = execution->spec.member->incoming;
      if (incoming.size() > few_upstream_nodes) continue;
      for (const IncomingEdge& edge : incoming) add(execution_key(member_id(flow, edge.from)));
    }
  }
}

InputPage Batch::input_page_of(const Execution& execution) {
  return input_page(execution, 0, limits::max_claimed_inputs,
                    [&](std::uint32_t ordinal) -> std::optional<const Execution*> {
                      const Key key = execution_key(member_id(flow_of(execution), ordinal));
                      if (!workspace_.knows(key)) return std::nullopt;
                      const Slot* slot = workspace_.find(key);
                      return slot == nullptr ? nullptr : slot->execution();
                    });
}

Result<void> Batch::load_inputs() {
  struct Wanted {
    ClaimedExecution* claim;
    InputPage page;
  };
  std::vector<Wanted> wanted;
  for (ClaimedExecution* claim : given_out()) {
    const Execution& execution = *workspace_.at(execution_key(claim->execution_id)).execution();
    if (!execution.spec.member || execution.spec.member->groups.empty()) continue;
    wanted.push_back({claim, {}});
  }
  if (wanted.empty()) return {};
  // The records that are read may tell of others that are needed.
  do {
    ReadRequest request;
    for (Wanted& one : wanted) {
      const Execution& execution = *workspace_.at(execution_key(one.claim->execution_id)).execution();
      one.page = input_page_of(execution);
      for (const std::uint32_t ordinal : one.page.unknown) {
        request.keys.push_back(execution_key(member_id(flow_of(execution), ordinal)));
      }
    }
    if (request.keys.empty()) break;
    std::sort(request.keys.begin(), request.keys.end());
    request.keys.erase(std::unique(request.keys.begin(), request.keys.end()), request.keys.end());
    FF_TRY(reply, session_.read(request));
    for (const Record& record : reply.records) take(record);
    for (const Key& key : request.keys) workspace_.note_looked_up(key);
  } while (true);
  std::vector<Upstream> upstream;
  std::vector<SatelliteName> names;
  for (const Wanted& one : wanted) {
    Upstream& nodes = upstream.emplace_back();
    for (const IncomingEdge& edge : one.page.edges) {
      const FlowId flow{*one.claim->flow_id};
      const Slot* slot = workspace_.find(execution_key(member_id(flow, edge.from)));
      if (slot != nullptr && slot->execution() != nullptr) nodes.emplace(edge.from, slot->execution());
    }
    for (SatelliteName& name : large_results(one.page, nodes)) names.push_back(std::move(name));
  }
  std::map<SatelliteName, std::string> large;
  if (!names.empty()) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    FF_TRY(satellites, session_.read_satellites(names));
    for (Satellite& satellite : satellites) large[satellite.name] = std::move(satellite.body);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i].claim->inputs = inputs_of(wanted[i].page, upstream[i], large);
    wanted[i].claim->next_input = wanted[i].page.next;
  }
  return {};
}

}  // namespace flowfabric
