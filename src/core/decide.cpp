#include "core/decide.hpp"

#include <set>

#include "base/check.hpp"
#include "core/decide_parts.hpp"
#include "core/limiting.hpp"
#include "core/redriving.hpp"
#include "core/sharing.hpp"
#include "core/submitting.hpp"

namespace flowfabric {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

std::vector<Key> create_keys(const CreateCommand& command) {
  const CreateRequest& request = command.request;
  std::vector<Key> keys = {lane_key(request.lane), execution_key(command.id)};
  if (!request.idempotency_key.empty()) keys.push_back(idempotency_key_of(request));
  if (auto key = submit_key_of(request)) keys.push_back(std::move(*key));
  return keys;
}

// A live idempotency key returns the state of the execution that it created; a key at submission decides by that of its
// holder.
std::vector<Key> create_needs(Workspace& workspace, const CreateCommand& command) {
  std::vector<Key> keys = create_keys(command);
  keys.push_back(namespace_key(command.request.name_space));
  add_submit_keys(workspace, command.request, keys);
  if (command.request.idempotency_key.empty()) return keys;
  Slot* slot = workspace.find(idempotency_key_of(command.request));
  const auto* record = slot == nullptr ? nullptr : std::get_if<IdempotencyRecord>(&slot->record);
  if (record != nullptr) keys.push_back(execution_key(record->execution_id));
  return keys;
}

std::vector<Key> replay_needs(Workspace& workspace, const ReplayCommand& command) {
  std::vector<Key> keys = {execution_key(command.id)};
  add_replay_keys(workspace, command.id, keys);
  return keys;
}

std::vector<Key> submit_flow_keys(const SubmitFlowCommand& command) {
  std::vector<Key> keys = {flow_key(command.id)};
  const FlowRequest& request = command.request;
  if (!request.idempotency_key.empty()) {
    keys.push_back(flow_idempotency_key(request.name_space, request.idempotency_key));
  }
  return keys;
}

std::vector<Key> submit_flow_needs(Workspace& workspace, const SubmitFlowCommand& command) {
  std::vector<Key> keys = submit_flow_keys(command);
  keys.push_back(namespace_key(command.request.name_space));
  std::set<std::string> lanes;
  for (const FlowNode& node : command.request.nodes) lanes.insert(node.request.lane);
  for (const std::string& lane : lanes) keys.push_back(lane_key(lane));
  if (command.request.idempotency_key.empty()) return keys;
  const Slot* slot = workspace.find(flow_idempotency_key(command.request.name_space, command.request.idempotency_key));
  const auto* record = slot == nullptr ? nullptr : std::get_if<IdempotencyRecord>(&slot->record);
  if (record != nullptr) keys.push_back(flow_key(record->execution_id));
  return keys;
}

const Execution* known_execution(Workspace& workspace, const Key& key) {
  Slot* slot = workspace.find(key);
  return slot == nullptr ? nullptr : slot->execution();
}

// A member starts only if its flow lets it.
void add_flow_key(const Execution* execution, std::vector<Key>& keys) {
  if (execution != nullptr && execution->spec.member) keys.push_back(flow_key(flow_of(*execution)));
}

// What the clock needs beside the record that is due.
std::vector<Key> due_needs(Workspace& workspace, const Key& key);

// Retention reads the namespace again when it is due, so a changed default also applies to executions that have already
// ended.
std::vector<Key> retention_needs(Workspace& workspace, const Key& key) {
  const Slot* slot = workspace.find(key);
  if (slot == nullptr) return {key};
  const Execution* execution = slot->execution();
  if (execution == nullptr || execution->facts.phase != Phase::terminal || execution->facts.member) return {};
  return {namespace_key(execution->spec.name_space)};
}

// Like a claim, a grant depends on the state of the lane.
std::vector<Key> grant_needs(Workspace& workspace, const ExecutionId& id) {
  std::vector<Key> keys = {execution_key(id)};
  const Execution* execution = known_execution(workspace, keys.front());
  if (execution != nullptr) keys.push_back(lane_key(execution->spec.lane));
  add_flow_key(execution, keys);
  return keys;
}

// A start is subject to limits.
void add_start_keys(Workspace& workspace, const Key& key, std::vector<Key>& keys) {
  const Execution* execution = known_execution(workspace, key);
  if (execution == nullptr) return;
  for (Key& more : start_keys(workspace, *execution)) keys.push_back(std::move(more));
}

// A claim asks whether its worker may have work.
std::vector<Key> lease_needs(Workspace& workspace, const LeaseCommand& command) {
  std::vector<Key> keys = {execution_key(command.id), worker_key(command.worker_namespace, command.worker_instance_id)};
  add_flow_key(known_execution(workspace, keys.front()), keys);
  add_start_keys(workspace, execution_key(command.id), keys);
  return keys;
}

std::vector<Key> spend_needs(Workspace& workspace, const SpendCommand& command) {
  std::vector<Key> keys = {execution_key(command.fence.execution_id)};
  const Execution* execution = known_execution(workspace, keys.front());
  if (execution == nullptr) return keys;
  for (Key& more : spend_keys(workspace, *execution)) keys.push_back(std::move(more));
  return keys;
}

std::vector<Key> replay_flow_needs(const ReplayFlowCommand& command) {
  std::vector<Key> keys = {flow_key(command.id)};
  if (command.ordinal) keys.push_back(execution_key(member_id(command.id, *command.ordinal)));
  return keys;
}

// What the pool of a budget is for, if that is one execution or one flow: the pool is removed after it.
std::optional<Key> owner_of_pool(Workspace& workspace, const Key& key) {
  const Slot* slot = workspace.find(key);
  const PoolRecord* pool = slot == nullptr ? nullptr : slot->pool();
  const LimitsRecord* limits = limits_of(workspace);
  const LimitDefinition* limit = pool == nullptr || limits == nullptr ? nullptr : limits->find(pool->limit);
  return limit == nullptr || !limit->info.budget ? std::nullopt : owner_of(limit->info, *pool);
}

std::vector<Key> due_needs(Workspace& workspace, const Key& key) {
  std::vector<Key> keys = retention_needs(workspace, key);
  if (!workspace.knows(key)) return keys;
  for (Key& more : flow_work_keys(workspace, key)) keys.push_back(std::move(more));
  for (Key& more : schedule_work_keys(workspace, key)) keys.push_back(std::move(more));
  if (key.kind() == RecordKind::limit_pool) {
    keys.push_back(limits_key());
    if (auto owner = owner_of_pool(workspace, key)) keys.push_back(std::move(*owner));
  }
  return keys;
}

std::vector<Key> redeem_needs(Workspace& workspace, const RedeemRequest& request) {
  std::vector<Key> keys = grant_needs(workspace, request.execution_id);
  keys.push_back(worker_key(request.worker_namespace, request.worker_instance_id));
  add_start_keys(workspace, execution_key(request.execution_id), keys);
  return keys;
}

const Error* damage_among(const std::vector<Key>& keys, Workspace& workspace) {
  for (const Key& key : keys) {
    const Slot* slot = workspace.find(key);
    if (slot != nullptr && slot->damage) return slot->damage.get();
  }
  return nullptr;
}

std::vector<Key> unknown_of(std::vector<Key> keys, const Workspace& workspace) {
  std::erase_if(keys, [&](const Key& key) { return workspace.knows(key); });
  return keys;
}

// What the command reads, as far as that is known yet.
std::vector<Key> keys_read(Workspace& workspace, const Command& command) {
  if (const auto* create = std::get_if<CreateCommand>(&command)) return create_needs(workspace, *create);
  if (const auto* due = std::get_if<DueCommand>(&command)) return due_needs(workspace, due->key);
  if (const auto* submit = std::get_if<SubmitFlowCommand>(&command)) return submit_flow_needs(workspace, *submit);
  if (const auto* remove = std::get_if<RemoveCommand>(&command)) {
    return retention_needs(workspace, execution_key(remove->id));
  }
  if (const auto* grant = std::get_if<GrantCommand>(&command)) {
    return grant_needs(workspace, grant->request.execution_id);
  }
  if (const auto* redeem = std::get_if<RedeemCommand>(&command)) return redeem_needs(workspace, redeem->request);
  if (const auto* replay = std::get_if<ReplayFlowCommand>(&command)) return replay_flow_needs(*replay);
  if (const auto* replay = std::get_if<ReplayCommand>(&command)) return replay_needs(workspace, *replay);
  if (const auto* lease = std::get_if<LeaseCommand>(&command)) return lease_needs(workspace, *lease);
  if (const auto* growing = std::get_if<GrowFlowCommand>(&command)) return grow_flow_needs(workspace, *growing);
  if (const auto* join = std::get_if<JoinNodesCommand>(&command)) return join_nodes_needs(workspace, *join);
  if (const auto* spent = std::get_if<SpendCommand>(&command)) return spend_needs(workspace, *spent);
  if (const auto* change = std::get_if<ChangeBudgetCommand>(&command)) return change_budget_keys(workspace, *change);
  if (schedule_key_of(command)) return schedule_command_needs(workspace, command);
  return keys_touched(command);
}

// The completion of a node does not rest on these: if one of them is damaged, its edges are left to the clock.
void add_edges_at_once(Workspace& workspace, const CompleteCommand& command, std::vector<Key>& keys) {
  const Execution* execution = known_execution(workspace, execution_key(command.fence.execution_id));
  if (execution == nullptr || command.leaves_edges) return;
  for (Key& key : at_once_keys(*execution)) keys.push_back(std::move(key));
}

// Whatever is decided may end a lease, or an execution. Nothing rests on these either: slots and keys that are not given back
// with the decision are given back by the clock.
void add_owed_keys(Workspace& workspace, std::vector<Key>& keys) {
  const std::size_t count = keys.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (keys[i].kind() != RecordKind::execution) continue;
    const Execution* execution = known_execution(workspace, keys[i]);
    if (execution == nullptr) continue;
    if (execution->facts.submit.holds != SubmitKeyKind::none) keys.push_back(submit_key_of(*execution));
    if (execution->facts.limits.empty()) continue;
    for (Key& more : owed_keys(execution->facts)) keys.push_back(std::move(more));
  }
}

}  // namespace

std::vector<Key> keys_touched(const Command& command) {
  return std::visit(
      Overloaded{[](const CreateCommand& c) { return create_keys(c); },
                 [](const LaneCommand& c) { return std::vector<Key>{lane_key(c.lane)}; },
                 [](const NamespaceCommand& c) { return std::vector<Key>{namespace_key(c.info.name_space)}; },
                 [](const DueCommand& c) { return std::vector<Key>{c.key}; },
                 [](const SubmitFlowCommand& c) { return submit_flow_keys(c); },
                 [](const GrowFlowCommand& c) {
                   return std::vector<Key>{c.held_under ? execution_key(c.held_under->execution_id) : flow_key(c.id)};
                 },
                 [](const SealFlowCommand& c) { return std::vector<Key>{flow_key(c.id)}; },
                 [](const CancelFlowCommand& c) { return std::vector<Key>{flow_key(c.id)}; },
                 [](const ReplayFlowCommand& c) { return std::vector<Key>{flow_key(c.id)}; },
                 [](const RemoveFlowCommand& c) { return std::vector<Key>{flow_key(c.id)}; },
                 [](const RotateKeysCommand&) { return std::vector<Key>{keyring_key()}; },
                 [](const CreateApiKeyCommand&) { return std::vector<Key>{api_keys_key()}; },
                 [](const RevokeApiKeyCommand&) { return std::vector<Key>{api_keys_key()}; },
                 [](const CreateHookCommand&) { return std::vector<Key>{hooks_key()}; },
                 [](const RemoveHookCommand&) { return std::vector<Key>{hooks_key()}; },
                 [](const RotateHookCommand&) { return std::vector<Key>{hooks_key()}; },
                 [](const CreateRedriveCommand& c) { return std::vector<Key>{redrive_key(c.id)}; },
                 [](const RedriveActionCommand& c) { return std::vector<Key>{redrive_key(c.id)}; },
                 [](const SetLimitCommand&) { return std::vector<Key>{limits_key()}; },
                 [](const RemoveLimitCommand&) { return std::vector<Key>{limits_key()}; },
                 [](const ChangeBudgetCommand&) { return std::vector<Key>{limits_key()}; },
                 [](const NoteRetentionCommand& c) {
                   return std::vector<Key>{namespace_key(c.run.name_space.value_or("default"))};
                 },
                 [](const RegisterCommand& c) {
                   return std::vector<Key>{worker_key(c.registration.name_space, c.registration.worker_instance_id)};
                 },
                 [](const CreateScheduleCommand& c) {
                   return std::vector<Key>{schedule_key(c.request.name_space, c.request.name)};
                 },
                 [](const auto& c) {
                   if constexpr (requires { schedule_key(c.name_space, c.name); }) {
                     return std::vector<Key>{schedule_key(c.name_space, c.name)};
                   } else if constexpr (requires { c.fence; }) {
                     return std::vector<Key>{execution_key(c.fence.execution_id)};
                   } else if constexpr (requires { c.request.execution_id; }) {
                     return std::vector<Key>{execution_key(c.request.execution_id)};
                   } else if constexpr (requires { c.id; }) {
                     return std::vector<Key>{execution_key(c.id)};
                   } else {
                     return std::vector<Key>{worker_key(c.name_space, c.worker_instance_id)};
                   }
                 }},
      command);
}

bool may_need_more(const Command& command) {
  const auto* create = std::get_if<CreateCommand>(&command);
  const bool has_key = create != nullptr && requested_key(create->request).kind != SubmitKeyKind::none;
  return has_key || std::holds_alternative<ReplayCommand>(command) ||
         std::holds_alternative<GrowFlowCommand>(command) || std::holds_alternative<SpendCommand>(command) ||
         std::holds_alternative<ChangeBudgetCommand>(command) || schedule_key_of(command).has_value();
}

void add_keys_touched(Workspace& workspace, const Command& command, std::vector<Key>& keys) {
  if (const auto* create = std::get_if<CreateCommand>(&command)) add_submit_keys(workspace, create->request, keys);
  if (const auto* replay = std::get_if<ReplayCommand>(&command)) add_replay_keys(workspace, replay->id, keys);
  if (const auto* change = std::get_if<ChangeBudgetCommand>(&command)) {
    for (Key& key : change_budget_keys(workspace, *change)) keys.push_back(std::move(key));
  }
  const auto* growing = std::get_if<GrowFlowCommand>(&command);
  if (growing == nullptr || !growing->held_under) return;
  add_flow_key(known_execution(workspace, execution_key(growing->held_under->execution_id)), keys);
}

bool others_decide_by(const Command& command) {
  return std::holds_alternative<LaneCommand>(command) || std::holds_alternative<NamespaceCommand>(command) ||
         std::holds_alternative<SetLimitCommand>(command) || std::holds_alternative<RemoveLimitCommand>(command);
}

std::vector<Key> keys_needed(Workspace& workspace, const Command& command) {
  if (const auto* due = std::get_if<DueCommand>(&command)) return keys_needed(workspace, *due);
  if (const auto* create = std::get_if<CreateCommand>(&command)) {
    // A generated id is new by construction, so looking it up would only cost a read. The insert is guarded anyway.
    if (!create->id_is_supplied) workspace.note_looked_up(execution_key(create->id));
  }
  if (const auto* submit = std::get_if<SubmitFlowCommand>(&command)) {
    // Members exist only while their flow does, and the flow is looked up, unless its id is new.
    if (!submit->id_is_supplied) workspace.note_looked_up(flow_key(submit->id));
    for (const Membership& member : submit->members) {
      workspace.note_looked_up(execution_key(member_id(submit->id, member.ordinal)));
    }
  }
  std::vector<Key> keys = keys_read(workspace, command);
  if (const auto* complete = std::get_if<CompleteCommand>(&command)) add_edges_at_once(workspace, *complete, keys);
  add_share_keys(workspace, command, keys);
  add_owed_keys(workspace, keys);
  return unknown_of(std::move(keys), workspace);
}

std::vector<Key> keys_needed(Workspace& workspace, const DueCommand& command) {
  std::vector<Key> keys = due_needs(workspace, command.key);
  keys.push_back(command.key);
  for (Key& more : redrive_work_keys(workspace, command)) keys.push_back(std::move(more));
  add_share_keys(workspace, command, keys);
  add_owed_keys(workspace, keys);
  return unknown_of(std::move(keys), workspace);
}

bool rests_on_damage(Workspace& workspace, const DueCommand& command) {
  if (!workspace.has_damage()) return false;
  return damage_among({command.key}, workspace) != nullptr ||
         damage_among(due_needs(workspace, command.key), workspace) != nullptr;
}

Result<Reply> decide(Workspace& workspace, const Command& command, const Context& context) {
  if (workspace.has_damage()) {
    const Error* damage = damage_among(keys_touched(command), workspace);
    if (damage == nullptr) damage = damage_among(keys_read(workspace, command), workspace);
    if (damage != nullptr) return Unexpected(*damage);
  }
  return std::visit([&](const auto& c) { return decide_one(workspace, c, context); }, command);
}

bool lane_serves(Workspace& workspace, const std::string& lane) {
  if (workspace.has_damage() && damage_among({lane_key(lane)}, workspace) != nullptr) return false;
  const LaneState state = lane_state(workspace, lane);
  return state == LaneState::active || state == LaneState::draining;
}

LaneState lane_state(Workspace& workspace, const std::string& lane) {
  Slot* slot = workspace.find(lane_key(lane));
  if (slot == nullptr) return LaneState::active;
  const auto* record = std::get_if<LaneRecord>(&slot->record);
  return record == nullptr ? LaneState::active : record->info.state;
}

RetentionPolicy namespace_retention(Workspace& workspace, const std::string& name_space) {
  Slot* slot = workspace.find(namespace_key(name_space));
  const auto* record = slot == nullptr ? nullptr : std::get_if<NamespaceRecord>(&slot->record);
  return record == nullptr ? RetentionPolicy{} : record->info.retention;
}

Result<Slot*> settled_execution(Workspace& workspace, const ExecutionId& id, const Context& context) {
  Slot& slot = workspace.at(execution_key(id));
  if (slot.execution() == nullptr || slot.erased) {
    return fail(Errc::not_found, "there is no execution " + to_string(id), "execution_id");
  }
  settle(slot, context);
  return &slot;
}

Error already_terminal(const Execution& execution) {
  Error error{Errc::already_terminal,
              "execution " + to_string(execution.id) + " has ended: " + std::string(to_string(execution.facts.outcome)),
              {},
              {{"outcome", std::string(to_string(execution.facts.outcome))}}};
  return error;
}

Result<void> check_namespace(const Spec& spec, const std::optional<std::string>& claimed) {
  if (!claimed || *claimed == spec.name_space) return {};
  return fail(Errc::not_eligible,
              "the execution belongs to namespace " + spec.name_space + "; the claim is restricted to " + *claimed);
}

}  // namespace flowfabric
