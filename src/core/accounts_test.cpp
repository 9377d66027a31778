#include "core/accounts.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "engine/time_zones.hpp"

namespace flowfabric {
namespace {

constexpr std::int64_t hour = 3'600'000;
constexpr std::int64_t day = 24 * hour;

BudgetSpec budget_of(std::vector<BudgetDimension> dimensions, const std::string& period = "lifetime") {
  BudgetSpec budget;
  budget.dimensions = std::move(dimensions);
  budget.period = period;
  return budget;
}

TEST(Accounts, PeriodsAreParsed) {
  EXPECT_TRUE(parse_period("lifetime")->is_lifetime());
  EXPECT_EQ(parse_period("90s")->seconds, 90);
  EXPECT_EQ(parse_period("15m")->seconds, 900);
  EXPECT_EQ(parse_period("2h")->seconds, 7200);
  EXPECT_EQ(parse_period("3d")->days, 3);
  EXPECT_EQ(parse_period("1w")->days, 7);
  EXPECT_EQ(parse_period("6mo")->months, 6);
  for (const char* bad :
       {"", "h", "0h", "-1h", "+1h", "1.5h", "1 h", "1H", "1y", "h1", "99999999999999999999s", "4000d", "121mo"}) {
    EXPECT_FALSE(parse_period(bad)) << bad;
  }
}

struct PeriodRow {
  const char* period;
  const char* zone;
  TimestampMs now;
  TimestampMs start;
  TimestampMs end;
};

// Whatever now is in the period, its bounds are these.
TEST(Accounts, PeriodsAreAligned) {
  const std::vector<PeriodRow> rows = {
      // 2026-11-19T05:40:00Z, a Thursday
      {"1h", "UTC", 1795066800000, 1795064400000, 1795068000000},
      {"15m", "UTC", 1795066800000, 1795066200000, 1795067100000},
      {"1d", "UTC", 1795066800000, 1795046400000, 1795132800000},
      {"1w", "UTC", 1795066800000, 1794787200000, 1795392000000},
      {"1mo", "UTC", 1795066800000, 1793491200000, 1796083200000},
      {"1d", "Europe/Berlin", 1795066800000, 1795042800000, 1795129200000},
      {"1mo", "Europe/Berlin", 1795066800000, 1793487600000, 1796079600000},
      // The days on which clocks change have 23 and 25 hours: 2026-03-29 and 2026-10-25.
      {"1d", "Europe/Berlin", 1774778400000, 1774738800000, 1774738800000 + 23 * hour},
      {"1d", "Europe/Berlin", 1792929600000, 1792879200000, 1792879200000 + 25 * hour},
      // Before 1970 and exactly on a bound.
      {"1h", "UTC", -1, -hour, 0},
      {"1h", "UTC", 0, 0, hour},
      {"1mo", "UTC", -1, -31 * day, 0},
  };
  for (const PeriodRow& row : rows) {
    BudgetSpec budget = budget_of({{"tokens", 1, {}, 0}}, row.period);
    budget.time_zone = row.zone;
    for (const TimestampMs now : {row.now, row.start, row.end - 1}) {
      const PeriodBounds bounds = period_at(budget, now, system_time_zones().get());
      EXPECT_EQ(bounds.start, row.start) << row.period << " " << row.zone << " " << now;
      EXPECT_EQ(bounds.end, row.end) << row.period << " " << row.zone << " " << now;
    }
  }
  EXPECT_EQ(period_at(budget_of({}), 1795066800000, nullptr).end, 0);
}

TEST(Accounts, StartsNeedRoomInEveryDimension) {
  const BudgetSpec budget = budget_of({{"money", 10, {}, 0}, {"tokens", 100, {}, 30}, {"calls", {}, {}, 5}});
  const Amounts need = need_of(budget, {});
  EXPECT_EQ(need, (Amounts{{"calls", 5}, {"money", 0}, {"tokens", 30}}));
  EXPECT_EQ(need_of(budget, {{"tokens", 7}, {"other", 9}}).at("tokens"), 7);
  EXPECT_EQ(starts_left(budget, nullptr, need, 0), 3U);
  Account account = open_account(budget, 0, nullptr);
  reserve(account, need);
  EXPECT_EQ(starts_left(budget, &account, need, 0), 2U);
  EXPECT_EQ(starts_left(budget, &account, need_of(budget, {{"tokens", 71}}), 0), 0U);
  EXPECT_EQ(starts_left(budget, &account, need_of(budget, {{"tokens", 70}}), 0), 1U);
  // One that reserves nothing needs that something is left.
  EXPECT_EQ(starts_left(budget, &account, need_of(budget, {{"tokens", 0}}), 0), UINT32_MAX);
  account.at("money").spent = 10;
  EXPECT_EQ(starts_left(budget, &account, need_of(budget, {{"tokens", 0}}), 0), 0U);
  account.paused = true;
  account.at("money").spent = 0;
  EXPECT_EQ(starts_left(budget, &account, need, 0), 0U);
}

TEST(Accounts, WhatIsSpentComesFromTheReservationFirst) {
  const BudgetSpec budget = budget_of({{"tokens", 100, {}, 40}});
  Account account = open_account(budget, 0, nullptr);
  Amounts own = need_of(budget, {});
  reserve(account, own);
  reserve(account, {{"tokens", 50}});  // of others
  EXPECT_EQ(first_over(budget, account, {{"tokens", 50}}, own), nullptr);
  EXPECT_NE(first_over(budget, account, {{"tokens", 51}}, own), nullptr);
  spend(account, budget, {{"tokens", 30}}, own, 0);
  EXPECT_EQ(own.at("tokens"), 10);
  EXPECT_EQ(account.at("tokens").reserved, 60);
  spend(account, budget, {{"tokens", 20}}, own, 0);
  EXPECT_TRUE(own.empty());
  EXPECT_EQ(account.at("tokens").reserved, 50);
  EXPECT_EQ(account.at("tokens").spent, 50);
  give_back(account, {{"tokens", 70}});
  EXPECT_EQ(account.at("tokens").reserved, 0);
}

TEST(Accounts, SumsDoNotOverflow) {
  const BudgetSpec budget = budget_of({{"tokens", {}, {}, 0}});
  Account account = open_account(budget, 0, nullptr);
  Amounts own;
  for (int i = 0; i < 20; ++i) spend(account, budget, {{"tokens", limits::max_amount}}, own, 0);
  EXPECT_EQ(account.at("tokens").spent, limits::max_total_amount);
}

TEST(Accounts, APeriodBeginsOnceAndKeepsWhatIsReserved) {
  const BudgetSpec budget = budget_of({{"tokens", 100, {}, 0}}, "1h");
  Account account = open_account(budget, hour / 2, nullptr);
  Amounts own;
  reserve(account, {{"tokens", 10}});
  spend(account, budget, {{"tokens", 20}}, own, hour / 2);
  EXPECT_FALSE(begin_period(account, budget, hour - 1, nullptr));
  EXPECT_TRUE(begin_period(account, budget, 5 * hour + 1, nullptr));
  EXPECT_FALSE(begin_period(account, budget, 5 * hour + 2, nullptr));
  EXPECT_EQ(account.period_start, 5 * hour);
  EXPECT_EQ(account.at("tokens").spent, 0);
  EXPECT_EQ(account.at("tokens").reserved, 10);
  EXPECT_EQ(account.resets, 1U);
  // A period without usage is not counted.
  EXPECT_FALSE(begin_period(account, budget, 9 * hour, nullptr));
  // Nor does a clock that goes back begin an earlier one.
  EXPECT_FALSE(begin_period(account, budget, 2 * hour, nullptr));
  EXPECT_EQ(account.period_start, 9 * hour);
}

TEST(Accounts, KeysAreForgottenByNumberAndTime) {
  const BudgetSpec budget = budget_of({{"tokens", {}, {}, 0}});
  Account account = open_account(budget, 0, nullptr);
  for (std::uint64_t key = 1; key <= limits::max_spend_keys + 1; ++key) keep_spend(account, {{"tokens", 1}}, key, 1000);
  EXPECT_EQ(account.kept.size(), limits::max_spend_keys);
  EXPECT_EQ(find_kept(account, 1, 1000), nullptr);
  EXPECT_NE(find_kept(account, 2, 1000), nullptr);
  EXPECT_NE(find_kept(account, 2, 999 + limits::spend_key_ms), nullptr);
  EXPECT_EQ(find_kept(account, 2, 1000 + limits::spend_key_ms), nullptr);
  keep_spend(account, {{"tokens", 1}}, 7777, 1000 + limits::spend_key_ms);
  EXPECT_EQ(account.kept.size(), 1U);
}

TEST(Accounts, AForecastGoesByTheLastBuckets) {
  const BudgetSpec budget = budget_of({{"tokens", 240, {}, 0}}, "1d");
  Account account = open_account(budget, 0, nullptr);
  Amounts own;
  for (int i = 0; i < 6; ++i) spend(account, budget, {{"tokens", 20}}, own, i * hour);
  const DimensionUse use = account_use(budget, &account, 6 * hour).dimensions.at(0);
  EXPECT_EQ(use.per_hour, 20);
  EXPECT_NEAR(static_cast<double>(use.runs_out_at), 12.0 * hour, 1000);
  // Long after, nothing is being spent.
  EXPECT_EQ(account_use(budget, &account, 23 * hour).dimensions.at(0).runs_out_at, 0);
  spend(account, budget, {{"tokens", 120}}, own, 7 * hour);
  EXPECT_EQ(account_use(budget, &account, 8 * hour).dimensions.at(0).runs_out_at, 8 * hour);
  for (int i = 0; i < 100; ++i) spend(account, budget, {{"tokens", 1}}, own, (8 + i) * hour);
  EXPECT_EQ(account.buckets.size(), limits::max_usage_buckets);
}

TEST(Accounts, AreUnusedWhenNothingOfThemIsShown) {
  const BudgetSpec budget = budget_of({{"tokens", 100, {}, 0}}, "1h");
  Account account = open_account(budget, 0, nullptr);
  EXPECT_TRUE(is_unused(account, budget, 0));
  Amounts own;
  spend(account, budget, {{"tokens", 1}}, own, 0);
  EXPECT_FALSE(is_unused(account, budget, 0));
  EXPECT_FALSE(is_unused(account, budget, hour));  // the usage over time is shown
  EXPECT_TRUE(is_unused(account, budget, 3 * hour));
  reserve(account, {{"tokens", 1}});
  EXPECT_FALSE(is_unused(account, budget, 3 * hour));
  const BudgetSpec lifetime = budget_of({{"tokens", 100, {}, 0}});
  Account kept = open_account(lifetime, 0, nullptr);
  spend(kept, lifetime, {{"tokens", 1}}, own, 0);
  EXPECT_FALSE(is_unused(kept, lifetime, 100 * day));
}

}  // namespace
}  // namespace flowfabric
