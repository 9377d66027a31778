#include "cli/store_limits.hpp"

#include "base/check.hpp"
#include "core/limit_ingress.hpp"
#include "engine/limit_reads.hpp"

namespace flowfabric::cli {
namespace {

class StoreLimits final : public sdk::LimitCalls {
 public:
  StoreLimits(std::function<Result<Store*>()> opened_store, std::function<Result<Engine*>()> opened_engine)
      : opened_store_(std::move(opened_store)), opened_engine_(std::move(opened_engine)) {}

  Result<LimitSaved> set(LimitRequest request, const Operator& by) override {
    FF_TRY(engine, opened_engine_());
    return engine->set_limit(std::move(request), by);
  }
  Result<LimitSaved> remove(const LimitName& limit, const Operator& by) override {
    FF_TRY(engine, opened_engine_());
    return engine->remove_limit(limit, by);
  }
  Result<std::vector<LimitInfo>> list(const ListLimitsRequest& request) override {
    FF_TRY_VOID(admit(request));
    FF_TRY(store, opened_store_());
    return reads::list_limits(*store, request);
  }
  Result<ListLimitUseReply> use(const ListLimitUseRequest& request) override {
    FF_TRY_VOID(admit(request));
    FF_TRY(store, opened_store_());
    return reads::limit_use(*store, request);
  }
  Result<LimitCheck> check(const LimitCheckRequest& request) override {
    FF_TRY_VOID(admit(request));
    FF_TRY(store, opened_store_());
    return reads::check_limits(*store, request);
  }
  Result<BudgetUse> change_budget(ChangeBudgetRequest request, const Operator& by) override {
    FF_TRY(engine, opened_engine_());
    return engine->change_budget(std::move(request), by);
  }

 private:
  std::function<Result<Store*>()> opened_store_;
  std::function<Result<Engine*>()> opened_engine_;
};

}  // namespace

std::unique_ptr<sdk::LimitCalls> store_limits(std::function<Result<Store*>()> opened_store,
                                              std::function<Result<Engine*>()> opened_engine) {
  return std::make_unique<StoreLimits>(std::move(opened_store), std::move(opened_engine));
}

}  // namespace flowfabric::cli
