// Shares: in which order the executions of a lane are served, if they belong to several keys.
//
// A lane is served by priority, then by enqueue number. Without a share the number is a time. Under a share it is a place in
// virtual time: an execution comes behind the one before it of its key, by a distance that its weight divides, but not before
// the first one that is ready now. So keys are interleaved, and one that was idle has saved nothing up. Claims and stores know
// nothing of it. docs/decisions/0105-shares.md has the reasons.
//
// Pure; used by the engine and by decide.cpp.
#pragma once

#include <vector>

#include "core/commands.hpp"
#include "core/limiting.hpp"

namespace flowfabric {

// The name of a key in `ShareSpec::weights`.
std::string share_key_text(const std::vector<std::string>& key);
std::uint32_t weight_of(const ShareSpec& share, const std::vector<std::string>& key);

bool any_share(const LimitsRecord& limits);
// Whether numbers of this lane are places, not times.
bool is_shared(const LimitsRecord& limits, const std::string& lane);

// Adds the pools that are needed to give places to executions that the command may make claimable, as far as they are known
// yet. Nothing rests on these: without its pool an execution comes first.
void add_share_keys(Workspace& workspace, const Command& command, std::vector<Key>& keys);
void add_share_keys(Workspace& workspace, const DueCommand& command, std::vector<Key>& keys);
// Of one that is there already, or of one that was just read.
void add_share_key(const Workspace& workspace, const Execution& execution, std::vector<Key>& keys);

// After a decision: gives places to the executions that it has made claimable. Returns a pool that it has used, if any: where
// many come at once, that is what they contend for.
std::optional<Key> take_places(Workspace& workspace, const Context& context);

// Of a pool: what says no more than that the next execution of the key comes first.
void drop_passed_lines(PoolRecord& pool, const Context& context);

}  // namespace flowfabric
