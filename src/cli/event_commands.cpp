// events: the event log, a page of it or as it grows.
#include <cstdio>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/filter.hpp"
#include "cli/json_out.hpp"
#include "cli/show.hpp"
#include "cli/signals.hpp"
#include "cli/target.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t default_events = 100;
constexpr std::uint32_t follow_wait_ms = 1000;  // Ctrl-C is noticed within this time

Result<EventFilter> read_event_filter(const Arguments& arguments) {
  EventFilter filter;
  filter.name_space = arguments.maybe("--namespace");
  filter.lane = arguments.maybe("--lane");
  if (const auto text = arguments.maybe("--execution")) {
    FF_TRY(id, parse_execution_id(*text));
    filter.execution_id = id;
  }
  if (const auto text = arguments.maybe("--flow")) {
    FF_TRY(id, parse_flow_id(*text, "--flow"));
    filter.flow_id = id;
  }
  if (filter.flow_id && filter.execution_id) {
    return fail(Errc::invalid_argument, "--flow: is given beside --execution; give one of them", "--flow");
  }
  FF_TRY(types, read_list(arguments, "--type"));
  for (const std::string& word : types) {
    auto type = parse_event_type(word);
    if (!type) return fail(Errc::invalid_argument, "--type: " + type.error().message, "--type");
    filter.types.push_back(*type);
  }
  return filter;
}

Result<int> show_page(Target& target, const EventFilter& filter, const Arguments& arguments) {
  FF_TRY(limit, arguments.number("--limit", default_events, 1, limits::max_page));
  FF_TRY(page, target.events(filter, arguments.text("--cursor", "earliest"), static_cast<std::uint32_t>(limit), 0));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(page));
  } else if (page.events.empty()) {
    fmt::print("no events\n");
  } else {
    fmt::print("{}", events_table(page.events).render(stdout_look()));
    if (page.events.size() == limit) print_more(page.next_cursor, ", --follow waits for new events");
  }
  return 0;
}

void print_event(const Event& event, bool json) {
  if (json) {
    fmt::print("{}\n", to_json(event));
  } else {
    fmt::print("{}\n", event_line(event));
  }
}

// Prints events as they come. When it ends it says where to continue.
Result<int> follow(Target& target, const EventFilter& filter, const Arguments& arguments) {
  if (arguments.has("--limit")) {
    return fail(Errc::invalid_argument, "--limit: is for pages; --follow does not end by itself", "--limit");
  }
  const StopSignal stop;
  std::string cursor = arguments.text("--cursor", "");
  const auto say_where = [&] {
    std::fflush(stdout);
    if (!cursor.empty()) fmt::print(stderr, "flowfabric events: continue with --cursor {}\n", cursor);
  };
  while (!StopSignal::came()) {
    auto page = target.events(filter, cursor, limits::max_page, follow_wait_ms);
    if (!page) {
      say_where();
      return Unexpected(page.error());
    }
    for (const Event& event : page->events) print_event(event, arguments.has("--json"));
    std::fflush(stdout);
    cursor = std::move(page->next_cursor);
  }
  say_where();
  return exit_interrupted;
}

Result<int> run_events(const Arguments& arguments) {
  FF_TRY(filter, read_event_filter(arguments));
  FF_TRY(target, find_target(arguments));
  return arguments.has("--follow") ? follow(*target, filter, arguments) : show_page(*target, filter, arguments);
}

}  // namespace

std::vector<Command> event_commands() {
  return {
      {{"events",
        {},
        "show the event log",
        "Shows events of the store, oldest first, a page at a time. With --follow it prints new events as they come,\n"
        "one per line, until Ctrl-C; with --json too, each line is one document.",
        options_of_reading({{"--follow", "", "wait for new events and print them"},
                            {"--type", "TYPES", "only events of these types, like completed,failed", true},
                            {"--namespace", "NAME", "only events of this namespace"},
                            {"--lane", "NAME", "only events of this lane"},
                            {"--execution", "ID", "only events of this execution"},
                            {"--flow", "ID", "only events of this flow itself, not of its nodes"},
                            {"--limit", "N", fmt::format("page size ({})", default_events)},
                            {"--cursor", "CURSOR", "continue after an earlier event, or earliest"}})},
       run_events}};
}

}  // namespace flowfabric::cli
