// The public interface for limits and budgets.
#include "base/check.hpp"
#include "core/budget_ingress.hpp"
#include "core/ingress.hpp"
#include "core/limit_ingress.hpp"
#include "engine/calls.hpp"
#include "engine/engine_impl.hpp"
#include "engine/limit_reads.hpp"

namespace flowfabric {

Result<LimitSaved> Engine::set_limit(LimitRequest request, Operator by) {
  return impl_->counted("set_limit", [&]() -> Result<LimitSaved> {
    FF_TRY_VOID(admit(request));
    FF_TRY_VOID(admit(by));
    return call_as<LimitSaved>(*impl_->runtime, SetLimitCommand{std::move(request), std::move(by)});
  });
}

Result<LimitSaved> Engine::remove_limit(const LimitName& limit, Operator by) {
  return impl_->counted("remove_limit", [&]() -> Result<LimitSaved> {
    FF_TRY_VOID(admit(limit));
    FF_TRY_VOID(admit(by));
    return call_as<LimitSaved>(*impl_->runtime, RemoveLimitCommand{limit, std::move(by)});
  });
}

Result<std::vector<LimitInfo>> Engine::list_limits(const ListLimitsRequest& request) {
  return impl_->counted("list_limits", [&]() -> Result<std::vector<LimitInfo>> {
    FF_TRY_VOID(admit(request));
    return reads::list_limits(impl_->runtime->store(), request);
  });
}

Result<ListLimitUseReply> Engine::list_limit_use(const ListLimitUseRequest& request) {
  return impl_->counted("list_limit_use", [&]() -> Result<ListLimitUseReply> {
    FF_TRY_VOID(admit(request));
    return reads::limit_use(impl_->runtime->store(), request);
  });
}

Result<LimitCheck> Engine::check_limits(const LimitCheckRequest& request) {
  return impl_->counted("check_limits", [&]() -> Result<LimitCheck> {
    FF_TRY_VOID(admit(request));
    return reads::check_limits(impl_->runtime->store(), request);
  });
}

Result<BudgetUse> Engine::change_budget(ChangeBudgetRequest request, Operator by) {
  return impl_->counted("change_budget", [&]() -> Result<BudgetUse> {
    FF_TRY_VOID(admit(request));
    FF_TRY_VOID(admit(by));
    return call_as<BudgetUse>(*impl_->runtime, ChangeBudgetCommand{std::move(request), std::move(by)});
  });
}

Result<SpendReply> Engine::spend(const Handle& handle, SpendRequest request) {
  return impl_->counted("spend", [&]() -> Result<SpendReply> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit(request));
    return call_as<SpendReply>(*impl_->runtime, SpendCommand{fence, std::move(request)});
  });
}

}  // namespace flowfabric
