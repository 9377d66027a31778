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

}  // namespace flowfabric::cli
