#include "core/limit_records.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/record_codec.hpp"

namespace flowfabric {

using namespace record_codec;

namespace {

constexpr std::size_t pool_id_bytes = 16;
constexpr std::size_t pool_key_bytes = 1 + pool_id_bytes + 2;

void put_text(Encoder& out, const std::string& text) { out.text(text); }
std::string get_text(Decoder& in) { return in.text(); }

void put_rate_limit(Encoder& out, const RateLimit& rate) {
  out.unsigned_number(rate.count);
  out.number(rate.period_ms);
  put_optional(out, rate.burst, put_u32);
}

RateLimit get_rate_limit(Decoder& in) {
  RateLimit rate;
  rate.count = in.u32();
  rate.period_ms = in.number();
  rate.burst = get_optional(in, get_u32);
  // What divides by it must be able to.
  if (rate.count == 0 || rate.period_ms <= 0 || rate.burst == 0U) in.refuse();
  return rate;
}

void put_budget(Encoder& out, const BudgetSpec& budget) {
  out.unsigned_number(budget.dimensions.size());
  for (const BudgetDimension& dimension : budget.dimensions) {
    out.text(dimension.name);
    put_optional(out, dimension.hard, put_number);
    put_optional(out, dimension.soft, put_number);
    out.number(dimension.reserve);
  }
  out.text(budget.period);
  out.text(budget.time_zone);
  out.enumerator(budget.on_hard_limit);
}

BudgetSpec get_budget(Decoder& in) {
  BudgetSpec budget;
  budget.dimensions.resize(in.count());
  for (BudgetDimension& dimension : budget.dimensions) {
    dimension.name = in.text();
    dimension.hard = get_optional(in, get_number);
    dimension.soft = get_optional(in, get_number);
    dimension.reserve = in.number();
  }
  budget.period = in.text();
  budget.time_zone = in.text();
  budget.on_hard_limit = in.enumerator(BreachAction::notify);
  if (!parse_period(budget.period)) in.refuse();
  return budget;
}

void put_account(Encoder& out, const Account& account) {
  out.number(account.opened_at);
  out.number(account.period_start);
  out.number(account.period_end);
  out.unsigned_number(account.resets);
  out.unsigned_number(account.breaches);
  out.boolean(account.paused);
  out.unsigned_number(account.dimensions.size());
  for (const DimensionAccount& dimension : account.dimensions) {
    out.text(dimension.name);
    out.number(dimension.spent);
    out.number(dimension.reserved);
    out.boolean(dimension.warned);
    out.boolean(dimension.exceeded);
  }
  out.unsigned_number(account.buckets.size());
  for (const UsageBucket& bucket : account.buckets) {
    out.number(bucket.from);
    put_amounts(out, bucket.spent);
  }
  out.unsigned_number(account.kept.size());
  for (const KeptSpend& kept : account.kept) {
    out.unsigned_number(kept.key);
    out.number(kept.at);
    put_amounts(out, kept.spent);
  }
}

Account get_account(Decoder& in) {
  Account account;
  account.opened_at = in.number();
  account.period_start = in.number();
  account.period_end = in.number();
  account.resets = in.unsigned_number();
  account.breaches = in.unsigned_number();
  account.paused = in.boolean();
  account.dimensions.resize(in.count());
  for (DimensionAccount& dimension : account.dimensions) {
    dimension.name = in.text();
    dimension.spent = in.number();
    dimension.reserved = in.number();
    dimension.warned = in.boolean();
    dimension.exceeded = in.boolean();
  }
  account.buckets.resize(in.count());
  for (UsageBucket& bucket : account.buckets) {
    bucket.from = in.number();
    bucket.spent = get_amounts(in);
  }
  account.kept.resize(in.count());
  for (KeptSpend& kept : account.kept) {
    kept.key = in.unsigned_number();
    kept.at = in.number();
    kept.spent = get_amounts(in);
  }
  return account;
}

void put_definition(Encoder& out, const LimitDefinition& limit) {
  const LimitInfo& info = limit.info;
  out.unsigned_number(limit.number);
  put_optional(out, info.name_space, put_text);
  out.text(info.name);
  put_optional(out, info.lane, put_text);
  put_optional(out, info.kind, put_text);
  put_strings(out, info.per);
  put_optional(out, info.concurrency, put_u32);
  put_optional(out, info.rate, put_rate_limit);
  put_optional(out, info.budget, put_budget);
  out.unsigned_number(info.revision);
  out.number(info.created_at);
  out.text(info.created_by);
  out.number(info.changed_at);
  out.text(info.changed_by);
}

void put_share(Encoder& out, const ShareSpec& share) {
  out.unsigned_number(share.weights.size());
  for (const auto& [key, weight] : share.weights) {
    out.text(key);
    out.unsigned_number(weight);
  }
}

ShareSpec get_share(Decoder& in) {
  ShareSpec share;
  const std::size_t count = in.count();
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    std::string key = in.text();
    const std::uint32_t weight = in.u32();
    // What divides by it must be able to.
    if (weight == 0 || weight > limits::max_weight || share.weights.contains(key)) in.refuse();
    share.weights.emplace(std::move(key), weight);
  }
  return share;
}

bool has_shares(const LimitsRecord& record) {
  return std::any_of(record.limits.begin(), record.limits.end(),
                     [](const LimitDefinition& one) { return one.info.share.has_value(); });
}

LimitDefinition get_definition(Decoder& in) {
  LimitDefinition limit;
  LimitInfo& info = limit.info;
  limit.number = in.unsigned_number();
  info.name_space = get_optional(in, get_text);
  info.name = in.text();
  info.lane = get_optional(in, get_text);
  info.kind = get_optional(in, get_text);
  info.per = get_strings(in);
  info.concurrency = get_optional(in, get_u32);
  info.rate = get_optional(in, get_rate_limit);
  info.budget = get_optional(in, get_budget);
  info.revision = in.unsigned_number();
  info.created_at = in.number();
  info.created_by = in.text();
  info.changed_at = in.number();
  info.changed_by = in.text();
  return limit;
}

void put_rate_state(Encoder& out, const RateState& state) {
  out.number(state.full_at_us);
  out.unsigned_number(state.starts.size());
  for (const StartsAt& starts : state.starts) {
    out.number(starts.at);
    out.unsigned_number(starts.count);
  }
}

RateState get_rate_state(Decoder& in) {
  RateState state;
  state.full_at_us = in.number();
  state.starts.resize(in.count());
  for (StartsAt& starts : state.starts) {
    starts.at = in.number();
    starts.count = in.u32();
  }
  return state;
}

Key get_pool_key(Decoder& in) {
  Key key{in.text()};
  if (key.bytes.size() != pool_key_bytes || key.kind() != RecordKind::limit_pool) in.refuse();
  return key;
}

}  // namespace

const LimitDefinition* LimitsRecord::find(std::uint64_t number) const {
  const auto found = std::find_if(limits.begin(), limits.end(), [&](const auto& one) { return one.number == number; });
  return found == limits.end() ? nullptr : &*found;
}

const LimitDefinition* LimitsRecord::find(const LimitName& name) const {
  const auto found = std::find_if(limits.begin(), limits.end(),
                                  [&](const auto& one) { return static_cast<const LimitName&>(one.info) == name; });
  return found == limits.end() ? nullptr : &*found;
}

Key limits_key() { return make_key(RecordKind::limits, "limits", partition_of("limits")); }

Key pool_key(std::uint64_t limit, const std::vector<std::string>& key) {
  Encoder out;
  out.unsigned_number(limit);
  put_strings(out, key);
  const Sha256 digest = sha256(out.take());
  const std::string_view id(reinterpret_cast<const char*>(digest.data()), pool_id_bytes);
  return make_key(RecordKind::limit_pool, id, partition_of(id));
}

// Behind all other groups (core/state.hpp), which are below 2^62 + 2^61.
std::uint64_t group_held_by(const Key& pool, RouteNo route) {
  constexpr std::uint64_t first = (std::uint64_t{1} << 62) + (std::uint64_t{1} << 61);
  return first + (fnv1a64(pool.bytes + std::to_string(route)) >> 3);
}

std::uint64_t group_of_pools(std::uint64_t limit) {
  constexpr std::uint64_t first = (std::uint64_t{1} << 62) + 4096;
  constexpr std::uint64_t count = (std::uint64_t{1} << 61) - 8192;
  return first + limit % count;
}

std::int64_t held_rank(std::int32_t priority, std::uint64_t ready_sequence) {
  // Sequences are units of 1/1024 microseconds since 1970. 47 bits of units of 8 microseconds since 2020 last until 2055.
  constexpr unsigned sequence_bits = 47;
  constexpr std::uint64_t begin = std::uint64_t{1'577'836'800'000'000} << 10;
  constexpr unsigned unit_bits = 10 + 3;
  constexpr std::uint64_t last = (std::uint64_t{1} << sequence_bits) - 1;
  const auto below_highest = static_cast<std::uint64_t>(limits::max_priority - priority);
  const std::uint64_t sequence = ready_sequence < begin ? 0 : std::min((ready_sequence - begin) >> unit_bits, last);
  return static_cast<std::int64_t>((below_highest << sequence_bits) | sequence);
}

// At once.
TimestampMs next_due(const LimitsRecord& record) { return record.to_visit.empty() ? 0 : 1; }

TimestampMs next_due(const PoolRecord& pool) {
  return pool.call_at == 0 ? pool.visit_at : std::min(pool.call_at, pool.visit_at);
}

std::string encode(const LimitsRecord& record) {
  Encoder out;
  // Older versions read it as long as there is no share.
  const bool shares = has_shares(record);
  out.u8(shares ? layout_2 : layout_1);
  out.unsigned_number(record.last_number);
  out.unsigned_number(record.limits.size());
  for (const LimitDefinition& limit : record.limits) put_definition(out, limit);
  out.unsigned_number(record.to_visit.size());
  for (const std::uint64_t number : record.to_visit) out.unsigned_number(number);
  out.number(record.armed_due);
  if (!shares) return out.take();
  for (const LimitDefinition& limit : record.limits) put_optional(out, limit.info.share, put_share);
  return out.take();
}

Result<LimitsRecord> decode_limits(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t layout = layout_of(in, layout_2);
  if (layout == 0) return Unexpected(unknown_layout("the limits"));
  LimitsRecord record;
  record.last_number = in.unsigned_number();
  record.limits.resize(in.count());
  for (LimitDefinition& limit : record.limits) limit = get_definition(in);
  record.to_visit.resize(in.count());
  for (std::uint64_t& number : record.to_visit) number = in.unsigned_number();
  record.armed_due = in.number();
  if (layout == layout_2) {
    for (LimitDefinition& limit : record.limits) limit.info.share = get_optional(in, get_share);
  }
  return finished(in, std::move(record), "the limits");
}

std::string encode_fixed(const PoolRecord& pool) {
  Encoder out;
  out.u8(layout_1);
  out.unsigned_number(pool.limit);
  put_strings(out, pool.key);
  return out.take();
}

std::string encode(const PoolRecord& pool) {
  Encoder out;
  out.reserve(64 + 24 * pool.holders.size());
  out.u8(pool.shared.empty() ? layout_1 : layout_2);
  out.unsigned_number(pool.revision);
  out.unsigned_number(pool.holders.size());
  for (const SlotHolder& holder : pool.holders) {
    put_id(out, holder.execution_id);
    out.unsigned_number(holder.lease_epoch);
  }
  put_rate_state(out, pool.rate);
  put_optional(out, pool.account, put_account);
  out.unsigned_number(pool.lines.size());
  for (const PoolLine& line : pool.lines) {
    out.unsigned_number(line.route);
    out.boolean(line.waiting);
    out.unsigned_number(line.called);
    put_amounts(out, line.need);
    out.number(line.look_at);
  }
  out.number(pool.call_at);
  out.number(pool.visit_at);
  out.number(pool.armed_due);
  if (pool.shared.empty()) return out.take();
  out.unsigned_number(pool.shared.size());
  for (const ShareLine& line : pool.shared) {
    out.unsigned_number(line.route);
    out.number(line.priority);
    out.unsigned_number(line.next);
  }
  return out.take();
}

Result<PoolRecord> decode_pool(const Record& record) {
  PoolRecord pool;
  Decoder fixed(record.fixed);
  if (!known_layout(fixed)) return Unexpected(unknown_layout("the pool of a limit"));
  pool.limit = fixed.unsigned_number();
  pool.key = get_strings(fixed);
  FF_TRY_VOID(finished(fixed, "the pool of a limit"));
  Decoder in(record.body);
  const std::uint8_t layout = layout_of(in, layout_2);
  if (layout == 0) return Unexpected(unknown_layout("the pool of a limit"));
  pool.revision = in.unsigned_number();
  pool.holders.resize(in.count());
  for (SlotHolder& holder : pool.holders) {
    holder.execution_id = get_id(in);
    holder.lease_epoch = in.unsigned_number();
  }
  pool.rate = get_rate_state(in);
  pool.account = get_optional(in, get_account);
  pool.lines.resize(in.count());
  for (PoolLine& line : pool.lines) {
    line.route = in.unsigned_number();
    line.waiting = in.boolean();
    line.called = in.u32();
    line.need = get_amounts(in);
    line.look_at = in.number();
  }
  pool.call_at = in.number();
  pool.visit_at = in.number();
  pool.armed_due = in.number();
  if (layout == layout_2) pool.shared.resize(in.count());
  for (ShareLine& line : pool.shared) {
    line.route = in.unsigned_number();
    line.priority = static_cast<std::int32_t>(in.number());
    line.next = in.unsigned_number();
  }
  return finished(in, std::move(pool), "the pool of a limit");
}

void encode_into(Encoder& out, const LimitFacts& facts) {
  out.unsigned_number(facts.slots.size());
  for (const Key& pool : facts.slots) out.text(pool.bytes);
  out.unsigned_number(facts.reserved.size());
  for (const Reservation& one : facts.reserved) {
    out.text(one.pool.bytes);
    put_amounts(out, one.amounts);
  }
  if (facts.holds_any()) out.unsigned_number(facts.slots_epoch);
  put_optional(out, facts.held, [](Encoder& to, const HeldBack& held) {
    to.text(held.pool.bytes);
    to.unsigned_number(held.ready_sequence);
    to.number(held.since);
    to.boolean(held.by_budget);
  });
  put_optional(out, facts.called, [](Encoder& to, const Key& pool) { to.text(pool.bytes); });
}

LimitFacts decode_limit_facts(Decoder& in) {
  LimitFacts facts;
  const std::size_t slots = in.count();
  for (std::size_t i = 0; i < slots && in.ok(); ++i) facts.slots.push_back(get_pool_key(in));
  const std::size_t reserved = in.count();
  for (std::size_t i = 0; i < reserved && in.ok(); ++i) {
    Key pool = get_pool_key(in);
    facts.reserved.push_back({std::move(pool), get_amounts(in)});
  }
  if (facts.holds_any()) facts.slots_epoch = in.unsigned_number();
  facts.held = get_optional(in, [](Decoder& from) {
    HeldBack held;
    held.pool = get_pool_key(from);
    held.ready_sequence = from.unsigned_number();
    held.since = from.number();
    held.by_budget = from.boolean();
    return held;
  });
  facts.called = get_optional(in, get_pool_key);
  return facts;
}

}  // namespace flowfabric
