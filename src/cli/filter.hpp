// Filters for executions: --namespace, --lane, --kind, --state, --tag.
#pragma once

#include <vector>

#include <flowfabric/operations.hpp>

#include "cli/arguments.hpp"
#include "cli/target.hpp"

namespace flowfabric::cli {

std::vector<OptionSpec> filter_options();
bool has_filter(const Arguments& arguments);
Result<ListRequest> read_filter(const Arguments& arguments);
// Every entry of an option that is a list: a,b and repeating the option say the same.
Result<std::vector<std::string>> read_list(const Arguments& arguments, const std::string& option);

// `app.team=billing`, split at the first equals sign.
Result<std::pair<std::string, std::string>> parse_tag(const std::string& text, const std::string& field);

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
