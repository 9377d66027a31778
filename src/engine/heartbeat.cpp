// One call per period: a heartbeat with all its renewals.
#include <atomic>

#include "base/check.hpp"
#include "engine/runtime.hpp"

namespace flowfabric {
namespace {

// A heartbeat and its renewals, until all have been answered.
struct Heartbeat {
  HeartbeatReply reply;
  std::vector<ExecutionId> executions;
  std::optional<Error> failure;
  std::atomic<std::size_t> missing{0};
  HeartbeatDone done;

  void answered() {
    if (missing.fetch_sub(1) != 1) return;
    if (failure) return done(Unexpected(*failure));
    for (std::size_t i = 0; i < reply.leases.size(); ++i) {
      if (is_lost(reply.leases[i])) reply.revoked_leases.push_back(executions[i]);
    }
    done(std::move(reply));
  }

  // Whether the worker should stop: not if the store is unavailable or the handle is malformed.
  static bool is_lost(const Result<RenewVerdict>& verdict) {
    if (verdict) return false;
    switch (verdict.error().code) {
      case Errc::lease_expired:
      case Errc::lease_revoked:
      case Errc::stale_lease:
      case Errc::already_terminal:
      case Errc::not_found: return true;
      default: return false;
    }
  }
};

void note(Heartbeat& heartbeat, const Result<Reply>& reply) {
  if (!reply) {
    heartbeat.failure = reply.error();
    return;
  }
  const auto& answer = std::get<HeartbeatReply>(*reply);
  heartbeat.reply.outcome = answer.outcome;
  heartbeat.reply.next_expiry_at = answer.next_expiry_at;
  heartbeat.reply.drain = answer.drain;
}

Result<RenewVerdict> verdict_of(Result<Reply> reply) {
  if (!reply) return Unexpected(std::move(reply).error());
  return std::get<RenewVerdict>(*reply);
}

}  // namespace

void Runtime::submit_heartbeat(HeartbeatRequest request, HeartbeatDone done) {
  if (auto admitted = admit(request); !admitted) return done(Unexpected(admitted.error()));
  auto heartbeat = std::make_shared<Heartbeat>();
  heartbeat->done = std::move(done);
  heartbeat->missing = request.leases.size() + 1;
  heartbeat->executions.resize(request.leases.size());
  heartbeat->reply.leases.resize(request.leases.size(), fail(Errc::internal, "no answer"));
  for (std::size_t i = 0; i < request.leases.size(); ++i) {
    with_fence(request.leases[i], [this, heartbeat, i](const Result<Fence>& fence) {
      if (!fence) {
        heartbeat->reply.leases[i] = Unexpected(fence.error());
        return heartbeat->answered();
      }
      heartbeat->executions[i] = fence->execution_id;
      submit_patiently(RenewCommand{*fence, 0}, [heartbeat, i](Result<Reply> reply) {
        heartbeat->reply.leases[i] = verdict_of(std::move(reply));
        heartbeat->answered();
      });
    });
  }
  submit_patiently(HeartbeatCommand{std::move(request.name_space), std::move(request.worker_instance_id)},
                   [heartbeat](const Result<Reply>& reply) {
                     note(*heartbeat, reply);
                     heartbeat->answered();
                   });
}

}  // namespace flowfabric
