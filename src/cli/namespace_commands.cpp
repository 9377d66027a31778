// namespaces list, show, set.
#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"

namespace flowfabric::cli {
namespace {

struct RetentionOption {
  const char* option;
  const char* about;
  std::optional<std::int64_t> RetentionPolicy::* member;
};

const std::vector<RetentionOption> retention_options = {
    {"--completed", "retention of completed executions", &RetentionPolicy::completed_ms},
    {"--failed", "retention of failed executions", &RetentionPolicy::failed_ms},
    {"--cancelled", "retention of cancelled executions", &RetentionPolicy::cancelled_ms},
    {"--expired", "retention of expired executions", &RetentionPolicy::expired_ms},
    {"--skipped", "retention of skipped executions", &RetentionPolicy::skipped_ms}};

Table namespaces_table(const std::vector<NamespaceInfo>& namespaces) {
  Table table({{"NAMESPACE", false, true}, {"COMPLETED"}, {"FAILED"}, {"CANCELLED"}, {"EXPIRED"}, {"SKIPPED"}});
  for (const NamespaceInfo& one : namespaces) {
    std::vector<Cell> row = {{one.name_space}};
    for (const RetentionOption& retention : retention_options) {
      const auto& time = one.retention.*(retention.member);
      row.push_back(time ? Cell{format_duration(*time)} : Cell{"default", Tone::quiet});
    }
    table.add(std::move(row));
  }
  return table;
}

Result<int> print_namespace(const Arguments& arguments, const NamespaceInfo& one) {
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(one));
  } else {
    fmt::print("{}", namespaces_table({one}).render(stdout_look()));
  }
  return 0;
}

Result<int> run_namespaces_list(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(namespaces, target->namespaces());
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(bodies::NamespacesReply{namespaces}));
  } else if (namespaces.empty()) {
    fmt::print("no namespace has settings of its own\n");
  } else {
    fmt::print("{}", namespaces_table(namespaces).render(stdout_look()));
  }
  return 0;
}

Result<int> run_namespaces_show(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(found, target->name_space(arguments.operands.front()));
  return print_namespace(arguments, found);
}

Result<int> run_namespaces_set(const Arguments& arguments) {
  bool any = false;
  for (const RetentionOption& retention : retention_options) any = any || arguments.has(retention.option);
  if (!any) return fail(Errc::invalid_argument, "nothing to set; pass --completed, --failed or another option", "");
  FF_TRY(target, find_target(arguments));
  FF_TRY(info, target->name_space(arguments.operands.front()));
  for (const RetentionOption& retention : retention_options) {
    const auto given = arguments.maybe(retention.option);
    if (!given) continue;
    auto& time = info.retention.*(retention.member);
    time.reset();
    if (*given == "default") continue;
    FF_TRY(duration, parse_duration(*given, retention.option));
    time = duration;
  }
  FF_TRY(changed, target->set_namespace(info, acting_operator(arguments)));
  return print_namespace(arguments, changed);
}

std::vector<OptionSpec> set_options() {
  std::vector<OptionSpec> options;
  for (const RetentionOption& retention : retention_options) {
    options.push_back({retention.option, "DURATION", std::string(retention.about) + ", like 7d; or default"});
  }
  return options_of_acting(std::move(options));
}

}  // namespace

std::vector<Command> namespace_commands() {
  const OperandSpec name{"NAME", 1, 1};
  return {
      {{"namespaces list",
        {},
        "list namespaces with settings",
        "Lists the namespaces that have settings of their own, and how long they keep ended executions.",
        options_of_reading({})},
       run_namespaces_list},
      {{"namespaces show", name, "show the settings of a namespace",
        "Shows how long a namespace keeps ended executions. `default` means the default_retention of the server.",
        options_of_reading({})},
       run_namespaces_show},
      {{"namespaces set", name, "change the settings of a namespace",
        "Changes how long a namespace keeps ended executions, unless their policy sets it. Options that are not given\n"
        "stay as they are.",
        set_options()},
       run_namespaces_set},
  };
}

}  // namespace flowfabric::cli
