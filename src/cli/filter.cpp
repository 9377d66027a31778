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
          {"--state", "STATES", "only executions in one of these public states, like waiting,active", true},
          {"--tag", "KEY=VALUE", "only executions with this tag"},
          {"--flow", "ID", "only nodes of this flow"},
          {"--created-from", "TIME", "only executions created at this time or later"},
          {"--created-before", "TIME", "only executions created earlier"},
          {"--finished-from", "TIME", "only executions that ended at this time or later"},
          {"--finished-before", "TIME", "only executions that ended earlier"}};
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

Result<FlowId> parse_flow_id(const std::string& text, const std::string& field) {
  if (const auto id = parse_execution_id(text)) return *id;
  return fail(Errc::invalid_argument, fmt::format("{}: is not a flow id like fp7-<uuid>: \"{}\"", field, text), field);
}

Result<std::vector<std::string>> read_list(const Arguments& arguments, const std::string& option) {
  std::vector<std::string> all;
  for (const std::string& given : arguments.all(option)) {
    for (std::size_t at = 0; at <= given.size();) {
      const std::size_t end = std::min(given.find(',', at), given.size());
      if (end == at) {
        return fail(Errc::invalid_argument, fmt::format("{}: \"{}\" has an empty entry", option, given), option);
      }
      all.push_back(given.substr(at, end - at));
      at = end + 1;
    }
  }
  return all;
}

Result<ListRequest> read_filter(const Arguments& arguments) {
  ListRequest request;
  request.name_space = arguments.maybe("--namespace");
  request.lane = arguments.maybe("--lane");
  request.kind = arguments.maybe("--kind");
  FF_TRY(states, read_list(arguments, "--state"));
  for (const std::string& word : states) {
    auto state = parse_public_state(word);
    if (!state) return fail(Errc::invalid_argument, "--state: " + state.error().message, "--state");
    request.states.push_back(*state);
  }
  if (const auto tag = arguments.maybe("--tag")) {
    FF_TRY(parsed, parse_tag(*tag, "--tag"));
    request.tag = std::move(parsed);
  }
  if (const auto flow = arguments.maybe("--flow")) {
    FF_TRY(id, parse_flow_id(*flow, "--flow"));
    request.flow = id.uuid;
  }
  FF_TRY_VOID(read_times(arguments, request));
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
