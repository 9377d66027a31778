// Reads of limits, as functions of a store.
#pragma once

#include <flowfabric/limits.hpp>

#include "core/limit_records.hpp"
#include "core/records.hpp"
#include "store/store.hpp"

namespace flowfabric::reads {

Result<std::vector<LimitInfo>> list_limits(Store& store, const ListLimitsRequest& request);
Result<ListLimitUseReply> limit_use(Store& store, const ListLimitUseRequest& request);
Result<LimitCheck> check_limits(Store& store, const LimitCheckRequest& request);

// What an execution waits for that a limit holds back; nothing if none does. Of the holders, those of its namespace.
struct HeldBy {
  LimitInfo limit;
  LimitUse use;
};
Result<std::optional<HeldBy>> held_by(Store& store, const Execution& execution);

}  // namespace flowfabric::reads
