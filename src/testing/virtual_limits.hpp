// The calls about limits on virtual time.
#pragma once

#include <mutex>

#include "sdk/limit_calls.hpp"
#include "testing/virtual_engine.hpp"

namespace flowfabric::testing {

class VirtualLimits final : public sdk::LimitCalls {
 public:
  // Both must outlive it; the mutex guards the engine.
  VirtualLimits(VirtualEngine& engine, std::mutex& mutex) : engine_(engine), mutex_(mutex) {}

  Result<LimitSaved> set(LimitRequest request, const Operator& by) override;
  Result<LimitSaved> remove(const LimitName& limit, const Operator& by) override;
  Result<std::vector<LimitInfo>> list(const ListLimitsRequest& request) override;
  Result<ListLimitUseReply> use(const ListLimitUseRequest& request) override;
  Result<LimitCheck> check(const LimitCheckRequest& request) override;
  Result<BudgetUse> change_budget(ChangeBudgetRequest request, const Operator& by) override;

 private:
  VirtualEngine& engine_;
  std::mutex& mutex_;
};

}  // namespace flowfabric::testing
