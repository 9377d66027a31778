// dead-letters list, show, redrive; redrives list, show, pause, resume, cancel.
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/confirm.hpp"
#include "cli/filter.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"
#include "wire/dead_letter_shapes.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t dead_letters_shown = 100;
constexpr const char* or_all_dead_letters = ", or show everything with --all";

template <class Reply>
bool as_json(const Arguments& arguments, const Reply& reply) {
  if (arguments.has("--json")) fmt::print("{}\n", wire::to_json(reply));
  return arguments.has("--json");
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// ---- Dead letters

Result<ListDeadLettersReply> read_groups(const Arguments& arguments) {
  ListDeadLettersRequest request;
  request.name_space = arguments.maybe("--namespace");
  request.lane = arguments.maybe("--lane");
  request.kind = arguments.maybe("--kind");
  FF_TRY(page, read_page_options(arguments, dead_letters_shown, limits::max_page));
  request.cursor = page.cursor;
  request.limit = page.limit;
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->dead_letters().list(request));
  while (page.all && !reply.next_cursor.empty()) {
    request.cursor = reply.next_cursor;
    FF_TRY(more, target->dead_letters().list(request));
    std::move(more.groups.begin(), more.groups.end(), std::back_inserter(reply.groups));
    reply.next_cursor = std::move(more.next_cursor);
  }
  return reply;
}

std::string cause_of(const DeadLetterGroup& group) {
  if (group.kind.empty()) return "(failed under an earlier version)";
  return group.message;
}

Result<int> run_dead_letters_list(const Arguments& arguments) {
  FF_TRY(reply, read_groups(arguments));
  if (as_json(arguments, reply)) return 0;
  if (reply.groups.empty()) {
    fmt::print("no dead letters\n");
    return 0;
  }
  Table table({{"FINGERPRINT"},
               {"NAMESPACE", false, true},
               {"COUNT", true},
               {"KIND", false, true},
               {"CATEGORY", false, true},
               {"FIRST"},
               {"LAST"},
               {"MESSAGE", false, true}});
  for (const DeadLetterGroup& group : reply.groups) {
    table.add({{group.fingerprint},
               {group.name_space},
               number_cell(group.count),
               {or_dash(group.kind)},
               {or_dash(group.category)},
               time_cell(group.first_at),
               time_cell(group.last_at),
               {cause_of(group)}});
  }
  fmt::print("{}", table.render(stdout_look()));
  fmt::print("{} in {}\n", counted(reply.executions, "failed execution"), counted(reply.total_groups, "group"));
  print_more(reply.next_cursor, or_all_dead_letters);
  return 0;
}

void print_group(const DeadLetterGroup& group) {
  Table facts({{""}, {"", false, true}});
  const auto add = [&](const char* name, const std::string& text) { facts.add({{name, Tone::quiet}, {text}}); };
  add("fingerprint", group.fingerprint);
  add("namespace", group.name_space);
  add("executions", std::to_string(group.count));
  if (!group.kind.empty()) add("kind", group.kind);
  if (!group.category.empty()) add("category", group.category);
  add("message", cause_of(group));
  if (!group.example.empty()) add("example", group.example);
  if (group.first_at != 0) add("first", format_time(group.first_at));
  if (group.last_at != 0) add("last", format_time(group.last_at));
  for (const DeadLetterLane& lane : group.lanes) add("lane", fmt::format("{}: {}", lane.lane, lane.count));
  fmt::print("{}", facts.render(stdout_look()));
}

Table letters_table(const std::vector<DeadLetter>& letters) {
  Table table({{"EXECUTION"},
               {"LANE", false, true},
               {"FAILED"},
               {"ATTEMPTS", true},
               {"REPLAYS", true},
               {"MESSAGE", false, true}});
  for (const DeadLetter& letter : letters) {
    table.add({{to_string(letter.summary.execution_id)},
               {letter.summary.lane},
               time_cell(letter.failed_at),
               number_cell(letter.summary.attempt_count),
               {fmt::format("{} of {}", letter.replay_count, letter.max_replays)},
               {or_dash(letter.failure.message)}});
  }
  return table;
}

Result<int> run_dead_letters_show(const Arguments& arguments) {
  GetDeadLettersRequest request;
  request.name_space = arguments.text("--namespace", request.name_space);
  request.fingerprint = arguments.operands.front();
  FF_TRY(page, read_page_options(arguments, dead_letters_shown, limits::max_page));
  request.cursor = page.cursor;
  request.limit = page.limit;
  FF_TRY(target, find_target(arguments));
  FF_TRY(details, target->dead_letters().get(request));
  while (page.all && !details.next_cursor.empty()) {
    request.cursor = details.next_cursor;
    FF_TRY(more, target->dead_letters().get(request));
    std::move(more.executions.begin(), more.executions.end(), std::back_inserter(details.executions));
    details.next_cursor = std::move(more.next_cursor);
  }
  if (as_json(arguments, details)) return 0;
  print_group(details.group);
  if (!details.executions.empty()) fmt::print("\n{}", letters_table(details.executions).render(stdout_look()));
  print_more(details.next_cursor, or_all_dead_letters);
  return 0;
}

Result<void> read_failure_time(const Arguments& arguments, const std::string& option,
                               std::optional<TimestampMs>& into) {
  const auto given = arguments.maybe(option);
  if (!given) return {};
  FF_TRY(at, parse_time(*given, option));
  into = at;
  return {};
}

Result<RedriveRequest> read_redrive(const Arguments& arguments) {
  RedriveRequest request;
  request.name_space = arguments.text("--namespace", request.name_space);
  request.fingerprints = arguments.operands;
  request.all = arguments.has("--all");
  for (const std::string& word : arguments.all("--execution")) {
    auto id = parse_execution_id(word);
    if (!id) return fail(Errc::invalid_argument, "--execution: " + id.error().message, "--execution");
    request.execution_ids.push_back(*id);
  }
  request.lane = arguments.maybe("--lane");
  request.kind = arguments.maybe("--kind");
  request.category = arguments.maybe("--category");
  if (const auto word = arguments.maybe("--tag")) {
    FF_TRY(tag, parse_tag(*word, "--tag"));
    request.tag = std::move(tag);
  }
  FF_TRY_VOID(read_failure_time(arguments, "--failed-from", request.failed_from));
  FF_TRY_VOID(read_failure_time(arguments, "--failed-before", request.failed_before));
  request.rate = arguments.text("--rate", "");
  request.paused = arguments.has("--paused");
  request.idempotency_key = arguments.text("--idempotency-key", "");
  return request;
}

std::string progress_text(const RedriveInfo& redrive) {
  std::string text = fmt::format("{} replayed", redrive.replayed);
  if (redrive.refused > 0) text += fmt::format(", {} refused", redrive.refused);
  text += fmt::format(", {} left", redrive.left);
  if (redrive.failed_again > 0) text += fmt::format(", {} failed again", redrive.failed_again);
  return text;
}

Result<int> run_dead_letters_redrive(const Arguments& arguments) {
  FF_TRY(request, read_redrive(arguments));
  FF_TRY(target, find_target(arguments));
  if (request.all) {
    const std::string question = fmt::format("replay every failed execution of namespace {}?", request.name_space);
    FF_TRY(agreed, confirm(question, arguments));
    if (!agreed) return exit_declined;
  }
  FF_TRY(redrive, target->dead_letters().create_redrive(std::move(request), acting_operator(arguments)));
  if (as_json(arguments, redrive)) return 0;
  if (redrive.duplicate) {
    fmt::print("{} was made before: {}, {}\n", redrive.redrive_id, to_string(redrive.state), progress_text(redrive));
  } else {
    fmt::print("{}\n{} found; `flowfabric redrives show {}` tells how far it has come\n", redrive.redrive_id,
               counted(redrive.found, "dead letter"), redrive.redrive_id);
  }
  return 0;
}

// ---- Redrives

Cell redrive_state_cell(const RedriveInfo& redrive) {
  if (!redrive.damage.empty()) return {"damaged", Tone::bad};
  const bool busy = redrive.state == RedriveState::running;
  const Tone tone = busy ? Tone::busy : redrive.state == RedriveState::completed ? Tone::good : Tone::quiet;
  return {std::string(to_string(redrive.state)), tone};
}

Result<int> run_redrives_list(const Arguments& arguments) {
  ListRedrivesRequest request;
  request.name_space = arguments.maybe("--namespace");
  if (const auto word = arguments.maybe("--state")) {
    const auto state = parse_redrive_state(*word);
    if (!state) return fail(Errc::invalid_argument, "--state: " + state.error().message, "--state");
    request.states.push_back(*state);
  }
  FF_TRY(page, read_page_options(arguments, dead_letters_shown, limits::max_page));
  request.cursor = page.cursor;
  request.limit = page.limit;
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->dead_letters().list_redrives(request));
  while (page.all && !reply.next_cursor.empty()) {
    request.cursor = reply.next_cursor;
    FF_TRY(more, target->dead_letters().list_redrives(request));
    std::move(more.redrives.begin(), more.redrives.end(), std::back_inserter(reply.redrives));
    reply.next_cursor = std::move(more.next_cursor);
  }
  if (as_json(arguments, reply)) return 0;
  if (reply.redrives.empty()) {
    fmt::print("no redrives\n");
    return 0;
  }
  Table table({{"REDRIVE"},
               {"NAMESPACE", false, true},
               {"STATE"},
               {"RATE"},
               {"FOUND", true},
               {"REPLAYED", true},
               {"REFUSED", true},
               {"LEFT", true},
               {"FAILED AGAIN", true},
               {"CREATED"},
               {"BY", false, true}});
  for (const RedriveInfo& one : reply.redrives) {
    table.add({{one.redrive_id},
               {one.name_space},
               redrive_state_cell(one),
               {or_dash(one.rate)},
               number_cell(one.found),
               number_cell(one.replayed),
               number_cell(one.refused),
               number_cell(one.left),
               number_cell(one.failed_again),
               time_cell(one.created_at),
               {or_dash(one.created_by)}});
  }
  fmt::print("{}", table.render(stdout_look()));
  print_more(reply.next_cursor, or_all_dead_letters);
  return 0;
}

void add_selection(const RedriveSelection& selection, Table& facts) {
  const auto add = [&](const char* name, const std::string& text) { facts.add({{name, Tone::quiet}, {text}}); };
  if (selection.all) add("of", "every dead letter of the namespace");
  for (const std::string& fingerprint : selection.fingerprints) add("of fingerprint", fingerprint);
  if (!selection.execution_ids.empty()) add("of", counted(selection.execution_ids.size(), "named execution"));
  if (selection.lane) add("of lane", *selection.lane);
  if (selection.kind) add("of kind", *selection.kind);
  if (selection.category) add("of category", *selection.category);
  if (selection.tag) add("of tag", selection.tag->first + "=" + selection.tag->second);
  if (selection.failed_from) add("failed from", format_time(*selection.failed_from));
  if (selection.failed_before) add("failed before", format_time(*selection.failed_before));
}

void print_redrive(const RedriveInfo& redrive) {
  Table facts({{""}, {"", false, true}});
  const auto add = [&](const char* name, const std::string& text) { facts.add({{name, Tone::quiet}, {text}}); };
  add("redrive", redrive.redrive_id);
  add("namespace", redrive.name_space);
  add("state", std::string(to_string(redrive.state)));
  add_selection(redrive.selection, facts);
  if (!redrive.rate.empty()) add("rate", redrive.rate);
  add("found", std::to_string(redrive.found));
  add("progress", progress_text(redrive));
  add("created", format_time(redrive.created_at) + (redrive.created_by.empty() ? "" : " by " + redrive.created_by));
  if (!redrive.reason.empty()) add("reason", redrive.reason);
  if (redrive.finished_at != 0) add("ended", format_time(redrive.finished_at));
  if (redrive.next_at != 0) add("goes on", format_time(redrive.next_at));
  fmt::print("{}", facts.render(stdout_look()));
  if (redrive.refusals.empty()) return;
  Table refusals({{"REFUSED"}, {"WHY"}});
  for (const RefusedRedrive& one : redrive.refusals) {
    refusals.add({{to_string(one.execution_id)}, {std::string(to_string(one.reason))}});
  }
  fmt::print("\n{}", refusals.render(stdout_look()));
}

Result<int> run_redrives_show(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(redrive, target->dead_letters().get_redrive(arguments.operands.front()));
  if (!as_json(arguments, redrive)) print_redrive(redrive);
  return 0;
}

std::function<Result<int>(const Arguments&)> redrive_change(RedriveAction action) {
  return [action](const Arguments& arguments) -> Result<int> {
    FF_TRY(target, find_target(arguments));
    FF_TRY(redrive,
           target->dead_letters().change_redrive(arguments.operands.front(), action, acting_operator(arguments)));
    if (as_json(arguments, redrive)) return 0;
    fmt::print("{} is {}: {}\n", redrive.redrive_id, to_string(redrive.state), progress_text(redrive));
    return 0;
  };
}

const OperandSpec one_fingerprint = {"FINGERPRINT", 1, 1};
const OperandSpec one_redrive_id = {"REDRIVE", 1, 1};

std::vector<OptionSpec> with_page_options(std::vector<OptionSpec> own) {
  for (const OptionSpec& option :
       {OptionSpec{"--limit", "N", "at most N, up to 1000 (100)"},
        OptionSpec{"--cursor", "CURSOR", "continue after an earlier page"}, OptionSpec{"--all", "", "every page"}}) {
    own.push_back(option);
  }
  return options_of_reading(std::move(own));
}

Command redrive_command_line() {
  return {
      {"dead-letters redrive",
       {"FINGERPRINT", 0, limits::max_redrive_fingerprints},
       "replay many failed executions, at a rate",
       "Replays the failed executions of these groups, or those that the options select; each at most once. The\n"
       "engines on the store go on with it in the background. What fails after the command is not replayed.",
       options_of_acting({{"--namespace", "NAME", "namespace of the dead letters (default)"},
                          {"--all", "", "every failed execution of the namespace"},
                          {"--execution", "ID", "this execution; no other selection then", true},
                          {"--lane", "NAME", "only executions of this lane"},
                          {"--kind", "NAME", "only executions of this kind"},
                          {"--category", "NAME", "only failures of this category"},
                          {"--tag", "KEY=VALUE", "only executions with this tag"},
                          {"--failed-from", "TIME", "only what failed at this time or later"},
                          {"--failed-before", "TIME", "only what failed before this time"},
                          {"--rate", "RATE", "how many in a period, like 100/1m (as fast as they go)"},
                          {"--paused", "", "it does nothing until it is resumed"},
                          {"--idempotency-key", "KEY", "repeating the command with this key makes no other redrive"},
                          yes_option()})},
      run_dead_letters_redrive};
}

}  // namespace

std::vector<Command> dead_letter_commands() {
  return {
      {{"dead-letters list",
        {},
        "list failed executions by cause",
        "Lists failed executions in groups of equal failures, the largest first.",
        with_page_options({{"--namespace", "NAME", "only executions of this namespace"},
                           {"--lane", "NAME", "only executions on this lane"},
                           {"--kind", "NAME", "only executions of this kind"}})},
       run_dead_letters_list},
      {{"dead-letters show", one_fingerprint, "show a group of failed executions",
        "Shows what failed, how often and where, and its executions, the last failure first.",
        with_page_options({{"--namespace", "NAME", "namespace of the group (default)"}})},
       run_dead_letters_show},
      redrive_command_line(),
      {{"redrives list",
        {},
        "list redrives",
        "Lists redrives, newest first. Ended ones are kept for a week.",
        with_page_options({{"--namespace", "NAME", "only redrives of this namespace"},
                           {"--state", "STATE", "running, paused, completed or cancelled"}})},
       run_redrives_list},
      {{"redrives show", one_redrive_id, "show a redrive and how far it has come",
        "Shows what it selects, how many it has replayed and refused, and how many of them failed again.",
        options_of_reading({})},
       run_redrives_show},
      {{"redrives pause", one_redrive_id, "pause a redrive", "It replays nothing until it is resumed.",
        options_of_acting({})},
       redrive_change(RedriveAction::pause)},
      {{"redrives resume", one_redrive_id, "resume a paused redrive", "It goes on where it was paused.",
        options_of_acting({})},
       redrive_change(RedriveAction::resume)},
      {{"redrives cancel", one_redrive_id, "cancel a redrive", "What it has replayed goes on; the rest stays failed.",
        options_of_acting({})},
       redrive_change(RedriveAction::cancel)},
  };
}

}  // namespace flowfabric::cli
