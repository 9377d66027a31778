// Limits: which ones an execution is under, and how slots and reservations are taken and given back.
//
// A slot belongs to a lease: it is taken in the change set that makes the lease. What has ended a lease does not matter: the
// execution then owes its slots (`owes_slots`), and whoever next has it and its pools in a workspace gives them back
// (`return_slots`); the clock does so at the latest. An execution for which there is no room leaves the ready index and waits
// in a group of its pool. When there is room the clock calls as many as there is room for: they are claimable again.
//
// Pure; used by the decide_*.cpp files and by the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/commands.hpp"
#include "core/transitions.hpp"

namespace flowfabric {

// A limit that an execution is under, with the pool of its key.
struct Demand {
  const LimitDefinition* limit;
  std::vector<std::string> key;
  Key pool;
};

// What the rules of limits look at.
struct LimitSubject {
  const std::string& name_space;
  const std::string& lane;
  const std::string& kind;
  const std::string& creator;
  std::string flow;  // as text; empty: none
  const Tags& tags;
  std::string execution{};  // as text; empty: none yet
};
LimitSubject subject_of(const Execution& execution);
// Shares, which take no slots, are not among them.
std::vector<Demand> demands_of(const LimitsRecord& limits, const LimitSubject& subject);
// The share under which it is, if there is one.
std::optional<Demand> share_of(const LimitsRecord& limits, const LimitSubject& subject);

// The definitions; null if there are none, or they are not known.
const LimitsRecord* limits_of(const Workspace& workspace);

// What a start of the execution needs beside its own record; and what giving back needs.
std::vector<Key> start_keys(const Workspace& workspace, const Execution& execution);
std::vector<Key> owed_keys(const Facts& facts);

// Whether slots, or a call, are to be given back because what they were for has ended.
bool owes_slots(const Facts& facts);
// Gives back what it owes to the pools that the workspace knows.
void return_slots(Workspace& workspace, Slot& slot, const Context& context);

// What a lease takes; or why none can be made now. With `hold_back` the execution then waits for the pool that has no room.
Result<std::vector<Demand>> check_limits(Workspace& workspace, Slot& slot, const Context& context, bool hold_back);
// After the lease was made.
void take_slots(Workspace& workspace, Slot& slot, const std::vector<Demand>& demands, const Context& context);

// How many more may start, and when the next one may if only time is missing (0: a slot must come back).
struct Room {
  std::uint32_t now = 0;
  TimestampMs next_at = 0;
};
// With this need of a budget; empty: the default.
Room room_in(const LimitInfo& limit, const PoolRecord& pool, TimestampMs now, const Amounts& need = {});

// The pool for a start; a new one if it does not exist.
Slot& pool_slot(Workspace& workspace, const Demand& demand, TimestampMs now);
// Its account, in the present period; opened if there is none.
Account& present_account(Slot& pool, const LimitInfo& limit, const Context& context);
// Sets when the clock looks at the pool again. Everything that changes one of these does so: holders, rate, account, lines.
void rearm(Workspace& workspace, Slot& slot, TimestampMs now);
// What is decided for the slot commits only if the definitions are then those that were read.
void rest_on_limits(Workspace& workspace, const Slot& slot);
// An event of the log that belongs to a pool.
void log_account(Slot& pool, EventType type, const LimitInfo& limit, const Operator& by, const std::string& reason,
                 const Context& context);

// ---- The work of the clock

// The groups of the due index that the clock has to read for a pool or the definitions, and how far.
struct GroupWanted {
  std::uint64_t group = 0;
  std::uint32_t limit = 0;
  RouteNo route = 0;  // of executions; 0: pools
};
// The execution or the flow for which a pool exists: with it the pool goes.
std::optional<Key> owner_of(const LimitInfo& limit, const PoolRecord& pool);
std::vector<GroupWanted> groups_wanted(const Workspace& workspace, const Key& due, TimestampMs now);
void pool_due(Workspace& workspace, Slot& slot, const DueCommand& command, const Context& context);
void limits_due(Workspace& workspace, Slot& slot, const DueCommand& command, const Context& context);

}  // namespace flowfabric
