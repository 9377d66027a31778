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

// Of all keys of a limit together, as far as they are counted.
struct LimitFigures {
  LimitName limit;
  std::uint64_t in_use = 0;
  std::uint64_t held_back = 0;
};
enum class LimitFigure : std::uint8_t { in_use, held_back };
// Of every limit one of its figures; the other one is 0.
Result<std::vector<LimitFigures>> limit_figures(Store& store, LimitFigure wanted);

// What an execution waits for that a limit holds back; nothing if none does. Of the holders, those of its namespace.
struct HeldBy {
  LimitInfo limit;
  LimitUse use;
};
Result<std::optional<HeldBy>> held_by(Store& store, const Execution& execution);
// The name of the share that an execution is under, if there is one, and the weight of its key.
Result<std::optional<std::pair<std::string, std::uint32_t>>> share_over(Store& store, const Execution& execution);

}  // namespace flowfabric::reads
