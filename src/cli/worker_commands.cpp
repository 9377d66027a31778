// workers list, mark-dead, drain.
#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/confirm.hpp"
#include "cli/filter.hpp"
#include "cli/json_out.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t workers_shown = 100;

Cell worker_state_cell(const WorkerInfo& worker) {
  if (worker.state != WorkerState::live) return {std::string(to_string(worker.state)), Tone::bad};
  return worker.draining ? Cell{"draining", Tone::busy} : Cell{"live", Tone::good};
}

Table workers_table(const std::vector<WorkerInfo>& workers) {
  Table table({{"INSTANCE"},
               {"STATE"},
               {"NAMESPACE", false, true},
               {"WORKER", false, true},
               {"LANES", false, true},
               {"CAPABILITIES", false, true},
               {"LAST HEARTBEAT"},
               {"EXPIRES"}});
  for (const WorkerInfo& worker : workers) {
    table.add({{worker.worker_instance_id},
               worker_state_cell(worker),
               {worker.name_space},
               {worker.worker_id},
               {join(worker.lanes, ",")},
               {worker.capabilities.empty() ? "-" : join(worker.capabilities, ",")},
               time_cell(worker.last_heartbeat_at),
               time_cell(worker.expires_at)});
  }
  return table;
}

Result<int> run_workers_list(const Arguments& arguments) {
  ListWorkersRequest request;
  request.name_space = arguments.maybe("--namespace");
  request.lane = arguments.maybe("--lane");
  request.capability = arguments.maybe("--capability");
  request.include_expired = arguments.has("--all");
  request.cursor = arguments.text("--cursor", "");
  FF_TRY(limit, arguments.number("--limit", workers_shown, 1, limits::max_page));
  request.limit = static_cast<std::uint32_t>(limit);
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->workers(request));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(reply));
  } else if (reply.workers.empty()) {
    fmt::print("no worker is registered{}\n", request.include_expired ? "" : "; --all also shows ended workers");
  } else {
    fmt::print("{}", workers_table(reply.workers).render(stdout_look()));
    print_more(reply.next_cursor);
  }
  return 0;
}

struct WorkerName {
  std::string name_space;
  std::string instance;
};

WorkerName read_worker(const Arguments& arguments) {
  return {arguments.text("--namespace", WorkerRegistration{}.name_space), arguments.operands.front()};
}

Unexpected<Error> no_such_worker(const WorkerName& worker) {
  return fail(Errc::not_found,
              fmt::format("no live worker instance \"{}\" is registered in namespace \"{}\"", worker.instance,
                          worker.name_space),
              "worker_instance_id");
}

Result<int> print_worker(const Arguments& arguments, const WorkerName& worker, const std::string& outcome,
                         const std::string& sentence) {
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(WorkerOutcome{worker.name_space, worker.instance, outcome}));
  } else {
    fmt::print("worker instance {} {}\n", worker.instance, sentence);
  }
  return 0;
}

Result<int> run_mark_dead(const Arguments& arguments) {
  const WorkerName worker = read_worker(arguments);
  FF_TRY(agreed, confirm(fmt::format("mark {} dead and release all its leases?", worker.instance), arguments));
  if (!agreed) return exit_declined;
  FF_TRY(target, find_target(arguments));
  FF_TRY(marked, target->mark_worker_dead(worker.name_space, worker.instance, acting_operator(arguments)));
  if (marked.outcome == MarkWorkerDeadOutcome::not_registered) return no_such_worker(worker);
  return print_worker(arguments, worker, "marked",
                      marked.released ? "is marked dead; its leases are released"
                                      : "is marked dead; an engine on this store will release its leases");
}

Result<int> run_drain_worker(const Arguments& arguments) {
  const WorkerName worker = read_worker(arguments);
  FF_TRY(target, find_target(arguments));
  FF_TRY(outcome, target->drain_worker(worker.name_space, worker.instance, acting_operator(arguments)));
  if (outcome == DrainWorkerOutcome::not_registered) return no_such_worker(worker);
  return print_worker(arguments, worker, "draining", "will be told to drain with its next heartbeat");
}

}  // namespace

std::vector<Command> worker_commands() {
  const OperandSpec instance{"INSTANCE", 1, 1};
  const OptionSpec name_space{"--namespace", "NAME", "namespace of the worker (default)"};
  return {
      {{"workers list",
        {},
        "list registered workers",
        "Lists the registered worker instances that match all given options.",
        options_of_reading({{"--namespace", "NAME", "only workers of this namespace"},
                            {"--lane", "NAME", "only workers that serve this lane"},
                            {"--capability", "WORD", "only workers that offer this capability"},
                            {"--all", "", "also workers that lapsed or died within the last day"},
                            {"--limit", "N", fmt::format("page size ({})", workers_shown)},
                            {"--cursor", "CURSOR", "continue after an earlier page"}})},
       run_workers_list},
      {{"workers mark-dead", instance, "mark a worker dead and release its leases",
        "Marks a worker instance dead. Its leases are released, so that other workers get its executions.",
        options_of_acting({name_space, yes_option()})},
       run_mark_dead},
      {{"workers drain", instance, "tell a worker to finish its work and claim no more",
        "With its next heartbeat the worker is told to finish its executions and to claim no more.",
        options_of_acting({name_space})},
       run_drain_worker},
  };
}

}  // namespace flowfabric::cli
