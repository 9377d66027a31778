// One action on many executions: given by id or selected by a filter, with confirmation, progress and a report. The
// action itself is in api/bulk.hpp.
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
