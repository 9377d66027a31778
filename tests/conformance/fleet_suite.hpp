// Helpers of the fleet suites: workers, grants, and the log of both.
#pragma once

#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {

inline WorkerRegistration worker(const std::string& instance, std::uint32_t liveness_ttl_ms = 30000,
                                 std::vector<std::string> capabilities = {}) {
  WorkerRegistration registration;
  registration.worker_id = "worker";
  registration.worker_instance_id = instance;
  registration.liveness_ttl_ms = liveness_ttl_ms;
  registration.capabilities = std::move(capabilities);
  return registration;
}

inline HeartbeatRequest beat(const std::string& instance, std::vector<Handle> leases = {}) {
  HeartbeatRequest request;
  request.worker_instance_id = instance;
  request.leases = std::move(leases);
  return request;
}

inline GrantRequest grant_for(const ExecutionId& id, std::uint32_t grant_ttl_ms = 5000,
                              const std::string& worker_id = "worker") {
  GrantRequest request;
  request.execution_id = id;
  request.worker_id = worker_id;
  request.worker_instance_id = "w-1";
  request.grant_ttl_ms = grant_ttl_ms;
  return request;
}

inline ClaimForWorkerRequest best_for(const std::string& worker_id = "worker", const std::string& lane = "default",
                                      std::vector<std::string> capabilities = {}) {
  ClaimForWorkerRequest request;
  request.lane = lane;
  request.worker_id = worker_id;
  request.worker_instance_id = worker_id + "-1";
  request.capabilities = std::move(capabilities);
  return request;
}

// Redeems a grant as the worker that it names.
inline RedeemRequest redeem(const Grant& grant) {
  RedeemRequest request;
  request.execution_id = grant.execution_id;
  request.grant_key = grant.grant_key;
  request.worker_id = grant.worker_id;
  request.worker_instance_id = grant.worker_instance_id;
  return request;
}

inline ClaimRequest ask_as(const std::string& instance, std::uint32_t count = 1, std::uint32_t lease_ttl_ms = 600000) {
  ClaimRequest request = ask(count);
  request.worker_instance_id = instance;
  request.lease_ttl_ms = lease_ttl_ms;
  return request;
}

inline CreateRequest manual_job(const std::string& lane = "default") {
  CreateRequest request = job(lane);
  request.policy.on_lease_lost = OnLeaseLost::manual;
  return request;
}

template <class T>
Error error_of(const Result<T>& result) {
  return result ? Error{Errc::internal, "not refused", {}, {}} : result.error();
}

class FleetSuite : public EngineSuite {
 protected:
  RegisterWorkerReply enlist(const WorkerRegistration& registration) {
    return value_of(engine().register_worker(registration));
  }
  HeartbeatReply heartbeat(HeartbeatRequest request) { return value_of(engine().heartbeat(std::move(request))); }

  std::vector<WorkerInfo> workers(const ListWorkersRequest& request = {}) {
    return value_of(engine().list_workers(request)).workers;
  }
  std::vector<WorkerInfo> workers_of_any_state() {
    ListWorkersRequest request;
    request.include_expired = true;
    request.limit = limits::max_page;
    return workers(request);
  }
  // The worker with this instance id, in any state.
  WorkerInfo info(const std::string& instance) {
    for (const WorkerInfo& each : workers_of_any_state()) {
      if (each.worker_instance_id == instance) return each;
    }
    throw std::runtime_error("there is no worker " + instance);
  }
  static std::vector<std::string> names(const std::vector<WorkerInfo>& infos) {
    std::vector<std::string> all;
    for (const WorkerInfo& each : infos) all.push_back(each.name_space + "/" + each.worker_instance_id);
    return all;
  }

  std::vector<Event> worker_events(const std::string& instance) {
    std::vector<Event> found = events_from(start_cursor("earliest"));
    // Events of executions name the worker that took the lease.
    std::erase_if(found,
                  [&](const Event& event) { return event.execution_id || event.worker_instance_id != instance; });
    return found;
  }
  Events worker_history(const std::string& instance) {
    Events types;
    for (const Event& event : worker_events(instance)) types.push_back(event.type);
    return types;
  }
  std::size_t events_of(EventType type) {
    EventFilter filter;
    filter.types = {type};
    return events_from(start_cursor("earliest"), filter).size();
  }

  // Processes what is queued, but does not run the clock: as if the engine stopped right afterwards.
  static void pump_only(Driver& driver) {
    for (std::size_t i = 0; i < driver.runtime().writers(); ++i) {
      while (driver.runtime().pump(i)) continue;
    }
  }
  static Result<Reply> call_without_clock(Driver& driver, Command command) {
    std::optional<Result<Reply>> answer;
    driver.runtime().submit(std::move(command), [&](Result<Reply> reply) { answer = std::move(reply); });
    pump_only(driver);
    return answer.value_or(flowfabric::fail(Errc::internal, "no answer"));
  }
  static Claims claim_without_clock(Driver& driver, ClaimRequest request) {
    std::optional<Result<Claims>> answer;
    driver.runtime().submit_claim(std::move(request), [&](Result<Claims> reply) { answer = std::move(reply); });
    pump_only(driver);
    return value_of(answer.value_or(flowfabric::fail(Errc::internal, "no answer")));
  }

  std::vector<ExecutionId> make_jobs(std::size_t count, const std::string& lane = "default") {
    return make_many(std::vector<CreateRequest>(count, job(lane)));
  }
  Claims claim_as(Driver& driver, const std::string& instance, std::uint32_t count = 1,
                  std::uint32_t lease_ttl_ms = 600000) {
    return value_of(driver.claim(ask_as(instance, count, lease_ttl_ms)));
  }
  bool is_held_by(const ClaimedExecution& claimed) {
    const auto lease = facts(claimed.execution_id).lease;
    return lease && lease->lease_id == claimed.lease.lease_id;
  }
  std::size_t held_of(const Claims& claims) {
    return static_cast<std::size_t>(
        std::count_if(claims.begin(), claims.end(), [&](const auto& claimed) { return is_held_by(claimed); }));
  }
};

}  // namespace flowfabric::test
