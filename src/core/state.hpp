// The states that users see, as pure functions of the facts. Nothing here is stored except the listing, which is a
// projection.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/records.hpp"

namespace flowfabric {

PublicState public_state(const Facts& facts);
StateVector state_vector(const Execution& execution, LaneState lane);

// Input of `explain` that is not part of the execution.
struct Surroundings {
  LaneInfo lane;
  std::uint64_t ahead = 0;            // ready executions of its route that would be served first
  bool capable_worker_lives = false;  // a registered worker that serves the lane and offers the required capabilities
  TimestampMs now = 0;
  // Of a member of a flow that waits: the upstream nodes by ordinal, with their states; not necessarily all.
  std::map<std::uint32_t, std::string> upstream{};
  // Of an execution that a limit holds back.
  struct Limited {
    LimitInfo limit;
    LimitUse use;
  };
  std::optional<Limited> limited{};
  // Of an execution that is ready under a share: the name of the share, and the weight of its key.
  std::optional<std::pair<std::string, std::uint32_t>> share{};
};
// The complete list of reasons why the execution is not running; empty while it is running.
std::vector<Reason> explain(const Execution& execution, const Surroundings& surroundings);

ExecutionSummary summarize(const Execution& execution);
Listing listing_of(const Execution& execution);
FlowSummary summarize(const FlowRecord& flow);
Listing listing_of(const FlowRecord& flow);

// Its entry in the ready index, if it is claimable.
std::optional<ReadyEntry> ready_entry(const Execution& execution);
// The route under which that entry stands.
Route route_of(const Spec& spec);
// The next time at which time alone changes it; 0 if there is none.
TimestampMs next_transition(const Facts& facts);
// The same, or when the clock has to continue with its edges, or with its removal.
// Whether it was claimed, since it was created or since it was last replayed.
bool has_started(const Facts& facts);
TimestampMs next_due(const Facts& facts);
TimestampMs next_due(const FlowFacts& facts);
TimestampMs next_due(const WorkerRecord& worker);

// Its lease is lost and it has not been claimed since: it waits for a reclaim or for the end of the grace period.
bool has_lost_lease(const Facts& facts);
// The group in the due index by which an execution is found: the holder of its lease; `lost_leases_group`, ranked by the
// time of the loss; those of what is suspended; or the group of its state, ranked by its creation. States that people look for, and that an execution
// enters once or never, have a group: failed, cancelled, expired and skipped.
inline constexpr std::uint64_t lost_leases_group = 1;
// Suspended executions, ranked by the beginning of the wait: those that wait for a person, and the others.
inline constexpr std::uint64_t approvals_group = (std::uint64_t{1} << 62) + 512;
inline constexpr std::uint64_t waits_group = approvals_group + 1;
std::optional<std::uint64_t> group_of_state(PublicState state);
std::uint64_t holder_group(std::string_view name_space, std::string_view worker_instance_id);
struct Grouping {
  std::uint64_t group = 0;
  std::int64_t rank = 0;
};
Grouping grouping(const Execution& execution);
Grouping grouping(const PoolRecord& pool);

// The state at `now`: a worker whose TTL has passed is shown as lapsed, even if the clock has not processed it yet.
WorkerInfo worker_info(const WorkerRecord& worker, TimestampMs now);

}  // namespace flowfabric
