#include "cli/flow_show.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "cli/flow_layers.hpp"
#include "cli/show.hpp"
#include "cli/times.hpp"

namespace flowfabric::cli {
namespace {

std::string first_failure_text(const FlowFailure& failure) {
  std::string text = fmt::format("node {} {}", failure.node, to_string(failure.outcome));
  if (!failure.category.empty()) text += ": " + failure.category;
  return text;
}

std::string cancellation_text(const FlowCancellation& cancellation) {
  std::string text = fmt::format("{} because of the {}", to_string(cancellation.policy), cancellation.cause);
  if (cancellation.cause == "operator") {
    text = fmt::format("{} by {}", to_string(cancellation.policy), dash_if_empty(cancellation.by));
  }
  if (cancellation.run_cleanup) text += ", cleanup nodes run";
  text += ", at " + format_time(cancellation.at);
  if (cancellation.cause == "operator" && !cancellation.reason.empty()) text += ": " + cancellation.reason;
  return text;
}

void add_flow(const FlowDescription& description, Table& to) {
  const FlowSummary& summary = description.summary;
  to.add({{"flow"}, {to_string(summary.flow_id)}});
  to.add({{"state"}, flow_state_cell(summary.state)});
  to.add({{"namespace"}, {summary.name_space}});
  to.add({{"kind"}, {summary.kind}});
  to.add({{"tags"}, {tags_text(summary.tags)}});
  to.add({{"creator"}, {dash_if_empty(description.creator)}});
  to.add({{"nodes"}, {counts_text(summary.counts)}});
  to.add({{"edges"}, {fmt::format("{}", description.edge_count)}});
  to.add({{"failure policy"}, {std::string(to_string(description.failure_policy))}});
  to.add({{"created"}, time_cell(summary.created_at)});
  to.add({{"finished"}, time_cell(summary.finished_at)});
  if (summary.finished_at != 0) to.add({{"took"}, {rounded_duration(summary.finished_at - summary.created_at)}});
  if (description.deadline_at != 0) to.add({{"deadline"}, time_cell(description.deadline_at)});
  if (description.retain_until != 0) to.add({{"kept until"}, time_cell(description.retain_until)});
  to.add({{"last change"}, time_cell(description.last_mutation_at)});
}

void add_problems(const FlowDescription& description, Table& to) {
  if (const auto& failure = description.first_failure) {
    to.add({{"first failure"}, {first_failure_text(*failure), Tone::bad}});
    to.add({{"  execution"}, {to_string(failure->execution_id)}});
    to.add({{"  unhandled"}, {counted(description.unhandled_failures, "failure")}});
  }
  if (description.cancellation) to.add({{"cancellation"}, {cancellation_text(*description.cancellation)}});
}

std::string output_text(const FlowOutput& output) {
  if (output.by_reference) {
    return fmt::format("\n{}: {}\nthe result is too large for this reply: flowfabric executions show {} --result\n",
                       printable(output.node), to_string(output.outcome), to_string(output.execution_id));
  }
  return bytes_text(fmt::format("{}: {}", printable(output.node), to_string(output.outcome)), output.result,
                    output.result_encoding);
}

// Why it waits, or why it failed.
std::string remark_on(const FlowNodeInfo& node) {
  if (node.failure) return failure_text(*node.failure);
  if (!node.waits_for.empty()) return "waits for " + join(node.waits_for, ", ");
  return "-";
}

}  // namespace

Cell flow_state_cell(FlowState state) {
  const std::string text(to_string(state));
  switch (state) {
    case FlowState::completed: return {text, Tone::good};
    case FlowState::failed: return {text, Tone::bad};
    case FlowState::running: return {text, Tone::busy};
    case FlowState::cancelled: return {text, Tone::quiet};
    default: return {text, Tone::plain};
  }
}

std::string counts_text(const FlowCounts& counts) {
  std::string text = counted(counts.total, "node");
  const std::pair<const char*, std::uint32_t> parts[] = {{"pending", counts.pending}, {"succeeded", counts.succeeded},
                                                         {"failed", counts.failed},   {"cancelled", counts.cancelled},
                                                         {"expired", counts.expired}, {"skipped", counts.skipped}};
  for (const auto& [name, count] : parts) {
    if (count > 0) text += fmt::format(", {} {}", count, name);
  }
  return text;
}

Table flows_table(const std::vector<FlowSummary>& flows) {
  Table table({{"FLOW"},
               {"STATE"},
               {"NAMESPACE", false, true},
               {"KIND", false, true},
               {"NODES", true},
               {"PENDING", true},
               {"FAILED", true},
               {"CREATED"},
               {"FINISHED"}});
  for (const FlowSummary& flow : flows) {
    const std::uint32_t failed = flow.counts.failed + flow.counts.expired;
    table.add({{to_string(flow.flow_id)},
               flow.damage ? Cell{"damaged", Tone::bad} : flow_state_cell(flow.state),
               {flow.name_space},
               {flow.kind},
               number_cell(flow.counts.total),
               number_cell(flow.counts.pending),
               {fmt::format("{}", failed), failed > 0 ? Tone::bad : Tone::quiet},
               time_cell(flow.created_at),
               time_cell(flow.finished_at)});
  }
  return table;
}

Table flow_nodes_table(const std::vector<FlowNodeInfo>& nodes) {
  Table table({{"NUMBER", true},
               {"NODE", false, true},
               {"STATE"},
               {"EXECUTION"},
               {"KIND", false, true},
               {"LANE", false, true},
               {"ATTEMPTS", true},
               {"STARTED"},
               {"FINISHED"},
               {"REMARK", false, true}});
  for (const FlowNodeInfo& node : nodes) {
    table.add({{fmt::format("{}", node.ordinal)},
               {node.name},
               state_cell(node.public_state),
               {to_string(node.execution_id)},
               {node.kind},
               {node.lane},
               number_cell(node.attempt_count),
               time_cell(node.started_at),
               time_cell(node.finished_at),
               {remark_on(node), node.failure ? Tone::bad : Tone::plain}});
  }
  return table;
}

Table flow_edges_table(const std::vector<FlowEdgeInfo>& edges) {
  Table table({{"FROM", false, true}, {"TO", false, true}, {"KIND"}, {"GROUP", false, true}, {"STATE"}});
  for (const FlowEdgeInfo& edge : edges) {
    const Tone tone = edge.state == EdgeState::satisfied       ? Tone::good
                      : edge.state == EdgeState::unsatisfiable ? Tone::quiet
                                                               : Tone::plain;
    table.add({{edge.from},
               {edge.to},
               {std::string(to_string(edge.kind))},
               {dash_if_empty(edge.group)},
               {std::string(to_string(edge.state)), tone}});
  }
  return table;
}

Table flow_history_table(const std::vector<Event>& events) {
  Table table({{"AT"}, {"EVENT"}, {"ACTOR", false, true}, {"REASON", false, true}});
  for (const Event& event : events) {
    table.add({time_cell(event.at),
               {std::string(to_string(event.type))},
               {dash_if_empty(event.actor)},
               {dash_if_empty(event.reason)}});
  }
  return table;
}

std::string flow_text(const ShownFlow& shown, const Look& look) {
  Table table({{}, {}});
  add_flow(shown.description, table);
  add_problems(shown.description, table);
  std::string text = table.render(look);
  if (!shown.description.explain.empty()) {
    text += "\nwhat holds it back\n";
    for (const Reason& reason : shown.description.explain) text += "  " + printable(reason.sentence) + "\n";
  }
  text += "\n" + layers_text(shown.graph, look);
  if (!shown.graph.critical_path.empty()) {
    text += "\n* critical path: " + printable(critical_path_text(shown.graph)) + "\n";
  }
  return text;
}

std::string flow_end_text(const FlowResult& result) {
  std::string text = fmt::format("{} {} {}: {}", to_string(result.flow_id), has_ended(result.state) ? "ended as" : "is",
                                 to_string(result.state), counts_text(result.counts));
  if (result.first_failure) text += "; first failure: " + first_failure_text(*result.first_failure);
  return printable(text) + "\n";
}

std::string flow_result_text(const FlowResult& result) {
  std::string text = flow_end_text(result);
  for (const FlowOutput& output : result.outputs) text += output_text(output);
  return text;
}

}  // namespace flowfabric::cli
