// The fleet as JSON: workers, expired leases, grants, signing keys.
#pragma once

#include "wire/shapes.hpp"

namespace flowfabric::wire {

inline constexpr std::string_view register_outcome_names[] = {"registered", "refreshed"};
template <>
struct EnumRange<RegisterWorkerReply::Outcome> : NamedBy<RegisterWorkerReply::Outcome, register_outcome_names> {};
inline constexpr std::string_view heartbeat_outcome_names[] = {"refreshed", "not_registered"};
template <>
struct EnumRange<HeartbeatReply::Outcome> : NamedBy<HeartbeatReply::Outcome, heartbeat_outcome_names> {};
inline constexpr std::string_view mark_dead_outcome_names[] = {"marked", "not_registered"};
template <>
struct EnumRange<MarkWorkerDeadOutcome> : NamedBy<MarkWorkerDeadOutcome, mark_dead_outcome_names> {};
inline constexpr std::string_view drain_outcome_names[] = {"draining", "not_registered"};
template <>
struct EnumRange<DrainWorkerOutcome> : NamedBy<DrainWorkerOutcome, drain_outcome_names> {};

// ---- Workers

template <>
struct Shape<WorkerRegistration> {
  using R = WorkerRegistration;
  static constexpr std::string_view name = "WorkerRegistration";
  static constexpr auto fields = std::tuple{
      field("namespace", &R::name_space, "The namespace of the worker (default).")
          .within(1, limits::max_namespace_bytes),
      required("worker_id", &R::worker_id, "The pool of workers.").within(1, limits::max_worker_id_bytes),
      required("worker_instance_id", &R::worker_instance_id, "The worker process; unique in the namespace.")
          .within(1, limits::max_worker_id_bytes),
      field("lanes", &R::lanes, "The lanes that it serves (default).")
          .within(1, limits::max_claim_lanes)
          .each_up_to(limits::max_lane_bytes),
      field("capabilities", &R::capabilities, "The capabilities that it offers.")
          .up_to(limits::max_capabilities)
          .each_up_to(limits::max_capabilities_bytes),
      field("liveness_ttl_ms", &R::liveness_ttl_ms,
            "The worker is considered dead after this time without a heartbeat (30000).")
          .within(limits::min_liveness_ttl_ms, limits::max_liveness_ttl_ms),
  };
};

template <>
struct Shape<RegisterWorkerReply> {
  using R = RegisterWorkerReply;
  static constexpr std::string_view name = "RegisterWorkerReply";
  static constexpr auto fields = std::tuple{
      field("outcome", &R::outcome, "Whether it was already registered."),
      moment("registered_at", &R::registered_at, "Time of the first registration."),
      moment("next_expiry_at", &R::next_expiry_at, "Send a heartbeat before this time."),
  };
};

template <>
struct Shape<HeartbeatRequest> {
  using R = HeartbeatRequest;
  static constexpr std::string_view name = "HeartbeatRequest";
  static constexpr auto fields = std::tuple{
      field("namespace", &R::name_space, "The namespace of the worker (default).")
          .within(1, limits::max_namespace_bytes),
      required("worker_instance_id", &R::worker_instance_id, "The worker process.")
          .within(1, limits::max_worker_id_bytes),
      field("leases", &R::leases, "Handles of leases to renew in the same call, up to 1,000."),
  };
};

template <>
struct Shape<WorkerInfo> {
  static constexpr std::string_view name = "Worker";
  static constexpr auto fields = std::tuple{
      field("namespace", &WorkerInfo::name_space, "The namespace of the worker."),
      field("worker_id", &WorkerInfo::worker_id, "The pool of workers."),
      field("worker_instance_id", &WorkerInfo::worker_instance_id, "The worker process."),
      field("lanes", &WorkerInfo::lanes, "The lanes that it serves."),
      field("capabilities", &WorkerInfo::capabilities, "The capabilities that it offers."),
      field("liveness_ttl_ms", &WorkerInfo::liveness_ttl_ms,
            "The worker is considered dead after this time without a heartbeat."),
      moment("registered_at", &WorkerInfo::registered_at, "Time of the first registration."),
      moment("last_heartbeat_at", &WorkerInfo::last_heartbeat_at, "Time of the last heartbeat."),
      moment("expires_at", &WorkerInfo::expires_at, "When it is considered dead without another heartbeat."),
      field("partition", &WorkerInfo::partition, "A number from 0 to 255, computed from the instance id."),
      field("draining", &WorkerInfo::draining, "It was told to finish its work and claim no more."),
      field("state", &WorkerInfo::state, "Whether it is live, or how it ended."),
      moment("ended_at", &WorkerInfo::ended_at, "When it ended."),
      if_set("ended_by", &WorkerInfo::ended_by, "The actor that marked it dead."),
      if_set("reason", &WorkerInfo::reason, "Why."),
  };
};

template <>
struct Shape<ListWorkersReply> {
  static constexpr std::string_view name = "WorkerPage";
  static constexpr auto fields = std::tuple{
      field("workers", &ListWorkersReply::workers, "Sorted by namespace, then by instance id."),
      field("next_cursor", &ListWorkersReply::next_cursor, "Cursor of the next page; empty on the last page."),
  };
};

template <>
struct Shape<HeldLease> {
  static constexpr std::string_view name = "HeldLease";
  static constexpr auto fields = std::tuple{
      field("execution_id", &HeldLease::execution_id, "What is leased."),
      field("namespace", &HeldLease::name_space, "Of the execution."),
      field("lane", &HeldLease::lane, "Of the execution."),
      field("kind", &HeldLease::kind, "Of the execution."),
      field("attempt_index", &HeldLease::attempt_index, "The attempt that runs."),
      field("lease_epoch", &HeldLease::lease_epoch, "Epoch of the lease."),
      moment("acquired_at", &HeldLease::acquired_at, "When the worker got it."),
      moment("renewed_at", &HeldLease::renewed_at, "When it was last renewed."),
      moment("expires_at", &HeldLease::expires_at, "When it ends unless it is renewed."),
  };
};

template <>
struct Shape<ListWorkerLeasesReply> {
  static constexpr std::string_view name = "HeldLeasePage";
  static constexpr auto fields = std::tuple{
      field("leases", &ListWorkerLeasesReply::leases, "By the time when they were acquired, oldest first."),
      field("next_cursor", &ListWorkerLeasesReply::next_cursor, "Cursor of the next page; empty on the last page."),
  };
};

// ---- Leases that ran out, and grants

template <>
struct Shape<ExpiredLease> {
  static constexpr std::string_view name = "ExpiredLease";
  static constexpr auto fields = std::tuple{
      field("execution_id", &ExpiredLease::execution_id, "The leased execution."),
      field("namespace", &ExpiredLease::name_space, "The namespace of the execution."),
      field("lease_id", &ExpiredLease::lease_id, "The lease."),
      field("lease_epoch", &ExpiredLease::lease_epoch, "Epoch of the lease."),
      field("worker_id", &ExpiredLease::worker_id, "The pool of the last lease holder."),
      field("worker_instance_id", &ExpiredLease::worker_instance_id, "The last lease holder."),
      field("attempt_index", &ExpiredLease::attempt_index, "The interrupted attempt."),
      moment("expires_at", &ExpiredLease::expires_at, "When the lease ended."),
      field("cause", &ExpiredLease::cause, "Why it was lost; none: the clock has not processed it yet."),
  };
};

template <>
struct Shape<ListExpiredLeasesReply> {
  static constexpr std::string_view name = "ExpiredLeasePage";
  static constexpr auto fields = std::tuple{
      field("leases", &ListExpiredLeasesReply::leases, "Sorted by the time they ended, oldest first."),
      field("next_cursor", &ListExpiredLeasesReply::next_cursor, "Cursor of the next page; empty on the last page."),
  };
};

inline constexpr std::string_view about_grant_note = "A text of the scheduler, kept with the grant and shown with it.";

template <>
struct Shape<Grant> {
  static constexpr std::string_view name = "Grant";
  static constexpr auto fields = std::tuple{
      field("kind", &Grant::kind, "Claim or reclaim."),
      field("execution_id", &Grant::execution_id, "The reserved execution."),
      field("lane", &Grant::lane, "Of the execution."),
      field("worker_id", &Grant::worker_id, "The pool of workers that may use it."),
      field("worker_instance_id", &Grant::worker_instance_id, "The worker process for which it was issued."),
      field("grant_key", &Grant::grant_key, "The token that the worker redeems, once. Secret and opaque."),
      field("grant_id", &Grant::grant_id, "The SHA-256 of the key; safe to log."),
      moment("expires_at", &Grant::expires_at, "Redeem it before this time."),
      field("capability_hash", &Grant::capability_hash, about_grant_note),
      field("route_snapshot", &Grant::route_snapshot, about_grant_note),
      field("admission_summary", &Grant::admission_summary, about_grant_note),
  };
};

template <>
struct Shape<GrantRequest> {
  using R = GrantRequest;
  static constexpr std::string_view name = "GrantRequest";
  static constexpr auto fields = std::tuple{
      required("execution_id", &R::execution_id, "The execution to reserve."),
      required("worker_id", &R::worker_id, "The pool of workers that may redeem it.")
          .within(1, limits::max_worker_id_bytes),
      required("worker_instance_id", &R::worker_instance_id, "The worker process for which it is issued.")
          .within(1, limits::max_worker_id_bytes),
      field("capabilities", &R::capabilities, "The capabilities that the worker offers.")
          .up_to(limits::max_capabilities)
          .each_up_to(limits::max_capabilities_bytes),
      field("grant_ttl_ms", &R::grant_ttl_ms, "Validity in milliseconds, 1 to 60000 (5000).")
          .within(1, limits::max_grant_ttl_ms),
      field("capability_hash", &R::capability_hash, about_grant_note).up_to(limits::max_capability_hash_bytes),
      field("route_snapshot", &R::route_snapshot, about_grant_note).up_to(limits::max_grant_note_bytes),
      field("admission_summary", &R::admission_summary, about_grant_note).up_to(limits::max_grant_note_bytes),
  };
};

template <>
struct Shape<ClaimForWorkerRequest> {
  using R = ClaimForWorkerRequest;
  static constexpr std::string_view name = "ClaimForWorkerRequest";
  static constexpr auto fields = std::tuple{
      field("namespace", &R::name_space, "Only executions of this namespace; absent: of all namespaces.")
          .within(1, limits::max_namespace_bytes),
      field("lane", &R::lane, "The lane (default).").within(1, limits::max_lane_bytes),
      required("worker_id", &R::worker_id, "The pool of workers that may redeem it.")
          .within(1, limits::max_worker_id_bytes),
      required("worker_instance_id", &R::worker_instance_id, "The worker process for which it is issued.")
          .within(1, limits::max_worker_id_bytes),
      field("capabilities", &R::capabilities, "The capabilities that the worker offers.")
          .up_to(limits::max_capabilities)
          .each_up_to(limits::max_capabilities_bytes),
      field("grant_ttl_ms", &R::grant_ttl_ms, "Validity in milliseconds, 1 to 60000 (5000).")
          .within(1, limits::max_grant_ttl_ms),
      field("capability_hash", &R::capability_hash, about_grant_note).up_to(limits::max_capability_hash_bytes),
      field("route_snapshot", &R::route_snapshot, about_grant_note).up_to(limits::max_grant_note_bytes),
      field("admission_summary", &R::admission_summary, about_grant_note).up_to(limits::max_grant_note_bytes),
  };
};

template <>
struct Shape<RedeemRequest> {
  using R = RedeemRequest;
  static constexpr std::string_view name = "RedeemRequest";
  static constexpr auto fields = std::tuple{
      required("execution_id", &R::execution_id, "The execution that the grant reserves."),
      required("grant_key", &R::grant_key, "The key of the grant.").within(1, limits::max_grant_key_chars),
      field("worker_namespace", &R::worker_namespace,
            "The namespace in which the worker is registered, if it is (default).")
          .within(1, limits::max_namespace_bytes),
      required("worker_id", &R::worker_id, "The pool of workers; it must be that of the grant.")
          .within(1, limits::max_worker_id_bytes),
      required("worker_instance_id", &R::worker_instance_id,
               "The worker process; it may differ from that of the grant.")
          .within(1, limits::max_worker_id_bytes),
      field("capabilities", &R::capabilities, "The capabilities that the worker offers.")
          .up_to(limits::max_capabilities)
          .each_up_to(limits::max_capabilities_bytes),
      field("lease_ttl_ms", &R::lease_ttl_ms, "Duration of the lease without renewal (30000).")
          .within(limits::min_lease_ttl_ms, limits::max_lease_ttl_ms),
      field(
          "max_reclaim_count", &R::max_reclaim_count,
          "Only for a reclaim: one that was reclaimed this often fails instead. The limit of its policy holds as well.")
          .up_to(limits::max_max_reclaims),
  };
};

// ---- Keys and retention

template <>
struct Shape<SigningKeyInfo> {
  static constexpr std::string_view name = "SigningKey";
  static constexpr auto fields = std::tuple{
      field("key_id", &SigningKeyInfo::key_id, "Its number."),
      moment("created_at", &SigningKeyInfo::created_at, "When it was created."),
      moment("expires_at", &SigningKeyInfo::expires_at,
             "Until when its signatures are accepted; absent: it is the current signing key."),
  };
};

template <>
struct Shape<KeyRotation> {
  static constexpr std::string_view name = "KeyRotation";
  static constexpr auto fields = std::tuple{
      field("key_id", &KeyRotation::key_id, "The new signing key."),
      field("keys", &KeyRotation::keys, "All keys whose signatures are accepted, oldest first."),
  };
};

}  // namespace flowfabric::wire
