#include "testing/virtual_limits.hpp"

#include "base/check.hpp"
#include "core/budget_ingress.hpp"
#include "core/limit_ingress.hpp"
#include "engine/limit_reads.hpp"

namespace flowfabric::testing {

Result<LimitSaved> VirtualLimits::set(LimitRequest request, const Operator& by) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(request));
  FF_TRY(reply, engine_.call(SetLimitCommand{std::move(request), by}));
  return std::get<LimitSaved>(reply);
}

Result<LimitSaved> VirtualLimits::remove(const LimitName& limit, const Operator& by) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(limit));
  FF_TRY(reply, engine_.call(RemoveLimitCommand{limit, by}));
  return std::get<LimitSaved>(reply);
}

Result<std::vector<LimitInfo>> VirtualLimits::list(const ListLimitsRequest& request) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(request));
  return reads::list_limits(engine_.store(), request);
}

Result<ListLimitUseReply> VirtualLimits::use(const ListLimitUseRequest& request) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(request));
  return reads::limit_use(engine_.store(), request);
}

Result<LimitCheck> VirtualLimits::check(const LimitCheckRequest& request) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(request));
  return reads::check_limits(engine_.store(), request);
}

Result<BudgetUse> VirtualLimits::change_budget(ChangeBudgetRequest request, const Operator& by) {
  const std::lock_guard lock(mutex_);
  FF_TRY_VOID(admit(request));
  FF_TRY(reply, engine_.call(ChangeBudgetCommand{std::move(request), by}));
  return std::get<BudgetUse>(reply);
}

}  // namespace flowfabric::testing
