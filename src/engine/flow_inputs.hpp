// The inputs of a node of a flow: what its upstream nodes have left for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/records.hpp"

namespace flowfabric {

// The upstream nodes of one page of inputs, by ordinal. One that is missing in the store is left out.
using Upstream = std::map<std::uint32_t, const Execution*>;

struct InputPage {
  std::vector<IncomingEdge> edges;
  std::uint32_t next = 0;              // 0: this is the last page
  std::vector<std::uint32_t> unknown;  // members that must be known to complete the page
};
// A member by its ordinal. Absent: it has not been looked up; null: it does not exist.
using MemberLookup = std::function<std::optional<const Execution*>(std::uint32_t)>;
// A node within a flow and without edges of its own has the inputs of the node that is the flow, and behind such a node come
// the outputs of the flow. Which ones these are is in the records of other members, so a caller looks up those that are
// unknown and asks again.
InputPage input_page(const Execution& execution, std::uint32_t from, std::uint32_t limit, const MemberLookup& lookup);

// Large results are stored apart. Those that a page brings along; the others come as references.
std::vector<SatelliteName> large_results(const InputPage& page, const Upstream& upstream);
std::vector<FlowInput> inputs_of(const InputPage& page, const Upstream& upstream,
                                 const std::map<SatelliteName, std::string>& large);

}  // namespace flowfabric
