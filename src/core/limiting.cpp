#include "core/limiting.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/decide_parts.hpp"
#include "core/sharing.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

constexpr std::string_view tag_prefix = "tags.";
const std::string limit_actor = "limits";

// The value of a name in `per`; empty: it has none.
std::string value_of(const std::string& name, const LimitSubject& subject) {
  if (name.starts_with(tag_prefix)) {
    const auto found = subject.tags.find(name.substr(tag_prefix.size()));
    return found == subject.tags.end() ? std::string() : found->second;
  }
  if (name == "namespace") return subject.name_space;
  if (name == "lane") return subject.lane;
  if (name == "kind") return subject.kind;
  if (name == "creator") return subject.creator;
  if (name == "execution") return subject.execution;
  FF_CHECK(name == "flow");
  return subject.flow;
}

bool is_for(const LimitInfo& limit, const LimitSubject& subject) {
  return (!limit.name_space || *limit.name_space == subject.name_space) &&
         (!limit.lane || *limit.lane == subject.lane) && (!limit.kind || *limit.kind == subject.kind);
}

std::vector<std::string> values_of(const LimitInfo& limit, const LimitSubject& subject) {
  std::vector<std::string> values;
  for (const std::string& name : limit.per) values.push_back(value_of(name, subject));
  return values;
}

const PoolRecord* known_pool(const Workspace& workspace, const Key& key) {
  const Slot* slot = workspace.find(key);
  return slot == nullptr || slot->erased || slot->damage ? nullptr : slot->pool();
}

std::vector<PoolLine>::iterator line_of(PoolRecord& pool, RouteNo route) {
  return std::find_if(pool.lines.begin(), pool.lines.end(), [&](const PoolLine& line) { return line.route == route; });
}

PoolLine& make_line(PoolRecord& pool, RouteNo route) {
  const auto found = line_of(pool, route);
  if (found != pool.lines.end()) return *found;
  const auto place =
      std::find_if(pool.lines.begin(), pool.lines.end(), [&](const auto& line) { return line.route > route; });
  return *pool.lines.insert(place, PoolLine{route, false, 0});
}

bool waits_in(const PoolRecord& pool, RouteNo route) {
  return std::any_of(pool.lines.begin(), pool.lines.end(),
                     [&](const PoolLine& line) { return line.route == route && line.waiting; });
}

std::uint32_t free_slots(const LimitInfo& limit, const PoolRecord& pool) {
  if (!limit.concurrency) return UINT32_MAX;
  const auto taken = static_cast<std::uint32_t>(pool.holders.size());
  return taken >= *limit.concurrency ? 0 : *limit.concurrency - taken;
}

// What a lease of the execution reserves.
Amounts need_of(const LimitInfo& limit, const Execution& execution) {
  return limit.budget ? need_of(*limit.budget, execution.spec.reserve) : Amounts{};
}

std::int64_t visit_ms(const LimitInfo& limit) {
  return limit.budget ? limits::account_visit_ms : limits::pool_visit_ms;
}

// Those that wait are cancelled instead of being called.
bool cancels(const LimitInfo& limit, const PoolRecord& pool, TimestampMs now) {
  return limit.budget && pool.account && cancels_waiting(*limit.budget, *pool.account, now);
}

// How many executions of a line can be called now.
std::uint32_t callable(const PoolLine& line, std::uint32_t room) {
  return line.waiting && line.called < room ? std::min(room - line.called, limits::max_called) : 0;
}

// When the rate has room for one more than are called in the line that has the fewest; 0: time alone makes no room.
TimestampMs time_of_rate(const LimitInfo& limit, const PoolRecord& pool, TimestampMs now) {
  std::uint32_t fewest = UINT32_MAX;
  for (const PoolLine& line : pool.lines) {
    if (line.waiting) fewest = std::min(fewest, line.called);
  }
  if (!limit.rate || fewest >= free_slots(limit, pool) || fewest >= most_at_once(*limit.rate)) return 0;
  return may_start_at(*limit.rate, pool.rate, fewest + 1, now);
}

TimestampMs earlier(TimestampMs a, TimestampMs b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

bool has_spent(const Account& account) {
  return std::any_of(account.dimensions.begin(), account.dimensions.end(),
                     [](const DimensionAccount& one) { return one.spent != 0 || one.exceeded; });
}

// When the clock looks for room that time alone may have made; 0: never.
TimestampMs time_of_room(const LimitInfo& limit, const PoolRecord& pool, TimestampMs now) {
  TimestampMs at = time_of_rate(limit, pool, now);
  if (!limit.budget || !pool.account) return at;
  // The rate has room already, so it is not what is missing.
  if (at <= now) at = 0;
  for (const PoolLine& line : pool.lines) {
    if (!line.waiting) continue;
    at = earlier(at, line.look_at);
    const Amounts need = line.need.empty() ? need_of(*limit.budget, {}) : line.need;
    const bool fits = starts_left(*limit.budget, &*pool.account, need, now) > line.called;
    if (!fits && pool.account->period_end > now) at = earlier(at, pool.account->period_end);
  }
  return at;
}

// It is not claimable any more because of the call, but claimed, held back elsewhere, or ended.
void uncall(Workspace& workspace, Slot& slot, const Context& context) {
  Execution& execution = *slot.execution();
  const Key key = *execution.facts.limits.called;
  if (!workspace.knows(key)) return;
  execution.facts.limits.called.reset();
  slot.changed = true;
  Slot& pool = workspace.at(key);
  workspace.rest_on(slot, pool);
  if (known_pool(workspace, key) == nullptr) return;
  const auto line = line_of(*pool.pool(), execution.spec.route);
  if (line != pool.pool()->lines.end() && line->called > 0) --line->called;
  rearm(workspace, pool, context.now);
}

// The clock looks at the line when the smaller need fits, and finds out whose it is.
Amounts least_of(Amounts a, const Amounts& b) {
  for (auto& [name, amount] : a) {
    const auto other = b.find(name);
    if (other != b.end()) amount = std::min(amount, other->second);
  }
  return a;
}

void hold_back_for(Workspace& workspace, Slot& slot, const Demand& demand, const Context& context) {
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  FF_CHECK(facts.ready_sequence != 0);
  const LimitInfo& limit = demand.limit->info;
  Slot& pool = pool_slot(workspace, demand, context.now);
  if (limit.budget) present_account(pool, limit, context);
  const Amounts need = need_of(limit, transition.execution());
  const bool only_budget = !limit.concurrency && !limit.rate;
  const bool by_budget =
      limit.budget && (only_budget || starts_left(*limit.budget, &*pool.pool()->account, need, context.now) == 0);
  facts.limits.held = HeldBack{demand.pool, facts.ready_sequence, context.now, by_budget};
  facts.ready_sequence = 0;
  facts.gates |= limit_gate;
  transition.record(EventType::limited, limit_actor, limit.name);
  PoolLine& line = make_line(*pool.pool(), transition.spec().route);
  if (!line.waiting) {
    line.need = need;
    line.look_at = 0;
  } else if (line.need != need) {
    line.need = least_of(line.need, need);
    line.look_at = context.now;
  }
  line.waiting = true;
  rearm(workspace, pool, context.now);
  workspace.tie(slot, pool);
}

// Of an execution that another limit, or nothing at all, called: it is next in its line already.
bool may_start_under(const Demand& demand, const PoolRecord* pool, const Execution& execution, TimestampMs now) {
  static const PoolRecord unused;
  const PoolRecord& state = pool == nullptr ? unused : *pool;
  const LimitInfo& limit = demand.limit->info;
  if (room_in(limit, state, now, need_of(limit, execution)).now == 0) return false;
  return execution.facts.limits.called || !waits_in(state, execution.spec.route);
}

std::string no_room_text(const Demand& demand) {
  const std::string of = demand.key.empty() ? "" : " of " + join(demand.key, ", ");
  return "limit \"" + demand.limit->info.name + "\" lets no more executions" + of + " start now";
}

// Makes it claimable again, at its old place.
void call_back(Workspace& workspace, Slot& slot, Slot& pool, const Context& context) {
  Transition transition(slot, context);
  Facts& facts = transition.facts();
  const std::uint64_t sequence = facts.limits.held->ready_sequence;
  facts.limits.held.reset();
  facts.gates &= ~limit_gate;
  workspace.tie(slot, pool);
  if (facts.gates == 0) {  // otherwise it waits for something else
    facts.ready_sequence = sequence;
    facts.limits.called = pool.key;
    ++make_line(*pool.pool(), transition.spec().route).called;
  }
  transition.record(EventType::ready, "clock", "limit");
}

void cancel_waiting(Workspace& workspace, Slot& slot, const Slot& pool, const LimitInfo& limit,
                    const Context& context) {
  Transition transition(slot, context);
  transition.facts().cancellation_reason = "budget \"" + limit.name + "\" is used up";
  transition.facts().cancelled_by = limit_actor;
  workspace.tie(slot, pool);
  finish(transition, Outcome::cancelled, EventType::cancelled, AttemptState::ended_cancelled, limit_actor,
         "budget_exceeded");
}

// What is left of a budget while executions are called. They reserve nothing before they are claimed.
class Allotment {
 public:
  Allotment(const LimitInfo* limit, const PoolRecord& pool, TimestampMs now) : limit_(limit), now_(now) {
    if (limit != nullptr && limit->budget) account_ = pool.account;
  }
  // Notes in the line what the execution needs, if that is more than there is. If others need less, one of these may become
  // the first without anybody's telling: the clock looks again.
  bool admits(const Execution& execution, PoolLine& line) {
    if (!account_) return true;
    const Amounts need = need_of(*limit_, execution);
    if (line.look_at != 0) line.look_at = now_ + limits::large_need_look_ms;
    const bool fits = starts_left(*limit_->budget, &*account_, need, now_) > 0;
    if (fits) reserve(*account_, need);
    if (!fits && line.need != need) line.look_at = now_ + limits::large_need_look_ms;
    // Of the one behind it nothing better is known.
    line.need = need;
    return fits;
  }

 private:
  const LimitInfo* limit_;
  TimestampMs now_;
  std::optional<Account> account_;
};

void call_all(Workspace& workspace, Slot& slot, const FoundGroup& found, const LimitInfo* limit,
              const Context& context) {
  const bool cancelling = limit != nullptr && cancels(*limit, *slot.pool(), context.now);
  Allotment allotment(limit, *slot.pool(), context.now);
  for (const Key& key : found.keys) {
    Slot* one = workspace.find(key);
    if (one == nullptr || one->erased || one->execution() == nullptr) continue;
    settle(*one, context);
    const Execution& execution = *one->execution();
    const auto& held = execution.facts.limits.held;
    if (!held || held->pool != slot.key || execution.spec.route != found.route) {
      workspace.rest_on(slot, *one);  // it waits no more, unless it was read too early
    } else if (cancelling) {
      cancel_waiting(workspace, *one, slot, *limit, context);
    } else if (allotment.admits(execution, make_line(*slot.pool(), found.route))) {
      call_back(workspace, *one, slot, context);
    } else {
      workspace.rest_on(slot, *one);
      return;  // those behind it wait with it
    }
  }
  if (!found.all) return;
  const auto line = line_of(*slot.pool(), found.route);
  if (line == slot.pool()->lines.end()) return;
  line->waiting = false;
  line->look_at = 0;
}

bool is_unused(const PoolRecord& pool, const LimitDefinition* limit, TimestampMs now) {
  if (!pool.lines.empty()) return false;
  if (limit == nullptr) return true;
  if (!pool.shared.empty()) return false;
  if (limit->info.budget && pool.account && !is_unused(*pool.account, *limit->info.budget, now)) return false;
  return pool.holders.empty() && (!limit->info.rate || is_unused(*limit->info.rate, pool.rate, now));
}

// Gives back what a lease has not spent; false if the pool is not known. What was spent stays spent, so a period that has
// begun since is not touched.
bool return_reservation(Workspace& workspace, Slot& slot, const Reservation& reserved, const Context& context) {
  if (!workspace.knows(reserved.pool)) return false;
  slot.changed = true;
  Slot& pool = workspace.at(reserved.pool);
  workspace.rest_on(slot, pool);
  if (known_pool(workspace, reserved.pool) == nullptr || !pool.pool()->account) return true;
  give_back(*pool.pool()->account, reserved.amounts);
  rearm(workspace, pool, context.now);
  return true;
}

void reserve_for(Slot& pool, Execution& execution, const LimitInfo& limit, const Context& context) {
  Amounts need = need_of(limit, execution);
  std::erase_if(need, [](const auto& one) { return one.second == 0; });
  reserve(present_account(pool, limit, context), need);
  if (need.empty()) return;
  execution.facts.limits.reserved.push_back({pool.key, std::move(need)});
  execution.facts.limits.slots_epoch = execution.facts.lease->lease_epoch;
}

// It was for an execution, or a flow, that has been removed.
bool is_orphan(Workspace& workspace, const Slot& slot, const LimitDefinition* limit) {
  const PoolRecord& pool = *slot.pool();
  const auto owner = limit == nullptr ? std::nullopt : owner_of(limit->info, pool);
  if (!owner || !pool.lines.empty() || !pool.holders.empty()) return false;
  const Slot* found = workspace.find(*owner);
  if (found == nullptr) return false;
  const bool gone = found->erased || (found->version == 0 && !found->changed && !found->damage);
  if (gone) workspace.rest_on(slot, *found);
  return gone;
}

// The limit was changed: what its budget allows now counts, and an account that was paused goes on.
void adopt_limit(Slot& slot, const LimitInfo& limit, const Context& context) {
  PoolRecord& pool = *slot.pool();
  for (PoolLine& line : pool.lines) {
    line.need.clear();
    if (line.look_at != 0) line.look_at = context.now;
  }
  if (!pool.account) return;
  if (!limit.budget) {
    // What leases have reserved comes back to the account, also if there is a budget again.
    reset_account(*pool.account);
    pool.account->paused = false;
    pool.account->kept.clear();
    return;
  }
  const bool was_paused = pool.account->paused;
  adopt_budget(*pool.account, *limit.budget, context.now, context.zones);
  pool.visit_at = std::min(pool.visit_at, context.now + visit_ms(limit));
  if (was_paused) log_account(slot, EventType::budget_resumed, limit, {limit.changed_by, {}}, limit.name, context);
}

std::uint64_t revision_of(const LimitDefinition* limit) {
  return limit == nullptr ? removed_revision : limit->info.revision;
}

}  // namespace

Slot& pool_slot(Workspace& workspace, const Demand& demand, TimestampMs now) {
  Slot& slot = workspace.at(demand.pool);
  if (slot.pool() != nullptr && !slot.erased) return slot;
  auto pool = std::make_unique<PoolRecord>();
  pool->limit = demand.limit->number;
  pool->key = demand.key;
  pool->revision = demand.limit->info.revision;
  pool->visit_at = now + visit_ms(demand.limit->info);
  slot.record = std::move(pool);
  slot.erased = false;
  return slot;
}

void rest_on_limits(Workspace& workspace, const Slot& slot) {
  if (const Slot* limits = workspace.find(limits_key())) workspace.rest_on(slot, *limits);
}

void rearm(Workspace& workspace, Slot& slot, TimestampMs now) {
  PoolRecord& pool = *slot.pool();
  const LimitsRecord* limits = limits_of(workspace);
  slot.changed = true;
  std::erase_if(pool.lines, [](const PoolLine& line) { return !line.waiting && line.called == 0; });
  pool.call_at = 0;
  // What was spent counts until the period ends, and not longer.
  if (pool.account && pool.account->period_end > now && has_spent(*pool.account)) {
    pool.visit_at = std::min(pool.visit_at, pool.account->period_end);
  }
  const bool someone_waits =
      std::any_of(pool.lines.begin(), pool.lines.end(), [](const PoolLine& line) { return line.waiting; });
  if (!someone_waits) return;
  rest_on_limits(workspace, slot);
  const LimitDefinition* limit = limits == nullptr ? nullptr : limits->find(pool.limit);
  // Without the definition the clock finds out.
  pool.call_at = now;
  if (limit == nullptr || cancels(limit->info, pool, now)) return;
  const bool can_call = std::any_of(pool.lines.begin(), pool.lines.end(), [&](const PoolLine& line) {
    return callable(line, room_in(limit->info, pool, now, line.need).now) > 0;
  });
  if (!can_call) pool.call_at = time_of_room(limit->info, pool, now);
}

Account& present_account(Slot& pool, const LimitInfo& limit, const Context& context) {
  std::optional<Account>& account = pool.pool()->account;
  if (!account) {
    account = open_account(*limit.budget, context.now, context.zones);
  } else if (begin_period(*account, *limit.budget, context.now, context.zones)) {
    log_account(pool, EventType::budget_reset, limit, {"clock", {}}, limit.name, context);
  }
  return *account;
}

void log_account(Slot& pool, EventType type, const LimitInfo& limit, const Operator& by, const std::string& reason,
                 const Context& context) {
  pool.changed = true;
  Event event = plain_event(type, context, by, reason);
  if (limit.name_space) event.name_space = *limit.name_space;
  if (limit.lane) event.lane = *limit.lane;
  pool.log(std::move(event));
}

LimitSubject subject_of(const Execution& execution) {
  const Spec& spec = execution.spec;
  return {spec.name_space,
          spec.lane,
          spec.kind,
          spec.creator,
          spec.flow ? to_string(flow_of(execution)) : std::string(),
          execution.facts.tags,
          to_string(execution.id)};
}

std::vector<Demand> demands_of(const LimitsRecord& limits, const LimitSubject& subject) {
  std::vector<Demand> demands;
  for (const LimitDefinition& limit : limits.limits) {
    if (limit.info.share || !is_for(limit.info, subject)) continue;
    std::vector<std::string> key = values_of(limit.info, subject);
    if (std::any_of(key.begin(), key.end(), [](const std::string& value) { return value.empty(); })) continue;
    Key pool = pool_key(limit.number, key);
    demands.push_back({&limit, std::move(key), std::move(pool)});
  }
  return demands;
}

std::optional<Demand> share_of(const LimitsRecord& limits, const LimitSubject& subject) {
  for (const LimitDefinition& limit : limits.limits) {
    if (!limit.info.share || !is_for(limit.info, subject)) continue;
    std::vector<std::string> key = values_of(limit.info, subject);
    Key pool = pool_key(limit.number, key);
    return Demand{&limit, std::move(key), std::move(pool)};
  }
  return std::nullopt;
}

const LimitsRecord* limits_of(const Workspace& workspace) {
  const Slot* slot = workspace.find(limits_key());
  return slot == nullptr || slot->damage ? nullptr : slot->limits();
}

std::vector<Key> start_keys(const Workspace& workspace, const Execution& execution) {
  std::vector<Key> keys = owed_keys(execution.facts);
  keys.push_back(limits_key());
  const LimitsRecord* limits = limits_of(workspace);
  if (limits == nullptr || limits->limits.empty()) return keys;
  for (Demand& demand : demands_of(*limits, subject_of(execution))) keys.push_back(std::move(demand.pool));
  return keys;
}

std::vector<Key> owed_keys(const Facts& facts) {
  std::vector<Key> keys = facts.limits.slots;
  for (const Reservation& one : facts.limits.reserved) keys.push_back(one.pool);
  if (facts.limits.called) keys.push_back(*facts.limits.called);
  return keys;
}

bool owes_slots(const Facts& facts) {
  const LimitFacts& limits = facts.limits;
  const bool holds = facts.lease && facts.lease->lease_epoch == limits.slots_epoch;
  return (limits.holds_any() && !holds) || (limits.called && facts.ready_sequence == 0);
}

void return_slots(Workspace& workspace, Slot& slot, const Context& context) {
  if (slot.erased || slot.execution() == nullptr || !owes_slots(slot.execution()->facts)) return;
  Execution& execution = *slot.execution();
  LimitFacts& limits = execution.facts.limits;
  if (limits.called && execution.facts.ready_sequence == 0) uncall(workspace, slot, context);
  if (execution.facts.lease && execution.facts.lease->lease_epoch == limits.slots_epoch) return;
  const SlotHolder holder{execution.id, limits.slots_epoch};
  std::erase_if(limits.slots, [&](const Key& key) {
    if (!workspace.knows(key)) return false;
    slot.changed = true;
    Slot& pool = workspace.at(key);
    // Its limit was removed, or nobody can read it; unless it was made after this batch has looked.
    workspace.rest_on(slot, pool);
    if (known_pool(workspace, key) == nullptr) return true;
    std::erase(pool.pool()->holders, holder);
    rearm(workspace, pool, context.now);
    return true;
  });
  std::erase_if(limits.reserved,
                [&](const Reservation& one) { return return_reservation(workspace, slot, one, context); });
  if (!limits.holds_any()) limits.slots_epoch = 0;
}

void return_slots(Workspace& workspace, const std::vector<Key>& touched, const Context& context) {
  for (const Key& key : touched) {
    Slot* slot = key.kind() == RecordKind::execution ? workspace.find(key) : nullptr;
    if (slot != nullptr && slot->changed) return_slots(workspace, *slot, context);
  }
}

Result<std::vector<Demand>> check_limits(Workspace& workspace, Slot& slot, const Context& context, bool hold_back) {
  return_slots(workspace, slot, context);
  const LimitsRecord* limits = limits_of(workspace);
  if (limits == nullptr) return std::vector<Demand>{};
  // A store on which nobody ever made a limit pays nothing: there is no record to guard then.
  rest_on_limits(workspace, slot);
  const Execution& execution = *slot.execution();
  std::vector<Demand> demands = demands_of(*limits, subject_of(execution));
  for (const Demand& demand : demands) {
    // It has become claimable in this batch, and the pool was not read: the next batch decides.
    if (!workspace.knows(demand.pool)) return fail(Errc::not_eligible, "the limits of the execution are not known yet");
    if (may_start_under(demand, known_pool(workspace, demand.pool), execution, context.now)) continue;
    if (hold_back) {
      hold_back_for(workspace, slot, demand, context);
      return_slots(workspace, slot, context);  // the call is used up
    }
    return fail(Errc::not_eligible, no_room_text(demand));
  }
  return demands;
}

void take_slots(Workspace& workspace, Slot& slot, const std::vector<Demand>& demands, const Context& context) {
  Execution& execution = *slot.execution();
  if (execution.facts.limits.called) uncall(workspace, slot, context);
  const SlotHolder holder{execution.id, execution.facts.lease->lease_epoch};
  for (const Demand& demand : demands) {
    Slot& pool = pool_slot(workspace, demand, context.now);
    if (demand.limit->info.concurrency) {
      pool.pool()->holders.push_back(holder);
      execution.facts.limits.slots.push_back(demand.pool);
      execution.facts.limits.slots_epoch = holder.lease_epoch;
    }
    if (demand.limit->info.budget) reserve_for(pool, execution, demand.limit->info, context);
    if (demand.limit->info.rate) note_start(*demand.limit->info.rate, pool.pool()->rate, context.now);
    rearm(workspace, pool, context.now);
    workspace.tie(slot, pool);
  }
}

Room room_in(const LimitInfo& limit, const PoolRecord& pool, TimestampMs now, const Amounts& need) {
  Room room{free_slots(limit, pool), 0};
  if (limit.budget) {
    const Account* account = pool.account ? &*pool.account : nullptr;
    const Amounts& wanted = need.empty() ? need_of(*limit.budget, {}) : need;
    const std::uint32_t by_budget = starts_left(*limit.budget, account, wanted, now);
    // A period lets it start only if what is reserved leaves room enough.
    const bool only_time = by_budget == 0 && room.now > 0 && account != nullptr && account->period_end > now &&
                           starts_left(*limit.budget, account, wanted, account->period_end) > 0;
    if (only_time) room.next_at = account->period_end;
    room.now = std::min(room.now, by_budget);
  }
  if (!limit.rate) return room;
  const std::uint32_t by_rate = may_start(*limit.rate, pool.rate, now);
  if (by_rate == 0 && (room.now > 0 || room.next_at != 0)) {
    room.next_at = std::max(room.next_at, may_start_at(*limit.rate, pool.rate, 1, now));
  }
  room.now = std::min(room.now, by_rate);
  return room;
}

std::optional<Key> owner_of(const LimitInfo& limit, const PoolRecord& pool) {
  for (std::size_t i = 0; i < limit.per.size() && i < pool.key.size(); ++i) {
    const bool is_flow = limit.per[i] == "flow";
    if (!is_flow && limit.per[i] != "execution") continue;
    const auto id = parse_execution_id(pool.key[i]);
    if (id) return is_flow ? flow_key(*id) : execution_key(*id);
  }
  return std::nullopt;
}

std::vector<GroupWanted> groups_wanted(const Workspace& workspace, const Key& due, TimestampMs now) {
  std::vector<GroupWanted> wanted;
  const LimitsRecord* limits = limits_of(workspace);
  if (due.kind() == RecordKind::limits) {
    if (limits != nullptr && !limits->to_visit.empty()) {
      wanted.push_back({group_of_pools(limits->to_visit.front()), limits::max_visited_pools, 0});
    }
    return wanted;
  }
  const PoolRecord* pool = known_pool(workspace, due);
  if (pool == nullptr) return wanted;
  const LimitDefinition* limit = limits == nullptr ? nullptr : limits->find(pool->limit);
  const bool cancelling = limit != nullptr && cancels(limit->info, *pool, now);
  for (const PoolLine& line : pool->lines) {
    const std::uint32_t room =
        limit == nullptr || cancelling ? UINT32_MAX : room_in(limit->info, *pool, now, line.need).now;
    std::uint32_t count = cancelling && line.waiting ? limits::max_called : callable(line, room);
    if (count == 0 && line.waiting && line.look_at != 0 && line.look_at <= now) count = 1;
    if (count > 0) wanted.push_back({group_held_by(due, line.route), count, line.route});
  }
  return wanted;
}

void pool_due(Workspace& workspace, Slot& slot, const DueCommand& command, const Context& context) {
  const LimitsRecord* limits = limits_of(workspace);
  const LimitDefinition* limit = limits == nullptr ? nullptr : limits->find(slot.pool()->limit);
  slot.changed = true;
  // Whether the limit is gone must be known for certain: its pool goes with it, and the slots in it.
  rest_on_limits(workspace, slot);
  if (limit != nullptr && limit->info.budget && slot.pool()->account) present_account(slot, limit->info, context);
  for (const FoundGroup& found : command.found) {
    call_all(workspace, slot, found, limit == nullptr ? nullptr : &limit->info, context);
  }
  rearm(workspace, slot, context.now);
  PoolRecord& pool = *slot.pool();
  // Nobody is under a limit that was removed.
  if (limit == nullptr) {
    for (PoolLine& line : pool.lines) line.called = 0;
    rearm(workspace, slot, context.now);
  }
  if (pool.visit_at > context.now && limit != nullptr) return;
  drop_passed_lines(pool, context);
  pool.visit_at = context.now + (limit == nullptr ? limits::pool_visit_ms : visit_ms(limit->info));
  rearm(workspace, slot, context.now);
  slot.erased = is_unused(pool, limit, context.now) || is_orphan(workspace, slot, limit);
}

void limits_due(Workspace& workspace, Slot& slot, const DueCommand& command, const Context& context) {
  slot.changed = true;
  LimitsRecord& limits = *slot.limits();
  if (limits.to_visit.empty() || command.found.empty()) return;
  const FoundGroup& found = command.found.front();
  const LimitDefinition* limit = limits.find(limits.to_visit.front());
  bool any_left = false;
  for (const Key& key : found.keys) {
    Slot* one = workspace.find(key);
    PoolRecord* pool = one == nullptr || one->erased ? nullptr : one->pool();
    if (pool == nullptr || pool->limit != limits.to_visit.front() || pool->revision == revision_of(limit)) continue;
    any_left = true;
    pool->revision = revision_of(limit);
    if (limit != nullptr) adopt_limit(*one, limit->info, context);
    rearm(workspace, *one, context.now);
    if (limit == nullptr) pool->visit_at = context.now;
  }
  // Those that were changed now commit by themselves. The limit is done when a later look finds none.
  if (!any_left) limits.to_visit.erase(limits.to_visit.begin());
}

}  // namespace flowfabric
