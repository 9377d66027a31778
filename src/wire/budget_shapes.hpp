// Budgets as JSON. The budget of a limit is a field of the limit (limit_shapes.hpp).
#pragma once

#include <flowfabric/limits.hpp>

#include "wire/bodies.hpp"
#include "wire/shapes.hpp"

namespace flowfabric::bodies {

struct SpendBody : SpendRequest {
  Handle handle{};
};
struct ChangeBudgetBody {
  std::optional<std::string> name_space{};
  BudgetChange change = BudgetChange::reset;
  std::vector<std::string> account{};
  Amounts amounts{};
  std::string reason{};
};

}  // namespace flowfabric::bodies

namespace flowfabric::wire {

template <>
struct EnumRange<BreachAction> : Range<BreachAction, BreachAction::deny, BreachAction::notify> {};
template <>
struct EnumRange<BudgetChange> : Range<BudgetChange, BudgetChange::reset, BudgetChange::adjust> {};

FF_SHAPE(BudgetDimension, "BudgetDimension",
         required("name", &T::name, "What is counted, like `tokens`.").within(1, limits::max_dimension_name_bytes),
         field("hard", &T::hard, "So much may be spent in a period; reaching it is allowed. Absent: any amount.")
             .within(1, limits::max_amount),
         field("soft", &T::soft, "Above it there is a warning.").within(0, limits::max_amount),
         field("reserve", &T::reserve, "What a lease reserves, unless its execution says otherwise (0).")
             .up_to(limits::max_amount))
FF_SHAPE(
    BudgetSpec, "BudgetSpec",
    required("dimensions", &T::dimensions, "What is counted.").within(1, limits::max_dimensions),
    field("period", &T::period,
          "`lifetime`, or a number and one of s, m, h, d, w, mo: `1h`, `1mo` (lifetime). Periods are aligned."),
    field("time_zone", &T::time_zone, "In which days, weeks and months begin (UTC).")
        .within(1, limits::max_time_zone_bytes),
    field("on_hard_limit", &T::on_hard_limit,
          "When a hard limit would be exceeded (deny): `deny` refuses the report, and executions that do not fit wait; "
          "`pause` also starts none until an operator resumes the account; `fail` also fails the execution; "
          "`cancel_pending` also cancels executions that wait; `notify` refuses nothing."))
FF_SHAPE(DimensionUse, "DimensionUse", field("name", &T::name, "What is counted."),
         field("spent", &T::spent, "Spent in the present period."),
         field("reserved", &T::reserved, "Reserved by leases, and not spent yet."),
         field("hard", &T::hard, "The hard limit; absent: none."),
         field("soft", &T::soft, "The soft limit; absent: none."),
         moment("runs_out_at", &T::runs_out_at, "When it runs out at the present rate; absent: not in this period."),
         field("per_hour", &T::per_hour, "The present rate."))
FF_SHAPE(UsageBucket, "UsageBucket", moment("from", &T::from, "When this stretch of time began."),
         field("spent", &T::spent, "What was spent in it."))
FF_SHAPE(BudgetUse, "BudgetUse",
         moment("period_start", &T::period_start, "When the present period began; absent: there are none."),
         moment("period_end", &T::period_end, "When it ends."),
         field("paused", &T::paused, "No execution starts until an operator resumes it, or the budget is changed."),
         field("resets", &T::resets, "How often it began anew."),
         field("breaches", &T::breaches, "Reports over a hard limit."),
         field("dimensions", &T::dimensions, "What is counted."),
         field("bucket_ms", &T::bucket_ms, "How long each entry of `usage` is."),
         field("usage", &T::usage, "Usage over time, oldest first; times without usage are left out."))
FF_SHAPE(BudgetBalance, "BudgetBalance", field("budget", &T::budget, "The name of the budget."),
         field("account", &T::account, "The values of `per`; empty: it has one account."),
         field("dimension", &T::dimension, "What is counted."), field("spent", &T::spent, "What is spent now."),
         field("hard", &T::hard, "The hard limit; absent: none."),
         field("soft", &T::soft, "The soft limit; absent: none."),
         field("warning", &T::warning, "It is above the soft limit."),
         field("overdrawn", &T::overdrawn, "It is above the hard limit."),
         moment("period_end", &T::period_end, "When the period ends; absent: there are none."))
FF_SHAPE(SpendReply, "SpendReply",
         field("balances", &T::balances, "How each budget stands; empty: the execution is under no budget."),
         field("repeated", &T::repeated, "The key was counted before; these are the numbers of that time."))
FF_SHAPE(bodies::SpendBody, "SpendBody", required("handle", &T::handle, about_handle),
         required("amounts", &T::amounts, "What was spent, by dimension: {\"tokens\": 1200}.")
             .within(1, limits::max_dimensions),
         field("key", &T::key, "The same key counts once, and gets the same answer again.")
             .up_to(limits::max_spend_key_bytes),
         field("force", &T::force, "It is spent already: count it also over a hard limit (false)."))
FF_SHAPE(
    bodies::ChangeBudgetBody, "ChangeBudgetBody",
    field("namespace", &T::name_space, "The namespace of the budget; absent: the one for all namespaces.")
        .within(1, limits::max_namespace_bytes),
    required("change", &T::change,
             "`reset`: nothing counts as spent; `resume`: an account that is paused goes on; `adjust`: `amounts` are "
             "added to what counts as spent."),
    field("account", &T::account, "The values of `per`; absent: the budget has one account.")
        .up_to(limits::max_limit_keys),
    field("amounts", &T::amounts, "Of `adjust`: by dimension; negative ones are taken off.")
        .up_to(limits::max_dimensions),
    field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))

}  // namespace flowfabric::wire
