// Waits, signals and approvals as text for people. Pure functions.
#pragma once

#include <string>
#include <vector>

#include <flowfabric/signals.hpp>

#include "cli/table.hpp"

namespace flowfabric::cli {

Table waits_table(const std::vector<WaitingExecution>& waits);
// One row for each approval that they wait for.
Table approvals_table(const std::vector<WaitingExecution>& waits);
Table waitpoints_table(const std::vector<WaitpointInfo>& waitpoints);
// Empty if there is nothing to tell.
std::string waits_text(const ExecutionWaits& waits, const Look& look);
std::string signal_sentence(const SignalReply& reply);

}  // namespace flowfabric::cli
