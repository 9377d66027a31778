// The moves that operations are made of. Each is the only place that does what it does: there is one way to become
// claimable, one way to lose a lease, one way to decide on a retry, one way to end.
//
// Functions here change an execution that has been checked already; they cannot fail.
#pragma once

#include <functional>
#include <string>

#include "base/entropy.hpp"
#include "core/workspace.hpp"

namespace flowfabric {

class TokenSigner;

// Everything a decision may use besides the records. The same context and records give the same decision.
struct Context {
  TimestampMs now = 0;                           // the store's clock, read once for the batch
  std::function<std::uint64_t()> next_sequence;  // ascending enqueue numbers, never 0
  Entropy entropy;
  std::int64_t default_retention_ms = 7LL * 24 * 3600 * 1000;
  bool release_on_worker_death = true;
  const TokenSigner* signer = nullptr;  // for what is signed: leases and grants
  bool note_stretches = false;          // somebody wants to know what took how long: see Stretch
  // Refuses an execution on a new route when there are too many routes. Empty: there is no limit.
  std::function<Result<void>(RouteNo route, const std::string& name_space)> admit_route{};
};

// One state change of one execution, with the event that records it.
class Transition {
 public:
  Transition(Slot& slot, const Context& context);

  Execution& execution() { return *slot_.execution(); }
  Facts& facts() { return slot_.execution()->facts; }
  const Spec& spec() const { return slot_.execution()->spec; }
  const Context& context() const { return context_; }
  TimestampMs now() const { return context_.now; }

  // Appends the event of this transition: from the state at construction to the present one.
  void record(EventType type, std::string actor, std::string reason, TimestampMs next_at = 0);
  void add_satellite(SatelliteKind kind, std::uint32_t n, std::string body);
  void touch();  // a change that is no transition: progress, tags, renewal

 private:
  void note_stretches(EventType type, const std::string& actor);

  Slot& slot_;
  const Context& context_;
  PublicState before_;
  // The lease that it was under at construction; 0: none.
  TimestampMs held_since_ = 0;
  std::uint64_t held_epoch_ = 0;
};

// Runnable now, or at `delay_until` when that lies ahead.
void make_runnable(Transition& transition, TimestampMs delay_until, DelayCause cause);

// The one end of every execution: releases the lease, ends the attempt, leaves the indexes, starts retention, and
// records `type`.
void finish(Transition& transition, Outcome outcome, EventType type, AttemptState attempt_end, std::string actor,
            std::string reason);

// The category of the failure of an execution that ended because its lease was lost too often.
inline constexpr const char* reclaim_cap_category = "max_reclaims_exceeded";

// Ends an execution without a lease that was reclaimed as often as allowed. `who` allows it: the policy, or a caller.
void fail_at_reclaim_cap(Transition& transition, std::uint32_t cap, const std::string& who, const std::string& actor);

// The one loss of every lease. Raises the epoch, interrupts the attempt, and ends the execution at the cap of reclaims, or
// does what the policy says: requeue, or wait for a manual reclaim. A grace counts from `since`, the moment of the loss, not from when it was
// noticed.
void lose_lease(Slot& slot, const Context& context, LeaseLoss cause, const std::string& actor,
                const std::string& reason, TimestampMs since);

// Ends the running attempt as failed and decides what follows. A backoff counts from `since`.
struct RetryWish {
  FailRequest::Retryable retryable = FailRequest::Retryable::by_policy;
  std::optional<std::int64_t> after_ms{};  // instead of the policy's backoff
};
FailReply fail_attempt(Slot& slot, const Context& context, Failure failure, const RetryWish& wish,
                       const std::string& actor, TimestampMs since);

// Gives a claimable execution to a worker: a new attempt, or the same one again.
struct Holder {
  std::string worker_namespace;
  std::string worker_id;
  std::string worker_instance_id;
  std::uint32_t lease_ttl_ms = 0;
};
ClaimedExecution lease_out(Transition& transition, const Holder& holder, EventType type);
// The handle of the lease that is held, signed with the newest key; empty without a signer.
Handle handle_of(const Execution& execution, const TokenSigner* signer);

// Applies everything that time has brought about by `now`, in order of due time, so that no decision depends on whether
// the clock loop came by first. Returns whether anything changed. Retention is not included.
bool settle(Slot& slot, const Context& context);

// How long an execution with this outcome is kept.
std::int64_t retention_ms(const Policy& policy, const RetentionPolicy& of_namespace, Outcome outcome,
                          std::int64_t default_ms);

// The delay before retry number `retry_count` (0: the first), without jitter. Saturates at the policy's maximum.
std::int64_t backoff_ms(const RetryPolicy& policy, std::uint32_t retry_count);

// The current attempt becomes history when another one takes its place.
void archive_attempt(Transition& transition);

}  // namespace flowfabric
