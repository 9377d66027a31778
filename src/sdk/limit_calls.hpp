// The calls about limits, on a server or on an engine in this process. The client and the command line share them.
#pragma once

#include <memory>

#include <flowfabric/engine.hpp>
#include <flowfabric/limits.hpp>

#include "sdk/http_caller.hpp"

namespace flowfabric::sdk {

class LimitCalls {
 public:
  LimitCalls() = default;
  LimitCalls(const LimitCalls&) = delete;
  LimitCalls& operator=(const LimitCalls&) = delete;
  virtual ~LimitCalls() = default;

  virtual Result<LimitSaved> set(LimitRequest request, const Operator& by) = 0;
  virtual Result<LimitSaved> remove(const LimitName& limit, const Operator& by) = 0;
  virtual Result<std::vector<LimitInfo>> list(const ListLimitsRequest& request) = 0;
  virtual Result<ListLimitUseReply> use(const ListLimitUseRequest& request) = 0;
  virtual Result<LimitCheck> check(const LimitCheckRequest& request) = 0;
  virtual Result<BudgetUse> change_budget(ChangeBudgetRequest request, const Operator& by) = 0;
};

// The caller and the engine must outlive it.
std::unique_ptr<LimitCalls> limit_calls(HttpCaller& caller);
std::unique_ptr<LimitCalls> limit_calls(Engine& engine);

}  // namespace flowfabric::sdk
