// schedules create, update, list, show, next, pause, resume, trigger, backfill, delete.
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/confirm.hpp"
#include "cli/filter.hpp"
#include "cli/secrets.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"
#include "wire/schedule_shapes.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t schedules_shown = 100;
constexpr const char* or_all_schedules = ", or show everything with --all";

sdk::ScheduleName schedule_operand(const Arguments& arguments) {
  return {arguments.text("--namespace", "default"), arguments.operands.front()};
}

Unexpected<Error> wrong_option(const std::string& option, const std::string& message) {
  return fail(Errc::invalid_argument, option + ": " + message, option);
}

template <class Reply>
bool printed_as_json(const Arguments& arguments, const Reply& reply) {
  if (arguments.has("--json")) fmt::print("{}\n", wire::to_json(reply));
  return arguments.has("--json");
}

std::string timing_text(const std::string& cron, std::int64_t every_ms) {
  return cron.empty() ? "every " + format_duration(every_ms) : cron;
}

// ---- Creating

Result<void> read_schedule_duration(const Arguments& arguments, const std::string& option, std::int64_t& out) {
  const auto given = arguments.maybe(option);
  if (!given) return {};
  FF_TRY(duration, parse_duration(*given, option));
  out = duration;
  return {};
}

Result<void> read_schedule_time(const Arguments& arguments, const std::string& option, TimestampMs& out) {
  const auto given = arguments.maybe(option);
  if (!given) return {};
  FF_TRY(at, parse_time(*given, option));
  out = at;
  return {};
}

Result<void> read_timing(const Arguments& arguments, ScheduleSpec& spec) {
  spec.cron = arguments.text("--cron", "");
  FF_TRY_VOID(read_schedule_duration(arguments, "--every", spec.every_ms));
  FF_TRY_VOID(read_schedule_time(arguments, "--anchor-at", spec.anchor_at));
  spec.time_zone = arguments.text("--time-zone", spec.time_zone);
  spec.exceptions = arguments.all("--exception");
  FF_TRY_VOID(read_schedule_time(arguments, "--start-at", spec.start_at));
  FF_TRY_VOID(read_schedule_time(arguments, "--end-at", spec.end_at));
  return read_schedule_duration(arguments, "--jitter", spec.jitter_ms);
}

Result<void> read_schedule_policies(const Arguments& arguments, ScheduleSpec& spec) {
  if (const auto word = arguments.maybe("--overlap")) {
    const auto overlap = parse_overlap_policy(*word);
    if (!overlap) return wrong_option("--overlap", overlap.error().message);
    spec.overlap = *overlap;
  }
  if (const auto word = arguments.maybe("--catch-up")) {
    const auto catch_up = parse_catch_up_policy(*word);
    if (!catch_up) return wrong_option("--catch-up", catch_up.error().message);
    spec.catch_up = *catch_up;
  }
  FF_TRY(limit, arguments.number("--catch-up-limit", spec.catch_up_limit, 1, limits::max_catch_up));
  spec.catch_up_limit = static_cast<std::uint32_t>(limit);
  return read_schedule_duration(arguments, "--start-window", spec.start_window_ms);
}

Result<void> read_template(const Arguments& arguments, CreateRequest& request) {
  const auto kind = arguments.maybe("--kind");
  if (!kind) return wrong_option("--kind", "is missing, and so is --flow; give one of them");
  request.kind = *kind;
  request.lane = arguments.text("--lane", request.lane);
  request.payload = arguments.text("--payload", "");
  request.payload_encoding =
      arguments.text("--payload-encoding", wire::is_one_json_text(request.payload) ? "json" : "");
  FF_TRY(priority, arguments.signed_number("--priority", 0, limits::min_priority, limits::max_priority));
  request.priority = static_cast<std::int32_t>(priority);
  for (const std::string& word : arguments.all("--tag")) {
    FF_TRY(tag, parse_tag(word, "--tag"));
    request.tags[tag.first] = tag.second;
  }
  FF_TRY(capabilities, read_list(arguments, "--require"));
  request.required_capabilities = std::move(capabilities);
  if (const auto given = arguments.maybe("--deadline")) {
    FF_TRY(deadline_ms, parse_duration(*given, "--deadline"));
    request.deadline_ms = deadline_ms;
  }
  if (const auto policy = arguments.maybe("--policy")) {
    auto parsed = parse_policy_json(*policy);
    if (!parsed) return wrong_option("--policy", parsed.error().message);
    request.policy = std::move(*parsed);
  }
  request.creator = arguments.text("--creator", "");
  return {};
}

// The flow that each firing creates, from a file as `flows submit` reads it.
Result<void> read_flow_template(const Arguments& arguments, ScheduleSpec& spec) {
  for (const char* option : {"--kind", "--lane", "--payload", "--payload-encoding", "--priority", "--tag", "--require",
                             "--deadline", "--policy"}) {
    if (arguments.has(option)) return wrong_option("--flow", std::string("is given beside ") + option);
  }
  const std::string file = arguments.text("--flow", "");
  const auto content = read_text_file(file);
  if (!content) return wrong_option("--flow", content.error().message);
  auto flow = wire::from_json<FlowRequest>(*content);
  if (!flow) return fail(flow.error().code, file + ": " + flow.error().message, flow.error().field);
  spec.flow = std::move(*flow);
  if (const auto creator = arguments.maybe("--creator")) spec.flow->creator = *creator;
  return {};
}

// From a file with the request of the HTTP API, or from the options.
template <class Spec>
Result<Spec> read_spec(const Arguments& arguments) {
  Spec spec;
  if (const auto file = arguments.maybe("--file")) {
    for (const char* option : {"--cron", "--every", "--kind", "--flow"}) {
      if (arguments.has(option)) return wrong_option("--file", std::string("is given beside ") + option);
    }
    const auto content = read_text_file(*file);
    if (!content) return wrong_option("--file", content.error().message);
    auto read = wire::from_json<ScheduleSpec>(*content);
    if (!read) return fail(read.error().code, *file + ": " + read.error().message, read.error().field);
    static_cast<ScheduleSpec&>(spec) = std::move(*read);
    return spec;
  }
  FF_TRY_VOID(read_timing(arguments, spec));
  FF_TRY_VOID(read_schedule_policies(arguments, spec));
  FF_TRY_VOID(arguments.has("--flow") ? read_flow_template(arguments, spec) : read_template(arguments, spec.execution));
  return spec;
}

int print_saved(const Arguments& arguments, const ScheduleSaved& saved, const char* what) {
  if (printed_as_json(arguments, saved)) return 0;
  std::string text = fmt::format("schedule {} {}", saved.name, saved.duplicate ? "was like this already" : what);
  if (saved.next_at != 0) text += ", next at " + format_time(saved.next_at);
  fmt::print("{}\n", text);
  return 0;
}

Result<int> run_schedules_create(const Arguments& arguments) {
  FF_TRY(request, read_spec<ScheduleRequest>(arguments));
  const sdk::ScheduleName name = schedule_operand(arguments);
  request.name_space = name.name_space;
  request.name = name.name;
  request.paused = arguments.has("--paused");
  FF_TRY(target, find_target(arguments));
  FF_TRY(saved, target->schedules().create(std::move(request)));
  return print_saved(arguments, saved, "was created");
}

Result<int> run_schedules_update(const Arguments& arguments) {
  FF_TRY(spec, read_spec<ScheduleSpec>(arguments));
  FF_TRY(revision, arguments.number("--revision", 0, 1, UINT64_MAX));
  std::optional<std::uint64_t> expected;
  if (arguments.has("--revision")) expected = revision;
  FF_TRY(target, find_target(arguments));
  FF_TRY(saved, target->schedules().update(schedule_operand(arguments), std::move(spec), expected,
                                           acting_operator(arguments)));
  return print_saved(arguments, saved, "was updated");
}

// ---- Looking

Cell schedule_state_cell(const ScheduleSummary& schedule) {
  if (schedule.damage) return {"damaged", Tone::bad};
  const Tone tone = schedule.state == ScheduleState::active ? Tone::good : Tone::quiet;
  return {std::string(to_string(schedule.state)), tone};
}

Result<int> run_schedules_list(const Arguments& arguments) {
  ListSchedulesRequest request;
  request.name_space = arguments.maybe("--namespace");
  if (const auto word = arguments.maybe("--state")) {
    const auto state = parse_schedule_state(*word);
    if (!state) return wrong_option("--state", state.error().message);
    request.states.push_back(*state);
  }
  FF_TRY(page, read_page_options(arguments, schedules_shown, limits::max_page));
  request.cursor = page.cursor;
  request.limit = page.limit;
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->schedules().list(request));
  while (page.all && !reply.next_cursor.empty()) {
    request.cursor = reply.next_cursor;
    FF_TRY(more, target->schedules().list(request));
    std::move(more.schedules.begin(), more.schedules.end(), std::back_inserter(reply.schedules));
    reply.next_cursor = std::move(more.next_cursor);
  }
  if (printed_as_json(arguments, reply)) return 0;
  if (reply.schedules.empty()) {
    fmt::print("no schedules\n");
    return 0;
  }
  Table table({{"NAMESPACE", false, true},
               {"NAME", false, true},
               {"STATE"},
               {"TIMES", false, true},
               {"TIME ZONE"},
               {"KIND", false, true},
               {"NEXT"},
               {"LAST FIRED"},
               {"FIRED", true},
               {"RUNNING", true}});
  for (const ScheduleSummary& one : reply.schedules) {
    table.add({{one.name_space},
               {one.name},
               schedule_state_cell(one),
               {timing_text(one.cron, one.every_ms)},
               {one.time_zone},
               {one.kind},
               time_cell(one.next_at),
               time_cell(one.last_fired_at),
               number_cell(one.fired),
               number_cell(one.running)});
  }
  fmt::print("{}", table.render(stdout_look()));
  print_more(reply.next_cursor, or_all_schedules);
  return 0;
}

std::string created_by(const ScheduleFiring& firing) {
  if (firing.flow_id) return "flow " + to_string(*firing.flow_id);
  if (firing.execution_id) return to_string(*firing.execution_id);
  return firing.count > 1 ? counted(firing.count, "firing") : "-";
}

Table firings_table(const std::vector<ScheduleFiring>& history) {
  Table table({{"SCHEDULED"}, {"DECIDED"}, {"CAUSE"}, {"OUTCOME"}, {"CREATED"}, {"ENDED"}, {"DETAIL", false, true}});
  for (const ScheduleFiring& firing : history) {
    const bool bad = firing.outcome == FiringOutcome::missed || firing.outcome == FiringOutcome::refused;
    table.add({time_cell(firing.scheduled_at),
               time_cell(firing.at),
               {std::string(to_string(firing.cause))},
               {std::string(to_string(firing.outcome)), bad ? Tone::bad : Tone::plain},
               {created_by(firing)},
               {firing.ended == Outcome::none ? "-" : std::string(to_string(firing.ended))},
               {firing.detail.empty() ? "-" : firing.detail}});
  }
  return table;
}

void print_schedule(const ScheduleDescription& schedule) {
  const ScheduleSpec& spec = schedule.spec;
  Table facts({{""}, {"", false, true}});
  const auto add = [&](const char* name, const std::string& text) { facts.add({{name, Tone::quiet}, {text}}); };
  add("schedule", schedule.summary.name_space + "/" + schedule.summary.name);
  add("state", std::string(to_string(schedule.summary.state)));
  add("times", timing_text(spec.cron, spec.every_ms) + ", " + spec.time_zone);
  for (const std::string& exception : spec.exceptions) add("not on", exception);
  if (spec.start_at != 0) add("from", format_time(spec.start_at));
  if (spec.end_at != 0) add("until", format_time(spec.end_at));
  if (spec.jitter_ms != 0) add("jitter", format_duration(spec.jitter_ms));
  add("overlap", std::string(to_string(spec.overlap)));
  add("catch-up", std::string(to_string(spec.catch_up)) + ", window " + format_duration(spec.start_window_ms));
  add("creates", spec.flow ? fmt::format("flow {} with {}", spec.flow->kind, counted(spec.flow->nodes.size(), "node"))
                           : spec.execution.kind + " on lane " + spec.execution.lane);
  add("revision", std::to_string(schedule.revision));
  const ScheduleCounts& counts = schedule.counts;
  add("firings", fmt::format("{} fired, {} skipped, {} missed, {} refused", counts.fired, counts.skipped, counts.missed,
                             counts.refused));
  add(spec.flow ? "flows" : "executions", fmt::format("{} succeeded, {} did not, {} running", counts.succeeded,
                                                      counts.unsuccessful, schedule.running.size()));
  for (const TimestampMs at : schedule.next) add("next", format_time(at));
  for (const Reason& reason : schedule.explain) add("waits", reason.sentence);
  fmt::print("{}", facts.render(stdout_look()));
  if (!schedule.history.empty()) fmt::print("\n{}", firings_table(schedule.history).render(stdout_look()));
}

Result<int> run_schedules_show(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(schedule, target->schedules().describe(schedule_operand(arguments)));
  if (!printed_as_json(arguments, schedule)) print_schedule(schedule);
  return 0;
}

Result<int> run_schedules_next(const Arguments& arguments) {
  NextRunsRequest request;
  FF_TRY_VOID(read_schedule_time(arguments, "--from", request.from));
  FF_TRY(count, arguments.number("--count", request.count, 1, limits::max_next_runs));
  request.count = static_cast<std::uint32_t>(count);
  FF_TRY(target, find_target(arguments));
  FF_TRY(runs, target->schedules().next(schedule_operand(arguments), request));
  if (printed_as_json(arguments, runs)) return 0;
  for (const TimestampMs at : runs.next) fmt::print("{}\n", format_time(at));
  if (runs.next.empty()) fmt::print("no further times\n");
  return 0;
}

// ---- Acting

Result<int> change_schedule(const Arguments& arguments, ScheduleState state, const char* what) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(saved, target->schedules().change(schedule_operand(arguments), state, acting_operator(arguments)));
  return print_saved(arguments, saved, what);
}

Result<int> run_schedules_delete(const Arguments& arguments) {
  FF_TRY(agreed, confirm(fmt::format("delete schedule {}?", arguments.operands.front()), arguments));
  if (!agreed) return exit_declined;
  return change_schedule(arguments, ScheduleState::deleted, "was deleted");
}

Result<int> run_schedules_trigger(const Arguments& arguments) {
  const TriggerRequest request = {arguments.has("--ignore-overlap"), arguments.text("--idempotency-key", "")};
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->schedules().trigger(schedule_operand(arguments), request, acting_operator(arguments)));
  if (printed_as_json(arguments, reply)) return 0;
  const std::optional<ExecutionId>& created = reply.flow_id ? reply.flow_id : reply.execution_id;
  if (reply.outcome == FiringOutcome::fired && created) {
    fmt::print("{}\n", to_string(*created));
  } else {
    fmt::print("{}: what an earlier firing created has not ended\n", to_string(reply.outcome));
  }
  return 0;
}

Result<int> run_schedules_backfill(const Arguments& arguments) {
  BackfillRequest request;
  FF_TRY_VOID(read_schedule_time(arguments, "--from", request.from));
  FF_TRY_VOID(read_schedule_time(arguments, "--to", request.to));
  for (const char* option : {"--from", "--to"}) {
    if (!arguments.has(option)) return wrong_option(option, "is missing");
  }
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->schedules().backfill(schedule_operand(arguments), request, acting_operator(arguments)));
  if (printed_as_json(arguments, reply)) return 0;
  const bool flows = !reply.executions.empty() && reply.executions.front().flow_id;
  fmt::print("created {}, {} had theirs already\n", counted(reply.created, flows ? "flow" : "execution"),
             counted(reply.existing, "scheduled time"));
  return 0;
}

const OperandSpec one_schedule_name = {"NAME", 1, 1};
OptionSpec schedule_namespace_option() { return {"--namespace", "NAME", "namespace of the schedule (default)"}; }

std::vector<OptionSpec> spec_options(std::vector<OptionSpec> more) {
  std::vector<OptionSpec> all = {
      schedule_namespace_option(),
      {"--cron", "EXPRESSION", "when it fires, like \"0 2 * * *\"; with seconds in front: \"*/10 * * * * *\""},
      {"--every", "DURATION", "an interval instead, like 15m"},
      {"--anchor-at", "TIME", "from when on intervals are counted (1970)"},
      {"--time-zone", "NAME", "of the expression, like Europe/Berlin (UTC)"},
      {"--exception", "DAYS", "no firings: 2026-12-24, 2026-12-24/2027-01-01, or 12-25 of every year", true},
      {"--start-at", "TIME", "no firings before"},
      {"--end-at", "TIME", "no firings from then on"},
      {"--jitter", "DURATION", "each firing is late by a part of this (0s)"},
      {"--overlap", "POLICY", "skip (default), buffer_one, allow or cancel_running"},
      {"--catch-up", "POLICY", "of missed firings: none, last (default) or all"},
      {"--catch-up-limit", "N", "with all: only the last N (100)"},
      {"--start-window", "DURATION", "a firing that is later than this was missed (1m)"},
      {"--kind", "NAME", "of the executions; required, unless there is --flow"},
      {"--flow", "FILE", "create flows instead, from a file with JSON as `flows submit` reads it"},
      {"--lane", "NAME", "of the executions (default)"},
      {"--payload", "TEXT", "of the executions"},
      {"--payload-encoding", "LABEL", "label of the payload"},
      {"--priority", "N", "of the executions, -32768 to 32767 (0)"},
      {"--tag", "KEY=VALUE", "give the executions this tag", true},
      {"--require", "WORDS", "capabilities that a worker must offer, like gpu,eu", true},
      {"--deadline", "DURATION", "an execution must end within this time"},
      {"--policy", "JSON", "retries, timeouts, retention, like {\"retry\":{\"max_retries\":3}}"},
      {"--creator", "NAME", "who asked for it"},
      {"--file", "FILE", "read all of this from a file with JSON: the `spec` of `schedules show --json`"}};
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

std::vector<Command> schedule_reading_commands() {
  return {
      {{"schedules list",
        {},
        "list schedules",
        "Lists schedules by namespace and name.",
        options_of_reading({{"--namespace", "NAME", "only schedules of this namespace"},
                            {"--state", "STATE", "only active or only paused ones"},
                            {"--limit", "N", "at most N, up to 1000 (100)"},
                            {"--cursor", "CURSOR", "continue after an earlier page"},
                            {"--all", "", "every page"}})},
       run_schedules_list},
      {{"schedules show", one_schedule_name, "show a schedule, its last firings and the next times",
        "Shows when it fires, what it creates, what it waits for, and what became of its last firings.",
        options_of_reading({schedule_namespace_option()})},
       run_schedules_show},
      {{"schedules next", one_schedule_name, "compute the next times of a schedule",
        "Prints the next times without jitter, also of a paused schedule.",
        options_of_reading({schedule_namespace_option(),
                            {"--from", "TIME", "only times after this (now)"},
                            {"--count", "N", "how many, up to 1000 (10)"}})},
       run_schedules_next},
  };
}

std::vector<Command> schedule_state_commands() {
  return {
      {{"schedules pause", one_schedule_name, "pause a schedule",
        "No time comes until it is resumed. Times that pass meanwhile can be backfilled.",
        options_of_acting({schedule_namespace_option()})},
       [](const Arguments& arguments) { return change_schedule(arguments, ScheduleState::paused, "is paused"); }},
      {{"schedules resume", one_schedule_name, "resume a paused schedule", "It goes on with the next time.",
        options_of_acting({schedule_namespace_option()})},
       [](const Arguments& arguments) { return change_schedule(arguments, ScheduleState::active, "is active"); }},
      {{"schedules delete", one_schedule_name, "delete a schedule", "What it has created goes on.",
        options_of_acting({schedule_namespace_option(), yes_option()})},
       run_schedules_delete},
  };
}

}  // namespace

std::vector<Command> schedule_commands() {
  std::vector<Command> all = {
      {{"schedules create", one_schedule_name, "create a schedule",
        "Creates a schedule, which creates an execution or a flow at each of its times while an engine runs on the "
        "store.",
        options_of_reading(spec_options({{"--paused", "", "it fires nothing until it is resumed"}}))},
       run_schedules_create},
      {{"schedules update", one_schedule_name, "replace the spec of a schedule",
        "Replaces when it fires and what it creates, from now on. Options that are not given have their defaults.",
        options_of_acting(spec_options({{"--revision", "N", "only if it has this revision"}}))},
       run_schedules_update},
      {{"schedules trigger", one_schedule_name, "fire a schedule now",
        "Creates an execution or a flow now, also if the schedule is paused, and prints its id.",
        options_of_acting({schedule_namespace_option(),
                           {"--ignore-overlap", "", "start beside what runs, whatever the policy"},
                           {"--idempotency-key", "KEY", "repeating the command with this key starts nothing new"}})},
       run_schedules_trigger},
      {{"schedules backfill", one_schedule_name, "create the executions or flows of a past range of times",
        "Creates what scheduled times do not have yet. They all start at once; at most 1,000 in one call, and 10,000 "
        "nodes.",
        options_of_acting({schedule_namespace_option(),
                           {"--from", "TIME", "the first scheduled time; required"},
                           {"--to", "TIME", "where the range ends, exclusive; required"}})},
       run_schedules_backfill},
  };
  for (auto part : {schedule_reading_commands(), schedule_state_commands()}) {
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace flowfabric::cli
