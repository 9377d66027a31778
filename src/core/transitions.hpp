// The transitions of which operations consist. Each exists only here: there is one function to become claimable, one to
// lose a lease, one to decide on a retry, one to end.
//
// These functions change an execution that has already been checked; they cannot fail.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/entropy.hpp"
#include "core/time_zone.hpp"
#include "core/workspace.hpp"

namespace flowfabric {

class TokenSigner;

// Of the executions that are ready on one route at one priority.
struct LineHead {
  std::optional<std::uint64_t> first{};  // the lowest enqueue number, if there are any
  std::uint64_t highest = 0;             // that was ever known to be the lowest one
  bool is_known = true;                  // false: the store could not be asked, so `first` says nothing
};

// Everything that a decision may use in addition to the records. The same context and records give the same decision.
struct Context {
  TimestampMs now = 0;                           // the store's clock, read once for the batch
  std::function<std::uint64_t()> next_sequence;  // ascending enqueue numbers, never 0
  Entropy entropy;
  std::int64_t default_retention_ms = 7LL * 24 * 3600 * 1000;
  bool release_on_worker_death = true;
  const TokenSigner* signer = nullptr;  // signs leases and grants
  bool note_stretches = false;          // tracing is on: see Stretch
  // Refuses an execution on a new route when there are too many routes. Empty: there is no limit.
  std::function<Result<void>(RouteNo route, const std::string& name_space)> admit_route{};
  const TimeZones* zones = nullptr;  // null: only UTC
  // Where a route stands at a priority, about. A hint: nothing but the order of service follows from it. Empty: nothing is
  // ready.
  std::function<LineHead(RouteNo route, std::int32_t priority)> head_of{};
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

  // Appends the event of this transition: from the state at construction to the current one.
  void record(EventType type, std::string actor, std::string reason, TimestampMs next_at = 0);
  void add_satellite(SatelliteKind kind, std::uint32_t n, std::string body);
  void touch();       // a change that is not a transition: progress, tags, renewal
  void note_place();  // it has got an enqueue number

 private:
  void note_stretches(EventType type, const std::string& actor);

  Slot& slot_;
  const Context& context_;
  PublicState before_;
  // The lease at construction; 0: none.
  TimestampMs held_since_ = 0;
  std::uint64_t held_epoch_ = 0;
};

// Runnable now, or at `delay_until` if that is in the future.
void make_runnable(Transition& transition, TimestampMs delay_until, DelayCause cause);

// The only way in which an execution ends: releases the lease, ends the attempt, leaves the indexes, starts retention,
// and records `type`.
void finish(Transition& transition, Outcome outcome, EventType type, AttemptState attempt_end, std::string actor,
            std::string reason);

// The category of the failure of an execution that ended because its lease was lost too often.
inline constexpr const char* reclaim_cap_category = "max_reclaims_exceeded";

// Ends an execution without a lease that was reclaimed as often as allowed. `who` allows it: the policy, or a caller.
void fail_at_reclaim_cap(Transition& transition, std::uint32_t cap, const std::string& who, const std::string& actor);

// The only way in which a lease is lost. Increases the epoch, interrupts the attempt, and ends the execution at the cap
// of reclaims, or follows the policy: requeue, or wait for a manual reclaim. A grace period starts at `since`, the time
// of the loss, not when it was noticed.
void lose_lease(Slot& slot, const Context& context, LeaseLoss cause, const std::string& actor,
                const std::string& reason, TimestampMs since);

// Ends the running attempt as failed and decides what follows. A backoff starts at `since`.
struct RetryWish {
  FailRequest::Retryable retryable = FailRequest::Retryable::by_policy;
  std::optional<std::int64_t> after_ms{};  // instead of the policy's backoff
};
FailReply fail_attempt(Slot& slot, const Context& context, Failure failure, const RetryWish& wish,
                       const std::string& actor, TimestampMs since);

// Makes the execution wait. Its lease is gone; nothing but the end of the wait, or of the execution, changes that.
void begin_wait(Transition& transition, WaitFacts waits);
// The only way in which a wait ends other than with its execution: what was delivered is recorded for the next claim, and its
// waitpoints close. A suspended execution becomes claimable. Returns what was recorded.
WaitOutcome end_wait(Slot& slot, const Context& context, WaitCause cause, const Operator& by);

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

// Applies all transitions that are due at `now`, in order of due time, so that no decision depends on whether the clock
// loop ran first. Returns whether anything changed. Retention is not included.
bool settle(Slot& slot, const Context& context);

// How long an execution with this outcome is kept.
std::int64_t retention_ms(const Policy& policy, const RetentionPolicy& of_namespace, Outcome outcome,
                          std::int64_t default_ms);

// The delay before retry number `retry_count` (0: the first), without jitter. Saturates at the policy's maximum.
std::int64_t backoff_ms(const RetryPolicy& policy, std::uint32_t retry_count);

// Moves the current attempt to the history when another one replaces it.
void archive_attempt(Transition& transition);

}  // namespace flowfabric
