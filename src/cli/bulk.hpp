// One action on many executions: named one by one or chosen by a filter, after asking, with progress and a report. What
// the action is and does is in api/bulk.hpp.
#pragma once

#include <string>
#include <vector>

#include "api/bulk.hpp"
#include "cli/arguments.hpp"

namespace flowfabric::cli {

struct BulkAction {
  api::BulkOrder order{};
  std::string request{};  // "cancel", before "3 executions?"
  std::string past{};     // "cancelled", after "3 executions"
};

struct BulkReport : api::BulkTally {
  std::string action{};
  bool dry_run = false;
  bool interrupted = false;
};

std::vector<OptionSpec> bulk_options();

Result<int> run_bulk(const BulkAction& action, const Arguments& arguments);

}  // namespace flowfabric::cli
