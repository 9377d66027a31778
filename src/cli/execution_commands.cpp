// executions list, show, explain, history, steps, tags, revoke-lease.
#include <charconv>
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/filter.hpp"
#include "cli/json_out.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t default_list = 50;
constexpr std::uint32_t default_history = 100;
constexpr std::uint32_t default_steps = 100;
constexpr const char* or_all = ", or show everything with --all";

Result<int> run_list(const Arguments& arguments) {
  FF_TRY(request, read_filter(arguments));
  FF_TRY(page, read_page_options(arguments, default_list, limits::max_page));
  request.cursor = page.cursor;
  request.limit = page.limit;
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, list_pages(*target, std::move(request), page.all));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(reply));
  } else if (reply.executions.empty()) {
    const bool narrowed = has_filter(arguments) || !page.cursor.empty();
    fmt::print("{}\n", narrowed ? "no matching executions" : "this store has no executions yet");
  } else {
    fmt::print("{}", list_table(reply.executions).render(stdout_look()));
    print_more(reply.next_cursor, or_all);
  }
  return 0;
}

Result<int> run_show(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  FF_TRY(target, find_target(arguments));
  ShownExecution shown;
  FF_TRY(description, target->describe(id));
  shown.description = std::move(description);
  FF_TRY(steps, target->steps(id, 0, default_steps));
  shown.steps = std::move(steps);
  if (shown.description.summary.finished_at == 0) {
    FF_TRY(waits, target->waits_of(id));
    if (waits != ExecutionWaits{}) shown.waits = std::move(waits);
  }
  if (arguments.has("--payload")) {
    FF_TRY(context, target->context(id));
    shown.context = std::move(context);
  }
  if (arguments.has("--result")) {
    FF_TRY(result, target->result(id));
    shown.result = std::move(result);
  }
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(shown));
  } else {
    fmt::print("{}", show_text(shown, stdout_look()));
  }
  return 0;
}

Result<int> run_explain(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  FF_TRY(target, find_target(arguments));
  FF_TRY(description, target->describe(id));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(ShownReasons{id, description.summary.public_state, description.explain}));
  } else {
    fmt::print("{}", explain_text(description));
  }
  return 0;
}

Result<EventPage> history_pages(Target& target, const ExecutionId& id, const PageOptions& options) {
  FF_TRY(page, target.history(id, options.cursor, options.limit));
  while (options.all && !page.next_cursor.empty()) {
    FF_TRY(more, target.history(id, page.next_cursor, options.limit));
    std::move(more.events.begin(), more.events.end(), std::back_inserter(page.events));
    page.next_cursor = std::move(more.next_cursor);
  }
  return page;
}

Result<int> run_history(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  FF_TRY(options, read_page_options(arguments, default_history, limits::max_page));
  FF_TRY(target, find_target(arguments));
  FF_TRY(page, history_pages(*target, id, options));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(page));
  } else if (page.events.empty()) {
    fmt::print("no more events\n");
  } else {
    fmt::print("{}", history_table(page.events).render(stdout_look()));
    print_more(page.next_cursor, or_all);
  }
  return 0;
}

// A cursor of steps is the position of the next one.
Result<std::uint32_t> read_position(const std::string& cursor) {
  std::uint32_t position = 0;
  if (cursor.empty()) return position;
  const auto [end, problem] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), position);
  if (problem == std::errc{} && end == cursor.data() + cursor.size()) return position;
  return fail(Errc::invalid_argument, "--cursor: this is not a cursor of this command", "--cursor");
}

Result<ListStepsReply> step_pages(Target& target, const ExecutionId& id, const PageOptions& options) {
  FF_TRY(from, read_position(options.cursor));
  FF_TRY(reply, target.steps(id, from, options.limit));
  while (options.all && reply.next_position != 0) {
    FF_TRY(more, target.steps(id, reply.next_position, options.limit));
    std::move(more.steps.begin(), more.steps.end(), std::back_inserter(reply.steps));
    reply.next_position = more.next_position;
  }
  return reply;
}

Result<int> run_steps(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  FF_TRY(options, read_page_options(arguments, default_steps, limits::max_page));
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, step_pages(*target, id, options));
  if (arguments.has("--json")) {
    const std::string cursor = reply.next_position == 0 ? "" : std::to_string(reply.next_position);
    fmt::print("{}\n", to_json(bodies::StepsReply{reply.steps, cursor}));
  } else if (reply.steps.empty()) {
    fmt::print("{}\n", options.cursor.empty() ? "no recorded steps" : "no more steps");
  } else {
    fmt::print("{}", steps_table(reply.steps).render(stdout_look()));
    print_more(reply.next_position == 0 ? "" : std::to_string(reply.next_position), or_all);
  }
  return 0;
}

Result<TagChanges> read_tag_changes(const Arguments& arguments) {
  TagChanges changes;
  for (const std::string& word : arguments.all("--set")) {
    FF_TRY(tag, parse_tag(word, "--set"));
    changes.set[tag.first] = tag.second;
  }
  changes.remove = arguments.all("--remove");
  return changes;
}

Result<Tags> read_or_change_tags(const Arguments& arguments, const ExecutionId& id) {
  FF_TRY(changes, read_tag_changes(arguments));
  FF_TRY(target, find_target(arguments));
  if (changes.set.empty() && changes.remove.empty()) return target->tags(id);
  return target->change_tags(id, std::move(changes), acting_operator(arguments));
}

Result<int> run_tags(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  FF_TRY(tags, read_or_change_tags(arguments, id));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(ShownTags{id, tags}));
    return 0;
  }
  for (const auto& [key, value] : tags) fmt::print("{}={}\n", key, printable(value));
  if (tags.empty()) fmt::print("no tags\n");
  return 0;
}

Result<int> run_revoke_lease(const Arguments& arguments) {
  FF_TRY(id, parse_execution_id(arguments.operands.front()));
  std::optional<Uuid> expected;
  if (const auto text = arguments.maybe("--lease-id")) {
    FF_TRY(uuid, parse_uuid(*text));
    expected = uuid;
  }
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->revoke_lease(id, acting_operator(arguments), expected));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(OfExecution<RevokeReply>{id, reply}));
  } else {
    fmt::print("{} lost its lease {} and is {}\n", to_string(id), to_string(reply.lease_id),
               to_string(reply.public_state));
  }
  return 0;
}

std::vector<OptionSpec> list_options() {
  std::vector<OptionSpec> options = filter_options();
  for (OptionSpec& option : page_options(default_list)) options.push_back(std::move(option));
  return options_of_reading(std::move(options));
}

}  // namespace

std::vector<Command> execution_commands() {
  const OperandSpec one{"ID", 1, 1};
  return {
      {{"executions list",
        {},
        "list executions, newest first",
        "Lists the executions that match all given options, newest first, a page at a time.",
        list_options()},
       run_list},
      {{"executions show", one, "show everything about one execution",
        "Shows the state, policy, lease, attempts, failure and progress of an execution, why it is not running, what\n"
        "it waits for, and a timeline of its attempts and durable steps.\n"
        "With --json the field names are those of ExecutionDescription; --payload adds \"context\", --result adds\n"
        "\"result\". Bytes that are valid UTF-8 are shown as text, others as base64; in JSON as {\"base64\": \"...\"}.",
        options_of_reading({{"--payload", "", "also show the payload"}, {"--result", "", "also show the result"}})},
       run_show},
      {{"executions explain", one, "show why an execution is not running",
        "Prints all reasons why an execution is not running now.", options_of_reading({})},
       run_explain},
      {{"executions history", one, "list the events of one execution",
        "Lists the events of an execution, oldest first, a page at a time.",
        options_of_reading(page_options(default_history))},
       run_history},
      {{"executions steps", one, "list the durable steps of one execution",
        "Lists the steps that the handler of an execution has recorded, in their order, a page at a time. With --json\n"
        "their results are included.",
        options_of_reading(page_options(default_steps))},
       run_steps},
      {{"executions tags", one, "show or change the tags of an execution",
        "Shows the tags of an execution. --set and --remove change them first.",
        options_of_acting(
            {{"--set", "KEY=VALUE", "set this tag", true}, {"--remove", "KEY", "remove this tag", true}})},
       run_tags},
      {{"executions revoke-lease", one, "revoke the lease of an active execution",
        "Revokes the lease of an active execution. Further calls of its worker are refused. Depending on its policy "
        "the\n"
        "execution is queued again or waits for a manual reclaim.",
        options_of_acting({{"--lease-id", "UUID", "only if it is this lease"}})},
       run_revoke_lease},
  };
}

}  // namespace flowfabric::cli
