// migrate, integrity.
#include <functional>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/store_access.hpp"
#include "cli/table.hpp"
#include "engine/integrity.hpp"

namespace flowfabric::cli {
namespace {

constexpr int exit_findings = 1;

Result<int> run_migrate(const Arguments& arguments) {
  FF_TRY(url, store_url(arguments, true));
  FF_TRY_VOID(migrate_store(url));
  fmt::print("the schema is up to date\n");
  return 0;
}

// What an integrity check found and did. The lists are bounded, the numbers are not.
struct Checkup {
  std::vector<std::string> findings;  // that stand
  std::vector<std::string> repairs;
  IntegritySummary summary;

  std::uint64_t left() const { return summary.problems - summary.repaired; }
};

Result<Checkup> check_up(Store& store, bool repair, const std::function<void(const std::string&)>& tell) {
  Checkup checkup;
  const auto keep = [&](const IntegrityFinding& found) {
    const bool repaired = !found.repair.empty();
    std::vector<std::string>& list = repaired ? checkup.repairs : checkup.findings;
    if (list.size() >= limits::max_findings) return;
    list.push_back(repaired ? found.problem + ": " + found.repair : found.problem);
    tell(list.back());
  };
  FF_TRY(summary, check_integrity(store, repair, keep));
  checkup.summary = summary;
  return checkup;
}

void print_summary(const Checkup& checkup) {
  const IntegritySummary& summary = checkup.summary;
  if (summary.problems == 0) return fmt::print("no problems found\n");
  fmt::print("{} found in {}", counted(summary.problems, "problem"), counted(summary.records, "record"));
  if (summary.repaired > 0) fmt::print(", {} repaired", summary.repaired);
  fmt::print("\n");
}

Result<int> run_integrity(const Arguments& arguments) {
  FF_TRY(url, store_url(arguments, true));
  const bool repair = arguments.has("--repair");
  const bool json = arguments.has("--json");
  FF_TRY(store, repair ? open_for_repair(url) : open_for_reading(url));
  const auto tell = [&](const std::string& sentence) {
    if (!json) fmt::print("{}\n", sentence);
  };
  FF_TRY(checkup, check_up(*store, repair, tell));
  if (json) {
    IntegrityReport report{checkup.findings, {}};
    if (repair) report.repairs = checkup.repairs;
    fmt::print("{}\n", to_json(report));
  } else {
    print_summary(checkup);
  }
  return checkup.left() == 0 ? 0 : exit_findings;
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
        "Reads every record, compares the indexes with the records and prints one line for each problem. Servers may\n"
        "keep running. --repair corrects wrong index entries and listings and removes data without a record; records\n"
        "that cannot be decoded and missing payloads or results can only be reported. The exit code is 1 if a problem\n"
        "remains.",
        {store_option(), {"--repair", "", "correct the indexes and report what was done"}, json_option()}},
       run_integrity},
  };
}

}  // namespace flowfabric::cli
