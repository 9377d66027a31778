// Validation of limits.
#pragma once

#include <flowfabric/limits.hpp>

namespace flowfabric {

Result<void> admit(LimitRequest& request);
Result<void> admit(const LimitName& limit);
Result<void> admit(const ListLimitsRequest& request);
Result<void> admit(const ListLimitUseRequest& request);
Result<void> admit(const LimitCheckRequest& request);

}  // namespace flowfabric
