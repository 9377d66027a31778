#include "cli/demo_report.hpp"

#include <array>
#include <unordered_map>

#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/terminal.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::uint32_t page = 1000;

// Sums for one job type. Actual and expected sums have the same type, so that they can be compared.
struct Sums {
  std::uint64_t ended = 0;  // with the expected state
  std::uint64_t attempts = 0;
  std::uint64_t retries = 0;
  std::uint64_t reclaims = 0;

  void add(const Fate& fate, bool as_it_must) {
    ended += as_it_must ? 1 : 0;
    attempts += fate.attempts;
    retries += fate.retries;
    reclaims += fate.reclaims;
  }
  friend bool operator==(const Sums&, const Sums&) = default;
};

using Listing = std::unordered_map<ExecutionId, ExecutionSummary>;

class Report {
 public:
  Report(const Stage& stage, const Tally& tally) : stage_(stage), tally_(tally) {}

  Result<std::vector<std::string>> run() {
    FF_TRY(listing, list());
    for (const Job& job : stage_.plan.jobs()) FF_TRY_VOID(check(job, listing));
    if (listing.size() != stage_.plan.jobs().size()) {
      offend(fmt::format("the store lists {} executions instead of {}", listing.size(), stage_.plan.jobs().size()));
    }
    FF_TRY_VOID(check_counts());
    print_table();
    print_totals();
    return std::move(offenders_);
  }

 private:
  void offend(std::string sentence) { offenders_.push_back(std::move(sentence)); }

  Result<Listing> list() {
    Listing listing;
    ListRequest request;
    request.name_space = stage_.plan.run();
    request.limit = page;
    do {
      FF_TRY(reply, stage_.engine.list_executions(request));
      for (const ExecutionSummary& summary : reply.executions) {
        if (!listing.emplace(summary.execution_id, summary).second) {
          offend(to_string(summary.execution_id) + " is listed twice");
        }
      }
      request.cursor = reply.next_cursor;
    } while (!request.cursor.empty());
    return listing;
  }

  Result<void> check(const Job& job, const Listing& listing) {
    const Fate must = Plan::fate(job);
    const auto kind = static_cast<std::size_t>(job.kind);
    must_[kind].add(must, true);
    ++made_[kind];
    const ExecutionId& id = stage_.ids[job.number];
    const std::string name = fmt::format("{} ({})", to_string(id), to_string(job.kind));
    const auto found = listing.find(id);
    if (found == listing.end()) {
      offend(name + " is missing");
      return {};
    }
    FF_TRY(description, stage_.engine.describe_execution(id));
    const Fate happened{description.summary.public_state, description.summary.attempt_count, description.retry_count,
                        description.reclaim_count};
    happened_[kind].add(happened, happened.end == must.end);
    ++ended_as_[happened.end];
    compare(name, "its record has", happened, must);
    compare(name, "the listing has",
            {found->second.public_state, found->second.attempt_count, must.retries, must.reclaims}, must);
    check_story(job, name, must);
    if (must.end != PublicState::completed) return {};
    FF_TRY(result, stage_.engine.get_execution_result(id));
    if (result.result != stage_.plan.result(job)) offend(name + " has the result of another execution");
    return {};
  }

  void check_story(const Job& job, const std::string& name, const Fate& must) {
    const Story story = tally_.story(stage_.ids[job.number]);
    compare(name, "the event log has", {story.state, story.claims, story.retries, story.lease_losses}, must);
    if (story.ends != 1) offend(fmt::format("{} ended {} times in the event log", name, story.ends));
    if (story.started_early) offend(name + " was started too early");
    const std::uint32_t pauses = job.kind == JobKind::pausing ? 1 : 0;
    if (story.pauses != pauses) offend(fmt::format("{} paused {} times instead of {}", name, story.pauses, pauses));
  }

  void compare(const std::string& name, const char* source, const Fate& happened, const Fate& must) {
    if (happened == must) return;
    const auto words = [](const Fate& fate) {
      return fmt::format("{} after {} attempts, {} retries, {} reclaims", to_string(fate.end), fate.attempts,
                         fate.retries, fate.reclaims);
    };
    offend(fmt::format("{}: {} {}; expected {}", name, source, words(happened), words(must)));
  }

  Result<void> check_counts() {
    std::map<PublicState, std::uint64_t> counted;
    FF_TRY(lanes, stage_.engine.count_executions(stage_.plan.run()));
    for (const LaneCounts& lane : lanes) {
      for (const auto& [state, count] : lane.counts) counted[state] += count;
    }
    std::map<PublicState, std::uint64_t> must;
    for (const Job& job : stage_.plan.jobs()) ++must[Plan::fate(job).end];
    std::erase_if(counted, [](const auto& entry) { return entry.second == 0; });
    if (counted != must) offend("the counts by state differ from the plan");
    return {};
  }

  void print_table() const {
    const bool colour = stdout_look().colour;
    fmt::print("{:<9}{:>8}  {:<9}{:>12}{:>12}{:>11}{:>9}\n", "kind", "created", "expected", "ended so", "attempts",
               "retries", "reclaims");
    for (std::size_t i = 0; i < job_kinds; ++i) {
      if (made_[i] == 0) continue;
      const auto kind = static_cast<JobKind>(i);
      const bool good = happened_[i] == must_[i];
      const auto pair = [](std::uint64_t happened, std::uint64_t must) { return fmt::format("{}/{}", happened, must); };
      const Sums &happened = happened_[i], &must = must_[i];
      fmt::print("{:<9}{:>8}  {:<9}{:>12}{:>12}{:>11}{:>9}  {}{}{}\n", to_string(kind), made_[i],
                 to_string(Plan::fate({kind, 0, 0}).end), pair(happened.ended, must.ended),
                 pair(happened.attempts, must.attempts), pair(happened.retries, must.retries),
                 pair(happened.reclaims, must.reclaims), colour ? (good ? "\x1b[32m" : "\x1b[31m") : "",
                 good ? "ok" : "WRONG", colour ? "\x1b[0m" : "");
    }
    fmt::print("(actual/expected)\n\n");
  }

  void print_totals() const {
    std::string text;
    for (const auto& [state, count] : ended_as_) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(state));
    }
    fmt::print("{} executions: {}; {} events\n", stage_.plan.jobs().size(), text, tally_.events());
  }

  const Stage& stage_;
  const Tally& tally_;
  std::vector<std::string> offenders_;
  std::array<std::uint64_t, job_kinds> made_{};
  std::array<Sums, job_kinds> happened_{}, must_{};
  std::map<PublicState, std::uint64_t> ended_as_;
};

}  // namespace

Result<std::vector<std::string>> report(const Stage& stage, const Tally& tally) { return Report(stage, tally).run(); }

}  // namespace flowfabric::cli
