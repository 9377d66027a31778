#include "core/accounts.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/limits.hpp"

namespace flowfabric {
namespace {

constexpr std::int64_t day_seconds = 86400;

std::int64_t whole_part(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Months since the beginning of 1970 as the local time of their first second.
std::int64_t month_begins(std::int64_t month) {
  const std::int64_t year = whole_part(month, 12);
  const std::chrono::year_month_day first(std::chrono::year(static_cast<int>(1970 + year)),
                                          std::chrono::month(static_cast<unsigned>(month - 12 * year + 1)),
                                          std::chrono::day(1));
  return std::chrono::sys_days(first).time_since_epoch().count() * day_seconds;
}

std::int64_t month_of(std::int64_t local_s) {
  const std::chrono::sys_days day{std::chrono::days(static_cast<int>(whole_part(local_s, day_seconds)))};
  const std::chrono::year_month_day date(day);
  return (static_cast<int>(date.year()) - 1970) * 12LL + static_cast<unsigned>(date.month()) - 1;
}

std::int64_t bucket_ms_of(const BudgetSpec& budget) {
  const auto period = parse_period(budget.period);
  if (!period || period->is_lifetime()) return limits::lifetime_bucket_ms;
  const std::int64_t days = period->days + 30 * period->months;
  return std::max<std::int64_t>((period->seconds + days * day_seconds) * 1000 / 24, 1000);
}

// What the account says is of a period that is over.
bool is_over(const Account& account, TimestampMs now) { return account.period_end != 0 && now >= account.period_end; }

std::int64_t sum_of(std::int64_t a, std::int64_t b) { return std::min(a + b, limits::max_total_amount); }

std::int64_t amount_in(const Amounts& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

void note_usage(Account& account, const BudgetSpec& budget, const std::string& name, std::int64_t amount,
                TimestampMs now) {
  const std::int64_t width = bucket_ms_of(budget);
  const TimestampMs from = whole_part(now, width) * width;
  auto& buckets = account.buckets;
  // Clocks of several servers differ a little: what comes late counts for the newest.
  if (buckets.empty() || buckets.back().from < from) buckets.push_back({from, {}});
  if (buckets.size() > limits::max_usage_buckets) buckets.erase(buckets.begin());
  std::int64_t& spent = buckets.back().spent[name];
  spent = sum_of(spent, amount);
}

// Of the last buckets, per millisecond.
double rate_of(const Account& account, const std::string& name, std::int64_t width, TimestampMs now) {
  const TimestampMs from =
      std::max(whole_part(now, width) * width - static_cast<std::int64_t>(limits::forecast_buckets - 1) * width,
               whole_part(account.opened_at, width) * width);
  double spent = 0;
  for (const UsageBucket& bucket : account.buckets) {
    if (bucket.from >= from) spent += static_cast<double>(amount_in(bucket.spent, name));
  }
  const std::int64_t span = std::max<std::int64_t>(now - std::max(from, account.opened_at), 1000);
  return spent / static_cast<double>(span);
}

TimestampMs runs_out_at(const DimensionUse& use, double per_ms, TimestampMs period_end, TimestampMs now) {
  if (!use.hard) return 0;
  if (use.spent >= *use.hard) return now;
  if (per_ms <= 0) return 0;
  const double left_ms = static_cast<double>(*use.hard - use.spent) / per_ms;
  if (left_ms > static_cast<double>(limits::max_duration_ms)) return 0;
  const TimestampMs at = now + static_cast<TimestampMs>(left_ms) + 1;
  return period_end != 0 && at >= period_end ? 0 : at;
}

}  // namespace

const DimensionAccount* Account::find(std::string_view name) const {
  const auto found =
      std::find_if(dimensions.begin(), dimensions.end(), [&](const auto& one) { return one.name == name; });
  return found == dimensions.end() ? nullptr : &*found;
}

DimensionAccount& Account::at(const std::string& name) {
  const auto place =
      std::find_if(dimensions.begin(), dimensions.end(), [&](const auto& one) { return one.name >= name; });
  if (place != dimensions.end() && place->name == name) return *place;
  return *dimensions.insert(place, DimensionAccount{name, 0, 0, false, false});
}

std::optional<BudgetPeriod> parse_period(std::string_view text) {
  BudgetPeriod period;
  if (text == "lifetime") return period;
  std::int64_t count = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || count < 1 || count > limits::max_duration_ms / 1000 || text.front() == '+')
    return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  if (unit == "s" || unit == "m" || unit == "h") {
    period.seconds = count * (unit == "s" ? 1 : unit == "m" ? 60 : 3600);
  } else if (unit == "d") {
    period.days = count;
  } else if (unit == "w") {
    period.days = 7 * count;
    period.first_day = 4;  // 5 January 1970 was a Monday
  } else if (unit == "mo") {
    period.months = count;
  } else {
    return std::nullopt;
  }
  // Checked here, so that nothing overflows where it is used.
  const std::int64_t most_days = limits::max_duration_ms / 1000 / day_seconds;
  if (period.seconds > most_days * day_seconds || period.days > most_days || period.months > 120) return std::nullopt;
  return period;
}

PeriodBounds period_at(const BudgetSpec& budget, TimestampMs now, const TimeZones* zones) {
  const auto period = parse_period(budget.period);
  if (!period || period->is_lifetime()) return {};
  const std::int64_t now_s = whole_part(now, 1000);
  if (period->seconds != 0) {
    const std::int64_t start = whole_part(now_s, period->seconds) * period->seconds;
    return {start * 1000, (start + period->seconds) * 1000};
  }
  const TimeZone* zone = find_zone(zones, budget.time_zone);
  if (zone == nullptr) zone = find_zone(zones, utc_name);  // its tables are gone
  const std::int64_t local = zone->local(now_s);
  if (period->months != 0) {
    const std::int64_t first = whole_part(month_of(local), period->months) * period->months;
    return {zone->instant(month_begins(first)) * 1000, zone->instant(month_begins(first + period->months)) * 1000};
  }
  const std::int64_t day = whole_part(local, day_seconds) - period->first_day;
  const std::int64_t first = whole_part(day, period->days) * period->days + period->first_day;
  return {zone->instant(first * day_seconds) * 1000, zone->instant((first + period->days) * day_seconds) * 1000};
}

Account open_account(const BudgetSpec& budget, TimestampMs now, const TimeZones* zones) {
  Account account;
  account.opened_at = now;
  const PeriodBounds bounds = period_at(budget, now, zones);
  account.period_start = bounds.start;
  account.period_end = bounds.end;
  return account;
}

bool begin_period(Account& account, const BudgetSpec& budget, TimestampMs now, const TimeZones* zones) {
  if (!is_over(account, now)) return false;
  const PeriodBounds bounds = period_at(budget, now, zones);
  account.period_start = bounds.start;
  account.period_end = bounds.end;
  const bool had_spent = std::any_of(account.dimensions.begin(), account.dimensions.end(),
                                     [](const auto& dimension) { return dimension.spent != 0 || dimension.exceeded; });
  if (had_spent) reset_account(account);
  return had_spent;
}

void reset_account(Account& account) {
  ++account.resets;
  for (DimensionAccount& dimension : account.dimensions) {
    dimension.spent = 0;
    dimension.warned = dimension.exceeded = false;
  }
}

void adopt_budget(Account& account, const BudgetSpec& budget, TimestampMs now, const TimeZones* zones) {
  begin_period(account, budget, now, zones);
  const PeriodBounds bounds = period_at(budget, now, zones);
  account.period_start = bounds.start;
  account.period_end = bounds.end;
  account.paused = false;
  for (DimensionAccount& dimension : account.dimensions) dimension.exceeded = false;
}

Amounts need_of(const BudgetSpec& budget, const Amounts& wanted) {
  Amounts need;
  for (const BudgetDimension& dimension : budget.dimensions) {
    const auto own = wanted.find(dimension.name);
    need[dimension.name] = own == wanted.end() ? dimension.reserve : own->second;
  }
  return need;
}

std::uint32_t starts_left(const BudgetSpec& budget, const Account* account, const Amounts& need, TimestampMs now) {
  if (account != nullptr && account->paused) return 0;
  if (budget.on_hard_limit == BreachAction::notify) return UINT32_MAX;
  std::int64_t starts = UINT32_MAX;
  for (const BudgetDimension& limit : budget.dimensions) {
    if (!limit.hard) continue;
    const DimensionAccount* state = account == nullptr ? nullptr : account->find(limit.name);
    std::int64_t left = *limit.hard;
    if (state != nullptr) left -= state->reserved + (is_over(*account, now) ? 0 : state->spent);
    const std::int64_t each = amount_in(need, limit.name);
    if (left < std::max<std::int64_t>(each, 1)) return 0;
    if (each > 0) starts = std::min(starts, left / each);
  }
  return static_cast<std::uint32_t>(starts);
}

void reserve(Account& account, const Amounts& need) {
  for (const auto& [name, amount] : need) {
    if (amount > 0) account.at(name).reserved += amount;
  }
}

void give_back(Account& account, const Amounts& reserved) {
  for (const auto& [name, amount] : reserved) {
    std::int64_t& left = account.at(name).reserved;
    left = std::max<std::int64_t>(left - amount, 0);
  }
}

bool cancels_waiting(const BudgetSpec& budget, const Account& account, TimestampMs now) {
  if (budget.on_hard_limit != BreachAction::cancel_pending || is_over(account, now)) return false;
  return std::any_of(budget.dimensions.begin(), budget.dimensions.end(), [&](const BudgetDimension& limit) {
    const DimensionAccount* state = account.find(limit.name);
    return state != nullptr && limit.hard && (state->exceeded || state->spent >= *limit.hard);
  });
}

const BudgetDimension* first_over(const BudgetSpec& budget, const Account& account, const Amounts& amounts,
                                  const Amounts& own) {
  for (const BudgetDimension& limit : budget.dimensions) {
    const std::int64_t amount = amount_in(amounts, limit.name);
    const std::int64_t beyond = amount - amount_in(own, limit.name);
    if (!limit.hard || amount == 0 || beyond <= 0) continue;
    const DimensionAccount* state = account.find(limit.name);
    const std::int64_t used = state == nullptr ? 0 : state->spent + state->reserved;
    if (used + beyond > *limit.hard) return &limit;
  }
  return nullptr;
}

void spend(Account& account, const BudgetSpec& budget, const Amounts& amounts, Amounts& own, TimestampMs now) {
  for (const BudgetDimension& limit : budget.dimensions) {
    const std::int64_t amount = amount_in(amounts, limit.name);
    if (amount == 0) continue;
    DimensionAccount& state = account.at(limit.name);
    const auto reserved = own.find(limit.name);
    if (reserved != own.end()) {
      const std::int64_t covered = std::min(amount, reserved->second);
      reserved->second -= covered;
      state.reserved = std::max<std::int64_t>(state.reserved - covered, 0);
      if (reserved->second == 0) own.erase(reserved);
    }
    state.spent = sum_of(state.spent, amount);
    note_usage(account, budget, limit.name, amount, now);
  }
}

const KeptSpend* find_kept(const Account& account, std::uint64_t key, TimestampMs now) {
  const auto found = std::find_if(account.kept.begin(), account.kept.end(), [&](const KeptSpend& one) {
    return one.key == key && one.at + limits::spend_key_ms > now;
  });
  return found == account.kept.end() ? nullptr : &*found;
}

void keep_spend(Account& account, const Amounts& amounts, std::uint64_t key, TimestampMs now) {
  std::erase_if(account.kept,
                [&](const KeptSpend& one) { return one.key == key || one.at + limits::spend_key_ms <= now; });
  if (account.kept.size() >= limits::max_spend_keys) account.kept.erase(account.kept.begin());
  KeptSpend kept{key, now, {}};
  for (const auto& [name, amount] : amounts) {
    if (const DimensionAccount* state = account.find(name)) kept.spent[name] = state->spent;
  }
  account.kept.push_back(std::move(kept));
}

bool is_unused(const Account& account, const BudgetSpec& budget, TimestampMs now) {
  if (account.paused) return false;
  const bool over = is_over(account, now);
  for (const DimensionAccount& one : account.dimensions) {
    if (one.reserved != 0 || (!over && (one.spent != 0 || one.exceeded))) return false;
  }
  if (!account.kept.empty() && account.kept.back().at + limits::spend_key_ms > now) return false;
  const std::int64_t shown_ms = static_cast<std::int64_t>(limits::max_usage_buckets) * bucket_ms_of(budget);
  return account.buckets.empty() || account.buckets.back().from + shown_ms <= now;
}

BudgetUse account_use(const BudgetSpec& budget, const Account* account, TimestampMs now) {
  BudgetUse use;
  use.bucket_ms = bucket_ms_of(budget);
  const bool over = account != nullptr && is_over(*account, now);
  if (account != nullptr) {
    // The clock is about to begin the present period; readers do not have the tables of time zones.
    use.period_start = over ? account->period_end : account->period_start;
    use.period_end = over ? 0 : account->period_end;
    use.paused = account->paused;
    use.resets = account->resets;
    use.breaches = account->breaches;
    use.usage = account->buckets;
  }
  for (const BudgetDimension& limit : budget.dimensions) {
    DimensionUse& one = use.dimensions.emplace_back();
    one.name = limit.name;
    one.hard = limit.hard;
    one.soft = limit.soft;
    const DimensionAccount* state = account == nullptr ? nullptr : account->find(limit.name);
    if (state == nullptr) continue;
    one.spent = over ? 0 : state->spent;
    one.reserved = state->reserved;
    const double per_ms = rate_of(*account, limit.name, use.bucket_ms, now);
    one.per_hour = static_cast<std::int64_t>(per_ms * 3'600'000 + 0.5);
    one.runs_out_at = runs_out_at(one, per_ms, use.period_end, now);
  }
  return use;
}

}  // namespace flowfabric
