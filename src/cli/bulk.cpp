#include "cli/bulk.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

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
#include "cli/store_access.hpp"
#include "cli/table.hpp"

namespace flowfabric::cli {
namespace {

constexpr int exit_interrupted = 130;
constexpr std::size_t max_threads = 32;      // calls that wait at the same time share commits
constexpr std::size_t worth_progress = 200;  // fewer are done before one could read it
constexpr std::chrono::milliseconds refresh{100};

struct Selection {
  std::vector<ExecutionId> ids{};
  bool by_filter = false;
};

bool contains(const std::vector<PublicState>& states, PublicState state) {
  return std::find(states.begin(), states.end(), state) != states.end();
}

Result<Selection> named_ones(const std::vector<std::string>& words) {
  Selection selection;
  std::set<ExecutionId> seen;
  for (const std::string& word : words) {
    FF_TRY(id, parse_execution_id(word));
    if (seen.insert(id).second) selection.ids.push_back(id);
  }
  return selection;
}

Result<ListRequest> filter_of(const BulkAction& action, const Arguments& arguments) {
  FF_TRY(request, read_filter(arguments));
  for (const PublicState state : request.states) {
    if (contains(action.applies_to, state)) continue;
    return fail(Errc::invalid_argument,
                fmt::format("{} can do nothing with executions that are {}", action.verb, to_string(state)), "--state");
  }
  if (request.states.empty()) request.states = action.unless_named;
  request.limit = limits::max_page;
  return request;
}

// Everything is chosen before anything is done: the number that is asked about is the number that is acted on, and the
// action cannot chase executions that it moves itself.
Result<Selection> filtered_ones(const BulkAction& action, const Arguments& arguments) {
  FF_TRY(request, filter_of(action, arguments));
  FF_TRY(store, open_for_reading(arguments));
  FF_TRY(found, list_pages(*store, std::move(request), true));
  Selection selection;
  selection.by_filter = true;
  for (const ExecutionSummary& execution : found.executions) selection.ids.push_back(execution.execution_id);
  return selection;
}

Result<Selection> select(const BulkAction& action, const Arguments& arguments) {
  const bool filter = has_filter(arguments);
  if (arguments.operands.empty() && !filter) {
    return fail(Errc::invalid_argument, "which executions? Name them by ID or give a filter like --lane NAME", "ID");
  }
  if (!arguments.operands.empty() && filter) {
    return fail(Errc::invalid_argument, "give execution ids or a filter, not both", "ID");
  }
  if (!filter && arguments.has("--dry-run")) {
    return fail(Errc::invalid_argument, "--dry-run counts what a filter selects; it does not go with ids", "--dry-run");
  }
  return filter ? filtered_ones(action, arguments) : named_ones(arguments.operands);
}

using Outcomes = std::vector<std::optional<Result<ActionReply>>>;

// Acts on all, many at a time; what an interruption leaves undone has no outcome.
Outcomes act_on_all(const BulkAction& action, Engine& engine, const std::vector<ExecutionId>& ids, bool show) {
  const StopSignal stop_signal;
  Outcomes outcomes(ids.size());
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < ids.size() && !StopSignal::came(); i = next++) {
      outcomes[i] = action.act(engine, ids[i]);
      ++done;
    }
  };
  std::vector<std::thread> threads;
  std::atomic<std::size_t> running{std::min(max_threads, ids.size())};
  for (std::size_t i = 0, count = running; i < count; ++i) {
    threads.emplace_back([&] {
      work();
      --running;
    });
  }
  if (show) {
    ProgressDisplay display;
    const auto begin = std::chrono::steady_clock::now();
    const auto view = [&] {
      const auto elapsed = std::chrono::steady_clock::now() - begin;
      return ProgressView{done, ids.size(), {}, std::chrono::duration_cast<std::chrono::milliseconds>(elapsed)};
    };
    for (; running > 0; std::this_thread::sleep_for(refresh)) display.show(view());
    display.finish(view());
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

// Between the choice and the action the world goes on; for what a filter chose that is no failure.
bool has_moved_on(Errc code) {
  return code == Errc::not_found || code == Errc::already_terminal || code == Errc::not_terminal;
}

bool changed(const ActionReply& reply) {
  const auto* cancel = std::get_if<CancelReply>(&reply);
  return cancel == nullptr || !cancel->already_cancelled;
}

void account(const Selection& selection, Outcomes outcomes, BulkReport& report) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i]) {
      report.interrupted = true;
    } else if (*outcomes[i]) {
      (changed(**outcomes[i]) ? report.changed : report.unchanged) += 1;
      report.results.push_back({selection.ids[i], **outcomes[i]});
    } else if (selection.by_filter && has_moved_on(outcomes[i]->error().code)) {
      report.skipped += 1;
    } else {
      report.failures.push_back({selection.ids[i], outcomes[i]->error()});
    }
  }
}

std::string sentence(const BulkAction& action, const ActionReply& reply) {
  if (const auto* replay = std::get_if<ReplayReply>(&reply)) {
    return fmt::format("{}, now {} (replay {})", action.past, to_string(replay->public_state), replay->replay_count);
  }
  return changed(reply) ? action.past : "was " + action.past + " before";
}

void print_summary(const BulkAction& action, const BulkReport& report) {
  std::string text = fmt::format("{} {}", counted(report.changed, "execution"), action.past);
  if (report.unchanged > 0) text += fmt::format(", {} unchanged", report.unchanged);
  if (report.skipped > 0) text += fmt::format(", {} passed over", report.skipped);
  if (!report.failures.empty()) text += fmt::format(", {} failed", report.failures.size());
  if (report.interrupted) text += "; interrupted, the rest is untouched";
  fmt::print("{}\n", text);
}

void print_text(const BulkAction& action, const BulkReport& report, bool by_filter) {
  if (!by_filter) {
    for (const BulkSuccess& success : report.results) {
      fmt::print("{} {}\n", to_string(success.execution_id), sentence(action, success.reply));
    }
  }
  const bool several = report.matched > 1 || report.interrupted;
  if (by_filter || several) print_summary(action, report);
}

// Says which execution it was, unless the message does.
Error named(const BulkFailure& failure) {
  const std::string id = to_string(failure.execution_id);
  Error error = failure.error;
  if (error.message.find(id) == std::string::npos) error.message = id + ": " + error.message;
  return error;
}

// The exit code is that of the first failure. A program finds all of them in the document and gets one line here.
Result<int> conclude(const BulkAction& action, const BulkReport& report, bool json) {
  const auto& failures = report.failures;
  if (failures.empty()) return report.interrupted ? exit_interrupted : 0;
  if (json) {
    Error error = named(failures.front());
    if (failures.size() > 1) {
      error.message = fmt::format("{} of {} failed, the first: {}", failures.size(), report.matched, error.message);
    }
    return tl::unexpected(std::move(error));
  }
  for (const BulkFailure& failure : failures) complain("flowfabric executions " + action.verb, named(failure), false);
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
  options.push_back({"--dry-run", "", "only count what the filter selects"});
  options.push_back(yes_option());
  return options_of_acting(std::move(options));
}

std::vector<PublicState> open_states() {
  return {PublicState::waiting, PublicState::delayed,   PublicState::rate_limited, PublicState::waiting_children,
          PublicState::active,  PublicState::suspended, PublicState::resumable};
}

std::vector<PublicState> ended_states() {
  return {PublicState::completed, PublicState::failed, PublicState::cancelled, PublicState::expired,
          PublicState::skipped};
}

Result<int> run_bulk(const BulkAction& action, const Arguments& arguments) {
  const bool json = arguments.has("--json");
  FF_TRY(selection, select(action, arguments));
  BulkReport report;
  report.action = action.verb;
  report.matched = selection.ids.size();
  report.dry_run = arguments.has("--dry-run");
  if (report.dry_run || selection.ids.empty()) {
    if (json) return finish(action, report, true, json);
    fmt::print("{}\n", selection.ids.empty()
                           ? "no execution matches"
                           : fmt::format("{} would be {}", counted(report.matched, "execution"), action.past));
    return 0;
  }
  if (selection.ids.size() > 1) {
    FF_TRY(agreed, confirm(fmt::format("{} {}?", action.request, counted(report.matched, "execution")), arguments));
    if (!agreed) return exit_declined;
  }
  FF_TRY(engine, open_for_acting(arguments));
  const bool show = !json && stdout_is_terminal() && selection.ids.size() >= worth_progress;
  account(selection, act_on_all(action, *engine, selection.ids, show), report);
  return finish(action, report, selection.by_filter, json);
}

}  // namespace flowfabric::cli
