// migrate, integrity.
#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/store_access.hpp"

namespace flowfabric::cli {
namespace {

constexpr int exit_findings = 1;

Result<int> run_migrate(const Arguments& arguments) {
  FF_TRY(url, store_url(arguments, true));
  FF_TRY_VOID(migrate_store(url));
  fmt::print("the schema is up to date\n");
  return 0;
}

Result<int> run_integrity(const Arguments& arguments) {
  FF_TRY(url, store_url(arguments, true));
  FF_TRY(store, open_for_reading(url));
  FF_TRY(findings, store->check_integrity());
  if (arguments.has("--json")) {
    fmt::print("{}\n", findings_to_json(findings));
  } else {
    for (const std::string& finding : findings) fmt::print("{}\n", finding);
    if (findings.empty()) fmt::print("no problems found\n");
  }
  return findings.empty() ? 0 : exit_findings;
}

}  // namespace

std::vector<Command> store_commands() {
  const OperandSpec url{"URL", 0, 1};
  return {
      {{"migrate",
        url,
        "migrate the schema of a store",
        "Applies the numbered migrations that the store does not have yet. SQLite files are also migrated whenever an\n"
        "engine opens them; a PostgreSQL database only here.",
        {store_option()}},
       run_migrate},
      {{"integrity",
        url,
        "check the consistency of a store",
        "Compares the tables of a store with each other and prints one line for each problem. The exit code is 1 if "
        "there\n"
        "is a problem.",
        {store_option(), json_option()}},
       run_integrity},
  };
}

}  // namespace flowfabric::cli
