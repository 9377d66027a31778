#include "sdk/limit_calls.hpp"

#include "base/check.hpp"
#include "wire/limit_shapes.hpp"

namespace flowfabric::sdk {
namespace {

std::string limit_path(const LimitName& limit) { return "/v1/limits/" + in_path(limit.name); }

Url limit_url(const LimitName& limit) {
  Url url(limit_path(limit));
  url.add("namespace", limit.name_space);
  return url;
}

class HttpLimitCalls final : public LimitCalls {
 public:
  explicit HttpLimitCalls(HttpCaller& caller) : caller_(caller) {}

  Result<LimitSaved> set(LimitRequest request, const Operator& by) override {
    bodies::LimitBody body;
    body.name_space = request.name_space;
    body.expected_revision = request.expected_revision;
    body.reason = by.reason;
    const std::string path = limit_path(request);
    static_cast<LimitSpec&>(body) = static_cast<LimitSpec&&>(request);
    return caller_.send<LimitSaved>("PUT", path, body);
  }
  Result<LimitSaved> remove(const LimitName& limit, const Operator& by) override {
    Url url = limit_url(limit);
    if (!by.reason.empty()) url.add("reason", by.reason);
    FF_TRY(response, caller_.call("DELETE", url.text(), {}, {}));
    return HttpCaller::read<LimitSaved>(response);
  }
  Result<std::vector<LimitInfo>> list(const ListLimitsRequest& request) override {
    Url url("/v1/limits");
    url.add("namespace", request.name_space);
    FF_TRY(reply, caller_.get<bodies::LimitsReply>(url));
    return std::move(reply.limits);
  }
  Result<ListLimitUseReply> use(const ListLimitUseRequest& request) override {
    Url url = limit_url(request.limit);
    return caller_.get<ListLimitUseReply>(url.page(request.cursor, request.limit_keys));
  }
  Result<LimitCheck> check(const LimitCheckRequest& request) override {
    return caller_.send<LimitCheck>("POST", "/v1/limits/check", request);
  }
  // Not repeated: an adjustment would count twice.
  Result<BudgetUse> change_budget(ChangeBudgetRequest request, const Operator& by) override {
    const std::string path = limit_path(request) + "/budget";
    bodies::ChangeBudgetBody body{std::move(request.name_space), request.change, std::move(request.account),
                                  std::move(request.amounts), by.reason};
    return caller_.send<BudgetUse>("POST", path, body, {.repeat = false});
  }

 private:
  HttpCaller& caller_;
};

class EngineLimitCalls final : public LimitCalls {
 public:
  explicit EngineLimitCalls(Engine& engine) : engine_(engine) {}

  Result<LimitSaved> set(LimitRequest request, const Operator& by) override {
    return engine_.set_limit(std::move(request), by);
  }
  Result<LimitSaved> remove(const LimitName& limit, const Operator& by) override {
    return engine_.remove_limit(limit, by);
  }
  Result<std::vector<LimitInfo>> list(const ListLimitsRequest& request) override {
    return engine_.list_limits(request);
  }
  Result<ListLimitUseReply> use(const ListLimitUseRequest& request) override { return engine_.list_limit_use(request); }
  Result<LimitCheck> check(const LimitCheckRequest& request) override { return engine_.check_limits(request); }
  Result<BudgetUse> change_budget(ChangeBudgetRequest request, const Operator& by) override {
    return engine_.change_budget(std::move(request), by);
  }

 private:
  Engine& engine_;
};

}  // namespace

std::unique_ptr<LimitCalls> limit_calls(HttpCaller& caller) { return std::make_unique<HttpLimitCalls>(caller); }
std::unique_ptr<LimitCalls> limit_calls(Engine& engine) { return std::make_unique<EngineLimitCalls>(engine); }

}  // namespace flowfabric::sdk
