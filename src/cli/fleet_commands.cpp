// lanes, workers, leases, keys, retention.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/confirm.hpp"
#include "cli/filter.hpp"
#include "cli/json_out.hpp"
#include "cli/store_access.hpp"
#include "cli/table.hpp"
#include "cli/times.hpp"
#include "core/state.hpp"
#include "engine/reads.hpp"

namespace flowfabric::cli {
namespace {

// ---- lanes ----------------------------------------------------------------------------------------------------------

// Every lane that has a route, a state or an execution.
Result<std::vector<LaneView>> all_lanes(Store& store, const std::optional<std::string>& name_space) {
  FF_TRY(session, store.open_session());
  ReadRequest request;
  request.want_routes = true;
  FF_TRY(reply, session->read(request));
  session->release();
  RouteTable routes;
  routes.add(reply.routes);
  FF_TRY(lanes, reads::lanes(store, routes));
  FF_TRY(counts, reads::counts(store, name_space));
  std::map<std::string, LaneView> views;
  for (LaneInfo& lane : lanes) views[lane.lane].info = std::move(lane);
  for (LaneCounts& count : counts) {
    LaneView& view = views[count.lane];
    view.info.lane = count.lane;
    view.counts = std::move(count.counts);
  }
  std::vector<LaneView> out;
  for (auto& [name, view] : views) out.push_back(std::move(view));
  return out;
}

Cell lane_state_cell(LaneState state) {
  return {std::string(to_string(state)), state == LaneState::active ? Tone::plain : Tone::bad};
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c == '_' ? ' ' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

// One column for each state that occurs.
Table lanes_table(const std::vector<LaneView>& lanes) {
  std::set<PublicState> states;
  for (const LaneView& lane : lanes) {
    for (const auto& [state, count] : lane.counts) states.insert(state);
  }
  std::vector<Column> columns = {{"LANE"}, {"STATE"}};
  for (const PublicState state : states) columns.push_back({upper(to_string(state)), true});
  for (Column column : {Column{"CHANGED"}, Column{"BY", false, true}, Column{"REASON", false, true}}) {
    columns.push_back(std::move(column));
  }
  Table table(std::move(columns));
  for (const LaneView& lane : lanes) {
    std::vector<Cell> row = {{lane.info.lane}, lane_state_cell(lane.info.state)};
    for (const PublicState state : states) {
      const auto found = lane.counts.find(state);
      row.push_back(number_cell(found == lane.counts.end() ? 0 : found->second));
    }
    row.push_back(time_cell(lane.info.changed_at));
    row.push_back({lane.info.changed_by.empty() ? "-" : lane.info.changed_by});
    row.push_back({lane.info.reason.empty() ? "-" : lane.info.reason});
    table.add(std::move(row));
  }
  return table;
}

Result<int> run_lanes_list(const Arguments& arguments) {
  FF_TRY(store, open_for_reading(arguments));
  FF_TRY(lanes, all_lanes(*store, arguments.maybe("--namespace")));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(lanes));
  } else if (lanes.empty()) {
    fmt::print("this store has no lanes yet; the first execution on a lane makes it\n");
  } else {
    fmt::print("{}", lanes_table(lanes).render(stdout_look()));
  }
  return 0;
}

std::function<Result<int>(const Arguments&)> run_lane_change(LaneState state) {
  return [state](const Arguments& arguments) -> Result<int> {
    FF_TRY(engine, open_for_acting(arguments));
    FF_TRY(lane, engine->set_lane_state(arguments.operands.front(), state, acting_operator(arguments)));
    if (arguments.has("--json")) {
      fmt::print("{}\n", to_json(lane));
    } else {
      fmt::print("lane {} is {}\n", lane.lane, to_string(lane.state));
    }
    return 0;
  };
}

std::vector<Command> lane_commands() {
  const OperandSpec lane{"LANE", 1, 1};
  return {
      {{"lanes list",
        {},
        "list lanes with their state and what is on them",
        "Lists every lane with its state and how many executions it has in each public state.",
        options_of_reading({{"--namespace", "NAME", "count only executions of this namespace"}})},
       run_lanes_list},
      {{"lanes pause", lane, "hand nothing out from a lane",
        "Pauses a lane: it accepts new executions but hands none out. Running ones go on.", options_of_acting({})},
       run_lane_change(LaneState::paused)},
      {{"lanes resume", lane, "open a lane again", "Makes a paused or draining lane active again.",
        options_of_acting({})},
       run_lane_change(LaneState::active)},
      {{"lanes drain", lane, "let a lane run empty",
        "Drains a lane: it hands out what it has but refuses new executions.", options_of_acting({})},
       run_lane_change(LaneState::draining)},
  };
}

// ---- workers --------------------------------------------------------------------------------------------------------

constexpr std::uint32_t default_workers = 100;
constexpr std::chrono::milliseconds release_patience{10000};
constexpr std::chrono::milliseconds release_pause{20};

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

void print_more(const std::string& next_cursor) {
  if (!next_cursor.empty()) fmt::print("\nthere may be more: --cursor {} goes on here\n", next_cursor);
}

Result<int> run_workers_list(const Arguments& arguments) {
  ListWorkersRequest request;
  request.name_space = arguments.maybe("--namespace");
  request.lane = arguments.maybe("--lane");
  request.capability = arguments.maybe("--capability");
  request.include_expired = arguments.has("--all");
  request.cursor = arguments.text("--cursor", "");
  FF_TRY(limit, arguments.number("--limit", default_workers, 1, limits::max_page));
  request.limit = static_cast<std::uint32_t>(limit);
  FF_TRY(store, open_for_reading(arguments));
  FF_TRY(reply, reads::workers(*store, request));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(reply));
  } else if (reply.workers.empty()) {
    fmt::print("no worker is registered{}\n", request.include_expired ? "" : "; --all also shows those that have gone");
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

tl::unexpected<Error> no_such_worker(const WorkerName& worker) {
  return fail(Errc::not_found,
              fmt::format("no live worker instance \"{}\" is registered in namespace \"{}\"", worker.instance,
                          worker.name_space),
              "worker_instance_id");
}

Result<int> print_worker(const Arguments& arguments, const WorkerName& worker, const std::string& outcome,
                         const std::string& sentence) {
  if (arguments.has("--json")) {
    fmt::print("{}\n", worker_to_json(worker.name_space, worker.instance, outcome));
  } else {
    fmt::print("worker instance {} {}\n", worker.instance, sentence);
  }
  return 0;
}

// It is an engine's clock that takes the leases of the dead back. Perhaps no other engine runs on this store, so ours stays
// until they are gone. False when that took too long.
Result<bool> wait_for_release(const Arguments& arguments, const WorkerName& worker) {
  FF_TRY(store, open_for_reading(arguments));
  const std::uint64_t leases = holder_group(worker.name_space, worker.instance);
  const auto until = std::chrono::steady_clock::now() + release_patience;
  while (std::chrono::steady_clock::now() < until) {
    FF_TRY(held, store->group_entries(leases, std::nullopt, 1));
    if (held.empty()) return true;
    std::this_thread::sleep_for(release_pause);
  }
  return false;
}

Result<int> run_mark_dead(const Arguments& arguments) {
  const WorkerName worker = read_worker(arguments);
  FF_TRY(agreed,
         confirm(fmt::format("mark {} dead and take back every lease that it holds?", worker.instance), arguments));
  if (!agreed) return exit_declined;
  FF_TRY(engine, open_for_acting(arguments));
  FF_TRY(outcome, engine->mark_worker_dead(worker.name_space, worker.instance, acting_operator(arguments)));
  if (outcome == MarkWorkerDeadOutcome::not_registered) return no_such_worker(worker);
  FF_TRY(released, wait_for_release(arguments, worker));
  return print_worker(arguments, worker, "marked",
                      released ? "is marked dead; it holds no leases any more"
                               : "is marked dead; the next engine goes on taking its leases back");
}

Result<int> run_drain_worker(const Arguments& arguments) {
  const WorkerName worker = read_worker(arguments);
  FF_TRY(engine, open_for_acting(arguments));
  FF_TRY(outcome, engine->drain_worker(worker.name_space, worker.instance, acting_operator(arguments)));
  if (outcome == DrainWorkerOutcome::not_registered) return no_such_worker(worker);
  return print_worker(arguments, worker, "draining", "is told to drain at its next heartbeat");
}

std::vector<Command> worker_commands() {
  const OperandSpec instance{"INSTANCE", 1, 1};
  const OptionSpec name_space{"--namespace", "NAME", "where it is registered (default)"};
  return {
      {{"workers list",
        {},
        "list registered workers",
        "Lists the registered worker instances that all given options describe.",
        options_of_reading({{"--namespace", "NAME", "only workers of this namespace"},
                            {"--lane", "NAME", "only workers that serve this lane"},
                            {"--capability", "WORD", "only workers that offer this"},
                            {"--all", "", "also those that lapsed or died within the last day"},
                            {"--limit", "N", fmt::format("how many to show ({})", default_workers)},
                            {"--cursor", "CURSOR", "go on where an earlier page ended"}})},
       run_workers_list},
      {{"workers mark-dead", instance, "declare a worker dead and take its leases back",
        "Declares a worker instance dead. Its leases are taken back, so that other workers get its executions.",
        options_of_acting({name_space, yes_option()})},
       run_mark_dead},
      {{"workers drain", instance, "ask a worker to finish and claim nothing more",
        "From its next heartbeat on the worker is told to finish what it holds and to claim nothing more.",
        options_of_acting({name_space})},
       run_drain_worker},
  };
}

// ---- leases ---------------------------------------------------------------------------------------------------------

constexpr std::uint32_t default_leases = 100;

Table leases_table(const std::vector<ExpiredLease>& leases) {
  Table table({{"EXECUTION"},
               {"NAMESPACE", false, true},
               {"EXPIRED"},
               {"CAUSE"},
               {"WORKER", false, true},
               {"ATTEMPT", true},
               {"EPOCH", true}});
  for (const ExpiredLease& lease : leases) {
    table.add({{to_string(lease.execution_id)},
               {lease.name_space},
               time_cell(lease.expires_at),
               {lease.cause == LeaseLoss::none ? "not noticed yet" : std::string(to_string(lease.cause))},
               {lease.worker_instance_id},
               {fmt::format("{}", lease.attempt_index)},
               {fmt::format("{}", lease.lease_epoch)}});
  }
  return table;
}

Result<int> run_leases_expired(const Arguments& arguments) {
  ListExpiredLeasesRequest request;
  if (const auto as_of = arguments.maybe("--as-of")) {
    FF_TRY(at, parse_time(*as_of, "--as-of"));
    request.as_of = at;
  }
  request.name_space = arguments.maybe("--namespace");
  request.cursor = arguments.text("--cursor", "");
  FF_TRY(limit, arguments.number("--limit", default_leases, 1, limits::max_expired_leases_page));
  request.limit = static_cast<std::uint32_t>(limit);
  FF_TRY(store, open_for_reading(arguments));
  FF_TRY(reply, reads::expired_leases(*store, request));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(reply));
  } else if (reply.leases.empty()) {
    fmt::print("no lease has run out without being followed\n");
  } else {
    fmt::print("{}", leases_table(reply.leases).render(stdout_look()));
    print_more(reply.next_cursor);
  }
  return 0;
}

// ---- keys -----------------------------------------------------------------------------------------------------------

Table keys_table(const std::vector<SigningKeyInfo>& keys) {
  Table table({{"KEY", true}, {"CREATED"}, {"ACCEPTED UNTIL"}});
  for (const SigningKeyInfo& key : keys) {
    table.add({{fmt::format("{}", key.key_id)},
               time_cell(key.created_at),
               key.expires_at == 0 ? Cell{"it signs", Tone::good} : time_cell(key.expires_at)});
  }
  return table;
}

Result<int> run_keys_list(const Arguments& arguments) {
  FF_TRY(store, open_for_reading(arguments));
  FF_TRY(keys, reads::keys(*store));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(keys));
  } else if (keys.empty()) {
    fmt::print("this store has no keys yet; the first engine on it makes one\n");
  } else {
    fmt::print("{}", keys_table(keys).render(stdout_look()));
  }
  return 0;
}

Result<int> run_keys_rotate(const Arguments& arguments) {
  FF_TRY(grace_ms, parse_duration(arguments.text("--grace", "1h"), "--grace"));
  FF_TRY(agreed, confirm(fmt::format("sign with a new key and refuse handles of older ones after {}?",
                                     format_duration(grace_ms)),
                         arguments));
  if (!agreed) return exit_declined;
  FF_TRY(engine, open_for_acting(arguments));
  FF_TRY(rotation, engine->rotate_keys(grace_ms, acting_operator(arguments)));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(rotation));
  } else {
    fmt::print("key {} signs from now on\n{}", rotation.key_id, keys_table(rotation.keys).render(stdout_look()));
  }
  return 0;
}

// ---- retention ------------------------------------------------------------------------------------------------------

std::string retention_question(const RetentionRun& run) {
  std::string text = "remove ended executions";
  if (run.name_space) text += " of namespace " + *run.name_space;
  if (run.lane) text += " on lane " + *run.lane;
  return text + (run.older_than_ms ? " that ended " + format_duration(*run.older_than_ms) + " ago or earlier?"
                                   : " whose retention is over?");
}

Result<int> run_retention(const Arguments& arguments) {
  RetentionRun run;
  run.name_space = arguments.maybe("--namespace");
  run.lane = arguments.maybe("--lane");
  if (const auto text = arguments.maybe("--older-than")) {
    FF_TRY(older_than_ms, parse_duration(*text, "--older-than"));
    run.older_than_ms = older_than_ms;
  }
  FF_TRY(agreed, confirm(retention_question(run), arguments));
  if (!agreed) return exit_declined;
  FF_TRY(engine, open_for_acting(arguments));
  FF_TRY(removed, engine->run_retention(run));
  if (arguments.has("--json")) {
    fmt::print("{}\n", retention_to_json(removed));
  } else {
    fmt::print("{} removed\n", counted(removed, "execution"));
  }
  return 0;
}

std::vector<Command> care_commands() {
  return {
      {{"leases expired",
        {},
        "list leases that ran out and that nobody has followed",
        "Lists leases that ran out or were revoked and that nobody has followed yet, oldest first.",
        options_of_reading({{"--as-of", "TIME", "those that had run out by then (now); like 2026-01-02T03:04:05Z"},
                            {"--namespace", "NAME", "only executions of this namespace"},
                            {"--limit", "N", fmt::format("how many to show ({})", default_leases)},
                            {"--cursor", "CURSOR", "go on where an earlier page ended"}})},
       run_leases_expired},
      {{"keys list",
        {},
        "list the signing keys",
        "Lists the keys whose signatures are accepted, oldest first, without their secrets.",
        options_of_reading({})},
       run_keys_list},
      {{"keys rotate",
        {},
        "sign with a new key",
        "Makes a new key that signs from now on. Handles and grants that older keys signed are accepted for the grace\n"
        "period; workers that hold a lease for longer must have renewed it by then.",
        options_of_acting({{"--grace", "DURATION", "how long older keys are accepted (1h)"}, yes_option()})},
       run_keys_rotate},
      {{"retention run",
        {},
        "remove executions that ended long ago",
        "Removes ended executions with everything that belongs to them: those whose retention is over, or with\n"
        "--older-than all that ended that long ago, whatever their policy says. This cannot be undone.",
        options_of_reading({{"--older-than", "DURATION", "like 12h or 7d"},
                            {"--namespace", "NAME", "only executions of this namespace"},
                            {"--lane", "NAME", "only executions of this lane"},
                            yes_option()})},
       run_retention},
  };
}

}  // namespace

std::vector<Command> fleet_commands() {
  std::vector<Command> all = lane_commands();
  for (auto part : {worker_commands(), care_commands()}) std::move(part.begin(), part.end(), std::back_inserter(all));
  return all;
}

}  // namespace flowfabric::cli
