// limits list, show, set, remove, check, apply.
#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/confirm.hpp"
#include "cli/filter.hpp"
#include "cli/limit_file.hpp"
#include "cli/limit_text.hpp"
#include "cli/secrets.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"
#include "wire/limit_shapes.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t keys_shown = 100;
constexpr std::size_t holders_in_table = 3;
constexpr const char* or_all_keys = ", or show everything with --all";

LimitName limit_operand(const Arguments& arguments) {
  return {arguments.maybe("--namespace"), arguments.operands.front()};
}

Unexpected<Error> wrong_limit_option(const std::string& option, const std::string& message) {
  return fail(Errc::invalid_argument, option + ": " + message, option);
}

// ---- Looking

std::string scope_text(const std::optional<std::string>& value) { return value.value_or("-"); }
std::string concurrency_text(const LimitSpec& limit) {
  return limit.concurrency ? std::to_string(*limit.concurrency) : "-";
}
std::string held_back_text(const LimitUse& use) {
  return std::to_string(use.held_back) + (use.held_back >= limits::max_counted_held ? "+" : "");
}
std::string key_text(const LimitUse& use) { return use.key.empty() ? "(all)" : join(use.key, ", "); }

Result<int> run_limits_list(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(limits, target->limits().list({arguments.maybe("--namespace")}));
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(bodies::LimitsReply{std::move(limits)}));
    return 0;
  }
  if (limits.empty()) {
    fmt::print("no limits\n");
    return 0;
  }
  Table table({{"NAMESPACE", false, true},
               {"NAME", false, true},
               {"LANE", false, true},
               {"KIND", false, true},
               {"PER", false, true},
               {"CONCURRENCY", true},
               {"RATE"},
               {"SHARE", false, true},
               {"CHANGED"}});
  for (const LimitInfo& one : limits) {
    table.add({{one.name_space.value_or("(all)")},
               {one.name},
               {scope_text(one.lane)},
               {scope_text(one.kind)},
               {one.per.empty() ? "-" : per_text(one)},
               {concurrency_text(one)},
               {one.rate ? rate_text(*one.rate) : "-"},
               {one.share ? share_text(*one.share) : "-"},
               time_cell(one.changed_at)});
  }
  fmt::print("{}", table.render(stdout_look()));
  return 0;
}

std::string holders_cell(const LimitUse& use) {
  std::string text;
  for (std::size_t i = 0; i < std::min(use.holders.size(), holders_in_table); ++i) {
    text += (i == 0 ? "" : " ") + to_string(use.holders[i]);
  }
  if (use.in_use > holders_in_table && !text.empty()) text += " +" + std::to_string(use.in_use - holders_in_table);
  return text.empty() ? "-" : text;
}

Table weights_table(const std::vector<LimitUse>& keys) {
  Table table({{"KEY", false, true}, {"WEIGHT", true}});
  for (const LimitUse& use : keys) {
    table.add(
        {{use.key == std::vector<std::string>{""} ? "(none)" : key_text(use)}, number_cell(use.weight.value_or(1))});
  }
  return table;
}

Table keys_table(const std::vector<LimitUse>& keys) {
  Table table({{"KEY", false, true},
               {"IN USE", true},
               {"FREE", true},
               {"HELD BACK", true},
               {"NEXT START"},
               {"HOLDERS", false, true}});
  for (const LimitUse& use : keys) {
    table.add({{key_text(use)},
               number_cell(use.in_use),
               {use.free ? std::to_string(*use.free) : "-"},
               {held_back_text(use), use.held_back > 0 ? Tone::busy : Tone::plain},
               time_cell(use.next_start_at),
               {holders_cell(use)}});
  }
  return table;
}

void print_limit(const ListLimitUseReply& reply) {
  const LimitInfo& limit = reply.info;
  Table facts({{""}, {"", false, true}});
  const auto add = [&](const char* name, const std::string& text) { facts.add({{name, Tone::quiet}, {text}}); };
  add("limit", limit.name);
  add("namespace", limit.name_space.value_or("(all)"));
  if (limit.lane) add("lane", *limit.lane);
  if (limit.kind) add("kind", *limit.kind);
  if (!limit.per.empty()) add("per", per_text(limit));
  if (limit.concurrency) add("concurrency", concurrency_text(limit));
  if (limit.rate) add("rate", rate_text(*limit.rate));
  if (limit.share) add("share", share_text(*limit.share));
  add("revision", std::to_string(limit.revision));
  const auto by = [](const std::string& name) { return name.empty() ? std::string() : " by " + name; };
  add("created", format_time(limit.created_at) + by(limit.created_by));
  add("changed", format_time(limit.changed_at) + by(limit.changed_by));
  fmt::print("{}", facts.render(stdout_look()));
  if (reply.keys_hidden) {
    fmt::print("\nIt is for all namespaces: what is in use of it is shown to keys for all namespaces only.\n");
  } else if (reply.keys.empty()) {
    fmt::print("\n{}\n", limit.share ? "No key is in line, or was a short time ago." : "Nothing is in use.");
  } else if (limit.share) {
    fmt::print("\n{}", weights_table(reply.keys).render(stdout_look()));
  } else {
    fmt::print("\n{}", keys_table(reply.keys).render(stdout_look()));
  }
}

Result<int> run_limits_show(const Arguments& arguments) {
  FF_TRY(page, read_page_options(arguments, keys_shown, limits::max_page));
  ListLimitUseRequest request{limit_operand(arguments), page.cursor, page.limit};
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->limits().use(request));
  while (page.all && !reply.next_cursor.empty()) {
    request.cursor = reply.next_cursor;
    FF_TRY(more, target->limits().use(request));
    std::move(more.keys.begin(), more.keys.end(), std::back_inserter(reply.keys));
    reply.next_cursor = std::move(more.next_cursor);
  }
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(reply));
    return 0;
  }
  print_limit(reply);
  print_more(reply.next_cursor, or_all_keys);
  return 0;
}

void print_check(const LimitCheck& check) {
  if (check.limits.empty()) {
    fmt::print("no limit is for it; it could start now\n");
    return;
  }
  Table table(
      {{"LIMIT", false, true}, {"KEY", false, true}, {"IN USE", true}, {"FREE", true}, {"HELD BACK", true}, {"WOULD"}});
  for (const LimitChecked& one : check.limits) {
    table.add({{limit_label(one.info)},
               {key_text(one.use)},
               number_cell(one.use.in_use),
               {one.use.free ? std::to_string(*one.use.free) : "-"},
               {held_back_text(one.use)},
               {one.info.share        ? "give it a turn by weight " + std::to_string(one.use.weight.value_or(1))
                : one.would_hold_back ? "hold it back"
                                      : "let it start",
                one.would_hold_back ? Tone::busy : Tone::good}});
  }
  fmt::print("{}", table.render(stdout_look()));
  if (check.could_start) {
    fmt::print("it could start now\n");
  } else if (check.could_start_at != 0) {
    fmt::print("it could start at {}, after those that wait already\n", format_time(check.could_start_at));
  } else {
    fmt::print("it would wait until a slot is free\n");
  }
}

Result<int> run_limits_check(const Arguments& arguments) {
  LimitCheckRequest request;
  request.name_space = arguments.text("--namespace", request.name_space);
  request.lane = arguments.text("--lane", request.lane);
  request.kind = arguments.text("--kind", "");
  request.creator = arguments.text("--creator", "");
  for (const std::string& word : arguments.all("--tag")) {
    FF_TRY(tag, parse_tag(word, "--tag"));
    request.tags[tag.first] = tag.second;
  }
  FF_TRY(target, find_target(arguments));
  FF_TRY(check, target->limits().check(request));
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(check));
  } else {
    print_check(check);
  }
  return 0;
}

// ---- Changing

Result<LimitRequest> read_limit_options(const Arguments& arguments) {
  LimitRequest request;
  static_cast<LimitName&>(request) = limit_operand(arguments);
  request.lane = arguments.maybe("--lane");
  request.kind = arguments.maybe("--kind");
  FF_TRY(per, read_list(arguments, "--per"));
  request.per = std::move(per);
  if (arguments.has("--concurrency")) {
    // 0 is refused with a better explanation where all limits are checked.
    FF_TRY(count, arguments.number("--concurrency", 1, 0, limits::max_concurrency));
    request.concurrency = static_cast<std::uint32_t>(count);
  }
  if (const auto text = arguments.maybe("--rate")) {
    FF_TRY(rate, parse_rate(*text, "--rate"));
    request.rate = rate;
  }
  if (arguments.has("--burst")) {
    if (!request.rate) return wrong_limit_option("--burst", "is for a limit with --rate");
    FF_TRY(burst, arguments.number("--burst", 1, 1, limits::max_rate_count));
    request.rate->burst = static_cast<std::uint32_t>(burst);
  }
  if (arguments.has("--share")) request.share.emplace();
  for (const std::string& word : arguments.all("--weight")) {
    if (!request.share) return wrong_limit_option("--weight", "is for a limit with --share");
    FF_TRY(weight, parse_weight(word, "--weight"));
    if (!request.share->weights.insert(weight).second) {
      return wrong_limit_option("--weight", "names \"" + weight.first + "\" twice");
    }
  }
  if (arguments.has("--expected-revision")) {
    FF_TRY(revision, arguments.number("--expected-revision", 0, 0, UINT64_MAX));
    request.expected_revision = revision;
  }
  return request;
}

int print_saved_limit(const Arguments& arguments, const LimitSaved& saved) {
  if (arguments.has("--json")) {
    fmt::print("{}\n", wire::to_json(saved));
  } else {
    const char* what = saved.outcome == LimitChange::unchanged ? "was like this already" : "was ";
    fmt::print("limit {} {}{}\n", limit_label(saved.info), what,
               saved.outcome == LimitChange::unchanged ? "" : to_string(saved.outcome));
  }
  return 0;
}

// The budget of a limit is set by `budgets set`.
Result<void> keep_budget(sdk::LimitCalls& limits, LimitRequest& request) {
  FF_TRY(all, limits.list({request.name_space}));
  for (const LimitInfo& one : all) {
    if (static_cast<const LimitName&>(one) == static_cast<const LimitName&>(request)) request.budget = one.budget;
  }
  return {};
}

Result<int> run_limits_set(const Arguments& arguments) {
  FF_TRY(request, read_limit_options(arguments));
  FF_TRY(target, find_target(arguments));
  FF_TRY_VOID(keep_budget(target->limits(), request));
  FF_TRY(saved, target->limits().set(std::move(request), acting_operator(arguments)));
  return print_saved_limit(arguments, saved);
}

Result<int> run_limits_remove(const Arguments& arguments) {
  const LimitName limit = limit_operand(arguments);
  FF_TRY(agreed, confirm(fmt::format("remove limit {}? What it holds back starts.", limit_label(limit)), arguments));
  if (!agreed) return exit_declined;
  FF_TRY(target, find_target(arguments));
  FF_TRY(saved, target->limits().remove(limit, acting_operator(arguments)));
  return print_saved_limit(arguments, saved);
}

// ---- A file of limits

using LimitTally = std::map<LimitChange, std::uint64_t>;

void print_tally(const LimitTally& tally, bool dry_run) {
  std::string text;
  for (const LimitChange change :
       {LimitChange::created, LimitChange::changed, LimitChange::unchanged, LimitChange::removed}) {
    const auto found = tally.find(change);
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", found == tally.end() ? 0 : found->second, to_string(change));
  }
  fmt::print("{}{}\n", text, dry_run ? " (dry run: nothing was changed)" : "");
}

std::string applied_to_json(const std::vector<PlannedLimit>& planned, bool dry_run) {
  LimitTally tally;
  wire::Writer writer;
  writer.begin_object();
  writer.key("limits");
  writer.begin_array();
  for (const PlannedLimit& one : planned) {
    ++tally[one.outcome];
    writer.begin_object();
    if (one.request.name_space) {
      writer.key("namespace");
      writer.text(*one.request.name_space);
    }
    writer.key("name");
    writer.text(one.request.name);
    writer.key("outcome");
    writer.text(to_string(one.outcome));
    writer.end_object();
  }
  writer.end_array();
  for (const LimitChange change :
       {LimitChange::created, LimitChange::changed, LimitChange::unchanged, LimitChange::removed}) {
    writer.key(to_string(change));
    writer.unsigned_number(tally[change]);
  }
  writer.key("dry_run");
  writer.boolean(dry_run);
  writer.end_object();
  return writer.take();
}

Result<LimitSaved> carry_out(sdk::LimitCalls& limits, const PlannedLimit& planned, const Operator& by) {
  if (planned.outcome == LimitChange::removed) return limits.remove(planned.request, by);
  return limits.set(planned.request, by);
}

Result<std::vector<PlannedLimit>> plan_file(const Arguments& arguments, sdk::LimitCalls& limits) {
  const std::string& file = arguments.operands.front();
  const auto name_space = arguments.maybe("--namespace");
  FF_TRY(text, read_text_file(file));
  const auto in_file = [&](Error error) {
    error.message = file + ": " + error.message;
    return Unexpected(std::move(error));
  };
  const auto wanted = read_limit_file(text, name_space);
  if (!wanted) return in_file(wanted.error());
  if (wanted->empty() && arguments.has("--prune")) {
    return in_file({Errc::invalid_argument, "has no limits, and --prune would remove all", "--prune", {}});
  }
  FF_TRY(present, limits.list({name_space}));
  auto planned = plan_limits(*wanted, present, {arguments.has("--prune"), name_space});
  if (!planned) return in_file(planned.error());
  return planned;
}

Result<int> run_limits_apply(const Arguments& arguments) {
  const bool dry_run = arguments.has("--dry-run");
  const bool json = arguments.has("--json");
  FF_TRY(target, find_target(arguments));
  FF_TRY(planned, plan_file(arguments, target->limits()));
  LimitTally tally;
  for (PlannedLimit& one : planned) {
    if (!dry_run && one.outcome != LimitChange::unchanged) {
      FF_TRY(saved, carry_out(target->limits(), one, acting_operator(arguments)));
      one.outcome = saved.outcome;
    }
    ++tally[one.outcome];
    if (!json) fmt::print("{:<10} {}\n", to_string(one.outcome), limit_label(one.request));
  }
  if (json) {
    fmt::print("{}\n", applied_to_json(planned, dry_run));
  } else {
    print_tally(tally, dry_run);
  }
  return 0;
}

// ---- The table

const OperandSpec one_limit_name = {"NAME", 1, 1};
OptionSpec limit_namespace_option() {
  return {"--namespace", "NAME", "namespace of the limit; without it: the limit for all namespaces"};
}

std::vector<Command> limit_reading_commands() {
  std::vector<OptionSpec> showing = {limit_namespace_option(),
                                     {"--limit", "N", "at most N keys, up to 1000 (100)"},
                                     {"--cursor", "CURSOR", "continue after an earlier page"},
                                     {"--all", "", "every page"}};
  return {
      {{"limits list",
        {},
        "list limits",
        "Lists the limits by namespace and name; those for all namespaces come first.",
        options_of_reading(
            {{"--namespace", "NAME", "only limits for executions of this namespace: its own, and those for all"}})},
       run_limits_list},
      {{"limits show", one_limit_name, "show a limit and what is in use of it",
        "Shows what a limit allows, and for each key the slots in use, the executions that have them, how many wait, "
        "and\n"
        "when the next one may start.",
        options_of_reading(std::move(showing))},
       run_limits_show},
      {{"limits check",
        {},
        "say whether limits would hold back an execution",
        "Says which limits an execution would be under if it was created now, and whether it could start.",
        options_of_reading({{"--namespace", "NAME", "of the execution (default)"},
                            {"--lane", "NAME", "of the execution (default)"},
                            {"--kind", "NAME", "of the execution"},
                            {"--tag", "KEY=VALUE", "of the execution", true},
                            {"--creator", "NAME", "of the execution"}})},
       run_limits_check},
  };
}

constexpr const char* about_applying =
    "Makes the limits of a file, and changes those that differ; applying a file again changes nothing. Every limit is "
    "a\n"
    "table, which has its name:\n"
    "\n"
    "  [limits.api]\n"
    "  per = [\"tags.app.customer\"]\n"
    "  concurrency = 3\n"
    "\n"
    "  [limits.mails]\n"
    "  lane = \"mail\"\n"
    "  rate = \"100/1m\"\n"
    "  burst = 20\n"
    "\n"
    "  [limits.tenants]\n"
    "  lane = \"work\"\n"
    "  per = [\"tags.app.customer\"]\n"
    "  share = { acme = 5 }\n"
    "\n"
    "Settings are name, namespace, lane, kind, per, concurrency, rate, burst and share, which is true or has weights. "
    "If "
    "one limit is not valid, or cannot "
    "be\n"
    "changed so, nothing is changed. deploy/limits.toml is an example.";

}  // namespace

std::vector<Command> limit_commands() {
  std::vector<Command> all = limit_reading_commands();
  all.push_back(
      {{"limits set", one_limit_name, "create a limit, or change what it allows",
        "Makes a limit, or changes its concurrency and rate; give at least one of them, or --share. What is not given "
        "is "
        "not\n"
        "part of the limit. --lane, --kind and --per of an existing limit cannot be changed: remove it and make it\n"
        "anew. Lowering a limit lets what runs finish.",
        options_of_acting({limit_namespace_option(),
                           {"--lane", "NAME", "only executions of this lane"},
                           {"--kind", "NAME", "only executions of this kind"},
                           {"--per", "NAMES",
                            "count apart for each value of tags.NAME, namespace, lane, kind, creator or flow; up "
                            "to 4, like tags.app.customer,kind",
                            true},
                           {"--concurrency", "N", "so many at the same time, up to 10000"},
                           {"--rate", "COUNT/PERIOD", "so many starts in a period, like 100/1m"},
                           {"--burst", "N", "with --rate: a token bucket that holds N tokens"},
                           {"--share", "", "serve the keys of --per in turns; needs --lane, and is alone in its limit"},
                           {"--weight", "KEY=N", "with --share: N turns where others have one, up to 1000", true},
                           {"--expected-revision", "N", "only if it has this revision; 0: only if there is none"}})},
       run_limits_set});
  all.push_back({{"limits remove", one_limit_name, "remove a limit", "Removes a limit. What it holds back starts.",
                  options_of_acting({limit_namespace_option(), yes_option()})},
                 run_limits_remove});
  all.push_back(
      {{"limits apply",
        {"FILE", 1, 1},
        "make the limits of a file",
        about_applying,
        options_of_acting({{"--namespace", "NAME", "the limits are of this namespace, and no others are touched"},
                           {"--prune", "", "remove limits that are not in the file"},
                           {"--dry-run", "", "only say what would be done"}})},
       run_limits_apply});
  return all;
}

}  // namespace flowfabric::cli
