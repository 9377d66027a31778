// Validation of requests about budgets.
#pragma once

#include <string>

#include <flowfabric/limits.hpp>

namespace flowfabric {

// `field` is the name of the budget in its request.
Result<void> admit(const BudgetSpec& budget, const std::string& field);
Result<void> admit(const SpendRequest& request);
Result<void> admit(const ChangeBudgetRequest& request);
// What a create request reserves.
Result<void> admit_reserve(const Amounts& reserve);

}  // namespace flowfabric
