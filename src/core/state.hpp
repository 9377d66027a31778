// What users see, as pure functions of the facts. Nothing here is stored except the listing, which is only a projection.
#pragma once

#include <vector>

#include "core/records.hpp"

namespace flowfabric {

PublicState public_state(const Facts& facts);
StateVector state_vector(const Execution& execution, LaneState lane);

// What `explain` cannot know from the execution itself.
struct Surroundings {
  LaneInfo lane;
  std::uint64_t ahead = 0;            // ready executions of its route that would be served first
  bool capable_worker_lives = false;  // a registered worker that serves the lane and offers what is required
  TimestampMs now = 0;
};
// The complete list of what keeps the execution from running; empty while it runs.
std::vector<Reason> explain(const Execution& execution, const Surroundings& surroundings);

ExecutionSummary summarize(const Execution& execution);
Listing listing_of(const Execution& execution);

// Its entry in the ready index, if it is claimable.
std::optional<ReadyEntry> ready_entry(const Execution& execution);
// The route under which that entry stands.
Route route_of(const Spec& spec);
// The next moment at which time alone changes it; 0 when time does not.
TimestampMs next_due(const Facts& facts);
TimestampMs next_due(const WorkerRecord& worker);

// Its lease is lost and nobody has followed: a reclaim, or the end of the grace, is what it waits for.
bool has_lost_lease(const Facts& facts);
// The group in the due index by which an execution is found: the holder of its lease, or `lost_leases_group`, ranked by
// the time of the loss.
inline constexpr std::uint64_t lost_leases_group = 1;
std::uint64_t holder_group(std::string_view name_space, std::string_view worker_instance_id);
struct Grouping {
  std::uint64_t group = 0;
  std::int64_t rank = 0;
};
Grouping grouping(const Facts& facts);

// As it is at `now`: a worker whose TTL is over is shown as lapsed, although the clock has not come by.
WorkerInfo worker_info(const WorkerRecord& worker, TimestampMs now);

}  // namespace flowfabric
