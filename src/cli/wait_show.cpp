#include "cli/wait_show.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"
#include "cli/show.hpp"
#include "cli/times.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::cli {
namespace {

std::string names_of_waitpoints(const std::vector<WaitpointInfo>& waitpoints) {
  std::vector<std::string> names;
  for (const WaitpointInfo& waitpoint : waitpoints) names.push_back(waitpoint.name);
  return dash_if_empty(join(names, ", "));
}

std::size_t count_decisions(const ApprovalInfo& approval, ApprovalDecision decision) {
  return static_cast<std::size_t>(std::count_if(approval.decisions.begin(), approval.decisions.end(),
                                                [&](const Decision& one) { return one.decision == decision; }));
}

std::string approvals_so_far(const ApprovalInfo& approval) {
  return fmt::format("{} of {}", count_decisions(approval, ApprovalDecision::approve), approval.needed);
}

std::string approvers_text(const ApprovalInfo& approval) {
  return approval.approvers.empty() ? "everybody" : join(approval.approvers, ", ");
}

std::string wait_text(const WaitInfo& wait, const Look& look) {
  Table table({{}, {}});
  table.add({{"wait"}, {fmt::format("{}", wait.number)}});
  table.add({{"reason"}, {dash_if_empty(wait.reason)}});
  table.add({{"since"}, time_cell(wait.since)});
  table.add({{"until"}, time_cell(wait.timeout_at)});
  if (wait.timeout_at != 0) table.add({{"then"}, {std::string(to_string(wait.on_timeout))}});
  if (wait.escalated) table.add({{"escalated"}, {"yes", Tone::bad}});
  table.add({{"condition"}, {wire::to_json(wait.condition)}});
  if (wait.veto) table.add({{"veto"}, {wire::to_json(*wait.veto)}});
  return "\nwhat it waits for\n" + table.render(look);
}

std::string approval_text(const WaitpointInfo& waitpoint, const Look& look) {
  const ApprovalInfo& approval = *waitpoint.approval;
  std::string text = fmt::format("\napproval \"{}\": {}\n", printable(waitpoint.name), printable(approval.title));
  text += fmt::format("  {} needed, {} rejections end it; may decide: {}\n", approval.needed, approval.rejections,
                      printable(approvers_text(approval)));
  if (!approval.decisions.empty()) {
    Table table({{"DECISION"}, {"BY"}, {"AT"}, {"COMMENT", false, true}});
    for (const Decision& decision : approval.decisions) {
      const bool approves = decision.decision == ApprovalDecision::approve;
      table.add({{std::string(to_string(decision.decision)), approves ? Tone::good : Tone::bad},
                 {decision.actor},
                 time_cell(decision.decided_at),
                 {dash_if_empty(decision.comment)}});
    }
    text += table.render(look);
  }
  if (!approval.context.empty()) text += bytes_text("context", approval.context, approval.context_encoding);
  return text;
}

Table signals_table(const std::vector<Signal>& signals) {
  Table table({{"SIGNAL", true}, {"WAITPOINT"}, {"NAME"}, {"SOURCE", false, true}, {"DELIVERED"}});
  for (const Signal& signal : signals) {
    table.add({number_cell(signal.number),
               {signal.waitpoint},
               {signal.name},
               {dash_if_empty(signal.source)},
               time_cell(signal.delivered_at)});
  }
  return table;
}

std::string outcome_sentence(const WaitOutcome& outcome) {
  std::string text =
      fmt::format("  Wait {} ended at {}: {}", outcome.number, format_time(outcome.ended_at), to_string(outcome.cause));
  if (!outcome.by.empty()) text += " " + printable(outcome.by);
  if (!outcome.reason.empty()) text += ", " + printable(outcome.reason);
  return text + fmt::format("; {} counted.\n", counted(outcome.signals.size(), "signal"));
}

}  // namespace

Table waits_table(const std::vector<WaitingExecution>& waits) {
  Table table({{"SINCE"},
               {"EXECUTION"},
               {"NAMESPACE", false, true},
               {"LANE", false, true},
               {"KIND", false, true},
               {"WAITPOINTS", false, true},
               {"UNTIL"},
               {"REASON", false, true}});
  for (const WaitingExecution& waiting : waits) {
    table.add({time_cell(waiting.since),
               {to_string(waiting.execution_id)},
               {waiting.name_space},
               {waiting.lane},
               {waiting.kind},
               {names_of_waitpoints(waiting.waitpoints)},
               time_cell(waiting.timeout_at),
               {dash_if_empty(waiting.reason), waiting.escalated ? Tone::bad : Tone::plain}});
  }
  return table;
}

Table approvals_table(const std::vector<WaitingExecution>& waits) {
  Table table({{"SINCE"},
               {"EXECUTION"},
               {"APPROVAL", false, true},
               {"TITLE", false, true},
               {"APPROVED"},
               {"MAY DECIDE", false, true},
               {"UNTIL"}});
  for (const WaitingExecution& waiting : waits) {
    for (const WaitpointInfo& waitpoint : waiting.waitpoints) {
      if (!waitpoint.approval) continue;
      table.add({time_cell(waiting.since),
                 {to_string(waiting.execution_id)},
                 {waitpoint.name},
                 {waitpoint.approval->title},
                 {approvals_so_far(*waitpoint.approval)},
                 {approvers_text(*waitpoint.approval)},
                 time_cell(waiting.timeout_at)});
    }
  }
  return table;
}

Table waitpoints_table(const std::vector<WaitpointInfo>& waitpoints) {
  Table table(
      {{"WAITPOINT"}, {"NUMBER", true}, {"OPENED"}, {"WAITED FOR"}, {"SIGNALS", true}, {"APPROVAL", false, true}});
  for (const WaitpointInfo& waitpoint : waitpoints) {
    table.add({{waitpoint.name},
               number_cell(waitpoint.number),
               time_cell(waitpoint.opened_at),
               {waitpoint.waited_for ? "yes" : "no"},
               {fmt::format("{}", waitpoint.signals)},
               {waitpoint.approval ? waitpoint.approval->title : "-"}});
  }
  return table;
}

std::string waits_text(const ExecutionWaits& waits, const Look& look) {
  std::string text;
  if (waits.wait) text += wait_text(*waits.wait, look);
  if (!waits.waitpoints.empty()) text += "\n" + waitpoints_table(waits.waitpoints).render(look);
  for (const WaitpointInfo& waitpoint : waits.waitpoints) {
    if (waitpoint.approval) text += approval_text(waitpoint, look);
  }
  if (!waits.signals.empty()) text += "\n" + signals_table(waits.signals).render(look);
  if (waits.last_wait) text += "\nits last wait\n" + outcome_sentence(*waits.last_wait);
  return text;
}

std::string signal_sentence(const SignalReply& reply) {
  const std::string id = to_string(reply.execution_id);
  const std::string again = reply.duplicate ? " (it was delivered before)" : "";
  switch (reply.effect) {
    case SignalEffect::kept: return fmt::format("{} keeps the signal for its next wait there{}\n", id, again);
    case SignalEffect::accepted: return fmt::format("{} has the signal and waits for more{}\n", id, again);
    case SignalEffect::resumed: return fmt::format("{} has the signal and goes on{}\n", id, again);
    case SignalEffect::ignored: break;
  }
  return fmt::format("{} has ignored the signal: it makes no difference to the wait\n", id);
}

}  // namespace flowfabric::cli
