// executions cancel, replay, priority, signal.
#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/bulk.hpp"
#include "cli/command.hpp"
#include "cli/signal_options.hpp"
#include "cli/store_access.hpp"

namespace flowfabric::cli {
namespace {

constexpr const char* how_to_choose =
    "\nGive execution ids, or select executions with a filter: those that match all of --namespace, --lane, --kind,\n"
    "--state and --tag. More than one execution needs a confirmation. Executions that ended or were removed between\n"
    "selection and action are skipped. Each failure is reported; the exit code is that of the first.";

Result<int> run_cancel(const Arguments& arguments) {
  return run_bulk({{api::BulkVerb::cancel, 0, acting_operator(arguments)}, "cancel", "cancelled"}, arguments);
}

Result<int> run_replay(const Arguments& arguments) {
  return run_bulk(
      {{api::BulkVerb::replay, 0, acting_operator(arguments), arguments.maybe("--from-step")}, "replay", "replayed"},
      arguments);
}

Result<int> run_priority(const Arguments& arguments) {
  if (!arguments.has("--to")) return fail(Errc::invalid_argument, "--to N is missing: the new priority", "--to");
  FF_TRY(number, arguments.signed_number("--to", 0, limits::min_priority, limits::max_priority));
  const auto priority = static_cast<std::int32_t>(number);
  return run_bulk({{api::BulkVerb::priority, priority, acting_operator(arguments)},
                   fmt::format("give priority {} to", priority),
                   fmt::format("given priority {}", priority)},
                  arguments);
}

Result<int> run_signal(const Arguments& arguments) {
  api::BulkOrder order;
  order.verb = api::BulkVerb::signal;
  FF_TRY(signal, read_signal(arguments));
  order.signal = std::move(signal);
  order.signal.waitpoint = arguments.text("--waitpoint", "");
  if (order.signal.waitpoint.empty()) return fail(Errc::invalid_argument, "--waitpoint NAME is missing", "--waitpoint");
  return run_bulk({order, "send the signal to", "signalled"}, arguments);
}

std::vector<OptionSpec> bulk_signal_options() {
  std::vector<OptionSpec> options = {{"--waitpoint", "NAME", "the waitpoint; it need not be open yet"}};
  for (OptionSpec& option : signal_options()) options.push_back(std::move(option));
  for (OptionSpec& option : bulk_options()) options.push_back(std::move(option));
  return options;
}

std::vector<OptionSpec> replay_options() {
  std::vector<OptionSpec> options = bulk_options();
  options.insert(options.begin(),
                 {"--from-step", "NAME", "keep only the durable steps that were recorded before this one"});
  return options;
}

std::vector<OptionSpec> priority_options() {
  std::vector<OptionSpec> options = bulk_options();
  options.insert(options.begin(), {"--to", "N",
                                   fmt::format("the new priority, {} to {}; higher goes first", limits::min_priority,
                                               limits::max_priority)});
  return options;
}

}  // namespace

std::vector<Command> bulk_commands() {
  const OperandSpec ids{"ID", 0, any_number};
  return {
      {{"executions cancel", ids, "cancel executions",
        std::string("Cancels executions that have not ended. Without --state a filter selects all of them.\n") +
            how_to_choose,
        bulk_options()},
       run_cancel},
      {{"executions replay", ids, "run ended executions again",
        std::string(
            "Runs ended executions again; their history is kept, and so are their durable steps: a handler goes on\n"
            "where its record ends. With --from-step it begins again with that step. Without --state a filter\n"
            "selects those that failed.\n") +
            how_to_choose,
        replay_options()},
       run_replay},
      {{"executions priority", ids, "change the priority of executions",
        std::string("Changes the priority of executions that have not ended. Without --state a filter selects all of\n"
                    "them.\n") +
            how_to_choose,
        priority_options()},
       run_priority},
      {{"executions signal", ids, "send a signal to many executions",
        std::string(
            "Sends the same signal to the waitpoint of that name of each execution. Without --state a filter\n"
            "selects those that are suspended. With --key an execution takes the signal once, so the command can\n"
            "be repeated.\n") +
            how_to_choose,
        bulk_signal_options()},
       run_signal},
  };
}

}  // namespace flowfabric::cli
