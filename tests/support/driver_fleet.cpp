// The fleet calls of the driver: what the public Engine does, without its threads.
#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/ingress.hpp"
#include "engine/calls.hpp"
#include "support/driver.hpp"

namespace flowfabric::test {

Result<RegisterWorkerReply> Driver::register_worker(WorkerRegistration registration) {
  FF_TRY_VOID(admit(registration));
  return reply_as<RegisterWorkerReply>(call(RegisterCommand{std::move(registration)}));
}

Pending<HeartbeatReply> Driver::heartbeat_later(HeartbeatRequest request) {
  Pending<HeartbeatReply> pending;
  runtime_->submit_heartbeat(std::move(request), [answer = pending.answer](auto reply) { *answer = std::move(reply); });
  settle();
  return pending;
}

Result<HeartbeatReply> Driver::heartbeat(HeartbeatRequest request) {
  const auto pending = heartbeat_later(std::move(request));
  if (!pending.done()) advance(limits::heartbeat_patience_ms);
  FF_CHECK(pending.done());
  return pending.get();
}

Result<MarkWorkerDeadOutcome> Driver::mark_dead(const std::string& instance, Operator by,
                                                const std::string& name_space) {
  FF_TRY_VOID(admit_worker_name(name_space, instance));
  FF_TRY_VOID(admit_death(by));
  return reply_as<MarkWorkerDeadOutcome>(call(MarkDeadCommand{name_space, instance, std::move(by)}));
}

Result<DrainWorkerOutcome> Driver::drain(const std::string& instance, Operator by, const std::string& name_space) {
  FF_TRY_VOID(admit_worker_name(name_space, instance));
  FF_TRY_VOID(admit(by));
  return reply_as<DrainWorkerOutcome>(call(DrainWorkerCommand{name_space, instance, std::move(by)}));
}

Result<ListWorkersReply> Driver::list_workers(const ListWorkersRequest& request) {
  return reads::workers(store(), request);
}

Result<ListWorkerLeasesReply> Driver::list_worker_leases(const ListWorkerLeasesRequest& request) {
  return reads::worker_leases(store(), request);
}

Result<ListExpiredLeasesReply> Driver::list_expired_leases(const ListExpiredLeasesRequest& request) {
  return reads::expired_leases(store(), request);
}

Result<Grant> Driver::issue_claim_grant(GrantRequest request) {
  FF_TRY_VOID(admit(request));
  return reply_as<Grant>(call(GrantCommand{GrantKind::claim, std::move(request)}));
}

Result<std::optional<Grant>> Driver::claim_for_worker(ClaimForWorkerRequest request) {
  std::optional<Result<std::optional<Grant>>> answer;
  runtime_->submit_claim_for_worker(std::move(request), [&](auto reply) { answer = std::move(reply); });
  settle();
  FF_CHECK(answer.has_value());
  return std::move(*answer);
}

Result<ClaimedExecution> Driver::claim_from_grant(RedeemRequest request) {
  FF_TRY(command, runtime_->redeem_command(GrantKind::claim, std::move(request)));
  return reply_as<ClaimedExecution>(call(std::move(command)));
}

Result<IssueReclaimGrantOutcome> Driver::issue_reclaim_grant(GrantRequest request) {
  FF_TRY_VOID(admit(request));
  return reply_as<IssueReclaimGrantOutcome>(call(GrantCommand{GrantKind::reclaim, std::move(request)}));
}

Result<ReclaimExecutionOutcome> Driver::reclaim(RedeemRequest request) {
  FF_TRY(command, runtime_->redeem_command(GrantKind::reclaim, std::move(request)));
  return reply_as<ReclaimExecutionOutcome>(call(std::move(command)));
}

Result<KeyRotation> Driver::rotate_keys(std::int64_t grace_ms, Operator by) {
  FF_TRY_VOID(admit_grace(grace_ms));
  FF_TRY_VOID(admit(by));
  return reply_as<KeyRotation>(call(RotateKeysCommand{grace_ms, std::move(by)}));
}

}  // namespace flowfabric::test
