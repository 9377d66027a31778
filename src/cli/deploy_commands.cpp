// check-deploy: which unfinished executions a new version of a worker could not go on with.
#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/filter.hpp"
#include "cli/json_out.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "sdk/step_plan.hpp"

namespace flowfabric::cli {
namespace {

constexpr int exit_would_break = 1;
constexpr std::size_t names_shown = 20;

Result<std::string> content_of(const std::string& path) {
  if (path == "-") return std::string{std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(Errc::invalid_argument, fmt::format("FILE: cannot open {}", path), "FILE");
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

std::string order_of(const sdk::StepPlan::Names& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == names_shown) return text + ", ...";
    text += (i == 0 ? "" : ", ") + names[i].value_or("(not recorded)");
  }
  return text;
}

Result<std::vector<Step>> all_steps(Target& target, const ExecutionId& id) {
  std::vector<Step> steps;
  std::uint32_t from = 0;
  do {
    FF_TRY(page, target.steps(id, from, limits::max_page));
    std::move(page.steps.begin(), page.steps.end(), std::back_inserter(steps));
    from = page.next_position;
  } while (from != 0);
  return steps;
}

// Why the execution could not go on, if it could not.
Result<std::optional<Misfit>> misfit_of(Target& target, const ExecutionSummary& execution, const sdk::StepPlan& plan) {
  auto steps = all_steps(target, execution.execution_id);
  // It may have ended and been removed since it was listed.
  if (!steps && steps.error().code == Errc::not_found) return std::nullopt;
  if (!steps) return Unexpected(std::move(steps).error());
  const auto names = sdk::names_by_position(*steps);
  const auto position = plan.misfit(names);
  if (!position) return std::nullopt;
  return Misfit{
      execution.execution_id, execution.kind, execution.public_state, *position, names[*position - 1].value_or(""),
      order_of(names),        plan.text()};
}

Result<void> check_kind(Target& target, ListRequest request, const sdk::StepPlan& plan, DeployReport& report) {
  request.limit = limits::max_page;
  do {
    FF_TRY(page, target.list(request));
    for (const ExecutionSummary& execution : page.executions) {
      ++report.examined;
      if (execution.attempt_count == 0) continue;  // never ran, so it has recorded nothing
      FF_TRY(misfit, misfit_of(target, execution, plan));
      if (misfit) report.misfits.push_back(std::move(*misfit));
    }
    request.cursor = std::move(page.next_cursor);
  } while (!request.cursor.empty());
  return {};
}

void print_report(const DeployReport& report) {
  if (!report.misfits.empty()) {
    Table table({{"EXECUTION"},
                 {"KIND", false, true},
                 {"STATE"},
                 {"STEP", true},
                 {"NAME", false, true},
                 {"RECORDED", false, true},
                 {"DECLARED", false, true}});
    for (const Misfit& misfit : report.misfits) {
      table.add({{to_string(misfit.execution_id)},
                 {misfit.kind},
                 state_cell(misfit.public_state),
                 number_cell(misfit.position),
                 {misfit.step, Tone::bad},
                 {misfit.recorded},
                 {misfit.declared}});
    }
    fmt::print("{}\n", table.render(stdout_look()));
  }
  fmt::print("{} declared, {} examined, {} would break\n", counted(report.kinds, "kind"),
             counted(report.examined, "unfinished execution"), report.misfits.size());
}

Result<int> run_check_deploy(const Arguments& arguments) {
  FF_TRY(document, content_of(arguments.operands.front()));
  auto plans = sdk::parse_step_plans(document);
  if (!plans) return fail(Errc::invalid_argument, "FILE: " + plans.error().message, "FILE");
  if (plans->empty()) return fail(Errc::invalid_argument, "FILE: it declares no kind", "FILE");
  ListRequest request;
  request.name_space = arguments.maybe("--namespace");
  request.lane = arguments.maybe("--lane");
  FF_TRY(open_ones, api::filter_for(api::BulkVerb::cancel, std::move(request), "--state"));
  FF_TRY(target, find_target(arguments));
  DeployReport report;
  report.kinds = plans->size();
  for (const auto& [kind, plan] : *plans) {
    ListRequest of_kind = open_ones;
    of_kind.kind = kind;
    FF_TRY_VOID(check_kind(*target, std::move(of_kind), plan, report));
  }
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(report));
  } else {
    print_report(report);
  }
  return report.misfits.empty() ? 0 : exit_would_break;
}

}  // namespace

std::vector<Command> deploy_commands() {
  return {
      {{"check-deploy",
        {"FILE", 1, 1},
        "list unfinished executions that a new worker could not go on with",
        "Compares the steps that a worker declares with those that unfinished executions have recorded, and lists the\n"
        "executions whose record does not fit: their next attempt would fail as handler_changed. Run it before a new\n"
        "version is deployed. FILE is what Worker::declared_steps() of the new version gives, - for stdin:\n"
        "{\"kinds\": {\"order\": [\"reserve\", \"part*\", \"notify?\", \"ship\"]}}. name? may be left out, name* may "
        "come any\n"
        "number of times. Kinds that the file does not name are not examined. The exit code is 1 if an execution "
        "would\n"
        "break.",
        options_of_reading({{"--namespace", "NAME", "only executions of this namespace"},
                            {"--lane", "NAME", "only executions of this lane"}})},
       run_check_deploy},
  };
}

}  // namespace flowfabric::cli
