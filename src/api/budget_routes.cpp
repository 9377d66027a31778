// Budgets: what operators change of their accounts. Their definitions are those of limits.
#include "api/parameters.hpp"
#include "base/check.hpp"
#include "wire/budget_shapes.hpp"

namespace flowfabric::api {

using bodies::ChangeBudgetBody;

std::vector<Route> budget_routes() {
  return {
      described(blocking_route<ChangeBudgetBody, BudgetUse>(
                    ApiRole::operating, "POST", "/v1/limits/{name}/budget",
                    "Change what counts as spent of one account of a budget, or let it go on.",
                    [](Call& call, ChangeBudgetBody body) {
                      ChangeBudgetRequest request;
                      static_cast<LimitName&>(request) = {std::move(body.name_space), call.parameter("name")};
                      request.account = std::move(body.account);
                      request.change = body.change;
                      request.amounts = std::move(body.amounts);
                      return call.engine().change_budget(std::move(request), call.as_operator(std::move(body.reason)));
                    }),
                "Recorded in the event log with its reason. What leases have reserved stays reserved."),
  };
}

}  // namespace flowfabric::api
