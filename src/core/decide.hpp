// The state machine: every rule of every operation, once, for all stores.
//
// `decide` reads the workspace's records, changes them in place and returns the reply, or an error. Even a refused
// command may have changed something: first, all due transitions are applied to the execution (see `settle`), and these
// are committed in any case.
//
// Pure: no I/O, no clock, no randomness, no threads; all of these come in through the Context.
#pragma once

#include <vector>

#include "core/commands.hpp"
#include "core/transitions.hpp"
#include "core/workspace.hpp"

namespace flowfabric {

// The records that must be in the workspace before the command can be decided and that are not there yet. Called again
// after loading, because a loaded record may require another one.
std::vector<Key> keys_needed(Workspace& workspace, const Command& command);

// Whether a command that was decided earlier in the batch may make this one need more records than were loaded. Then
// `keys_needed` is asked again, and if there are any, the command is left to another batch.
bool may_need_more(const Command& command);
// The slots that belong to `keys_touched` and are only known once all records that it needs are. To be asked before the
// decision, which may put others in their place.
void add_keys_touched(Workspace& workspace, const Command& command, std::vector<Key>& keys);

// After the decision of a command: slots of executions that it has touched are given back, if their leases have ended.
void return_slots(Workspace& workspace, const std::vector<Key>& touched, const Context& context);

// The same for keys at submission of executions that have ended.
void release_keys(Workspace& workspace, const std::vector<Key>& touched, const Context& context);

// Whether the command changes a record that decisions about other records read: a lane, or a namespace. Those decisions
// must not see a change that may yet turn out stale, so such a command is the last of its batch.
bool others_decide_by(const Command& command);

// Refused with `corruption` when a record that the command rests on cannot be decoded.
Result<Reply> decide(Workspace& workspace, const Command& command, const Context& context);

// The same for commands of the clock. Thousands of these come at once, so they are not Commands, which are large.
std::vector<Key> keys_needed(Workspace& workspace, const DueCommand& command);
Result<Reply> decide_one(Workspace& workspace, const DueCommand& command, const Context& context);
// Such a one is not to be decided.
bool rests_on_damage(Workspace& workspace, const DueCommand& command);
Result<Reply> decide_one(Workspace& workspace, const ReleaseCommand& command, const Context& context);

// Whether the lane hands out executions. An unknown lane is active.
bool lane_serves(Workspace& workspace, const std::string& lane);

// Whether the instance may be given work. One that drains or was marked dead may not until it registers again; one that is
// not registered may, and so may one whose TTL has lapsed, because its claim shows that it lives.
Result<void> check_may_claim(Workspace& workspace, const std::string& worker_namespace,
                             const std::string& worker_instance_id);

// The slots that a command reads or changes: if the commit of any of them is stale, the command is decided again.
std::vector<Key> keys_touched(const Command& command);

}  // namespace flowfabric
