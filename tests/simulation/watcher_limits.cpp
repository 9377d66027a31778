// The accountant of limits. It counts leases by the events and records of executions alone, and compares with what the
// definitions allow; pools are only asked whether somebody waits in vain.
#include <algorithm>

#include "core/limiting.hpp"
#include "core/state.hpp"
#include "simulation/watcher_parts.hpp"

namespace flowfabric::simulation {
namespace {

std::string value_by(const std::string& name, const Execution& execution) {
  if (name == "lane") return execution.spec.lane;
  if (name == "kind") return execution.spec.kind;
  if (name == "namespace") return execution.spec.name_space;
  const auto tag = execution.facts.tags.find(name.substr(5));
  return tag == execution.facts.tags.end() ? "" : tag->second;
}

// The key under which a limit counts it; nothing if it does not.
std::optional<std::string> key_under(const LimitInfo& limit, const Execution& execution) {
  if (limit.lane && *limit.lane != execution.spec.lane) return std::nullopt;
  if (limit.name_space && *limit.name_space != execution.spec.name_space) return std::nullopt;
  std::string key = "/";
  for (const std::string& name : limit.per) {
    const std::string value = value_by(name, execution);
    if (value.empty()) return std::nullopt;
    key += value + "/";
  }
  return key;
}

}  // namespace

void Watcher::limits_changed() {
  limits_are_new_ = false;
  const Key key = limits_key();
  const auto records = ok(store_->load({key}));
  limits_ = ok(decode_limits(records.front().body));
  new_events(key, other_positions_[key]);
  std::erase_if(starts_, [&](const auto& one) { return limits_.find(one.first.first) == nullptr; });
}

void Watcher::pool_changed(const Key& key, bool erased) {
  pools_.erase(key);
  if (erased) {
    forget_log(key);
    other_positions_.erase(key);
    return;
  }
  new_events(key, other_positions_[key]);
  check_account(pools_.emplace(key, ok(decode_pool(ok(store_->load({key})).front()))).first->second);
}

// Budgets are made and removed here, but never lowered.
void Watcher::check_account(const PoolRecord& pool) const {
  const LimitDefinition* limit = limits_.find(pool.limit);
  if (!hard_limits_hold_ || limit == nullptr || !limit->info.budget || !pool.account) return;
  if (limit->info.budget->on_hard_limit == BreachAction::notify) return;
  for (const BudgetDimension& dimension : limit->info.budget->dimensions) {
    const DimensionAccount* state = pool.account->find(dimension.name);
    if (state == nullptr || !dimension.hard || state->spent + state->reserved <= *dimension.hard) continue;
    violated("no hard limit is exceeded", "{} spent and {} reserved under {}, which allows {}", state->spent,
             state->reserved, limit->info.name, *dimension.hard);
  }
}

// When nothing is left to do now: what accounts say is reserved is what executions with leases have.
void Watcher::check_reservations() const {
  std::map<Key, Amounts> reserved;
  for (const auto& [key, shadow] : shadows_) {
    if (shadow.removed) continue;
    const Facts& facts = shadow.execution.facts;
    for (const flowfabric::Reservation& one : facts.limits.reserved) {
      const auto pool = pools_.find(one.pool);
      if (pool == pools_.end() || limits_.find(pool->second.limit) == nullptr) continue;
      if (!facts.lease || facts.lease->lease_epoch != facts.limits.slots_epoch) {
        violated("no reservation is leaked", "{} has no such lease any more", name_of(key));
      }
      for (const auto& [name, amount] : one.amounts) reserved[one.pool][name] += amount;
    }
  }
  for (const auto& [key, pool] : pools_) {
    if (!pool.account || limits_.find(pool.limit) == nullptr) continue;
    for (const DimensionAccount& one : pool.account->dimensions) {
      if (one.reserved == reserved[key][one.name]) continue;
      violated("no reservation is leaked", "{} {} are reserved; executions have {}", one.reserved, one.name,
               reserved[key][one.name]);
    }
  }
}

// A lease begins. What counts is what the execution is now; tags may change later.
void Watcher::note_start_under_limits(const Key& key, const Shadow& shadow) {
  const Execution& execution = shadow.execution;
  const std::uint64_t epoch = execution.facts.lease->lease_epoch;
  counted_[key].clear();
  if (!limits_count_) return;
  for (const LimitDefinition& limit : limits_.limits) {
    const auto of = key_under(limit.info, execution);
    if (!of) continue;
    const std::pair<std::uint64_t, std::string> counted{limit.number, *of};
    if (limit.info.concurrency) counted_[key].push_back({counted, epoch});
    new_starts_.insert(counted);
    StartsOf& starts = starts_[counted];
    if (starts.revision != limit.info.revision) starts = {limit.info.revision, {}};
    starts.at.push_back(execution.facts.lease->acquired_at);
  }
}

// After a commit: what was created under a share stands behind whatever its key has in line.
void Watcher::check_places() {
  for (const Key& key : created_) check_place(key);
  created_.clear();
}

void Watcher::check_place(const Key& key) {
  places_.erase(key);
  const Shadow& shadow = shadows_.at(key);
  const Execution& created = shadow.execution;
  // Members of flows and executions of schedules may come first, if their pools were not read.
  if (shadow.removed || created.spec.member || created.spec.schedule) return;
  if (created.facts.ready_sequence == 0 || created.spec.created_at <= limits_changed_by_ms_) return;
  const auto share = share_of(limits_, subject_of(created));
  if (!share) return;
  const Place place{share->pool, created.facts.priority, created.facts.ready_sequence, commit_};
  for (const auto& [other_key, other] : places_) {
    if (other.pool != place.pool || other.priority != place.priority || other.commit == commit_) continue;
    const Shadow& before = shadows_.at(other_key);
    const Execution& execution = before.execution;
    if (before.removed || execution.spec.route != created.spec.route || !ready_entry(execution)) continue;
    if (execution.facts.priority != other.priority || execution.facts.ready_sequence != other.number) continue;
    // While a limit held it back its key may have had nothing in line, so that its places were forgotten.
    if (execution.facts.limits.called) continue;
    if (place.number > other.number) continue;
    violated("a key keeps its order", "{} got place {}; {} of the same key has {}", name_of(key), place.number,
             name_of(other_key), other.number);
  }
  places_[key] = place;
}

// After a commit: of each key for which something started, no more run than may.
void Watcher::check_limits() {
  for (const auto& counted : new_starts_) {
    const LimitDefinition* limit = limits_.find(counted.first);
    if (limit == nullptr) continue;
    check_rate(limit->info, starts_.at(counted));
    if (!limit->info.concurrency) continue;
    std::size_t running = 0;
    for (const auto& [key, all] : counted_) {
      const Shadow& shadow = shadows_.at(key);
      if (shadow.removed || !shadow.execution.facts.lease) continue;
      for (const auto& [of, epoch] : all) {
        if (of == counted && shadow.execution.facts.lease->lease_epoch == epoch) ++running;
      }
    }
    if (running > *limit->info.concurrency) {
      violated("no limit is exceeded", "{} run under limit {} of {}, which allows {}", running, limit->info.name,
               counted.second, *limit->info.concurrency);
    }
  }
  new_starts_.clear();
}

// Starts in order of time; the clock may have been set back.
void Watcher::check_rate(const LimitInfo& limit, const StartsOf& starts) const {
  if (!limit.rate || !std::is_sorted(starts.at.begin(), starts.at.end())) return;
  const RateLimit& rate = *limit.rate;
  for (std::size_t first = starts.at.size(); first-- > 0;) {
    const auto count = static_cast<std::int64_t>(starts.at.size() - first);
    const std::int64_t passed = starts.at.back() - starts.at[first];
    const bool too_many = rate.burst ? (count - *rate.burst) * rate.period_ms > passed * rate.count
                                     : count > rate.count && passed < rate.period_ms;
    if (too_many) {
      violated("no limit is exceeded", "{} starts in {} ms under limit {}: {} in {} ms", count, passed, limit.name,
               rate.count, rate.period_ms);
    }
  }
}

// When nothing is left to do now: whoever is held back is so for a reason.
void Watcher::check_pools(TimestampMs now) {
  limits_count_ = limits_count_ || limits_.last_number > 0;
  for (const auto& [key, pool] : pools_) {
    const TimestampMs due = next_due(pool);
    if (due != 0 && due <= now) violated("the clock does what is due", "a pool was due {} ms ago", now - due);
    const LimitDefinition* limit = limits_.find(pool.limit);
    for (const SlotHolder& holder : pool.holders) {
      const auto found = shadows_.find(execution_key(holder.execution_id));
      const auto& lease = found->second.execution.facts.lease;
      if (limit != nullptr && (found->second.removed || !lease || lease->lease_epoch != holder.lease_epoch)) {
        violated("no slot is leaked", "{} has none any more", to_string(holder.execution_id));
      }
    }
    if (limit == nullptr) continue;
    for (const PoolLine& line : pool.lines) {
      const std::uint32_t room = room_in(limit->info, pool, now, line.need).now;
      if (line.waiting && line.called < room) {
        violated("held executions go on when they may", "limit {} has room for {}", limit->info.name, room);
      }
    }
  }
  check_held();
  check_reservations();
}

// Each is in the line of its pool; and those that were called are counted.
void Watcher::check_held() const {
  std::map<std::pair<Key, RouteNo>, std::uint32_t> called;
  for (const auto& [key, shadow] : shadows_) {
    if (shadow.removed) continue;
    const LimitFacts& facts = shadow.execution.facts.limits;
    const RouteNo route = shadow.execution.spec.route;
    if (facts.called) ++called[{*facts.called, route}];
    if (!facts.held) continue;
    const auto pool = pools_.find(facts.held->pool);
    const bool in_line =
        pool != pools_.end() && std::any_of(pool->second.lines.begin(), pool->second.lines.end(),
                                            [&](const PoolLine& line) { return line.route == route && line.waiting; });
    if (!in_line) violated("held executions are in a line", "{}", name_of(key));
  }
  for (const auto& [key, pool] : pools_) {
    if (limits_.find(pool.limit) == nullptr) continue;
    for (const PoolLine& line : pool.lines) {
      if (line.called != called[{key, line.route}]) {
        violated("called executions are counted", "{} instead of {}", line.called, called[{key, line.route}]);
      }
    }
  }
}

std::size_t Watcher::check_due_entries_of_limits(const std::map<Key, DueEntry>& due) {
  std::size_t expected = 0;
  for (const auto& [key, pool] : pools_) {
    const Grouping grouped = grouping(pool);
    expected += check_due_entry(due, {pool.armed_due, key, grouped.group, grouped.rank}, next_due(pool));
  }
  return expected + check_due_entry(due, {limits_.armed_due, limits_key()}, next_due(limits_));
}

}  // namespace flowfabric::simulation
