#include "core/budget_ingress.hpp"

#include <set>

#include "core/accounts.hpp"
#include "core/admit_parts.hpp"
#include "core/limit_ingress.hpp"

namespace flowfabric {

using namespace admit_parts;

namespace {

Result<void> admit_dimension_name(const std::string& name, const std::string& field) {
  return admit_text(name, field, 1, limits::max_dimension_name_bytes, Content::no_controls_or_spaces);
}

Result<void> admit_dimension(const BudgetDimension& dimension, const std::string& field) {
  FF_TRY_VOID(admit_dimension_name(dimension.name, field + ".name"));
  if (dimension.hard == 0) {
    return refuse("is 0, which would hold back everything for ever; allowed: 1 to " +
                      std::to_string(limits::max_amount) + ", or leave it out (to stop a lane, pause it)",
                  field + ".hard");
  }
  if (dimension.hard) FF_TRY_VOID(admit_range<std::int64_t>(*dimension.hard, field + ".hard", 1, limits::max_amount));
  if (dimension.soft) {
    FF_TRY_VOID(
        admit_range<std::int64_t>(*dimension.soft, field + ".soft", 0, dimension.hard.value_or(limits::max_amount)));
  }
  return admit_range<std::int64_t>(dimension.reserve, field + ".reserve", 0,
                                   dimension.hard.value_or(limits::max_amount));
}

Result<void> admit_amounts(const Amounts& amounts, const std::string& field, std::size_t min_count, std::int64_t min) {
  FF_TRY_VOID(admit_count(amounts.size(), field, min_count, limits::max_dimensions));
  for (const auto& [name, amount] : amounts) {
    FF_TRY_VOID(admit_dimension_name(name, field));
    FF_TRY_VOID(admit_range<std::int64_t>(amount, field + "." + name, min, limits::max_amount));
  }
  return {};
}

}  // namespace

Result<void> admit(const BudgetSpec& budget, const std::string& field) {
  const std::string dimensions = field + ".dimensions";
  FF_TRY_VOID(admit_count(budget.dimensions.size(), dimensions, 1, limits::max_dimensions));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < budget.dimensions.size(); ++i) {
    const std::string one = dimensions + "[" + std::to_string(i) + "]";
    FF_TRY_VOID(admit_dimension(budget.dimensions[i], one));
    if (!seen.insert(budget.dimensions[i].name).second) {
      return refuse("repeats \"" + budget.dimensions[i].name + "\"", one + ".name");
    }
  }
  const auto period = parse_period(budget.period);
  if (!period) {
    return refuse("is \"" + clipped(budget.period, 64) +
                      "\"; allowed: lifetime, or a number with s, m, h, d, w or mo, at most ten years (1h, 30m, 1mo)",
                  field + ".period");
  }
  FF_TRY_VOID(admit_text(budget.time_zone, field + ".time_zone", 1, limits::max_time_zone_bytes,
                         Content::no_controls_or_spaces));
  if (budget.time_zone != utc_name && period->days == 0 && period->months == 0) {
    return refuse("is for periods of days, weeks and months; leave it out", field + ".time_zone");
  }
  return {};
}

Result<void> admit(const SpendRequest& request) {
  FF_TRY_VOID(admit_amounts(request.amounts, "amounts", 1, 0));
  return admit_text(request.key, "key", 0, limits::max_spend_key_bytes, Content::no_controls);
}

Result<void> admit(const ChangeBudgetRequest& request) {
  FF_TRY_VOID(admit(static_cast<const LimitName&>(request)));
  FF_TRY_VOID(admit_count(request.account.size(), "account", 0, limits::max_limit_keys));
  for (const std::string& value : request.account) {
    FF_TRY_VOID(admit_text(value, "account", 1, limits::max_tag_value_bytes, Content::any_text));
  }
  if (request.change != BudgetChange::adjust) {
    return request.amounts.empty() ? Result<void>{} : refuse("is only for an adjustment; leave it out", "amounts");
  }
  return admit_amounts(request.amounts, "amounts", 1, -limits::max_amount);
}

Result<void> admit_reserve(const Amounts& reserve) { return admit_amounts(reserve, "reserve", 0, 0); }

}  // namespace flowfabric
