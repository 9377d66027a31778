// One action on many executions: the selection, the action and the counting. Shared by the command line and the API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/engine.hpp>

namespace flowfabric::api {

enum class BulkVerb : std::uint8_t { cancel, replay, priority, signal };
inline std::string_view to_string(BulkVerb verb) {
  constexpr std::string_view names[] = {"cancel", "replay", "priority", "signal"};
  return names[static_cast<std::size_t>(verb)];
}

struct BulkOrder {
  BulkVerb verb = BulkVerb::cancel;
  std::int32_t priority = 0;  // for BulkVerb::priority
  Operator by{};
  std::optional<std::string> from_step{};  // for BulkVerb::replay: keep only what was recorded before this step
  SignalRequest signal{};                  // for BulkVerb::signal: each gets a copy of it
};

// Only the result of this verb is set.
struct BulkSuccess {
  ExecutionId execution_id{};
  std::optional<bool> already_cancelled{};
  std::optional<std::uint32_t> replay_count{};
  std::optional<PublicState> public_state{};
  std::optional<std::int32_t> priority{};
  std::optional<SignalReply> signal{};
};
struct BulkFailure {
  ExecutionId execution_id{};
  Error error{};
};

struct BulkTally {
  std::uint64_t matched = 0;
  std::uint64_t changed = 0;
  std::uint64_t unchanged = 0;  // needed no change
  std::uint64_t skipped = 0;    // selected by a filter, but ended, removed or replayed before the action
  std::vector<BulkSuccess> results{};
  std::vector<BulkFailure> failures{};
};

bool is_change(const BulkSuccess& success);

// Adapts a filter to the verb: without states it selects the usual ones for the verb. Refuses states to which the verb
// cannot be applied; `field` is the caller's name for them.
Result<ListRequest> filter_for(BulkVerb verb, ListRequest filter, const std::string& field);

// Acts on all at once, so that they share commits, and waits for the last.
BulkTally act_on(Engine& engine, const BulkOrder& order, const std::vector<ExecutionId>& ids);
// Executions can change between selection and action; if a filter selected them, that is not a failure.
void pass_over_moved(BulkTally& tally);

}  // namespace flowfabric::api
