// The public interface for the fleet: workers, grants, keys, retention.
#include "base/check.hpp"
#include "core/ingress.hpp"
#include "engine/calls.hpp"
#include "engine/engine_impl.hpp"
#include "engine/reads.hpp"

namespace flowfabric {
namespace {

constexpr std::uint32_t retention_page = 500;

ListRequest ended_executions(const RetentionRun& run) {
  ListRequest request;
  request.name_space = run.name_space;
  request.lane = run.lane;
  request.tag = run.tag;
  request.states = {PublicState::completed, PublicState::failed, PublicState::cancelled, PublicState::expired,
                    PublicState::skipped};
  request.limit = retention_page;
  return request;
}

// Removes a page of executions; adds to `removed`.
Result<void> remove_all(Runtime& runtime, const std::vector<ExecutionSummary>& executions, const ListRequest& selected,
                        bool dry_run, std::uint64_t& removed) {
  if (executions.empty()) return {};
  Answers<Result<RemoveReply>> answers(executions.size());
  for (std::size_t i = 0; i < executions.size(); ++i) {
    runtime.submit(RemoveCommand{executions[i].execution_id, selected.finished_before, selected.tag, dry_run},
                   [&answers, i](Result<Reply> reply) { answers.give(i, reply_as<RemoveReply>(std::move(reply))); });
  }
  Result<void> end;
  for (const auto& answer : answers.take()) {
    if (answer) {
      removed += answer->removed ? 1 : 0;
    } else if (answer.error().code != Errc::not_found && answer.error().code != Errc::not_terminal) {
      end = Unexpected(answer.error());  // otherwise another caller has removed or replayed it
    }
  }
  return end;
}

Result<void> remove_ended(Runtime& runtime, const RetentionRun& run, std::uint64_t& removed) {
  ListRequest request = ended_executions(run);
  if (run.older_than_ms) {
    FF_TRY(now_us, runtime.store().now_us());
    // What ended exactly that long ago is old enough: 0 includes this millisecond.
    request.finished_before = now_us / 1000 - *run.older_than_ms + 1;
  }
  do {
    FF_TRY(page, reads::list(runtime.store(), request));
    std::erase_if(page.executions, [](const ExecutionSummary& execution) { return execution.damage.has_value(); });
    FF_TRY_VOID(remove_all(runtime, page.executions, request, run.dry_run, removed));
    request.cursor = page.next_cursor;
  } while (!request.cursor.empty());
  return {};
}

// Flows are removed by the clock, each with all its members.
Result<void> remove_ended_flows(Runtime& runtime, const RetentionRun& run, std::uint64_t& removed) {
  if (run.lane) return {};  // a flow has no lane
  ListFlowsRequest request;
  request.name_space = run.name_space;
  request.tag = run.tag;
  request.states = {FlowState::completed, FlowState::failed, FlowState::cancelled};
  request.limit = retention_page;
  if (run.older_than_ms) {
    FF_TRY(now_us, runtime.store().now_us());
    request.finished_before = now_us / 1000 - *run.older_than_ms + 1;
  }
  do {
    FF_TRY(page, reads::flows(runtime.store(), request));
    for (const FlowSummary& flow : page.flows) {
      if (flow.damage) continue;
      const auto reply = call_as<RemoveReply>(
          runtime, RemoveFlowCommand{flow.flow_id, request.finished_before, request.tag, run.dry_run});
      if (reply) {
        removed += reply->removed ? flow.counts.total : 0;
      } else if (reply.error().code != Errc::not_found && reply.error().code != Errc::not_terminal) {
        return Unexpected(reply.error());
      }
    }
    request.cursor = page.next_cursor;
  } while (!request.cursor.empty());
  return {};
}

}  // namespace

Result<RegisterWorkerReply> Engine::register_worker(WorkerRegistration registration) {
  return impl_->counted("register_worker", [&]() -> Result<RegisterWorkerReply> {
    FF_TRY_VOID(admit(registration));
    return call_as<RegisterWorkerReply>(*impl_->runtime, RegisterCommand{std::move(registration)});
  });
}

// Its renewals are counted as renewals.
void Engine::heartbeat_async(HeartbeatRequest request, Done<HeartbeatReply> done) {
  const auto timer = impl_->timer("heartbeat_worker");
  const auto renewals = impl_->timer("renew");
  impl_->runtime->submit_heartbeat(std::move(request),
                                   [timer, renewals, done = std::move(done)](Result<HeartbeatReply> reply) {
                                     timer.ended(reply);
                                     if (reply) {
                                       for (const auto& verdict : reply->leases) renewals.ended(verdict);
                                     }
                                     done(std::move(reply));
                                   });
}

Result<HeartbeatReply> Engine::heartbeat_worker(HeartbeatRequest request) {
  Answer<Result<HeartbeatReply>> answer;
  heartbeat_async(std::move(request), [&](Result<HeartbeatReply> reply) { answer.give(std::move(reply)); });
  return answer.take();
}

Result<MarkWorkerDeadOutcome> Engine::mark_worker_dead(const std::string& name_space,
                                                       const std::string& worker_instance_id, Operator by) {
  return impl_->counted("mark_worker_dead", [&]() -> Result<MarkWorkerDeadOutcome> {
    FF_TRY_VOID(admit_worker_name(name_space, worker_instance_id));
    FF_TRY_VOID(admit_death(by));
    return call_as<MarkWorkerDeadOutcome>(*impl_->runtime,
                                          MarkDeadCommand{name_space, worker_instance_id, std::move(by)});
  });
}

Result<DrainWorkerOutcome> Engine::drain_worker(const std::string& name_space, const std::string& worker_instance_id,
                                                Operator by) {
  return impl_->counted("drain_worker", [&]() -> Result<DrainWorkerOutcome> {
    FF_TRY_VOID(admit_worker_name(name_space, worker_instance_id));
    FF_TRY_VOID(admit(by));
    return call_as<DrainWorkerOutcome>(*impl_->runtime,
                                       DrainWorkerCommand{name_space, worker_instance_id, std::move(by)});
  });
}

Result<ListWorkersReply> Engine::list_workers(const ListWorkersRequest& request) {
  return impl_->counted("list_workers", [&] { return reads::workers(impl_->runtime->store(), request); });
}

Result<ListWorkerLeasesReply> Engine::list_worker_leases(const ListWorkerLeasesRequest& request) {
  return impl_->counted("list_worker_leases", [&] { return reads::worker_leases(impl_->runtime->store(), request); });
}

Result<ListExpiredLeasesReply> Engine::list_expired_leases(const ListExpiredLeasesRequest& request) {
  return impl_->counted("list_expired_leases", [&] { return reads::expired_leases(impl_->runtime->store(), request); });
}

Result<Grant> Engine::issue_claim_grant(GrantRequest request) {
  return impl_->counted("issue_claim_grant", [&]() -> Result<Grant> {
    FF_TRY_VOID(admit(request));
    return call_as<Grant>(*impl_->runtime, GrantCommand{GrantKind::claim, std::move(request)});
  });
}

Result<std::optional<Grant>> Engine::claim_for_worker(ClaimForWorkerRequest request) {
  return impl_->counted("claim_for_worker", [&]() -> Result<std::optional<Grant>> {
    Answer<Result<std::optional<Grant>>> answer;
    impl_->runtime->submit_claim_for_worker(std::move(request),
                                            [&](Result<std::optional<Grant>> grant) { answer.give(std::move(grant)); });
    return answer.take();
  });
}

Result<ClaimedExecution> Engine::claim_from_grant(RedeemRequest request) {
  return impl_->counted("claim_from_grant", [&]() -> Result<ClaimedExecution> {
    FF_TRY(command, impl_->runtime->redeem_command(GrantKind::claim, std::move(request)));
    return call_as<ClaimedExecution>(*impl_->runtime, std::move(command));
  });
}

Result<IssueReclaimGrantOutcome> Engine::issue_reclaim_grant(GrantRequest request) {
  return impl_->counted("issue_reclaim_grant", [&]() -> Result<IssueReclaimGrantOutcome> {
    FF_TRY_VOID(admit(request));
    return call_as<IssueReclaimGrantOutcome>(*impl_->runtime, GrantCommand{GrantKind::reclaim, std::move(request)});
  });
}

Result<ReclaimExecutionOutcome> Engine::reclaim_execution(RedeemRequest request) {
  return impl_->counted("reclaim_execution", [&]() -> Result<ReclaimExecutionOutcome> {
    FF_TRY(command, impl_->runtime->redeem_command(GrantKind::reclaim, std::move(request)));
    return call_as<ReclaimExecutionOutcome>(*impl_->runtime, std::move(command));
  });
}

Result<KeyRotation> Engine::rotate_keys(std::int64_t grace_ms, Operator by) {
  return impl_->counted("rotate_keys", [&]() -> Result<KeyRotation> {
    FF_TRY_VOID(admit_grace(grace_ms));
    FF_TRY_VOID(admit(by));
    return call_as<KeyRotation>(*impl_->runtime, RotateKeysCommand{grace_ms, std::move(by)});
  });
}

Result<NewApiKey> Engine::create_api_key(ApiKeyRequest request, Operator by) {
  return impl_->counted("create_api_key", [&]() -> Result<NewApiKey> {
    FF_TRY_VOID(admit(request));
    FF_TRY_VOID(admit(by));
    auto made = call_as<NewApiKey>(*impl_->runtime, CreateApiKeyCommand{std::move(request), std::move(by)});
    impl_->api_keys.forget();
    return made;
  });
}

Result<ApiKeyInfo> Engine::revoke_api_key(const std::string& key, Operator by) {
  return impl_->counted("revoke_api_key", [&]() -> Result<ApiKeyInfo> {
    FF_TRY_VOID(admit(by));
    auto revoked = call_as<ApiKeyInfo>(*impl_->runtime, RevokeApiKeyCommand{key, std::move(by)});
    impl_->api_keys.forget();
    return revoked;
  });
}

Result<std::vector<ApiKeyInfo>> Engine::list_api_keys() {
  return impl_->counted("list_api_keys", [&] { return reads::api_keys(impl_->runtime->store()); });
}

Result<ApiKeyInfo> Engine::authenticate(const std::string& secret) {
  return impl_->counted("authenticate", [&] { return impl_->api_keys.whose(impl_->runtime->store(), secret); });
}

Result<Engine::ApiSession> Engine::begin_session(const std::string& secret, std::int64_t lifetime_ms) {
  return impl_->counted("begin_session", [&]() -> Result<ApiSession> {
    FF_TRY(key, impl_->api_keys.whose(impl_->runtime->store(), secret));
    std::string token = impl_->runtime->sign_session(key.key_id, lifetime_ms);
    return ApiSession{std::move(key), std::move(token)};
  });
}

Result<ApiKeyInfo> Engine::authenticate_session(const std::string& token) {
  return impl_->counted("authenticate_session", [&]() -> Result<ApiKeyInfo> {
    FF_TRY(claims, impl_->runtime->session_claims(token));
    return impl_->api_keys.with_id(impl_->runtime->store(), claims.api_key_id);
  });
}

Result<std::vector<SigningKeyInfo>> Engine::list_keys() {
  return impl_->counted("list_keys", [&] { return reads::keys(impl_->runtime->store()); });
}

Result<std::uint64_t> Engine::run_retention(const RetentionRun& run, Operator by) {
  return impl_->counted("run_retention", [&]() -> Result<std::uint64_t> {
    FF_TRY_VOID(admit(run));
    FF_TRY_VOID(admit(by));
    std::uint64_t removed = 0;
    Result<void> end = remove_ended(*impl_->runtime, run, removed);
    if (end) end = remove_ended_flows(*impl_->runtime, run, removed);
    if (run.dry_run) return end ? Result<std::uint64_t>(removed) : Unexpected(end.error());
    // Removals before an error are logged as well.
    const auto noted = call(*impl_->runtime, NoteRetentionCommand{run, removed, std::move(by)});
    if (!end) return Unexpected(end.error());
    if (!noted) return Unexpected(noted.error());
    return removed;
  });
}

}  // namespace flowfabric
