// Filters for executions: --namespace, --lane, --kind, --state, --tag, --flow.
#pragma once

#include <vector>

#include <flowfabric/operations.hpp>

#include "base/check.hpp"
#include "cli/arguments.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"

namespace flowfabric::cli {

std::vector<OptionSpec> filter_options();
bool has_filter(const Arguments& arguments);
Result<ListRequest> read_filter(const Arguments& arguments);
// Every entry of an option that is a list: a,b and repeating the option say the same.
Result<std::vector<std::string>> read_list(const Arguments& arguments, const std::string& option);

// The id of a flow; `field` names the option or operand in the error.
Result<FlowId> parse_flow_id(const std::string& text, const std::string& field);

// `app.team=billing`, split at the first equals sign.
Result<std::pair<std::string, std::string>> parse_tag(const std::string& text, const std::string& field);

// --created-from and the like, into a request for a listing of executions or of flows.
template <class Request>
Result<void> read_times(const Arguments& arguments, Request& request) {
  const std::pair<const char*, std::optional<TimestampMs>*> times[] = {{"--created-from", &request.created_from},
                                                                       {"--created-before", &request.created_before},
                                                                       {"--finished-from", &request.finished_from},
                                                                       {"--finished-before", &request.finished_before}};
  for (const auto& [option, into] : times) {
    const auto given = arguments.maybe(option);
    if (!given) continue;
    FF_TRY(at, parse_time(*given, option));
    *into = at;
  }
  return {};
}

// Paging options: --limit, --cursor, --all.
struct PageOptions {
  std::string cursor{};
  std::uint32_t limit = 0;
  bool all = false;  // continue until the end
};
std::vector<OptionSpec> page_options(std::uint32_t default_limit);
Result<PageOptions> read_page_options(const Arguments& arguments, std::uint32_t default_limit, std::uint32_t max_limit);

// Prints below a table how to continue, if there may be more. `or_else` is an alternative, for commands that have one.
void print_more(const std::string& next_cursor, const std::string& or_else = {});

// One page, or all pages after the cursor.
Result<ListReply> list_pages(Target& target, ListRequest request, bool all);

}  // namespace flowfabric::cli
