// Workers, expired leases, grants.
#include "api/parameters.hpp"
#include "base/check.hpp"
#include "wire/fleet_bodies.hpp"

namespace flowfabric::api {
namespace {

using CallPtr = std::shared_ptr<Call>;

// ---- Workers

void heartbeat(const CallPtr& call, HeartbeatRequest request, Engine::Done<HeartbeatAnswer> done) {
  if (auto checked = check_count("leases", request.leases.size()); !checked) {
    return done(Unexpected(checked.error()));
  }
  call->engine().heartbeat_async(std::move(request), [done = std::move(done)](Result<HeartbeatReply> reply) {
    if (!reply) return done(Unexpected(reply.error()));
    done(HeartbeatAnswer{reply->outcome, reply->next_expiry_at, items(std::move(reply->leases)), reply->drain,
                         std::move(reply->revoked_leases)});
  });
}

Result<ListWorkersReply> list_workers(Call& call, Nothing) {
  ListWorkersRequest request;
  request.name_space = call.query("namespace");
  request.lane = call.query("lane");
  request.capability = call.query("capability");
  FF_TRY(include_expired, query_flag(call, "include_expired"));
  request.include_expired = include_expired;
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return call.engine().list_workers(request);
}

Result<MarkDeadReply> mark_dead(Call& call, WorkerBody body) {
  FF_TRY(outcome, call.engine().mark_worker_dead(body.name_space, call.parameter("worker_instance_id"),
                                                 call.as_operator(std::move(body.reason))));
  return MarkDeadReply{outcome};
}

Result<DrainReply> drain(Call& call, WorkerBody body) {
  FF_TRY(outcome, call.engine().drain_worker(body.name_space, call.parameter("worker_instance_id"),
                                             call.as_operator(std::move(body.reason))));
  return DrainReply{outcome};
}

// A worker may hold work of several namespaces; a caller that reaches one sees the leases on its own.
Result<ListWorkerLeasesReply> worker_leases(Call& call, Nothing) {
  ListWorkerLeasesRequest request;
  request.name_space = call.query("namespace").value_or(request.name_space);
  request.worker_instance_id = call.parameter("worker_instance_id");
  request.execution_namespace = call.caller().name_space;
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call));
  request.limit = limit;
  return call.engine().list_worker_leases(request);
}

std::vector<Route> registry_routes() {
  std::vector<QueryParameter> listing = {
      {"namespace", "Only workers of this namespace."},
      {"lane", "Only workers that serve this lane."},
      {"capability", "Only workers that offer this capability."},
      flag_parameter("include_expired", "true: also workers that lapsed or died within the last day.")};
  for (const QueryParameter& parameter : paging_parameters()) listing.push_back(parameter);
  std::vector<QueryParameter> of_worker = {{"namespace", "Where the worker is registered (default)."}};
  for (const QueryParameter& parameter : paging_parameters()) of_worker.push_back(parameter);
  const std::string one = "/v1/workers/{worker_instance_id}";
  return {
      blocking_route<WorkerRegistration, RegisterWorkerReply>(
          ApiRole::worker, "POST", "/v1/workers", "Register a worker, or refresh its registration.",
          [](Call& call, WorkerRegistration registration) {
            return call.engine().register_worker(std::move(registration));
          }),
      async_route<HeartbeatRequest, HeartbeatAnswer>(ApiRole::worker, "POST", "/v1/workers/heartbeat",
                                                     "Send the heartbeat of a worker, and renew its leases.",
                                                     heartbeat),
      blocking_route<Nothing, ListWorkersReply>(ApiRole::viewer, "GET", "/v1/workers", "List registered workers.",
                                                list_workers, listing),
      blocking_route<Nothing, ListWorkerLeasesReply>(ApiRole::viewer, "GET", one + "/leases",
                                                     "The leases that a worker holds.", worker_leases, of_worker),
      blocking_route<WorkerBody, MarkDeadReply>(ApiRole::operating, "POST", one + "/mark-dead",
                                                "Mark a worker dead; its leases are released.", mark_dead),
      blocking_route<WorkerBody, DrainReply>(ApiRole::operating, "POST", one + "/drain",
                                             "Tell a worker to finish its work and claim no more.", drain),
  };
}

// ---- Leases that ran out, and grants

Result<ListExpiredLeasesReply> expired_leases(Call& call, Nothing) {
  ListExpiredLeasesRequest request;
  FF_TRY(as_of, query_moment(call, "as_of"));
  request.as_of = as_of;
  request.name_space = call.query("namespace");
  request.cursor = call.query("cursor").value_or("");
  FF_TRY(limit, page_limit(call, limits::max_page, limits::max_expired_leases_page));
  request.limit = limit;
  return call.engine().list_expired_leases(request);
}

Result<NextGrantReply> next_grant(Call& call, ClaimForWorkerRequest request) {
  FF_TRY(grant, call.engine().claim_for_worker(std::move(request)));
  using Outcome = NextGrantReply::Outcome;
  return NextGrantReply{grant ? Outcome::granted : Outcome::no_work, std::move(grant)};
}

// The common parts of the two outcomes.
template <class Reply>
void put(Reply& reply, NotReclaimable why) {
  reply.outcome = Reply::Outcome::not_reclaimable;
  reply.detail = std::move(why.detail);
}
template <class Reply>
void put(Reply& reply, const ReclaimCapExceeded& why) {
  reply.outcome = Reply::Outcome::reclaim_cap_exceeded;
  reply.count = why.count;
}
void put(ReclaimGrantReply& reply, Granted granted) { reply.grant = std::move(granted.grant); }
void put(ReclaimReply& reply, Claimed claimed) { reply.execution = std::move(claimed.execution); }
void put(ReclaimReply& reply, const GrantNotFound&) { reply.outcome = ReclaimReply::Outcome::grant_not_found; }

template <class Reply, class Variant>
Reply flat(Variant outcome) {
  Reply reply;
  std::visit([&](auto& what) { put(reply, std::move(what)); }, outcome);
  return reply;
}

Result<ReclaimGrantReply> reclaim_grant(Call& call, GrantRequest request) {
  FF_TRY(outcome, call.engine().issue_reclaim_grant(std::move(request)));
  return flat<ReclaimGrantReply>(std::move(outcome));
}

Result<ReclaimReply> reclaim(Call& call, RedeemRequest request) {
  FF_TRY(outcome, call.engine().reclaim_execution(std::move(request)));
  return flat<ReclaimReply>(std::move(outcome));
}

std::vector<Route> grant_routes() {
  return {
      blocking_route<Nothing, ListExpiredLeasesReply>(
          ApiRole::viewer, "GET", "/v1/leases/expired",
          "List lost leases whose executions have not been claimed again.", expired_leases,
          {moment_parameter("as_of", "Leases expired by this time, in milliseconds since the epoch (now)."),
           {"namespace", "Only executions of this namespace."},
           {"cursor", "The next_cursor of the previous page."},
           number_parameter("limit", "Page size, 1 to 10000 (1000).", 1, limits::max_expired_leases_page)}),
      blocking_route<GrantRequest, Grant>(
          ApiRole::worker, "POST", "/v1/claim-grants", "Reserve one execution for one worker.",
          [](Call& call, GrantRequest request) { return call.engine().issue_claim_grant(std::move(request)); }),
      blocking_route<ClaimForWorkerRequest, NextGrantReply>(
          ApiRole::worker, "POST", "/v1/claim-grants/next",
          "Reserve the first execution in the queue that the worker could claim.", next_grant),
      blocking_route<RedeemRequest, ClaimedExecution>(
          ApiRole::worker, "POST", "/v1/claim-grants/redeem", "Claim the execution that a grant reserves.",
          [](Call& call, RedeemRequest request) { return call.engine().claim_from_grant(std::move(request)); }),
      blocking_route<GrantRequest, ReclaimGrantReply>(
          ApiRole::worker, "POST", "/v1/reclaim-grants",
          "Reserve an execution whose lease was lost, to continue it in a new attempt.", reclaim_grant),
      blocking_route<RedeemRequest, ReclaimReply>(ApiRole::worker, "POST", "/v1/reclaim-grants/redeem",
                                                  "Reclaim the execution that a grant reserves.", reclaim),
  };
}

}  // namespace

std::vector<Route> fleet_routes() {
  std::vector<Route> all = registry_routes();
  for (Route& route : grant_routes()) all.push_back(std::move(route));
  return all;
}

}  // namespace flowfabric::api
