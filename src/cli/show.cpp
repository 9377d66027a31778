#include "cli/show.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "base/hashing.hpp"
#include "base/text.hpp"
#include "cli/times.hpp"
#include "cli/wait_show.hpp"

namespace flowfabric::cli {

std::string dash_if_empty(const std::string& text) { return text.empty() ? "-" : text; }

std::string tags_text(const Tags& tags) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : tags) parts.push_back(key + "=" + value);
  return dash_if_empty(join(parts, ", "));
}

std::string failure_text(const Failure& failure) {
  std::string text = failure.category;
  if (!failure.message.empty()) text += ": " + failure.message;
  return text;
}

std::string bytes_text(const std::string& title, const std::string& bytes, const std::string& encoding) {
  std::string text = fmt::format("\n{} ({} bytes{})\n", title, bytes.size(), encoding.empty() ? "" : ", " + encoding);
  if (bytes.empty()) return text;
  if (!is_valid_utf8(bytes)) return text + to_base64(bytes) + "\n";
  std::string lines;
  for (std::size_t begin = 0; begin <= bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    lines += printable(bytes.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return text + lines;
}

namespace {

Table fields() { return Table({{}, {}}); }

void add_summary(const ExecutionDescription& description, Table& to) {
  const ExecutionSummary& summary = description.summary;
  to.add({{"execution"}, {to_string(summary.execution_id)}});
  to.add({{"state"}, state_cell(summary.public_state)});
  to.add({{"namespace"}, {summary.name_space}});
  to.add({{"lane"}, {summary.lane}});
  to.add({{"kind"}, {summary.kind}});
  if (summary.flow_id) {
    to.add({{"flow"}, {to_string(*summary.flow_id)}});
    to.add({{"node"}, {summary.node}});
  }
  to.add({{"priority"}, {fmt::format("{}", summary.priority)}});
  to.add({{"tags"}, {tags_text(summary.tags)}});
  to.add({{"creator"}, {dash_if_empty(description.creator)}});
  to.add({{"payload"}, {fmt::format("{} bytes {}", description.payload_bytes, description.payload_encoding)}});
  if (const auto& key = description.submit_key) {
    const std::string held = key->held ? "" : key->kind == SubmitKeyKind::throttle ? "" : " (free)";
    to.add({{fmt::format("{} key", to_string(key->kind))}, {key->key + held}});
  }
  to.add({{"capabilities"}, {dash_if_empty(join(description.required_capabilities, ", "))}});
  to.add({{"created"}, time_cell(summary.created_at)});
  to.add({{"started"}, time_cell(summary.started_at)});
  to.add({{"finished"}, time_cell(summary.finished_at)});
  if (description.delay_until != 0) to.add({{"delayed until"}, time_cell(description.delay_until)});
  if (description.deadline_at != 0) to.add({{"deadline"}, time_cell(description.deadline_at)});
  to.add({{"last transition"}, time_cell(description.last_transition_at)});
  to.add({{"last change"}, time_cell(description.last_mutation_at)});
  to.add({{"counts"},
          {fmt::format("attempts {}, retries {}, reclaims {}, replays {}", summary.attempt_count,
                       description.retry_count, description.reclaim_count, description.replay_count)}});
}

void add_vector(const StateVector& state, Table& to) {
  to.add({{"lifecycle phase"}, {std::string(to_string(state.lifecycle_phase))}});
  to.add({{"ownership"}, {std::string(to_string(state.ownership_state))}});
  to.add({{"eligibility"}, {std::string(to_string(state.eligibility_state))}});
  to.add({{"blocking reason"}, {std::string(to_string(state.blocking_reason))}});
  to.add({{"outcome"}, {std::string(to_string(state.terminal_outcome))}});
  to.add({{"attempt state"}, {std::string(to_string(state.attempt_state))}});
}

std::string progress_text(const Progress& progress) {
  std::string text = progress.percent ? fmt::format("{}% ", *progress.percent) : "";
  if (!progress.message.empty()) text += progress.message + " ";
  return text + "at " + format_time(progress.updated_at);
}

void add_details(const ExecutionDescription& description, Table& to) {
  if (const auto& lease = description.lease) {
    to.add({{"lease"}, {to_string(lease->lease_id)}});
    to.add({{"  held by"}, {lease->worker_instance_id + " (" + lease->worker_id + ")"}});
    to.add({{"  until"},
            {format_time(lease->expires_at) + ", " + format_duration(lease->lease_ttl_ms) + " from each renewal"}});
    to.add({{"  acquired"}, time_cell(lease->acquired_at)});
    to.add({{"  renewed"}, time_cell(lease->renewed_at)});
  }
  to.add({{"lease epoch"}, {fmt::format("{}", description.lease_epoch)}});
  if (description.progress) to.add({{"progress"}, {progress_text(*description.progress)}});
  if (description.failure) to.add({{"failure"}, {failure_text(*description.failure), Tone::bad}});
  if (!description.cancelled_by.empty()) {
    to.add({{"cancelled by"}, {description.cancelled_by}});
    to.add({{"  because"}, {dash_if_empty(description.cancellation_reason)}});
  }
  to.add({{"policy"}, {policy_to_json(description.policy)}});
}

Table attempts_table(const std::vector<Attempt>& attempts) {
  Table table({{"ATTEMPT", true},
               {"TYPE"},
               {"STATE"},
               {"EPOCH", true},
               {"WORKER", false, true},
               {"STARTED"},
               {"ENDED"},
               {"WHY", false, true},
               {"FAILURE", false, true}});
  for (const Attempt& attempt : attempts) {
    table.add({{fmt::format("{}", attempt.attempt_index)},
               {std::string(to_string(attempt.attempt_type))},
               {std::string(to_string(attempt.attempt_state))},
               {fmt::format("{}", attempt.lease_epoch)},
               {attempt.worker_instance_id},
               time_cell(attempt.started_at),
               time_cell(attempt.ended_at),
               {dash_if_empty(attempt.reason)},
               {attempt.failure ? failure_text(*attempt.failure) : "-"}});
  }
  return table;
}

// What happened when, and how long it took: attempts, and below each the steps that it recorded.
using Timeline = std::multimap<TimestampMs, std::vector<Cell>>;

void add_attempt(const Attempt& attempt, Timeline& to) {
  if (attempt.started_at == 0) return;
  const std::string took = attempt.ended_at == 0 ? "-" : format_duration(attempt.ended_at - attempt.started_at);
  std::string what = fmt::format("attempt {} on {}: {}", attempt.attempt_index, attempt.worker_instance_id,
                                 to_string(attempt.attempt_state));
  if (attempt.failure) what += ", " + failure_text(*attempt.failure);
  to.insert(
      {attempt.started_at, {time_cell(attempt.started_at), {took}, {what, attempt.failure ? Tone::bad : Tone::plain}}});
}

std::string outcome_text(const Step& step) {
  if (step.state == StepState::sleep) return "sleep until " + format_time(step.wake_at);
  std::string text(to_string(step.state));
  if (step.failure) text += ", " + failure_text(*step.failure);
  if (step.tries > 1) text += fmt::format(" after {} tries", step.tries);
  return text;
}

// A sleep lasts until its time has come, everything else until it was recorded.
std::int64_t duration_of(const Step& step) {
  return step.state == StepState::sleep ? step.wake_at - step.recorded_at : step.duration_ms;
}

Tone tone_of(const Step& step) { return step.state == StepState::failed ? Tone::bad : Tone::plain; }

void add_step(const Step& step, Timeline& to) {
  const TimestampMs from = step.state == StepState::sleep ? step.recorded_at : step.recorded_at - step.duration_ms;
  const std::string what = fmt::format("  step {} {}: {}", step.position, step.name, outcome_text(step));
  to.insert({from, {time_cell(from), {format_duration(duration_of(step))}, {what, tone_of(step)}}});
}

std::string timeline_text(const ShownExecution& shown, const Look& look) {
  Timeline timeline;
  for (const Attempt& attempt : shown.description.attempts) add_attempt(attempt, timeline);
  for (const Step& step : shown.steps.steps) add_step(step, timeline);
  if (timeline.empty()) return "";
  Table table({{"FROM"}, {"TOOK", true}, {"TIMELINE", false, true}});
  for (auto& [from, row] : timeline) table.add(std::move(row));
  std::string text = "\n" + table.render(look);
  if (shown.steps.next_position != 0) {
    text += fmt::format("... and more steps: flowfabric executions steps {} --cursor {}\n",
                        to_string(shown.description.summary.execution_id), shown.steps.next_position);
  }
  return text;
}

std::string reasons_text(const ExecutionDescription& description) {
  std::string text;
  for (const Reason& reason : description.explain) text += "  " + printable(reason.sentence) + "\n";
  if (!text.empty()) return text;
  if (!description.lease) return "  It is running.\n";
  return fmt::format("  It is running: {} holds its lease until {}.\n",
                     printable(description.lease->worker_instance_id), format_time(description.lease->expires_at));
}

}  // namespace

Table list_table(const std::vector<ExecutionSummary>& executions) {
  Table table({{"EXECUTION"},
               {"STATE"},
               {"NAMESPACE", false, true},
               {"LANE", false, true},
               {"KIND", false, true},
               {"PRIORITY", true},
               {"ATTEMPTS", true},
               {"CREATED"},
               {"FINISHED"}});
  for (const ExecutionSummary& execution : executions) {
    table.add({{to_string(execution.execution_id)},
               execution.damage ? Cell{"damaged", Tone::bad} : state_cell(execution.public_state),
               {execution.name_space},
               {execution.lane},
               {execution.kind},
               {fmt::format("{}", execution.priority)},
               number_cell(execution.attempt_count),
               time_cell(execution.created_at),
               time_cell(execution.finished_at)});
  }
  return table;
}

Table steps_table(const std::vector<Step>& steps) {
  Table table({{"STEP", true},
               {"NAME", false, true},
               {"OUTCOME", false, true},
               {"TOOK", true},
               {"RECORDED"},
               {"ATTEMPT", true},
               {"WORKER", false, true},
               {"RESULT", true}});
  for (const Step& step : steps) {
    table.add({{fmt::format("{}", step.position)},
               {step.name},
               {outcome_text(step), tone_of(step)},
               {format_duration(duration_of(step))},
               time_cell(step.recorded_at),
               {fmt::format("{}", step.attempt_index)},
               {step.worker_instance_id},
               {counted(step.result.size(), "byte")}});
  }
  return table;
}

Table history_table(const std::vector<Event>& events) {
  Table table({{"AT"},
               {"EVENT"},
               {"STATE"},
               {"ATTEMPT", true},
               {"EPOCH", true},
               {"ACTOR", false, true},
               {"REASON", false, true},
               {"NEXT AT"}});
  for (const Event& event : events) {
    table.add({time_cell(event.at),
               {std::string(to_string(event.type))},
               state_cell(event.state_after),
               {event.attempt_index ? fmt::format("{}", *event.attempt_index) : "-"},
               number_cell(event.lease_epoch),
               {dash_if_empty(event.actor)},
               {dash_if_empty(event.reason)},
               time_cell(event.next_at)});
  }
  return table;
}

// What an event is about: an execution, a flow, a worker, a lane or a namespace.
static std::string subject_of(const Event& event) {
  if (event.execution_id) return to_string(*event.execution_id);
  if (event.flow_id) return to_string(*event.flow_id);
  for (const std::string& name : {event.worker_instance_id, event.lane, event.name_space}) {
    if (!name.empty()) return name;
  }
  return "-";
}

Table events_table(const std::vector<Event>& events) {
  Table table({{"AT"},
               {"EVENT"},
               {"SUBJECT", false, true},
               {"NAMESPACE", false, true},
               {"LANE", false, true},
               {"ACTOR", false, true},
               {"REASON", false, true}});
  for (const Event& event : events) {
    table.add({time_cell(event.at),
               {std::string(to_string(event.type))},
               {subject_of(event)},
               {dash_if_empty(event.name_space)},
               {dash_if_empty(event.lane)},
               {dash_if_empty(event.actor)},
               {dash_if_empty(event.reason)}});
  }
  return table;
}

std::string event_line(const Event& event) {
  return printable(fmt::format("{}  {:<16}  {}  {}  {}", format_time(event.at), to_string(event.type),
                               subject_of(event), dash_if_empty(event.actor), dash_if_empty(event.reason)));
}

std::string explain_text(const ExecutionDescription& description) {
  return fmt::format("{}: {}\n{}", to_string(description.summary.execution_id),
                     to_string(description.summary.public_state), reasons_text(description));
}

std::string show_text(const ShownExecution& shown, const Look& look) {
  const ExecutionDescription& description = shown.description;
  Table table = fields();
  add_summary(description, table);
  add_vector(description.state, table);
  add_details(description, table);
  std::string text = table.render(look) + "\nwhy it is not running\n" + reasons_text(description);
  if (shown.waits) text += waits_text(*shown.waits, look);
  const std::size_t listed = description.attempts.size();
  if (listed > 0) text += "\n" + attempts_table(description.attempts).render(look);
  if (listed < description.summary.attempt_count) {
    text += fmt::format("... and {} more\n", counted(description.summary.attempt_count - listed, "attempt"));
  }
  text += timeline_text(shown, look);
  if (description.failure && !description.failure->detail.empty()) {
    text += bytes_text("failure detail", description.failure->detail, "");
  }
  if (shown.context) text += bytes_text("payload", shown.context->payload, shown.context->payload_encoding);
  if (shown.result) text += bytes_text("result", shown.result->result, shown.result->result_encoding);
  return text;
}

}  // namespace flowfabric::cli
