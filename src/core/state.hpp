// What users see, as pure functions of the facts. Nothing here is stored except the listing, which is only a projection.
#pragma once

#include <vector>

#include "core/records.hpp"

namespace flowfabric {

PublicState public_state(const Facts& facts);
StateVector state_vector(const Execution& execution, LaneState lane);

// The complete list of what keeps the execution from running at `now`; empty while it runs. `ahead` is how many ready
// executions of its route would be served first.
std::vector<Reason> explain(const Execution& execution, const LaneInfo& lane, std::uint64_t ahead, TimestampMs now);

ExecutionSummary summarize(const Execution& execution);
Listing listing_of(const Execution& execution);

// Its entry in the ready index, if it is claimable.
std::optional<ReadyEntry> ready_entry(const Execution& execution);
// The next moment at which time alone changes it; 0 when time does not.
TimestampMs next_due(const Facts& facts);

}  // namespace flowfabric
