#include "core/state.hpp"

#include <gtest/gtest.h>

#include <flowfabric/schedules.hpp>

namespace flowfabric {
namespace {

constexpr TimestampMs now = 1767323045678;  // 2026-01-02T03:04:05.678Z

Execution runnable() {
  Execution execution;
  execution.spec.lane = "default";
  execution.spec.kind = "job";
  execution.facts.pending = PendingAttempt{};
  execution.facts.ready_sequence = 1;
  return execution;
}

Execution delayed(DelayCause cause) {
  Execution execution = runnable();
  execution.facts.ready_sequence = 0;
  execution.facts.delay_until = now;
  execution.facts.delay_cause = cause;
  return execution;
}

Execution running() {
  Execution execution = runnable();
  execution.facts.phase = Phase::active;
  execution.facts.ready_sequence = 0;
  execution.facts.pending.reset();
  execution.facts.attempt = Attempt{};
  execution.facts.lease = Lease{};
  execution.facts.lease->worker_instance_id = "w-1";
  execution.facts.lease->expires_at = now + 100;
  return execution;
}

Execution ended(Outcome outcome) {
  Execution execution = running();
  execution.facts.phase = Phase::terminal;
  execution.facts.lease.reset();
  execution.facts.outcome = outcome;
  execution.facts.finished_at = now;
  return execution;
}

LaneInfo lane(LaneState state, const std::string& reason = {}) { return {"default", state, 0, "ops", reason}; }

// No worker with special capabilities is registered.
Surroundings around(const LaneInfo& info, std::uint64_t ahead = 0, TimestampMs at = now) {
  return {info, ahead, false, at};
}

TEST(States, PublicStateOfEveryPhase) {
  EXPECT_EQ(public_state(runnable().facts), PublicState::waiting);
  EXPECT_EQ(public_state(delayed(DelayCause::submitted).facts), PublicState::delayed);
  EXPECT_EQ(public_state(running().facts), PublicState::active);
  EXPECT_EQ(public_state(ended(Outcome::success).facts), PublicState::completed);
  EXPECT_EQ(public_state(ended(Outcome::failed).facts), PublicState::failed);
  EXPECT_EQ(public_state(ended(Outcome::cancelled).facts), PublicState::cancelled);
  EXPECT_EQ(public_state(ended(Outcome::expired).facts), PublicState::expired);
  EXPECT_EQ(public_state(ended(Outcome::skipped).facts), PublicState::skipped);
  EXPECT_EQ(public_state(ended(Outcome::none).facts), PublicState::failed) << "so that somebody looks at it";
  Execution suspended = running();
  suspended.facts.phase = Phase::suspended;
  EXPECT_EQ(public_state(suspended.facts), PublicState::suspended);
}

TEST(States, ResumableIsARunnableSuspendedAttempt) {
  Execution execution = runnable();
  execution.facts.pending.reset();
  execution.facts.attempt = Attempt{};
  execution.facts.attempt->attempt_state = AttemptState::suspended;
  EXPECT_EQ(public_state(execution.facts), PublicState::resumable);
  execution.facts.delay_until = now;
  EXPECT_EQ(public_state(execution.facts), PublicState::delayed);
}

TEST(States, TheDerivationIsTotal) {
  for (int phase = 0; phase <= static_cast<int>(Phase::terminal); ++phase) {
    for (int outcome = 0; outcome <= static_cast<int>(Outcome::skipped); ++outcome) {
      for (int bits = 0; bits < 16; ++bits) {
        Execution execution = (bits & 1) != 0 ? running() : runnable();
        execution.facts.phase = static_cast<Phase>(phase);
        if (execution.facts.phase == Phase::suspended) execution.facts.waits.emplace().wait.emplace();
        execution.facts.outcome = static_cast<Outcome>(outcome);
        if ((bits & 2) != 0) execution.facts.lease.reset();
        if ((bits & 4) != 0) execution.facts.attempt.reset();
        if ((bits & 8) != 0) execution.facts.delay_until = now;
        const StateVector vector = state_vector(execution, LaneState::paused);
        EXPECT_EQ(vector.public_state, public_state(execution.facts));
        EXPECT_FALSE(to_string(vector.attempt_state).empty());
        explain(execution, around(lane(LaneState::paused)));
      }
    }
  }
}

TEST(States, AttemptStates) {
  const auto of = [](const Execution& execution) { return state_vector(execution, LaneState::active).attempt_state; };
  Execution execution = runnable();
  execution.facts.pending->type = AttemptType::initial;
  EXPECT_EQ(of(execution), AttemptPhase::pending_first_attempt);
  execution.facts.pending->type = AttemptType::retry;
  EXPECT_EQ(of(execution), AttemptPhase::pending_retry_attempt);
  execution.facts.pending->type = AttemptType::reclaim;
  EXPECT_EQ(of(execution), AttemptPhase::pending_reclaim_attempt);
  execution.facts.pending->type = AttemptType::replay;
  EXPECT_EQ(of(execution), AttemptPhase::pending_replay_attempt);
  EXPECT_EQ(of(running()), AttemptPhase::running_attempt);
  EXPECT_EQ(of(ended(Outcome::failed)), AttemptPhase::attempt_terminal);
  Execution never_ran = ended(Outcome::cancelled);
  never_ran.facts.attempt.reset();
  EXPECT_EQ(of(never_ran), AttemptPhase::none);
}

TEST(States, OwnershipTellsHowALeaseWasLost) {
  Execution execution = running();
  EXPECT_EQ(state_vector(execution, LaneState::active).ownership_state, Ownership::leased);
  execution.facts.lease.reset();
  execution.facts.lost.cause = LeaseLoss::expired;
  EXPECT_EQ(state_vector(execution, LaneState::active).ownership_state, Ownership::lease_expired_reclaimable);
  execution.facts.lost.cause = LeaseLoss::revoked;
  EXPECT_EQ(state_vector(execution, LaneState::active).ownership_state, Ownership::lease_revoked);
}

TEST(States, TheLaneBlocksOnlyWhatWaits) {
  for (const LaneState state : {LaneState::active, LaneState::paused, LaneState::draining, LaneState::disabled}) {
    const bool blocks = state == LaneState::paused || state == LaneState::disabled;
    const StateVector vector = state_vector(runnable(), state);
    EXPECT_EQ(vector.eligibility_state, blocks ? Eligibility::blocked_by_lane_state : Eligibility::eligible_now);
    EXPECT_EQ(vector.blocking_reason, blocks ? BlockingReason::paused_by_lane : BlockingReason::waiting_for_worker);
    EXPECT_EQ(vector.public_state, PublicState::waiting);
    EXPECT_EQ(state_vector(running(), state).blocking_reason, BlockingReason::none);
    EXPECT_EQ(state_vector(delayed(DelayCause::worker), state).blocking_reason, BlockingReason::waiting_for_delay);
  }
}

TEST(States, BlockingReasonsOfADelay) {
  const auto of = [](DelayCause cause) { return state_vector(delayed(cause), LaneState::active).blocking_reason; };
  EXPECT_EQ(of(DelayCause::submitted), BlockingReason::waiting_for_delay);
  EXPECT_EQ(of(DelayCause::worker), BlockingReason::waiting_for_delay);
  EXPECT_EQ(of(DelayCause::backoff), BlockingReason::waiting_for_retry_backoff);
  EXPECT_EQ(of(DelayCause::reclaim_grace), BlockingReason::waiting_for_reclaim_grace);
  Execution picky = runnable();
  picky.spec.required_capabilities = {"gpu"};
  EXPECT_EQ(state_vector(picky, LaneState::active).blocking_reason, BlockingReason::waiting_for_capable_worker);
}

// ---- Explain -------------------------------------------------------------------------------------------------------

TEST(Explain, WhatRunsNeedsNoExplanation) { EXPECT_TRUE(explain(running(), around(lane(LaneState::paused))).empty()); }

TEST(Explain, AQueuedExecutionSaysHowManyAreAhead) {
  const auto next = explain(runnable(), around(lane(LaneState::active)));
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0], (Reason{"waiting_for_worker", "It is next in its queue and waits for a worker to claim it.", 0}));
  const auto third = explain(runnable(), around(lane(LaneState::active), 2));
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].sentence, "2 executions are ahead of it in its queue.");
}

TEST(Explain, DelaysSayWhyAndUntilWhen) {
  const std::pair<DelayCause, Reason> rows[] = {
      {DelayCause::submitted, {"waiting_for_delay", "It was submitted to start at 2026-01-02T03:04:05.678Z.", now}},
      {DelayCause::worker, {"waiting_for_delay", "Its worker delayed it until 2026-01-02T03:04:05.678Z.", now}},
      {DelayCause::backoff,
       {"waiting_for_retry_backoff", "Its last attempt failed; the next one may start at 2026-01-02T03:04:05.678Z.",
        now}},
      {DelayCause::reclaim_grace,
       {"waiting_for_reclaim_grace", "Its lease was lost; it may be claimed again at 2026-01-02T03:04:05.678Z.", now}},
  };
  for (const auto& [cause, reason] : rows) {
    EXPECT_EQ(explain(delayed(cause), around(lane(LaneState::active), 0, now - 1)), std::vector{reason});
  }
}

TEST(Explain, GivesTheCompleteList) {
  Execution execution = delayed(DelayCause::submitted);
  execution.spec.required_capabilities = {"cuda", "gpu"};
  const auto reasons = explain(execution, around(lane(LaneState::paused, "maintenance"), 0, now - 1));
  ASSERT_EQ(reasons.size(), 3u);
  EXPECT_EQ(reasons[0].code, "waiting_for_delay");
  EXPECT_EQ(reasons[1],
            (Reason{"paused_by_lane", "Lane \"default\" is paused and hands out no executions (maintenance).", 0}));
  EXPECT_EQ(reasons[2],
            (Reason{"waiting_for_capable_worker",
                    "Only a worker that offers cuda, gpu may claim it; no live worker offers cuda, gpu on lane "
                    "\"default\".",
                    0}));
}

TEST(Explain, SaysWhetherACapableWorkerLives) {
  Execution execution = runnable();
  execution.spec.required_capabilities = {"gpu"};
  Surroundings surroundings = around(lane(LaneState::active));
  const auto alone = explain(execution, surroundings);
  ASSERT_EQ(alone.size(), 2u);
  EXPECT_EQ(alone[0].sentence,
            "Only a worker that offers gpu may claim it; no live worker offers gpu on lane \"default\".");
  EXPECT_EQ(alone[1].code, "waiting_for_worker");
  surroundings.capable_worker_lives = true;
  EXPECT_EQ(explain(execution, surroundings)[0].sentence,
            "Only a worker that offers gpu may claim it; such a worker is live.");
}

TEST(Explain, AGrantSaysForWhomAndUntilWhen) {
  Execution execution = runnable();
  execution.facts.grant = HeldGrant{GrantKind::claim, "id", "w", now};
  const Reason claim{"reserved_by_grant", "A claim grant reserves it for worker w until 2026-01-02T03:04:05.678Z.",
                     now};
  EXPECT_EQ(explain(execution, around(lane(LaneState::active), 3)), std::vector{claim})
      << "it does not wait in the queue";
  EXPECT_EQ(state_vector(execution, LaneState::paused).blocking_reason, BlockingReason::reserved_by_grant);

  const Reason reclaim{"reserved_by_grant", "A reclaim grant reserves it for worker w until 2026-01-02T03:04:05.678Z.",
                       now};
  Execution grace = delayed(DelayCause::reclaim_grace);
  grace.facts.grant = HeldGrant{GrantKind::reclaim, "id", "w", now};
  const auto both = explain(grace, around(lane(LaneState::active)));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].code, "waiting_for_reclaim_grace");
  EXPECT_EQ(both[1], reclaim);

  Execution manual = running();
  manual.facts.lease.reset();
  manual.facts.lost.cause = LeaseLoss::expired;
  const auto alone = explain(manual, around(lane(LaneState::active)));
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].sentence,
            "Its lease was expired and its policy requires a manual reclaim: issue a reclaim grant, or cancel it.");
  manual.facts.grant = grace.facts.grant;
  EXPECT_EQ(explain(manual, around(lane(LaneState::active))), (std::vector{alone[0], reclaim}));
}

TEST(Explain, LostLeasesAndEndings) {
  Execution lost = running();
  const auto overdue = explain(lost, around(lane(LaneState::active), 0, now + 100));
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].code, "lease_expired");
  EXPECT_NE(overdue[0].sentence.find("w-1"), std::string::npos);
  lost.facts.lease.reset();
  lost.facts.lost.cause = LeaseLoss::revoked;
  const auto manual = explain(lost, around(lane(LaneState::active)));
  ASSERT_EQ(manual.size(), 1u);
  EXPECT_EQ(manual[0].code, "waiting_for_reclaim");
  EXPECT_NE(manual[0].sentence.find("revoked"), std::string::npos);
  EXPECT_EQ(explain(ended(Outcome::success), around(lane(LaneState::active))),
            (std::vector{Reason{"terminal", "It has ended: completed at 2026-01-02T03:04:05.678Z.", 0}}));
}

TEST(Explain, EverySentenceEndsInAFullStopAndHasACode) {
  Execution suspended = running();
  suspended.facts.phase = Phase::suspended;
  suspended.facts.waits.emplace().wait.emplace().condition.signal = SignalMatch{"paid", {}, {}, {}};
  Execution lost = running();
  lost.facts.lease.reset();
  for (const Execution& execution :
       {runnable(), delayed(DelayCause::backoff), lost, suspended, ended(Outcome::failed)}) {
    const auto reasons = explain(execution, around(lane(LaneState::disabled), 5));
    EXPECT_FALSE(reasons.empty());
    for (const Reason& reason : reasons) {
      EXPECT_FALSE(reason.code.empty());
      EXPECT_EQ(reason.sentence.back(), '.');
    }
  }
}

// ---- Projections ---------------------------------------------------------------------------------------------------

TEST(Projections, TheListingShowsWhatCanBeSearched) {
  Execution execution = runnable();
  execution.spec.name_space = "space";
  execution.spec.flow = Uuid{{1}};
  execution.spec.created_at = 5;
  const Listing plain = listing_of(execution);
  EXPECT_EQ(plain.tags, "");
  EXPECT_EQ(plain.flow.size(), 16u);
  EXPECT_EQ(plain.state, static_cast<std::uint8_t>(PublicState::waiting));
  execution.facts.tags = {{"a.b", "1"}, {"a.c", ""}};
  const Listing tagged = listing_of(execution);
  EXPECT_EQ(tagged.tags,
            "\x1f"
            "a.b=1\x1f"
            "a.c=\x1f");
  EXPECT_NE(tagged.tags.find("\x1f"
                             "a.b=1\x1f"),
            std::string::npos)
      << "a substring finds an exact tag";
}

TEST(Projections, TheSummaryFollowsTheFacts) {
  Execution execution = ended(Outcome::cancelled);
  execution.id = {3, Uuid{{7}}};
  execution.facts.started_at = 4;
  execution.facts.attempt_count = 2;
  execution.facts.priority = -1;
  const ExecutionSummary summary = summarize(execution);
  EXPECT_EQ(summary.execution_id, execution.id);
  EXPECT_EQ(summary.public_state, PublicState::cancelled);
  EXPECT_EQ(summary.finished_at, now);
  EXPECT_EQ(summary.started_at, 4);
  EXPECT_EQ(summary.attempt_count, 2u);
  EXPECT_EQ(summary.priority, -1);
}

TEST(Projections, TheNextDueTimeIsTheEarliestThatApplies) {
  Facts facts = running().facts;
  EXPECT_EQ(next_due(facts), now + 100);
  facts.attempt->timeout_at = now + 50;
  EXPECT_EQ(next_due(facts), now + 50);
  facts.deadline_at = now + 20;
  EXPECT_EQ(next_due(facts), now + 20);
  facts.deadline_at = 0;
  facts.lease.reset();
  EXPECT_EQ(next_due(facts), 0) << "a timeout runs under a lease only";
  facts.delay_until = now;
  EXPECT_EQ(next_due(facts), 0) << "a delay is of the runnable";
  facts.phase = Phase::runnable;
  EXPECT_EQ(next_due(facts), now);
  facts.phase = Phase::terminal;
  facts.deadline_at = 1;
  facts.retain_until = now + 9;
  EXPECT_EQ(next_due(facts), now + 9);
}

TEST(Projections, AGrantHoldsOffADelayButNoDeadline) {
  Facts facts = delayed(DelayCause::reclaim_grace).facts;
  facts.grant = HeldGrant{GrantKind::reclaim, "id", "w", now + 50};
  EXPECT_EQ(next_due(facts), now + 50) << "although the grace ends before";
  facts.deadline_at = now + 20;
  EXPECT_EQ(next_due(facts), now + 20);
  facts.grant.reset();
  EXPECT_EQ(next_due(facts), now);
  facts = running().facts;
  facts.lease.reset();
  facts.grant = HeldGrant{GrantKind::reclaim, "id", "w", now + 50};
  EXPECT_EQ(next_due(facts), now + 50);
}

TEST(Projections, AWorkerIsDueWhenItLapsesThenForItsLeasesThenADayLater) {
  WorkerRecord worker;
  worker.info.expires_at = now;
  EXPECT_EQ(next_due(worker), now);
  worker.release_until = now - 5;
  EXPECT_EQ(next_due(worker), now - 5) << "leases of a former life come first";
  worker.info.state = WorkerState::marked_dead;
  worker.info.ended_at = now;
  EXPECT_EQ(next_due(worker), now - 5);
  worker.release_until = 0;
  EXPECT_EQ(next_due(worker), now + 24LL * 3600 * 1000);
}

TEST(Projections, OnlyALostLeaseThatNobodyFollowedIsLost) {
  Facts facts = running().facts;
  EXPECT_FALSE(has_lost_lease(facts));
  facts.lost.cause = LeaseLoss::expired;
  EXPECT_FALSE(has_lost_lease(facts)) << "somebody holds it again";
  facts.lease.reset();
  EXPECT_TRUE(has_lost_lease(facts));
  facts = delayed(DelayCause::reclaim_grace).facts;
  facts.lost.cause = LeaseLoss::revoked;
  EXPECT_TRUE(has_lost_lease(facts));
  for (const DelayCause cause : {DelayCause::submitted, DelayCause::worker, DelayCause::backoff}) {
    facts = delayed(cause).facts;
    facts.lost.cause = LeaseLoss::revoked;
    EXPECT_FALSE(has_lost_lease(facts)) << "a loss of long ago";
  }
  facts = runnable().facts;
  facts.lost.cause = LeaseLoss::expired;
  EXPECT_FALSE(has_lost_lease(facts)) << "it is in the queue for everybody";
  facts = ended(Outcome::failed).facts;
  facts.lost.cause = LeaseLoss::expired;
  EXPECT_FALSE(has_lost_lease(facts));
}

TEST(Projections, GroupsAreOfHoldersOfLostLeasesAndOfStates) {
  Execution execution = running();
  Facts& facts = execution.facts;
  facts.lease->worker_namespace = "fleet";
  facts.lease->acquired_at = 7;
  facts.lost = {LeaseLoss::expired, 1, {}, "v", "v-1", 0, 3};
  EXPECT_EQ(grouping(execution).group, holder_group("fleet", "w-1"));
  EXPECT_EQ(grouping(execution).rank, 7);
  facts.lease.reset();
  EXPECT_EQ(grouping(execution).group, lost_leases_group);
  EXPECT_EQ(grouping(execution).rank, 3);
  EXPECT_EQ(grouping(runnable()).group, 0u);
  EXPECT_EQ(grouping(ended(Outcome::success)).group, 0u);
  Execution failed = ended(Outcome::failed);
  failed.spec.created_at = 55;
  EXPECT_EQ(grouping(failed).group, group_of_state(PublicState::failed));
  EXPECT_EQ(grouping(failed).rank, 55);
}

// Stored, and written into migrations.
TEST(Projections, StatesThatPeopleLookForHaveGroups) {
  EXPECT_EQ(group_of_state(PublicState::failed), 4611686018427388168u);
  EXPECT_EQ(group_of_state(PublicState::cancelled), 4611686018427388169u);
  EXPECT_EQ(group_of_state(PublicState::expired), 4611686018427388170u);
  EXPECT_EQ(group_of_state(PublicState::skipped), 4611686018427388171u);
  for (const auto state : {PublicState::waiting, PublicState::delayed, PublicState::active, PublicState::completed}) {
    EXPECT_FALSE(group_of_state(state));
  }
}

TEST(Projections, HoldersHaveGroupsOfTheirOwn) {
  EXPECT_EQ(holder_group("a", "b"), holder_group("a", "b"));
  EXPECT_NE(holder_group("a", "b"), holder_group("b", "a"));
  EXPECT_NE(holder_group("ab", "c"), holder_group("a", "bc"));
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t group = holder_group("default", "w-" + std::to_string(i));
    EXPECT_GT(group, lost_leases_group);
    EXPECT_LT(group, (1ULL << 62) + 256) << "the first group of a state";
  }
}

TEST(Projections, OnlyWhatIsClaimableHasAReadyEntry) {
  Execution execution = runnable();
  execution.spec.route = 3;
  execution.spec.name_space = "ns";
  execution.facts.priority = 8;
  EXPECT_EQ(ready_entry(execution), (ReadyEntry{3, 8, 1, execution_key(execution.id), "ns"}));
  EXPECT_FALSE(ready_entry(running()));
  EXPECT_FALSE(ready_entry(delayed(DelayCause::submitted)));
  execution.facts.grant = HeldGrant{};
  EXPECT_FALSE(ready_entry(execution)) << "it is reserved";
}

// ---- Names ---------------------------------------------------------------------------------------------------------

template <class Enum>
void expect_names(Enum last, std::string_view name_of_last, int first = 0) {
  for (int i = first; i <= static_cast<int>(last); ++i) EXPECT_FALSE(to_string(static_cast<Enum>(i)).empty());
  EXPECT_EQ(to_string(last), name_of_last);
}

TEST(Names, EveryEnumeratorHasOne) {
  expect_names(Phase::terminal, "terminal");
  expect_names(Outcome::skipped, "skipped");
  expect_names(Ownership::lease_revoked, "lease_revoked");
  expect_names(Eligibility::blocked_by_operator, "blocked_by_operator");
  expect_names(BlockingReason::waiting_for_children, "waiting_for_children");
  expect_names(AttemptPhase::none, "none");
  expect_names(PublicState::skipped, "skipped");
  expect_names(AttemptType::replay, "replay");
  expect_names(AttemptState::interrupted_reclaimed, "interrupted_reclaimed");
  expect_names(LeaseLoss::revoked, "revoked");
  expect_names(LaneState::disabled, "disabled");
  expect_names(HandleKind::reclaimed, "reclaimed");
  expect_names(GrantKind::reclaim, "reclaim");
  expect_names(WorkerState::ttl_swept, "ttl_swept");
  expect_names(OnConflict::replace, "replace");
  expect_names(OnThrottle::reuse, "return");
  expect_names(SubmitKeyKind::throttle, "throttle");
  expect_names(CreateOutcome::throttled, "throttled");
  expect_names(EventType::budget_adjusted, "budget_adjusted", 1);
  expect_names(ScheduleState::deleted, "deleted");
  expect_names(OverlapPolicy::cancel_running, "cancel_running");
  expect_names(CatchUpPolicy::all, "all");
  expect_names(FiringCause::backfill, "backfill");
  expect_names(FiringOutcome::refused, "refused");
  expect_names(EdgeKind::optional, "optional");
  expect_names(GroupPolicy::quorum, "quorum");
  expect_names(GroupRest::cancel_remaining, "cancel_remaining");
  expect_names(FailurePolicy::continue_others, "continue");
  expect_names(FlowState::cancelled, "cancelled");
  expect_names(FlowCancelPolicy::cancel_all, "cancel_all");
  expect_names(EdgeState::unsatisfiable, "unsatisfiable");
  expect_names(GroupState::impossible, "impossible");
}

TEST(Names, ParseBackAndRefuseTheRest) {
  for (int i = 0; i <= static_cast<int>(PublicState::skipped); ++i) {
    const auto state = static_cast<PublicState>(i);
    EXPECT_EQ(parse_public_state(to_string(state)), state);
  }
  for (int i = 0; i <= static_cast<int>(LaneState::disabled); ++i) {
    const auto state = static_cast<LaneState>(i);
    EXPECT_EQ(parse_lane_state(to_string(state)), state);
  }
  for (int i = 1; i <= static_cast<int>(EventType::api_key_revoked); ++i) {
    const auto type = static_cast<EventType>(i);
    EXPECT_EQ(parse_event_type(to_string(type)), type);
  }
  for (const std::string bad : {"", "Waiting", "waiting ", "nonsense"}) {
    EXPECT_EQ(parse_public_state(bad).error().code, Errc::invalid_argument);
    EXPECT_FALSE(parse_lane_state(bad));
    EXPECT_FALSE(parse_event_type(bad));
  }
  EXPECT_NE(parse_lane_state("x").error().message.find("active, paused, draining, disabled"), std::string::npos);
}

TEST(Names, FiveEventsEndAnExecution) {
  int endings = 0;
  for (int i = 1; i <= static_cast<int>(EventType::budget_adjusted); ++i) {
    endings += is_terminal(static_cast<EventType>(i)) ? 1 : 0;
  }
  EXPECT_EQ(endings, 5);
  EXPECT_TRUE(is_terminal(EventType::completed));
  EXPECT_FALSE(is_terminal(EventType::lease_expired));
}

}  // namespace
}  // namespace flowfabric
