// Rules that need more than one command. Time has its own file, settle_test.cpp.
#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

using Retryable = FailRequest::Retryable;

CreateRequest ruled() {
  CreateRequest request;
  request.kind = "job";
  return request;
}

CreateRequest retried_job(std::uint32_t max_retries = 3) {
  CreateRequest request = ruled();
  request.policy.retry = RetryPolicy{};
  request.policy.retry->max_retries = max_retries;
  request.policy.retry->initial_delay_ms = 100;
  return request;
}

FailRequest failure(const std::string& category, Retryable retryable = Retryable::by_policy) {
  return {category, "message of " + category, "detail", retryable};
}

// ---- Repeats -------------------------------------------------------------------------------------------------------

TEST(Repeats, CompleteAnswersAgainAndEmitsNothing) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence fence = fence_of(stage.lease(id));
  stage.expect<Done>(CompleteCommand{fence, {"42", "json"}});
  const std::uint64_t version = stage.version(execution_key(id));
  stage.now += 5;
  stage.expect<Done>(CompleteCommand{fence, {"42", "json"}});
  EXPECT_EQ(stage.version(execution_key(id)), version);
  EXPECT_EQ(stage.history(id), (std::vector{EventType::created, EventType::claimed, EventType::completed}));
  EXPECT_EQ(stage.refusal(CompleteCommand{fence, {"43", "json"}}), Errc::already_terminal);
  EXPECT_EQ(stage.refusal(CompleteCommand{fence, {"42", "text"}}), Errc::already_terminal);
  EXPECT_EQ(stage.facts(id).result, "42");
}

TEST(Repeats, FailAnswersWithTheFirstDecision) {
  Rehearsal stage;
  const ExecutionId id = stage.create(retried_job());
  const Fence fence = fence_of(stage.lease(id));
  const auto first = stage.expect<FailReply>(FailCommand{fence, failure("error")});
  EXPECT_EQ(first.decision, FailReply::Decision::retry_scheduled);
  stage.now += 30;
  EXPECT_EQ(stage.expect<FailReply>(FailCommand{fence, failure("error")}), first);
  EXPECT_TRUE(stage.last_events.empty());
  EXPECT_EQ(stage.refusal(FailCommand{fence, failure("other")}), Errc::stale_lease);
  EXPECT_EQ(stage.refusal(FailCommand{fence, failure("error", Retryable::never)}), Errc::stale_lease);
  // Also if the retry has been claimed by another worker since.
  stage.now = first.retry_at;
  stage.lease(id, 500, "w-2");
  EXPECT_EQ(stage.expect<FailReply>(FailCommand{fence, failure("error")}), first);
  EXPECT_EQ(stage.facts(id).retry_count, 1u);
}

TEST(Repeats, FinalFailureAnswersAgain) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence fence = fence_of(stage.lease(id));
  const auto first = stage.expect<FailReply>(FailCommand{fence, failure("error")});
  EXPECT_EQ(first.reason, "no_retry_policy");
  EXPECT_EQ(stage.expect<FailReply>(FailCommand{fence, failure("error")}), first);
  EXPECT_TRUE(stage.last_events.empty());
  EXPECT_EQ(stage.refusal(FailCommand{fence, failure("other")}), Errc::already_terminal);
}

TEST(Repeats, DelayAnswersAgain) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence fence = fence_of(stage.lease(id));
  const TimestampMs until = stage.now + 100;
  const auto first = stage.expect<DelayReply>(DelayCommand{fence, until});
  EXPECT_EQ(stage.expect<DelayReply>(DelayCommand{fence, until}), first);
  EXPECT_TRUE(stage.last_events.empty());
  EXPECT_EQ(stage.refusal(DelayCommand{fence, until + 1}), Errc::stale_lease);
  stage.now = until + 5;
  EXPECT_EQ(stage.expect<DelayReply>(DelayCommand{fence, until}), first) << "time going on does not change the answer";
}

TEST(Repeats, ReleaseAnswersAgain) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence fence = fence_of(stage.lease(id));
  stage.expect<Done>(ReleaseHeldCommand{fence});
  stage.expect<Done>(ReleaseHeldCommand{fence});
  EXPECT_TRUE(stage.last_events.empty());
  EXPECT_EQ(stage.refusal(DelayCommand{fence, 0}), Errc::stale_lease) << "another operation";
  stage.lease(id, 500, "w-2");
  stage.expect<Done>(ReleaseHeldCommand{fence});
  EXPECT_TRUE(stage.facts(id).lease) << "a repeat does not touch the lease of the next holder";
}

TEST(Repeats, ARelativeDelayAnswersAgain) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence fence = fence_of(stage.lease(id));
  const TimestampMs until = stage.now + 100;
  EXPECT_EQ(stage.expect<DelayReply>(DelayCommand{fence, 0, 100}).delay_until, until);
  stage.now += 5;
  EXPECT_EQ(stage.expect<DelayReply>(DelayCommand{fence, 0, 100}).delay_until, until)
      << "a repeat counts from the first";
  EXPECT_EQ(stage.refusal(DelayCommand{fence, 0, 101}), Errc::stale_lease);
}

TEST(Repeats, CancellingWhatIsCancelledSaysSoWhateverTheReasonAndWhoeverDidIt) {
  for (const bool by_operator : {false, true}) {
    Rehearsal stage;
    const ExecutionId id = stage.create(ruled());
    const Fence fence = fence_of(stage.lease(id));
    const auto first = stage.expect<CancelReply>(by_operator ? Command{CancelCommand{id, {}}}
                                                             : Command{CancelHeldCommand{fence, "enough"}});
    EXPECT_FALSE(first.already_cancelled);
    for (const char* reason : {"enough", "other"}) {
      EXPECT_TRUE(stage.expect<CancelReply>(CancelHeldCommand{fence, reason}).already_cancelled);
      EXPECT_TRUE(stage.last_events.empty());
    }
    EXPECT_TRUE(stage.expect<CancelReply>(CancelCommand{id, {}}).already_cancelled);
    EXPECT_EQ(stage.facts(id).cancellation_reason, by_operator ? "" : "enough");
  }
}

TEST(Repeats, AnotherOperationByTheSameFenceIsNoRepeat) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence fence = fence_of(stage.lease(id));
  stage.expect<DelayReply>(DelayCommand{fence, stage.now + 100});
  EXPECT_EQ(stage.refusal(CompleteCommand{fence, {}}), Errc::stale_lease);
  EXPECT_EQ(stage.refusal(FailCommand{fence, {}}), Errc::stale_lease);
  EXPECT_EQ(stage.refusal(CancelHeldCommand{fence, ""}), Errc::stale_lease);
}

// ---- Fences --------------------------------------------------------------------------------------------------------

TEST(Fences, EveryMemberIsCompared) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence good = fence_of(stage.lease(id));
  Fence lease = good;
  lease.lease_id.bytes[15] ^= 1;
  Fence older = good;
  older.lease_epoch -= 1;
  Fence newer = good;
  newer.lease_epoch += 1;
  Fence attempt = good;
  attempt.attempt_index += 1;
  for (const Fence& bad : {lease, older, newer, attempt}) {
    for (const Command& command : std::vector<Command>{
             RenewCommand{bad, 0}, ProgressCommand{bad, {}}, CompleteCommand{bad, {}}, FailCommand{bad, {}},
             DelayCommand{bad, stage.now + 1}, ReleaseHeldCommand{bad}, CancelHeldCommand{bad, ""}}) {
      EXPECT_EQ(stage.refusal(command), Errc::stale_lease);
    }
  }
  Fence elsewhere = good;
  elsewhere.execution_id.uuid.bytes[0] ^= 1;
  EXPECT_EQ(stage.refusal(CompleteCommand{elsewhere, {}}), Errc::not_found);
  stage.expect<Done>(CompleteCommand{good, {}});
}

TEST(Fences, TerminalRefusesWithItsOutcome) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence fence = fence_of(stage.lease(id));
  stage.expect<CancelReply>(CancelCommand{id, {"ops", "enough"}});
  const auto complete = stage.run(CompleteCommand{fence, {}});
  ASSERT_FALSE(complete);
  EXPECT_EQ(complete.error().code, Errc::already_terminal);
  const std::vector<std::pair<std::string, std::string>> details = {{"outcome", "cancelled"}};
  EXPECT_EQ(complete.error().details, details);
  EXPECT_EQ(stage.refusal(RenewCommand{fence, 0}), Errc::already_terminal);
  EXPECT_EQ(stage.facts(id).cancelled_by, "ops");
  EXPECT_EQ(stage.facts(id).cancellation_reason, "enough");
  EXPECT_EQ(stage.facts(id).attempt->attempt_state, AttemptState::ended_cancelled);
}

TEST(Fences, TheLoserOfALeaseIsToldHowItLostIt) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence first = fence_of(stage.lease(id));
  stage.expect<RevokeReply>(RevokeCommand{id, first.lease_id, {"ops", ""}});
  EXPECT_EQ(stage.refusal(CompleteCommand{first, {}}), Errc::lease_revoked);
  const ClaimedExecution second = stage.lease(id, 500, "w-2");
  EXPECT_EQ(stage.refusal(CompleteCommand{first, {}}), Errc::lease_revoked) << "also when another one holds it";
  stage.now = second.lease.expires_at;
  EXPECT_EQ(stage.refusal(CompleteCommand{fence_of(second), {}}), Errc::lease_expired);
  EXPECT_EQ(stage.refusal(CompleteCommand{first, {}}), Errc::stale_lease) << "only the last loss is remembered";
}

// ---- Leases --------------------------------------------------------------------------------------------------------

TEST(Leases, ALeaseEndsAtItsExpiryNotAfterIt) {
  for (const std::int64_t off : {-1, 0, 1}) {
    Rehearsal stage;
    const ExecutionId id = stage.create(ruled());
    const ClaimedExecution claim = stage.lease(id);
    stage.now = claim.lease.expires_at + off;
    const auto reply = stage.run(RenewCommand{fence_of(claim), 0});
    if (off < 0) {
      ASSERT_TRUE(reply);
      EXPECT_EQ(std::get<RenewVerdict>(*reply), (RenewVerdict{stage.now + 500, claim.lease.lease_epoch, claim.handle}));
    } else {
      ASSERT_FALSE(reply);
      EXPECT_EQ(reply.error().code, Errc::lease_expired);
    }
  }
}

TEST(Leases, RenewKeepsTheTtlUnlessGivenOneAndMovesTheEntryOnlyWhenEarlier) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const ClaimedExecution claim = stage.lease(id, 1000);
  const Fence fence = fence_of(claim);
  stage.now += 100;
  EXPECT_EQ(stage.expect<RenewVerdict>(RenewCommand{fence, 0}).expires_at, stage.now + 1000);
  EXPECT_EQ(stage.due(id), claim.lease.expires_at) << "an early entry stays: renewals are frequent";
  EXPECT_TRUE(stage.last_events.empty()) << "renewals are not logged";
  stage.expect<RenewVerdict>(RenewCommand{fence, 200});
  EXPECT_EQ(stage.due(id), stage.now + 200);
  stage.now += 50;
  EXPECT_EQ(stage.expect<RenewVerdict>(RenewCommand{fence, 0}).expires_at, stage.now + 200) << "the new ttl is kept";
  stage.now += 150;
  stage.due_now(id);
  EXPECT_EQ(stage.due(id), stage.now + 50) << "the clock puts the entry where it belongs";
  EXPECT_EQ(stage.state(id), PublicState::active);
}

TEST(Leases, TheClaimCarriesTheWork) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.payload = std::string("a\0b", 3);
  request.payload_encoding = "raw";
  request.tags = {{"app.k", "v"}};
  request.priority = -3;
  request.deadline_at = stage.now + 5000;
  const ExecutionId id = stage.create(request);
  stage.now += 7;
  const ClaimedExecution claim = stage.lease(id);
  EXPECT_EQ(claim.payload, request.payload);
  EXPECT_EQ(claim.payload_encoding, "raw");
  EXPECT_EQ(claim.tags, request.tags);
  EXPECT_EQ(claim.priority, -3);
  EXPECT_EQ(claim.deadline_at, request.deadline_at);
  EXPECT_EQ(claim.created_at, stage.now - 7);
  EXPECT_EQ(claim.attempt.attempt_type, AttemptType::initial);
  EXPECT_EQ(claim.attempt.started_at, stage.now);
  EXPECT_EQ(claim.attempt.lease_epoch, claim.lease.lease_epoch);
  EXPECT_EQ(claim.lease.expires_at, stage.now + 500);
  EXPECT_EQ(claim.lease.worker_instance_id, "w-1");
}

TEST(Leases, ProgressKeepsWhatIsNotGiven) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence fence = fence_of(stage.lease(id));
  stage.expect<Done>(ProgressCommand{fence, {30, "third"}});
  stage.now += 1;
  stage.expect<Done>(ProgressCommand{fence, {{}, "still"}});
  EXPECT_EQ(stage.facts(id).progress, (Progress{30, "still", stage.now}));
  stage.expect<Done>(ProgressCommand{fence, {60, {}}});
  EXPECT_EQ(stage.facts(id).progress, (Progress{60, "still", stage.now}));
}

// ---- Losing a lease ------------------------------------------------------------------------------------------------

TEST(LeaseLoss, RequeueMakesANewAttemptWithLineage) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const ClaimedExecution first = stage.lease(id);
  const auto reply = stage.expect<RevokeReply>(RevokeCommand{id, {}, {"ops", "stuck"}});
  EXPECT_EQ(reply.lease_id, first.lease.lease_id);
  EXPECT_EQ(reply.lease_epoch, first.lease.lease_epoch + 1);
  EXPECT_EQ(reply.public_state, PublicState::waiting);
  const ClaimedExecution second = stage.lease(id, 500, "w-2");
  EXPECT_EQ(second.handle_kind, HandleKind::reclaimed);
  EXPECT_EQ(second.attempt.attempt_index, 1u);
  EXPECT_EQ(second.attempt.previous_attempt_index, 0u);
  EXPECT_EQ(second.attempt.reason, "stuck");
  EXPECT_EQ(second.attempt.requested_by, "ops");
  const auto archived = stage.satellite(id, SatelliteKind::attempt, 0);
  ASSERT_TRUE(archived);
  EXPECT_EQ(decode_attempt(*archived)->attempt_state, AttemptState::interrupted_reclaimed);
  EXPECT_EQ(stage.facts(id).retry_count, 0u) << "a reclaim is not a retry";
}

TEST(LeaseLoss, TheCapEndsItAsFailed) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.policy.max_reclaims = 2;
  const ExecutionId id = stage.create(request);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stage.state(id), PublicState::waiting);
    stage.now = stage.lease(id).lease.expires_at;
    stage.due_now(id);
  }
  EXPECT_EQ(stage.state(id), PublicState::failed);
  const Facts facts = stage.facts(id);
  EXPECT_EQ(facts.failure->category, "max_reclaims_exceeded");
  EXPECT_EQ(facts.reclaim_count, 2u);
  EXPECT_EQ(facts.attempt->attempt_state, AttemptState::interrupted);
  ASSERT_EQ(stage.last_events.size(), 2u);
  EXPECT_EQ(stage.last_events[0].type, EventType::lease_expired);
  EXPECT_EQ(stage.last_events[1].type, EventType::failed);
}

TEST(LeaseLoss, ACapOfZeroAllowsNoReclaim) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.policy.max_reclaims = 0;
  const ExecutionId id = stage.create(request);
  stage.lease(id);
  EXPECT_EQ(stage.expect<RevokeReply>(RevokeCommand{id, {}, {}}).public_state, PublicState::failed);
}

TEST(LeaseLoss, ManualWaitsToBeFoundAndReclaimed) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.policy.on_lease_lost = OnLeaseLost::manual;
  request.policy.max_reclaims = 1;
  const ExecutionId id = stage.create(request);
  stage.now = stage.lease(id).lease.expires_at;
  stage.due_now(id);
  EXPECT_EQ(stage.state(id), PublicState::waiting) << "nobody runs it";
  EXPECT_EQ(stage.facts(id).attempt->attempt_state, AttemptState::interrupted);
  EXPECT_EQ(stage.due(id), 0);
  EXPECT_EQ(stage.members(lost_leases_group), std::vector{execution_key(id)});
  EXPECT_FALSE(stage.ready(id));
}

TEST(LeaseLoss, TheCapEndsAManualOneToo) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.policy.on_lease_lost = OnLeaseLost::manual;
  request.policy.max_reclaims = 0;
  const ExecutionId id = stage.create(request);
  stage.now = stage.lease(id).lease.expires_at;
  stage.due_now(id);
  EXPECT_EQ(stage.state(id), PublicState::failed);
  EXPECT_EQ(stage.facts(id).failure->category, "max_reclaims_exceeded");
  EXPECT_TRUE(stage.members(lost_leases_group).empty());
}

TEST(LeaseLoss, ReclaimsAreCountedWhenTheyStart) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  stage.lease(id);
  stage.expect<RevokeReply>(RevokeCommand{id, {}, {}});
  EXPECT_EQ(stage.facts(id).reclaim_count, 0u) << "nobody has taken it up yet";
  stage.lease(id);
  EXPECT_EQ(stage.facts(id).reclaim_count, 1u);
}

TEST(LeaseLoss, WhatWasLostIsRemembered) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Lease lease = stage.lease(id).lease;
  stage.now = lease.expires_at + 30;
  stage.due_now(id);
  EXPECT_EQ(stage.facts(id).lost,
            (LostLease{LeaseLoss::expired, lease.lease_epoch, lease.lease_id, "w", "w-1", 0, lease.expires_at}))
      << "it was lost when it ran out, not when somebody noticed";
  const Lease second = stage.lease(id, 500, "w-2").lease;
  stage.expect<RevokeReply>(RevokeCommand{id, {}, {}});
  EXPECT_EQ(stage.facts(id).lost,
            (LostLease{LeaseLoss::revoked, second.lease_epoch, second.lease_id, "w", "w-2", 1, stage.now}));
}

TEST(LeaseLoss, RevokeNamesTheLeaseItMeans) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  stage.lease(id);
  const auto reply = stage.run(RevokeCommand{id, Uuid{}, {}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::stale_lease);
  EXPECT_EQ(reply.error().field, "expected_lease_id");
}

// ---- Retrying ------------------------------------------------------------------------------------------------------

struct RetryRow {
  const char* what;
  bool has_policy;
  std::vector<std::string> categories;
  std::uint32_t retries_used;
  std::string category;
  Retryable retryable;
  bool retried;
  std::string reason;
};

const RetryRow retry_rows[] = {
    {"no policy", false, {}, 0, "error", Retryable::by_policy, false, "no_retry_policy"},
    {"no policy, never", false, {}, 0, "error", Retryable::never, false, "never"},
    {"no policy, force", false, {}, 0, "error", Retryable::force, true, "forced"},
    {"any category", true, {}, 0, "whatever", Retryable::by_policy, true, "retries_left"},
    {"listed", true, {"io", "net"}, 0, "net", Retryable::by_policy, true, "retries_left"},
    {"unlisted", true, {"io", "net"}, 0, "logic", Retryable::by_policy, false, "category_not_retryable"},
    {"unlisted, force", true, {"io"}, 0, "logic", Retryable::force, true, "forced"},
    {"listed, never", true, {"io"}, 0, "io", Retryable::never, false, "never"},
    {"a prefix is not the category", true, {"io"}, 0, "i", Retryable::by_policy, false, "category_not_retryable"},
    {"last one left", true, {}, 2, "error", Retryable::by_policy, true, "retries_left"},
    {"none left", true, {}, 3, "error", Retryable::by_policy, false, "retries_exhausted"},
    {"none left, force", true, {}, 3, "error", Retryable::force, false, "retries_exhausted"},
};

TEST(Retries, TheDecision) {
  for (const RetryRow& row : retry_rows) {
    SCOPED_TRACE(row.what);
    Rehearsal stage;
    CreateRequest request = ruled();
    if (row.has_policy) {
      request = retried_job();
      request.policy.retry->retryable_categories = row.categories;
    }
    const ExecutionId id = stage.create(request);
    for (std::uint32_t i = 0; i < row.retries_used; ++i) {
      const Fence fence = fence_of(stage.lease(id));
      stage.now = stage.expect<FailReply>(FailCommand{fence, failure("error")}).retry_at;
    }
    const Fence fence = fence_of(stage.lease(id));
    const auto reply = stage.expect<FailReply>(FailCommand{fence, failure(row.category, row.retryable)});
    EXPECT_EQ(reply.decision == FailReply::Decision::retry_scheduled, row.retried);
    EXPECT_EQ(reply.reason, row.reason);
    EXPECT_EQ(stage.state(id), row.retried ? PublicState::delayed : PublicState::failed);
    EXPECT_EQ(stage.facts(id).failure->category, row.category);
    EXPECT_EQ(stage.facts(id).attempt->failure->detail, "detail");
    if (row.retried) {
      EXPECT_EQ(reply.next_attempt_index, row.retries_used + 1);
      EXPECT_EQ(reply.retry_at, stage.due(id));
      EXPECT_EQ(stage.last_events.back().next_at, reply.retry_at);
    }
  }
}

TEST(Retries, AReclaimDoesNotUseUpARetry) {
  Rehearsal stage;
  const ExecutionId id = stage.create(retried_job(1));
  stage.now = stage.lease(id).lease.expires_at;
  const Fence second = fence_of(stage.lease(id));
  const auto reply = stage.expect<FailReply>(FailCommand{second, failure("error")});
  EXPECT_EQ(reply.decision, FailReply::Decision::retry_scheduled);
  EXPECT_EQ(reply.next_attempt_index, 2u);
}

TEST(Retries, SuccessClearsTheFailureOfEarlierAttempts) {
  Rehearsal stage;
  const ExecutionId id = stage.create(retried_job());
  stage.now = stage.expect<FailReply>(FailCommand{fence_of(stage.lease(id)), failure("error")}).retry_at;
  const ClaimedExecution retry = stage.lease(id);
  EXPECT_EQ(retry.attempt.attempt_type, AttemptType::retry);
  EXPECT_EQ(retry.attempt.reason, "error");
  EXPECT_EQ(stage.facts(id).failure->category, "error");
  stage.expect<Done>(CompleteCommand{fence_of(retry), {}});
  EXPECT_FALSE(stage.facts(id).failure);
  EXPECT_EQ(decode_attempt(*stage.satellite(id, SatelliteKind::attempt, 0))->failure->category, "error");
}

TEST(Backoff, GrowsAndSaturates) {
  RetryPolicy policy;
  policy.initial_delay_ms = 1000;
  policy.max_delay_ms = 60000;
  const std::int64_t expected[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
  for (std::uint32_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(backoff_ms(policy, i), expected[i]) << i;
  EXPECT_EQ(backoff_ms(policy, UINT32_MAX), 60000);
  policy.multiplier_percent = 150;
  EXPECT_EQ(backoff_ms(policy, 2), 2250);
  policy.multiplier_percent = 100;
  EXPECT_EQ(backoff_ms(policy, UINT32_MAX), 1000) << "a multiplier of 100 never grows";
  policy.backoff = RetryPolicy::Backoff::fixed;
  policy.multiplier_percent = 10000;
  EXPECT_EQ(backoff_ms(policy, 1000), 1000);
}

TEST(Backoff, HoldsAtTheEdgesOfItsRange) {
  RetryPolicy policy;
  policy.initial_delay_ms = limits::max_duration_ms;
  policy.max_delay_ms = limits::max_duration_ms;
  policy.multiplier_percent = 10000;
  EXPECT_EQ(backoff_ms(policy, UINT32_MAX), limits::max_duration_ms);
  policy.initial_delay_ms = limits::max_duration_ms - 1;
  EXPECT_EQ(backoff_ms(policy, 1), limits::max_duration_ms);
  policy.initial_delay_ms = 0;
  EXPECT_EQ(backoff_ms(policy, UINT32_MAX), 0);
  policy.initial_delay_ms = 1;
  policy.multiplier_percent = 101;
  EXPECT_EQ(backoff_ms(policy, UINT32_MAX), 1) << "too small to grow by a percent";
  policy.initial_delay_ms = 5000;
  policy.max_delay_ms = 1000;
  EXPECT_EQ(backoff_ms(policy, 0), 1000) << "the maximum also bounds the first delay";
  policy.backoff = RetryPolicy::Backoff::fixed;
  EXPECT_EQ(backoff_ms(policy, 0), 1000);
}

std::vector<std::int64_t> jittered_delays(std::uint64_t seed) {
  Rehearsal stage;
  CreateRequest request = retried_job(200);
  request.policy.retry->jitter = RetryPolicy::Jitter::full;
  request.policy.retry->backoff = RetryPolicy::Backoff::fixed;
  const ExecutionId id = stage.create(request);
  stage.seed(seed);
  std::vector<std::int64_t> delays;
  for (int i = 0; i < 200; ++i) {
    const Fence fence = fence_of(stage.lease(id));
    const auto reply = stage.expect<FailReply>(FailCommand{fence, failure("error")});
    delays.push_back(reply.retry_at - stage.now);
    stage.now = reply.retry_at;
  }
  return delays;
}

TEST(Backoff, JitterStaysInBoundsAndFollowsItsSeed) {
  const auto delays = jittered_delays(5);
  const auto [least, most] = std::minmax_element(delays.begin(), delays.end());
  EXPECT_GE(*least, 0);
  EXPECT_LE(*most, 100);
  EXPECT_LT(*least, 20) << "full jitter uses the whole range";
  EXPECT_GT(*most, 80);
  EXPECT_EQ(jittered_delays(5), delays);
  EXPECT_NE(jittered_delays(6), delays);
}

// ---- Delaying ------------------------------------------------------------------------------------------------------

TEST(Delays, TheSameAttemptGoesOn) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const ClaimedExecution first = stage.lease(id);
  stage.expect<Done>(ProgressCommand{fence_of(first), {40, "here"}});
  stage.expect<DelayReply>(DelayCommand{fence_of(first), stage.now + 100});
  EXPECT_EQ(stage.facts(id).attempt->attempt_state, AttemptState::suspended);
  stage.now += 100;
  const ClaimedExecution again = stage.lease(id, 500, "w-2");
  EXPECT_EQ(again.handle_kind, HandleKind::resumed);
  EXPECT_EQ(again.attempt.attempt_id, first.attempt.attempt_id);
  EXPECT_EQ(again.attempt.attempt_index, 0u);
  EXPECT_EQ(again.attempt.resumed_at, stage.now);
  EXPECT_EQ(again.attempt.worker_instance_id, "w-2");
  EXPECT_GT(again.lease.lease_epoch, first.lease.lease_epoch);
  EXPECT_EQ(stage.facts(id).progress->percent, 40);
  EXPECT_EQ(stage.facts(id).attempt_count, 1u);
  EXPECT_EQ(stage.history(id), (std::vector{EventType::created, EventType::claimed, EventType::delayed,
                                            EventType::ready, EventType::resumed}));
}

TEST(Delays, ATimeThatHasPassedIsAnImmediateReturn) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const Fence fence = fence_of(stage.lease(id));
  EXPECT_EQ(stage.expect<DelayReply>(DelayCommand{fence, stage.now}).delay_until, stage.now);
  EXPECT_EQ(stage.state(id), PublicState::resumable);
  EXPECT_TRUE(stage.ready(id));
}

// ---- Releasing -----------------------------------------------------------------------------------------------------

TEST(Releasing, TheSameAttemptGoesOnAndNothingIsCounted) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.policy.attempt_timeout_ms = 400;
  request.policy.max_reclaims = 0;
  const ExecutionId id = stage.create(request);
  const ClaimedExecution first = stage.lease(id);
  stage.now += 100;
  stage.expect<Done>(ReleaseHeldCommand{fence_of(first)});
  EXPECT_EQ(stage.state(id), PublicState::resumable);
  EXPECT_TRUE(stage.ready(id)) << "claimable at once";
  EXPECT_EQ(stage.facts(id).lost.cause, LeaseLoss::none) << "the lease was not lost";
  stage.now += 1000;
  const ClaimedExecution again = stage.lease(id, 500, "w-2");
  EXPECT_EQ(again.handle_kind, HandleKind::resumed);
  EXPECT_EQ(again.attempt.attempt_id, first.attempt.attempt_id);
  EXPECT_EQ(again.attempt.timeout_at, stage.now + 300) << "the time between the leases does not count";
  EXPECT_GT(again.lease.lease_epoch, first.lease.lease_epoch);
  EXPECT_EQ(stage.facts(id).attempt_count, 1u);
  EXPECT_EQ(stage.facts(id).reclaim_count, 0u);
  EXPECT_EQ(stage.facts(id).retry_count, 0u);
  EXPECT_EQ(stage.history(id),
            (std::vector{EventType::created, EventType::claimed, EventType::released, EventType::resumed}));
}

// ---- Creating ------------------------------------------------------------------------------------------------------

TEST(Creating, ADelayInThePastRunsAtOnce) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.delay_until = stage.now;
  EXPECT_EQ(stage.state(stage.create(request)), PublicState::waiting);
  request.delay_until = stage.now + 1;
  EXPECT_EQ(stage.state(stage.create(request)), PublicState::delayed);
}

TEST(Creating, LargePayloadsLieBesideTheRecord) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.payload = std::string(limits::max_inline_bytes, 'p');
  const ExecutionId at_limit = stage.create(request);
  EXPECT_TRUE(stage.execution(at_limit).spec.payload_is_inline());
  EXPECT_TRUE(stage.last_satellites.empty());
  request.payload += 'p';
  const ExecutionId above = stage.create(request);
  EXPECT_FALSE(stage.execution(above).spec.payload_is_inline());
  EXPECT_EQ(stage.satellite(above, SatelliteKind::payload, 0), request.payload);
}

TEST(Creating, LaneStates) {
  for (const LaneState state : {LaneState::active, LaneState::paused, LaneState::draining, LaneState::disabled}) {
    Rehearsal stage;
    stage.expect<LaneInfo>(LaneCommand{"default", state, {"ops", "why"}});
    const auto reply = stage.run(stage.create_command(ruled()));
    const bool takes = state == LaneState::active || state == LaneState::paused;
    EXPECT_EQ(reply.has_value(), takes) << to_string(state);
    if (!reply) {
      EXPECT_EQ(reply.error().code, Errc::lane_closed);
      EXPECT_EQ(reply.error().field, "lane");
    }
    Workspace workspace;
    ASSERT_TRUE(stage.decide_in(workspace, LaneCommand{"default", state, {}}));
    const bool serves = state == LaneState::active || state == LaneState::draining;
    EXPECT_EQ(lane_serves(workspace, "default"), serves) << to_string(state);
    EXPECT_TRUE(lane_serves(workspace, "unknown"));
  }
}

TEST(Creating, ASuppliedIdMakesRepeatsSafe) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.id = Uuid{{9}};
  const auto first = stage.expect<Created>(stage.create_command(request));
  EXPECT_FALSE(first.duplicate);
  request.delay_until = stage.now + 999;  // Times are not part of the request digest.
  const auto second = stage.expect<Created>(stage.create_command(request));
  EXPECT_TRUE(second.duplicate);
  EXPECT_EQ(second.execution_id, first.execution_id);
  request.payload = "other";
  const auto third = stage.run(stage.create_command(request));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Errc::conflict);
  EXPECT_EQ(third.error().field, "id");
}

TEST(Creating, AnIdempotencyKeyMakesRepeatsSafe) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.idempotency_key = "k";
  request.policy.dedup_window_ms = 1000;
  const ExecutionId id = stage.create(request);
  EXPECT_EQ(stage.due(idempotency_key("default", "k")), stage.now + 1000);
  stage.lease(id);
  stage.now += 400;
  const auto again = stage.expect<Created>(stage.create_command(request));
  EXPECT_EQ(again, (Created{id, PublicState::active, true, CreateOutcome::duplicate})) << "the state that it is in now";
  request.payload = "other";
  const auto other = stage.run(stage.create_command(request));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::conflict);
  EXPECT_EQ(other.error().field, "idempotency_key");
  request.name_space = "elsewhere";
  EXPECT_FALSE(stage.expect<Created>(stage.create_command(request)).duplicate) << "keys are per namespace";
}

TEST(Creating, AnIdempotencyKeyIsForgottenAtItsExpiry) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.idempotency_key = "k";
  request.policy.dedup_window_ms = 1000;
  const ExecutionId first = stage.create(request);
  stage.now += 999;
  EXPECT_TRUE(stage.expect<Created>(stage.create_command(request)).duplicate);
  stage.now += 1;
  const auto second = stage.expect<Created>(stage.create_command(request));
  EXPECT_FALSE(second.duplicate);
  EXPECT_NE(second.execution_id, first);
  EXPECT_EQ(stage.due(idempotency_key("default", "k")), stage.now + 1000);
  stage.expect<Done>(DueCommand{idempotency_key("default", "k")});
  EXPECT_TRUE(stage.has_record(idempotency_key("default", "k"))) << "not due yet";
  stage.now += 1000;
  stage.expect<Done>(DueCommand{idempotency_key("default", "k")});
  EXPECT_FALSE(stage.has_record(idempotency_key("default", "k")));
}

TEST(Creating, RepeatsWithinOneBatchSeeEachOther) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.idempotency_key = "k";
  Workspace workspace;
  const auto first = stage.decide_in(workspace, stage.create_command(request));
  const auto second = stage.decide_in(workspace, stage.create_command(request));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(std::get<Created>(*first).execution_id, std::get<Created>(*second).execution_id);
  EXPECT_TRUE(std::get<Created>(*second).duplicate);
  const PlannedCommit plan = workspace.plan();
  ASSERT_EQ(plan.sets.size(), 2u) << "the lane commits by itself";
  const bool lane_first = plan.sets[0].roots[0].key.kind() == RecordKind::lane;
  EXPECT_EQ(plan.sets[lane_first ? 0 : 1].roots.size(), 1u);
  EXPECT_EQ(plan.sets[lane_first ? 1 : 0].roots.size(), 2u) << "the execution and its key commit together";
}

TEST(Creating, AnIdThatWasJustRemovedGetsAWholeNewRecord) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.id = Uuid{{9}};
  const ExecutionId id = stage.create(request);
  stage.expect<CancelReply>(CancelCommand{id, {}});
  stage.now += stage.default_retention_ms;
  Workspace batch;
  ASSERT_TRUE(stage.decide_in(batch, DueCommand{execution_key(id)}));
  request.kind = "another";
  const auto reply = stage.decide_in(batch, stage.create_command(request));
  stage.commit(batch);
  // Either it is refused for now, or the stored record is entirely the new one.
  if (!reply) return;
  EXPECT_EQ(stage.execution(id).spec.kind, "another");
  EXPECT_EQ(stage.history(id), std::vector{EventType::created});
}

// ---- Operating -----------------------------------------------------------------------------------------------------

TEST(Operating, APriorityMovesTheReadyEntryButKeepsItsSequence) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const ReadyEntry before = *stage.ready(id);
  stage.expect<Done>(PriorityCommand{id, 9, {"ops", ""}});
  const ReadyEntry after = *stage.ready(id);
  EXPECT_EQ(after.priority, 9);
  EXPECT_EQ(after.sequence, before.sequence);
  EXPECT_EQ(stage.last_events.back().reason, "0 -> 9");
  stage.expect<Done>(PriorityCommand{id, 9, {"ops", ""}});
  EXPECT_TRUE(stage.last_events.empty()) << "no change, no event";
}

TEST(Operating, APriorityGivenBeforeTheDelayEndsCounts) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.delay_until = stage.now + 10;
  const ExecutionId id = stage.create(request);
  stage.expect<Done>(PriorityCommand{id, 4, {"ops", ""}});
  stage.now += 10;
  stage.due_now(id);
  EXPECT_EQ(stage.ready(id)->priority, 4);
}

TEST(Operating, TagsAreSetAndRemovedTogether) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.tags = {{"app.a", "1"}, {"app.b", "2"}};
  const ExecutionId id = stage.create(request);
  const Tags expected = {{"app.b", "3"}, {"app.c", "4"}};
  const TagChanges changes{{{"app.b", "3"}, {"app.c", "4"}}, {"app.a", "app.b", "app.unknown"}};
  EXPECT_EQ(stage.expect<Tags>(TagsCommand{id, changes, {}}), expected) << "what is set wins over what is removed";
  EXPECT_EQ(stage.facts(id).tags, expected);
  stage.expect<Tags>(TagsCommand{id, {{{"app.b", "3"}}, {}}, {}});
  EXPECT_TRUE(stage.last_events.empty()) << "no change, no event";
}

TEST(Operating, TheNumberOfTagsIsBounded) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  TagChanges changes;
  for (std::size_t i = 0; i < limits::max_tags; ++i) changes.set["app.k" + std::to_string(i)] = "";
  EXPECT_EQ(stage.expect<Tags>(TagsCommand{id, changes, {}}).size(), limits::max_tags);
  const auto reply = stage.run(TagsCommand{id, {{{"app.one_more", ""}}, {}}, {}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().field, "set");
  EXPECT_EQ(stage.facts(id).tags.size(), limits::max_tags);
}

TEST(Operating, ChangesThatAreNoTransitionLeaveItsTimeAlone) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const ClaimedExecution claim = stage.lease(id);
  const TimestampMs transition_at = stage.now;
  const std::vector<Command> commands = {RenewCommand{fence_of(claim), 0}, ProgressCommand{fence_of(claim), {1, {}}},
                                         TagsCommand{id, {{{"app.a", "1"}}, {}}, {}}};
  for (const Command& command : commands) {
    stage.now += 1;
    ASSERT_TRUE(stage.run(command));
    EXPECT_EQ(stage.facts(id).last_mutation_at, stage.now) << command.index();
    EXPECT_EQ(stage.facts(id).last_transition_at, transition_at) << command.index();
  }
}

TEST(Operating, LanesAndNamespacesAreLoggedWhenTheyChange) {
  Rehearsal stage;
  const auto paused = stage.expect<LaneInfo>(LaneCommand{"l", LaneState::paused, {"ops", "maintenance"}});
  EXPECT_EQ(paused, (LaneInfo{"l", LaneState::paused, stage.now, "ops", "maintenance"}));
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].reason, "active -> paused");
  EXPECT_EQ(stage.last_events[0].lane, "l");
  EXPECT_FALSE(stage.last_events[0].execution_id);
  stage.now += 1;
  EXPECT_EQ(stage.expect<LaneInfo>(LaneCommand{"l", LaneState::paused, {"other", ""}}), paused);
  EXPECT_TRUE(stage.last_events.empty());

  NamespaceInfo info{"n", {}};
  info.retention.failed_ms = 5;
  EXPECT_EQ(stage.expect<NamespaceInfo>(NamespaceCommand{info, {"ops", ""}}), info);
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].name_space, "n");
  stage.expect<NamespaceInfo>(NamespaceCommand{info, {"ops", ""}});
  EXPECT_TRUE(stage.last_events.empty());
}

// ---- Replaying -----------------------------------------------------------------------------------------------------

TEST(Replaying, StartsOverAndKeepsHistory) {
  Rehearsal stage;
  CreateRequest request = retried_job();
  request.deadline_at = stage.now + 5000;
  const ExecutionId id = stage.create(request);
  stage.now = stage.expect<FailReply>(FailCommand{fence_of(stage.lease(id)), failure("error")}).retry_at;
  stage.expect<RevokeReply>(RevokeCommand{id, stage.lease(id).lease.lease_id, {}});
  const ClaimedExecution last = stage.lease(id);
  stage.expect<Done>(ProgressCommand{fence_of(last), {90, "nearly"}});
  stage.expect<Done>(CompleteCommand{fence_of(last), {"first life", "text"}});
  const std::uint64_t epoch = stage.facts(id).lease_epoch;
  stage.now += 10;

  EXPECT_EQ(stage.expect<ReplayReply>(ReplayCommand{id, {"ops", "again"}}), (ReplayReply{1, PublicState::waiting}));
  const Facts facts = stage.facts(id);
  EXPECT_EQ(facts.retry_count, 0u);
  EXPECT_EQ(facts.reclaim_count, 0u);
  EXPECT_EQ(facts.attempt_count, 3u);
  EXPECT_EQ(facts.outcome, Outcome::none);
  EXPECT_EQ(facts.finished_at, 0);
  EXPECT_FALSE(facts.has_result);
  EXPECT_TRUE(facts.result.empty());
  EXPECT_FALSE(facts.progress);
  EXPECT_EQ(facts.deadline_at, stage.now + 5000);
  EXPECT_EQ(facts.lease_epoch, epoch);
  EXPECT_EQ(stage.satellite(id, SatelliteKind::result, 2), "first life");

  const ClaimedExecution replay = stage.lease(id);
  EXPECT_EQ(replay.attempt.attempt_type, AttemptType::replay);
  EXPECT_EQ(replay.attempt.attempt_index, 3u);
  EXPECT_EQ(replay.attempt.previous_attempt_index, 2u);
  EXPECT_EQ(replay.attempt.requested_by, "ops");
  EXPECT_EQ(replay.attempt.reason, "again");
  for (std::uint32_t n = 0; n < 3; ++n) {
    const auto archived = stage.satellite(id, SatelliteKind::attempt, n);
    ASSERT_TRUE(archived) << n;
    EXPECT_EQ(decode_attempt(*archived)->attempt_index, n);
    EXPECT_EQ(decode_attempt(*archived)->has_result, n == 2);
  }
}

TEST(Replaying, LargeResultsStayWhereTheyAre) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  const std::string large(limits::max_inline_bytes + 1, 'r');
  stage.expect<Done>(CompleteCommand{fence_of(stage.lease(id)), {large, ""}});
  EXPECT_FALSE(stage.facts(id).result_is_inline);
  EXPECT_EQ(stage.satellite(id, SatelliteKind::result, 0), large);
  stage.expect<ReplayReply>(ReplayCommand{id, {}});
  EXPECT_EQ(stage.satellite(id, SatelliteKind::result, 0), large);
  EXPECT_FALSE(stage.facts(id).has_result);
}

TEST(Replaying, AnyOutcomeCanBeReplayedUpToTheLimit) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.policy.max_replays = 2;
  const ExecutionId id = stage.create(request);
  stage.expect<CancelReply>(CancelCommand{id, {"ops", "no"}});
  EXPECT_EQ(stage.expect<ReplayReply>(ReplayCommand{id, {}}).replay_count, 1u);
  EXPECT_EQ(stage.facts(id).cancelled_by, "");
  EXPECT_FALSE(stage.facts(id).pending->previous_attempt_index) << "it never had an attempt";
  stage.expect<FailReply>(FailCommand{fence_of(stage.lease(id)), failure("error")});
  EXPECT_EQ(stage.expect<ReplayReply>(ReplayCommand{id, {}}).replay_count, 2u);
  EXPECT_FALSE(stage.facts(id).failure);
  stage.expect<CancelReply>(CancelCommand{id, {}});
  EXPECT_EQ(stage.refusal(ReplayCommand{id, {}}), Errc::max_replays_exhausted);
  EXPECT_EQ(stage.state(id), PublicState::cancelled);
}

TEST(Replaying, LeavesTheDueEntryOfRetention) {
  Rehearsal stage;
  const ExecutionId id = stage.create(ruled());
  stage.expect<CancelReply>(CancelCommand{id, {}});
  EXPECT_EQ(stage.due(id), stage.now + stage.default_retention_ms);
  stage.expect<ReplayReply>(ReplayCommand{id, {}});
  EXPECT_EQ(stage.due(id), 0) << "a live execution is never removed";
}

TEST(Leases, OfAClaimThatKeepsToItsNamespace) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.name_space = "mine";
  const ExecutionId id = stage.create(request);
  LeaseCommand lease{id, "default", "w", "w-1", 500, "other"};
  EXPECT_EQ(stage.refusal(lease), Errc::not_eligible);
  EXPECT_TRUE(stage.ready(id)) << "it stays claimable";
  lease.name_space = "mine";
  EXPECT_EQ(stage.expect<ClaimedExecution>(lease).name_space, "mine");
}

// ---- What a batch loads and plans ----------------------------------------------------------------------------------

TEST(Batches, LaterCommandsSeeEarlierOnes) {
  Rehearsal stage;
  Workspace batch;
  const CreateCommand create = stage.create_command(ruled());
  ASSERT_TRUE(stage.decide_in(batch, create));
  const auto claim = stage.decide_in(batch, LeaseCommand{create.id, "default", "w", "w-1", 500});
  ASSERT_TRUE(claim);
  ASSERT_TRUE(stage.decide_in(batch, CompleteCommand{fence_of(std::get<ClaimedExecution>(*claim)), {"x", ""}}));
  stage.commit(batch);
  EXPECT_EQ(stage.state(create.id), PublicState::completed);
  EXPECT_EQ(stage.version(execution_key(create.id)), 1u) << "one put for the whole batch";
  EXPECT_FALSE(stage.ready(create.id));
  EXPECT_EQ(stage.history(create.id), (std::vector{EventType::created, EventType::claimed, EventType::completed}));
}

TEST(Batches, AMintedIdIsNotLookedUp) {
  Rehearsal stage;
  Workspace workspace;
  CreateCommand command = stage.create_command(ruled());
  for (const Key& key : keys_needed(workspace, command)) EXPECT_NE(key, execution_key(command.id));
  command.id_is_supplied = true;
  Workspace other;
  const auto keys = keys_needed(other, command);
  EXPECT_NE(std::find(keys.begin(), keys.end(), execution_key(command.id)), keys.end());
}

TEST(Batches, UndecodableRecordsAreRefused) {
  Workspace workspace;
  const auto admitted = workspace.admit({execution_key({1, {}}), 1, "\x01", "\x01"});
  ASSERT_FALSE(admitted);
  EXPECT_EQ(admitted.error().code, Errc::corruption);
  const auto unknown = workspace.admit({Key{"?id\0\1"}, 1, "", ""});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::corruption);
}

TEST(Operating, ALaneIsRegisteredByItsFirstExecution) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.lane = "mail";
  request.creator = "ada";
  const TimestampMs began = stage.now;
  stage.create(request);
  stage.now += 10;
  request.creator = "bob";
  stage.create(request);
  const auto paused = stage.expect<LaneInfo>(LaneCommand{"mail", LaneState::paused, {"ops", "storm"}, false});
  EXPECT_EQ(paused, (LaneInfo{"mail", LaneState::paused, stage.now, "ops", "storm", began, "ada"}));
}

TEST(Operating, ALaneThatNeverWasIsNotFound) {
  for (const LaneState state : {LaneState::active, LaneState::paused, LaneState::draining, LaneState::disabled}) {
    Rehearsal stage;
    EXPECT_EQ(stage.refusal(LaneCommand{"mial", state, {}, false}), Errc::not_found);
    EXPECT_FALSE(stage.has_record(lane_key("mial")));
    stage.expect<LaneInfo>(LaneCommand{"mial", state, {}, true});
  }
}

TEST(Operating, RemovalByTagLooksAtTheTagOnceMore) {
  Rehearsal stage;
  CreateRequest request = ruled();
  request.tags = {{"app.team", "a"}};
  const ExecutionId id = stage.create(request);
  stage.expect<CancelReply>(CancelCommand{id, {}});
  const auto remove = [&](std::pair<std::string, std::string> tag) {
    return stage.expect<RemoveReply>(RemoveCommand{id, stage.now + 1, std::move(tag)}).removed;
  };
  EXPECT_FALSE(remove({"app.team", "b"}));
  EXPECT_FALSE(remove({"app.other", "a"}));
  EXPECT_TRUE(remove({"app.team", "a"}));
}

}  // namespace
}  // namespace flowfabric
