// Budgets: what executions spend, and what operators change. The definitions are those of limits (decide_limits.cpp).
//
// A report counts in all accounts that its execution is under, or in none.
#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/budget_ingress.hpp"
#include "core/decide_parts.hpp"
#include "core/limiting.hpp"

namespace flowfabric {
namespace {

const std::string budget_actor = "limits";

std::vector<Demand> budgets_of(const LimitsRecord& limits, const Execution& execution) {
  std::vector<Demand> demands = demands_of(limits, subject_of(execution));
  std::erase_if(demands, [](const Demand& demand) { return !demand.limit->info.budget; });
  return demands;
}

std::uint64_t digest_of_key(const std::string& key) {
  const Sha256 digest = sha256(key);
  std::uint64_t bits = 0;
  std::memcpy(&bits, digest.data(), sizeof bits);
  return bits;
}

// One account, as one report meets it.
struct Touched {
  const Demand* demand;
  Slot* slot;
  const KeptSpend* kept = nullptr;  // the report was counted before

  const LimitInfo& limit() const { return demand->limit->info; }
  const BudgetSpec& budget() const { return *limit().budget; }
  Account& account() const { return *slot->pool()->account; }
};

Result<void> check_dimensions(const std::vector<Demand>& demands, const Amounts& amounts) {
  std::vector<std::string> known;
  for (const Demand& demand : demands) {
    for (const BudgetDimension& one : demand.limit->info.budget->dimensions) known.push_back(one.name);
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (const auto& [name, amount] : amounts) {
    if (std::binary_search(known.begin(), known.end(), name)) continue;
    return fail(Errc::invalid_argument,
                "amounts." + name + ": is not counted by any budget of the execution; these count " + join(known, ", "),
                "amounts." + name);
  }
  return {};
}

// What the lease has reserved in the account.
Amounts own_reservation(const Execution& execution, const Key& pool) {
  for (const Reservation& one : execution.facts.limits.reserved) {
    if (one.pool == pool) return one.amounts;
  }
  return {};
}

void set_reservation(Execution& execution, const Key& pool, Amounts left) {
  auto& reserved = execution.facts.limits.reserved;
  for (Reservation& one : reserved) {
    if (one.pool == pool) one.amounts = std::move(left);
  }
  std::erase_if(reserved, [](const Reservation& one) { return one.amounts.empty(); });
  if (!execution.facts.limits.holds_any()) execution.facts.limits.slots_epoch = 0;
}

std::string named(const LimitInfo& limit, const std::string& dimension) { return limit.name + ": " + dimension; }

Error over_the_limit(const Touched& touched, const BudgetDimension& dimension, std::int64_t amount) {
  const DimensionAccount* state = touched.account().find(dimension.name);
  const std::int64_t spent = state == nullptr ? 0 : state->spent;
  const std::int64_t reserved = state == nullptr ? 0 : state->reserved;
  const std::string of = touched.demand->key.empty() ? "" : " of " + join(touched.demand->key, ", ");
  return Error{Errc::budget_exceeded,
               "budget \"" + touched.limit().name + "\"" + of + " allows " + std::to_string(*dimension.hard) + " " +
                   dimension.name + "; " + std::to_string(spent) + " are spent and " + std::to_string(reserved) +
                   " reserved, so " + std::to_string(amount) + " more are too many",
               "amounts." + dimension.name,
               {{"budget", touched.limit().name},
                {"dimension", dimension.name},
                {"spent", std::to_string(spent)},
                {"reserved", std::to_string(reserved)},
                {"limit", std::to_string(*dimension.hard)}}};
}

// Carries out what the budget wants. The execution fails by its own function.
void note_breach(const Touched& touched, const BudgetDimension& dimension, Slot& execution, const Context& context) {
  Account& account = touched.account();
  ++account.breaches;
  DimensionAccount& state = account.at(dimension.name);
  if (!state.exceeded) {
    Transition(execution, context)
        .record(EventType::budget_exceeded, budget_actor, named(touched.limit(), dimension.name));
  }
  state.exceeded = true;
  if (touched.budget().on_hard_limit != BreachAction::pause || account.paused) return;
  account.paused = true;
  log_account(*touched.slot, EventType::budget_paused, touched.limit(), {budget_actor, {}}, touched.limit().name,
              context);
}

void note_warnings(const Touched& touched, const Amounts& amounts, Slot& execution, const Context& context) {
  for (const BudgetDimension& dimension : touched.budget().dimensions) {
    DimensionAccount& state = touched.account().at(dimension.name);
    const bool above = amounts.contains(dimension.name) && dimension.soft && state.spent > *dimension.soft;
    if (!above || state.warned) continue;
    state.warned = true;
    Transition(execution, context)
        .record(EventType::budget_warning, budget_actor, named(touched.limit(), dimension.name));
  }
}

void add_balances(const Touched& touched, const Amounts& amounts, SpendReply& reply) {
  for (const BudgetDimension& dimension : touched.budget().dimensions) {
    if (!amounts.contains(dimension.name)) continue;
    BudgetBalance& balance = reply.balances.emplace_back();
    balance.budget = touched.limit().name;
    balance.account = touched.demand->key;
    balance.dimension = dimension.name;
    balance.hard = dimension.hard;
    balance.soft = dimension.soft;
    balance.period_end = touched.account().period_end;
    const DimensionAccount* state = touched.account().find(dimension.name);
    balance.spent = state == nullptr ? 0 : state->spent;
    if (touched.kept != nullptr) {
      const auto then = touched.kept->spent.find(dimension.name);
      if (then != touched.kept->spent.end()) balance.spent = then->second;
    }
    balance.warning = dimension.soft && balance.spent > *dimension.soft;
    balance.overdrawn = dimension.hard && balance.spent > *dimension.hard;
  }
}

// Nothing is counted; what follows from the refusal is done.
Error refuse_spend(const Touched& touched, const BudgetDimension& dimension, std::int64_t amount, Slot& execution,
                   const Context& context) {
  Error error = over_the_limit(touched, dimension, amount);
  note_breach(touched, dimension, execution, context);
  if (touched.budget().on_hard_limit == BreachAction::fail) {
    fail_attempt(execution, context, Failure{"budget_exceeded", error.message, {}},
                 {FailRequest::Retryable::never, std::nullopt}, budget_actor, context.now);
  }
  return error;
}

void count_spend(const Touched& touched, const SpendRequest& request, std::uint64_t key, Slot& execution,
                 const Context& context) {
  Amounts own = own_reservation(*execution.execution(), touched.slot->key);
  const BudgetDimension* over = first_over(touched.budget(), touched.account(), request.amounts, own);
  spend(touched.account(), touched.budget(), request.amounts, own, context.now);
  set_reservation(*execution.execution(), touched.slot->key, std::move(own));
  if (over != nullptr) note_breach(touched, *over, execution, context);
  note_warnings(touched, request.amounts, execution, context);
  if (!request.key.empty()) keep_spend(touched.account(), request.amounts, key, context.now);
}

std::vector<Touched> touch_all(Workspace& workspace, Slot& execution, const std::vector<Demand>& demands,
                               const Context& context) {
  std::vector<Touched> all;
  for (const Demand& demand : demands) {
    Slot& slot = pool_slot(workspace, demand, context.now);
    present_account(slot, demand.limit->info, context);
    workspace.tie(execution, slot);
    all.push_back({&demand, &slot});
  }
  return all;
}

}  // namespace

std::vector<Key> spend_keys(const Workspace& workspace, const Execution& execution) {
  std::vector<Key> keys = {limits_key()};
  const LimitsRecord* limits = limits_of(workspace);
  if (limits == nullptr) return keys;
  for (Demand& demand : budgets_of(*limits, execution)) keys.push_back(std::move(demand.pool));
  return keys;
}

Result<Reply> decide_one(Workspace& workspace, const SpendCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.fence.execution_id, context));
  FF_TRY_VOID(check_fence(*slot->execution(), command.fence));
  const SpendRequest& request = command.request;
  SpendReply reply;
  const LimitsRecord* limits = limits_of(workspace);
  if (limits == nullptr) return reply;
  const std::vector<Demand> demands = budgets_of(*limits, *slot->execution());
  if (demands.empty()) return reply;
  FF_TRY_VOID(check_dimensions(demands, request.amounts));
  rest_on_limits(workspace, *slot);
  Transition(*slot, context).touch();
  std::vector<Touched> all = touch_all(workspace, *slot, demands, context);
  const std::uint64_t key = digest_of_key(request.key);
  std::optional<Error> refused;
  for (Touched& one : all) {
    if (!request.key.empty()) one.kept = find_kept(one.account(), key, context.now);
    const bool checks = one.kept == nullptr && !request.force && one.budget().on_hard_limit != BreachAction::notify;
    if (!checks || refused) continue;
    const Amounts own = own_reservation(*slot->execution(), one.slot->key);
    const BudgetDimension* over = first_over(one.budget(), one.account(), request.amounts, own);
    if (over != nullptr) refused = refuse_spend(one, *over, request.amounts.at(over->name), *slot, context);
  }
  reply.repeated = !refused;
  for (const Touched& one : all) {
    if (!refused && one.kept == nullptr) {
      reply.repeated = false;
      count_spend(one, request, key, *slot, context);
    }
    if (!refused) add_balances(one, request.amounts, reply);
    rearm(workspace, *one.slot, context.now);
  }
  if (refused) return Unexpected(std::move(*refused));
  return reply;
}

std::vector<Key> change_budget_keys(const Workspace& workspace, const ChangeBudgetCommand& command) {
  std::vector<Key> keys = {limits_key()};
  const LimitsRecord* limits = limits_of(workspace);
  const LimitDefinition* limit = limits == nullptr ? nullptr : limits->find(command.request);
  if (limit != nullptr) keys.push_back(pool_key(limit->number, command.request.account));
  return keys;
}

namespace {

Result<Demand> account_demand(const LimitsRecord* limits, const ChangeBudgetRequest& request) {
  const LimitDefinition* limit = limits == nullptr ? nullptr : limits->find(request);
  if (limit == nullptr || !limit->info.budget) {
    return fail(Errc::not_found,
                "there is no budget \"" + request.name + "\"" +
                    (request.name_space ? " of namespace \"" + *request.name_space + "\"" : " for all namespaces"),
                "name");
  }
  const auto& per = limit->info.per;
  if (request.account.size() != per.size()) {
    return fail(Errc::invalid_argument,
                "account: has " + std::to_string(request.account.size()) + " values; allowed: " +
                    (per.empty() ? "none, because the budget has one account" : "one for each of " + join(per, ", ")),
                "account");
  }
  return Demand{limit, request.account, pool_key(limit->number, request.account)};
}

Result<void> check_adjustment(const BudgetSpec& budget, const Account& account, const Amounts& amounts) {
  for (const auto& [name, amount] : amounts) {
    const bool known = std::any_of(budget.dimensions.begin(), budget.dimensions.end(),
                                   [&](const BudgetDimension& one) { return one.name == name; });
    if (!known) {
      return fail(Errc::invalid_argument, "amounts." + name + ": is not counted by the budget", "amounts." + name);
    }
    const DimensionAccount* state = account.find(name);
    const std::int64_t spent = state == nullptr ? 0 : state->spent;
    if (spent + amount >= 0) continue;
    return fail(Errc::conflict,
                "amounts." + name + ": takes off " + std::to_string(-amount) + ", but only " + std::to_string(spent) +
                    " are spent",
                "amounts." + name);
  }
  return {};
}

void adjust(Account& account, const BudgetSpec& budget, const Amounts& amounts) {
  for (const auto& [name, amount] : amounts) {
    DimensionAccount& state = account.at(name);
    state.spent = std::min(state.spent + amount, limits::max_total_amount);
    for (const BudgetDimension& limit : budget.dimensions) {
      if (limit.name != name) continue;
      if (limit.hard && state.spent < *limit.hard) state.exceeded = false;
      if (limit.soft && state.spent <= *limit.soft) state.warned = false;
    }
  }
}

std::string audit_text(const ChangeBudgetRequest& request, const Operator& by) {
  std::string text = request.name;
  if (!request.account.empty()) text += " of " + join(request.account, ", ");
  for (const auto& [name, amount] : request.amounts) {
    text += (amount < 0 ? "; " : "; +") + std::to_string(amount) + " " + name;
  }
  return by.reason.empty() ? text : text + ": " + by.reason;
}

}  // namespace

Result<Reply> decide_one(Workspace& workspace, const ChangeBudgetCommand& command, const Context& context) {
  const ChangeBudgetRequest& request = command.request;
  FF_TRY(demand, account_demand(limits_of(workspace), request));
  const LimitInfo& limit = demand.limit->info;
  Slot& slot = workspace.at(demand.pool);
  const bool exists = slot.pool() != nullptr && !slot.erased && slot.pool()->account;
  if (!exists && request.change != BudgetChange::adjust) {
    return fail(Errc::not_found, "nothing has been counted for this account of budget \"" + request.name + "\"",
                "account");
  }
  const Account before = exists ? *slot.pool()->account : open_account(*limit.budget, context.now, context.zones);
  if (request.change == BudgetChange::adjust) FF_TRY_VOID(check_adjustment(*limit.budget, before, request.amounts));
  pool_slot(workspace, demand, context.now);
  Account& account = present_account(slot, limit, context);
  EventType type = EventType::budget_reset;
  switch (request.change) {
    case BudgetChange::reset: reset_account(account); break;
    case BudgetChange::resume:
      type = EventType::budget_resumed;
      account.paused = false;
      break;
    case BudgetChange::adjust:
      type = EventType::budget_adjusted;
      adjust(account, *limit.budget, request.amounts);
      break;
  }
  log_account(slot, type, limit, command.by, audit_text(request, command.by), context);
  rest_on_limits(workspace, slot);
  rearm(workspace, slot, context.now);
  return account_use(*limit.budget, &account, context.now);
}

}  // namespace flowfabric
