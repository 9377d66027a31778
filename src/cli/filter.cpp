#include "cli/filter.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"

namespace flowfabric::cli {

std::vector<OptionSpec> filter_options() {
  return {{"--namespace", "NAME", "only executions of this namespace"},
          {"--lane", "NAME", "only executions of this lane"},
          {"--kind", "NAME", "only executions of this kind"},
          {"--state", "STATE", "only executions in this public state", true},
          {"--tag", "KEY=VALUE", "only executions with this tag"}};
}

bool has_filter(const Arguments& arguments) {
  const auto options = filter_options();
  return std::any_of(options.begin(), options.end(), [&](const OptionSpec& o) { return arguments.has(o.name); });
}

Result<std::pair<std::string, std::string>> parse_tag(const std::string& text, const std::string& field) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return fail(Errc::invalid_argument, fmt::format("{} must be KEY=VALUE, not \"{}\"", field, text), field);
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<ListRequest> read_filter(const Arguments& arguments) {
  ListRequest request;
  request.name_space = arguments.maybe("--namespace");
  request.lane = arguments.maybe("--lane");
  request.kind = arguments.maybe("--kind");
  for (const std::string& word : arguments.all("--state")) {
    auto state = parse_public_state(word);
    if (!state) return fail(Errc::invalid_argument, "--state: " + state.error().message, "--state");
    request.states.push_back(*state);
  }
  if (const auto tag = arguments.maybe("--tag")) {
    FF_TRY(parsed, parse_tag(*tag, "--tag"));
    request.tag = std::move(parsed);
  }
  return request;
}

std::vector<OptionSpec> page_options(std::uint32_t default_limit) {
  return {{"--limit", "N", fmt::format("page size ({})", default_limit)},
          {"--cursor", "CURSOR", "continue after an earlier page"},
          {"--all", "", "show all pages"}};
}

Result<PageOptions> read_page_options(const Arguments& arguments, std::uint32_t default_limit,
                                      std::uint32_t max_limit) {
  PageOptions options;
  options.all = arguments.has("--all");
  options.cursor = arguments.text("--cursor", "");
  if (options.all && arguments.has("--limit")) {
    return fail(Errc::invalid_argument, "--all and --limit cannot be combined", "--limit");
  }
  FF_TRY(limit, arguments.number("--limit", options.all ? max_limit : default_limit, 1, max_limit));
  options.limit = static_cast<std::uint32_t>(limit);
  return options;
}

void print_more(const std::string& next_cursor, const std::string& or_else) {
  if (!next_cursor.empty()) fmt::print("\nthere may be more: continue with --cursor {}{}\n", next_cursor, or_else);
}

Result<ListReply> list_pages(Target& target, ListRequest request, bool all) {
  FF_TRY(reply, target.list(request));
  while (all && !reply.next_cursor.empty()) {
    request.cursor = reply.next_cursor;
    FF_TRY(more, target.list(request));
    std::move(more.executions.begin(), more.executions.end(), std::back_inserter(reply.executions));
    reply.next_cursor = std::move(more.next_cursor);
  }
  return reply;
}

}  // namespace flowfabric::cli
