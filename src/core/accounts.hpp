// Accounts of budgets: what was spent and is reserved, period by period.
//
// Pure functions of a definition, the stored account and the time. An account is a part of the pool of a limit
// (core/limit_records.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/budgets.hpp>

#include "core/time_zone.hpp"

namespace flowfabric {

struct DimensionAccount {
  std::string name;
  std::int64_t spent = 0;  // in the period
  std::int64_t reserved = 0;
  bool warned = false;    // of the soft limit, in the period
  bool exceeded = false;  // somebody wanted more than the hard limit, in the period

  friend bool operator==(const DimensionAccount&, const DimensionAccount&) = default;
};

// A report that had a key, with its answer: what was spent after it.
struct KeptSpend {
  std::uint64_t key = 0;  // a digest
  TimestampMs at = 0;
  Amounts spent;

  friend bool operator==(const KeptSpend&, const KeptSpend&) = default;
};

struct Account {
  TimestampMs opened_at = 0;
  TimestampMs period_start = 0;  // both are 0 without periods
  TimestampMs period_end = 0;
  std::uint64_t resets = 0;
  std::uint64_t breaches = 0;
  bool paused = false;
  std::vector<DimensionAccount> dimensions;  // by name; only those that were used
  std::vector<UsageBucket> buckets;          // ascending
  std::vector<KeptSpend> kept;               // oldest first

  const DimensionAccount* find(std::string_view name) const;
  DimensionAccount& at(const std::string& name);
  friend bool operator==(const Account&, const Account&) = default;
};

// A period in words; nothing if it is none. Periods are counted from 1970, so nothing depends on when one was begun.
struct BudgetPeriod {
  std::int64_t seconds = 0;
  std::int64_t days = 0;
  std::int64_t months = 0;
  std::int64_t first_day = 0;  // of a week
  bool is_lifetime() const { return seconds == 0 && days == 0 && months == 0; }
};
std::optional<BudgetPeriod> parse_period(std::string_view text);
struct PeriodBounds {
  TimestampMs start = 0;
  TimestampMs end = 0;
};
PeriodBounds period_at(const BudgetSpec& budget, TimestampMs now, const TimeZones* zones);

Account open_account(const BudgetSpec& budget, TimestampMs now, const TimeZones* zones);
// Begins the present period, if that has not been done; returns whether something had been spent before. What is reserved
// stays: its leases live on.
bool begin_period(Account& account, const BudgetSpec& budget, TimestampMs now, const TimeZones* zones);
// The budget was changed: its limits count from now on.
void adopt_budget(Account& account, const BudgetSpec& budget, TimestampMs now, const TimeZones* zones);
void reset_account(Account& account);

// What a lease reserves, by dimension.
Amounts need_of(const BudgetSpec& budget, const Amounts& wanted);
// How many executions with this need may start. No account: nothing was spent.
std::uint32_t starts_left(const BudgetSpec& budget, const Account* account, const Amounts& need, TimestampMs now);
void reserve(Account& account, const Amounts& need);
void give_back(Account& account, const Amounts& reserved);
// Executions that wait for the account are to be cancelled.
bool cancels_waiting(const BudgetSpec& budget, const Account& account, TimestampMs now);

// The first dimension in which the amounts do not fit; null: they do. `own` is what the execution has reserved. The period
// has been begun.
const BudgetDimension* first_over(const BudgetSpec& budget, const Account& account, const Amounts& amounts,
                                  const Amounts& own);
// Counts them, first against the reservation.
void spend(Account& account, const BudgetSpec& budget, const Amounts& amounts, Amounts& own, TimestampMs now);
const KeptSpend* find_kept(const Account& account, std::uint64_t key, TimestampMs now);
void keep_spend(Account& account, const Amounts& amounts, std::uint64_t key, TimestampMs now);

// Nothing is lost when it is removed.
bool is_unused(const Account& account, const BudgetSpec& budget, TimestampMs now);
BudgetUse account_use(const BudgetSpec& budget, const Account* account, TimestampMs now);

}  // namespace flowfabric
