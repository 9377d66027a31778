#include "simulation/life.hpp"

#include "base/hashing.hpp"
#include "simulation/trace.hpp"

namespace flowfabric::simulation {
namespace {

void require(bool holds, const Event& event, const char* why) {
  if (!holds)
    violated("events come in legal order", "{} of {}: {}", to_string(event.type), to_string(*event.execution_id), why);
}

Outcome outcome_of(EventType type) {
  switch (type) {
    case EventType::completed: return Outcome::success;
    case EventType::failed: return Outcome::failed;
    case EventType::cancelled: return Outcome::cancelled;
    case EventType::skipped: return Outcome::skipped;
    default: return Outcome::expired;
  }
}

// Tags, priority and grants change its properties, not its state.
bool is_note(EventType type) {
  return type == EventType::tags_changed || type == EventType::step_recorded || type == EventType::priority_changed ||
         type == EventType::grant_issued || type == EventType::grant_expired || type == EventType::waitpoint_opened ||
         type == EventType::signal_delivered || type == EventType::waitpoint_closed ||
         type == EventType::waitpoint_reissued || type == EventType::debounced || type == EventType::budget_warning ||
         type == EventType::budget_exceeded;
}

template <class A, class B>
void must_equal(const A& fact, const B& told, const char* what) {
  if (fact != told)
    violated("facts are what the events say", "{}: the fact is {}, the events make it {}", what, fact, told);
}

}  // namespace

PublicState Life::state() const {
  switch (stage_) {
    case Stage::held: return PublicState::active;
    case Stage::suspended: return PublicState::suspended;
    case Stage::lost: return PublicState::waiting;
    case Stage::ended: break;
    default:
      if (gated_) return PublicState::waiting_children;
      if (delayed_) return PublicState::delayed;
      return starts_ ? PublicState::waiting : PublicState::resumable;
  }
  switch (outcome_) {
    case Outcome::success: return PublicState::completed;
    case Outcome::cancelled: return PublicState::cancelled;
    case Outcome::expired: return PublicState::expired;
    case Outcome::skipped: return PublicState::skipped;
    default: return PublicState::failed;
  }
}

void Life::take(const Event& event, const Policy& policy, std::uint64_t commit) {
  if (event.type == EventType::created) {
    require(stage_ == Stage::unborn, event, "it exists already");
    queue(event, AttemptType::initial);
    expect_epoch(event, 0);
  } else {
    require(stage_ != Stage::unborn, event, "it was never created");
    require(event.state_before == state(), event, "state_before is not the state before");
    require(!capped_ || event.type == EventType::failed, event, "the reclaim cap was reached and it goes on");
    switch (event.type) {
      case EventType::claimed:
      case EventType::resumed:
      case EventType::lease_reclaimed: lease(event, commit); break;
      case EventType::grant_issued: reserve(event); break;
      case EventType::grant_expired: unreserve(event); break;
      case EventType::delayed:
        if (gated_) {
          open_gate(event);
          break;
        }
        [[fallthrough]];
      case EventType::released:
      case EventType::joining:
      case EventType::suspended:
      case EventType::retry_scheduled:
      case EventType::lease_expired:
      case EventType::lease_revoked: release(event, policy, commit); break;
      case EventType::completed:
      case EventType::failed:
      case EventType::cancelled:
      case EventType::expired:
      case EventType::skipped: end(event, commit); break;
      default: take_queue_event(event);
    }
  }
  require(event.state_after == state(), event, "state_after is not the state after");
  if (!is_note(event.type)) last_at_ = event.at;
}

void Life::take_queue_event(const Event& event) {
  switch (event.type) {
    case EventType::limited:
      require(claimable(), event, "it was not claimable");
      limited_ = true;
      break;
    case EventType::ready:
      if (event.reason == "limit") {
        require(stage_ == Stage::queued && limited_, event, "no limit held it back");
        limited_ = false;
        break;
      }
      require(stage_ == Stage::queued && (delayed_ || gated_), event, "it was not waiting for a time or for nodes");
      require(!reservation_, event, "a grant holds it off");
      require(!gated_ || event.actor == "flow", event, "only its flow lets it run");
      delayed_ = false;
      gated_ = false;
      limited_ = false;
      break;
    case EventType::held_back:
      require(stage_ == Stage::queued && !gated_ && !started_, event, "it has started, or waits for nodes already");
      require(!reservation_, event, "a grant holds it");
      gated_ = true;
      break;
    case EventType::replayed:
      require(stage_ == Stage::ended, event, "only what has ended is replayed");
      ++replays_;
      retries_ = reclaims_ = 0;
      started_ = false;
      replayed_epoch_ = epoch_;
      outcome_ = Outcome::none;
      queue(event, AttemptType::replay);
      break;
    case EventType::priority_changed: require(stage_ != Stage::ended, event, "it has ended"); break;
    case EventType::tags_changed: break;
    case EventType::debounced:
      require(stage_ == Stage::queued && delayed_ && !started_, event, "it has started, or was about to");
      delayed_ = event.next_at != 0;
      break;
    case EventType::budget_warning:
    case EventType::budget_exceeded: require(stage_ == Stage::held, event, "nobody holds it"); break;
    case EventType::step_recorded: require(stage_ == Stage::held, event, "nobody holds it"); break;
    default: take_wait_event(event);
  }
  expect_epoch(event, epoch_);
}

void Life::take_wait_event(const Event& event) {
  switch (event.type) {
    case EventType::waitpoint_opened: require(stage_ == Stage::held, event, "nobody holds it"); break;
    case EventType::signal_delivered:
    case EventType::waitpoint_closed:
    case EventType::waitpoint_reissued: require(stage_ != Stage::ended, event, "it has ended"); break;
    case EventType::wait_escalated: require(stage_ == Stage::suspended, event, "it does not wait"); break;
    case EventType::wait_ended:
      // The signals that a holder waits for may be there already.
      require(stage_ == Stage::suspended || stage_ == Stage::held, event, "it does not wait");
      if (stage_ == Stage::suspended) {
        queue(event, std::nullopt);
      } else {
        waited_under_ = epoch_;
      }
      break;
    default: require(false, event, "not an event of an execution");
  }
}

void Life::queue(const Event& event, std::optional<AttemptType> starts) {
  stage_ = Stage::queued;
  starts_ = starts;
  limited_ = false;
  delayed_ = event.state_after == PublicState::delayed;
  gated_ = event.state_after == PublicState::waiting_children;
}

// The nodes that it waited for have ended, and its time has not come.
void Life::open_gate(const Event& event) {
  require(event.actor == "flow", event, "only its flow lets it run");
  gated_ = false;
  limited_ = false;
  delayed_ = true;
  expect_epoch(event, epoch_);
}

// Whether a lease was lost and the execution has not been claimed since; the cap has not ended it.
bool Life::reclaimable() const {
  if (stage_ == Stage::lost) return !capped_;
  return stage_ == Stage::queued && starts_ == AttemptType::reclaim;
}

void Life::reserve(const Event& event) {
  require(!reservation_, event, "another grant stands");
  Reservation made;
  made.kind = event.reason.starts_with("reclaim") ? GrantKind::reclaim : GrantKind::claim;
  made.grant_id = event.reason.substr(event.reason.rfind(' ') + 1);
  made.worker_id = event.actor;
  made.expires_at = event.next_at;
  require(made.kind == GrantKind::reclaim ? reclaimable() : stage_ == Stage::queued && !delayed_, event,
          "there was nothing to grant");
  require(made.expires_at > event.at, event, "it has run out already");
  require(granted_.insert(made.grant_id).second, event, "this grant was given before");
  reservation_ = std::move(made);
  expect_epoch(event, epoch_);
}

void Life::unreserve(const Event& event) {
  require(reservation_.has_value(), event, "there was no grant");
  require(event.at >= reservation_->expires_at, event, "its time was not up");
  reservation_.reset();
  expect_epoch(event, epoch_);
}

// A claim, a resumption or a reclaim. While a grant exists, this can only be its redemption.
void Life::lease(const Event& event, std::uint64_t commit) {
  const bool reclaims = event.type == EventType::lease_reclaimed;
  require(reclaims ? reclaimable() : stage_ == Stage::queued && !delayed_, event, "it was not claimable");
  require(!reclaims || reservation_, event, "nobody was granted that");
  if (reservation_) {
    require(reclaims == (reservation_->kind == GrantKind::reclaim), event, "it was granted for something else");
    require(event.at < reservation_->expires_at, event, "the grant had run out");
  }
  if (reclaims) starts_ = AttemptType::reclaim;
  require((event.type == EventType::resumed) != starts_.has_value(), event, "the wrong kind of claim");
  if (starts_) start_attempt();
  require(event.reason == to_string(running_), event, "not the type of the attempt");
  require(event.attempt_index == attempts_ - 1, event, "attempt indexes are not dense");
  expect_epoch(event, epoch_ + 1);
  stage_ = Stage::held;
  started_ = true;
  delayed_ = false;
  limited_ = false;
  LeaseSpan& span = leases_[epoch_];
  span.attempt_index = *event.attempt_index;
  span.instance = event.actor;
  span.began_commit = commit;
  if (reservation_) span.grant_id = reservation_->grant_id;
  if (reservation_) span.granted_to = reservation_->worker_id;
  reservation_.reset();
}

// Reclaims are counted when they start, not when the lease is lost.
void Life::start_attempt() {
  running_ = *starts_;
  ++attempts_;
  if (running_ == AttemptType::reclaim) ++reclaims_;
}

void Life::release(const Event& event, const Policy& policy, std::uint64_t commit) {
  require(stage_ == Stage::held, event, "nobody held it");
  require(event.attempt_index == attempts_ - 1, event, "not the running attempt");
  end_span(event, commit);
  expect_epoch(event, epoch_ + 1);
  switch (event.type) {
    case EventType::released:
    case EventType::joining:
    case EventType::delayed: queue(event, std::nullopt); break;
    case EventType::suspended: stage_ = Stage::suspended; break;
    case EventType::retry_scheduled:
      ++retries_;
      queue(event, AttemptType::retry);
      break;
    default: lose(event, policy);
  }
}

void Life::lose(const Event& event, const Policy& policy) {
  capped_ = reclaims_ >= policy.max_reclaims;
  if (capped_ || policy.on_lease_lost == OnLeaseLost::manual) {
    stage_ = Stage::lost;
  } else {
    queue(event, AttemptType::reclaim);
  }
}

void Life::end(const Event& event, std::uint64_t commit) {
  require(stage_ != Stage::ended, event, "it has ended already: a second terminal event");
  const bool held = stage_ == Stage::held;
  // A node that is a flow runs no worker, and neither does its begin.
  const bool ends_itself = gated_ && event.actor == "flow" && event.kind == inner_flow_kind;
  require(held || ends_itself || event.type != EventType::completed, event, "nobody held it");
  require(event.type != EventType::skipped || gated_, event, "it was not waiting for nodes");
  const bool timed_out = stage_ == Stage::suspended && event.actor == "clock" && event.reason == "wait_timeout";
  require(held || ends_itself || event.type != EventType::failed || capped_ || timed_out, event, "nobody held it");
  if (held) end_span(event, commit);
  // A holder whose execution is ended by another caller must be fenced afterwards.
  expect_epoch(event, held && event.type != EventType::completed ? epoch_ + 1 : epoch_);
  if (event.type == EventType::cancelled) ++cancellations_;
  outcome_ = outcome_of(event.type);
  stage_ = Stage::ended;
  capped_ = false;
  delayed_ = false;
  gated_ = false;
  limited_ = false;
  reservation_.reset();
}

void Life::end_span(const Event& event, std::uint64_t commit) {
  LeaseSpan& span = leases_[epoch_];
  span.ended_commit = commit;
  span.ended_by = event.type;
  span.ended_actor = event.actor;
}

void Life::expect_epoch(const Event& event, std::uint64_t epoch) {
  if (event.lease_epoch != epoch) {
    violated("the lease epoch rises with every lease change", "{} of {} says epoch {}; it must be {}",
             to_string(event.type), to_string(*event.execution_id), event.lease_epoch, epoch);
  }
  epoch_ = epoch;
}

void Life::compare(const Facts& facts) const {
  const Phase phase = stage_ == Stage::ended                           ? Phase::terminal
                      : stage_ == Stage::suspended                     ? Phase::suspended
                      : stage_ == Stage::held || stage_ == Stage::lost ? Phase::active
                                                                       : Phase::runnable;
  must_equal(to_string(facts.phase), to_string(phase), "phase");
  must_equal(to_string(facts.outcome), to_string(outcome_), "outcome");
  must_equal(facts.lease_epoch, epoch_, "lease_epoch");
  must_equal(facts.lease.has_value(), stage_ == Stage::held, "lease");
  must_equal(facts.attempt_count, attempts_, "attempt_count");
  must_equal(facts.retry_count, retries_, "retry_count");
  must_equal(facts.reclaim_count, reclaims_, "reclaim_count");
  must_equal(facts.replay_count, replays_, "replay_count");
  must_equal(facts.last_transition_at, last_at_, "last_transition_at");
  must_equal((facts.gates & limit_gate) != 0, limited_, "held back by a limit");
  must_equal((facts.gates & ~(untold_schedule | limit_gate)) != 0, stage_ == Stage::queued && gated_,
             "waits for nodes");
  if (!gated_) must_equal(facts.delay_until != 0, stage_ == Stage::queued && delayed_, "waits for a time");
  must_equal(facts.ready_sequence != 0, stage_ == Stage::queued && !delayed_ && !gated_ && !limited_, "is claimable");
  must_equal(facts.retain_until != 0 || facts.finished_at != 0, stage_ == Stage::ended, "retention");
  must_equal(facts.grant.has_value(), reservation_.has_value(), "grant");
  if (reservation_) {
    must_equal(to_string(facts.grant->kind), to_string(reservation_->kind), "kind of the grant");
    must_equal(to_hex(facts.grant->grant_id), reservation_->grant_id, "grant");
    must_equal(facts.grant->worker_id, reservation_->worker_id, "worker of the grant");
    must_equal(facts.grant->expires_at, reservation_->expires_at, "end of the grant");
  }
  if (stage_ == Stage::queued) must_equal(facts.pending.has_value(), starts_.has_value(), "pending attempt");
  if (attempts_ > 0) must_equal(facts.attempt->attempt_index, attempts_ - 1, "attempt_index");
  if (facts.lease) {
    must_equal(facts.lease->lease_epoch, epoch_, "epoch of the lease");
    must_equal(facts.lease->worker_instance_id, leases_.at(epoch_).instance, "holder");
  }
}

}  // namespace flowfabric::simulation
