#include "engine/limit_reads.hpp"

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/limit_ingress.hpp"
#include "core/limiting.hpp"
#include "core/sharing.hpp"
#include "engine/reads.hpp"

namespace flowfabric::reads {
namespace {

constexpr std::uint8_t use_cursor_version = 1;

Result<LimitsRecord> limits_record(Store& store) {
  FF_TRY(records, store.load({limits_key()}));
  if (records.empty()) return LimitsRecord{};
  return decode_limits(records.front().body);
}

Result<TimestampMs> time_of(Store& store) {
  FF_TRY(now_us, store.now_us());
  return now_us / 1000;
}

// No more than `most`.
Result<std::uint32_t> count_held(Store& store, const Key& key, const PoolRecord& pool, std::uint32_t most) {
  std::uint32_t count = 0;
  for (const PoolLine& line : pool.lines) {
    if (!line.waiting) continue;
    if (count >= most) break;
    FF_TRY(entries, store.group_entries(group_held_by(key, line.route), {}, most - count));
    count += static_cast<std::uint32_t>(entries.size());
  }
  return count;
}

Result<LimitUse> use_of(Store& store, const LimitInfo& limit, const Key& key, const PoolRecord& pool, TimestampMs now,
                        const Amounts& need = {}) {
  LimitUse use;
  use.key = pool.key;
  if (limit.share) use.weight = weight_of(*limit.share, pool.key);
  use.in_use = static_cast<std::uint32_t>(pool.holders.size());
  const Room room = room_in(limit, pool, now, need);
  if (room.now != UINT32_MAX) use.free = room.now;
  use.next_start_at = room.next_at;
  for (const SlotHolder& holder : pool.holders) {
    if (use.holders.size() >= limits::max_shown_holders) break;
    use.holders.push_back(holder.execution_id);
  }
  if (limit.budget) use.budget = account_use(*limit.budget, pool.account ? &*pool.account : nullptr, now);
  FF_TRY(held, count_held(store, key, pool, limits::max_counted_held));
  use.held_back = held;
  return use;
}

// A pool that does not exist is unused.
Result<PoolRecord> pool_at(Store& store, const Demand& demand) {
  FF_TRY(records, store.load({demand.pool}));
  if (!records.empty()) return decode_pool(records.front());
  PoolRecord pool;
  pool.limit = demand.limit->number;
  pool.key = demand.key;
  return pool;
}

std::string use_cursor(const DueEntry& last) {
  Encoder out;
  out.u8(use_cursor_version);
  out.number(last.rank);
  out.text(last.key.bytes);
  return to_base64url(out.take());
}

Result<Store::GroupPosition> decode_use_cursor(const std::string& cursor) {
  const auto bytes = from_base64url(cursor);
  if (!bytes) return Unexpected(bad_cursor());
  Decoder in(*bytes);
  const bool known = in.u8() == use_cursor_version;
  Store::GroupPosition position;
  position.rank = in.number();
  position.key.bytes = in.text();
  if (!known || !in.at_end() || position.key.bytes.size() > limits::max_key_bytes) return Unexpected(bad_cursor());
  return position;
}

}  // namespace

Result<std::vector<LimitInfo>> list_limits(Store& store, const ListLimitsRequest& request) {
  FF_TRY(record, limits_record(store));
  std::vector<LimitInfo> found;
  for (const LimitDefinition& limit : record.limits) {
    const auto& of = limit.info.name_space;
    if (!request.name_space || !of || of == request.name_space) found.push_back(limit.info);
  }
  return found;
}

Result<ListLimitUseReply> limit_use(Store& store, const ListLimitUseRequest& request) {
  FF_TRY(record, limits_record(store));
  const LimitDefinition* limit = record.find(request.limit);
  if (limit == nullptr) return fail(Errc::not_found, "there is no " + shown(request.limit), "name");
  std::optional<Store::GroupPosition> after;
  if (!request.cursor.empty()) {
    FF_TRY(position, decode_use_cursor(request.cursor));
    after = std::move(position);
  }
  // One more than asked for tells whether there is more.
  FF_TRY(entries, store.group_entries(group_of_pools(limit->number), after, request.limit_keys + 1));
  const bool more = entries.size() > request.limit_keys;
  if (more) entries.pop_back();
  FF_TRY(now, time_of(store));
  std::vector<Key> keys;
  for (const DueEntry& entry : entries) keys.push_back(entry.key);
  FF_TRY(records, store.load(keys));
  ListLimitUseReply reply;
  reply.info = limit->info;
  for (const Record& one : records) {
    FF_TRY(pool, decode_pool(one));
    FF_TRY(use, use_of(store, limit->info, one.key, pool, now));
    reply.keys.push_back(std::move(use));
  }
  if (more) reply.next_cursor = use_cursor(entries.back());
  return reply;
}

Result<LimitCheck> check_limits(Store& store, const LimitCheckRequest& request) {
  FF_TRY(record, limits_record(store));
  FF_TRY(now, time_of(store));
  LimitCheck check;
  bool only_time = true;
  const LimitSubject subject{request.name_space, request.lane, request.kind, request.creator, {}, request.tags};
  for (const Demand& demand : demands_of(record, subject)) {
    FF_TRY(pool, pool_at(store, demand));
    const auto& budget = demand.limit->info.budget;
    const Amounts need = budget ? need_of(*budget, request.reserve) : Amounts{};
    FF_TRY(use, use_of(store, demand.limit->info, demand.pool, pool, now, need));
    const bool has_room = !use.free || *use.free > 0;
    const bool would_hold_back = !has_room || use.held_back > 0;
    if (would_hold_back) check.could_start = false;
    if (would_hold_back && use.next_start_at == 0) only_time = false;
    check.could_start_at = std::max(check.could_start_at, use.next_start_at);
    check.limits.push_back({demand.limit->info, std::move(use), would_hold_back});
  }
  // It holds nothing back.
  if (const auto share = share_of(record, subject)) {
    LimitUse use;
    use.key = share->key;
    use.weight = weight_of(*share->limit->info.share, share->key);
    check.limits.push_back({share->limit->info, std::move(use), false});
  }
  if (check.could_start || !only_time) check.could_start_at = 0;
  return check;
}

namespace {

Result<void> add_figures(Store& store, const std::vector<DueEntry>& pools, LimitFigure wanted, LimitFigures& figures) {
  std::vector<Key> keys;
  for (const DueEntry& entry : pools) keys.push_back(entry.key);
  FF_TRY(records, store.load(keys));
  for (const Record& record : records) {
    const auto pool = decode_pool(record);
    if (!pool) continue;  // an integrity check names it
    if (wanted == LimitFigure::in_use) {
      figures.in_use += pool->holders.size();
    } else if (figures.held_back < limits::max_counted_held) {
      const auto most = static_cast<std::uint32_t>(limits::max_counted_held - figures.held_back);
      FF_TRY(held, count_held(store, record.key, *pool, most));
      figures.held_back += held;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<LimitFigures>> limit_figures(Store& store, LimitFigure wanted) {
  FF_TRY(record, limits_record(store));
  std::vector<LimitFigures> all;
  if (record.limits.empty()) return all;
  const auto for_each = limits::max_measured_pools / static_cast<std::uint32_t>(record.limits.size());
  for (const LimitDefinition& limit : record.limits) {
    if (limit.info.share) continue;  // it has no slots
    LimitFigures& figures = all.emplace_back();
    figures.limit = limit.info;
    std::optional<Store::GroupPosition> after;
    for (std::uint32_t left = for_each; left > 0;) {
      const std::uint32_t page = std::min(left, limits::max_page);
      FF_TRY(pools, store.group_entries(group_of_pools(limit.number), after, page));
      FF_TRY_VOID(add_figures(store, pools, wanted, figures));
      if (pools.size() < page) break;
      left -= page;
      after = Store::GroupPosition{pools.back().rank, pools.back().key};
    }
  }
  return all;
}

namespace {

// A limit for all namespaces may have holders of which those who read about an execution must not know.
Result<void> keep_to_namespace(Store& store, const std::string& name_space, LimitUse& use) {
  std::vector<Key> keys;
  for (const ExecutionId& id : use.holders) keys.push_back(execution_key(id));
  FF_TRY(records, store.load(keys));
  std::set<ExecutionId> own;
  for (const Record& record : records) {
    const auto execution = decode_execution(record);
    if (execution && execution->spec.name_space == name_space) own.insert(execution->id);
  }
  std::erase_if(use.holders, [&](const ExecutionId& id) { return !own.contains(id); });
  return {};
}

}  // namespace

Result<std::optional<HeldBy>> held_by(Store& store, const Execution& execution) {
  const auto& held = execution.facts.limits.held;
  if (!held) return std::nullopt;
  FF_TRY(record, limits_record(store));
  FF_TRY(records, store.load({held->pool}));
  if (records.empty()) return std::nullopt;
  FF_TRY(pool, decode_pool(records.front()));
  const LimitDefinition* limit = record.find(pool.limit);
  if (limit == nullptr) return std::nullopt;
  FF_TRY(now, time_of(store));
  FF_TRY(use, use_of(store, limit->info, held->pool, pool, now));
  if (!limit->info.name_space) FF_TRY_VOID(keep_to_namespace(store, execution.spec.name_space, use));
  return HeldBy{limit->info, std::move(use)};
}

Result<std::optional<std::pair<std::string, std::uint32_t>>> share_over(Store& store, const Execution& execution) {
  const auto record = limits_record(store);
  if (!record && record.error().code == Errc::corruption)
    return std::nullopt;  // the execution can be read nevertheless
  if (!record) return Unexpected(record.error());
  const auto share = share_of(*record, subject_of(execution));
  if (!share) return std::nullopt;
  const LimitInfo& info = share->limit->info;
  return std::pair(info.name, weight_of(*info.share, share->key));
}

}  // namespace flowfabric::reads
