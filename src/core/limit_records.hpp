// The stored records of limits.
//
// All definitions are one record, because every claim reads it. What is in use of a limit is a record for each key of it, a
// *pool*: the slots that are taken, with the leases that have them, and what was used of the rate. An execution remembers the
// pools whose slots it has, or the one for which it waits. docs/decisions/0100-slots.md has the reasons.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <flowfabric/limits.hpp>

#include "core/accounts.hpp"
#include "core/changes.hpp"
#include "core/rate.hpp"

namespace flowfabric {

struct LimitDefinition {
  std::uint64_t number =
      0;  // never used again, so a limit that is made anew has nothing to do with the pools of the old one
  LimitInfo info;

  friend bool operator==(const LimitDefinition&, const LimitDefinition&) = default;
};

struct LimitsRecord {
  std::uint64_t last_number = 0;
  std::vector<LimitDefinition> limits;  // by name
  // Limits that were changed or removed: the clock has to look at their pools, because more may be allowed now.
  std::vector<std::uint64_t> to_visit;
  TimestampMs armed_due = 0;

  const LimitDefinition* find(std::uint64_t number) const;
  const LimitDefinition* find(const LimitName& name) const;
  friend bool operator==(const LimitsRecord&, const LimitsRecord&) = default;
};

// A slot of a pool belongs to a lease.
struct SlotHolder {
  ExecutionId execution_id;
  std::uint64_t lease_epoch = 0;

  friend bool operator==(const SlotHolder&, const SlotHolder&) = default;
};

// Of the executions of one route that want slots of a pool. Routes wait apart: work that no worker takes must not stand
// before work that one would take.
struct PoolLine {
  RouteNo route = 0;
  bool waiting = false;  // some may be held back
  std::uint32_t called =
      0;  // are claimable again because there was room for them, and are neither claimed nor ended yet
  // Of a budget: what the first of those that wait reserves, or a little less.
  Amounts need{};
  // It needs more than others, and there is no room for it: the clock looks then whether it still waits. 0: no need to.
  TimestampMs look_at = 0;

  friend bool operator==(const PoolLine&, const PoolLine&) = default;
};

// Under a share: the next execution of the key on this route, at this priority, has no lower number.
struct ShareLine {
  RouteNo route = 0;
  std::int32_t priority = 0;
  std::uint64_t next = 0;

  friend bool operator==(const ShareLine&, const ShareLine&) = default;
};

struct PoolRecord {
  // Written once.
  std::uint64_t limit = 0;  // the number of its definition
  std::vector<std::string> key;

  std::uint64_t revision = 0;  // of the definition, when the clock last looked for those that it holds back
  std::vector<SlotHolder> holders;
  RateState rate;
  std::optional<Account> account;  // once a budget was used
  std::vector<PoolLine> lines;     // by route; only those with somebody in them
  std::vector<ShareLine> shared;   // by route and priority; of a share
  TimestampMs call_at = 0;         // when the clock looks for room; 0: nothing but a slot that comes back makes room
  TimestampMs visit_at = 0;        // when the clock removes it, if it is unused then
  TimestampMs armed_due = 0;

  friend bool operator==(const PoolRecord&, const PoolRecord&) = default;
};

// An execution that could be claimed if its limits let it.
struct HeldBack {
  Key pool;                          // for which it waits
  std::uint64_t ready_sequence = 0;  // its place in the order of service
  TimestampMs since = 0;
  bool by_budget = false;

  friend bool operator==(const HeldBack&, const HeldBack&) = default;
};

// What a lease has reserved of a budget and has not spent.
struct Reservation {
  Key pool;
  Amounts amounts;

  friend bool operator==(const Reservation&, const Reservation&) = default;
};

// Of an execution that has slots or reservations, or waits for them.
struct LimitFacts {
  std::vector<Key> slots;  // the pools in which it has a slot
  std::vector<Reservation> reserved;
  std::uint64_t slots_epoch = 0;  // of the lease under which it got both, which may have ended
  std::optional<HeldBack> held;
  std::optional<Key> called;  // the pool that made it claimable again and counts it as called

  bool holds_any() const { return !slots.empty() || !reserved.empty(); }
  bool empty() const { return !holds_any() && !held && !called; }
  friend bool operator==(const LimitFacts&, const LimitFacts&) = default;
};

Key limits_key();
Key pool_key(std::uint64_t limit, const std::vector<std::string>& key);
// The executions of one route that a pool holds back are a group of the due index, and so are the pools of a limit, ranked by
// their revisions.
std::uint64_t group_held_by(const Key& pool, RouteNo route);
std::uint64_t group_of_pools(std::uint64_t limit);
// The rank of all pools of a limit that was removed.
inline constexpr std::uint64_t removed_revision = std::uint64_t{1} << 62;
// The order in which executions are called: by priority, then in the order in which they became claimable.
std::int64_t held_rank(std::int32_t priority, std::uint64_t ready_sequence);

// When the clock has to look at it; 0: never.
TimestampMs next_due(const LimitsRecord& record);
TimestampMs next_due(const PoolRecord& pool);

std::string encode(const LimitsRecord& record);
Result<LimitsRecord> decode_limits(std::string_view bytes);
std::string encode_fixed(const PoolRecord& pool);
std::string encode(const PoolRecord& pool);
Result<PoolRecord> decode_pool(const Record& record);

class Encoder;
class Decoder;
void encode_into(Encoder& out, const LimitFacts& facts);
LimitFacts decode_limit_facts(Decoder& in);

}  // namespace flowfabric
