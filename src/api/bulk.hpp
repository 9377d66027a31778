// One action on many executions: what it applies to, how it is done, and how it is counted. The command line and the API
// share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/engine.hpp>

namespace flowfabric::api {

enum class BulkVerb : std::uint8_t { cancel, replay, priority };
inline std::string_view to_string(BulkVerb verb) {
  constexpr std::string_view names[] = {"cancel", "replay", "priority"};
  return names[static_cast<std::size_t>(verb)];
}

struct BulkOrder {
  BulkVerb verb = BulkVerb::cancel;
  std::int32_t priority = 0;  // for BulkVerb::priority
  Operator by{};
  std::optional<std::string> from_step{};  // for BulkVerb::replay: keep only what was recorded before this step
};

// What the verb brought is set, the rest is not.
struct BulkSuccess {
  ExecutionId execution_id{};
  std::optional<bool> already_cancelled{};
  std::optional<std::uint32_t> replay_count{};
  std::optional<PublicState> public_state{};
  std::optional<std::int32_t> priority{};
};
struct BulkFailure {
  ExecutionId execution_id{};
  Error error{};
};

struct BulkTally {
  std::uint64_t matched = 0;
  std::uint64_t changed = 0;
  std::uint64_t unchanged = 0;  // was so already
  std::uint64_t skipped = 0;    // chosen by a filter, but had ended, gone or started over by the time of the action
  std::vector<BulkSuccess> results{};
  std::vector<BulkFailure> failures{};
};

bool is_change(const BulkSuccess& success);

// Makes a filter one for the verb: without states it selects those that the verb is usually meant for. Refuses states
// that the verb can do nothing with; `field` is what the caller calls them.
Result<ListRequest> filter_for(BulkVerb verb, ListRequest filter, const std::string& field);

// Acts on all at once, so that they share commits, and waits for the last.
BulkTally act_on(Engine& engine, const BulkOrder& order, const std::vector<ExecutionId>& ids);
// Between the choice and the action the world goes on; for what a filter chose that is no failure.
void pass_over_moved(BulkTally& tally);

}  // namespace flowfabric::api
