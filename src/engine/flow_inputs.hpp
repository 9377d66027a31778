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
  std::uint32_t next = 0;  // 0: this is the last page
};
InputPage input_page(const Execution& execution, std::uint32_t from, std::uint32_t limit);

// Large results are stored apart. Those that a page brings along; the others come as references.
std::vector<SatelliteName> large_results(const InputPage& page, const Upstream& upstream);
std::vector<FlowInput> inputs_of(const InputPage& page, const Upstream& upstream,
                                 const std::map<SatelliteName, std::string>& large);

}  // namespace flowfabric
