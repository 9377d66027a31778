// Limits: how many executions may run at the same time, how many may start in a period, and how much they may spend.
// docs/limits.md and docs/budgets.md have the rules.
//
// Plain values; validated once, when they enter the engine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/budgets.hpp>
#include <flowfabric/operations.hpp>

namespace flowfabric {

// How many executions may start. Every claim is a start.
struct RateLimit {
  std::uint32_t count = 0;  // in a period
  std::int64_t period_ms = 0;
  // Absent: at most `count` starts in any period, wherever it begins. Present: a token bucket that holds so many tokens
  // and gets `count` of them in a period; an execution takes one.
  std::optional<std::uint32_t> burst{};

  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

// The executions of a lane are served in turns, one key after the other, instead of in the order in which they came.
struct ShareSpec {
  // How many turns a key has where others have one. The key is the values of `per`, joined with "/". Keys that are not
  // here have the weight 1.
  Weights weights{};

  friend bool operator==(const ShareSpec&, const ShareSpec&) = default;
};

// What a limit is for, and how much it allows. It has a concurrency, a rate, a budget, or several of them; or a share.
struct LimitSpec {
  std::optional<std::string> lane{};  // only executions of this lane
  std::optional<std::string> kind{};  // only executions of this kind
  // Counted apart for each value: "tags.NAME", "namespace", "lane", "kind", "creator", "flow", "execution". Empty: all
  // together. An execution that has no such value is not limited; of a share see there.
  std::vector<std::string> per{};
  std::optional<std::uint32_t> concurrency{};
  std::optional<RateLimit> rate{};
  std::optional<BudgetSpec> budget{};
  // Needs `lane` and `per`, is for all namespaces and kinds, and is alone in its limit. Executions without a value count
  // under the empty value, together.
  std::optional<ShareSpec> share{};

  friend bool operator==(const LimitSpec&, const LimitSpec&) = default;
};

// The name of a limit is unique in its namespace. Without a namespace a limit is for the executions of all namespaces.
struct LimitName {
  std::optional<std::string> name_space{};
  std::string name{};

  friend auto operator<=>(const LimitName&, const LimitName&) = default;
};

struct LimitRequest : LimitName, LimitSpec {
  // The revision that is to be replaced, 0: there must be none. Absent: whatever there is.
  std::optional<std::uint64_t> expected_revision{};
};

// Values are not stored.
enum class LimitChange : std::uint8_t { created, changed, unchanged, removed };
std::string_view to_string(LimitChange value);

struct LimitInfo : LimitName, LimitSpec {
  std::uint64_t revision = 0;  // one more with each change
  TimestampMs created_at = 0;
  std::string created_by{};
  TimestampMs changed_at = 0;
  std::string changed_by{};

  friend bool operator==(const LimitInfo&, const LimitInfo&) = default;
};

struct LimitSaved {
  LimitChange outcome = LimitChange::created;
  LimitInfo info{};

  friend bool operator==(const LimitSaved&, const LimitSaved&) = default;
};

// What is in use of one key of a limit: of each combination of values that `per` names, or of all together.
struct LimitUse {
  std::vector<std::string> key{};  // the values, as in `per`
  std::uint32_t in_use = 0;        // slots
  // How many executions could start now; absent: as many as there are.
  std::optional<std::uint32_t> free{};
  // When one more can start by time alone, if none can now and only time is missing.
  TimestampMs next_start_at = 0;
  std::uint32_t held_back = 0;         // executions that wait for this key; counted up to 1000
  std::vector<ExecutionId> holders{};  // that have the slots; at most 100
  std::optional<BudgetUse> budget{};
  std::optional<std::uint32_t> weight{};  // of the key, if the limit is a share

  friend bool operator==(const LimitUse&, const LimitUse&) = default;
};

struct ListLimitsRequest {
  // Limits for its executions: its own, and those for all namespaces. Absent: all limits.
  std::optional<std::string> name_space{};
};

struct ListLimitUseRequest {
  LimitName limit{};
  std::string cursor{};
  std::uint32_t limit_keys = 100;
};

struct ListLimitUseReply {
  LimitInfo info{};
  std::vector<LimitUse> keys{};  // those in use, and those that were a short time ago; the order is that of the store
  std::string next_cursor{};     // empty: this is the last page
  // The limit is for all namespaces, and the caller reaches only one of them, so no keys are shown.
  bool keys_hidden = false;
};

// An execution as limits see it.
struct LimitCheckRequest {
  std::string name_space = "default";
  std::string lane = "default";
  std::string kind{};
  std::string creator{};
  Tags tags{};
  Amounts reserve{};
};

// One limit that it would be under.
struct LimitChecked {
  LimitInfo info{};
  LimitUse use{};
  bool would_hold_back = false;
};

// What would happen to an execution that is created now.
struct LimitCheck {
  std::vector<LimitChecked> limits{};
  bool could_start = true;         // as far as limits are concerned
  TimestampMs could_start_at = 0;  // if only time is missing
};

// A change of one account of a budget by an operator.
struct ChangeBudgetRequest : LimitName {
  std::vector<std::string> account{};  // the values of `per`; empty: the budget has one account
  BudgetChange change = BudgetChange::reset;
  Amounts amounts{};  // of `adjust`
};

}  // namespace flowfabric
