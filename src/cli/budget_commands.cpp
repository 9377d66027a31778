// budgets list, show, set, remove, reset, resume, adjust, forecast: limits by what they let executions spend.
#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/confirm.hpp"
#include "cli/filter.hpp"
#include "cli/limit_text.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"
#include "wire/limit_shapes.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t accounts_page = 100;
constexpr std::size_t buckets_shown = 12;

LimitName budget_operand(const Arguments& arguments) {
  return {arguments.maybe("--namespace"), arguments.operands.front()};
}

Unexpected<Error> no_budget(const LimitName& budget) {
  return fail(Errc::not_found, "limit " + limit_label(budget) + " has no budget", "name");
}

std::string bound_text(const std::optional<std::int64_t>& limit) { return limit ? std::to_string(*limit) : "-"; }
std::string account_text(const LimitUse& use) { return use.key.empty() ? "(all)" : join(use.key, ", "); }

// ---- Reading options

struct NamedAmount {
  std::string name{};
  std::int64_t amount = 0;
};

// NAME=N
Result<NamedAmount> parse_amount(const std::string& word, const std::string& option) {
  const std::size_t sign = word.rfind('=');
  NamedAmount parsed;
  const bool whole = sign != std::string::npos && sign > 0;
  if (whole) {
    parsed.name = word.substr(0, sign);
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data() + sign + 1, end, parsed.amount);
    if (error == std::errc{} && rest == end) return parsed;
  }
  return fail(Errc::invalid_argument, option + ": is \"" + clipped(word, 64) + "\"; allowed: NAME=N, like tokens=1000",
              option);
}

BudgetDimension& dimension_of(BudgetSpec& budget, const std::string& name) {
  const auto found = std::find_if(budget.dimensions.begin(), budget.dimensions.end(),
                                  [&](const BudgetDimension& one) { return one.name == name; });
  if (found != budget.dimensions.end()) return *found;
  return budget.dimensions.emplace_back(BudgetDimension{name, {}, {}, 0});
}

Result<BudgetSpec> read_budget_options(const Arguments& arguments) {
  BudgetSpec budget;
  for (const std::string& name : arguments.all("--count")) dimension_of(budget, name);
  for (const char* option : {"--hard", "--soft", "--reserve"}) {
    for (const std::string& word : arguments.all(option)) {
      FF_TRY(parsed, parse_amount(word, option));
      BudgetDimension& dimension = dimension_of(budget, parsed.name);
      const std::string_view which = option;
      if (which == "--hard") dimension.hard = parsed.amount;
      if (which == "--soft") dimension.soft = parsed.amount;
      if (which == "--reserve") dimension.reserve = parsed.amount;
    }
  }
  if (budget.dimensions.empty()) {
    return fail(Errc::invalid_argument, "--hard: is missing; give --hard, --soft or --count for what is counted",
                "--hard");
  }
  budget.period = arguments.text("--period", budget.period);
  budget.time_zone = arguments.text("--time-zone", budget.time_zone);
  const auto action = parse_breach_action(arguments.text("--on-hard-limit", "deny"));
  if (!action) {
    return fail(Errc::invalid_argument, "--on-hard-limit: " + action.error().message, "--on-hard-limit");
  }
  budget.on_hard_limit = *action;
  return budget;
}

// ---- Looking

Result<std::vector<LimitInfo>> budgets_of(sdk::LimitCalls& limits, const Arguments& arguments) {
  FF_TRY(all, limits.list({arguments.maybe("--namespace")}));
  std::erase_if(all, [](const LimitInfo& one) { return !one.budget; });
  return all;
}

Result<int> run_budgets_list(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(budgets, budgets_of(target->limits(), arguments));
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(bodies::LimitsReply{std::move(budgets)}));
    return 0;
  }
  if (budgets.empty()) {
    fmt::print("no budgets\n");
    return 0;
  }
  Table table({{"NAMESPACE", false, true},
               {"NAME", false, true},
               {"PER", false, true},
               {"COUNTS", false, true},
               {"HARD", true},
               {"SOFT", true},
               {"RESERVE", true},
               {"PERIOD"},
               {"ON HARD LIMIT"}});
  for (const LimitInfo& one : budgets) {
    for (const BudgetDimension& dimension : one.budget->dimensions) {
      table.add({{one.name_space.value_or("(all)")},
                 {one.name},
                 {one.per.empty() ? "-" : join(one.per, ",")},
                 {dimension.name},
                 {bound_text(dimension.hard)},
                 {bound_text(dimension.soft)},
                 {std::to_string(dimension.reserve)},
                 {one.budget->period},
                 {std::string(to_string(one.budget->on_hard_limit))}});
    }
  }
  fmt::print("{}", table.render(stdout_look()));
  return 0;
}

Result<ListLimitUseReply> accounts_of(sdk::LimitCalls& limits, const Arguments& arguments) {
  ListLimitUseRequest request{budget_operand(arguments), {}, accounts_page};
  FF_TRY(reply, limits.use(request));
  if (!reply.info.budget) return no_budget(request.limit);
  while (arguments.has("--all") && !reply.next_cursor.empty()) {
    request.cursor = reply.next_cursor;
    FF_TRY(more, limits.use(request));
    std::move(more.keys.begin(), more.keys.end(), std::back_inserter(reply.keys));
    reply.next_cursor = std::move(more.next_cursor);
  }
  return reply;
}

Tone tone_of(const DimensionUse& use) {
  if (use.hard && use.spent >= *use.hard) return Tone::bad;
  return use.soft && use.spent > *use.soft ? Tone::busy : Tone::plain;
}

void print_usage(const BudgetUse& budget) {
  if (budget.usage.empty()) return;
  Table table({{"FROM"}, {"SPENT", false, true}});
  const std::size_t skipped = budget.usage.size() - std::min(budget.usage.size(), buckets_shown);
  for (std::size_t i = skipped; i < budget.usage.size(); ++i) {
    std::string text;
    for (const auto& [name, amount] : budget.usage[i].spent) {
      text += (text.empty() ? "" : ", ") + std::to_string(amount) + " " + name;
    }
    table.add({time_cell(budget.usage[i].from), {text}});
  }
  fmt::print("\n{}", table.render(stdout_look()));
}

void print_accounts(const ListLimitUseReply& reply) {
  if (reply.keys_hidden) {
    fmt::print("It is for all namespaces: what is spent of it is shown to keys for all namespaces only.\n");
    return;
  }
  if (reply.keys.empty()) {
    fmt::print("nothing has been spent or reserved\n");
    return;
  }
  Table table({{"ACCOUNT", false, true},
               {"COUNTS", false, true},
               {"SPENT", true},
               {"RESERVED", true},
               {"HARD", true},
               {"SOFT", true},
               {"WAITING", true},
               {"PERIOD ENDS"},
               {"STATE"}});
  for (const LimitUse& use : reply.keys) {
    if (!use.budget) continue;
    for (const DimensionUse& one : use.budget->dimensions) {
      table.add({{account_text(use)},
                 {one.name},
                 {std::to_string(one.spent), tone_of(one)},
                 {std::to_string(one.reserved)},
                 {bound_text(one.hard)},
                 {bound_text(one.soft)},
                 number_cell(use.held_back),
                 time_cell(use.budget->period_end),
                 {use.budget->paused ? "paused" : "open", use.budget->paused ? Tone::bad : Tone::good}});
    }
  }
  fmt::print("{}", table.render(stdout_look()));
  if (reply.keys.size() == 1 && reply.keys.front().budget) print_usage(*reply.keys.front().budget);
  if (!reply.next_cursor.empty()) fmt::print("there are more; show everything with --all\n");
}

void print_forecast(const ListLimitUseReply& reply) {
  Table table({{"ACCOUNT", false, true},
               {"COUNTS", false, true},
               {"SPENT", true},
               {"HARD", true},
               {"PER HOUR", true},
               {"RUNS OUT"},
               {"PERIOD ENDS"}});
  for (const LimitUse& use : reply.keys) {
    if (!use.budget) continue;
    for (const DimensionUse& one : use.budget->dimensions) {
      table.add({{account_text(use)},
                 {one.name},
                 {std::to_string(one.spent), tone_of(one)},
                 {bound_text(one.hard)},
                 {std::to_string(one.per_hour)},
                 {one.runs_out_at == 0 ? "not in this period" : format_time(one.runs_out_at),
                  one.runs_out_at == 0 ? Tone::good : Tone::busy},
                 time_cell(use.budget->period_end)});
    }
  }
  if (reply.keys.empty()) {
    fmt::print("nothing has been spent or reserved\n");
  } else {
    fmt::print("{}", table.render(stdout_look()));
  }
}

Result<int> show_accounts(const Arguments& arguments, void (*print)(const ListLimitUseReply&)) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, accounts_of(target->limits(), arguments));
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(reply));
  } else {
    print(reply);
  }
  return 0;
}

Result<int> run_budgets_show(const Arguments& arguments) { return show_accounts(arguments, print_accounts); }
Result<int> run_budgets_forecast(const Arguments& arguments) { return show_accounts(arguments, print_forecast); }

// ---- Changing

// The limit of that name, with the budget; its concurrency and rate stay.
Result<LimitRequest> request_for(sdk::LimitCalls& limits, const Arguments& arguments) {
  LimitRequest request;
  static_cast<LimitName&>(request) = budget_operand(arguments);
  FF_TRY(all, limits.list({request.name_space}));
  const auto found = std::find_if(all.begin(), all.end(), [&](const LimitInfo& one) {
    return static_cast<const LimitName&>(one) == static_cast<const LimitName&>(request);
  });
  request.expected_revision = 0;
  if (found != all.end()) {
    static_cast<LimitSpec&>(request) = *found;
    request.expected_revision = found->revision;
  }
  if (arguments.has("--lane")) request.lane = arguments.maybe("--lane");
  if (arguments.has("--kind")) request.kind = arguments.maybe("--kind");
  if (arguments.has("--per")) {
    FF_TRY(per, read_list(arguments, "--per"));
    request.per = std::move(per);
  }
  return request;
}

int print_saved_budget(const Arguments& arguments, const LimitSaved& saved) {
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(saved));
  } else if (saved.outcome == LimitChange::unchanged) {
    fmt::print("budget {} was like this already\n", limit_label(saved.info));
  } else {
    fmt::print("budget {} was {}\n", limit_label(saved.info), to_string(saved.outcome));
  }
  return 0;
}

Result<int> run_budgets_set(const Arguments& arguments) {
  FF_TRY(budget, read_budget_options(arguments));
  FF_TRY(target, find_target(arguments));
  FF_TRY(request, request_for(target->limits(), arguments));
  request.budget = std::move(budget);
  FF_TRY(saved, target->limits().set(std::move(request), acting_operator(arguments)));
  return print_saved_budget(arguments, saved);
}

Result<int> run_budgets_remove(const Arguments& arguments) {
  const LimitName name = budget_operand(arguments);
  FF_TRY(agreed, confirm(fmt::format("remove budget {}? What it holds back starts.", limit_label(name)), arguments));
  if (!agreed) return exit_declined;
  FF_TRY(target, find_target(arguments));
  FF_TRY(request, request_for(target->limits(), arguments));
  if (!request.budget) return no_budget(name);
  request.budget.reset();
  const bool has_more = request.concurrency || request.rate;
  const Operator by = acting_operator(arguments);
  FF_TRY(saved, has_more ? target->limits().set(std::move(request), by) : target->limits().remove(name, by));
  return print_saved_budget(arguments, saved);
}

Result<int> change_account(const Arguments& arguments, BudgetChange change) {
  ChangeBudgetRequest request;
  static_cast<LimitName&>(request) = budget_operand(arguments);
  request.change = change;
  request.account = arguments.all("--account");
  if (change == BudgetChange::adjust) {
    for (const std::string& word : arguments.all("--by-amount")) {
      FF_TRY(parsed, parse_amount(word, "--by-amount"));
      request.amounts[parsed.name] = parsed.amount;
    }
  }
  FF_TRY(target, find_target(arguments));
  FF_TRY(use, target->limits().change_budget(request, acting_operator(arguments)));
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(use));
    return 0;
  }
  for (const DimensionUse& one : use.dimensions) {
    fmt::print("{}: {} spent, {} reserved of {}\n", one.name, one.spent, one.reserved, bound_text(one.hard));
  }
  return 0;
}

Result<int> run_budgets_reset(const Arguments& arguments) {
  FF_TRY(agreed,
         confirm(fmt::format("set what is spent of budget {} back to zero?", limit_label(budget_operand(arguments))),
                 arguments));
  if (!agreed) return exit_declined;
  return change_account(arguments, BudgetChange::reset);
}
Result<int> run_budgets_resume(const Arguments& arguments) { return change_account(arguments, BudgetChange::resume); }
Result<int> run_budgets_adjust(const Arguments& arguments) { return change_account(arguments, BudgetChange::adjust); }

// ---- The table

const OperandSpec one_budget_name = {"NAME", 1, 1};
OptionSpec budget_namespace_option() {
  return {"--namespace", "NAME", "namespace of the budget; without it: the budget for all namespaces"};
}
OptionSpec account_option() {
  return {"--account", "VALUE", "of which account: one value for each name in --per, in its order", true};
}

std::vector<Command> budget_reading_commands() {
  const std::vector<OptionSpec> one = {budget_namespace_option(), {"--all", "", "every account (the first 100)"}};
  return {
      {{"budgets list",
        {},
        "list budgets",
        "Lists the limits that have a budget, with a line for each thing that is counted.",
        options_of_reading(
            {{"--namespace", "NAME", "only budgets for executions of this namespace: its own, and those for all"}})},
       run_budgets_list},
      {{"budgets show", one_budget_name, "show what is spent of a budget",
        "Shows for each account what is spent and reserved, how many executions wait, and when the period ends. Of a\n"
        "budget with one account also the usage over time.",
        options_of_reading(one)},
       run_budgets_show},
      {{"budgets forecast", one_budget_name, "say when a budget will run out",
        "Says for each account how much is spent in an hour at the present rate, and when it runs out.",
        options_of_reading(one)},
       run_budgets_forecast},
  };
}

std::vector<OptionSpec> budget_setting_options() {
  return options_of_acting(
      {budget_namespace_option(),
       {"--lane", "NAME", "only executions of this lane"},
       {"--kind", "NAME", "only executions of this kind"},
       {"--per", "NAMES",
        "count apart for each value of tags.NAME, namespace, lane, kind, creator, flow or execution; up to 4", true},
       {"--hard", "NAME=N", "so much of it may be spent in a period, like tokens=1000000", true},
       {"--soft", "NAME=N", "above it there is a warning", true},
       {"--reserve", "NAME=N", "what a lease reserves, unless its execution says otherwise", true},
       {"--count", "NAME", "count it without a limit", true},
       {"--period", "PERIOD", "lifetime, or a number and s, m, h, d, w or mo (lifetime)"},
       {"--time-zone", "NAME", "in which days, weeks and months begin (UTC)"},
       {"--on-hard-limit", "ACTION", "deny, pause, fail, cancel_pending or notify (deny)"}});
}

}  // namespace

std::vector<Command> budget_commands() {
  std::vector<Command> all = budget_reading_commands();
  all.push_back(
      {{"budgets set", one_budget_name, "create a budget, or change what it allows",
        "Makes a budget, or replaces what it counts and allows; what is spent stays. Give at least one of --hard,\n"
        "--soft and --count. A concurrency or a rate of the limit with that name stays as it is.",
        budget_setting_options()},
       run_budgets_set});
  all.push_back({{"budgets remove", one_budget_name, "remove a budget", "Removes a budget. What it holds back starts.",
                  options_of_acting({budget_namespace_option(), yes_option()})},
                 run_budgets_remove});
  all.push_back({{"budgets reset", one_budget_name, "set what is spent back to zero",
                  "Nothing of an account counts as spent any more. What is reserved stays reserved.",
                  options_of_acting({budget_namespace_option(), account_option(), yes_option()})},
                 run_budgets_reset});
  all.push_back({{"budgets resume", one_budget_name, "let an account go on that is paused",
                  "Executions of an account that is paused start again.",
                  options_of_acting({budget_namespace_option(), account_option()})},
                 run_budgets_resume});
  all.push_back({{"budgets adjust", one_budget_name, "change what counts as spent",
                  "Adds amounts to what counts as spent of an account, or takes them off.",
                  options_of_acting({budget_namespace_option(),
                                     account_option(),
                                     {"--by-amount", "NAME=N", "so much more; a negative number takes off", true}})},
                 run_budgets_adjust});
  return all;
}

}  // namespace flowfabric::cli
