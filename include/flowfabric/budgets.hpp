// Budgets: how much executions may spend of tokens, money or anything else that can be counted. docs/budgets.md has the rules.
//
// A budget is a part of a limit (flowfabric/limits.hpp): the limit says which executions it is for, and for which values it is
// counted apart. What is counted for one combination of these values is an *account*.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/result.hpp>
#include <flowfabric/types.hpp>

namespace flowfabric {

// What happens when a hard limit would be exceeded. Values are stored; append only.
enum class BreachAction : std::uint8_t {
  deny,            // the report is refused; executions that do not fit wait
  pause,           // and none starts until an operator resumes the account, or changes the budget
  fail,            // and the execution that wanted to spend fails
  cancel_pending,  // and those that wait for the account are cancelled
  notify,          // nothing is refused; there are only the event and the numbers
};
std::string_view to_string(BreachAction value);
Result<BreachAction> parse_breach_action(std::string_view text);

// One thing that is counted, in whole units: money in cents, for example.
struct BudgetDimension {
  std::string name{};
  std::optional<std::int64_t> hard{};  // never exceeded, unless a worker insists; reaching it is allowed
  std::optional<std::int64_t> soft{};  // above it there is a warning
  std::int64_t reserve = 0;            // what a lease reserves, unless its execution says otherwise

  friend bool operator==(const BudgetDimension&, const BudgetDimension&) = default;
};

struct BudgetSpec {
  std::vector<BudgetDimension> dimensions{};
  // "lifetime", or a number and one of s, m, h, d, w, mo: "1h", "15m", "1mo". Periods are aligned: a day begins at midnight, a
  // week on Monday, a month on its first day.
  std::string period = "lifetime";
  std::string time_zone = "UTC";  // in which days, weeks and months begin
  BreachAction on_hard_limit = BreachAction::deny;

  friend bool operator==(const BudgetSpec&, const BudgetSpec&) = default;
};

struct DimensionUse {
  std::string name{};
  std::int64_t spent = 0;     // in the present period
  std::int64_t reserved = 0;  // by leases, and not spent yet
  std::optional<std::int64_t> hard{};
  std::optional<std::int64_t> soft{};
  // At the present rate. 0: not in this period, or nothing is being spent.
  TimestampMs runs_out_at = 0;
  std::int64_t per_hour = 0;  // the present rate

  friend bool operator==(const DimensionUse&, const DimensionUse&) = default;
};

struct UsageBucket {
  TimestampMs from = 0;
  Amounts spent{};

  friend bool operator==(const UsageBucket&, const UsageBucket&) = default;
};

// What is counted for one account.
struct BudgetUse {
  TimestampMs period_start = 0;  // 0: there are no periods
  TimestampMs period_end = 0;
  bool paused = false;
  std::uint64_t resets = 0;    // how often it began anew
  std::uint64_t breaches = 0;  // reports over a hard limit
  std::vector<DimensionUse> dimensions{};
  std::int64_t bucket_ms = 0;        // how long each of these is
  std::vector<UsageBucket> usage{};  // over time, oldest first; those without usage are left out

  friend bool operator==(const BudgetUse&, const BudgetUse&) = default;
};

// What an execution has spent. Counted by every budget that it is under and that has the dimension, or by none.
struct SpendRequest {
  Amounts amounts{};
  // The same key counts once for an account, and gets the same answer again. Empty: every call counts.
  std::string key{};
  // It is spent already: count it also over a hard limit.
  bool force = false;
};

// How one dimension of one account stands after a report.
struct BudgetBalance {
  std::string budget{};
  std::vector<std::string> account{};  // the values of `per`
  std::string dimension{};
  std::int64_t spent = 0;
  std::optional<std::int64_t> hard{};
  std::optional<std::int64_t> soft{};
  bool warning = false;    // it is above the soft limit
  bool overdrawn = false;  // it is above the hard limit
  TimestampMs period_end = 0;

  friend bool operator==(const BudgetBalance&, const BudgetBalance&) = default;
};

struct SpendReply {
  std::vector<BudgetBalance> balances{};  // empty: the execution is under no budget
  bool repeated = false;                  // every budget had counted this key before

  // The first dimension that is above its soft limit; null: none is.
  const BudgetBalance* warning() const {
    for (const BudgetBalance& one : balances) {
      if (one.warning) return &one;
    }
    return nullptr;
  }
  friend bool operator==(const SpendReply&, const SpendReply&) = default;
};

// Values are not stored.
enum class BudgetChange : std::uint8_t {
  reset,   // nothing counts as spent; what is reserved stays
  resume,  // an account that is paused lets executions start again
  adjust,  // `amounts` are added to what counts as spent; negative ones are taken off
};
std::string_view to_string(BudgetChange value);

}  // namespace flowfabric
