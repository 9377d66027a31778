// Keys at submission: unique, debounce, throttle (docs/decisions/0110-keys-at-submission.md).
//
// A create with such a key is decided on the record of the key, and its execution lies in the partition of that record, so
// that both commit together. The record of a unique or debounce key names the execution that holds it; the execution knows
// that it does. What has ended the execution does not matter: it then owes its key (`owes_key`), and whoever next has it and
// the record in a workspace releases the key; the clock does so at the latest. A create does not wait for that: it looks at
// the holder itself, so a key is free the moment its holder ends.
//
// Pure; used by the decide_*.cpp files and by the engine.
#pragma once

#include <optional>
#include <vector>

#include "core/commands.hpp"
#include "core/transitions.hpp"

namespace flowfabric {

// The key of a request, and its record.
struct RequestedKey {
  SubmitKeyKind kind = SubmitKeyKind::none;
  std::string key;
};
RequestedKey requested_key(const CreateRequest& request);
std::optional<Key> submit_key_of(const CreateRequest& request);
// Of an execution that was created under a key.
Key submit_key_of(const Execution& execution);
// Together with a key at submission an idempotency key counts among the creates with that key, and lies beside it.
Key idempotency_key_of(const CreateRequest& request);
// The partition of an execution that is created.
std::uint16_t placement(const CreateRequest& request, const Uuid& uuid);

// What a create under a key reads beside the records of every create; and what a replay reads.
void add_submit_keys(Workspace& workspace, const CreateRequest& request, std::vector<Key>& keys);
void add_replay_keys(Workspace& workspace, const ExecutionId& id, std::vector<Key>& keys);

// Whether it still takes the input of creates with its debounce key.
bool is_collecting(const Facts& facts);
// Whether the record of its key is to be changed because the execution does not hold the key any more.
bool owes_key(const Facts& facts);
void release_key(Workspace& workspace, Slot& slot, const Context& context);

// What the key makes of a create: an answer instead of a new execution, one that has to make room, or neither.
struct KeyVerdict {
  std::optional<Created> answer{};
  Slot* changed = nullptr;  // the execution that was debounced
  Slot* in_the_way = nullptr;
};
Result<KeyVerdict> judge_key(Workspace& workspace, const CreateCommand& command, const Context& context);
// After the execution was created.
void take_key(Workspace& workspace, const CreateRequest& request, Slot& made, Slot* in_the_way, const Context& context);
// A replayed execution takes its unique key again; refused if another one has it.
Result<void> retake_key(Workspace& workspace, Slot& slot, const Context& context);

}  // namespace flowfabric
