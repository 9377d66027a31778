// Validation of limits.
#pragma once

#include <flowfabric/limits.hpp>

namespace flowfabric {

// In words: limit "api" of namespace "shop".
std::string shown(const LimitName& limit);

Result<void> admit(LimitRequest& request);
// Whether a limit may be changed so: what it is for stays, because slots are counted, and executions held back, by that.
Result<void> admit_change(const LimitSpec& before, const LimitSpec& now);
Result<void> admit(const LimitName& limit);
Result<void> admit(const ListLimitsRequest& request);
Result<void> admit(const ListLimitUseRequest& request);
Result<void> admit(const LimitCheckRequest& request);

}  // namespace flowfabric
