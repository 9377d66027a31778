#include "core/sharing.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/schedule_records.hpp"

namespace flowfabric {
namespace {

// Between two executions of a key with the weight 1: 10 microseconds, in units of the enqueue number. So virtual time is
// slower than the clock as long as no key is served faster than 100,000 times a second, and where nothing is ready the clock
// is ahead of all places that were given.
constexpr std::uint64_t distance = std::uint64_t{10} << 10;

// The shares there are; null if there are none. What is not known yet is asked for.
const LimitsRecord* shares_of(const Workspace& workspace, std::vector<Key>& keys) {
  if (!workspace.knows(limits_key())) keys.push_back(limits_key());
  const LimitsRecord* limits = limits_of(workspace);
  return limits != nullptr && any_share(*limits) ? limits : nullptr;
}

void add_pool(const LimitsRecord& limits, const LimitSubject& subject, std::vector<Key>& keys) {
  if (auto share = share_of(limits, subject)) keys.push_back(std::move(share->pool));
}

void add_pool(const LimitsRecord& limits, const CreateRequest& request, std::string flow, const ExecutionId& id,
              std::vector<Key>& keys) {
  add_pool(
      limits,
      {request.name_space, request.lane, request.kind, request.creator, std::move(flow), request.tags, to_string(id)},
      keys);
}

template <class... Ts>
bool is_any_of(const Command& command) {
  return (std::holds_alternative<Ts>(command) || ...);
}

bool is_about_no_execution(const Command& command) {
  return is_any_of<LaneCommand, NamespaceCommand, RegisterCommand, HeartbeatCommand, MarkDeadCommand,
                   DrainWorkerCommand, RotateKeysCommand, CreateApiKeyCommand, RevokeApiKeyCommand,
                   NoteRetentionCommand, CreateHookCommand, RemoveHookCommand, RotateHookCommand, SetLimitCommand,
                   RemoveLimitCommand, ChangeBudgetCommand, CreateRedriveCommand, RedriveActionCommand, RemoveCommand,
                   RemoveFlowCommand, CancelFlowCommand, SealFlowCommand, ScheduleStateCommand>(command);
}

// They make nothing claimable, unless time has done so.
bool makes_nothing_ready(const Command& command) {
  return is_any_of<RenewCommand, ProgressCommand, StepCommand, CheckpointCommand, TagsCommand, PriorityCommand,
                   SpendCommand, LeaseCommand, GrantCommand, RedeemCommand, CancelCommand, CancelHeldCommand,
                   OpenWaitpointCommand, CloseWaitpointCommand, ReissueTokenCommand>(command);
}

// A firing of a schedule comes with tags that say for when it is; none of them is known yet.
void add_pools_of_schedule(const LimitsRecord& limits, const ScheduleRecord& schedule, std::vector<Key>& keys) {
  if (schedule.flow) return;
  CreateRequest request = schedule.spec.execution;
  request.name_space = schedule.name_space;
  if (request.creator.empty()) request.creator = "schedule " + schedule.name;
  add_pool(limits, request, {}, {}, keys);
}

void add_pools_of_records(Workspace& workspace, const LimitsRecord& limits, const Key* not_this,
                          std::vector<Key>& keys) {
  const std::size_t count = keys.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Slot* slot = not_this != nullptr && keys[i] == *not_this ? nullptr : workspace.find(keys[i]);
    if (slot == nullptr || slot->erased) continue;
    if (const Execution* execution = slot->execution()) add_pool(limits, subject_of(*execution), keys);
    if (const ScheduleRecord* schedule = slot->schedule()) add_pools_of_schedule(limits, *schedule, keys);
  }
}

LineHead head_of(const Context& context, RouteNo route, std::int32_t priority) {
  return context.head_of ? context.head_of(route, priority) : LineHead{};
}

// The place of one that has no place yet.
std::uint64_t virtual_time(const Context& context, RouteNo route, std::int32_t priority, std::uint64_t now) {
  const LineHead head = head_of(context, route, priority);
  if (!head.is_known && head.highest != 0) return head.highest;
  return std::max(head.first.value_or(now), head.highest);
}

ShareLine& line_for(PoolRecord& pool, RouteNo route, std::int32_t priority) {
  const auto place = std::find_if(pool.shared.begin(), pool.shared.end(), [&](const ShareLine& line) {
    return line.route > route || (line.route == route && line.priority >= priority);
  });
  if (place != pool.shared.end() && place->route == route && place->priority == priority) return *place;
  return *pool.shared.insert(place, ShareLine{route, priority, 0});
}

// One more than allowed: that which is the least ahead goes.
void keep_within_bounds(PoolRecord& pool, const ShareLine& kept, const Context& context) {
  if (pool.shared.size() <= limits::max_share_lines) return;
  const ShareLine last = kept;
  drop_passed_lines(pool, context);
  while (pool.shared.size() > limits::max_share_lines) {
    const auto least = std::min_element(pool.shared.begin(), pool.shared.end(), [&](const auto& a, const auto& b) {
      return std::pair(a == last, a.next) < std::pair(b == last, b.next);
    });
    pool.shared.erase(least);
  }
}

// The one of an execution that limits have held back in the same decision is the place to which it comes back.
std::uint64_t& number_of(Facts& facts) {
  return facts.limits.held ? facts.limits.held->ready_sequence : facts.ready_sequence;
}

std::optional<Key> take_place(Workspace& workspace, Slot& slot, const LimitsRecord& limits, const Context& context) {
  if (slot.erased || slot.execution() == nullptr) return std::nullopt;
  Execution& execution = *slot.execution();
  std::uint64_t& number = number_of(execution.facts);
  if (number == 0) return std::nullopt;
  const auto share = share_of(limits, subject_of(execution));
  if (!share) return std::nullopt;
  const RouteNo route = execution.spec.route;
  const std::int32_t priority = execution.facts.priority;
  number = virtual_time(context, route, priority, number);
  const Slot* known = workspace.find(share->pool);
  if (known == nullptr || known->damage) return std::nullopt;
  Slot& pool = pool_slot(workspace, *share, context.now);
  ShareLine& line = line_for(*pool.pool(), route, priority);
  number = std::max(number, line.next);
  line.next = number + std::max<std::uint64_t>(distance / weight_of(*share->limit->info.share, share->key), 1);
  keep_within_bounds(*pool.pool(), line, context);
  rearm(workspace, pool, context.now);
  workspace.tie(slot, pool);
  return share->pool;
}

}  // namespace

std::string share_key_text(const std::vector<std::string>& key) { return join(key, "/"); }

std::uint32_t weight_of(const ShareSpec& share, const std::vector<std::string>& key) {
  const auto found = share.weights.find(share_key_text(key));
  return found == share.weights.end() ? 1 : found->second;
}

bool any_share(const LimitsRecord& limits) {
  return std::any_of(limits.limits.begin(), limits.limits.end(),
                     [](const LimitDefinition& one) { return one.info.share.has_value(); });
}

bool is_shared(const LimitsRecord& limits, const std::string& lane) {
  return std::any_of(limits.limits.begin(), limits.limits.end(),
                     [&](const LimitDefinition& one) { return one.info.share && one.info.lane == lane; });
}

void add_share_key(const Workspace& workspace, const Execution& execution, std::vector<Key>& keys) {
  if (const LimitsRecord* limits = shares_of(workspace, keys)) add_pool(*limits, subject_of(execution), keys);
}

void add_share_keys(Workspace& workspace, const Command& command, std::vector<Key>& keys) {
  if (is_about_no_execution(command)) return;
  const LimitsRecord* limits = shares_of(workspace, keys);
  if (limits == nullptr || makes_nothing_ready(command)) return;
  if (const auto* create = std::get_if<CreateCommand>(&command)) {
    add_pool(*limits, create->request, {}, create->id, keys);
  } else if (const auto* submit = std::get_if<SubmitFlowCommand>(&command)) {
    for (const Membership& member : submit->members) {
      add_pool(*limits, submit->request.nodes[member.ordinal].request, to_string(submit->id),
               member_id(submit->id, member.ordinal), keys);
    }
  } else if (const auto* growing = std::get_if<GrowFlowCommand>(&command)) {
    for (const FlowNode& node : growing->addition.nodes) {
      add_pool(*limits, node.request, to_string(growing->id), {}, keys);
    }
  }
  // What is completed does not come back; the nodes behind it may start.
  const auto* complete = std::get_if<CompleteCommand>(&command);
  const std::optional<Key> done =
      complete == nullptr ? std::nullopt : std::optional(execution_key(complete->fence.execution_id));
  add_pools_of_records(workspace, *limits, done ? &*done : nullptr, keys);
}

void add_share_keys(Workspace& workspace, const DueCommand& command, std::vector<Key>& keys) {
  // What these do makes nothing claimable that has no place.
  if (command.key.kind() == RecordKind::limit_pool || command.key.kind() == RecordKind::limits) return;
  if (const LimitsRecord* limits = shares_of(workspace, keys)) add_pools_of_records(workspace, *limits, nullptr, keys);
}

std::optional<Key> take_places(Workspace& workspace, const Context& context) {
  const std::vector<Slot*> newcomers = workspace.take_newcomers();
  if (newcomers.empty()) return std::nullopt;
  const LimitsRecord* limits = limits_of(workspace);
  if (limits == nullptr || !any_share(*limits)) return std::nullopt;
  std::optional<Key> used;
  for (Slot* slot : newcomers) {
    auto pool = take_place(workspace, *slot, *limits, context);
    if (pool) used = std::move(pool);
  }
  return used;
}

void drop_passed_lines(PoolRecord& pool, const Context& context) {
  if (pool.shared.empty()) return;
  const std::uint64_t now = context.next_sequence();
  // None of the key is ready with a number below that of the first one.
  std::erase_if(pool.shared, [&](const ShareLine& line) {
    const LineHead head = head_of(context, line.route, line.priority);
    return head.is_known && line.next <= head.first.value_or(now);
  });
}

}  // namespace flowfabric
