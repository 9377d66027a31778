#include "api/route.hpp"

namespace flowfabric::api {

Route described(Route route, std::string description) {
  route.description = std::move(description);
  return route;
}

Route taking_bytes(Route route, std::function<void(const std::shared_ptr<Call>&)> run) {
  route.takes_bytes = true;
  route.run = [as_json = std::move(route.run), as_bytes = std::move(run)](const std::shared_ptr<Call>& call) {
    const auto type = call->request().headers.find("content-type");
    (type && is_media_type(*type, bytes_type) ? as_bytes : as_json)(call);
  };
  return route;
}

bool wants_bytes(Call& call) {
  const auto accept = call.request().headers.find("accept");
  return accept && accept->find(bytes_type) != std::string_view::npos;
}

Route giving_bytes(Route route, std::function<Result<LabelledBytes>(Call&)> read) {
  route.gives_bytes = true;
  route.run = [as_json = std::move(route.run), read = std::move(read)](const std::shared_ptr<Call>& call) {
    if (!wants_bytes(*call)) return as_json(call);
    call->in_pool([call, read] {
      auto given = read(*call);
      if (!given) return call->refuse(given.error());
      call->answer_bytes(std::move(given->bytes), given->label);
    });
  };
  return route;
}

std::vector<Route> all_routes(const StreamSettings& streams, const DashboardSettings& dashboard,
                              const std::shared_ptr<Overview>& overview) {
  std::vector<Route> all;
  for (auto& more :
       {execution_routes(), flow_routes(), event_routes(streams), bulk_routes(), worker_routes(), wait_routes(),
        hook_routes(), fleet_routes(), care_routes(), schedule_routes(), limit_routes(), dead_letter_routes(),
        budget_routes(), api_key_routes(), session_routes(dashboard), overview_routes(overview)}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace flowfabric::api
