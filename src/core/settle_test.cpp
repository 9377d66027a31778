// Due transitions: the same for any order and delay of the clock.
#include <tuple>

#include <gtest/gtest.h>

#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

CreateRequest settled() {
  CreateRequest request;
  request.kind = "job";
  return request;
}

// A case in which several things become due, at times relative to the claim; 0 is "never".
struct World {
  std::int64_t lease = 500;
  std::int64_t timeout = 0;
  std::int64_t deadline = 0;
  std::int64_t backoff = -1;  // -1: no retries
  std::int64_t grace = 0;
  std::uint32_t max_reclaims = 1000;
  OnLeaseLost on_lease_lost = OnLeaseLost::requeue;
  // The lease is revoked at once and a reclaim grant of this duration is issued.
  std::int64_t reclaim_grant = 0;
  // Not claimed: a claim grant of this duration instead.
  std::int64_t claim_grant = 0;
};

struct Played {
  Rehearsal rehearsal;
  ExecutionId id;
  TimestampMs claimed_at = 0;
};

Played claimed(const World& world) {
  Played played;
  CreateRequest request = settled();
  if (world.timeout != 0) request.policy.attempt_timeout_ms = world.timeout;
  if (world.deadline != 0) request.deadline_at = played.rehearsal.now + world.deadline;
  if (world.backoff >= 0) {
    request.policy.retry = RetryPolicy{};
    request.policy.retry->initial_delay_ms = world.backoff;
  }
  request.policy.reclaim_grace_ms = world.grace;
  request.policy.max_reclaims = world.max_reclaims;
  request.policy.on_lease_lost = world.on_lease_lost;
  played.rehearsal.default_retention_ms = 1000000;
  Rehearsal& stage = played.rehearsal;
  played.id = stage.create(request);
  played.claimed_at = stage.now;
  if (world.claim_grant != 0) {
    stage.claim_grant(played.id, static_cast<std::uint32_t>(world.claim_grant));
    return played;
  }
  stage.lease(played.id, static_cast<std::uint32_t>(world.lease));
  if (world.reclaim_grant != 0) {
    stage.expect<RevokeReply>(RevokeCommand{played.id, {}, {}});
    const GrantCommand ask =
        Rehearsal::grant_command(GrantKind::reclaim, played.id, static_cast<std::uint32_t>(world.reclaim_grant));
    stage.expect<IssueReclaimGrantOutcome>(ask);  // refused if the cap has ended it
  }
  return played;
}

// The clock runs at every due time up to `until`, then everything is examined at `until`.
Facts stepped(const World& world, std::int64_t until) {
  Played played = claimed(world);
  Rehearsal& stage = played.rehearsal;
  const TimestampMs end = played.claimed_at + until;
  while (stage.due(played.id) != 0 && stage.due(played.id) <= end && stage.facts(played.id).phase != Phase::terminal) {
    stage.now = stage.due(played.id);
    stage.due_now(played.id);
  }
  return stage.facts(played.id);
}

// The clock runs once, at `until`.
Facts late(const World& world, std::int64_t until) {
  Played played = claimed(world);
  played.rehearsal.now = played.claimed_at + until;
  played.rehearsal.due_now(played.id);
  return played.rehearsal.facts(played.id);
}

std::vector<World> worlds() {
  std::vector<World> all;
  for (const std::int64_t lease : {100, 200}) {
    for (const std::int64_t timeout : {0, 100, 200}) {
      for (const std::int64_t deadline : {0, 100, 300}) {
        for (const std::int64_t backoff : {-1, 50}) {
          for (const std::int64_t grace : {0, 50}) {
            for (const std::uint32_t cap : {0u, 1000u}) {
              for (const OnLeaseLost lost : {OnLeaseLost::requeue, OnLeaseLost::manual}) {
                all.push_back({lease, timeout, deadline, backoff, grace, cap, lost});
              }
            }
          }
        }
      }
    }
  }
  return all;
}

// The same with a grant that expires before, at and after the other due times.
std::vector<World> granted_worlds() {
  std::vector<World> all;
  for (const World& world : worlds()) {
    if (world.timeout != 0 || world.backoff >= 0) continue;  // nothing runs
    for (const std::int64_t grant : {20, 50, 100, 149, 300}) {
      all.push_back(world);
      all.back().reclaim_grant = grant;
      all.push_back(world);
      all.back().claim_grant = grant;
    }
  }
  return all;
}

std::vector<World> all_worlds() {
  std::vector<World> all = worlds();
  for (const World& world : granted_worlds()) all.push_back(world);
  return all;
}

std::string in_words(const World& w) {
  return "lease " + std::to_string(w.lease) + ", timeout " + std::to_string(w.timeout) + ", deadline " +
         std::to_string(w.deadline) + ", backoff " + std::to_string(w.backoff) + ", grace " + std::to_string(w.grace) +
         ", cap " + std::to_string(w.max_reclaims) + (w.on_lease_lost == OnLeaseLost::manual ? ", manual" : "") +
         ", reclaim grant " + std::to_string(w.reclaim_grant) + ", claim grant " + std::to_string(w.claim_grant);
}

TEST(Lateness, DoesNotChangeTheOutcome) {
  const auto outcome = [](const Facts& facts) {
    return std::tuple(facts.phase, facts.outcome, facts.attempt_count, facts.retry_count, facts.reclaim_count,
                      facts.lease_epoch, facts.lost, facts.failure, facts.pending, facts.grant,
                      facts.attempt ? facts.attempt->attempt_state : AttemptState::started);
  };
  for (const World& world : all_worlds()) {
    for (const std::int64_t until : {100, 149, 150, 250, 500}) {
      EXPECT_EQ(outcome(stepped(world, until)), outcome(late(world, until)))
          << in_words(world) << ", seen at " << until;
    }
  }
}

TEST(Lateness, DoesNotChangeWhatIsClaimableWhen) {
  int different = 0;
  std::string first;
  for (const World& world : all_worlds()) {
    for (const std::int64_t until : {100, 149, 150, 250, 500}) {
      const Facts in_time = stepped(world, until);
      const Facts in_one = late(world, until);
      if (public_state(in_time) == public_state(in_one) && in_time.delay_until == in_one.delay_until) continue;
      if (different++ == 0) {
        first = in_words(world) + ", seen at " + std::to_string(until) + ": " +
                std::string(to_string(public_state(in_time))) + " when stepped, " +
                std::string(to_string(public_state(in_one))) + " when late";
      }
    }
  }
  EXPECT_EQ(different, 0) << "for example " << first;
}

// A grant ends at the same moment for every observer, and the execution returns to the same state.
TEST(Lateness, OfTheClockDoesNotProlongAGrant) {
  for (const World& world : granted_worlds()) {
    for (const bool clock_first : {false, true}) {
      Played played = claimed(world);
      Rehearsal& stage = played.rehearsal;
      const auto grant = stage.facts(played.id).grant;
      if (!grant) continue;  // the cap has ended it
      stage.now = grant->expires_at;
      if (clock_first) stage.due_now(played.id);
      RedeemCommand redeem;
      redeem.kind = grant->kind;
      redeem.grant_id = grant->grant_id;
      redeem.grant_expires_at = grant->expires_at;
      redeem.request.execution_id = played.id;
      redeem.request.lease_ttl_ms = 500;
      const auto reply = stage.run(redeem);
      EXPECT_FALSE(stage.facts(played.id).lease) << in_words(world);
      EXPECT_FALSE(stage.facts(played.id).grant) << in_words(world);
      EXPECT_EQ(reply.has_value(), grant->kind == GrantKind::reclaim) << in_words(world);
    }
  }
}

// ---- Equal times ---------------------------------------------------------------------------------------------------

TEST(EqualTimes, TheDeadlineWinsThenTheTimeoutThenTheLease) {
  World world;
  world.lease = 100;
  world.timeout = 100;
  world.deadline = 100;
  EXPECT_EQ(late(world, 100).outcome, Outcome::expired);
  world.deadline = 0;
  const Facts timed_out = late(world, 100);
  EXPECT_EQ(timed_out.outcome, Outcome::failed);
  EXPECT_EQ(timed_out.failure->category, "timeout");
  EXPECT_EQ(timed_out.reclaim_count, 0u);
  world.timeout = 0;
  EXPECT_EQ(late(world, 100).pending->type, AttemptType::reclaim);
}

TEST(EqualTimes, TheEarlierOneComesFirstHoweverLateItIsSeen) {
  World world;
  world.lease = 100;
  world.timeout = 101;
  const Facts lost = late(world, 1000);
  EXPECT_EQ(lost.pending->type, AttemptType::reclaim);
  EXPECT_FALSE(lost.failure);
  world.lease = 101;
  world.timeout = 100;
  EXPECT_EQ(late(world, 1000).failure->category, "timeout");
}

// ---- Attempt timeouts ----------------------------------------------------------------------------------------------

TEST(AttemptTimeout, GoesThroughTheRetryDecision) {
  World world;
  world.timeout = 100;
  world.backoff = 50;
  Played played = claimed(world);
  Rehearsal& stage = played.rehearsal;
  stage.now += 99;
  stage.due_now(played.id);
  EXPECT_EQ(stage.state(played.id), PublicState::active);
  stage.now += 1;
  stage.due_now(played.id);
  EXPECT_EQ(stage.state(played.id), PublicState::delayed);
  EXPECT_EQ(stage.facts(played.id).retry_count, 1u);
  EXPECT_EQ(stage.last_events.back().type, EventType::retry_scheduled);
  EXPECT_EQ(stage.last_events.back().actor, "clock");
  EXPECT_EQ(stage.last_events.back().reason, "timeout");
  stage.now += 50;
  EXPECT_EQ(stage.lease(played.id).attempt.timeout_at, stage.now + 100) << "every attempt has the whole time";
}

TEST(AttemptTimeout, ObeysTheListOfCategories) {
  for (const bool listed : {false, true}) {
    Rehearsal stage;
    CreateRequest request = settled();
    request.policy.attempt_timeout_ms = 100;
    request.policy.retry = RetryPolicy{};
    request.policy.retry->retryable_categories = {listed ? "timeout" : "io"};
    const ExecutionId id = stage.create(request);
    stage.lease(id, 60000);
    stage.now += 100;
    stage.due_now(id);
    EXPECT_EQ(stage.state(id), listed ? PublicState::delayed : PublicState::failed);
  }
}

TEST(AttemptTimeout, TheRestIsCarriedOverADelay) {
  World world;
  world.timeout = 100;
  Played played = claimed(world);
  Rehearsal& stage = played.rehearsal;
  stage.now += 30;
  const Facts running = stage.facts(played.id);
  const Fence fence{played.id, 0, running.lease_epoch, running.lease->lease_id};
  stage.expect<DelayReply>(DelayCommand{fence, stage.now + 1000});
  EXPECT_EQ(stage.facts(played.id).attempt->timeout_left_ms, 70);
  EXPECT_EQ(stage.facts(played.id).attempt->timeout_at, 0);
  stage.now += 1000;
  const ClaimedExecution resumed = stage.lease(played.id);
  EXPECT_EQ(resumed.attempt.timeout_at, stage.now + 70);
  stage.now += 69;
  stage.due_now(played.id);
  EXPECT_EQ(stage.state(played.id), PublicState::active);
  stage.now += 1;
  stage.due_now(played.id);
  EXPECT_EQ(stage.state(played.id), PublicState::failed);
}

TEST(AttemptTimeout, RenewingDoesNotMoveIt) {
  World world;
  world.timeout = 300;
  world.lease = 200;
  Played played = claimed(world);
  Rehearsal& stage = played.rehearsal;
  const Facts facts = stage.facts(played.id);
  const Fence fence{played.id, 0, facts.lease_epoch, facts.lease->lease_id};
  stage.now += 150;
  stage.expect<RenewVerdict>(RenewCommand{fence, 0});
  stage.now += 150;
  EXPECT_EQ(stage.refusal(RenewCommand{fence, 0}), Errc::already_terminal);
  EXPECT_EQ(stage.facts(played.id).failure->category, "timeout");
}

// ---- Deadlines -----------------------------------------------------------------------------------------------------

enum class From { waiting, delayed, active, manual, backoff, grace, worker_delayed, resumable };

ExecutionId bring_to(Rehearsal& stage, From from) {
  CreateRequest request = settled();
  request.deadline_at = stage.now + 1000;
  request.policy.retry = RetryPolicy{};
  request.policy.retry->initial_delay_ms = 5000;
  if (from == From::delayed) request.delay_until = stage.now + 5000;
  if (from == From::manual) request.policy.on_lease_lost = OnLeaseLost::manual;
  if (from == From::grace) request.policy.reclaim_grace_ms = 5000;
  const ExecutionId id = stage.create(request);
  if (from == From::waiting || from == From::delayed) return id;
  const Fence fence = fence_of(stage.lease(id, 60000));
  if (from == From::manual || from == From::grace) stage.expect<RevokeReply>(RevokeCommand{id, {}, {}});
  if (from == From::backoff) stage.expect<FailReply>(FailCommand{fence, {}});
  if (from == From::worker_delayed) stage.expect<DelayReply>(DelayCommand{fence, stage.now + 5000});
  if (from == From::resumable) stage.expect<DelayReply>(DelayCommand{fence, stage.now});
  return id;
}

TEST(Deadline, FiresFromEveryPhase) {
  for (const From from : {From::waiting, From::delayed, From::active, From::manual, From::backoff, From::grace,
                          From::worker_delayed, From::resumable}) {
    SCOPED_TRACE(static_cast<int>(from));
    Rehearsal stage;
    const TimestampMs start = stage.now;
    const ExecutionId id = bring_to(stage, from);
    EXPECT_EQ(stage.due(id), start + 1000);
    stage.now = start + 999;
    stage.due_now(id);
    EXPECT_NE(stage.state(id), PublicState::expired);
    stage.now = start + 1000;
    stage.due_now(id);
    EXPECT_EQ(stage.state(id), PublicState::expired);
    ASSERT_EQ(stage.last_events.size(), 1u);
    EXPECT_EQ(stage.last_events[0].type, EventType::expired);
    EXPECT_EQ(stage.last_events[0].reason, "deadline");
    EXPECT_EQ(stage.refusal(LeaseCommand{id, "default", "w", "w", 500}), Errc::already_terminal);
  }
}

TEST(Deadline, FencesTheHolder) {
  Rehearsal stage;
  const ExecutionId id = bring_to(stage, From::active);
  const Facts before = stage.facts(id);
  stage.now += 1000;
  stage.due_now(id);
  EXPECT_EQ(stage.facts(id).lease_epoch, before.lease_epoch + 1);
  EXPECT_EQ(stage.facts(id).attempt->attempt_state, AttemptState::ended_failure);
  EXPECT_EQ(stage.refusal(CompleteCommand{{id, 0, before.lease_epoch, before.lease->lease_id}, {}}),
            Errc::already_terminal);
}

TEST(Deadline, InThePastEndsItAtTheFirstLook) {
  Rehearsal stage;
  CreateRequest request = settled();
  request.deadline_at = stage.now - 1;
  const ExecutionId id = stage.create(request);
  EXPECT_EQ(stage.due(id), stage.now - 1);
  EXPECT_EQ(stage.refusal(LeaseCommand{id, "default", "w", "w", 500}), Errc::already_terminal);
  EXPECT_EQ(stage.state(id), PublicState::expired);
  EXPECT_FALSE(stage.ready(id));
}

// ---- Delays, backoff and grace ends --------------------------------------------------------------------------------

TEST(DelayEnds, EndExactlyAtTheirTimeWithOneEvent) {
  Rehearsal stage;
  CreateRequest request = settled();
  request.delay_until = stage.now + 100;
  const ExecutionId id = stage.create(request);
  stage.now += 99;
  EXPECT_EQ(stage.refusal(LeaseCommand{id, "default", "w", "w", 500}), Errc::not_active);
  stage.now += 1;
  stage.due_now(id);
  EXPECT_EQ(stage.state(id), PublicState::waiting);
  EXPECT_EQ(stage.due(id), 0);
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].type, EventType::ready);
  stage.due_now(id);
  EXPECT_TRUE(stage.last_events.empty());
}

TEST(DelayEnds, AnyCommandFindsADelayOver) {
  Rehearsal stage;
  CreateRequest request = settled();
  request.delay_until = stage.now + 100;
  const ExecutionId id = stage.create(request);
  stage.now += 100;
  EXPECT_EQ(stage.lease(id).attempt.attempt_index, 0u) << "without the clock having come by";
}

// ---- Retention -----------------------------------------------------------------------------------------------------

TEST(Retention, TheExecutionsPolicyThenTheNamespaceThenTheDefault) {
  RetentionPolicy own;
  own.completed_ms = 1;
  own.failed_ms = 2;
  own.cancelled_ms = 3;
  own.expired_ms = 4;
  own.skipped_ms = 5;
  RetentionPolicy space;
  space.completed_ms = 11;
  space.failed_ms = 12;
  space.cancelled_ms = 13;
  space.expired_ms = 14;
  space.skipped_ms = 15;
  const Outcome outcomes[] = {Outcome::success, Outcome::failed, Outcome::cancelled, Outcome::expired,
                              Outcome::skipped};
  for (std::int64_t i = 0; i < 5; ++i) {
    Policy policy;
    EXPECT_EQ(retention_ms(policy, {}, outcomes[i], 99), 99);
    EXPECT_EQ(retention_ms(policy, space, outcomes[i], 99), 11 + i);
    policy.retention = own;
    EXPECT_EQ(retention_ms(policy, space, outcomes[i], 99), 1 + i);
  }
}

TEST(Retention, RemovesEverythingAtItsTimeAndNotBefore) {
  Rehearsal stage;
  CreateRequest request = settled();
  request.policy.retention.cancelled_ms = 100;
  request.payload = std::string(5000, 'p');
  const ExecutionId id = stage.create(request);
  stage.expect<CancelReply>(CancelCommand{id, {}});
  EXPECT_EQ(stage.due(id), stage.now + 100);
  stage.now += 99;
  stage.due_now(id);
  EXPECT_TRUE(stage.exists(id));
  stage.now += 1;
  stage.due_now(id);
  EXPECT_FALSE(stage.exists(id));
  EXPECT_TRUE(stage.history(id).empty());
  EXPECT_FALSE(stage.satellite(id, SatelliteKind::payload, 0));
  EXPECT_EQ(stage.refusal(CancelCommand{id, {}}), Errc::not_found);
  stage.due_now(id);
}

TEST(Retention, IsAskedAgainWhenItComesDue) {
  Rehearsal stage;
  const ExecutionId id = stage.create(settled());
  stage.expect<CancelReply>(CancelCommand{id, {}});
  const TimestampMs finished = stage.now;
  NamespaceInfo info{"default", {}};
  info.retention.cancelled_ms = 50000;
  stage.expect<NamespaceInfo>(NamespaceCommand{info, {}});
  stage.now = finished + stage.default_retention_ms;
  stage.due_now(id);
  EXPECT_TRUE(stage.exists(id)) << "the namespace keeps it longer by now";
  EXPECT_EQ(stage.due(id), finished + 50000);
  stage.now = finished + 50000;
  stage.due_now(id);
  EXPECT_FALSE(stage.exists(id));
}

TEST(Retention, TheNamespacesDefaultAtCreationCounts) {
  Rehearsal stage;
  NamespaceInfo info{"default", {}};
  info.retention.cancelled_ms = 70;
  stage.expect<NamespaceInfo>(NamespaceCommand{info, {}});
  const ExecutionId id = stage.create(settled());
  stage.expect<CancelReply>(CancelCommand{id, {}});
  EXPECT_EQ(stage.due(id), stage.now + 70);
}

// The end of an execution by the clock must be visible, even with a very short retention.
TEST(Retention, OfZeroStillLeavesTheTerminalEventToBeSeen) {
  Rehearsal stage;
  CreateRequest request = settled();
  request.deadline_at = stage.now + 100;
  request.policy.retention.expired_ms = 0;
  const ExecutionId id = stage.create(request);
  stage.now += 100;
  stage.due_now(id);
  ASSERT_EQ(stage.last_events.size(), 1u) << "the execution went without a terminal event";
  EXPECT_EQ(stage.last_events[0].type, EventType::expired);
  stage.due_now(id);
  EXPECT_FALSE(stage.exists(id));
}

TEST(Retention, OfTheNamespaceHoldsWhenTheClockItselfEndsTheExecution) {
  Rehearsal stage;
  NamespaceInfo info{"default", {}};
  info.retention.expired_ms = 0;
  stage.expect<NamespaceInfo>(NamespaceCommand{info, {}});
  CreateRequest request = settled();
  request.deadline_at = stage.now + 100;
  const ExecutionId id = stage.create(request);
  stage.now += 100;
  stage.due_now(id);
  stage.due_now(id);
  EXPECT_FALSE(stage.exists(id)) << "kept until " << stage.due(id) - stage.now << " ms from now";
}

}  // namespace
}  // namespace flowfabric
