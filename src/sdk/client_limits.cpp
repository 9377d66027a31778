// The calls of a client about limits.
#include <flowfabric/client.hpp>

#include "sdk/gateway.hpp"
#include "sdk/limit_calls.hpp"

namespace flowfabric {
namespace {

Operator limiting_client(std::string reason) { return {"client", std::move(reason)}; }

}  // namespace

Result<LimitSaved> Client::set_limit(LimitRequest request, std::string reason) {
  return gateway_->limits().set(std::move(request), limiting_client(std::move(reason)));
}
Result<LimitSaved> Client::remove_limit(const LimitName& limit, std::string reason) {
  return gateway_->limits().remove(limit, limiting_client(std::move(reason)));
}
Result<std::vector<LimitInfo>> Client::list_limits(const ListLimitsRequest& request) {
  return gateway_->limits().list(request);
}
Result<ListLimitUseReply> Client::list_limit_use(const ListLimitUseRequest& request) {
  return gateway_->limits().use(request);
}
Result<BudgetUse> Client::change_budget(ChangeBudgetRequest request, std::string reason) {
  return gateway_->limits().change_budget(std::move(request), limiting_client(std::move(reason)));
}
Result<LimitCheck> Client::check_limits(const LimitCheckRequest& request) { return gateway_->limits().check(request); }

}  // namespace flowfabric
