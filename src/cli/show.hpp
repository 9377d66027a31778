// Executions and their events as text for people. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/json_out.hpp"
#include "cli/table.hpp"

namespace flowfabric::cli {

Table list_table(const std::vector<ExecutionSummary>& executions);
Table history_table(const std::vector<Event>& events);
Table steps_table(const std::vector<Step>& steps);
// The same for events of many executions.
Table events_table(const std::vector<Event>& events);
std::string event_line(const Event& event);
std::string show_text(const ShownExecution& shown, const Look& look);
std::string explain_text(const ExecutionDescription& description);

// ---- Parts of these texts.
std::string dash_if_empty(const std::string& text);
std::string tags_text(const Tags& tags);
std::string failure_text(const Failure& failure);
// User data on a terminal below a title: UTF-8 keeps its lines, everything else is shown as base64.
std::string bytes_text(const std::string& title, const std::string& bytes, const std::string& encoding);

}  // namespace flowfabric::cli
