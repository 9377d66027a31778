#include "cli/bulk.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/complaint.hpp"
#include "cli/confirm.hpp"
#include "cli/filter.hpp"
#include "cli/json_out.hpp"
#include "cli/progress.hpp"
#include "cli/signals.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::size_t worth_progress = 200;  // fewer finish before a progress display could be read
constexpr std::size_t at_a_time = 100;       // between two checks of the time and of Ctrl-C

struct Selection {
  std::vector<ExecutionId> ids{};
  bool by_filter = false;
};

Result<Selection> named_ones(const std::vector<std::string>& words) {
  Selection selection;
  std::set<ExecutionId> seen;
  for (const std::string& word : words) {
    FF_TRY(id, parse_execution_id(word));
    if (seen.insert(id).second) selection.ids.push_back(id);
  }
  return selection;
}

// All executions are selected before the first is changed: the number in the question is the number that is changed, and
// the action cannot select executions again that it has moved itself.
Result<Selection> filtered_ones(const BulkAction& action, const Arguments& arguments, Target& target) {
  FF_TRY(filter, read_filter(arguments));
  FF_TRY(request, api::filter_for(action.order.verb, std::move(filter), "--state"));
  request.limit = limits::max_page;
  FF_TRY(found, list_pages(target, std::move(request), true));
  Selection selection;
  selection.by_filter = true;
  for (const ExecutionSummary& execution : found.executions) selection.ids.push_back(execution.execution_id);
  return selection;
}

Result<Selection> select(const BulkAction& action, const Arguments& arguments, Target& target) {
  const bool filter = has_filter(arguments);
  if (arguments.operands.empty() && !filter) {
    return fail(Errc::invalid_argument, "no executions given; pass IDs or a filter like --lane NAME", "ID");
  }
  if (!arguments.operands.empty() && filter) {
    return fail(Errc::invalid_argument, "pass execution IDs or a filter, not both", "ID");
  }
  if (!filter && arguments.has("--dry-run")) {
    return fail(Errc::invalid_argument,
                "--dry-run counts the executions that a filter selects; it cannot be combined with IDs", "--dry-run");
  }
  return filter ? filtered_ones(action, arguments, target) : named_ones(arguments.operands);
}

void add(BulkReport& report, api::BulkTally more) {
  report.changed += more.changed;
  report.unchanged += more.unchanged;
  report.skipped += more.skipped;
  std::move(more.results.begin(), more.results.end(), std::back_inserter(report.results));
  std::move(more.failures.begin(), more.failures.end(), std::back_inserter(report.failures));
}

// Acts in portions; an interruption leaves the remaining executions unchanged.
Result<void> act_on_all(const BulkAction& action, Target& target, const Selection& selection, bool show,
                        BulkReport& report) {
  const StopSignal stop_signal;
  const std::vector<ExecutionId>& ids = selection.ids;
  std::optional<ProgressDisplay> display;
  if (show) display.emplace();
  const auto begin = std::chrono::steady_clock::now();
  const auto view = [&](std::size_t done) {
    const auto elapsed = std::chrono::steady_clock::now() - begin;
    return ProgressView{done, ids.size(), {}, std::chrono::duration_cast<std::chrono::milliseconds>(elapsed)};
  };
  std::size_t done = 0;
  while (done < ids.size() && !StopSignal::came()) {
    if (display) display->show(view(done));
    const std::size_t end = std::min(done + at_a_time, ids.size());
    const auto from = ids.begin() + static_cast<std::ptrdiff_t>(done);
    const auto to = ids.begin() + static_cast<std::ptrdiff_t>(end);
    FF_TRY(tally, target.act_on(action.order, {from, to}));
    if (selection.by_filter) api::pass_over_moved(tally);
    add(report, std::move(tally));
    done = end;
  }
  if (display) display->finish(view(done));
  report.interrupted = done < ids.size();
  return {};
}

std::string sentence(const BulkAction& action, const api::BulkSuccess& success) {
  if (success.replay_count && success.public_state) {
    return fmt::format("{}, now {} (replay {})", action.past, to_string(*success.public_state), *success.replay_count);
  }
  if (success.signal) {
    return action.past + ": " +
           (success.signal->duplicate ? "delivered before" : std::string(to_string(success.signal->effect)));
  }
  return api::is_change(success) ? action.past : "was already " + action.past;
}

void print_summary(const BulkAction& action, const BulkReport& report) {
  std::string text = fmt::format("{} {}", counted(report.changed, "execution"), action.past);
  if (report.unchanged > 0) text += fmt::format(", {} unchanged", report.unchanged);
  if (report.skipped > 0) text += fmt::format(", {} skipped", report.skipped);
  if (!report.failures.empty()) text += fmt::format(", {} failed", report.failures.size());
  if (report.interrupted) text += "; interrupted, the others are unchanged";
  fmt::print("{}\n", text);
}

void print_text(const BulkAction& action, const BulkReport& report, bool by_filter) {
  if (!by_filter) {
    for (const api::BulkSuccess& success : report.results) {
      fmt::print("{} {}\n", to_string(success.execution_id), sentence(action, success));
    }
  }
  const bool several = report.matched > 1 || report.interrupted;
  if (by_filter || several) print_summary(action, report);
}

// Adds the execution id, unless the message contains it.
Error named(const api::BulkFailure& failure) {
  const std::string id = to_string(failure.execution_id);
  Error error = failure.error;
  if (error.message.find(id) == std::string::npos) error.message = id + ": " + error.message;
  return error;
}

// The exit code is that of the first failure. With --json the document has all failures, and stderr gets one line.
Result<int> conclude(const BulkAction& action, const BulkReport& report, bool json) {
  const auto& failures = report.failures;
  if (failures.empty()) return report.interrupted ? exit_interrupted : 0;
  if (json) {
    Error error = named(failures.front());
    if (failures.size() > 1) {
      error.message = fmt::format("{} of {} failed, the first: {}", failures.size(), report.matched, error.message);
    }
    return Unexpected(std::move(error));
  }
  const std::string who = "flowfabric executions " + std::string(to_string(action.order.verb));
  for (const api::BulkFailure& failure : failures) complain(who, named(failure), false);
  return describe(failures.front().error.code).exit_code;
}

Result<int> finish(const BulkAction& action, const BulkReport& report, bool by_filter, bool json) {
  if (json) {
    fmt::print("{}\n", to_json(report));
  } else {
    print_text(action, report, by_filter);
  }
  return conclude(action, report, json);
}

}  // namespace

std::vector<OptionSpec> bulk_options() {
  std::vector<OptionSpec> options = filter_options();
  options.push_back({"--dry-run", "", "only count the executions that the filter selects"});
  options.push_back(yes_option());
  return options_of_acting(std::move(options));
}

Result<int> run_bulk(const BulkAction& action, const Arguments& arguments) {
  const bool json = arguments.has("--json");
  FF_TRY(target, find_target(arguments));
  FF_TRY(selection, select(action, arguments, *target));
  BulkReport report;
  report.action = to_string(action.order.verb);
  report.matched = selection.ids.size();
  report.dry_run = arguments.has("--dry-run");
  if (report.dry_run || selection.ids.empty()) {
    if (json) return finish(action, report, true, json);
    fmt::print("{}\n", selection.ids.empty()
                           ? "no matching executions"
                           : fmt::format("{} would be {}", counted(report.matched, "execution"), action.past));
    return 0;
  }
  if (selection.ids.size() > 1) {
    FF_TRY(agreed, confirm(fmt::format("{} {}?", action.request, counted(report.matched, "execution")), arguments));
    if (!agreed) return exit_declined;
  }
  const bool show = !json && stdout_is_terminal() && selection.ids.size() >= worth_progress;
  FF_TRY_VOID(act_on_all(action, *target, selection, show, report));
  return finish(action, report, selection.by_filter, json);
}

}  // namespace flowfabric::cli
