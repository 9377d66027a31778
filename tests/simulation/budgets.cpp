// Budgets: operators make and remove them, workers spend, and an accountant counts what was acknowledged.
//
// What is random here comes from a source of its own, so runs without budgets are as they were before there were any.
#include "base/text.hpp"
#include "simulation/world.hpp"

namespace flowfabric::simulation {

namespace {

// Nothing was counted, for certain.
bool is_refusal(Errc code) {
  return code == Errc::budget_exceeded || code == Errc::invalid_argument || code == Errc::lease_expired ||
         code == Errc::lease_revoked || code == Errc::stale_lease || code == Errc::already_terminal ||
         code == Errc::not_found || code == Errc::not_active || code == Errc::contended;
}

}  // namespace

void World::choose_budgets() {
  with_budgets_ = budget_random_.chance(400);
  watcher_->hard_limits_hold(!(forces_ = budget_random_.chance(200)));
}

void World::operate_on_budget() {
  if (!with_budgets_ || !budget_random_.chance(40)) return;
  const Operator by{"operator", "because"};
  const auto ignore = [](Process&, const auto&) {};
  if (budget_random_.chance(250) && budgets_made_ > 0) {
    const std::string name = fmt::format("budget-{}", budget_random_.below(budgets_made_));
    return send(live_process(), RemoveLimitCommand{{std::nullopt, name}, by}, "remove " + name, ignore);
  }
  LimitRequest request;
  // A name is never used again, so what was acknowledged under it is of one budget.
  request.name = fmt::format("budget-{}", budgets_made_++);
  if (budget_random_.chance(300)) request.lane = lane_names.front();
  if (budget_random_.chance(300)) request.per.emplace_back("kind");
  if (budget_random_.chance(200)) request.per.emplace_back("execution");
  BudgetSpec budget;
  const std::int64_t hard = budget_random_.between(3, 40);
  budget.dimensions = {{"money", {}, budget_random_.between(0, 20), 0},
                       {"tokens", hard, hard / 2, budget_random_.between(0, 3)}};
  if (budget_random_.chance(500)) budget.period = "5s";
  constexpr BreachAction actions[] = {BreachAction::deny, BreachAction::deny, BreachAction::deny, BreachAction::pause,
                                      BreachAction::notify};
  budget.on_hard_limit = actions[budget_random_.below(5)];
  request.budget = std::move(budget);
  const std::string what = "set " + request.name;
  send(live_process(), SetLimitCommand{std::move(request), by}, what, ignore);
}

void World::reserve_something(CreateRequest& request) {
  if (with_budgets_ && budget_random_.chance(200)) request.reserve["tokens"] = budget_random_.between(0, 6);
}

void World::spend_something(const Worker& worker) {
  if (!with_budgets_ || worker.held.empty() || !budget_random_.chance(400)) return;
  if (reports_.empty() || budget_random_.chance(800)) {
    SpendRequest request;
    request.amounts["tokens"] = budget_random_.between(0, 5);
    if (budget_random_.chance(300)) request.amounts["money"] = budget_random_.between(0, 5);
    request.key = fmt::format("report-{}", reports_.size());
    request.force = forces_ && budget_random_.chance(200);
    const Held& held = worker.held[budget_random_.below(worker.held.size())];
    reports_.push_back({held.fence, std::move(request)});
    return send_report(reports_.size() - 1);
  }
  send_report(budget_random_.below(reports_.size()));
}

void World::send_report(std::size_t index) {
  const Report& report = reports_[index];
  const std::string what = fmt::format("spend {} of {}", report.request.key, to_string(report.fence.execution_id));
  ++reports_[index].outstanding;
  send(live_process(), SpendCommand{report.fence, report.request}, what,
       [this, index](Process&, const Result<Reply>& reply) {
         Report& sent = reports_[index];
         --sent.outstanding;
         if (!reply) {
           sent.unknown = sent.unknown || !is_refusal(reply.error().code);
           return;
         }
         for (const BudgetBalance& balance : std::get<SpendReply>(*reply).balances) {
           const std::string account = balance.budget + "/" + join(balance.account, "/") + "/" + balance.dimension;
           sent.acknowledged.insert(account);
         }
       });
}

// Of each account of a budget without periods: what was acknowledged is counted, once, and nothing else is.
void World::check_spending() {
  std::map<std::string, std::int64_t> acknowledged;
  std::int64_t uncertain = 0;
  for (const Report& report : reports_) {
    if (report.unknown || report.outstanding > 0) {
      for (const auto& [dimension, amount] : report.request.amounts) uncertain += amount;
    }
    for (const std::string& account : report.acknowledged) {
      const std::string dimension = account.substr(account.rfind('/') + 1);
      acknowledged[account] += report.request.amounts.at(dimension);
    }
  }
  for (const auto& [key, pool] : watcher_->pools()) {
    const LimitDefinition* limit = watcher_->limits().find(pool.limit);
    if (limit == nullptr || !limit->info.budget || !pool.account || limit->info.budget->period != "lifetime") continue;
    for (const BudgetDimension& dimension : limit->info.budget->dimensions) {
      const std::string account = limit->info.name + "/" + join(pool.key, "/") + "/" + dimension.name;
      const DimensionAccount* state = pool.account->find(dimension.name);
      const std::int64_t spent = state == nullptr ? 0 : state->spent;
      const std::int64_t expected = acknowledged[account];
      if (spent < expected || spent > expected + uncertain) {
        violated("what is acknowledged counts once", "{} says {}, {} are acknowledged and {} may be", account, spent,
                 expected, uncertain);
      }
    }
  }
}

// What is used up would hold executions back for ever.
void World::remove_all_budgets() {
  for (const LimitDefinition& limit : watcher_->limits().limits) {
    if (!limit.info.budget) continue;
    send(*processes_.front(), RemoveLimitCommand{limit.info, {"operator", "drain"}}, "remove budget",
         [](Process&, const auto&) {});
  }
}

}  // namespace flowfabric::simulation
