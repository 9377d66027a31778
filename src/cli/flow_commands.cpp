// flows list, show, nodes, edges, graph, result, events.
#include <fstream>
#include <functional>
#include <iterator>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/filter.hpp"
#include "cli/flow_show.hpp"
#include "cli/json_out.hpp"
#include "cli/target.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t default_flows = 50;
constexpr std::uint32_t default_flow_page = 100;
constexpr const char* or_all_of_flow = ", or show everything with --all";

std::vector<OptionSpec> flow_filter_options() {
  return {{"--namespace", "NAME", "only flows of this namespace"},
          {"--kind", "NAME", "only flows of this kind"},
          {"--state", "STATES", "only flows in one of these states, like running,failed", true},
          {"--tag", "KEY=VALUE", "only flows with this tag"},
          {"--created-from", "TIME", "only flows submitted at this time or later"},
          {"--created-before", "TIME", "only flows submitted earlier"},
          {"--finished-from", "TIME", "only flows that ended at this time or later"},
          {"--finished-before", "TIME", "only flows that ended earlier"}};
}

bool has_flow_filter(const Arguments& arguments) {
  for (const OptionSpec& option : flow_filter_options()) {
    if (arguments.has(option.name)) return true;
  }
  return false;
}

Result<ListFlowsRequest> read_flow_filter(const Arguments& arguments) {
  ListFlowsRequest request;
  request.name_space = arguments.maybe("--namespace");
  request.kind = arguments.maybe("--kind");
  FF_TRY(states, read_list(arguments, "--state"));
  for (const std::string& word : states) {
    auto state = parse_flow_state(word);
    if (!state) return fail(Errc::invalid_argument, "--state: " + state.error().message, "--state");
    request.states.push_back(*state);
  }
  if (const auto tag = arguments.maybe("--tag")) {
    FF_TRY(parsed, parse_tag(*tag, "--tag"));
    request.tag = std::move(parsed);
  }
  FF_TRY_VOID(read_times(arguments, request));
  return request;
}

Result<FlowId> flow_operand(const Arguments& arguments) { return parse_flow_id(arguments.operands.front(), "ID"); }

Result<int> run_flows_list(const Arguments& arguments) {
  FF_TRY(request, read_flow_filter(arguments));
  FF_TRY(page, read_page_options(arguments, default_flows, limits::max_page));
  request.cursor = page.cursor;
  request.limit = page.limit;
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, target->flows(request));
  while (page.all && !reply.next_cursor.empty()) {
    request.cursor = reply.next_cursor;
    FF_TRY(more, target->flows(request));
    std::move(more.flows.begin(), more.flows.end(), std::back_inserter(reply.flows));
    reply.next_cursor = std::move(more.next_cursor);
  }
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(reply));
  } else if (reply.flows.empty()) {
    const bool narrowed = has_flow_filter(arguments) || !page.cursor.empty();
    fmt::print("{}\n", narrowed ? "no matching flows" : "this store has no flows yet");
  } else {
    fmt::print("{}", flows_table(reply.flows).render(stdout_look()));
    print_more(reply.next_cursor, or_all_of_flow);
  }
  return 0;
}

Result<int> run_flows_show(const Arguments& arguments) {
  FF_TRY(id, flow_operand(arguments));
  FF_TRY(target, find_target(arguments));
  ShownFlow shown;
  FF_TRY(description, target->describe_flow(id));
  shown.description = std::move(description);
  FF_TRY(graph, target->flow_graph(id));
  shown.graph = std::move(graph);
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(shown));
  } else {
    fmt::print("{}", flow_text(shown, stdout_look()));
  }
  return 0;
}

// One page of nodes or edges, or all pages after the cursor. `Entries` is the list in a reply.
template <class Reply, class Entry>
Result<Reply> pages_of(const PageOptions& options, std::vector<Entry> Reply::* entries,
                       const std::function<Result<Reply>(const std::string& cursor, std::uint32_t limit)>& read) {
  FF_TRY(reply, read(options.cursor, options.limit));
  while (options.all && !reply.next_cursor.empty()) {
    FF_TRY(more, read(reply.next_cursor, options.limit));
    std::move((more.*entries).begin(), (more.*entries).end(), std::back_inserter(reply.*entries));
    reply.next_cursor = std::move(more.next_cursor);
  }
  return reply;
}

template <class Reply>
void print_page(const Arguments& arguments, const Reply& reply, const Table& table, bool empty, const char* nothing) {
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(reply));
  } else if (empty) {
    fmt::print("{}\n", nothing);
  } else {
    fmt::print("{}", table.render(stdout_look()));
    print_more(reply.next_cursor, or_all_of_flow);
  }
}

Result<int> run_flows_nodes(const Arguments& arguments) {
  FF_TRY(id, flow_operand(arguments));
  FF_TRY(options, read_page_options(arguments, default_flow_page, limits::max_page));
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, (pages_of<FlowNodesReply, FlowNodeInfo>(options, &FlowNodesReply::nodes,
                                                        [&](const std::string& cursor, std::uint32_t limit) {
                                                          return target->flow_nodes(id, cursor, limit);
                                                        })));
  print_page(arguments, reply, flow_nodes_table(reply.nodes), reply.nodes.empty(), "no more nodes");
  return 0;
}

Result<int> run_flows_edges(const Arguments& arguments) {
  FF_TRY(id, flow_operand(arguments));
  FF_TRY(options, read_page_options(arguments, default_flow_page, limits::max_page));
  FF_TRY(target, find_target(arguments));
  FF_TRY(reply, (pages_of<FlowEdgesReply, FlowEdgeInfo>(options, &FlowEdgesReply::edges,
                                                        [&](const std::string& cursor, std::uint32_t limit) {
                                                          return target->flow_edges(id, cursor, limit);
                                                        })));
  print_page(arguments, reply, flow_edges_table(reply.edges), reply.edges.empty(), "no edges");
  return 0;
}

Result<int> run_flows_events(const Arguments& arguments) {
  FF_TRY(id, flow_operand(arguments));
  FF_TRY(options, read_page_options(arguments, default_flow_page, limits::max_page));
  FF_TRY(target, find_target(arguments));
  FF_TRY(page,
         (pages_of<EventPage, Event>(options, &EventPage::events, [&](const std::string& cursor, std::uint32_t limit) {
           return target->flow_history(id, cursor, limit);
         })));
  print_page(arguments, page, flow_history_table(page.events), page.events.empty(), "no more events");
  return 0;
}

Result<int> run_flows_result(const Arguments& arguments) {
  FF_TRY(id, flow_operand(arguments));
  FF_TRY(target, find_target(arguments));
  FF_TRY(result, target->flow_result(id, 0));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(result));
  } else {
    fmt::print("{}", flow_result_text(result));
  }
  return 0;
}

Result<std::string> read_format(const Arguments& arguments) {
  const std::string format = arguments.text("--format", "json");
  if (format != "json" && format != "dot" && format != "mermaid") {
    return fail(Errc::invalid_argument,
                fmt::format("--format: unknown value \"{}\"; allowed: json, dot, mermaid", format), "--format");
  }
  if (arguments.has("--json") && format != "json") {
    return fail(Errc::invalid_argument, "--json and --format " + format + " cannot be combined", "--format");
  }
  return format;
}

Result<void> write_graph_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out) return {};
  return fail(Errc::invalid_argument, "--output: cannot write " + path, "--output");
}

Result<int> run_flows_graph(const Arguments& arguments) {
  FF_TRY(id, flow_operand(arguments));
  FF_TRY(format, read_format(arguments));
  FF_TRY(target, find_target(arguments));
  FF_TRY(graph, target->flow_graph(id));
  const std::string text = format == "dot"       ? to_graphviz(graph)
                           : format == "mermaid" ? to_mermaid(graph)
                                                 : to_json(graph) + "\n";
  if (const auto path = arguments.maybe("--output")) {
    FF_TRY_VOID(write_graph_file(*path, text));
  } else {
    fmt::print("{}", text);
  }
  return 0;
}

std::vector<OptionSpec> flow_list_options() {
  std::vector<OptionSpec> options = flow_filter_options();
  for (OptionSpec& option : page_options(default_flows)) options.push_back(std::move(option));
  return options_of_reading(std::move(options));
}

}  // namespace

std::vector<Command> flow_commands() {
  const OperandSpec one{"ID", 1, 1};
  const std::vector<OptionSpec> paged = options_of_reading(page_options(default_flow_page));
  return {
      {{"flows list",
        {},
        "list flows, newest first",
        "Lists the flows that match all given options, newest first, a page at a time.",
        flow_list_options()},
       run_flows_list},
      {{"flows show", one, "show a flow and its graph",
        "Shows the state of a flow, its first failure, its cancellation, what holds it back, and its nodes in layers:\n"
        "each node is below all nodes on which it depends. Nodes on the critical path, which determined the time, "
        "have\n"
        "a *. Of wide layers and deep graphs a part is shown; `flows nodes` lists all nodes.\n"
        "With --json the field names are those of FlowDescription, with \"critical_path\".",
        options_of_reading({})},
       run_flows_show},
      {{"flows nodes", one, "list the nodes of a flow",
        "Lists the nodes of a flow with their executions, in the order of the request, a page at a time.", paged},
       run_flows_nodes},
      {{"flows edges", one, "list the edges of a flow",
        "Lists the edges of a flow with their states, in the order of their upstream nodes. The page size counts\n"
        "upstream nodes.",
        paged},
       run_flows_edges},
      {{"flows graph", one, "export the graph of a flow",
        "Writes the whole graph: as JSON, for Graphviz (dot), or for Mermaid, which GitHub and GitLab draw.",
        options_of_reading({{"--format", "FORMAT", "json, dot or mermaid (json)"},
                            {"--output", "FILE", "write to this file instead of stdout"}})},
       run_flows_graph},
      {{"flows result", one, "show what the last nodes of a flow returned",
        "Shows how a flow ended, and the results of its nodes without outgoing edges. Bytes that are valid UTF-8 are\n"
        "shown as text, others as base64.",
        options_of_reading({})},
       run_flows_result},
      {{"flows events", one, "list the events of a flow",
        "Lists the events of a flow itself, oldest first, a page at a time. `executions history` lists those of a "
        "node.",
        paged},
       run_flows_events},
  };
}

}  // namespace flowfabric::cli
