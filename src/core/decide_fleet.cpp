// The worker registry, and the release of the leases of a dead worker.
#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/decide_parts.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

void log_worker(Slot& slot, const Context& context, EventType type, std::string actor, std::string reason) {
  const WorkerInfo& info = slot.worker()->info;
  Event event;
  event.type = type;
  event.at = context.now;
  event.name_space = info.name_space;
  event.worker_instance_id = info.worker_instance_id;
  event.actor = std::move(actor);
  event.reason = std::move(reason);
  slot.log(std::move(event));
  slot.changed = true;
}

// Leases that it got until `died_at` are to be released.
void end_worker(Slot& slot, const Context& context, WorkerState state, TimestampMs died_at, const std::string& by,
                std::string reason) {
  WorkerRecord& worker = *slot.worker();
  worker.info.state = state;
  worker.info.ended_at = context.now;
  worker.info.ended_by = by;
  worker.info.reason = reason;
  if (context.release_on_worker_death) worker.release_until = died_at;
  const EventType type =
      state == WorkerState::marked_dead ? EventType::worker_marked_dead : EventType::worker_ttl_swept;
  log_worker(slot, context, type, by, std::move(reason));
}

// The record of a live worker, with due transitions applied; null if there is none.
WorkerRecord* live_worker(Workspace& workspace, const std::string& name_space, const std::string& worker_instance_id,
                          const Context& context) {
  Slot& slot = workspace.at(worker_key(name_space, worker_instance_id));
  settle_worker(slot, context);
  WorkerRecord* worker = slot.erased ? nullptr : slot.worker();
  return worker != nullptr && worker->info.state == WorkerState::live ? worker : nullptr;
}

void keep_alive(WorkerInfo& info, TimestampMs now) {
  info.last_heartbeat_at = now;
  info.expires_at = now + info.liveness_ttl_ms;
}

std::string changes_between(const WorkerInfo& info, const WorkerRegistration& registration) {
  std::string changes;
  const auto note = [&](bool changed, const char* what) {
    if (!changed) return;
    if (!changes.empty()) changes += ", ";
    changes += what;
  };
  note(info.lanes != registration.lanes, "lanes");
  note(info.capabilities != registration.capabilities, "capabilities");
  note(info.liveness_ttl_ms != registration.liveness_ttl_ms, "liveness_ttl_ms");
  note(info.draining, "draining");
  return changes;
}

void take_over(WorkerInfo& info, const WorkerRegistration& registration) {
  info.lanes = registration.lanes;
  info.capabilities = registration.capabilities;
  info.liveness_ttl_ms = registration.liveness_ttl_ms;
  info.draining = false;  // registering ends draining
}

Result<Reply> refresh(Slot& slot, const WorkerRegistration& registration, const Context& context) {
  WorkerInfo& info = slot.worker()->info;
  if (info.worker_id != registration.worker_id) {
    return fail(Errc::conflict,
                "instance_id reassigned: instance " + registration.worker_instance_id + " is live under worker " +
                    info.worker_id,
                "worker_instance_id");
  }
  const std::string changes = changes_between(info, registration);
  take_over(info, registration);
  keep_alive(info, context.now);
  slot.changed = true;
  if (!changes.empty()) {
    log_worker(slot, context, EventType::worker_refreshed, registration.worker_id, changes);
  }
  return RegisterWorkerReply{RegisterWorkerReply::Outcome::refreshed, info.registered_at, info.expires_at};
}

}  // namespace

Result<void> check_may_claim(Workspace& workspace, const std::string& worker_namespace,
                             const std::string& worker_instance_id) {
  Slot* slot = workspace.find(worker_key(worker_namespace, worker_instance_id));
  const WorkerRecord* worker = slot == nullptr || slot->erased ? nullptr : slot->worker();
  if (worker == nullptr) return {};
  const bool dead = worker->info.state == WorkerState::marked_dead;
  if (!dead && !worker->info.draining) return {};
  return fail(Errc::not_eligible,
              "worker instance " + worker_instance_id + (dead ? " was marked dead" : " is draining") +
                  " and claims nothing until it registers again",
              "worker_instance_id");
}

bool settle_worker(Slot& slot, const Context& context) {
  WorkerRecord* worker = slot.erased ? nullptr : slot.worker();
  if (worker == nullptr || worker->info.state != WorkerState::live || worker->info.expires_at > context.now) {
    return false;
  }
  // It died when its TTL passed, not when that was noticed: leases that it got since then are kept.
  end_worker(slot, context, WorkerState::ttl_swept, worker->info.expires_at, "clock",
             "no heartbeat for " + std::to_string(worker->info.liveness_ttl_ms) + " ms");
  return true;
}

Result<Reply> decide_one(Workspace& workspace, const RegisterCommand& command, const Context& context) {
  const WorkerRegistration& registration = command.registration;
  Slot& slot = workspace.at(worker_key(registration.name_space, registration.worker_instance_id));
  if (live_worker(workspace, registration.name_space, registration.worker_instance_id, context) != nullptr) {
    return refresh(slot, registration, context);
  }
  // Removed within the same batch: the old record must be deleted before a new one can replace it.
  if (slot.erased && slot.version != 0)
    return fail(Errc::contended, "the old registration is being removed; try again");
  // Leases from before the registration are still to be released. Leases of the last millisecond before cannot be
  // distinguished from new ones by their times: they are left to expire.
  TimestampMs release_until = slot.worker() != nullptr ? slot.worker()->release_until : 0;
  release_until = std::min(release_until, context.now - 1);
  WorkerRecord worker;
  worker.release_until = release_until;
  worker.info.name_space = registration.name_space;
  worker.info.worker_id = registration.worker_id;
  worker.info.worker_instance_id = registration.worker_instance_id;
  worker.info.partition = worker_partition(registration.worker_instance_id);
  worker.info.registered_at = context.now;
  take_over(worker.info, registration);
  keep_alive(worker.info, context.now);
  const RegisterWorkerReply reply{RegisterWorkerReply::Outcome::registered, context.now, worker.info.expires_at};
  slot.record = std::move(worker);
  slot.erased = false;
  log_worker(slot, context, EventType::worker_registered, registration.worker_id, {});
  return reply;
}

Result<Reply> decide_one(Workspace& workspace, const HeartbeatCommand& command, const Context& context) {
  HeartbeatReply reply;
  WorkerRecord* worker = live_worker(workspace, command.name_space, command.worker_instance_id, context);
  if (worker == nullptr) {
    reply.outcome = HeartbeatReply::Outcome::not_registered;
    return reply;
  }
  keep_alive(worker->info, context.now);
  workspace.at(worker_key(command.name_space, command.worker_instance_id)).changed = true;
  reply.next_expiry_at = worker->info.expires_at;
  reply.drain = worker->info.draining;
  return reply;
}

Result<Reply> decide_one(Workspace& workspace, const MarkDeadCommand& command, const Context& context) {
  if (live_worker(workspace, command.name_space, command.worker_instance_id, context) == nullptr) {
    return MarkWorkerDeadOutcome::not_registered;
  }
  Slot& slot = workspace.at(worker_key(command.name_space, command.worker_instance_id));
  end_worker(slot, context, WorkerState::marked_dead, context.now, command.by.name, command.by.reason);
  return MarkWorkerDeadOutcome::marked;
}

Result<Reply> decide_one(Workspace& workspace, const DrainWorkerCommand& command, const Context& context) {
  WorkerRecord* worker = live_worker(workspace, command.name_space, command.worker_instance_id, context);
  if (worker == nullptr) return DrainWorkerOutcome::not_registered;
  if (worker->info.draining) return DrainWorkerOutcome::draining;
  worker->info.draining = true;
  log_worker(workspace.at(worker_key(command.name_space, command.worker_instance_id)), context,
             EventType::worker_draining, command.by.name, command.by.reason);
  return DrainWorkerOutcome::draining;
}

Result<Reply> decide_one(Workspace& workspace, const ReleaseCommand& command, const Context& context) {
  FF_TRY(slot, settled_execution(workspace, command.id, context));
  const std::optional<Lease>& lease = slot->execution()->facts.lease;
  const bool theirs = lease && lease->worker_namespace == command.name_space &&
                      lease->worker_instance_id == command.worker_instance_id &&
                      lease->acquired_at <= command.acquired_until;
  if (theirs) lose_lease(*slot, context, LeaseLoss::revoked, "clock", "worker_dead", context.now);
  return Done{};
}

// First its leases are released, then a day passes, then the record is removed. The death is recorded before any lease
// is released, because a concurrent heartbeat may still be committed first.
void worker_due(Slot& slot, bool holds_leases, const Context& context) {
  slot.changed = true;
  if (settle_worker(slot, context)) return;
  WorkerRecord& worker = *slot.worker();
  if (!holds_leases) worker.release_until = 0;
  const bool is_done_with = worker.info.state != WorkerState::live && worker.release_until == 0;
  slot.erased = is_done_with && next_due(worker) <= context.now;
}

}  // namespace flowfabric
